test plan error
plan p T=4 R=1 S=8 P=1 arena=512 {
b0 = input x : f32[T, 32]
b1 = output y : f32[T, 32]
b2 = weight w : q4_0[16, 32]
b3 = arena 0 : q8[T, 32]
b4 = state kv : f16[S, 32]
b5 = input slots : i32[T]
b6 = arena 256 : f32[T, 16]
kernel round {
  p0 read f32
  p1 write q8
  rows [T] cols 32
  map
  v0 = load 32 p0[0; 32; 1]
  v1 = store v0 p1[0; 32; 1]
}
kernel dot {
  p0 read q8
  p1 read q4_0
  p2 write f32
  rows [T] cols 16
  dot x=p0[0; 32; 1] w=p1 count=1 n=16 k=32 first=0 stride=16 pick=only transposed=false
  v0 = acc 0
  v1 = store v0 p2[0; 16; 1]
}
kernel keep {
  p0 read f32
  p1 read i32
  p2 write f16
  rows [T] cols 32
  map
  v0 = load 32 p0[0; 32; 1]
  v1 = store v0 p2[0; 0; 1] @ p1[0; 1; 0] * 32
}
kernel copy {
  p0 read f32
  p1 write f32
  rows [T] cols 32
  map
  v0 = load 32 p0[0; 32; 1]
  v1 = store v0 p1[0; 32; 1]
}
call round b0 b3
call dot b3 b2 b6
call keep b0 b5 b4
call copy b1 b0
}
---
plan `p`, call 3 (`copy`): p1 writes b0, which is read-only
