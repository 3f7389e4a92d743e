test rewrite split.columns
# Each part of a product is a product of its own, of those rows of the weight.
graph g {
  %0 = input x : f32[T, 64]
  %1 = weight attn_kv_a_mqa : q8_0[48, 64]
  %2 = dot %0 %1 : f32[T, 48]
  %3 = slice %2 axis=1 start=0 len=32 : f32[T, 32]
  %4 = slice %2 axis=1 start=32 len=16 : f32[T, 16]
  %5 = input ids : i32[T, 2]
  %6 = weight ffn_gate_up_exps : q4_0[4, 64, 64]
  %7 = select_dot %0 %6 %5 : f32[T, 2, 64]
  %8 = slice %7 axis=2 start=0 len=32 : f32[T, 2, 32]
  %9 = slice %7 axis=2 start=32 len=32 : f32[T, 2, 32]
  %10 = silu %8 : f32[T, 2, 32]
  %11 = mul %10 %9 : f32[T, 2, 32]
  output c = %3
  output k_rope = %4
  output inner = %11
}
---
graph g {
  %0 = input x : f32[T, 64]
  %1 = weight attn_kv_a_mqa : q8_0[48, 64]
  %2 = slice %1 axis=0 start=0 len=32 : q8_0[32, 64]
  %3 = dot %0 %2 : f32[T, 32]
  %4 = slice %1 axis=0 start=32 len=16 : q8_0[16, 64]
  %5 = dot %0 %4 : f32[T, 16]
  %6 = input ids : i32[T, 2]
  %7 = weight ffn_gate_up_exps : q4_0[4, 64, 64]
  %8 = slice %7 axis=1 start=0 len=32 : q4_0[4, 32, 64]
  %9 = select_dot %0 %8 %6 : f32[T, 2, 32]
  %10 = slice %7 axis=1 start=32 len=32 : q4_0[4, 32, 64]
  %11 = select_dot %0 %10 %6 : f32[T, 2, 32]
  %12 = silu %9 : f32[T, 2, 32]
  %13 = mul %12 %11 : f32[T, 2, 32]
  output c = %3
  output k_rope = %5
  output inner = %13
}
# fired: split.columns ×4
