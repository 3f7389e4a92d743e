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
  %20 = weight down : f32[3, 32, 8]
  %21 = select_sum %19 %20 %17 %16 : f32[T, 32]
  %22 = reshape %21 : f32[T, 1, 32]
  %23 = hadamard : f32[8, 8]
  %24 = head_dot %22 %3 transposed=false : f32[T, 3, 8]
  %25 = head_dot %24 %3 transposed=true : f32[T, 3, 32]
  %26 = weight out : f32[5, 24]
  %27 = dot %24 %23 : f32[T, 3, 8]
  %28 = reshape %24 : f32[T, 24]
  %29 = dot %28 %26 : f32[T, 5]
  %30 = rope %24 %0 %14 style=halves : f32[T, 3, 8]
  %31 = state kv : f16[S, 8]
  %32 = slice %28 axis=1 start=8 len=8 : f32[T, 8]
  %33 = store %31 %32 %1 : f16[S, 8]
  %34 = input pages : i32[P]
  %35 = attend %30 %33 %33 %1 %1 %34 scale=0.125 kv_heads=1 page=16 : f32[T, 3, 8]
  output y = %19
  output z = %16
  output s = %11
  output r = %13
  output c = %7
  output d = %29
  output e = %35
  output kv = %33
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
  %20 = weight down : f32[3, 32, 8]
  %21 = select_sum %19 %20 %17 %16 : f32[T, 32]
  %22 = reshape %21 : f32[T, 1, 32]
  %23 = hadamard : f32[8, 8]
  %24 = head_dot %22 %3 transposed=false : f32[T, 3, 8]
  %25 = head_dot %24 %3 transposed=true : f32[T, 3, 32]
  %26 = weight out : f32[5, 24]
  %27 = dot %24 %23 : f32[T, 3, 8]
  %28 = reshape %24 : f32[T, 24]
  %29 = dot %28 %26 : f32[T, 5]
  %30 = rope %24 %0 %14 style=halves : f32[T, 3, 8]
  %31 = state kv : f16[S, 8]
  %32 = slice %28 axis=1 start=8 len=8 : f32[T, 8]
  %33 = store %31 %32 %1 : f16[S, 8]
  %34 = input pages : i32[P]
  %35 = attend %30 %33 %33 %1 %1 %34 scale=0.125 kv_heads=1 page=16 : f32[T, 3, 8]
  output y = %19
  output z = %16
  output s = %11
  output r = %13
  output c = %7
  output d = %29
  output e = %35
  output kv = %33
}
