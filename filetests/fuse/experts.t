test fuse T=4
# The weighted sum over experts is one kernel, its terms in a fixed order.
graph experts {
  %0 = input x : f32[T, 32]
  %1 = input probs : f32[T, 4]
  %2 = topk %1 k=2 : i32[T, 2]
  %3 = take %1 %2 : f32[T, 2]
  %4 = weight up : q4_0[4, 32, 32]
  %5 = select_dot %0 %4 %2 : f32[T, 2, 32]
  %6 = weight down : q4_0[4, 32, 32]
  %7 = select_dot %5 %6 %2 : f32[T, 2, 32]
  %8 = reshape %3 : f32[T, 2, 1]
  %9 = mul %7 %8 : f32[T, 2, 32]
  %10 = reduce_sum %9 axis=1 : f32[T, 1, 32]
  %11 = reshape %10 : f32[T, 32]
  %12 = add %0 %11 : f32[T, 32]
  output x = %12
}
---
plan experts T=4 R=1 S=1 P=1 arena=704 {
b0 = output x : f32[T, 32]
b1 = input probs : f32[T, 4]
b2 = arena 0 : q8[T, 32]
b3 = input x : f32[T, 32]
b4 = weight up : q4_0[4, 32, 32]
b5 = arena 192 : i32[T, 2]
b6 = arena 320 : q8[T, 2, 32]
b7 = weight down : q4_0[4, 32, 32]
b8 = arena 256 : f32[T, 2]
kernel map_32+1 {
  p0 read f32
  p1 write q8
  p2 read f32
  p3 write i32
  p4 write f32
  rows [T] cols 32
  map
  v0 = load 32 p0[0; 32; 1]
  v1 = store v0 p1[0; 32; 1]
  rows [T] cols 4
  reduce
  v0 = load 4 p2[0; 4; 1]
  v1 = topk 2 v0
  v2 = take v0 v1
  v3 = store v1 p3[0; 2; 1]
  v4 = store v2 p4[0; 2; 1]
}
kernel select_dot_32x32_q4_0 {
  p0 read q8
  p1 read i32
  p2 read q4_0
  p3 write q8
  rows [T, 2] cols 32
  select_dot x=p0[0; 32, 0; 1] w=p2 count=4 n=32 k=32 first=0 stride=32 pick=p1[0; 2, 1; 0] transposed=false
  v0 = acc 0
  v1 = store v0 p3[0; 64, 32; 1]
}
kernel select_sum_32x32_q4_0 {
  p0 read q8
  p1 read i32
  p2 read f32
  p3 read q4_0
  p4 read f32
  p5 write f32
  rows [T] cols 32
  select_sum x=p0[0; 64; 1] w=p3 count=4 n=32 k=32 first=0 stride=32 pick=p1[0; 2; 1] terms=2 weights=p2[0; 2; 1] apart=32 transposed=false
  v0 = acc 0
  v1 = load 32 p4[0; 32; 1]
  v2 = add v1 v0
  v3 = store v2 p5[0; 32; 1]
}
call map_32+1 b3 b2 b1 b5 b8
call select_dot_32x32_q4_0 b2 b5 b4 b6
call select_sum_32x32_q4_0 b6 b5 b8 b7 b3 b0
}
