test error
# Rows at positions are no state of a whole sequence.
graph scan {
  %0 = input x : f32[T, 2, 4]
  %1 = input decay : f32[T, 2]
  %2 = state s : f32[S, 48]
  %3 = input ends : i32[Q]
  %4 = input from : i32[Q]
  %5 = input to : i32[Q]
  %6 = input certain : i32[Q]
  %7 = input kept : i32[Q]
  %8 = scan %0 %1 %2 %3 %4 %5 %6 %7 rule=decay : f32[T, 2, 4]
  output y = %8
}
---
graph `scan`, %8: scans something that is not a state of whole sequences
