//! Early release: a launch of a short step lets the next one begin before it has waited itself, so that the next one loads its weights
//! while the launch before both still runs (CUDA, from compute capability 9.0 on).
//!
//! - [`releases_early`] says whether the memory of the launches allows it. A runtime asks, and passes the answer in
//!   [`Slots::releases_early`](crate::Slots::releases_early).
//! - [`of_shader`] says which shaders of such a launch do it, if the GPU has the [feature](crate::Features::releases_early).
//! - The text then calls `launch_next()` first ([`weft_shader::module::Module::releases_early`]), and its wait does not
//!   ([`Writer::wait`](crate::lower::writer::Writer::wait)). [`weft_shader::waits`] checks that.
//!
//! Replies of GLM-4.7-Flash's shape lose 1.2 % without it on an H200 (`launch.handed=off` in `bench/runs/2026-11-26-cuda-lanes.md`).

use weft_kern::Kernel;

use crate::lower::job::Job;
use crate::lower::pass::Step;
use crate::stable::{Bound, overlap, runs_with, stable, written};

/// The most tokens of a step whose launches do so: with eight, there are more workgroups than the GPU has room for.
const MOST_TOKENS: usize = 2;

/// Whether launch `at` of `count` lets the next one begin before it has waited itself, so that the next one loads its weights while the
/// launch before `at` still runs.
///
/// Then the launch before `at` may also write while the next one runs. So a launch does this only if none of the memory that the next one
/// treats as stable is written there. At most two consecutive launches do it, because more would occupy the multiprocessors that the
/// launches they wait for need. Attention as a launch does not do it, because it may be several shaders. Of these only the one that
/// combines chunks does, which [`of_shader`] decides.
pub fn releases_early<'k, B: PartialEq>(
    launch: impl Fn(usize) -> (&'k Kernel, Vec<Bound<B>>),
    at: usize,
    count: usize,
) -> bool {
    let could = |at: Option<usize>| at.is_some_and(|at| could_release(&launch, at, count));
    could(Some(at)) && !(could(at.checked_sub(1)) && could(at.checked_sub(2)))
}

/// Whether launch `at` could do so if no earlier launch did.
fn could_release<'k, B: PartialEq>(
    launch: &impl Fn(usize) -> (&'k Kernel, Vec<Bound<B>>),
    at: usize,
    count: usize,
) -> bool {
    if at + 1 >= count {
        return false;
    }
    let ((kernel, _), (next, args)) = (launch(at), launch(at + 1));
    let attends = kernel.parts.iter().any(|part| part.attention().is_some());
    if attends || !runs_with(kernel, next) || !runs_with(next, kernel) {
        return false;
    }
    // Up to two launches before this one may run concurrently with the next one, in addition to those without work.
    let mut open: Vec<Bound<B>> = Vec::new();
    let mut sure = 0;
    for before in (0..at).rev() {
        let (other, others) = launch(before);
        open.extend(written(other, others));
        sure += usize::from(runs_with(other, kernel));
        if sure == MOST_CONCURRENT {
            break;
        }
    }
    let stable = stable(launch, at + 1);
    args.iter().zip(stable).all(|(arg, stable)| !stable || !open.iter().any(|written| overlap(arg, written)))
}

/// Launches before the previous one that may run concurrently with a launch.
const MOST_CONCURRENT: usize = 2;

/// Whether a shader releases the next launch early. It must itself begin before the previous launch has ended.
pub(crate) fn of_shader(job: &Job<'_>, step: Step) -> bool {
    // The first shader of several does not know which launches run at the same time.
    let allowed = match step {
        Step::Join => job.kernel.parts.iter().any(|part| part.attention().is_some()),
        _ => job.slots.releases_early && job.steps().len() == 1,
    };
    allowed && job.gpu.features.releases_early && job.max.tokens <= MOST_TOKENS
}

#[cfg(test)]
mod tests {
    use weft_kern::Dim;

    use super::*;
    use crate::stable::tests::kernel;

    /// Whether each of these launches releases the next one early.
    fn releasing(launches: &[(Dim, &[(char, usize)])]) -> Vec<bool> {
        let kernels: Vec<Kernel> = launches.iter().map(|(rows, args)| kernel(*rows, args.len())).collect();
        let bound = |(buffer, at): &(char, usize)| Bound { buffer: *buffer, bytes: 8 * at..8 * at + 8 };
        let launch = |at: usize| (&kernels[at], launches[at].1.iter().map(bound).collect());
        (0..launches.len()).map(|at| releases_early(launch, at, launches.len())).collect()
    }

    #[test]
    fn a_launch_releases_the_next_one_unless_that_reads_memory_early_that_may_still_change() {
        let t = Dim::T;
        let chain = |last: &[(char, usize)], rows| {
            releasing(&[
                (t, &[('x', 0), ('a', 0)]),
                (t, &[('a', 0), ('b', 0)]),
                (t, &[('x', 1), ('c', 0)]),
                (rows, last),
            ])
        };
        // `x` is stable for the third launch, because nothing writes it. The last launch may read `a`, which the first one writes, and so
        // on.
        assert_eq!(chain(&[('c', 0), ('d', 0)], t), [true, true, false, false], "no more than two in a row");
        let third = |last: &[(char, usize)], rows| {
            releasing(&[
                (t, &[('x', 0), ('a', 0)]),
                // Reads the first one's output, and memory that was written long ago.
                (Dim::R, &[('a', 0), ('b', 0)]),
                (t, &[('x', 1), ('c', 0)]),
                (rows, last),
            ])[2]
        };
        assert!(third(&[('c', 0), ('d', 0)], t));
        assert!(!third(&[('c', 0), ('d', 0)], Dim::R), "in steps without rows, another one would be next");
        assert!(!third(&[('b', 0), ('d', 0)], t), "which the launch before writes, and could be read early");
        assert!(!third(&[('a', 0), ('d', 0)], t), "which may run too, where the one between has no rows");
        assert!(third(&[('a', 1), ('b', 1), ('d', 0)], t), "other places of the same buffers");
    }
}
