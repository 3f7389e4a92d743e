test kernels T=4
# Two reductions over the same row, one kernel.
graph softmax {
  %0 = input x : f32[T, 2048]
  %1 = reduce_max %0 axis=1 : f32[T, 1]
  %2 = sub %0 %1 : f32[T, 2048]
  %3 = exp %2 : f32[T, 2048]
  %4 = reduce_sum %3 axis=1 : f32[T, 1]
  %5 = div %3 %4 : f32[T, 2048]
  output y = %5
}
---
kernels 1
reduce_2048
  reduce_max %1, sub %2, exp %3, reduce_sum %4, div %5
