test fuse T=4 S=64 P=2
# The parts of a cache row are written where they belong, the rounded query is read through a cut of its heads.
graph latent_cache {
  %0 = input kv_a : f32[T, 80]
  %1 = input q : f32[T, 128]
  %2 = weight q_b : q8_0[192, 128]
  %3 = weight k_b : q8_0[4, 64, 32]
  %4 = input cos : f32[T, 8]
  %5 = input sin : f32[T, 8]
  %6 = input slots : i32[T]
  %7 = input pos : i32[T]
  %8 = input first : i32[T]
  %9 = input pages : i32[P]
  %10 = slice %0 axis=1 start=0 len=64 : f32[T, 64]
  %11 = slice %0 axis=1 start=64 len=16 : f32[T, 16]
  %12 = rope %11 %4 %5 style=pairs : f32[T, 16]
  %13 = concat %10 %12 axis=1 : f32[T, 80]
  %14 = state kv : f16[S, 80]
  %15 = store %14 %13 %6 : f16[S, 80]
  %16 = dot %1 %2 : f32[T, 192]
  %17 = reshape %16 : f32[T, 4, 48]
  %18 = slice %17 axis=2 start=0 len=32 : f32[T, 4, 32]
  %19 = slice %17 axis=2 start=32 len=16 : f32[T, 4, 16]
  %20 = head_dot %18 %3 transposed=false : f32[T, 4, 64]
  %21 = rope %19 %4 %5 style=pairs : f32[T, 4, 16]
  %22 = concat %20 %21 axis=2 : f32[T, 4, 80]
  %23 = slice %15 axis=1 start=0 len=64 : f16[S, 64]
  %24 = attend %22 %15 %23 %7 %8 %9 scale=0.125 kv_heads=1 page=32 : f32[T, 4, 64]
  output kv = %15
  output y = %24
}
---
plan latent_cache T=4 R=1 S=64 P=2 arena=6528 {
b0 = state kv : f16[S, 80]
b1 = input slots : i32[T]
b2 = input kv_a : f32[T, 80]
b3 = output y : f32[T, 4, 64]
b4 = input cos : f32[T, 8]
b5 = input sin : f32[T, 8]
b6 = arena 0 : q8[T, 1, 128]
b7 = input q : f32[T, 128]
b8 = weight q_b : q8_0[192, 128]
b9 = arena 704 : q8[T, 4, 32]
b10 = weight k_b : q8_0[4, 64, 32]
b11 = arena 1408 : f32[T, 4, 80]
b12 = input pos : i32[T]
b13 = input first : i32[T]
b14 = input pages : i32[P]
kernel map_64 {
  p0 read f32
  p1 read i32
  p2 write f16
  rows [T] cols 64
  map
  v0 = load 64 p0[0; 80; 1]
  v1 = store v0 p2[0; 0; 1] @ p1[0; 1; 0] * 80
}
kernel map_16+1 {
  p0 read f32
  p1 read f32
  p2 read f32
  p3 read i32
  p4 write f16
  p5 read f32
  p6 write q8
  rows [T] cols 16
  map
  v0 = load 16 p0[64; 80; 1]
  v1 = load 8 p1[0; 8; 1]
  v2 = load 8 p2[0; 8; 1]
  v3 = rope pairs v0 v1 v2
  v4 = store v3 p4[64; 0; 1] @ p3[0; 1; 0] * 80
  rows [T] cols 128
  map
  v0 = load 128 p5[0; 128; 1]
  v1 = store v0 p6[0; 128; 1]
}
kernel head_dot_32x128_q8_0+1 {
  p0 read q8
  p1 read q8_0
  p2 write q8
  p3 read f32
  p4 read f32
  p5 write f32
  rows [T, 4] cols 32
  dot x=p0[0; 128, 0; 1] w=p1 count=4 n=32 k=128 first=0 stride=48 pick=axis1 transposed=false
  v0 = acc 0
  v1 = store v0 p2[0; 128, 32; 1]
  rows [T, 4] cols 16
  dot x=p0[0; 128, 0; 1] w=p1 count=4 n=16 k=128 first=32 stride=48 pick=axis1 transposed=false
  v0 = acc 0
  v1 = load 8 p3[0; 8, 0; 1]
  v2 = load 8 p4[0; 8, 0; 1]
  v3 = rope pairs v0 v1 v2
  v4 = store v3 p5[64; 320, 80; 1]
}
kernel head_dot_64x32_q8_0 {
  p0 read q8
  p1 read q8_0
  p2 write f32
  rows [T, 4] cols 64
  dot x=p0[0; 128, 32; 1] w=p1 count=4 n=64 k=32 first=0 stride=64 pick=axis1 transposed=false
  v0 = acc 0
  v1 = store v0 p2[0; 320, 80; 1]
}
kernel attend_4x80 {
  p0 read f32
  p1 read f16
  p2 read i32
  p3 read i32
  p4 read i32
  p5 write f32
  rows [T, 4] cols 64
  attend q=p0[0; 320, 80; 1] k=p1[0; 80, 80; 1] v=p1[0; 80, 64; 1] pos=p2 first=p3 pages=p4 scale=0.125 heads=4 kv_heads=1 k_len=80 page=32
  v0 = acc 0
  v1 = store v0 p5[0; 256, 64; 1]
}
call map_64 b2 b1 b0
call map_16+1 b2 b4 b5 b1 b0 b7 b6
call head_dot_32x128_q8_0+1 b6 b8 b9 b4 b5 b11
call head_dot_64x32_q8_0 b9 b10 b11
call attend_4x80 b11 b0 b12 b13 b14 b3
}
