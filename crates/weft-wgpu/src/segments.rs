//! Where a step is cut into submissions.
//!
//! The system ends submissions that keep the screen's GPU busy for seconds, and a step of many tokens can. So a long step
//! becomes several submissions. Each is short enough even if the estimate of its time is twenty times too low.

use std::ops::Range;

use weft_device::Program;
use weft_kern::{Kernel, Machine, Seen, Sizes};

/// The estimated nanoseconds after which a submission ends.
const LONGEST_NS: u64 = 30_000_000;

/// The launches of each submission of a step, in order: all in one without a `machine` to estimate times for.
pub(crate) fn segments(program: &Program, machine: Option<&Machine>) -> Vec<Range<usize>> {
    let kernel = |launch: usize| &program.kernels[program.launches[launch].kernel];
    let times = (0..program.launches.len())
        .map(|launch| machine.map_or(0, |machine| nanoseconds(kernel(launch), &program.max, machine)));
    cut(times)
}

/// Cuts launches that take these times: a submission ends with the launch that makes it too long.
fn cut(times: impl Iterator<Item = u64>) -> Vec<Range<usize>> {
    let (mut ranges, mut all, mut end) = (Vec::new(), 0u64, 0);
    let mut first = 0;
    for time in times {
        end += 1;
        all = all.saturating_add(time);
        if all > LONGEST_NS {
            ranges.push(first..end);
            (first, all) = (end, 0);
        }
    }
    // A step without launches is also a submission.
    if first < end || ranges.is_empty() {
        ranges.push(first..end);
    }
    ranges
}

/// The time of a launch in a step of these sizes, if the tokens are the last ones of all pages.
fn nanoseconds(kernel: &Kernel, sizes: &Sizes, machine: &Machine) -> u64 {
    let positions = kernel.parts.iter().map(|part| part.anchor.most_positions(sizes.pages));
    let positions = positions.max().unwrap_or(0);
    let seen = Seen::causal(positions.saturating_sub(sizes.tokens) as u64, sizes.tokens as u64);
    let over = |amount: u64, rate: u64| u128::from(amount) * 1_000_000_000 / u128::from(rate.max(1));
    let all_workers = |rate: u64| rate.saturating_mul(machine.workers);
    let mut ns = u128::from(machine.launch_ns);
    for operation in kernel.traffic(sizes, &seen) {
        let rate = match operation.floats {
            true => machine.worker_float_multiplications,
            false => machine.worker_multiplications,
        };
        let bytes = operation.touches.iter().fold(0u64, |sum, touch| sum.saturating_add(touch.bytes));
        let computing = over(operation.multiplications, all_workers(rate));
        ns += computing.max(over(bytes, machine.bytes))
            + over(operation.values, all_workers(machine.worker_values));
    }
    u64::try_from(ns).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::{has_time_limit, machine};
    use weft_device::DeviceKind;

    #[test]
    fn a_submission_ends_with_the_launch_that_makes_it_too_long() {
        let ms = |times: &[u64]| cut(times.iter().map(|ms| ms * 1_000_000));
        assert_eq!(ms(&[]), vec![0..0; 1]);
        assert_eq!(ms(&[1, 2, 3]), vec![0..3; 1]);
        assert_eq!(ms(&[10, 20, 1, 5, 25, 100, 7]), [0..3, 3..6, 6..7]);
        assert_eq!(ms(&[40, 40]), [0..1, 1..2]);
        assert_eq!(cut([u64::MAX, u64::MAX].into_iter()), [0..1, 1..2]);
    }

    /// A product of as many values as a prompt of 512 tokens has for the experts of a layer of GLM-4.7-Flash.
    #[test]
    fn a_prompt_is_several_submissions_and_a_token_is_one() {
        let text = "plan product T=512 R=0 S=0 P=0 arena=0 {
b0 = input x : q8[T, 2048]
b1 = weight w : q4_0[12288, 2048]
b2 = output y : f32[T, 12288]
kernel product {
  p0 read q8
  p1 read q4_0
  p2 write f32
  rows [T] cols 12288
  dot x=p0[0; 2048; 1] w=p1 count=1 n=12288 k=2048 first=0 stride=12288 pick=only transposed=false
  v0 = acc 0
  v1 = store v0 p2[0; 12288; 1]
}
call product b0 b1 b2
}
";
        let kernel = weft_kern::parse_plan(text).unwrap().kernels.remove(0);
        let machine = machine(DeviceKind::Integrated, 8);
        let of = |tokens| nanoseconds(&kernel, &Sizes::of(tokens), &machine);
        let layers = |tokens: usize| cut(std::iter::repeat_n(of(tokens), 47)).len();
        assert_eq!(layers(1), 1, "{} ns", of(1));
        assert!((3..=47).contains(&layers(512)), "{} submissions, {} ns", layers(512), of(512));
        assert!([DeviceKind::Discrete, DeviceKind::Software].iter().all(|kind| !has_time_limit(*kind)));
        assert!(has_time_limit(DeviceKind::Integrated));
    }
}
