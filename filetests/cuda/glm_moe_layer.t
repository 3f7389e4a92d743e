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
// dot_768x2048_q4_0+2: lanes 256; rows 1 width 16 reduce 16 upcast 1; rows 1 width 16 reduce 16 upcast 1; rows 1 width 16 reduce 16 upcast 1
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

static __device__ __forceinline__ float quotient(float a, float b) {
  float inverse;
  asm("rcp.approx.f32 %0, %1;" : "=f"(inverse) : "f"(b));
  return a * inverse;
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
  // part 0: dot [T] × 768; rows 1 width 16 reduce 16 upcast 1
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
    const auto scale = (both_8 < 0x7f800000u ? __float_as_uint(largest * 0.007874016f) : 0x7fc00000u);
    const auto inverse = (largest > 3.74e-37f && both_8 < 0x7f800000u ? quotient(127.0f, largest) : 0.0f);
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
    const auto scale_2 = (both_11 < 0x7f800000u ? __float_as_uint(largest_2 * 0.007874016f) : 0x7fc00000u);
    const auto inverse_2 = (largest_2 > 3.74e-37f && both_11 < 0x7f800000u ? quotient(127.0f, largest_2) : 0.0f);
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
    sum = fmaf((float)(__dp4a((int)((w_4 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))), half_to_float(word >> ((lane_row % 2u) * 16u)) * d, sum);
    const auto xw_2 = b * 8u;
    const auto xq_3 = *(const uint4*)&pool[xw_2 + 8u];
    const auto xq_4 = *(const uint4*)&pool[xw_2 + 12u];
    const auto d_2 = __uint_as_float(pool[b + 513u]) * 0.0625f;
    sum = fmaf((float)(__dp4a((int)((w_8 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.w), __dp4a((int)((w_7 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.z), __dp4a((int)((w_6 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.y), __dp4a((int)((w_5 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.x), __dp4a((int)(((w_8 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.w), __dp4a((int)(((w_7 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.z), __dp4a((int)(((w_6 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.y), __dp4a((int)(((w_5 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.x), 0))))))))), half_to_float(word_2 >> ((lane_row % 2u) * 16u)) * d_2, sum);
    const auto xw_3 = b * 8u;
    const auto xq_5 = *(const uint4*)&pool[xw_3 + 16u];
    const auto xq_6 = *(const uint4*)&pool[xw_3 + 20u];
    const auto d_3 = __uint_as_float(pool[b + 514u]) * 0.0625f;
    sum = fmaf((float)(__dp4a((int)((w_12 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.w), __dp4a((int)((w_11 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.z), __dp4a((int)((w_10 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.y), __dp4a((int)((w_9 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.x), __dp4a((int)(((w_12 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.w), __dp4a((int)(((w_11 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.z), __dp4a((int)(((w_10 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.y), __dp4a((int)(((w_9 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.x), 0))))))))), half_to_float(word_3 >> ((lane_row % 2u) * 16u)) * d_3, sum);
    const auto xw_4 = b * 8u;
    const auto xq_7 = *(const uint4*)&pool[xw_4 + 24u];
    const auto xq_8 = *(const uint4*)&pool[xw_4 + 28u];
    const auto d_4 = __uint_as_float(pool[b + 515u]) * 0.0625f;
    sum = fmaf((float)(__dp4a((int)((w_16 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.w), __dp4a((int)((w_15 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.z), __dp4a((int)((w_14 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.y), __dp4a((int)((w_13 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.x), __dp4a((int)(((w_16 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.w), __dp4a((int)(((w_15 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.z), __dp4a((int)(((w_14 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.y), __dp4a((int)(((w_13 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.x), 0))))))))), half_to_float(word_4 >> ((lane_row % 2u) * 16u)) * d_4, sum);
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
  // part 1: dot [T] × 512; rows 1 width 16 reduce 16 upcast 1
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
    const auto scale_3 = (both_19 < 0x7f800000u ? __float_as_uint(largest_3 * 0.007874016f) : 0x7fc00000u);
    const auto inverse_3 = (largest_3 > 3.74e-37f && both_19 < 0x7f800000u ? quotient(127.0f, largest_3) : 0.0f);
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
    const auto scale_4 = (both_22 < 0x7f800000u ? __float_as_uint(largest_4 * 0.007874016f) : 0x7fc00000u);
    const auto inverse_4 = (largest_4 > 3.74e-37f && both_22 < 0x7f800000u ? quotient(127.0f, largest_4) : 0.0f);
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
    sum_2 = fmaf((float)(__dp4a((int)((w_20 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.w), __dp4a((int)((w_19 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.z), __dp4a((int)((w_18 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.y), __dp4a((int)((w_17 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.x), __dp4a((int)(((w_20 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.w), __dp4a((int)(((w_19 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.z), __dp4a((int)(((w_18 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.y), __dp4a((int)(((w_17 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.x), 0))))))))), half_to_float(word_6 >> ((lane_row_2 % 2u) * 16u)) * d_5, sum_2);
    const auto xw_6 = b_2 * 8u;
    const auto xq_11 = *(const uint4*)&pool[xw_6 + 8u];
    const auto xq_12 = *(const uint4*)&pool[xw_6 + 12u];
    const auto d_6 = __uint_as_float(pool[b_2 + 513u]) * 0.0625f;
    sum_2 = fmaf((float)(__dp4a((int)((w_24 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.w), __dp4a((int)((w_23 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.z), __dp4a((int)((w_22 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.y), __dp4a((int)((w_21 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.x), __dp4a((int)(((w_24 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.w), __dp4a((int)(((w_23 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.z), __dp4a((int)(((w_22 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.y), __dp4a((int)(((w_21 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.x), 0))))))))), half_to_float(word_7 >> ((lane_row_2 % 2u) * 16u)) * d_6, sum_2);
    const auto xw_7 = b_2 * 8u;
    const auto xq_13 = *(const uint4*)&pool[xw_7 + 16u];
    const auto xq_14 = *(const uint4*)&pool[xw_7 + 20u];
    const auto d_7 = __uint_as_float(pool[b_2 + 514u]) * 0.0625f;
    sum_2 = fmaf((float)(__dp4a((int)((w_28 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.w), __dp4a((int)((w_27 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.z), __dp4a((int)((w_26 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.y), __dp4a((int)((w_25 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.x), __dp4a((int)(((w_28 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.w), __dp4a((int)(((w_27 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.z), __dp4a((int)(((w_26 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.y), __dp4a((int)(((w_25 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.x), 0))))))))), half_to_float(word_8 >> ((lane_row_2 % 2u) * 16u)) * d_7, sum_2);
    const auto xw_8 = b_2 * 8u;
    const auto xq_15 = *(const uint4*)&pool[xw_8 + 24u];
    const auto xq_16 = *(const uint4*)&pool[xw_8 + 28u];
    const auto d_8 = __uint_as_float(pool[b_2 + 515u]) * 0.0625f;
    sum_2 = fmaf((float)(__dp4a((int)((w_32 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.w), __dp4a((int)((w_31 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.z), __dp4a((int)((w_30 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.y), __dp4a((int)((w_29 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.x), __dp4a((int)(((w_32 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.w), __dp4a((int)(((w_31 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.z), __dp4a((int)(((w_30 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.y), __dp4a((int)(((w_29 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.x), 0))))))))), half_to_float(word_9 >> ((lane_row_2 % 2u) * 16u)) * d_8, sum_2);
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
  // part 2: dot [T] × 64; rows 1 width 16 reduce 16 upcast 1
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
    const auto scale_5 = (both_30 < 0x7f800000u ? __float_as_uint(largest_5 * 0.007874016f) : 0x7fc00000u);
    const auto inverse_5 = (largest_5 > 3.74e-37f && both_30 < 0x7f800000u ? quotient(127.0f, largest_5) : 0.0f);
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
    const auto scale_6 = (both_33 < 0x7f800000u ? __float_as_uint(largest_6 * 0.007874016f) : 0x7fc00000u);
    const auto inverse_6 = (largest_6 > 3.74e-37f && both_33 < 0x7f800000u ? quotient(127.0f, largest_6) : 0.0f);
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
    sum_3 = fmaf((float)(__dp4a((int)((w_36 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_18.w), __dp4a((int)((w_35 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_18.z), __dp4a((int)((w_34 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_18.y), __dp4a((int)((w_33 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_18.x), __dp4a((int)(((w_36 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_17.w), __dp4a((int)(((w_35 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_17.z), __dp4a((int)(((w_34 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_17.y), __dp4a((int)(((w_33 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_17.x), 0))))))))), half_to_float(word_11 >> ((lane_row_3 % 2u) * 16u)) * d_9, sum_3);
    const auto xw_10 = b_3 * 8u;
    const auto xq_19 = *(const uint4*)&pool[xw_10 + 8u];
    const auto xq_20 = *(const uint4*)&pool[xw_10 + 12u];
    const auto d_10 = __uint_as_float(pool[b_3 + 513u]) * 0.0625f;
    sum_3 = fmaf((float)(__dp4a((int)((w_40 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_20.w), __dp4a((int)((w_39 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_20.z), __dp4a((int)((w_38 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_20.y), __dp4a((int)((w_37 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_20.x), __dp4a((int)(((w_40 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_19.w), __dp4a((int)(((w_39 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_19.z), __dp4a((int)(((w_38 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_19.y), __dp4a((int)(((w_37 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_19.x), 0))))))))), half_to_float(word_12 >> ((lane_row_3 % 2u) * 16u)) * d_10, sum_3);
    const auto xw_11 = b_3 * 8u;
    const auto xq_21 = *(const uint4*)&pool[xw_11 + 16u];
    const auto xq_22 = *(const uint4*)&pool[xw_11 + 20u];
    const auto d_11 = __uint_as_float(pool[b_3 + 514u]) * 0.0625f;
    sum_3 = fmaf((float)(__dp4a((int)((w_44 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_22.w), __dp4a((int)((w_43 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_22.z), __dp4a((int)((w_42 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_22.y), __dp4a((int)((w_41 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_22.x), __dp4a((int)(((w_44 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_21.w), __dp4a((int)(((w_43 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_21.z), __dp4a((int)(((w_42 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_21.y), __dp4a((int)(((w_41 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_21.x), 0))))))))), half_to_float(word_13 >> ((lane_row_3 % 2u) * 16u)) * d_11, sum_3);
    const auto xw_12 = b_3 * 8u;
    const auto xq_23 = *(const uint4*)&pool[xw_12 + 24u];
    const auto xq_24 = *(const uint4*)&pool[xw_12 + 28u];
    const auto d_12 = __uint_as_float(pool[b_3 + 515u]) * 0.0625f;
    sum_3 = fmaf((float)(__dp4a((int)((w_48 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_24.w), __dp4a((int)((w_47 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_24.z), __dp4a((int)((w_46 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_24.y), __dp4a((int)((w_45 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_24.x), __dp4a((int)(((w_48 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_23.w), __dp4a((int)(((w_47 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_23.z), __dp4a((int)(((w_46 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_23.y), __dp4a((int)(((w_45 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_23.x), 0))))))))), half_to_float(word_14 >> ((lane_row_3 % 2u) * 16u)) * d_12, sum_3);
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

// head_dot_192x768_q4_0+2: lanes 256; rows 1 width 32 reduce 8 upcast 1; rows 1 width 64 reduce 8 upcast 2; rows 1 width 512 reduce 1 upcast 1
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

static __device__ __forceinline__ float quotient(float a, float b) {
  float inverse;
  asm("rcp.approx.f32 %0, %1;" : "=f"(inverse) : "f"(b));
  return a * inverse;
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
  // part 0: dot [T, 20] × 64; rows 1 width 32 reduce 8 upcast 1
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
    const auto scale = (both_8 < 0x7f800000u ? __float_as_uint(largest * 0.007874016f) : 0x7fc00000u);
    const auto inverse = (largest > 3.74e-37f && both_8 < 0x7f800000u ? quotient(127.0f, largest) : 0.0f);
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
    sum = fmaf((float)(__dp4a((int)((w_4 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))), half_to_float(word >> ((lane_row % 2u) * 16u)) * d, sum);
    const auto xw_2 = b * 8u;
    const auto xq_3 = *(const uint4*)&pool[xw_2 + 8u];
    const auto xq_4 = *(const uint4*)&pool[xw_2 + 12u];
    const auto d_2 = __uint_as_float(pool[b + 193u]) * 0.0625f;
    sum = fmaf((float)(__dp4a((int)((w_8 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.w), __dp4a((int)((w_7 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.z), __dp4a((int)((w_6 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.y), __dp4a((int)((w_5 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.x), __dp4a((int)(((w_8 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.w), __dp4a((int)(((w_7 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.z), __dp4a((int)(((w_6 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.y), __dp4a((int)(((w_5 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.x), 0))))))))), half_to_float(word_2 >> ((lane_row % 2u) * 16u)) * d_2, sum);
    const auto xw_3 = b * 8u;
    const auto xq_5 = *(const uint4*)&pool[xw_3 + 16u];
    const auto xq_6 = *(const uint4*)&pool[xw_3 + 20u];
    const auto d_3 = __uint_as_float(pool[b + 194u]) * 0.0625f;
    sum = fmaf((float)(__dp4a((int)((w_12 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.w), __dp4a((int)((w_11 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.z), __dp4a((int)((w_10 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.y), __dp4a((int)((w_9 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.x), __dp4a((int)(((w_12 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.w), __dp4a((int)(((w_11 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.z), __dp4a((int)(((w_10 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.y), __dp4a((int)(((w_9 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.x), 0))))))))), half_to_float(word_3 >> ((lane_row % 2u) * 16u)) * d_3, sum);
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
  // part 1: dot [T, 20] × 192; rows 1 width 64 reduce 8 upcast 2
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
    const auto scale_2 = (both_16 < 0x7f800000u ? __float_as_uint(largest_2 * 0.007874016f) : 0x7fc00000u);
    const auto inverse_2 = (largest_2 > 3.74e-37f && both_16 < 0x7f800000u ? quotient(127.0f, largest_2) : 0.0f);
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
    sum_2 = fmaf((float)(__dp4a((int)((w_16 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.w), __dp4a((int)((w_15 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.z), __dp4a((int)((w_14 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.y), __dp4a((int)((w_13 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.x), __dp4a((int)(((w_16 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.w), __dp4a((int)(((w_15 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.z), __dp4a((int)(((w_14 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.y), __dp4a((int)(((w_13 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.x), 0))))))))), half_to_float(word_5 >> ((lane_row_2 % 2u) * 16u)) * d_4, sum_2);
    sum_3 = fmaf((float)(__dp4a((int)((w_20 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.w), __dp4a((int)((w_19 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.z), __dp4a((int)((w_18 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.y), __dp4a((int)((w_17 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.x), __dp4a((int)(((w_20 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.w), __dp4a((int)(((w_19 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.z), __dp4a((int)(((w_18 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.y), __dp4a((int)(((w_17 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.x), 0))))))))), half_to_float(word_6 >> ((lane_row_3 % 2u) * 16u)) * d_4, sum_3);
    const auto xw_5 = b_2 * 8u;
    const auto xq_9 = *(const uint4*)&pool[xw_5 + 8u];
    const auto xq_10 = *(const uint4*)&pool[xw_5 + 12u];
    const auto d_5 = __uint_as_float(pool[b_2 + 193u]) * 0.0625f;
    sum_2 = fmaf((float)(__dp4a((int)((w_24 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.w), __dp4a((int)((w_23 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.z), __dp4a((int)((w_22 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.y), __dp4a((int)((w_21 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.x), __dp4a((int)(((w_24 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.w), __dp4a((int)(((w_23 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.z), __dp4a((int)(((w_22 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.y), __dp4a((int)(((w_21 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.x), 0))))))))), half_to_float(word_7 >> ((lane_row_2 % 2u) * 16u)) * d_5, sum_2);
    sum_3 = fmaf((float)(__dp4a((int)((w_28 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.w), __dp4a((int)((w_27 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.z), __dp4a((int)((w_26 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.y), __dp4a((int)((w_25 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.x), __dp4a((int)(((w_28 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.w), __dp4a((int)(((w_27 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.z), __dp4a((int)(((w_26 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.y), __dp4a((int)(((w_25 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.x), 0))))))))), half_to_float(word_8 >> ((lane_row_3 % 2u) * 16u)) * d_5, sum_3);
    const auto xw_6 = b_2 * 8u;
    const auto xq_11 = *(const uint4*)&pool[xw_6 + 16u];
    const auto xq_12 = *(const uint4*)&pool[xw_6 + 20u];
    const auto d_6 = __uint_as_float(pool[b_2 + 194u]) * 0.0625f;
    sum_2 = fmaf((float)(__dp4a((int)((w_32 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.w), __dp4a((int)((w_31 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.z), __dp4a((int)((w_30 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.y), __dp4a((int)((w_29 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.x), __dp4a((int)(((w_32 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.w), __dp4a((int)(((w_31 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.z), __dp4a((int)(((w_30 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.y), __dp4a((int)(((w_29 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.x), 0))))))))), half_to_float(word_9 >> ((lane_row_2 % 2u) * 16u)) * d_6, sum_2);
    sum_3 = fmaf((float)(__dp4a((int)((w_36 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.w), __dp4a((int)((w_35 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.z), __dp4a((int)((w_34 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.y), __dp4a((int)((w_33 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.x), __dp4a((int)(((w_36 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.w), __dp4a((int)(((w_35 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.z), __dp4a((int)(((w_34 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.y), __dp4a((int)(((w_33 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.x), 0))))))))), half_to_float(word_10 >> ((lane_row_3 % 2u) * 16u)) * d_6, sum_3);
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
      const auto scale_3 = (both_21 < 0x7f800000u ? __float_as_uint(largest_3 * 0.007874016f) : 0x7fc00000u);
      const auto packed_3 = ((unsigned int)(__float2int_rz(min(max(rintf(result_2 * (largest_3 > 3.74e-37f && both_21 < 0x7f800000u ? quotient(127.0f, largest_3) : 0.0f)), -127.0f), 127.0f))) & 255u) << ((lane % 4u) * 8u);
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
  // part 2: reduce [T] × 512; rows 1 width 512 reduce 1 upcast 1
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

// head_dot_512x192_q4_0: lanes 256; rows 1 width 128 reduce 2 upcast 1
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

extern "C" __global__ void __launch_bounds__(256) weft_head_dot_512x192_q4_0(
  const Args args,
  const Sizes sizes,
  unsigned int* b0,
  const unsigned int* __restrict__ b1
) {
  __shared__ __align__(16) unsigned int pool[324];
  const unsigned int lane = threadIdx.x;
  const auto p0 = args.words[0];
  const auto p1 = args.words[2];
  const auto p2 = args.words[4];
  const auto n0 = args.words[1];
  const auto top_bits = blockIdx.z ^ 0x80808080u;
  // part 0: dot [T, 20] × 512; rows 1 width 128 reduce 2 upcast 1
  const auto own_group = blockIdx.x;
  const auto rows_at = own_group % 20u;
  const auto first = (own_group / 20u) * 128u;
  const auto i = rows_at / 20u;
  const auto i_2 = (rows_at % 20u) % 20u;
  const auto share = lane / 128u;
  const auto own = lane % 128u;
  const auto column = first + own;
  const auto tile = p1 + ((i_2 * 512u + column) / 16u) * 432u;
  const auto lane_row = (i_2 * 512u + column) % 16u;
  const auto b = share * 3u;
  const auto at = tile + lane_row + b * 64u;
  const auto w = load_early(&b1[at]);
  const auto w_2 = load_early(&(b1 + (at))[16u]);
  const auto w_3 = load_early(&(b1 + (at))[32u]);
  const auto w_4 = load_early(&(b1 + (at))[48u]);
  const auto word = load_early(&(b1 + (tile + (b * 8u + (lane_row / 2u))))[384u]);
  const auto at_2 = tile + lane_row + b * 64u;
  const auto w_5 = load_early(&(b1 + (at_2))[64u]);
  const auto w_6 = load_early(&(b1 + (at_2))[80u]);
  const auto w_7 = load_early(&(b1 + (at_2))[96u]);
  const auto w_8 = load_early(&(b1 + (at_2))[112u]);
  const auto word_2 = load_early(&(b1 + (tile + (b * 8u + (lane_row / 2u))))[392u]);
  const auto at_3 = tile + lane_row + b * 64u;
  const auto w_9 = load_early(&(b1 + (at_3))[128u]);
  const auto w_10 = load_early(&(b1 + (at_3))[144u]);
  const auto w_11 = load_early(&(b1 + (at_3))[160u]);
  const auto w_12 = load_early(&(b1 + (at_3))[176u]);
  const auto word_3 = load_early(&(b1 + (tile + (b * 8u + (lane_row / 2u))))[400u]);
  const auto i_3 = rows_at / 20u;
  const auto i_4 = (rows_at % 20u) % 20u;
  const auto i_5 = rows_at / 20u;
  const auto i_6 = (rows_at % 20u) % 20u;
  const auto column_2 = first + lane;
  wait_for_previous();
  launch_next();
  const auto x = i * 3840u + i_2 * 192u;
  const auto from_word = p0 + (x / 4u);
  const auto word_4 = min(lane, 11u);
  const auto x_2 = *(const uint4*)&b0[from_word + word_4 * 4u];
  if (lane < 12u) {
    pool[lane * 4u] = x_2.x;
    pool[lane * 4u + 1u] = x_2.y;
    pool[lane * 4u + 2u] = x_2.z;
    pool[lane * 4u + 3u] = x_2.w;
  }
  const auto from_word_2 = p0 + (n0 / 4u) + (x / 32u);
  if (lane < 6u) {
    pool[lane + 48u] = b0[from_word_2 + lane];
  }
  __syncthreads();
  // times q4_0[512, 192]
  auto sum = 0.0f;
  const auto xw = b * 8u;
  const auto xq = *(const uint4*)&pool[xw];
  const auto xq_2 = *(const uint4*)&pool[xw + 4u];
  const auto d = __uint_as_float(pool[b + 48u]) * 0.0625f;
  sum = fmaf((float)(__dp4a((int)((w_4 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))), half_to_float(word >> ((lane_row % 2u) * 16u)) * d, sum);
  const auto xw_2 = b * 8u;
  const auto xq_3 = *(const uint4*)&pool[xw_2 + 8u];
  const auto xq_4 = *(const uint4*)&pool[xw_2 + 12u];
  const auto d_2 = __uint_as_float(pool[b + 49u]) * 0.0625f;
  sum = fmaf((float)(__dp4a((int)((w_8 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.w), __dp4a((int)((w_7 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.z), __dp4a((int)((w_6 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.y), __dp4a((int)((w_5 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.x), __dp4a((int)(((w_8 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.w), __dp4a((int)(((w_7 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.z), __dp4a((int)(((w_6 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.y), __dp4a((int)(((w_5 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.x), 0))))))))), half_to_float(word_2 >> ((lane_row % 2u) * 16u)) * d_2, sum);
  const auto xw_3 = b * 8u;
  const auto xq_5 = *(const uint4*)&pool[xw_3 + 16u];
  const auto xq_6 = *(const uint4*)&pool[xw_3 + 20u];
  const auto d_3 = __uint_as_float(pool[b + 50u]) * 0.0625f;
  sum = fmaf((float)(__dp4a((int)((w_12 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.w), __dp4a((int)((w_11 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.z), __dp4a((int)((w_10 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.y), __dp4a((int)((w_9 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.x), __dp4a((int)(((w_12 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.w), __dp4a((int)(((w_11 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.z), __dp4a((int)(((w_10 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.y), __dp4a((int)(((w_9 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.x), 0))))))))), half_to_float(word_3 >> ((lane_row % 2u) * 16u)) * d_3, sum);
  const auto to = share * 128u + own + 68u;
  pool[to] = __float_as_uint(sum);
  __syncthreads();
  auto result = 0.0f;
  if (lane < 128u) {
    auto total = __uint_as_float(pool[lane + 68u]);
    for (auto l = 1u; l < 2u; l += 1u) {
      total = total + __uint_as_float(pool[lane + l * 128u + 68u]);
    }
    result = total;
  }
  if (lane < 128u) {
    b0[p2 + (i_5 * 11520u + i_6 * 576u + column_2)] = __float_as_uint(result);
  }
}

// attend_20x576: lanes 256; rows 10 width 512 reduce 4 upcast 1 chunk 64 spread matrix
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
  const unsigned int* b3,
  const unsigned int* b4,
  unsigned int* b5
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
  // part 0: attend [T, 20] × 512; rows 10 width 512 reduce 4 upcast 1 chunk 64 spread matrix; chunks
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
  const auto pages_at = b3[p3];
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
    const auto position_at = min(b4[p4 + min(pages_at + (p / 32u), last_page)] * 32u + (p % 32u), last_row);
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
      const auto position_at_2 = min(b4[p4 + min(pages_at + (p_2 / 32u), last_page)] * 32u + (p_2 % 32u), last_row);
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
      store_two(&b5[g * 516u + column + put_at], __float_as_uint(sum_17), __float_as_uint(sum_18));
      store_two(&(b5 + (g * 516u + column + put_at))[8u], __float_as_uint(sum_21), __float_as_uint(sum_22));
      const auto row_61 = g + 8u;
      if (row_61 < 10u) {
        store_two(&b5[row_61 * 516u + column + put_at], __float_as_uint(sum_19), __float_as_uint(sum_20));
        store_two(&(b5 + (row_61 * 516u + column + put_at))[8u], __float_as_uint(sum_23), __float_as_uint(sum_24));
      }
      const auto pair_6 = own_warp * 4u + 1u;
      const auto column_2 = pair_6 * 16u + t * 2u;
      store_two(&b5[g * 516u + column_2 + put_at], __float_as_uint(sum_25), __float_as_uint(sum_26));
      store_two(&(b5 + (g * 516u + column_2 + put_at))[8u], __float_as_uint(sum_29), __float_as_uint(sum_30));
      const auto row_62 = g + 8u;
      if (row_62 < 10u) {
        store_two(&b5[row_62 * 516u + column_2 + put_at], __float_as_uint(sum_27), __float_as_uint(sum_28));
        store_two(&(b5 + (row_62 * 516u + column_2 + put_at))[8u], __float_as_uint(sum_31), __float_as_uint(sum_32));
      }
      const auto pair_7 = own_warp * 4u + 2u;
      const auto column_3 = pair_7 * 16u + t * 2u;
      store_two(&b5[g * 516u + column_3 + put_at], __float_as_uint(sum_33), __float_as_uint(sum_34));
      store_two(&(b5 + (g * 516u + column_3 + put_at))[8u], __float_as_uint(sum_37), __float_as_uint(sum_38));
      const auto row_63 = g + 8u;
      if (row_63 < 10u) {
        store_two(&b5[row_63 * 516u + column_3 + put_at], __float_as_uint(sum_35), __float_as_uint(sum_36));
        store_two(&(b5 + (row_63 * 516u + column_3 + put_at))[8u], __float_as_uint(sum_39), __float_as_uint(sum_40));
      }
      const auto pair_8 = own_warp * 4u + 3u;
      const auto column_4 = pair_8 * 16u + t * 2u;
      store_two(&b5[g * 516u + column_4 + put_at], __float_as_uint(sum_41), __float_as_uint(sum_42));
      store_two(&(b5 + (g * 516u + column_4 + put_at))[8u], __float_as_uint(sum_45), __float_as_uint(sum_46));
      const auto row_64 = g + 8u;
      if (row_64 < 10u) {
        store_two(&b5[row_64 * 516u + column_4 + put_at], __float_as_uint(sum_43), __float_as_uint(sum_44));
        store_two(&(b5 + (row_64 * 516u + column_4 + put_at))[8u], __float_as_uint(sum_47), __float_as_uint(sum_48));
      }
      if (lane < 10u) {
        const auto to_10 = lane * 516u + put_at + 512u;
        store_two(&b5[to_10], pool[lane + 28640u], pool[lane + 28624u]);
      }
      __syncthreads();
    }
  }
}

// attend_20x576: lanes 256; rows 10 width 512 reduce 4 upcast 1 chunk 64 spread matrix
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
  // part 0: attend [T, 20] × 512; rows 1 width 64 reduce 4 upcast 1 chunk 64 spread matrix; together
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
  const auto pages_at = b3[p3 + i_5];
  wait_for_previous();
  const auto chunks = (seen + 63u) / 64u;
  auto sum = 0.0f;
  auto sum_2 = 0.0f;
  auto carried = -2e38f;
  const auto put_at = ((rows_at / 10u) * ((sizes.words[3] * 32u + 63u) / 64u) * 10u + (rows_at % 10u)) * 516u + 256u;
  for (auto batch = 0u; batch < chunks; batch += 64u) {
    const auto column_2 = (lane % 16u) * 4u;
    const auto own_chunk = lane / 16u;
    const auto values = *(const uint4*)&b5[min(batch + own_chunk, chunks - 1u) * 5160u + put_at + first + column_2];
    const auto chunk = own_chunk + 16u;
    const auto values_2 = *(const uint4*)&b5[min(batch + chunk, chunks - 1u) * 5160u + put_at + first + column_2];
    const auto chunk_2 = own_chunk + 32u;
    const auto values_3 = *(const uint4*)&b5[min(batch + chunk_2, chunks - 1u) * 5160u + put_at + first + column_2];
    const auto chunk_3 = own_chunk + 48u;
    const auto values_4 = *(const uint4*)&b5[min(batch + chunk_3, chunks - 1u) * 5160u + put_at + first + column_2];
    auto weight = 0u;
    auto weight_2 = 0u;
    auto weight_3 = 0u;
    if (lane < 64u) {
      const auto chunk_4 = batch + lane;
      const auto put_down = min(chunk_4, chunks - 1u) * 5160u + put_at + 512u;
      const auto put_down_2 = __uint_as_float(b5[put_down]);
      const auto put_down_3 = __uint_as_float((b5 + (put_down))[1u]);
      const auto its_top = (chunk_4 < chunks ? put_down_3 : -2e38f);
      const auto chunk_5 = batch + (lane ^ 32u);
      const auto put_down_4 = min(chunk_5, chunks - 1u) * 5160u + put_at + 512u;
      const auto put_down_5 = __uint_as_float(b5[put_down_4]);
      const auto put_down_6 = __uint_as_float((b5 + (put_down_4))[1u]);
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
    const auto scale = (both_10 < 0x7f800000u ? __float_as_uint(largest * 0.007874016f) : 0x7fc00000u);
    const auto packed = ((unsigned int)(__float2int_rz(min(max(rintf(v * (largest > 3.74e-37f && both_10 < 0x7f800000u ? quotient(127.0f, largest) : 0.0f)), -127.0f), 127.0f))) & 255u) << ((lane % 4u) * 8u);
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

// head_dot_256x512_q4_0: lanes 256; rows 1 width 64 reduce 16 upcast 4
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

static __device__ __forceinline__ float quotient(float a, float b) {
  float inverse;
  asm("rcp.approx.f32 %0, %1;" : "=f"(inverse) : "f"(b));
  return a * inverse;
}

extern "C" __global__ void __launch_bounds__(256) weft_head_dot_256x512_q4_0(
  const Args args,
  const Sizes sizes,
  unsigned int* b0,
  const unsigned int* __restrict__ b1
) {
  __shared__ __align__(16) unsigned int pool[1200];
  const unsigned int lane = threadIdx.x;
  const unsigned int warp = 0xffffffffu;
  const auto p0 = args.words[0];
  const auto p1 = args.words[2];
  const auto p2 = args.words[4];
  const auto n0 = args.words[1];
  const auto n2 = args.words[5];
  const auto top_bits = blockIdx.z ^ 0x80808080u;
  launch_next();
  // part 0: dot [T, 20] × 256; rows 1 width 64 reduce 16 upcast 4
  const auto own_group = blockIdx.x;
  const auto rows_at = own_group % 20u;
  const auto first = (own_group / 20u) * 64u;
  const auto i = rows_at / 20u;
  const auto i_2 = (rows_at % 20u) % 20u;
  const auto share = lane / 16u;
  const auto first_own = (lane % 16u) * 4u;
  const auto own = first_own + 1u;
  const auto own_2 = first_own + 2u;
  const auto own_3 = first_own + 3u;
  const auto column = first + first_own;
  const auto column_2 = first + own;
  const auto column_3 = first + own_2;
  const auto column_4 = first + own_3;
  const auto tile = p1 + ((i_2 * 256u + column) / 16u) * 1152u;
  const auto lane_row = (i_2 * 256u + column) % 16u;
  const auto at = tile + lane_row + share * 64u;
  const auto w = load_early_4(&b1[at]);
  const auto w_2 = load_early_4(&(b1 + (at))[16u]);
  const auto w_3 = load_early_4(&(b1 + (at))[32u]);
  const auto w_4 = load_early_4(&(b1 + (at))[48u]);
  const auto word = load_early(&(b1 + (tile + share * 8u + (lane_row / 2u)))[1024u]);
  const auto word_2 = load_early(&(b1 + (tile + share * 8u + (lane_row / 2u)))[1025u]);
  const auto i_3 = rows_at / 20u;
  const auto i_4 = (rows_at % 20u) % 20u;
  const auto i_5 = rows_at / 20u;
  const auto i_6 = (rows_at % 20u) % 20u;
  const auto column_5 = first + lane;
  wait_for_previous();
  const auto x = i * 10240u + i_2 * 512u;
  const auto from_word = p0 + (x / 4u);
  const auto word_3 = min(lane, 31u);
  const auto x_2 = *(const uint4*)&b0[from_word + word_3 * 4u];
  if (lane < 32u) {
    pool[lane * 4u] = x_2.x;
    pool[lane * 4u + 1u] = x_2.y;
    pool[lane * 4u + 2u] = x_2.z;
    pool[lane * 4u + 3u] = x_2.w;
  }
  const auto from_word_2 = p0 + (n0 / 4u) + (x / 32u);
  if (lane < 16u) {
    pool[lane + 128u] = b0[from_word_2 + lane];
  }
  __syncthreads();
  // times q4_0[256, 512]
  auto sum = 0.0f;
  auto sum_2 = 0.0f;
  auto sum_3 = 0.0f;
  auto sum_4 = 0.0f;
  const auto xw = share * 8u;
  const auto xq = *(const uint4*)&pool[xw];
  const auto xq_2 = *(const uint4*)&pool[xw + 4u];
  const auto d = __uint_as_float(pool[share + 128u]) * 0.0625f;
  sum = fmaf((float)(__dp4a((int)((w_4.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w.x & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w.x << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))), half_to_float(word) * d, sum);
  sum_2 = fmaf((float)(__dp4a((int)((w_4.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w.y & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w.y << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))), half_to_float(word >> 16u) * d, sum_2);
  sum_3 = fmaf((float)(__dp4a((int)((w_4.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w.z & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w.z << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))), half_to_float(word_2) * d, sum_3);
  sum_4 = fmaf((float)(__dp4a((int)((w_4.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w.w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w.w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))), half_to_float(word_2 >> 16u) * d, sum_4);
  const auto to = share * 64u + first_own + 176u;
  store_four(&pool[to], __float_as_uint(sum), __float_as_uint(sum_2), __float_as_uint(sum_3), __float_as_uint(sum_4));
  __syncthreads();
  auto result = 0.0f;
  if (lane < 64u) {
    auto total = __uint_as_float(pool[lane + 176u]);
    for (auto l = 1u; l < 16u; l += 1u) {
      total = total + __uint_as_float(pool[lane + l * 64u + 176u]);
    }
    result = total;
  }
  if (lane < 64u) {
    const auto mine = __float_as_uint(result) & 0x7fffffffu;
    const auto other = __shfl_xor_sync(warp, mine, 1u);
    const auto both = max(mine, other);
    const auto other_2 = __shfl_xor_sync(warp, both, 2u);
    const auto both_2 = max(both, other_2);
    const auto other_3 = __shfl_xor_sync(warp, both_2, 4u);
    const auto both_3 = max(both_2, other_3);
    const auto other_4 = __shfl_xor_sync(warp, both_3, 8u);
    const auto both_4 = max(both_3, other_4);
    const auto other_5 = __shfl_xor_sync(warp, both_4, 16u);
    const auto both_5 = max(both_4, other_5);
    const auto largest = __uint_as_float(both_5);
    const auto scale = (both_5 < 0x7f800000u ? __float_as_uint(largest * 0.007874016f) : 0x7fc00000u);
    const auto packed = ((unsigned int)(__float2int_rz(min(max(rintf(result * (largest > 3.74e-37f && both_5 < 0x7f800000u ? quotient(127.0f, largest) : 0.0f)), -127.0f), 127.0f))) & 255u) << ((lane % 4u) * 8u);
    const auto other_6 = __shfl_xor_sync(warp, packed, 1u);
    const auto packed_2 = packed | other_6;
    const auto other_7 = __shfl_xor_sync(warp, packed_2, 2u);
    const auto packed_3 = packed_2 | other_7;
    const auto sum_5 = __dp4a((int)(packed_3), (int)(0x1010101u), 0);
    const auto other_8 = __shfl_xor_sync(warp, sum_5, 4u);
    const auto sum_6 = sum_5 + other_8;
    const auto other_9 = __shfl_xor_sync(warp, sum_6, 8u);
    const auto sum_7 = sum_6 + other_9;
    const auto at_2 = i_5 * 5120u + i_6 * 256u + column_5;
    if ((lane % 4u) == 0u) {
      b0[p2 + (at_2 / 4u)] = packed_3;
    }
    if ((lane % 32u) == 0u) {
      b0[p2 + (n2 / 4u) + (at_2 / 32u)] = scale;
    }
    if ((lane % 16u) == 0u) {
      b0[p2 + ((n2 / 4u) + (n2 / 32u)) + (at_2 / 16u)] = __float_as_uint((float)(sum_7) * __uint_as_float(scale));
    }
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

extern "C" __global__ void __launch_bounds__(512) weft_dot_2048x5120_q4_0(
  const Args args,
  const Sizes sizes,
  unsigned int* b0,
  const unsigned int* __restrict__ b1,
  const unsigned int* b2
) {
  __shared__ __align__(16) unsigned int pool[2272];
  const unsigned int lane = threadIdx.x;
  const auto p0 = args.words[0];
  const auto p1 = args.words[2];
  const auto p2 = args.words[4];
  const auto p3 = args.words[6];
  const auto n0 = args.words[1];
  const auto top_bits = blockIdx.z ^ 0x80808080u;
  launch_next();
  // part 0: dot [T] × 2048; rows 1 width 16 reduce 32 upcast 1
  const auto own_group = blockIdx.x;
  const auto first = own_group * 16u;
  const auto share = lane / 16u;
  const auto own = lane % 16u;
  const auto column = first + own;
  const auto tile = p1 + (column / 16u) * 11520u;
  const auto lane_row = column % 16u;
  const auto b = share * 5u;
  const auto at = tile + lane_row + b * 64u;
  const auto w = load_early(&b1[at]);
  const auto w_2 = load_early(&(b1 + (at))[16u]);
  const auto w_3 = load_early(&(b1 + (at))[32u]);
  const auto w_4 = load_early(&(b1 + (at))[48u]);
  const auto word = load_early(&(b1 + (tile + (b * 8u + (lane_row / 2u))))[10240u]);
  const auto at_2 = tile + lane_row + b * 64u;
  const auto w_5 = load_early(&(b1 + (at_2))[64u]);
  const auto w_6 = load_early(&(b1 + (at_2))[80u]);
  const auto w_7 = load_early(&(b1 + (at_2))[96u]);
  const auto w_8 = load_early(&(b1 + (at_2))[112u]);
  const auto word_2 = load_early(&(b1 + (tile + (b * 8u + (lane_row / 2u))))[10248u]);
  const auto at_3 = tile + lane_row + b * 64u;
  const auto w_9 = load_early(&(b1 + (at_3))[128u]);
  const auto w_10 = load_early(&(b1 + (at_3))[144u]);
  const auto w_11 = load_early(&(b1 + (at_3))[160u]);
  const auto w_12 = load_early(&(b1 + (at_3))[176u]);
  const auto word_3 = load_early(&(b1 + (tile + (b * 8u + (lane_row / 2u))))[10256u]);
  const auto at_4 = tile + lane_row + b * 64u;
  const auto w_13 = load_early(&(b1 + (at_4))[192u]);
  const auto w_14 = load_early(&(b1 + (at_4))[208u]);
  const auto w_15 = load_early(&(b1 + (at_4))[224u]);
  const auto w_16 = load_early(&(b1 + (at_4))[240u]);
  const auto word_4 = load_early(&(b1 + (tile + (b * 8u + (lane_row / 2u))))[10264u]);
  const auto at_5 = tile + lane_row + b * 64u;
  const auto w_17 = load_early(&(b1 + (at_5))[256u]);
  const auto w_18 = load_early(&(b1 + (at_5))[272u]);
  const auto w_19 = load_early(&(b1 + (at_5))[288u]);
  const auto w_20 = load_early(&(b1 + (at_5))[304u]);
  const auto word_5 = load_early(&(b1 + (tile + (b * 8u + (lane_row / 2u))))[10272u]);
  const auto item = min(lane, 15u);
  const auto column_2 = first + item;
  auto kept = 0.0f;
  if (lane < 32u) {
    const auto v = __uint_as_float(load_early(&b2[p2 + column_2]));
    kept = v;
  }
  wait_for_previous();
  const auto word_6 = min(lane, 319u);
  const auto x = *(const uint4*)&b0[p0 + word_6 * 4u];
  if (lane < 320u) {
    pool[lane * 4u] = x.x;
    pool[lane * 4u + 1u] = x.y;
    pool[lane * 4u + 2u] = x.z;
    pool[lane * 4u + 3u] = x.w;
  }
  const auto from_word = p0 + (n0 / 4u);
  if (lane < 160u) {
    pool[lane + 1280u] = b0[from_word + lane];
  }
  __syncthreads();
  // times q4_0[2048, 5120]
  auto sum = 0.0f;
  const auto xw = b * 8u;
  const auto xq = *(const uint4*)&pool[xw];
  const auto xq_2 = *(const uint4*)&pool[xw + 4u];
  const auto d = __uint_as_float(pool[b + 1280u]) * 0.0625f;
  sum = fmaf((float)(__dp4a((int)((w_4 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))), half_to_float(word >> ((lane_row % 2u) * 16u)) * d, sum);
  const auto xw_2 = b * 8u;
  const auto xq_3 = *(const uint4*)&pool[xw_2 + 8u];
  const auto xq_4 = *(const uint4*)&pool[xw_2 + 12u];
  const auto d_2 = __uint_as_float(pool[b + 1281u]) * 0.0625f;
  sum = fmaf((float)(__dp4a((int)((w_8 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.w), __dp4a((int)((w_7 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.z), __dp4a((int)((w_6 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.y), __dp4a((int)((w_5 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.x), __dp4a((int)(((w_8 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.w), __dp4a((int)(((w_7 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.z), __dp4a((int)(((w_6 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.y), __dp4a((int)(((w_5 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.x), 0))))))))), half_to_float(word_2 >> ((lane_row % 2u) * 16u)) * d_2, sum);
  const auto xw_3 = b * 8u;
  const auto xq_5 = *(const uint4*)&pool[xw_3 + 16u];
  const auto xq_6 = *(const uint4*)&pool[xw_3 + 20u];
  const auto d_3 = __uint_as_float(pool[b + 1282u]) * 0.0625f;
  sum = fmaf((float)(__dp4a((int)((w_12 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.w), __dp4a((int)((w_11 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.z), __dp4a((int)((w_10 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.y), __dp4a((int)((w_9 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.x), __dp4a((int)(((w_12 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.w), __dp4a((int)(((w_11 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.z), __dp4a((int)(((w_10 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.y), __dp4a((int)(((w_9 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.x), 0))))))))), half_to_float(word_3 >> ((lane_row % 2u) * 16u)) * d_3, sum);
  const auto xw_4 = b * 8u;
  const auto xq_7 = *(const uint4*)&pool[xw_4 + 24u];
  const auto xq_8 = *(const uint4*)&pool[xw_4 + 28u];
  const auto d_4 = __uint_as_float(pool[b + 1283u]) * 0.0625f;
  sum = fmaf((float)(__dp4a((int)((w_16 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.w), __dp4a((int)((w_15 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.z), __dp4a((int)((w_14 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.y), __dp4a((int)((w_13 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.x), __dp4a((int)(((w_16 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.w), __dp4a((int)(((w_15 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.z), __dp4a((int)(((w_14 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.y), __dp4a((int)(((w_13 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.x), 0))))))))), half_to_float(word_4 >> ((lane_row % 2u) * 16u)) * d_4, sum);
  const auto xw_5 = b * 8u;
  const auto xq_9 = *(const uint4*)&pool[xw_5 + 32u];
  const auto xq_10 = *(const uint4*)&pool[xw_5 + 36u];
  const auto d_5 = __uint_as_float(pool[b + 1284u]) * 0.0625f;
  sum = fmaf((float)(__dp4a((int)((w_20 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.w), __dp4a((int)((w_19 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.z), __dp4a((int)((w_18 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.y), __dp4a((int)((w_17 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.x), __dp4a((int)(((w_20 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.w), __dp4a((int)(((w_19 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.z), __dp4a((int)(((w_18 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.y), __dp4a((int)(((w_17 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.x), 0))))))))), half_to_float(word_5 >> ((lane_row % 2u) * 16u)) * d_5, sum);
  const auto to = share * 16u + own + 1760u;
  pool[to] = __float_as_uint(sum);
  __syncthreads();
  auto result = 0.0f;
  if (lane < 16u) {
    auto total = __uint_as_float(pool[lane + 1760u]);
    for (auto l = 1u; l < 32u; l += 1u) {
      total = total + __uint_as_float(pool[lane + l * 16u + 1760u]);
    }
    result = total;
  }
  if (lane < 32u) {
    const auto v_2 = kept + result;
    if (lane < 16u) {
      b0[p3 + column_2] = __float_as_uint(v_2);
    }
  }
}

// dot_1536x2048_q4_0&dot_1536x2048_q4_0+1: lanes 256; rows 1 width 4 reduce 64 upcast 1 spread; rows 1 width 32 reduce 16 upcast 2
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

static __device__ __forceinline__ void fetch(const unsigned int* from) {
  asm volatile("prefetch.global.L2 [%0];" :: "l"(from));
}

static __device__ __forceinline__ unsigned int count_arrival(unsigned int* arrived) {
  unsigned int before;
  asm volatile("atom.add.acq_rel.gpu.u32 %0, [%1], 1;" : "=r"(before) : "l"(arrived) : "memory");
  return before;
}

static __device__ __forceinline__ bool is_last(unsigned int* arrived, unsigned int count) {
  __shared__ unsigned int before;
  __syncthreads();
  if (threadIdx.x == 0u) {
    before = count_arrival(arrived);
    if (before == count - 1u) {
      *arrived = 0u;
    }
  }
  __syncthreads();
  return before == count - 1u;
}

static __device__ __forceinline__ float half_to_float(unsigned int bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)bits));
  return value;
}

static __device__ __forceinline__ float quotient(float a, float b) {
  float inverse;
  asm("rcp.approx.f32 %0, %1;" : "=f"(inverse) : "f"(b));
  return a * inverse;
}

extern "C" __global__ void __launch_bounds__(256) weft_dot_1536x2048_q4_0_dot_1536x2048_q4_0_1(
  const Args args,
  const Sizes sizes,
  unsigned int* b0,
  const unsigned int* __restrict__ b1,
  const unsigned int* __restrict__ b2,
  const unsigned int* __restrict__ b3,
  const unsigned int* __restrict__ b4,
  const unsigned int* __restrict__ b5,
  unsigned int* b6
) {
  __shared__ __align__(16) unsigned int pool[2196];
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
  const auto top_bits = blockIdx.z ^ 0x80808080u;
  // part 0: dot [T] × 64; rows 1 width 4 reduce 64 upcast 1 spread; gathered
  const auto own_group = blockIdx.x;
  const auto count = sizes.words[0] * 16u;
  if (own_group < count) {
    const auto first = own_group * 4u;
    const auto share = lane % 64u;
    const auto own = lane / 64u;
    const auto column = first + own;
    const auto row = column * 2048u;
    const auto four = load_early_4(&b2[p2 + (row + share * 4u)]);
    const auto four_2 = load_early_4(&(b2 + (p2 + (row + share * 4u)))[256u]);
    const auto four_3 = load_early_4(&(b2 + (p2 + (row + share * 4u)))[512u]);
    const auto four_4 = load_early_4(&(b2 + (p2 + (row + share * 4u)))[768u]);
    const auto four_5 = load_early_4(&(b2 + (p2 + (row + share * 4u)))[1024u]);
    const auto four_6 = load_early_4(&(b2 + (p2 + (row + share * 4u)))[1280u]);
    const auto four_7 = load_early_4(&(b2 + (p2 + (row + share * 4u)))[1536u]);
    const auto four_8 = load_early_4(&(b2 + (p2 + (row + share * 4u)))[1792u]);
    const auto at = min(lane, 63u);
    const auto v = __uint_as_float(load_early(&b3[p3 + at]));
    if (lane < 2u) {
      fetch(&b3[p3 + lane * 32u]);
    }
    const auto word = lane + 256u;
    const auto x = load_early_4(&b1[p1 + lane * 4u]);
    const auto x_2 = load_early_4(&b1[p1 + word * 4u]);
    wait_for_previous();
    launch_next();
    // what is multiplied
    const auto x_3 = *(const uint4*)&b0[p0 + lane * 4u];
    const auto x_4 = *(const uint4*)&b0[p0 + word * 4u];
    auto total = 0.0f;
    const auto v_2 = __uint_as_float(x_3.x) * __uint_as_float(x_3.x);
    total = total + v_2;
    const auto v_3 = __uint_as_float(x_3.y) * __uint_as_float(x_3.y);
    total = total + v_3;
    const auto v_4 = __uint_as_float(x_3.z) * __uint_as_float(x_3.z);
    total = total + v_4;
    const auto v_5 = __uint_as_float(x_3.w) * __uint_as_float(x_3.w);
    total = total + v_5;
    const auto v_6 = __uint_as_float(x_4.x) * __uint_as_float(x_4.x);
    total = total + v_6;
    const auto v_7 = __uint_as_float(x_4.y) * __uint_as_float(x_4.y);
    total = total + v_7;
    const auto v_8 = __uint_as_float(x_4.z) * __uint_as_float(x_4.z);
    total = total + v_8;
    const auto v_9 = __uint_as_float(x_4.w) * __uint_as_float(x_4.w);
    total = total + v_9;
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
      pool[(lane / 32u) + 2048u] = __float_as_uint(both_5);
    }
    __syncthreads();
    auto total_2 = __uint_as_float(pool[2048u]);
    for (auto l = 1u; l < 8u; l += 1u) {
      total_2 = total_2 + __uint_as_float(pool[l + 2048u]);
    }
    const auto v_10 = total_2 / 2048.0f;
    const auto v_11 = v_10 + 1e-5f;
    const auto v_12 = rsqrtf(v_11);
    const auto v_13 = __uint_as_float(x_3.x) * v_12;
    const auto v_14 = v_13 * __uint_as_float(x.x);
    const auto v_15 = __uint_as_float(x_3.y) * v_12;
    const auto v_16 = v_15 * __uint_as_float(x.y);
    const auto v_17 = __uint_as_float(x_3.z) * v_12;
    const auto v_18 = v_17 * __uint_as_float(x.z);
    const auto v_19 = __uint_as_float(x_3.w) * v_12;
    const auto v_20 = v_19 * __uint_as_float(x.w);
    const auto v_21 = __uint_as_float(x_4.x) * v_12;
    const auto v_22 = v_21 * __uint_as_float(x_2.x);
    const auto v_23 = __uint_as_float(x_4.y) * v_12;
    const auto v_24 = v_23 * __uint_as_float(x_2.y);
    const auto v_25 = __uint_as_float(x_4.z) * v_12;
    const auto v_26 = v_25 * __uint_as_float(x_2.z);
    const auto v_27 = __uint_as_float(x_4.w) * v_12;
    const auto v_28 = v_27 * __uint_as_float(x_2.w);
    pool[lane * 4u] = __float_as_uint(v_14);
    pool[lane * 4u + 1u] = __float_as_uint(v_16);
    pool[lane * 4u + 2u] = __float_as_uint(v_18);
    pool[lane * 4u + 3u] = __float_as_uint(v_20);
    pool[word * 4u] = __float_as_uint(v_22);
    pool[word * 4u + 1u] = __float_as_uint(v_24);
    pool[word * 4u + 2u] = __float_as_uint(v_26);
    pool[word * 4u + 3u] = __float_as_uint(v_28);
    __syncthreads();
    // times f32[64, 2048]
    auto sum = 0.0f;
    const auto xv = *(const uint4*)&pool[share * 4u];
    sum = fmaf(__uint_as_float(four.x), __uint_as_float(xv.x), sum);
    sum = fmaf(__uint_as_float(four.y), __uint_as_float(xv.y), sum);
    sum = fmaf(__uint_as_float(four.z), __uint_as_float(xv.z), sum);
    sum = fmaf(__uint_as_float(four.w), __uint_as_float(xv.w), sum);
    const auto xv_2 = *(const uint4*)&pool[share * 4u + 256u];
    sum = fmaf(__uint_as_float(four_2.x), __uint_as_float(xv_2.x), sum);
    sum = fmaf(__uint_as_float(four_2.y), __uint_as_float(xv_2.y), sum);
    sum = fmaf(__uint_as_float(four_2.z), __uint_as_float(xv_2.z), sum);
    sum = fmaf(__uint_as_float(four_2.w), __uint_as_float(xv_2.w), sum);
    const auto xv_3 = *(const uint4*)&pool[share * 4u + 512u];
    sum = fmaf(__uint_as_float(four_3.x), __uint_as_float(xv_3.x), sum);
    sum = fmaf(__uint_as_float(four_3.y), __uint_as_float(xv_3.y), sum);
    sum = fmaf(__uint_as_float(four_3.z), __uint_as_float(xv_3.z), sum);
    sum = fmaf(__uint_as_float(four_3.w), __uint_as_float(xv_3.w), sum);
    const auto xv_4 = *(const uint4*)&pool[share * 4u + 768u];
    sum = fmaf(__uint_as_float(four_4.x), __uint_as_float(xv_4.x), sum);
    sum = fmaf(__uint_as_float(four_4.y), __uint_as_float(xv_4.y), sum);
    sum = fmaf(__uint_as_float(four_4.z), __uint_as_float(xv_4.z), sum);
    sum = fmaf(__uint_as_float(four_4.w), __uint_as_float(xv_4.w), sum);
    const auto xv_5 = *(const uint4*)&pool[share * 4u + 1024u];
    sum = fmaf(__uint_as_float(four_5.x), __uint_as_float(xv_5.x), sum);
    sum = fmaf(__uint_as_float(four_5.y), __uint_as_float(xv_5.y), sum);
    sum = fmaf(__uint_as_float(four_5.z), __uint_as_float(xv_5.z), sum);
    sum = fmaf(__uint_as_float(four_5.w), __uint_as_float(xv_5.w), sum);
    const auto xv_6 = *(const uint4*)&pool[share * 4u + 1280u];
    sum = fmaf(__uint_as_float(four_6.x), __uint_as_float(xv_6.x), sum);
    sum = fmaf(__uint_as_float(four_6.y), __uint_as_float(xv_6.y), sum);
    sum = fmaf(__uint_as_float(four_6.z), __uint_as_float(xv_6.z), sum);
    sum = fmaf(__uint_as_float(four_6.w), __uint_as_float(xv_6.w), sum);
    const auto xv_7 = *(const uint4*)&pool[share * 4u + 1536u];
    sum = fmaf(__uint_as_float(four_7.x), __uint_as_float(xv_7.x), sum);
    sum = fmaf(__uint_as_float(four_7.y), __uint_as_float(xv_7.y), sum);
    sum = fmaf(__uint_as_float(four_7.z), __uint_as_float(xv_7.z), sum);
    sum = fmaf(__uint_as_float(four_7.w), __uint_as_float(xv_7.w), sum);
    const auto xv_8 = *(const uint4*)&pool[share * 4u + 1792u];
    sum = fmaf(__uint_as_float(four_8.x), __uint_as_float(xv_8.x), sum);
    sum = fmaf(__uint_as_float(four_8.y), __uint_as_float(xv_8.y), sum);
    sum = fmaf(__uint_as_float(four_8.z), __uint_as_float(xv_8.z), sum);
    sum = fmaf(__uint_as_float(four_8.w), __uint_as_float(xv_8.w), sum);
    const auto other_6 = __shfl_xor_sync(warp, sum, 1u);
    const auto both_6 = sum + other_6;
    const auto other_7 = __shfl_xor_sync(warp, both_6, 2u);
    const auto both_7 = both_6 + other_7;
    const auto other_8 = __shfl_xor_sync(warp, both_7, 4u);
    const auto both_8 = both_7 + other_8;
    const auto other_9 = __shfl_xor_sync(warp, both_8, 8u);
    const auto both_9 = both_8 + other_9;
    const auto other_10 = __shfl_xor_sync(warp, both_9, 16u);
    const auto both_10 = both_9 + other_10;
    const auto to = (share / 32u) * 4u + own + 2056u;
    if ((share % 32u) == 0u) {
      pool[to] = __float_as_uint(both_10);
    }
    __syncthreads();
    auto result = 0.0f;
    if (lane < 4u) {
      auto total_3 = __uint_as_float(pool[lane + 2056u]);
      for (auto l_2 = 1u; l_2 < 2u; l_2 += 1u) {
        total_3 = total_3 + __uint_as_float(pool[lane + l_2 * 4u + 2056u]);
      }
      result = total_3;
    }
    if (lane < 4u) {
      const auto own_2 = lane % 4u;
      const auto column_2 = first + own_2;
      b6[(lane / 4u) * 64u + column_2 + 256u] = __float_as_uint(result);
    }
    const auto last = is_last(&b6[0u], 16u);
    if (last) {
      const auto column_3 = min(lane, 63u);
      const auto gathered = __uint_as_float((b6 + (column_3))[256u]);
      const auto v_29 = quotient(1.0f, expf(min(-(gathered), 80.0f)) + 1.0f);
      const auto v_30 = v_29 + v;
      const auto bits = __float_as_uint(v_30);
      const auto bits_2 = ((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits);
      if (lane < 64u) {
        pool[lane + 2064u] = (bits_2 > 0x7fffffffu ? bits_2 ^ 0xffffffffu : bits_2 | 0x80000000u);
      }
      if (lane < 64u) {
        pool[lane + 2128u] = __float_as_uint(v_29);
      }
      __syncthreads();
      for (auto c = lane; c < 64u; c += 256u) {
        const auto own_3 = pool[c + 2064u];
        auto place = 0u;
        for (auto other_11 = 0u; other_11 < 64u; other_11 += 4u) {
          const auto key = *(const uint4*)&pool[other_11 + 2064u];
          place = ((key.x > own_3) || (key.x == own_3 && other_11 < c) ? place + 1u : place);
          place = ((key.y > own_3) || (key.y == own_3 && other_11 + 1u < c) ? place + 1u : place);
          place = ((key.z > own_3) || (key.z == own_3 && other_11 + 2u < c) ? place + 1u : place);
          place = ((key.w > own_3) || (key.w == own_3 && other_11 + 3u < c) ? place + 1u : place);
        }
        if (place < 4u) {
          pool[place + 2192u] = __float_as_uint((float)(c));
        }
      }
      __syncthreads();
      const auto id = __uint_as_float(pool[2192u]);
      const auto id_2 = __uint_as_float(pool[2193u]);
      const auto id_3 = __uint_as_float(pool[2194u]);
      const auto id_4 = __uint_as_float(pool[2195u]);
      const auto v_31 = __uint_as_float(pool[min(__float2uint_rz(id), 63u) + 2128u]);
      const auto v_32 = __uint_as_float(pool[min(__float2uint_rz(id_2), 63u) + 2128u]);
      const auto v_33 = __uint_as_float(pool[min(__float2uint_rz(id_3), 63u) + 2128u]);
      const auto v_34 = __uint_as_float(pool[min(__float2uint_rz(id_4), 63u) + 2128u]);
      const auto both_11 = 0.0f + v_31;
      const auto both_12 = both_11 + v_32;
      const auto both_13 = both_12 + v_33;
      const auto both_14 = both_13 + v_34;
      const auto v_35 = max(both_14, 6.1035156e-5f);
      const auto v_36 = quotient(v_31, v_35);
      const auto v_37 = quotient(v_32, v_35);
      const auto v_38 = quotient(v_33, v_35);
      const auto v_39 = quotient(v_34, v_35);
      const auto v_40 = v_36 * 1.8f;
      const auto v_41 = v_37 * 1.8f;
      const auto v_42 = v_38 * 1.8f;
      const auto v_43 = v_39 * 1.8f;
      if (lane == 0u) {
        b0[p4] = (unsigned int)(__float2int_rz(id));
        b0[p4 + 1u] = (unsigned int)(__float2int_rz(id_2));
        b0[p4 + 2u] = (unsigned int)(__float2int_rz(id_3));
        b0[p4 + 3u] = (unsigned int)(__float2int_rz(id_4));
      }
      if (lane == 0u) {
        b0[p5] = __float_as_uint(v_40);
        b0[p5 + 1u] = __float_as_uint(v_41);
        b0[p5 + 2u] = __float_as_uint(v_42);
        b0[p5 + 3u] = __float_as_uint(v_43);
      }
    }
  }
  // part 1: dot [T] × 1536; rows 1 width 32 reduce 16 upcast 2
  const auto own_group_2 = blockIdx.x - count;
  const auto count_2 = sizes.words[0] * 48u;
  if (own_group_2 < count_2) {
    const auto first_2 = own_group_2 * 32u;
    const auto share_2 = lane / 16u;
    const auto own_4 = lane % 16u;
    const auto own_5 = (lane % 16u) + 16u;
    const auto column_4 = first_2 + own_4;
    const auto column_5 = first_2 + own_5;
    const auto tile = p6 + (column_4 / 16u) * 4608u;
    const auto lane_row = column_4 % 16u;
    const auto tile_2 = p6 + (column_5 / 16u) * 4608u;
    const auto lane_row_2 = column_5 % 16u;
    const auto b = share_2 * 4u;
    const auto at_2 = tile + lane_row + b * 64u;
    const auto w = load_early(&b4[at_2]);
    const auto w_2 = load_early(&(b4 + (at_2))[16u]);
    const auto w_3 = load_early(&(b4 + (at_2))[32u]);
    const auto w_4 = load_early(&(b4 + (at_2))[48u]);
    const auto word_2 = load_early(&(b4 + (tile + (b * 8u + (lane_row / 2u))))[4096u]);
    const auto at_3 = tile_2 + lane_row_2 + b * 64u;
    const auto w_5 = load_early(&b4[at_3]);
    const auto w_6 = load_early(&(b4 + (at_3))[16u]);
    const auto w_7 = load_early(&(b4 + (at_3))[32u]);
    const auto w_8 = load_early(&(b4 + (at_3))[48u]);
    const auto word_3 = load_early(&(b4 + (tile_2 + (b * 8u + (lane_row_2 / 2u))))[4096u]);
    const auto at_4 = tile + lane_row + b * 64u;
    const auto w_9 = load_early(&(b4 + (at_4))[64u]);
    const auto w_10 = load_early(&(b4 + (at_4))[80u]);
    const auto w_11 = load_early(&(b4 + (at_4))[96u]);
    const auto w_12 = load_early(&(b4 + (at_4))[112u]);
    const auto word_4 = load_early(&(b4 + (tile + (b * 8u + (lane_row / 2u))))[4104u]);
    const auto at_5 = tile_2 + lane_row_2 + b * 64u;
    const auto w_13 = load_early(&(b4 + (at_5))[64u]);
    const auto w_14 = load_early(&(b4 + (at_5))[80u]);
    const auto w_15 = load_early(&(b4 + (at_5))[96u]);
    const auto w_16 = load_early(&(b4 + (at_5))[112u]);
    const auto word_5 = load_early(&(b4 + (tile_2 + (b * 8u + (lane_row_2 / 2u))))[4104u]);
    const auto at_6 = tile + lane_row + b * 64u;
    const auto w_17 = load_early(&(b4 + (at_6))[128u]);
    const auto w_18 = load_early(&(b4 + (at_6))[144u]);
    const auto w_19 = load_early(&(b4 + (at_6))[160u]);
    const auto w_20 = load_early(&(b4 + (at_6))[176u]);
    const auto word_6 = load_early(&(b4 + (tile + (b * 8u + (lane_row / 2u))))[4112u]);
    const auto at_7 = tile_2 + lane_row_2 + b * 64u;
    const auto w_21 = load_early(&(b4 + (at_7))[128u]);
    const auto w_22 = load_early(&(b4 + (at_7))[144u]);
    const auto w_23 = load_early(&(b4 + (at_7))[160u]);
    const auto w_24 = load_early(&(b4 + (at_7))[176u]);
    const auto word_7 = load_early(&(b4 + (tile_2 + (b * 8u + (lane_row_2 / 2u))))[4112u]);
    const auto at_8 = tile + lane_row + b * 64u;
    const auto w_25 = load_early(&(b4 + (at_8))[192u]);
    const auto w_26 = load_early(&(b4 + (at_8))[208u]);
    const auto w_27 = load_early(&(b4 + (at_8))[224u]);
    const auto w_28 = load_early(&(b4 + (at_8))[240u]);
    const auto word_8 = load_early(&(b4 + (tile + (b * 8u + (lane_row / 2u))))[4120u]);
    const auto at_9 = tile_2 + lane_row_2 + b * 64u;
    const auto w_29 = load_early(&(b4 + (at_9))[192u]);
    const auto w_30 = load_early(&(b4 + (at_9))[208u]);
    const auto w_31 = load_early(&(b4 + (at_9))[224u]);
    const auto w_32 = load_early(&(b4 + (at_9))[240u]);
    const auto word_9 = load_early(&(b4 + (tile_2 + (b * 8u + (lane_row_2 / 2u))))[4120u]);
    const auto share_3 = lane / 16u;
    const auto own_6 = lane % 16u;
    const auto own_7 = (lane % 16u) + 16u;
    const auto column_6 = first_2 + own_6;
    const auto column_7 = first_2 + own_7;
    const auto tile_3 = p7 + (column_6 / 16u) * 4608u;
    const auto lane_row_3 = column_6 % 16u;
    const auto tile_4 = p7 + (column_7 / 16u) * 4608u;
    const auto lane_row_4 = column_7 % 16u;
    const auto b_2 = share_3 * 4u;
    const auto at_10 = tile_3 + lane_row_3 + b_2 * 64u;
    const auto w_33 = load_early(&b5[at_10]);
    const auto w_34 = load_early(&(b5 + (at_10))[16u]);
    const auto w_35 = load_early(&(b5 + (at_10))[32u]);
    const auto w_36 = load_early(&(b5 + (at_10))[48u]);
    const auto word_10 = load_early(&(b5 + (tile_3 + (b_2 * 8u + (lane_row_3 / 2u))))[4096u]);
    const auto at_11 = tile_4 + lane_row_4 + b_2 * 64u;
    const auto w_37 = load_early(&b5[at_11]);
    const auto w_38 = load_early(&(b5 + (at_11))[16u]);
    const auto w_39 = load_early(&(b5 + (at_11))[32u]);
    const auto w_40 = load_early(&(b5 + (at_11))[48u]);
    const auto word_11 = load_early(&(b5 + (tile_4 + (b_2 * 8u + (lane_row_4 / 2u))))[4096u]);
    const auto at_12 = tile_3 + lane_row_3 + b_2 * 64u;
    const auto w_41 = load_early(&(b5 + (at_12))[64u]);
    const auto w_42 = load_early(&(b5 + (at_12))[80u]);
    const auto w_43 = load_early(&(b5 + (at_12))[96u]);
    const auto w_44 = load_early(&(b5 + (at_12))[112u]);
    const auto word_12 = load_early(&(b5 + (tile_3 + (b_2 * 8u + (lane_row_3 / 2u))))[4104u]);
    const auto at_13 = tile_4 + lane_row_4 + b_2 * 64u;
    const auto w_45 = load_early(&(b5 + (at_13))[64u]);
    const auto w_46 = load_early(&(b5 + (at_13))[80u]);
    const auto w_47 = load_early(&(b5 + (at_13))[96u]);
    const auto w_48 = load_early(&(b5 + (at_13))[112u]);
    const auto word_13 = load_early(&(b5 + (tile_4 + (b_2 * 8u + (lane_row_4 / 2u))))[4104u]);
    const auto at_14 = tile_3 + lane_row_3 + b_2 * 64u;
    const auto w_49 = load_early(&(b5 + (at_14))[128u]);
    const auto w_50 = load_early(&(b5 + (at_14))[144u]);
    const auto w_51 = load_early(&(b5 + (at_14))[160u]);
    const auto w_52 = load_early(&(b5 + (at_14))[176u]);
    const auto word_14 = load_early(&(b5 + (tile_3 + (b_2 * 8u + (lane_row_3 / 2u))))[4112u]);
    const auto at_15 = tile_4 + lane_row_4 + b_2 * 64u;
    const auto w_53 = load_early(&(b5 + (at_15))[128u]);
    const auto w_54 = load_early(&(b5 + (at_15))[144u]);
    const auto w_55 = load_early(&(b5 + (at_15))[160u]);
    const auto w_56 = load_early(&(b5 + (at_15))[176u]);
    const auto word_15 = load_early(&(b5 + (tile_4 + (b_2 * 8u + (lane_row_4 / 2u))))[4112u]);
    const auto at_16 = tile_3 + lane_row_3 + b_2 * 64u;
    const auto w_57 = load_early(&(b5 + (at_16))[192u]);
    const auto w_58 = load_early(&(b5 + (at_16))[208u]);
    const auto w_59 = load_early(&(b5 + (at_16))[224u]);
    const auto w_60 = load_early(&(b5 + (at_16))[240u]);
    const auto word_16 = load_early(&(b5 + (tile_3 + (b_2 * 8u + (lane_row_3 / 2u))))[4120u]);
    const auto at_17 = tile_4 + lane_row_4 + b_2 * 64u;
    const auto w_61 = load_early(&(b5 + (at_17))[192u]);
    const auto w_62 = load_early(&(b5 + (at_17))[208u]);
    const auto w_63 = load_early(&(b5 + (at_17))[224u]);
    const auto w_64 = load_early(&(b5 + (at_17))[240u]);
    const auto word_17 = load_early(&(b5 + (tile_4 + (b_2 * 8u + (lane_row_4 / 2u))))[4120u]);
    const auto column_8 = first_2 + lane;
    const auto word_18 = lane + 256u;
    const auto x_5 = load_early_4(&b1[p1 + lane * 4u]);
    const auto x_6 = load_early_4(&b1[p1 + word_18 * 4u]);
    wait_for_previous();
    launch_next();
    // what is multiplied
    const auto x_7 = *(const uint4*)&b0[p0 + lane * 4u];
    const auto x_8 = *(const uint4*)&b0[p0 + word_18 * 4u];
    auto total_4 = 0.0f;
    const auto v_44 = __uint_as_float(x_7.x) * __uint_as_float(x_7.x);
    total_4 = total_4 + v_44;
    const auto v_45 = __uint_as_float(x_7.y) * __uint_as_float(x_7.y);
    total_4 = total_4 + v_45;
    const auto v_46 = __uint_as_float(x_7.z) * __uint_as_float(x_7.z);
    total_4 = total_4 + v_46;
    const auto v_47 = __uint_as_float(x_7.w) * __uint_as_float(x_7.w);
    total_4 = total_4 + v_47;
    const auto v_48 = __uint_as_float(x_8.x) * __uint_as_float(x_8.x);
    total_4 = total_4 + v_48;
    const auto v_49 = __uint_as_float(x_8.y) * __uint_as_float(x_8.y);
    total_4 = total_4 + v_49;
    const auto v_50 = __uint_as_float(x_8.z) * __uint_as_float(x_8.z);
    total_4 = total_4 + v_50;
    const auto v_51 = __uint_as_float(x_8.w) * __uint_as_float(x_8.w);
    total_4 = total_4 + v_51;
    const auto other_12 = __shfl_xor_sync(warp, total_4, 1u);
    const auto both_15 = total_4 + other_12;
    const auto other_13 = __shfl_xor_sync(warp, both_15, 2u);
    const auto both_16 = both_15 + other_13;
    const auto other_14 = __shfl_xor_sync(warp, both_16, 4u);
    const auto both_17 = both_16 + other_14;
    const auto other_15 = __shfl_xor_sync(warp, both_17, 8u);
    const auto both_18 = both_17 + other_15;
    const auto other_16 = __shfl_xor_sync(warp, both_18, 16u);
    const auto both_19 = both_18 + other_16;
    if ((lane % 32u) == 0u) {
      pool[(lane / 32u) + 704u] = __float_as_uint(both_19);
    }
    __syncthreads();
    auto total_5 = __uint_as_float(pool[704u]);
    for (auto l_3 = 1u; l_3 < 8u; l_3 += 1u) {
      total_5 = total_5 + __uint_as_float(pool[l_3 + 704u]);
    }
    const auto v_52 = total_5 / 2048.0f;
    const auto v_53 = v_52 + 1e-5f;
    const auto v_54 = rsqrtf(v_53);
    const auto v_55 = __uint_as_float(x_7.x) * v_54;
    const auto v_56 = v_55 * __uint_as_float(x_5.x);
    const auto v_57 = __uint_as_float(x_7.y) * v_54;
    const auto v_58 = v_57 * __uint_as_float(x_5.y);
    const auto v_59 = __uint_as_float(x_7.z) * v_54;
    const auto v_60 = v_59 * __uint_as_float(x_5.z);
    const auto v_61 = __uint_as_float(x_7.w) * v_54;
    const auto v_62 = v_61 * __uint_as_float(x_5.w);
    const auto v_63 = __uint_as_float(x_8.x) * v_54;
    const auto v_64 = v_63 * __uint_as_float(x_6.x);
    const auto v_65 = __uint_as_float(x_8.y) * v_54;
    const auto v_66 = v_65 * __uint_as_float(x_6.y);
    const auto v_67 = __uint_as_float(x_8.z) * v_54;
    const auto v_68 = v_67 * __uint_as_float(x_6.z);
    const auto v_69 = __uint_as_float(x_8.w) * v_54;
    const auto v_70 = v_69 * __uint_as_float(x_6.w);
    const auto mine = max(max(max(__float_as_uint(v_56) & 0x7fffffffu, __float_as_uint(v_58) & 0x7fffffffu), __float_as_uint(v_60) & 0x7fffffffu), __float_as_uint(v_62) & 0x7fffffffu);
    const auto other_17 = __shfl_xor_sync(warp, mine, 1u);
    const auto both_20 = max(mine, other_17);
    const auto other_18 = __shfl_xor_sync(warp, both_20, 2u);
    const auto both_21 = max(both_20, other_18);
    const auto other_19 = __shfl_xor_sync(warp, both_21, 4u);
    const auto both_22 = max(both_21, other_19);
    const auto largest = __uint_as_float(both_22);
    const auto scale = (both_22 < 0x7f800000u ? __float_as_uint(largest * 0.007874016f) : 0x7fc00000u);
    const auto inverse = (largest > 3.74e-37f && both_22 < 0x7f800000u ? quotient(127.0f, largest) : 0.0f);
    const auto packed = ((unsigned int)(__float2int_rz(min(max(rintf(v_56 * inverse), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_58 * inverse), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_60 * inverse), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_62 * inverse), -127.0f), 127.0f))) & 255u) << 24u);
    pool[lane] = packed;
    if ((lane % 8u) == 0u) {
      pool[(lane / 8u) + 512u] = scale;
    }
    const auto mine_2 = max(max(max(__float_as_uint(v_64) & 0x7fffffffu, __float_as_uint(v_66) & 0x7fffffffu), __float_as_uint(v_68) & 0x7fffffffu), __float_as_uint(v_70) & 0x7fffffffu);
    const auto other_20 = __shfl_xor_sync(warp, mine_2, 1u);
    const auto both_23 = max(mine_2, other_20);
    const auto other_21 = __shfl_xor_sync(warp, both_23, 2u);
    const auto both_24 = max(both_23, other_21);
    const auto other_22 = __shfl_xor_sync(warp, both_24, 4u);
    const auto both_25 = max(both_24, other_22);
    const auto largest_2 = __uint_as_float(both_25);
    const auto scale_2 = (both_25 < 0x7f800000u ? __float_as_uint(largest_2 * 0.007874016f) : 0x7fc00000u);
    const auto inverse_2 = (largest_2 > 3.74e-37f && both_25 < 0x7f800000u ? quotient(127.0f, largest_2) : 0.0f);
    const auto packed_2 = ((unsigned int)(__float2int_rz(min(max(rintf(v_64 * inverse_2), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_66 * inverse_2), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_68 * inverse_2), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_70 * inverse_2), -127.0f), 127.0f))) & 255u) << 24u);
    pool[word_18] = packed_2;
    if ((word_18 % 8u) == 0u) {
      pool[(word_18 / 8u) + 512u] = scale_2;
    }
    __syncthreads();
    // times q4_0[1536, 2048]
    auto sum_2 = 0.0f;
    auto sum_3 = 0.0f;
    const auto xw = b * 8u;
    const auto xq = *(const uint4*)&pool[xw];
    const auto xq_2 = *(const uint4*)&pool[xw + 4u];
    const auto d = __uint_as_float(pool[b + 512u]) * 0.0625f;
    sum_2 = fmaf((float)(__dp4a((int)((w_4 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))), half_to_float(word_2 >> ((lane_row % 2u) * 16u)) * d, sum_2);
    sum_3 = fmaf((float)(__dp4a((int)((w_8 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_7 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_6 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w_5 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_8 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_7 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_6 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w_5 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))), half_to_float(word_3 >> ((lane_row_2 % 2u) * 16u)) * d, sum_3);
    const auto xw_2 = b * 8u;
    const auto xq_3 = *(const uint4*)&pool[xw_2 + 8u];
    const auto xq_4 = *(const uint4*)&pool[xw_2 + 12u];
    const auto d_2 = __uint_as_float(pool[b + 513u]) * 0.0625f;
    sum_2 = fmaf((float)(__dp4a((int)((w_12 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.w), __dp4a((int)((w_11 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.z), __dp4a((int)((w_10 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.y), __dp4a((int)((w_9 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.x), __dp4a((int)(((w_12 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.w), __dp4a((int)(((w_11 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.z), __dp4a((int)(((w_10 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.y), __dp4a((int)(((w_9 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.x), 0))))))))), half_to_float(word_4 >> ((lane_row % 2u) * 16u)) * d_2, sum_2);
    sum_3 = fmaf((float)(__dp4a((int)((w_16 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.w), __dp4a((int)((w_15 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.z), __dp4a((int)((w_14 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.y), __dp4a((int)((w_13 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.x), __dp4a((int)(((w_16 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.w), __dp4a((int)(((w_15 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.z), __dp4a((int)(((w_14 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.y), __dp4a((int)(((w_13 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.x), 0))))))))), half_to_float(word_5 >> ((lane_row_2 % 2u) * 16u)) * d_2, sum_3);
    const auto xw_3 = b * 8u;
    const auto xq_5 = *(const uint4*)&pool[xw_3 + 16u];
    const auto xq_6 = *(const uint4*)&pool[xw_3 + 20u];
    const auto d_3 = __uint_as_float(pool[b + 514u]) * 0.0625f;
    sum_2 = fmaf((float)(__dp4a((int)((w_20 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.w), __dp4a((int)((w_19 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.z), __dp4a((int)((w_18 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.y), __dp4a((int)((w_17 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.x), __dp4a((int)(((w_20 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.w), __dp4a((int)(((w_19 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.z), __dp4a((int)(((w_18 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.y), __dp4a((int)(((w_17 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.x), 0))))))))), half_to_float(word_6 >> ((lane_row % 2u) * 16u)) * d_3, sum_2);
    sum_3 = fmaf((float)(__dp4a((int)((w_24 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.w), __dp4a((int)((w_23 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.z), __dp4a((int)((w_22 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.y), __dp4a((int)((w_21 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.x), __dp4a((int)(((w_24 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.w), __dp4a((int)(((w_23 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.z), __dp4a((int)(((w_22 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.y), __dp4a((int)(((w_21 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.x), 0))))))))), half_to_float(word_7 >> ((lane_row_2 % 2u) * 16u)) * d_3, sum_3);
    const auto xw_4 = b * 8u;
    const auto xq_7 = *(const uint4*)&pool[xw_4 + 24u];
    const auto xq_8 = *(const uint4*)&pool[xw_4 + 28u];
    const auto d_4 = __uint_as_float(pool[b + 515u]) * 0.0625f;
    sum_2 = fmaf((float)(__dp4a((int)((w_28 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.w), __dp4a((int)((w_27 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.z), __dp4a((int)((w_26 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.y), __dp4a((int)((w_25 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.x), __dp4a((int)(((w_28 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.w), __dp4a((int)(((w_27 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.z), __dp4a((int)(((w_26 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.y), __dp4a((int)(((w_25 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.x), 0))))))))), half_to_float(word_8 >> ((lane_row % 2u) * 16u)) * d_4, sum_2);
    sum_3 = fmaf((float)(__dp4a((int)((w_32 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.w), __dp4a((int)((w_31 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.z), __dp4a((int)((w_30 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.y), __dp4a((int)((w_29 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.x), __dp4a((int)(((w_32 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.w), __dp4a((int)(((w_31 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.z), __dp4a((int)(((w_30 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.y), __dp4a((int)(((w_29 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.x), 0))))))))), half_to_float(word_9 >> ((lane_row_2 % 2u) * 16u)) * d_4, sum_3);
    const auto to_2 = share_2 * 32u + own_4 + 712u;
    pool[to_2] = __float_as_uint(sum_2);
    const auto to_3 = share_2 * 32u + own_5 + 712u;
    pool[to_3] = __float_as_uint(sum_3);
    // times q4_0[1536, 2048]
    auto sum_4 = 0.0f;
    auto sum_5 = 0.0f;
    const auto xw_5 = b_2 * 8u;
    const auto xq_9 = *(const uint4*)&pool[xw_5];
    const auto xq_10 = *(const uint4*)&pool[xw_5 + 4u];
    const auto d_5 = __uint_as_float(pool[b_2 + 512u]) * 0.0625f;
    sum_4 = fmaf((float)(__dp4a((int)((w_36 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.w), __dp4a((int)((w_35 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.z), __dp4a((int)((w_34 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.y), __dp4a((int)((w_33 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.x), __dp4a((int)(((w_36 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.w), __dp4a((int)(((w_35 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.z), __dp4a((int)(((w_34 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.y), __dp4a((int)(((w_33 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.x), 0))))))))), half_to_float(word_10 >> ((lane_row_3 % 2u) * 16u)) * d_5, sum_4);
    sum_5 = fmaf((float)(__dp4a((int)((w_40 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.w), __dp4a((int)((w_39 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.z), __dp4a((int)((w_38 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.y), __dp4a((int)((w_37 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.x), __dp4a((int)(((w_40 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.w), __dp4a((int)(((w_39 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.z), __dp4a((int)(((w_38 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.y), __dp4a((int)(((w_37 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.x), 0))))))))), half_to_float(word_11 >> ((lane_row_4 % 2u) * 16u)) * d_5, sum_5);
    const auto xw_6 = b_2 * 8u;
    const auto xq_11 = *(const uint4*)&pool[xw_6 + 8u];
    const auto xq_12 = *(const uint4*)&pool[xw_6 + 12u];
    const auto d_6 = __uint_as_float(pool[b_2 + 513u]) * 0.0625f;
    sum_4 = fmaf((float)(__dp4a((int)((w_44 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.w), __dp4a((int)((w_43 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.z), __dp4a((int)((w_42 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.y), __dp4a((int)((w_41 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.x), __dp4a((int)(((w_44 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.w), __dp4a((int)(((w_43 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.z), __dp4a((int)(((w_42 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.y), __dp4a((int)(((w_41 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.x), 0))))))))), half_to_float(word_12 >> ((lane_row_3 % 2u) * 16u)) * d_6, sum_4);
    sum_5 = fmaf((float)(__dp4a((int)((w_48 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.w), __dp4a((int)((w_47 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.z), __dp4a((int)((w_46 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.y), __dp4a((int)((w_45 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.x), __dp4a((int)(((w_48 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.w), __dp4a((int)(((w_47 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.z), __dp4a((int)(((w_46 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.y), __dp4a((int)(((w_45 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.x), 0))))))))), half_to_float(word_13 >> ((lane_row_4 % 2u) * 16u)) * d_6, sum_5);
    const auto xw_7 = b_2 * 8u;
    const auto xq_13 = *(const uint4*)&pool[xw_7 + 16u];
    const auto xq_14 = *(const uint4*)&pool[xw_7 + 20u];
    const auto d_7 = __uint_as_float(pool[b_2 + 514u]) * 0.0625f;
    sum_4 = fmaf((float)(__dp4a((int)((w_52 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.w), __dp4a((int)((w_51 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.z), __dp4a((int)((w_50 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.y), __dp4a((int)((w_49 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.x), __dp4a((int)(((w_52 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.w), __dp4a((int)(((w_51 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.z), __dp4a((int)(((w_50 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.y), __dp4a((int)(((w_49 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.x), 0))))))))), half_to_float(word_14 >> ((lane_row_3 % 2u) * 16u)) * d_7, sum_4);
    sum_5 = fmaf((float)(__dp4a((int)((w_56 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.w), __dp4a((int)((w_55 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.z), __dp4a((int)((w_54 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.y), __dp4a((int)((w_53 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.x), __dp4a((int)(((w_56 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.w), __dp4a((int)(((w_55 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.z), __dp4a((int)(((w_54 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.y), __dp4a((int)(((w_53 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.x), 0))))))))), half_to_float(word_15 >> ((lane_row_4 % 2u) * 16u)) * d_7, sum_5);
    const auto xw_8 = b_2 * 8u;
    const auto xq_15 = *(const uint4*)&pool[xw_8 + 24u];
    const auto xq_16 = *(const uint4*)&pool[xw_8 + 28u];
    const auto d_8 = __uint_as_float(pool[b_2 + 515u]) * 0.0625f;
    sum_4 = fmaf((float)(__dp4a((int)((w_60 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.w), __dp4a((int)((w_59 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.z), __dp4a((int)((w_58 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.y), __dp4a((int)((w_57 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.x), __dp4a((int)(((w_60 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.w), __dp4a((int)(((w_59 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.z), __dp4a((int)(((w_58 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.y), __dp4a((int)(((w_57 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.x), 0))))))))), half_to_float(word_16 >> ((lane_row_3 % 2u) * 16u)) * d_8, sum_4);
    sum_5 = fmaf((float)(__dp4a((int)((w_64 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.w), __dp4a((int)((w_63 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.z), __dp4a((int)((w_62 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.y), __dp4a((int)((w_61 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.x), __dp4a((int)(((w_64 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.w), __dp4a((int)(((w_63 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.z), __dp4a((int)(((w_62 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.y), __dp4a((int)(((w_61 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.x), 0))))))))), half_to_float(word_17 >> ((lane_row_4 % 2u) * 16u)) * d_8, sum_5);
    const auto to_4 = share_3 * 32u + own_6 + 1224u;
    pool[to_4] = __float_as_uint(sum_4);
    const auto to_5 = share_3 * 32u + own_7 + 1224u;
    pool[to_5] = __float_as_uint(sum_5);
    __syncthreads();
    auto result_2 = 0.0f;
    auto result_3 = 0.0f;
    if (lane < 32u) {
      auto total_6 = __uint_as_float(pool[lane + 712u]);
      for (auto l_4 = 1u; l_4 < 16u; l_4 += 1u) {
        total_6 = total_6 + __uint_as_float(pool[lane + l_4 * 32u + 712u]);
      }
      result_2 = total_6;
      auto total_7 = __uint_as_float(pool[lane + 1224u]);
      for (auto l_5 = 1u; l_5 < 16u; l_5 += 1u) {
        total_7 = total_7 + __uint_as_float(pool[lane + l_5 * 32u + 1224u]);
      }
      result_3 = total_7;
    }
    if (lane < 32u) {
      const auto v_71 = quotient(result_2, expf(min(-(result_2), 80.0f)) + 1.0f);
      const auto v_72 = v_71 * result_3;
      const auto mine_3 = __float_as_uint(v_72) & 0x7fffffffu;
      const auto other_23 = __shfl_xor_sync(warp, mine_3, 1u);
      const auto both_26 = max(mine_3, other_23);
      const auto other_24 = __shfl_xor_sync(warp, both_26, 2u);
      const auto both_27 = max(both_26, other_24);
      const auto other_25 = __shfl_xor_sync(warp, both_27, 4u);
      const auto both_28 = max(both_27, other_25);
      const auto other_26 = __shfl_xor_sync(warp, both_28, 8u);
      const auto both_29 = max(both_28, other_26);
      const auto other_27 = __shfl_xor_sync(warp, both_29, 16u);
      const auto both_30 = max(both_29, other_27);
      const auto largest_3 = __uint_as_float(both_30);
      const auto scale_3 = (both_30 < 0x7f800000u ? __float_as_uint(largest_3 * 0.007874016f) : 0x7fc00000u);
      const auto packed_3 = ((unsigned int)(__float2int_rz(min(max(rintf(v_72 * (largest_3 > 3.74e-37f && both_30 < 0x7f800000u ? quotient(127.0f, largest_3) : 0.0f)), -127.0f), 127.0f))) & 255u) << ((lane % 4u) * 8u);
      const auto other_28 = __shfl_xor_sync(warp, packed_3, 1u);
      const auto packed_4 = packed_3 | other_28;
      const auto other_29 = __shfl_xor_sync(warp, packed_4, 2u);
      const auto packed_5 = packed_4 | other_29;
      const auto sum_6 = __dp4a((int)(packed_5), (int)(0x1010101u), 0);
      const auto other_30 = __shfl_xor_sync(warp, sum_6, 4u);
      const auto sum_7 = sum_6 + other_30;
      const auto other_31 = __shfl_xor_sync(warp, sum_7, 8u);
      const auto sum_8 = sum_7 + other_31;
      if ((lane % 4u) == 0u) {
        b0[p8 + (column_8 / 4u)] = packed_5;
      }
      if ((lane % 32u) == 0u) {
        b0[p8 + (n8 / 4u) + (column_8 / 32u)] = scale_3;
      }
      if ((lane % 16u) == 0u) {
        b0[p8 + ((n8 / 4u) + (n8 / 32u)) + (column_8 / 16u)] = __float_as_uint((float)(sum_8) * __uint_as_float(scale_3));
      }
    }
  }
  const auto end = count + count_2;
}

// select_dot_1536x2048_q4_0&select_dot_1536x2048_q4_0: lanes 256; rows 1 width 32 reduce 16 upcast 2
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

static __device__ __forceinline__ float quotient(float a, float b) {
  float inverse;
  asm("rcp.approx.f32 %0, %1;" : "=f"(inverse) : "f"(b));
  return a * inverse;
}

extern "C" __global__ void __launch_bounds__(256) weft_select_dot_1536x2048_q4_0_select_dot_1536x2048_q4_0(
  const Args args,
  const Sizes sizes,
  const unsigned int* b0,
  const unsigned int* __restrict__ b1,
  unsigned int* b2,
  const unsigned int* __restrict__ b3,
  const unsigned int* __restrict__ b4
) {
  __shared__ __align__(16) unsigned int pool[1736];
  const unsigned int lane = threadIdx.x;
  const unsigned int warp = 0xffffffffu;
  const auto p0 = args.words[0];
  const auto p1 = args.words[2];
  const auto p2 = args.words[4];
  const auto p3 = args.words[6];
  const auto p4 = args.words[8];
  const auto p5 = args.words[10];
  const auto n5 = args.words[11];
  const auto top_bits = blockIdx.z ^ 0x80808080u;
  // part 0: dot [T, 4] × 1536; rows 1 width 32 reduce 16 upcast 2
  const auto own_group = blockIdx.x;
  const auto rows_at = own_group % 4u;
  const auto first = (own_group / 4u) * 32u;
  const auto i = rows_at / 4u;
  const auto i_2 = (rows_at % 4u) % 4u;
  const auto i_3 = rows_at / 4u;
  const auto i_4 = (rows_at % 4u) % 4u;
  const auto i_5 = rows_at / 4u;
  const auto i_6 = (rows_at % 4u) % 4u;
  const auto column = first + lane;
  const auto word = lane + 256u;
  const auto x = load_early_4(&b1[p1 + lane * 4u]);
  const auto x_2 = load_early_4(&b1[p1 + word * 4u]);
  // what is multiplied
  const auto i_7 = rows_at / 4u;
  const auto i_8 = (rows_at % 4u) % 4u;
  const auto x_3 = *(const uint4*)&b0[p0 + (i_7 * 2048u + lane * 4u)];
  const auto x_4 = *(const uint4*)&b0[p0 + (i_7 * 2048u + word * 4u)];
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
  const auto scale = (both_8 < 0x7f800000u ? __float_as_uint(largest * 0.007874016f) : 0x7fc00000u);
  const auto inverse = (largest > 3.74e-37f && both_8 < 0x7f800000u ? quotient(127.0f, largest) : 0.0f);
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
  const auto scale_2 = (both_11 < 0x7f800000u ? __float_as_uint(largest_2 * 0.007874016f) : 0x7fc00000u);
  const auto inverse_2 = (largest_2 > 3.74e-37f && both_11 < 0x7f800000u ? quotient(127.0f, largest_2) : 0.0f);
  const auto packed_2 = ((unsigned int)(__float2int_rz(min(max(rintf(v_21 * inverse_2), -127.0f), 127.0f))) & 255u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_23 * inverse_2), -127.0f), 127.0f))) & 255u) << 8u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_25 * inverse_2), -127.0f), 127.0f))) & 255u) << 16u) | (((unsigned int)(__float2int_rz(min(max(rintf(v_27 * inverse_2), -127.0f), 127.0f))) & 255u) << 24u);
  pool[word] = packed_2;
  if ((word % 8u) == 0u) {
    pool[(word / 8u) + 512u] = scale_2;
  }
  __syncthreads();
  wait_for_previous();
  launch_next();
  const auto share = lane / 16u;
  const auto own = lane % 16u;
  const auto own_2 = (lane % 16u) + 16u;
  const auto column_2 = first + own;
  const auto column_3 = first + own_2;
  const auto index = min(b2[p2 + (i * 4u + i_2)], 63u);
  const auto tile = p3 + ((index * 1536u + column_2) / 16u) * 4608u;
  const auto lane_row = (index * 1536u + column_2) % 16u;
  const auto tile_2 = p3 + ((index * 1536u + column_3) / 16u) * 4608u;
  const auto lane_row_2 = (index * 1536u + column_3) % 16u;
  const auto b = share * 4u;
  const auto at = tile + lane_row + b * 64u;
  const auto w = load_early(&b3[at]);
  const auto w_2 = load_early(&(b3 + (at))[16u]);
  const auto w_3 = load_early(&(b3 + (at))[32u]);
  const auto w_4 = load_early(&(b3 + (at))[48u]);
  const auto word_2 = load_early(&(b3 + (tile + (b * 8u + (lane_row / 2u))))[4096u]);
  const auto at_2 = tile_2 + lane_row_2 + b * 64u;
  const auto w_5 = load_early(&b3[at_2]);
  const auto w_6 = load_early(&(b3 + (at_2))[16u]);
  const auto w_7 = load_early(&(b3 + (at_2))[32u]);
  const auto w_8 = load_early(&(b3 + (at_2))[48u]);
  const auto word_3 = load_early(&(b3 + (tile_2 + (b * 8u + (lane_row_2 / 2u))))[4096u]);
  const auto at_3 = tile + lane_row + b * 64u;
  const auto w_9 = load_early(&(b3 + (at_3))[64u]);
  const auto w_10 = load_early(&(b3 + (at_3))[80u]);
  const auto w_11 = load_early(&(b3 + (at_3))[96u]);
  const auto w_12 = load_early(&(b3 + (at_3))[112u]);
  const auto word_4 = load_early(&(b3 + (tile + (b * 8u + (lane_row / 2u))))[4104u]);
  const auto at_4 = tile_2 + lane_row_2 + b * 64u;
  const auto w_13 = load_early(&(b3 + (at_4))[64u]);
  const auto w_14 = load_early(&(b3 + (at_4))[80u]);
  const auto w_15 = load_early(&(b3 + (at_4))[96u]);
  const auto w_16 = load_early(&(b3 + (at_4))[112u]);
  const auto word_5 = load_early(&(b3 + (tile_2 + (b * 8u + (lane_row_2 / 2u))))[4104u]);
  const auto at_5 = tile + lane_row + b * 64u;
  const auto w_17 = load_early(&(b3 + (at_5))[128u]);
  const auto w_18 = load_early(&(b3 + (at_5))[144u]);
  const auto w_19 = load_early(&(b3 + (at_5))[160u]);
  const auto w_20 = load_early(&(b3 + (at_5))[176u]);
  const auto word_6 = load_early(&(b3 + (tile + (b * 8u + (lane_row / 2u))))[4112u]);
  const auto at_6 = tile_2 + lane_row_2 + b * 64u;
  const auto w_21 = load_early(&(b3 + (at_6))[128u]);
  const auto w_22 = load_early(&(b3 + (at_6))[144u]);
  const auto w_23 = load_early(&(b3 + (at_6))[160u]);
  const auto w_24 = load_early(&(b3 + (at_6))[176u]);
  const auto word_7 = load_early(&(b3 + (tile_2 + (b * 8u + (lane_row_2 / 2u))))[4112u]);
  const auto at_7 = tile + lane_row + b * 64u;
  const auto w_25 = load_early(&(b3 + (at_7))[192u]);
  const auto w_26 = load_early(&(b3 + (at_7))[208u]);
  const auto w_27 = load_early(&(b3 + (at_7))[224u]);
  const auto w_28 = load_early(&(b3 + (at_7))[240u]);
  const auto word_8 = load_early(&(b3 + (tile + (b * 8u + (lane_row / 2u))))[4120u]);
  const auto at_8 = tile_2 + lane_row_2 + b * 64u;
  const auto w_29 = load_early(&(b3 + (at_8))[192u]);
  const auto w_30 = load_early(&(b3 + (at_8))[208u]);
  const auto w_31 = load_early(&(b3 + (at_8))[224u]);
  const auto w_32 = load_early(&(b3 + (at_8))[240u]);
  const auto word_9 = load_early(&(b3 + (tile_2 + (b * 8u + (lane_row_2 / 2u))))[4120u]);
  const auto share_2 = lane / 16u;
  const auto own_3 = lane % 16u;
  const auto own_4 = (lane % 16u) + 16u;
  const auto column_4 = first + own_3;
  const auto column_5 = first + own_4;
  const auto index_2 = min(b2[p2 + (i * 4u + i_2)], 63u);
  const auto tile_3 = p4 + ((index_2 * 1536u + column_4) / 16u) * 4608u;
  const auto lane_row_3 = (index_2 * 1536u + column_4) % 16u;
  const auto tile_4 = p4 + ((index_2 * 1536u + column_5) / 16u) * 4608u;
  const auto lane_row_4 = (index_2 * 1536u + column_5) % 16u;
  const auto b_2 = share_2 * 4u;
  const auto at_9 = tile_3 + lane_row_3 + b_2 * 64u;
  const auto w_33 = load_early(&b4[at_9]);
  const auto w_34 = load_early(&(b4 + (at_9))[16u]);
  const auto w_35 = load_early(&(b4 + (at_9))[32u]);
  const auto w_36 = load_early(&(b4 + (at_9))[48u]);
  const auto word_10 = load_early(&(b4 + (tile_3 + (b_2 * 8u + (lane_row_3 / 2u))))[4096u]);
  const auto at_10 = tile_4 + lane_row_4 + b_2 * 64u;
  const auto w_37 = load_early(&b4[at_10]);
  const auto w_38 = load_early(&(b4 + (at_10))[16u]);
  const auto w_39 = load_early(&(b4 + (at_10))[32u]);
  const auto w_40 = load_early(&(b4 + (at_10))[48u]);
  const auto word_11 = load_early(&(b4 + (tile_4 + (b_2 * 8u + (lane_row_4 / 2u))))[4096u]);
  const auto at_11 = tile_3 + lane_row_3 + b_2 * 64u;
  const auto w_41 = load_early(&(b4 + (at_11))[64u]);
  const auto w_42 = load_early(&(b4 + (at_11))[80u]);
  const auto w_43 = load_early(&(b4 + (at_11))[96u]);
  const auto w_44 = load_early(&(b4 + (at_11))[112u]);
  const auto word_12 = load_early(&(b4 + (tile_3 + (b_2 * 8u + (lane_row_3 / 2u))))[4104u]);
  const auto at_12 = tile_4 + lane_row_4 + b_2 * 64u;
  const auto w_45 = load_early(&(b4 + (at_12))[64u]);
  const auto w_46 = load_early(&(b4 + (at_12))[80u]);
  const auto w_47 = load_early(&(b4 + (at_12))[96u]);
  const auto w_48 = load_early(&(b4 + (at_12))[112u]);
  const auto word_13 = load_early(&(b4 + (tile_4 + (b_2 * 8u + (lane_row_4 / 2u))))[4104u]);
  const auto at_13 = tile_3 + lane_row_3 + b_2 * 64u;
  const auto w_49 = load_early(&(b4 + (at_13))[128u]);
  const auto w_50 = load_early(&(b4 + (at_13))[144u]);
  const auto w_51 = load_early(&(b4 + (at_13))[160u]);
  const auto w_52 = load_early(&(b4 + (at_13))[176u]);
  const auto word_14 = load_early(&(b4 + (tile_3 + (b_2 * 8u + (lane_row_3 / 2u))))[4112u]);
  const auto at_14 = tile_4 + lane_row_4 + b_2 * 64u;
  const auto w_53 = load_early(&(b4 + (at_14))[128u]);
  const auto w_54 = load_early(&(b4 + (at_14))[144u]);
  const auto w_55 = load_early(&(b4 + (at_14))[160u]);
  const auto w_56 = load_early(&(b4 + (at_14))[176u]);
  const auto word_15 = load_early(&(b4 + (tile_4 + (b_2 * 8u + (lane_row_4 / 2u))))[4112u]);
  const auto at_15 = tile_3 + lane_row_3 + b_2 * 64u;
  const auto w_57 = load_early(&(b4 + (at_15))[192u]);
  const auto w_58 = load_early(&(b4 + (at_15))[208u]);
  const auto w_59 = load_early(&(b4 + (at_15))[224u]);
  const auto w_60 = load_early(&(b4 + (at_15))[240u]);
  const auto word_16 = load_early(&(b4 + (tile_3 + (b_2 * 8u + (lane_row_3 / 2u))))[4120u]);
  const auto at_16 = tile_4 + lane_row_4 + b_2 * 64u;
  const auto w_61 = load_early(&(b4 + (at_16))[192u]);
  const auto w_62 = load_early(&(b4 + (at_16))[208u]);
  const auto w_63 = load_early(&(b4 + (at_16))[224u]);
  const auto w_64 = load_early(&(b4 + (at_16))[240u]);
  const auto word_17 = load_early(&(b4 + (tile_4 + (b_2 * 8u + (lane_row_4 / 2u))))[4120u]);
  hold_loads();
  // times q4_0[1536, 2048]
  auto sum = 0.0f;
  auto sum_2 = 0.0f;
  const auto xw = b * 8u;
  const auto xq = *(const uint4*)&pool[xw];
  const auto xq_2 = *(const uint4*)&pool[xw + 4u];
  const auto d = __uint_as_float(pool[b + 512u]) * 0.0625f;
  sum = fmaf((float)(__dp4a((int)((w_4 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_3 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_2 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_4 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_3 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_2 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))), half_to_float(word_2 >> ((lane_row % 2u) * 16u)) * d, sum);
  sum_2 = fmaf((float)(__dp4a((int)((w_8 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_7 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_6 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w_5 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_8 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_7 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_6 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w_5 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))), half_to_float(word_3 >> ((lane_row_2 % 2u) * 16u)) * d, sum_2);
  const auto xw_2 = b * 8u;
  const auto xq_3 = *(const uint4*)&pool[xw_2 + 8u];
  const auto xq_4 = *(const uint4*)&pool[xw_2 + 12u];
  const auto d_2 = __uint_as_float(pool[b + 513u]) * 0.0625f;
  sum = fmaf((float)(__dp4a((int)((w_12 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.w), __dp4a((int)((w_11 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.z), __dp4a((int)((w_10 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.y), __dp4a((int)((w_9 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.x), __dp4a((int)(((w_12 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.w), __dp4a((int)(((w_11 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.z), __dp4a((int)(((w_10 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.y), __dp4a((int)(((w_9 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.x), 0))))))))), half_to_float(word_4 >> ((lane_row % 2u) * 16u)) * d_2, sum);
  sum_2 = fmaf((float)(__dp4a((int)((w_16 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.w), __dp4a((int)((w_15 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.z), __dp4a((int)((w_14 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.y), __dp4a((int)((w_13 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.x), __dp4a((int)(((w_16 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.w), __dp4a((int)(((w_15 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.z), __dp4a((int)(((w_14 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.y), __dp4a((int)(((w_13 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.x), 0))))))))), half_to_float(word_5 >> ((lane_row_2 % 2u) * 16u)) * d_2, sum_2);
  const auto xw_3 = b * 8u;
  const auto xq_5 = *(const uint4*)&pool[xw_3 + 16u];
  const auto xq_6 = *(const uint4*)&pool[xw_3 + 20u];
  const auto d_3 = __uint_as_float(pool[b + 514u]) * 0.0625f;
  sum = fmaf((float)(__dp4a((int)((w_20 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.w), __dp4a((int)((w_19 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.z), __dp4a((int)((w_18 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.y), __dp4a((int)((w_17 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.x), __dp4a((int)(((w_20 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.w), __dp4a((int)(((w_19 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.z), __dp4a((int)(((w_18 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.y), __dp4a((int)(((w_17 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.x), 0))))))))), half_to_float(word_6 >> ((lane_row % 2u) * 16u)) * d_3, sum);
  sum_2 = fmaf((float)(__dp4a((int)((w_24 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.w), __dp4a((int)((w_23 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.z), __dp4a((int)((w_22 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.y), __dp4a((int)((w_21 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.x), __dp4a((int)(((w_24 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.w), __dp4a((int)(((w_23 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.z), __dp4a((int)(((w_22 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.y), __dp4a((int)(((w_21 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.x), 0))))))))), half_to_float(word_7 >> ((lane_row_2 % 2u) * 16u)) * d_3, sum_2);
  const auto xw_4 = b * 8u;
  const auto xq_7 = *(const uint4*)&pool[xw_4 + 24u];
  const auto xq_8 = *(const uint4*)&pool[xw_4 + 28u];
  const auto d_4 = __uint_as_float(pool[b + 515u]) * 0.0625f;
  sum = fmaf((float)(__dp4a((int)((w_28 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.w), __dp4a((int)((w_27 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.z), __dp4a((int)((w_26 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.y), __dp4a((int)((w_25 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.x), __dp4a((int)(((w_28 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.w), __dp4a((int)(((w_27 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.z), __dp4a((int)(((w_26 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.y), __dp4a((int)(((w_25 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.x), 0))))))))), half_to_float(word_8 >> ((lane_row % 2u) * 16u)) * d_4, sum);
  sum_2 = fmaf((float)(__dp4a((int)((w_32 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.w), __dp4a((int)((w_31 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.z), __dp4a((int)((w_30 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.y), __dp4a((int)((w_29 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.x), __dp4a((int)(((w_32 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.w), __dp4a((int)(((w_31 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.z), __dp4a((int)(((w_30 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.y), __dp4a((int)(((w_29 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.x), 0))))))))), half_to_float(word_9 >> ((lane_row_2 % 2u) * 16u)) * d_4, sum_2);
  const auto to = share * 32u + own + 712u;
  pool[to] = __float_as_uint(sum);
  const auto to_2 = share * 32u + own_2 + 712u;
  pool[to_2] = __float_as_uint(sum_2);
  // times q4_0[1536, 2048]
  auto sum_3 = 0.0f;
  auto sum_4 = 0.0f;
  const auto xw_5 = b_2 * 8u;
  const auto xq_9 = *(const uint4*)&pool[xw_5];
  const auto xq_10 = *(const uint4*)&pool[xw_5 + 4u];
  const auto d_5 = __uint_as_float(pool[b_2 + 512u]) * 0.0625f;
  sum_3 = fmaf((float)(__dp4a((int)((w_36 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.w), __dp4a((int)((w_35 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.z), __dp4a((int)((w_34 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.y), __dp4a((int)((w_33 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.x), __dp4a((int)(((w_36 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.w), __dp4a((int)(((w_35 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.z), __dp4a((int)(((w_34 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.y), __dp4a((int)(((w_33 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.x), 0))))))))), half_to_float(word_10 >> ((lane_row_3 % 2u) * 16u)) * d_5, sum_3);
  sum_4 = fmaf((float)(__dp4a((int)((w_40 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.w), __dp4a((int)((w_39 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.z), __dp4a((int)((w_38 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.y), __dp4a((int)((w_37 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.x), __dp4a((int)(((w_40 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.w), __dp4a((int)(((w_39 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.z), __dp4a((int)(((w_38 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.y), __dp4a((int)(((w_37 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.x), 0))))))))), half_to_float(word_11 >> ((lane_row_4 % 2u) * 16u)) * d_5, sum_4);
  const auto xw_6 = b_2 * 8u;
  const auto xq_11 = *(const uint4*)&pool[xw_6 + 8u];
  const auto xq_12 = *(const uint4*)&pool[xw_6 + 12u];
  const auto d_6 = __uint_as_float(pool[b_2 + 513u]) * 0.0625f;
  sum_3 = fmaf((float)(__dp4a((int)((w_44 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.w), __dp4a((int)((w_43 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.z), __dp4a((int)((w_42 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.y), __dp4a((int)((w_41 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.x), __dp4a((int)(((w_44 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.w), __dp4a((int)(((w_43 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.z), __dp4a((int)(((w_42 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.y), __dp4a((int)(((w_41 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.x), 0))))))))), half_to_float(word_12 >> ((lane_row_3 % 2u) * 16u)) * d_6, sum_3);
  sum_4 = fmaf((float)(__dp4a((int)((w_48 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.w), __dp4a((int)((w_47 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.z), __dp4a((int)((w_46 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.y), __dp4a((int)((w_45 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.x), __dp4a((int)(((w_48 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.w), __dp4a((int)(((w_47 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.z), __dp4a((int)(((w_46 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.y), __dp4a((int)(((w_45 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.x), 0))))))))), half_to_float(word_13 >> ((lane_row_4 % 2u) * 16u)) * d_6, sum_4);
  const auto xw_7 = b_2 * 8u;
  const auto xq_13 = *(const uint4*)&pool[xw_7 + 16u];
  const auto xq_14 = *(const uint4*)&pool[xw_7 + 20u];
  const auto d_7 = __uint_as_float(pool[b_2 + 514u]) * 0.0625f;
  sum_3 = fmaf((float)(__dp4a((int)((w_52 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.w), __dp4a((int)((w_51 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.z), __dp4a((int)((w_50 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.y), __dp4a((int)((w_49 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.x), __dp4a((int)(((w_52 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.w), __dp4a((int)(((w_51 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.z), __dp4a((int)(((w_50 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.y), __dp4a((int)(((w_49 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.x), 0))))))))), half_to_float(word_14 >> ((lane_row_3 % 2u) * 16u)) * d_7, sum_3);
  sum_4 = fmaf((float)(__dp4a((int)((w_56 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.w), __dp4a((int)((w_55 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.z), __dp4a((int)((w_54 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.y), __dp4a((int)((w_53 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.x), __dp4a((int)(((w_56 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.w), __dp4a((int)(((w_55 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.z), __dp4a((int)(((w_54 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.y), __dp4a((int)(((w_53 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.x), 0))))))))), half_to_float(word_15 >> ((lane_row_4 % 2u) * 16u)) * d_7, sum_4);
  const auto xw_8 = b_2 * 8u;
  const auto xq_15 = *(const uint4*)&pool[xw_8 + 24u];
  const auto xq_16 = *(const uint4*)&pool[xw_8 + 28u];
  const auto d_8 = __uint_as_float(pool[b_2 + 515u]) * 0.0625f;
  sum_3 = fmaf((float)(__dp4a((int)((w_60 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.w), __dp4a((int)((w_59 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.z), __dp4a((int)((w_58 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.y), __dp4a((int)((w_57 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.x), __dp4a((int)(((w_60 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.w), __dp4a((int)(((w_59 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.z), __dp4a((int)(((w_58 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.y), __dp4a((int)(((w_57 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.x), 0))))))))), half_to_float(word_16 >> ((lane_row_3 % 2u) * 16u)) * d_8, sum_3);
  sum_4 = fmaf((float)(__dp4a((int)((w_64 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.w), __dp4a((int)((w_63 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.z), __dp4a((int)((w_62 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.y), __dp4a((int)((w_61 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.x), __dp4a((int)(((w_64 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.w), __dp4a((int)(((w_63 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.z), __dp4a((int)(((w_62 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.y), __dp4a((int)(((w_61 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.x), 0))))))))), half_to_float(word_17 >> ((lane_row_4 % 2u) * 16u)) * d_8, sum_4);
  const auto to_3 = share_2 * 32u + own_3 + 1224u;
  pool[to_3] = __float_as_uint(sum_3);
  const auto to_4 = share_2 * 32u + own_4 + 1224u;
  pool[to_4] = __float_as_uint(sum_4);
  __syncthreads();
  auto result = 0.0f;
  auto result_2 = 0.0f;
  if (lane < 32u) {
    auto total_3 = __uint_as_float(pool[lane + 712u]);
    for (auto l_2 = 1u; l_2 < 16u; l_2 += 1u) {
      total_3 = total_3 + __uint_as_float(pool[lane + l_2 * 32u + 712u]);
    }
    result = total_3;
    auto total_4 = __uint_as_float(pool[lane + 1224u]);
    for (auto l_3 = 1u; l_3 < 16u; l_3 += 1u) {
      total_4 = total_4 + __uint_as_float(pool[lane + l_3 * 32u + 1224u]);
    }
    result_2 = total_4;
  }
  if (lane < 32u) {
    const auto v_28 = quotient(result, expf(min(-(result), 80.0f)) + 1.0f);
    const auto v_29 = v_28 * result_2;
    const auto mine_3 = __float_as_uint(v_29) & 0x7fffffffu;
    const auto other_12 = __shfl_xor_sync(warp, mine_3, 1u);
    const auto both_12 = max(mine_3, other_12);
    const auto other_13 = __shfl_xor_sync(warp, both_12, 2u);
    const auto both_13 = max(both_12, other_13);
    const auto other_14 = __shfl_xor_sync(warp, both_13, 4u);
    const auto both_14 = max(both_13, other_14);
    const auto other_15 = __shfl_xor_sync(warp, both_14, 8u);
    const auto both_15 = max(both_14, other_15);
    const auto other_16 = __shfl_xor_sync(warp, both_15, 16u);
    const auto both_16 = max(both_15, other_16);
    const auto largest_3 = __uint_as_float(both_16);
    const auto scale_3 = (both_16 < 0x7f800000u ? __float_as_uint(largest_3 * 0.007874016f) : 0x7fc00000u);
    const auto packed_3 = ((unsigned int)(__float2int_rz(min(max(rintf(v_29 * (largest_3 > 3.74e-37f && both_16 < 0x7f800000u ? quotient(127.0f, largest_3) : 0.0f)), -127.0f), 127.0f))) & 255u) << ((lane % 4u) * 8u);
    const auto other_17 = __shfl_xor_sync(warp, packed_3, 1u);
    const auto packed_4 = packed_3 | other_17;
    const auto other_18 = __shfl_xor_sync(warp, packed_4, 2u);
    const auto packed_5 = packed_4 | other_18;
    const auto sum_5 = __dp4a((int)(packed_5), (int)(0x1010101u), 0);
    const auto other_19 = __shfl_xor_sync(warp, sum_5, 4u);
    const auto sum_6 = sum_5 + other_19;
    const auto other_20 = __shfl_xor_sync(warp, sum_6, 8u);
    const auto sum_7 = sum_6 + other_20;
    const auto at_17 = i_5 * 6144u + i_6 * 1536u + column;
    if ((lane % 4u) == 0u) {
      b2[p5 + (at_17 / 4u)] = packed_5;
    }
    if ((lane % 32u) == 0u) {
      b2[p5 + (n5 / 4u) + (at_17 / 32u)] = scale_3;
    }
    if ((lane % 16u) == 0u) {
      b2[p5 + ((n5 / 4u) + (n5 / 32u)) + (at_17 / 16u)] = __float_as_uint((float)(sum_7) * __uint_as_float(scale_3));
    }
  }
}

// select_sum_2048x1536_q4_0&dot_2048x1536_q4_0: lanes 256; rows 1 width 16 reduce 16 upcast 1
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
  // part 0: dot [T] × 2048; rows 1 width 16 reduce 16 upcast 1
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
  sum = fmaf((float)(__dp4a((int)((w_16 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.w), __dp4a((int)((w_15 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.z), __dp4a((int)((w_14 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.y), __dp4a((int)((w_13 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_2.x), __dp4a((int)(((w_16 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.w), __dp4a((int)(((w_15 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.z), __dp4a((int)(((w_14 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.y), __dp4a((int)(((w_13 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq.x), 0))))))))), half_to_float(word_4 >> ((lane_row_2 % 2u) * 16u)) * d, sum);
  const auto xw_2 = b_2 * 8u;
  const auto xq_3 = *(const uint4*)&pool[xw_2 + 8u];
  const auto xq_4 = *(const uint4*)&pool[xw_2 + 12u];
  const auto d_2 = __uint_as_float(pool[b_2 + 1537u]) * 0.0625f;
  sum = fmaf((float)(__dp4a((int)((w_20 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.w), __dp4a((int)((w_19 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.z), __dp4a((int)((w_18 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.y), __dp4a((int)((w_17 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_4.x), __dp4a((int)(((w_20 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.w), __dp4a((int)(((w_19 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.z), __dp4a((int)(((w_18 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.y), __dp4a((int)(((w_17 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_3.x), 0))))))))), half_to_float(word_5 >> ((lane_row_2 % 2u) * 16u)) * d_2, sum);
  const auto xw_3 = b_2 * 8u;
  const auto xq_5 = *(const uint4*)&pool[xw_3 + 16u];
  const auto xq_6 = *(const uint4*)&pool[xw_3 + 20u];
  const auto d_3 = __uint_as_float(pool[b_2 + 1538u]) * 0.0625f;
  sum = fmaf((float)(__dp4a((int)((w_24 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.w), __dp4a((int)((w_23 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.z), __dp4a((int)((w_22 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.y), __dp4a((int)((w_21 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_6.x), __dp4a((int)(((w_24 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.w), __dp4a((int)(((w_23 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.z), __dp4a((int)(((w_22 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.y), __dp4a((int)(((w_21 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_5.x), 0))))))))), half_to_float(word_6 >> ((lane_row_2 % 2u) * 16u)) * d_3, sum);
  const auto to = share_2 * 16u + own_2 + 2640u;
  pool[to] = __float_as_uint(sum);
  auto sum_2 = 0.0f;
  const auto xw_4 = b_3 * 8u;
  const auto xq_7 = *(const uint4*)&pool[xw_4 + 384u];
  const auto xq_8 = *(const uint4*)&pool[xw_4 + 388u];
  const auto d_4 = __uint_as_float(pool[b_3 + 1584u]) * 0.0625f;
  sum_2 = fmaf((float)(__dp4a((int)((w_28 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.w), __dp4a((int)((w_27 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.z), __dp4a((int)((w_26 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.y), __dp4a((int)((w_25 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_8.x), __dp4a((int)(((w_28 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.w), __dp4a((int)(((w_27 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.z), __dp4a((int)(((w_26 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.y), __dp4a((int)(((w_25 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_7.x), 0))))))))), half_to_float(word_7 >> ((lane_row_3 % 2u) * 16u)) * d_4, sum_2);
  const auto xw_5 = b_3 * 8u;
  const auto xq_9 = *(const uint4*)&pool[xw_5 + 392u];
  const auto xq_10 = *(const uint4*)&pool[xw_5 + 396u];
  const auto d_5 = __uint_as_float(pool[b_3 + 1585u]) * 0.0625f;
  sum_2 = fmaf((float)(__dp4a((int)((w_32 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.w), __dp4a((int)((w_31 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.z), __dp4a((int)((w_30 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.y), __dp4a((int)((w_29 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_10.x), __dp4a((int)(((w_32 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.w), __dp4a((int)(((w_31 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.z), __dp4a((int)(((w_30 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.y), __dp4a((int)(((w_29 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_9.x), 0))))))))), half_to_float(word_8 >> ((lane_row_3 % 2u) * 16u)) * d_5, sum_2);
  const auto xw_6 = b_3 * 8u;
  const auto xq_11 = *(const uint4*)&pool[xw_6 + 400u];
  const auto xq_12 = *(const uint4*)&pool[xw_6 + 404u];
  const auto d_6 = __uint_as_float(pool[b_3 + 1586u]) * 0.0625f;
  sum_2 = fmaf((float)(__dp4a((int)((w_36 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.w), __dp4a((int)((w_35 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.z), __dp4a((int)((w_34 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.y), __dp4a((int)((w_33 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_12.x), __dp4a((int)(((w_36 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.w), __dp4a((int)(((w_35 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.z), __dp4a((int)(((w_34 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.y), __dp4a((int)(((w_33 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_11.x), 0))))))))), half_to_float(word_9 >> ((lane_row_3 % 2u) * 16u)) * d_6, sum_2);
  const auto to_2 = share_2 * 16u + own_2 + 2896u;
  pool[to_2] = __float_as_uint(sum_2);
  auto sum_3 = 0.0f;
  const auto xw_7 = b_4 * 8u;
  const auto xq_13 = *(const uint4*)&pool[xw_7 + 768u];
  const auto xq_14 = *(const uint4*)&pool[xw_7 + 772u];
  const auto d_7 = __uint_as_float(pool[b_4 + 1632u]) * 0.0625f;
  sum_3 = fmaf((float)(__dp4a((int)((w_40 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.w), __dp4a((int)((w_39 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.z), __dp4a((int)((w_38 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.y), __dp4a((int)((w_37 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_14.x), __dp4a((int)(((w_40 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.w), __dp4a((int)(((w_39 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.z), __dp4a((int)(((w_38 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.y), __dp4a((int)(((w_37 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_13.x), 0))))))))), half_to_float(word_10 >> ((lane_row_4 % 2u) * 16u)) * d_7, sum_3);
  const auto xw_8 = b_4 * 8u;
  const auto xq_15 = *(const uint4*)&pool[xw_8 + 776u];
  const auto xq_16 = *(const uint4*)&pool[xw_8 + 780u];
  const auto d_8 = __uint_as_float(pool[b_4 + 1633u]) * 0.0625f;
  sum_3 = fmaf((float)(__dp4a((int)((w_44 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.w), __dp4a((int)((w_43 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.z), __dp4a((int)((w_42 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.y), __dp4a((int)((w_41 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_16.x), __dp4a((int)(((w_44 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.w), __dp4a((int)(((w_43 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.z), __dp4a((int)(((w_42 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.y), __dp4a((int)(((w_41 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_15.x), 0))))))))), half_to_float(word_11 >> ((lane_row_4 % 2u) * 16u)) * d_8, sum_3);
  const auto xw_9 = b_4 * 8u;
  const auto xq_17 = *(const uint4*)&pool[xw_9 + 784u];
  const auto xq_18 = *(const uint4*)&pool[xw_9 + 788u];
  const auto d_9 = __uint_as_float(pool[b_4 + 1634u]) * 0.0625f;
  sum_3 = fmaf((float)(__dp4a((int)((w_48 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_18.w), __dp4a((int)((w_47 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_18.z), __dp4a((int)((w_46 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_18.y), __dp4a((int)((w_45 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_18.x), __dp4a((int)(((w_48 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_17.w), __dp4a((int)(((w_47 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_17.z), __dp4a((int)(((w_46 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_17.y), __dp4a((int)(((w_45 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_17.x), 0))))))))), half_to_float(word_12 >> ((lane_row_4 % 2u) * 16u)) * d_9, sum_3);
  const auto to_3 = share_2 * 16u + own_2 + 3152u;
  pool[to_3] = __float_as_uint(sum_3);
  auto sum_4 = 0.0f;
  const auto xw_10 = b_5 * 8u;
  const auto xq_19 = *(const uint4*)&pool[xw_10 + 1152u];
  const auto xq_20 = *(const uint4*)&pool[xw_10 + 1156u];
  const auto d_10 = __uint_as_float(pool[b_5 + 1680u]) * 0.0625f;
  sum_4 = fmaf((float)(__dp4a((int)((w_52 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_20.w), __dp4a((int)((w_51 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_20.z), __dp4a((int)((w_50 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_20.y), __dp4a((int)((w_49 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_20.x), __dp4a((int)(((w_52 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_19.w), __dp4a((int)(((w_51 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_19.z), __dp4a((int)(((w_50 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_19.y), __dp4a((int)(((w_49 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_19.x), 0))))))))), half_to_float(word_13 >> ((lane_row_5 % 2u) * 16u)) * d_10, sum_4);
  const auto xw_11 = b_5 * 8u;
  const auto xq_21 = *(const uint4*)&pool[xw_11 + 1160u];
  const auto xq_22 = *(const uint4*)&pool[xw_11 + 1164u];
  const auto d_11 = __uint_as_float(pool[b_5 + 1681u]) * 0.0625f;
  sum_4 = fmaf((float)(__dp4a((int)((w_56 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_22.w), __dp4a((int)((w_55 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_22.z), __dp4a((int)((w_54 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_22.y), __dp4a((int)((w_53 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_22.x), __dp4a((int)(((w_56 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_21.w), __dp4a((int)(((w_55 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_21.z), __dp4a((int)(((w_54 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_21.y), __dp4a((int)(((w_53 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_21.x), 0))))))))), half_to_float(word_14 >> ((lane_row_5 % 2u) * 16u)) * d_11, sum_4);
  const auto xw_12 = b_5 * 8u;
  const auto xq_23 = *(const uint4*)&pool[xw_12 + 1168u];
  const auto xq_24 = *(const uint4*)&pool[xw_12 + 1172u];
  const auto d_12 = __uint_as_float(pool[b_5 + 1682u]) * 0.0625f;
  sum_4 = fmaf((float)(__dp4a((int)((w_60 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_24.w), __dp4a((int)((w_59 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_24.z), __dp4a((int)((w_58 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_24.y), __dp4a((int)((w_57 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_24.x), __dp4a((int)(((w_60 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_23.w), __dp4a((int)(((w_59 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_23.z), __dp4a((int)(((w_58 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_23.y), __dp4a((int)(((w_57 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_23.x), 0))))))))), half_to_float(word_15 >> ((lane_row_5 % 2u) * 16u)) * d_12, sum_4);
  const auto to_4 = share_2 * 16u + own_2 + 3408u;
  pool[to_4] = __float_as_uint(sum_4);
  // times q4_0[2048, 1536]
  auto sum_5 = 0.0f;
  const auto xw_13 = b * 8u;
  const auto xq_25 = *(const uint4*)&pool[xw_13 + 2112u];
  const auto xq_26 = *(const uint4*)&pool[xw_13 + 2116u];
  const auto d_13 = __uint_as_float(pool[b + 2496u]) * 0.0625f;
  sum_5 = fmaf((float)(__dp4a((int)((w_4 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_26.w), __dp4a((int)((w_3 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_26.z), __dp4a((int)((w_2 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_26.y), __dp4a((int)((w & 0xf0f0f0f0u) ^ top_bits), (int)(xq_26.x), __dp4a((int)(((w_4 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_25.w), __dp4a((int)(((w_3 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_25.z), __dp4a((int)(((w_2 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_25.y), __dp4a((int)(((w << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_25.x), 0))))))))), half_to_float(word >> ((lane_row % 2u) * 16u)) * d_13, sum_5);
  const auto xw_14 = b * 8u;
  const auto xq_27 = *(const uint4*)&pool[xw_14 + 2120u];
  const auto xq_28 = *(const uint4*)&pool[xw_14 + 2124u];
  const auto d_14 = __uint_as_float(pool[b + 2497u]) * 0.0625f;
  sum_5 = fmaf((float)(__dp4a((int)((w_8 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_28.w), __dp4a((int)((w_7 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_28.z), __dp4a((int)((w_6 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_28.y), __dp4a((int)((w_5 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_28.x), __dp4a((int)(((w_8 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_27.w), __dp4a((int)(((w_7 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_27.z), __dp4a((int)(((w_6 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_27.y), __dp4a((int)(((w_5 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_27.x), 0))))))))), half_to_float(word_2 >> ((lane_row % 2u) * 16u)) * d_14, sum_5);
  const auto xw_15 = b * 8u;
  const auto xq_29 = *(const uint4*)&pool[xw_15 + 2128u];
  const auto xq_30 = *(const uint4*)&pool[xw_15 + 2132u];
  const auto d_15 = __uint_as_float(pool[b + 2498u]) * 0.0625f;
  sum_5 = fmaf((float)(__dp4a((int)((w_12 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_30.w), __dp4a((int)((w_11 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_30.z), __dp4a((int)((w_10 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_30.y), __dp4a((int)((w_9 & 0xf0f0f0f0u) ^ top_bits), (int)(xq_30.x), __dp4a((int)(((w_12 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_29.w), __dp4a((int)(((w_11 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_29.z), __dp4a((int)(((w_10 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_29.y), __dp4a((int)(((w_9 << 4u) & 0xf0f0f0f0u) ^ top_bits), (int)(xq_29.x), 0))))))))), half_to_float(word_3 >> ((lane_row % 2u) * 16u)) * d_15, sum_5);
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
    all = fmaf(weight, total_3, all);
    auto total_4 = __uint_as_float(pool[lane + 2896u]);
    all = fmaf(weight_2, total_4, all);
    auto total_5 = __uint_as_float(pool[lane + 3152u]);
    all = fmaf(weight_3, total_5, all);
    auto total_6 = __uint_as_float(pool[lane + 3408u]);
    all = fmaf(weight_4, total_6, all);
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

