test rewrite tidy.movement
# Moved values are read where they were first.
graph g {
  %0 = input x : f32[T, 8]
  %1 = input y : f32[T, 4]
  %2 = reshape %0 : f32[T, 2, 4]
  %3 = reshape %2 : f32[T, 4, 2]
  %4 = silu %3 : f32[T, 4, 2]
  %5 = slice %0 axis=1 start=2 len=6 : f32[T, 6]
  %6 = slice %5 axis=1 start=1 len=4 : f32[T, 4]
  %7 = silu %6 : f32[T, 4]
  %8 = concat %0 %1 axis=1 : f32[T, 12]
  %9 = slice %8 axis=1 start=9 len=2 : f32[T, 2]
  %10 = silu %9 : f32[T, 2]
  output a = %4
  output b = %7
  output c = %10
}
---
graph g {
  %0 = input x : f32[T, 8]
  %1 = input y : f32[T, 4]
  %2 = reshape %0 : f32[T, 4, 2]
  %3 = silu %2 : f32[T, 4, 2]
  %4 = slice %0 axis=1 start=3 len=4 : f32[T, 4]
  %5 = silu %4 : f32[T, 4]
  %6 = slice %1 axis=1 start=1 len=2 : f32[T, 2]
  %7 = silu %6 : f32[T, 2]
  output a = %3
  output b = %5
  output c = %7
}
# fired: tidy.movement ×3
