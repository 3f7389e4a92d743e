test cuda T=1 R=1 S=4096 P=128 workers=64 kernel=5 of=9
# A decode step: values of the heads.
include glm_moe_layer
---
// head_dot_256x512_q4_0: lanes 256; dot.lanes rows 1 width 64 reduce 16 upcast 4
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

static __device__ __forceinline__ void store_four(unsigned int* to,
  unsigned int a, unsigned int b, unsigned int c, unsigned int d) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};"
    :: "r"((unsigned int)__cvta_generic_to_shared(to)), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}

static __device__ __forceinline__ unsigned int load_early(const unsigned int* from) {
  unsigned int word;
  asm volatile("ld.global.L1::no_allocate.u32 %0, [%1];" : "=r"(word) : "l"(from));
  return word;
}

static __device__ __forceinline__ uint4 load_early_4(const unsigned int* from) {
  uint4 words;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
    : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w) : "l"(from));
  return words;
}

static __device__ __forceinline__ float half_to_float(unsigned int bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)bits));
  return value;
}

static __device__ __forceinline__ float reciprocal(float x) {
  const auto minus_x = -(x);
  const auto inverse = __uint_as_float(0x7ef311c7u - __float_as_uint(x));
  const auto error = fmaf(minus_x, inverse, 1.0f);
  const auto both = fmaf(error, error, error);
  const auto inverse_2 = fmaf(inverse, both, inverse);
  const auto error_2 = fmaf(minus_x, inverse_2, 1.0f);
  const auto both_2 = fmaf(error_2, error_2, error_2);
  const auto inverse_3 = fmaf(inverse_2, both_2, inverse_2);
  return inverse_3;
}

extern "C" __global__ void __launch_bounds__(256) weft_head_dot_256x512_q4_0(
  const Args args,
  const Sizes sizes,
  unsigned int* b0,
  const unsigned int* __restrict__ b1
) {
  __shared__ __align__(16) unsigned int pool[1200];
  const unsigned int lane = threadIdx.x;
  const unsigned int warp = 0xffffffffu;
  const auto p0 = args.words[0];
  const auto p1 = args.words[2];
  const auto p2 = args.words[4];
  const auto n0 = args.words[1];
  const auto n2 = args.words[5];
  const auto top_bits = blockIdx.z ^ 0x80808080u;
  launch_next();
  // part 0: dot [T, 20] × 256; dot.lanes rows 1 width 64 reduce 16 upcast 4
  const auto own_group = blockIdx.x;
  const auto rows_at = own_group % 20u;
  const auto first = (own_group / 20u) * 64u;
  const auto i = rows_at / 20u;
  const auto i_2 = (rows_at % 20u) % 20u;
  const auto share = lane / 16u;
  const auto first_own = (lane % 16u) * 4u;
  const auto own = first_own + 1u;
  const auto own_2 = first_own + 2u;
  const auto own_3 = first_own + 3u;
  const auto column = first + first_own;
  const auto column_2 = first + own;
  const auto column_3 = first + own_2;
  const auto column_4 = first + own_3;
  const auto tile = p1 + ((i_2 * 256u + column) / 16u) * 1152u;
  const auto lane_row = (i_2 * 256u + column) % 16u;
  const auto at = tile + lane_row + share * 64u;
  const auto w = load_early_4(&b1[at]);
  const auto w_2 = load_early_4(&(b1 + (at))[16u]);
  const auto w_3 = load_early_4(&(b1 + (at))[32u]);
  const auto w_4 = load_early_4(&(b1 + (at))[48u]);
  const auto word = load_early(&(b1 + (tile + share * 8u + (lane_row / 2u)))[1024u]);
  const auto word_2 = load_early(&(b1 + (tile + share * 8u + (lane_row / 2u)))[1025u]);
  const auto i_3 = rows_at / 20u;
  const auto i_4 = (rows_at % 20u) % 20u;
  const auto i_5 = rows_at / 20u;
  const auto i_6 = (rows_at % 20u) % 20u;
  const auto column_5 = first + lane;
  wait_for_previous();
  const auto x = i * 10240u + i_2 * 512u;
  const auto from_word = p0 + (x / 4u);
  const auto word_3 = min(lane, 31u);
  const auto x_2 = *(const uint4*)&b0[from_word + word_3 * 4u];
  if (lane < 32u) {
    pool[lane * 4u] = x_2.x;
    pool[lane * 4u + 1u] = x_2.y;
    pool[lane * 4u + 2u] = x_2.z;
    pool[lane * 4u + 3u] = x_2.w;
  }
  const auto from_word_2 = p0 + (n0 / 4u) + (x / 32u);
  if (lane < 16u) {
    pool[lane + 128u] = b0[from_word_2 + lane];
  }
  __syncthreads();
  // times q4_0[256, 512]
  auto sum = 0.0f;
  auto sum_2 = 0.0f;
  auto sum_3 = 0.0f;
  auto sum_4 = 0.0f;
  const auto xw = share * 8u;
  const auto xq = *(const uint4*)&pool[xw];
  const auto xq_2 = *(const uint4*)&pool[xw + 4u];
  const auto d = __uint_as_float(pool[share + 128u]) * 0.0625f;
  sum = fmaf(d, (float)(__dp4a((int)((w_4.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))) * half_to_float(word), sum);
  sum_2 = fmaf(d, (float)(__dp4a((int)((w_4.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))) * half_to_float(word >> 16u), sum_2);
  sum_3 = fmaf(d, (float)(__dp4a((int)((w_4.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))) * half_to_float(word_2), sum_3);
  sum_4 = fmaf(d, (float)(__dp4a((int)((w_4.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))) * half_to_float(word_2 >> 16u), sum_4);
  const auto to = share * 64u + first_own + 176u;
  store_four(&pool[to], __float_as_uint(sum), __float_as_uint(sum_2), __float_as_uint(sum_3), __float_as_uint(sum_4));
  __syncthreads();
  auto result = 0.0f;
  if (lane < 64u) {
    auto total = __uint_as_float(pool[lane + 176u]);
    for (auto l = 1u; l < 16u; l += 1u) {
      total = total + __uint_as_float(pool[lane + l * 64u + 176u]);
    }
    result = total;
  }
  if (lane < 64u) {
    const auto mine = __float_as_uint(result) & 0x7fffffffu;
    const auto other = __shfl_xor_sync(warp, mine, 1u);
    const auto both = max(mine, other);
    const auto other_2 = __shfl_xor_sync(warp, both, 2u);
    const auto both_2 = max(both, other_2);
    const auto other_3 = __shfl_xor_sync(warp, both_2, 4u);
    const auto both_3 = max(both_2, other_3);
    const auto other_4 = __shfl_xor_sync(warp, both_3, 8u);
    const auto both_4 = max(both_3, other_4);
    const auto other_5 = __shfl_xor_sync(warp, both_4, 16u);
    const auto both_5 = max(both_4, other_5);
    const auto largest = __uint_as_float(both_5);
    const auto factor = largest * 0.007874016f;
    const auto scale = (both_5 < 0x7f800000u ? __float_as_uint(factor) : 0x7fc00000u);
    const auto packed = ((unsigned int)(__float2int_rz(min(max(rintf(result * (largest > 1.5046328e-36f && both_5 < 0x7f800000u ? reciprocal(factor) : 0.0f)), -127.0f), 127.0f))) & 255u) << ((lane % 4u) * 8u);
    const auto other_6 = __shfl_xor_sync(warp, packed, 1u);
    const auto packed_2 = packed | other_6;
    const auto other_7 = __shfl_xor_sync(warp, packed_2, 2u);
    const auto packed_3 = packed_2 | other_7;
    const auto sum_5 = __dp4a((int)(packed_3), (int)(0x1010101u), 0);
    const auto other_8 = __shfl_xor_sync(warp, sum_5, 4u);
    const auto sum_6 = sum_5 + other_8;
    const auto other_9 = __shfl_xor_sync(warp, sum_6, 8u);
    const auto sum_7 = sum_6 + other_9;
    const auto at_2 = i_5 * 5120u + i_6 * 256u + column_5;
    if ((lane % 4u) == 0u) {
      b0[p2 + (at_2 / 4u)] = packed_3;
    }
    if ((lane % 32u) == 0u) {
      b0[p2 + (n2 / 4u) + (at_2 / 32u)] = scale;
    }
    if ((lane % 16u) == 0u) {
      b0[p2 + ((n2 / 4u) + (n2 / 32u)) + (at_2 / 16u)] = __float_as_uint((float)(sum_7) * __uint_as_float(scale));
    }
  }
}

