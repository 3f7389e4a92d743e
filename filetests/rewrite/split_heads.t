test rewrite split.heads
# A query is read head by head: its product is made so.
graph queries {
  %0 = weight attn_q_b : q4_k[96, 256]
  %1 = input q : f32[T, 256]
  %2 = dot %1 %0 : f32[T, 96]
  %3 = reshape %2 : f32[T, 2, 48]
  %4 = slice %3 axis=2 start=32 len=16 : f32[T, 2, 16]
  %5 = input cos : f32[T, 8]
  %6 = input sin : f32[T, 8]
  %7 = rope %4 %5 %6 style=pairs : f32[T, 2, 16]
  %8 = slice %3 axis=2 start=0 len=32 : f32[T, 2, 32]
  %9 = weight attn_k_b : q8_0[2, 64, 32]
  %10 = head_dot %8 %9 transposed=false : f32[T, 2, 64]
  %11 = concat %10 %7 axis=2 : f32[T, 2, 80]
  output q = %11
}
---
graph queries {
  %0 = weight attn_q_b : q4_k[96, 256]
  %1 = input q : f32[T, 256]
  %2 = reshape %1 : f32[T, 1, 256]
  %3 = reshape %0 : q4_k[2, 48, 256]
  %4 = head_dot %2 %3 transposed=false : f32[T, 2, 48]
  %5 = slice %4 axis=2 start=32 len=16 : f32[T, 2, 16]
  %6 = input cos : f32[T, 8]
  %7 = input sin : f32[T, 8]
  %8 = rope %5 %6 %7 style=pairs : f32[T, 2, 16]
  %9 = slice %4 axis=2 start=0 len=32 : f32[T, 2, 32]
  %10 = weight attn_k_b : q8_0[2, 64, 32]
  %11 = head_dot %9 %10 transposed=false : f32[T, 2, 64]
  %12 = concat %11 %8 axis=2 : f32[T, 2, 80]
  output q = %12
}
# fired: split.heads ×1
