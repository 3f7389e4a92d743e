//! Bytes and operations of plans, added up by the kind of memory.

use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use weft_ir::Sizes;

use crate::plan::{Plan, Source};
use crate::program::Access;
use crate::traffic::{Operation, Seen};

/// Memory traffic in bytes, and operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Amounts {
    /// Bytes of weights, as the file stores them. For experts, those of the selected ones, as if no two tokens selected the same.
    pub weight_bytes: u64,
    /// Bytes of the KV cache, read and written.
    pub state_bytes: u64,
    /// Bytes of everything else, read and written, mostly in the processor's caches.
    pub activation_bytes: u64,
    /// Multiply-adds of 8-bit integers.
    pub integer_multiplications: u64,
    /// Multiply-adds of `f32` with weights, and those of attention in whatever type a device uses there.
    pub float_multiplications: u64,
    /// Values that instructions of row programs compute, without prologues.
    pub values: u64,
    /// Values that instructions of prologues compute, which every worker repeats.
    pub prologue_values: u64,
}

/// An operation of a call, with its amounts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counted {
    /// The operation.
    pub operation: Operation,
    /// Its amounts in isolation.
    pub alone: Amounts,
    /// The amounts that it adds to those of the operations before it. Bytes of a weight count only at the first operation of the plan
    /// that reads them, and bytes of other values at the first of the call that reads or writes them. The sum over all operations is
    /// the least that a plan takes.
    pub more: Amounts,
}

impl Amounts {
    /// Multiply-adds of both kinds.
    pub fn multiplications(&self) -> u64 {
        self.integer_multiplications + self.float_multiplications
    }
}

impl Add for Amounts {
    type Output = Amounts;

    fn add(self, other: Amounts) -> Amounts {
        Amounts {
            weight_bytes: self.weight_bytes + other.weight_bytes,
            state_bytes: self.state_bytes + other.state_bytes,
            activation_bytes: self.activation_bytes + other.activation_bytes,
            integer_multiplications: self.integer_multiplications + other.integer_multiplications,
            float_multiplications: self.float_multiplications + other.float_multiplications,
            values: self.values + other.values,
            prologue_values: self.prologue_values + other.prologue_values,
        }
    }
}

impl AddAssign for Amounts {
    fn add_assign(&mut self, other: Amounts) {
        *self = *self + other;
    }
}

impl Sum for Amounts {
    fn sum<I: Iterator<Item = Amounts>>(all: I) -> Amounts {
        all.fold(Amounts::default(), Amounts::add)
    }
}

impl Plan {
    /// The operations of every call in a step of these sizes.
    pub fn traffic(&self, sizes: &Sizes, seen: &Seen) -> Vec<Vec<Counted>> {
        let mut weights_left = BTreeMap::new();
        let call = |call: &crate::plan::Call| {
            let mut left = BTreeMap::new();
            let operations = self.kernels[call.kernel].traffic(sizes, seen).into_iter();
            let counted = operations.map(|operation| {
                let mut alone = Amounts {
                    values: operation.values,
                    prologue_values: operation.prologue_values,
                    ..Amounts::default()
                };
                let multiplications = if operation.floats {
                    &mut alone.float_multiplications
                } else {
                    &mut alone.integer_multiplications
                };
                *multiplications = operation.multiplications;
                let mut more = alone;
                for touch in &operation.touches {
                    let at = call.args[touch.param];
                    let buffer = &self.buffers[at];
                    let all = buffer.bytes(sizes).unwrap_or(usize::MAX) as u64;
                    match &buffer.source {
                        Source::Weight(_) => {
                            alone.weight_bytes += touch.bytes;
                            more.weight_bytes += take(weights_left.entry(at).or_insert(all), touch.bytes);
                        }
                        Source::State { .. } => {
                            alone.state_bytes += touch.bytes;
                            more.state_bytes += touch.bytes;
                        }
                        Source::Constant(_) | Source::Input(_) | Source::Output(_) | Source::Arena(_) => {
                            let left = left.entry((at, touch.access == Access::Write)).or_insert(all);
                            alone.activation_bytes += touch.bytes;
                            more.activation_bytes += take(left, touch.bytes);
                        }
                    }
                }
                Counted { operation, alone, more }
            });
            counted.collect()
        };
        self.calls.iter().map(call).collect()
    }
}

/// Takes up to `wanted` from `left`.
fn take(left: &mut u64, wanted: u64) -> u64 {
    let taken = wanted.min(*left);
    *left -= taken;
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_plan;

    #[test]
    fn take_stops_at_what_is_left() {
        let mut left = 10;
        assert_eq!([4, 4, 4, 4].map(|wanted| take(&mut left, wanted)), [4, 4, 2, 0]);
    }

    /// Two products of one weight with one input: the second reads neither of them again in the same call, and the second call
    /// does not read the weight again.
    #[test]
    fn repeated_reads_are_counted_once() {
        let plan = parse_plan(
            "plan again T=4 R=1 S=64 P=2 arena=0 {
b0 = input x : f32[T, 8]
b1 = weight w : f32[4, 8]
b2 = output y : f32[T, 4]
b3 = output z : f32[T, 4]
kernel both {
  p0 read f32
  p1 read f32
  p2 write f32
  rows [T] cols 4
  dot x=p0[0; 8; 1] w=p1 count=1 n=4 k=8 first=0 stride=4 pick=only transposed=false
  dot x=p0[0; 8; 1] w=p1 count=1 n=4 k=8 first=0 stride=4 pick=only transposed=false
  v0 = acc 0
  v1 = acc 1
  v2 = add v0 v1
  v3 = store v2 p2[0; 4; 1]
}
call both b0 b1 b2
call both b0 b1 b3
}
",
        )
        .unwrap();
        let sizes = Sizes::of(2).rows(1).slots(64).pages(2);
        let traffic = plan.traffic(&sizes, &Seen::default());
        let more = |call: usize| traffic[call].iter().map(|counted| counted.more).collect::<Vec<_>>();
        let second = Amounts { float_multiplications: 64, ..Amounts::default() };
        let first = Amounts { weight_bytes: 128, activation_bytes: 64 + 32, values: 24, ..second };
        assert_eq!(more(0), [first, second]);
        assert_eq!(more(1), [Amounts { weight_bytes: 0, ..first }, second]);
        let all: Amounts = traffic.iter().flatten().map(|counted| counted.more).sum();
        assert_eq!((all.weight_bytes, all.multiplications()), (128, 256));
        let alone: Amounts = traffic.iter().flatten().map(|counted| counted.alone).sum();
        assert_eq!(alone, Amounts { weight_bytes: 4 * 128, activation_bytes: 4 * 64 + 2 * 32, ..all });
    }
}
