test fuse T=4
# One kernel; rounded for the quantised matrix and plain for the router, written once each.
graph norm_into_two_matrices {
  %0 = input x : f32[T, 64]
  %1 = weight norm : f32[64]
  %2 = mul %0 %0 : f32[T, 64]
  %3 = reduce_sum %2 axis=1 : f32[T, 1]
  %4 = const 0.015625 : f32[]
  %5 = mul %3 %4 : f32[T, 1]
  %6 = const 1e-5 : f32[]
  %7 = add %5 %6 : f32[T, 1]
  %8 = rsqrt %7 : f32[T, 1]
  %9 = mul %0 %8 : f32[T, 64]
  %10 = mul %9 %1 : f32[T, 64]
  %11 = weight router : f32[8, 64]
  %12 = dot %10 %11 : f32[T, 8]
  %13 = weight q : q4_0[96, 64]
  %14 = dot %10 %13 : f32[T, 96]
  output router = %12
  output q = %14
}
---
plan norm_into_two_matrices T=4 R=1 S=1 P=1 arena=0 {
b0 = output router : f32[T, 8]
b1 = output q : f32[T, 96]
b2 = input x : f32[T, 64]
b3 = weight norm : f32[64]
b4 = weight router : f32[8, 64]
b5 = weight q : q4_0[96, 64]
kernel dot_96x64_q4_0+1 {
  p0 read f32
  p1 read f32
  p2 read f32
  p3 write f32
  p4 read q4_0
  p5 write f32
  rows [T] cols 8
  before
  v0 = load 64 p0[0; 64; 1]
  v1 = mul v0 v0
  v2 = reduce_sum v1
  v3 = const 0.015625
  v4 = mul v2 v3
  v5 = const 1e-5
  v6 = add v4 v5
  v7 = rsqrt v6
  v8 = mul v0 v7
  v9 = load 64 p1[0; 0; 1]
  v10 = mul v8 v9
  gives v10
  dot x=before w=p2 count=1 n=8 k=64 first=0 stride=8 pick=only transposed=false
  v0 = acc 0
  v1 = store v0 p3[0; 8; 1]
  rows [T] cols 96
  before
  v0 = load 64 p0[0; 64; 1]
  v1 = mul v0 v0
  v2 = reduce_sum v1
  v3 = const 0.015625
  v4 = mul v2 v3
  v5 = const 1e-5
  v6 = add v4 v5
  v7 = rsqrt v6
  v8 = mul v0 v7
  v9 = load 64 p1[0; 0; 1]
  v10 = mul v8 v9
  gives v10
  dot x=before w=p4 count=1 n=96 k=64 first=0 stride=96 pick=only transposed=false
  v0 = acc 0
  v1 = store v0 p5[0; 96; 1]
}
call dot_96x64_q4_0+1 b2 b3 b4 b0 b5 b1
}
