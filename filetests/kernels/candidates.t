test kernels T=1 R=1
# The likeliest tokens of a vocabulary, with their logits.
graph candidates {
  %0 = input logits : f32[R, 154880]
  %1 = topk %0 k=64 : i32[R, 64]
  %2 = take %0 %1 : f32[R, 64]
  %3 = cast %1 : f32[R, 64]
  %4 = concat %2 %3 axis=1 : f32[R, 128]
  output candidates = %4
}
---
kernels 1
reduce_154880
  topk %1, take %2, cast %3
