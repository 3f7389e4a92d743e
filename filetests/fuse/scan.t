test fuse T=8 S=4 Q=3
# A running sum of two heads, whose state is updated in place, and a gate.
graph scan {
  %0 = input x : f32[T, 2, 16]
  %1 = input decay : f32[T, 2]
  %2 = state s kind=per_sequence : f32[S, 168]
  %3 = input ends : i32[Q]
  %4 = input from : i32[Q]
  %5 = input to : i32[Q]
  %6 = input certain : i32[Q]
  %7 = input kept : i32[Q]
  %8 = scan %0 %1 %2 %3 %4 %5 %6 %7 rule=decay : f32[T, 2, 16]
  %9 = input gate : f32[T, 2, 16]
  %10 = silu %9 : f32[T, 2, 16]
  %11 = mul %8 %10 : f32[T, 2, 16]
  output y = %11
}
---
plan scan T=8 R=1 S=4 P=1 Q=3 arena=1024 {
b0 = output y : f32[T, 2, 16]
b1 = input x : f32[T, 2, 16]
b2 = input decay : f32[T, 2]
b3 = state s per_sequence : f32[S, 168]
b4 = input ends : i32[Q]
b5 = input from : i32[Q]
b6 = input to : i32[Q]
b7 = input certain : i32[Q]
b8 = input kept : i32[Q]
b9 = input gate : f32[T, 2, 16]
b10 = arena 0 : f32[T, 2, 16]
kernel scan_decay_2x16 {
  p0 read f32
  p1 read f32
  p2 update f32
  p3 read i32
  p4 read i32
  p5 read i32
  p6 read i32
  p7 read i32
  p8 write f32
  rows [T, 2] cols 16
  scan rule=decay x=p0[0; 32, 16; 1] decay=p1[0; 2, 1; 0] state=p2 ends=p3 from=p4 to=p5 certain=p6 kept=p7 heads=2
  v0 = acc 0
  v1 = store v0 p8[0; 32, 16; 1]
}
kernel map_16 {
  p0 read f32
  p1 read f32
  p2 write f32
  rows [T, 2] cols 16
  map
  v0 = load 16 p0[0; 32, 16; 1]
  v1 = silu v0
  v2 = load 16 p1[0; 32, 16; 1]
  v3 = mul v2 v1
  v4 = store v3 p2[0; 32, 16; 1]
}
call scan_decay_2x16 b1 b2 b3 b4 b5 b6 b7 b8 b10
call map_16 b9 b10 b0
}
