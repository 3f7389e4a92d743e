//! Decides which memory a launch may read before the previous launch has ended.

use std::ops::Range;

use weft_kern::{Access, Kernel, Param, Sizes, Sym};

/// The memory of an argument of a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bound<B> {
    /// The buffer.
    pub buffer: B,
    /// Its bytes.
    pub bytes: Range<usize>,
}

/// Whether each argument of launch `at` is stable: no launch that may run concurrently writes it.
///
/// Launches run in order, and a launch begins only when all launches before the previous one have ended. So only the previous one may write
/// concurrently. A launch without work in a step does not count; then the one before it may also do so. `launch` returns a launch's kernel,
/// and the memory of its arguments.
///
/// A launch that [releases the next one early](hands_over) does so only where that changes nothing here.
pub fn settled<'k, B: PartialEq>(
    launch: impl Fn(usize) -> (&'k Kernel, Vec<Bound<B>>),
    at: usize,
) -> Vec<bool> {
    let (kernel, args) = launch(at);
    let mut open: Vec<Bound<B>> = Vec::new();
    for before in (0..at).rev() {
        let (other, others) = launch(before);
        open.extend(written(other, others));
        if runs_with(other, kernel) {
            break;
        }
    }
    let own = |(arg, param): (&Bound<B>, &Param)| {
        param.access == Access::Read && !open.iter().any(|written| overlap(arg, written))
    };
    args.iter().zip(&kernel.params).map(own).collect()
}

/// Whether launch `at` of `count` lets the next one begin before it has waited itself, so that the next one loads its weights while the
/// launch before `at` still runs.
///
/// Then the launch before `at` may also write while the next one runs. So a launch does this only if none of the memory that the next one
/// treats as stable is written there. At most two consecutive launches do it, because more would occupy the multiprocessors that the
/// launches they wait for need. Attention does not do it, because it may be several shaders.
pub fn hands_over<'k, B: PartialEq>(
    launch: impl Fn(usize) -> (&'k Kernel, Vec<Bound<B>>),
    at: usize,
    count: usize,
) -> bool {
    let could = |at: Option<usize>| at.is_some_and(|at| could_hand_over(&launch, at, count));
    could(Some(at)) && !(could(at.checked_sub(1)) && could(at.checked_sub(2)))
}

/// The same, regardless of earlier launches.
fn could_hand_over<'k, B: PartialEq>(
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
        if sure == MOST_BESIDE {
            break;
        }
    }
    let settled = settled(launch, at + 1);
    args.iter()
        .zip(settled)
        .all(|(arg, settled)| !settled || !open.iter().any(|written| overlap(arg, written)))
}

/// Launches before the previous one that may run concurrently with a launch.
const MOST_BESIDE: usize = 2;

fn overlap<B: PartialEq>(a: &Bound<B>, b: &Bound<B>) -> bool {
    a.buffer == b.buffer && a.bytes.start < b.bytes.end && b.bytes.start < a.bytes.end
}

/// The regions that a launch writes.
fn written<B>(kernel: &Kernel, args: Vec<Bound<B>>) -> impl Iterator<Item = Bound<B>> {
    args.into_iter().zip(&kernel.params).filter(|(_, param)| param.access.writes()).map(|(arg, _)| arg)
}

/// Whether `other` has work in every step in which `kernel` has some.
fn runs_with(other: &Kernel, kernel: &Kernel) -> bool {
    let runs = |kernel: &Kernel, sizes: &Sizes| {
        kernel.parts.iter().any(|part| part.rows.iter().all(|rows| rows.eval(sizes) > 0))
    };
    (0..1usize << Sym::ALL.len()).all(|some| {
        let size = |i: usize| some >> i & 1;
        let sizes = Sizes::of(size(0)).rows(size(1)).slots(size(2)).pages(size(3)).sequences(size(4));
        !runs(kernel, &sizes) || runs(other, &sizes)
    })
}

#[cfg(test)]
mod tests {
    use weft_kern::{Anchor, Dim, Format, Part};
    use weft_quant::GgmlType::F32;

    use super::*;

    /// A kernel that writes the last of its parameters.
    fn kernel(rows: Dim, params: usize) -> Kernel {
        let access = |p| if p + 1 == params { Access::Write } else { Access::Read };
        let param = |p| Param { access: access(p), format: Format::Ggml(F32) };
        let part = Part { rows: vec![rows], cols: 1, prologue: None, anchor: Anchor::Map, body: Vec::new() };
        Kernel {
            name: String::new(),
            params: (0..params).map(param).collect(),
            parts: vec![part],
            texts: Vec::new(),
        }
    }

    /// Whether each argument of the last of these launches is stable. Each launch has rows, and regions of 8 bytes in buffers.
    fn of_last(launches: &[(Dim, &[(char, usize)])]) -> Vec<bool> {
        let kernels: Vec<Kernel> = launches.iter().map(|(rows, args)| kernel(*rows, args.len())).collect();
        let bound = |(buffer, at): &(char, usize)| Bound { buffer: *buffer, bytes: 8 * at..8 * at + 8 };
        settled(|at| (&kernels[at], launches[at].1.iter().map(bound).collect()), launches.len() - 1)
    }

    #[test]
    fn what_the_launch_before_writes_is_not_settled() {
        let t = Dim::T;
        let settled = of_last(&[
            (t, &[('x', 0), ('a', 0)]),
            (t, &[('a', 0), ('a', 1)]),
            (t, &[('x', 0), ('a', 0), ('a', 1), ('b', 1), ('a', 2)]),
        ]);
        assert_eq!(settled, [true, true, false, true, false]);
    }

    #[test]
    fn the_first_launch_finds_all_but_its_own_results_settled() {
        assert_eq!(of_last(&[(Dim::T, &[('x', 0), ('a', 0)])]), [true, false]);
    }

    #[test]
    fn a_launch_that_may_have_nothing_to_do_does_not_count() {
        let before = |rows| {
            of_last(&[
                (Dim::T, &[('x', 0), ('a', 0)]),
                (Dim::T, &[('x', 0), ('a', 1)]),
                (rows, &[('x', 0), ('a', 2)]),
                (Dim::T, &[('a', 0), ('a', 1), ('a', 2), ('a', 3)]),
            ])
        };
        assert_eq!(before(Dim::T), [true, true, false, false]);
        assert_eq!(before(Dim::Const(1)), [true, true, false, false]);
        assert_eq!(before(Dim::R), [true, false, false, false]);
    }

    /// Whether each of these launches releases the next one early.
    fn handing(launches: &[(Dim, &[(char, usize)])]) -> Vec<bool> {
        let kernels: Vec<Kernel> = launches.iter().map(|(rows, args)| kernel(*rows, args.len())).collect();
        let bound = |(buffer, at): &(char, usize)| Bound { buffer: *buffer, bytes: 8 * at..8 * at + 8 };
        let launch = |at: usize| (&kernels[at], launches[at].1.iter().map(bound).collect());
        (0..launches.len()).map(|at| hands_over(launch, at, launches.len())).collect()
    }

    #[test]
    fn a_launch_hands_over_unless_the_next_one_reads_beforehand_what_may_still_change() {
        let t = Dim::T;
        let chain = |last: &[(char, usize)], rows| {
            handing(&[
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
            handing(&[
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

    #[test]
    fn regions_that_overlap_are_found() {
        let one = kernel(Dim::T, 2);
        let at = |bytes: Range<usize>| Bound { buffer: 0, bytes };
        let launches = [[at(0..8), at(16..24)], [at(20..28), at(32..40)], [at(38..44), at(64..72)]];
        let settled = |n| settled(|at| (&one, launches[at].to_vec()), n);
        assert_eq!((settled(1), settled(2)), (vec![false, false], vec![false, false]));
    }
}
