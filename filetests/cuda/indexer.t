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
// indexer_4x32_6: lanes 256; indexer.units upcast 2 chunk 128 spread
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

extern "C" __global__ void __launch_bounds__(256) weft_indexer_4x32_6(
  const Args args,
  const Sizes sizes,
  const unsigned int* b0,
  const unsigned int* b1,
  const unsigned int* b2,
  unsigned int* b3,
  unsigned int* b4
) {
  __shared__ __align__(16) unsigned int pool[544];
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
  // part 0: indexer [T] × 6; indexer.units upcast 2 chunk 128 spread; scores
  const auto own_group = blockIdx.x;
  wait_for_previous();
  launch_next();
  const auto last_page = max(min(n5, sizes.words[3]), 1u) - 1u;
  const auto last_position = last_page * 16u + 15u;
  const auto last_row = max(min(n2 / 32u, n2 / 32u), 1u) - 1u;
  const auto position = b2[p3];
  const auto seen = min(position, last_position) + 1u;
  const auto pages_at = b2[p4];
  const auto chunk_start = own_group * 128u;
  const auto keys_at = chunk_start + 256u;
  if (seen > 6u && chunk_start < seen) {
    const auto g = (lane % 32u) / 4u;
    const auto t = lane % 4u;
    if (lane < 128u) {
      const auto row = lane / 8u;
      const auto s = lane % 8u;
      const auto query = min(row, 3u) * 32u;
      auto largest = 0u;
      const auto q = (row < 4u ? __uint_as_float(b0[p0 + (query + s * 4u)]) : 0.0f);
      largest = max(largest, __float_as_uint(q) & 0x7fffffffu);
      const auto q_2 = (row < 4u ? __uint_as_float((b0 + (p0 + (query + s * 4u)))[1u]) : 0.0f);
      largest = max(largest, __float_as_uint(q_2) & 0x7fffffffu);
      const auto q_3 = (row < 4u ? __uint_as_float((b0 + (p0 + (query + s * 4u)))[2u]) : 0.0f);
      largest = max(largest, __float_as_uint(q_3) & 0x7fffffffu);
      const auto q_4 = (row < 4u ? __uint_as_float((b0 + (p0 + (query + s * 4u)))[3u]) : 0.0f);
      largest = max(largest, __float_as_uint(q_4) & 0x7fffffffu);
      const auto other = __shfl_xor_sync(warp, largest, 1u);
      const auto both = max(largest, other);
      const auto other_2 = __shfl_xor_sync(warp, both, 2u);
      const auto both_2 = max(both, other_2);
      const auto other_3 = __shfl_xor_sync(warp, both_2, 4u);
      const auto both_3 = max(both_2, other_3);
      const auto exponent = min(max(both_3 & 0x7f800000u, 0x800000u), 0x7e800000u);
      const auto shrink = __uint_as_float(0x7f000000u - exponent);
      const auto to = row * 16u + s * 2u;
      const auto x = q * shrink;
      const auto x_2 = q_2 * shrink;
      const auto halves = pack_halves(x, x_2);
      pool[to + 32u] = halves;
      pool[to + 288u] = pack_halves(x - half_to_float(halves & 65535u), x_2 - half_to_float(halves >> 16u));
      const auto x_3 = q_3 * shrink;
      const auto x_4 = q_4 * shrink;
      const auto halves_2 = pack_halves(x_3, x_4);
      pool[to + 33u] = halves_2;
      pool[to + 289u] = pack_halves(x_3 - half_to_float(halves_2 & 65535u), x_4 - half_to_float(halves_2 >> 16u));
      if (s == 0u) {
        pool[row] = __float_as_uint((row < 4u ? __uint_as_float(b0[p1 + min(row, 3u)]) : 0.0f));
        pool[row + 16u] = exponent;
      }
    }
    __syncthreads();
    const auto chunk_end = min(chunk_start + 128u, seen);
    const auto first_place = (lane / 32u) * 16u;
    const auto p = min(chunk_start + first_place + g, chunk_end - 1u);
    const auto key_at = p2 + (min(b2[p5 + min(pages_at + (p / 16u), last_page)] * 16u + (p % 16u), last_row) * 16u + t * 4u);
    auto total = 0.0f;
    auto total_2 = 0.0f;
    const auto b = first_place + 8u;
    const auto p_2 = min(chunk_start + b + g, chunk_end - 1u);
    const auto key_at_2 = p2 + (min(b2[p5 + min(pages_at + (p_2 / 16u), last_page)] * 16u + (p_2 % 16u), last_row) * 16u + t * 4u);
    auto total_3 = 0.0f;
    auto total_4 = 0.0f;
    auto sum = 0.0f;
    auto sum_2 = 0.0f;
    auto sum_3 = 0.0f;
    auto sum_4 = 0.0f;
    auto sum_5 = 0.0f;
    auto sum_6 = 0.0f;
    auto sum_7 = 0.0f;
    auto sum_8 = 0.0f;
    const auto key = *(const uint4*)&b1[key_at];
    const auto key_2 = *(const uint4*)&b1[key_at_2];
    const auto query_at = g * 16u + t * 4u;
    const auto q_5 = *(const uint4*)&pool[query_at + 32u];
    const auto q_6 = *(const uint4*)&pool[query_at + 160u];
    multiply_halves(sum, sum_2, sum_3, sum_4, q_5.x, q_6.x, q_5.y, q_6.y, key.x, key.y);
    multiply_halves(sum_5, sum_6, sum_7, sum_8, q_5.x, q_6.x, q_5.y, q_6.y, key_2.x, key_2.y);
    multiply_halves(sum, sum_2, sum_3, sum_4, q_5.z, q_6.z, q_5.w, q_6.w, key.z, key.w);
    multiply_halves(sum_5, sum_6, sum_7, sum_8, q_5.z, q_6.z, q_5.w, q_6.w, key_2.z, key_2.w);
    const auto q_7 = *(const uint4*)&pool[query_at + 288u];
    const auto q_8 = *(const uint4*)&pool[query_at + 416u];
    multiply_halves(sum, sum_2, sum_3, sum_4, q_7.x, q_8.x, q_7.y, q_8.y, key.x, key.y);
    multiply_halves(sum_5, sum_6, sum_7, sum_8, q_7.x, q_8.x, q_7.y, q_8.y, key_2.x, key_2.y);
    multiply_halves(sum, sum_2, sum_3, sum_4, q_7.z, q_8.z, q_7.w, q_8.w, key.z, key.w);
    multiply_halves(sum_5, sum_6, sum_7, sum_8, q_7.z, q_8.z, q_7.w, q_8.w, key_2.z, key_2.w);
    const auto weight = __uint_as_float(pool[g]);
    const auto factor = __uint_as_float(pool[g + 16u]);
    total = total + weight * max(sum * factor, 0.0f);
    total_2 = total_2 + weight * max(sum_2 * factor, 0.0f);
    total_3 = total_3 + weight * max(sum_5 * factor, 0.0f);
    total_4 = total_4 + weight * max(sum_6 * factor, 0.0f);
    const auto head = g + 8u;
    const auto weight_2 = __uint_as_float(pool[head]);
    const auto factor_2 = __uint_as_float(pool[head + 16u]);
    total = total + weight_2 * max(sum_3 * factor_2, 0.0f);
    total_2 = total_2 + weight_2 * max(sum_4 * factor_2, 0.0f);
    total_3 = total_3 + weight_2 * max(sum_7 * factor_2, 0.0f);
    total_4 = total_4 + weight_2 * max(sum_8 * factor_2, 0.0f);
    const auto other_4 = __shfl_xor_sync(warp, total, 4u);
    const auto score = total + other_4;
    const auto other_5 = __shfl_xor_sync(warp, score, 8u);
    const auto score_2 = score + other_5;
    const auto other_6 = __shfl_xor_sync(warp, score_2, 16u);
    const auto score_3 = score_2 + other_6;
    const auto other_7 = __shfl_xor_sync(warp, total_2, 4u);
    const auto score_4 = total_2 + other_7;
    const auto other_8 = __shfl_xor_sync(warp, score_4, 8u);
    const auto score_5 = score_4 + other_8;
    const auto other_9 = __shfl_xor_sync(warp, score_5, 16u);
    const auto score_6 = score_5 + other_9;
    const auto other_10 = __shfl_xor_sync(warp, total_3, 4u);
    const auto score_7 = total_3 + other_10;
    const auto other_11 = __shfl_xor_sync(warp, score_7, 8u);
    const auto score_8 = score_7 + other_11;
    const auto other_12 = __shfl_xor_sync(warp, score_8, 16u);
    const auto score_9 = score_8 + other_12;
    const auto other_13 = __shfl_xor_sync(warp, total_4, 4u);
    const auto score_10 = total_4 + other_13;
    const auto other_14 = __shfl_xor_sync(warp, score_10, 8u);
    const auto score_11 = score_10 + other_14;
    const auto other_15 = __shfl_xor_sync(warp, score_11, 16u);
    const auto score_12 = score_11 + other_15;
    if (g == 0u && chunk_start + (first_place + t * 2u) < chunk_end) {
      const auto bits = __float_as_uint(score_3);
      const auto bits_2 = ((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits);
      b4[keys_at + (first_place + t * 2u)] = (bits_2 > 0x7fffffffu ? bits_2 ^ 0xffffffffu : bits_2 | 0x80000000u);
    }
    if (g == 0u && chunk_start + (first_place + t * 2u) + 1u < chunk_end) {
      const auto bits_3 = __float_as_uint(score_6);
      const auto bits_4 = ((bits_3 & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits_3);
      b4[keys_at + (first_place + t * 2u) + 1u] = (bits_4 > 0x7fffffffu ? bits_4 ^ 0xffffffffu : bits_4 | 0x80000000u);
    }
    if (g == 0u && chunk_start + (b + t * 2u) < chunk_end) {
      const auto bits_5 = __float_as_uint(score_9);
      const auto bits_6 = ((bits_5 & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits_5);
      b4[keys_at + (b + t * 2u)] = (bits_6 > 0x7fffffffu ? bits_6 ^ 0xffffffffu : bits_6 | 0x80000000u);
    }
    if (g == 0u && chunk_start + (b + t * 2u) + 1u < chunk_end) {
      const auto bits_7 = __float_as_uint(score_12);
      const auto bits_8 = ((bits_7 & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits_7);
      b4[keys_at + (b + t * 2u) + 1u] = (bits_8 > 0x7fffffffu ? bits_8 ^ 0xffffffffu : bits_8 | 0x80000000u);
    }
  }
}

// indexer_4x32_6: lanes 256; indexer.units upcast 2 chunk 128 spread
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
  __shared__ __align__(16) unsigned int pool[152];
  const unsigned int lane = threadIdx.x;
  const unsigned int warp = 0xffffffffu;
  const auto p3 = args.words[6];
  const auto p4 = args.words[8];
  const auto p6 = args.words[12];
  const auto n2 = args.words[5];
  const auto n5 = args.words[11];
  // part 0: indexer [T] × 6; indexer.units upcast 2 chunk 128 spread; chosen
  const auto own_group = blockIdx.x;
  wait_for_previous();
  launch_next();
  const auto last_page = max(min(n5, sizes.words[3]), 1u) - 1u;
  const auto last_position = last_page * 16u + 15u;
  const auto last_row = max(min(n2 / 32u, n2 / 32u), 1u) - 1u;
  const auto position = b2[p3 + own_group];
  const auto seen = min(position, last_position) + 1u;
  const auto pages_at = b2[p4 + own_group];
  const auto own_keys = own_group * 2048u + 256u;
  if (seen > 6u) {
    const auto each = ((seen + 2047u) / 2048u) * 8u;
    auto held = 0u;
    auto held_2 = 0u;
    auto held_3 = 0u;
    auto held_4 = 0u;
    auto held_5 = 0u;
    auto held_6 = 0u;
    auto held_7 = 0u;
    auto held_8 = 0u;
    const auto first_held = lane * each;
    const auto each_2 = ((seen + 2047u) / 2048u) * 8u;
    const auto first_key = lane * each_2;
    if (each > 0u) {
      const auto from_key = min(first_held, ((seen - 1u) / 8u) * 8u) + own_keys;
      const auto key = *(const uint4*)&b4[from_key];
      const auto key_2 = *(const uint4*)&(b4 + (from_key))[4u];
      const auto key_3 = (first_held < seen ? key.x : 0u);
      const auto key_4 = (first_held + 1u < seen ? key.y : 0u);
      const auto key_5 = (first_held + 2u < seen ? key.z : 0u);
      const auto key_6 = (first_held + 3u < seen ? key.w : 0u);
      const auto key_7 = (first_held + 4u < seen ? key_2.x : 0u);
      const auto key_8 = (first_held + 5u < seen ? key_2.y : 0u);
      const auto key_9 = (first_held + 6u < seen ? key_2.z : 0u);
      const auto key_10 = (first_held + 7u < seen ? key_2.w : 0u);
      held = key_3;
      held_2 = key_4;
      held_3 = key_5;
      held_4 = key_6;
      held_5 = key_7;
      held_6 = key_8;
      held_7 = key_9;
      held_8 = key_10;
    }
    auto known = 0u;
    auto rest = 6u;
    auto exact = 0u;
    for (auto round = 0u; round < 11u; round += 1u) {
      const auto shift = (10u - round) * 3u;
      const auto goes_on = exact;
      if (goes_on == 0u) {
        auto count = 0u;
        auto count_2 = 0u;
        auto count_3 = 0u;
        auto count_4 = 0u;
        auto count_5 = 0u;
        auto count_6 = 0u;
        auto count_7 = 0u;
        auto count_8 = 0u;
        auto bytes = 0u;
        auto bytes_2 = 0u;
        if (each > 0u) {
          const auto digit = (held ^ known) >> shift;
          const auto one = 1u << ((digit & 3u) * 8u);
          bytes = bytes + ((digit >> 2u) == 0u ? one : 0u);
          bytes_2 = bytes_2 + ((digit >> 2u) == 1u ? one : 0u);
          const auto digit_2 = (held_2 ^ known) >> shift;
          const auto one_2 = 1u << ((digit_2 & 3u) * 8u);
          bytes = bytes + ((digit_2 >> 2u) == 0u ? one_2 : 0u);
          bytes_2 = bytes_2 + ((digit_2 >> 2u) == 1u ? one_2 : 0u);
          const auto digit_3 = (held_3 ^ known) >> shift;
          const auto one_3 = 1u << ((digit_3 & 3u) * 8u);
          bytes = bytes + ((digit_3 >> 2u) == 0u ? one_3 : 0u);
          bytes_2 = bytes_2 + ((digit_3 >> 2u) == 1u ? one_3 : 0u);
          const auto digit_4 = (held_4 ^ known) >> shift;
          const auto one_4 = 1u << ((digit_4 & 3u) * 8u);
          bytes = bytes + ((digit_4 >> 2u) == 0u ? one_4 : 0u);
          bytes_2 = bytes_2 + ((digit_4 >> 2u) == 1u ? one_4 : 0u);
          const auto digit_5 = (held_5 ^ known) >> shift;
          const auto one_5 = 1u << ((digit_5 & 3u) * 8u);
          bytes = bytes + ((digit_5 >> 2u) == 0u ? one_5 : 0u);
          bytes_2 = bytes_2 + ((digit_5 >> 2u) == 1u ? one_5 : 0u);
          const auto digit_6 = (held_6 ^ known) >> shift;
          const auto one_6 = 1u << ((digit_6 & 3u) * 8u);
          bytes = bytes + ((digit_6 >> 2u) == 0u ? one_6 : 0u);
          bytes_2 = bytes_2 + ((digit_6 >> 2u) == 1u ? one_6 : 0u);
          const auto digit_7 = (held_7 ^ known) >> shift;
          const auto one_7 = 1u << ((digit_7 & 3u) * 8u);
          bytes = bytes + ((digit_7 >> 2u) == 0u ? one_7 : 0u);
          bytes_2 = bytes_2 + ((digit_7 >> 2u) == 1u ? one_7 : 0u);
          const auto digit_8 = (held_8 ^ known) >> shift;
          const auto one_8 = 1u << ((digit_8 & 3u) * 8u);
          bytes = bytes + ((digit_8 >> 2u) == 0u ? one_8 : 0u);
          bytes_2 = bytes_2 + ((digit_8 >> 2u) == 1u ? one_8 : 0u);
        }
        count = count + (bytes & 255u);
        count_2 = count_2 + ((bytes >> 8u) & 255u);
        count_3 = count_3 + ((bytes >> 16u) & 255u);
        count_4 = count_4 + ((bytes >> 24u) & 255u);
        count_5 = count_5 + (bytes_2 & 255u);
        count_6 = count_6 + ((bytes_2 >> 8u) & 255u);
        count_7 = count_7 + ((bytes_2 >> 16u) & 255u);
        count_8 = count_8 + ((bytes_2 >> 24u) & 255u);
        const auto sent = ((lane & 1u) > 0u ? count : count_5);
        const auto sent_2 = ((lane & 1u) > 0u ? count_2 : count_6);
        const auto sent_3 = ((lane & 1u) > 0u ? count_3 : count_7);
        const auto sent_4 = ((lane & 1u) > 0u ? count_4 : count_8);
        const auto other = __shfl_xor_sync(warp, sent, 1u);
        const auto other_2 = __shfl_xor_sync(warp, sent_2, 1u);
        const auto other_3 = __shfl_xor_sync(warp, sent_3, 1u);
        const auto other_4 = __shfl_xor_sync(warp, sent_4, 1u);
        const auto both = ((lane & 1u) > 0u ? count_5 : count) + other;
        const auto both_2 = ((lane & 1u) > 0u ? count_6 : count_2) + other_2;
        const auto both_3 = ((lane & 1u) > 0u ? count_7 : count_3) + other_3;
        const auto both_4 = ((lane & 1u) > 0u ? count_8 : count_4) + other_4;
        const auto sent_5 = ((lane & 2u) > 0u ? both : both_3);
        const auto sent_6 = ((lane & 2u) > 0u ? both_2 : both_4);
        const auto other_5 = __shfl_xor_sync(warp, sent_5, 2u);
        const auto other_6 = __shfl_xor_sync(warp, sent_6, 2u);
        const auto both_5 = ((lane & 2u) > 0u ? both_3 : both) + other_5;
        const auto both_6 = ((lane & 2u) > 0u ? both_4 : both_2) + other_6;
        const auto sent_7 = ((lane & 4u) > 0u ? both_5 : both_6);
        const auto other_7 = __shfl_xor_sync(warp, sent_7, 4u);
        const auto both_7 = ((lane & 4u) > 0u ? both_6 : both_5) + other_7;
        const auto other_8 = __shfl_xor_sync(warp, both_7, 8u);
        const auto both_8 = both_7 + other_8;
        const auto other_9 = __shfl_xor_sync(warp, both_8, 16u);
        const auto both_9 = both_8 + other_9;
        const auto first_value = (lane & 1u) * 4u + ((lane / 2u) & 1u) * 2u + ((lane / 4u) & 1u);
        const auto counts = (round & 1u) * 64u + 8u;
        if ((lane % 32u) < 8u) {
          const auto to = (lane / 32u) * 8u + first_value + counts;
          pool[to] = both_9;
        }
        __syncthreads();
        auto all = 0u;
        auto all_2 = 0u;
        auto all_3 = 0u;
        auto all_4 = 0u;
        auto all_5 = 0u;
        auto all_6 = 0u;
        auto all_7 = 0u;
        auto all_8 = 0u;
        for (auto group = 0u; group < 8u; group += 1u) {
          const auto theirs = *(const uint4*)&pool[group * 8u + counts];
          const auto theirs_2 = *(const uint4*)&pool[group * 8u + counts + 4u];
          all = all + theirs.x;
          all_2 = all_2 + theirs.y;
          all_3 = all_3 + theirs.z;
          all_4 = all_4 + theirs.w;
          all_5 = all_5 + theirs_2.x;
          all_6 = all_6 + theirs_2.y;
          all_7 = all_7 + theirs_2.z;
          all_8 = all_8 + theirs_2.w;
        }
        const auto above = (all_8 < rest ? all_8 : 0u);
        const auto upto = min(0xffffffffu, (all_8 < rest ? 0xffffffffu : all_8));
        const auto found_digit = (all_8 < rest ? 0u : 1u);
        const auto from_here = all_8 + all_7;
        const auto above_2 = (from_here < rest ? from_here : above);
        const auto upto_2 = min(upto, (from_here < rest ? 0xffffffffu : from_here));
        const auto found_digit_2 = found_digit + (from_here < rest ? 0u : 1u);
        const auto from_here_2 = from_here + all_6;
        const auto above_3 = (from_here_2 < rest ? from_here_2 : above_2);
        const auto upto_3 = min(upto_2, (from_here_2 < rest ? 0xffffffffu : from_here_2));
        const auto found_digit_3 = found_digit_2 + (from_here_2 < rest ? 0u : 1u);
        const auto from_here_3 = from_here_2 + all_5;
        const auto above_4 = (from_here_3 < rest ? from_here_3 : above_3);
        const auto upto_4 = min(upto_3, (from_here_3 < rest ? 0xffffffffu : from_here_3));
        const auto found_digit_4 = found_digit_3 + (from_here_3 < rest ? 0u : 1u);
        const auto from_here_4 = from_here_3 + all_4;
        const auto above_5 = (from_here_4 < rest ? from_here_4 : above_4);
        const auto upto_5 = min(upto_4, (from_here_4 < rest ? 0xffffffffu : from_here_4));
        const auto found_digit_5 = found_digit_4 + (from_here_4 < rest ? 0u : 1u);
        const auto from_here_5 = from_here_4 + all_3;
        const auto above_6 = (from_here_5 < rest ? from_here_5 : above_5);
        const auto upto_6 = min(upto_5, (from_here_5 < rest ? 0xffffffffu : from_here_5));
        const auto found_digit_6 = found_digit_5 + (from_here_5 < rest ? 0u : 1u);
        const auto from_here_6 = from_here_5 + all_2;
        const auto above_7 = (from_here_6 < rest ? from_here_6 : above_6);
        const auto upto_7 = min(upto_6, (from_here_6 < rest ? 0xffffffffu : from_here_6));
        const auto found_digit_7 = found_digit_6 + (from_here_6 < rest ? 0u : 1u);
        const auto from_here_7 = from_here_6 + all;
        const auto above_8 = (from_here_7 < rest ? from_here_7 : above_7);
        const auto upto_8 = min(upto_7, (from_here_7 < rest ? 0xffffffffu : from_here_7));
        exact = (upto_8 == rest ? 1u : exact);
        known = known | (found_digit_7 << shift);
        rest = rest - above_8;
      }
    }
    const auto least = (exact == 1u ? known - 1u : known);
    const auto ties = (exact == 1u ? 0u : rest);
    auto own_count = 0.0f;
    auto own_count_2 = 0.0f;
    if (each > 0u) {
      own_count = own_count + (held > least ? 1.0f : 0.0f);
      own_count_2 = own_count_2 + (held == least ? 1.0f : 0.0f);
      own_count = own_count + (held_2 > least ? 1.0f : 0.0f);
      own_count_2 = own_count_2 + (held_2 == least ? 1.0f : 0.0f);
      own_count = own_count + (held_3 > least ? 1.0f : 0.0f);
      own_count_2 = own_count_2 + (held_3 == least ? 1.0f : 0.0f);
      own_count = own_count + (held_4 > least ? 1.0f : 0.0f);
      own_count_2 = own_count_2 + (held_4 == least ? 1.0f : 0.0f);
      own_count = own_count + (held_5 > least ? 1.0f : 0.0f);
      own_count_2 = own_count_2 + (held_5 == least ? 1.0f : 0.0f);
      own_count = own_count + (held_6 > least ? 1.0f : 0.0f);
      own_count_2 = own_count_2 + (held_6 == least ? 1.0f : 0.0f);
      own_count = own_count + (held_7 > least ? 1.0f : 0.0f);
      own_count_2 = own_count_2 + (held_7 == least ? 1.0f : 0.0f);
      own_count = own_count + (held_8 > least ? 1.0f : 0.0f);
      own_count_2 = own_count_2 + (held_8 == least ? 1.0f : 0.0f);
    }
    const auto other_10 = __shfl_xor_sync(warp, own_count, 1u);
    const auto before = 0.0f + ((lane & 1u) > 0u ? other_10 : 0.0f);
    const auto both_10 = own_count + other_10;
    const auto other_11 = __shfl_xor_sync(warp, both_10, 2u);
    const auto before_2 = before + ((lane & 2u) > 0u ? other_11 : 0.0f);
    const auto both_11 = both_10 + other_11;
    const auto other_12 = __shfl_xor_sync(warp, both_11, 4u);
    const auto before_3 = before_2 + ((lane & 4u) > 0u ? other_12 : 0.0f);
    const auto both_12 = both_11 + other_12;
    const auto other_13 = __shfl_xor_sync(warp, both_12, 8u);
    const auto before_4 = before_3 + ((lane & 8u) > 0u ? other_13 : 0.0f);
    const auto both_13 = both_12 + other_13;
    const auto other_14 = __shfl_xor_sync(warp, both_13, 16u);
    const auto before_5 = before_4 + ((lane & 16u) > 0u ? other_14 : 0.0f);
    const auto both_14 = both_13 + other_14;
    if ((lane % 32u) == 0u) {
      pool[(lane / 32u) + 136u] = __float_as_uint(both_14);
    }
    __syncthreads();
    auto total = before_5;
    for (auto l = 0u; l < 8u; l += 1u) {
      total = total + (l < (lane / 32u) ? __uint_as_float(pool[l + 136u]) : 0.0f);
    }
    const auto other_15 = __shfl_xor_sync(warp, own_count_2, 1u);
    const auto before_6 = 0.0f + ((lane & 1u) > 0u ? other_15 : 0.0f);
    const auto both_15 = own_count_2 + other_15;
    const auto other_16 = __shfl_xor_sync(warp, both_15, 2u);
    const auto before_7 = before_6 + ((lane & 2u) > 0u ? other_16 : 0.0f);
    const auto both_16 = both_15 + other_16;
    const auto other_17 = __shfl_xor_sync(warp, both_16, 4u);
    const auto before_8 = before_7 + ((lane & 4u) > 0u ? other_17 : 0.0f);
    const auto both_17 = both_16 + other_17;
    const auto other_18 = __shfl_xor_sync(warp, both_17, 8u);
    const auto before_9 = before_8 + ((lane & 8u) > 0u ? other_18 : 0.0f);
    const auto both_18 = both_17 + other_18;
    const auto other_19 = __shfl_xor_sync(warp, both_18, 16u);
    const auto before_10 = before_9 + ((lane & 16u) > 0u ? other_19 : 0.0f);
    const auto both_19 = both_18 + other_19;
    if ((lane % 32u) == 0u) {
      pool[(lane / 32u) + 144u] = __float_as_uint(both_19);
    }
    __syncthreads();
    auto total_2 = before_10;
    for (auto l_2 = 0u; l_2 < 8u; l_2 += 1u) {
      total_2 = total_2 + (l_2 < (lane / 32u) ? __uint_as_float(pool[l_2 + 144u]) : 0.0f);
    }
    auto rank = __float2uint_rz(total_2);
    auto place = __float2uint_rz(total) + min(rank, ties);
    if (each > 0u) {
      if ((held > least) || (held == least && rank < ties)) {
        pool[place] = __float_as_uint((float)(first_held));
        place = place + 1u;
      }
      rank = (held == least ? rank + 1u : rank);
      if ((held_2 > least) || (held_2 == least && rank < ties)) {
        pool[place] = __float_as_uint((float)(first_held + 1u));
        place = place + 1u;
      }
      rank = (held_2 == least ? rank + 1u : rank);
      if ((held_3 > least) || (held_3 == least && rank < ties)) {
        pool[place] = __float_as_uint((float)(first_held + 2u));
        place = place + 1u;
      }
      rank = (held_3 == least ? rank + 1u : rank);
      if ((held_4 > least) || (held_4 == least && rank < ties)) {
        pool[place] = __float_as_uint((float)(first_held + 3u));
        place = place + 1u;
      }
      rank = (held_4 == least ? rank + 1u : rank);
      if ((held_5 > least) || (held_5 == least && rank < ties)) {
        pool[place] = __float_as_uint((float)(first_held + 4u));
        place = place + 1u;
      }
      rank = (held_5 == least ? rank + 1u : rank);
      if ((held_6 > least) || (held_6 == least && rank < ties)) {
        pool[place] = __float_as_uint((float)(first_held + 5u));
        place = place + 1u;
      }
      rank = (held_6 == least ? rank + 1u : rank);
      if ((held_7 > least) || (held_7 == least && rank < ties)) {
        pool[place] = __float_as_uint((float)(first_held + 6u));
        place = place + 1u;
      }
      rank = (held_7 == least ? rank + 1u : rank);
      if ((held_8 > least) || (held_8 == least && rank < ties)) {
        pool[place] = __float_as_uint((float)(first_held + 7u));
        place = place + 1u;
      }
      rank = (held_8 == least ? rank + 1u : rank);
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

