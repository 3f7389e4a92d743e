//! Memory traffic and operations of a kernel call.
//!
//! All counting happens here: the fuser's cost model, `weft bench` and `weft profile` use it. Bytes are those of distinct values,
//! each counted once per operation, as if a cache served every read but the first. Whether another operation or call reads the
//! same bytes again depends on the buffers that they are bound to, which [`Plan::traffic`](crate::Plan::traffic) knows.

use weft_ir::{Dim, Sizes};

use crate::kernel::{Access, Format, Indexed, Instr, Kernel, ParamId, Part, View};
use crate::q8;

/// How much of the KV cache the tokens of a step attend to, which sizes do not say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// Rows of the cache, each counted once.
    pub rows: u64,
    /// Rows that each token sees, summed over the tokens.
    pub pairs: u64,
}

impl Seen {
    /// One sequence of `tokens` new tokens after `depth` others. Each sees those before it and itself.
    pub fn causal(depth: u64, tokens: u64) -> Seen {
        Seen { rows: depth + tokens, pairs: depth * tokens + tokens * (tokens + 1) / 2 }
    }

    /// At most what `tokens` tokens see that attend to the last `window` positions only.
    pub(crate) fn within(self, window: usize, tokens: u64) -> Seen {
        let most = tokens.saturating_mul(window as u64);
        Seen { rows: self.rows.min(most), pairs: self.pairs.min(most) }
    }
}

/// A product, an attention, or a part without either. A part's row program belongs to its first operation, and so does its
/// prologue, unless an earlier part has the same one: then it runs once for both.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation {
    /// The index of its part in the kernel.
    pub part: usize,
    /// `dot`, `head_dot`, `select_dot`, `select_sum`, `attend`, `reduce` or `map`.
    pub anchor: &'static str,
    /// The weight that it multiplies by, which comes first in `touches`.
    pub weight: Option<ParamId>,
    /// What it reads and writes, including its row programs.
    pub touches: Vec<Touch>,
    /// Multiply-adds of the product or the attention.
    pub multiplications: u64,
    /// Whether they are of `f32`, or of whatever a device uses in attention, rather than of 8-bit integers. (The CPU's attention
    /// uses 16-bit integers, which are twice as fast as `f32`.)
    pub floats: bool,
    /// Whether its anchor reads a state.
    pub reads_state: bool,
    /// Values that instructions of the row program compute.
    pub values: u64,
    /// Values that instructions of the prologue compute. Every worker computes them again.
    pub prologue_values: u64,
}

/// An access to a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// The parameter.
    pub param: ParamId,
    /// Whether it is read or written.
    pub access: Access,
    /// Bytes of distinct values. Where rows pick matrices by index, they count as if no two picked the same, but as no more
    /// matrices than there are.
    pub bytes: u64,
}

impl Kernel {
    /// The operations of a call in a step of these sizes, in the order of its parts.
    pub fn traffic(&self, sizes: &Sizes, seen: &Seen) -> Vec<Operation> {
        let mut operations = Vec::new();
        for (at, part) in self.parts.iter().enumerate() {
            let mut own = Counter { kernel: self, rows: &part.rows, sizes, part: at };
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

/// Counts the operations of a part.
pub(crate) struct Counter<'a> {
    pub(crate) kernel: &'a Kernel,
    /// The axes of the row program being counted.
    rows: &'a [Dim],
    pub(crate) sizes: &'a Sizes,
    part: usize,
}

impl Counter<'_> {
    /// An operation that touches nothing yet.
    pub(crate) fn operation(&self, anchor: &'static str) -> Operation {
        Operation {
            part: self.part,
            anchor,
            weight: None,
            touches: Vec::new(),
            multiplications: 0,
            floats: true,
            reads_state: false,
            values: 0,
            prologue_values: 0,
        }
    }

    /// The number of the part's rows in this step.
    pub(crate) fn count(&self) -> u64 {
        self.rows.iter().map(|dim| dim.eval(self.sizes) as u64).product()
    }

    fn row_values(&self, lens: &[usize]) -> u64 {
        self.count() * lens.iter().map(|len| *len as u64).sum::<u64>()
    }

    /// Adds the accesses of a row program.
    fn program(&self, body: &[Instr], lens: &[usize], touches: &mut Vec<Touch>) {
        body.iter().for_each(|instr| self.instr(instr, lens, touches));
    }

    fn instr(&self, instr: &Instr, lens: &[usize], touches: &mut Vec<Touch>) {
        let (len, access) = match instr {
            Instr::Load { len, .. } => (*len, Access::Read),
            Instr::Store { value, .. } => (lens[*value], Access::Write),
            _ => return,
        };
        let Some((view, indexed)) = instr.view() else { return };
        touches.push(self.touch(view, indexed, len, access));
        if let Some(Indexed { index, .. }) = indexed {
            touches.push(self.touch(index, None, 1, Access::Read));
        }
    }

    /// The distinct values of a view of `len` columns. Axes without a stride repeat them.
    pub(crate) fn touch(&self, view: &View, indexed: Option<&Indexed>, len: usize, access: Access) -> Touch {
        let moves = |axis: usize| {
            let along = |view: &View| view.strides.get(axis).is_some_and(|stride| *stride > 0);
            along(view) || indexed.is_some_and(|indexed| along(&indexed.index))
        };
        let axes = self.rows.iter().enumerate();
        let rows: u64 =
            axes.map(|(axis, dim)| if moves(axis) { dim.eval(self.sizes) as u64 } else { 1 }).product();
        let none = self.rows.iter().any(|dim| dim.eval(self.sizes) == 0);
        let columns = if view.step > 0 { len as u64 } else { 1 };
        self.values(view.param, access, if none { 0 } else { rows * columns })
    }

    /// An access to `values` values of a parameter.
    pub(crate) fn values(&self, param: ParamId, access: Access, values: u64) -> Touch {
        let bytes = match self.kernel.params[param].format {
            Format::Ggml(ty) => (values * ty.block_bytes() as u64).div_ceil(ty.block_len() as u64),
            Format::Q8 => q8::buffer_bytes(values as usize).unwrap_or(0) as u64,
        };
        Touch { param, access, bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_plan;
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
        // An expert has 8 rows of two blocks of 34 bytes. Two tokens pick four, but there are three.
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
