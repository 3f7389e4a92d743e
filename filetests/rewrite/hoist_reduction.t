test hoist pos
# Steps of the position, added up: a reduction is computed once for all layers, as transcendental functions are.
graph layer {
  %0 = input q : f32[T, 2, 4]
  %1 = input pos : i32[T]
  %2 = cast %1 : f32[T]
  %3 = reshape %2 : f32[T, 1]
  %4 = const 7.0 15.0 : f32[2]
  %5 = sub %3 %4 : f32[T, 2]
  %6 = const 0.0 : f32[]
  %7 = max %5 %6 : f32[T, 2]
  %8 = const 1.0 : f32[]
  %9 = min %7 %8 : f32[T, 2]
  %10 = reduce_sum %9 axis=1 : f32[T, 1]
  %11 = reshape %10 : f32[T, 1, 1]
  %12 = mul %0 %11 : f32[T, 2, 4]
  output q = %12
}
---
graph tables {
  %0 = input pos : i32[T]
  %1 = cast %0 : f32[T]
  %2 = reshape %1 : f32[T, 1]
  %3 = const 7.0 15.0 : f32[2]
  %4 = sub %2 %3 : f32[T, 2]
  %5 = const 0.0 : f32[]
  %6 = max %4 %5 : f32[T, 2]
  %7 = const 1.0 : f32[]
  %8 = min %6 %7 : f32[T, 2]
  %9 = reduce_sum %8 axis=1 : f32[T, 1]
  %10 = reshape %9 : f32[T, 1, 1]
  output tables.0 = %10
}
graph layer {
  %0 = input q : f32[T, 2, 4]
  %1 = input tables.0 : f32[T, 1, 1]
  %2 = mul %0 %1 : f32[T, 2, 4]
  output q = %2
}
