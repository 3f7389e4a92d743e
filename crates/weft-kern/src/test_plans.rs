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
