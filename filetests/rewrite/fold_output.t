test rewrite fold.output
# From the latent space to values and to the hidden state: one product.
graph outputs {
  %0 = input summed : f32[T, 2, 64]
  %1 = weight attn_v_b : q8_0[2, 32, 64]
  %2 = head_dot %0 %1 transposed=false : f32[T, 2, 32]
  %3 = reshape %2 : f32[T, 64]
  %4 = weight attn_output : q4_0[96, 64]
  %5 = dot %3 %4 : f32[T, 96]
  output y = %5
}
---
graph outputs {
  %0 = input summed : f32[T, 2, 64]
  %1 = weight attn_v_b : q8_0[2, 32, 64]
  %2 = weight attn_output : q4_0[96, 64]
  %3 = product %2 %1 joined=true : q8_0[96, 128]
  %4 = reshape %0 : f32[T, 128]
  %5 = dot %4 %3 : f32[T, 96]
  output y = %5
}
# fired: fold.output ×1
