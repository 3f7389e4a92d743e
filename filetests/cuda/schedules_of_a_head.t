test schedules T=1,8,512 R=8 S=4096 P=128 workers=132
# How a head of many columns is cut into workgroups: few lanes share a sum, in all steps the same.
graph head {
  %0 = input x : f32[T, 5120]
  %1 = input out_rows : i32[R]
  %2 = rows %0 %1 : f32[R, 5120]
  %3 = weight output_norm : f32[5120]
  %4 = mul %2 %2 : f32[R, 5120]
  %5 = reduce_sum %4 axis=1 : f32[R, 1]
  %6 = const 5120.0 : f32[]
  %7 = div %5 %6 : f32[R, 1]
  %8 = const 1e-5 : f32[]
  %9 = add %7 %8 : f32[R, 1]
  %10 = rsqrt %9 : f32[R, 1]
  %11 = mul %2 %10 : f32[R, 5120]
  %12 = mul %11 %3 : f32[R, 5120]
  %13 = weight output : q6_k[100352, 5120]
  %14 = dot %12 %13 : f32[R, 100352]
  output logits = %14
}
---
steps of 1
  reduce_5120
    lanes 256
    plain rows 1 width 5120
  dot_100352x5120_q6_k
    lanes 256
    dot.lanes rows 8 width 64 reduce 8 upcast 1
steps of 8
  reduce_5120
    lanes 256
    plain rows 1 width 5120
  dot_100352x5120_q6_k
    lanes 256
    dot.lanes rows 8 width 64 reduce 8 upcast 1
steps of 512
  reduce_5120
    lanes 256
    plain rows 1 width 5120
  dot_100352x5120_q6_k
    lanes 256
    dot.units rows 16 width 128 reduce 8 upcast 1
