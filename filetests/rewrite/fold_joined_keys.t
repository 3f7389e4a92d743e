test rewrite split.heads split.columns fold.query
# Keys joined with values are multiplied transposed: nothing to fold.
graph queries {
  %0 = input q : f32[T, 2, 32]
  %1 = weight attn_q : q8_0[2, 32, 32]
  %2 = head_dot %0 %1 transposed=false : f32[T, 2, 32]
  %3 = weight attn_kv_b : q8_0[128, 64]
  %4 = reshape %3 : q8_0[2, 64, 64]
  %5 = slice %4 axis=1 start=0 len=32 : q8_0[2, 32, 64]
  %6 = head_dot %2 %5 transposed=true : f32[T, 2, 64]
  output q = %6
}
---
graph queries {
  %0 = input q : f32[T, 2, 32]
  %1 = weight attn_q : q8_0[2, 32, 32]
  %2 = head_dot %0 %1 transposed=false : f32[T, 2, 32]
  %3 = weight attn_kv_b : q8_0[128, 64]
  %4 = reshape %3 : q8_0[2, 64, 64]
  %5 = slice %4 axis=1 start=0 len=32 : q8_0[2, 32, 64]
  %6 = head_dot %2 %5 transposed=true : f32[T, 2, 64]
  output q = %6
}
