test cuda T=1 R=1 S=4096 P=128 workers=64 kernel=4 of=9
# A decode step: attention, and the text that combines its chunks.
include glm_moe_layer
---
// attend_20x576: lanes 256; attend.units rows 10 reduce 4 chunk 64 spread
struct Args { unsigned int words[12]; };
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

static __device__ __forceinline__ void multiply_halves(float& c0, float& c1, float& c2, float& c3,
  unsigned int a0, unsigned int a1, unsigned int a2, unsigned int a3, unsigned int b0, unsigned int b1) {
#if __CUDA_ARCH__ >= 800
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
    : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
    : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#else
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
    : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "r"(a0), "r"(a1), "r"(b0));
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
    : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "r"(a2), "r"(a3), "r"(b1));
#endif
}

static __device__ __forceinline__ void load_matrices(unsigned int& a, unsigned int& b,
  unsigned int& c, unsigned int& d, const unsigned int* from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
    : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"((unsigned int)__cvta_generic_to_shared(from)) : "memory");
}

static __device__ __forceinline__ void load_turned(unsigned int& a, unsigned int& b,
  unsigned int& c, unsigned int& d, const unsigned int* from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
    : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"((unsigned int)__cvta_generic_to_shared(from)) : "memory");
}

static __device__ __forceinline__ void store_two(unsigned int* to,
  unsigned int a, unsigned int b) {
  asm volatile("st.global.v2.u32 [%0], {%1, %2};"
    :: "l"(__cvta_generic_to_global(to)), "r"(a), "r"(b) : "memory");
}

static __device__ __forceinline__ void store_four(unsigned int* to,
  unsigned int a, unsigned int b, unsigned int c, unsigned int d) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};"
    :: "r"((unsigned int)__cvta_generic_to_shared(to)), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}

static __device__ __forceinline__ void hold_loads() {
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

static __device__ __forceinline__ unsigned int pack_halves(float low, float high) {
  unsigned short lower, upper;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(lower) : "f"(low));
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(upper) : "f"(high));
  return (unsigned int)lower | ((unsigned int)upper << 16);
}

extern "C" __global__ void __launch_bounds__(256) weft_attend_20x576(
  const Args args,
  const Sizes sizes,
  unsigned int* b0,
  const unsigned int* b1,
  const unsigned int* b2,
  unsigned int* b3
) {
  extern __shared__ __align__(16) unsigned int pool[];
  const unsigned int lane = threadIdx.x;
  const unsigned int warp = 0xffffffffu;
  const auto p0 = args.words[0];
  const auto p1 = args.words[2];
  const auto p2 = args.words[4];
  const auto p3 = args.words[6];
  const auto p4 = args.words[8];
  const auto n1 = args.words[3];
  const auto n4 = args.words[9];
  // part 0: attend [T, 20] × 512; attend.units rows 10 reduce 4 chunk 64 spread; chunks
  const auto own_group = blockIdx.x;
  const auto rows_at = own_group % 2u;
  const auto chunk = own_group / 2u;
  const auto row = rows_at * 10u;
  const auto i = row / 20u;
  const auto i_2 = (row % 20u) % 20u;
  const auto last_page = max(min(n4, sizes.words[3]), 1u) - 1u;
  const auto last_position = last_page * 32u + 31u;
  const auto last_row = max(min(n1 / 576u, n1 / 576u), 1u) - 1u;
  const auto own_lane = lane % 32u;
  const auto own_warp = lane / 32u;
  const auto g = own_lane / 4u;
  const auto t = own_lane % 4u;
  const auto matrix_row = own_lane % 16u;
  const auto matrix_word = (own_lane / 16u) * 4u;
  const auto row_2 = rows_at * 10u;
  const auto i_3 = row_2 / 20u;
  const auto i_4 = (row_2 % 20u) % 20u;
  const auto seen = min(b2[p2], last_position) + 1u;
  const auto pages_at = b2[p3];
  const auto chunk_start = chunk * 64u;
  const auto row_3 = rows_at * 10u;
  const auto i_5 = row_3 / 20u;
  const auto i_6 = (row_3 % 20u) % 20u;
  const auto state_at = p1 + (i_6 / 20u) * 288u;
  auto next = 0u;
  auto next_2 = 0u;
  auto next_3 = 0u;
  auto next_4 = 0u;
  auto next_5 = 0u;
  auto next_6 = 0u;
  auto next_7 = 0u;
  auto next_8 = 0u;
  auto next_9 = 0u;
  auto next_10 = 0u;
  auto next_11 = 0u;
  auto next_12 = 0u;
  auto next_13 = 0u;
  auto next_14 = 0u;
  auto next_15 = 0u;
  auto next_16 = 0u;
  auto next_17 = 0u;
  auto next_18 = 0u;
  auto next_19 = 0u;
  auto next_20 = 0u;
  auto next_21 = 0u;
  auto next_22 = 0u;
  auto next_23 = 0u;
  auto next_24 = 0u;
  auto next_25 = 0u;
  auto next_26 = 0u;
  auto next_27 = 0u;
  auto next_28 = 0u;
  auto next_29 = 0u;
  auto next_30 = 0u;
  auto next_31 = 0u;
  auto next_32 = 0u;
  auto next_33 = 0u;
  auto next_34 = 0u;
  auto next_35 = 0u;
  auto next_36 = 0u;
  auto next_37 = 0u;
  auto next_38 = 0u;
  auto next_39 = 0u;
  auto next_40 = 0u;
  auto next_41 = 0u;
  auto next_42 = 0u;
  auto next_43 = 0u;
  auto next_44 = 0u;
  auto next_45 = 0u;
  auto next_46 = 0u;
  auto next_47 = 0u;
  auto next_48 = 0u;
  auto next_49 = 0u;
  auto next_50 = 0u;
  auto next_51 = 0u;
  auto next_52 = 0u;
  auto next_53 = 0u;
  auto next_54 = 0u;
  auto next_55 = 0u;
  auto next_56 = 0u;
  auto next_57 = 0u;
  auto next_58 = 0u;
  auto next_59 = 0u;
  auto next_60 = 0u;
  auto next_61 = 0u;
  auto next_62 = 0u;
  auto next_63 = 0u;
  auto next_64 = 0u;
  auto next_65 = 0u;
  auto next_66 = 0u;
  auto next_67 = 0u;
  auto next_68 = 0u;
  auto next_69 = 0u;
  auto next_70 = 0u;
  auto next_71 = 0u;
  auto next_72 = 0u;
  if (chunk_start < seen) {
    const auto b = lane % 64u;
    const auto p = min(chunk_start + b, seen - 1u);
    const auto position_at = min(b2[p4 + min(pages_at + (p / 32u), last_page)] * 32u + (p % 32u), last_row);
    if (lane < 64u) {
      pool[lane + 28544u] = position_at;
    }
    __syncthreads();
    const auto row_4 = lane / 8u;
    const auto unit = lane % 8u;
    const auto unit_at = state_at + pool[row_4 + 28544u] * 288u + unit * 4u;
    const auto words = *(const uint4*)&b1[unit_at];
    next = words.x;
    next_2 = words.y;
    next_3 = words.z;
    next_4 = words.w;
    const auto row_5 = lane / 8u;
    const auto unit_2 = (lane % 8u) + 8u;
    const auto unit_at_2 = state_at + pool[row_5 + 28544u] * 288u + unit_2 * 4u;
    const auto words_2 = *(const uint4*)&b1[unit_at_2];
    next_5 = words_2.x;
    next_6 = words_2.y;
    next_7 = words_2.z;
    next_8 = words_2.w;
    const auto row_6 = lane / 8u;
    const auto unit_3 = (lane % 8u) + 16u;
    const auto unit_at_3 = state_at + pool[row_6 + 28544u] * 288u + unit_3 * 4u;
    const auto words_3 = *(const uint4*)&b1[unit_at_3];
    next_9 = words_3.x;
    next_10 = words_3.y;
    next_11 = words_3.z;
    next_12 = words_3.w;
    const auto row_7 = lane / 8u;
    const auto unit_4 = (lane % 8u) + 24u;
    const auto unit_at_4 = state_at + pool[row_7 + 28544u] * 288u + unit_4 * 4u;
    const auto words_4 = *(const uint4*)&b1[unit_at_4];
    next_13 = words_4.x;
    next_14 = words_4.y;
    next_15 = words_4.z;
    next_16 = words_4.w;
    const auto row_8 = lane / 8u;
    const auto unit_5 = (lane % 8u) + 32u;
    const auto unit_at_5 = state_at + pool[row_8 + 28544u] * 288u + unit_5 * 4u;
    const auto words_5 = *(const uint4*)&b1[unit_at_5];
    next_17 = words_5.x;
    next_18 = words_5.y;
    next_19 = words_5.z;
    next_20 = words_5.w;
    const auto row_9 = lane / 8u;
    const auto unit_6 = (lane % 8u) + 40u;
    const auto unit_at_6 = state_at + pool[row_9 + 28544u] * 288u + unit_6 * 4u;
    const auto words_6 = *(const uint4*)&b1[unit_at_6];
    next_21 = words_6.x;
    next_22 = words_6.y;
    next_23 = words_6.z;
    next_24 = words_6.w;
    const auto row_10 = lane / 8u;
    const auto unit_7 = (lane % 8u) + 48u;
    const auto unit_at_7 = state_at + pool[row_10 + 28544u] * 288u + unit_7 * 4u;
    const auto words_7 = *(const uint4*)&b1[unit_at_7];
    next_25 = words_7.x;
    next_26 = words_7.y;
    next_27 = words_7.z;
    next_28 = words_7.w;
    const auto row_11 = lane / 8u;
    const auto unit_8 = (lane % 8u) + 56u;
    const auto unit_at_8 = state_at + pool[row_11 + 28544u] * 288u + unit_8 * 4u;
    const auto words_8 = *(const uint4*)&b1[unit_at_8];
    next_29 = words_8.x;
    next_30 = words_8.y;
    next_31 = words_8.z;
    next_32 = words_8.w;
    const auto row_12 = lane / 8u;
    const auto unit_9 = (lane % 8u) + 64u;
    const auto unit_at_9 = state_at + pool[row_12 + 28544u] * 288u + unit_9 * 4u;
    const auto words_9 = *(const uint4*)&b1[unit_at_9];
    next_33 = words_9.x;
    next_34 = words_9.y;
    next_35 = words_9.z;
    next_36 = words_9.w;
    const auto row_13 = (lane / 8u) + 32u;
    const auto unit_10 = lane % 8u;
    const auto unit_at_10 = state_at + pool[row_13 + 28544u] * 288u + unit_10 * 4u;
    const auto words_10 = *(const uint4*)&b1[unit_at_10];
    next_37 = words_10.x;
    next_38 = words_10.y;
    next_39 = words_10.z;
    next_40 = words_10.w;
    const auto row_14 = (lane / 8u) + 32u;
    const auto unit_11 = (lane % 8u) + 8u;
    const auto unit_at_11 = state_at + pool[row_14 + 28544u] * 288u + unit_11 * 4u;
    const auto words_11 = *(const uint4*)&b1[unit_at_11];
    next_41 = words_11.x;
    next_42 = words_11.y;
    next_43 = words_11.z;
    next_44 = words_11.w;
    const auto row_15 = (lane / 8u) + 32u;
    const auto unit_12 = (lane % 8u) + 16u;
    const auto unit_at_12 = state_at + pool[row_15 + 28544u] * 288u + unit_12 * 4u;
    const auto words_12 = *(const uint4*)&b1[unit_at_12];
    next_45 = words_12.x;
    next_46 = words_12.y;
    next_47 = words_12.z;
    next_48 = words_12.w;
    const auto row_16 = (lane / 8u) + 32u;
    const auto unit_13 = (lane % 8u) + 24u;
    const auto unit_at_13 = state_at + pool[row_16 + 28544u] * 288u + unit_13 * 4u;
    const auto words_13 = *(const uint4*)&b1[unit_at_13];
    next_49 = words_13.x;
    next_50 = words_13.y;
    next_51 = words_13.z;
    next_52 = words_13.w;
    const auto row_17 = (lane / 8u) + 32u;
    const auto unit_14 = (lane % 8u) + 32u;
    const auto unit_at_14 = state_at + pool[row_17 + 28544u] * 288u + unit_14 * 4u;
    const auto words_14 = *(const uint4*)&b1[unit_at_14];
    next_53 = words_14.x;
    next_54 = words_14.y;
    next_55 = words_14.z;
    next_56 = words_14.w;
    const auto row_18 = (lane / 8u) + 32u;
    const auto unit_15 = (lane % 8u) + 40u;
    const auto unit_at_15 = state_at + pool[row_18 + 28544u] * 288u + unit_15 * 4u;
    const auto words_15 = *(const uint4*)&b1[unit_at_15];
    next_57 = words_15.x;
    next_58 = words_15.y;
    next_59 = words_15.z;
    next_60 = words_15.w;
    const auto row_19 = (lane / 8u) + 32u;
    const auto unit_16 = (lane % 8u) + 48u;
    const auto unit_at_16 = state_at + pool[row_19 + 28544u] * 288u + unit_16 * 4u;
    const auto words_16 = *(const uint4*)&b1[unit_at_16];
    next_61 = words_16.x;
    next_62 = words_16.y;
    next_63 = words_16.z;
    next_64 = words_16.w;
    const auto row_20 = (lane / 8u) + 32u;
    const auto unit_17 = (lane % 8u) + 56u;
    const auto unit_at_17 = state_at + pool[row_20 + 28544u] * 288u + unit_17 * 4u;
    const auto words_17 = *(const uint4*)&b1[unit_at_17];
    next_65 = words_17.x;
    next_66 = words_17.y;
    next_67 = words_17.z;
    next_68 = words_17.w;
    const auto row_21 = (lane / 8u) + 32u;
    const auto unit_18 = (lane % 8u) + 64u;
    const auto unit_at_18 = state_at + pool[row_21 + 28544u] * 288u + unit_18 * 4u;
    const auto words_18 = *(const uint4*)&b1[unit_at_18];
    next_69 = words_18.x;
    next_70 = words_18.y;
    next_71 = words_18.z;
    next_72 = words_18.w;
  }
  wait_for_previous();
  launch_next();
  if (chunk_start < seen) {
    hold_loads();
    if (lane < 160u) {
      const auto row_22 = lane / 16u;
      const auto s = lane % 16u;
      const auto own_row = min(row_22, 9u);
      const auto row_23 = rows_at * 10u + own_row;
      const auto i_7 = row_23 / 20u;
      const auto i_8 = (row_23 % 20u) % 20u;
      const auto query = p0 + i_8 * 576u;
      auto largest = 0u;
      const auto q = *(const uint4*)&b0[query + s * 4u];
      largest = max(largest, q.x & 0x7fffffffu);
      largest = max(largest, q.y & 0x7fffffffu);
      largest = max(largest, q.z & 0x7fffffffu);
      largest = max(largest, q.w & 0x7fffffffu);
      const auto four = s + 16u;
      const auto q_2 = *(const uint4*)&b0[query + four * 4u];
      largest = max(largest, q_2.x & 0x7fffffffu);
      largest = max(largest, q_2.y & 0x7fffffffu);
      largest = max(largest, q_2.z & 0x7fffffffu);
      largest = max(largest, q_2.w & 0x7fffffffu);
      const auto four_2 = s + 32u;
      const auto q_3 = *(const uint4*)&b0[query + four_2 * 4u];
      largest = max(largest, q_3.x & 0x7fffffffu);
      largest = max(largest, q_3.y & 0x7fffffffu);
      largest = max(largest, q_3.z & 0x7fffffffu);
      largest = max(largest, q_3.w & 0x7fffffffu);
      const auto four_3 = s + 48u;
      const auto q_4 = *(const uint4*)&b0[query + four_3 * 4u];
      largest = max(largest, q_4.x & 0x7fffffffu);
      largest = max(largest, q_4.y & 0x7fffffffu);
      largest = max(largest, q_4.z & 0x7fffffffu);
      largest = max(largest, q_4.w & 0x7fffffffu);
      const auto four_4 = s + 64u;
      const auto q_5 = *(const uint4*)&b0[query + four_4 * 4u];
      largest = max(largest, q_5.x & 0x7fffffffu);
      largest = max(largest, q_5.y & 0x7fffffffu);
      largest = max(largest, q_5.z & 0x7fffffffu);
      largest = max(largest, q_5.w & 0x7fffffffu);
      const auto four_5 = s + 80u;
      const auto q_6 = *(const uint4*)&b0[query + four_5 * 4u];
      largest = max(largest, q_6.x & 0x7fffffffu);
      largest = max(largest, q_6.y & 0x7fffffffu);
      largest = max(largest, q_6.z & 0x7fffffffu);
      largest = max(largest, q_6.w & 0x7fffffffu);
      const auto four_6 = s + 96u;
      const auto q_7 = *(const uint4*)&b0[query + four_6 * 4u];
      largest = max(largest, q_7.x & 0x7fffffffu);
      largest = max(largest, q_7.y & 0x7fffffffu);
      largest = max(largest, q_7.z & 0x7fffffffu);
      largest = max(largest, q_7.w & 0x7fffffffu);
      const auto four_7 = s + 112u;
      const auto q_8 = *(const uint4*)&b0[query + four_7 * 4u];
      largest = max(largest, q_8.x & 0x7fffffffu);
      largest = max(largest, q_8.y & 0x7fffffffu);
      largest = max(largest, q_8.z & 0x7fffffffu);
      largest = max(largest, q_8.w & 0x7fffffffu);
      const auto four_8 = s + 128u;
      const auto q_9 = *(const uint4*)&b0[query + four_8 * 4u];
      largest = max(largest, q_9.x & 0x7fffffffu);
      largest = max(largest, q_9.y & 0x7fffffffu);
      largest = max(largest, q_9.z & 0x7fffffffu);
      largest = max(largest, q_9.w & 0x7fffffffu);
      const auto other = __shfl_xor_sync(warp, largest, 1u);
      const auto both = max(largest, other);
      const auto other_2 = __shfl_xor_sync(warp, both, 2u);
      const auto both_2 = max(both, other_2);
      const auto other_3 = __shfl_xor_sync(warp, both_2, 4u);
      const auto both_3 = max(both_2, other_3);
      const auto other_4 = __shfl_xor_sync(warp, both_3, 8u);
      const auto both_4 = max(both_3, other_4);
      const auto exponent = min(max(both_4 & 0x7f800000u, 0x800000u), 0x7e800000u);
      const auto shrink = __uint_as_float(0x7f000000u - exponent);
      const auto x = __uint_as_float(q.x) * shrink;
      const auto x_2 = __uint_as_float(q.y) * shrink;
      const auto x_3 = __uint_as_float(q.z) * shrink;
      const auto x_4 = __uint_as_float(q.w) * shrink;
      const auto to = row_22 * 292u + s * 2u + 18688u;
      pool[to] = pack_halves(x, x_2);
      pool[to + 1u] = pack_halves(x_3, x_4);
      const auto x_5 = __uint_as_float(q_2.x) * shrink;
      const auto x_6 = __uint_as_float(q_2.y) * shrink;
      const auto x_7 = __uint_as_float(q_2.z) * shrink;
      const auto x_8 = __uint_as_float(q_2.w) * shrink;
      const auto to_2 = row_22 * 292u + four * 2u + 18688u;
      pool[to_2] = pack_halves(x_5, x_6);
      pool[to_2 + 1u] = pack_halves(x_7, x_8);
      const auto x_9 = __uint_as_float(q_3.x) * shrink;
      const auto x_10 = __uint_as_float(q_3.y) * shrink;
      const auto x_11 = __uint_as_float(q_3.z) * shrink;
      const auto x_12 = __uint_as_float(q_3.w) * shrink;
      const auto to_3 = row_22 * 292u + four_2 * 2u + 18688u;
      pool[to_3] = pack_halves(x_9, x_10);
      pool[to_3 + 1u] = pack_halves(x_11, x_12);
      const auto x_13 = __uint_as_float(q_4.x) * shrink;
      const auto x_14 = __uint_as_float(q_4.y) * shrink;
      const auto x_15 = __uint_as_float(q_4.z) * shrink;
      const auto x_16 = __uint_as_float(q_4.w) * shrink;
      const auto to_4 = row_22 * 292u + four_3 * 2u + 18688u;
      pool[to_4] = pack_halves(x_13, x_14);
      pool[to_4 + 1u] = pack_halves(x_15, x_16);
      const auto x_17 = __uint_as_float(q_5.x) * shrink;
      const auto x_18 = __uint_as_float(q_5.y) * shrink;
      const auto x_19 = __uint_as_float(q_5.z) * shrink;
      const auto x_20 = __uint_as_float(q_5.w) * shrink;
      const auto to_5 = row_22 * 292u + four_4 * 2u + 18688u;
      pool[to_5] = pack_halves(x_17, x_18);
      pool[to_5 + 1u] = pack_halves(x_19, x_20);
      const auto x_21 = __uint_as_float(q_6.x) * shrink;
      const auto x_22 = __uint_as_float(q_6.y) * shrink;
      const auto x_23 = __uint_as_float(q_6.z) * shrink;
      const auto x_24 = __uint_as_float(q_6.w) * shrink;
      const auto to_6 = row_22 * 292u + four_5 * 2u + 18688u;
      pool[to_6] = pack_halves(x_21, x_22);
      pool[to_6 + 1u] = pack_halves(x_23, x_24);
      const auto x_25 = __uint_as_float(q_7.x) * shrink;
      const auto x_26 = __uint_as_float(q_7.y) * shrink;
      const auto x_27 = __uint_as_float(q_7.z) * shrink;
      const auto x_28 = __uint_as_float(q_7.w) * shrink;
      const auto to_7 = row_22 * 292u + four_6 * 2u + 18688u;
      pool[to_7] = pack_halves(x_25, x_26);
      pool[to_7 + 1u] = pack_halves(x_27, x_28);
      const auto x_29 = __uint_as_float(q_8.x) * shrink;
      const auto x_30 = __uint_as_float(q_8.y) * shrink;
      const auto x_31 = __uint_as_float(q_8.z) * shrink;
      const auto x_32 = __uint_as_float(q_8.w) * shrink;
      const auto to_8 = row_22 * 292u + four_7 * 2u + 18688u;
      pool[to_8] = pack_halves(x_29, x_30);
      pool[to_8 + 1u] = pack_halves(x_31, x_32);
      const auto x_33 = __uint_as_float(q_9.x) * shrink;
      const auto x_34 = __uint_as_float(q_9.y) * shrink;
      const auto x_35 = __uint_as_float(q_9.z) * shrink;
      const auto x_36 = __uint_as_float(q_9.w) * shrink;
      const auto to_9 = row_22 * 292u + four_8 * 2u + 18688u;
      pool[to_9] = pack_halves(x_33, x_34);
      pool[to_9 + 1u] = pack_halves(x_35, x_36);
      if (s == 0u) {
        pool[row_22 + 28608u] = __float_as_uint(__uint_as_float(exponent) * 0.0625f);
      }
    }
    const auto chunks = (seen + 63u) / 64u;
    for (auto visited = chunk; visited < chunks; visited += 66u) {
      const auto row_24 = lane / 8u;
      const auto unit_19 = lane % 8u;
      store_four(&pool[row_24 * 292u + unit_19 * 4u], next, next_2, next_3, next_4);
      const auto row_25 = lane / 8u;
      const auto unit_20 = (lane % 8u) + 8u;
      store_four(&pool[row_25 * 292u + unit_20 * 4u], next_5, next_6, next_7, next_8);
      const auto row_26 = lane / 8u;
      const auto unit_21 = (lane % 8u) + 16u;
      store_four(&pool[row_26 * 292u + unit_21 * 4u], next_9, next_10, next_11, next_12);
      const auto row_27 = lane / 8u;
      const auto unit_22 = (lane % 8u) + 24u;
      store_four(&pool[row_27 * 292u + unit_22 * 4u], next_13, next_14, next_15, next_16);
      const auto row_28 = lane / 8u;
      const auto unit_23 = (lane % 8u) + 32u;
      store_four(&pool[row_28 * 292u + unit_23 * 4u], next_17, next_18, next_19, next_20);
      const auto row_29 = lane / 8u;
      const auto unit_24 = (lane % 8u) + 40u;
      store_four(&pool[row_29 * 292u + unit_24 * 4u], next_21, next_22, next_23, next_24);
      const auto row_30 = lane / 8u;
      const auto unit_25 = (lane % 8u) + 48u;
      store_four(&pool[row_30 * 292u + unit_25 * 4u], next_25, next_26, next_27, next_28);
      const auto row_31 = lane / 8u;
      const auto unit_26 = (lane % 8u) + 56u;
      store_four(&pool[row_31 * 292u + unit_26 * 4u], next_29, next_30, next_31, next_32);
      const auto row_32 = lane / 8u;
      const auto unit_27 = (lane % 8u) + 64u;
      store_four(&pool[row_32 * 292u + unit_27 * 4u], next_33, next_34, next_35, next_36);
      const auto row_33 = (lane / 8u) + 32u;
      const auto unit_28 = lane % 8u;
      store_four(&pool[row_33 * 292u + unit_28 * 4u], next_37, next_38, next_39, next_40);
      const auto row_34 = (lane / 8u) + 32u;
      const auto unit_29 = (lane % 8u) + 8u;
      store_four(&pool[row_34 * 292u + unit_29 * 4u], next_41, next_42, next_43, next_44);
      const auto row_35 = (lane / 8u) + 32u;
      const auto unit_30 = (lane % 8u) + 16u;
      store_four(&pool[row_35 * 292u + unit_30 * 4u], next_45, next_46, next_47, next_48);
      const auto row_36 = (lane / 8u) + 32u;
      const auto unit_31 = (lane % 8u) + 24u;
      store_four(&pool[row_36 * 292u + unit_31 * 4u], next_49, next_50, next_51, next_52);
      const auto row_37 = (lane / 8u) + 32u;
      const auto unit_32 = (lane % 8u) + 32u;
      store_four(&pool[row_37 * 292u + unit_32 * 4u], next_53, next_54, next_55, next_56);
      const auto row_38 = (lane / 8u) + 32u;
      const auto unit_33 = (lane % 8u) + 40u;
      store_four(&pool[row_38 * 292u + unit_33 * 4u], next_57, next_58, next_59, next_60);
      const auto row_39 = (lane / 8u) + 32u;
      const auto unit_34 = (lane % 8u) + 48u;
      store_four(&pool[row_39 * 292u + unit_34 * 4u], next_61, next_62, next_63, next_64);
      const auto row_40 = (lane / 8u) + 32u;
      const auto unit_35 = (lane % 8u) + 56u;
      store_four(&pool[row_40 * 292u + unit_35 * 4u], next_65, next_66, next_67, next_68);
      const auto row_41 = (lane / 8u) + 32u;
      const auto unit_36 = (lane % 8u) + 64u;
      store_four(&pool[row_41 * 292u + unit_36 * 4u], next_69, next_70, next_71, next_72);
      __syncthreads();
      const auto chunk_start_2 = visited * 64u;
      const auto next_start = chunk_start_2 + 4224u;
      const auto b_2 = lane % 64u;
      const auto p_2 = min(next_start + b_2, seen - 1u);
      const auto position_at_2 = min(b2[p4 + min(pages_at + (p_2 / 32u), last_page)] * 32u + (p_2 % 32u), last_row);
      const auto share = own_warp % 4u;
      const auto first_position = ((own_warp / 4u) % 2u) * 32u;
      const auto first_row = (own_warp / 8u) * 16u;
      auto sum = 0.0f;
      auto sum_2 = 0.0f;
      auto sum_3 = 0.0f;
      auto sum_4 = 0.0f;
      auto sum_5 = 0.0f;
      auto sum_6 = 0.0f;
      auto sum_7 = 0.0f;
      auto sum_8 = 0.0f;
      auto sum_9 = 0.0f;
      auto sum_10 = 0.0f;
      auto sum_11 = 0.0f;
      auto sum_12 = 0.0f;
      auto sum_13 = 0.0f;
      auto sum_14 = 0.0f;
      auto sum_15 = 0.0f;
      auto sum_16 = 0.0f;
      const auto first_step = share * 72u;
      const auto key_at = (first_position + ((matrix_word / 4u) * 8u + (matrix_row % 8u))) * 292u + (matrix_row / 8u) * 4u + first_step;
      const auto query_at = (first_row + matrix_row) * 292u + matrix_word + first_step + 18688u;
      for (auto step = 0u; step < 9u; step += 1u) {
        const auto depth = step * 8u;
        unsigned int key, key_2, key_3, key_4;
        load_matrices(key, key_2, key_3, key_4, &pool[key_at + depth]);
        unsigned int key_5, key_6, key_7, key_8;
        load_matrices(key_5, key_6, key_7, key_8, &pool[key_at + depth + 4672u]);
        unsigned int q_10, q_11, q_12, q_13;
        load_matrices(q_10, q_11, q_12, q_13, &pool[query_at + depth]);
        multiply_halves(sum, sum_2, sum_3, sum_4, q_10, q_11, q_12, q_13, key, key_2);
        multiply_halves(sum_5, sum_6, sum_7, sum_8, q_10, q_11, q_12, q_13, key_3, key_4);
        multiply_halves(sum_9, sum_10, sum_11, sum_12, q_10, q_11, q_12, q_13, key_5, key_6);
        multiply_halves(sum_13, sum_14, sum_15, sum_16, q_10, q_11, q_12, q_13, key_7, key_8);
      }
      pool[(share * 16u + first_row + g) * 72u + (first_position + t * 2u) + 23360u] = __float_as_uint(sum);
      pool[(share * 16u + first_row + g) * 72u + (first_position + t * 2u) + 23361u] = __float_as_uint(sum_2);
      pool[(share * 16u + first_row + g) * 72u + (first_position + t * 2u) + 23936u] = __float_as_uint(sum_3);
      pool[(share * 16u + first_row + g) * 72u + (first_position + t * 2u) + 23937u] = __float_as_uint(sum_4);
      pool[(share * 16u + first_row + g) * 72u + (first_position + t * 2u) + 23368u] = __float_as_uint(sum_5);
      pool[(share * 16u + first_row + g) * 72u + (first_position + t * 2u) + 23369u] = __float_as_uint(sum_6);
      pool[(share * 16u + first_row + g) * 72u + (first_position + t * 2u) + 23944u] = __float_as_uint(sum_7);
      pool[(share * 16u + first_row + g) * 72u + (first_position + t * 2u) + 23945u] = __float_as_uint(sum_8);
      pool[(share * 16u + first_row + g) * 72u + (first_position + t * 2u) + 23376u] = __float_as_uint(sum_9);
      pool[(share * 16u + first_row + g) * 72u + (first_position + t * 2u) + 23377u] = __float_as_uint(sum_10);
      pool[(share * 16u + first_row + g) * 72u + (first_position + t * 2u) + 23952u] = __float_as_uint(sum_11);
      pool[(share * 16u + first_row + g) * 72u + (first_position + t * 2u) + 23953u] = __float_as_uint(sum_12);
      pool[(share * 16u + first_row + g) * 72u + (first_position + t * 2u) + 23384u] = __float_as_uint(sum_13);
      pool[(share * 16u + first_row + g) * 72u + (first_position + t * 2u) + 23385u] = __float_as_uint(sum_14);
      pool[(share * 16u + first_row + g) * 72u + (first_position + t * 2u) + 23960u] = __float_as_uint(sum_15);
      pool[(share * 16u + first_row + g) * 72u + (first_position + t * 2u) + 23961u] = __float_as_uint(sum_16);
      if (lane < 64u) {
        pool[lane + 28544u] = position_at_2;
      }
      __syncthreads();
      if (lane < 96u) {
        const auto row_42 = lane / 8u;
        const auto s_2 = lane % 8u;
        const auto factor = __uint_as_float(pool[row_42 + 28608u]);
        const auto from_score = row_42 * 72u + s_2 * 2u + 23360u;
        const auto score = (chunk_start_2 + s_2 * 2u < seen ? (__uint_as_float(pool[from_score]) + __uint_as_float(pool[from_score + 1152u]) + __uint_as_float(pool[from_score + 2304u]) + __uint_as_float(pool[from_score + 3456u])) * factor : -2e38f);
        const auto score_2 = (chunk_start_2 + s_2 * 2u + 1u < seen ? (__uint_as_float(pool[from_score + 1u]) + __uint_as_float(pool[from_score + 1153u]) + __uint_as_float(pool[from_score + 2305u]) + __uint_as_float(pool[from_score + 3457u])) * factor : -2e38f);
        const auto score_3 = (chunk_start_2 + s_2 * 2u + 16u < seen ? (__uint_as_float(pool[from_score + 16u]) + __uint_as_float(pool[from_score + 1168u]) + __uint_as_float(pool[from_score + 2320u]) + __uint_as_float(pool[from_score + 3472u])) * factor : -2e38f);
        const auto score_4 = (chunk_start_2 + s_2 * 2u + 17u < seen ? (__uint_as_float(pool[from_score + 17u]) + __uint_as_float(pool[from_score + 1169u]) + __uint_as_float(pool[from_score + 2321u]) + __uint_as_float(pool[from_score + 3473u])) * factor : -2e38f);
        const auto score_5 = (chunk_start_2 + s_2 * 2u + 32u < seen ? (__uint_as_float(pool[from_score + 32u]) + __uint_as_float(pool[from_score + 1184u]) + __uint_as_float(pool[from_score + 2336u]) + __uint_as_float(pool[from_score + 3488u])) * factor : -2e38f);
        const auto score_6 = (chunk_start_2 + s_2 * 2u + 33u < seen ? (__uint_as_float(pool[from_score + 33u]) + __uint_as_float(pool[from_score + 1185u]) + __uint_as_float(pool[from_score + 2337u]) + __uint_as_float(pool[from_score + 3489u])) * factor : -2e38f);
        const auto score_7 = (chunk_start_2 + s_2 * 2u + 48u < seen ? (__uint_as_float(pool[from_score + 48u]) + __uint_as_float(pool[from_score + 1200u]) + __uint_as_float(pool[from_score + 2352u]) + __uint_as_float(pool[from_score + 3504u])) * factor : -2e38f);
        const auto score_8 = (chunk_start_2 + s_2 * 2u + 49u < seen ? (__uint_as_float(pool[from_score + 49u]) + __uint_as_float(pool[from_score + 1201u]) + __uint_as_float(pool[from_score + 2353u]) + __uint_as_float(pool[from_score + 3505u])) * factor : -2e38f);
        const auto mine = max(max(max(max(max(max(max(score, score_2), score_3), score_4), score_5), score_6), score_7), score_8);
        const auto other_5 = __shfl_xor_sync(warp, mine, 1u);
        const auto both_5 = max(mine, other_5);
        const auto other_6 = __shfl_xor_sync(warp, both_5, 2u);
        const auto both_6 = max(both_5, other_6);
        const auto other_7 = __shfl_xor_sync(warp, both_6, 4u);
        const auto both_7 = max(both_6, other_7);
        auto total = 0.0f;
        auto total_2 = 0.0f;
        const auto weight = expf(score - both_7);
        total = total + weight;
        const auto weight_2 = expf(score_2 - both_7);
        total = total + weight_2;
        pool[row_42 * 36u + s_2 + 27968u] = pack_halves(weight, weight_2);
        const auto weight_3 = expf(score_3 - both_7);
        total = total + weight_3;
        const auto weight_4 = expf(score_4 - both_7);
        total = total + weight_4;
        pool[row_42 * 36u + s_2 + 27976u] = pack_halves(weight_3, weight_4);
        const auto weight_5 = expf(score_5 - both_7);
        total_2 = total_2 + weight_5;
        const auto weight_6 = expf(score_6 - both_7);
        total_2 = total_2 + weight_6;
        pool[row_42 * 36u + s_2 + 27984u] = pack_halves(weight_5, weight_6);
        const auto weight_7 = expf(score_7 - both_7);
        total_2 = total_2 + weight_7;
        const auto weight_8 = expf(score_8 - both_7);
        total_2 = total_2 + weight_8;
        pool[row_42 * 36u + s_2 + 27992u] = pack_halves(weight_7, weight_8);
        const auto other_8 = __shfl_xor_sync(warp, total, 1u);
        const auto both_8 = total + other_8;
        const auto other_9 = __shfl_xor_sync(warp, both_8, 2u);
        const auto both_9 = both_8 + other_9;
        const auto other_10 = __shfl_xor_sync(warp, both_9, 4u);
        const auto both_10 = both_9 + other_10;
        const auto other_11 = __shfl_xor_sync(warp, total_2, 1u);
        const auto both_11 = total_2 + other_11;
        const auto other_12 = __shfl_xor_sync(warp, both_11, 2u);
        const auto both_12 = both_11 + other_12;
        const auto other_13 = __shfl_xor_sync(warp, both_12, 4u);
        const auto both_13 = both_12 + other_13;
        const auto total_3 = both_10 + both_13;
        if (s_2 == 0u) {
          pool[row_42 + 28624u] = __float_as_uint(both_7);
          pool[row_42 + 28640u] = __float_as_uint(total_3);
        }
      }
      __syncthreads();
      if (next_start < seen) {
        const auto row_43 = lane / 8u;
        const auto unit_37 = lane % 8u;
        const auto unit_at_19 = state_at + pool[row_43 + 28544u] * 288u + unit_37 * 4u;
        const auto words_19 = *(const uint4*)&b1[unit_at_19];
        next = words_19.x;
        next_2 = words_19.y;
        next_3 = words_19.z;
        next_4 = words_19.w;
        const auto row_44 = lane / 8u;
        const auto unit_38 = (lane % 8u) + 8u;
        const auto unit_at_20 = state_at + pool[row_44 + 28544u] * 288u + unit_38 * 4u;
        const auto words_20 = *(const uint4*)&b1[unit_at_20];
        next_5 = words_20.x;
        next_6 = words_20.y;
        next_7 = words_20.z;
        next_8 = words_20.w;
        const auto row_45 = lane / 8u;
        const auto unit_39 = (lane % 8u) + 16u;
        const auto unit_at_21 = state_at + pool[row_45 + 28544u] * 288u + unit_39 * 4u;
        const auto words_21 = *(const uint4*)&b1[unit_at_21];
        next_9 = words_21.x;
        next_10 = words_21.y;
        next_11 = words_21.z;
        next_12 = words_21.w;
        const auto row_46 = lane / 8u;
        const auto unit_40 = (lane % 8u) + 24u;
        const auto unit_at_22 = state_at + pool[row_46 + 28544u] * 288u + unit_40 * 4u;
        const auto words_22 = *(const uint4*)&b1[unit_at_22];
        next_13 = words_22.x;
        next_14 = words_22.y;
        next_15 = words_22.z;
        next_16 = words_22.w;
        const auto row_47 = lane / 8u;
        const auto unit_41 = (lane % 8u) + 32u;
        const auto unit_at_23 = state_at + pool[row_47 + 28544u] * 288u + unit_41 * 4u;
        const auto words_23 = *(const uint4*)&b1[unit_at_23];
        next_17 = words_23.x;
        next_18 = words_23.y;
        next_19 = words_23.z;
        next_20 = words_23.w;
        const auto row_48 = lane / 8u;
        const auto unit_42 = (lane % 8u) + 40u;
        const auto unit_at_24 = state_at + pool[row_48 + 28544u] * 288u + unit_42 * 4u;
        const auto words_24 = *(const uint4*)&b1[unit_at_24];
        next_21 = words_24.x;
        next_22 = words_24.y;
        next_23 = words_24.z;
        next_24 = words_24.w;
        const auto row_49 = lane / 8u;
        const auto unit_43 = (lane % 8u) + 48u;
        const auto unit_at_25 = state_at + pool[row_49 + 28544u] * 288u + unit_43 * 4u;
        const auto words_25 = *(const uint4*)&b1[unit_at_25];
        next_25 = words_25.x;
        next_26 = words_25.y;
        next_27 = words_25.z;
        next_28 = words_25.w;
        const auto row_50 = lane / 8u;
        const auto unit_44 = (lane % 8u) + 56u;
        const auto unit_at_26 = state_at + pool[row_50 + 28544u] * 288u + unit_44 * 4u;
        const auto words_26 = *(const uint4*)&b1[unit_at_26];
        next_29 = words_26.x;
        next_30 = words_26.y;
        next_31 = words_26.z;
        next_32 = words_26.w;
        const auto row_51 = lane / 8u;
        const auto unit_45 = (lane % 8u) + 64u;
        const auto unit_at_27 = state_at + pool[row_51 + 28544u] * 288u + unit_45 * 4u;
        const auto words_27 = *(const uint4*)&b1[unit_at_27];
        next_33 = words_27.x;
        next_34 = words_27.y;
        next_35 = words_27.z;
        next_36 = words_27.w;
        const auto row_52 = (lane / 8u) + 32u;
        const auto unit_46 = lane % 8u;
        const auto unit_at_28 = state_at + pool[row_52 + 28544u] * 288u + unit_46 * 4u;
        const auto words_28 = *(const uint4*)&b1[unit_at_28];
        next_37 = words_28.x;
        next_38 = words_28.y;
        next_39 = words_28.z;
        next_40 = words_28.w;
        const auto row_53 = (lane / 8u) + 32u;
        const auto unit_47 = (lane % 8u) + 8u;
        const auto unit_at_29 = state_at + pool[row_53 + 28544u] * 288u + unit_47 * 4u;
        const auto words_29 = *(const uint4*)&b1[unit_at_29];
        next_41 = words_29.x;
        next_42 = words_29.y;
        next_43 = words_29.z;
        next_44 = words_29.w;
        const auto row_54 = (lane / 8u) + 32u;
        const auto unit_48 = (lane % 8u) + 16u;
        const auto unit_at_30 = state_at + pool[row_54 + 28544u] * 288u + unit_48 * 4u;
        const auto words_30 = *(const uint4*)&b1[unit_at_30];
        next_45 = words_30.x;
        next_46 = words_30.y;
        next_47 = words_30.z;
        next_48 = words_30.w;
        const auto row_55 = (lane / 8u) + 32u;
        const auto unit_49 = (lane % 8u) + 24u;
        const auto unit_at_31 = state_at + pool[row_55 + 28544u] * 288u + unit_49 * 4u;
        const auto words_31 = *(const uint4*)&b1[unit_at_31];
        next_49 = words_31.x;
        next_50 = words_31.y;
        next_51 = words_31.z;
        next_52 = words_31.w;
        const auto row_56 = (lane / 8u) + 32u;
        const auto unit_50 = (lane % 8u) + 32u;
        const auto unit_at_32 = state_at + pool[row_56 + 28544u] * 288u + unit_50 * 4u;
        const auto words_32 = *(const uint4*)&b1[unit_at_32];
        next_53 = words_32.x;
        next_54 = words_32.y;
        next_55 = words_32.z;
        next_56 = words_32.w;
        const auto row_57 = (lane / 8u) + 32u;
        const auto unit_51 = (lane % 8u) + 40u;
        const auto unit_at_33 = state_at + pool[row_57 + 28544u] * 288u + unit_51 * 4u;
        const auto words_33 = *(const uint4*)&b1[unit_at_33];
        next_57 = words_33.x;
        next_58 = words_33.y;
        next_59 = words_33.z;
        next_60 = words_33.w;
        const auto row_58 = (lane / 8u) + 32u;
        const auto unit_52 = (lane % 8u) + 48u;
        const auto unit_at_34 = state_at + pool[row_58 + 28544u] * 288u + unit_52 * 4u;
        const auto words_34 = *(const uint4*)&b1[unit_at_34];
        next_61 = words_34.x;
        next_62 = words_34.y;
        next_63 = words_34.z;
        next_64 = words_34.w;
        const auto row_59 = (lane / 8u) + 32u;
        const auto unit_53 = (lane % 8u) + 56u;
        const auto unit_at_35 = state_at + pool[row_59 + 28544u] * 288u + unit_53 * 4u;
        const auto words_35 = *(const uint4*)&b1[unit_at_35];
        next_65 = words_35.x;
        next_66 = words_35.y;
        next_67 = words_35.z;
        next_68 = words_35.w;
        const auto row_60 = (lane / 8u) + 32u;
        const auto unit_54 = (lane % 8u) + 64u;
        const auto unit_at_36 = state_at + pool[row_60 + 28544u] * 288u + unit_54 * 4u;
        const auto words_36 = *(const uint4*)&b1[unit_at_36];
        next_69 = words_36.x;
        next_70 = words_36.y;
        next_71 = words_36.z;
        next_72 = words_36.w;
      }
      const auto put_at = (rows_at * ((sizes.words[3] * 32u + 63u) / 64u) + visited) * 5160u + 256u;
      auto sum_17 = 0.0f;
      auto sum_18 = 0.0f;
      auto sum_19 = 0.0f;
      auto sum_20 = 0.0f;
      auto sum_21 = 0.0f;
      auto sum_22 = 0.0f;
      auto sum_23 = 0.0f;
      auto sum_24 = 0.0f;
      auto sum_25 = 0.0f;
      auto sum_26 = 0.0f;
      auto sum_27 = 0.0f;
      auto sum_28 = 0.0f;
      auto sum_29 = 0.0f;
      auto sum_30 = 0.0f;
      auto sum_31 = 0.0f;
      auto sum_32 = 0.0f;
      auto sum_33 = 0.0f;
      auto sum_34 = 0.0f;
      auto sum_35 = 0.0f;
      auto sum_36 = 0.0f;
      auto sum_37 = 0.0f;
      auto sum_38 = 0.0f;
      auto sum_39 = 0.0f;
      auto sum_40 = 0.0f;
      auto sum_41 = 0.0f;
      auto sum_42 = 0.0f;
      auto sum_43 = 0.0f;
      auto sum_44 = 0.0f;
      auto sum_45 = 0.0f;
      auto sum_46 = 0.0f;
      auto sum_47 = 0.0f;
      auto sum_48 = 0.0f;
      const auto weight_at = matrix_row * 36u + matrix_word + 27968u;
      const auto pair = own_warp * 4u;
      const auto value_at = matrix_row * 292u + matrix_word + pair * 8u;
      const auto pair_2 = own_warp * 4u + 1u;
      const auto value_at_2 = matrix_row * 292u + matrix_word + pair_2 * 8u;
      const auto pair_3 = own_warp * 4u + 2u;
      const auto value_at_3 = matrix_row * 292u + matrix_word + pair_3 * 8u;
      const auto pair_4 = own_warp * 4u + 3u;
      const auto value_at_4 = matrix_row * 292u + matrix_word + pair_4 * 8u;
      for (auto step_2 = 0u; step_2 < 4u; step_2 += 1u) {
        const auto depth_2 = step_2 * 8u;
        const auto down = step_2 * 4672u;
        unsigned int value, value_2, value_3, value_4;
        load_turned(value, value_2, value_3, value_4, &pool[value_at + down]);
        unsigned int value_5, value_6, value_7, value_8;
        load_turned(value_5, value_6, value_7, value_8, &pool[value_at_2 + down]);
        unsigned int value_9, value_10, value_11, value_12;
        load_turned(value_9, value_10, value_11, value_12, &pool[value_at_3 + down]);
        unsigned int value_13, value_14, value_15, value_16;
        load_turned(value_13, value_14, value_15, value_16, &pool[value_at_4 + down]);
        unsigned int weight_9, weight_10, weight_11, weight_12;
        load_matrices(weight_9, weight_10, weight_11, weight_12, &pool[weight_at + depth_2]);
        multiply_halves(sum_17, sum_18, sum_19, sum_20, weight_9, weight_10, weight_11, weight_12, value, value_2);
        multiply_halves(sum_21, sum_22, sum_23, sum_24, weight_9, weight_10, weight_11, weight_12, value_3, value_4);
        multiply_halves(sum_25, sum_26, sum_27, sum_28, weight_9, weight_10, weight_11, weight_12, value_5, value_6);
        multiply_halves(sum_29, sum_30, sum_31, sum_32, weight_9, weight_10, weight_11, weight_12, value_7, value_8);
        multiply_halves(sum_33, sum_34, sum_35, sum_36, weight_9, weight_10, weight_11, weight_12, value_9, value_10);
        multiply_halves(sum_37, sum_38, sum_39, sum_40, weight_9, weight_10, weight_11, weight_12, value_11, value_12);
        multiply_halves(sum_41, sum_42, sum_43, sum_44, weight_9, weight_10, weight_11, weight_12, value_13, value_14);
        multiply_halves(sum_45, sum_46, sum_47, sum_48, weight_9, weight_10, weight_11, weight_12, value_15, value_16);
      }
      const auto pair_5 = own_warp * 4u;
      const auto column = pair_5 * 16u + t * 2u;
      store_two(&b3[g * 516u + column + put_at], __float_as_uint(sum_17), __float_as_uint(sum_18));
      store_two(&(b3 + (g * 516u + column + put_at))[8u], __float_as_uint(sum_21), __float_as_uint(sum_22));
      const auto row_61 = g + 8u;
      if (row_61 < 10u) {
        store_two(&b3[row_61 * 516u + column + put_at], __float_as_uint(sum_19), __float_as_uint(sum_20));
        store_two(&(b3 + (row_61 * 516u + column + put_at))[8u], __float_as_uint(sum_23), __float_as_uint(sum_24));
      }
      const auto pair_6 = own_warp * 4u + 1u;
      const auto column_2 = pair_6 * 16u + t * 2u;
      store_two(&b3[g * 516u + column_2 + put_at], __float_as_uint(sum_25), __float_as_uint(sum_26));
      store_two(&(b3 + (g * 516u + column_2 + put_at))[8u], __float_as_uint(sum_29), __float_as_uint(sum_30));
      const auto row_62 = g + 8u;
      if (row_62 < 10u) {
        store_two(&b3[row_62 * 516u + column_2 + put_at], __float_as_uint(sum_27), __float_as_uint(sum_28));
        store_two(&(b3 + (row_62 * 516u + column_2 + put_at))[8u], __float_as_uint(sum_31), __float_as_uint(sum_32));
      }
      const auto pair_7 = own_warp * 4u + 2u;
      const auto column_3 = pair_7 * 16u + t * 2u;
      store_two(&b3[g * 516u + column_3 + put_at], __float_as_uint(sum_33), __float_as_uint(sum_34));
      store_two(&(b3 + (g * 516u + column_3 + put_at))[8u], __float_as_uint(sum_37), __float_as_uint(sum_38));
      const auto row_63 = g + 8u;
      if (row_63 < 10u) {
        store_two(&b3[row_63 * 516u + column_3 + put_at], __float_as_uint(sum_35), __float_as_uint(sum_36));
        store_two(&(b3 + (row_63 * 516u + column_3 + put_at))[8u], __float_as_uint(sum_39), __float_as_uint(sum_40));
      }
      const auto pair_8 = own_warp * 4u + 3u;
      const auto column_4 = pair_8 * 16u + t * 2u;
      store_two(&b3[g * 516u + column_4 + put_at], __float_as_uint(sum_41), __float_as_uint(sum_42));
      store_two(&(b3 + (g * 516u + column_4 + put_at))[8u], __float_as_uint(sum_45), __float_as_uint(sum_46));
      const auto row_64 = g + 8u;
      if (row_64 < 10u) {
        store_two(&b3[row_64 * 516u + column_4 + put_at], __float_as_uint(sum_43), __float_as_uint(sum_44));
        store_two(&(b3 + (row_64 * 516u + column_4 + put_at))[8u], __float_as_uint(sum_47), __float_as_uint(sum_48));
      }
      if (lane < 10u) {
        const auto to_10 = lane * 516u + put_at + 512u;
        store_two(&b3[to_10], pool[lane + 28640u], pool[lane + 28624u]);
      }
      __syncthreads();
    }
  }
}

// attend_20x576: lanes 256; attend.units rows 10 reduce 4 chunk 64 spread
struct Args { unsigned int words[12]; };
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

static __device__ __forceinline__ float quotient(float a, float b) {
  float inverse;
  asm("rcp.approx.f32 %0, %1;" : "=f"(inverse) : "f"(b));
  return a * inverse;
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

extern "C" __global__ void __launch_bounds__(256) weft_attend_20x576(
  const Args args,
  const Sizes sizes,
  unsigned int* b0,
  const unsigned int* b1,
  const unsigned int* b2,
  unsigned int* b3
) {
  extern __shared__ __align__(16) unsigned int pool[];
  const unsigned int lane = threadIdx.x;
  const unsigned int warp = 0xffffffffu;
  const auto p2 = args.words[4];
  const auto p3 = args.words[6];
  const auto p5 = args.words[10];
  const auto n1 = args.words[3];
  const auto n4 = args.words[9];
  const auto n5 = args.words[11];
  launch_next();
  // part 0: attend [T, 20] × 512; attend.units rows 10 reduce 4 chunk 64 spread; together
  const auto own_group = blockIdx.x;
  const auto rows_at = own_group % 20u;
  const auto first = (own_group / 20u) * 64u;
  const auto i = rows_at / 20u;
  const auto i_2 = (rows_at % 20u) % 20u;
  const auto i_3 = rows_at / 20u;
  const auto i_4 = (rows_at % 20u) % 20u;
  const auto column = first + lane;
  const auto i_5 = rows_at / 20u;
  const auto i_6 = (rows_at % 20u) % 20u;
  const auto last_page = max(min(n4, sizes.words[3]), 1u) - 1u;
  const auto last_position = last_page * 32u + 31u;
  const auto last_row = max(min(n1 / 576u, n1 / 576u), 1u) - 1u;
  const auto position = b2[p2 + i_5];
  const auto seen = min(position, last_position) + 1u;
  const auto pages_at = b2[p3 + i_5];
  wait_for_previous();
  const auto chunks = (seen + 63u) / 64u;
  auto sum = 0.0f;
  auto sum_2 = 0.0f;
  auto carried = -2e38f;
  const auto put_at = ((rows_at / 10u) * ((sizes.words[3] * 32u + 63u) / 64u) * 10u + (rows_at % 10u)) * 516u + 256u;
  for (auto batch = 0u; batch < chunks; batch += 64u) {
    const auto column_2 = (lane % 16u) * 4u;
    const auto own_chunk = lane / 16u;
    const auto values = *(const uint4*)&b3[min(batch + own_chunk, chunks - 1u) * 5160u + put_at + first + column_2];
    const auto chunk = own_chunk + 16u;
    const auto values_2 = *(const uint4*)&b3[min(batch + chunk, chunks - 1u) * 5160u + put_at + first + column_2];
    const auto chunk_2 = own_chunk + 32u;
    const auto values_3 = *(const uint4*)&b3[min(batch + chunk_2, chunks - 1u) * 5160u + put_at + first + column_2];
    const auto chunk_3 = own_chunk + 48u;
    const auto values_4 = *(const uint4*)&b3[min(batch + chunk_3, chunks - 1u) * 5160u + put_at + first + column_2];
    auto weight = 0u;
    auto weight_2 = 0u;
    auto weight_3 = 0u;
    if (lane < 64u) {
      const auto chunk_4 = batch + lane;
      const auto put_down = min(chunk_4, chunks - 1u) * 5160u + put_at + 512u;
      const auto put_down_2 = __uint_as_float(b3[put_down]);
      const auto put_down_3 = __uint_as_float((b3 + (put_down))[1u]);
      const auto its_top = (chunk_4 < chunks ? put_down_3 : -2e38f);
      const auto chunk_5 = batch + (lane ^ 32u);
      const auto put_down_4 = min(chunk_5, chunks - 1u) * 5160u + put_at + 512u;
      const auto put_down_5 = __uint_as_float(b3[put_down_4]);
      const auto put_down_6 = __uint_as_float((b3 + (put_down_4))[1u]);
      const auto its_top_2 = (chunk_5 < chunks ? put_down_6 : -2e38f);
      const auto other = __shfl_xor_sync(warp, its_top, 1u);
      const auto before = ((lane & 1u) > 0u ? max(-2e38f, other) : -2e38f);
      const auto all = max(its_top, other);
      const auto other_2 = __shfl_xor_sync(warp, all, 2u);
      const auto before_2 = ((lane & 2u) > 0u ? max(before, other_2) : before);
      const auto all_2 = max(all, other_2);
      const auto other_3 = __shfl_xor_sync(warp, all_2, 4u);
      const auto before_3 = ((lane & 4u) > 0u ? max(before_2, other_3) : before_2);
      const auto all_3 = max(all_2, other_3);
      const auto other_4 = __shfl_xor_sync(warp, all_3, 8u);
      const auto before_4 = ((lane & 8u) > 0u ? max(before_3, other_4) : before_3);
      const auto all_4 = max(all_3, other_4);
      const auto other_5 = __shfl_xor_sync(warp, all_4, 16u);
      const auto before_5 = ((lane & 16u) > 0u ? max(before_4, other_5) : before_4);
      const auto all_5 = max(all_4, other_5);
      const auto other_6 = __shfl_xor_sync(warp, its_top_2, 1u);
      const auto both = max(its_top_2, other_6);
      const auto other_7 = __shfl_xor_sync(warp, both, 2u);
      const auto both_2 = max(both, other_7);
      const auto other_8 = __shfl_xor_sync(warp, both_2, 4u);
      const auto both_3 = max(both_2, other_8);
      const auto other_9 = __shfl_xor_sync(warp, both_3, 8u);
      const auto both_4 = max(both_3, other_9);
      const auto other_10 = __shfl_xor_sync(warp, both_4, 16u);
      const auto both_5 = max(both_4, other_10);
      const auto new_top = max(max(before_5, (lane > 31u ? max(carried, both_5) : carried)), its_top);
      const auto shrink = expf(max(before_5, (lane > 31u ? max(carried, both_5) : carried)) - new_top);
      const auto shrink_2 = expf(its_top - new_top);
      weight = __float_as_uint(shrink);
      weight_2 = __float_as_uint(shrink_2);
      weight_3 = __float_as_uint(put_down_2);
      carried = max(max(carried, all_5), both_5);
    }
    __syncthreads();
    store_four(&pool[own_chunk * 68u + column_2], values.x, values.y, values.z, values.w);
    store_four(&pool[chunk * 68u + column_2], values_2.x, values_2.y, values_2.z, values_2.w);
    store_four(&pool[chunk_2 * 68u + column_2], values_3.x, values_3.y, values_3.z, values_3.w);
    store_four(&pool[chunk_3 * 68u + column_2], values_4.x, values_4.y, values_4.z, values_4.w);
    if (lane < 64u) {
      store_four(&pool[lane * 4u + 4352u], weight, weight_2, weight_3, 0u);
    }
    __syncthreads();
    const auto here = min(chunks - batch, 64u);
    if (lane < 64u) {
      for (auto c = 0u; c < here; c += 8u) {
        const auto by = *(const uint4*)&pool[c * 4u + 4352u];
        const auto value = __uint_as_float(pool[c * 68u + lane]);
        const auto chunk_6 = c + 1u;
        const auto by_2 = *(const uint4*)&pool[chunk_6 * 4u + 4352u];
        const auto value_2 = __uint_as_float(pool[chunk_6 * 68u + lane]);
        const auto chunk_7 = c + 2u;
        const auto by_3 = *(const uint4*)&pool[chunk_7 * 4u + 4352u];
        const auto value_3 = __uint_as_float(pool[chunk_7 * 68u + lane]);
        const auto chunk_8 = c + 3u;
        const auto by_4 = *(const uint4*)&pool[chunk_8 * 4u + 4352u];
        const auto value_4 = __uint_as_float(pool[chunk_8 * 68u + lane]);
        const auto chunk_9 = c + 4u;
        const auto by_5 = *(const uint4*)&pool[chunk_9 * 4u + 4352u];
        const auto value_5 = __uint_as_float(pool[chunk_9 * 68u + lane]);
        const auto chunk_10 = c + 5u;
        const auto by_6 = *(const uint4*)&pool[chunk_10 * 4u + 4352u];
        const auto value_6 = __uint_as_float(pool[chunk_10 * 68u + lane]);
        const auto chunk_11 = c + 6u;
        const auto by_7 = *(const uint4*)&pool[chunk_11 * 4u + 4352u];
        const auto value_7 = __uint_as_float(pool[chunk_11 * 68u + lane]);
        const auto chunk_12 = c + 7u;
        const auto by_8 = *(const uint4*)&pool[chunk_12 * 4u + 4352u];
        const auto value_8 = __uint_as_float(pool[chunk_12 * 68u + lane]);
        sum = fmaf(value, __uint_as_float(by.y), sum * __uint_as_float(by.x));
        sum_2 = fmaf(__uint_as_float(by.z), __uint_as_float(by.y), sum_2 * __uint_as_float(by.x));
        sum = fmaf(value_2, __uint_as_float(by_2.y), sum * __uint_as_float(by_2.x));
        sum_2 = fmaf(__uint_as_float(by_2.z), __uint_as_float(by_2.y), sum_2 * __uint_as_float(by_2.x));
        sum = fmaf(value_3, __uint_as_float(by_3.y), sum * __uint_as_float(by_3.x));
        sum_2 = fmaf(__uint_as_float(by_3.z), __uint_as_float(by_3.y), sum_2 * __uint_as_float(by_3.x));
        sum = fmaf(value_4, __uint_as_float(by_4.y), sum * __uint_as_float(by_4.x));
        sum_2 = fmaf(__uint_as_float(by_4.z), __uint_as_float(by_4.y), sum_2 * __uint_as_float(by_4.x));
        sum = fmaf(value_5, __uint_as_float(by_5.y), sum * __uint_as_float(by_5.x));
        sum_2 = fmaf(__uint_as_float(by_5.z), __uint_as_float(by_5.y), sum_2 * __uint_as_float(by_5.x));
        sum = fmaf(value_6, __uint_as_float(by_6.y), sum * __uint_as_float(by_6.x));
        sum_2 = fmaf(__uint_as_float(by_6.z), __uint_as_float(by_6.y), sum_2 * __uint_as_float(by_6.x));
        sum = fmaf(value_7, __uint_as_float(by_7.y), sum * __uint_as_float(by_7.x));
        sum_2 = fmaf(__uint_as_float(by_7.z), __uint_as_float(by_7.y), sum_2 * __uint_as_float(by_7.x));
        sum = fmaf(value_8, __uint_as_float(by_8.y), sum * __uint_as_float(by_8.x));
        sum_2 = fmaf(__uint_as_float(by_8.z), __uint_as_float(by_8.y), sum_2 * __uint_as_float(by_8.x));
      }
    }
  }
  if (lane < 64u) {
    const auto inverse = quotient(1.0f, sum_2);
    pool[lane + 4608u] = __float_as_uint(sum * inverse);
  }
  __syncthreads();
  if (lane < 64u) {
    const auto v = __uint_as_float(pool[lane + 4608u]);
    const auto mine = __float_as_uint(v) & 0x7fffffffu;
    const auto other_11 = __shfl_xor_sync(warp, mine, 1u);
    const auto both_6 = max(mine, other_11);
    const auto other_12 = __shfl_xor_sync(warp, both_6, 2u);
    const auto both_7 = max(both_6, other_12);
    const auto other_13 = __shfl_xor_sync(warp, both_7, 4u);
    const auto both_8 = max(both_7, other_13);
    const auto other_14 = __shfl_xor_sync(warp, both_8, 8u);
    const auto both_9 = max(both_8, other_14);
    const auto other_15 = __shfl_xor_sync(warp, both_9, 16u);
    const auto both_10 = max(both_9, other_15);
    const auto largest = __uint_as_float(both_10);
    const auto factor = largest * 0.007874016f;
    const auto scale = (both_10 < 0x7f800000u ? __float_as_uint(factor) : 0x7fc00000u);
    const auto packed = ((unsigned int)(__float2int_rz(min(max(rintf(v * (largest > 1.5046328e-36f && both_10 < 0x7f800000u ? reciprocal(factor) : 0.0f)), -127.0f), 127.0f))) & 255u) << ((lane % 4u) * 8u);
    const auto other_16 = __shfl_xor_sync(warp, packed, 1u);
    const auto packed_2 = packed | other_16;
    const auto other_17 = __shfl_xor_sync(warp, packed_2, 2u);
    const auto packed_3 = packed_2 | other_17;
    const auto sum_3 = __dp4a((int)(packed_3), (int)(0x1010101u), 0);
    const auto other_18 = __shfl_xor_sync(warp, sum_3, 4u);
    const auto sum_4 = sum_3 + other_18;
    const auto other_19 = __shfl_xor_sync(warp, sum_4, 8u);
    const auto sum_5 = sum_4 + other_19;
    const auto at = i_3 * 10240u + i_4 * 512u + column;
    if ((lane % 4u) == 0u) {
      b0[p5 + (at / 4u)] = packed_3;
    }
    if ((lane % 32u) == 0u) {
      b0[p5 + (n5 / 4u) + (at / 32u)] = scale;
    }
    if ((lane % 16u) == 0u) {
      b0[p5 + ((n5 / 4u) + (n5 / 32u)) + (at / 16u)] = __float_as_uint((float)(sum_5) * __uint_as_float(scale));
    }
  }
}

