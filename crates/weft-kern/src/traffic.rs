//! Memory traffic and operations of a kernel call.
//!
//! All counting happens here: the fuser's cost model, `weft bench` and `weft profile` use it. Bytes are those of distinct values,
//! each counted once per operation, as if a cache served every read but the first. Whether another operation or call reads the
//! same bytes again depends on the buffers that they are bound to, which [`Plan::traffic`](crate::Plan::traffic) knows.

mod count;

use weft_ir::Sizes;

pub(crate) use count::Counter;
pub use count::{Operation, Seen, Touch};

use crate::kernel::{Kernel, Part};

impl Kernel {
    /// The operations of a call in a step of these sizes, in the order of its parts.
    pub fn traffic(&self, sizes: &Sizes, seen: &Seen) -> Vec<Operation> {
        let mut operations = Vec::new();
        for (at, part) in self.parts.iter().enumerate() {
            let mut own = Counter { params: &self.params, rows: &part.rows, sizes, part: at };
            let first = operations.len();
            operations.extend(part.anchor.operations(&own, part.cols, seen));
            let Some(operation) = operations.get_mut(first) else { continue };
            own.program(&part.body, &part.lens(), &mut operation.touches);
            operation.values = own.row_values(&part.lens());
            // Parts with the same prologue share its values.
            let known = |other: &Part| part.prologue == other.prologue;
            if let Some(prologue) = part.prologue.as_ref().filter(|_| !self.parts[..at].iter().any(known)) {
                own.rows = part.prologue_rows();
                own.program(&prologue.body, &prologue.lens(), &mut operation.touches);
                operation.prologue_values = own.row_values(&prologue.lens());
            }
        }
        operations
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_plan;
    use crate::program::ParamId;
    use crate::test_plans::ATTEND;

    /// The anchor of an operation, its multiply-adds, whether they are of floats, and the bytes it touches of each parameter.
    type Found = (&'static str, u64, bool, Vec<(ParamId, u64)>);

    /// Every operation of the plan's only kernel.
    fn operations(plan: &str, sizes: Sizes, seen: Seen) -> Vec<Found> {
        let plan = parse_plan(plan).unwrap();
        let touches = |op: &Operation| op.touches.iter().map(|touch| (touch.param, touch.bytes)).collect();
        let operations = plan.kernels[0].traffic(&sizes, &seen);
        operations.iter().map(|op| (op.anchor, op.multiplications, op.floats, touches(op))).collect()
    }

    /// The values that the row program and the prologue of a plan's first operation compute.
    fn values(plan: &str, sizes: Sizes) -> (u64, u64) {
        let plan = parse_plan(plan).unwrap();
        let first = &plan.kernels[0].traffic(&sizes, &Seen::default())[0];
        (first.values, first.prologue_values)
    }

    fn sizes(tokens: usize) -> Sizes {
        Sizes::of(tokens).rows(1).slots(64).pages(2)
    }

    #[test]
    fn a_product_reads_its_weight_once_and_every_row_of_x() {
        let plan = "plan uses T=4 R=1 S=64 P=2 arena=0 {
b0 = input x : f32[T, 64]
b1 = weight norm : f32[64]
b2 = weight w : q4_0[32, 64]
b3 = output y : f32[T, 32]
kernel dot {
  p0 read f32
  p1 read f32
  p2 read q4_0
  p3 write f32
  rows [T] cols 32
  before
  v0 = load 64 p0[0; 64; 1]
  v1 = load 64 p1[0; 0; 1]
  v2 = mul v0 v1
  gives v2
  dot x=before w=p2 count=1 n=32 k=64 first=0 stride=32 pick=only transposed=false
  v0 = acc 0
  v1 = store v0 p3[0; 32; 1]
}
call dot b0 b1 b2 b3
}
";
        // 32 rows of two blocks of 18 bytes, and 64 floats of the norm for any number of tokens.
        let of = |tokens: u64| {
            let touches = vec![(2, 1152), (3, tokens * 128), (0, tokens * 256), (1, 256)];
            vec![("dot", tokens * 2048, false, touches)]
        };
        assert_eq!(operations(plan, sizes(1), Seen::default()), of(1));
        assert_eq!(operations(plan, sizes(3), Seen::default()), of(3));
        // The result of the row program; two loads and their product in the prologue.
        assert_eq!([1, 3].map(|tokens| values(plan, sizes(tokens))), [(32, 192), (96, 576)]);
    }

    #[test]
    fn only_selected_experts_are_read() {
        let plan = "plan uses T=4 R=1 S=64 P=2 arena=0 {
b0 = input x : q8[T, 2, 64]
b1 = input ids : i32[T, 2]
b2 = input weights : f32[T, 2]
b3 = weight experts : q8_0[3, 8, 64]
b4 = output y : f32[T, 8]
kernel sum {
  p0 read q8
  p1 read i32
  p2 read f32
  p3 read q8_0
  p4 write f32
  rows [T] cols 8
  select_sum x=p0[0; 128; 1] w=p3 count=3 n=8 k=64 first=0 stride=8 pick=p1[0; 2; 1] terms=2 weights=p2[0; 2; 1] apart=64 transposed=false
  v0 = acc 0
  v1 = store v0 p4[0; 8; 1]
}
call sum b0 b1 b2 b3 b4
}
";
        // An expert has 8 rows of two blocks of 34 bytes. Two tokens select four, but there are three.
        let of = |tokens: u64, experts: u64| {
            let [x, ids, y] = [176, 8, 32].map(|bytes| tokens * bytes);
            let touches = vec![(3, experts * 544), (1, ids), (2, ids), (0, x), (4, y)];
            vec![("select_sum", tokens * 1024, false, touches)]
        };
        assert_eq!(operations(plan, sizes(1), Seen::default()), of(1, 2));
        assert_eq!(operations(plan, sizes(2), Seen::default()), of(2, 3));
    }

    #[test]
    fn attention_reads_each_row_of_the_cache_once() {
        // Two tokens after ten see 11 and 12 rows, 12 distinct ones. Values are part of keys.
        let seen = Seen { rows: 12, pairs: 23 };
        let touches = vec![(0, 480), (2, 8), (3, 8), (4, 8), (1, 12 * 12 * 2), (5, 320)];
        assert_eq!(operations(ATTEND, sizes(2), seen), [("attend", 23 * 5 * 20, true, touches)]);
    }

    #[test]
    fn a_lookup_reads_one_row_per_token() {
        let plan = "plan uses T=4 R=1 S=64 P=2 arena=0 {
b0 = weight table : q4_0[100, 64]
b1 = input ids : i32[T]
b2 = output x : f32[T, 64]
kernel rows {
  p0 read q4_0
  p1 read i32
  p2 write f32
  rows [T] cols 64
  map
  v0 = load 64 p0[0; 0; 1] @ p1[0; 1; 0] * 64
  v1 = store v0 p2[0; 64; 1]
}
call rows b0 b1 b2
}
";
        let touches = vec![(0, 3 * 36), (1, 12), (2, 768)];
        assert_eq!(operations(plan, sizes(3), Seen::default()), [("map", 0, true, touches)]);
        let none = vec![(0, 0), (1, 0), (2, 0)];
        assert_eq!(operations(plan, sizes(0), Seen::default()), [("map", 0, true, none)]);
    }
}
