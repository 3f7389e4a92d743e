test fuse T=4 S=64
# The numbers of stored rows are computed from the rows themselves: these are copied once both are there.
graph computed_slots {
  %0 = input x : f32[T, 32]
  %1 = weight w : q8_0[32, 32]
  %2 = dot %0 %1 : f32[T, 32]
  %3 = topk %2 k=1 : i32[T, 1]
  %4 = reshape %3 : i32[T]
  %5 = state kv : f32[S, 32]
  %6 = store %5 %2 %4 : f32[S, 32]
  output kv = %6
}
---
plan computed_slots T=4 R=1 S=64 P=1 arena=768 {
b0 = state kv : f32[S, 32]
b1 = arena 192 : i32[T, 1]
b2 = arena 256 : f32[T, 32]
b3 = arena 0 : q8[T, 32]
b4 = input x : f32[T, 32]
b5 = weight w : q8_0[32, 32]
kernel map_32 {
  p0 read f32
  p1 write q8
  rows [T] cols 32
  map
  v0 = load 32 p0[0; 32; 1]
  v1 = store v0 p1[0; 32; 1]
}
kernel dot_32x32_q8_0 {
  p0 read q8
  p1 read q8_0
  p2 write f32
  p3 write i32
  rows [T] cols 32
  dot x=p0[0; 32; 1] w=p1 count=1 n=32 k=32 first=0 stride=32 pick=only transposed=false
  v0 = acc 0
  v1 = topk 1 v0
  v2 = store v0 p2[0; 32; 1]
  v3 = store v1 p3[0; 1; 1]
}
kernel map_32.2 {
  p0 read f32
  p1 read i32
  p2 write f32
  rows [T] cols 32
  map
  v0 = load 32 p0[0; 32; 1]
  v1 = store v0 p2[0; 0; 1] @ p1[0; 1; 0] * 32
}
call map_32 b4 b3
call dot_32x32_q8_0 b3 b5 b2 b1
call map_32.2 b2 b1 b0
}
