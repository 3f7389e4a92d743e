//! The cost of a plan on a machine: the estimate that decisions by cost compare, and that `weft explain` shows beside the
//! measured time.
//!
//! The time of a kernel is its launch, then its prologues, which every worker runs, and then the longest of three: its work
//! divided among all workers, the largest indivisible piece of work, and reading its bytes at the bandwidth of the whole machine.
//! The work of an operation is its row program plus the longer of reading and multiplying. [`Plan::traffic`] counts bytes and
//! operations. Activations are assumed to be in caches, and a weight that two operations read to be read twice.

use std::fmt;

use weft_kern::{Amounts, Counted, Kernel, Machine, Part, Plan, Seen, Sizes};

/// The cost of a plan in its largest step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// The number of kernel launches.
    pub kernels: u64,
    /// Bytes of weights read.
    pub weight_bytes: u64,
    /// The estimated time in nanoseconds, without attention, which no decision changes and which depends on the context.
    pub ns: u64,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (us, mb) = (self.ns as f64 / 1e3, self.weight_bytes as f64 / 1e6);
        write!(f, "{} kernels, {mb:.2} MB of weights, {us:.1} µs", self.kernels)
    }
}

/// Adds up a plan's kernels in the largest step.
pub(crate) fn cost(plan: &Plan, machine: &Machine) -> Cost {
    let calls = plan.traffic(&plan.max, &Seen::default());
    let weight_bytes = total(calls.iter().flatten().map(|counted| counted.alone.weight_bytes));
    let ns = total(times(plan, &calls, &plan.max, machine));
    Cost { kernels: plan.calls.len() as u64, weight_bytes, ns }
}

/// Estimates the time of each call of a plan in a step of these sizes, in nanoseconds, including attention to `seen`.
pub fn estimate(plan: &Plan, sizes: &Sizes, seen: &Seen, machine: &Machine) -> Vec<u64> {
    times(plan, &plan.traffic(sizes, seen), sizes, machine).collect()
}

fn times<'a>(
    plan: &'a Plan,
    calls: &'a [Vec<Counted>],
    sizes: &'a Sizes,
    machine: &'a Machine,
) -> impl Iterator<Item = u64> + 'a {
    let kernels = plan.calls.iter().map(|call| &plan.kernels[call.kernel]);
    kernels.zip(calls).map(|(kernel, operations)| time(kernel, operations, sizes, machine))
}

/// The time of one call in nanoseconds.
fn time(kernel: &Kernel, operations: &[Counted], sizes: &Sizes, machine: &Machine) -> u64 {
    let mut busy = 0;
    let mut longest = 0;
    for (at, part) in kernel.parts.iter().enumerate() {
        let own = operations.iter().filter(|counted| counted.operation.part == at);
        let work = total(own.map(|counted| work(&counted.alone, machine)));
        busy = total([busy, work]);
        longest = longest.max(work / pieces(part, sizes, machine).max(1));
    }
    let all: Amounts = operations.iter().map(|counted| counted.alone).sum();
    let prologues = over(all.prologue_values, machine.worker_values);
    let reading = over(total([all.weight_bytes, all.state_bytes]), machine.bytes);
    let working = (busy / machine.workers.max(1)).max(longest).max(reading);
    total([machine.launch_ns, prologues, working])
}

/// The nanoseconds that a single worker takes for an operation, without prologues.
fn work(amounts: &Amounts, machine: &Machine) -> u64 {
    let reading = over(total([amounts.weight_bytes, amounts.state_bytes]), machine.worker_bytes);
    let integers = over(amounts.integer_multiplications, machine.worker_multiplications);
    let floats = over(amounts.float_multiplications, machine.worker_float_multiplications);
    total([over(amounts.values, machine.worker_values), reading.max(total([integers, floats]))])
}

/// The number of pieces that a part's work can be divided into.
fn pieces(part: &Part, sizes: &Sizes, machine: &Machine) -> u64 {
    let rows = part.rows.iter().fold(1, |rows: u64, dim| rows.saturating_mul(dim.eval(sizes) as u64));
    let divides = part.columns_independent() || part.anchor.divides_rows();
    let cols = part.cols as u64;
    rows.saturating_mul(match part.products() {
        _ if divides => cols.div_ceil(machine.columns.max(1)),
        [] => 1,
        _ => machine.row_workers.min(cols),
    })
}

/// Nanoseconds for an amount at a rate per second.
fn over(amount: u64, rate: u64) -> u64 {
    u64::try_from(u128::from(amount) * 1_000_000_000 / u128::from(rate.max(1))).unwrap_or(u64::MAX)
}

/// A sum, or the largest number if that is exceeded.
fn total(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use weft_kern::parse_plan;

    use super::*;

    /// A norm of 64 values as the prologue of a product with 4096 columns.
    const PLAN: &str = "plan p T=8 R=1 S=64 P=2 arena=0 {
b0 = input x : f32[T, 64]
b1 = weight w : q8_0[4096, 64]
b2 = output y : f32[T, 4096]
kernel dot {
  p0 read f32
  p1 read q8_0
  p2 write f32
  rows [T] cols 4096
  before
  v0 = load 64 p0[0; 64; 1]
  v1 = mul v0 v0
  gives v1
  dot x=before w=p1 count=1 n=4096 k=64 first=0 stride=4096 pick=only transposed=false
  v0 = acc 0
  v1 = store v0 p2[0; 4096; 1]
}
call dot b0 b1 b2
}
";

    /// A machine that takes a nanosecond per byte and is infinitely fast at everything else, except where a case changes it.
    fn machine() -> Machine {
        let rate = 1_000_000_000;
        Machine {
            workers: 1,
            launch_ns: 0,
            worker_bytes: rate,
            bytes: u64::MAX,
            worker_multiplications: u64::MAX,
            worker_float_multiplications: u64::MAX,
            worker_values: u64::MAX,
            row_workers: 1,
            columns: 32,
        }
    }

    fn ns(tokens: usize, machine: Machine) -> u64 {
        let plan = parse_plan(PLAN).unwrap();
        let sizes = Sizes { tokens, ..plan.max };
        let [ns] = estimate(&plan, &sizes, &Seen::default(), &machine)[..] else { panic!("one call") };
        ns
    }

    #[test]
    fn estimates_saturate() {
        let slow = Machine { launch_ns: u64::MAX, worker_bytes: 1, bytes: 1, worker_values: 1, ..machine() };
        assert_eq!(ns(5, slow), u64::MAX);
        let plan = parse_plan(&PLAN.replace("call dot b0 b1 b2\n", "call dot b0 b1 b2\ncall dot b0 b1 b2\n"))
            .unwrap();
        assert_eq!(cost(&plan, &slow).ns, u64::MAX);
        assert_eq!([over(u64::MAX, 1), over(u64::MAX, 0), over(3, u64::MAX)], [u64::MAX, u64::MAX, 0]);
    }

    #[test]
    fn each_number_of_a_machine_counts_where_it_should() {
        let bytes = 4096 * 2 * 34;
        let rate = 1_000_000_000;
        let mul = 4096 * 64;
        for (what, machine, expected) in [
            ("a worker's bandwidth", machine(), bytes),
            ("four workers", Machine { workers: 4, ..machine() }, bytes / 4),
            ("pieces of at least 32 columns", Machine { workers: 4096, ..machine() }, bytes / 128),
            ("of 16", Machine { workers: 4096, columns: 16, ..machine() }, bytes / 256),
            ("the machine's bandwidth", Machine { workers: 4096, bytes: rate / 2, ..machine() }, 2 * bytes),
            ("a launch", Machine { launch_ns: 7, ..machine() }, bytes + 7),
            (
                "multiplying takes longer than reading",
                Machine { worker_multiplications: rate / 2, ..machine() },
                2 * mul,
            ),
            ("no floats are multiplied", Machine { worker_float_multiplications: 1, ..machine() }, bytes),
            (
                "the row program is shared, the prologue is not",
                Machine { workers: 4, worker_values: rate, ..machine() },
                2 * 64 + (4096 + bytes) / 4,
            ),
        ] {
            assert_eq!(ns(1, machine), expected, "{what}");
        }
        let machine = Machine { worker_bytes: u64::MAX, worker_multiplications: rate, ..machine() };
        assert_eq!(ns(5, machine), 5 * mul, "each token multiplies");
    }
}
