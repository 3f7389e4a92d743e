test cuda T=1 R=1 S=4096 P=128 workers=64 kernel=2 of=9
# A decode step: the products that make queries wide, and the row that is stored in the cache.
include glm_moe_layer
---
// head_dot_192x768_q4_0+2: lanes 256; dot.lanes rows 1 width 32 reduce 8 upcast 1; dot.lanes rows 1 width 64 reduce 8 upcast 2; plain rows 1 width 512
struct Args { unsigned int words[24]; };
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

static __device__ __forceinline__ uint4 load_early_4(const unsigned int* from) {
  uint4 words;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
    : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w) : "l"(from));
  return words;
}

static __device__ __forceinline__ void fetch(const unsigned int* from) {
  asm volatile("prefetch.global.L2 [%0];" :: "l"(from));
}

static __device__ __forceinline__ float half_to_float(unsigned int bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)bits));
  return value;
}

static __device__ __forceinline__ unsigned int pack_halves(float low, float high) {
  unsigned short lower, upper;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(lower) : "f"(low));
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(upper) : "f"(high));
  return (unsigned int)lower | ((unsigned int)upper << 16);
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

extern "C" __global__ void __launch_bounds__(256) weft_head_dot_192x768_q4_0_2(
  const Args args,
  const Sizes sizes,
  unsigned int* b0,
  const unsigned int* __restrict__ b1,
  const unsigned int* __restrict__ b2,
  const unsigned int* b3,
  const unsigned int* b4,
  const unsigned int* __restrict__ b5,
  const unsigned int* b6,
  unsigned int* b7
) {
  __shared__ __align__(16) unsigned int pool[1032];
  const unsigned int lane = threadIdx.x;
  const unsigned int warp = 0xffffffffu;
  const auto p0 = args.words[0];
  const auto p1 = args.words[2];
  const auto p2 = args.words[4];
  const auto p3 = args.words[6];
  const auto p4 = args.words[8];
  const auto p5 = args.words[10];
  const auto p6 = args.words[12];
  const auto p7 = args.words[14];
  const auto p8 = args.words[16];
  const auto p9 = args.words[18];
  const auto p10 = args.words[20];
  const auto n6 = args.words[13];
  const auto n10 = args.words[21];
  const auto top_bits = blockIdx.z ^ 0x80808080u;
  launch_next();
  // part 0: dot [T, 20] × 64; dot.lanes rows 1 width 32 reduce 8 upcast 1
  const auto own_group = blockIdx.x;
  const auto count = sizes.words[0] * 40u;
  if (own_group < count) {
    const auto rows_at = own_group % 20u;
    const auto first = (own_group / 20u) * 32u;
    const auto i = rows_at / 20u;
    const auto i_2 = (rows_at % 20u) % 20u;
    const auto share = lane / 32u;
    const auto own = lane % 32u;
    const auto column = first + own;
    const auto tile = p2 + ((i_2 * 256u + column + 192u) / 16u) * 1728u;
    const auto lane_row = (i_2 * 256u + column + 192u) % 16u;
    const auto b = share * 3u;
    const auto at = tile + lane_row + b * 64u;
    const auto w = load_early(&b2[at]);
    const auto w_2 = load_early(&(b2 + (at))[16u]);
    const auto w_3 = load_early(&(b2 + (at))[32u]);
    const auto w_4 = load_early(&(b2 + (at))[48u]);
    const auto word = load_early(&(b2 + (tile + (b * 8u + (lane_row / 2u))))[1536u]);
    const auto at_2 = tile + lane_row + b * 64u;
    const auto w_5 = load_early(&(b2 + (at_2))[64u]);
    const auto w_6 = load_early(&(b2 + (at_2))[80u]);
    const auto w_7 = load_early(&(b2 + (at_2))[96u]);
    const auto w_8 = load_early(&(b2 + (at_2))[112u]);
    const auto word_2 = load_early(&(b2 + (tile + (b * 8u + (lane_row / 2u))))[1544u]);
    const auto at_3 = tile + lane_row + b * 64u;
    const auto w_9 = load_early(&(b2 + (at_3))[128u]);
    const auto w_10 = load_early(&(b2 + (at_3))[144u]);
    const auto w_11 = load_early(&(b2 + (at_3))[160u]);
    const auto w_12 = load_early(&(b2 + (at_3))[176u]);
    const auto word_3 = load_early(&(b2 + (tile + (b * 8u + (lane_row / 2u))))[1552u]);
    const auto i_3 = rows_at / 20u;
    const auto i_4 = (rows_at % 20u) % 20u;
    const auto i_5 = rows_at / 20u;
    const auto i_6 = (rows_at % 20u) % 20u;
    const auto column_2 = first + lane;
    auto kept = 0.0f;
    if (lane < 32u) {
      const auto at_4 = i_5 * 32u + (column_2 / 2u);
      const auto v = __uint_as_float(load_early(&b3[p3 + at_4]));
      kept = v;
    }
    auto kept_2 = 0.0f;
    if (lane < 32u) {
      const auto at_5 = i_5 * 32u + (column_2 / 2u);
      const auto v_2 = __uint_as_float(load_early(&b4[p4 + at_5]));
      kept_2 = v_2;
    }
    const auto word_4 = min(lane, 191u);
    const auto x = load_early_4(&b1[p1 + word_4 * 4u]);
    wait_for_previous();
    // what is multiplied
    const auto i_7 = rows_at / 20u;
    const auto i_8 = (rows_at % 20u) % 20u;
    const auto x_2 = *(const uint4*)&b0[p0 + (i_7 * 768u + word_4 * 4u)];
    auto total = 0.0f;
    const auto v_3 = __uint_as_float(x_2.x) * __uint_as_float(x_2.x);
    total = (lane < 192u ? total + v_3 : total);
    const auto v_4 = __uint_as_float(x_2.y) * __uint_as_float(x_2.y);
    total = (lane < 192u ? total + v_4 : total);
    const auto v_5 = __uint_as_float(x_2.z) * __uint_as_float(x_2.z);
    total = (lane < 192u ? total + v_5 : total);
    const auto v_6 = __uint_as_float(x_2.w) * __uint_as_float(x_2.w);
    total = (lane < 192u ? total + v_6 : total);
    const auto other = __shfl_xor_sync(warp, total, 1u);
    const auto both = total + other;
    const auto other_2 = __shfl_xor_sync(warp, both, 2u);
    const auto both_2 = both + other_2;
    const auto other_3 = __shfl_xor_sync(warp, both_2, 4u);
    const auto both_3 = both_2 + other_3;
    const auto other_4 = __shfl_xor_sync(warp, both_3, 8u);
    const auto both_4 = both_3 + other_4;
    const auto other_5 = __shfl_xor_sync(warp, both_4, 16u);
    const auto both_5 = both_4 + other_5;
    if ((lane % 32u) == 0u) {
      pool[(lane / 32u) + 264u] = __float_as_uint(both_5);
    }
    __syncthreads();
    auto total_2 = __uint_as_float(pool[264u]);
    for (auto l = 1u; l < 8u; l += 1u) {
      total_2 = total_2 + __uint_as_float(pool[l + 264u]);
    }
    const auto v_7 = total_2 / 768.0f;
    const auto v_8 = v_7 + 1e-5f;
    const auto v_9 = rsqrtf(v_8);
    const auto v_10 = __uint_as_float(x_2.x) * v_9;
    const auto v_11 = v_10 * __uint_as_float(x.x);
    const auto v_12 = __uint_as_float(x_2.y) * v_9;
    const auto v_13 = v_12 * __uint_as_float(x.y);
    const auto v_14 = __uint_as_float(x_2.z) * v_9;
    const auto v_15 = v_14 * __uint_as_float(x.z);
    const auto v_16 = __uint_as_float(x_2.w) * v_9;
    const auto v_17 = v_16 * __uint_as_float(x.w);
    const auto mine = max(max(max(__float_as_uint(v_11) & 0x7fffffffu, __float_as_uint(v_13) & 0x7fffffffu), __float_as_uint(v_15) & 0x7fffffffu), __float_as_uint(v_17) & 0x7fffffffu);
    const auto other_6 = __shfl_xor_sync(warp, mine, 1u);
    const auto both_6 = max(mine, other_6);
    const auto other_7 = __shfl_xor_sync(warp, both_6, 2u);
    const auto both_7 = max(both_6, other_7);
    const auto other_8 = __shfl_xor_sync(warp, both_7, 4u);
    const auto both_8 = max(both_7, other_8);
    const auto largest = __uint_as_float(both_8);
    const auto factor = largest * 0.007874016f;
    const auto scale = (both_8 < 0x7f800000u ? __float_as_uint(factor) : 0x7fc00000u);
    const auto inverse = (largest > 1.5046328e-36f && both_8 < 0x7f800000u ? reciprocal(factor) : 0.0f);
    const auto packed = ((unsigned int)(__float2int_rz(min(max(rintf(v_11 * inverse), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_13 * inverse), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_15 * inverse), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_17 * inverse), -127.0f), 127.0f))) & 255u) << 24u);
    if (lane < 192u) {
      pool[lane] = packed;
      if ((lane % 8u) == 0u) {
        pool[(lane / 8u) + 192u] = scale;
      }
    }
    __syncthreads();
    // times q4_0[64, 768]
    auto sum = 0.0f;
    const auto xw = b * 8u;
    const auto xq = *(const uint4*)&pool[xw];
    const auto xq_2 = *(const uint4*)&pool[xw + 4u];
    const auto d = __uint_as_float(pool[b + 192u]) * 0.0625f;
    sum = fmaf(d, (float)(__dp4a((int)((w_4 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))) * half_to_float(word >> ((lane_row % 2u) * 16u)), sum);
    const auto xw_2 = b * 8u;
    const auto xq_3 = *(const uint4*)&pool[xw_2 + 8u];
    const auto xq_4 = *(const uint4*)&pool[xw_2 + 12u];
    const auto d_2 = __uint_as_float(pool[b + 193u]) * 0.0625f;
    sum = fmaf(d_2, (float)(__dp4a((int)((w_8 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.w), __dp4a((int)((w_7 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.z), __dp4a((int)((w_6 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.y), __dp4a((int)((w_5 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.x), __dp4a((int)(((w_8 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.w), __dp4a((int)(((w_7 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.z), __dp4a((int)(((w_6 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.y), __dp4a((int)(((w_5 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.x), 0))))))))) * half_to_float(word_2 >> ((lane_row % 2u) * 16u)), sum);
    const auto xw_3 = b * 8u;
    const auto xq_5 = *(const uint4*)&pool[xw_3 + 16u];
    const auto xq_6 = *(const uint4*)&pool[xw_3 + 20u];
    const auto d_3 = __uint_as_float(pool[b + 194u]) * 0.0625f;
    sum = fmaf(d_3, (float)(__dp4a((int)((w_12 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.w), __dp4a((int)((w_11 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.z), __dp4a((int)((w_10 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.y), __dp4a((int)((w_9 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.x), __dp4a((int)(((w_12 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.w), __dp4a((int)(((w_11 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.z), __dp4a((int)(((w_10 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.y), __dp4a((int)(((w_9 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.x), 0))))))))) * half_to_float(word_3 >> ((lane_row % 2u) * 16u)), sum);
    const auto to = share * 32u + own + 272u;
    pool[to] = __float_as_uint(sum);
    __syncthreads();
    auto result = 0.0f;
    if (lane < 32u) {
      auto total_3 = __uint_as_float(pool[lane + 272u]);
      for (auto l_2 = 1u; l_2 < 8u; l_2 += 1u) {
        total_3 = total_3 + __uint_as_float(pool[lane + l_2 * 32u + 272u]);
      }
      result = total_3;
    }
    if (lane < 32u) {
      const auto other_9 = __shfl_xor_sync(warp, result, 1u);
      const auto v_18 = ((column_2 % 2u) == 0u ? result * kept - other_9 * kept_2 : other_9 * kept_2 + result * kept);
      b0[p5 + (i_5 * 11520u + i_6 * 576u + column_2) + 512u] = __float_as_uint(v_18);
    }
  }
  // part 1: dot [T, 20] × 192; dot.lanes rows 1 width 64 reduce 8 upcast 2
  const auto own_group_2 = blockIdx.x - count;
  const auto count_2 = sizes.words[0] * 60u;
  if (own_group_2 < count_2) {
    const auto rows_at_2 = own_group_2 % 20u;
    const auto first_2 = (own_group_2 / 20u) * 64u;
    const auto i_9 = rows_at_2 / 20u;
    const auto i_10 = (rows_at_2 % 20u) % 20u;
    const auto share_2 = lane / 32u;
    const auto own_2 = lane % 32u;
    const auto own_3 = (lane % 32u) + 32u;
    const auto column_3 = first_2 + own_2;
    const auto column_4 = first_2 + own_3;
    const auto tile_2 = p2 + ((i_10 * 256u + column_3) / 16u) * 1728u;
    const auto lane_row_2 = (i_10 * 256u + column_3) % 16u;
    const auto tile_3 = p2 + ((i_10 * 256u + column_4) / 16u) * 1728u;
    const auto lane_row_3 = (i_10 * 256u + column_4) % 16u;
    const auto b_2 = share_2 * 3u;
    const auto at_6 = tile_2 + lane_row_2 + b_2 * 64u;
    const auto w_13 = load_early(&b2[at_6]);
    const auto w_14 = load_early(&(b2 + (at_6))[16u]);
    const auto w_15 = load_early(&(b2 + (at_6))[32u]);
    const auto w_16 = load_early(&(b2 + (at_6))[48u]);
    const auto word_5 = load_early(&(b2 + (tile_2 + (b_2 * 8u + (lane_row_2 / 2u))))[1536u]);
    const auto at_7 = tile_3 + lane_row_3 + b_2 * 64u;
    const auto w_17 = load_early(&b2[at_7]);
    const auto w_18 = load_early(&(b2 + (at_7))[16u]);
    const auto w_19 = load_early(&(b2 + (at_7))[32u]);
    const auto w_20 = load_early(&(b2 + (at_7))[48u]);
    const auto word_6 = load_early(&(b2 + (tile_3 + (b_2 * 8u + (lane_row_3 / 2u))))[1536u]);
    const auto at_8 = tile_2 + lane_row_2 + b_2 * 64u;
    const auto w_21 = load_early(&(b2 + (at_8))[64u]);
    const auto w_22 = load_early(&(b2 + (at_8))[80u]);
    const auto w_23 = load_early(&(b2 + (at_8))[96u]);
    const auto w_24 = load_early(&(b2 + (at_8))[112u]);
    const auto word_7 = load_early(&(b2 + (tile_2 + (b_2 * 8u + (lane_row_2 / 2u))))[1544u]);
    const auto at_9 = tile_3 + lane_row_3 + b_2 * 64u;
    const auto w_25 = load_early(&(b2 + (at_9))[64u]);
    const auto w_26 = load_early(&(b2 + (at_9))[80u]);
    const auto w_27 = load_early(&(b2 + (at_9))[96u]);
    const auto w_28 = load_early(&(b2 + (at_9))[112u]);
    const auto word_8 = load_early(&(b2 + (tile_3 + (b_2 * 8u + (lane_row_3 / 2u))))[1544u]);
    const auto at_10 = tile_2 + lane_row_2 + b_2 * 64u;
    const auto w_29 = load_early(&(b2 + (at_10))[128u]);
    const auto w_30 = load_early(&(b2 + (at_10))[144u]);
    const auto w_31 = load_early(&(b2 + (at_10))[160u]);
    const auto w_32 = load_early(&(b2 + (at_10))[176u]);
    const auto word_9 = load_early(&(b2 + (tile_2 + (b_2 * 8u + (lane_row_2 / 2u))))[1552u]);
    const auto at_11 = tile_3 + lane_row_3 + b_2 * 64u;
    const auto w_33 = load_early(&(b2 + (at_11))[128u]);
    const auto w_34 = load_early(&(b2 + (at_11))[144u]);
    const auto w_35 = load_early(&(b2 + (at_11))[160u]);
    const auto w_36 = load_early(&(b2 + (at_11))[176u]);
    const auto word_10 = load_early(&(b2 + (tile_3 + (b_2 * 8u + (lane_row_3 / 2u))))[1552u]);
    const auto i_11 = rows_at_2 / 20u;
    const auto i_12 = (rows_at_2 % 20u) % 20u;
    const auto i_13 = rows_at_2 / 20u;
    const auto i_14 = (rows_at_2 % 20u) % 20u;
    const auto column_5 = first_2 + lane;
    const auto word_11 = min(lane, 191u);
    const auto x_3 = load_early_4(&b1[p1 + word_11 * 4u]);
    wait_for_previous();
    // what is multiplied
    const auto i_15 = rows_at_2 / 20u;
    const auto i_16 = (rows_at_2 % 20u) % 20u;
    const auto x_4 = *(const uint4*)&b0[p0 + (i_15 * 768u + word_11 * 4u)];
    auto total_4 = 0.0f;
    const auto v_19 = __uint_as_float(x_4.x) * __uint_as_float(x_4.x);
    total_4 = (lane < 192u ? total_4 + v_19 : total_4);
    const auto v_20 = __uint_as_float(x_4.y) * __uint_as_float(x_4.y);
    total_4 = (lane < 192u ? total_4 + v_20 : total_4);
    const auto v_21 = __uint_as_float(x_4.z) * __uint_as_float(x_4.z);
    total_4 = (lane < 192u ? total_4 + v_21 : total_4);
    const auto v_22 = __uint_as_float(x_4.w) * __uint_as_float(x_4.w);
    total_4 = (lane < 192u ? total_4 + v_22 : total_4);
    const auto other_10 = __shfl_xor_sync(warp, total_4, 1u);
    const auto both_9 = total_4 + other_10;
    const auto other_11 = __shfl_xor_sync(warp, both_9, 2u);
    const auto both_10 = both_9 + other_11;
    const auto other_12 = __shfl_xor_sync(warp, both_10, 4u);
    const auto both_11 = both_10 + other_12;
    const auto other_13 = __shfl_xor_sync(warp, both_11, 8u);
    const auto both_12 = both_11 + other_13;
    const auto other_14 = __shfl_xor_sync(warp, both_12, 16u);
    const auto both_13 = both_12 + other_14;
    if ((lane % 32u) == 0u) {
      pool[(lane / 32u) + 264u] = __float_as_uint(both_13);
    }
    __syncthreads();
    auto total_5 = __uint_as_float(pool[264u]);
    for (auto l_3 = 1u; l_3 < 8u; l_3 += 1u) {
      total_5 = total_5 + __uint_as_float(pool[l_3 + 264u]);
    }
    const auto v_23 = total_5 / 768.0f;
    const auto v_24 = v_23 + 1e-5f;
    const auto v_25 = rsqrtf(v_24);
    const auto v_26 = __uint_as_float(x_4.x) * v_25;
    const auto v_27 = v_26 * __uint_as_float(x_3.x);
    const auto v_28 = __uint_as_float(x_4.y) * v_25;
    const auto v_29 = v_28 * __uint_as_float(x_3.y);
    const auto v_30 = __uint_as_float(x_4.z) * v_25;
    const auto v_31 = v_30 * __uint_as_float(x_3.z);
    const auto v_32 = __uint_as_float(x_4.w) * v_25;
    const auto v_33 = v_32 * __uint_as_float(x_3.w);
    const auto mine_2 = max(max(max(__float_as_uint(v_27) & 0x7fffffffu, __float_as_uint(v_29) & 0x7fffffffu), __float_as_uint(v_31) & 0x7fffffffu), __float_as_uint(v_33) & 0x7fffffffu);
    const auto other_15 = __shfl_xor_sync(warp, mine_2, 1u);
    const auto both_14 = max(mine_2, other_15);
    const auto other_16 = __shfl_xor_sync(warp, both_14, 2u);
    const auto both_15 = max(both_14, other_16);
    const auto other_17 = __shfl_xor_sync(warp, both_15, 4u);
    const auto both_16 = max(both_15, other_17);
    const auto largest_2 = __uint_as_float(both_16);
    const auto factor_2 = largest_2 * 0.007874016f;
    const auto scale_2 = (both_16 < 0x7f800000u ? __float_as_uint(factor_2) : 0x7fc00000u);
    const auto inverse_2 = (largest_2 > 1.5046328e-36f && both_16 < 0x7f800000u ? reciprocal(factor_2) : 0.0f);
    const auto packed_2 = ((unsigned int)(__float2int_rz(min(max(rintf(v_27 * inverse_2), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_29 * inverse_2), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_31 * inverse_2), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_33 * inverse_2), -127.0f), 127.0f))) & 255u) << 24u);
    if (lane < 192u) {
      pool[lane] = packed_2;
      if ((lane % 8u) == 0u) {
        pool[(lane / 8u) + 192u] = scale_2;
      }
    }
    __syncthreads();
    // times q4_0[192, 768]
    auto sum_2 = 0.0f;
    auto sum_3 = 0.0f;
    const auto xw_4 = b_2 * 8u;
    const auto xq_7 = *(const uint4*)&pool[xw_4];
    const auto xq_8 = *(const uint4*)&pool[xw_4 + 4u];
    const auto d_4 = __uint_as_float(pool[b_2 + 192u]) * 0.0625f;
    sum_2 = fmaf(d_4, (float)(__dp4a((int)((w_16 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.w), __dp4a((int)((w_15 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.z), __dp4a((int)((w_14 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.y), __dp4a((int)((w_13 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.x), __dp4a((int)(((w_16 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.w), __dp4a((int)(((w_15 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.z), __dp4a((int)(((w_14 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.y), __dp4a((int)(((w_13 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.x), 0))))))))) * half_to_float(word_5 >> ((lane_row_2 % 2u) * 16u)), sum_2);
    sum_3 = fmaf(d_4, (float)(__dp4a((int)((w_20 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.w), __dp4a((int)((w_19 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.z), __dp4a((int)((w_18 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.y), __dp4a((int)((w_17 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.x), __dp4a((int)(((w_20 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.w), __dp4a((int)(((w_19 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.z), __dp4a((int)(((w_18 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.y), __dp4a((int)(((w_17 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.x), 0))))))))) * half_to_float(word_6 >> ((lane_row_3 % 2u) * 16u)), sum_3);
    const auto xw_5 = b_2 * 8u;
    const auto xq_9 = *(const uint4*)&pool[xw_5 + 8u];
    const auto xq_10 = *(const uint4*)&pool[xw_5 + 12u];
    const auto d_5 = __uint_as_float(pool[b_2 + 193u]) * 0.0625f;
    sum_2 = fmaf(d_5, (float)(__dp4a((int)((w_24 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.w), __dp4a((int)((w_23 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.z), __dp4a((int)((w_22 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.y), __dp4a((int)((w_21 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.x), __dp4a((int)(((w_24 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.w), __dp4a((int)(((w_23 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.z), __dp4a((int)(((w_22 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.y), __dp4a((int)(((w_21 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.x), 0))))))))) * half_to_float(word_7 >> ((lane_row_2 % 2u) * 16u)), sum_2);
    sum_3 = fmaf(d_5, (float)(__dp4a((int)((w_28 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.w), __dp4a((int)((w_27 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.z), __dp4a((int)((w_26 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.y), __dp4a((int)((w_25 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.x), __dp4a((int)(((w_28 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.w), __dp4a((int)(((w_27 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.z), __dp4a((int)(((w_26 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.y), __dp4a((int)(((w_25 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.x), 0))))))))) * half_to_float(word_8 >> ((lane_row_3 % 2u) * 16u)), sum_3);
    const auto xw_6 = b_2 * 8u;
    const auto xq_11 = *(const uint4*)&pool[xw_6 + 16u];
    const auto xq_12 = *(const uint4*)&pool[xw_6 + 20u];
    const auto d_6 = __uint_as_float(pool[b_2 + 194u]) * 0.0625f;
    sum_2 = fmaf(d_6, (float)(__dp4a((int)((w_32 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.w), __dp4a((int)((w_31 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.z), __dp4a((int)((w_30 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.y), __dp4a((int)((w_29 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.x), __dp4a((int)(((w_32 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.w), __dp4a((int)(((w_31 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.z), __dp4a((int)(((w_30 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.y), __dp4a((int)(((w_29 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.x), 0))))))))) * half_to_float(word_9 >> ((lane_row_2 % 2u) * 16u)), sum_2);
    sum_3 = fmaf(d_6, (float)(__dp4a((int)((w_36 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.w), __dp4a((int)((w_35 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.z), __dp4a((int)((w_34 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.y), __dp4a((int)((w_33 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.x), __dp4a((int)(((w_36 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.w), __dp4a((int)(((w_35 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.z), __dp4a((int)(((w_34 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.y), __dp4a((int)(((w_33 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.x), 0))))))))) * half_to_float(word_10 >> ((lane_row_3 % 2u) * 16u)), sum_3);
    const auto to_2 = share_2 * 64u + own_2 + 272u;
    pool[to_2] = __float_as_uint(sum_2);
    const auto to_3 = share_2 * 64u + own_3 + 272u;
    pool[to_3] = __float_as_uint(sum_3);
    __syncthreads();
    auto result_2 = 0.0f;
    if (lane < 64u) {
      auto total_6 = __uint_as_float(pool[lane + 272u]);
      for (auto l_4 = 1u; l_4 < 8u; l_4 += 1u) {
        total_6 = total_6 + __uint_as_float(pool[lane + l_4 * 64u + 272u]);
      }
      result_2 = total_6;
    }
    if (lane < 64u) {
      const auto mine_3 = __float_as_uint(result_2) & 0x7fffffffu;
      const auto other_18 = __shfl_xor_sync(warp, mine_3, 1u);
      const auto both_17 = max(mine_3, other_18);
      const auto other_19 = __shfl_xor_sync(warp, both_17, 2u);
      const auto both_18 = max(both_17, other_19);
      const auto other_20 = __shfl_xor_sync(warp, both_18, 4u);
      const auto both_19 = max(both_18, other_20);
      const auto other_21 = __shfl_xor_sync(warp, both_19, 8u);
      const auto both_20 = max(both_19, other_21);
      const auto other_22 = __shfl_xor_sync(warp, both_20, 16u);
      const auto both_21 = max(both_20, other_22);
      const auto largest_3 = __uint_as_float(both_21);
      const auto factor_3 = largest_3 * 0.007874016f;
      const auto scale_3 = (both_21 < 0x7f800000u ? __float_as_uint(factor_3) : 0x7fc00000u);
      const auto packed_3 = ((unsigned int)(__float2int_rz(min(max(rintf(result_2 * (largest_3 > 1.5046328e-36f && both_21 < 0x7f800000u ? reciprocal(factor_3) : 0.0f)), -127.0f), 127.0f))) & 255u) << ((lane % 4u) * 8u);
      const auto other_23 = __shfl_xor_sync(warp, packed_3, 1u);
      const auto packed_4 = packed_3 | other_23;
      const auto other_24 = __shfl_xor_sync(warp, packed_4, 2u);
      const auto packed_5 = packed_4 | other_24;
      const auto sum_4 = __dp4a((int)(packed_5), (int)(0x1010101u), 0);
      const auto other_25 = __shfl_xor_sync(warp, sum_4, 4u);
      const auto sum_5 = sum_4 + other_25;
      const auto other_26 = __shfl_xor_sync(warp, sum_5, 8u);
      const auto sum_6 = sum_5 + other_26;
      const auto at_12 = i_13 * 3840u + i_14 * 192u + column_5;
      if ((lane % 4u) == 0u) {
        b0[p6 + (at_12 / 4u)] = packed_5;
      }
      if ((lane % 32u) == 0u) {
        b0[p6 + (n6 / 4u) + (at_12 / 32u)] = scale_3;
      }
      if ((lane % 16u) == 0u) {
        b0[p6 + ((n6 / 4u) + (n6 / 32u)) + (at_12 / 16u)] = __float_as_uint((float)(sum_6) * __uint_as_float(scale_3));
      }
    }
  }
  const auto end = count + count_2;
  // part 2: reduce [T] × 512; plain rows 1 width 512
  const auto own_group_3 = blockIdx.x - end;
  const auto count_3 = sizes.words[0];
  if (own_group_3 < count_3) {
    if (lane < 16u) {
      fetch(&b5[p8 + lane * 32u]);
    }
    wait_for_previous();
    for (auto time = 0u; time < 2u; time += 1u) {
      const auto c = time * 256u + lane;
      const auto at_13 = own_group_3 * 512u + c;
      const auto v_34 = __uint_as_float(b0[p7 + at_13]);
      const auto v_35 = __uint_as_float(b5[p8 + c]);
      pool[c] = __float_as_uint(v_34);
      pool[c + 512u] = __float_as_uint(v_35);
    }
    __syncthreads();
    auto total_7 = 0.0f;
    const auto word_12 = min(lane, 127u);
    const auto v_36 = __uint_as_float(pool[word_12 * 4u]) * __uint_as_float(pool[word_12 * 4u]);
    total_7 = (lane < 128u ? total_7 + v_36 : total_7);
    const auto v_37 = __uint_as_float(pool[word_12 * 4u + 1u]) * __uint_as_float(pool[word_12 * 4u + 1u]);
    total_7 = (lane < 128u ? total_7 + v_37 : total_7);
    const auto v_38 = __uint_as_float(pool[word_12 * 4u + 2u]) * __uint_as_float(pool[word_12 * 4u + 2u]);
    total_7 = (lane < 128u ? total_7 + v_38 : total_7);
    const auto v_39 = __uint_as_float(pool[word_12 * 4u + 3u]) * __uint_as_float(pool[word_12 * 4u + 3u]);
    total_7 = (lane < 128u ? total_7 + v_39 : total_7);
    const auto other_27 = __shfl_xor_sync(warp, total_7, 1u);
    const auto both_22 = total_7 + other_27;
    const auto other_28 = __shfl_xor_sync(warp, both_22, 2u);
    const auto both_23 = both_22 + other_28;
    const auto other_29 = __shfl_xor_sync(warp, both_23, 4u);
    const auto both_24 = both_23 + other_29;
    const auto other_30 = __shfl_xor_sync(warp, both_24, 8u);
    const auto both_25 = both_24 + other_30;
    const auto other_31 = __shfl_xor_sync(warp, both_25, 16u);
    const auto both_26 = both_25 + other_31;
    if ((lane % 32u) == 0u) {
      pool[(lane / 32u) + 1024u] = __float_as_uint(both_26);
    }
    __syncthreads();
    auto total_8 = __uint_as_float(pool[1024u]);
    for (auto l_5 = 1u; l_5 < 8u; l_5 += 1u) {
      total_8 = total_8 + __uint_as_float(pool[l_5 + 1024u]);
    }
    const auto v_40 = total_8 / 512.0f;
    const auto v_41 = v_40 + 1e-5f;
    const auto v_42 = rsqrtf(v_41);
    const auto v_43 = __uint_as_float(pool[lane * 2u]) * v_42;
    const auto v_44 = v_43 * __uint_as_float(pool[lane * 2u + 512u]);
    const auto v_45 = __uint_as_float(pool[lane * 2u + 1u]) * v_42;
    const auto v_46 = v_45 * __uint_as_float(pool[lane * 2u + 513u]);
    const auto index = b6[p9 + own_group_3];
    if (index < (n10 / 576u)) {
      b7[p10 + ((index * 576u + lane * 2u) / 2u)] = pack_halves(v_44, v_46);
    }
  }
  const auto end_2 = end + count_3;
}

