test fuse T=4
# Elementwise tails go into the matrices that make their operands; the product is written rounded, for the next one.
graph swiglu {
  %0 = input x : f32[T, 64]
  %1 = weight gate : q8_0[96, 64]
  %2 = weight up : q8_0[96, 64]
  %3 = weight down : q8_0[64, 96]
  %4 = dot %0 %1 : f32[T, 96]
  %5 = dot %0 %2 : f32[T, 96]
  %6 = silu %4 : f32[T, 96]
  %7 = mul %6 %5 : f32[T, 96]
  %8 = dot %7 %3 : f32[T, 64]
  %9 = add %0 %8 : f32[T, 64]
  output x = %9
}
---
plan swiglu T=4 R=1 S=1 P=1 arena=960 {
b0 = output x : f32[T, 64]
b1 = arena 0 : q8[T, 64]
b2 = input x : f32[T, 64]
b3 = weight gate : q8_0[96, 64]
b4 = weight up : q8_0[96, 64]
b5 = arena 384 : q8[T, 96]
b6 = weight down : q8_0[64, 96]
kernel map_64 {
  p0 read f32
  p1 write q8
  rows [T] cols 64
  map
  v0 = load 64 p0[0; 64; 1]
  v1 = store v0 p1[0; 64; 1]
}
kernel dot_96x64_q8_0&dot_96x64_q8_0 {
  p0 read q8
  p1 read q8_0
  p2 read q8_0
  p3 write q8
  rows [T] cols 96
  dot x=p0[0; 64; 1] w=p1 count=1 n=96 k=64 first=0 stride=96 pick=only transposed=false
  dot x=p0[0; 64; 1] w=p2 count=1 n=96 k=64 first=0 stride=96 pick=only transposed=false
  v0 = acc 0
  v1 = acc 1
  v2 = silu v0
  v3 = mul v2 v1
  v4 = store v3 p3[0; 96; 1]
}
kernel dot_64x96_q8_0 {
  p0 read q8
  p1 read q8_0
  p2 read f32
  p3 write f32
  rows [T] cols 64
  dot x=p0[0; 96; 1] w=p1 count=1 n=64 k=96 first=0 stride=64 pick=only transposed=false
  v0 = acc 0
  v1 = load 64 p2[0; 64; 1]
  v2 = add v1 v0
  v3 = store v2 p3[0; 64; 1]
}
call map_64 b2 b1
call dot_96x64_q8_0&dot_96x64_q8_0 b1 b3 b4 b5
call dot_64x96_q8_0 b5 b6 b2 b0
}
