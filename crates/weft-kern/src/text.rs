//! The text form of a plan, which parses back to the same plan.
//!
//! A view prints as `p2[192; 5120, 256; 1]`: parameter, offset, a stride for each axis of the rows, step. The index of a row
//! follows as `@ p3[0; 1; 0] * 576`. A part of a kernel begins with its `rows`; a prologue is written between `before` and the
//! value that it `gives`.

mod parse;
mod print;

pub use parse::{ParseError, parse_plan};

/// Words that printing and parsing share.
mod words {
    pub(super) const ONLY: &str = "only";
    pub(super) const DOT: &str = "dot";
    pub(super) const SELECT_DOT: &str = "select_dot";
    pub(super) const SELECT_SUM: &str = "select_sum";
    pub(super) const ROWS: &str = "rows [";
    pub(super) const COLS: &str = "] cols ";
    pub(super) const BEFORE: &str = "before";
    pub(super) const GIVES: &str = "gives v";
}

#[cfg(test)]
mod tests {
    use super::parse_plan;

    #[test]
    fn the_length_of_a_sequence_is_kept() {
        let plan = "plan attends T=4 R=1 S=64 P=2 arena=0 {
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
  attend q=p0[0; 60, 12; 1] k=p1[0; 12, 12; 1] v=p1[0; 12, 8; 1] pos=p2 first=p3 pages=p4 scale=0.5 heads=5 kv_heads=1 k_len=12 page=32 most_pages=2
  v0 = acc 0
  v1 = store v0 p5[0; 40, 8; 1]
}
call attend b0 b1 b2 b3 b4 b5
}
";
        assert_eq!(parse_plan(plan).unwrap().to_string(), plan);
        let unknown = plan.replace(" most_pages=2", "");
        assert_eq!(parse_plan(&unknown).unwrap().to_string(), unknown);
        assert!(parse_plan(&plan.replace("most_pages=2", "most_pages=0")).is_err());
        assert!(parse_plan(&plan.replace("most_pages=2", "most_pages=x")).is_err());
    }
}
