test rewrite
# With nothing to do, nodes that no output needs go, and equal ones are one.
graph g {
  %0 = input x : f32[T, 4]
  %1 = weight w : f32[4]
  %2 = mul %0 %1 : f32[T, 4]
  %3 = neg %0 : f32[T, 4]
  %4 = neg %0 : f32[T, 4]
  %5 = add %3 %4 : f32[T, 4]
  output y = %5
}
---
graph g {
  %0 = input x : f32[T, 4]
  %1 = neg %0 : f32[T, 4]
  %2 = add %1 %1 : f32[T, 4]
  output y = %2
}
