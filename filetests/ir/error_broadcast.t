test error
graph g {
  %0 = input x : f32[T, 3]
  %1 = input y : f32[T, 4]
  %2 = add %0 %1 : f32[T, 4]
}
---
graph `g`, %2 (add): f32[T, 3] and f32[T, 4] do not broadcast
