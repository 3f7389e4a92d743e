test kernels T=1 workers=2
# A norm before a matrix is no kernel at all: each worker computes it for itself.
graph rms_norm_into_dot {
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
  %11 = weight q : q4_0[1536, 2048]
  %12 = dot %10 %11 : f32[T, 1536]
  output y = %12
}
---
kernels 1
dot_1536x2048_q4_0
  mul %2, reduce_sum %3, div %5, add %7, rsqrt %8, mul %9, mul %10, dot %12
fuse.norm_into_dot taken: 1 kernels, 1.78 MB of weights, 113.0 µs with, 2 kernels, 1.78 MB of weights, 114.5 µs without
