test cuda T=1 R=1 S=4096 P=128 workers=64 kernel=1 of=9
# A decode step: the norm of attention, and the products that make queries and keys narrow.
include glm_moe_layer
---
// dot_768x2048_q4_0+2: lanes 256; dot.lanes rows 1 width 16 reduce 16 upcast 1; dot.lanes rows 1 width 16 reduce 16 upcast 1; dot.lanes rows 1 width 16 reduce 16 upcast 1
struct Args { unsigned int words[20]; };
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

extern "C" __global__ void __launch_bounds__(256) weft_dot_768x2048_q4_0_2(
  const Args args,
  const Sizes sizes,
  const unsigned int* b0,
  const unsigned int* __restrict__ b1,
  const unsigned int* __restrict__ b2,
  unsigned int* b3,
  const unsigned int* __restrict__ b4,
  const unsigned int* b5,
  const unsigned int* b6,
  const unsigned int* b7,
  unsigned int* b8
) {
  __shared__ __align__(16) unsigned int pool[968];
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
  const auto n9 = args.words[19];
  const auto top_bits = blockIdx.z ^ 0x80808080u;
  launch_next();
  // part 0: dot [T] × 768; dot.lanes rows 1 width 16 reduce 16 upcast 1
  const auto own_group = blockIdx.x;
  const auto count = sizes.words[0] * 48u;
  if (own_group < count) {
    const auto first = own_group * 16u;
    const auto share = lane / 16u;
    const auto own = lane % 16u;
    const auto column = first + own;
    const auto tile = p2 + (column / 16u) * 4608u;
    const auto lane_row = column % 16u;
    const auto b = share * 4u;
    const auto at = tile + lane_row + b * 64u;
    const auto w = load_early(&b2[at]);
    const auto w_2 = load_early(&(b2 + (at))[16u]);
    const auto w_3 = load_early(&(b2 + (at))[32u]);
    const auto w_4 = load_early(&(b2 + (at))[48u]);
    const auto word = load_early(&(b2 + (tile + (b * 8u + (lane_row / 2u))))[4096u]);
    const auto at_2 = tile + lane_row + b * 64u;
    const auto w_5 = load_early(&(b2 + (at_2))[64u]);
    const auto w_6 = load_early(&(b2 + (at_2))[80u]);
    const auto w_7 = load_early(&(b2 + (at_2))[96u]);
    const auto w_8 = load_early(&(b2 + (at_2))[112u]);
    const auto word_2 = load_early(&(b2 + (tile + (b * 8u + (lane_row / 2u))))[4104u]);
    const auto at_3 = tile + lane_row + b * 64u;
    const auto w_9 = load_early(&(b2 + (at_3))[128u]);
    const auto w_10 = load_early(&(b2 + (at_3))[144u]);
    const auto w_11 = load_early(&(b2 + (at_3))[160u]);
    const auto w_12 = load_early(&(b2 + (at_3))[176u]);
    const auto word_3 = load_early(&(b2 + (tile + (b * 8u + (lane_row / 2u))))[4112u]);
    const auto at_4 = tile + lane_row + b * 64u;
    const auto w_13 = load_early(&(b2 + (at_4))[192u]);
    const auto w_14 = load_early(&(b2 + (at_4))[208u]);
    const auto w_15 = load_early(&(b2 + (at_4))[224u]);
    const auto w_16 = load_early(&(b2 + (at_4))[240u]);
    const auto word_4 = load_early(&(b2 + (tile + (b * 8u + (lane_row / 2u))))[4120u]);
    const auto item = min(lane, 15u);
    const auto column_2 = first + item;
    const auto word_5 = lane + 256u;
    const auto x = load_early_4(&b1[p1 + lane * 4u]);
    const auto x_2 = load_early_4(&b1[p1 + word_5 * 4u]);
    // what is multiplied
    const auto x_3 = *(const uint4*)&b0[p0 + lane * 4u];
    const auto x_4 = *(const uint4*)&b0[p0 + word_5 * 4u];
    auto total = 0.0f;
    const auto v = __uint_as_float(x_3.x) * __uint_as_float(x_3.x);
    total = total + v;
    const auto v_2 = __uint_as_float(x_3.y) * __uint_as_float(x_3.y);
    total = total + v_2;
    const auto v_3 = __uint_as_float(x_3.z) * __uint_as_float(x_3.z);
    total = total + v_3;
    const auto v_4 = __uint_as_float(x_3.w) * __uint_as_float(x_3.w);
    total = total + v_4;
    const auto v_5 = __uint_as_float(x_4.x) * __uint_as_float(x_4.x);
    total = total + v_5;
    const auto v_6 = __uint_as_float(x_4.y) * __uint_as_float(x_4.y);
    total = total + v_6;
    const auto v_7 = __uint_as_float(x_4.z) * __uint_as_float(x_4.z);
    total = total + v_7;
    const auto v_8 = __uint_as_float(x_4.w) * __uint_as_float(x_4.w);
    total = total + v_8;
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
      pool[(lane / 32u) + 704u] = __float_as_uint(both_5);
    }
    __syncthreads();
    auto total_2 = __uint_as_float(pool[704u]);
    for (auto l = 1u; l < 8u; l += 1u) {
      total_2 = total_2 + __uint_as_float(pool[l + 704u]);
    }
    const auto v_9 = total_2 / 2048.0f;
    const auto v_10 = v_9 + 1e-5f;
    const auto v_11 = rsqrtf(v_10);
    const auto v_12 = __uint_as_float(x_3.x) * v_11;
    const auto v_13 = v_12 * __uint_as_float(x.x);
    const auto v_14 = __uint_as_float(x_3.y) * v_11;
    const auto v_15 = v_14 * __uint_as_float(x.y);
    const auto v_16 = __uint_as_float(x_3.z) * v_11;
    const auto v_17 = v_16 * __uint_as_float(x.z);
    const auto v_18 = __uint_as_float(x_3.w) * v_11;
    const auto v_19 = v_18 * __uint_as_float(x.w);
    const auto v_20 = __uint_as_float(x_4.x) * v_11;
    const auto v_21 = v_20 * __uint_as_float(x_2.x);
    const auto v_22 = __uint_as_float(x_4.y) * v_11;
    const auto v_23 = v_22 * __uint_as_float(x_2.y);
    const auto v_24 = __uint_as_float(x_4.z) * v_11;
    const auto v_25 = v_24 * __uint_as_float(x_2.z);
    const auto v_26 = __uint_as_float(x_4.w) * v_11;
    const auto v_27 = v_26 * __uint_as_float(x_2.w);
    const auto mine = max(max(max(__float_as_uint(v_13) & 0x7fffffffu, __float_as_uint(v_15) & 0x7fffffffu), __float_as_uint(v_17) & 0x7fffffffu), __float_as_uint(v_19) & 0x7fffffffu);
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
    const auto packed = ((unsigned int)(__float2int_rz(min(max(rintf(v_13 * inverse), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_15 * inverse), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_17 * inverse), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_19 * inverse), -127.0f), 127.0f))) & 255u) << 24u);
    pool[lane] = packed;
    if ((lane % 8u) == 0u) {
      pool[(lane / 8u) + 512u] = scale;
    }
    const auto mine_2 = max(max(max(__float_as_uint(v_21) & 0x7fffffffu, __float_as_uint(v_23) & 0x7fffffffu), __float_as_uint(v_25) & 0x7fffffffu), __float_as_uint(v_27) & 0x7fffffffu);
    const auto other_9 = __shfl_xor_sync(warp, mine_2, 1u);
    const auto both_9 = max(mine_2, other_9);
    const auto other_10 = __shfl_xor_sync(warp, both_9, 2u);
    const auto both_10 = max(both_9, other_10);
    const auto other_11 = __shfl_xor_sync(warp, both_10, 4u);
    const auto both_11 = max(both_10, other_11);
    const auto largest_2 = __uint_as_float(both_11);
    const auto factor_2 = largest_2 * 0.007874016f;
    const auto scale_2 = (both_11 < 0x7f800000u ? __float_as_uint(factor_2) : 0x7fc00000u);
    const auto inverse_2 = (largest_2 > 1.5046328e-36f && both_11 < 0x7f800000u ? reciprocal(factor_2) : 0.0f);
    const auto packed_2 = ((unsigned int)(__float2int_rz(min(max(rintf(v_21 * inverse_2), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_23 * inverse_2), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_25 * inverse_2), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_27 * inverse_2), -127.0f), 127.0f))) & 255u) << 24u);
    pool[word_5] = packed_2;
    if ((word_5 % 8u) == 0u) {
      pool[(word_5 / 8u) + 512u] = scale_2;
    }
    __syncthreads();
    wait_for_previous();
    // times q4_0[768, 2048]
    auto sum = 0.0f;
    const auto xw = b * 8u;
    const auto xq = *(const uint4*)&pool[xw];
    const auto xq_2 = *(const uint4*)&pool[xw + 4u];
    const auto d = __uint_as_float(pool[b + 512u]) * 0.0625f;
    sum = fmaf(d, (float)(__dp4a((int)((w_4 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))) * half_to_float(word >> ((lane_row % 2u) * 16u)), sum);
    const auto xw_2 = b * 8u;
    const auto xq_3 = *(const uint4*)&pool[xw_2 + 8u];
    const auto xq_4 = *(const uint4*)&pool[xw_2 + 12u];
    const auto d_2 = __uint_as_float(pool[b + 513u]) * 0.0625f;
    sum = fmaf(d_2, (float)(__dp4a((int)((w_8 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.w), __dp4a((int)((w_7 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.z), __dp4a((int)((w_6 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.y), __dp4a((int)((w_5 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.x), __dp4a((int)(((w_8 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.w), __dp4a((int)(((w_7 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.z), __dp4a((int)(((w_6 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.y), __dp4a((int)(((w_5 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.x), 0))))))))) * half_to_float(word_2 >> ((lane_row % 2u) * 16u)), sum);
    const auto xw_3 = b * 8u;
    const auto xq_5 = *(const uint4*)&pool[xw_3 + 16u];
    const auto xq_6 = *(const uint4*)&pool[xw_3 + 20u];
    const auto d_3 = __uint_as_float(pool[b + 514u]) * 0.0625f;
    sum = fmaf(d_3, (float)(__dp4a((int)((w_12 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.w), __dp4a((int)((w_11 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.z), __dp4a((int)((w_10 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.y), __dp4a((int)((w_9 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.x), __dp4a((int)(((w_12 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.w), __dp4a((int)(((w_11 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.z), __dp4a((int)(((w_10 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.y), __dp4a((int)(((w_9 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.x), 0))))))))) * half_to_float(word_3 >> ((lane_row % 2u) * 16u)), sum);
    const auto xw_4 = b * 8u;
    const auto xq_7 = *(const uint4*)&pool[xw_4 + 24u];
    const auto xq_8 = *(const uint4*)&pool[xw_4 + 28u];
    const auto d_4 = __uint_as_float(pool[b + 515u]) * 0.0625f;
    sum = fmaf(d_4, (float)(__dp4a((int)((w_16 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.w), __dp4a((int)((w_15 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.z), __dp4a((int)((w_14 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.y), __dp4a((int)((w_13 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.x), __dp4a((int)(((w_16 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.w), __dp4a((int)(((w_15 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.z), __dp4a((int)(((w_14 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.y), __dp4a((int)(((w_13 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.x), 0))))))))) * half_to_float(word_4 >> ((lane_row % 2u) * 16u)), sum);
    const auto to = share * 16u + own + 712u;
    pool[to] = __float_as_uint(sum);
    __syncthreads();
    auto result = 0.0f;
    if (lane < 16u) {
      auto total_3 = __uint_as_float(pool[lane + 712u]);
      for (auto l_2 = 1u; l_2 < 16u; l_2 += 1u) {
        total_3 = total_3 + __uint_as_float(pool[lane + l_2 * 16u + 712u]);
      }
      result = total_3;
    }
    if (lane < 32u) {
      if (lane < 16u) {
        b3[p3 + column_2] = __float_as_uint(result);
      }
    }
  }
  // part 1: dot [T] × 512; dot.lanes rows 1 width 16 reduce 16 upcast 1
  const auto own_group_2 = blockIdx.x - count;
  const auto count_2 = sizes.words[0] * 32u;
  if (own_group_2 < count_2) {
    const auto first_2 = own_group_2 * 16u;
    const auto share_2 = lane / 16u;
    const auto own_2 = lane % 16u;
    const auto column_3 = first_2 + own_2;
    const auto tile_2 = p4 + (column_3 / 16u) * 4608u;
    const auto lane_row_2 = column_3 % 16u;
    const auto b_2 = share_2 * 4u;
    const auto at_5 = tile_2 + lane_row_2 + b_2 * 64u;
    const auto w_17 = load_early(&b4[at_5]);
    const auto w_18 = load_early(&(b4 + (at_5))[16u]);
    const auto w_19 = load_early(&(b4 + (at_5))[32u]);
    const auto w_20 = load_early(&(b4 + (at_5))[48u]);
    const auto word_6 = load_early(&(b4 + (tile_2 + (b_2 * 8u + (lane_row_2 / 2u))))[4096u]);
    const auto at_6 = tile_2 + lane_row_2 + b_2 * 64u;
    const auto w_21 = load_early(&(b4 + (at_6))[64u]);
    const auto w_22 = load_early(&(b4 + (at_6))[80u]);
    const auto w_23 = load_early(&(b4 + (at_6))[96u]);
    const auto w_24 = load_early(&(b4 + (at_6))[112u]);
    const auto word_7 = load_early(&(b4 + (tile_2 + (b_2 * 8u + (lane_row_2 / 2u))))[4104u]);
    const auto at_7 = tile_2 + lane_row_2 + b_2 * 64u;
    const auto w_25 = load_early(&(b4 + (at_7))[128u]);
    const auto w_26 = load_early(&(b4 + (at_7))[144u]);
    const auto w_27 = load_early(&(b4 + (at_7))[160u]);
    const auto w_28 = load_early(&(b4 + (at_7))[176u]);
    const auto word_8 = load_early(&(b4 + (tile_2 + (b_2 * 8u + (lane_row_2 / 2u))))[4112u]);
    const auto at_8 = tile_2 + lane_row_2 + b_2 * 64u;
    const auto w_29 = load_early(&(b4 + (at_8))[192u]);
    const auto w_30 = load_early(&(b4 + (at_8))[208u]);
    const auto w_31 = load_early(&(b4 + (at_8))[224u]);
    const auto w_32 = load_early(&(b4 + (at_8))[240u]);
    const auto word_9 = load_early(&(b4 + (tile_2 + (b_2 * 8u + (lane_row_2 / 2u))))[4120u]);
    const auto item_2 = min(lane, 15u);
    const auto column_4 = first_2 + item_2;
    const auto word_10 = lane + 256u;
    const auto x_5 = load_early_4(&b1[p1 + lane * 4u]);
    const auto x_6 = load_early_4(&b1[p1 + word_10 * 4u]);
    // what is multiplied
    const auto x_7 = *(const uint4*)&b0[p0 + lane * 4u];
    const auto x_8 = *(const uint4*)&b0[p0 + word_10 * 4u];
    auto total_4 = 0.0f;
    const auto v_28 = __uint_as_float(x_7.x) * __uint_as_float(x_7.x);
    total_4 = total_4 + v_28;
    const auto v_29 = __uint_as_float(x_7.y) * __uint_as_float(x_7.y);
    total_4 = total_4 + v_29;
    const auto v_30 = __uint_as_float(x_7.z) * __uint_as_float(x_7.z);
    total_4 = total_4 + v_30;
    const auto v_31 = __uint_as_float(x_7.w) * __uint_as_float(x_7.w);
    total_4 = total_4 + v_31;
    const auto v_32 = __uint_as_float(x_8.x) * __uint_as_float(x_8.x);
    total_4 = total_4 + v_32;
    const auto v_33 = __uint_as_float(x_8.y) * __uint_as_float(x_8.y);
    total_4 = total_4 + v_33;
    const auto v_34 = __uint_as_float(x_8.z) * __uint_as_float(x_8.z);
    total_4 = total_4 + v_34;
    const auto v_35 = __uint_as_float(x_8.w) * __uint_as_float(x_8.w);
    total_4 = total_4 + v_35;
    const auto other_12 = __shfl_xor_sync(warp, total_4, 1u);
    const auto both_12 = total_4 + other_12;
    const auto other_13 = __shfl_xor_sync(warp, both_12, 2u);
    const auto both_13 = both_12 + other_13;
    const auto other_14 = __shfl_xor_sync(warp, both_13, 4u);
    const auto both_14 = both_13 + other_14;
    const auto other_15 = __shfl_xor_sync(warp, both_14, 8u);
    const auto both_15 = both_14 + other_15;
    const auto other_16 = __shfl_xor_sync(warp, both_15, 16u);
    const auto both_16 = both_15 + other_16;
    if ((lane % 32u) == 0u) {
      pool[(lane / 32u) + 704u] = __float_as_uint(both_16);
    }
    __syncthreads();
    auto total_5 = __uint_as_float(pool[704u]);
    for (auto l_3 = 1u; l_3 < 8u; l_3 += 1u) {
      total_5 = total_5 + __uint_as_float(pool[l_3 + 704u]);
    }
    const auto v_36 = total_5 / 2048.0f;
    const auto v_37 = v_36 + 1e-5f;
    const auto v_38 = rsqrtf(v_37);
    const auto v_39 = __uint_as_float(x_7.x) * v_38;
    const auto v_40 = v_39 * __uint_as_float(x_5.x);
    const auto v_41 = __uint_as_float(x_7.y) * v_38;
    const auto v_42 = v_41 * __uint_as_float(x_5.y);
    const auto v_43 = __uint_as_float(x_7.z) * v_38;
    const auto v_44 = v_43 * __uint_as_float(x_5.z);
    const auto v_45 = __uint_as_float(x_7.w) * v_38;
    const auto v_46 = v_45 * __uint_as_float(x_5.w);
    const auto v_47 = __uint_as_float(x_8.x) * v_38;
    const auto v_48 = v_47 * __uint_as_float(x_6.x);
    const auto v_49 = __uint_as_float(x_8.y) * v_38;
    const auto v_50 = v_49 * __uint_as_float(x_6.y);
    const auto v_51 = __uint_as_float(x_8.z) * v_38;
    const auto v_52 = v_51 * __uint_as_float(x_6.z);
    const auto v_53 = __uint_as_float(x_8.w) * v_38;
    const auto v_54 = v_53 * __uint_as_float(x_6.w);
    const auto mine_3 = max(max(max(__float_as_uint(v_40) & 0x7fffffffu, __float_as_uint(v_42) & 0x7fffffffu), __float_as_uint(v_44) & 0x7fffffffu), __float_as_uint(v_46) & 0x7fffffffu);
    const auto other_17 = __shfl_xor_sync(warp, mine_3, 1u);
    const auto both_17 = max(mine_3, other_17);
    const auto other_18 = __shfl_xor_sync(warp, both_17, 2u);
    const auto both_18 = max(both_17, other_18);
    const auto other_19 = __shfl_xor_sync(warp, both_18, 4u);
    const auto both_19 = max(both_18, other_19);
    const auto largest_3 = __uint_as_float(both_19);
    const auto factor_3 = largest_3 * 0.007874016f;
    const auto scale_3 = (both_19 < 0x7f800000u ? __float_as_uint(factor_3) : 0x7fc00000u);
    const auto inverse_3 = (largest_3 > 1.5046328e-36f && both_19 < 0x7f800000u ? reciprocal(factor_3) : 0.0f);
    const auto packed_3 = ((unsigned int)(__float2int_rz(min(max(rintf(v_40 * inverse_3), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_42 * inverse_3), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_44 * inverse_3), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_46 * inverse_3), -127.0f), 127.0f))) & 255u) << 24u);
    pool[lane] = packed_3;
    if ((lane % 8u) == 0u) {
      pool[(lane / 8u) + 512u] = scale_3;
    }
    const auto mine_4 = max(max(max(__float_as_uint(v_48) & 0x7fffffffu, __float_as_uint(v_50) & 0x7fffffffu), __float_as_uint(v_52) & 0x7fffffffu), __float_as_uint(v_54) & 0x7fffffffu);
    const auto other_20 = __shfl_xor_sync(warp, mine_4, 1u);
    const auto both_20 = max(mine_4, other_20);
    const auto other_21 = __shfl_xor_sync(warp, both_20, 2u);
    const auto both_21 = max(both_20, other_21);
    const auto other_22 = __shfl_xor_sync(warp, both_21, 4u);
    const auto both_22 = max(both_21, other_22);
    const auto largest_4 = __uint_as_float(both_22);
    const auto factor_4 = largest_4 * 0.007874016f;
    const auto scale_4 = (both_22 < 0x7f800000u ? __float_as_uint(factor_4) : 0x7fc00000u);
    const auto inverse_4 = (largest_4 > 1.5046328e-36f && both_22 < 0x7f800000u ? reciprocal(factor_4) : 0.0f);
    const auto packed_4 = ((unsigned int)(__float2int_rz(min(max(rintf(v_48 * inverse_4), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_50 * inverse_4), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_52 * inverse_4), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_54 * inverse_4), -127.0f), 127.0f))) & 255u) << 24u);
    pool[word_10] = packed_4;
    if ((word_10 % 8u) == 0u) {
      pool[(word_10 / 8u) + 512u] = scale_4;
    }
    __syncthreads();
    wait_for_previous();
    // times q4_0[512, 2048]
    auto sum_2 = 0.0f;
    const auto xw_5 = b_2 * 8u;
    const auto xq_9 = *(const uint4*)&pool[xw_5];
    const auto xq_10 = *(const uint4*)&pool[xw_5 + 4u];
    const auto d_5 = __uint_as_float(pool[b_2 + 512u]) * 0.0625f;
    sum_2 = fmaf(d_5, (float)(__dp4a((int)((w_20 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.w), __dp4a((int)((w_19 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.z), __dp4a((int)((w_18 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.y), __dp4a((int)((w_17 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.x), __dp4a((int)(((w_20 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.w), __dp4a((int)(((w_19 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.z), __dp4a((int)(((w_18 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.y), __dp4a((int)(((w_17 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.x), 0))))))))) * half_to_float(word_6 >> ((lane_row_2 % 2u) * 16u)), sum_2);
    const auto xw_6 = b_2 * 8u;
    const auto xq_11 = *(const uint4*)&pool[xw_6 + 8u];
    const auto xq_12 = *(const uint4*)&pool[xw_6 + 12u];
    const auto d_6 = __uint_as_float(pool[b_2 + 513u]) * 0.0625f;
    sum_2 = fmaf(d_6, (float)(__dp4a((int)((w_24 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.w), __dp4a((int)((w_23 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.z), __dp4a((int)((w_22 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.y), __dp4a((int)((w_21 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.x), __dp4a((int)(((w_24 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.w), __dp4a((int)(((w_23 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.z), __dp4a((int)(((w_22 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.y), __dp4a((int)(((w_21 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.x), 0))))))))) * half_to_float(word_7 >> ((lane_row_2 % 2u) * 16u)), sum_2);
    const auto xw_7 = b_2 * 8u;
    const auto xq_13 = *(const uint4*)&pool[xw_7 + 16u];
    const auto xq_14 = *(const uint4*)&pool[xw_7 + 20u];
    const auto d_7 = __uint_as_float(pool[b_2 + 514u]) * 0.0625f;
    sum_2 = fmaf(d_7, (float)(__dp4a((int)((w_28 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.w), __dp4a((int)((w_27 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.z), __dp4a((int)((w_26 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.y), __dp4a((int)((w_25 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.x), __dp4a((int)(((w_28 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.w), __dp4a((int)(((w_27 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.z), __dp4a((int)(((w_26 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.y), __dp4a((int)(((w_25 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.x), 0))))))))) * half_to_float(word_8 >> ((lane_row_2 % 2u) * 16u)), sum_2);
    const auto xw_8 = b_2 * 8u;
    const auto xq_15 = *(const uint4*)&pool[xw_8 + 24u];
    const auto xq_16 = *(const uint4*)&pool[xw_8 + 28u];
    const auto d_8 = __uint_as_float(pool[b_2 + 515u]) * 0.0625f;
    sum_2 = fmaf(d_8, (float)(__dp4a((int)((w_32 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.w), __dp4a((int)((w_31 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.z), __dp4a((int)((w_30 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.y), __dp4a((int)((w_29 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.x), __dp4a((int)(((w_32 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.w), __dp4a((int)(((w_31 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.z), __dp4a((int)(((w_30 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.y), __dp4a((int)(((w_29 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.x), 0))))))))) * half_to_float(word_9 >> ((lane_row_2 % 2u) * 16u)), sum_2);
    const auto to_2 = share_2 * 16u + own_2 + 712u;
    pool[to_2] = __float_as_uint(sum_2);
    __syncthreads();
    auto result_2 = 0.0f;
    if (lane < 16u) {
      auto total_6 = __uint_as_float(pool[lane + 712u]);
      for (auto l_4 = 1u; l_4 < 16u; l_4 += 1u) {
        total_6 = total_6 + __uint_as_float(pool[lane + l_4 * 16u + 712u]);
      }
      result_2 = total_6;
    }
    if (lane < 32u) {
      if (lane < 16u) {
        b3[p5 + column_4] = __float_as_uint(result_2);
      }
    }
  }
  const auto end = count + count_2;
  // part 2: dot [T] × 64; dot.lanes rows 1 width 16 reduce 16 upcast 1
  const auto own_group_3 = blockIdx.x - end;
  const auto count_3 = sizes.words[0] * 4u;
  if (own_group_3 < count_3) {
    const auto first_3 = own_group_3 * 16u;
    const auto share_3 = lane / 16u;
    const auto own_3 = lane % 16u;
    const auto column_5 = first_3 + own_3;
    const auto tile_3 = p4 + ((column_5 + 512u) / 16u) * 4608u;
    const auto lane_row_3 = (column_5 + 512u) % 16u;
    const auto b_3 = share_3 * 4u;
    const auto at_9 = tile_3 + lane_row_3 + b_3 * 64u;
    const auto w_33 = load_early(&b4[at_9]);
    const auto w_34 = load_early(&(b4 + (at_9))[16u]);
    const auto w_35 = load_early(&(b4 + (at_9))[32u]);
    const auto w_36 = load_early(&(b4 + (at_9))[48u]);
    const auto word_11 = load_early(&(b4 + (tile_3 + (b_3 * 8u + (lane_row_3 / 2u))))[4096u]);
    const auto at_10 = tile_3 + lane_row_3 + b_3 * 64u;
    const auto w_37 = load_early(&(b4 + (at_10))[64u]);
    const auto w_38 = load_early(&(b4 + (at_10))[80u]);
    const auto w_39 = load_early(&(b4 + (at_10))[96u]);
    const auto w_40 = load_early(&(b4 + (at_10))[112u]);
    const auto word_12 = load_early(&(b4 + (tile_3 + (b_3 * 8u + (lane_row_3 / 2u))))[4104u]);
    const auto at_11 = tile_3 + lane_row_3 + b_3 * 64u;
    const auto w_41 = load_early(&(b4 + (at_11))[128u]);
    const auto w_42 = load_early(&(b4 + (at_11))[144u]);
    const auto w_43 = load_early(&(b4 + (at_11))[160u]);
    const auto w_44 = load_early(&(b4 + (at_11))[176u]);
    const auto word_13 = load_early(&(b4 + (tile_3 + (b_3 * 8u + (lane_row_3 / 2u))))[4112u]);
    const auto at_12 = tile_3 + lane_row_3 + b_3 * 64u;
    const auto w_45 = load_early(&(b4 + (at_12))[192u]);
    const auto w_46 = load_early(&(b4 + (at_12))[208u]);
    const auto w_47 = load_early(&(b4 + (at_12))[224u]);
    const auto w_48 = load_early(&(b4 + (at_12))[240u]);
    const auto word_14 = load_early(&(b4 + (tile_3 + (b_3 * 8u + (lane_row_3 / 2u))))[4120u]);
    const auto item_3 = min(lane, 15u);
    const auto column_6 = first_3 + item_3;
    auto kept = 0.0f;
    if (lane < 32u) {
      const auto at_13 = column_6 / 2u;
      const auto v_55 = __uint_as_float(load_early(&b5[p6 + at_13]));
      kept = v_55;
    }
    auto kept_2 = 0.0f;
    if (lane < 32u) {
      const auto at_14 = column_6 / 2u;
      const auto v_56 = __uint_as_float(load_early(&b6[p7 + at_14]));
      kept_2 = v_56;
    }
    const auto index = b7[p8];
    const auto word_15 = lane + 256u;
    const auto x_9 = load_early_4(&b1[p1 + lane * 4u]);
    const auto x_10 = load_early_4(&b1[p1 + word_15 * 4u]);
    // what is multiplied
    const auto x_11 = *(const uint4*)&b0[p0 + lane * 4u];
    const auto x_12 = *(const uint4*)&b0[p0 + word_15 * 4u];
    auto total_7 = 0.0f;
    const auto v_57 = __uint_as_float(x_11.x) * __uint_as_float(x_11.x);
    total_7 = total_7 + v_57;
    const auto v_58 = __uint_as_float(x_11.y) * __uint_as_float(x_11.y);
    total_7 = total_7 + v_58;
    const auto v_59 = __uint_as_float(x_11.z) * __uint_as_float(x_11.z);
    total_7 = total_7 + v_59;
    const auto v_60 = __uint_as_float(x_11.w) * __uint_as_float(x_11.w);
    total_7 = total_7 + v_60;
    const auto v_61 = __uint_as_float(x_12.x) * __uint_as_float(x_12.x);
    total_7 = total_7 + v_61;
    const auto v_62 = __uint_as_float(x_12.y) * __uint_as_float(x_12.y);
    total_7 = total_7 + v_62;
    const auto v_63 = __uint_as_float(x_12.z) * __uint_as_float(x_12.z);
    total_7 = total_7 + v_63;
    const auto v_64 = __uint_as_float(x_12.w) * __uint_as_float(x_12.w);
    total_7 = total_7 + v_64;
    const auto other_23 = __shfl_xor_sync(warp, total_7, 1u);
    const auto both_23 = total_7 + other_23;
    const auto other_24 = __shfl_xor_sync(warp, both_23, 2u);
    const auto both_24 = both_23 + other_24;
    const auto other_25 = __shfl_xor_sync(warp, both_24, 4u);
    const auto both_25 = both_24 + other_25;
    const auto other_26 = __shfl_xor_sync(warp, both_25, 8u);
    const auto both_26 = both_25 + other_26;
    const auto other_27 = __shfl_xor_sync(warp, both_26, 16u);
    const auto both_27 = both_26 + other_27;
    if ((lane % 32u) == 0u) {
      pool[(lane / 32u) + 704u] = __float_as_uint(both_27);
    }
    __syncthreads();
    auto total_8 = __uint_as_float(pool[704u]);
    for (auto l_5 = 1u; l_5 < 8u; l_5 += 1u) {
      total_8 = total_8 + __uint_as_float(pool[l_5 + 704u]);
    }
    const auto v_65 = total_8 / 2048.0f;
    const auto v_66 = v_65 + 1e-5f;
    const auto v_67 = rsqrtf(v_66);
    const auto v_68 = __uint_as_float(x_11.x) * v_67;
    const auto v_69 = v_68 * __uint_as_float(x_9.x);
    const auto v_70 = __uint_as_float(x_11.y) * v_67;
    const auto v_71 = v_70 * __uint_as_float(x_9.y);
    const auto v_72 = __uint_as_float(x_11.z) * v_67;
    const auto v_73 = v_72 * __uint_as_float(x_9.z);
    const auto v_74 = __uint_as_float(x_11.w) * v_67;
    const auto v_75 = v_74 * __uint_as_float(x_9.w);
    const auto v_76 = __uint_as_float(x_12.x) * v_67;
    const auto v_77 = v_76 * __uint_as_float(x_10.x);
    const auto v_78 = __uint_as_float(x_12.y) * v_67;
    const auto v_79 = v_78 * __uint_as_float(x_10.y);
    const auto v_80 = __uint_as_float(x_12.z) * v_67;
    const auto v_81 = v_80 * __uint_as_float(x_10.z);
    const auto v_82 = __uint_as_float(x_12.w) * v_67;
    const auto v_83 = v_82 * __uint_as_float(x_10.w);
    const auto mine_5 = max(max(max(__float_as_uint(v_69) & 0x7fffffffu, __float_as_uint(v_71) & 0x7fffffffu), __float_as_uint(v_73) & 0x7fffffffu), __float_as_uint(v_75) & 0x7fffffffu);
    const auto other_28 = __shfl_xor_sync(warp, mine_5, 1u);
    const auto both_28 = max(mine_5, other_28);
    const auto other_29 = __shfl_xor_sync(warp, both_28, 2u);
    const auto both_29 = max(both_28, other_29);
    const auto other_30 = __shfl_xor_sync(warp, both_29, 4u);
    const auto both_30 = max(both_29, other_30);
    const auto largest_5 = __uint_as_float(both_30);
    const auto factor_5 = largest_5 * 0.007874016f;
    const auto scale_5 = (both_30 < 0x7f800000u ? __float_as_uint(factor_5) : 0x7fc00000u);
    const auto inverse_5 = (largest_5 > 1.5046328e-36f && both_30 < 0x7f800000u ? reciprocal(factor_5) : 0.0f);
    const auto packed_5 = ((unsigned int)(__float2int_rz(min(max(rintf(v_69 * inverse_5), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_71 * inverse_5), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_73 * inverse_5), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_75 * inverse_5), -127.0f), 127.0f))) & 255u) << 24u);
    pool[lane] = packed_5;
    if ((lane % 8u) == 0u) {
      pool[(lane / 8u) + 512u] = scale_5;
    }
    const auto mine_6 = max(max(max(__float_as_uint(v_77) & 0x7fffffffu, __float_as_uint(v_79) & 0x7fffffffu), __float_as_uint(v_81) & 0x7fffffffu), __float_as_uint(v_83) & 0x7fffffffu);
    const auto other_31 = __shfl_xor_sync(warp, mine_6, 1u);
    const auto both_31 = max(mine_6, other_31);
    const auto other_32 = __shfl_xor_sync(warp, both_31, 2u);
    const auto both_32 = max(both_31, other_32);
    const auto other_33 = __shfl_xor_sync(warp, both_32, 4u);
    const auto both_33 = max(both_32, other_33);
    const auto largest_6 = __uint_as_float(both_33);
    const auto factor_6 = largest_6 * 0.007874016f;
    const auto scale_6 = (both_33 < 0x7f800000u ? __float_as_uint(factor_6) : 0x7fc00000u);
    const auto inverse_6 = (largest_6 > 1.5046328e-36f && both_33 < 0x7f800000u ? reciprocal(factor_6) : 0.0f);
    const auto packed_6 = ((unsigned int)(__float2int_rz(min(max(rintf(v_77 * inverse_6), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_79 * inverse_6), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_81 * inverse_6), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_83 * inverse_6), -127.0f), 127.0f))) & 255u) << 24u);
    pool[word_15] = packed_6;
    if ((word_15 % 8u) == 0u) {
      pool[(word_15 / 8u) + 512u] = scale_6;
    }
    __syncthreads();
    wait_for_previous();
    // times q4_0[64, 2048]
    auto sum_3 = 0.0f;
    const auto xw_9 = b_3 * 8u;
    const auto xq_17 = *(const uint4*)&pool[xw_9];
    const auto xq_18 = *(const uint4*)&pool[xw_9 + 4u];
    const auto d_9 = __uint_as_float(pool[b_3 + 512u]) * 0.0625f;
    sum_3 = fmaf(d_9, (float)(__dp4a((int)((w_36 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_18.w), __dp4a((int)((w_35 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_18.z), __dp4a((int)((w_34 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_18.y), __dp4a((int)((w_33 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_18.x), __dp4a((int)(((w_36 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_17.w), __dp4a((int)(((w_35 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_17.z), __dp4a((int)(((w_34 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_17.y), __dp4a((int)(((w_33 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_17.x), 0))))))))) * half_to_float(word_11 >> ((lane_row_3 % 2u) * 16u)), sum_3);
    const auto xw_10 = b_3 * 8u;
    const auto xq_19 = *(const uint4*)&pool[xw_10 + 8u];
    const auto xq_20 = *(const uint4*)&pool[xw_10 + 12u];
    const auto d_10 = __uint_as_float(pool[b_3 + 513u]) * 0.0625f;
    sum_3 = fmaf(d_10, (float)(__dp4a((int)((w_40 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_20.w), __dp4a((int)((w_39 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_20.z), __dp4a((int)((w_38 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_20.y), __dp4a((int)((w_37 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_20.x), __dp4a((int)(((w_40 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_19.w), __dp4a((int)(((w_39 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_19.z), __dp4a((int)(((w_38 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_19.y), __dp4a((int)(((w_37 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_19.x), 0))))))))) * half_to_float(word_12 >> ((lane_row_3 % 2u) * 16u)), sum_3);
    const auto xw_11 = b_3 * 8u;
    const auto xq_21 = *(const uint4*)&pool[xw_11 + 16u];
    const auto xq_22 = *(const uint4*)&pool[xw_11 + 20u];
    const auto d_11 = __uint_as_float(pool[b_3 + 514u]) * 0.0625f;
    sum_3 = fmaf(d_11, (float)(__dp4a((int)((w_44 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_22.w), __dp4a((int)((w_43 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_22.z), __dp4a((int)((w_42 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_22.y), __dp4a((int)((w_41 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_22.x), __dp4a((int)(((w_44 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_21.w), __dp4a((int)(((w_43 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_21.z), __dp4a((int)(((w_42 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_21.y), __dp4a((int)(((w_41 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_21.x), 0))))))))) * half_to_float(word_13 >> ((lane_row_3 % 2u) * 16u)), sum_3);
    const auto xw_12 = b_3 * 8u;
    const auto xq_23 = *(const uint4*)&pool[xw_12 + 24u];
    const auto xq_24 = *(const uint4*)&pool[xw_12 + 28u];
    const auto d_12 = __uint_as_float(pool[b_3 + 515u]) * 0.0625f;
    sum_3 = fmaf(d_12, (float)(__dp4a((int)((w_48 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_24.w), __dp4a((int)((w_47 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_24.z), __dp4a((int)((w_46 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_24.y), __dp4a((int)((w_45 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_24.x), __dp4a((int)(((w_48 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_23.w), __dp4a((int)(((w_47 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_23.z), __dp4a((int)(((w_46 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_23.y), __dp4a((int)(((w_45 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_23.x), 0))))))))) * half_to_float(word_14 >> ((lane_row_3 % 2u) * 16u)), sum_3);
    const auto to_3 = share_3 * 16u + own_3 + 712u;
    pool[to_3] = __float_as_uint(sum_3);
    __syncthreads();
    auto result_3 = 0.0f;
    if (lane < 16u) {
      auto total_9 = __uint_as_float(pool[lane + 712u]);
      for (auto l_6 = 1u; l_6 < 16u; l_6 += 1u) {
        total_9 = total_9 + __uint_as_float(pool[lane + l_6 * 16u + 712u]);
      }
      result_3 = total_9;
    }
    if (lane < 32u) {
      const auto other_34 = __shfl_xor_sync(warp, result_3, 1u);
      const auto v_84 = ((column_6 % 2u) == 0u ? result_3 * kept - other_34 * kept_2 : other_34 * kept_2 + result_3 * kept);
      const auto other_35 = __shfl_xor_sync(warp, v_84, 1u);
      if (lane < 16u && (column_6 % 2u) == 0u) {
        if (index < (n9 / 576u)) {
          b8[p9 + ((index * 576u + column_6 + 512u) / 2u)] = pack_halves(v_84, other_35);
        }
      }
    }
  }
  const auto end_2 = end + count_3;
}

