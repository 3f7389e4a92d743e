//! What a plan costs on a machine: the number that decisions by cost compare.
//!
//! A kernel takes its launch, and then as long as the longest of these: its parts' work divided among all workers; what the machine reads at
//! most in that time; the largest piece that cannot be divided. A prologue comes on top, since every worker computes it. The work of a product is
//! the longer of reading its weights and of multiplying by them. Attention is left out: no decision changes it, and how long it takes depends
//! on the context.

use std::fmt;

use weft_kern::{Anchor, Instr, Kernel, Machine, Part, Plan, Sizes};

/// Columns that a device computes together at least.
const TILE: u64 = 32;

/// What a plan costs in a step of the largest sizes it is made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Kernels launched.
    pub kernels: u64,
    /// Bytes of weights read.
    pub weight_bytes: u64,
    /// Time, estimated.
    pub ns: u64,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (us, mb) = (self.ns as f64 / 1e3, self.weight_bytes as f64 / 1e6);
        write!(f, "{} kernels, {mb:.2} MB of weights, {us:.1} µs", self.kernels)
    }
}

/// Adds up a plan's kernels.
pub(crate) fn cost(plan: &Plan, machine: &Machine) -> Cost {
    let mut total = Cost::default();
    for call in &plan.calls {
        let kernel = &plan.kernels[call.kernel];
        total.kernels += 1;
        total.weight_bytes += kernel.work(&plan.max).weight_bytes;
        total.ns += time(kernel, &plan.max, machine);
    }
    total
}

/// Nanoseconds of one kernel.
fn time(kernel: &Kernel, sizes: &Sizes, machine: &Machine) -> u64 {
    let mut busy = 0;
    let mut longest = 0;
    let mut before: Vec<(&[Instr], u64)> = Vec::new();
    for part in &kernel.parts {
        let work = work(kernel, part, sizes, machine);
        busy += work.all;
        longest = longest.max(work.piece);
        if let Some(prologue) = &part.prologue {
            let rows: u64 = count(part.prologue_rows(), sizes);
            let values: u64 = prologue.lens().iter().map(|n| *n as u64).sum();
            // Parts with the same prologue share it.
            if !before.iter().any(|(body, _)| *body == prologue.body) {
                before.push((&prologue.body, over(rows * values, machine.worker_values)));
            }
        }
    }
    let reading = over(kernel.work(sizes).weight_bytes, machine.bytes);
    let prologues: u64 = before.iter().map(|(_, ns)| ns).sum();
    machine.launch_ns + prologues + (busy / machine.workers.max(1)).max(longest).max(reading)
}

/// The work of a part.
struct Work {
    /// Nanoseconds on one worker.
    all: u64,
    /// Nanoseconds of the largest piece that cannot be divided.
    piece: u64,
}

fn work(kernel: &Kernel, part: &Part, sizes: &Sizes, machine: &Machine) -> Work {
    let rows = count(&part.rows, sizes);
    let values: u64 = part.lens().iter().map(|n| *n as u64).sum();
    let mut all = over(rows * values, machine.worker_values);
    for product in part.products() {
        let work = kernel.product_work(part, product, sizes);
        let read = over(work.weight_bytes, machine.worker_bytes);
        all += read.max(over(work.multiplications, machine.worker_multiplications));
    }
    let divides = part.columns_independent() || matches!(part.anchor, Anchor::Attend(_));
    let pieces = rows * if divides { (part.cols as u64).div_ceil(TILE) } else { 1 };
    Work { all, piece: all / pieces.max(1) }
}

fn count(rows: &[weft_kern::Dim], sizes: &Sizes) -> u64 {
    rows.iter().map(|d| d.eval(sizes) as u64).product()
}

/// Nanoseconds for an amount at a rate a second.
fn over(amount: u64, rate: u64) -> u64 {
    (u128::from(amount) * 1_000_000_000 / u128::from(rate.max(1))) as u64
}
