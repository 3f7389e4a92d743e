test error
graph g {
  %0 = input x : f32[T]
  %1 = weight x : f32[4]
}
---
graph `g`, %1 (weight): the name `x` is used twice
