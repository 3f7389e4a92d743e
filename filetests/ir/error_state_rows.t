test error
# A state has the rows of the cache or a fixed number, not one for each token of the step.
graph g {
  %0 = state window : f16[96, 8]
  %1 = state kv : f16[T, 8]
  output y = %1
}
---
graph `g`, %1 (state): `state` cannot have type f16[T, 8]
