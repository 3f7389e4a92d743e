test kernels T=1 R=1 S=4096 P=128 workers=2
test kernels T=1 R=1 S=4096 P=128 workers=64
test kernels T=512 R=1 S=4096 P=128 workers=2
# A whole layer of GLM-4.7-Flash: a step of one token, the same on many cores, and a long prompt.
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
# test kernels T=1 R=1 S=4096 P=128 workers=2
kernels 9
dot_768x2048_q4_0+2
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, dot %12
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, dot %35
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, dot %46, rope %47
  not mul %14: it is computed where it is reduced
  not mul %20: it is computed with another of its operands
  not mul %37: it is computed where it is reduced
  not mul %43: it is computed with another of its operands
  not attend %59: it needs whole rows, which several workers compute together
head_dot_192x768_q4_0+2
  mul %14, reduce_sum %15, div %17, add %18, rsqrt %19, mul %20, mul %21, head_dot %26, rope %30
  mul %14, reduce_sum %15, div %17, add %18, rsqrt %19, mul %20, mul %21, head_dot %32
  mul %37, reduce_sum %38, div %40, add %41, rsqrt %42, mul %43, mul %44
  not head_dot %54: it needs whole rows, which several workers compute together
  not attend %59: it needs whole rows, which several workers compute together
head_dot_512x192_q4_0
  head_dot %54
  not attend %59: it needs whole rows, which several workers compute together
attend_20x576
  attend %59
  not head_dot %60: it needs whole rows, which several workers compute together
head_dot_256x512_q4_0
  head_dot %60
  not dot %63: it needs whole rows, which several workers compute together
dot_2048x5120_q4_0
  dot %63, add %64
  not mul %66: it is computed where it is reduced
  not mul %71: it is computed with another of its operands
  not add %103: it also needs something that is computed later
dot_1536x2048_q4_0&dot_1536x2048_q4_0+1
  mul %66, reduce_sum %67, div %68, add %69, rsqrt %70, mul %71, mul %72, dot %74, sigmoid %75, add %77, topk %78, take %79, reduce_sum %80, max %82, div %83, mul %85
  mul %66, reduce_sum %67, div %68, add %69, rsqrt %70, mul %71, mul %72, dot %95, dot %97, silu %98, mul %99
  not select_dot %88: it needs whole rows, which several workers compute together
  not select_dot %89: it needs whole rows, which several workers compute together
  not select_sum %93: it needs whole rows, which several workers compute together
  not dot %101: it needs whole rows, which several workers compute together
select_dot_1536x2048_q4_0&select_dot_1536x2048_q4_0
  mul %66, reduce_sum %67, div %68, add %69, rsqrt %70, mul %71, mul %72, select_dot %88, select_dot %89, silu %91, mul %92
  not select_sum %93: it needs whole rows, which several workers compute together
select_sum_2048x1536_q4_0&dot_2048x1536_q4_0
  select_sum %93, dot %101, add %102, add %103
moe.sum_in_down taken: 13 kernels, 39.33 MB of weights, 2477.5 µs with, 15 kernels, 39.33 MB of weights, 2480.8 µs without
fuse.router taken: 12 kernels, 39.33 MB of weights, 2476.5 µs with, 13 kernels, 39.33 MB of weights, 2477.5 µs without
fuse.norm_into_dot taken: 9 kernels, 39.34 MB of weights, 2473.9 µs with, 12 kernels, 39.33 MB of weights, 2476.5 µs without
# test kernels T=1 R=1 S=4096 P=128 workers=64
kernels 9
dot_768x2048_q4_0+2
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, dot %12
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, dot %35
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, dot %46, rope %47
  not mul %14: it is computed where it is reduced
  not mul %20: it is computed with another of its operands
  not mul %37: it is computed where it is reduced
  not mul %43: it is computed with another of its operands
  not attend %59: it needs whole rows, which several workers compute together
head_dot_192x768_q4_0+2
  mul %14, reduce_sum %15, div %17, add %18, rsqrt %19, mul %20, mul %21, head_dot %26, rope %30
  mul %14, reduce_sum %15, div %17, add %18, rsqrt %19, mul %20, mul %21, head_dot %32
  mul %37, reduce_sum %38, div %40, add %41, rsqrt %42, mul %43, mul %44
  not head_dot %54: it needs whole rows, which several workers compute together
  not attend %59: it needs whole rows, which several workers compute together
head_dot_512x192_q4_0
  head_dot %54
  not attend %59: it needs whole rows, which several workers compute together
attend_20x576
  attend %59
  not head_dot %60: it needs whole rows, which several workers compute together
head_dot_256x512_q4_0
  head_dot %60
  not dot %63: it needs whole rows, which several workers compute together
dot_2048x5120_q4_0
  dot %63, add %64
  not mul %66: it is computed where it is reduced
  not mul %71: it is computed with another of its operands
  not add %103: it also needs something that is computed later
dot_1536x2048_q4_0&dot_1536x2048_q4_0+1
  mul %66, reduce_sum %67, div %68, add %69, rsqrt %70, mul %71, mul %72, dot %74, sigmoid %75, add %77, topk %78, take %79, reduce_sum %80, max %82, div %83, mul %85
  mul %66, reduce_sum %67, div %68, add %69, rsqrt %70, mul %71, mul %72, dot %95, dot %97, silu %98, mul %99
  not select_dot %88: it needs whole rows, which several workers compute together
  not select_dot %89: it needs whole rows, which several workers compute together
  not select_sum %93: it needs whole rows, which several workers compute together
  not dot %101: it needs whole rows, which several workers compute together
select_dot_1536x2048_q4_0&select_dot_1536x2048_q4_0
  mul %66, reduce_sum %67, div %68, add %69, rsqrt %70, mul %71, mul %72, select_dot %88, select_dot %89, silu %91, mul %92
  not select_sum %93: it needs whole rows, which several workers compute together
select_sum_2048x1536_q4_0&dot_2048x1536_q4_0
  select_sum %93, dot %101, add %102, add %103
moe.sum_in_down taken: 13 kernels, 39.33 MB of weights, 1982.8 µs with, 15 kernels, 39.33 MB of weights, 1984.8 µs without
fuse.router taken: 12 kernels, 39.33 MB of weights, 1981.7 µs with, 13 kernels, 39.33 MB of weights, 1982.8 µs without
fuse.norm_into_dot taken: 9 kernels, 39.34 MB of weights, 1978.7 µs with, 12 kernels, 39.33 MB of weights, 1981.7 µs without
# test kernels T=512 R=1 S=4096 P=128 workers=2
kernels 12
reduce_2048
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10
  not dot %12: fuse.norm_into_dot is off or does not pay here
  not dot %35: fuse.norm_into_dot is off or does not pay here
  not dot %46: fuse.norm_into_dot is off or does not pay here
dot_768x2048_q4_0+2
  dot %12
  dot %35
  dot %46, rope %47
  not mul %14: it is computed where it is reduced
  not mul %20: it is computed with another of its operands
  not mul %37: it is computed where it is reduced
  not mul %43: it is computed with another of its operands
  not attend %59: it needs whole rows, which several workers compute together
reduce_768+1
  mul %14, reduce_sum %15, div %17, add %18, rsqrt %19, mul %20, mul %21
  mul %37, reduce_sum %38, div %40, add %41, rsqrt %42, mul %43, mul %44
  not head_dot %26: fuse.norm_into_dot is off or does not pay here
  not head_dot %32: fuse.norm_into_dot is off or does not pay here
  not attend %59: it needs whole rows, which several workers compute together
head_dot_192x768_q4_0+1
  head_dot %26, rope %30
  head_dot %32
  not head_dot %54: it needs whole rows, which several workers compute together
  not attend %59: it needs whole rows, which several workers compute together
head_dot_512x192_q4_0
  head_dot %54
  not attend %59: it needs whole rows, which several workers compute together
attend_20x576
  attend %59
  not head_dot %60: it needs whole rows, which several workers compute together
head_dot_256x512_q4_0
  head_dot %60
  not dot %63: it needs whole rows, which several workers compute together
dot_2048x5120_q4_0
  dot %63, add %64
  not mul %66: it is computed where it is reduced
  not mul %71: it is computed with another of its operands
  not add %103: it also needs something that is computed later
reduce_2048.2
  mul %66, reduce_sum %67, div %68, add %69, rsqrt %70, mul %71, mul %72
  not dot %74: fuse.norm_into_dot is off or does not pay here
  not select_dot %88: fuse.norm_into_dot is off or does not pay here
  not select_dot %89: fuse.norm_into_dot is off or does not pay here
  not dot %95: fuse.norm_into_dot is off or does not pay here
  not dot %97: fuse.norm_into_dot is off or does not pay here
dot_1536x2048_q4_0&dot_1536x2048_q4_0+1
  dot %74, sigmoid %75, add %77, topk %78, take %79, reduce_sum %80, max %82, div %83, mul %85
  dot %95, dot %97, silu %98, mul %99
  not select_dot %88: it needs whole rows, which several workers compute together
  not select_dot %89: it needs whole rows, which several workers compute together
  not select_sum %93: it needs whole rows, which several workers compute together
  not dot %101: it needs whole rows, which several workers compute together
select_dot_1536x2048_q4_0&select_dot_1536x2048_q4_0
  select_dot %88, select_dot %89, silu %91, mul %92
  not select_sum %93: it needs whole rows, which several workers compute together
select_sum_2048x1536_q4_0&dot_2048x1536_q4_0
  select_sum %93, dot %101, add %102, add %103
moe.sum_in_down taken: 13 kernels, 357.83 MB of weights, 446412.9 µs with, 15 kernels, 357.83 MB of weights, 447070.4 µs without
fuse.router taken: 12 kernels, 357.83 MB of weights, 446409.2 µs with, 13 kernels, 357.83 MB of weights, 446412.9 µs without
fuse.norm_into_dot not taken: 9 kernels, 357.84 MB of weights, 447361.3 µs with, 12 kernels, 357.83 MB of weights, 446409.2 µs without
