//! The order of launches of one side: those first that the other side waits for.

use weft_kern::Access;

use crate::program::{KernelLaunch, Program};
use crate::split::cuts::{Cut, Part};

/// What a launch reads and writes.
fn touched(program: &Program, launch: usize) -> impl Iterator<Item = (Part, Access)> {
    let KernelLaunch { kernel, args } = &program.launches[launch];
    let params = program.kernels.get(*kernel).into_iter().flat_map(|kernel| &kernel.params);
    args.iter().zip(params).map(|(region, param)| {
        let bytes = param.format.bytes(region.values).unwrap_or(usize::MAX);
        let bytes = region.offset..region.offset.saturating_add(bytes);
        (Part { buffer: region.buffer, bytes }, param.access)
    })
}

/// Whether two launches must keep their order: one writes what the other one reads or writes.
fn ordered(program: &Program, a: usize, b: usize) -> bool {
    touched(program, a).any(|(part, access)| {
        let meets =
            |(other, of): (Part, Access)| (access.writes() || of.writes()) && part.overlap(&other).is_some();
        touched(program, b).any(meets)
    })
}

/// The program with the launches of each cut in another order: those first whose results the next cut waits for, after what they need.
/// All others follow, and may run while the other side does.
pub(super) fn waited_first(program: &Program, cuts: &[Cut]) -> Program {
    let mut launches = Vec::with_capacity(program.launches.len());
    for (i, cut) in cuts.iter().enumerate() {
        let of_it = cut.launches.clone();
        let mut first: Vec<usize> = Vec::new();
        for launch in of_it.clone().rev() {
            let waited = cuts.get(i + 1).is_some_and(|next| next.copied.iter().any(|(_, by)| *by == launch));
            if waited || first.iter().rev().any(|later| ordered(program, launch, *later)) {
                first.push(launch);
            }
        }
        let rest = of_it.filter(|launch| !first.contains(launch));
        launches
            .extend(first.iter().rev().copied().chain(rest).map(|launch| program.launches[launch].clone()));
    }
    Program { max: program.max, kernels: program.kernels.clone(), launches }
}
