test kernels T=1 R=1 S=4096 P=128 workers=2
test kernels T=512 R=1 S=4096 P=128 workers=2
# A whole layer of Ministral 3 8B: a step of one token, and a long prompt. Rotated queries are multiplied by a factor of their position,
# which is computed once for all layers, in the kernel of their product.
graph gqa_dense_layer {
  %0 = input x : f32[T, 4096]
  %1 = weight attn_norm : f32[4096]
  %2 = mul %0 %0 : f32[T, 4096]
  %3 = reduce_sum %2 axis=1 : f32[T, 1]
  %4 = const 4096.0 : f32[]
  %5 = div %3 %4 : f32[T, 1]
  %6 = const 1e-5 : f32[]
  %7 = add %5 %6 : f32[T, 1]
  %8 = rsqrt %7 : f32[T, 1]
  %9 = mul %0 %8 : f32[T, 4096]
  %10 = mul %9 %1 : f32[T, 4096]
  %11 = weight attn_q : q4_0[4096, 4096]
  %12 = dot %10 %11 : f32[T, 4096]
  %13 = weight attn_k : q4_0[1024, 4096]
  %14 = dot %10 %13 : f32[T, 1024]
  %15 = weight attn_v : q4_0[1024, 4096]
  %16 = dot %10 %15 : f32[T, 1024]
  %17 = reshape %12 : f32[T, 32, 128]
  %18 = input pos : i32[T]
  %19 = input tables.0 : f32[T, 64]
  %20 = input tables.1 : f32[T, 64]
  %21 = rope %17 %19 %20 style=pairs : f32[T, 32, 128]
  %22 = input tables.2 : f32[T, 1, 1]
  %23 = mul %21 %22 : f32[T, 32, 128]
  %24 = reshape %14 : f32[T, 8, 128]
  %25 = rope %24 %19 %20 style=pairs : f32[T, 8, 128]
  %26 = reshape %25 : f32[T, 1024]
  %27 = state k : f16[S, 1024]
  %28 = input slots : i32[T]
  %29 = store %27 %26 %28 : f16[S, 1024]
  %30 = state v : f16[S, 1024]
  %31 = store %30 %16 %28 : f16[S, 1024]
  %32 = input first : i32[T]
  %33 = input pages : i32[P]
  %34 = attend %23 %29 %31 %18 %32 %33 scale=0.088388346 kv_heads=8 page=32 : f32[T, 32, 128]
  %35 = reshape %34 : f32[T, 4096]
  %36 = weight attn_output : q4_0[4096, 4096]
  %37 = dot %35 %36 : f32[T, 4096]
  %38 = add %0 %37 : f32[T, 4096]
  %39 = weight ffn_norm : f32[4096]
  %40 = mul %38 %38 : f32[T, 4096]
  %41 = reduce_sum %40 axis=1 : f32[T, 1]
  %42 = div %41 %4 : f32[T, 1]
  %43 = add %42 %6 : f32[T, 1]
  %44 = rsqrt %43 : f32[T, 1]
  %45 = mul %38 %44 : f32[T, 4096]
  %46 = mul %45 %39 : f32[T, 4096]
  %47 = weight ffn_gate : q4_0[14336, 4096]
  %48 = dot %46 %47 : f32[T, 14336]
  %49 = weight ffn_up : q4_0[14336, 4096]
  %50 = dot %46 %49 : f32[T, 14336]
  %51 = silu %48 : f32[T, 14336]
  %52 = mul %51 %50 : f32[T, 14336]
  %53 = weight ffn_down : q4_0[4096, 14336]
  %54 = dot %52 %53 : f32[T, 4096]
  %55 = add %38 %54 : f32[T, 4096]
  output k = %29
  output v = %31
  output x = %55
}
---
# test kernels T=1 R=1 S=4096 P=128 workers=2
kernels 6
head_dot_128x4096_q4_0+1
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, dot %14
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, head_dot %17, rope %21, mul %23
  not attend %35: it needs whole rows, which several workers compute together
head_dot_128x4096_q4_0
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, head_dot %25, rope %26
  not attend %35: it needs whole rows, which several workers compute together
attend_32x128
  attend %35
  not dot %38: it needs whole rows, which several workers compute together
dot_4096x4096_q4_0
  dot %38, add %39
  not mul %41: it is computed where it is reduced
  not mul %46: it is computed with another of its operands
  not add %56: it also needs something that is computed later
dot_14336x4096_q4_0&dot_14336x4096_q4_0
  mul %41, reduce_sum %42, div %43, add %44, rsqrt %45, mul %46, mul %47, dot %49, dot %51, silu %52, mul %53
  not dot %55: it needs whole rows, which several workers compute together
dot_4096x14336_q4_0
  dot %55, add %56
fuse.norm_into_dot taken: 6 kernels, 122.73 MB of weights, 7686.6 µs with, 7 kernels, 122.72 MB of weights, 7686.9 µs without
# test kernels T=512 R=1 S=4096 P=128 workers=2
kernels 7
reduce_4096
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10
  not dot %14: fuse.norm_into_dot is off or does not pay here
  not head_dot %17: fuse.norm_into_dot is off or does not pay here
  not head_dot %25: fuse.norm_into_dot is off or does not pay here
head_dot_128x4096_q4_0+2
  dot %14
  head_dot %17, rope %21, mul %23
  head_dot %25, rope %26
  not attend %35: it needs whole rows, which several workers compute together
attend_32x128
  attend %35
  not dot %38: it needs whole rows, which several workers compute together
dot_4096x4096_q4_0
  dot %38, add %39
  not mul %41: it is computed where it is reduced
  not mul %46: it is computed with another of its operands
  not add %56: it also needs something that is computed later
reduce_4096
  mul %41, reduce_sum %42, div %43, add %44, rsqrt %45, mul %46, mul %47
  not dot %49: fuse.norm_into_dot is off or does not pay here
  not dot %51: fuse.norm_into_dot is off or does not pay here
dot_14336x4096_q4_0&dot_14336x4096_q4_0
  dot %49, dot %51, silu %52, mul %53
  not dot %55: it needs whole rows, which several workers compute together
dot_4096x14336_q4_0
  dot %55, add %56
fuse.norm_into_dot not taken: 6 kernels, 122.73 MB of weights, 1400765.2 µs with, 7 kernels, 122.72 MB of weights, 1399020.1 µs without
