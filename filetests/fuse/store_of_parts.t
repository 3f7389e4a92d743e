test fuse T=4 S=64
# Parts that are no whole blocks of the state are put together first: what was tried before that leaves nothing behind.
graph store_of_parts {
  %0 = input x : f32[T, 64]
  %1 = mul %0 %0 : f32[T, 64]
  %2 = slice %1 axis=1 start=0 len=48 : f32[T, 48]
  %3 = slice %1 axis=1 start=48 len=16 : f32[T, 16]
  %4 = neg %3 : f32[T, 16]
  %5 = concat %2 %4 axis=1 : f32[T, 64]
  %6 = state kv : q8_0[S, 64]
  %7 = input slots : i32[T]
  %8 = store %6 %5 %7 : q8_0[S, 64]
  output kv = %8
}
---
plan store_of_parts T=4 R=1 S=64 P=1 arena=2048 {
b0 = state kv : q8_0[S, 64]
b1 = input slots : i32[T]
b2 = arena 1024 : f32[T, 64]
b3 = arena 0 : f32[T, 64]
b4 = input x : f32[T, 64]
kernel map_64 {
  p0 read f32
  p1 write f32
  rows [T] cols 64
  map
  v0 = load 64 p0[0; 64; 1]
  v1 = mul v0 v0
  v2 = store v1 p1[0; 64; 1]
}
kernel map_48 {
  p0 read f32
  p1 write f32
  rows [T] cols 48
  map
  v0 = load 48 p0[0; 64; 1]
  v1 = store v0 p1[0; 64; 1]
}
kernel map_16 {
  p0 read f32
  p1 write f32
  rows [T] cols 16
  map
  v0 = load 16 p0[48; 64; 1]
  v1 = neg v0
  v2 = store v1 p1[48; 64; 1]
}
kernel map_64.2 {
  p0 read f32
  p1 read i32
  p2 write q8_0
  rows [T] cols 64
  map
  v0 = load 64 p0[0; 64; 1]
  v1 = store v0 p2[0; 0; 1] @ p1[0; 1; 0] * 64
}
call map_64 b4 b3
call map_48 b3 b2
call map_16 b3 b2
call map_64.2 b2 b1 b0
}
