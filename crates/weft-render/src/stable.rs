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
/// A launch that [releases the next one early](crate::releases_early) does so only where that changes nothing here.
pub fn stable<'k, B: PartialEq>(
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

/// Whether two regions have memory in common.
pub(crate) fn overlap<B: PartialEq>(a: &Bound<B>, b: &Bound<B>) -> bool {
    a.buffer == b.buffer && a.bytes.start < b.bytes.end && b.bytes.start < a.bytes.end
}

/// The regions that a launch writes.
pub(crate) fn written<B>(kernel: &Kernel, args: Vec<Bound<B>>) -> impl Iterator<Item = Bound<B>> {
    args.into_iter().zip(&kernel.params).filter(|(_, param)| param.access.writes()).map(|(arg, _)| arg)
}

/// Whether `other` has work in every step in which `kernel` has some.
pub(crate) fn runs_with(other: &Kernel, kernel: &Kernel) -> bool {
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
pub(crate) mod tests {
    use weft_kern::{Anchor, Dim, Format, Part};
    use weft_quant::GgmlType::F32;

    use super::*;

    /// A kernel that writes the last of its parameters.
    pub(crate) fn kernel(rows: Dim, params: usize) -> Kernel {
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
        stable(|at| (&kernels[at], launches[at].1.iter().map(bound).collect()), launches.len() - 1)
    }

    #[test]
    fn what_the_launch_before_writes_is_not_stable() {
        let t = Dim::T;
        let stable = of_last(&[
            (t, &[('x', 0), ('a', 0)]),
            (t, &[('a', 0), ('a', 1)]),
            (t, &[('x', 0), ('a', 0), ('a', 1), ('b', 1), ('a', 2)]),
        ]);
        assert_eq!(stable, [true, true, false, true, false]);
    }

    #[test]
    fn the_first_launch_finds_all_but_its_own_results_stable() {
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

    #[test]
    fn regions_that_overlap_are_found() {
        let one = kernel(Dim::T, 2);
        let at = |bytes: Range<usize>| Bound { buffer: 0, bytes };
        let launches = [[at(0..8), at(16..24)], [at(20..28), at(32..40)], [at(38..44), at(64..72)]];
        let stable = |n| stable(|at| (&one, launches[at].to_vec()), n);
        assert_eq!((stable(1), stable(2)), (vec![false, false], vec![false, false]));
    }
}
