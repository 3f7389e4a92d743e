test cuda T=4 S=64
# Rows of three blocks, so that every other one begins in the middle of a word that another workgroup may write to.
graph cache_of_8_bits {
  %0 = input x : f32[T, 96]
  %1 = neg %0 : f32[T, 96]
  %2 = state kv : q8_0[S, 96]
  %3 = input slots : i32[T]
  %4 = store %2 %1 %3 : q8_0[S, 96]
  output kv = %4
}
---
// map_96: lanes 256; plain rows 2 width 96
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

extern "C" __global__ void __launch_bounds__(256) weft_map_96(
  const Args args,
  const Sizes sizes,
  const unsigned int* b0,
  const unsigned int* b1,
  unsigned int* b2
) {
  __shared__ __align__(16) unsigned int pool[68];
  const unsigned int lane = threadIdx.x;
  const unsigned int warp = 0xffffffffu;
  const auto p0 = args.words[0];
  const auto p1 = args.words[2];
  const auto p2 = args.words[4];
  const auto n2 = args.words[5];
  // part 0: map [T] × 96; plain rows 2 width 96
  const auto own_group = blockIdx.x;
  wait_for_previous();
  launch_next();
  const auto word = min(lane, 47u);
  const auto r = (word * 4u) / 96u;
  const auto own = (word * 4u) % 96u;
  const auto row = own_group * 2u + r;
  const auto i = min(row, sizes.words[0] - 1u);
  const auto at = i * 96u + own;
  const auto v = __uint_as_float(b0[p0 + at]);
  const auto v_2 = -(v);
  const auto r_2 = (word * 4u + 1u) / 96u;
  const auto own_2 = (word * 4u + 1u) % 96u;
  const auto row_2 = own_group * 2u + r_2;
  const auto i_2 = min(row_2, sizes.words[0] - 1u);
  const auto at_2 = i_2 * 96u + own_2;
  const auto v_3 = __uint_as_float(b0[p0 + at_2]);
  const auto v_4 = -(v_3);
  const auto r_3 = (word * 4u + 2u) / 96u;
  const auto own_3 = (word * 4u + 2u) % 96u;
  const auto row_3 = own_group * 2u + r_3;
  const auto i_3 = min(row_3, sizes.words[0] - 1u);
  const auto at_3 = i_3 * 96u + own_3;
  const auto v_5 = __uint_as_float(b0[p0 + at_3]);
  const auto v_6 = -(v_5);
  const auto r_4 = (word * 4u + 3u) / 96u;
  const auto own_4 = (word * 4u + 3u) % 96u;
  const auto row_4 = own_group * 2u + r_4;
  const auto i_4 = min(row_4, sizes.words[0] - 1u);
  const auto at_4 = i_4 * 96u + own_4;
  const auto v_7 = __uint_as_float(b0[p0 + at_4]);
  const auto v_8 = -(v_7);
  const auto mine = max(max(max(__float_as_uint(v_2) & 0x7fffffffu, __float_as_uint(v_4) & 0x7fffffffu), __float_as_uint(v_6) & 0x7fffffffu), __float_as_uint(v_8) & 0x7fffffffu);
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
  const auto packed = ((unsigned int)(__float2int_rz(min(max(rintf(v_2 * inverse), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_4 * inverse), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_6 * inverse), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_8 * inverse), -127.0f), 127.0f))) & 255u) << 24u);
  const auto mine_2 = __dp4a((int)(packed), (int)(0x1010101u), 0);
  const auto other_4 = __shfl_xor_sync(warp, mine_2, 1u);
  const auto both_4 = mine_2 + other_4;
  const auto other_5 = __shfl_xor_sync(warp, both_4, 2u);
  const auto both_5 = both_4 + other_5;
  if (lane < 48u) {
    pool[lane] = packed;
    if ((lane % 4u) == 0u) {
      pool[(lane / 4u) + 56u] = __float_as_uint((float)(both_5) * __uint_as_float(scale));
    }
    if ((lane % 8u) == 0u) {
      pool[(lane / 8u) + 48u] = scale;
    }
  }
  __syncthreads();
  if (lane < 52u) {
    const auto r_5 = lane / 26u;
    const auto word_2 = lane % 26u;
    const auto row_5 = own_group * 2u + r_5;
    if (row_5 < sizes.words[0]) {
      const auto index = b1[p1 + row_5];
      const auto first_block = (index * 96u) / 32u;
      if (index < (n2 / 96u)) {
        const auto to = p2 + ((first_block * 17u) / 2u) + word_2;
        const auto half = word_2 * 2u - (first_block & 1u);
        const auto next = half + 1u;
        if (half < 51u && next < 51u) {
          const auto block = r_5 * 3u + (half / 17u);
          const auto within = half % 17u;
          const auto quants = block * 8u;
          const auto pair = (within + 15u) % 16u;
          const auto bits = (within == 0u ? pack_halves(__uint_as_float(pool[block + 48u]), 0.0f) : (pool[quants + (pair / 2u)] >> ((pair & 1u) * 16u)) & 65535u);
          const auto block_2 = r_5 * 3u + (next / 17u);
          const auto within_2 = next % 17u;
          const auto quants_2 = block_2 * 8u;
          const auto pair_2 = (within_2 + 15u) % 16u;
          const auto bits_2 = (within_2 == 0u ? pack_halves(__uint_as_float(pool[block_2 + 48u]), 0.0f) : (pool[quants_2 + (pair_2 / 2u)] >> ((pair_2 & 1u) * 16u)) & 65535u);
          b2[to] = bits | (bits_2 << 16u);
        }
        if (next == 51u) {
          const auto block_3 = r_5 * 3u + (half / 17u);
          const auto within_3 = half % 17u;
          const auto quants_3 = block_3 * 8u;
          const auto pair_3 = (within_3 + 15u) % 16u;
          const auto bits_3 = (within_3 == 0u ? pack_halves(__uint_as_float(pool[block_3 + 48u]), 0.0f) : (pool[quants_3 + (pair_3 / 2u)] >> ((pair_3 & 1u) * 16u)) & 65535u);
          ((unsigned short*)(b2 + (to)))[0] = (unsigned short)(bits_3);
        }
        if (half == 0xffffffffu) {
          const auto block_4 = r_5 * 3u + (next / 17u);
          const auto within_4 = next % 17u;
          const auto quants_4 = block_4 * 8u;
          const auto pair_4 = (within_4 + 15u) % 16u;
          const auto bits_4 = (within_4 == 0u ? pack_halves(__uint_as_float(pool[block_4 + 48u]), 0.0f) : (pool[quants_4 + (pair_4 / 2u)] >> ((pair_4 & 1u) * 16u)) & 65535u);
          ((unsigned short*)(b2 + (to)))[1] = (unsigned short)((bits_4 << 16u) >> 16u);
        }
      }
    }
  }
}

