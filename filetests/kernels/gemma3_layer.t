test kernels T=1 R=1 S=4096 P=128 workers=2
test kernels T=512 R=1 S=4096 P=128 workers=2
# A whole layer of Gemma 3 1B, one with a window: a step of one token, and a long prompt. Norms end both branches; the first is one kernel with
# the residual and the next norm.
graph swa_dense_layer {
  %0 = input x : f32[T, 1152]
  %1 = weight attn_norm : f32[1152]
  %2 = mul %0 %0 : f32[T, 1152]
  %3 = reduce_sum %2 axis=1 : f32[T, 1]
  %4 = const 1152.0 : f32[]
  %5 = div %3 %4 : f32[T, 1]
  %6 = const 1e-6 : f32[]
  %7 = add %5 %6 : f32[T, 1]
  %8 = rsqrt %7 : f32[T, 1]
  %9 = mul %0 %8 : f32[T, 1152]
  %10 = mul %9 %1 : f32[T, 1152]
  %11 = weight attn_q : q4_0[1024, 1152]
  %12 = dot %10 %11 : f32[T, 1024]
  %13 = weight attn_k : q4_0[256, 1152]
  %14 = dot %10 %13 : f32[T, 256]
  %15 = weight attn_v : q4_0[256, 1152]
  %16 = dot %10 %15 : f32[T, 256]
  %17 = reshape %12 : f32[T, 4, 256]
  %18 = weight attn_q_norm : f32[256]
  %19 = mul %17 %17 : f32[T, 4, 256]
  %20 = reduce_sum %19 axis=2 : f32[T, 4, 1]
  %21 = const 256.0 : f32[]
  %22 = div %20 %21 : f32[T, 4, 1]
  %23 = add %22 %6 : f32[T, 4, 1]
  %24 = rsqrt %23 : f32[T, 4, 1]
  %25 = mul %17 %24 : f32[T, 4, 256]
  %26 = mul %25 %18 : f32[T, 4, 256]
  %27 = input pos : i32[T]
  %28 = input tables.0 : f32[T, 128]
  %29 = input tables.1 : f32[T, 128]
  %30 = rope %26 %28 %29 style=halves : f32[T, 4, 256]
  %31 = reshape %14 : f32[T, 1, 256]
  %32 = weight attn_k_norm : f32[256]
  %33 = mul %31 %31 : f32[T, 1, 256]
  %34 = reduce_sum %33 axis=2 : f32[T, 1, 1]
  %35 = div %34 %21 : f32[T, 1, 1]
  %36 = add %35 %6 : f32[T, 1, 1]
  %37 = rsqrt %36 : f32[T, 1, 1]
  %38 = mul %31 %37 : f32[T, 1, 256]
  %39 = mul %38 %32 : f32[T, 1, 256]
  %40 = rope %39 %28 %29 style=halves : f32[T, 1, 256]
  %41 = reshape %40 : f32[T, 256]
  %42 = state k : f16[S, 256]
  %43 = input slots : i32[T]
  %44 = store %42 %41 %43 : f16[S, 256]
  %45 = state v : f16[S, 256]
  %46 = store %45 %16 %43 : f16[S, 256]
  %47 = input first : i32[T]
  %48 = input pages : i32[P]
  %49 = attend %30 %44 %46 %27 %47 %48 scale=0.0625 kv_heads=1 page=32 window=512 : f32[T, 4, 256]
  %50 = reshape %49 : f32[T, 1024]
  %51 = weight attn_output : q4_0[1152, 1024]
  %52 = dot %50 %51 : f32[T, 1152]
  %53 = weight post_attention_norm : f32[1152]
  %54 = mul %52 %52 : f32[T, 1152]
  %55 = reduce_sum %54 axis=1 : f32[T, 1]
  %56 = div %55 %4 : f32[T, 1]
  %57 = add %56 %6 : f32[T, 1]
  %58 = rsqrt %57 : f32[T, 1]
  %59 = mul %52 %58 : f32[T, 1152]
  %60 = mul %59 %53 : f32[T, 1152]
  %61 = add %0 %60 : f32[T, 1152]
  %62 = weight ffn_norm : f32[1152]
  %63 = mul %61 %61 : f32[T, 1152]
  %64 = reduce_sum %63 axis=1 : f32[T, 1]
  %65 = div %64 %4 : f32[T, 1]
  %66 = add %65 %6 : f32[T, 1]
  %67 = rsqrt %66 : f32[T, 1]
  %68 = mul %61 %67 : f32[T, 1152]
  %69 = mul %68 %62 : f32[T, 1152]
  %70 = weight ffn_gate : q4_0[6912, 1152]
  %71 = dot %69 %70 : f32[T, 6912]
  %72 = weight ffn_up : q4_0[6912, 1152]
  %73 = dot %69 %72 : f32[T, 6912]
  %74 = const 0.044715 : f32[]
  %75 = const 1.5957692 : f32[]
  %76 = const 1.0 : f32[]
  %77 = mul %71 %71 : f32[T, 6912]
  %78 = mul %77 %74 : f32[T, 6912]
  %79 = add %78 %76 : f32[T, 6912]
  %80 = mul %71 %79 : f32[T, 6912]
  %81 = mul %80 %75 : f32[T, 6912]
  %82 = sigmoid %81 : f32[T, 6912]
  %83 = mul %71 %82 : f32[T, 6912]
  %84 = mul %83 %73 : f32[T, 6912]
  %85 = weight ffn_down : q4_0[1152, 6912]
  %86 = dot %84 %85 : f32[T, 1152]
  %87 = weight post_ffw_norm : f32[1152]
  %88 = mul %86 %86 : f32[T, 1152]
  %89 = reduce_sum %88 axis=1 : f32[T, 1]
  %90 = div %89 %4 : f32[T, 1]
  %91 = add %90 %6 : f32[T, 1]
  %92 = rsqrt %91 : f32[T, 1]
  %93 = mul %86 %92 : f32[T, 1152]
  %94 = mul %93 %87 : f32[T, 1152]
  %95 = add %61 %94 : f32[T, 1152]
  output k = %44
  output v = %46
  output x = %95
}
---
# test kernels T=1 R=1 S=4096 P=128 workers=2
kernels 8
dot_1024x1152_q4_0+2
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, dot %12
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, dot %14
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, dot %16
  not mul %19: it reads a part of a row, or several rows
  not mul %25: it is computed with another of its operands
  not mul %33: it is computed where it is reduced
  not mul %38: it is computed with another of its operands
  not attend %49: it needs whole rows, which several workers compute together
reduce_256+1
  mul %19, reduce_sum %20, div %22, add %23, rsqrt %24, mul %25, mul %26, rope %30
  mul %33, reduce_sum %34, div %35, add %36, rsqrt %37, mul %38, mul %39, rope %40
  not attend %49: it needs whole rows, which several workers compute together
attend_4x256
  attend %49
  not dot %52: it needs whole rows, which several workers compute together
dot_1152x1024_q4_0
  dot %52
  not mul %54: it is computed where it is reduced
  not mul %59: it is computed with another of its operands
reduce_1152
  mul %54, reduce_sum %55, div %56, add %57, rsqrt %58, mul %59, mul %60, add %61, mul %63, reduce_sum %64, div %65, add %66, rsqrt %67, mul %68, mul %69
  not dot %71: other kernels read the values from memory, too
  not dot %73: other kernels read the values from memory, too
  not add %95: it is computed with another of its operands
dot_6912x1152_q4_0&dot_6912x1152_q4_0
  dot %71, dot %73, mul %77, mul %78, add %79, mul %80, mul %81, sigmoid %82, mul %83, mul %84
  not dot %86: it needs whole rows, which several workers compute together
dot_1152x6912_q4_0
  dot %86
  not mul %88: it is computed where it is reduced
  not mul %93: it is computed with another of its operands
reduce_1152.2
  mul %88, reduce_sum %89, div %90, add %91, rsqrt %92, mul %93, mul %94, add %95
fuse.norm_into_dot taken: 8 kernels, 15.12 MB of weights, 959.4 µs with, 9 kernels, 15.12 MB of weights, 960.6 µs without
# test kernels T=512 R=1 S=4096 P=128 workers=2
kernels 9
reduce_1152
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10
  not dot %12: fuse.norm_into_dot is off or does not pay here
  not dot %14: fuse.norm_into_dot is off or does not pay here
  not dot %16: fuse.norm_into_dot is off or does not pay here
dot_1024x1152_q4_0+2
  dot %12
  dot %14
  dot %16
  not mul %19: it reads a part of a row, or several rows
  not mul %25: it is computed with another of its operands
  not mul %33: it is computed where it is reduced
  not mul %38: it is computed with another of its operands
  not attend %49: it needs whole rows, which several workers compute together
reduce_256+1
  mul %19, reduce_sum %20, div %22, add %23, rsqrt %24, mul %25, mul %26, rope %30
  mul %33, reduce_sum %34, div %35, add %36, rsqrt %37, mul %38, mul %39, rope %40
  not attend %49: it needs whole rows, which several workers compute together
attend_4x256
  attend %49
  not dot %52: it needs whole rows, which several workers compute together
dot_1152x1024_q4_0
  dot %52
  not mul %54: it is computed where it is reduced
  not mul %59: it is computed with another of its operands
reduce_1152.2
  mul %54, reduce_sum %55, div %56, add %57, rsqrt %58, mul %59, mul %60, add %61, mul %63, reduce_sum %64, div %65, add %66, rsqrt %67, mul %68, mul %69
  not dot %71: other kernels read the values from memory, too
  not dot %73: other kernels read the values from memory, too
  not add %95: it is computed with another of its operands
dot_6912x1152_q4_0&dot_6912x1152_q4_0
  dot %71, dot %73, mul %77, mul %78, add %79, mul %80, mul %81, sigmoid %82, mul %83, mul %84
  not dot %86: it needs whole rows, which several workers compute together
dot_1152x6912_q4_0
  dot %86
  not mul %88: it is computed where it is reduced
  not mul %93: it is computed with another of its operands
reduce_1152.3
  mul %88, reduce_sum %89, div %90, add %91, rsqrt %92, mul %93, mul %94, add %95
fuse.norm_into_dot not taken: 8 kernels, 15.12 MB of weights, 174241.0 µs with, 9 kernels, 15.12 MB of weights, 174119.3 µs without
