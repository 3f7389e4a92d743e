test fuse T=8 S=4 Q=3
# A gated delta rule: a short convolution, norms of queries and keys, the scan, and a gated norm that follows it.
graph gated_delta {
  %0 = input x : f32[T, 10, 8]
  %1 = weight conv : f32[80, 4]
  %2 = state inputs kind=per_sequence : f32[S, 560]
  %3 = input ends : i32[Q]
  %4 = input from : i32[Q]
  %5 = input to : i32[Q]
  %6 = input certain : i32[Q]
  %7 = input kept : i32[Q]
  %8 = scan %0 %1 %2 %3 %4 %5 %6 %7 rule=convolution : f32[T, 10, 8]
  %9 = silu %8 : f32[T, 10, 8]
  %10 = slice %9 axis=1 start=0 len=2 : f32[T, 2, 8]
  %11 = slice %9 axis=1 start=2 len=2 : f32[T, 2, 8]
  %12 = slice %9 axis=1 start=4 len=6 : f32[T, 6, 8]
  %13 = const 1e-6 : f32[]
  %14 = mul %10 %10 : f32[T, 2, 8]
  %15 = reduce_sum %14 axis=2 : f32[T, 2, 1]
  %16 = add %15 %13 : f32[T, 2, 1]
  %17 = rsqrt %16 : f32[T, 2, 1]
  %18 = mul %10 %17 : f32[T, 2, 8]
  %19 = mul %11 %11 : f32[T, 2, 8]
  %20 = reduce_sum %19 axis=2 : f32[T, 2, 1]
  %21 = add %20 %13 : f32[T, 2, 1]
  %22 = rsqrt %21 : f32[T, 2, 1]
  %23 = mul %11 %22 : f32[T, 2, 8]
  %24 = input alpha : f32[T, 6]
  %25 = softplus %24 : f32[T, 6]
  %26 = neg %25 : f32[T, 6]
  %27 = exp %26 : f32[T, 6]
  %28 = input beta : f32[T, 6]
  %29 = sigmoid %28 : f32[T, 6]
  %30 = state delta kind=per_sequence : f32[S, 816]
  %31 = scan %18 %23 %12 %27 %29 %30 %3 %4 %5 %6 %7 rule=delta_tiled : f32[T, 6, 8]
  %32 = mul %31 %31 : f32[T, 6, 8]
  %33 = reduce_sum %32 axis=2 : f32[T, 6, 1]
  %34 = add %33 %13 : f32[T, 6, 1]
  %35 = rsqrt %34 : f32[T, 6, 1]
  %36 = mul %31 %35 : f32[T, 6, 8]
  %37 = input z : f32[T, 6, 8]
  %38 = mul %36 %37 : f32[T, 6, 8]
  output y = %38
}
---
plan gated_delta T=8 R=1 S=4 P=1 Q=3 arena=3968 {
b0 = output y : f32[T, 6, 8]
b1 = input x : f32[T, 10, 8]
b2 = weight conv : f32[80, 4]
b3 = state inputs per_sequence : f32[S, 560]
b4 = input ends : i32[Q]
b5 = input from : i32[Q]
b6 = input to : i32[Q]
b7 = input certain : i32[Q]
b8 = input kept : i32[Q]
b9 = arena 0 : f32[T, 10, 8]
b10 = input alpha : f32[T, 6]
b11 = input beta : f32[T, 6]
b12 = arena 2944 : f32[T, 2, 8]
b13 = arena 3456 : f32[T, 2, 8]
b14 = arena 2560 : f32[T, 6]
b15 = arena 2752 : f32[T, 6]
b16 = state delta per_sequence : f32[S, 816]
b17 = input z : f32[T, 6, 8]
kernel scan_convolution_10x8+2 {
  p0 read f32
  p1 read f32
  p2 update f32
  p3 read i32
  p4 read i32
  p5 read i32
  p6 read i32
  p7 read i32
  p8 write f32
  p9 read f32
  p10 write f32
  p11 read f32
  p12 write f32
  rows [T, 10] cols 8
  scan rule=convolution x=p0[0; 80, 8; 1] w=p1 taps=4 state=p2 ends=p3 from=p4 to=p5 certain=p6 kept=p7 heads=10
  v0 = acc 0
  v1 = silu v0
  v2 = store v1 p8[0; 80, 8; 1]
  rows [T] cols 6
  map
  v0 = load 6 p9[0; 6; 1]
  v1 = softplus v0
  v2 = neg v1
  v3 = exp v2
  v4 = store v3 p10[0; 6; 1]
  rows [T] cols 6
  map
  v0 = load 6 p11[0; 6; 1]
  v1 = sigmoid v0
  v2 = store v1 p12[0; 6; 1]
}
kernel reduce_8+1 {
  p0 read f32
  p1 write f32
  p2 write f32
  rows [T, 2] cols 8
  reduce
  v0 = load 8 p0[0; 80, 8; 1]
  v1 = mul v0 v0
  v2 = reduce_sum v1
  v3 = const 1e-6
  v4 = add v2 v3
  v5 = rsqrt v4
  v6 = mul v0 v5
  v7 = store v6 p1[0; 16, 8; 1]
  rows [T, 2] cols 8
  reduce
  v0 = load 8 p0[16; 80, 8; 1]
  v1 = mul v0 v0
  v2 = reduce_sum v1
  v3 = const 1e-6
  v4 = add v2 v3
  v5 = rsqrt v4
  v6 = mul v0 v5
  v7 = store v6 p2[0; 16, 8; 1]
}
kernel scan_delta_tiled_6x8 {
  p0 read f32
  p1 read f32
  p2 read f32
  p3 read f32
  p4 read f32
  p5 update f32
  p6 read i32
  p7 read i32
  p8 read i32
  p9 read i32
  p10 read i32
  p11 read f32
  p12 write f32
  rows [T, 6] cols 8
  scan rule=delta_tiled q=p0[0; 16, 8; 1] k=p1[0; 16, 8; 1] v=p2[32; 80, 8; 1] decay=p3[0; 6, 1; 0] beta=p4[0; 6, 1; 0] keys=2 inner=8 channels=0 state=p5 ends=p6 from=p7 to=p8 certain=p9 kept=p10 heads=6
  v0 = acc 0
  v1 = mul v0 v0
  v2 = reduce_sum v1
  v3 = const 1e-6
  v4 = add v2 v3
  v5 = rsqrt v4
  v6 = mul v0 v5
  v7 = load 8 p11[0; 48, 8; 1]
  v8 = mul v6 v7
  v9 = store v8 p12[0; 48, 8; 1]
}
call scan_convolution_10x8+2 b1 b2 b3 b4 b5 b6 b7 b8 b9 b10 b14 b11 b15
call reduce_8+1 b9 b12 b13
call scan_delta_tiled_6x8 b12 b13 b9 b14 b15 b16 b4 b5 b6 b7 b8 b17 b0
}
