test cuda T=1 R=1 S=4096 P=128 workers=64 kernel=9 of=9
# A decode step: down of all experts.
include glm_moe_layer
---
// select_sum_2048x1536_q4_0&dot_2048x1536_q4_0: lanes 256; dot.lanes rows 1 width 16 reduce 16 upcast 1
struct Args { unsigned int words[16]; };
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

extern "C" __global__ void __launch_bounds__(256) weft_select_sum_2048x1536_q4_0_dot_2048x1536_q4_0(
  const Args args,
  const Sizes sizes,
  const unsigned int* b0,
  const unsigned int* b1,
  const unsigned int* __restrict__ b2,
  const unsigned int* __restrict__ b3,
  unsigned int* b4
) {
  __shared__ __align__(16) unsigned int pool[3920];
  const unsigned int lane = threadIdx.x;
  const auto p0 = args.words[0];
  const auto p1 = args.words[2];
  const auto p2 = args.words[4];
  const auto p3 = args.words[6];
  const auto p4 = args.words[8];
  const auto p5 = args.words[10];
  const auto p6 = args.words[12];
  const auto p7 = args.words[14];
  const auto n0 = args.words[1];
  const auto n4 = args.words[9];
  const auto top_bits = blockIdx.z ^ 0x80808080u;
  // part 0: dot [T] × 2048; dot.lanes rows 1 width 16 reduce 16 upcast 1
  const auto own_group = blockIdx.x;
  const auto first = own_group * 16u;
  const auto share = lane / 16u;
  const auto own = lane % 16u;
  const auto column = first + own;
  const auto tile = p5 + (column / 16u) * 3456u;
  const auto lane_row = column % 16u;
  const auto b = share * 3u;
  const auto at = tile + lane_row + b * 64u;
  const auto w = load_early(&b3[at]);
  const auto w_2 = load_early(&(b3 + (at))[16u]);
  const auto w_3 = load_early(&(b3 + (at))[32u]);
  const auto w_4 = load_early(&(b3 + (at))[48u]);
  const auto word = load_early(&(b3 + (tile + (b * 8u + (lane_row / 2u))))[3072u]);
  const auto at_2 = tile + lane_row + b * 64u;
  const auto w_5 = load_early(&(b3 + (at_2))[64u]);
  const auto w_6 = load_early(&(b3 + (at_2))[80u]);
  const auto w_7 = load_early(&(b3 + (at_2))[96u]);
  const auto w_8 = load_early(&(b3 + (at_2))[112u]);
  const auto word_2 = load_early(&(b3 + (tile + (b * 8u + (lane_row / 2u))))[3080u]);
  const auto at_3 = tile + lane_row + b * 64u;
  const auto w_9 = load_early(&(b3 + (at_3))[128u]);
  const auto w_10 = load_early(&(b3 + (at_3))[144u]);
  const auto w_11 = load_early(&(b3 + (at_3))[160u]);
  const auto w_12 = load_early(&(b3 + (at_3))[176u]);
  const auto word_3 = load_early(&(b3 + (tile + (b * 8u + (lane_row / 2u))))[3088u]);
  const auto share_2 = lane / 16u;
  const auto own_2 = lane % 16u;
  const auto column_2 = first + own_2;
  const auto index = min(b1[p1], 63u);
  const auto index_2 = min((b1 + (p1))[1u], 63u);
  const auto index_3 = min((b1 + (p1))[2u], 63u);
  const auto index_4 = min((b1 + (p1))[3u], 63u);
  const auto tile_2 = p3 + ((index * 2048u + column_2) / 16u) * 3456u;
  const auto lane_row_2 = (index * 2048u + column_2) % 16u;
  const auto tile_3 = p3 + ((index_2 * 2048u + column_2) / 16u) * 3456u;
  const auto lane_row_3 = (index_2 * 2048u + column_2) % 16u;
  const auto tile_4 = p3 + ((index_3 * 2048u + column_2) / 16u) * 3456u;
  const auto lane_row_4 = (index_3 * 2048u + column_2) % 16u;
  const auto tile_5 = p3 + ((index_4 * 2048u + column_2) / 16u) * 3456u;
  const auto lane_row_5 = (index_4 * 2048u + column_2) % 16u;
  const auto b_2 = share_2 * 3u;
  const auto at_4 = tile_2 + lane_row_2 + b_2 * 64u;
  const auto w_13 = load_early(&b2[at_4]);
  const auto w_14 = load_early(&(b2 + (at_4))[16u]);
  const auto w_15 = load_early(&(b2 + (at_4))[32u]);
  const auto w_16 = load_early(&(b2 + (at_4))[48u]);
  const auto word_4 = load_early(&(b2 + (tile_2 + (b_2 * 8u + (lane_row_2 / 2u))))[3072u]);
  const auto at_5 = tile_2 + lane_row_2 + b_2 * 64u;
  const auto w_17 = load_early(&(b2 + (at_5))[64u]);
  const auto w_18 = load_early(&(b2 + (at_5))[80u]);
  const auto w_19 = load_early(&(b2 + (at_5))[96u]);
  const auto w_20 = load_early(&(b2 + (at_5))[112u]);
  const auto word_5 = load_early(&(b2 + (tile_2 + (b_2 * 8u + (lane_row_2 / 2u))))[3080u]);
  const auto at_6 = tile_2 + lane_row_2 + b_2 * 64u;
  const auto w_21 = load_early(&(b2 + (at_6))[128u]);
  const auto w_22 = load_early(&(b2 + (at_6))[144u]);
  const auto w_23 = load_early(&(b2 + (at_6))[160u]);
  const auto w_24 = load_early(&(b2 + (at_6))[176u]);
  const auto word_6 = load_early(&(b2 + (tile_2 + (b_2 * 8u + (lane_row_2 / 2u))))[3088u]);
  const auto b_3 = share_2 * 3u;
  const auto at_7 = tile_3 + lane_row_3 + b_3 * 64u;
  const auto w_25 = load_early(&b2[at_7]);
  const auto w_26 = load_early(&(b2 + (at_7))[16u]);
  const auto w_27 = load_early(&(b2 + (at_7))[32u]);
  const auto w_28 = load_early(&(b2 + (at_7))[48u]);
  const auto word_7 = load_early(&(b2 + (tile_3 + (b_3 * 8u + (lane_row_3 / 2u))))[3072u]);
  const auto at_8 = tile_3 + lane_row_3 + b_3 * 64u;
  const auto w_29 = load_early(&(b2 + (at_8))[64u]);
  const auto w_30 = load_early(&(b2 + (at_8))[80u]);
  const auto w_31 = load_early(&(b2 + (at_8))[96u]);
  const auto w_32 = load_early(&(b2 + (at_8))[112u]);
  const auto word_8 = load_early(&(b2 + (tile_3 + (b_3 * 8u + (lane_row_3 / 2u))))[3080u]);
  const auto at_9 = tile_3 + lane_row_3 + b_3 * 64u;
  const auto w_33 = load_early(&(b2 + (at_9))[128u]);
  const auto w_34 = load_early(&(b2 + (at_9))[144u]);
  const auto w_35 = load_early(&(b2 + (at_9))[160u]);
  const auto w_36 = load_early(&(b2 + (at_9))[176u]);
  const auto word_9 = load_early(&(b2 + (tile_3 + (b_3 * 8u + (lane_row_3 / 2u))))[3088u]);
  const auto b_4 = share_2 * 3u;
  const auto at_10 = tile_4 + lane_row_4 + b_4 * 64u;
  const auto w_37 = load_early(&b2[at_10]);
  const auto w_38 = load_early(&(b2 + (at_10))[16u]);
  const auto w_39 = load_early(&(b2 + (at_10))[32u]);
  const auto w_40 = load_early(&(b2 + (at_10))[48u]);
  const auto word_10 = load_early(&(b2 + (tile_4 + (b_4 * 8u + (lane_row_4 / 2u))))[3072u]);
  const auto at_11 = tile_4 + lane_row_4 + b_4 * 64u;
  const auto w_41 = load_early(&(b2 + (at_11))[64u]);
  const auto w_42 = load_early(&(b2 + (at_11))[80u]);
  const auto w_43 = load_early(&(b2 + (at_11))[96u]);
  const auto w_44 = load_early(&(b2 + (at_11))[112u]);
  const auto word_11 = load_early(&(b2 + (tile_4 + (b_4 * 8u + (lane_row_4 / 2u))))[3080u]);
  const auto at_12 = tile_4 + lane_row_4 + b_4 * 64u;
  const auto w_45 = load_early(&(b2 + (at_12))[128u]);
  const auto w_46 = load_early(&(b2 + (at_12))[144u]);
  const auto w_47 = load_early(&(b2 + (at_12))[160u]);
  const auto w_48 = load_early(&(b2 + (at_12))[176u]);
  const auto word_12 = load_early(&(b2 + (tile_4 + (b_4 * 8u + (lane_row_4 / 2u))))[3088u]);
  const auto b_5 = share_2 * 3u;
  const auto at_13 = tile_5 + lane_row_5 + b_5 * 64u;
  const auto w_49 = load_early(&b2[at_13]);
  const auto w_50 = load_early(&(b2 + (at_13))[16u]);
  const auto w_51 = load_early(&(b2 + (at_13))[32u]);
  const auto w_52 = load_early(&(b2 + (at_13))[48u]);
  const auto word_13 = load_early(&(b2 + (tile_5 + (b_5 * 8u + (lane_row_5 / 2u))))[3072u]);
  const auto at_14 = tile_5 + lane_row_5 + b_5 * 64u;
  const auto w_53 = load_early(&(b2 + (at_14))[64u]);
  const auto w_54 = load_early(&(b2 + (at_14))[80u]);
  const auto w_55 = load_early(&(b2 + (at_14))[96u]);
  const auto w_56 = load_early(&(b2 + (at_14))[112u]);
  const auto word_14 = load_early(&(b2 + (tile_5 + (b_5 * 8u + (lane_row_5 / 2u))))[3080u]);
  const auto at_15 = tile_5 + lane_row_5 + b_5 * 64u;
  const auto w_57 = load_early(&(b2 + (at_15))[128u]);
  const auto w_58 = load_early(&(b2 + (at_15))[144u]);
  const auto w_59 = load_early(&(b2 + (at_15))[160u]);
  const auto w_60 = load_early(&(b2 + (at_15))[176u]);
  const auto word_15 = load_early(&(b2 + (tile_5 + (b_5 * 8u + (lane_row_5 / 2u))))[3088u]);
  const auto item = min(lane, 15u);
  const auto column_3 = first + item;
  auto kept = 0.0f;
  if (lane < 32u) {
    const auto v = __uint_as_float(load_early(&b1[p6 + column_3]));
    kept = v;
  }
  wait_for_previous();
  launch_next();
  const auto x = *(const uint4*)&b0[p0 + lane * 4u];
  const auto word_16 = lane + 256u;
  const auto word_17 = min(word_16, 383u);
  const auto x_2 = *(const uint4*)&b0[p0 + word_17 * 4u];
  pool[lane * 4u] = x.x;
  pool[lane * 4u + 1u] = x.y;
  pool[lane * 4u + 2u] = x.z;
  pool[lane * 4u + 3u] = x.w;
  if (word_16 < 384u) {
    pool[word_16 * 4u] = x_2.x;
    pool[word_16 * 4u + 1u] = x_2.y;
    pool[word_16 * 4u + 2u] = x_2.z;
    pool[word_16 * 4u + 3u] = x_2.w;
  }
  const auto from_word = p0 + (n0 / 4u);
  if (lane < 192u) {
    pool[lane + 1536u] = b0[from_word + lane];
  }
  const auto word_18 = min(lane, 95u);
  const auto x_3 = *(const uint4*)&b1[p4 + word_18 * 4u];
  if (lane < 96u) {
    pool[lane * 4u + 2112u] = x_3.x;
    pool[lane * 4u + 2113u] = x_3.y;
    pool[lane * 4u + 2114u] = x_3.z;
    pool[lane * 4u + 2115u] = x_3.w;
  }
  const auto from_word_2 = p4 + (n4 / 4u);
  if (lane < 48u) {
    pool[lane + 2496u] = b1[from_word_2 + lane];
  }
  __syncthreads();
  const auto weight = __uint_as_float(b1[p2]);
  const auto weight_2 = __uint_as_float((b1 + (p2))[1u]);
  const auto weight_3 = __uint_as_float((b1 + (p2))[2u]);
  const auto weight_4 = __uint_as_float((b1 + (p2))[3u]);
  // times q4_0[2048, 1536]
  auto sum = 0.0f;
  const auto xw = b_2 * 8u;
  const auto xq = *(const uint4*)&pool[xw];
  const auto xq_2 = *(const uint4*)&pool[xw + 4u];
  const auto d = __uint_as_float(pool[b_2 + 1536u]) * 0.0625f;
  sum = fmaf(d, (float)(__dp4a((int)((w_16 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_15 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_14 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w_13 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_16 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_15 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_14 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w_13 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))) * half_to_float(word_4 >> ((lane_row_2 % 2u) * 16u)), sum);
  const auto xw_2 = b_2 * 8u;
  const auto xq_3 = *(const uint4*)&pool[xw_2 + 8u];
  const auto xq_4 = *(const uint4*)&pool[xw_2 + 12u];
  const auto d_2 = __uint_as_float(pool[b_2 + 1537u]) * 0.0625f;
  sum = fmaf(d_2, (float)(__dp4a((int)((w_20 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.w), __dp4a((int)((w_19 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.z), __dp4a((int)((w_18 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.y), __dp4a((int)((w_17 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.x), __dp4a((int)(((w_20 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.w), __dp4a((int)(((w_19 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.z), __dp4a((int)(((w_18 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.y), __dp4a((int)(((w_17 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.x), 0))))))))) * half_to_float(word_5 >> ((lane_row_2 % 2u) * 16u)), sum);
  const auto xw_3 = b_2 * 8u;
  const auto xq_5 = *(const uint4*)&pool[xw_3 + 16u];
  const auto xq_6 = *(const uint4*)&pool[xw_3 + 20u];
  const auto d_3 = __uint_as_float(pool[b_2 + 1538u]) * 0.0625f;
  sum = fmaf(d_3, (float)(__dp4a((int)((w_24 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.w), __dp4a((int)((w_23 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.z), __dp4a((int)((w_22 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.y), __dp4a((int)((w_21 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.x), __dp4a((int)(((w_24 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.w), __dp4a((int)(((w_23 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.z), __dp4a((int)(((w_22 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.y), __dp4a((int)(((w_21 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.x), 0))))))))) * half_to_float(word_6 >> ((lane_row_2 % 2u) * 16u)), sum);
  const auto to = share_2 * 16u + own_2 + 2640u;
  pool[to] = __float_as_uint(sum);
  auto sum_2 = 0.0f;
  const auto xw_4 = b_3 * 8u;
  const auto xq_7 = *(const uint4*)&pool[xw_4 + 384u];
  const auto xq_8 = *(const uint4*)&pool[xw_4 + 388u];
  const auto d_4 = __uint_as_float(pool[b_3 + 1584u]) * 0.0625f;
  sum_2 = fmaf(d_4, (float)(__dp4a((int)((w_28 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.w), __dp4a((int)((w_27 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.z), __dp4a((int)((w_26 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.y), __dp4a((int)((w_25 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.x), __dp4a((int)(((w_28 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.w), __dp4a((int)(((w_27 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.z), __dp4a((int)(((w_26 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.y), __dp4a((int)(((w_25 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.x), 0))))))))) * half_to_float(word_7 >> ((lane_row_3 % 2u) * 16u)), sum_2);
  const auto xw_5 = b_3 * 8u;
  const auto xq_9 = *(const uint4*)&pool[xw_5 + 392u];
  const auto xq_10 = *(const uint4*)&pool[xw_5 + 396u];
  const auto d_5 = __uint_as_float(pool[b_3 + 1585u]) * 0.0625f;
  sum_2 = fmaf(d_5, (float)(__dp4a((int)((w_32 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.w), __dp4a((int)((w_31 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.z), __dp4a((int)((w_30 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.y), __dp4a((int)((w_29 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.x), __dp4a((int)(((w_32 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.w), __dp4a((int)(((w_31 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.z), __dp4a((int)(((w_30 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.y), __dp4a((int)(((w_29 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.x), 0))))))))) * half_to_float(word_8 >> ((lane_row_3 % 2u) * 16u)), sum_2);
  const auto xw_6 = b_3 * 8u;
  const auto xq_11 = *(const uint4*)&pool[xw_6 + 400u];
  const auto xq_12 = *(const uint4*)&pool[xw_6 + 404u];
  const auto d_6 = __uint_as_float(pool[b_3 + 1586u]) * 0.0625f;
  sum_2 = fmaf(d_6, (float)(__dp4a((int)((w_36 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.w), __dp4a((int)((w_35 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.z), __dp4a((int)((w_34 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.y), __dp4a((int)((w_33 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.x), __dp4a((int)(((w_36 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.w), __dp4a((int)(((w_35 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.z), __dp4a((int)(((w_34 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.y), __dp4a((int)(((w_33 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.x), 0))))))))) * half_to_float(word_9 >> ((lane_row_3 % 2u) * 16u)), sum_2);
  const auto to_2 = share_2 * 16u + own_2 + 2896u;
  pool[to_2] = __float_as_uint(sum_2);
  auto sum_3 = 0.0f;
  const auto xw_7 = b_4 * 8u;
  const auto xq_13 = *(const uint4*)&pool[xw_7 + 768u];
  const auto xq_14 = *(const uint4*)&pool[xw_7 + 772u];
  const auto d_7 = __uint_as_float(pool[b_4 + 1632u]) * 0.0625f;
  sum_3 = fmaf(d_7, (float)(__dp4a((int)((w_40 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.w), __dp4a((int)((w_39 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.z), __dp4a((int)((w_38 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.y), __dp4a((int)((w_37 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.x), __dp4a((int)(((w_40 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.w), __dp4a((int)(((w_39 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.z), __dp4a((int)(((w_38 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.y), __dp4a((int)(((w_37 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.x), 0))))))))) * half_to_float(word_10 >> ((lane_row_4 % 2u) * 16u)), sum_3);
  const auto xw_8 = b_4 * 8u;
  const auto xq_15 = *(const uint4*)&pool[xw_8 + 776u];
  const auto xq_16 = *(const uint4*)&pool[xw_8 + 780u];
  const auto d_8 = __uint_as_float(pool[b_4 + 1633u]) * 0.0625f;
  sum_3 = fmaf(d_8, (float)(__dp4a((int)((w_44 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.w), __dp4a((int)((w_43 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.z), __dp4a((int)((w_42 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.y), __dp4a((int)((w_41 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.x), __dp4a((int)(((w_44 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.w), __dp4a((int)(((w_43 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.z), __dp4a((int)(((w_42 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.y), __dp4a((int)(((w_41 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.x), 0))))))))) * half_to_float(word_11 >> ((lane_row_4 % 2u) * 16u)), sum_3);
  const auto xw_9 = b_4 * 8u;
  const auto xq_17 = *(const uint4*)&pool[xw_9 + 784u];
  const auto xq_18 = *(const uint4*)&pool[xw_9 + 788u];
  const auto d_9 = __uint_as_float(pool[b_4 + 1634u]) * 0.0625f;
  sum_3 = fmaf(d_9, (float)(__dp4a((int)((w_48 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_18.w), __dp4a((int)((w_47 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_18.z), __dp4a((int)((w_46 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_18.y), __dp4a((int)((w_45 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_18.x), __dp4a((int)(((w_48 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_17.w), __dp4a((int)(((w_47 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_17.z), __dp4a((int)(((w_46 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_17.y), __dp4a((int)(((w_45 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_17.x), 0))))))))) * half_to_float(word_12 >> ((lane_row_4 % 2u) * 16u)), sum_3);
  const auto to_3 = share_2 * 16u + own_2 + 3152u;
  pool[to_3] = __float_as_uint(sum_3);
  auto sum_4 = 0.0f;
  const auto xw_10 = b_5 * 8u;
  const auto xq_19 = *(const uint4*)&pool[xw_10 + 1152u];
  const auto xq_20 = *(const uint4*)&pool[xw_10 + 1156u];
  const auto d_10 = __uint_as_float(pool[b_5 + 1680u]) * 0.0625f;
  sum_4 = fmaf(d_10, (float)(__dp4a((int)((w_52 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_20.w), __dp4a((int)((w_51 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_20.z), __dp4a((int)((w_50 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_20.y), __dp4a((int)((w_49 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_20.x), __dp4a((int)(((w_52 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_19.w), __dp4a((int)(((w_51 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_19.z), __dp4a((int)(((w_50 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_19.y), __dp4a((int)(((w_49 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_19.x), 0))))))))) * half_to_float(word_13 >> ((lane_row_5 % 2u) * 16u)), sum_4);
  const auto xw_11 = b_5 * 8u;
  const auto xq_21 = *(const uint4*)&pool[xw_11 + 1160u];
  const auto xq_22 = *(const uint4*)&pool[xw_11 + 1164u];
  const auto d_11 = __uint_as_float(pool[b_5 + 1681u]) * 0.0625f;
  sum_4 = fmaf(d_11, (float)(__dp4a((int)((w_56 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_22.w), __dp4a((int)((w_55 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_22.z), __dp4a((int)((w_54 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_22.y), __dp4a((int)((w_53 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_22.x), __dp4a((int)(((w_56 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_21.w), __dp4a((int)(((w_55 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_21.z), __dp4a((int)(((w_54 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_21.y), __dp4a((int)(((w_53 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_21.x), 0))))))))) * half_to_float(word_14 >> ((lane_row_5 % 2u) * 16u)), sum_4);
  const auto xw_12 = b_5 * 8u;
  const auto xq_23 = *(const uint4*)&pool[xw_12 + 1168u];
  const auto xq_24 = *(const uint4*)&pool[xw_12 + 1172u];
  const auto d_12 = __uint_as_float(pool[b_5 + 1682u]) * 0.0625f;
  sum_4 = fmaf(d_12, (float)(__dp4a((int)((w_60 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_24.w), __dp4a((int)((w_59 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_24.z), __dp4a((int)((w_58 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_24.y), __dp4a((int)((w_57 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_24.x), __dp4a((int)(((w_60 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_23.w), __dp4a((int)(((w_59 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_23.z), __dp4a((int)(((w_58 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_23.y), __dp4a((int)(((w_57 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_23.x), 0))))))))) * half_to_float(word_15 >> ((lane_row_5 % 2u) * 16u)), sum_4);
  const auto to_4 = share_2 * 16u + own_2 + 3408u;
  pool[to_4] = __float_as_uint(sum_4);
  // times q4_0[2048, 1536]
  auto sum_5 = 0.0f;
  const auto xw_13 = b * 8u;
  const auto xq_25 = *(const uint4*)&pool[xw_13 + 2112u];
  const auto xq_26 = *(const uint4*)&pool[xw_13 + 2116u];
  const auto d_13 = __uint_as_float(pool[b + 2496u]) * 0.0625f;
  sum_5 = fmaf(d_13, (float)(__dp4a((int)((w_4 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_26.w), __dp4a((int)((w_3 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_26.z), __dp4a((int)((w_2 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_26.y), __dp4a((int)((w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_26.x), __dp4a((int)(((w_4 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_25.w), __dp4a((int)(((w_3 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_25.z), __dp4a((int)(((w_2 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_25.y), __dp4a((int)(((w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_25.x), 0))))))))) * half_to_float(word >> ((lane_row % 2u) * 16u)), sum_5);
  const auto xw_14 = b * 8u;
  const auto xq_27 = *(const uint4*)&pool[xw_14 + 2120u];
  const auto xq_28 = *(const uint4*)&pool[xw_14 + 2124u];
  const auto d_14 = __uint_as_float(pool[b + 2497u]) * 0.0625f;
  sum_5 = fmaf(d_14, (float)(__dp4a((int)((w_8 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_28.w), __dp4a((int)((w_7 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_28.z), __dp4a((int)((w_6 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_28.y), __dp4a((int)((w_5 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_28.x), __dp4a((int)(((w_8 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_27.w), __dp4a((int)(((w_7 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_27.z), __dp4a((int)(((w_6 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_27.y), __dp4a((int)(((w_5 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_27.x), 0))))))))) * half_to_float(word_2 >> ((lane_row % 2u) * 16u)), sum_5);
  const auto xw_15 = b * 8u;
  const auto xq_29 = *(const uint4*)&pool[xw_15 + 2128u];
  const auto xq_30 = *(const uint4*)&pool[xw_15 + 2132u];
  const auto d_15 = __uint_as_float(pool[b + 2498u]) * 0.0625f;
  sum_5 = fmaf(d_15, (float)(__dp4a((int)((w_12 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_30.w), __dp4a((int)((w_11 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_30.z), __dp4a((int)((w_10 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_30.y), __dp4a((int)((w_9 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_30.x), __dp4a((int)(((w_12 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_29.w), __dp4a((int)(((w_11 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_29.z), __dp4a((int)(((w_10 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_29.y), __dp4a((int)(((w_9 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_29.x), 0))))))))) * half_to_float(word_3 >> ((lane_row % 2u) * 16u)), sum_5);
  const auto to_5 = share * 16u + own + 3664u;
  pool[to_5] = __float_as_uint(sum_5);
  __syncthreads();
  if (lane < 64u) {
    const auto first_share = (lane / 16u) * 256u + (lane % 16u) + 2640u;
    auto total = __uint_as_float(pool[first_share]);
    for (auto l = 1u; l < 16u; l += 1u) {
      total = total + __uint_as_float(pool[first_share + l * 16u]);
    }
    pool[first_share] = __float_as_uint(total);
  }
  if (lane < 80u && lane > 63u) {
    const auto item_2 = lane - 64u;
    const auto first_share_2 = (item_2 / 16u) * 256u + (item_2 % 16u) + 3664u;
    auto total_2 = __uint_as_float(pool[first_share_2]);
    for (auto l_2 = 1u; l_2 < 16u; l_2 += 1u) {
      total_2 = total_2 + __uint_as_float(pool[first_share_2 + l_2 * 16u]);
    }
    pool[first_share_2] = __float_as_uint(total_2);
  }
  __syncthreads();
  auto result = 0.0f;
  auto result_2 = 0.0f;
  if (lane < 16u) {
    auto all = 0.0f;
    auto total_3 = __uint_as_float(pool[lane + 2640u]);
    all = all + weight * total_3;
    auto total_4 = __uint_as_float(pool[lane + 2896u]);
    all = all + weight_2 * total_4;
    auto total_5 = __uint_as_float(pool[lane + 3152u]);
    all = all + weight_3 * total_5;
    auto total_6 = __uint_as_float(pool[lane + 3408u]);
    all = all + weight_4 * total_6;
    result = all;
    auto total_7 = __uint_as_float(pool[lane + 3664u]);
    result_2 = total_7;
  }
  if (lane < 32u) {
    const auto v_2 = result + result_2;
    const auto v_3 = kept + v_2;
    if (lane < 16u) {
      b4[p7 + column_3] = __float_as_uint(v_3);
    }
  }
}

