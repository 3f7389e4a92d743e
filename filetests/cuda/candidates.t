test cuda T=1 R=1
# Two shaders: the largest of each block of 64 logits, then the blocks that have the largest, and their logits.
graph candidates {
  %0 = input logits : f32[R, 154880]
  %1 = topk %0 k=64 : i32[R, 64]
  %2 = take %0 %1 : f32[R, 64]
  %3 = cast %1 : f32[R, 64]
  %4 = concat %2 %3 axis=1 : f32[R, 128]
  output candidates = %4
}
---
// reduce_154880: lanes 256; select.blocks width 1024 chunk 64
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

extern "C" __global__ void __launch_bounds__(256) weft_reduce_154880(
  const Args args,
  const Sizes sizes,
  const unsigned int* b0,
  unsigned int* b1,
  unsigned int* b2
) {
  const unsigned int lane = threadIdx.x;
  const unsigned int warp = 0xffffffffu;
  const auto p0 = args.words[0];
  // part 0: reduce [R] × 154880; select.blocks width 1024 chunk 64; chunks
  const auto own_group = blockIdx.x;
  const auto first = own_group * 1024u;
  wait_for_previous();
  launch_next();
  const auto first_block = first / 64u;
  const auto block = first_block + (lane / 16u);
  const auto begin = block * 64u + (lane % 16u);
  auto top_key = 0u;
  for (auto i = 0u; i < 4u; i += 1u) {
    const auto column = min(begin + i * 16u, 0x25cffu);
    const auto v = __uint_as_float(b0[p0 + column]);
    const auto bits = __float_as_uint(v);
    const auto bits_2 = ((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits);
    top_key = max(top_key, (bits_2 > 0x7fffffffu ? bits_2 ^ 0xffffffffu : bits_2 | 0x80000000u));
  }
  const auto other = __shfl_xor_sync(warp, top_key, 1u);
  const auto both = max(top_key, other);
  const auto other_2 = __shfl_xor_sync(warp, both, 2u);
  const auto both_2 = max(both, other_2);
  const auto other_3 = __shfl_xor_sync(warp, both_2, 4u);
  const auto both_3 = max(both_2, other_3);
  const auto other_4 = __shfl_xor_sync(warp, both_3, 8u);
  const auto both_4 = max(both_3, other_4);
  if ((lane % 16u) == 0u && (lane < 256u && block < 2420u)) {
    b2[block + 256u] = both_4;
  }
}

// reduce_154880: lanes 256; select.blocks width 1024 chunk 64
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

extern "C" __global__ void __launch_bounds__(256) weft_reduce_154880(
  const Args args,
  const Sizes sizes,
  const unsigned int* b0,
  unsigned int* b1,
  unsigned int* b2
) {
  __shared__ __align__(16) unsigned int pool[432];
  const unsigned int lane = threadIdx.x;
  const unsigned int warp = 0xffffffffu;
  const auto p0 = args.words[0];
  const auto p1 = args.words[2];
  // part 0: reduce [R] × 154880; select.blocks width 1024 chunk 64; together
  const auto own_group = blockIdx.x;
  wait_for_previous();
  launch_next();
  const auto blocks = own_group * 2420u + 256u;
  // the 64 largest of 154880: first the blocks that have them
  const auto item = lane + 256u;
  const auto item_2 = lane + 512u;
  const auto item_3 = lane + 768u;
  const auto item_4 = lane + 1024u;
  const auto item_5 = lane + 1280u;
  const auto item_6 = lane + 1536u;
  const auto item_7 = lane + 1792u;
  const auto item_8 = lane + 2048u;
  const auto item_9 = lane + 2304u;
  const auto key = b2[blocks + min(lane, 2419u)];
  const auto key_2 = (lane < 2420u ? key : 0u);
  const auto key_3 = b2[blocks + min(item, 2419u)];
  const auto key_4 = (item < 2420u ? key_3 : 0u);
  const auto key_5 = b2[blocks + min(item_2, 2419u)];
  const auto key_6 = (item_2 < 2420u ? key_5 : 0u);
  const auto key_7 = b2[blocks + min(item_3, 2419u)];
  const auto key_8 = (item_3 < 2420u ? key_7 : 0u);
  const auto key_9 = b2[blocks + min(item_4, 2419u)];
  const auto key_10 = (item_4 < 2420u ? key_9 : 0u);
  const auto key_11 = b2[blocks + min(item_5, 2419u)];
  const auto key_12 = (item_5 < 2420u ? key_11 : 0u);
  const auto key_13 = b2[blocks + min(item_6, 2419u)];
  const auto key_14 = (item_6 < 2420u ? key_13 : 0u);
  const auto key_15 = b2[blocks + min(item_7, 2419u)];
  const auto key_16 = (item_7 < 2420u ? key_15 : 0u);
  const auto key_17 = b2[blocks + min(item_8, 2419u)];
  const auto key_18 = (item_8 < 2420u ? key_17 : 0u);
  const auto key_19 = b2[blocks + min(item_9, 2419u)];
  const auto key_20 = (item_9 < 2420u ? key_19 : 0u);
  const auto own_top = max(max(max(max(max(max(max(max(max(key_2, key_4), key_6), key_8), key_10), key_12), key_14), key_16), key_18), key_20);
  const auto other = __shfl_xor_sync(warp, own_top, 1u);
  const auto both = max(own_top, other);
  const auto other_2 = __shfl_xor_sync(warp, both, 2u);
  const auto both_2 = max(both, other_2);
  const auto other_3 = __shfl_xor_sync(warp, both_2, 4u);
  const auto both_3 = max(both_2, other_3);
  const auto other_4 = __shfl_xor_sync(warp, both_3, 8u);
  const auto both_4 = max(both_3, other_4);
  const auto other_5 = __shfl_xor_sync(warp, both_4, 16u);
  const auto both_5 = max(both_4, other_5);
  if ((lane % 32u) == 0u) {
    pool[lane / 32u] = both_5;
  }
  __syncthreads();
  auto top = 0u;
  for (auto l = 0u; l < 8u; l += 1u) {
    top = max(top, pool[l]);
  }
  const auto mine = own_top ^ 0xffffffffu;
  const auto other_6 = __shfl_xor_sync(warp, mine, 1u);
  const auto both_6 = max(mine, other_6);
  const auto other_7 = __shfl_xor_sync(warp, both_6, 2u);
  const auto both_7 = max(both_6, other_7);
  const auto other_8 = __shfl_xor_sync(warp, both_7, 4u);
  const auto both_8 = max(both_7, other_8);
  const auto other_9 = __shfl_xor_sync(warp, both_8, 8u);
  const auto both_9 = max(both_8, other_9);
  const auto other_10 = __shfl_xor_sync(warp, both_9, 16u);
  const auto both_10 = max(both_9, other_10);
  if ((lane % 32u) == 0u) {
    pool[(lane / 32u) + 8u] = both_10;
  }
  __syncthreads();
  auto top_2 = 0u;
  for (auto l_2 = 0u; l_2 < 8u; l_2 += 1u) {
    top_2 = max(top_2, pool[l_2 + 8u]);
  }
  const auto least_top = top_2 ^ 0xffffffffu;
  auto low = max(least_top, 1u);
  auto high = top;
  auto above = 0.0f;
  auto exact = 0u;
  for (auto round = 0u; round < 32u; round += 1u) {
    const auto goes_on = (low < high ? 1u : 0u);
    if (goes_on == 1u) {
      const auto less = low + ((high - low - 1u) / 2u);
      const auto middle = less + 1u;
      const auto own_count = (key_2 > less ? 1.0f : 0.0f) + (key_4 > less ? 1.0f : 0.0f) + (key_6 > less ? 1.0f : 0.0f) + (key_8 > less ? 1.0f : 0.0f) + (key_10 > less ? 1.0f : 0.0f) + (key_12 > less ? 1.0f : 0.0f) + (key_14 > less ? 1.0f : 0.0f) + (key_16 > less ? 1.0f : 0.0f) + (key_18 > less ? 1.0f : 0.0f) + (key_20 > less ? 1.0f : 0.0f);
      const auto other_11 = __shfl_xor_sync(warp, own_count, 1u);
      const auto both_11 = own_count + other_11;
      const auto other_12 = __shfl_xor_sync(warp, both_11, 2u);
      const auto both_12 = both_11 + other_12;
      const auto other_13 = __shfl_xor_sync(warp, both_12, 4u);
      const auto both_13 = both_12 + other_13;
      const auto other_14 = __shfl_xor_sync(warp, both_13, 8u);
      const auto both_14 = both_13 + other_14;
      const auto other_15 = __shfl_xor_sync(warp, both_14, 16u);
      const auto both_15 = both_14 + other_15;
      const auto counts = (round & 1u) * 8u + 16u;
      if ((lane % 32u) == 0u) {
        pool[(lane / 32u) + counts] = __float_as_uint(both_15);
      }
      __syncthreads();
      auto total = __uint_as_float(pool[counts]);
      for (auto l_3 = 1u; l_3 < 8u; l_3 += 1u) {
        total = total + __uint_as_float(pool[counts + l_3]);
      }
      exact = (total == 64.0f ? 1u : exact);
      above = (total < 64.0f ? total : above);
      low = (total < 64.0f ? low : middle);
      high = (total == 64.0f ? middle : (total < 64.0f ? less : high));
    }
  }
  auto least = 0u;
  auto most = 2420u;
  const auto tied = (exact == 1u ? 0u : 1u);
  if (tied == 1u) {
    for (auto round_2 = 0u; round_2 < 12u; round_2 += 1u) {
      const auto middle_2 = (least + most) / 2u;
      const auto own_count_2 = (key_2 == low && lane < middle_2 ? 1.0f : 0.0f) + (key_4 == low && item < middle_2 ? 1.0f : 0.0f) + (key_6 == low && item_2 < middle_2 ? 1.0f : 0.0f) + (key_8 == low && item_3 < middle_2 ? 1.0f : 0.0f) + (key_10 == low && item_4 < middle_2 ? 1.0f : 0.0f) + (key_12 == low && item_5 < middle_2 ? 1.0f : 0.0f) + (key_14 == low && item_6 < middle_2 ? 1.0f : 0.0f) + (key_16 == low && item_7 < middle_2 ? 1.0f : 0.0f) + (key_18 == low && item_8 < middle_2 ? 1.0f : 0.0f) + (key_20 == low && item_9 < middle_2 ? 1.0f : 0.0f);
      const auto other_16 = __shfl_xor_sync(warp, own_count_2, 1u);
      const auto both_16 = own_count_2 + other_16;
      const auto other_17 = __shfl_xor_sync(warp, both_16, 2u);
      const auto both_17 = both_16 + other_17;
      const auto other_18 = __shfl_xor_sync(warp, both_17, 4u);
      const auto both_18 = both_17 + other_18;
      const auto other_19 = __shfl_xor_sync(warp, both_18, 8u);
      const auto both_19 = both_18 + other_19;
      const auto other_20 = __shfl_xor_sync(warp, both_19, 16u);
      const auto both_20 = both_19 + other_20;
      const auto counts_2 = (round_2 & 1u) * 8u + 32u;
      if ((lane % 32u) == 0u) {
        pool[(lane / 32u) + counts_2] = __float_as_uint(both_20);
      }
      __syncthreads();
      auto total_2 = __uint_as_float(pool[counts_2]);
      for (auto l_4 = 1u; l_4 < 8u; l_4 += 1u) {
        total_2 = total_2 + __uint_as_float(pool[counts_2 + l_4]);
      }
      const auto count = total_2 + above;
      least = (count < 64.0f ? min(middle_2 + 1u, most) : least);
      most = (count < 64.0f ? most : middle_2);
    }
  }
  const auto own_count_3 = ((key_2 > low) || (key_2 == low && lane < most) ? 1.0f : 0.0f) + ((key_4 > low) || (key_4 == low && item < most) ? 1.0f : 0.0f) + ((key_6 > low) || (key_6 == low && item_2 < most) ? 1.0f : 0.0f) + ((key_8 > low) || (key_8 == low && item_3 < most) ? 1.0f : 0.0f) + ((key_10 > low) || (key_10 == low && item_4 < most) ? 1.0f : 0.0f) + ((key_12 > low) || (key_12 == low && item_5 < most) ? 1.0f : 0.0f) + ((key_14 > low) || (key_14 == low && item_6 < most) ? 1.0f : 0.0f) + ((key_16 > low) || (key_16 == low && item_7 < most) ? 1.0f : 0.0f) + ((key_18 > low) || (key_18 == low && item_8 < most) ? 1.0f : 0.0f) + ((key_20 > low) || (key_20 == low && item_9 < most) ? 1.0f : 0.0f);
  const auto other_21 = __shfl_xor_sync(warp, own_count_3, 1u);
  const auto before = 0.0f + ((lane & 1u) > 0u ? other_21 : 0.0f);
  const auto both_21 = own_count_3 + other_21;
  const auto other_22 = __shfl_xor_sync(warp, both_21, 2u);
  const auto before_2 = before + ((lane & 2u) > 0u ? other_22 : 0.0f);
  const auto both_22 = both_21 + other_22;
  const auto other_23 = __shfl_xor_sync(warp, both_22, 4u);
  const auto before_3 = before_2 + ((lane & 4u) > 0u ? other_23 : 0.0f);
  const auto both_23 = both_22 + other_23;
  const auto other_24 = __shfl_xor_sync(warp, both_23, 8u);
  const auto before_4 = before_3 + ((lane & 8u) > 0u ? other_24 : 0.0f);
  const auto both_24 = both_23 + other_24;
  const auto other_25 = __shfl_xor_sync(warp, both_24, 16u);
  const auto before_5 = before_4 + ((lane & 16u) > 0u ? other_25 : 0.0f);
  const auto both_25 = both_24 + other_25;
  if ((lane % 32u) == 0u) {
    pool[(lane / 32u) + 48u] = __float_as_uint(both_25);
  }
  __syncthreads();
  auto total_3 = before_5;
  for (auto l_5 = 0u; l_5 < 8u; l_5 += 1u) {
    total_3 = total_3 + (l_5 < (lane / 32u) ? __uint_as_float(pool[l_5 + 48u]) : 0.0f);
  }
  auto place = __float2uint_rz(total_3);
  if (((key_2 > low) || (key_2 == low && lane < most)) && place < 64u) {
    pool[place + 56u] = key_2;
    pool[place + 120u] = lane;
    place = place + 1u;
  }
  if (((key_4 > low) || (key_4 == low && item < most)) && place < 64u) {
    pool[place + 56u] = key_4;
    pool[place + 120u] = item;
    place = place + 1u;
  }
  if (((key_6 > low) || (key_6 == low && item_2 < most)) && place < 64u) {
    pool[place + 56u] = key_6;
    pool[place + 120u] = item_2;
    place = place + 1u;
  }
  if (((key_8 > low) || (key_8 == low && item_3 < most)) && place < 64u) {
    pool[place + 56u] = key_8;
    pool[place + 120u] = item_3;
    place = place + 1u;
  }
  if (((key_10 > low) || (key_10 == low && item_4 < most)) && place < 64u) {
    pool[place + 56u] = key_10;
    pool[place + 120u] = item_4;
    place = place + 1u;
  }
  if (((key_12 > low) || (key_12 == low && item_5 < most)) && place < 64u) {
    pool[place + 56u] = key_12;
    pool[place + 120u] = item_5;
    place = place + 1u;
  }
  if (((key_14 > low) || (key_14 == low && item_6 < most)) && place < 64u) {
    pool[place + 56u] = key_14;
    pool[place + 120u] = item_6;
    place = place + 1u;
  }
  if (((key_16 > low) || (key_16 == low && item_7 < most)) && place < 64u) {
    pool[place + 56u] = key_16;
    pool[place + 120u] = item_7;
    place = place + 1u;
  }
  if (((key_18 > low) || (key_18 == low && item_8 < most)) && place < 64u) {
    pool[place + 56u] = key_18;
    pool[place + 120u] = item_8;
    place = place + 1u;
  }
  if (((key_20 > low) || (key_20 == low && item_9 < most)) && place < 64u) {
    pool[place + 56u] = key_20;
    pool[place + 120u] = item_9;
    place = place + 1u;
  }
  __syncthreads();
  const auto item_10 = lane + 256u;
  const auto item_11 = lane + 512u;
  const auto item_12 = lane + 768u;
  const auto item_13 = lane + 1024u;
  const auto item_14 = lane + 1280u;
  const auto item_15 = lane + 1536u;
  const auto item_16 = lane + 1792u;
  const auto item_17 = lane + 2048u;
  const auto item_18 = lane + 2304u;
  const auto item_19 = lane + 2560u;
  const auto item_20 = lane + 2816u;
  const auto item_21 = lane + 3072u;
  const auto item_22 = lane + 3328u;
  const auto item_23 = lane + 3584u;
  const auto item_24 = lane + 3840u;
  const auto column = pool[(min(lane, 4095u) / 64u) + 120u] * 64u + (lane % 64u);
  const auto at = min(column, 0x25cffu);
  const auto at_2 = own_group * 0x25d00u + at;
  const auto v = __uint_as_float(b0[p0 + at_2]);
  const auto bits = __float_as_uint(v);
  const auto bits_2 = ((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits);
  const auto key_21 = (lane < 4096u && column < 0x25d00u ? (bits_2 > 0x7fffffffu ? bits_2 ^ 0xffffffffu : bits_2 | 0x80000000u) : 0u);
  const auto column_2 = pool[(min(item_10, 4095u) / 64u) + 120u] * 64u + (item_10 % 64u);
  const auto at_3 = min(column_2, 0x25cffu);
  const auto at_4 = own_group * 0x25d00u + at_3;
  const auto v_2 = __uint_as_float(b0[p0 + at_4]);
  const auto bits_3 = __float_as_uint(v_2);
  const auto bits_4 = ((bits_3 & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits_3);
  const auto key_22 = (item_10 < 4096u && column_2 < 0x25d00u ? (bits_4 > 0x7fffffffu ? bits_4 ^ 0xffffffffu : bits_4 | 0x80000000u) : 0u);
  const auto column_3 = pool[(min(item_11, 4095u) / 64u) + 120u] * 64u + (item_11 % 64u);
  const auto at_5 = min(column_3, 0x25cffu);
  const auto at_6 = own_group * 0x25d00u + at_5;
  const auto v_3 = __uint_as_float(b0[p0 + at_6]);
  const auto bits_5 = __float_as_uint(v_3);
  const auto bits_6 = ((bits_5 & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits_5);
  const auto key_23 = (item_11 < 4096u && column_3 < 0x25d00u ? (bits_6 > 0x7fffffffu ? bits_6 ^ 0xffffffffu : bits_6 | 0x80000000u) : 0u);
  const auto column_4 = pool[(min(item_12, 4095u) / 64u) + 120u] * 64u + (item_12 % 64u);
  const auto at_7 = min(column_4, 0x25cffu);
  const auto at_8 = own_group * 0x25d00u + at_7;
  const auto v_4 = __uint_as_float(b0[p0 + at_8]);
  const auto bits_7 = __float_as_uint(v_4);
  const auto bits_8 = ((bits_7 & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits_7);
  const auto key_24 = (item_12 < 4096u && column_4 < 0x25d00u ? (bits_8 > 0x7fffffffu ? bits_8 ^ 0xffffffffu : bits_8 | 0x80000000u) : 0u);
  const auto column_5 = pool[(min(item_13, 4095u) / 64u) + 120u] * 64u + (item_13 % 64u);
  const auto at_9 = min(column_5, 0x25cffu);
  const auto at_10 = own_group * 0x25d00u + at_9;
  const auto v_5 = __uint_as_float(b0[p0 + at_10]);
  const auto bits_9 = __float_as_uint(v_5);
  const auto bits_10 = ((bits_9 & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits_9);
  const auto key_25 = (item_13 < 4096u && column_5 < 0x25d00u ? (bits_10 > 0x7fffffffu ? bits_10 ^ 0xffffffffu : bits_10 | 0x80000000u) : 0u);
  const auto column_6 = pool[(min(item_14, 4095u) / 64u) + 120u] * 64u + (item_14 % 64u);
  const auto at_11 = min(column_6, 0x25cffu);
  const auto at_12 = own_group * 0x25d00u + at_11;
  const auto v_6 = __uint_as_float(b0[p0 + at_12]);
  const auto bits_11 = __float_as_uint(v_6);
  const auto bits_12 = ((bits_11 & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits_11);
  const auto key_26 = (item_14 < 4096u && column_6 < 0x25d00u ? (bits_12 > 0x7fffffffu ? bits_12 ^ 0xffffffffu : bits_12 | 0x80000000u) : 0u);
  const auto column_7 = pool[(min(item_15, 4095u) / 64u) + 120u] * 64u + (item_15 % 64u);
  const auto at_13 = min(column_7, 0x25cffu);
  const auto at_14 = own_group * 0x25d00u + at_13;
  const auto v_7 = __uint_as_float(b0[p0 + at_14]);
  const auto bits_13 = __float_as_uint(v_7);
  const auto bits_14 = ((bits_13 & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits_13);
  const auto key_27 = (item_15 < 4096u && column_7 < 0x25d00u ? (bits_14 > 0x7fffffffu ? bits_14 ^ 0xffffffffu : bits_14 | 0x80000000u) : 0u);
  const auto column_8 = pool[(min(item_16, 4095u) / 64u) + 120u] * 64u + (item_16 % 64u);
  const auto at_15 = min(column_8, 0x25cffu);
  const auto at_16 = own_group * 0x25d00u + at_15;
  const auto v_8 = __uint_as_float(b0[p0 + at_16]);
  const auto bits_15 = __float_as_uint(v_8);
  const auto bits_16 = ((bits_15 & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits_15);
  const auto key_28 = (item_16 < 4096u && column_8 < 0x25d00u ? (bits_16 > 0x7fffffffu ? bits_16 ^ 0xffffffffu : bits_16 | 0x80000000u) : 0u);
  const auto column_9 = pool[(min(item_17, 4095u) / 64u) + 120u] * 64u + (item_17 % 64u);
  const auto at_17 = min(column_9, 0x25cffu);
  const auto at_18 = own_group * 0x25d00u + at_17;
  const auto v_9 = __uint_as_float(b0[p0 + at_18]);
  const auto bits_17 = __float_as_uint(v_9);
  const auto bits_18 = ((bits_17 & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits_17);
  const auto key_29 = (item_17 < 4096u && column_9 < 0x25d00u ? (bits_18 > 0x7fffffffu ? bits_18 ^ 0xffffffffu : bits_18 | 0x80000000u) : 0u);
  const auto column_10 = pool[(min(item_18, 4095u) / 64u) + 120u] * 64u + (item_18 % 64u);
  const auto at_19 = min(column_10, 0x25cffu);
  const auto at_20 = own_group * 0x25d00u + at_19;
  const auto v_10 = __uint_as_float(b0[p0 + at_20]);
  const auto bits_19 = __float_as_uint(v_10);
  const auto bits_20 = ((bits_19 & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits_19);
  const auto key_30 = (item_18 < 4096u && column_10 < 0x25d00u ? (bits_20 > 0x7fffffffu ? bits_20 ^ 0xffffffffu : bits_20 | 0x80000000u) : 0u);
  const auto column_11 = pool[(min(item_19, 4095u) / 64u) + 120u] * 64u + (item_19 % 64u);
  const auto at_21 = min(column_11, 0x25cffu);
  const auto at_22 = own_group * 0x25d00u + at_21;
  const auto v_11 = __uint_as_float(b0[p0 + at_22]);
  const auto bits_21 = __float_as_uint(v_11);
  const auto bits_22 = ((bits_21 & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits_21);
  const auto key_31 = (item_19 < 4096u && column_11 < 0x25d00u ? (bits_22 > 0x7fffffffu ? bits_22 ^ 0xffffffffu : bits_22 | 0x80000000u) : 0u);
  const auto column_12 = pool[(min(item_20, 4095u) / 64u) + 120u] * 64u + (item_20 % 64u);
  const auto at_23 = min(column_12, 0x25cffu);
  const auto at_24 = own_group * 0x25d00u + at_23;
  const auto v_12 = __uint_as_float(b0[p0 + at_24]);
  const auto bits_23 = __float_as_uint(v_12);
  const auto bits_24 = ((bits_23 & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits_23);
  const auto key_32 = (item_20 < 4096u && column_12 < 0x25d00u ? (bits_24 > 0x7fffffffu ? bits_24 ^ 0xffffffffu : bits_24 | 0x80000000u) : 0u);
  const auto column_13 = pool[(min(item_21, 4095u) / 64u) + 120u] * 64u + (item_21 % 64u);
  const auto at_25 = min(column_13, 0x25cffu);
  const auto at_26 = own_group * 0x25d00u + at_25;
  const auto v_13 = __uint_as_float(b0[p0 + at_26]);
  const auto bits_25 = __float_as_uint(v_13);
  const auto bits_26 = ((bits_25 & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits_25);
  const auto key_33 = (item_21 < 4096u && column_13 < 0x25d00u ? (bits_26 > 0x7fffffffu ? bits_26 ^ 0xffffffffu : bits_26 | 0x80000000u) : 0u);
  const auto column_14 = pool[(min(item_22, 4095u) / 64u) + 120u] * 64u + (item_22 % 64u);
  const auto at_27 = min(column_14, 0x25cffu);
  const auto at_28 = own_group * 0x25d00u + at_27;
  const auto v_14 = __uint_as_float(b0[p0 + at_28]);
  const auto bits_27 = __float_as_uint(v_14);
  const auto bits_28 = ((bits_27 & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits_27);
  const auto key_34 = (item_22 < 4096u && column_14 < 0x25d00u ? (bits_28 > 0x7fffffffu ? bits_28 ^ 0xffffffffu : bits_28 | 0x80000000u) : 0u);
  const auto column_15 = pool[(min(item_23, 4095u) / 64u) + 120u] * 64u + (item_23 % 64u);
  const auto at_29 = min(column_15, 0x25cffu);
  const auto at_30 = own_group * 0x25d00u + at_29;
  const auto v_15 = __uint_as_float(b0[p0 + at_30]);
  const auto bits_29 = __float_as_uint(v_15);
  const auto bits_30 = ((bits_29 & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits_29);
  const auto key_35 = (item_23 < 4096u && column_15 < 0x25d00u ? (bits_30 > 0x7fffffffu ? bits_30 ^ 0xffffffffu : bits_30 | 0x80000000u) : 0u);
  const auto column_16 = pool[(min(item_24, 4095u) / 64u) + 120u] * 64u + (item_24 % 64u);
  const auto at_31 = min(column_16, 0x25cffu);
  const auto at_32 = own_group * 0x25d00u + at_31;
  const auto v_16 = __uint_as_float(b0[p0 + at_32]);
  const auto bits_31 = __float_as_uint(v_16);
  const auto bits_32 = ((bits_31 & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits_31);
  const auto key_36 = (item_24 < 4096u && column_16 < 0x25d00u ? (bits_32 > 0x7fffffffu ? bits_32 ^ 0xffffffffu : bits_32 | 0x80000000u) : 0u);
  // then their values
  const auto own_top_2 = max(max(max(max(max(max(max(max(max(max(max(max(max(max(max(key_21, key_22), key_23), key_24), key_25), key_26), key_27), key_28), key_29), key_30), key_31), key_32), key_33), key_34), key_35), key_36);
  const auto other_26 = __shfl_xor_sync(warp, own_top_2, 1u);
  const auto both_26 = max(own_top_2, other_26);
  const auto other_27 = __shfl_xor_sync(warp, both_26, 2u);
  const auto both_27 = max(both_26, other_27);
  const auto other_28 = __shfl_xor_sync(warp, both_27, 4u);
  const auto both_28 = max(both_27, other_28);
  const auto other_29 = __shfl_xor_sync(warp, both_28, 8u);
  const auto both_29 = max(both_28, other_29);
  const auto other_30 = __shfl_xor_sync(warp, both_29, 16u);
  const auto both_30 = max(both_29, other_30);
  if ((lane % 32u) == 0u) {
    pool[(lane / 32u) + 184u] = both_30;
  }
  __syncthreads();
  auto top_3 = 0u;
  for (auto l_6 = 0u; l_6 < 8u; l_6 += 1u) {
    top_3 = max(top_3, pool[l_6 + 184u]);
  }
  const auto mine_2 = own_top_2 ^ 0xffffffffu;
  const auto other_31 = __shfl_xor_sync(warp, mine_2, 1u);
  const auto both_31 = max(mine_2, other_31);
  const auto other_32 = __shfl_xor_sync(warp, both_31, 2u);
  const auto both_32 = max(both_31, other_32);
  const auto other_33 = __shfl_xor_sync(warp, both_32, 4u);
  const auto both_33 = max(both_32, other_33);
  const auto other_34 = __shfl_xor_sync(warp, both_33, 8u);
  const auto both_34 = max(both_33, other_34);
  const auto other_35 = __shfl_xor_sync(warp, both_34, 16u);
  const auto both_35 = max(both_34, other_35);
  if ((lane % 32u) == 0u) {
    pool[(lane / 32u) + 192u] = both_35;
  }
  __syncthreads();
  auto top_4 = 0u;
  for (auto l_7 = 0u; l_7 < 8u; l_7 += 1u) {
    top_4 = max(top_4, pool[l_7 + 192u]);
  }
  const auto least_top_2 = top_4 ^ 0xffffffffu;
  auto low_2 = max(least_top_2, 1u);
  auto high_2 = top_3;
  auto above_2 = 0.0f;
  auto exact_2 = 0u;
  for (auto round_3 = 0u; round_3 < 32u; round_3 += 1u) {
    const auto goes_on_2 = (low_2 < high_2 ? 1u : 0u);
    if (goes_on_2 == 1u) {
      const auto less_2 = low_2 + ((high_2 - low_2 - 1u) / 2u);
      const auto middle_3 = less_2 + 1u;
      const auto own_count_4 = (key_21 > less_2 ? 1.0f : 0.0f) + (key_22 > less_2 ? 1.0f : 0.0f) + (key_23 > less_2 ? 1.0f : 0.0f) + (key_24 > less_2 ? 1.0f : 0.0f) + (key_25 > less_2 ? 1.0f : 0.0f) + (key_26 > less_2 ? 1.0f : 0.0f) + (key_27 > less_2 ? 1.0f : 0.0f) + (key_28 > less_2 ? 1.0f : 0.0f) + (key_29 > less_2 ? 1.0f : 0.0f) + (key_30 > less_2 ? 1.0f : 0.0f) + (key_31 > less_2 ? 1.0f : 0.0f) + (key_32 > less_2 ? 1.0f : 0.0f) + (key_33 > less_2 ? 1.0f : 0.0f) + (key_34 > less_2 ? 1.0f : 0.0f) + (key_35 > less_2 ? 1.0f : 0.0f) + (key_36 > less_2 ? 1.0f : 0.0f);
      const auto other_36 = __shfl_xor_sync(warp, own_count_4, 1u);
      const auto both_36 = own_count_4 + other_36;
      const auto other_37 = __shfl_xor_sync(warp, both_36, 2u);
      const auto both_37 = both_36 + other_37;
      const auto other_38 = __shfl_xor_sync(warp, both_37, 4u);
      const auto both_38 = both_37 + other_38;
      const auto other_39 = __shfl_xor_sync(warp, both_38, 8u);
      const auto both_39 = both_38 + other_39;
      const auto other_40 = __shfl_xor_sync(warp, both_39, 16u);
      const auto both_40 = both_39 + other_40;
      const auto counts_3 = (round_3 & 1u) * 8u + 200u;
      if ((lane % 32u) == 0u) {
        pool[(lane / 32u) + counts_3] = __float_as_uint(both_40);
      }
      __syncthreads();
      auto total_4 = __uint_as_float(pool[counts_3]);
      for (auto l_8 = 1u; l_8 < 8u; l_8 += 1u) {
        total_4 = total_4 + __uint_as_float(pool[counts_3 + l_8]);
      }
      exact_2 = (total_4 == 64.0f ? 1u : exact_2);
      above_2 = (total_4 < 64.0f ? total_4 : above_2);
      low_2 = (total_4 < 64.0f ? low_2 : middle_3);
      high_2 = (total_4 == 64.0f ? middle_3 : (total_4 < 64.0f ? less_2 : high_2));
    }
  }
  auto least_2 = 0u;
  auto most_2 = 0x25d00u;
  const auto tied_2 = (exact_2 == 1u ? 0u : 1u);
  if (tied_2 == 1u) {
    for (auto round_4 = 0u; round_4 < 18u; round_4 += 1u) {
      const auto middle_4 = (least_2 + most_2) / 2u;
      const auto own_count_5 = (key_21 == low_2 && column < middle_4 ? 1.0f : 0.0f) + (key_22 == low_2 && column_2 < middle_4 ? 1.0f : 0.0f) + (key_23 == low_2 && column_3 < middle_4 ? 1.0f : 0.0f) + (key_24 == low_2 && column_4 < middle_4 ? 1.0f : 0.0f) + (key_25 == low_2 && column_5 < middle_4 ? 1.0f : 0.0f) + (key_26 == low_2 && column_6 < middle_4 ? 1.0f : 0.0f) + (key_27 == low_2 && column_7 < middle_4 ? 1.0f : 0.0f) + (key_28 == low_2 && column_8 < middle_4 ? 1.0f : 0.0f) + (key_29 == low_2 && column_9 < middle_4 ? 1.0f : 0.0f) + (key_30 == low_2 && column_10 < middle_4 ? 1.0f : 0.0f) + (key_31 == low_2 && column_11 < middle_4 ? 1.0f : 0.0f) + (key_32 == low_2 && column_12 < middle_4 ? 1.0f : 0.0f) + (key_33 == low_2 && column_13 < middle_4 ? 1.0f : 0.0f) + (key_34 == low_2 && column_14 < middle_4 ? 1.0f : 0.0f) + (key_35 == low_2 && column_15 < middle_4 ? 1.0f : 0.0f) + (key_36 == low_2 && column_16 < middle_4 ? 1.0f : 0.0f);
      const auto other_41 = __shfl_xor_sync(warp, own_count_5, 1u);
      const auto both_41 = own_count_5 + other_41;
      const auto other_42 = __shfl_xor_sync(warp, both_41, 2u);
      const auto both_42 = both_41 + other_42;
      const auto other_43 = __shfl_xor_sync(warp, both_42, 4u);
      const auto both_43 = both_42 + other_43;
      const auto other_44 = __shfl_xor_sync(warp, both_43, 8u);
      const auto both_44 = both_43 + other_44;
      const auto other_45 = __shfl_xor_sync(warp, both_44, 16u);
      const auto both_45 = both_44 + other_45;
      const auto counts_4 = (round_4 & 1u) * 8u + 216u;
      if ((lane % 32u) == 0u) {
        pool[(lane / 32u) + counts_4] = __float_as_uint(both_45);
      }
      __syncthreads();
      auto total_5 = __uint_as_float(pool[counts_4]);
      for (auto l_9 = 1u; l_9 < 8u; l_9 += 1u) {
        total_5 = total_5 + __uint_as_float(pool[counts_4 + l_9]);
      }
      const auto count_2 = total_5 + above_2;
      least_2 = (count_2 < 64.0f ? min(middle_4 + 1u, most_2) : least_2);
      most_2 = (count_2 < 64.0f ? most_2 : middle_4);
    }
  }
  const auto own_count_6 = ((key_21 > low_2) || (key_21 == low_2 && column < most_2) ? 1.0f : 0.0f) + ((key_22 > low_2) || (key_22 == low_2 && column_2 < most_2) ? 1.0f : 0.0f) + ((key_23 > low_2) || (key_23 == low_2 && column_3 < most_2) ? 1.0f : 0.0f) + ((key_24 > low_2) || (key_24 == low_2 && column_4 < most_2) ? 1.0f : 0.0f) + ((key_25 > low_2) || (key_25 == low_2 && column_5 < most_2) ? 1.0f : 0.0f) + ((key_26 > low_2) || (key_26 == low_2 && column_6 < most_2) ? 1.0f : 0.0f) + ((key_27 > low_2) || (key_27 == low_2 && column_7 < most_2) ? 1.0f : 0.0f) + ((key_28 > low_2) || (key_28 == low_2 && column_8 < most_2) ? 1.0f : 0.0f) + ((key_29 > low_2) || (key_29 == low_2 && column_9 < most_2) ? 1.0f : 0.0f) + ((key_30 > low_2) || (key_30 == low_2 && column_10 < most_2) ? 1.0f : 0.0f) + ((key_31 > low_2) || (key_31 == low_2 && column_11 < most_2) ? 1.0f : 0.0f) + ((key_32 > low_2) || (key_32 == low_2 && column_12 < most_2) ? 1.0f : 0.0f) + ((key_33 > low_2) || (key_33 == low_2 && column_13 < most_2) ? 1.0f : 0.0f) + ((key_34 > low_2) || (key_34 == low_2 && column_14 < most_2) ? 1.0f : 0.0f) + ((key_35 > low_2) || (key_35 == low_2 && column_15 < most_2) ? 1.0f : 0.0f) + ((key_36 > low_2) || (key_36 == low_2 && column_16 < most_2) ? 1.0f : 0.0f);
  const auto other_46 = __shfl_xor_sync(warp, own_count_6, 1u);
  const auto before_6 = 0.0f + ((lane & 1u) > 0u ? other_46 : 0.0f);
  const auto both_46 = own_count_6 + other_46;
  const auto other_47 = __shfl_xor_sync(warp, both_46, 2u);
  const auto before_7 = before_6 + ((lane & 2u) > 0u ? other_47 : 0.0f);
  const auto both_47 = both_46 + other_47;
  const auto other_48 = __shfl_xor_sync(warp, both_47, 4u);
  const auto before_8 = before_7 + ((lane & 4u) > 0u ? other_48 : 0.0f);
  const auto both_48 = both_47 + other_48;
  const auto other_49 = __shfl_xor_sync(warp, both_48, 8u);
  const auto before_9 = before_8 + ((lane & 8u) > 0u ? other_49 : 0.0f);
  const auto both_49 = both_48 + other_49;
  const auto other_50 = __shfl_xor_sync(warp, both_49, 16u);
  const auto before_10 = before_9 + ((lane & 16u) > 0u ? other_50 : 0.0f);
  const auto both_50 = both_49 + other_50;
  if ((lane % 32u) == 0u) {
    pool[(lane / 32u) + 232u] = __float_as_uint(both_50);
  }
  __syncthreads();
  auto total_6 = before_10;
  for (auto l_10 = 0u; l_10 < 8u; l_10 += 1u) {
    total_6 = total_6 + (l_10 < (lane / 32u) ? __uint_as_float(pool[l_10 + 232u]) : 0.0f);
  }
  auto place_2 = __float2uint_rz(total_6);
  if (((key_21 > low_2) || (key_21 == low_2 && column < most_2)) && place_2 < 64u) {
    pool[place_2 + 240u] = key_21;
    pool[place_2 + 304u] = column;
    place_2 = place_2 + 1u;
  }
  if (((key_22 > low_2) || (key_22 == low_2 && column_2 < most_2)) && place_2 < 64u) {
    pool[place_2 + 240u] = key_22;
    pool[place_2 + 304u] = column_2;
    place_2 = place_2 + 1u;
  }
  if (((key_23 > low_2) || (key_23 == low_2 && column_3 < most_2)) && place_2 < 64u) {
    pool[place_2 + 240u] = key_23;
    pool[place_2 + 304u] = column_3;
    place_2 = place_2 + 1u;
  }
  if (((key_24 > low_2) || (key_24 == low_2 && column_4 < most_2)) && place_2 < 64u) {
    pool[place_2 + 240u] = key_24;
    pool[place_2 + 304u] = column_4;
    place_2 = place_2 + 1u;
  }
  if (((key_25 > low_2) || (key_25 == low_2 && column_5 < most_2)) && place_2 < 64u) {
    pool[place_2 + 240u] = key_25;
    pool[place_2 + 304u] = column_5;
    place_2 = place_2 + 1u;
  }
  if (((key_26 > low_2) || (key_26 == low_2 && column_6 < most_2)) && place_2 < 64u) {
    pool[place_2 + 240u] = key_26;
    pool[place_2 + 304u] = column_6;
    place_2 = place_2 + 1u;
  }
  if (((key_27 > low_2) || (key_27 == low_2 && column_7 < most_2)) && place_2 < 64u) {
    pool[place_2 + 240u] = key_27;
    pool[place_2 + 304u] = column_7;
    place_2 = place_2 + 1u;
  }
  if (((key_28 > low_2) || (key_28 == low_2 && column_8 < most_2)) && place_2 < 64u) {
    pool[place_2 + 240u] = key_28;
    pool[place_2 + 304u] = column_8;
    place_2 = place_2 + 1u;
  }
  if (((key_29 > low_2) || (key_29 == low_2 && column_9 < most_2)) && place_2 < 64u) {
    pool[place_2 + 240u] = key_29;
    pool[place_2 + 304u] = column_9;
    place_2 = place_2 + 1u;
  }
  if (((key_30 > low_2) || (key_30 == low_2 && column_10 < most_2)) && place_2 < 64u) {
    pool[place_2 + 240u] = key_30;
    pool[place_2 + 304u] = column_10;
    place_2 = place_2 + 1u;
  }
  if (((key_31 > low_2) || (key_31 == low_2 && column_11 < most_2)) && place_2 < 64u) {
    pool[place_2 + 240u] = key_31;
    pool[place_2 + 304u] = column_11;
    place_2 = place_2 + 1u;
  }
  if (((key_32 > low_2) || (key_32 == low_2 && column_12 < most_2)) && place_2 < 64u) {
    pool[place_2 + 240u] = key_32;
    pool[place_2 + 304u] = column_12;
    place_2 = place_2 + 1u;
  }
  if (((key_33 > low_2) || (key_33 == low_2 && column_13 < most_2)) && place_2 < 64u) {
    pool[place_2 + 240u] = key_33;
    pool[place_2 + 304u] = column_13;
    place_2 = place_2 + 1u;
  }
  if (((key_34 > low_2) || (key_34 == low_2 && column_14 < most_2)) && place_2 < 64u) {
    pool[place_2 + 240u] = key_34;
    pool[place_2 + 304u] = column_14;
    place_2 = place_2 + 1u;
  }
  if (((key_35 > low_2) || (key_35 == low_2 && column_15 < most_2)) && place_2 < 64u) {
    pool[place_2 + 240u] = key_35;
    pool[place_2 + 304u] = column_15;
    place_2 = place_2 + 1u;
  }
  if (((key_36 > low_2) || (key_36 == low_2 && column_16 < most_2)) && place_2 < 64u) {
    pool[place_2 + 240u] = key_36;
    pool[place_2 + 304u] = column_16;
    place_2 = place_2 + 1u;
  }
  __syncthreads();
  if (lane < 64u) {
    const auto word = pool[lane + 240u];
    const auto word_2 = pool[lane + 304u];
    auto place_3 = 0u;
    for (auto other_51 = 0u; other_51 < 64u; other_51 += 1u) {
      const auto word_3 = pool[other_51 + 240u];
      const auto word_4 = pool[other_51 + 304u];
      place_3 = ((word_3 > word) || (word_3 == word && word_4 < word_2) ? place_3 + 1u : place_3);
    }
    pool[place_3 + 368u] = __float_as_uint((float)(word_2));
  }
  __syncthreads();
  if (lane < 64u) {
    const auto id = min(__float2uint_rz(__uint_as_float(pool[lane + 368u])), 0x25cffu);
    const auto at_33 = own_group * 0x25d00u + id;
    const auto v_17 = __uint_as_float(b0[p0 + at_33]);
    b1[p1 + (own_group * 128u + lane)] = __float_as_uint(v_17);
    b1[p1 + (own_group * 128u + lane) + 64u] = pool[lane + 368u];
  }
}

