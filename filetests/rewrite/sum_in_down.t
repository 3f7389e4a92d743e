test rewrite moe.sum_in_down tidy.movement tidy.identity
# The experts' weighted sum, as the models build it.
graph experts {
  %0 = input inner : f32[T, 2, 32]
  %1 = weight ffn_down_exps : q8_0[4, 64, 32]
  %2 = input ids : i32[T, 2]
  %3 = select_dot %0 %1 %2 : f32[T, 2, 64]
  %4 = input weights : f32[T, 2]
  %5 = reshape %4 : f32[T, 2, 1]
  %6 = mul %3 %5 : f32[T, 2, 64]
  %7 = reduce_sum %6 axis=1 : f32[T, 1, 64]
  %8 = reshape %7 : f32[T, 64]
  %9 = input x : f32[T, 64]
  %10 = add %9 %8 : f32[T, 64]
  output x = %10
}
---
graph experts {
  %0 = input inner : f32[T, 2, 32]
  %1 = weight ffn_down_exps : q8_0[4, 64, 32]
  %2 = input ids : i32[T, 2]
  %3 = input weights : f32[T, 2]
  %4 = select_sum %0 %1 %2 %3 : f32[T, 64]
  %5 = input x : f32[T, 64]
  %6 = add %5 %4 : f32[T, 64]
  output x = %6
}
# fired: tidy.identity ×2
# fired: tidy.movement ×2
# fired: moe.sum_in_down ×1
