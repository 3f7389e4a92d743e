test error
# Rows at positions are no state of a whole sequence.
graph scan {
  %0 = input x : f32[T, 2, 4]
  %1 = input decay : f32[T, 2]
  %2 = state s : f32[S, 8]
  %3 = input ends : i32[Q]
  %4 = input from : i32[Q]
  %5 = input to : i32[Q]
  %6 = scan %0 %1 %2 %3 %4 %5 rule=decay : f32[T, 2, 4]
  output y = %6
}
---
graph `scan`, %6: scans something that is not a state of whole sequences
