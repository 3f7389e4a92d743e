test fuse T=8 S=64 P=4
# An indexer over rotated queries, whose list another graph reads as well, and attention to the positions of the list.
graph indexer {
  %0 = input q : f32[T, 128]
  %1 = reshape %0 : f32[T, 4, 32]
  %2 = input cos : f32[T, 8]
  %3 = input sin : f32[T, 8]
  %4 = slice %1 axis=2 start=0 len=16 : f32[T, 4, 16]
  %5 = rope %4 %2 %3 style=halves : f32[T, 4, 16]
  %6 = slice %1 axis=2 start=16 len=16 : f32[T, 4, 16]
  %7 = concat %5 %6 axis=2 : f32[T, 4, 32]
  %8 = input w : f32[T, 4]
  %9 = const 0.1 : f32[]
  %10 = mul %8 %9 : f32[T, 4]
  %11 = input k : f32[T, 32]
  %12 = state index : f16[S, 32]
  %13 = input slots : i32[T]
  %14 = store %12 %11 %13 : f16[S, 32]
  %15 = input pos : i32[T]
  %16 = input first : i32[T]
  %17 = input pages : i32[P]
  %18 = indexer %7 %10 %14 %15 %16 %17 k=6 page=16 : i32[T, 6]
  %19 = input queries : f32[T, 3, 32]
  %20 = state kv : f16[S, 32]
  %21 = slice %20 axis=1 start=0 len=16 : f16[S, 16]
  %22 = attend %19 %20 %21 %15 %16 %17 %18 scale=0.25 kv_heads=1 page=16 : f32[T, 3, 16]
  output index = %14
  output list = %18
  output y = %22
}
---
plan indexer T=8 R=1 S=64 P=4 arena=4224 {
b0 = state index : f16[S, 32]
b1 = input slots : i32[T]
b2 = input k : f32[T, 32]
b3 = output list : i32[T, 6]
b4 = output y : f32[T, 3, 16]
b5 = input q : f32[T, 128]
b6 = input cos : f32[T, 8]
b7 = input sin : f32[T, 8]
b8 = input w : f32[T, 4]
b9 = arena 0 : f32[T, 4, 32]
b10 = arena 4096 : f32[T, 4]
b11 = input pos : i32[T]
b12 = input first : i32[T]
b13 = input pages : i32[P]
b14 = input queries : f32[T, 3, 32]
b15 = state kv : f16[S, 32]
kernel map_16 {
  p0 read f32
  p1 read f32
  p2 read f32
  p3 write f32
  rows [T, 4] cols 16
  map
  v0 = load 16 p0[0; 128, 32; 1]
  v1 = load 8 p1[0; 8, 0; 1]
  v2 = load 8 p2[0; 8, 0; 1]
  v3 = rope halves v0 v1 v2
  v4 = store v3 p3[0; 128, 32; 1]
}
kernel map_16+2 {
  p0 read f32
  p1 write f32
  p2 read f32
  p3 write f32
  p4 read f32
  p5 read i32
  p6 write f16
  rows [T, 4] cols 16
  map
  v0 = load 16 p0[16; 128, 32; 1]
  v1 = store v0 p1[16; 128, 32; 1]
  rows [T] cols 4
  map
  v0 = load 4 p2[0; 4; 1]
  v1 = const 0.1
  v2 = mul v0 v1
  v3 = store v2 p3[0; 4; 1]
  rows [T] cols 32
  map
  v0 = load 32 p4[0; 32; 1]
  v1 = store v0 p6[0; 0; 1] @ p5[0; 1; 0] * 32
}
kernel indexer_4x32_6 {
  p0 read f32
  p1 read f32
  p2 read f16
  p3 read i32
  p4 read i32
  p5 read i32
  p6 write i32
  rows [T] cols 6
  indexer q=p0[0; 128; 1] q_stride=32 w=p1[0; 4; 1] k=p2[0; 32, 32; 1] pos=p3 first=p4 pages=p5 heads=4 k_len=32 page=16
  v0 = acc 0
  v1 = store v0 p6[0; 6; 1]
}
kernel attend_3x32 {
  p0 read f32
  p1 read f16
  p2 read i32
  p3 read i32
  p4 read i32
  p5 read i32
  p6 write f32
  rows [T, 3] cols 16
  attend q=p0[0; 96, 32; 1] k=p1[0; 32, 32; 1] v=p1[0; 32, 16; 1] pos=p2 first=p3 pages=p4 scale=0.25 heads=3 kv_heads=1 k_len=32 page=16 list=p5 listed=6
  v0 = acc 0
  v1 = store v0 p6[0; 48, 16; 1]
}
call map_16 b5 b6 b7 b9
call map_16+2 b5 b9 b8 b10 b2 b1 b0
call indexer_4x32_6 b9 b10 b0 b11 b12 b13 b3
call attend_3x32 b14 b15 b11 b12 b13 b3 b4
}
