test kernels T=1 R=1 S=4096 P=128 workers=2
test kernels T=512 R=1 S=4096 P=128 workers=2
# A whole layer of gpt-oss-20b, one with a window: a step of one token, and a long prompt. All products have biases, those of experts by
# the number of the expert.
graph swa_moe_layer {
  %0 = input x : f32[T, 2880]
  %1 = weight attn_norm : f32[2880]
  %2 = mul %0 %0 : f32[T, 2880]
  %3 = reduce_sum %2 axis=1 : f32[T, 1]
  %4 = const 2880.0 : f32[]
  %5 = div %3 %4 : f32[T, 1]
  %6 = const 1e-5 : f32[]
  %7 = add %5 %6 : f32[T, 1]
  %8 = rsqrt %7 : f32[T, 1]
  %9 = mul %0 %8 : f32[T, 2880]
  %10 = mul %9 %1 : f32[T, 2880]
  %11 = weight attn_q : q8_0[4096, 2880]
  %12 = dot %10 %11 : f32[T, 4096]
  %13 = weight attn_q.bias : f32[4096]
  %14 = add %12 %13 : f32[T, 4096]
  %15 = weight attn_k : q8_0[512, 2880]
  %16 = dot %10 %15 : f32[T, 512]
  %17 = weight attn_k.bias : f32[512]
  %18 = add %16 %17 : f32[T, 512]
  %19 = weight attn_v : q8_0[512, 2880]
  %20 = dot %10 %19 : f32[T, 512]
  %21 = weight attn_v.bias : f32[512]
  %22 = add %20 %21 : f32[T, 512]
  %23 = reshape %14 : f32[T, 64, 64]
  %24 = input pos : i32[T]
  %25 = input tables.0 : f32[T, 32]
  %26 = input tables.1 : f32[T, 32]
  %27 = rope %23 %25 %26 style=halves : f32[T, 64, 64]
  %28 = reshape %18 : f32[T, 8, 64]
  %29 = rope %28 %25 %26 style=halves : f32[T, 8, 64]
  %30 = reshape %29 : f32[T, 512]
  %31 = state k : f16[S, 512]
  %32 = input slots : i32[T]
  %33 = store %31 %30 %32 : f16[S, 512]
  %34 = state v : f16[S, 512]
  %35 = store %34 %22 %32 : f16[S, 512]
  %36 = weight attn_sinks : f32[64]
  %37 = input first : i32[T]
  %38 = input pages : i32[P]
  %39 = attend %27 %33 %35 %24 %37 %38 %36 scale=0.125 kv_heads=8 page=32 window=128 : f32[T, 64, 64]
  %40 = reshape %39 : f32[T, 4096]
  %41 = weight attn_output : q8_0[2880, 4096]
  %42 = dot %40 %41 : f32[T, 2880]
  %43 = weight attn_output.bias : f32[2880]
  %44 = add %42 %43 : f32[T, 2880]
  %45 = add %0 %44 : f32[T, 2880]
  %46 = weight post_attention_norm : f32[2880]
  %47 = mul %45 %45 : f32[T, 2880]
  %48 = reduce_sum %47 axis=1 : f32[T, 1]
  %49 = div %48 %4 : f32[T, 1]
  %50 = add %49 %6 : f32[T, 1]
  %51 = rsqrt %50 : f32[T, 1]
  %52 = mul %45 %51 : f32[T, 2880]
  %53 = mul %52 %46 : f32[T, 2880]
  %54 = weight ffn_gate_inp : f32[32, 2880]
  %55 = dot %53 %54 : f32[T, 32]
  %56 = weight ffn_gate_inp.bias : f32[32]
  %57 = add %55 %56 : f32[T, 32]
  %58 = reduce_max %57 axis=1 : f32[T, 1]
  %59 = sub %57 %58 : f32[T, 32]
  %60 = exp %59 : f32[T, 32]
  %61 = reduce_sum %60 axis=1 : f32[T, 1]
  %62 = div %60 %61 : f32[T, 32]
  %63 = topk %62 k=4 : i32[T, 4]
  %64 = take %62 %63 : f32[T, 4]
  %65 = reduce_sum %64 axis=1 : f32[T, 1]
  %66 = const 6.1035156e-5 : f32[]
  %67 = max %65 %66 : f32[T, 1]
  %68 = div %64 %67 : f32[T, 4]
  %69 = weight ffn_gate_exps : mxfp4[32, 2880, 2880]
  %70 = weight ffn_up_exps : mxfp4[32, 2880, 2880]
  %71 = select_dot %53 %69 %63 : f32[T, 4, 2880]
  %72 = select_dot %53 %70 %63 : f32[T, 4, 2880]
  %73 = weight ffn_gate_exps.bias : f32[32, 2880]
  %74 = rows %73 %63 : f32[T, 4, 2880]
  %75 = add %71 %74 : f32[T, 4, 2880]
  %76 = weight ffn_up_exps.bias : f32[32, 2880]
  %77 = rows %76 %63 : f32[T, 4, 2880]
  %78 = add %72 %77 : f32[T, 4, 2880]
  %79 = weight ffn_down_exps : mxfp4[32, 2880, 2880]
  %80 = const 7.0 : f32[]
  %81 = const -7.0 : f32[]
  %82 = const 1.702 : f32[]
  %83 = const 1.0 : f32[]
  %84 = min %75 %80 : f32[T, 4, 2880]
  %85 = mul %84 %82 : f32[T, 4, 2880]
  %86 = sigmoid %85 : f32[T, 4, 2880]
  %87 = mul %84 %86 : f32[T, 4, 2880]
  %88 = min %78 %80 : f32[T, 4, 2880]
  %89 = max %88 %81 : f32[T, 4, 2880]
  %90 = add %89 %83 : f32[T, 4, 2880]
  %91 = mul %87 %90 : f32[T, 4, 2880]
  %92 = select_dot %91 %79 %63 : f32[T, 4, 2880]
  %93 = weight ffn_down_exps.bias : f32[32, 2880]
  %94 = rows %93 %63 : f32[T, 4, 2880]
  %95 = add %92 %94 : f32[T, 4, 2880]
  %96 = reshape %68 : f32[T, 4, 1]
  %97 = mul %95 %96 : f32[T, 4, 2880]
  %98 = reduce_sum %97 axis=1 : f32[T, 1, 2880]
  %99 = reshape %98 : f32[T, 2880]
  %100 = add %45 %99 : f32[T, 2880]
  output k = %33
  output v = %35
  output x = %100
}
---
# test kernels T=1 R=1 S=4096 P=128 workers=2
kernels 10
reduce_2880
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10
  not dot %12: fuse.norm_into_dot is off or does not pay here
  not dot %16: fuse.norm_into_dot is off or does not pay here
  not dot %20: fuse.norm_into_dot is off or does not pay here
dot_4096x2880_q8_0+2
  dot %12, add %14
  dot %16, add %18
  dot %20, add %22
  not rope %27: it reads a part of a row, or several rows
  not rope %29: it reads a part of a row, or several rows
  not attend %39: it needs whole rows, which several workers compute together
map_64+1
  rope %27
  rope %29
  not attend %39: it needs whole rows, which several workers compute together
attend_64x64
  attend %39
  not dot %42: it needs whole rows, which several workers compute together
dot_2880x4096_q8_0
  dot %42, add %44, add %45
  not mul %47: it is computed where it is reduced
  not mul %52: it is computed with another of its operands
  not add %100: it is computed with another of its operands
reduce_2880.2
  mul %47, reduce_sum %48, div %49, add %50, rsqrt %51, mul %52, mul %53
  not dot %55: fuse.norm_into_dot is off or does not pay here
  not select_dot %71: fuse.norm_into_dot is off or does not pay here
  not select_dot %72: fuse.norm_into_dot is off or does not pay here
dot_32x2880_f32
  dot %55, add %57, reduce_max %58, sub %59, exp %60, reduce_sum %61, div %62, topk %63, take %64, reduce_sum %65, max %67, div %68
  not select_dot %71: it needs whole rows, which several workers compute together
  not select_dot %72: it needs whole rows, which several workers compute together
  not add %75: it is computed with another of its operands
  not add %78: it is computed with another of its operands
  not select_dot %92: it needs whole rows, which several workers compute together
  not add %95: it is computed with another of its operands
  not mul %97: it is computed with another of its operands
select_dot_2880x2880_mxfp4&select_dot_2880x2880_mxfp4
  select_dot %71, select_dot %72, add %75, add %78, min %84, mul %85, sigmoid %86, mul %87, min %88, max %89, add %90, mul %91
  not select_dot %92: it needs whole rows, which several workers compute together
select_dot_2880x2880_mxfp4
  select_dot %92, add %95, mul %97
  not reduce_sum %98: it picks values by index
map_2880
  reduce_sum %98, add %100
fuse.router taken: 10 kernels, 81.64 MB of weights, 5151.2 µs with, 11 kernels, 81.64 MB of weights, 5152.2 µs without
fuse.norm_into_dot not taken: 9 kernels, 81.66 MB of weights, 5153.4 µs with, 10 kernels, 81.64 MB of weights, 5151.2 µs without
# test kernels T=512 R=1 S=4096 P=128 workers=2
kernels 10
reduce_2880
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10
  not dot %12: fuse.norm_into_dot is off or does not pay here
  not dot %16: fuse.norm_into_dot is off or does not pay here
  not dot %20: fuse.norm_into_dot is off or does not pay here
dot_4096x2880_q8_0+2
  dot %12, add %14
  dot %16, add %18
  dot %20, add %22
  not rope %27: it reads a part of a row, or several rows
  not rope %29: it reads a part of a row, or several rows
  not attend %39: it needs whole rows, which several workers compute together
map_64+1
  rope %27
  rope %29
  not attend %39: it needs whole rows, which several workers compute together
attend_64x64
  attend %39
  not dot %42: it needs whole rows, which several workers compute together
dot_2880x4096_q8_0
  dot %42, add %44, add %45
  not mul %47: it is computed where it is reduced
  not mul %52: it is computed with another of its operands
  not add %100: it is computed with another of its operands
reduce_2880.2
  mul %47, reduce_sum %48, div %49, add %50, rsqrt %51, mul %52, mul %53
  not dot %55: fuse.norm_into_dot is off or does not pay here
  not select_dot %71: fuse.norm_into_dot is off or does not pay here
  not select_dot %72: fuse.norm_into_dot is off or does not pay here
dot_32x2880_f32
  dot %55, add %57, reduce_max %58, sub %59, exp %60, reduce_sum %61, div %62, topk %63, take %64, reduce_sum %65, max %67, div %68
  not select_dot %71: it needs whole rows, which several workers compute together
  not select_dot %72: it needs whole rows, which several workers compute together
  not add %75: it is computed with another of its operands
  not add %78: it is computed with another of its operands
  not select_dot %92: it needs whole rows, which several workers compute together
  not add %95: it is computed with another of its operands
  not mul %97: it is computed with another of its operands
select_dot_2880x2880_mxfp4&select_dot_2880x2880_mxfp4
  select_dot %71, select_dot %72, add %75, add %78, min %84, mul %85, sigmoid %86, mul %87, min %88, max %89, add %90, mul %91
  not select_dot %92: it needs whole rows, which several workers compute together
select_dot_2880x2880_mxfp4
  select_dot %92, add %95, mul %97
  not reduce_sum %98: it picks values by index
map_2880
  reduce_sum %98, add %100
fuse.router taken: 10 kernels, 522.42 MB of weights, 815502.9 µs with, 11 kernels, 522.42 MB of weights, 815504.6 µs without
fuse.norm_into_dot not taken: 9 kernels, 522.44 MB of weights, 817344.4 µs with, 10 kernels, 522.42 MB of weights, 815502.9 µs without
