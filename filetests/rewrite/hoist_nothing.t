test hoist slots
# Nothing here depends on these inputs alone.
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
nothing
