test plan error
# Blocks are written whole wherever the numbers say: of rows 33 values apart, hardly any begins where a block does.
plan p T=4 R=1 S=8 P=1 arena=0 {
b0 = input x : f32[T, 32]
b1 = input slots : i32[T]
b2 = state kv : q8_0[S, 64]
kernel keep {
  p0 read f32
  p1 read i32
  p2 write q8_0
  rows [T] cols 32
  map
  v0 = load 32 p0[0; 32; 1]
  v1 = store v0 p2[0; 0; 1] @ p1[0; 1; 0] * 33
}
call keep b0 b1 b2
}
---
plan `p`, call 0 (`keep`): v1: a store to q8_0 must write whole, contiguous blocks
