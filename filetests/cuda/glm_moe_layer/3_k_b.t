test cuda T=1 R=1 S=4096 P=128 workers=64 kernel=3 of=9
# A decode step: queries in the space of the latent keys.
include glm_moe_layer
---
// head_dot_512x192_q4_0: lanes 256; dot.lanes rows 1 width 128 reduce 2 upcast 1
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

extern "C" __global__ void __launch_bounds__(256) weft_head_dot_512x192_q4_0(
  const Args args,
  const Sizes sizes,
  unsigned int* b0,
  const unsigned int* __restrict__ b1
) {
  __shared__ __align__(16) unsigned int pool[324];
  const unsigned int lane = threadIdx.x;
  const auto p0 = args.words[0];
  const auto p1 = args.words[2];
  const auto p2 = args.words[4];
  const auto n0 = args.words[1];
  const auto top_bits = blockIdx.z ^ 0x80808080u;
  // part 0: dot [T, 20] × 512; dot.lanes rows 1 width 128 reduce 2 upcast 1
  const auto own_group = blockIdx.x;
  const auto rows_at = own_group % 20u;
  const auto first = (own_group / 20u) * 128u;
  const auto i = rows_at / 20u;
  const auto i_2 = (rows_at % 20u) % 20u;
  const auto share = lane / 128u;
  const auto own = lane % 128u;
  const auto column = first + own;
  const auto tile = p1 + ((i_2 * 512u + column) / 16u) * 432u;
  const auto lane_row = (i_2 * 512u + column) % 16u;
  const auto b = share * 3u;
  const auto at = tile + lane_row + b * 64u;
  const auto w = load_early(&b1[at]);
  const auto w_2 = load_early(&(b1 + (at))[16u]);
  const auto w_3 = load_early(&(b1 + (at))[32u]);
  const auto w_4 = load_early(&(b1 + (at))[48u]);
  const auto word = load_early(&(b1 + (tile + (b * 8u + (lane_row / 2u))))[384u]);
  const auto at_2 = tile + lane_row + b * 64u;
  const auto w_5 = load_early(&(b1 + (at_2))[64u]);
  const auto w_6 = load_early(&(b1 + (at_2))[80u]);
  const auto w_7 = load_early(&(b1 + (at_2))[96u]);
  const auto w_8 = load_early(&(b1 + (at_2))[112u]);
  const auto word_2 = load_early(&(b1 + (tile + (b * 8u + (lane_row / 2u))))[392u]);
  const auto at_3 = tile + lane_row + b * 64u;
  const auto w_9 = load_early(&(b1 + (at_3))[128u]);
  const auto w_10 = load_early(&(b1 + (at_3))[144u]);
  const auto w_11 = load_early(&(b1 + (at_3))[160u]);
  const auto w_12 = load_early(&(b1 + (at_3))[176u]);
  const auto word_3 = load_early(&(b1 + (tile + (b * 8u + (lane_row / 2u))))[400u]);
  const auto i_3 = rows_at / 20u;
  const auto i_4 = (rows_at % 20u) % 20u;
  const auto i_5 = rows_at / 20u;
  const auto i_6 = (rows_at % 20u) % 20u;
  const auto column_2 = first + lane;
  wait_for_previous();
  launch_next();
  const auto x = i * 3840u + i_2 * 192u;
  const auto from_word = p0 + (x / 4u);
  const auto word_4 = min(lane, 11u);
  const auto x_2 = *(const uint4*)&b0[from_word + word_4 * 4u];
  if (lane < 12u) {
    pool[lane * 4u] = x_2.x;
    pool[lane * 4u + 1u] = x_2.y;
    pool[lane * 4u + 2u] = x_2.z;
    pool[lane * 4u + 3u] = x_2.w;
  }
  const auto from_word_2 = p0 + (n0 / 4u) + (x / 32u);
  if (lane < 6u) {
    pool[lane + 48u] = b0[from_word_2 + lane];
  }
  __syncthreads();
  // times q4_0[512, 192]
  auto sum = 0.0f;
  const auto xw = b * 8u;
  const auto xq = *(const uint4*)&pool[xw];
  const auto xq_2 = *(const uint4*)&pool[xw + 4u];
  const auto d = __uint_as_float(pool[b + 48u]) * 0.0625f;
  sum = fmaf(d, (float)(__dp4a((int)((w_4 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))) * half_to_float(word >> ((lane_row % 2u) * 16u)), sum);
  const auto xw_2 = b * 8u;
  const auto xq_3 = *(const uint4*)&pool[xw_2 + 8u];
  const auto xq_4 = *(const uint4*)&pool[xw_2 + 12u];
  const auto d_2 = __uint_as_float(pool[b + 49u]) * 0.0625f;
  sum = fmaf(d_2, (float)(__dp4a((int)((w_8 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.w), __dp4a((int)((w_7 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.z), __dp4a((int)((w_6 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.y), __dp4a((int)((w_5 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.x), __dp4a((int)(((w_8 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.w), __dp4a((int)(((w_7 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.z), __dp4a((int)(((w_6 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.y), __dp4a((int)(((w_5 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.x), 0))))))))) * half_to_float(word_2 >> ((lane_row % 2u) * 16u)), sum);
  const auto xw_3 = b * 8u;
  const auto xq_5 = *(const uint4*)&pool[xw_3 + 16u];
  const auto xq_6 = *(const uint4*)&pool[xw_3 + 20u];
  const auto d_3 = __uint_as_float(pool[b + 50u]) * 0.0625f;
  sum = fmaf(d_3, (float)(__dp4a((int)((w_12 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.w), __dp4a((int)((w_11 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.z), __dp4a((int)((w_10 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.y), __dp4a((int)((w_9 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.x), __dp4a((int)(((w_12 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.w), __dp4a((int)(((w_11 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.z), __dp4a((int)(((w_10 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.y), __dp4a((int)(((w_9 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.x), 0))))))))) * half_to_float(word_3 >> ((lane_row % 2u) * 16u)), sum);
  const auto to = share * 128u + own + 68u;
  pool[to] = __float_as_uint(sum);
  __syncthreads();
  auto result = 0.0f;
  if (lane < 128u) {
    auto total = __uint_as_float(pool[lane + 68u]);
    for (auto l = 1u; l < 2u; l += 1u) {
      total = total + __uint_as_float(pool[lane + l * 128u + 68u]);
    }
    result = total;
  }
  if (lane < 128u) {
    b0[p2 + (i_5 * 11520u + i_6 * 576u + column_2)] = __float_as_uint(result);
  }
}

