test kernels T=1 R=1 S=4096 P=128 workers=2
# The feed-forward block of GLM-4.7-Flash: route beside the shared gate and up, the chosen gates and ups, all downs.
graph moe {
  %0 = const 2048.0 : f32[]
  %1 = const 1e-5 : f32[]
  %2 = input x : f32[T, 2048]
  %3 = weight ffn_norm : f32[2048]
  %4 = mul %2 %2 : f32[T, 2048]
  %5 = reduce_sum %4 axis=1 : f32[T, 1]
  %6 = div %5 %0 : f32[T, 1]
  %7 = add %6 %1 : f32[T, 1]
  %8 = rsqrt %7 : f32[T, 1]
  %9 = mul %2 %8 : f32[T, 2048]
  %10 = mul %9 %3 : f32[T, 2048]
  %11 = weight ffn_gate_inp : f32[64, 2048]
  %12 = dot %10 %11 : f32[T, 64]
  %13 = sigmoid %12 : f32[T, 64]
  %14 = weight exp_probs_b.bias : f32[64]
  %15 = add %13 %14 : f32[T, 64]
  %16 = topk %15 k=4 : i32[T, 4]
  %17 = take %13 %16 : f32[T, 4]
  %18 = reduce_sum %17 axis=1 : f32[T, 1]
  %19 = const 6.1035156e-5 : f32[]
  %20 = max %18 %19 : f32[T, 1]
  %21 = div %17 %20 : f32[T, 4]
  %22 = const 1.8 : f32[]
  %23 = mul %21 %22 : f32[T, 4]
  %24 = weight ffn_gate_exps : q4_0[64, 1536, 2048]
  %25 = weight ffn_up_exps : q4_0[64, 1536, 2048]
  %26 = select_dot %10 %24 %16 : f32[T, 4, 1536]
  %27 = select_dot %10 %25 %16 : f32[T, 4, 1536]
  %28 = weight ffn_down_exps : q4_0[64, 2048, 1536]
  %29 = silu %26 : f32[T, 4, 1536]
  %30 = mul %29 %27 : f32[T, 4, 1536]
  %31 = select_dot %30 %28 %16 : f32[T, 4, 2048]
  %32 = reshape %23 : f32[T, 4, 1]
  %33 = mul %31 %32 : f32[T, 4, 2048]
  %34 = reduce_sum %33 axis=1 : f32[T, 1, 2048]
  %35 = reshape %34 : f32[T, 2048]
  %36 = weight ffn_gate_shexp : q4_0[1536, 2048]
  %37 = dot %10 %36 : f32[T, 1536]
  %38 = weight ffn_up_shexp : q4_0[1536, 2048]
  %39 = dot %10 %38 : f32[T, 1536]
  %40 = silu %37 : f32[T, 1536]
  %41 = mul %40 %39 : f32[T, 1536]
  %42 = weight ffn_down_shexp : q4_0[2048, 1536]
  %43 = dot %41 %42 : f32[T, 2048]
  %44 = add %35 %43 : f32[T, 2048]
  %45 = add %2 %44 : f32[T, 2048]
  output x = %45
}
---
kernels 3
dot_1536x2048_q4_0&dot_1536x2048_q4_0+1
  mul %4, reduce_sum %5, div %6, add %7, rsqrt %8, mul %9, mul %10, dot %12, sigmoid %13, add %15, topk %16, take %17, reduce_sum %18, max %20, div %21, mul %23
  mul %4, reduce_sum %5, div %6, add %7, rsqrt %8, mul %9, mul %10, dot %33, dot %35, silu %36, mul %37
  not select_dot %26: it needs whole rows, which several workers compute together
  not select_dot %27: it needs whole rows, which several workers compute together
  not select_sum %31: it needs whole rows, which several workers compute together
  not dot %39: it needs whole rows, which several workers compute together
select_dot_1536x2048_q4_0&select_dot_1536x2048_q4_0
  mul %4, reduce_sum %5, div %6, add %7, rsqrt %8, mul %9, mul %10, select_dot %26, select_dot %27, silu %29, mul %30
  not select_sum %31: it needs whole rows, which several workers compute together
select_sum_2048x1536_q4_0&dot_2048x1536_q4_0
  select_sum %31, dot %39, add %40, add %41
moe.sum_in_down taken: 5 kernels, 27.07 MB of weights, 1700.3 µs with, 7 kernels, 27.07 MB of weights, 1703.5 µs without
fuse.router taken: 4 kernels, 27.07 MB of weights, 1699.3 µs with, 5 kernels, 27.07 MB of weights, 1700.3 µs without
fuse.norm_into_dot taken: 3 kernels, 27.08 MB of weights, 1699.1 µs with, 4 kernels, 27.07 MB of weights, 1699.3 µs without
