test rewrite tidy.constants
# What is finite is computed now.
graph g {
  %0 = input x : f32[T]
  %1 = const 2.0 : f32[]
  %2 = const 3.0 : f32[]
  %3 = mul %1 %2 : f32[]
  %4 = neg %3 : f32[]
  %5 = mul %0 %4 : f32[T]
  %6 = const 0.0 : f32[]
  %7 = div %1 %6 : f32[]
  %8 = min %5 %7 : f32[T]
  output y = %8
}
---
graph g {
  %0 = input x : f32[T]
  %1 = const 2.0 : f32[]
  %2 = const -6.0 : f32[]
  %3 = mul %0 %2 : f32[T]
  %4 = const 0.0 : f32[]
  %5 = div %1 %4 : f32[]
  %6 = min %3 %5 : f32[T]
  output y = %6
}
# fired: tidy.constants ×2
