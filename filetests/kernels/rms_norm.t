test kernels T=4
# A norm by itself.
graph rms_norm {
  %0 = input x : f32[T, 2048]
  %1 = weight norm : f32[2048]
  %2 = mul %0 %0 : f32[T, 2048]
  %3 = reduce_sum %2 axis=1 : f32[T, 1]
  %4 = const 2048.0 : f32[]
  %5 = div %3 %4 : f32[T, 1]
  %6 = const 1e-5 : f32[]
  %7 = add %5 %6 : f32[T, 1]
  %8 = rsqrt %7 : f32[T, 1]
  %9 = mul %0 %8 : f32[T, 2048]
  %10 = mul %9 %1 : f32[T, 2048]
  output y = %10
}
---
kernels 1
reduce_2048
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10
