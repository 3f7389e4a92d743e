test fuse T=8 S=4 Q=3
# A running sum of two heads, whose gate follows it in the same kernel. The state is updated in place.
graph scan {
  %0 = input x : f32[T, 2, 16]
  %1 = input decay : f32[T, 2]
  %2 = state s kind=per_sequence : f32[S, 32]
  %3 = input ends : i32[Q]
  %4 = input from : i32[Q]
  %5 = input to : i32[Q]
  %6 = scan %0 %1 %2 %3 %4 %5 rule=decay : f32[T, 2, 16]
  %7 = input gate : f32[T, 2, 16]
  %8 = silu %7 : f32[T, 2, 16]
  %9 = mul %6 %8 : f32[T, 2, 16]
  output y = %9
}
---
