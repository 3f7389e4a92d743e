test error
# Strides must be numbers whatever the step: only the first axis may be symbolic.
graph g {
  %0 = input x : f32[4, T]
}
---
graph `g`, %0 (input): only the first axis may be symbolic, not f32[4, T]
