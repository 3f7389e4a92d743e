test cuda T=32
# Products of experts of few rows each: rows are sorted by expert, and lanes that hold a part of an expert multiply two rows at a time.
graph experts_of_some_tokens {
  %0 = input x : f32[T, 512]
  %1 = input ids : i32[T, 2]
  %2 = weight up : q4_0[16, 64, 512]
  %3 = select_dot %0 %2 %1 : f32[T, 2, 64]
  output y = %3
}
---
// map_512: lanes 256; plain rows 1 width 256
struct Args { unsigned int words[4]; };
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

extern "C" __global__ void __launch_bounds__(256) weft_map_512(
  const Args args,
  const Sizes sizes,
  const unsigned int* b0,
  unsigned int* b1
) {
  __shared__ __align__(16) unsigned int pool[88];
  const unsigned int lane = threadIdx.x;
  const unsigned int warp = 0xffffffffu;
  const auto p0 = args.words[0];
  const auto p1 = args.words[2];
  const auto n1 = args.words[3];
  // part 0: map [T] × 512; plain rows 1 width 256
  const auto own_group = blockIdx.x;
  const auto tiles = sizes.words[0];
  const auto rows_at = own_group % tiles;
  const auto first = (own_group / tiles) * 256u;
  wait_for_previous();
  launch_next();
  const auto word = min(lane, 63u);
  const auto column = first + word * 4u;
  const auto at = rows_at * 512u + column;
  const auto v = __uint_as_float(b0[p0 + at]);
  const auto column_2 = first + word * 4u + 1u;
  const auto at_2 = rows_at * 512u + column_2;
  const auto v_2 = __uint_as_float(b0[p0 + at_2]);
  const auto column_3 = first + word * 4u + 2u;
  const auto at_3 = rows_at * 512u + column_3;
  const auto v_3 = __uint_as_float(b0[p0 + at_3]);
  const auto column_4 = first + word * 4u + 3u;
  const auto at_4 = rows_at * 512u + column_4;
  const auto v_4 = __uint_as_float(b0[p0 + at_4]);
  const auto mine = max(max(max(__float_as_uint(v) & 0x7fffffffu, __float_as_uint(v_2) & 0x7fffffffu), __float_as_uint(v_3) & 0x7fffffffu), __float_as_uint(v_4) & 0x7fffffffu);
  const auto other = __shfl_xor_sync(warp, mine, 1u);
  const auto both = max(mine, other);
  const auto other_2 = __shfl_xor_sync(warp, both, 2u);
  const auto both_2 = max(both, other_2);
  const auto other_3 = __shfl_xor_sync(warp, both_2, 4u);
  const auto both_3 = max(both_2, other_3);
  const auto largest = __uint_as_float(both_3);
  const auto factor = largest * 0.007874016f;
  const auto scale = (both_3 < 0x7f800000u ? __float_as_uint(factor) : 0x7fc00000u);
  const auto inverse = (largest > 1.5046328e-36f && both_3 < 0x7f800000u ? reciprocal(factor) : 0.0f);
  const auto packed = ((unsigned int)(__float2int_rz(min(max(rintf(v * inverse), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_2 * inverse), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_3 * inverse), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_4 * inverse), -127.0f), 127.0f))) & 255u) << 24u);
  const auto mine_2 = __dp4a((int)(packed), (int)(0x1010101u), 0);
  const auto other_4 = __shfl_xor_sync(warp, mine_2, 1u);
  const auto both_4 = mine_2 + other_4;
  const auto other_5 = __shfl_xor_sync(warp, both_4, 2u);
  const auto both_5 = both_4 + other_5;
  if (lane < 64u) {
    pool[lane] = packed;
    if ((lane % 4u) == 0u) {
      pool[(lane / 4u) + 72u] = __float_as_uint((float)(both_5) * __uint_as_float(scale));
    }
    if ((lane % 8u) == 0u) {
      pool[(lane / 8u) + 64u] = scale;
    }
  }
  __syncthreads();
  if (lane < 64u) {
    const auto column_5 = first + lane * 4u;
    b1[p1 + ((rows_at * 512u + column_5) / 4u)] = pool[(lane * 4u) / 4u];
  }
  if (lane < 8u) {
    const auto column_6 = first + lane * 32u;
    b1[p1 + (n1 / 4u) + ((rows_at * 512u + column_6) / 32u)] = pool[((lane * 32u) / 32u) + 64u];
  }
  if (lane < 16u) {
    const auto column_7 = first + lane * 16u;
    b1[p1 + ((n1 / 4u) + (n1 / 32u)) + ((rows_at * 512u + column_7) / 16u)] = pool[((lane * 16u) / 16u) + 72u];
  }
}

// select_dot_64x512_q4_0: lanes 256; dot.few_rows tile 8 rows 16 width 16 reduce 16 upcast 1
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

extern "C" __global__ void __launch_bounds__(256) weft_select_dot_64x512_q4_0(
  const Args args,
  const Sizes sizes,
  const unsigned int* b0,
  const unsigned int* b1,
  const unsigned int* __restrict__ b2,
  unsigned int* b3,
  unsigned int* b4
) {
  __shared__ __align__(16) unsigned int pool[512];
  const unsigned int lane = threadIdx.x;
  const auto p1 = args.words[2];
  // part 0: dot [T, 2] × 64; dot.few_rows tile 8 rows 16 width 16 reduce 16 upcast 1; rows sorted
  const auto own_group = blockIdx.x;
  const auto own = lane % 8u;
  const auto segment = lane / 8u;
  const auto matrix = own_group * 8u + own;
  const auto rows = sizes.words[0] * 2u;
  const auto each = (rows + 31u) / 32u;
  const auto start = min(segment * each, rows);
  const auto to = min(start + each, rows);
  auto below = 0u;
  auto equal = 0u;
  for (auto n = start; n < to; n += 1u) {
    const auto i = n / 2u;
    const auto i_2 = (n % 2u) % 2u;
    const auto index = min(b1[p1 + (i * 2u + i_2)], 15u);
    below = (index < matrix ? below + 1u : below);
    equal = (index == matrix ? equal + 1u : equal);
  }
  pool[lane] = below;
  pool[lane + 256u] = equal;
  __syncthreads();
  auto begin = 0u;
  auto before = 0u;
  auto has = 0u;
  for (auto s = 0u; s < 32u; s += 1u) {
    const auto at = s * 8u + own;
    begin = begin + pool[at];
    const auto here = pool[at + 256u];
    before = (s < segment ? before + here : before);
    has = has + here;
  }
  wait_for_previous();
  launch_next();
  if (matrix < 16u) {
    auto place = begin + before;
    for (auto n_2 = start; n_2 < to; n_2 += 1u) {
      const auto i_3 = n_2 / 2u;
      const auto i_4 = (n_2 % 2u) % 2u;
      const auto index_2 = min(b1[p1 + (i_3 * 2u + i_4)], 15u);
      if (index_2 == matrix) {
        b4[place + 256u] = n_2;
        place = place + 1u;
      }
    }
    const auto end = begin + has;
    const auto first_tile = (begin / 8u) + matrix;
    const auto next = (matrix == 15u ? ((rows + 7u) / 8u) + 16u : (end / 8u) + matrix + 1u);
    for (auto t = first_tile + segment; t < next; t += 32u) {
      const auto start_2 = begin + (t - first_tile) * 8u;
      const auto to_2 = min(start_2 + 8u, end);
      const auto at_2 = t * 3u + 320u;
      b4[at_2] = matrix;
      b4[at_2 + 1u] = start_2;
      b4[at_2 + 2u] = to_2;
    }
  }
}

// select_dot_64x512_q4_0: lanes 256; dot.few_rows tile 8 rows 16 width 16 reduce 16 upcast 1
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

static __device__ __forceinline__ void copy_4(unsigned int* to, const unsigned int* from) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
    :: "r"((unsigned int)__cvta_generic_to_shared(to)), "l"(__cvta_generic_to_global(from)) : "memory");
#else
  *(uint4*)to = *(const uint4*)from;
#endif
}

static __device__ __forceinline__ void end_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
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

static __device__ __forceinline__ void hold_loads() {
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

static __device__ __forceinline__ float half_to_float(unsigned int bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)bits));
  return value;
}

static __device__ __forceinline__ void wait_copies_0() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group 0;" ::: "memory");
#endif
}

extern "C" __global__ void __launch_bounds__(256, 2) weft_select_dot_64x512_q4_0(
  const Args args,
  const Sizes sizes,
  const unsigned int* b0,
  const unsigned int* b1,
  const unsigned int* __restrict__ b2,
  unsigned int* b3,
  unsigned int* b4
) {
  __shared__ __align__(16) unsigned int pool[9616];
  const unsigned int lane = threadIdx.x;
  const auto p0 = args.words[0];
  const auto p2 = args.words[4];
  const auto p3 = args.words[6];
  const auto n0 = args.words[1];
  const auto top_bits = blockIdx.z ^ 0x80808080u;
  // part 0: dot [T, 2] × 64; dot.few_rows tile 8 rows 16 width 16 reduce 16 upcast 1; of sorted rows
  const auto own_group = blockIdx.x;
  wait_for_previous();
  launch_next();
  const auto tile_at = own_group * 3u;
  const auto number = (b4 + (tile_at))[320u];
  const auto first_row = (b4 + (tile_at))[321u];
  const auto end_row = (b4 + (tile_at))[322u];
  if (first_row < end_row) {
    const auto rows_here = end_row - first_row;
    if (lane < 8u) {
      pool[lane] = (b4 + (min(first_row + lane, end_row - 1u)))[256u];
    }
    __syncthreads();
    if (lane < 8u) {
      const auto row = pool[lane];
      const auto i = row / 2u;
      const auto i_2 = (row % 2u) % 2u;
      pool[lane + 8u] = i * 512u;
    }
    const auto share = lane / 16u;
    const auto first_own = (lane % 16u) * 4u;
    const auto own = first_own + 1u;
    const auto own_2 = first_own + 2u;
    const auto own_3 = first_own + 3u;
    __syncthreads();
    copy_4(&pool[lane * 4u + 8208u], &b0[p0 + (pool[((lane * 4u) / 128u) + 8u] / 4u) + ((lane * 4u) % 128u)]);
    const auto x = b0[p0 + (n0 / 4u) + (pool[(min(lane, 127u) / 16u) + 8u] / 32u) + (min(lane, 127u) % 16u)];
    end_copies();
    const auto tile = p2 + ((number * 64u + first_own) / 16u) * 1152u;
    const auto lane_row = (number * 64u + first_own) % 16u;
    const auto at = tile + lane_row + share * 64u;
    const auto w = load_early_4(&b2[at]);
    const auto w_2 = load_early_4(&(b2 + (at))[16u]);
    const auto w_3 = load_early_4(&(b2 + (at))[32u]);
    const auto w_4 = load_early_4(&(b2 + (at))[48u]);
    const auto word = load_early(&(b2 + (tile + share * 8u + (lane_row / 2u)))[1024u]);
    const auto word_2 = load_early(&(b2 + (tile + share * 8u + (lane_row / 2u)))[1025u]);
    hold_loads();
    if (lane < 128u) {
      pool[lane + 9232u] = x;
    }
    wait_copies_0();
    __syncthreads();
    // times q4_0[64, 512]
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
    const auto xw = share * 8u;
    const auto xq = *(const uint4*)&pool[xw + 8208u];
    const auto xq_2 = *(const uint4*)&pool[xw + 8212u];
    const auto d = __uint_as_float(pool[share + 9232u]) * 0.0625f;
    sum = fmaf(d, (float)(__dp4a((int)((w_4.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))) * half_to_float(word), sum);
    sum_9 = fmaf(d, (float)(__dp4a((int)((w_4.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))) * half_to_float(word >> 16u), sum_9);
    sum_17 = fmaf(d, (float)(__dp4a((int)((w_4.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))) * half_to_float(word_2), sum_17);
    sum_25 = fmaf(d, (float)(__dp4a((int)((w_4.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))) * half_to_float(word_2 >> 16u), sum_25);
    const auto xw_2 = share * 8u;
    const auto xq_3 = *(const uint4*)&pool[xw_2 + 8336u];
    const auto xq_4 = *(const uint4*)&pool[xw_2 + 8340u];
    const auto d_2 = __uint_as_float(pool[share + 9248u]) * 0.0625f;
    sum_2 = fmaf(d_2, (float)(__dp4a((int)((w_4.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.w), __dp4a((int)((w_3.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.z), __dp4a((int)((w_2.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.y), __dp4a((int)((w.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.x), __dp4a((int)(((w_4.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.w), __dp4a((int)(((w_3.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.z), __dp4a((int)(((w_2.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.y), __dp4a((int)(((w.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.x), 0))))))))) * half_to_float(word), sum_2);
    sum_10 = fmaf(d_2, (float)(__dp4a((int)((w_4.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.w), __dp4a((int)((w_3.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.z), __dp4a((int)((w_2.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.y), __dp4a((int)((w.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.x), __dp4a((int)(((w_4.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.w), __dp4a((int)(((w_3.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.z), __dp4a((int)(((w_2.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.y), __dp4a((int)(((w.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.x), 0))))))))) * half_to_float(word >> 16u), sum_10);
    sum_18 = fmaf(d_2, (float)(__dp4a((int)((w_4.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.w), __dp4a((int)((w_3.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.z), __dp4a((int)((w_2.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.y), __dp4a((int)((w.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.x), __dp4a((int)(((w_4.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.w), __dp4a((int)(((w_3.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.z), __dp4a((int)(((w_2.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.y), __dp4a((int)(((w.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.x), 0))))))))) * half_to_float(word_2), sum_18);
    sum_26 = fmaf(d_2, (float)(__dp4a((int)((w_4.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.w), __dp4a((int)((w_3.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.z), __dp4a((int)((w_2.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.y), __dp4a((int)((w.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.x), __dp4a((int)(((w_4.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.w), __dp4a((int)(((w_3.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.z), __dp4a((int)(((w_2.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.y), __dp4a((int)(((w.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.x), 0))))))))) * half_to_float(word_2 >> 16u), sum_26);
    if (rows_here > 2u) {
      const auto xw_3 = share * 8u;
      const auto xq_5 = *(const uint4*)&pool[xw_3 + 8464u];
      const auto xq_6 = *(const uint4*)&pool[xw_3 + 8468u];
      const auto d_3 = __uint_as_float(pool[share + 9264u]) * 0.0625f;
      sum_3 = fmaf(d_3, (float)(__dp4a((int)((w_4.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.w), __dp4a((int)((w_3.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.z), __dp4a((int)((w_2.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.y), __dp4a((int)((w.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.x), __dp4a((int)(((w_4.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.w), __dp4a((int)(((w_3.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.z), __dp4a((int)(((w_2.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.y), __dp4a((int)(((w.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.x), 0))))))))) * half_to_float(word), sum_3);
      sum_11 = fmaf(d_3, (float)(__dp4a((int)((w_4.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.w), __dp4a((int)((w_3.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.z), __dp4a((int)((w_2.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.y), __dp4a((int)((w.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.x), __dp4a((int)(((w_4.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.w), __dp4a((int)(((w_3.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.z), __dp4a((int)(((w_2.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.y), __dp4a((int)(((w.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.x), 0))))))))) * half_to_float(word >> 16u), sum_11);
      sum_19 = fmaf(d_3, (float)(__dp4a((int)((w_4.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.w), __dp4a((int)((w_3.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.z), __dp4a((int)((w_2.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.y), __dp4a((int)((w.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.x), __dp4a((int)(((w_4.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.w), __dp4a((int)(((w_3.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.z), __dp4a((int)(((w_2.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.y), __dp4a((int)(((w.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.x), 0))))))))) * half_to_float(word_2), sum_19);
      sum_27 = fmaf(d_3, (float)(__dp4a((int)((w_4.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.w), __dp4a((int)((w_3.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.z), __dp4a((int)((w_2.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.y), __dp4a((int)((w.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.x), __dp4a((int)(((w_4.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.w), __dp4a((int)(((w_3.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.z), __dp4a((int)(((w_2.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.y), __dp4a((int)(((w.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.x), 0))))))))) * half_to_float(word_2 >> 16u), sum_27);
      const auto xw_4 = share * 8u;
      const auto xq_7 = *(const uint4*)&pool[xw_4 + 8592u];
      const auto xq_8 = *(const uint4*)&pool[xw_4 + 8596u];
      const auto d_4 = __uint_as_float(pool[share + 9280u]) * 0.0625f;
      sum_4 = fmaf(d_4, (float)(__dp4a((int)((w_4.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.w), __dp4a((int)((w_3.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.z), __dp4a((int)((w_2.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.y), __dp4a((int)((w.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.x), __dp4a((int)(((w_4.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.w), __dp4a((int)(((w_3.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.z), __dp4a((int)(((w_2.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.y), __dp4a((int)(((w.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.x), 0))))))))) * half_to_float(word), sum_4);
      sum_12 = fmaf(d_4, (float)(__dp4a((int)((w_4.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.w), __dp4a((int)((w_3.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.z), __dp4a((int)((w_2.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.y), __dp4a((int)((w.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.x), __dp4a((int)(((w_4.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.w), __dp4a((int)(((w_3.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.z), __dp4a((int)(((w_2.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.y), __dp4a((int)(((w.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.x), 0))))))))) * half_to_float(word >> 16u), sum_12);
      sum_20 = fmaf(d_4, (float)(__dp4a((int)((w_4.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.w), __dp4a((int)((w_3.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.z), __dp4a((int)((w_2.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.y), __dp4a((int)((w.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.x), __dp4a((int)(((w_4.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.w), __dp4a((int)(((w_3.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.z), __dp4a((int)(((w_2.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.y), __dp4a((int)(((w.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.x), 0))))))))) * half_to_float(word_2), sum_20);
      sum_28 = fmaf(d_4, (float)(__dp4a((int)((w_4.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.w), __dp4a((int)((w_3.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.z), __dp4a((int)((w_2.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.y), __dp4a((int)((w.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.x), __dp4a((int)(((w_4.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.w), __dp4a((int)(((w_3.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.z), __dp4a((int)(((w_2.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.y), __dp4a((int)(((w.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.x), 0))))))))) * half_to_float(word_2 >> 16u), sum_28);
    }
    if (rows_here > 4u) {
      const auto xw_5 = share * 8u;
      const auto xq_9 = *(const uint4*)&pool[xw_5 + 8720u];
      const auto xq_10 = *(const uint4*)&pool[xw_5 + 8724u];
      const auto d_5 = __uint_as_float(pool[share + 9296u]) * 0.0625f;
      sum_5 = fmaf(d_5, (float)(__dp4a((int)((w_4.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.w), __dp4a((int)((w_3.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.z), __dp4a((int)((w_2.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.y), __dp4a((int)((w.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.x), __dp4a((int)(((w_4.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.w), __dp4a((int)(((w_3.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.z), __dp4a((int)(((w_2.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.y), __dp4a((int)(((w.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.x), 0))))))))) * half_to_float(word), sum_5);
      sum_13 = fmaf(d_5, (float)(__dp4a((int)((w_4.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.w), __dp4a((int)((w_3.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.z), __dp4a((int)((w_2.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.y), __dp4a((int)((w.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.x), __dp4a((int)(((w_4.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.w), __dp4a((int)(((w_3.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.z), __dp4a((int)(((w_2.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.y), __dp4a((int)(((w.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.x), 0))))))))) * half_to_float(word >> 16u), sum_13);
      sum_21 = fmaf(d_5, (float)(__dp4a((int)((w_4.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.w), __dp4a((int)((w_3.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.z), __dp4a((int)((w_2.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.y), __dp4a((int)((w.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.x), __dp4a((int)(((w_4.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.w), __dp4a((int)(((w_3.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.z), __dp4a((int)(((w_2.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.y), __dp4a((int)(((w.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.x), 0))))))))) * half_to_float(word_2), sum_21);
      sum_29 = fmaf(d_5, (float)(__dp4a((int)((w_4.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.w), __dp4a((int)((w_3.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.z), __dp4a((int)((w_2.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.y), __dp4a((int)((w.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.x), __dp4a((int)(((w_4.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.w), __dp4a((int)(((w_3.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.z), __dp4a((int)(((w_2.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.y), __dp4a((int)(((w.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.x), 0))))))))) * half_to_float(word_2 >> 16u), sum_29);
      const auto xw_6 = share * 8u;
      const auto xq_11 = *(const uint4*)&pool[xw_6 + 8848u];
      const auto xq_12 = *(const uint4*)&pool[xw_6 + 8852u];
      const auto d_6 = __uint_as_float(pool[share + 9312u]) * 0.0625f;
      sum_6 = fmaf(d_6, (float)(__dp4a((int)((w_4.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.w), __dp4a((int)((w_3.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.z), __dp4a((int)((w_2.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.y), __dp4a((int)((w.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.x), __dp4a((int)(((w_4.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.w), __dp4a((int)(((w_3.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.z), __dp4a((int)(((w_2.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.y), __dp4a((int)(((w.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.x), 0))))))))) * half_to_float(word), sum_6);
      sum_14 = fmaf(d_6, (float)(__dp4a((int)((w_4.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.w), __dp4a((int)((w_3.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.z), __dp4a((int)((w_2.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.y), __dp4a((int)((w.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.x), __dp4a((int)(((w_4.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.w), __dp4a((int)(((w_3.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.z), __dp4a((int)(((w_2.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.y), __dp4a((int)(((w.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.x), 0))))))))) * half_to_float(word >> 16u), sum_14);
      sum_22 = fmaf(d_6, (float)(__dp4a((int)((w_4.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.w), __dp4a((int)((w_3.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.z), __dp4a((int)((w_2.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.y), __dp4a((int)((w.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.x), __dp4a((int)(((w_4.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.w), __dp4a((int)(((w_3.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.z), __dp4a((int)(((w_2.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.y), __dp4a((int)(((w.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.x), 0))))))))) * half_to_float(word_2), sum_22);
      sum_30 = fmaf(d_6, (float)(__dp4a((int)((w_4.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.w), __dp4a((int)((w_3.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.z), __dp4a((int)((w_2.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.y), __dp4a((int)((w.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.x), __dp4a((int)(((w_4.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.w), __dp4a((int)(((w_3.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.z), __dp4a((int)(((w_2.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.y), __dp4a((int)(((w.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.x), 0))))))))) * half_to_float(word_2 >> 16u), sum_30);
    }
    if (rows_here > 6u) {
      const auto xw_7 = share * 8u;
      const auto xq_13 = *(const uint4*)&pool[xw_7 + 8976u];
      const auto xq_14 = *(const uint4*)&pool[xw_7 + 8980u];
      const auto d_7 = __uint_as_float(pool[share + 9328u]) * 0.0625f;
      sum_7 = fmaf(d_7, (float)(__dp4a((int)((w_4.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.w), __dp4a((int)((w_3.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.z), __dp4a((int)((w_2.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.y), __dp4a((int)((w.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.x), __dp4a((int)(((w_4.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.w), __dp4a((int)(((w_3.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.z), __dp4a((int)(((w_2.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.y), __dp4a((int)(((w.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.x), 0))))))))) * half_to_float(word), sum_7);
      sum_15 = fmaf(d_7, (float)(__dp4a((int)((w_4.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.w), __dp4a((int)((w_3.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.z), __dp4a((int)((w_2.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.y), __dp4a((int)((w.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.x), __dp4a((int)(((w_4.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.w), __dp4a((int)(((w_3.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.z), __dp4a((int)(((w_2.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.y), __dp4a((int)(((w.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.x), 0))))))))) * half_to_float(word >> 16u), sum_15);
      sum_23 = fmaf(d_7, (float)(__dp4a((int)((w_4.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.w), __dp4a((int)((w_3.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.z), __dp4a((int)((w_2.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.y), __dp4a((int)((w.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.x), __dp4a((int)(((w_4.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.w), __dp4a((int)(((w_3.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.z), __dp4a((int)(((w_2.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.y), __dp4a((int)(((w.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.x), 0))))))))) * half_to_float(word_2), sum_23);
      sum_31 = fmaf(d_7, (float)(__dp4a((int)((w_4.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.w), __dp4a((int)((w_3.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.z), __dp4a((int)((w_2.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.y), __dp4a((int)((w.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.x), __dp4a((int)(((w_4.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.w), __dp4a((int)(((w_3.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.z), __dp4a((int)(((w_2.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.y), __dp4a((int)(((w.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.x), 0))))))))) * half_to_float(word_2 >> 16u), sum_31);
      const auto xw_8 = share * 8u;
      const auto xq_15 = *(const uint4*)&pool[xw_8 + 9104u];
      const auto xq_16 = *(const uint4*)&pool[xw_8 + 9108u];
      const auto d_8 = __uint_as_float(pool[share + 9344u]) * 0.0625f;
      sum_8 = fmaf(d_8, (float)(__dp4a((int)((w_4.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.w), __dp4a((int)((w_3.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.z), __dp4a((int)((w_2.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.y), __dp4a((int)((w.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.x), __dp4a((int)(((w_4.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.w), __dp4a((int)(((w_3.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.z), __dp4a((int)(((w_2.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.y), __dp4a((int)(((w.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.x), 0))))))))) * half_to_float(word), sum_8);
      sum_16 = fmaf(d_8, (float)(__dp4a((int)((w_4.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.w), __dp4a((int)((w_3.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.z), __dp4a((int)((w_2.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.y), __dp4a((int)((w.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.x), __dp4a((int)(((w_4.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.w), __dp4a((int)(((w_3.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.z), __dp4a((int)(((w_2.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.y), __dp4a((int)(((w.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.x), 0))))))))) * half_to_float(word >> 16u), sum_16);
      sum_24 = fmaf(d_8, (float)(__dp4a((int)((w_4.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.w), __dp4a((int)((w_3.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.z), __dp4a((int)((w_2.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.y), __dp4a((int)((w.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.x), __dp4a((int)(((w_4.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.w), __dp4a((int)(((w_3.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.z), __dp4a((int)(((w_2.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.y), __dp4a((int)(((w.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.x), 0))))))))) * half_to_float(word_2), sum_24);
      sum_32 = fmaf(d_8, (float)(__dp4a((int)((w_4.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.w), __dp4a((int)((w_3.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.z), __dp4a((int)((w_2.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.y), __dp4a((int)((w.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.x), __dp4a((int)(((w_4.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.w), __dp4a((int)(((w_3.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.z), __dp4a((int)(((w_2.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.y), __dp4a((int)(((w.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.x), 0))))))))) * half_to_float(word_2 >> 16u), sum_32);
    }
    store_four(&pool[share * 512u + first_own + 16u], __float_as_uint(sum), __float_as_uint(sum_9), __float_as_uint(sum_17), __float_as_uint(sum_25));
    store_four(&pool[share * 512u + first_own + 80u], __float_as_uint(sum_2), __float_as_uint(sum_10), __float_as_uint(sum_18), __float_as_uint(sum_26));
    if (rows_here > 2u) {
      store_four(&pool[share * 512u + first_own + 144u], __float_as_uint(sum_3), __float_as_uint(sum_11), __float_as_uint(sum_19), __float_as_uint(sum_27));
      store_four(&pool[share * 512u + first_own + 208u], __float_as_uint(sum_4), __float_as_uint(sum_12), __float_as_uint(sum_20), __float_as_uint(sum_28));
    }
    if (rows_here > 4u) {
      store_four(&pool[share * 512u + first_own + 272u], __float_as_uint(sum_5), __float_as_uint(sum_13), __float_as_uint(sum_21), __float_as_uint(sum_29));
      store_four(&pool[share * 512u + first_own + 336u], __float_as_uint(sum_6), __float_as_uint(sum_14), __float_as_uint(sum_22), __float_as_uint(sum_30));
    }
    if (rows_here > 6u) {
      store_four(&pool[share * 512u + first_own + 400u], __float_as_uint(sum_7), __float_as_uint(sum_15), __float_as_uint(sum_23), __float_as_uint(sum_31));
      store_four(&pool[share * 512u + first_own + 464u], __float_as_uint(sum_8), __float_as_uint(sum_16), __float_as_uint(sum_24), __float_as_uint(sum_32));
    }
    __syncthreads();
    for (auto time = 0u; time < 2u; time += 1u) {
      const auto c = time * 256u + lane;
      if ((c / 64u) < rows_here) {
        auto total = __uint_as_float(pool[c + 16u]);
        for (auto l = 1u; l < 16u; l += 1u) {
          total = total + __uint_as_float(pool[c + l * 512u + 16u]);
        }
        pool[c + 16u] = __float_as_uint(total);
      }
    }
    __syncthreads();
    for (auto time_2 = 0u; time_2 < 2u; time_2 += 1u) {
      const auto c_2 = time_2 * 256u + lane;
      const auto r = c_2 / 64u;
      const auto own_4 = c_2 % 64u;
      const auto row_2 = pool[r];
      const auto i_3 = row_2 / 2u;
      const auto i_4 = (row_2 % 2u) % 2u;
      if (r < rows_here) {
        const auto v = __uint_as_float(pool[r * 64u + own_4 + 16u]);
        b3[p3 + (i_3 * 128u + i_4 * 64u + own_4)] = __float_as_uint(v);
      }
    }
  }
}

