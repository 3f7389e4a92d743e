//! Plans that several tests read.

/// Attention with keys and values in one row of a cache.
pub(crate) const ATTEND: &str = "plan uses T=4 R=1 S=64 P=2 arena=0 {
b0 = input q : f32[T, 5, 12]
b1 = state kv : f16[S, 12]
b2 = input pos : i32[T]
b3 = input first : i32[T]
b4 = input pages : i32[P]
b5 = output y : f32[T, 5, 8]
kernel attend {
  p0 read f32
  p1 read f16
  p2 read i32
  p3 read i32
  p4 read i32
  p5 write f32
  rows [T, 5] cols 8
  attend q=p0[0; 60, 12; 1] k=p1[0; 12, 12; 1] v=p1[0; 12, 8; 1] pos=p2 first=p3 pages=p4 scale=0.5 heads=5 kv_heads=1 k_len=12 page=32
  v0 = acc 0
  v1 = store v0 p5[0; 40, 8; 1]
}
call attend b0 b1 b2 b3 b4 b5
}
";

/// A running sum of two heads with one value each.
pub(crate) const SCAN: &str = "plan uses T=4 R=1 S=3 P=1 Q=2 arena=0 {
b0 = input x : f32[T, 2, 1]
b1 = input a : f32[T, 2]
b2 = state s per_sequence : f32[S, 18]
b3 = input ends : i32[Q]
b4 = input from : i32[Q]
b5 = input to : i32[Q]
b6 = input certain : i32[Q]
b7 = input kept : i32[Q]
b8 = output y : f32[T, 2, 1]
kernel scan {
  p0 read f32
  p1 read f32
  p2 update f32
  p3 read i32
  p4 read i32
  p5 read i32
  p6 read i32
  p7 read i32
  p8 write f32
  rows [T, 2] cols 1
  scan rule=decay x=p0[0; 2, 1; 1] decay=p1[0; 2, 1; 0] state=p2 ends=p3 from=p4 to=p5 certain=p6 kept=p7 heads=2
  v0 = acc 0
  v1 = store v0 p8[0; 2, 1; 1]
}
call scan b0 b1 b2 b3 b4 b5 b6 b7 b8
}
";

/// An indexer with two heads of two values, which chooses three positions.
pub(crate) const INDEXER: &str = "plan uses T=2 R=1 S=8 P=2 arena=0 {
b0 = input q : f32[T, 2, 2]
b1 = input w : f32[T, 2]
b2 = state index : f32[S, 2]
b3 = input pos : i32[T]
b4 = input first : i32[T]
b5 = input pages : i32[P]
b6 = output list : i32[T, 3]
kernel indexer {
  p0 read f32
  p1 read f32
  p2 read f32
  p3 read i32
  p4 read i32
  p5 read i32
  p6 write i32
  rows [T] cols 3
  indexer q=p0[0; 4; 1] q_stride=2 w=p1[0; 2; 1] k=p2[0; 2, 2; 1] pos=p3 first=p4 pages=p5 heads=2 k_len=2 page=4
  v0 = acc 0
  v1 = store v0 p6[0; 3; 1]
}
call indexer b0 b1 b2 b3 b4 b5 b6
}
";
