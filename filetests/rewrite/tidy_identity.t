test rewrite tidy.identity
# What changes nothing goes. Adding zero is not among it: −0 + 0 is 0.
graph g {
  %0 = input x : f32[T, 4]
  %1 = const 1.0 : f32[]
  %2 = mul %0 %1 : f32[T, 4]
  %3 = div %2 %1 : f32[T, 4]
  %4 = reshape %3 : f32[T, 4]
  %5 = slice %4 axis=1 start=0 len=4 : f32[T, 4]
  %6 = concat %5 axis=1 : f32[T, 4]
  %7 = const 0.0 : f32[]
  %8 = add %6 %7 : f32[T, 4]
  output y = %8
}
---
graph g {
  %0 = input x : f32[T, 4]
  %1 = const 0.0 : f32[]
  %2 = add %0 %1 : f32[T, 4]
  output y = %2
}
# fired: tidy.identity ×5
