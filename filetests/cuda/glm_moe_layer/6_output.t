test cuda T=1 R=1 S=4096 P=128 workers=64 kernel=6 of=9
# A decode step: the output projection.
include glm_moe_layer
---
// dot_2048x5120_q4_0: lanes 512; dot.lanes rows 1 width 16 reduce 32 upcast 1
struct Args { unsigned int words[8]; };
struct Sizes { unsigned int words[4]; };

static __device__ __forceinline__ void launch_next() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

static __device__ __forceinline__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

static __device__ __forceinline__ unsigned int load_early(const unsigned int* from) {
  unsigned int word;
  asm volatile("ld.global.L1::no_allocate.u32 %0, [%1];" : "=r"(word) : "l"(from));
  return word;
}

static __device__ __forceinline__ float half_to_float(unsigned int bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)bits));
  return value;
}

extern "C" __global__ void __launch_bounds__(512) weft_dot_2048x5120_q4_0(
  const Args args,
  const Sizes sizes,
  unsigned int* b0,
  const unsigned int* __restrict__ b1,
  const unsigned int* b2
) {
  __shared__ __align__(16) unsigned int pool[2272];
  const unsigned int lane = threadIdx.x;
  const auto p0 = args.words[0];
  const auto p1 = args.words[2];
  const auto p2 = args.words[4];
  const auto p3 = args.words[6];
  const auto n0 = args.words[1];
  const auto top_bits = blockIdx.z ^ 0x80808080u;
  launch_next();
  // part 0: dot [T] × 2048; dot.lanes rows 1 width 16 reduce 32 upcast 1
  const auto own_group = blockIdx.x;
  const auto first = own_group * 16u;
  const auto share = lane / 16u;
  const auto own = lane % 16u;
  const auto column = first + own;
  const auto tile = p1 + (column / 16u) * 11520u;
  const auto lane_row = column % 16u;
  const auto b = share * 5u;
  const auto at = tile + lane_row + b * 64u;
  const auto w = load_early(&b1[at]);
  const auto w_2 = load_early(&(b1 + (at))[16u]);
  const auto w_3 = load_early(&(b1 + (at))[32u]);
  const auto w_4 = load_early(&(b1 + (at))[48u]);
  const auto word = load_early(&(b1 + (tile + (b * 8u + (lane_row / 2u))))[10240u]);
  const auto at_2 = tile + lane_row + b * 64u;
  const auto w_5 = load_early(&(b1 + (at_2))[64u]);
  const auto w_6 = load_early(&(b1 + (at_2))[80u]);
  const auto w_7 = load_early(&(b1 + (at_2))[96u]);
  const auto w_8 = load_early(&(b1 + (at_2))[112u]);
  const auto word_2 = load_early(&(b1 + (tile + (b * 8u + (lane_row / 2u))))[10248u]);
  const auto at_3 = tile + lane_row + b * 64u;
  const auto w_9 = load_early(&(b1 + (at_3))[128u]);
  const auto w_10 = load_early(&(b1 + (at_3))[144u]);
  const auto w_11 = load_early(&(b1 + (at_3))[160u]);
  const auto w_12 = load_early(&(b1 + (at_3))[176u]);
  const auto word_3 = load_early(&(b1 + (tile + (b * 8u + (lane_row / 2u))))[10256u]);
  const auto at_4 = tile + lane_row + b * 64u;
  const auto w_13 = load_early(&(b1 + (at_4))[192u]);
  const auto w_14 = load_early(&(b1 + (at_4))[208u]);
  const auto w_15 = load_early(&(b1 + (at_4))[224u]);
  const auto w_16 = load_early(&(b1 + (at_4))[240u]);
  const auto word_4 = load_early(&(b1 + (tile + (b * 8u + (lane_row / 2u))))[10264u]);
  const auto at_5 = tile + lane_row + b * 64u;
  const auto w_17 = load_early(&(b1 + (at_5))[256u]);
  const auto w_18 = load_early(&(b1 + (at_5))[272u]);
  const auto w_19 = load_early(&(b1 + (at_5))[288u]);
  const auto w_20 = load_early(&(b1 + (at_5))[304u]);
  const auto word_5 = load_early(&(b1 + (tile + (b * 8u + (lane_row / 2u))))[10272u]);
  const auto item = min(lane, 15u);
  const auto column_2 = first + item;
  auto kept = 0.0f;
  if (lane < 32u) {
    const auto v = __uint_as_float(load_early(&b2[p2 + column_2]));
    kept = v;
  }
  wait_for_previous();
  const auto word_6 = min(lane, 319u);
  const auto x = *(const uint4*)&b0[p0 + word_6 * 4u];
  if (lane < 320u) {
    pool[lane * 4u] = x.x;
    pool[lane * 4u + 1u] = x.y;
    pool[lane * 4u + 2u] = x.z;
    pool[lane * 4u + 3u] = x.w;
  }
  const auto from_word = p0 + (n0 / 4u);
  if (lane < 160u) {
    pool[lane + 1280u] = b0[from_word + lane];
  }
  __syncthreads();
  // times q4_0[2048, 5120]
  auto sum = 0.0f;
  const auto xw = b * 8u;
  const auto xq = *(const uint4*)&pool[xw];
  const auto xq_2 = *(const uint4*)&pool[xw + 4u];
  const auto d = __uint_as_float(pool[b + 1280u]) * 0.0625f;
  sum = fmaf(d, (float)(__dp4a((int)((w_4 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))) * half_to_float(word >> ((lane_row % 2u) * 16u)), sum);
  const auto xw_2 = b * 8u;
  const auto xq_3 = *(const uint4*)&pool[xw_2 + 8u];
  const auto xq_4 = *(const uint4*)&pool[xw_2 + 12u];
  const auto d_2 = __uint_as_float(pool[b + 1281u]) * 0.0625f;
  sum = fmaf(d_2, (float)(__dp4a((int)((w_8 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.w), __dp4a((int)((w_7 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.z), __dp4a((int)((w_6 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.y), __dp4a((int)((w_5 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.x), __dp4a((int)(((w_8 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.w), __dp4a((int)(((w_7 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.z), __dp4a((int)(((w_6 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.y), __dp4a((int)(((w_5 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.x), 0))))))))) * half_to_float(word_2 >> ((lane_row % 2u) * 16u)), sum);
  const auto xw_3 = b * 8u;
  const auto xq_5 = *(const uint4*)&pool[xw_3 + 16u];
  const auto xq_6 = *(const uint4*)&pool[xw_3 + 20u];
  const auto d_3 = __uint_as_float(pool[b + 1282u]) * 0.0625f;
  sum = fmaf(d_3, (float)(__dp4a((int)((w_12 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.w), __dp4a((int)((w_11 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.z), __dp4a((int)((w_10 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.y), __dp4a((int)((w_9 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.x), __dp4a((int)(((w_12 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.w), __dp4a((int)(((w_11 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.z), __dp4a((int)(((w_10 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.y), __dp4a((int)(((w_9 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.x), 0))))))))) * half_to_float(word_3 >> ((lane_row % 2u) * 16u)), sum);
  const auto xw_4 = b * 8u;
  const auto xq_7 = *(const uint4*)&pool[xw_4 + 24u];
  const auto xq_8 = *(const uint4*)&pool[xw_4 + 28u];
  const auto d_4 = __uint_as_float(pool[b + 1283u]) * 0.0625f;
  sum = fmaf(d_4, (float)(__dp4a((int)((w_16 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.w), __dp4a((int)((w_15 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.z), __dp4a((int)((w_14 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.y), __dp4a((int)((w_13 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.x), __dp4a((int)(((w_16 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.w), __dp4a((int)(((w_15 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.z), __dp4a((int)(((w_14 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.y), __dp4a((int)(((w_13 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.x), 0))))))))) * half_to_float(word_4 >> ((lane_row % 2u) * 16u)), sum);
  const auto xw_5 = b * 8u;
  const auto xq_9 = *(const uint4*)&pool[xw_5 + 32u];
  const auto xq_10 = *(const uint4*)&pool[xw_5 + 36u];
  const auto d_5 = __uint_as_float(pool[b + 1284u]) * 0.0625f;
  sum = fmaf(d_5, (float)(__dp4a((int)((w_20 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.w), __dp4a((int)((w_19 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.z), __dp4a((int)((w_18 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.y), __dp4a((int)((w_17 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.x), __dp4a((int)(((w_20 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.w), __dp4a((int)(((w_19 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.z), __dp4a((int)(((w_18 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.y), __dp4a((int)(((w_17 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.x), 0))))))))) * half_to_float(word_5 >> ((lane_row % 2u) * 16u)), sum);
  const auto to = share * 16u + own + 1760u;
  pool[to] = __float_as_uint(sum);
  __syncthreads();
  auto result = 0.0f;
  if (lane < 16u) {
    auto total = __uint_as_float(pool[lane + 1760u]);
    for (auto l = 1u; l < 32u; l += 1u) {
      total = total + __uint_as_float(pool[lane + l * 16u + 1760u]);
    }
    result = total;
  }
  if (lane < 32u) {
    const auto v_2 = kept + result;
    if (lane < 16u) {
      b0[p3 + column_2] = __float_as_uint(v_2);
    }
  }
}

