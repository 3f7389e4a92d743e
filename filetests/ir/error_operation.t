test error
graph g {
  %0 = input x : f32[T]
  %1 = frobnicate %0 : f32[T]
}
---
unknown operation `frobnicate`
