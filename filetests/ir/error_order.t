test error
graph g {
  %0 = neg %1 : f32[T]
  %1 = input x : f32[T]
}
---
graph `g`, %0 (neg): input %1 does not come before it
