test kernels T=1 R=1 S=4096 P=128 workers=2
test kernels T=512 R=1 S=4096 P=128 workers=2
# A whole layer of Qwen3-30B-A3B: a step of one token, and a long prompt. Each head of queries and keys has a norm, and is one row of it.
graph gqa_moe_layer {
  %0 = input x : f32[T, 2048]
  %1 = weight attn_norm : f32[2048]
  %2 = mul %0 %0 : f32[T, 2048]
  %3 = reduce_sum %2 axis=1 : f32[T, 1]
  %4 = const 2048.0 : f32[]
  %5 = div %3 %4 : f32[T, 1]
  %6 = const 1e-6 : f32[]
  %7 = add %5 %6 : f32[T, 1]
  %8 = rsqrt %7 : f32[T, 1]
  %9 = mul %0 %8 : f32[T, 2048]
  %10 = mul %9 %1 : f32[T, 2048]
  %11 = weight attn_q : q4_0[4096, 2048]
  %12 = dot %10 %11 : f32[T, 4096]
  %13 = weight attn_k : q4_0[512, 2048]
  %14 = dot %10 %13 : f32[T, 512]
  %15 = weight attn_v : q4_0[512, 2048]
  %16 = dot %10 %15 : f32[T, 512]
  %17 = reshape %12 : f32[T, 32, 128]
  %18 = weight attn_q_norm : f32[128]
  %19 = mul %17 %17 : f32[T, 32, 128]
  %20 = reduce_sum %19 axis=2 : f32[T, 32, 1]
  %21 = const 128.0 : f32[]
  %22 = div %20 %21 : f32[T, 32, 1]
  %23 = add %22 %6 : f32[T, 32, 1]
  %24 = rsqrt %23 : f32[T, 32, 1]
  %25 = mul %17 %24 : f32[T, 32, 128]
  %26 = mul %25 %18 : f32[T, 32, 128]
  %27 = input pos : i32[T]
  %28 = input tables.0 : f32[T, 64]
  %29 = input tables.1 : f32[T, 64]
  %30 = rope %26 %28 %29 style=halves : f32[T, 32, 128]
  %31 = reshape %14 : f32[T, 4, 128]
  %32 = weight attn_k_norm : f32[128]
  %33 = mul %31 %31 : f32[T, 4, 128]
  %34 = reduce_sum %33 axis=2 : f32[T, 4, 1]
  %35 = div %34 %21 : f32[T, 4, 1]
  %36 = add %35 %6 : f32[T, 4, 1]
  %37 = rsqrt %36 : f32[T, 4, 1]
  %38 = mul %31 %37 : f32[T, 4, 128]
  %39 = mul %38 %32 : f32[T, 4, 128]
  %40 = rope %39 %28 %29 style=halves : f32[T, 4, 128]
  %41 = reshape %40 : f32[T, 512]
  %42 = state k : f16[S, 512]
  %43 = input slots : i32[T]
  %44 = store %42 %41 %43 : f16[S, 512]
  %45 = state v : f16[S, 512]
  %46 = store %45 %16 %43 : f16[S, 512]
  %47 = input first : i32[T]
  %48 = input pages : i32[P]
  %49 = attend %30 %44 %46 %27 %47 %48 scale=0.088388346 kv_heads=4 page=32 : f32[T, 32, 128]
  %50 = reshape %49 : f32[T, 4096]
  %51 = weight attn_output : q4_0[2048, 4096]
  %52 = dot %50 %51 : f32[T, 2048]
  %53 = add %0 %52 : f32[T, 2048]
  %54 = weight ffn_norm : f32[2048]
  %55 = mul %53 %53 : f32[T, 2048]
  %56 = reduce_sum %55 axis=1 : f32[T, 1]
  %57 = div %56 %4 : f32[T, 1]
  %58 = add %57 %6 : f32[T, 1]
  %59 = rsqrt %58 : f32[T, 1]
  %60 = mul %53 %59 : f32[T, 2048]
  %61 = mul %60 %54 : f32[T, 2048]
  %62 = weight ffn_gate_inp : f32[128, 2048]
  %63 = dot %61 %62 : f32[T, 128]
  %64 = reduce_max %63 axis=1 : f32[T, 1]
  %65 = sub %63 %64 : f32[T, 128]
  %66 = exp %65 : f32[T, 128]
  %67 = reduce_sum %66 axis=1 : f32[T, 1]
  %68 = div %66 %67 : f32[T, 128]
  %69 = topk %68 k=8 : i32[T, 8]
  %70 = take %68 %69 : f32[T, 8]
  %71 = reduce_sum %70 axis=1 : f32[T, 1]
  %72 = const 6.1035156e-5 : f32[]
  %73 = max %71 %72 : f32[T, 1]
  %74 = div %70 %73 : f32[T, 8]
  %75 = weight ffn_gate_exps : q4_0[128, 768, 2048]
  %76 = weight ffn_up_exps : q4_0[128, 768, 2048]
  %77 = select_dot %61 %75 %69 : f32[T, 8, 768]
  %78 = select_dot %61 %76 %69 : f32[T, 8, 768]
  %79 = weight ffn_down_exps : q4_0[128, 2048, 768]
  %80 = silu %77 : f32[T, 8, 768]
  %81 = mul %80 %78 : f32[T, 8, 768]
  %82 = select_dot %81 %79 %69 : f32[T, 8, 2048]
  %83 = reshape %74 : f32[T, 8, 1]
  %84 = mul %82 %83 : f32[T, 8, 2048]
  %85 = reduce_sum %84 axis=1 : f32[T, 1, 2048]
  %86 = reshape %85 : f32[T, 2048]
  %87 = add %53 %86 : f32[T, 2048]
  output k = %44
  output v = %46
  output x = %87
}
---
# test kernels T=1 R=1 S=4096 P=128 workers=2
kernels 8
dot_4096x2048_q4_0+2
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, dot %12
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, dot %14
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, dot %16
  not mul %19: it reads a part of a row, or several rows
  not mul %25: it is computed with another of its operands
  not mul %33: it reads a part of a row, or several rows
  not mul %38: it is computed with another of its operands
  not attend %49: it needs whole rows, which several workers compute together
reduce_128+1
  mul %19, reduce_sum %20, div %22, add %23, rsqrt %24, mul %25, mul %26, rope %30
  mul %33, reduce_sum %34, div %35, add %36, rsqrt %37, mul %38, mul %39, rope %40
  not attend %49: it needs whole rows, which several workers compute together
attend_32x128
  attend %49
  not dot %52: it needs whole rows, which several workers compute together
dot_2048x4096_q4_0
  dot %52, add %53
  not mul %55: it is computed where it is reduced
  not mul %60: it is computed with another of its operands
  not add %83: it also needs something that is computed later
dot_128x2048_f32
  mul %55, reduce_sum %56, div %57, add %58, rsqrt %59, mul %60, mul %61, dot %63
  not reduce_max %64: fuse.router is off or does not pay here
  not sub %65: it is computed with another of its operands
reduce_128
  reduce_max %64, sub %65, exp %66, reduce_sum %67, div %68, topk %69, take %70, reduce_sum %71, max %73, div %74
  not select_dot %77: it needs whole rows, which several workers compute together
  not select_dot %78: it needs whole rows, which several workers compute together
  not select_sum %82: it needs whole rows, which several workers compute together
select_dot_768x2048_q4_0&select_dot_768x2048_q4_0
  mul %55, reduce_sum %56, div %57, add %58, rsqrt %59, mul %60, mul %61, select_dot %77, select_dot %78, silu %80, mul %81
  not select_sum %82: it needs whole rows, which several workers compute together
select_sum_2048x768_q4_0
  select_sum %82, add %83
moe.sum_in_down taken: 10 kernels, 32.92 MB of weights, 2073.5 µs with, 11 kernels, 32.92 MB of weights, 2077.0 µs without
fuse.router not taken: 9 kernels, 32.92 MB of weights, 2138.0 µs with, 10 kernels, 32.92 MB of weights, 2073.5 µs without
fuse.norm_into_dot taken: 8 kernels, 32.92 MB of weights, 2071.8 µs with, 10 kernels, 32.92 MB of weights, 2073.5 µs without
# test kernels T=512 R=1 S=4096 P=128 workers=2
kernels 9
reduce_2048
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10
  not dot %12: fuse.norm_into_dot is off or does not pay here
  not dot %14: fuse.norm_into_dot is off or does not pay here
  not dot %16: fuse.norm_into_dot is off or does not pay here
dot_4096x2048_q4_0+2
  dot %12
  dot %14
  dot %16
  not mul %19: it reads a part of a row, or several rows
  not mul %25: it is computed with another of its operands
  not mul %33: it reads a part of a row, or several rows
  not mul %38: it is computed with another of its operands
  not attend %49: it needs whole rows, which several workers compute together
reduce_128+1
  mul %19, reduce_sum %20, div %22, add %23, rsqrt %24, mul %25, mul %26, rope %30
  mul %33, reduce_sum %34, div %35, add %36, rsqrt %37, mul %38, mul %39, rope %40
  not attend %49: it needs whole rows, which several workers compute together
attend_32x128
  attend %49
  not dot %52: it needs whole rows, which several workers compute together
dot_2048x4096_q4_0
  dot %52, add %53
  not mul %55: it is computed where it is reduced
  not mul %60: it is computed with another of its operands
  not add %83: it also needs something that is computed later
reduce_2048.2
  mul %55, reduce_sum %56, div %57, add %58, rsqrt %59, mul %60, mul %61
  not dot %63: fuse.norm_into_dot is off or does not pay here
  not select_dot %77: fuse.norm_into_dot is off or does not pay here
  not select_dot %78: fuse.norm_into_dot is off or does not pay here
dot_128x2048_f32
  dot %63, reduce_max %64, sub %65, exp %66, reduce_sum %67, div %68, topk %69, take %70, reduce_sum %71, max %73, div %74
  not select_dot %77: it needs whole rows, which several workers compute together
  not select_dot %78: it needs whole rows, which several workers compute together
  not select_sum %82: it needs whole rows, which several workers compute together
select_dot_768x2048_q4_0&select_dot_768x2048_q4_0
  select_dot %77, select_dot %78, silu %80, mul %81
  not select_sum %82: it needs whole rows, which several workers compute together
select_sum_2048x768_q4_0
  select_sum %82, add %83
moe.sum_in_down taken: 10 kernels, 351.42 MB of weights, 370151.3 µs with, 11 kernels, 351.42 MB of weights, 371463.2 µs without
fuse.router taken: 9 kernels, 351.42 MB of weights, 370147.6 µs with, 10 kernels, 351.42 MB of weights, 370151.3 µs without
fuse.norm_into_dot not taken: 7 kernels, 351.43 MB of weights, 371018.9 µs with, 9 kernels, 351.42 MB of weights, 370147.6 µs without
