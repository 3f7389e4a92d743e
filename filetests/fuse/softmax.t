test fuse T=4
# Two reductions over the same row, one kernel.
graph softmax {
  %0 = input x : f32[T, 50]
  %1 = reduce_max %0 axis=1 : f32[T, 1]
  %2 = sub %0 %1 : f32[T, 50]
  %3 = exp %2 : f32[T, 50]
  %4 = reduce_sum %3 axis=1 : f32[T, 1]
  %5 = div %3 %4 : f32[T, 50]
  output y = %5
}
---
plan softmax T=4 R=1 S=1 P=1 arena=0 {
b0 = output y : f32[T, 50]
b1 = input x : f32[T, 50]
kernel reduce_50 {
  p0 read f32
  p1 write f32
  rows [T] cols 50
  reduce
  v0 = load 50 p0[0; 50; 1]
  v1 = reduce_max v0
  v2 = sub v0 v1
  v3 = exp v2
  v4 = reduce_sum v3
  v5 = div v3 v4
  v6 = store v5 p1[0; 50; 1]
}
call reduce_50 b1 b0
}
