test plan error
# A scan updates its state in place.
plan p T=4 R=1 S=3 P=1 Q=2 arena=0 {
b0 = input x : f32[T, 2, 1]
b1 = input a : f32[T, 2]
b2 = state s per_sequence : f32[S, 18]
b3 = input ends : i32[Q]
b4 = input from : i32[Q]
b5 = input to : i32[Q]
b6 = input certain : i32[Q]
b7 = input kept : i32[Q]
b8 = output y : f32[T, 2, 1]
kernel scan {
  p0 read f32
  p1 read f32
  p2 write f32
  p3 read i32
  p4 read i32
  p5 read i32
  p6 read i32
  p7 read i32
  p8 write f32
  rows [T, 2] cols 1
  scan rule=decay x=p0[0; 2, 1; 1] decay=p1[0; 2, 1; 0] state=p2 ends=p3 from=p4 to=p5 certain=p6 kept=p7 heads=2
  v0 = acc 0
  v1 = store v0 p8[0; 2, 1; 1]
}
call scan b0 b1 b2 b3 b4 b5 b6 b7 b8
}
---
plan `p`, call 0 (`scan`): p2 is declared for Write, but used for ReadWrite
