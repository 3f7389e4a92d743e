test kernels T=1 workers=2
# What the chosen expert's weight multiplies is wider than the scores: it is no part of the router.
graph top_1 {
  %0 = input x : f32[T, 128]
  %1 = weight router : f32[8, 128]
  %2 = dot %0 %1 : f32[T, 8]
  %3 = topk %2 k=1 : i32[T, 1]
  %4 = take %2 %3 : f32[T, 1]
  %5 = mul %0 %4 : f32[T, 128]
  %6 = weight up : q4_0[8, 64, 128]
  %7 = select_dot %5 %6 %3 : f32[T, 1, 64]
  output y = %7
}
---
kernels 2
dot_8x128_f32
  dot %2, topk %3, take %4
  not mul %5: it has other columns
  not select_dot %7: it needs whole rows, which several workers compute together
select_dot_64x128_q4_0
  mul %5, select_dot %7
fuse.router taken: 3 kernels, 0.01 MB of weights, 3.8 µs with, 3 kernels, 0.01 MB of weights, 3.8 µs without
fuse.norm_into_dot taken: 2 kernels, 0.01 MB of weights, 2.8 µs with, 3 kernels, 0.01 MB of weights, 3.8 µs without
