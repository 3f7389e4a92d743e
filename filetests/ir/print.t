test print
# Every operation once: what is parsed prints the same.
graph everything {
  %0 = input x : f32[T, 4]
  %1 = input ids : i32[T]
  %2 = input picks : i32[T, 2]
  %3 = weight experts : q8_0[3, 8, 32]
  %4 = weight table : q4_k[16, 256]
  %5 = const 0.5 : f32[]
  %6 = const 1.0 -0.25 1e-9 3.4028235e38 : f32[4]
  %7 = cast %1 : f32[T]
  %8 = mul %0 %6 : f32[T, 4]
  %9 = max %8 %5 : f32[T, 4]
  %10 = silu %9 : f32[T, 4]
  %11 = reduce_sum %10 axis=1 : f32[T, 1]
  %12 = slice %10 axis=1 start=1 len=2 : f32[T, 2]
  %13 = reshape %12 : f32[T, 2, 1]
  %14 = concat %12 %12 axis=1 : f32[T, 4]
  %15 = rows %4 %1 : f32[T, 256]
  %16 = take %14 %2 : f32[T, 2]
  %17 = topk %14 k=2 : i32[T, 2]
  %18 = slice %15 axis=1 start=0 len=32 : f32[T, 32]
  %19 = select_dot %18 %3 %17 : f32[T, 2, 8]
  output y = %19
  output z = %16
  output s = %11
  output r = %13
  output c = %7
}
---
graph everything {
  %0 = input x : f32[T, 4]
  %1 = input ids : i32[T]
  %2 = input picks : i32[T, 2]
  %3 = weight experts : q8_0[3, 8, 32]
  %4 = weight table : q4_k[16, 256]
  %5 = const 0.5 : f32[]
  %6 = const 1.0 -0.25 1e-9 3.4028235e38 : f32[4]
  %7 = cast %1 : f32[T]
  %8 = mul %0 %6 : f32[T, 4]
  %9 = max %8 %5 : f32[T, 4]
  %10 = silu %9 : f32[T, 4]
  %11 = reduce_sum %10 axis=1 : f32[T, 1]
  %12 = slice %10 axis=1 start=1 len=2 : f32[T, 2]
  %13 = reshape %12 : f32[T, 2, 1]
  %14 = concat %12 %12 axis=1 : f32[T, 4]
  %15 = rows %4 %1 : f32[T, 256]
  %16 = take %14 %2 : f32[T, 2]
  %17 = topk %14 k=2 : i32[T, 2]
  %18 = slice %15 axis=1 start=0 len=32 : f32[T, 32]
  %19 = select_dot %18 %3 %17 : f32[T, 2, 8]
  output y = %19
  output z = %16
  output s = %11
  output r = %13
  output c = %7
}
