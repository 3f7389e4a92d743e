test kernels T=1 R=1 S=4096 P=128 workers=2
# The attention block of GLM-4.7-Flash, a step of one token. Each kernel needs whole rows of what the one before makes.
graph mla_attention {
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
  output kv = %48
  output x = %61
}
---
kernels 6
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
fuse.norm_into_dot taken: 6 kernels, 12.25 MB of weights, 774.8 µs with, 8 kernels, 12.25 MB of weights, 777.2 µs without
