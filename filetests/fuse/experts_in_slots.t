test fuse T=4
# A router with a table of slots: one kernel stores the experts that tokens choose, and their slots.
graph experts {
  %0 = input x : f32[T, 32]
  %1 = input probs : f32[T, 4]
  %2 = topk %1 k=2 : i32[T, 2]
  %3 = input experts.resident_ids : i32[4]
  %4 = take %3 %2 : i32[T, 2]
  %5 = weight up : q4_0[2, 32, 32]
  %6 = select_range %0 %5 %4 from=0 : f32[T, 2, 32]
  output experts.chosen = %2
  output experts.resident = %6
}
---
plan experts T=4 R=1 S=1 P=1 arena=256 {
b0 = output experts.chosen : i32[T, 2]
b1 = output experts.resident : f32[T, 2, 32]
b2 = input probs : f32[T, 4]
b3 = input experts.resident_ids : i32[4]
b4 = arena 0 : q8[T, 32]
b5 = input x : f32[T, 32]
b6 = weight up : q4_0[2, 32, 32]
b7 = arena 192 : i32[T, 2]
kernel map_32+1 {
  p0 read f32
  p1 write q8
  p2 read f32
  p3 read i32
  p4 write i32
  p5 write i32
  rows [T] cols 32
  map
  v0 = load 32 p0[0; 32; 1]
  v1 = store v0 p1[0; 32; 1]
  rows [T] cols 4
  reduce
  v0 = load 4 p2[0; 4; 1]
  v1 = topk 2 v0
  v2 = load 4 p3[0; 0; 1]
  v3 = take v2 v1
  v4 = store v1 p4[0; 2; 1]
  v5 = store v3 p5[0; 2; 1]
}
kernel select_dot_32x32_q4_0 {
  p0 read q8
  p1 read i32
  p2 read q4_0
  p3 write f32
  rows [T, 2] cols 32
  select_dot x=p0[0; 32, 0; 1] from=0 w=p2 count=2 n=32 k=32 first=0 stride=32 pick=p1[0; 2, 1; 0] transposed=false
  v0 = acc 0
  v1 = store v0 p3[0; 64, 32; 1]
}
call map_32+1 b5 b4 b2 b3 b0 b7
call select_dot_32x32_q4_0 b4 b7 b6 b1
}
