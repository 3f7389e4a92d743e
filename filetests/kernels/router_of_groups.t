test kernels T=1 workers=2
# The router of DeepSeek-V3: 4 of 8 groups of experts, then 8 of their 128 experts. The rows change twice, from experts to groups and
# back, so that it takes five kernels; a selection that knows groups would take one.
graph router {
  %0 = input x : f32[T, 7168]
  %1 = weight ffn_gate_inp : f32[256, 7168]
  %2 = dot %0 %1 : f32[T, 256]
  %3 = sigmoid %2 : f32[T, 256]
  %4 = weight exp_probs_b.bias : f32[256]
  %5 = add %3 %4 : f32[T, 256]
  %6 = reshape %5 : f32[T, 8, 32]
  %7 = topk %6 k=2 : i32[T, 8, 2]
  %8 = take %6 %7 : f32[T, 8, 2]
  %9 = reduce_sum %8 axis=2 : f32[T, 8, 1]
  %10 = reshape %9 : f32[T, 8]
  %11 = topk %10 k=4 : i32[T, 4]
  %12 = take %10 %11 : f32[T, 4]
  %13 = neg %12 : f32[T, 4]
  %14 = reduce_max %13 axis=1 : f32[T, 1]
  %15 = add %10 %14 : f32[T, 8]
  %16 = const 0.0 : f32[]
  %17 = min %15 %16 : f32[T, 8]
  %18 = const 1e30 : f32[]
  %19 = mul %17 %18 : f32[T, 8]
  %20 = reshape %19 : f32[T, 8, 1]
  %21 = add %6 %20 : f32[T, 8, 32]
  %22 = reshape %21 : f32[T, 256]
  %23 = topk %22 k=8 : i32[T, 8]
  %24 = take %3 %23 : f32[T, 8]
  %25 = reduce_sum %24 axis=1 : f32[T, 1]
  %26 = const 6.1035156e-5 : f32[]
  %27 = max %25 %26 : f32[T, 1]
  %28 = div %24 %27 : f32[T, 8]
  %29 = const 2.5 : f32[]
  %30 = mul %28 %29 : f32[T, 8]
  output ids = %23
  output weights = %30
}
---
kernels 5
dot_256x7168_f32
  dot %2, sigmoid %3, add %5
  not topk %7: it reads a part of a row, or several rows
  not take %8: it is computed with another of its operands
  not add %21: it reads a part of a row, or several rows
  not take %24: it is computed with another of its operands
reduce_32
  topk %7, take %8, reduce_sum %9
  not topk %11: it reads a part of a row, or several rows
  not take %12: it is computed with another of its operands
  not add %15: it is computed with another of its operands
reduce_8
  topk %11, take %12, neg %13, reduce_max %14, add %15, min %17, mul %19
  not add %21: it reads a part of a row, or several rows
map_32
  add %21
  not topk %23: it reads a part of a row, or several rows
reduce_256
  topk %23, take %24, reduce_sum %25, max %27, div %28, mul %30
