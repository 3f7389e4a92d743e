test error
# The declared type is checked against the inferred one.
graph g {
  %0 = input x : f32[T, 3]
  %1 = reduce_sum %0 axis=1 : f32[T, 3]
}
---
graph `g`, %1 (reduce_sum): has type f32[T, 3], inference gives f32[T, 1]
