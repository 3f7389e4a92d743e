test hoist pos
# Rotary tables depend on positions alone: they are computed once for all layers.
graph layer {
  %0 = input x : f32[T, 16]
  %1 = input pos : i32[T]
  %2 = cast %1 : f32[T]
  %3 = reshape %2 : f32[T, 1]
  %4 = const 1.0 0.1 0.01 0.001 : f32[4]
  %5 = mul %3 %4 : f32[T, 4]
  %6 = cos %5 : f32[T, 4]
  %7 = sin %5 : f32[T, 4]
  %8 = weight w : q8_0[8, 32]
  %9 = input y : f32[T, 32]
  %10 = dot %9 %8 : f32[T, 8]
  %11 = rope %10 %6 %7 style=pairs : f32[T, 8]
  %12 = concat %11 %11 axis=1 : f32[T, 16]
  %13 = add %0 %12 : f32[T, 16]
  output x = %13
}
---
graph tables {
  %0 = input pos : i32[T]
  %1 = cast %0 : f32[T]
  %2 = reshape %1 : f32[T, 1]
  %3 = const 1.0 0.1 0.01 0.001 : f32[4]
  %4 = mul %2 %3 : f32[T, 4]
  %5 = cos %4 : f32[T, 4]
  %6 = sin %4 : f32[T, 4]
  output tables.0 = %5
  output tables.1 = %6
}
graph layer {
  %0 = input x : f32[T, 16]
  %1 = input tables.0 : f32[T, 4]
  %2 = input tables.1 : f32[T, 4]
  %3 = weight w : q8_0[8, 32]
  %4 = input y : f32[T, 32]
  %5 = dot %4 %3 : f32[T, 8]
  %6 = rope %5 %1 %2 style=pairs : f32[T, 8]
  %7 = concat %6 %6 axis=1 : f32[T, 16]
  %8 = add %0 %7 : f32[T, 16]
  output x = %8
}
