test cuda T=1 R=1 S=4096 P=128 workers=64
# Every kernel of a decode step.
graph mla_moe_layer {
  %0 = input x : f32[T, 2048]
  %1 = weight attn_norm : f32[2048]
  %2 = mul %0 %0 : f32[T, 2048]
  %3 = reduce_sum %2 axis=1 : f32[T, 1]
  %4 = const 2048.0 : f32[]
  %5 = div %3 %4 : f32[T, 1]
  %6 = const 1e-5 : f32[]
  %7 = add %5 %6 : f32[T, 1]
  %8 = rsqrt %7 : f32[T, 1]
  %9 = mul %0 %8 : f32[T, 2048]
  %10 = mul %9 %1 : f32[T, 2048]
  %11 = weight attn_q_a : q4_0[768, 2048]
  %12 = dot %10 %11 : f32[T, 768]
  %13 = weight attn_q_a_norm : f32[768]
  %14 = mul %12 %12 : f32[T, 768]
  %15 = reduce_sum %14 axis=1 : f32[T, 1]
  %16 = const 768.0 : f32[]
  %17 = div %15 %16 : f32[T, 1]
  %18 = add %17 %6 : f32[T, 1]
  %19 = rsqrt %18 : f32[T, 1]
  %20 = mul %12 %19 : f32[T, 768]
  %21 = mul %20 %13 : f32[T, 768]
  %22 = weight attn_q_b : q4_0[5120, 768]
  %23 = dot %21 %22 : f32[T, 5120]
  %24 = reshape %23 : f32[T, 20, 256]
  %25 = slice %24 axis=2 start=192 len=64 : f32[T, 20, 64]
  %26 = input pos : i32[T]
  %27 = input tables.0 : f32[T, 32]
  %28 = input tables.1 : f32[T, 32]
  %29 = rope %25 %27 %28 style=pairs : f32[T, 20, 64]
  %30 = slice %24 axis=2 start=0 len=192 : f32[T, 20, 192]
  %31 = weight attn_kv_a_mqa : q4_0[576, 2048]
  %32 = dot %10 %31 : f32[T, 576]
  %33 = slice %32 axis=1 start=0 len=512 : f32[T, 512]
  %34 = weight attn_kv_a_norm : f32[512]
  %35 = mul %33 %33 : f32[T, 512]
  %36 = reduce_sum %35 axis=1 : f32[T, 1]
  %37 = const 512.0 : f32[]
  %38 = div %36 %37 : f32[T, 1]
  %39 = add %38 %6 : f32[T, 1]
  %40 = rsqrt %39 : f32[T, 1]
  %41 = mul %33 %40 : f32[T, 512]
  %42 = mul %41 %34 : f32[T, 512]
  %43 = slice %32 axis=1 start=512 len=64 : f32[T, 64]
  %44 = rope %43 %27 %28 style=pairs : f32[T, 64]
  %45 = concat %42 %44 axis=1 : f32[T, 576]
  %46 = state kv : f16[S, 576]
  %47 = input slots : i32[T]
  %48 = store %46 %45 %47 : f16[S, 576]
  %49 = weight attn_k_b : q4_0[20, 512, 192]
  %50 = weight attn_v_b : q4_0[20, 256, 512]
  %51 = head_dot %30 %49 transposed=false : f32[T, 20, 512]
  %52 = concat %51 %29 axis=2 : f32[T, 20, 576]
  %53 = slice %48 axis=1 start=0 len=512 : f16[S, 512]
  %54 = input first : i32[T]
  %55 = input pages : i32[P]
  %56 = attend %52 %48 %53 %26 %54 %55 scale=0.0625 kv_heads=1 page=32 : f32[T, 20, 512]
  %57 = head_dot %56 %50 transposed=false : f32[T, 20, 256]
  %58 = reshape %57 : f32[T, 5120]
  %59 = weight attn_output : q4_0[2048, 5120]
  %60 = dot %58 %59 : f32[T, 2048]
  %61 = add %0 %60 : f32[T, 2048]
  %62 = weight ffn_norm : f32[2048]
  %63 = mul %61 %61 : f32[T, 2048]
  %64 = reduce_sum %63 axis=1 : f32[T, 1]
  %65 = div %64 %4 : f32[T, 1]
  %66 = add %65 %6 : f32[T, 1]
  %67 = rsqrt %66 : f32[T, 1]
  %68 = mul %61 %67 : f32[T, 2048]
  %69 = mul %68 %62 : f32[T, 2048]
  %70 = weight ffn_gate_inp : f32[64, 2048]
  %71 = dot %69 %70 : f32[T, 64]
  %72 = sigmoid %71 : f32[T, 64]
  %73 = weight exp_probs_b.bias : f32[64]
  %74 = add %72 %73 : f32[T, 64]
  %75 = topk %74 k=4 : i32[T, 4]
  %76 = take %72 %75 : f32[T, 4]
  %77 = reduce_sum %76 axis=1 : f32[T, 1]
  %78 = const 6.1035156e-5 : f32[]
  %79 = max %77 %78 : f32[T, 1]
  %80 = div %76 %79 : f32[T, 4]
  %81 = const 1.8 : f32[]
  %82 = mul %80 %81 : f32[T, 4]
  %83 = weight ffn_gate_exps : q4_0[64, 1536, 2048]
  %84 = weight ffn_up_exps : q4_0[64, 1536, 2048]
  %85 = select_dot %69 %83 %75 : f32[T, 4, 1536]
  %86 = select_dot %69 %84 %75 : f32[T, 4, 1536]
  %87 = weight ffn_down_exps : q4_0[64, 2048, 1536]
  %88 = silu %85 : f32[T, 4, 1536]
  %89 = mul %88 %86 : f32[T, 4, 1536]
  %90 = select_dot %89 %87 %75 : f32[T, 4, 2048]
  %91 = reshape %82 : f32[T, 4, 1]
  %92 = mul %90 %91 : f32[T, 4, 2048]
  %93 = reduce_sum %92 axis=1 : f32[T, 1, 2048]
  %94 = reshape %93 : f32[T, 2048]
  %95 = weight ffn_gate_shexp : q4_0[1536, 2048]
  %96 = dot %69 %95 : f32[T, 1536]
  %97 = weight ffn_up_shexp : q4_0[1536, 2048]
  %98 = dot %69 %97 : f32[T, 1536]
  %99 = silu %96 : f32[T, 1536]
  %100 = mul %99 %98 : f32[T, 1536]
  %101 = weight ffn_down_shexp : q4_0[2048, 1536]
  %102 = dot %100 %101 : f32[T, 2048]
  %103 = add %94 %102 : f32[T, 2048]
  %104 = add %61 %103 : f32[T, 2048]
  output kv = %48
  output x = %104
}
---
// dot_768x2048_q4_0+2: lanes 256; rows 1 width 16 reduce 16 upcast 1; rows 1 width 16 reduce 16 upcast 1; rows 1 width 64 reduce 16 upcast 1
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
  __shared__ unsigned int pool[5128];
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
  launch_next();
  // part 0: dot [T] × 768; rows 1 width 16 reduce 16 upcast 1
  const auto own_group = blockIdx.x;
  const auto count = sizes.words[0] * 48u;
  if (own_group < count) {
    const auto tiles = sizes.words[0];
    const auto rows_at = own_group % tiles;
    const auto first = (own_group / tiles) * 16u;
    wait_for_previous();
    // what is multiplied
    for (auto time = 0u; time < 8u; time += 1u) {
      const auto c = time * 256u + lane;
      const auto at = rows_at * 2048u + c;
      const auto v = __uint_as_float(b0[p0 + at]);
      const auto v_2 = __uint_as_float(b1[p1 + c]);
      pool[c + 704u] = __float_as_uint(v);
      pool[c + 2752u] = __float_as_uint(v_2);
    }
    __syncthreads();
    auto total = 0.0f;
    for (auto time_2 = 0u; time_2 < 8u; time_2 += 1u) {
      const auto c_2 = time_2 * 256u + lane;
      const auto v_3 = __uint_as_float(pool[c_2 + 704u]) * __uint_as_float(pool[c_2 + 704u]);
      total = total + v_3;
    }
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
      pool[(lane / 32u) + 4800u] = __float_as_uint(both_5);
    }
    __syncthreads();
    auto total_2 = __uint_as_float(pool[4800u]);
    for (auto l = 1u; l < 8u; l += 1u) {
      total_2 = total_2 + __uint_as_float(pool[l + 4800u]);
    }
    const auto v_4 = total_2 / 2048.0f;
    const auto v_5 = v_4 + 1e-5f;
    const auto v_6 = rsqrtf(v_5);
    for (auto time_3 = 0u; time_3 < 2u; time_3 += 1u) {
      const auto word = time_3 * 256u + lane;
      const auto v_7 = __uint_as_float(pool[word * 4u + 704u]) * v_6;
      const auto v_8 = v_7 * __uint_as_float(pool[word * 4u + 2752u]);
      const auto v_9 = __uint_as_float(pool[word * 4u + 705u]) * v_6;
      const auto v_10 = v_9 * __uint_as_float(pool[word * 4u + 2753u]);
      const auto v_11 = __uint_as_float(pool[word * 4u + 706u]) * v_6;
      const auto v_12 = v_11 * __uint_as_float(pool[word * 4u + 2754u]);
      const auto v_13 = __uint_as_float(pool[word * 4u + 707u]) * v_6;
      const auto v_14 = v_13 * __uint_as_float(pool[word * 4u + 2755u]);
      const auto mine = max(max(max(__float_as_uint(v_8) & 0x7fffffffu, __float_as_uint(v_10) & 0x7fffffffu), __float_as_uint(v_12) & 0x7fffffffu), __float_as_uint(v_14) & 0x7fffffffu);
      const auto other_6 = __shfl_xor_sync(warp, mine, 1u);
      const auto both_6 = max(mine, other_6);
      const auto other_7 = __shfl_xor_sync(warp, both_6, 2u);
      const auto both_7 = max(both_6, other_7);
      const auto other_8 = __shfl_xor_sync(warp, both_7, 4u);
      const auto both_8 = max(both_7, other_8);
      const auto largest = __uint_as_float(both_8);
      const auto scale = (both_8 < 0x7f800000u ? __float_as_uint(largest / 127.0f) : 0x7fc00000u);
      const auto inverse = (largest > 3.74e-37f && both_8 < 0x7f800000u ? 127.0f / largest : 0.0f);
      const auto packed = ((unsigned int)(__float2int_rz(min(max(rintf(v_8 * inverse), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_10 * inverse), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_12 * inverse), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_14 * inverse), -127.0f), 127.0f))) & 255u) << 24u);
      const auto mine_2 = __dp4a((int)(packed), (int)(0x1010101u), 0);
      const auto other_9 = __shfl_xor_sync(warp, mine_2, 1u);
      const auto both_9 = mine_2 + other_9;
      const auto other_10 = __shfl_xor_sync(warp, both_9, 2u);
      const auto both_10 = both_9 + other_10;
      pool[word] = packed;
      if ((word % 4u) == 0u) {
        pool[(word / 4u) + 576u] = __float_as_uint((float)(both_10) * __uint_as_float(scale));
      }
      if ((word % 8u) == 0u) {
        pool[(word / 8u) + 512u] = scale;
      }
    }
    __syncthreads();
    const auto share = lane / 16u;
    const auto own = lane % 16u;
    const auto column = first + own;
    // times q4_0[768, 2048]
    auto sum = 0.0f;
    const auto tile = p2 + (column / 16u) * 4608u;
    const auto lane_row = column % 16u;
    const auto at_2 = tile + lane_row + share * 64u;
    const auto w = b2[at_2];
    const auto w_2 = b2[at_2 + 16u];
    const auto w_3 = b2[at_2 + 32u];
    const auto w_4 = b2[at_2 + 48u];
    const auto scale_2 = half_to_float(b2[tile + 4096u + ((share * 16u + lane_row) / 2u)] >> (((share * 16u + lane_row) % 2u) * 16u));
    const auto b = share + 16u;
    const auto at_3 = tile + lane_row + b * 64u;
    const auto w_5 = b2[at_3];
    const auto w_6 = b2[at_3 + 16u];
    const auto w_7 = b2[at_3 + 32u];
    const auto w_8 = b2[at_3 + 48u];
    const auto scale_3 = half_to_float(b2[tile + 4096u + ((b * 16u + lane_row) / 2u)] >> (((b * 16u + lane_row) % 2u) * 16u));
    const auto b_2 = share + 32u;
    const auto at_4 = tile + lane_row + b_2 * 64u;
    const auto w_9 = b2[at_4];
    const auto w_10 = b2[at_4 + 16u];
    const auto w_11 = b2[at_4 + 32u];
    const auto w_12 = b2[at_4 + 48u];
    const auto scale_4 = half_to_float(b2[tile + 4096u + ((b_2 * 16u + lane_row) / 2u)] >> (((b_2 * 16u + lane_row) % 2u) * 16u));
    const auto b_3 = share + 48u;
    const auto at_5 = tile + lane_row + b_3 * 64u;
    const auto w_13 = b2[at_5];
    const auto w_14 = b2[at_5 + 16u];
    const auto w_15 = b2[at_5 + 32u];
    const auto w_16 = b2[at_5 + 48u];
    const auto scale_5 = half_to_float(b2[tile + 4096u + ((b_3 * 16u + lane_row) / 2u)] >> (((b_3 * 16u + lane_row) % 2u) * 16u));
    const auto xw = share * 8u;
    const auto xq = pool[xw];
    const auto xq_2 = pool[xw + 1u];
    const auto xq_3 = pool[xw + 2u];
    const auto xq_4 = pool[xw + 3u];
    const auto xq_5 = pool[xw + 4u];
    const auto xq_6 = pool[xw + 5u];
    const auto xq_7 = pool[xw + 6u];
    const auto xq_8 = pool[xw + 7u];
    const auto d = __uint_as_float(pool[share + 512u]);
    sum = fmaf((float)(__dp4a((int)(((((w_4 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_8), __dp4a((int)(((((w_3 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_7), __dp4a((int)(((((w_2 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_6), __dp4a((int)(((((w >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_5), __dp4a((int)((((w_4 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_4), __dp4a((int)((((w_3 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_3), __dp4a((int)((((w_2 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_2), __dp4a((int)((((w & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq), 0))))))))), scale_2 * d, sum);
    const auto xw_2 = b * 8u;
    const auto xq_9 = pool[xw_2];
    const auto xq_10 = pool[xw_2 + 1u];
    const auto xq_11 = pool[xw_2 + 2u];
    const auto xq_12 = pool[xw_2 + 3u];
    const auto xq_13 = pool[xw_2 + 4u];
    const auto xq_14 = pool[xw_2 + 5u];
    const auto xq_15 = pool[xw_2 + 6u];
    const auto xq_16 = pool[xw_2 + 7u];
    const auto d_2 = __uint_as_float(pool[b + 512u]);
    sum = fmaf((float)(__dp4a((int)(((((w_8 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_16), __dp4a((int)(((((w_7 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_15), __dp4a((int)(((((w_6 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_14), __dp4a((int)(((((w_5 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_13), __dp4a((int)((((w_8 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_12), __dp4a((int)((((w_7 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_11), __dp4a((int)((((w_6 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_10), __dp4a((int)((((w_5 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_9), 0))))))))), scale_3 * d_2, sum);
    const auto xw_3 = b_2 * 8u;
    const auto xq_17 = pool[xw_3];
    const auto xq_18 = pool[xw_3 + 1u];
    const auto xq_19 = pool[xw_3 + 2u];
    const auto xq_20 = pool[xw_3 + 3u];
    const auto xq_21 = pool[xw_3 + 4u];
    const auto xq_22 = pool[xw_3 + 5u];
    const auto xq_23 = pool[xw_3 + 6u];
    const auto xq_24 = pool[xw_3 + 7u];
    const auto d_3 = __uint_as_float(pool[b_2 + 512u]);
    sum = fmaf((float)(__dp4a((int)(((((w_12 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_24), __dp4a((int)(((((w_11 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_23), __dp4a((int)(((((w_10 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_22), __dp4a((int)(((((w_9 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_21), __dp4a((int)((((w_12 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_20), __dp4a((int)((((w_11 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_19), __dp4a((int)((((w_10 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_18), __dp4a((int)((((w_9 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_17), 0))))))))), scale_4 * d_3, sum);
    const auto xw_4 = b_3 * 8u;
    const auto xq_25 = pool[xw_4];
    const auto xq_26 = pool[xw_4 + 1u];
    const auto xq_27 = pool[xw_4 + 2u];
    const auto xq_28 = pool[xw_4 + 3u];
    const auto xq_29 = pool[xw_4 + 4u];
    const auto xq_30 = pool[xw_4 + 5u];
    const auto xq_31 = pool[xw_4 + 6u];
    const auto xq_32 = pool[xw_4 + 7u];
    const auto d_4 = __uint_as_float(pool[b_3 + 512u]);
    sum = fmaf((float)(__dp4a((int)(((((w_16 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_32), __dp4a((int)(((((w_15 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_31), __dp4a((int)(((((w_14 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_30), __dp4a((int)(((((w_13 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_29), __dp4a((int)((((w_16 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_28), __dp4a((int)((((w_15 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_27), __dp4a((int)((((w_14 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_26), __dp4a((int)((((w_13 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_25), 0))))))))), scale_5 * d_4, sum);
    const auto to = share * 16u + own + 4808u;
    pool[to] = __float_as_uint(sum);
    __syncthreads();
    if (lane < 16u) {
      const auto own_2 = lane % 16u;
      auto total_3 = __uint_as_float(pool[lane + 4808u]);
      for (auto l_2 = 1u; l_2 < 16u; l_2 += 1u) {
        total_3 = total_3 + __uint_as_float(pool[lane + 4808u + l_2 * 16u]);
      }
      pool[(lane / 16u) * 16u + own_2 + 4808u] = __float_as_uint(total_3);
    }
    __syncthreads();
    if (lane < 16u) {
      const auto column_2 = first + lane;
      const auto v_15 = __uint_as_float(pool[lane + 4808u]);
      b3[p3 + (rows_at * 768u + column_2)] = __float_as_uint(v_15);
    }
  }
  // part 1: dot [T] × 512; rows 1 width 16 reduce 16 upcast 1
  const auto own_group_2 = blockIdx.x - count;
  const auto count_2 = sizes.words[0] * 32u;
  if (own_group_2 < count_2) {
    const auto tiles_2 = sizes.words[0];
    const auto rows_at_2 = own_group_2 % tiles_2;
    const auto first_2 = (own_group_2 / tiles_2) * 16u;
    wait_for_previous();
    // what is multiplied
    for (auto time_4 = 0u; time_4 < 8u; time_4 += 1u) {
      const auto c_3 = time_4 * 256u + lane;
      const auto at_6 = rows_at_2 * 2048u + c_3;
      const auto v_16 = __uint_as_float(b0[p0 + at_6]);
      const auto v_17 = __uint_as_float(b1[p1 + c_3]);
      pool[c_3 + 704u] = __float_as_uint(v_16);
      pool[c_3 + 2752u] = __float_as_uint(v_17);
    }
    __syncthreads();
    auto total_4 = 0.0f;
    for (auto time_5 = 0u; time_5 < 8u; time_5 += 1u) {
      const auto c_4 = time_5 * 256u + lane;
      const auto v_18 = __uint_as_float(pool[c_4 + 704u]) * __uint_as_float(pool[c_4 + 704u]);
      total_4 = total_4 + v_18;
    }
    const auto other_11 = __shfl_xor_sync(warp, total_4, 1u);
    const auto both_11 = total_4 + other_11;
    const auto other_12 = __shfl_xor_sync(warp, both_11, 2u);
    const auto both_12 = both_11 + other_12;
    const auto other_13 = __shfl_xor_sync(warp, both_12, 4u);
    const auto both_13 = both_12 + other_13;
    const auto other_14 = __shfl_xor_sync(warp, both_13, 8u);
    const auto both_14 = both_13 + other_14;
    const auto other_15 = __shfl_xor_sync(warp, both_14, 16u);
    const auto both_15 = both_14 + other_15;
    if ((lane % 32u) == 0u) {
      pool[(lane / 32u) + 4800u] = __float_as_uint(both_15);
    }
    __syncthreads();
    auto total_5 = __uint_as_float(pool[4800u]);
    for (auto l_3 = 1u; l_3 < 8u; l_3 += 1u) {
      total_5 = total_5 + __uint_as_float(pool[l_3 + 4800u]);
    }
    const auto v_19 = total_5 / 2048.0f;
    const auto v_20 = v_19 + 1e-5f;
    const auto v_21 = rsqrtf(v_20);
    for (auto time_6 = 0u; time_6 < 2u; time_6 += 1u) {
      const auto word_2 = time_6 * 256u + lane;
      const auto v_22 = __uint_as_float(pool[word_2 * 4u + 704u]) * v_21;
      const auto v_23 = v_22 * __uint_as_float(pool[word_2 * 4u + 2752u]);
      const auto v_24 = __uint_as_float(pool[word_2 * 4u + 705u]) * v_21;
      const auto v_25 = v_24 * __uint_as_float(pool[word_2 * 4u + 2753u]);
      const auto v_26 = __uint_as_float(pool[word_2 * 4u + 706u]) * v_21;
      const auto v_27 = v_26 * __uint_as_float(pool[word_2 * 4u + 2754u]);
      const auto v_28 = __uint_as_float(pool[word_2 * 4u + 707u]) * v_21;
      const auto v_29 = v_28 * __uint_as_float(pool[word_2 * 4u + 2755u]);
      const auto mine_3 = max(max(max(__float_as_uint(v_23) & 0x7fffffffu, __float_as_uint(v_25) & 0x7fffffffu), __float_as_uint(v_27) & 0x7fffffffu), __float_as_uint(v_29) & 0x7fffffffu);
      const auto other_16 = __shfl_xor_sync(warp, mine_3, 1u);
      const auto both_16 = max(mine_3, other_16);
      const auto other_17 = __shfl_xor_sync(warp, both_16, 2u);
      const auto both_17 = max(both_16, other_17);
      const auto other_18 = __shfl_xor_sync(warp, both_17, 4u);
      const auto both_18 = max(both_17, other_18);
      const auto largest_2 = __uint_as_float(both_18);
      const auto scale_6 = (both_18 < 0x7f800000u ? __float_as_uint(largest_2 / 127.0f) : 0x7fc00000u);
      const auto inverse_2 = (largest_2 > 3.74e-37f && both_18 < 0x7f800000u ? 127.0f / largest_2 : 0.0f);
      const auto packed_2 = ((unsigned int)(__float2int_rz(min(max(rintf(v_23 * inverse_2), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_25 * inverse_2), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_27 * inverse_2), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_29 * inverse_2), -127.0f), 127.0f))) & 255u) << 24u);
      const auto mine_4 = __dp4a((int)(packed_2), (int)(0x1010101u), 0);
      const auto other_19 = __shfl_xor_sync(warp, mine_4, 1u);
      const auto both_19 = mine_4 + other_19;
      const auto other_20 = __shfl_xor_sync(warp, both_19, 2u);
      const auto both_20 = both_19 + other_20;
      pool[word_2] = packed_2;
      if ((word_2 % 4u) == 0u) {
        pool[(word_2 / 4u) + 576u] = __float_as_uint((float)(both_20) * __uint_as_float(scale_6));
      }
      if ((word_2 % 8u) == 0u) {
        pool[(word_2 / 8u) + 512u] = scale_6;
      }
    }
    __syncthreads();
    const auto share_2 = lane / 16u;
    const auto own_3 = lane % 16u;
    const auto column_3 = first_2 + own_3;
    // times q4_0[512, 2048]
    auto sum_2 = 0.0f;
    const auto tile_2 = p4 + (column_3 / 16u) * 4608u;
    const auto lane_row_2 = column_3 % 16u;
    const auto at_7 = tile_2 + lane_row_2 + share_2 * 64u;
    const auto w_17 = b4[at_7];
    const auto w_18 = b4[at_7 + 16u];
    const auto w_19 = b4[at_7 + 32u];
    const auto w_20 = b4[at_7 + 48u];
    const auto scale_7 = half_to_float(b4[tile_2 + 4096u + ((share_2 * 16u + lane_row_2) / 2u)] >> (((share_2 * 16u + lane_row_2) % 2u) * 16u));
    const auto b_4 = share_2 + 16u;
    const auto at_8 = tile_2 + lane_row_2 + b_4 * 64u;
    const auto w_21 = b4[at_8];
    const auto w_22 = b4[at_8 + 16u];
    const auto w_23 = b4[at_8 + 32u];
    const auto w_24 = b4[at_8 + 48u];
    const auto scale_8 = half_to_float(b4[tile_2 + 4096u + ((b_4 * 16u + lane_row_2) / 2u)] >> (((b_4 * 16u + lane_row_2) % 2u) * 16u));
    const auto b_5 = share_2 + 32u;
    const auto at_9 = tile_2 + lane_row_2 + b_5 * 64u;
    const auto w_25 = b4[at_9];
    const auto w_26 = b4[at_9 + 16u];
    const auto w_27 = b4[at_9 + 32u];
    const auto w_28 = b4[at_9 + 48u];
    const auto scale_9 = half_to_float(b4[tile_2 + 4096u + ((b_5 * 16u + lane_row_2) / 2u)] >> (((b_5 * 16u + lane_row_2) % 2u) * 16u));
    const auto b_6 = share_2 + 48u;
    const auto at_10 = tile_2 + lane_row_2 + b_6 * 64u;
    const auto w_29 = b4[at_10];
    const auto w_30 = b4[at_10 + 16u];
    const auto w_31 = b4[at_10 + 32u];
    const auto w_32 = b4[at_10 + 48u];
    const auto scale_10 = half_to_float(b4[tile_2 + 4096u + ((b_6 * 16u + lane_row_2) / 2u)] >> (((b_6 * 16u + lane_row_2) % 2u) * 16u));
    const auto xw_5 = share_2 * 8u;
    const auto xq_33 = pool[xw_5];
    const auto xq_34 = pool[xw_5 + 1u];
    const auto xq_35 = pool[xw_5 + 2u];
    const auto xq_36 = pool[xw_5 + 3u];
    const auto xq_37 = pool[xw_5 + 4u];
    const auto xq_38 = pool[xw_5 + 5u];
    const auto xq_39 = pool[xw_5 + 6u];
    const auto xq_40 = pool[xw_5 + 7u];
    const auto d_5 = __uint_as_float(pool[share_2 + 512u]);
    sum_2 = fmaf((float)(__dp4a((int)(((((w_20 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_40), __dp4a((int)(((((w_19 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_39), __dp4a((int)(((((w_18 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_38), __dp4a((int)(((((w_17 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_37), __dp4a((int)((((w_20 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_36), __dp4a((int)((((w_19 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_35), __dp4a((int)((((w_18 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_34), __dp4a((int)((((w_17 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_33), 0))))))))), scale_7 * d_5, sum_2);
    const auto xw_6 = b_4 * 8u;
    const auto xq_41 = pool[xw_6];
    const auto xq_42 = pool[xw_6 + 1u];
    const auto xq_43 = pool[xw_6 + 2u];
    const auto xq_44 = pool[xw_6 + 3u];
    const auto xq_45 = pool[xw_6 + 4u];
    const auto xq_46 = pool[xw_6 + 5u];
    const auto xq_47 = pool[xw_6 + 6u];
    const auto xq_48 = pool[xw_6 + 7u];
    const auto d_6 = __uint_as_float(pool[b_4 + 512u]);
    sum_2 = fmaf((float)(__dp4a((int)(((((w_24 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_48), __dp4a((int)(((((w_23 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_47), __dp4a((int)(((((w_22 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_46), __dp4a((int)(((((w_21 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_45), __dp4a((int)((((w_24 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_44), __dp4a((int)((((w_23 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_43), __dp4a((int)((((w_22 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_42), __dp4a((int)((((w_21 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_41), 0))))))))), scale_8 * d_6, sum_2);
    const auto xw_7 = b_5 * 8u;
    const auto xq_49 = pool[xw_7];
    const auto xq_50 = pool[xw_7 + 1u];
    const auto xq_51 = pool[xw_7 + 2u];
    const auto xq_52 = pool[xw_7 + 3u];
    const auto xq_53 = pool[xw_7 + 4u];
    const auto xq_54 = pool[xw_7 + 5u];
    const auto xq_55 = pool[xw_7 + 6u];
    const auto xq_56 = pool[xw_7 + 7u];
    const auto d_7 = __uint_as_float(pool[b_5 + 512u]);
    sum_2 = fmaf((float)(__dp4a((int)(((((w_28 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_56), __dp4a((int)(((((w_27 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_55), __dp4a((int)(((((w_26 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_54), __dp4a((int)(((((w_25 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_53), __dp4a((int)((((w_28 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_52), __dp4a((int)((((w_27 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_51), __dp4a((int)((((w_26 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_50), __dp4a((int)((((w_25 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_49), 0))))))))), scale_9 * d_7, sum_2);
    const auto xw_8 = b_6 * 8u;
    const auto xq_57 = pool[xw_8];
    const auto xq_58 = pool[xw_8 + 1u];
    const auto xq_59 = pool[xw_8 + 2u];
    const auto xq_60 = pool[xw_8 + 3u];
    const auto xq_61 = pool[xw_8 + 4u];
    const auto xq_62 = pool[xw_8 + 5u];
    const auto xq_63 = pool[xw_8 + 6u];
    const auto xq_64 = pool[xw_8 + 7u];
    const auto d_8 = __uint_as_float(pool[b_6 + 512u]);
    sum_2 = fmaf((float)(__dp4a((int)(((((w_32 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_64), __dp4a((int)(((((w_31 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_63), __dp4a((int)(((((w_30 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_62), __dp4a((int)(((((w_29 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_61), __dp4a((int)((((w_32 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_60), __dp4a((int)((((w_31 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_59), __dp4a((int)((((w_30 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_58), __dp4a((int)((((w_29 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_57), 0))))))))), scale_10 * d_8, sum_2);
    const auto to_2 = share_2 * 16u + own_3 + 4808u;
    pool[to_2] = __float_as_uint(sum_2);
    __syncthreads();
    if (lane < 16u) {
      const auto own_4 = lane % 16u;
      auto total_6 = __uint_as_float(pool[lane + 4808u]);
      for (auto l_4 = 1u; l_4 < 16u; l_4 += 1u) {
        total_6 = total_6 + __uint_as_float(pool[lane + 4808u + l_4 * 16u]);
      }
      pool[(lane / 16u) * 16u + own_4 + 4808u] = __float_as_uint(total_6);
    }
    __syncthreads();
    if (lane < 16u) {
      const auto column_4 = first_2 + lane;
      const auto v_30 = __uint_as_float(pool[lane + 4808u]);
      b3[p5 + (rows_at_2 * 512u + column_4)] = __float_as_uint(v_30);
    }
  }
  const auto end = count + count_2;
  // part 2: dot [T] × 64; rows 1 width 64 reduce 16 upcast 1
  const auto own_group_3 = blockIdx.x - end;
  const auto count_3 = sizes.words[0];
  if (own_group_3 < count_3) {
    wait_for_previous();
    // what is multiplied
    for (auto time_7 = 0u; time_7 < 8u; time_7 += 1u) {
      const auto c_5 = time_7 * 256u + lane;
      const auto at_11 = own_group_3 * 2048u + c_5;
      const auto v_31 = __uint_as_float(b0[p0 + at_11]);
      const auto v_32 = __uint_as_float(b1[p1 + c_5]);
      pool[c_5 + 704u] = __float_as_uint(v_31);
      pool[c_5 + 2752u] = __float_as_uint(v_32);
    }
    __syncthreads();
    auto total_7 = 0.0f;
    for (auto time_8 = 0u; time_8 < 8u; time_8 += 1u) {
      const auto c_6 = time_8 * 256u + lane;
      const auto v_33 = __uint_as_float(pool[c_6 + 704u]) * __uint_as_float(pool[c_6 + 704u]);
      total_7 = total_7 + v_33;
    }
    const auto other_21 = __shfl_xor_sync(warp, total_7, 1u);
    const auto both_21 = total_7 + other_21;
    const auto other_22 = __shfl_xor_sync(warp, both_21, 2u);
    const auto both_22 = both_21 + other_22;
    const auto other_23 = __shfl_xor_sync(warp, both_22, 4u);
    const auto both_23 = both_22 + other_23;
    const auto other_24 = __shfl_xor_sync(warp, both_23, 8u);
    const auto both_24 = both_23 + other_24;
    const auto other_25 = __shfl_xor_sync(warp, both_24, 16u);
    const auto both_25 = both_24 + other_25;
    if ((lane % 32u) == 0u) {
      pool[(lane / 32u) + 4800u] = __float_as_uint(both_25);
    }
    __syncthreads();
    auto total_8 = __uint_as_float(pool[4800u]);
    for (auto l_5 = 1u; l_5 < 8u; l_5 += 1u) {
      total_8 = total_8 + __uint_as_float(pool[l_5 + 4800u]);
    }
    const auto v_34 = total_8 / 2048.0f;
    const auto v_35 = v_34 + 1e-5f;
    const auto v_36 = rsqrtf(v_35);
    for (auto time_9 = 0u; time_9 < 2u; time_9 += 1u) {
      const auto word_3 = time_9 * 256u + lane;
      const auto v_37 = __uint_as_float(pool[word_3 * 4u + 704u]) * v_36;
      const auto v_38 = v_37 * __uint_as_float(pool[word_3 * 4u + 2752u]);
      const auto v_39 = __uint_as_float(pool[word_3 * 4u + 705u]) * v_36;
      const auto v_40 = v_39 * __uint_as_float(pool[word_3 * 4u + 2753u]);
      const auto v_41 = __uint_as_float(pool[word_3 * 4u + 706u]) * v_36;
      const auto v_42 = v_41 * __uint_as_float(pool[word_3 * 4u + 2754u]);
      const auto v_43 = __uint_as_float(pool[word_3 * 4u + 707u]) * v_36;
      const auto v_44 = v_43 * __uint_as_float(pool[word_3 * 4u + 2755u]);
      const auto mine_5 = max(max(max(__float_as_uint(v_38) & 0x7fffffffu, __float_as_uint(v_40) & 0x7fffffffu), __float_as_uint(v_42) & 0x7fffffffu), __float_as_uint(v_44) & 0x7fffffffu);
      const auto other_26 = __shfl_xor_sync(warp, mine_5, 1u);
      const auto both_26 = max(mine_5, other_26);
      const auto other_27 = __shfl_xor_sync(warp, both_26, 2u);
      const auto both_27 = max(both_26, other_27);
      const auto other_28 = __shfl_xor_sync(warp, both_27, 4u);
      const auto both_28 = max(both_27, other_28);
      const auto largest_3 = __uint_as_float(both_28);
      const auto scale_11 = (both_28 < 0x7f800000u ? __float_as_uint(largest_3 / 127.0f) : 0x7fc00000u);
      const auto inverse_3 = (largest_3 > 3.74e-37f && both_28 < 0x7f800000u ? 127.0f / largest_3 : 0.0f);
      const auto packed_3 = ((unsigned int)(__float2int_rz(min(max(rintf(v_38 * inverse_3), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_40 * inverse_3), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_42 * inverse_3), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_44 * inverse_3), -127.0f), 127.0f))) & 255u) << 24u);
      const auto mine_6 = __dp4a((int)(packed_3), (int)(0x1010101u), 0);
      const auto other_29 = __shfl_xor_sync(warp, mine_6, 1u);
      const auto both_29 = mine_6 + other_29;
      const auto other_30 = __shfl_xor_sync(warp, both_29, 2u);
      const auto both_30 = both_29 + other_30;
      pool[word_3] = packed_3;
      if ((word_3 % 4u) == 0u) {
        pool[(word_3 / 4u) + 576u] = __float_as_uint((float)(both_30) * __uint_as_float(scale_11));
      }
      if ((word_3 % 8u) == 0u) {
        pool[(word_3 / 8u) + 512u] = scale_11;
      }
    }
    __syncthreads();
    for (auto at_12 = 0u; at_12 < 64u; at_12 += 16u) {
      const auto share_3 = lane / 16u;
      const auto own_5 = lane % 16u;
      const auto column_5 = at_12 + own_5;
      // times q4_0[64, 2048]
      auto sum_3 = 0.0f;
      const auto tile_3 = p4 + ((column_5 + 512u) / 16u) * 4608u;
      const auto lane_row_3 = (column_5 + 512u) % 16u;
      const auto at_13 = tile_3 + lane_row_3 + share_3 * 64u;
      const auto w_33 = b4[at_13];
      const auto w_34 = b4[at_13 + 16u];
      const auto w_35 = b4[at_13 + 32u];
      const auto w_36 = b4[at_13 + 48u];
      const auto scale_12 = half_to_float(b4[tile_3 + 4096u + ((share_3 * 16u + lane_row_3) / 2u)] >> (((share_3 * 16u + lane_row_3) % 2u) * 16u));
      const auto b_7 = share_3 + 16u;
      const auto at_14 = tile_3 + lane_row_3 + b_7 * 64u;
      const auto w_37 = b4[at_14];
      const auto w_38 = b4[at_14 + 16u];
      const auto w_39 = b4[at_14 + 32u];
      const auto w_40 = b4[at_14 + 48u];
      const auto scale_13 = half_to_float(b4[tile_3 + 4096u + ((b_7 * 16u + lane_row_3) / 2u)] >> (((b_7 * 16u + lane_row_3) % 2u) * 16u));
      const auto b_8 = share_3 + 32u;
      const auto at_15 = tile_3 + lane_row_3 + b_8 * 64u;
      const auto w_41 = b4[at_15];
      const auto w_42 = b4[at_15 + 16u];
      const auto w_43 = b4[at_15 + 32u];
      const auto w_44 = b4[at_15 + 48u];
      const auto scale_14 = half_to_float(b4[tile_3 + 4096u + ((b_8 * 16u + lane_row_3) / 2u)] >> (((b_8 * 16u + lane_row_3) % 2u) * 16u));
      const auto b_9 = share_3 + 48u;
      const auto at_16 = tile_3 + lane_row_3 + b_9 * 64u;
      const auto w_45 = b4[at_16];
      const auto w_46 = b4[at_16 + 16u];
      const auto w_47 = b4[at_16 + 32u];
      const auto w_48 = b4[at_16 + 48u];
      const auto scale_15 = half_to_float(b4[tile_3 + 4096u + ((b_9 * 16u + lane_row_3) / 2u)] >> (((b_9 * 16u + lane_row_3) % 2u) * 16u));
      const auto xw_9 = share_3 * 8u;
      const auto xq_65 = pool[xw_9];
      const auto xq_66 = pool[xw_9 + 1u];
      const auto xq_67 = pool[xw_9 + 2u];
      const auto xq_68 = pool[xw_9 + 3u];
      const auto xq_69 = pool[xw_9 + 4u];
      const auto xq_70 = pool[xw_9 + 5u];
      const auto xq_71 = pool[xw_9 + 6u];
      const auto xq_72 = pool[xw_9 + 7u];
      const auto d_9 = __uint_as_float(pool[share_3 + 512u]);
      sum_3 = fmaf((float)(__dp4a((int)(((((w_36 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_72), __dp4a((int)(((((w_35 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_71), __dp4a((int)(((((w_34 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_70), __dp4a((int)(((((w_33 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_69), __dp4a((int)((((w_36 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_68), __dp4a((int)((((w_35 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_67), __dp4a((int)((((w_34 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_66), __dp4a((int)((((w_33 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_65), 0))))))))), scale_12 * d_9, sum_3);
      const auto xw_10 = b_7 * 8u;
      const auto xq_73 = pool[xw_10];
      const auto xq_74 = pool[xw_10 + 1u];
      const auto xq_75 = pool[xw_10 + 2u];
      const auto xq_76 = pool[xw_10 + 3u];
      const auto xq_77 = pool[xw_10 + 4u];
      const auto xq_78 = pool[xw_10 + 5u];
      const auto xq_79 = pool[xw_10 + 6u];
      const auto xq_80 = pool[xw_10 + 7u];
      const auto d_10 = __uint_as_float(pool[b_7 + 512u]);
      sum_3 = fmaf((float)(__dp4a((int)(((((w_40 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_80), __dp4a((int)(((((w_39 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_79), __dp4a((int)(((((w_38 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_78), __dp4a((int)(((((w_37 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_77), __dp4a((int)((((w_40 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_76), __dp4a((int)((((w_39 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_75), __dp4a((int)((((w_38 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_74), __dp4a((int)((((w_37 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_73), 0))))))))), scale_13 * d_10, sum_3);
      const auto xw_11 = b_8 * 8u;
      const auto xq_81 = pool[xw_11];
      const auto xq_82 = pool[xw_11 + 1u];
      const auto xq_83 = pool[xw_11 + 2u];
      const auto xq_84 = pool[xw_11 + 3u];
      const auto xq_85 = pool[xw_11 + 4u];
      const auto xq_86 = pool[xw_11 + 5u];
      const auto xq_87 = pool[xw_11 + 6u];
      const auto xq_88 = pool[xw_11 + 7u];
      const auto d_11 = __uint_as_float(pool[b_8 + 512u]);
      sum_3 = fmaf((float)(__dp4a((int)(((((w_44 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_88), __dp4a((int)(((((w_43 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_87), __dp4a((int)(((((w_42 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_86), __dp4a((int)(((((w_41 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_85), __dp4a((int)((((w_44 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_84), __dp4a((int)((((w_43 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_83), __dp4a((int)((((w_42 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_82), __dp4a((int)((((w_41 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_81), 0))))))))), scale_14 * d_11, sum_3);
      const auto xw_12 = b_9 * 8u;
      const auto xq_89 = pool[xw_12];
      const auto xq_90 = pool[xw_12 + 1u];
      const auto xq_91 = pool[xw_12 + 2u];
      const auto xq_92 = pool[xw_12 + 3u];
      const auto xq_93 = pool[xw_12 + 4u];
      const auto xq_94 = pool[xw_12 + 5u];
      const auto xq_95 = pool[xw_12 + 6u];
      const auto xq_96 = pool[xw_12 + 7u];
      const auto d_12 = __uint_as_float(pool[b_9 + 512u]);
      sum_3 = fmaf((float)(__dp4a((int)(((((w_48 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_96), __dp4a((int)(((((w_47 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_95), __dp4a((int)(((((w_46 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_94), __dp4a((int)(((((w_45 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_93), __dp4a((int)((((w_48 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_92), __dp4a((int)((((w_47 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_91), __dp4a((int)((((w_46 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_90), __dp4a((int)((((w_45 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_89), 0))))))))), scale_15 * d_12, sum_3);
      const auto to_3 = share_3 * 16u + own_5 + 4808u;
      pool[to_3] = __float_as_uint(sum_3);
      __syncthreads();
      if (lane < 16u) {
        const auto own_6 = at_12 + (lane % 16u);
        auto total_9 = __uint_as_float(pool[lane + 4808u]);
        for (auto l_6 = 1u; l_6 < 16u; l_6 += 1u) {
          total_9 = total_9 + __uint_as_float(pool[lane + 4808u + l_6 * 16u]);
        }
        pool[(lane / 16u) * 64u + own_6 + 5064u] = __float_as_uint(total_9);
      }
      __syncthreads();
    }
    if (lane < 32u) {
      const auto pair = (lane * 2u) / 2u;
      const auto a = pair * 2u;
      const auto b_10 = a + 1u;
      const auto v_45 = __uint_as_float(pool[a + 5064u]);
      const auto v_46 = __uint_as_float(pool[b_10 + 5064u]);
      const auto at_17 = own_group_3 * 32u + pair;
      const auto v_47 = __uint_as_float(b5[p6 + at_17]);
      const auto at_18 = own_group_3 * 32u + pair;
      const auto v_48 = __uint_as_float(b6[p7 + at_18]);
      const auto v_49 = (lane * 2u == a ? v_45 * v_47 - v_46 * v_48 : v_45 * v_48 + v_46 * v_47);
      const auto pair_2 = (lane * 2u + 1u) / 2u;
      const auto a_2 = pair_2 * 2u;
      const auto b_11 = a_2 + 1u;
      const auto v_50 = __uint_as_float(pool[a_2 + 5064u]);
      const auto v_51 = __uint_as_float(pool[b_11 + 5064u]);
      const auto at_19 = own_group_3 * 32u + pair_2;
      const auto v_52 = __uint_as_float(b5[p6 + at_19]);
      const auto at_20 = own_group_3 * 32u + pair_2;
      const auto v_53 = __uint_as_float(b6[p7 + at_20]);
      const auto v_54 = (lane * 2u + 1u == a_2 ? v_50 * v_52 - v_51 * v_53 : v_50 * v_53 + v_51 * v_52);
      const auto index = b7[p8 + own_group_3];
      if (index < (n9 / 576u)) {
        b8[p9 + ((index * 576u + 512u + lane * 2u) / 2u)] = pack_halves(v_49, v_54);
      }
    }
  }
  const auto end_2 = end + count_3;
}

// head_dot_192x768_q4_0+2: lanes 256; rows 1 width 64 reduce 16 upcast 1; rows 1 width 32 reduce 16 upcast 1; rows 1 width 512 reduce 1 upcast 1
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
  __shared__ unsigned int pool[2128];
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
  launch_next();
  // part 0: dot [T, 20] × 64; rows 1 width 64 reduce 16 upcast 1
  const auto own_group = blockIdx.x;
  const auto count = sizes.words[0] * 20u;
  if (own_group < count) {
    wait_for_previous();
    // what is multiplied
    const auto i = own_group / 20u;
    const auto i_2 = (own_group % 20u) % 20u;
    for (auto time = 0u; time < 3u; time += 1u) {
      const auto c = time * 256u + lane;
      const auto at = i * 768u + c;
      const auto v = __uint_as_float(b0[p0 + at]);
      const auto v_2 = __uint_as_float(b1[p1 + c]);
      pool[c + 264u] = __float_as_uint(v);
      pool[c + 1032u] = __float_as_uint(v_2);
    }
    __syncthreads();
    auto total = 0.0f;
    for (auto time_2 = 0u; time_2 < 3u; time_2 += 1u) {
      const auto c_2 = time_2 * 256u + lane;
      const auto v_3 = __uint_as_float(pool[c_2 + 264u]) * __uint_as_float(pool[c_2 + 264u]);
      total = total + v_3;
    }
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
      pool[(lane / 32u) + 1800u] = __float_as_uint(both_5);
    }
    __syncthreads();
    auto total_2 = __uint_as_float(pool[1800u]);
    for (auto l = 1u; l < 8u; l += 1u) {
      total_2 = total_2 + __uint_as_float(pool[l + 1800u]);
    }
    const auto v_4 = total_2 / 768.0f;
    const auto v_5 = v_4 + 1e-5f;
    const auto v_6 = rsqrtf(v_5);
    const auto word = min(lane, 191u);
    const auto v_7 = __uint_as_float(pool[word * 4u + 264u]) * v_6;
    const auto v_8 = v_7 * __uint_as_float(pool[word * 4u + 1032u]);
    const auto v_9 = __uint_as_float(pool[word * 4u + 265u]) * v_6;
    const auto v_10 = v_9 * __uint_as_float(pool[word * 4u + 1033u]);
    const auto v_11 = __uint_as_float(pool[word * 4u + 266u]) * v_6;
    const auto v_12 = v_11 * __uint_as_float(pool[word * 4u + 1034u]);
    const auto v_13 = __uint_as_float(pool[word * 4u + 267u]) * v_6;
    const auto v_14 = v_13 * __uint_as_float(pool[word * 4u + 1035u]);
    const auto mine = max(max(max(__float_as_uint(v_8) & 0x7fffffffu, __float_as_uint(v_10) & 0x7fffffffu), __float_as_uint(v_12) & 0x7fffffffu), __float_as_uint(v_14) & 0x7fffffffu);
    const auto other_6 = __shfl_xor_sync(warp, mine, 1u);
    const auto both_6 = max(mine, other_6);
    const auto other_7 = __shfl_xor_sync(warp, both_6, 2u);
    const auto both_7 = max(both_6, other_7);
    const auto other_8 = __shfl_xor_sync(warp, both_7, 4u);
    const auto both_8 = max(both_7, other_8);
    const auto largest = __uint_as_float(both_8);
    const auto scale = (both_8 < 0x7f800000u ? __float_as_uint(largest / 127.0f) : 0x7fc00000u);
    const auto inverse = (largest > 3.74e-37f && both_8 < 0x7f800000u ? 127.0f / largest : 0.0f);
    const auto packed = ((unsigned int)(__float2int_rz(min(max(rintf(v_8 * inverse), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_10 * inverse), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_12 * inverse), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_14 * inverse), -127.0f), 127.0f))) & 255u) << 24u);
    const auto mine_2 = __dp4a((int)(packed), (int)(0x1010101u), 0);
    const auto other_9 = __shfl_xor_sync(warp, mine_2, 1u);
    const auto both_9 = mine_2 + other_9;
    const auto other_10 = __shfl_xor_sync(warp, both_9, 2u);
    const auto both_10 = both_9 + other_10;
    if (lane < 192u) {
      pool[lane] = packed;
      if ((lane % 4u) == 0u) {
        pool[(lane / 4u) + 216u] = __float_as_uint((float)(both_10) * __uint_as_float(scale));
      }
      if ((lane % 8u) == 0u) {
        pool[(lane / 8u) + 192u] = scale;
      }
    }
    __syncthreads();
    const auto i_3 = own_group / 20u;
    const auto i_4 = (own_group % 20u) % 20u;
    for (auto at_2 = 0u; at_2 < 64u; at_2 += 16u) {
      const auto share = lane / 16u;
      const auto own = lane % 16u;
      const auto column = at_2 + own;
      // times q4_0[64, 768]
      auto sum = 0.0f;
      const auto tile = p2 + ((i_4 * 256u + 192u + column) / 16u) * 1728u;
      const auto lane_row = (i_4 * 256u + 192u + column) % 16u;
      for (auto b = share; b < 24u; b += 16u) {
        const auto at_3 = tile + lane_row + b * 64u;
        const auto w = b2[at_3];
        const auto w_2 = b2[at_3 + 16u];
        const auto w_3 = b2[at_3 + 32u];
        const auto w_4 = b2[at_3 + 48u];
        const auto scale_2 = half_to_float(b2[tile + 1536u + ((b * 16u + lane_row) / 2u)] >> (((b * 16u + lane_row) % 2u) * 16u));
        const auto xw = b * 8u;
        const auto xq = pool[xw];
        const auto xq_2 = pool[xw + 1u];
        const auto xq_3 = pool[xw + 2u];
        const auto xq_4 = pool[xw + 3u];
        const auto xq_5 = pool[xw + 4u];
        const auto xq_6 = pool[xw + 5u];
        const auto xq_7 = pool[xw + 6u];
        const auto xq_8 = pool[xw + 7u];
        const auto d = __uint_as_float(pool[b + 192u]);
        sum = fmaf((float)(__dp4a((int)(((((w_4 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_8), __dp4a((int)(((((w_3 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_7), __dp4a((int)(((((w_2 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_6), __dp4a((int)(((((w >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_5), __dp4a((int)((((w_4 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_4), __dp4a((int)((((w_3 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_3), __dp4a((int)((((w_2 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_2), __dp4a((int)((((w & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq), 0))))))))), scale_2 * d, sum);
      }
      const auto to = share * 16u + own + 1808u;
      pool[to] = __float_as_uint(sum);
      __syncthreads();
      if (lane < 16u) {
        const auto own_2 = at_2 + (lane % 16u);
        auto total_3 = __uint_as_float(pool[lane + 1808u]);
        for (auto l_2 = 1u; l_2 < 16u; l_2 += 1u) {
          total_3 = total_3 + __uint_as_float(pool[lane + 1808u + l_2 * 16u]);
        }
        pool[(lane / 16u) * 64u + own_2 + 2064u] = __float_as_uint(total_3);
      }
      __syncthreads();
    }
    const auto i_5 = own_group / 20u;
    const auto i_6 = (own_group % 20u) % 20u;
    if (lane < 64u) {
      const auto pair = lane / 2u;
      const auto a = pair * 2u;
      const auto b_2 = a + 1u;
      const auto v_15 = __uint_as_float(pool[a + 2064u]);
      const auto v_16 = __uint_as_float(pool[b_2 + 2064u]);
      const auto at_4 = i_5 * 32u + pair;
      const auto v_17 = __uint_as_float(b3[p3 + at_4]);
      const auto at_5 = i_5 * 32u + pair;
      const auto v_18 = __uint_as_float(b4[p4 + at_5]);
      const auto v_19 = (lane == a ? v_15 * v_17 - v_16 * v_18 : v_15 * v_18 + v_16 * v_17);
      b0[p5 + (i_5 * 11520u + i_6 * 576u + 512u + lane)] = __float_as_uint(v_19);
    }
  }
  // part 1: dot [T, 20] × 192; rows 1 width 32 reduce 16 upcast 1
  const auto own_group_2 = blockIdx.x - count;
  const auto count_2 = sizes.words[0] * 120u;
  if (own_group_2 < count_2) {
    const auto tiles = sizes.words[0] * 20u;
    const auto rows_at = own_group_2 % tiles;
    const auto first = (own_group_2 / tiles) * 32u;
    wait_for_previous();
    // what is multiplied
    const auto i_7 = rows_at / 20u;
    const auto i_8 = (rows_at % 20u) % 20u;
    for (auto time_3 = 0u; time_3 < 3u; time_3 += 1u) {
      const auto c_3 = time_3 * 256u + lane;
      const auto at_6 = i_7 * 768u + c_3;
      const auto v_20 = __uint_as_float(b0[p0 + at_6]);
      const auto v_21 = __uint_as_float(b1[p1 + c_3]);
      pool[c_3 + 264u] = __float_as_uint(v_20);
      pool[c_3 + 1032u] = __float_as_uint(v_21);
    }
    __syncthreads();
    auto total_4 = 0.0f;
    for (auto time_4 = 0u; time_4 < 3u; time_4 += 1u) {
      const auto c_4 = time_4 * 256u + lane;
      const auto v_22 = __uint_as_float(pool[c_4 + 264u]) * __uint_as_float(pool[c_4 + 264u]);
      total_4 = total_4 + v_22;
    }
    const auto other_11 = __shfl_xor_sync(warp, total_4, 1u);
    const auto both_11 = total_4 + other_11;
    const auto other_12 = __shfl_xor_sync(warp, both_11, 2u);
    const auto both_12 = both_11 + other_12;
    const auto other_13 = __shfl_xor_sync(warp, both_12, 4u);
    const auto both_13 = both_12 + other_13;
    const auto other_14 = __shfl_xor_sync(warp, both_13, 8u);
    const auto both_14 = both_13 + other_14;
    const auto other_15 = __shfl_xor_sync(warp, both_14, 16u);
    const auto both_15 = both_14 + other_15;
    if ((lane % 32u) == 0u) {
      pool[(lane / 32u) + 1800u] = __float_as_uint(both_15);
    }
    __syncthreads();
    auto total_5 = __uint_as_float(pool[1800u]);
    for (auto l_3 = 1u; l_3 < 8u; l_3 += 1u) {
      total_5 = total_5 + __uint_as_float(pool[l_3 + 1800u]);
    }
    const auto v_23 = total_5 / 768.0f;
    const auto v_24 = v_23 + 1e-5f;
    const auto v_25 = rsqrtf(v_24);
    const auto word_2 = min(lane, 191u);
    const auto v_26 = __uint_as_float(pool[word_2 * 4u + 264u]) * v_25;
    const auto v_27 = v_26 * __uint_as_float(pool[word_2 * 4u + 1032u]);
    const auto v_28 = __uint_as_float(pool[word_2 * 4u + 265u]) * v_25;
    const auto v_29 = v_28 * __uint_as_float(pool[word_2 * 4u + 1033u]);
    const auto v_30 = __uint_as_float(pool[word_2 * 4u + 266u]) * v_25;
    const auto v_31 = v_30 * __uint_as_float(pool[word_2 * 4u + 1034u]);
    const auto v_32 = __uint_as_float(pool[word_2 * 4u + 267u]) * v_25;
    const auto v_33 = v_32 * __uint_as_float(pool[word_2 * 4u + 1035u]);
    const auto mine_3 = max(max(max(__float_as_uint(v_27) & 0x7fffffffu, __float_as_uint(v_29) & 0x7fffffffu), __float_as_uint(v_31) & 0x7fffffffu), __float_as_uint(v_33) & 0x7fffffffu);
    const auto other_16 = __shfl_xor_sync(warp, mine_3, 1u);
    const auto both_16 = max(mine_3, other_16);
    const auto other_17 = __shfl_xor_sync(warp, both_16, 2u);
    const auto both_17 = max(both_16, other_17);
    const auto other_18 = __shfl_xor_sync(warp, both_17, 4u);
    const auto both_18 = max(both_17, other_18);
    const auto largest_2 = __uint_as_float(both_18);
    const auto scale_3 = (both_18 < 0x7f800000u ? __float_as_uint(largest_2 / 127.0f) : 0x7fc00000u);
    const auto inverse_2 = (largest_2 > 3.74e-37f && both_18 < 0x7f800000u ? 127.0f / largest_2 : 0.0f);
    const auto packed_2 = ((unsigned int)(__float2int_rz(min(max(rintf(v_27 * inverse_2), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_29 * inverse_2), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_31 * inverse_2), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_33 * inverse_2), -127.0f), 127.0f))) & 255u) << 24u);
    const auto mine_4 = __dp4a((int)(packed_2), (int)(0x1010101u), 0);
    const auto other_19 = __shfl_xor_sync(warp, mine_4, 1u);
    const auto both_19 = mine_4 + other_19;
    const auto other_20 = __shfl_xor_sync(warp, both_19, 2u);
    const auto both_20 = both_19 + other_20;
    if (lane < 192u) {
      pool[lane] = packed_2;
      if ((lane % 4u) == 0u) {
        pool[(lane / 4u) + 216u] = __float_as_uint((float)(both_20) * __uint_as_float(scale_3));
      }
      if ((lane % 8u) == 0u) {
        pool[(lane / 8u) + 192u] = scale_3;
      }
    }
    __syncthreads();
    const auto i_9 = rows_at / 20u;
    const auto i_10 = (rows_at % 20u) % 20u;
    for (auto at_7 = 0u; at_7 < 32u; at_7 += 16u) {
      const auto share_2 = lane / 16u;
      const auto own_3 = lane % 16u;
      const auto column_2 = first + (at_7 + own_3);
      // times q4_0[192, 768]
      auto sum_2 = 0.0f;
      const auto tile_2 = p2 + ((i_10 * 256u + column_2) / 16u) * 1728u;
      const auto lane_row_2 = (i_10 * 256u + column_2) % 16u;
      for (auto b_3 = share_2; b_3 < 24u; b_3 += 16u) {
        const auto at_8 = tile_2 + lane_row_2 + b_3 * 64u;
        const auto w_5 = b2[at_8];
        const auto w_6 = b2[at_8 + 16u];
        const auto w_7 = b2[at_8 + 32u];
        const auto w_8 = b2[at_8 + 48u];
        const auto scale_4 = half_to_float(b2[tile_2 + 1536u + ((b_3 * 16u + lane_row_2) / 2u)] >> (((b_3 * 16u + lane_row_2) % 2u) * 16u));
        const auto xw_2 = b_3 * 8u;
        const auto xq_9 = pool[xw_2];
        const auto xq_10 = pool[xw_2 + 1u];
        const auto xq_11 = pool[xw_2 + 2u];
        const auto xq_12 = pool[xw_2 + 3u];
        const auto xq_13 = pool[xw_2 + 4u];
        const auto xq_14 = pool[xw_2 + 5u];
        const auto xq_15 = pool[xw_2 + 6u];
        const auto xq_16 = pool[xw_2 + 7u];
        const auto d_2 = __uint_as_float(pool[b_3 + 192u]);
        sum_2 = fmaf((float)(__dp4a((int)(((((w_8 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_16), __dp4a((int)(((((w_7 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_15), __dp4a((int)(((((w_6 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_14), __dp4a((int)(((((w_5 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_13), __dp4a((int)((((w_8 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_12), __dp4a((int)((((w_7 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_11), __dp4a((int)((((w_6 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_10), __dp4a((int)((((w_5 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_9), 0))))))))), scale_4 * d_2, sum_2);
      }
      const auto to_2 = share_2 * 16u + own_3 + 1808u;
      pool[to_2] = __float_as_uint(sum_2);
      __syncthreads();
      if (lane < 16u) {
        const auto own_4 = at_7 + (lane % 16u);
        auto total_6 = __uint_as_float(pool[lane + 1808u]);
        for (auto l_4 = 1u; l_4 < 16u; l_4 += 1u) {
          total_6 = total_6 + __uint_as_float(pool[lane + 1808u + l_4 * 16u]);
        }
        pool[(lane / 16u) * 32u + own_4 + 2064u] = __float_as_uint(total_6);
      }
      __syncthreads();
    }
    const auto word_3 = min(lane, 7u);
    const auto i_11 = rows_at / 20u;
    const auto i_12 = (rows_at % 20u) % 20u;
    const auto column_3 = first + word_3 * 4u;
    const auto v_34 = __uint_as_float(pool[word_3 * 4u + 2064u]);
    const auto i_13 = rows_at / 20u;
    const auto i_14 = (rows_at % 20u) % 20u;
    const auto column_4 = first + (word_3 * 4u + 1u);
    const auto v_35 = __uint_as_float(pool[word_3 * 4u + 2065u]);
    const auto i_15 = rows_at / 20u;
    const auto i_16 = (rows_at % 20u) % 20u;
    const auto column_5 = first + (word_3 * 4u + 2u);
    const auto v_36 = __uint_as_float(pool[word_3 * 4u + 2066u]);
    const auto i_17 = rows_at / 20u;
    const auto i_18 = (rows_at % 20u) % 20u;
    const auto column_6 = first + (word_3 * 4u + 3u);
    const auto v_37 = __uint_as_float(pool[word_3 * 4u + 2067u]);
    const auto mine_5 = max(max(max(__float_as_uint(v_34) & 0x7fffffffu, __float_as_uint(v_35) & 0x7fffffffu), __float_as_uint(v_36) & 0x7fffffffu), __float_as_uint(v_37) & 0x7fffffffu);
    const auto other_21 = __shfl_xor_sync(warp, mine_5, 1u);
    const auto both_21 = max(mine_5, other_21);
    const auto other_22 = __shfl_xor_sync(warp, both_21, 2u);
    const auto both_22 = max(both_21, other_22);
    const auto other_23 = __shfl_xor_sync(warp, both_22, 4u);
    const auto both_23 = max(both_22, other_23);
    const auto largest_3 = __uint_as_float(both_23);
    const auto scale_5 = (both_23 < 0x7f800000u ? __float_as_uint(largest_3 / 127.0f) : 0x7fc00000u);
    const auto inverse_3 = (largest_3 > 3.74e-37f && both_23 < 0x7f800000u ? 127.0f / largest_3 : 0.0f);
    const auto packed_3 = ((unsigned int)(__float2int_rz(min(max(rintf(v_34 * inverse_3), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_35 * inverse_3), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_36 * inverse_3), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_37 * inverse_3), -127.0f), 127.0f))) & 255u) << 24u);
    const auto mine_6 = __dp4a((int)(packed_3), (int)(0x1010101u), 0);
    const auto other_24 = __shfl_xor_sync(warp, mine_6, 1u);
    const auto both_24 = mine_6 + other_24;
    const auto other_25 = __shfl_xor_sync(warp, both_24, 2u);
    const auto both_25 = both_24 + other_25;
    if (lane < 8u) {
      pool[lane + 2096u] = packed_3;
      if ((lane % 4u) == 0u) {
        pool[(lane / 4u) + 2105u] = __float_as_uint((float)(both_25) * __uint_as_float(scale_5));
      }
      if ((lane % 8u) == 0u) {
        pool[(lane / 8u) + 2104u] = scale_5;
      }
    }
    __syncthreads();
    if (lane < 8u) {
      const auto i_19 = rows_at / 20u;
      const auto i_20 = (rows_at % 20u) % 20u;
      const auto column_7 = first + lane * 4u;
      b0[p6 + ((i_19 * 3840u + i_20 * 192u + column_7) / 4u)] = pool[((lane * 4u) / 4u) + 2096u];
    }
    if (lane < 1u) {
      const auto i_21 = rows_at / 20u;
      const auto i_22 = (rows_at % 20u) % 20u;
      const auto column_8 = first + lane * 32u;
      b0[p6 + (n6 / 4u) + ((i_21 * 3840u + i_22 * 192u + column_8) / 32u)] = pool[((lane * 32u) / 32u) + 2104u];
    }
    if (lane < 2u) {
      const auto i_23 = rows_at / 20u;
      const auto i_24 = (rows_at % 20u) % 20u;
      const auto column_9 = first + lane * 16u;
      b0[p6 + ((n6 / 4u) + (n6 / 32u)) + ((i_23 * 3840u + i_24 * 192u + column_9) / 16u)] = pool[((lane * 16u) / 16u) + 2105u];
    }
  }
  const auto end = count + count_2;
  // part 2: reduce [T] × 512; rows 1 width 512 reduce 1 upcast 1
  const auto own_group_3 = blockIdx.x - end;
  const auto count_3 = sizes.words[0];
  if (own_group_3 < count_3) {
    wait_for_previous();
    for (auto time_5 = 0u; time_5 < 2u; time_5 += 1u) {
      const auto c_5 = time_5 * 256u + lane;
      const auto at_9 = own_group_3 * 512u + c_5;
      const auto v_38 = __uint_as_float(b0[p7 + at_9]);
      const auto v_39 = __uint_as_float(b5[p8 + c_5]);
      pool[c_5] = __float_as_uint(v_38);
      pool[c_5 + 512u] = __float_as_uint(v_39);
    }
    __syncthreads();
    auto total_7 = 0.0f;
    for (auto time_6 = 0u; time_6 < 2u; time_6 += 1u) {
      const auto c_6 = time_6 * 256u + lane;
      const auto v_40 = __uint_as_float(pool[c_6]) * __uint_as_float(pool[c_6]);
      total_7 = total_7 + v_40;
    }
    const auto other_26 = __shfl_xor_sync(warp, total_7, 1u);
    const auto both_26 = total_7 + other_26;
    const auto other_27 = __shfl_xor_sync(warp, both_26, 2u);
    const auto both_27 = both_26 + other_27;
    const auto other_28 = __shfl_xor_sync(warp, both_27, 4u);
    const auto both_28 = both_27 + other_28;
    const auto other_29 = __shfl_xor_sync(warp, both_28, 8u);
    const auto both_29 = both_28 + other_29;
    const auto other_30 = __shfl_xor_sync(warp, both_29, 16u);
    const auto both_30 = both_29 + other_30;
    if ((lane % 32u) == 0u) {
      pool[(lane / 32u) + 1024u] = __float_as_uint(both_30);
    }
    __syncthreads();
    auto total_8 = __uint_as_float(pool[1024u]);
    for (auto l_5 = 1u; l_5 < 8u; l_5 += 1u) {
      total_8 = total_8 + __uint_as_float(pool[l_5 + 1024u]);
    }
    const auto v_41 = total_8 / 512.0f;
    const auto v_42 = v_41 + 1e-5f;
    const auto v_43 = rsqrtf(v_42);
    const auto v_44 = __uint_as_float(pool[lane * 2u]) * v_43;
    const auto v_45 = v_44 * __uint_as_float(pool[lane * 2u + 512u]);
    const auto v_46 = __uint_as_float(pool[lane * 2u + 1u]) * v_43;
    const auto v_47 = v_46 * __uint_as_float(pool[lane * 2u + 513u]);
    const auto index = b6[p9 + own_group_3];
    if (index < (n10 / 576u)) {
      b7[p10 + ((index * 576u + lane * 2u) / 2u)] = pack_halves(v_45, v_47);
    }
  }
  const auto end_2 = end + count_3;
}

// head_dot_512x192_q4_0: lanes 256; rows 1 width 64 reduce 4 upcast 1
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

static __device__ __forceinline__ float half_to_float(unsigned int bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)bits));
  return value;
}

extern "C" __global__ void __launch_bounds__(256) weft_head_dot_512x192_q4_0(
  const Args args,
  const Sizes sizes,
  unsigned int* b0,
  const unsigned int* __restrict__ b1
) {
  __shared__ unsigned int pool[256];
  const unsigned int lane = threadIdx.x;
  const auto p0 = args.words[0];
  const auto p1 = args.words[2];
  const auto p2 = args.words[4];
  const auto n0 = args.words[1];
  launch_next();
  // part 0: dot [T, 20] × 512; rows 1 width 64 reduce 4 upcast 1
  const auto own_group = blockIdx.x;
  const auto tiles = sizes.words[0] * 20u;
  const auto rows_at = own_group % tiles;
  const auto first = (own_group / tiles) * 64u;
  wait_for_previous();
  const auto i = rows_at / 20u;
  const auto i_2 = (rows_at % 20u) % 20u;
  const auto share = lane / 64u;
  const auto own = lane % 64u;
  const auto column = first + own;
  // times q4_0[512, 192]
  auto sum = 0.0f;
  const auto x = i * 3840u + i_2 * 192u;
  const auto x_2 = p0 + (x / 4u);
  const auto xd = p0 + (n0 / 4u) + (x / 32u);
  const auto xs = p0 + (n0 / 4u) + (n0 / 32u) + (x / 16u);
  const auto tile = p1 + ((i_2 * 512u + column) / 16u) * 432u;
  const auto lane_row = (i_2 * 512u + column) % 16u;
  for (auto b = share; b < 6u; b += 4u) {
    const auto at = tile + lane_row + b * 64u;
    const auto w = b1[at];
    const auto w_2 = b1[at + 16u];
    const auto w_3 = b1[at + 32u];
    const auto w_4 = b1[at + 48u];
    const auto scale = half_to_float(b1[tile + 384u + ((b * 16u + lane_row) / 2u)] >> (((b * 16u + lane_row) % 2u) * 16u));
    const auto xw = x_2 + b * 8u;
    const auto xq = b0[xw];
    const auto xq_2 = b0[xw + 1u];
    const auto xq_3 = b0[xw + 2u];
    const auto xq_4 = b0[xw + 3u];
    const auto xq_5 = b0[xw + 4u];
    const auto xq_6 = b0[xw + 5u];
    const auto xq_7 = b0[xw + 6u];
    const auto xq_8 = b0[xw + 7u];
    const auto d = __uint_as_float(b0[xd + b]);
    sum = fmaf((float)(__dp4a((int)(((((w_4 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_8), __dp4a((int)(((((w_3 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_7), __dp4a((int)(((((w_2 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_6), __dp4a((int)(((((w >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_5), __dp4a((int)((((w_4 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_4), __dp4a((int)((((w_3 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_3), __dp4a((int)((((w_2 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_2), __dp4a((int)((((w & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq), 0))))))))), scale * d, sum);
  }
  const auto to = share * 64u + own;
  pool[to] = __float_as_uint(sum);
  __syncthreads();
  if (lane < 64u) {
    const auto own_2 = lane % 64u;
    auto total = __uint_as_float(pool[lane]);
    for (auto l = 1u; l < 4u; l += 1u) {
      total = total + __uint_as_float(pool[lane + l * 64u]);
    }
    pool[(lane / 64u) * 64u + own_2] = __float_as_uint(total);
  }
  __syncthreads();
  if (lane < 64u) {
    const auto i_3 = rows_at / 20u;
    const auto i_4 = (rows_at % 20u) % 20u;
    const auto column_2 = first + lane;
    const auto v = __uint_as_float(pool[lane]);
    b0[p2 + (i_3 * 11520u + i_4 * 576u + column_2)] = __float_as_uint(v);
  }
}

// attend_20x576: lanes 256; rows 2 width 512 reduce 16 upcast 4 chunk 128 spread
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

static __device__ __forceinline__ float half_to_float(unsigned int bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)bits));
  return value;
}

extern "C" __global__ void __launch_bounds__(256) weft_attend_20x576(
  const Args args,
  const Sizes sizes,
  unsigned int* b0,
  const unsigned int* b1,
  const unsigned int* b2,
  const unsigned int* b3,
  const unsigned int* b4,
  unsigned int* b5
) {
  __shared__ unsigned int pool[3432];
  const unsigned int lane = threadIdx.x;
  const auto p0 = args.words[0];
  const auto p1 = args.words[2];
  const auto p2 = args.words[4];
  const auto p3 = args.words[6];
  const auto p4 = args.words[8];
  const auto n1 = args.words[3];
  const auto n4 = args.words[9];
  launch_next();
  // part 0: attend [T, 20] × 512; rows 2 width 512 reduce 16 upcast 4 chunk 128 spread; chunks
  const auto own_group = blockIdx.x;
  const auto tiles = (sizes.words[0] * 20u + 1u) / 2u;
  const auto rows_at = own_group % tiles;
  const auto chunk = own_group / tiles;
  wait_for_previous();
  const auto row = rows_at * 2u;
  const auto i = row / 20u;
  const auto i_2 = (row % 20u) % 20u;
  const auto i_3 = min(i, sizes.words[0] - 1u);
  const auto last_page = max(min(n4, sizes.words[3]), 1u) - 1u;
  const auto last_position = last_page * 32u + 31u;
  const auto position = b2[p2 + i_3];
  const auto seen = min(position, last_position) + 1u;
  const auto last_row = max(min(n1 / 576u, n1 / 576u), 1u) - 1u;
  const auto pages_at = b3[p3 + i_3];
  const auto group_of = i_2 / 20u;
  const auto chunk_start = chunk * 128u;
  if (chunk_start < seen) {
    for (auto time = 0u; time < 5u; time += 1u) {
      const auto c = time * 256u + lane;
      if (c < 1152u) {
        const auto row_2 = rows_at * 2u + (c / 576u);
        const auto i_4 = row_2 / 20u;
        const auto i_5 = (row_2 % 20u) % 20u;
        const auto i_6 = min(i_4, sizes.words[0] - 1u);
        pool[c] = b0[p0 + (i_6 * 11520u + i_5 * 576u + (c % 576u))];
      }
    }
    const auto chunk_end = min(chunk_start + 128u, seen);
    auto top = -3e38f;
    auto top_2 = -3e38f;
    auto total = 0.0f;
    auto total_2 = 0.0f;
    auto y = 0.0f;
    auto y_2 = 0.0f;
    auto y_3 = 0.0f;
    auto y_4 = 0.0f;
    auto y_5 = 0.0f;
    auto y_6 = 0.0f;
    auto y_7 = 0.0f;
    auto y_8 = 0.0f;
    __syncthreads();
    for (auto start = chunk_start; start < chunk_end; start += 64u) {
      if (lane < 64u) {
        const auto p = min(start + lane, chunk_end - 1u);
        pool[lane + 1152u] = min(b4[p4 + min(pages_at + (p / 32u), last_page)] * 32u + (p % 32u), last_row);
      }
      __syncthreads();
      const auto share = lane % 16u;
      const auto b = lane / 16u;
      const auto row_3 = pool[b + 1152u] * 576u + group_of * 576u;
      const auto b_2 = (lane / 16u) + 16u;
      const auto row_4 = pool[b_2 + 1152u] * 576u + group_of * 576u;
      const auto b_3 = (lane / 16u) + 32u;
      const auto row_5 = pool[b_3 + 1152u] * 576u + group_of * 576u;
      const auto b_4 = (lane / 16u) + 48u;
      const auto row_6 = pool[b_4 + 1152u] * 576u + group_of * 576u;
      auto score = 0.0f;
      auto score_2 = 0.0f;
      auto score_3 = 0.0f;
      auto score_4 = 0.0f;
      auto score_5 = 0.0f;
      auto score_6 = 0.0f;
      auto score_7 = 0.0f;
      auto score_8 = 0.0f;
      for (auto c_2 = share; c_2 < 288u; c_2 += 96u) {
        const auto pair = b1[p1 + ((row_3 / 2u) + c_2)];
        const auto pair_2 = b1[p1 + ((row_4 / 2u) + c_2)];
        const auto pair_3 = b1[p1 + ((row_5 / 2u) + c_2)];
        const auto pair_4 = b1[p1 + ((row_6 / 2u) + c_2)];
        const auto c_3 = c_2 + 16u;
        const auto pair_5 = b1[p1 + ((row_3 / 2u) + c_3)];
        const auto pair_6 = b1[p1 + ((row_4 / 2u) + c_3)];
        const auto pair_7 = b1[p1 + ((row_5 / 2u) + c_3)];
        const auto pair_8 = b1[p1 + ((row_6 / 2u) + c_3)];
        const auto c_4 = c_2 + 32u;
        const auto pair_9 = b1[p1 + ((row_3 / 2u) + c_4)];
        const auto pair_10 = b1[p1 + ((row_4 / 2u) + c_4)];
        const auto pair_11 = b1[p1 + ((row_5 / 2u) + c_4)];
        const auto pair_12 = b1[p1 + ((row_6 / 2u) + c_4)];
        const auto c_5 = c_2 + 48u;
        const auto pair_13 = b1[p1 + ((row_3 / 2u) + c_5)];
        const auto pair_14 = b1[p1 + ((row_4 / 2u) + c_5)];
        const auto pair_15 = b1[p1 + ((row_5 / 2u) + c_5)];
        const auto pair_16 = b1[p1 + ((row_6 / 2u) + c_5)];
        const auto c_6 = c_2 + 64u;
        const auto pair_17 = b1[p1 + ((row_3 / 2u) + c_6)];
        const auto pair_18 = b1[p1 + ((row_4 / 2u) + c_6)];
        const auto pair_19 = b1[p1 + ((row_5 / 2u) + c_6)];
        const auto pair_20 = b1[p1 + ((row_6 / 2u) + c_6)];
        const auto c_7 = c_2 + 80u;
        const auto pair_21 = b1[p1 + ((row_3 / 2u) + c_7)];
        const auto pair_22 = b1[p1 + ((row_4 / 2u) + c_7)];
        const auto pair_23 = b1[p1 + ((row_5 / 2u) + c_7)];
        const auto pair_24 = b1[p1 + ((row_6 / 2u) + c_7)];
        const auto key = half_to_float(pair);
        const auto key_2 = half_to_float(pair >> 16u);
        const auto key_3 = half_to_float(pair_2);
        const auto key_4 = half_to_float(pair_2 >> 16u);
        const auto key_5 = half_to_float(pair_3);
        const auto key_6 = half_to_float(pair_3 >> 16u);
        const auto key_7 = half_to_float(pair_4);
        const auto key_8 = half_to_float(pair_4 >> 16u);
        const auto q = __uint_as_float(pool[c_2 * 2u]);
        score = fmaf(key, q, score);
        score_3 = fmaf(key_3, q, score_3);
        score_5 = fmaf(key_5, q, score_5);
        score_7 = fmaf(key_7, q, score_7);
        const auto q_2 = __uint_as_float(pool[c_2 * 2u + 1u]);
        score = fmaf(key_2, q_2, score);
        score_3 = fmaf(key_4, q_2, score_3);
        score_5 = fmaf(key_6, q_2, score_5);
        score_7 = fmaf(key_8, q_2, score_7);
        const auto q_3 = __uint_as_float(pool[c_2 * 2u + 576u]);
        score_2 = fmaf(key, q_3, score_2);
        score_4 = fmaf(key_3, q_3, score_4);
        score_6 = fmaf(key_5, q_3, score_6);
        score_8 = fmaf(key_7, q_3, score_8);
        const auto q_4 = __uint_as_float(pool[c_2 * 2u + 577u]);
        score_2 = fmaf(key_2, q_4, score_2);
        score_4 = fmaf(key_4, q_4, score_4);
        score_6 = fmaf(key_6, q_4, score_6);
        score_8 = fmaf(key_8, q_4, score_8);
        const auto key_9 = half_to_float(pair_5);
        const auto key_10 = half_to_float(pair_5 >> 16u);
        const auto key_11 = half_to_float(pair_6);
        const auto key_12 = half_to_float(pair_6 >> 16u);
        const auto key_13 = half_to_float(pair_7);
        const auto key_14 = half_to_float(pair_7 >> 16u);
        const auto key_15 = half_to_float(pair_8);
        const auto key_16 = half_to_float(pair_8 >> 16u);
        const auto q_5 = __uint_as_float(pool[c_3 * 2u]);
        score = fmaf(key_9, q_5, score);
        score_3 = fmaf(key_11, q_5, score_3);
        score_5 = fmaf(key_13, q_5, score_5);
        score_7 = fmaf(key_15, q_5, score_7);
        const auto q_6 = __uint_as_float(pool[c_3 * 2u + 1u]);
        score = fmaf(key_10, q_6, score);
        score_3 = fmaf(key_12, q_6, score_3);
        score_5 = fmaf(key_14, q_6, score_5);
        score_7 = fmaf(key_16, q_6, score_7);
        const auto q_7 = __uint_as_float(pool[c_3 * 2u + 576u]);
        score_2 = fmaf(key_9, q_7, score_2);
        score_4 = fmaf(key_11, q_7, score_4);
        score_6 = fmaf(key_13, q_7, score_6);
        score_8 = fmaf(key_15, q_7, score_8);
        const auto q_8 = __uint_as_float(pool[c_3 * 2u + 577u]);
        score_2 = fmaf(key_10, q_8, score_2);
        score_4 = fmaf(key_12, q_8, score_4);
        score_6 = fmaf(key_14, q_8, score_6);
        score_8 = fmaf(key_16, q_8, score_8);
        const auto key_17 = half_to_float(pair_9);
        const auto key_18 = half_to_float(pair_9 >> 16u);
        const auto key_19 = half_to_float(pair_10);
        const auto key_20 = half_to_float(pair_10 >> 16u);
        const auto key_21 = half_to_float(pair_11);
        const auto key_22 = half_to_float(pair_11 >> 16u);
        const auto key_23 = half_to_float(pair_12);
        const auto key_24 = half_to_float(pair_12 >> 16u);
        const auto q_9 = __uint_as_float(pool[c_4 * 2u]);
        score = fmaf(key_17, q_9, score);
        score_3 = fmaf(key_19, q_9, score_3);
        score_5 = fmaf(key_21, q_9, score_5);
        score_7 = fmaf(key_23, q_9, score_7);
        const auto q_10 = __uint_as_float(pool[c_4 * 2u + 1u]);
        score = fmaf(key_18, q_10, score);
        score_3 = fmaf(key_20, q_10, score_3);
        score_5 = fmaf(key_22, q_10, score_5);
        score_7 = fmaf(key_24, q_10, score_7);
        const auto q_11 = __uint_as_float(pool[c_4 * 2u + 576u]);
        score_2 = fmaf(key_17, q_11, score_2);
        score_4 = fmaf(key_19, q_11, score_4);
        score_6 = fmaf(key_21, q_11, score_6);
        score_8 = fmaf(key_23, q_11, score_8);
        const auto q_12 = __uint_as_float(pool[c_4 * 2u + 577u]);
        score_2 = fmaf(key_18, q_12, score_2);
        score_4 = fmaf(key_20, q_12, score_4);
        score_6 = fmaf(key_22, q_12, score_6);
        score_8 = fmaf(key_24, q_12, score_8);
        const auto key_25 = half_to_float(pair_13);
        const auto key_26 = half_to_float(pair_13 >> 16u);
        const auto key_27 = half_to_float(pair_14);
        const auto key_28 = half_to_float(pair_14 >> 16u);
        const auto key_29 = half_to_float(pair_15);
        const auto key_30 = half_to_float(pair_15 >> 16u);
        const auto key_31 = half_to_float(pair_16);
        const auto key_32 = half_to_float(pair_16 >> 16u);
        const auto q_13 = __uint_as_float(pool[c_5 * 2u]);
        score = fmaf(key_25, q_13, score);
        score_3 = fmaf(key_27, q_13, score_3);
        score_5 = fmaf(key_29, q_13, score_5);
        score_7 = fmaf(key_31, q_13, score_7);
        const auto q_14 = __uint_as_float(pool[c_5 * 2u + 1u]);
        score = fmaf(key_26, q_14, score);
        score_3 = fmaf(key_28, q_14, score_3);
        score_5 = fmaf(key_30, q_14, score_5);
        score_7 = fmaf(key_32, q_14, score_7);
        const auto q_15 = __uint_as_float(pool[c_5 * 2u + 576u]);
        score_2 = fmaf(key_25, q_15, score_2);
        score_4 = fmaf(key_27, q_15, score_4);
        score_6 = fmaf(key_29, q_15, score_6);
        score_8 = fmaf(key_31, q_15, score_8);
        const auto q_16 = __uint_as_float(pool[c_5 * 2u + 577u]);
        score_2 = fmaf(key_26, q_16, score_2);
        score_4 = fmaf(key_28, q_16, score_4);
        score_6 = fmaf(key_30, q_16, score_6);
        score_8 = fmaf(key_32, q_16, score_8);
        const auto key_33 = half_to_float(pair_17);
        const auto key_34 = half_to_float(pair_17 >> 16u);
        const auto key_35 = half_to_float(pair_18);
        const auto key_36 = half_to_float(pair_18 >> 16u);
        const auto key_37 = half_to_float(pair_19);
        const auto key_38 = half_to_float(pair_19 >> 16u);
        const auto key_39 = half_to_float(pair_20);
        const auto key_40 = half_to_float(pair_20 >> 16u);
        const auto q_17 = __uint_as_float(pool[c_6 * 2u]);
        score = fmaf(key_33, q_17, score);
        score_3 = fmaf(key_35, q_17, score_3);
        score_5 = fmaf(key_37, q_17, score_5);
        score_7 = fmaf(key_39, q_17, score_7);
        const auto q_18 = __uint_as_float(pool[c_6 * 2u + 1u]);
        score = fmaf(key_34, q_18, score);
        score_3 = fmaf(key_36, q_18, score_3);
        score_5 = fmaf(key_38, q_18, score_5);
        score_7 = fmaf(key_40, q_18, score_7);
        const auto q_19 = __uint_as_float(pool[c_6 * 2u + 576u]);
        score_2 = fmaf(key_33, q_19, score_2);
        score_4 = fmaf(key_35, q_19, score_4);
        score_6 = fmaf(key_37, q_19, score_6);
        score_8 = fmaf(key_39, q_19, score_8);
        const auto q_20 = __uint_as_float(pool[c_6 * 2u + 577u]);
        score_2 = fmaf(key_34, q_20, score_2);
        score_4 = fmaf(key_36, q_20, score_4);
        score_6 = fmaf(key_38, q_20, score_6);
        score_8 = fmaf(key_40, q_20, score_8);
        const auto key_41 = half_to_float(pair_21);
        const auto key_42 = half_to_float(pair_21 >> 16u);
        const auto key_43 = half_to_float(pair_22);
        const auto key_44 = half_to_float(pair_22 >> 16u);
        const auto key_45 = half_to_float(pair_23);
        const auto key_46 = half_to_float(pair_23 >> 16u);
        const auto key_47 = half_to_float(pair_24);
        const auto key_48 = half_to_float(pair_24 >> 16u);
        const auto q_21 = __uint_as_float(pool[c_7 * 2u]);
        score = fmaf(key_41, q_21, score);
        score_3 = fmaf(key_43, q_21, score_3);
        score_5 = fmaf(key_45, q_21, score_5);
        score_7 = fmaf(key_47, q_21, score_7);
        const auto q_22 = __uint_as_float(pool[c_7 * 2u + 1u]);
        score = fmaf(key_42, q_22, score);
        score_3 = fmaf(key_44, q_22, score_3);
        score_5 = fmaf(key_46, q_22, score_5);
        score_7 = fmaf(key_48, q_22, score_7);
        const auto q_23 = __uint_as_float(pool[c_7 * 2u + 576u]);
        score_2 = fmaf(key_41, q_23, score_2);
        score_4 = fmaf(key_43, q_23, score_4);
        score_6 = fmaf(key_45, q_23, score_6);
        score_8 = fmaf(key_47, q_23, score_8);
        const auto q_24 = __uint_as_float(pool[c_7 * 2u + 577u]);
        score_2 = fmaf(key_42, q_24, score_2);
        score_4 = fmaf(key_44, q_24, score_4);
        score_6 = fmaf(key_46, q_24, score_6);
        score_8 = fmaf(key_48, q_24, score_8);
      }
      pool[share * 128u + b + 1376u] = __float_as_uint(score);
      pool[(share * 2u + 1u) * 64u + b + 1376u] = __float_as_uint(score_2);
      pool[share * 128u + b_2 + 1376u] = __float_as_uint(score_3);
      pool[(share * 2u + 1u) * 64u + b_2 + 1376u] = __float_as_uint(score_4);
      pool[share * 128u + b_3 + 1376u] = __float_as_uint(score_5);
      pool[(share * 2u + 1u) * 64u + b_3 + 1376u] = __float_as_uint(score_6);
      pool[share * 128u + b_4 + 1376u] = __float_as_uint(score_7);
      pool[(share * 2u + 1u) * 64u + b_4 + 1376u] = __float_as_uint(score_8);
      __syncthreads();
      if (lane < 128u) {
        auto total_3 = __uint_as_float(pool[lane + 1376u]);
        for (auto l = 1u; l < 16u; l += 1u) {
          total_3 = total_3 + __uint_as_float(pool[lane + 1376u + l * 128u]);
        }
        pool[lane + 1216u] = __float_as_uint((start + (lane % 64u) < chunk_end ? total_3 * 0.0625f : -3e38f));
      }
      __syncthreads();
      if (lane < 32u) {
        const auto from_score = (lane / 16u) * 64u + (lane % 16u) + 1216u;
        auto total_4 = __uint_as_float(pool[from_score]);
        for (auto l_2 = 1u; l_2 < 4u; l_2 += 1u) {
          total_4 = max(total_4, __uint_as_float(pool[from_score + l_2 * 16u]));
        }
        pool[lane + 1344u] = __float_as_uint(total_4);
      }
      __syncthreads();
      auto total_5 = __uint_as_float(pool[1344u]);
      for (auto l_3 = 1u; l_3 < 16u; l_3 += 1u) {
        total_5 = max(total_5, __uint_as_float(pool[l_3 + 1344u]));
      }
      const auto new_top = max(top, total_5);
      const auto shrink = expf(top - new_top);
      top = new_top;
      total = total * shrink;
      y = y * shrink;
      y_2 = y_2 * shrink;
      y_3 = y_3 * shrink;
      y_4 = y_4 * shrink;
      if (lane < 64u) {
        pool[lane + 1216u] = __float_as_uint(expf(__uint_as_float(pool[lane + 1216u]) - new_top));
      }
      auto total_6 = __uint_as_float(pool[1360u]);
      for (auto l_4 = 1u; l_4 < 16u; l_4 += 1u) {
        total_6 = max(total_6, __uint_as_float(pool[l_4 + 1360u]));
      }
      const auto new_top_2 = max(top_2, total_6);
      const auto shrink_2 = expf(top_2 - new_top_2);
      top_2 = new_top_2;
      total_2 = total_2 * shrink_2;
      y_5 = y_5 * shrink_2;
      y_6 = y_6 * shrink_2;
      y_7 = y_7 * shrink_2;
      y_8 = y_8 * shrink_2;
      if (lane < 64u) {
        pool[lane + 1280u] = __float_as_uint(expf(__uint_as_float(pool[lane + 1280u]) - new_top_2));
      }
      __syncthreads();
      const auto column = lane % 128u;
      const auto team = lane / 128u;
      const auto item = min(column, 255u);
      const auto item_2 = min(column + 128u, 255u);
      const auto here = min(chunk_end - start, 64u);
      for (auto b_5 = team * 8u; b_5 < here; b_5 += 16u) {
        const auto row_7 = pool[b_5 + 1152u] * 576u + group_of * 512u;
        const auto pair_25 = b1[p1 + ((row_7 / 2u) + item)];
        const auto pair_26 = b1[p1 + ((row_7 / 2u) + item_2)];
        const auto row_8 = pool[b_5 + 1153u] * 576u + group_of * 512u;
        const auto pair_27 = b1[p1 + ((row_8 / 2u) + item)];
        const auto pair_28 = b1[p1 + ((row_8 / 2u) + item_2)];
        const auto row_9 = pool[b_5 + 1154u] * 576u + group_of * 512u;
        const auto pair_29 = b1[p1 + ((row_9 / 2u) + item)];
        const auto pair_30 = b1[p1 + ((row_9 / 2u) + item_2)];
        const auto row_10 = pool[b_5 + 1155u] * 576u + group_of * 512u;
        const auto pair_31 = b1[p1 + ((row_10 / 2u) + item)];
        const auto pair_32 = b1[p1 + ((row_10 / 2u) + item_2)];
        const auto row_11 = pool[b_5 + 1156u] * 576u + group_of * 512u;
        const auto pair_33 = b1[p1 + ((row_11 / 2u) + item)];
        const auto pair_34 = b1[p1 + ((row_11 / 2u) + item_2)];
        const auto row_12 = pool[b_5 + 1157u] * 576u + group_of * 512u;
        const auto pair_35 = b1[p1 + ((row_12 / 2u) + item)];
        const auto pair_36 = b1[p1 + ((row_12 / 2u) + item_2)];
        const auto row_13 = pool[b_5 + 1158u] * 576u + group_of * 512u;
        const auto pair_37 = b1[p1 + ((row_13 / 2u) + item)];
        const auto pair_38 = b1[p1 + ((row_13 / 2u) + item_2)];
        const auto row_14 = pool[b_5 + 1159u] * 576u + group_of * 512u;
        const auto pair_39 = b1[p1 + ((row_14 / 2u) + item)];
        const auto pair_40 = b1[p1 + ((row_14 / 2u) + item_2)];
        const auto value = half_to_float(pair_25);
        const auto value_2 = half_to_float(pair_25 >> 16u);
        const auto value_3 = half_to_float(pair_26);
        const auto value_4 = half_to_float(pair_26 >> 16u);
        const auto weight = __uint_as_float(pool[b_5 + 1216u]);
        total = total + weight;
        y = fmaf(weight, value, y);
        y_2 = fmaf(weight, value_2, y_2);
        y_3 = fmaf(weight, value_3, y_3);
        y_4 = fmaf(weight, value_4, y_4);
        const auto weight_2 = __uint_as_float(pool[b_5 + 1280u]);
        total_2 = total_2 + weight_2;
        y_5 = fmaf(weight_2, value, y_5);
        y_6 = fmaf(weight_2, value_2, y_6);
        y_7 = fmaf(weight_2, value_3, y_7);
        y_8 = fmaf(weight_2, value_4, y_8);
        const auto value_5 = half_to_float(pair_27);
        const auto value_6 = half_to_float(pair_27 >> 16u);
        const auto value_7 = half_to_float(pair_28);
        const auto value_8 = half_to_float(pair_28 >> 16u);
        const auto weight_3 = __uint_as_float(pool[b_5 + 1217u]);
        total = total + weight_3;
        y = fmaf(weight_3, value_5, y);
        y_2 = fmaf(weight_3, value_6, y_2);
        y_3 = fmaf(weight_3, value_7, y_3);
        y_4 = fmaf(weight_3, value_8, y_4);
        const auto weight_4 = __uint_as_float(pool[b_5 + 1281u]);
        total_2 = total_2 + weight_4;
        y_5 = fmaf(weight_4, value_5, y_5);
        y_6 = fmaf(weight_4, value_6, y_6);
        y_7 = fmaf(weight_4, value_7, y_7);
        y_8 = fmaf(weight_4, value_8, y_8);
        const auto value_9 = half_to_float(pair_29);
        const auto value_10 = half_to_float(pair_29 >> 16u);
        const auto value_11 = half_to_float(pair_30);
        const auto value_12 = half_to_float(pair_30 >> 16u);
        const auto weight_5 = __uint_as_float(pool[b_5 + 1218u]);
        total = total + weight_5;
        y = fmaf(weight_5, value_9, y);
        y_2 = fmaf(weight_5, value_10, y_2);
        y_3 = fmaf(weight_5, value_11, y_3);
        y_4 = fmaf(weight_5, value_12, y_4);
        const auto weight_6 = __uint_as_float(pool[b_5 + 1282u]);
        total_2 = total_2 + weight_6;
        y_5 = fmaf(weight_6, value_9, y_5);
        y_6 = fmaf(weight_6, value_10, y_6);
        y_7 = fmaf(weight_6, value_11, y_7);
        y_8 = fmaf(weight_6, value_12, y_8);
        const auto value_13 = half_to_float(pair_31);
        const auto value_14 = half_to_float(pair_31 >> 16u);
        const auto value_15 = half_to_float(pair_32);
        const auto value_16 = half_to_float(pair_32 >> 16u);
        const auto weight_7 = __uint_as_float(pool[b_5 + 1219u]);
        total = total + weight_7;
        y = fmaf(weight_7, value_13, y);
        y_2 = fmaf(weight_7, value_14, y_2);
        y_3 = fmaf(weight_7, value_15, y_3);
        y_4 = fmaf(weight_7, value_16, y_4);
        const auto weight_8 = __uint_as_float(pool[b_5 + 1283u]);
        total_2 = total_2 + weight_8;
        y_5 = fmaf(weight_8, value_13, y_5);
        y_6 = fmaf(weight_8, value_14, y_6);
        y_7 = fmaf(weight_8, value_15, y_7);
        y_8 = fmaf(weight_8, value_16, y_8);
        const auto value_17 = half_to_float(pair_33);
        const auto value_18 = half_to_float(pair_33 >> 16u);
        const auto value_19 = half_to_float(pair_34);
        const auto value_20 = half_to_float(pair_34 >> 16u);
        const auto weight_9 = __uint_as_float(pool[b_5 + 1220u]);
        total = total + weight_9;
        y = fmaf(weight_9, value_17, y);
        y_2 = fmaf(weight_9, value_18, y_2);
        y_3 = fmaf(weight_9, value_19, y_3);
        y_4 = fmaf(weight_9, value_20, y_4);
        const auto weight_10 = __uint_as_float(pool[b_5 + 1284u]);
        total_2 = total_2 + weight_10;
        y_5 = fmaf(weight_10, value_17, y_5);
        y_6 = fmaf(weight_10, value_18, y_6);
        y_7 = fmaf(weight_10, value_19, y_7);
        y_8 = fmaf(weight_10, value_20, y_8);
        const auto value_21 = half_to_float(pair_35);
        const auto value_22 = half_to_float(pair_35 >> 16u);
        const auto value_23 = half_to_float(pair_36);
        const auto value_24 = half_to_float(pair_36 >> 16u);
        const auto weight_11 = __uint_as_float(pool[b_5 + 1221u]);
        total = total + weight_11;
        y = fmaf(weight_11, value_21, y);
        y_2 = fmaf(weight_11, value_22, y_2);
        y_3 = fmaf(weight_11, value_23, y_3);
        y_4 = fmaf(weight_11, value_24, y_4);
        const auto weight_12 = __uint_as_float(pool[b_5 + 1285u]);
        total_2 = total_2 + weight_12;
        y_5 = fmaf(weight_12, value_21, y_5);
        y_6 = fmaf(weight_12, value_22, y_6);
        y_7 = fmaf(weight_12, value_23, y_7);
        y_8 = fmaf(weight_12, value_24, y_8);
        const auto value_25 = half_to_float(pair_37);
        const auto value_26 = half_to_float(pair_37 >> 16u);
        const auto value_27 = half_to_float(pair_38);
        const auto value_28 = half_to_float(pair_38 >> 16u);
        const auto weight_13 = __uint_as_float(pool[b_5 + 1222u]);
        total = total + weight_13;
        y = fmaf(weight_13, value_25, y);
        y_2 = fmaf(weight_13, value_26, y_2);
        y_3 = fmaf(weight_13, value_27, y_3);
        y_4 = fmaf(weight_13, value_28, y_4);
        const auto weight_14 = __uint_as_float(pool[b_5 + 1286u]);
        total_2 = total_2 + weight_14;
        y_5 = fmaf(weight_14, value_25, y_5);
        y_6 = fmaf(weight_14, value_26, y_6);
        y_7 = fmaf(weight_14, value_27, y_7);
        y_8 = fmaf(weight_14, value_28, y_8);
        const auto value_29 = half_to_float(pair_39);
        const auto value_30 = half_to_float(pair_39 >> 16u);
        const auto value_31 = half_to_float(pair_40);
        const auto value_32 = half_to_float(pair_40 >> 16u);
        const auto weight_15 = __uint_as_float(pool[b_5 + 1223u]);
        total = total + weight_15;
        y = fmaf(weight_15, value_29, y);
        y_2 = fmaf(weight_15, value_30, y_2);
        y_3 = fmaf(weight_15, value_31, y_3);
        y_4 = fmaf(weight_15, value_32, y_4);
        const auto weight_16 = __uint_as_float(pool[b_5 + 1287u]);
        total_2 = total_2 + weight_16;
        y_5 = fmaf(weight_16, value_29, y_5);
        y_6 = fmaf(weight_16, value_30, y_6);
        y_7 = fmaf(weight_16, value_31, y_7);
        y_8 = fmaf(weight_16, value_32, y_8);
      }
      __syncthreads();
    }
    const auto column_2 = lane % 128u;
    const auto team_2 = lane / 128u;
    const auto at = team_2 * 1028u + 1376u;
    pool[at + 512u] = __float_as_uint(total);
    pool[at + 513u] = __float_as_uint(top);
    if (column_2 < 256u) {
      pool[at + column_2 * 2u] = __float_as_uint(y);
      pool[at + column_2 * 2u + 1u] = __float_as_uint(y_2);
    }
    const auto item_3 = column_2 + 128u;
    if (item_3 < 256u) {
      pool[at + item_3 * 2u] = __float_as_uint(y_3);
      pool[at + item_3 * 2u + 1u] = __float_as_uint(y_4);
    }
    const auto at_2 = (team_2 * 2u + 1u) * 514u + 1376u;
    pool[at_2 + 512u] = __float_as_uint(total_2);
    pool[at_2 + 513u] = __float_as_uint(top_2);
    if (column_2 < 256u) {
      pool[at_2 + column_2 * 2u] = __float_as_uint(y_5);
      pool[at_2 + column_2 * 2u + 1u] = __float_as_uint(y_6);
    }
    const auto item_4 = column_2 + 128u;
    if (item_4 < 256u) {
      pool[at_2 + item_4 * 2u] = __float_as_uint(y_7);
      pool[at_2 + item_4 * 2u + 1u] = __float_as_uint(y_8);
    }
    __syncthreads();
    for (auto time_2 = 0u; time_2 < 4u; time_2 += 1u) {
      const auto c_8 = time_2 * 256u + lane;
      const auto h = c_8 / 512u;
      const auto column_3 = c_8 % 512u;
      const auto from_team = h * 514u + column_3 + 1376u;
      auto total_7 = __uint_as_float(pool[from_team]);
      for (auto l_5 = 1u; l_5 < 2u; l_5 += 1u) {
        total_7 = total_7 + __uint_as_float(pool[from_team + l_5 * 1028u]);
      }
      b5[((rows_at * ((sizes.words[3] * 32u + 127u) / 128u) + chunk) * 2u + h) * 514u + column_3] = __float_as_uint(total_7);
    }
    if (lane < 2u) {
      const auto to = ((rows_at * ((sizes.words[3] * 32u + 127u) / 128u) + chunk) * 2u + lane) * 514u + 512u;
      const auto from_team_2 = lane * 514u + 1888u;
      auto total_8 = __uint_as_float(pool[from_team_2]);
      for (auto l_6 = 1u; l_6 < 2u; l_6 += 1u) {
        total_8 = total_8 + __uint_as_float(pool[from_team_2 + l_6 * 1028u]);
      }
      const auto its_top = __uint_as_float(pool[lane * 514u + 1889u]);
      b5[to] = __float_as_uint(total_8);
      b5[to + 1u] = __float_as_uint(its_top);
    }
  }
}

// attend_20x576: lanes 256; rows 2 width 512 reduce 16 upcast 4 chunk 128 spread
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

extern "C" __global__ void __launch_bounds__(256) weft_attend_20x576(
  const Args args,
  const Sizes sizes,
  unsigned int* b0,
  const unsigned int* b1,
  const unsigned int* b2,
  const unsigned int* b3,
  const unsigned int* b4,
  unsigned int* b5
) {
  __shared__ unsigned int pool[1376];
  const unsigned int lane = threadIdx.x;
  const unsigned int warp = 0xffffffffu;
  const auto p2 = args.words[4];
  const auto p3 = args.words[6];
  const auto p5 = args.words[10];
  const auto n1 = args.words[3];
  const auto n4 = args.words[9];
  const auto n5 = args.words[11];
  launch_next();
  // part 0: attend [T, 20] × 512; rows 2 width 512 reduce 16 upcast 4 chunk 128 spread; together
  const auto own_group = blockIdx.x;
  wait_for_previous();
  const auto row = own_group * 2u;
  const auto i = row / 20u;
  const auto i_2 = (row % 20u) % 20u;
  const auto i_3 = min(i, sizes.words[0] - 1u);
  const auto last_page = max(min(n4, sizes.words[3]), 1u) - 1u;
  const auto last_position = last_page * 32u + 31u;
  const auto position = b2[p2 + i_3];
  const auto seen = min(position, last_position) + 1u;
  const auto last_row = max(min(n1 / 576u, n1 / 576u), 1u) - 1u;
  const auto pages_at = b3[p3 + i_3];
  const auto chunks = (seen + 127u) / 128u;
  for (auto time = 0u; time < 4u; time += 1u) {
    const auto c = time * 256u + lane;
    const auto h = c / 512u;
    const auto column = c % 512u;
    auto sum = 0.0f;
    auto sum_2 = 0.0f;
    auto top = -3e38f;
    for (auto chunk = 0u; chunk < chunks; chunk += 8u) {
      const auto put_at = ((own_group * ((sizes.words[3] * 32u + 127u) / 128u) + min(chunk, chunks - 1u)) * 2u + h) * 514u;
      const auto put_down = __uint_as_float(b5[column + put_at]);
      const auto put_down_2 = __uint_as_float(b5[put_at + 512u]);
      const auto put_down_3 = __uint_as_float(b5[put_at + 513u]);
      const auto its_top = (chunk < chunks ? put_down_3 : -3e38f);
      const auto chunk_2 = chunk + 1u;
      const auto put_at_2 = ((own_group * ((sizes.words[3] * 32u + 127u) / 128u) + min(chunk_2, chunks - 1u)) * 2u + h) * 514u;
      const auto put_down_4 = __uint_as_float(b5[column + put_at_2]);
      const auto put_down_5 = __uint_as_float(b5[put_at_2 + 512u]);
      const auto put_down_6 = __uint_as_float(b5[put_at_2 + 513u]);
      const auto its_top_2 = (chunk_2 < chunks ? put_down_6 : -3e38f);
      const auto chunk_3 = chunk + 2u;
      const auto put_at_3 = ((own_group * ((sizes.words[3] * 32u + 127u) / 128u) + min(chunk_3, chunks - 1u)) * 2u + h) * 514u;
      const auto put_down_7 = __uint_as_float(b5[column + put_at_3]);
      const auto put_down_8 = __uint_as_float(b5[put_at_3 + 512u]);
      const auto put_down_9 = __uint_as_float(b5[put_at_3 + 513u]);
      const auto its_top_3 = (chunk_3 < chunks ? put_down_9 : -3e38f);
      const auto chunk_4 = chunk + 3u;
      const auto put_at_4 = ((own_group * ((sizes.words[3] * 32u + 127u) / 128u) + min(chunk_4, chunks - 1u)) * 2u + h) * 514u;
      const auto put_down_10 = __uint_as_float(b5[column + put_at_4]);
      const auto put_down_11 = __uint_as_float(b5[put_at_4 + 512u]);
      const auto put_down_12 = __uint_as_float(b5[put_at_4 + 513u]);
      const auto its_top_4 = (chunk_4 < chunks ? put_down_12 : -3e38f);
      const auto chunk_5 = chunk + 4u;
      const auto put_at_5 = ((own_group * ((sizes.words[3] * 32u + 127u) / 128u) + min(chunk_5, chunks - 1u)) * 2u + h) * 514u;
      const auto put_down_13 = __uint_as_float(b5[column + put_at_5]);
      const auto put_down_14 = __uint_as_float(b5[put_at_5 + 512u]);
      const auto put_down_15 = __uint_as_float(b5[put_at_5 + 513u]);
      const auto its_top_5 = (chunk_5 < chunks ? put_down_15 : -3e38f);
      const auto chunk_6 = chunk + 5u;
      const auto put_at_6 = ((own_group * ((sizes.words[3] * 32u + 127u) / 128u) + min(chunk_6, chunks - 1u)) * 2u + h) * 514u;
      const auto put_down_16 = __uint_as_float(b5[column + put_at_6]);
      const auto put_down_17 = __uint_as_float(b5[put_at_6 + 512u]);
      const auto put_down_18 = __uint_as_float(b5[put_at_6 + 513u]);
      const auto its_top_6 = (chunk_6 < chunks ? put_down_18 : -3e38f);
      const auto chunk_7 = chunk + 6u;
      const auto put_at_7 = ((own_group * ((sizes.words[3] * 32u + 127u) / 128u) + min(chunk_7, chunks - 1u)) * 2u + h) * 514u;
      const auto put_down_19 = __uint_as_float(b5[column + put_at_7]);
      const auto put_down_20 = __uint_as_float(b5[put_at_7 + 512u]);
      const auto put_down_21 = __uint_as_float(b5[put_at_7 + 513u]);
      const auto its_top_7 = (chunk_7 < chunks ? put_down_21 : -3e38f);
      const auto chunk_8 = chunk + 7u;
      const auto put_at_8 = ((own_group * ((sizes.words[3] * 32u + 127u) / 128u) + min(chunk_8, chunks - 1u)) * 2u + h) * 514u;
      const auto put_down_22 = __uint_as_float(b5[column + put_at_8]);
      const auto put_down_23 = __uint_as_float(b5[put_at_8 + 512u]);
      const auto put_down_24 = __uint_as_float(b5[put_at_8 + 513u]);
      const auto its_top_8 = (chunk_8 < chunks ? put_down_24 : -3e38f);
      const auto new_top = max(top, its_top);
      const auto shrink = expf(top - new_top);
      const auto shrink_2 = expf(its_top - new_top);
      sum = fmaf(put_down, shrink_2, sum * shrink);
      sum_2 = fmaf(put_down_2, shrink_2, sum_2 * shrink);
      top = new_top;
      const auto new_top_2 = max(top, its_top_2);
      const auto shrink_3 = expf(top - new_top_2);
      const auto shrink_4 = expf(its_top_2 - new_top_2);
      sum = fmaf(put_down_4, shrink_4, sum * shrink_3);
      sum_2 = fmaf(put_down_5, shrink_4, sum_2 * shrink_3);
      top = new_top_2;
      const auto new_top_3 = max(top, its_top_3);
      const auto shrink_5 = expf(top - new_top_3);
      const auto shrink_6 = expf(its_top_3 - new_top_3);
      sum = fmaf(put_down_7, shrink_6, sum * shrink_5);
      sum_2 = fmaf(put_down_8, shrink_6, sum_2 * shrink_5);
      top = new_top_3;
      const auto new_top_4 = max(top, its_top_4);
      const auto shrink_7 = expf(top - new_top_4);
      const auto shrink_8 = expf(its_top_4 - new_top_4);
      sum = fmaf(put_down_10, shrink_8, sum * shrink_7);
      sum_2 = fmaf(put_down_11, shrink_8, sum_2 * shrink_7);
      top = new_top_4;
      const auto new_top_5 = max(top, its_top_5);
      const auto shrink_9 = expf(top - new_top_5);
      const auto shrink_10 = expf(its_top_5 - new_top_5);
      sum = fmaf(put_down_13, shrink_10, sum * shrink_9);
      sum_2 = fmaf(put_down_14, shrink_10, sum_2 * shrink_9);
      top = new_top_5;
      const auto new_top_6 = max(top, its_top_6);
      const auto shrink_11 = expf(top - new_top_6);
      const auto shrink_12 = expf(its_top_6 - new_top_6);
      sum = fmaf(put_down_16, shrink_12, sum * shrink_11);
      sum_2 = fmaf(put_down_17, shrink_12, sum_2 * shrink_11);
      top = new_top_6;
      const auto new_top_7 = max(top, its_top_7);
      const auto shrink_13 = expf(top - new_top_7);
      const auto shrink_14 = expf(its_top_7 - new_top_7);
      sum = fmaf(put_down_19, shrink_14, sum * shrink_13);
      sum_2 = fmaf(put_down_20, shrink_14, sum_2 * shrink_13);
      top = new_top_7;
      const auto new_top_8 = max(top, its_top_8);
      const auto shrink_15 = expf(top - new_top_8);
      const auto shrink_16 = expf(its_top_8 - new_top_8);
      sum = fmaf(put_down_22, shrink_16, sum * shrink_15);
      sum_2 = fmaf(put_down_23, shrink_16, sum_2 * shrink_15);
      top = new_top_8;
    }
    pool[c] = __float_as_uint(sum / sum_2);
  }
  __syncthreads();
  const auto r = (lane * 4u) / 512u;
  const auto own = (lane * 4u) % 512u;
  const auto row_2 = own_group * 2u + r;
  const auto i_4 = row_2 / 20u;
  const auto i_5 = (row_2 % 20u) % 20u;
  const auto i_6 = min(i_4, sizes.words[0] - 1u);
  const auto v = __uint_as_float(pool[r * 512u + own]);
  const auto r_2 = (lane * 4u + 1u) / 512u;
  const auto own_2 = (lane * 4u + 1u) % 512u;
  const auto row_3 = own_group * 2u + r_2;
  const auto i_7 = row_3 / 20u;
  const auto i_8 = (row_3 % 20u) % 20u;
  const auto i_9 = min(i_7, sizes.words[0] - 1u);
  const auto v_2 = __uint_as_float(pool[r_2 * 512u + own_2]);
  const auto r_3 = (lane * 4u + 2u) / 512u;
  const auto own_3 = (lane * 4u + 2u) % 512u;
  const auto row_4 = own_group * 2u + r_3;
  const auto i_10 = row_4 / 20u;
  const auto i_11 = (row_4 % 20u) % 20u;
  const auto i_12 = min(i_10, sizes.words[0] - 1u);
  const auto v_3 = __uint_as_float(pool[r_3 * 512u + own_3]);
  const auto r_4 = (lane * 4u + 3u) / 512u;
  const auto own_4 = (lane * 4u + 3u) % 512u;
  const auto row_5 = own_group * 2u + r_4;
  const auto i_13 = row_5 / 20u;
  const auto i_14 = (row_5 % 20u) % 20u;
  const auto i_15 = min(i_13, sizes.words[0] - 1u);
  const auto v_4 = __uint_as_float(pool[r_4 * 512u + own_4]);
  const auto mine = max(max(max(__float_as_uint(v) & 0x7fffffffu, __float_as_uint(v_2) & 0x7fffffffu), __float_as_uint(v_3) & 0x7fffffffu), __float_as_uint(v_4) & 0x7fffffffu);
  const auto other = __shfl_xor_sync(warp, mine, 1u);
  const auto both = max(mine, other);
  const auto other_2 = __shfl_xor_sync(warp, both, 2u);
  const auto both_2 = max(both, other_2);
  const auto other_3 = __shfl_xor_sync(warp, both_2, 4u);
  const auto both_3 = max(both_2, other_3);
  const auto largest = __uint_as_float(both_3);
  const auto scale = (both_3 < 0x7f800000u ? __float_as_uint(largest / 127.0f) : 0x7fc00000u);
  const auto inverse = (largest > 3.74e-37f && both_3 < 0x7f800000u ? 127.0f / largest : 0.0f);
  const auto packed = ((unsigned int)(__float2int_rz(min(max(rintf(v * inverse), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_2 * inverse), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_3 * inverse), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_4 * inverse), -127.0f), 127.0f))) & 255u) << 24u);
  const auto mine_2 = __dp4a((int)(packed), (int)(0x1010101u), 0);
  const auto other_4 = __shfl_xor_sync(warp, mine_2, 1u);
  const auto both_4 = mine_2 + other_4;
  const auto other_5 = __shfl_xor_sync(warp, both_4, 2u);
  const auto both_5 = both_4 + other_5;
  pool[lane + 1024u] = packed;
  if ((lane % 4u) == 0u) {
    pool[(lane / 4u) + 1312u] = __float_as_uint((float)(both_5) * __uint_as_float(scale));
  }
  if ((lane % 8u) == 0u) {
    pool[(lane / 8u) + 1280u] = scale;
  }
  __syncthreads();
  const auto r_5 = lane / 128u;
  const auto own_5 = (lane % 128u) * 4u;
  const auto row_6 = own_group * 2u + r_5;
  const auto i_16 = row_6 / 20u;
  const auto i_17 = (row_6 % 20u) % 20u;
  if (row_6 < sizes.words[0] * 20u) {
    b0[p5 + ((i_16 * 10240u + i_17 * 512u + own_5) / 4u)] = pool[((r_5 * 512u + own_5) / 4u) + 1024u];
  }
  if (lane < 32u) {
    const auto r_6 = lane / 16u;
    const auto own_6 = (lane % 16u) * 32u;
    const auto row_7 = own_group * 2u + r_6;
    const auto i_18 = row_7 / 20u;
    const auto i_19 = (row_7 % 20u) % 20u;
    if (row_7 < sizes.words[0] * 20u) {
      b0[p5 + (n5 / 4u) + ((i_18 * 10240u + i_19 * 512u + own_6) / 32u)] = pool[((r_6 * 512u + own_6) / 32u) + 1280u];
    }
  }
  if (lane < 64u) {
    const auto r_7 = lane / 32u;
    const auto own_7 = (lane % 32u) * 16u;
    const auto row_8 = own_group * 2u + r_7;
    const auto i_20 = row_8 / 20u;
    const auto i_21 = (row_8 % 20u) % 20u;
    if (row_8 < sizes.words[0] * 20u) {
      b0[p5 + ((n5 / 4u) + (n5 / 32u)) + ((i_20 * 10240u + i_21 * 512u + own_7) / 16u)] = pool[((r_7 * 512u + own_7) / 16u) + 1312u];
    }
  }
}

// head_dot_256x512_q4_0: lanes 256; rows 1 width 32 reduce 16 upcast 1
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

static __device__ __forceinline__ float half_to_float(unsigned int bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)bits));
  return value;
}

extern "C" __global__ void __launch_bounds__(256) weft_head_dot_256x512_q4_0(
  const Args args,
  const Sizes sizes,
  unsigned int* b0,
  const unsigned int* __restrict__ b1
) {
  __shared__ unsigned int pool[299];
  const unsigned int lane = threadIdx.x;
  const unsigned int warp = 0xffffffffu;
  const auto p0 = args.words[0];
  const auto p1 = args.words[2];
  const auto p2 = args.words[4];
  const auto n0 = args.words[1];
  const auto n2 = args.words[5];
  launch_next();
  // part 0: dot [T, 20] × 256; rows 1 width 32 reduce 16 upcast 1
  const auto own_group = blockIdx.x;
  const auto tiles = sizes.words[0] * 20u;
  const auto rows_at = own_group % tiles;
  const auto first = (own_group / tiles) * 32u;
  wait_for_previous();
  const auto i = rows_at / 20u;
  const auto i_2 = (rows_at % 20u) % 20u;
  for (auto at = 0u; at < 32u; at += 16u) {
    const auto share = lane / 16u;
    const auto own = lane % 16u;
    const auto column = first + (at + own);
    // times q4_0[256, 512]
    auto sum = 0.0f;
    const auto x = i * 10240u + i_2 * 512u;
    const auto x_2 = p0 + (x / 4u);
    const auto xd = p0 + (n0 / 4u) + (x / 32u);
    const auto xs = p0 + (n0 / 4u) + (n0 / 32u) + (x / 16u);
    const auto tile = p1 + ((i_2 * 256u + column) / 16u) * 1152u;
    const auto lane_row = (i_2 * 256u + column) % 16u;
    const auto at_2 = tile + lane_row + share * 64u;
    const auto w = b1[at_2];
    const auto w_2 = b1[at_2 + 16u];
    const auto w_3 = b1[at_2 + 32u];
    const auto w_4 = b1[at_2 + 48u];
    const auto scale = half_to_float(b1[tile + 1024u + ((share * 16u + lane_row) / 2u)] >> (((share * 16u + lane_row) % 2u) * 16u));
    const auto xw = x_2 + share * 8u;
    const auto xq = b0[xw];
    const auto xq_2 = b0[xw + 1u];
    const auto xq_3 = b0[xw + 2u];
    const auto xq_4 = b0[xw + 3u];
    const auto xq_5 = b0[xw + 4u];
    const auto xq_6 = b0[xw + 5u];
    const auto xq_7 = b0[xw + 6u];
    const auto xq_8 = b0[xw + 7u];
    const auto d = __uint_as_float(b0[xd + share]);
    sum = fmaf((float)(__dp4a((int)(((((w_4 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_8), __dp4a((int)(((((w_3 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_7), __dp4a((int)(((((w_2 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_6), __dp4a((int)(((((w >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_5), __dp4a((int)((((w_4 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_4), __dp4a((int)((((w_3 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_3), __dp4a((int)((((w_2 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_2), __dp4a((int)((((w & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq), 0))))))))), scale * d, sum);
    const auto to = share * 16u + own;
    pool[to] = __float_as_uint(sum);
    __syncthreads();
    if (lane < 16u) {
      const auto own_2 = at + (lane % 16u);
      auto total = __uint_as_float(pool[lane]);
      for (auto l = 1u; l < 16u; l += 1u) {
        total = total + __uint_as_float(pool[lane + l * 16u]);
      }
      pool[(lane / 16u) * 32u + own_2 + 256u] = __float_as_uint(total);
    }
    __syncthreads();
  }
  const auto word = min(lane, 7u);
  const auto i_3 = rows_at / 20u;
  const auto i_4 = (rows_at % 20u) % 20u;
  const auto column_2 = first + word * 4u;
  const auto v = __uint_as_float(pool[word * 4u + 256u]);
  const auto i_5 = rows_at / 20u;
  const auto i_6 = (rows_at % 20u) % 20u;
  const auto column_3 = first + (word * 4u + 1u);
  const auto v_2 = __uint_as_float(pool[word * 4u + 257u]);
  const auto i_7 = rows_at / 20u;
  const auto i_8 = (rows_at % 20u) % 20u;
  const auto column_4 = first + (word * 4u + 2u);
  const auto v_3 = __uint_as_float(pool[word * 4u + 258u]);
  const auto i_9 = rows_at / 20u;
  const auto i_10 = (rows_at % 20u) % 20u;
  const auto column_5 = first + (word * 4u + 3u);
  const auto v_4 = __uint_as_float(pool[word * 4u + 259u]);
  const auto mine = max(max(max(__float_as_uint(v) & 0x7fffffffu, __float_as_uint(v_2) & 0x7fffffffu), __float_as_uint(v_3) & 0x7fffffffu), __float_as_uint(v_4) & 0x7fffffffu);
  const auto other = __shfl_xor_sync(warp, mine, 1u);
  const auto both = max(mine, other);
  const auto other_2 = __shfl_xor_sync(warp, both, 2u);
  const auto both_2 = max(both, other_2);
  const auto other_3 = __shfl_xor_sync(warp, both_2, 4u);
  const auto both_3 = max(both_2, other_3);
  const auto largest = __uint_as_float(both_3);
  const auto scale_2 = (both_3 < 0x7f800000u ? __float_as_uint(largest / 127.0f) : 0x7fc00000u);
  const auto inverse = (largest > 3.74e-37f && both_3 < 0x7f800000u ? 127.0f / largest : 0.0f);
  const auto packed = ((unsigned int)(__float2int_rz(min(max(rintf(v * inverse), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_2 * inverse), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_3 * inverse), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_4 * inverse), -127.0f), 127.0f))) & 255u) << 24u);
  const auto mine_2 = __dp4a((int)(packed), (int)(0x1010101u), 0);
  const auto other_4 = __shfl_xor_sync(warp, mine_2, 1u);
  const auto both_4 = mine_2 + other_4;
  const auto other_5 = __shfl_xor_sync(warp, both_4, 2u);
  const auto both_5 = both_4 + other_5;
  if (lane < 8u) {
    pool[lane + 288u] = packed;
    if ((lane % 4u) == 0u) {
      pool[(lane / 4u) + 297u] = __float_as_uint((float)(both_5) * __uint_as_float(scale_2));
    }
    if ((lane % 8u) == 0u) {
      pool[(lane / 8u) + 296u] = scale_2;
    }
  }
  __syncthreads();
  if (lane < 8u) {
    const auto i_11 = rows_at / 20u;
    const auto i_12 = (rows_at % 20u) % 20u;
    const auto column_6 = first + lane * 4u;
    b0[p2 + ((i_11 * 5120u + i_12 * 256u + column_6) / 4u)] = pool[((lane * 4u) / 4u) + 288u];
  }
  if (lane < 1u) {
    const auto i_13 = rows_at / 20u;
    const auto i_14 = (rows_at % 20u) % 20u;
    const auto column_7 = first + lane * 32u;
    b0[p2 + (n2 / 4u) + ((i_13 * 5120u + i_14 * 256u + column_7) / 32u)] = pool[((lane * 32u) / 32u) + 296u];
  }
  if (lane < 2u) {
    const auto i_15 = rows_at / 20u;
    const auto i_16 = (rows_at % 20u) % 20u;
    const auto column_8 = first + lane * 16u;
    b0[p2 + ((n2 / 4u) + (n2 / 32u)) + ((i_15 * 5120u + i_16 * 256u + column_8) / 16u)] = pool[((lane * 16u) / 16u) + 297u];
  }
}

// dot_2048x5120_q4_0: lanes 512; rows 1 width 16 reduce 32 upcast 1
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

static __device__ __forceinline__ float half_to_float(unsigned int bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)bits));
  return value;
}

extern "C" __global__ void __launch_bounds__(512) weft_dot_2048x5120_q4_0(
  const Args args,
  const Sizes sizes,
  unsigned int* b0,
  const unsigned int* __restrict__ b1,
  const unsigned int* b2
) {
  __shared__ unsigned int pool[512];
  const unsigned int lane = threadIdx.x;
  const auto p0 = args.words[0];
  const auto p1 = args.words[2];
  const auto p2 = args.words[4];
  const auto p3 = args.words[6];
  const auto n0 = args.words[1];
  launch_next();
  // part 0: dot [T] × 2048; rows 1 width 16 reduce 32 upcast 1
  const auto own_group = blockIdx.x;
  const auto tiles = sizes.words[0];
  const auto rows_at = own_group % tiles;
  const auto first = (own_group / tiles) * 16u;
  wait_for_previous();
  const auto share = lane / 16u;
  const auto own = lane % 16u;
  const auto column = first + own;
  // times q4_0[2048, 5120]
  auto sum = 0.0f;
  const auto x = rows_at * 5120u;
  const auto x_2 = p0 + (x / 4u);
  const auto xd = p0 + (n0 / 4u) + (x / 32u);
  const auto xs = p0 + (n0 / 4u) + (n0 / 32u) + (x / 16u);
  const auto tile = p1 + (column / 16u) * 11520u;
  const auto lane_row = column % 16u;
  const auto at = tile + lane_row + share * 64u;
  const auto w = b1[at];
  const auto w_2 = b1[at + 16u];
  const auto w_3 = b1[at + 32u];
  const auto w_4 = b1[at + 48u];
  const auto scale = half_to_float(b1[tile + 10240u + ((share * 16u + lane_row) / 2u)] >> (((share * 16u + lane_row) % 2u) * 16u));
  const auto b = share + 32u;
  const auto at_2 = tile + lane_row + b * 64u;
  const auto w_5 = b1[at_2];
  const auto w_6 = b1[at_2 + 16u];
  const auto w_7 = b1[at_2 + 32u];
  const auto w_8 = b1[at_2 + 48u];
  const auto scale_2 = half_to_float(b1[tile + 10240u + ((b * 16u + lane_row) / 2u)] >> (((b * 16u + lane_row) % 2u) * 16u));
  const auto b_2 = share + 64u;
  const auto at_3 = tile + lane_row + b_2 * 64u;
  const auto w_9 = b1[at_3];
  const auto w_10 = b1[at_3 + 16u];
  const auto w_11 = b1[at_3 + 32u];
  const auto w_12 = b1[at_3 + 48u];
  const auto scale_3 = half_to_float(b1[tile + 10240u + ((b_2 * 16u + lane_row) / 2u)] >> (((b_2 * 16u + lane_row) % 2u) * 16u));
  const auto b_3 = share + 96u;
  const auto at_4 = tile + lane_row + b_3 * 64u;
  const auto w_13 = b1[at_4];
  const auto w_14 = b1[at_4 + 16u];
  const auto w_15 = b1[at_4 + 32u];
  const auto w_16 = b1[at_4 + 48u];
  const auto scale_4 = half_to_float(b1[tile + 10240u + ((b_3 * 16u + lane_row) / 2u)] >> (((b_3 * 16u + lane_row) % 2u) * 16u));
  const auto b_4 = share + 128u;
  const auto at_5 = tile + lane_row + b_4 * 64u;
  const auto w_17 = b1[at_5];
  const auto w_18 = b1[at_5 + 16u];
  const auto w_19 = b1[at_5 + 32u];
  const auto w_20 = b1[at_5 + 48u];
  const auto scale_5 = half_to_float(b1[tile + 10240u + ((b_4 * 16u + lane_row) / 2u)] >> (((b_4 * 16u + lane_row) % 2u) * 16u));
  const auto xw = x_2 + share * 8u;
  const auto xq = b0[xw];
  const auto xq_2 = b0[xw + 1u];
  const auto xq_3 = b0[xw + 2u];
  const auto xq_4 = b0[xw + 3u];
  const auto xq_5 = b0[xw + 4u];
  const auto xq_6 = b0[xw + 5u];
  const auto xq_7 = b0[xw + 6u];
  const auto xq_8 = b0[xw + 7u];
  const auto d = __uint_as_float(b0[xd + share]);
  sum = fmaf((float)(__dp4a((int)(((((w_4 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_8), __dp4a((int)(((((w_3 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_7), __dp4a((int)(((((w_2 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_6), __dp4a((int)(((((w >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_5), __dp4a((int)((((w_4 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_4), __dp4a((int)((((w_3 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_3), __dp4a((int)((((w_2 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_2), __dp4a((int)((((w & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq), 0))))))))), scale * d, sum);
  const auto xw_2 = x_2 + b * 8u;
  const auto xq_9 = b0[xw_2];
  const auto xq_10 = b0[xw_2 + 1u];
  const auto xq_11 = b0[xw_2 + 2u];
  const auto xq_12 = b0[xw_2 + 3u];
  const auto xq_13 = b0[xw_2 + 4u];
  const auto xq_14 = b0[xw_2 + 5u];
  const auto xq_15 = b0[xw_2 + 6u];
  const auto xq_16 = b0[xw_2 + 7u];
  const auto d_2 = __uint_as_float(b0[xd + b]);
  sum = fmaf((float)(__dp4a((int)(((((w_8 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_16), __dp4a((int)(((((w_7 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_15), __dp4a((int)(((((w_6 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_14), __dp4a((int)(((((w_5 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_13), __dp4a((int)((((w_8 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_12), __dp4a((int)((((w_7 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_11), __dp4a((int)((((w_6 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_10), __dp4a((int)((((w_5 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_9), 0))))))))), scale_2 * d_2, sum);
  const auto xw_3 = x_2 + b_2 * 8u;
  const auto xq_17 = b0[xw_3];
  const auto xq_18 = b0[xw_3 + 1u];
  const auto xq_19 = b0[xw_3 + 2u];
  const auto xq_20 = b0[xw_3 + 3u];
  const auto xq_21 = b0[xw_3 + 4u];
  const auto xq_22 = b0[xw_3 + 5u];
  const auto xq_23 = b0[xw_3 + 6u];
  const auto xq_24 = b0[xw_3 + 7u];
  const auto d_3 = __uint_as_float(b0[xd + b_2]);
  sum = fmaf((float)(__dp4a((int)(((((w_12 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_24), __dp4a((int)(((((w_11 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_23), __dp4a((int)(((((w_10 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_22), __dp4a((int)(((((w_9 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_21), __dp4a((int)((((w_12 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_20), __dp4a((int)((((w_11 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_19), __dp4a((int)((((w_10 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_18), __dp4a((int)((((w_9 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_17), 0))))))))), scale_3 * d_3, sum);
  const auto xw_4 = x_2 + b_3 * 8u;
  const auto xq_25 = b0[xw_4];
  const auto xq_26 = b0[xw_4 + 1u];
  const auto xq_27 = b0[xw_4 + 2u];
  const auto xq_28 = b0[xw_4 + 3u];
  const auto xq_29 = b0[xw_4 + 4u];
  const auto xq_30 = b0[xw_4 + 5u];
  const auto xq_31 = b0[xw_4 + 6u];
  const auto xq_32 = b0[xw_4 + 7u];
  const auto d_4 = __uint_as_float(b0[xd + b_3]);
  sum = fmaf((float)(__dp4a((int)(((((w_16 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_32), __dp4a((int)(((((w_15 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_31), __dp4a((int)(((((w_14 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_30), __dp4a((int)(((((w_13 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_29), __dp4a((int)((((w_16 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_28), __dp4a((int)((((w_15 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_27), __dp4a((int)((((w_14 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_26), __dp4a((int)((((w_13 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_25), 0))))))))), scale_4 * d_4, sum);
  const auto xw_5 = x_2 + b_4 * 8u;
  const auto xq_33 = b0[xw_5];
  const auto xq_34 = b0[xw_5 + 1u];
  const auto xq_35 = b0[xw_5 + 2u];
  const auto xq_36 = b0[xw_5 + 3u];
  const auto xq_37 = b0[xw_5 + 4u];
  const auto xq_38 = b0[xw_5 + 5u];
  const auto xq_39 = b0[xw_5 + 6u];
  const auto xq_40 = b0[xw_5 + 7u];
  const auto d_5 = __uint_as_float(b0[xd + b_4]);
  sum = fmaf((float)(__dp4a((int)(((((w_20 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_40), __dp4a((int)(((((w_19 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_39), __dp4a((int)(((((w_18 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_38), __dp4a((int)(((((w_17 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_37), __dp4a((int)((((w_20 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_36), __dp4a((int)((((w_19 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_35), __dp4a((int)((((w_18 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_34), __dp4a((int)((((w_17 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_33), 0))))))))), scale_5 * d_5, sum);
  const auto to = share * 16u + own;
  pool[to] = __float_as_uint(sum);
  __syncthreads();
  if (lane < 16u) {
    const auto own_2 = lane % 16u;
    auto total = __uint_as_float(pool[lane]);
    for (auto l = 1u; l < 32u; l += 1u) {
      total = total + __uint_as_float(pool[lane + l * 16u]);
    }
    pool[(lane / 16u) * 16u + own_2] = __float_as_uint(total);
  }
  __syncthreads();
  if (lane < 16u) {
    const auto column_2 = first + lane;
    const auto at_6 = rows_at * 2048u + column_2;
    const auto v = __uint_as_float(b2[p2 + at_6]);
    const auto v_2 = __uint_as_float(pool[lane]);
    const auto v_3 = v + v_2;
    b0[p3 + (rows_at * 2048u + column_2)] = __float_as_uint(v_3);
  }
}

// dot_1536x2048_q4_0&dot_1536x2048_q4_0+1: lanes 256; rows 1 width 64 reduce 32 upcast 1; rows 1 width 32 reduce 16 upcast 1
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

static __device__ __forceinline__ float half_to_float(unsigned int bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)bits));
  return value;
}

extern "C" __global__ void __launch_bounds__(256) weft_dot_1536x2048_q4_0_dot_1536x2048_q4_0_1(
  const Args args,
  const Sizes sizes,
  unsigned int* b0,
  const unsigned int* __restrict__ b1,
  const unsigned int* __restrict__ b2,
  const unsigned int* __restrict__ b3,
  const unsigned int* __restrict__ b4,
  const unsigned int* __restrict__ b5
) {
  __shared__ unsigned int pool[6676];
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
  const auto n8 = args.words[17];
  launch_next();
  // part 0: dot [T] × 64; rows 1 width 64 reduce 32 upcast 1
  const auto own_group = blockIdx.x;
  const auto count = sizes.words[0];
  if (own_group < count) {
    wait_for_previous();
    // what is multiplied
    for (auto time = 0u; time < 8u; time += 1u) {
      const auto c = time * 256u + lane;
      const auto at = own_group * 2048u + c;
      const auto v = __uint_as_float(b0[p0 + at]);
      const auto v_2 = __uint_as_float(b1[p1 + c]);
      pool[c + 2048u] = __float_as_uint(v);
      pool[c + 4096u] = __float_as_uint(v_2);
    }
    __syncthreads();
    auto total = 0.0f;
    for (auto time_2 = 0u; time_2 < 8u; time_2 += 1u) {
      const auto c_2 = time_2 * 256u + lane;
      const auto v_3 = __uint_as_float(pool[c_2 + 2048u]) * __uint_as_float(pool[c_2 + 2048u]);
      total = total + v_3;
    }
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
      pool[(lane / 32u) + 6144u] = __float_as_uint(both_5);
    }
    __syncthreads();
    auto total_2 = __uint_as_float(pool[6144u]);
    for (auto l = 1u; l < 8u; l += 1u) {
      total_2 = total_2 + __uint_as_float(pool[l + 6144u]);
    }
    const auto v_4 = total_2 / 2048.0f;
    const auto v_5 = v_4 + 1e-5f;
    const auto v_6 = rsqrtf(v_5);
    for (auto time_3 = 0u; time_3 < 8u; time_3 += 1u) {
      const auto c_3 = time_3 * 256u + lane;
      const auto v_7 = __uint_as_float(pool[c_3 + 2048u]) * v_6;
      const auto v_8 = v_7 * __uint_as_float(pool[c_3 + 4096u]);
      pool[c_3] = __float_as_uint(v_8);
    }
    __syncthreads();
    for (auto at_2 = 0u; at_2 < 64u; at_2 += 8u) {
      const auto share = lane % 32u;
      const auto own = lane / 32u;
      const auto column = at_2 + own;
      // times f32[64, 2048]
      auto sum = 0.0f;
      const auto row = column * 2048u;
      for (auto c_4 = share; c_4 < 2048u; c_4 += 256u) {
        const auto value = __uint_as_float(b2[p2 + (row + c_4)]);
        const auto c_5 = c_4 + 32u;
        const auto value_2 = __uint_as_float(b2[p2 + (row + c_5)]);
        const auto c_6 = c_4 + 64u;
        const auto value_3 = __uint_as_float(b2[p2 + (row + c_6)]);
        const auto c_7 = c_4 + 96u;
        const auto value_4 = __uint_as_float(b2[p2 + (row + c_7)]);
        const auto c_8 = c_4 + 128u;
        const auto value_5 = __uint_as_float(b2[p2 + (row + c_8)]);
        const auto c_9 = c_4 + 160u;
        const auto value_6 = __uint_as_float(b2[p2 + (row + c_9)]);
        const auto c_10 = c_4 + 192u;
        const auto value_7 = __uint_as_float(b2[p2 + (row + c_10)]);
        const auto c_11 = c_4 + 224u;
        const auto value_8 = __uint_as_float(b2[p2 + (row + c_11)]);
        const auto xv = __uint_as_float(pool[c_4]);
        sum = fmaf(value, xv, sum);
        const auto xv_2 = __uint_as_float(pool[c_5]);
        sum = fmaf(value_2, xv_2, sum);
        const auto xv_3 = __uint_as_float(pool[c_6]);
        sum = fmaf(value_3, xv_3, sum);
        const auto xv_4 = __uint_as_float(pool[c_7]);
        sum = fmaf(value_4, xv_4, sum);
        const auto xv_5 = __uint_as_float(pool[c_8]);
        sum = fmaf(value_5, xv_5, sum);
        const auto xv_6 = __uint_as_float(pool[c_9]);
        sum = fmaf(value_6, xv_6, sum);
        const auto xv_7 = __uint_as_float(pool[c_10]);
        sum = fmaf(value_7, xv_7, sum);
        const auto xv_8 = __uint_as_float(pool[c_11]);
        sum = fmaf(value_8, xv_8, sum);
      }
      const auto to = share * 8u + own + 6152u;
      pool[to] = __float_as_uint(sum);
      __syncthreads();
      if (lane < 8u) {
        const auto own_2 = at_2 + (lane % 8u);
        auto total_3 = __uint_as_float(pool[lane + 6152u]);
        for (auto l_2 = 1u; l_2 < 32u; l_2 += 1u) {
          total_3 = total_3 + __uint_as_float(pool[lane + 6152u + l_2 * 8u]);
        }
        pool[(lane / 8u) * 64u + own_2 + 6408u] = __float_as_uint(total_3);
      }
      __syncthreads();
    }
    if (lane < 64u) {
      const auto v_9 = __uint_as_float(b3[p3 + lane]);
      pool[lane + 6472u] = __float_as_uint(v_9);
    }
    __syncthreads();
    // the 4 largest of 64
    if (lane < 64u) {
      const auto v_10 = __uint_as_float(pool[lane + 6408u]);
      const auto v_11 = 1.0f / (expf(min(-(v_10), 80.0f)) + 1.0f);
      const auto v_12 = v_11 + __uint_as_float(pool[lane + 6472u]);
      const auto bits = __float_as_uint(v_12);
      const auto bits_2 = ((bits & 0x7fffffffu) > 0x7f800000u ? 0xff800000u : bits);
      pool[lane + 6536u] = (bits_2 > 0x7fffffffu ? bits_2 ^ 0xffffffffu : bits_2 | 0x80000000u);
    }
    __syncthreads();
    for (auto c_12 = lane; c_12 < 64u; c_12 += 256u) {
      const auto own_3 = pool[c_12 + 6536u];
      auto place = 0u;
      for (auto other_6 = 0u; other_6 < 64u; other_6 += 1u) {
        const auto key = pool[other_6 + 6536u];
        place = ((key > own_3) || (key == own_3 && other_6 < c_12) ? place + 1u : place);
      }
      if (place < 4u) {
        pool[place + 6600u] = __float_as_uint((float)(c_12));
      }
    }
    __syncthreads();
    if (lane < 64u) {
      const auto v_13 = __uint_as_float(pool[lane + 6408u]);
      const auto v_14 = 1.0f / (expf(min(-(v_13), 80.0f)) + 1.0f);
      pool[lane + 6604u] = __float_as_uint(v_14);
    }
    __syncthreads();
    auto total_4 = 0.0f;
    if (lane < 4u) {
      const auto id = min(__float2uint_rz(__uint_as_float(pool[lane + 6600u])), 63u);
      const auto v_15 = __uint_as_float(pool[id + 6604u]);
      total_4 = total_4 + v_15;
    }
    const auto other_7 = __shfl_xor_sync(warp, total_4, 1u);
    const auto both_6 = total_4 + other_7;
    const auto other_8 = __shfl_xor_sync(warp, both_6, 2u);
    const auto both_7 = both_6 + other_8;
    const auto other_9 = __shfl_xor_sync(warp, both_7, 4u);
    const auto both_8 = both_7 + other_9;
    const auto other_10 = __shfl_xor_sync(warp, both_8, 8u);
    const auto both_9 = both_8 + other_10;
    const auto other_11 = __shfl_xor_sync(warp, both_9, 16u);
    const auto both_10 = both_9 + other_11;
    if ((lane % 32u) == 0u) {
      pool[(lane / 32u) + 6668u] = __float_as_uint(both_10);
    }
    __syncthreads();
    auto total_5 = __uint_as_float(pool[6668u]);
    for (auto l_3 = 1u; l_3 < 8u; l_3 += 1u) {
      total_5 = total_5 + __uint_as_float(pool[l_3 + 6668u]);
    }
    const auto v_16 = max(total_5, 6.1035156e-5f);
    if (lane < 4u) {
      b0[p4 + (own_group * 4u + lane)] = (unsigned int)(__float2int_rz(__uint_as_float(pool[lane + 6600u])));
      const auto id_2 = min(__float2uint_rz(__uint_as_float(pool[lane + 6600u])), 63u);
      const auto v_17 = __uint_as_float(pool[id_2 + 6604u]);
      const auto v_18 = v_17 / v_16;
      const auto v_19 = v_18 * 1.8f;
      b0[p5 + (own_group * 4u + lane)] = __float_as_uint(v_19);
    }
  }
  // part 1: dot [T] × 1536; rows 1 width 32 reduce 16 upcast 1
  const auto own_group_2 = blockIdx.x - count;
  const auto count_2 = sizes.words[0] * 48u;
  if (own_group_2 < count_2) {
    const auto tiles = sizes.words[0];
    const auto rows_at = own_group_2 % tiles;
    const auto first = (own_group_2 / tiles) * 32u;
    wait_for_previous();
    // what is multiplied
    for (auto time_4 = 0u; time_4 < 8u; time_4 += 1u) {
      const auto c_13 = time_4 * 256u + lane;
      const auto at_3 = rows_at * 2048u + c_13;
      const auto v_20 = __uint_as_float(b0[p0 + at_3]);
      const auto v_21 = __uint_as_float(b1[p1 + c_13]);
      pool[c_13 + 704u] = __float_as_uint(v_20);
      pool[c_13 + 2752u] = __float_as_uint(v_21);
    }
    __syncthreads();
    auto total_6 = 0.0f;
    for (auto time_5 = 0u; time_5 < 8u; time_5 += 1u) {
      const auto c_14 = time_5 * 256u + lane;
      const auto v_22 = __uint_as_float(pool[c_14 + 704u]) * __uint_as_float(pool[c_14 + 704u]);
      total_6 = total_6 + v_22;
    }
    const auto other_12 = __shfl_xor_sync(warp, total_6, 1u);
    const auto both_11 = total_6 + other_12;
    const auto other_13 = __shfl_xor_sync(warp, both_11, 2u);
    const auto both_12 = both_11 + other_13;
    const auto other_14 = __shfl_xor_sync(warp, both_12, 4u);
    const auto both_13 = both_12 + other_14;
    const auto other_15 = __shfl_xor_sync(warp, both_13, 8u);
    const auto both_14 = both_13 + other_15;
    const auto other_16 = __shfl_xor_sync(warp, both_14, 16u);
    const auto both_15 = both_14 + other_16;
    if ((lane % 32u) == 0u) {
      pool[(lane / 32u) + 4800u] = __float_as_uint(both_15);
    }
    __syncthreads();
    auto total_7 = __uint_as_float(pool[4800u]);
    for (auto l_4 = 1u; l_4 < 8u; l_4 += 1u) {
      total_7 = total_7 + __uint_as_float(pool[l_4 + 4800u]);
    }
    const auto v_23 = total_7 / 2048.0f;
    const auto v_24 = v_23 + 1e-5f;
    const auto v_25 = rsqrtf(v_24);
    for (auto time_6 = 0u; time_6 < 2u; time_6 += 1u) {
      const auto word = time_6 * 256u + lane;
      const auto v_26 = __uint_as_float(pool[word * 4u + 704u]) * v_25;
      const auto v_27 = v_26 * __uint_as_float(pool[word * 4u + 2752u]);
      const auto v_28 = __uint_as_float(pool[word * 4u + 705u]) * v_25;
      const auto v_29 = v_28 * __uint_as_float(pool[word * 4u + 2753u]);
      const auto v_30 = __uint_as_float(pool[word * 4u + 706u]) * v_25;
      const auto v_31 = v_30 * __uint_as_float(pool[word * 4u + 2754u]);
      const auto v_32 = __uint_as_float(pool[word * 4u + 707u]) * v_25;
      const auto v_33 = v_32 * __uint_as_float(pool[word * 4u + 2755u]);
      const auto mine = max(max(max(__float_as_uint(v_27) & 0x7fffffffu, __float_as_uint(v_29) & 0x7fffffffu), __float_as_uint(v_31) & 0x7fffffffu), __float_as_uint(v_33) & 0x7fffffffu);
      const auto other_17 = __shfl_xor_sync(warp, mine, 1u);
      const auto both_16 = max(mine, other_17);
      const auto other_18 = __shfl_xor_sync(warp, both_16, 2u);
      const auto both_17 = max(both_16, other_18);
      const auto other_19 = __shfl_xor_sync(warp, both_17, 4u);
      const auto both_18 = max(both_17, other_19);
      const auto largest = __uint_as_float(both_18);
      const auto scale = (both_18 < 0x7f800000u ? __float_as_uint(largest / 127.0f) : 0x7fc00000u);
      const auto inverse = (largest > 3.74e-37f && both_18 < 0x7f800000u ? 127.0f / largest : 0.0f);
      const auto packed = ((unsigned int)(__float2int_rz(min(max(rintf(v_27 * inverse), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_29 * inverse), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_31 * inverse), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_33 * inverse), -127.0f), 127.0f))) & 255u) << 24u);
      const auto mine_2 = __dp4a((int)(packed), (int)(0x1010101u), 0);
      const auto other_20 = __shfl_xor_sync(warp, mine_2, 1u);
      const auto both_19 = mine_2 + other_20;
      const auto other_21 = __shfl_xor_sync(warp, both_19, 2u);
      const auto both_20 = both_19 + other_21;
      pool[word] = packed;
      if ((word % 4u) == 0u) {
        pool[(word / 4u) + 576u] = __float_as_uint((float)(both_20) * __uint_as_float(scale));
      }
      if ((word % 8u) == 0u) {
        pool[(word / 8u) + 512u] = scale;
      }
    }
    __syncthreads();
    for (auto at_4 = 0u; at_4 < 32u; at_4 += 16u) {
      const auto share_2 = lane / 16u;
      const auto own_4 = lane % 16u;
      const auto column_2 = first + (at_4 + own_4);
      // times q4_0[1536, 2048]
      auto sum_2 = 0.0f;
      const auto tile = p6 + (column_2 / 16u) * 4608u;
      const auto lane_row = column_2 % 16u;
      const auto at_5 = tile + lane_row + share_2 * 64u;
      const auto w = b4[at_5];
      const auto w_2 = b4[at_5 + 16u];
      const auto w_3 = b4[at_5 + 32u];
      const auto w_4 = b4[at_5 + 48u];
      const auto scale_2 = half_to_float(b4[tile + 4096u + ((share_2 * 16u + lane_row) / 2u)] >> (((share_2 * 16u + lane_row) % 2u) * 16u));
      const auto b = share_2 + 16u;
      const auto at_6 = tile + lane_row + b * 64u;
      const auto w_5 = b4[at_6];
      const auto w_6 = b4[at_6 + 16u];
      const auto w_7 = b4[at_6 + 32u];
      const auto w_8 = b4[at_6 + 48u];
      const auto scale_3 = half_to_float(b4[tile + 4096u + ((b * 16u + lane_row) / 2u)] >> (((b * 16u + lane_row) % 2u) * 16u));
      const auto b_2 = share_2 + 32u;
      const auto at_7 = tile + lane_row + b_2 * 64u;
      const auto w_9 = b4[at_7];
      const auto w_10 = b4[at_7 + 16u];
      const auto w_11 = b4[at_7 + 32u];
      const auto w_12 = b4[at_7 + 48u];
      const auto scale_4 = half_to_float(b4[tile + 4096u + ((b_2 * 16u + lane_row) / 2u)] >> (((b_2 * 16u + lane_row) % 2u) * 16u));
      const auto b_3 = share_2 + 48u;
      const auto at_8 = tile + lane_row + b_3 * 64u;
      const auto w_13 = b4[at_8];
      const auto w_14 = b4[at_8 + 16u];
      const auto w_15 = b4[at_8 + 32u];
      const auto w_16 = b4[at_8 + 48u];
      const auto scale_5 = half_to_float(b4[tile + 4096u + ((b_3 * 16u + lane_row) / 2u)] >> (((b_3 * 16u + lane_row) % 2u) * 16u));
      const auto xw = share_2 * 8u;
      const auto xq = pool[xw];
      const auto xq_2 = pool[xw + 1u];
      const auto xq_3 = pool[xw + 2u];
      const auto xq_4 = pool[xw + 3u];
      const auto xq_5 = pool[xw + 4u];
      const auto xq_6 = pool[xw + 5u];
      const auto xq_7 = pool[xw + 6u];
      const auto xq_8 = pool[xw + 7u];
      const auto d = __uint_as_float(pool[share_2 + 512u]);
      sum_2 = fmaf((float)(__dp4a((int)(((((w_4 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_8), __dp4a((int)(((((w_3 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_7), __dp4a((int)(((((w_2 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_6), __dp4a((int)(((((w >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_5), __dp4a((int)((((w_4 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_4), __dp4a((int)((((w_3 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_3), __dp4a((int)((((w_2 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_2), __dp4a((int)((((w & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq), 0))))))))), scale_2 * d, sum_2);
      const auto xw_2 = b * 8u;
      const auto xq_9 = pool[xw_2];
      const auto xq_10 = pool[xw_2 + 1u];
      const auto xq_11 = pool[xw_2 + 2u];
      const auto xq_12 = pool[xw_2 + 3u];
      const auto xq_13 = pool[xw_2 + 4u];
      const auto xq_14 = pool[xw_2 + 5u];
      const auto xq_15 = pool[xw_2 + 6u];
      const auto xq_16 = pool[xw_2 + 7u];
      const auto d_2 = __uint_as_float(pool[b + 512u]);
      sum_2 = fmaf((float)(__dp4a((int)(((((w_8 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_16), __dp4a((int)(((((w_7 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_15), __dp4a((int)(((((w_6 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_14), __dp4a((int)(((((w_5 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_13), __dp4a((int)((((w_8 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_12), __dp4a((int)((((w_7 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_11), __dp4a((int)((((w_6 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_10), __dp4a((int)((((w_5 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_9), 0))))))))), scale_3 * d_2, sum_2);
      const auto xw_3 = b_2 * 8u;
      const auto xq_17 = pool[xw_3];
      const auto xq_18 = pool[xw_3 + 1u];
      const auto xq_19 = pool[xw_3 + 2u];
      const auto xq_20 = pool[xw_3 + 3u];
      const auto xq_21 = pool[xw_3 + 4u];
      const auto xq_22 = pool[xw_3 + 5u];
      const auto xq_23 = pool[xw_3 + 6u];
      const auto xq_24 = pool[xw_3 + 7u];
      const auto d_3 = __uint_as_float(pool[b_2 + 512u]);
      sum_2 = fmaf((float)(__dp4a((int)(((((w_12 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_24), __dp4a((int)(((((w_11 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_23), __dp4a((int)(((((w_10 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_22), __dp4a((int)(((((w_9 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_21), __dp4a((int)((((w_12 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_20), __dp4a((int)((((w_11 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_19), __dp4a((int)((((w_10 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_18), __dp4a((int)((((w_9 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_17), 0))))))))), scale_4 * d_3, sum_2);
      const auto xw_4 = b_3 * 8u;
      const auto xq_25 = pool[xw_4];
      const auto xq_26 = pool[xw_4 + 1u];
      const auto xq_27 = pool[xw_4 + 2u];
      const auto xq_28 = pool[xw_4 + 3u];
      const auto xq_29 = pool[xw_4 + 4u];
      const auto xq_30 = pool[xw_4 + 5u];
      const auto xq_31 = pool[xw_4 + 6u];
      const auto xq_32 = pool[xw_4 + 7u];
      const auto d_4 = __uint_as_float(pool[b_3 + 512u]);
      sum_2 = fmaf((float)(__dp4a((int)(((((w_16 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_32), __dp4a((int)(((((w_15 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_31), __dp4a((int)(((((w_14 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_30), __dp4a((int)(((((w_13 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_29), __dp4a((int)((((w_16 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_28), __dp4a((int)((((w_15 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_27), __dp4a((int)((((w_14 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_26), __dp4a((int)((((w_13 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_25), 0))))))))), scale_5 * d_4, sum_2);
      const auto to_2 = share_2 * 16u + own_4 + 4808u;
      pool[to_2] = __float_as_uint(sum_2);
      const auto share_3 = lane / 16u;
      const auto own_5 = lane % 16u;
      const auto column_3 = first + (at_4 + own_5);
      // times q4_0[1536, 2048]
      auto sum_3 = 0.0f;
      const auto tile_2 = p7 + (column_3 / 16u) * 4608u;
      const auto lane_row_2 = column_3 % 16u;
      const auto at_9 = tile_2 + lane_row_2 + share_3 * 64u;
      const auto w_17 = b5[at_9];
      const auto w_18 = b5[at_9 + 16u];
      const auto w_19 = b5[at_9 + 32u];
      const auto w_20 = b5[at_9 + 48u];
      const auto scale_6 = half_to_float(b5[tile_2 + 4096u + ((share_3 * 16u + lane_row_2) / 2u)] >> (((share_3 * 16u + lane_row_2) % 2u) * 16u));
      const auto b_4 = share_3 + 16u;
      const auto at_10 = tile_2 + lane_row_2 + b_4 * 64u;
      const auto w_21 = b5[at_10];
      const auto w_22 = b5[at_10 + 16u];
      const auto w_23 = b5[at_10 + 32u];
      const auto w_24 = b5[at_10 + 48u];
      const auto scale_7 = half_to_float(b5[tile_2 + 4096u + ((b_4 * 16u + lane_row_2) / 2u)] >> (((b_4 * 16u + lane_row_2) % 2u) * 16u));
      const auto b_5 = share_3 + 32u;
      const auto at_11 = tile_2 + lane_row_2 + b_5 * 64u;
      const auto w_25 = b5[at_11];
      const auto w_26 = b5[at_11 + 16u];
      const auto w_27 = b5[at_11 + 32u];
      const auto w_28 = b5[at_11 + 48u];
      const auto scale_8 = half_to_float(b5[tile_2 + 4096u + ((b_5 * 16u + lane_row_2) / 2u)] >> (((b_5 * 16u + lane_row_2) % 2u) * 16u));
      const auto b_6 = share_3 + 48u;
      const auto at_12 = tile_2 + lane_row_2 + b_6 * 64u;
      const auto w_29 = b5[at_12];
      const auto w_30 = b5[at_12 + 16u];
      const auto w_31 = b5[at_12 + 32u];
      const auto w_32 = b5[at_12 + 48u];
      const auto scale_9 = half_to_float(b5[tile_2 + 4096u + ((b_6 * 16u + lane_row_2) / 2u)] >> (((b_6 * 16u + lane_row_2) % 2u) * 16u));
      const auto xw_5 = share_3 * 8u;
      const auto xq_33 = pool[xw_5];
      const auto xq_34 = pool[xw_5 + 1u];
      const auto xq_35 = pool[xw_5 + 2u];
      const auto xq_36 = pool[xw_5 + 3u];
      const auto xq_37 = pool[xw_5 + 4u];
      const auto xq_38 = pool[xw_5 + 5u];
      const auto xq_39 = pool[xw_5 + 6u];
      const auto xq_40 = pool[xw_5 + 7u];
      const auto d_5 = __uint_as_float(pool[share_3 + 512u]);
      sum_3 = fmaf((float)(__dp4a((int)(((((w_20 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_40), __dp4a((int)(((((w_19 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_39), __dp4a((int)(((((w_18 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_38), __dp4a((int)(((((w_17 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_37), __dp4a((int)((((w_20 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_36), __dp4a((int)((((w_19 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_35), __dp4a((int)((((w_18 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_34), __dp4a((int)((((w_17 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_33), 0))))))))), scale_6 * d_5, sum_3);
      const auto xw_6 = b_4 * 8u;
      const auto xq_41 = pool[xw_6];
      const auto xq_42 = pool[xw_6 + 1u];
      const auto xq_43 = pool[xw_6 + 2u];
      const auto xq_44 = pool[xw_6 + 3u];
      const auto xq_45 = pool[xw_6 + 4u];
      const auto xq_46 = pool[xw_6 + 5u];
      const auto xq_47 = pool[xw_6 + 6u];
      const auto xq_48 = pool[xw_6 + 7u];
      const auto d_6 = __uint_as_float(pool[b_4 + 512u]);
      sum_3 = fmaf((float)(__dp4a((int)(((((w_24 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_48), __dp4a((int)(((((w_23 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_47), __dp4a((int)(((((w_22 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_46), __dp4a((int)(((((w_21 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_45), __dp4a((int)((((w_24 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_44), __dp4a((int)((((w_23 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_43), __dp4a((int)((((w_22 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_42), __dp4a((int)((((w_21 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_41), 0))))))))), scale_7 * d_6, sum_3);
      const auto xw_7 = b_5 * 8u;
      const auto xq_49 = pool[xw_7];
      const auto xq_50 = pool[xw_7 + 1u];
      const auto xq_51 = pool[xw_7 + 2u];
      const auto xq_52 = pool[xw_7 + 3u];
      const auto xq_53 = pool[xw_7 + 4u];
      const auto xq_54 = pool[xw_7 + 5u];
      const auto xq_55 = pool[xw_7 + 6u];
      const auto xq_56 = pool[xw_7 + 7u];
      const auto d_7 = __uint_as_float(pool[b_5 + 512u]);
      sum_3 = fmaf((float)(__dp4a((int)(((((w_28 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_56), __dp4a((int)(((((w_27 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_55), __dp4a((int)(((((w_26 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_54), __dp4a((int)(((((w_25 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_53), __dp4a((int)((((w_28 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_52), __dp4a((int)((((w_27 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_51), __dp4a((int)((((w_26 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_50), __dp4a((int)((((w_25 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_49), 0))))))))), scale_8 * d_7, sum_3);
      const auto xw_8 = b_6 * 8u;
      const auto xq_57 = pool[xw_8];
      const auto xq_58 = pool[xw_8 + 1u];
      const auto xq_59 = pool[xw_8 + 2u];
      const auto xq_60 = pool[xw_8 + 3u];
      const auto xq_61 = pool[xw_8 + 4u];
      const auto xq_62 = pool[xw_8 + 5u];
      const auto xq_63 = pool[xw_8 + 6u];
      const auto xq_64 = pool[xw_8 + 7u];
      const auto d_8 = __uint_as_float(pool[b_6 + 512u]);
      sum_3 = fmaf((float)(__dp4a((int)(((((w_32 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_64), __dp4a((int)(((((w_31 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_63), __dp4a((int)(((((w_30 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_62), __dp4a((int)(((((w_29 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_61), __dp4a((int)((((w_32 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_60), __dp4a((int)((((w_31 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_59), __dp4a((int)((((w_30 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_58), __dp4a((int)((((w_29 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_57), 0))))))))), scale_9 * d_8, sum_3);
      const auto to_3 = share_3 * 16u + own_5 + 5064u;
      pool[to_3] = __float_as_uint(sum_3);
      __syncthreads();
      if (lane < 16u) {
        const auto own_6 = at_4 + (lane % 16u);
        auto total_8 = __uint_as_float(pool[lane + 4808u]);
        for (auto l_5 = 1u; l_5 < 16u; l_5 += 1u) {
          total_8 = total_8 + __uint_as_float(pool[lane + 4808u + l_5 * 16u]);
        }
        pool[(lane / 16u) * 32u + own_6 + 5320u] = __float_as_uint(total_8);
        auto total_9 = __uint_as_float(pool[lane + 5064u]);
        for (auto l_6 = 1u; l_6 < 16u; l_6 += 1u) {
          total_9 = total_9 + __uint_as_float(pool[lane + 5064u + l_6 * 16u]);
        }
        pool[(lane / 16u) * 32u + own_6 + 5352u] = __float_as_uint(total_9);
      }
      __syncthreads();
    }
    const auto word_2 = min(lane, 7u);
    const auto column_4 = first + word_2 * 4u;
    const auto v_34 = __uint_as_float(pool[word_2 * 4u + 5320u]);
    const auto v_35 = v_34 / (expf(min(-(v_34), 80.0f)) + 1.0f);
    const auto v_36 = __uint_as_float(pool[word_2 * 4u + 5352u]);
    const auto v_37 = v_35 * v_36;
    const auto column_5 = first + (word_2 * 4u + 1u);
    const auto v_38 = __uint_as_float(pool[word_2 * 4u + 5321u]);
    const auto v_39 = v_38 / (expf(min(-(v_38), 80.0f)) + 1.0f);
    const auto v_40 = __uint_as_float(pool[word_2 * 4u + 5353u]);
    const auto v_41 = v_39 * v_40;
    const auto column_6 = first + (word_2 * 4u + 2u);
    const auto v_42 = __uint_as_float(pool[word_2 * 4u + 5322u]);
    const auto v_43 = v_42 / (expf(min(-(v_42), 80.0f)) + 1.0f);
    const auto v_44 = __uint_as_float(pool[word_2 * 4u + 5354u]);
    const auto v_45 = v_43 * v_44;
    const auto column_7 = first + (word_2 * 4u + 3u);
    const auto v_46 = __uint_as_float(pool[word_2 * 4u + 5323u]);
    const auto v_47 = v_46 / (expf(min(-(v_46), 80.0f)) + 1.0f);
    const auto v_48 = __uint_as_float(pool[word_2 * 4u + 5355u]);
    const auto v_49 = v_47 * v_48;
    const auto mine_3 = max(max(max(__float_as_uint(v_37) & 0x7fffffffu, __float_as_uint(v_41) & 0x7fffffffu), __float_as_uint(v_45) & 0x7fffffffu), __float_as_uint(v_49) & 0x7fffffffu);
    const auto other_22 = __shfl_xor_sync(warp, mine_3, 1u);
    const auto both_21 = max(mine_3, other_22);
    const auto other_23 = __shfl_xor_sync(warp, both_21, 2u);
    const auto both_22 = max(both_21, other_23);
    const auto other_24 = __shfl_xor_sync(warp, both_22, 4u);
    const auto both_23 = max(both_22, other_24);
    const auto largest_2 = __uint_as_float(both_23);
    const auto scale_10 = (both_23 < 0x7f800000u ? __float_as_uint(largest_2 / 127.0f) : 0x7fc00000u);
    const auto inverse_2 = (largest_2 > 3.74e-37f && both_23 < 0x7f800000u ? 127.0f / largest_2 : 0.0f);
    const auto packed_2 = ((unsigned int)(__float2int_rz(min(max(rintf(v_37 * inverse_2), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_41 * inverse_2), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_45 * inverse_2), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_49 * inverse_2), -127.0f), 127.0f))) & 255u) << 24u);
    const auto mine_4 = __dp4a((int)(packed_2), (int)(0x1010101u), 0);
    const auto other_25 = __shfl_xor_sync(warp, mine_4, 1u);
    const auto both_24 = mine_4 + other_25;
    const auto other_26 = __shfl_xor_sync(warp, both_24, 2u);
    const auto both_25 = both_24 + other_26;
    if (lane < 8u) {
      pool[lane + 5384u] = packed_2;
      if ((lane % 4u) == 0u) {
        pool[(lane / 4u) + 5393u] = __float_as_uint((float)(both_25) * __uint_as_float(scale_10));
      }
      if ((lane % 8u) == 0u) {
        pool[(lane / 8u) + 5392u] = scale_10;
      }
    }
    __syncthreads();
    if (lane < 8u) {
      const auto column_8 = first + lane * 4u;
      b0[p8 + ((rows_at * 1536u + column_8) / 4u)] = pool[((lane * 4u) / 4u) + 5384u];
    }
    if (lane < 1u) {
      const auto column_9 = first + lane * 32u;
      b0[p8 + (n8 / 4u) + ((rows_at * 1536u + column_9) / 32u)] = pool[((lane * 32u) / 32u) + 5392u];
    }
    if (lane < 2u) {
      const auto column_10 = first + lane * 16u;
      b0[p8 + ((n8 / 4u) + (n8 / 32u)) + ((rows_at * 1536u + column_10) / 16u)] = pool[((lane * 16u) / 16u) + 5393u];
    }
  }
  const auto end = count + count_2;
}

// select_dot_1536x2048_q4_0&select_dot_1536x2048_q4_0: lanes 256; rows 1 width 32 reduce 16 upcast 1
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

static __device__ __forceinline__ float half_to_float(unsigned int bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)bits));
  return value;
}

extern "C" __global__ void __launch_bounds__(256) weft_select_dot_1536x2048_q4_0_select_dot_1536x2048_q4_0(
  const Args args,
  const Sizes sizes,
  unsigned int* b0,
  const unsigned int* __restrict__ b1,
  const unsigned int* __restrict__ b2,
  const unsigned int* __restrict__ b3
) {
  __shared__ unsigned int pool[5395];
  const unsigned int lane = threadIdx.x;
  const unsigned int warp = 0xffffffffu;
  const auto p0 = args.words[0];
  const auto p1 = args.words[2];
  const auto p2 = args.words[4];
  const auto p3 = args.words[6];
  const auto p4 = args.words[8];
  const auto p5 = args.words[10];
  const auto n5 = args.words[11];
  launch_next();
  // part 0: dot [T, 4] × 1536; rows 1 width 32 reduce 16 upcast 1
  const auto own_group = blockIdx.x;
  const auto tiles = sizes.words[0] * 4u;
  const auto rows_at = own_group % tiles;
  const auto first = (own_group / tiles) * 32u;
  wait_for_previous();
  // what is multiplied
  const auto i = rows_at / 4u;
  const auto i_2 = (rows_at % 4u) % 4u;
  for (auto time = 0u; time < 8u; time += 1u) {
    const auto c = time * 256u + lane;
    const auto at = i * 2048u + c;
    const auto v = __uint_as_float(b0[p0 + at]);
    const auto v_2 = __uint_as_float(b1[p1 + c]);
    pool[c + 704u] = __float_as_uint(v);
    pool[c + 2752u] = __float_as_uint(v_2);
  }
  __syncthreads();
  auto total = 0.0f;
  for (auto time_2 = 0u; time_2 < 8u; time_2 += 1u) {
    const auto c_2 = time_2 * 256u + lane;
    const auto v_3 = __uint_as_float(pool[c_2 + 704u]) * __uint_as_float(pool[c_2 + 704u]);
    total = total + v_3;
  }
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
    pool[(lane / 32u) + 4800u] = __float_as_uint(both_5);
  }
  __syncthreads();
  auto total_2 = __uint_as_float(pool[4800u]);
  for (auto l = 1u; l < 8u; l += 1u) {
    total_2 = total_2 + __uint_as_float(pool[l + 4800u]);
  }
  const auto v_4 = total_2 / 2048.0f;
  const auto v_5 = v_4 + 1e-5f;
  const auto v_6 = rsqrtf(v_5);
  for (auto time_3 = 0u; time_3 < 2u; time_3 += 1u) {
    const auto word = time_3 * 256u + lane;
    const auto v_7 = __uint_as_float(pool[word * 4u + 704u]) * v_6;
    const auto v_8 = v_7 * __uint_as_float(pool[word * 4u + 2752u]);
    const auto v_9 = __uint_as_float(pool[word * 4u + 705u]) * v_6;
    const auto v_10 = v_9 * __uint_as_float(pool[word * 4u + 2753u]);
    const auto v_11 = __uint_as_float(pool[word * 4u + 706u]) * v_6;
    const auto v_12 = v_11 * __uint_as_float(pool[word * 4u + 2754u]);
    const auto v_13 = __uint_as_float(pool[word * 4u + 707u]) * v_6;
    const auto v_14 = v_13 * __uint_as_float(pool[word * 4u + 2755u]);
    const auto mine = max(max(max(__float_as_uint(v_8) & 0x7fffffffu, __float_as_uint(v_10) & 0x7fffffffu), __float_as_uint(v_12) & 0x7fffffffu), __float_as_uint(v_14) & 0x7fffffffu);
    const auto other_6 = __shfl_xor_sync(warp, mine, 1u);
    const auto both_6 = max(mine, other_6);
    const auto other_7 = __shfl_xor_sync(warp, both_6, 2u);
    const auto both_7 = max(both_6, other_7);
    const auto other_8 = __shfl_xor_sync(warp, both_7, 4u);
    const auto both_8 = max(both_7, other_8);
    const auto largest = __uint_as_float(both_8);
    const auto scale = (both_8 < 0x7f800000u ? __float_as_uint(largest / 127.0f) : 0x7fc00000u);
    const auto inverse = (largest > 3.74e-37f && both_8 < 0x7f800000u ? 127.0f / largest : 0.0f);
    const auto packed = ((unsigned int)(__float2int_rz(min(max(rintf(v_8 * inverse), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_10 * inverse), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_12 * inverse), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_14 * inverse), -127.0f), 127.0f))) & 255u) << 24u);
    const auto mine_2 = __dp4a((int)(packed), (int)(0x1010101u), 0);
    const auto other_9 = __shfl_xor_sync(warp, mine_2, 1u);
    const auto both_9 = mine_2 + other_9;
    const auto other_10 = __shfl_xor_sync(warp, both_9, 2u);
    const auto both_10 = both_9 + other_10;
    pool[word] = packed;
    if ((word % 4u) == 0u) {
      pool[(word / 4u) + 576u] = __float_as_uint((float)(both_10) * __uint_as_float(scale));
    }
    if ((word % 8u) == 0u) {
      pool[(word / 8u) + 512u] = scale;
    }
  }
  __syncthreads();
  const auto i_3 = rows_at / 4u;
  const auto i_4 = (rows_at % 4u) % 4u;
  for (auto at_2 = 0u; at_2 < 32u; at_2 += 16u) {
    const auto share = lane / 16u;
    const auto own = lane % 16u;
    const auto column = first + (at_2 + own);
    // times q4_0[1536, 2048]
    auto sum = 0.0f;
    const auto index = min(b0[p2 + (i_3 * 4u + i_4)], 63u);
    const auto tile = p3 + ((index * 1536u + column) / 16u) * 4608u;
    const auto lane_row = (index * 1536u + column) % 16u;
    const auto at_3 = tile + lane_row + share * 64u;
    const auto w = b2[at_3];
    const auto w_2 = b2[at_3 + 16u];
    const auto w_3 = b2[at_3 + 32u];
    const auto w_4 = b2[at_3 + 48u];
    const auto scale_2 = half_to_float(b2[tile + 4096u + ((share * 16u + lane_row) / 2u)] >> (((share * 16u + lane_row) % 2u) * 16u));
    const auto b = share + 16u;
    const auto at_4 = tile + lane_row + b * 64u;
    const auto w_5 = b2[at_4];
    const auto w_6 = b2[at_4 + 16u];
    const auto w_7 = b2[at_4 + 32u];
    const auto w_8 = b2[at_4 + 48u];
    const auto scale_3 = half_to_float(b2[tile + 4096u + ((b * 16u + lane_row) / 2u)] >> (((b * 16u + lane_row) % 2u) * 16u));
    const auto b_2 = share + 32u;
    const auto at_5 = tile + lane_row + b_2 * 64u;
    const auto w_9 = b2[at_5];
    const auto w_10 = b2[at_5 + 16u];
    const auto w_11 = b2[at_5 + 32u];
    const auto w_12 = b2[at_5 + 48u];
    const auto scale_4 = half_to_float(b2[tile + 4096u + ((b_2 * 16u + lane_row) / 2u)] >> (((b_2 * 16u + lane_row) % 2u) * 16u));
    const auto b_3 = share + 48u;
    const auto at_6 = tile + lane_row + b_3 * 64u;
    const auto w_13 = b2[at_6];
    const auto w_14 = b2[at_6 + 16u];
    const auto w_15 = b2[at_6 + 32u];
    const auto w_16 = b2[at_6 + 48u];
    const auto scale_5 = half_to_float(b2[tile + 4096u + ((b_3 * 16u + lane_row) / 2u)] >> (((b_3 * 16u + lane_row) % 2u) * 16u));
    const auto xw = share * 8u;
    const auto xq = pool[xw];
    const auto xq_2 = pool[xw + 1u];
    const auto xq_3 = pool[xw + 2u];
    const auto xq_4 = pool[xw + 3u];
    const auto xq_5 = pool[xw + 4u];
    const auto xq_6 = pool[xw + 5u];
    const auto xq_7 = pool[xw + 6u];
    const auto xq_8 = pool[xw + 7u];
    const auto d = __uint_as_float(pool[share + 512u]);
    sum = fmaf((float)(__dp4a((int)(((((w_4 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_8), __dp4a((int)(((((w_3 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_7), __dp4a((int)(((((w_2 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_6), __dp4a((int)(((((w >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_5), __dp4a((int)((((w_4 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_4), __dp4a((int)((((w_3 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_3), __dp4a((int)((((w_2 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_2), __dp4a((int)((((w & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq), 0))))))))), scale_2 * d, sum);
    const auto xw_2 = b * 8u;
    const auto xq_9 = pool[xw_2];
    const auto xq_10 = pool[xw_2 + 1u];
    const auto xq_11 = pool[xw_2 + 2u];
    const auto xq_12 = pool[xw_2 + 3u];
    const auto xq_13 = pool[xw_2 + 4u];
    const auto xq_14 = pool[xw_2 + 5u];
    const auto xq_15 = pool[xw_2 + 6u];
    const auto xq_16 = pool[xw_2 + 7u];
    const auto d_2 = __uint_as_float(pool[b + 512u]);
    sum = fmaf((float)(__dp4a((int)(((((w_8 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_16), __dp4a((int)(((((w_7 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_15), __dp4a((int)(((((w_6 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_14), __dp4a((int)(((((w_5 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_13), __dp4a((int)((((w_8 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_12), __dp4a((int)((((w_7 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_11), __dp4a((int)((((w_6 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_10), __dp4a((int)((((w_5 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_9), 0))))))))), scale_3 * d_2, sum);
    const auto xw_3 = b_2 * 8u;
    const auto xq_17 = pool[xw_3];
    const auto xq_18 = pool[xw_3 + 1u];
    const auto xq_19 = pool[xw_3 + 2u];
    const auto xq_20 = pool[xw_3 + 3u];
    const auto xq_21 = pool[xw_3 + 4u];
    const auto xq_22 = pool[xw_3 + 5u];
    const auto xq_23 = pool[xw_3 + 6u];
    const auto xq_24 = pool[xw_3 + 7u];
    const auto d_3 = __uint_as_float(pool[b_2 + 512u]);
    sum = fmaf((float)(__dp4a((int)(((((w_12 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_24), __dp4a((int)(((((w_11 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_23), __dp4a((int)(((((w_10 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_22), __dp4a((int)(((((w_9 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_21), __dp4a((int)((((w_12 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_20), __dp4a((int)((((w_11 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_19), __dp4a((int)((((w_10 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_18), __dp4a((int)((((w_9 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_17), 0))))))))), scale_4 * d_3, sum);
    const auto xw_4 = b_3 * 8u;
    const auto xq_25 = pool[xw_4];
    const auto xq_26 = pool[xw_4 + 1u];
    const auto xq_27 = pool[xw_4 + 2u];
    const auto xq_28 = pool[xw_4 + 3u];
    const auto xq_29 = pool[xw_4 + 4u];
    const auto xq_30 = pool[xw_4 + 5u];
    const auto xq_31 = pool[xw_4 + 6u];
    const auto xq_32 = pool[xw_4 + 7u];
    const auto d_4 = __uint_as_float(pool[b_3 + 512u]);
    sum = fmaf((float)(__dp4a((int)(((((w_16 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_32), __dp4a((int)(((((w_15 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_31), __dp4a((int)(((((w_14 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_30), __dp4a((int)(((((w_13 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_29), __dp4a((int)((((w_16 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_28), __dp4a((int)((((w_15 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_27), __dp4a((int)((((w_14 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_26), __dp4a((int)((((w_13 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_25), 0))))))))), scale_5 * d_4, sum);
    const auto to = share * 16u + own + 4808u;
    pool[to] = __float_as_uint(sum);
    const auto share_2 = lane / 16u;
    const auto own_2 = lane % 16u;
    const auto column_2 = first + (at_2 + own_2);
    // times q4_0[1536, 2048]
    auto sum_2 = 0.0f;
    const auto index_2 = min(b0[p2 + (i_3 * 4u + i_4)], 63u);
    const auto tile_2 = p4 + ((index_2 * 1536u + column_2) / 16u) * 4608u;
    const auto lane_row_2 = (index_2 * 1536u + column_2) % 16u;
    const auto at_7 = tile_2 + lane_row_2 + share_2 * 64u;
    const auto w_17 = b3[at_7];
    const auto w_18 = b3[at_7 + 16u];
    const auto w_19 = b3[at_7 + 32u];
    const auto w_20 = b3[at_7 + 48u];
    const auto scale_6 = half_to_float(b3[tile_2 + 4096u + ((share_2 * 16u + lane_row_2) / 2u)] >> (((share_2 * 16u + lane_row_2) % 2u) * 16u));
    const auto b_4 = share_2 + 16u;
    const auto at_8 = tile_2 + lane_row_2 + b_4 * 64u;
    const auto w_21 = b3[at_8];
    const auto w_22 = b3[at_8 + 16u];
    const auto w_23 = b3[at_8 + 32u];
    const auto w_24 = b3[at_8 + 48u];
    const auto scale_7 = half_to_float(b3[tile_2 + 4096u + ((b_4 * 16u + lane_row_2) / 2u)] >> (((b_4 * 16u + lane_row_2) % 2u) * 16u));
    const auto b_5 = share_2 + 32u;
    const auto at_9 = tile_2 + lane_row_2 + b_5 * 64u;
    const auto w_25 = b3[at_9];
    const auto w_26 = b3[at_9 + 16u];
    const auto w_27 = b3[at_9 + 32u];
    const auto w_28 = b3[at_9 + 48u];
    const auto scale_8 = half_to_float(b3[tile_2 + 4096u + ((b_5 * 16u + lane_row_2) / 2u)] >> (((b_5 * 16u + lane_row_2) % 2u) * 16u));
    const auto b_6 = share_2 + 48u;
    const auto at_10 = tile_2 + lane_row_2 + b_6 * 64u;
    const auto w_29 = b3[at_10];
    const auto w_30 = b3[at_10 + 16u];
    const auto w_31 = b3[at_10 + 32u];
    const auto w_32 = b3[at_10 + 48u];
    const auto scale_9 = half_to_float(b3[tile_2 + 4096u + ((b_6 * 16u + lane_row_2) / 2u)] >> (((b_6 * 16u + lane_row_2) % 2u) * 16u));
    const auto xw_5 = share_2 * 8u;
    const auto xq_33 = pool[xw_5];
    const auto xq_34 = pool[xw_5 + 1u];
    const auto xq_35 = pool[xw_5 + 2u];
    const auto xq_36 = pool[xw_5 + 3u];
    const auto xq_37 = pool[xw_5 + 4u];
    const auto xq_38 = pool[xw_5 + 5u];
    const auto xq_39 = pool[xw_5 + 6u];
    const auto xq_40 = pool[xw_5 + 7u];
    const auto d_5 = __uint_as_float(pool[share_2 + 512u]);
    sum_2 = fmaf((float)(__dp4a((int)(((((w_20 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_40), __dp4a((int)(((((w_19 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_39), __dp4a((int)(((((w_18 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_38), __dp4a((int)(((((w_17 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_37), __dp4a((int)((((w_20 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_36), __dp4a((int)((((w_19 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_35), __dp4a((int)((((w_18 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_34), __dp4a((int)((((w_17 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_33), 0))))))))), scale_6 * d_5, sum_2);
    const auto xw_6 = b_4 * 8u;
    const auto xq_41 = pool[xw_6];
    const auto xq_42 = pool[xw_6 + 1u];
    const auto xq_43 = pool[xw_6 + 2u];
    const auto xq_44 = pool[xw_6 + 3u];
    const auto xq_45 = pool[xw_6 + 4u];
    const auto xq_46 = pool[xw_6 + 5u];
    const auto xq_47 = pool[xw_6 + 6u];
    const auto xq_48 = pool[xw_6 + 7u];
    const auto d_6 = __uint_as_float(pool[b_4 + 512u]);
    sum_2 = fmaf((float)(__dp4a((int)(((((w_24 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_48), __dp4a((int)(((((w_23 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_47), __dp4a((int)(((((w_22 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_46), __dp4a((int)(((((w_21 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_45), __dp4a((int)((((w_24 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_44), __dp4a((int)((((w_23 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_43), __dp4a((int)((((w_22 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_42), __dp4a((int)((((w_21 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_41), 0))))))))), scale_7 * d_6, sum_2);
    const auto xw_7 = b_5 * 8u;
    const auto xq_49 = pool[xw_7];
    const auto xq_50 = pool[xw_7 + 1u];
    const auto xq_51 = pool[xw_7 + 2u];
    const auto xq_52 = pool[xw_7 + 3u];
    const auto xq_53 = pool[xw_7 + 4u];
    const auto xq_54 = pool[xw_7 + 5u];
    const auto xq_55 = pool[xw_7 + 6u];
    const auto xq_56 = pool[xw_7 + 7u];
    const auto d_7 = __uint_as_float(pool[b_5 + 512u]);
    sum_2 = fmaf((float)(__dp4a((int)(((((w_28 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_56), __dp4a((int)(((((w_27 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_55), __dp4a((int)(((((w_26 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_54), __dp4a((int)(((((w_25 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_53), __dp4a((int)((((w_28 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_52), __dp4a((int)((((w_27 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_51), __dp4a((int)((((w_26 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_50), __dp4a((int)((((w_25 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_49), 0))))))))), scale_8 * d_7, sum_2);
    const auto xw_8 = b_6 * 8u;
    const auto xq_57 = pool[xw_8];
    const auto xq_58 = pool[xw_8 + 1u];
    const auto xq_59 = pool[xw_8 + 2u];
    const auto xq_60 = pool[xw_8 + 3u];
    const auto xq_61 = pool[xw_8 + 4u];
    const auto xq_62 = pool[xw_8 + 5u];
    const auto xq_63 = pool[xw_8 + 6u];
    const auto xq_64 = pool[xw_8 + 7u];
    const auto d_8 = __uint_as_float(pool[b_6 + 512u]);
    sum_2 = fmaf((float)(__dp4a((int)(((((w_32 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_64), __dp4a((int)(((((w_31 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_63), __dp4a((int)(((((w_30 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_62), __dp4a((int)(((((w_29 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_61), __dp4a((int)((((w_32 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_60), __dp4a((int)((((w_31 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_59), __dp4a((int)((((w_30 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_58), __dp4a((int)((((w_29 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_57), 0))))))))), scale_9 * d_8, sum_2);
    const auto to_2 = share_2 * 16u + own_2 + 5064u;
    pool[to_2] = __float_as_uint(sum_2);
    __syncthreads();
    if (lane < 16u) {
      const auto own_3 = at_2 + (lane % 16u);
      auto total_3 = __uint_as_float(pool[lane + 4808u]);
      for (auto l_2 = 1u; l_2 < 16u; l_2 += 1u) {
        total_3 = total_3 + __uint_as_float(pool[lane + 4808u + l_2 * 16u]);
      }
      pool[(lane / 16u) * 32u + own_3 + 5320u] = __float_as_uint(total_3);
      auto total_4 = __uint_as_float(pool[lane + 5064u]);
      for (auto l_3 = 1u; l_3 < 16u; l_3 += 1u) {
        total_4 = total_4 + __uint_as_float(pool[lane + 5064u + l_3 * 16u]);
      }
      pool[(lane / 16u) * 32u + own_3 + 5352u] = __float_as_uint(total_4);
    }
    __syncthreads();
  }
  const auto word_2 = min(lane, 7u);
  const auto i_5 = rows_at / 4u;
  const auto i_6 = (rows_at % 4u) % 4u;
  const auto column_3 = first + word_2 * 4u;
  const auto v_15 = __uint_as_float(pool[word_2 * 4u + 5320u]);
  const auto v_16 = v_15 / (expf(min(-(v_15), 80.0f)) + 1.0f);
  const auto v_17 = __uint_as_float(pool[word_2 * 4u + 5352u]);
  const auto v_18 = v_16 * v_17;
  const auto i_7 = rows_at / 4u;
  const auto i_8 = (rows_at % 4u) % 4u;
  const auto column_4 = first + (word_2 * 4u + 1u);
  const auto v_19 = __uint_as_float(pool[word_2 * 4u + 5321u]);
  const auto v_20 = v_19 / (expf(min(-(v_19), 80.0f)) + 1.0f);
  const auto v_21 = __uint_as_float(pool[word_2 * 4u + 5353u]);
  const auto v_22 = v_20 * v_21;
  const auto i_9 = rows_at / 4u;
  const auto i_10 = (rows_at % 4u) % 4u;
  const auto column_5 = first + (word_2 * 4u + 2u);
  const auto v_23 = __uint_as_float(pool[word_2 * 4u + 5322u]);
  const auto v_24 = v_23 / (expf(min(-(v_23), 80.0f)) + 1.0f);
  const auto v_25 = __uint_as_float(pool[word_2 * 4u + 5354u]);
  const auto v_26 = v_24 * v_25;
  const auto i_11 = rows_at / 4u;
  const auto i_12 = (rows_at % 4u) % 4u;
  const auto column_6 = first + (word_2 * 4u + 3u);
  const auto v_27 = __uint_as_float(pool[word_2 * 4u + 5323u]);
  const auto v_28 = v_27 / (expf(min(-(v_27), 80.0f)) + 1.0f);
  const auto v_29 = __uint_as_float(pool[word_2 * 4u + 5355u]);
  const auto v_30 = v_28 * v_29;
  const auto mine_3 = max(max(max(__float_as_uint(v_18) & 0x7fffffffu, __float_as_uint(v_22) & 0x7fffffffu), __float_as_uint(v_26) & 0x7fffffffu), __float_as_uint(v_30) & 0x7fffffffu);
  const auto other_11 = __shfl_xor_sync(warp, mine_3, 1u);
  const auto both_11 = max(mine_3, other_11);
  const auto other_12 = __shfl_xor_sync(warp, both_11, 2u);
  const auto both_12 = max(both_11, other_12);
  const auto other_13 = __shfl_xor_sync(warp, both_12, 4u);
  const auto both_13 = max(both_12, other_13);
  const auto largest_2 = __uint_as_float(both_13);
  const auto scale_10 = (both_13 < 0x7f800000u ? __float_as_uint(largest_2 / 127.0f) : 0x7fc00000u);
  const auto inverse_2 = (largest_2 > 3.74e-37f && both_13 < 0x7f800000u ? 127.0f / largest_2 : 0.0f);
  const auto packed_2 = ((unsigned int)(__float2int_rz(min(max(rintf(v_18 * inverse_2), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_22 * inverse_2), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_26 * inverse_2), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_30 * inverse_2), -127.0f), 127.0f))) & 255u) << 24u);
  const auto mine_4 = __dp4a((int)(packed_2), (int)(0x1010101u), 0);
  const auto other_14 = __shfl_xor_sync(warp, mine_4, 1u);
  const auto both_14 = mine_4 + other_14;
  const auto other_15 = __shfl_xor_sync(warp, both_14, 2u);
  const auto both_15 = both_14 + other_15;
  if (lane < 8u) {
    pool[lane + 5384u] = packed_2;
    if ((lane % 4u) == 0u) {
      pool[(lane / 4u) + 5393u] = __float_as_uint((float)(both_15) * __uint_as_float(scale_10));
    }
    if ((lane % 8u) == 0u) {
      pool[(lane / 8u) + 5392u] = scale_10;
    }
  }
  __syncthreads();
  if (lane < 8u) {
    const auto i_13 = rows_at / 4u;
    const auto i_14 = (rows_at % 4u) % 4u;
    const auto column_7 = first + lane * 4u;
    b0[p5 + ((i_13 * 6144u + i_14 * 1536u + column_7) / 4u)] = pool[((lane * 4u) / 4u) + 5384u];
  }
  if (lane < 1u) {
    const auto i_15 = rows_at / 4u;
    const auto i_16 = (rows_at % 4u) % 4u;
    const auto column_8 = first + lane * 32u;
    b0[p5 + (n5 / 4u) + ((i_15 * 6144u + i_16 * 1536u + column_8) / 32u)] = pool[((lane * 32u) / 32u) + 5392u];
  }
  if (lane < 2u) {
    const auto i_17 = rows_at / 4u;
    const auto i_18 = (rows_at % 4u) % 4u;
    const auto column_9 = first + lane * 16u;
    b0[p5 + ((n5 / 4u) + (n5 / 32u)) + ((i_17 * 6144u + i_18 * 1536u + column_9) / 16u)] = pool[((lane * 16u) / 16u) + 5393u];
  }
}

// select_sum_2048x1536_q4_0&dot_2048x1536_q4_0: lanes 512; rows 1 width 16 reduce 32 upcast 1
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

extern "C" __global__ void __launch_bounds__(512) weft_select_sum_2048x1536_q4_0_dot_2048x1536_q4_0(
  const Args args,
  const Sizes sizes,
  const unsigned int* b0,
  const unsigned int* __restrict__ b1,
  const unsigned int* __restrict__ b2,
  unsigned int* b3
) {
  __shared__ unsigned int pool[1024];
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
  launch_next();
  // part 0: dot [T] × 2048; rows 1 width 16 reduce 32 upcast 1
  const auto own_group = blockIdx.x;
  const auto tiles = sizes.words[0];
  const auto rows_at = own_group % tiles;
  const auto first = (own_group / tiles) * 16u;
  wait_for_previous();
  const auto share = lane / 16u;
  const auto own = lane % 16u;
  const auto column = first + own;
  // times q4_0[2048, 1536]
  auto sum = 0.0f;
  for (auto term = 0u; term < 4u; term += 1u) {
    const auto index = min(b0[p1 + (rows_at * 4u + term)], 63u);
    const auto weight = __uint_as_float(b0[p2 + (rows_at * 4u + term)]);
    auto part = 0.0f;
    const auto x = rows_at * 6144u + term * 1536u;
    const auto x_2 = p0 + (x / 4u);
    const auto xd = p0 + (n0 / 4u) + (x / 32u);
    const auto xs = p0 + (n0 / 4u) + (n0 / 32u) + (x / 16u);
    const auto tile = p3 + ((index * 2048u + column) / 16u) * 3456u;
    const auto lane_row = (index * 2048u + column) % 16u;
    for (auto b = share; b < 48u; b += 32u) {
      const auto at = tile + lane_row + b * 64u;
      const auto w = b1[at];
      const auto w_2 = b1[at + 16u];
      const auto w_3 = b1[at + 32u];
      const auto w_4 = b1[at + 48u];
      const auto scale = half_to_float(b1[tile + 3072u + ((b * 16u + lane_row) / 2u)] >> (((b * 16u + lane_row) % 2u) * 16u));
      const auto xw = x_2 + b * 8u;
      const auto xq = b0[xw];
      const auto xq_2 = b0[xw + 1u];
      const auto xq_3 = b0[xw + 2u];
      const auto xq_4 = b0[xw + 3u];
      const auto xq_5 = b0[xw + 4u];
      const auto xq_6 = b0[xw + 5u];
      const auto xq_7 = b0[xw + 6u];
      const auto xq_8 = b0[xw + 7u];
      const auto d = __uint_as_float(b0[xd + b]);
      part = fmaf((float)(__dp4a((int)(((((w_4 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_8), __dp4a((int)(((((w_3 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_7), __dp4a((int)(((((w_2 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_6), __dp4a((int)(((((w >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_5), __dp4a((int)((((w_4 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_4), __dp4a((int)((((w_3 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_3), __dp4a((int)((((w_2 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_2), __dp4a((int)((((w & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq), 0))))))))), scale * d, part);
    }
    sum = fmaf(weight, part, sum);
  }
  const auto to = share * 16u + own;
  pool[to] = __float_as_uint(sum);
  const auto share_2 = lane / 16u;
  const auto own_2 = lane % 16u;
  const auto column_2 = first + own_2;
  // times q4_0[2048, 1536]
  auto sum_2 = 0.0f;
  const auto x_3 = rows_at * 1536u;
  const auto x_4 = p4 + (x_3 / 4u);
  const auto xd_2 = p4 + (n4 / 4u) + (x_3 / 32u);
  const auto xs_2 = p4 + (n4 / 4u) + (n4 / 32u) + (x_3 / 16u);
  const auto tile_2 = p5 + (column_2 / 16u) * 3456u;
  const auto lane_row_2 = column_2 % 16u;
  for (auto b_2 = share_2; b_2 < 48u; b_2 += 32u) {
    const auto at_2 = tile_2 + lane_row_2 + b_2 * 64u;
    const auto w_5 = b2[at_2];
    const auto w_6 = b2[at_2 + 16u];
    const auto w_7 = b2[at_2 + 32u];
    const auto w_8 = b2[at_2 + 48u];
    const auto scale_2 = half_to_float(b2[tile_2 + 3072u + ((b_2 * 16u + lane_row_2) / 2u)] >> (((b_2 * 16u + lane_row_2) % 2u) * 16u));
    const auto xw_2 = x_4 + b_2 * 8u;
    const auto xq_9 = b0[xw_2];
    const auto xq_10 = b0[xw_2 + 1u];
    const auto xq_11 = b0[xw_2 + 2u];
    const auto xq_12 = b0[xw_2 + 3u];
    const auto xq_13 = b0[xw_2 + 4u];
    const auto xq_14 = b0[xw_2 + 5u];
    const auto xq_15 = b0[xw_2 + 6u];
    const auto xq_16 = b0[xw_2 + 7u];
    const auto d_2 = __uint_as_float(b0[xd_2 + b_2]);
    sum_2 = fmaf((float)(__dp4a((int)(((((w_8 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_16), __dp4a((int)(((((w_7 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_15), __dp4a((int)(((((w_6 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_14), __dp4a((int)(((((w_5 >> 4u) & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_13), __dp4a((int)((((w_8 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_12), __dp4a((int)((((w_7 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_11), __dp4a((int)((((w_6 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_10), __dp4a((int)((((w_5 & 0xf0f0f0fu) | 0x80808080u) - 0x8080808u) ^ 0x80808080u), (int)(xq_9), 0))))))))), scale_2 * d_2, sum_2);
  }
  const auto to_2 = share_2 * 16u + own_2 + 512u;
  pool[to_2] = __float_as_uint(sum_2);
  __syncthreads();
  if (lane < 16u) {
    const auto own_3 = lane % 16u;
    auto total = __uint_as_float(pool[lane]);
    for (auto l = 1u; l < 32u; l += 1u) {
      total = total + __uint_as_float(pool[lane + l * 16u]);
    }
    pool[(lane / 16u) * 16u + own_3] = __float_as_uint(total);
    auto total_2 = __uint_as_float(pool[lane + 512u]);
    for (auto l_2 = 1u; l_2 < 32u; l_2 += 1u) {
      total_2 = total_2 + __uint_as_float(pool[lane + 512u + l_2 * 16u]);
    }
    pool[(lane / 16u) * 16u + own_3 + 512u] = __float_as_uint(total_2);
  }
  __syncthreads();
  if (lane < 16u) {
    const auto column_3 = first + lane;
    const auto at_3 = rows_at * 2048u + column_3;
    const auto v = __uint_as_float(b0[p6 + at_3]);
    const auto v_2 = __uint_as_float(pool[lane]);
    const auto v_3 = __uint_as_float(pool[lane + 512u]);
    const auto v_4 = v_2 + v_3;
    const auto v_5 = v + v_4;
    b3[p7 + (rows_at * 2048u + column_3)] = __float_as_uint(v_5);
  }
}

