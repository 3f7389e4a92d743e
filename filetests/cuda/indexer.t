test cuda T=1 S=4096 P=128 kernel=3 of=4
# An indexer whose scores are spread over workgroups: their launch, and the one that chooses.
graph indexer {
  %0 = input q : f32[T, 128]
  %1 = reshape %0 : f32[T, 4, 32]
  %2 = input cos : f32[T, 8]
  %3 = input sin : f32[T, 8]
  %4 = slice %1 axis=2 start=0 len=16 : f32[T, 4, 16]
  %5 = rope %4 %2 %3 style=halves : f32[T, 4, 16]
  %6 = slice %1 axis=2 start=16 len=16 : f32[T, 4, 16]
  %7 = concat %5 %6 axis=2 : f32[T, 4, 32]
  %8 = input w : f32[T, 4]
  %9 = const 0.1 : f32[]
  %10 = mul %8 %9 : f32[T, 4]
  %11 = input k : f32[T, 32]
  %12 = state index : f16[S, 32]
  %13 = input slots : i32[T]
  %14 = store %12 %11 %13 : f16[S, 32]
  %15 = input pos : i32[T]
  %16 = input first : i32[T]
  %17 = input pages : i32[P]
  %18 = indexer %7 %10 %14 %15 %16 %17 k=6 page=16 : i32[T, 6]
  %19 = input queries : f32[T, 3, 32]
  %20 = state kv : f16[S, 32]
  %21 = slice %20 axis=1 start=0 len=16 : f16[S, 16]
  %22 = attend %19 %20 %21 %15 %16 %17 %18 scale=0.25 kv_heads=1 page=16 : f32[T, 3, 16]
  output index = %14
  output list = %18
  output y = %22
}
---
// indexer_4x32_6: lanes 256; indexer.lanes reduce 4 upcast 2 chunk 128 spread
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

static __device__ __forceinline__ float half_to_float(unsigned int bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)bits));
  return value;
}

extern "C" __global__ void __launch_bounds__(256) weft_indexer_4x32_6(
  const Args args,
  const Sizes sizes,
  const unsigned int* b0,
  const unsigned int* b1,
  const unsigned int* b2,
  unsigned int* b3,
  unsigned int* b4
) {
  __shared__ __align__(16) unsigned int pool[132];
  const unsigned int lane = threadIdx.x;
  const unsigned int warp = 0xffffffffu;
  const auto p0 = args.words[0];
  const auto p1 = args.words[2];
  const auto p2 = args.words[4];
  const auto p3 = args.words[6];
  const auto p4 = args.words[8];
  const auto p5 = args.words[10];
  const auto n2 = args.words[5];
  const auto n5 = args.words[11];
  // part 0: indexer [T] × 6; indexer.lanes reduce 4 upcast 2 chunk 128 spread; chunks
  const auto own_group = blockIdx.x;
  wait_for_previous();
  launch_next();
  const auto last_page = max(min(n5, sizes.words[3]), 1u) - 1u;
  const auto last_position = last_page * 16u + 15u;
  const auto last_row = max(min(n2 / 32u, n2 / 32u), 1u) - 1u;
  const auto position = b2[p3];
  const auto seen = min(position, last_position) + 1u;
  const auto pages_at = b2[p4];
  const auto keys_at = own_group * 128u + 256u;
  const auto chunk_start = own_group * 128u;
  if (seen > 6u && chunk_start < seen) {
    if (lane < 4u) {
      pool[lane] = b0[p1 + lane];
    }
    if (lane < 128u) {
      pool[lane + 4u] = b0[p0 + ((lane / 32u) * 32u + (lane % 32u))];
    }
    __syncthreads();
    const auto share = lane % 4u;
    const auto chunk_end = min(chunk_start + 128u, seen);
    const auto b = lane / 4u;
    const auto p = min(chunk_start + b, chunk_end - 1u);
    const auto row = min(b2[p5 + min(pages_at + (p / 16u), last_page)] * 16u + (p % 16u), last_row) * 32u;
    auto total = 0.0f;
    const auto b_2 = (lane / 4u) + 64u;
    const auto p_2 = min(chunk_start + b_2, chunk_end - 1u);
    const auto row_2 = min(b2[p5 + min(pages_at + (p_2 / 16u), last_page)] * 16u + (p_2 % 16u), last_row) * 32u;
    auto total_2 = 0.0f;
    auto score = 0.0f;
    auto score_2 = 0.0f;
    auto score_3 = 0.0f;
    auto score_4 = 0.0f;
    auto score_5 = 0.0f;
    auto score_6 = 0.0f;
    auto score_7 = 0.0f;
    auto score_8 = 0.0f;
    const auto eight = *(const uint4*)&b1[p2 + ((row / 8u) + share) * 4u];
    const auto key = half_to_float(eight.x);
    const auto key_2 = half_to_float(eight.x >> 16u);
    const auto key_3 = half_to_float(eight.y);
    const auto key_4 = half_to_float(eight.y >> 16u);
    const auto key_5 = half_to_float(eight.z);
    const auto key_6 = half_to_float(eight.z >> 16u);
    const auto key_7 = half_to_float(eight.w);
    const auto key_8 = half_to_float(eight.w >> 16u);
    const auto eight_2 = *(const uint4*)&b1[p2 + ((row_2 / 8u) + share) * 4u];
    const auto key_9 = half_to_float(eight_2.x);
    const auto key_10 = half_to_float(eight_2.x >> 16u);
    const auto key_11 = half_to_float(eight_2.y);
    const auto key_12 = half_to_float(eight_2.y >> 16u);
    const auto key_13 = half_to_float(eight_2.z);
    const auto key_14 = half_to_float(eight_2.z >> 16u);
    const auto key_15 = half_to_float(eight_2.w);
    const auto key_16 = half_to_float(eight_2.w >> 16u);
    const auto from_query = share * 8u + 4u;
    const auto q = *(const uint4*)&pool[from_query];
    const auto q_2 = *(const uint4*)&pool[from_query + 4u];
    const auto q_3 = __uint_as_float(q.x);
    score = fmaf(key, q_3, score);
    score_2 = fmaf(key_9, q_3, score_2);
    const auto q_4 = __uint_as_float(q.y);
    score = fmaf(key_2, q_4, score);
    score_2 = fmaf(key_10, q_4, score_2);
    const auto q_5 = __uint_as_float(q.z);
    score = fmaf(key_3, q_5, score);
    score_2 = fmaf(key_11, q_5, score_2);
    const auto q_6 = __uint_as_float(q.w);
    score = fmaf(key_4, q_6, score);
    score_2 = fmaf(key_12, q_6, score_2);
    const auto q_7 = __uint_as_float(q_2.x);
    score = fmaf(key_5, q_7, score);
    score_2 = fmaf(key_13, q_7, score_2);
    const auto q_8 = __uint_as_float(q_2.y);
    score = fmaf(key_6, q_8, score);
    score_2 = fmaf(key_14, q_8, score_2);
    const auto q_9 = __uint_as_float(q_2.z);
    score = fmaf(key_7, q_9, score);
    score_2 = fmaf(key_15, q_9, score_2);
    const auto q_10 = __uint_as_float(q_2.w);
    score = fmaf(key_8, q_10, score);
    score_2 = fmaf(key_16, q_10, score_2);
    const auto q_11 = *(const uint4*)&pool[from_query + 32u];
    const auto q_12 = *(const uint4*)&pool[from_query + 36u];
    const auto q_13 = __uint_as_float(q_11.x);
    score_3 = fmaf(key, q_13, score_3);
    score_4 = fmaf(key_9, q_13, score_4);
    const auto q_14 = __uint_as_float(q_11.y);
    score_3 = fmaf(key_2, q_14, score_3);
    score_4 = fmaf(key_10, q_14, score_4);
    const auto q_15 = __uint_as_float(q_11.z);
    score_3 = fmaf(key_3, q_15, score_3);
    score_4 = fmaf(key_11, q_15, score_4);
    const auto q_16 = __uint_as_float(q_11.w);
    score_3 = fmaf(key_4, q_16, score_3);
    score_4 = fmaf(key_12, q_16, score_4);
    const auto q_17 = __uint_as_float(q_12.x);
    score_3 = fmaf(key_5, q_17, score_3);
    score_4 = fmaf(key_13, q_17, score_4);
    const auto q_18 = __uint_as_float(q_12.y);
    score_3 = fmaf(key_6, q_18, score_3);
    score_4 = fmaf(key_14, q_18, score_4);
    const auto q_19 = __uint_as_float(q_12.z);
    score_3 = fmaf(key_7, q_19, score_3);
    score_4 = fmaf(key_15, q_19, score_4);
    const auto q_20 = __uint_as_float(q_12.w);
    score_3 = fmaf(key_8, q_20, score_3);
    score_4 = fmaf(key_16, q_20, score_4);
    const auto q_21 = *(const uint4*)&pool[from_query + 64u];
    const auto q_22 = *(const uint4*)&pool[from_query + 68u];
    const auto q_23 = __uint_as_float(q_21.x);
    score_5 = fmaf(key, q_23, score_5);
    score_6 = fmaf(key_9, q_23, score_6);
    const auto q_24 = __uint_as_float(q_21.y);
    score_5 = fmaf(key_2, q_24, score_5);
    score_6 = fmaf(key_10, q_24, score_6);
    const auto q_25 = __uint_as_float(q_21.z);
    score_5 = fmaf(key_3, q_25, score_5);
    score_6 = fmaf(key_11, q_25, score_6);
    const auto q_26 = __uint_as_float(q_21.w);
    score_5 = fmaf(key_4, q_26, score_5);
    score_6 = fmaf(key_12, q_26, score_6);
    const auto q_27 = __uint_as_float(q_22.x);
    score_5 = fmaf(key_5, q_27, score_5);
    score_6 = fmaf(key_13, q_27, score_6);
    const auto q_28 = __uint_as_float(q_22.y);
    score_5 = fmaf(key_6, q_28, score_5);
    score_6 = fmaf(key_14, q_28, score_6);
    const auto q_29 = __uint_as_float(q_22.z);
    score_5 = fmaf(key_7, q_29, score_5);
    score_6 = fmaf(key_15, q_29, score_6);
    const auto q_30 = __uint_as_float(q_22.w);
    score_5 = fmaf(key_8, q_30, score_5);
    score_6 = fmaf(key_16, q_30, score_6);
    const auto q_31 = *(const uint4*)&pool[from_query + 96u];
    const auto q_32 = *(const uint4*)&pool[from_query + 100u];
    const auto q_33 = __uint_as_float(q_31.x);
    score_7 = fmaf(key, q_33, score_7);
    score_8 = fmaf(key_9, q_33, score_8);
    const auto q_34 = __uint_as_float(q_31.y);
    score_7 = fmaf(key_2, q_34, score_7);
    score_8 = fmaf(key_10, q_34, score_8);
    const auto q_35 = __uint_as_float(q_31.z);
    score_7 = fmaf(key_3, q_35, score_7);
    score_8 = fmaf(key_11, q_35, score_8);
    const auto q_36 = __uint_as_float(q_31.w);
    score_7 = fmaf(key_4, q_36, score_7);
    score_8 = fmaf(key_12, q_36, score_8);
    const auto q_37 = __uint_as_float(q_32.x);
    score_7 = fmaf(key_5, q_37, score_7);
    score_8 = fmaf(key_13, q_37, score_8);
    const auto q_38 = __uint_as_float(q_32.y);
    score_7 = fmaf(key_6, q_38, score_7);
    score_8 = fmaf(key_14, q_38, score_8);
    const auto q_39 = __uint_as_float(q_32.z);
    score_7 = fmaf(key_7, q_39, score_7);
    score_8 = fmaf(key_15, q_39, score_8);
    const auto q_40 = __uint_as_float(q_32.w);
    score_7 = fmaf(key_8, q_40, score_7);
    score_8 = fmaf(key_16, q_40, score_8);
    const auto weight = __uint_as_float(pool[0u]);
    const auto other = __shfl_xor_sync(warp, score, 1u);
    const auto other_2 = __shfl_xor_sync(warp, score_2, 1u);
    const auto both = score + other;
    const auto both_2 = score_2 + other_2;
    const auto other_3 = __shfl_xor_sync(warp, both, 2u);
    const auto other_4 = __shfl_xor_sync(warp, both_2, 2u);
    const auto both_3 = both + other_3;
    const auto both_4 = both_2 + other_4;
    total = total + weight * max(both_3, 0.0f);
    total_2 = total_2 + weight * max(both_4, 0.0f);
    const auto weight_2 = __uint_as_float(pool[1u]);
    const auto other_5 = __shfl_xor_sync(warp, score_3, 1u);
    const auto other_6 = __shfl_xor_sync(warp, score_4, 1u);
    const auto both_5 = score_3 + other_5;
    const auto both_6 = score_4 + other_6;
    const auto other_7 = __shfl_xor_sync(warp, both_5, 2u);
    const auto other_8 = __shfl_xor_sync(warp, both_6, 2u);
    const auto both_7 = both_5 + other_7;
    const auto both_8 = both_6 + other_8;
    total = total + weight_2 * max(both_7, 0.0f);
    total_2 = total_2 + weight_2 * max(both_8, 0.0f);
    const auto weight_3 = __uint_as_float(pool[2u]);
    const auto other_9 = __shfl_xor_sync(warp, score_5, 1u);
    const auto other_10 = __shfl_xor_sync(warp, score_6, 1u);
    const auto both_9 = score_5 + other_9;
    const auto both_10 = score_6 + other_10;
    const auto other_11 = __shfl_xor_sync(warp, both_9, 2u);
    const auto other_12 = __shfl_xor_sync(warp, both_10, 2u);
    const auto both_11 = both_9 + other_11;
    const auto both_12 = both_10 + other_12;
    total = total + weight_3 * max(both_11, 0.0f);
    total_2 = total_2 + weight_3 * max(both_12, 0.0f);
    const auto weight_4 = __uint_as_float(pool[3u]);
    const auto other_13 = __shfl_xor_sync(warp, score_7, 1u);
    const auto other_14 = __shfl_xor_sync(warp, score_8, 1u);
    const auto both_13 = score_7 + other_13;
    const auto both_14 = score_8 + other_14;
    const auto other_15 = __shfl_xor_sync(warp, both_13, 2u);
    const auto other_16 = __shfl_xor_sync(warp, both_14, 2u);
    const auto both_15 = both_13 + other_15;
    const auto both_16 = both_14 + other_16;
    total = total + weight_4 * max(both_15, 0.0f);
    total_2 = total_2 + weight_4 * max(both_16, 0.0f);
    if (share == 0u && chunk_start + b < chunk_end) {
      const auto bits = __float_as_uint(total);
      const auto bits_2 = ((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits);
      b4[keys_at + b] = (bits_2 > 0x7fffffffu ? bits_2 ^ 0xffffffffu : bits_2 | 0x80000000u);
    }
    if (share == 0u && chunk_start + b_2 < chunk_end) {
      const auto bits_3 = __float_as_uint(total_2);
      const auto bits_4 = ((bits_3 & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits_3);
      b4[keys_at + b_2] = (bits_4 > 0x7fffffffu ? bits_4 ^ 0xffffffffu : bits_4 | 0x80000000u);
    }
  }
}

// indexer_4x32_6: lanes 256; indexer.lanes reduce 4 upcast 2 chunk 128 spread
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

extern "C" __global__ void __launch_bounds__(256) weft_indexer_4x32_6(
  const Args args,
  const Sizes sizes,
  const unsigned int* b0,
  const unsigned int* b1,
  const unsigned int* b2,
  unsigned int* b3,
  unsigned int* b4
) {
  __shared__ __align__(16) unsigned int pool[4392];
  const unsigned int lane = threadIdx.x;
  const unsigned int warp = 0xffffffffu;
  const auto p3 = args.words[6];
  const auto p4 = args.words[8];
  const auto p6 = args.words[12];
  const auto n2 = args.words[5];
  const auto n5 = args.words[11];
  // part 0: indexer [T] × 6; indexer.lanes reduce 4 upcast 2 chunk 128 spread; together
  const auto own_group = blockIdx.x;
  wait_for_previous();
  launch_next();
  const auto last_page = max(min(n5, sizes.words[3]), 1u) - 1u;
  const auto last_position = last_page * 16u + 15u;
  const auto last_row = max(min(n2 / 32u, n2 / 32u), 1u) - 1u;
  const auto position = b2[p3 + own_group];
  const auto seen = min(position, last_position) + 1u;
  const auto pages_at = b2[p4 + own_group];
  const auto keys_at = own_group * ((sizes.words[3] * 16u + 127u) / 128u) * 128u + 256u;
  if (seen > 6u) {
    const auto each = ((seen + 2047u) / 2048u) * 8u;
    const auto first_key = lane * each;
    auto known = 0u;
    auto rest = 6u;
    auto exact = 0u;
    for (auto round = 0u; round < 8u; round += 1u) {
      const auto goes_on = exact;
      if (goes_on == 0u) {
        const auto shift = (7u - round) * 4u;
        const auto own_counts = lane + 8u;
        for (auto value = 0u; value < 16u; value += 1u) {
          pool[value * 256u + own_counts] = 0u;
        }
        const auto last_keys = ((seen - 1u) / 8u) * 8u;
        for (auto i = 0u; i < each; i += 8u) {
          const auto position_2 = i + first_key;
          const auto from_key = min(position_2, last_keys) + keys_at;
          const auto key = *(const uint4*)&b4[from_key];
          const auto key_2 = *(const uint4*)&(b4 + (from_key))[4u];
          const auto exists = position_2 < seen;
          const auto digit = (key.x ^ known) >> shift;
          if (exists && digit < 16u) {
            const auto at = digit * 256u + own_counts;
            pool[at] = pool[at] + 1u;
          }
          const auto position_3 = position_2 + 1u;
          const auto exists_2 = position_3 < seen;
          const auto digit_2 = (key.y ^ known) >> shift;
          if (exists_2 && digit_2 < 16u) {
            const auto at_2 = digit_2 * 256u + own_counts;
            pool[at_2] = pool[at_2] + 1u;
          }
          const auto position_4 = position_2 + 2u;
          const auto exists_3 = position_4 < seen;
          const auto digit_3 = (key.z ^ known) >> shift;
          if (exists_3 && digit_3 < 16u) {
            const auto at_3 = digit_3 * 256u + own_counts;
            pool[at_3] = pool[at_3] + 1u;
          }
          const auto position_5 = position_2 + 3u;
          const auto exists_4 = position_5 < seen;
          const auto digit_4 = (key.w ^ known) >> shift;
          if (exists_4 && digit_4 < 16u) {
            const auto at_4 = digit_4 * 256u + own_counts;
            pool[at_4] = pool[at_4] + 1u;
          }
          const auto position_6 = position_2 + 4u;
          const auto exists_5 = position_6 < seen;
          const auto digit_5 = (key_2.x ^ known) >> shift;
          if (exists_5 && digit_5 < 16u) {
            const auto at_5 = digit_5 * 256u + own_counts;
            pool[at_5] = pool[at_5] + 1u;
          }
          const auto position_7 = position_2 + 5u;
          const auto exists_6 = position_7 < seen;
          const auto digit_6 = (key_2.y ^ known) >> shift;
          if (exists_6 && digit_6 < 16u) {
            const auto at_6 = digit_6 * 256u + own_counts;
            pool[at_6] = pool[at_6] + 1u;
          }
          const auto position_8 = position_2 + 6u;
          const auto exists_7 = position_8 < seen;
          const auto digit_7 = (key_2.z ^ known) >> shift;
          if (exists_7 && digit_7 < 16u) {
            const auto at_7 = digit_7 * 256u + own_counts;
            pool[at_7] = pool[at_7] + 1u;
          }
          const auto position_9 = position_2 + 7u;
          const auto exists_8 = position_9 < seen;
          const auto digit_8 = (key_2.w ^ known) >> shift;
          if (exists_8 && digit_8 < 16u) {
            const auto at_8 = digit_8 * 256u + own_counts;
            pool[at_8] = pool[at_8] + 1u;
          }
        }
        __syncthreads();
        const auto from_count = (lane / 16u) * 256u + (lane % 16u) + 8u;
        auto sum = 0u;
        for (auto i_2 = 0u; i_2 < 16u; i_2 += 1u) {
          sum = sum + pool[i_2 * 16u + from_count];
        }
        pool[lane + 4104u] = sum;
        __syncthreads();
        if (lane < 16u) {
          const auto from_count_2 = lane * 16u + 4104u;
          auto sum_2 = 0u;
          for (auto i_3 = 0u; i_3 < 16u; i_3 += 1u) {
            sum_2 = sum_2 + pool[i_3 + from_count_2];
          }
          pool[lane + 4360u] = sum_2;
        }
        __syncthreads();
        auto found_digit = 0u;
        auto found = 0u;
        for (auto down = 0u; down < 16u; down += 1u) {
          const auto value_2 = 15u - down;
          const auto count = pool[value_2 + 4360u];
          if (found == 0u) {
            const auto is_here = (count < rest ? 0u : 1u);
            found_digit = (is_here == 1u ? value_2 : found_digit);
            found = (is_here == 1u ? 1u : found);
            exact = (is_here == 1u && count == rest ? 1u : exact);
            rest = (is_here == 1u ? rest : rest - count);
          }
        }
        known = known | (found_digit << shift);
      }
    }
    const auto least = (exact == 1u ? known - 1u : known);
    const auto ties = (exact == 1u ? 0u : rest);
    auto own_count = 0.0f;
    auto own_count_2 = 0.0f;
    const auto last_keys_2 = ((seen - 1u) / 8u) * 8u;
    for (auto i_4 = 0u; i_4 < each; i_4 += 8u) {
      const auto position_10 = i_4 + first_key;
      const auto from_key_2 = min(position_10, last_keys_2) + keys_at;
      const auto key_3 = *(const uint4*)&b4[from_key_2];
      const auto key_4 = *(const uint4*)&(b4 + (from_key_2))[4u];
      const auto exists_9 = position_10 < seen;
      own_count = own_count + (exists_9 && key_3.x > least ? 1.0f : 0.0f);
      own_count_2 = own_count_2 + (exists_9 && key_3.x == least ? 1.0f : 0.0f);
      const auto position_11 = position_10 + 1u;
      const auto exists_10 = position_11 < seen;
      own_count = own_count + (exists_10 && key_3.y > least ? 1.0f : 0.0f);
      own_count_2 = own_count_2 + (exists_10 && key_3.y == least ? 1.0f : 0.0f);
      const auto position_12 = position_10 + 2u;
      const auto exists_11 = position_12 < seen;
      own_count = own_count + (exists_11 && key_3.z > least ? 1.0f : 0.0f);
      own_count_2 = own_count_2 + (exists_11 && key_3.z == least ? 1.0f : 0.0f);
      const auto position_13 = position_10 + 3u;
      const auto exists_12 = position_13 < seen;
      own_count = own_count + (exists_12 && key_3.w > least ? 1.0f : 0.0f);
      own_count_2 = own_count_2 + (exists_12 && key_3.w == least ? 1.0f : 0.0f);
      const auto position_14 = position_10 + 4u;
      const auto exists_13 = position_14 < seen;
      own_count = own_count + (exists_13 && key_4.x > least ? 1.0f : 0.0f);
      own_count_2 = own_count_2 + (exists_13 && key_4.x == least ? 1.0f : 0.0f);
      const auto position_15 = position_10 + 5u;
      const auto exists_14 = position_15 < seen;
      own_count = own_count + (exists_14 && key_4.y > least ? 1.0f : 0.0f);
      own_count_2 = own_count_2 + (exists_14 && key_4.y == least ? 1.0f : 0.0f);
      const auto position_16 = position_10 + 6u;
      const auto exists_15 = position_16 < seen;
      own_count = own_count + (exists_15 && key_4.z > least ? 1.0f : 0.0f);
      own_count_2 = own_count_2 + (exists_15 && key_4.z == least ? 1.0f : 0.0f);
      const auto position_17 = position_10 + 7u;
      const auto exists_16 = position_17 < seen;
      own_count = own_count + (exists_16 && key_4.w > least ? 1.0f : 0.0f);
      own_count_2 = own_count_2 + (exists_16 && key_4.w == least ? 1.0f : 0.0f);
    }
    const auto other = __shfl_xor_sync(warp, own_count, 1u);
    const auto before = 0.0f + ((lane & 1u) > 0u ? other : 0.0f);
    const auto both = own_count + other;
    const auto other_2 = __shfl_xor_sync(warp, both, 2u);
    const auto before_2 = before + ((lane & 2u) > 0u ? other_2 : 0.0f);
    const auto both_2 = both + other_2;
    const auto other_3 = __shfl_xor_sync(warp, both_2, 4u);
    const auto before_3 = before_2 + ((lane & 4u) > 0u ? other_3 : 0.0f);
    const auto both_3 = both_2 + other_3;
    const auto other_4 = __shfl_xor_sync(warp, both_3, 8u);
    const auto before_4 = before_3 + ((lane & 8u) > 0u ? other_4 : 0.0f);
    const auto both_4 = both_3 + other_4;
    const auto other_5 = __shfl_xor_sync(warp, both_4, 16u);
    const auto before_5 = before_4 + ((lane & 16u) > 0u ? other_5 : 0.0f);
    const auto both_5 = both_4 + other_5;
    if ((lane % 32u) == 0u) {
      pool[(lane / 32u) + 4376u] = __float_as_uint(both_5);
    }
    __syncthreads();
    auto total = before_5;
    for (auto l = 0u; l < 8u; l += 1u) {
      total = total + (l < (lane / 32u) ? __uint_as_float(pool[l + 4376u]) : 0.0f);
    }
    const auto other_6 = __shfl_xor_sync(warp, own_count_2, 1u);
    const auto before_6 = 0.0f + ((lane & 1u) > 0u ? other_6 : 0.0f);
    const auto both_6 = own_count_2 + other_6;
    const auto other_7 = __shfl_xor_sync(warp, both_6, 2u);
    const auto before_7 = before_6 + ((lane & 2u) > 0u ? other_7 : 0.0f);
    const auto both_7 = both_6 + other_7;
    const auto other_8 = __shfl_xor_sync(warp, both_7, 4u);
    const auto before_8 = before_7 + ((lane & 4u) > 0u ? other_8 : 0.0f);
    const auto both_8 = both_7 + other_8;
    const auto other_9 = __shfl_xor_sync(warp, both_8, 8u);
    const auto before_9 = before_8 + ((lane & 8u) > 0u ? other_9 : 0.0f);
    const auto both_9 = both_8 + other_9;
    const auto other_10 = __shfl_xor_sync(warp, both_9, 16u);
    const auto before_10 = before_9 + ((lane & 16u) > 0u ? other_10 : 0.0f);
    const auto both_10 = both_9 + other_10;
    if ((lane % 32u) == 0u) {
      pool[(lane / 32u) + 4384u] = __float_as_uint(both_10);
    }
    __syncthreads();
    auto total_2 = before_10;
    for (auto l_2 = 0u; l_2 < 8u; l_2 += 1u) {
      total_2 = total_2 + (l_2 < (lane / 32u) ? __uint_as_float(pool[l_2 + 4384u]) : 0.0f);
    }
    auto rank = __float2uint_rz(total_2);
    auto place = __float2uint_rz(total) + min(rank, ties);
    const auto last_keys_3 = ((seen - 1u) / 8u) * 8u;
    for (auto i_5 = 0u; i_5 < each; i_5 += 8u) {
      const auto position_18 = i_5 + first_key;
      const auto from_key_3 = min(position_18, last_keys_3) + keys_at;
      const auto key_5 = *(const uint4*)&b4[from_key_3];
      const auto key_6 = *(const uint4*)&(b4 + (from_key_3))[4u];
      const auto exists_17 = position_18 < seen;
      if (exists_17 && ((key_5.x > least) || (key_5.x == least && rank < ties))) {
        pool[place] = __float_as_uint((float)(position_18));
        place = place + 1u;
      }
      rank = (exists_17 && key_5.x == least ? rank + 1u : rank);
      const auto position_19 = position_18 + 1u;
      const auto exists_18 = position_19 < seen;
      if (exists_18 && ((key_5.y > least) || (key_5.y == least && rank < ties))) {
        pool[place] = __float_as_uint((float)(position_19));
        place = place + 1u;
      }
      rank = (exists_18 && key_5.y == least ? rank + 1u : rank);
      const auto position_20 = position_18 + 2u;
      const auto exists_19 = position_20 < seen;
      if (exists_19 && ((key_5.z > least) || (key_5.z == least && rank < ties))) {
        pool[place] = __float_as_uint((float)(position_20));
        place = place + 1u;
      }
      rank = (exists_19 && key_5.z == least ? rank + 1u : rank);
      const auto position_21 = position_18 + 3u;
      const auto exists_20 = position_21 < seen;
      if (exists_20 && ((key_5.w > least) || (key_5.w == least && rank < ties))) {
        pool[place] = __float_as_uint((float)(position_21));
        place = place + 1u;
      }
      rank = (exists_20 && key_5.w == least ? rank + 1u : rank);
      const auto position_22 = position_18 + 4u;
      const auto exists_21 = position_22 < seen;
      if (exists_21 && ((key_6.x > least) || (key_6.x == least && rank < ties))) {
        pool[place] = __float_as_uint((float)(position_22));
        place = place + 1u;
      }
      rank = (exists_21 && key_6.x == least ? rank + 1u : rank);
      const auto position_23 = position_18 + 5u;
      const auto exists_22 = position_23 < seen;
      if (exists_22 && ((key_6.y > least) || (key_6.y == least && rank < ties))) {
        pool[place] = __float_as_uint((float)(position_23));
        place = place + 1u;
      }
      rank = (exists_22 && key_6.y == least ? rank + 1u : rank);
      const auto position_24 = position_18 + 6u;
      const auto exists_23 = position_24 < seen;
      if (exists_23 && ((key_6.z > least) || (key_6.z == least && rank < ties))) {
        pool[place] = __float_as_uint((float)(position_24));
        place = place + 1u;
      }
      rank = (exists_23 && key_6.z == least ? rank + 1u : rank);
      const auto position_25 = position_18 + 7u;
      const auto exists_24 = position_25 < seen;
      if (exists_24 && ((key_6.w > least) || (key_6.w == least && rank < ties))) {
        pool[place] = __float_as_uint((float)(position_25));
        place = place + 1u;
      }
      rank = (exists_24 && key_6.w == least ? rank + 1u : rank);
    }
  }
  if (seen < 7u) {
    if (lane < 6u) {
      pool[lane] = __float_as_uint((lane < seen ? (float)(lane) : -1.0f));
    }
  }
  __syncthreads();
  if (lane < 6u) {
    const auto v = __uint_as_float(pool[lane]);
    b3[p6 + (own_group * 6u + lane)] = (unsigned int)(__float2int_rz(v));
  }
}

