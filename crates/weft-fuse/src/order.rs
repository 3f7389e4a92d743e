//! The order of kernels, and which parts share one: whatever reads a buffer comes after everything that writes it.

use std::collections::BTreeSet;

use weft_ir::NodeId;
use weft_kern::{Access, Buffer, BufferId, Format, Kernel, Param, ParamId, Source};

use crate::emit::EmittedPart;

/// A kernel with its arguments, not yet in order.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) kernel: Kernel,
    pub(crate) args: Vec<BufferId>,
    /// For each part, the group that it computes; `None` for a copy.
    pub(crate) groups: Vec<Option<usize>>,
}

/// The most buffers that parts side by side use together: as many storage buffers as WebGPU promises on every GPU.
const MAX_BUFFERS: usize = 10;

/// The buffer of a step's indices where buffers are counted.
const INDICES: BufferId = BufferId::MAX;

/// Sorts parts into levels: those of a level need only what earlier levels compute. If `beside`, a level is one kernel, or several
/// if one would use too many buffers; otherwise each part is one. `buffers` are those of the plan.
///
/// # Panics
/// If parts depend on each other in a cycle, which groups never do.
pub(crate) fn order(mut parts: Vec<EmittedPart>, beside: bool, buffers: &[Buffer]) -> Vec<Launch> {
    parts.sort_by_key(|p| p.key);
    let levels = levels(&parts);
    let mut ordered: Vec<(usize, NodeId, EmittedPart)> =
        parts.into_iter().zip(levels).map(|(part, level)| (level, part.key, part)).collect();
    ordered.sort_by_key(|(level, key, _)| (*level, *key));
    let mut launches: Vec<(usize, Launch)> = Vec::new();
    for (level, _, part) in ordered {
        let fits = |l: &&mut (usize, Launch)| {
            beside && l.0 == level && !conflict(&l.1, &part) && count(&l.1, &part, buffers) <= MAX_BUFFERS
        };
        match launches.iter_mut().rev().find(fits) {
            Some((_, launch)) => launch.add(part),
            None => {
                let kernel =
                    Kernel { name: String::new(), params: Vec::new(), parts: Vec::new(), texts: Vec::new() };
                let mut launch = Launch { kernel, args: Vec::new(), groups: Vec::new() };
                launch.add(part);
                launches.push((level, launch));
            }
        }
    }
    launches.into_iter().map(|(_, launch)| launch).collect()
}

/// For each part, how many other parts must run before it one after another.
fn levels(parts: &[EmittedPart]) -> Vec<usize> {
    let mut levels: Vec<Option<usize>> = vec![None; parts.len()];
    let writes = |p: &EmittedPart, b: &BufferId| accesses(p, Access::writes).any(|written| written == *b);
    for _ in 0..parts.len() {
        let ready = (0..parts.len()).find_map(|i| {
            if levels[i].is_some() {
                return None;
            }
            let mut level = 0;
            for read in accesses(&parts[i], Access::reads) {
                for writer in (0..parts.len()).filter(|m| *m != i && writes(&parts[*m], &read)) {
                    level = level.max(levels[writer]? + 1);
                }
            }
            Some((i, level))
        });
        let (i, level) = ready.expect("parts depend on each other");
        levels[i] = Some(level);
    }
    levels.into_iter().flatten().collect()
}

fn accesses(part: &EmittedPart, access: fn(Access) -> bool) -> impl Iterator<Item = BufferId> {
    part.args.iter().zip(&part.params).filter(move |(_, p)| access(p.access)).map(|(b, _)| *b)
}

/// Returns whether a part writes a buffer that a launch uses, or the other way round.
fn conflict(launch: &Launch, part: &EmittedPart) -> bool {
    let written = |p: &Param| p.access.writes();
    launch
        .args
        .iter()
        .zip(&launch.kernel.params)
        .any(|(a, p)| part.args.iter().zip(&part.params).any(|(b, q)| a == b && (written(p) || written(q))))
}

/// The number of buffers that a launch and a part use together. The arena is one. So are all inputs that are indices, because a step
/// brings them in one buffer.
fn count(launch: &Launch, part: &EmittedPart, buffers: &[Buffer]) -> usize {
    let place = |arg: &BufferId| match &buffers[*arg].source {
        Source::Arena(_) => None,
        Source::Input(_) if buffers[*arg].format == Format::I32 => Some(INDICES),
        _ => Some(*arg),
    };
    let used = launch.args.iter().chain(&part.args).map(place);
    used.collect::<BTreeSet<_>>().len()
}

impl Launch {
    /// Adds a part, merging its parameters with those of the launch.
    fn add(&mut self, part: EmittedPart) {
        let EmittedPart { mut part, params, args, group, .. } = part;
        let mut numbers: Vec<ParamId> = Vec::with_capacity(params.len());
        for (param, arg) in params.iter().zip(&args) {
            let mut known = self.args.iter().zip(&self.kernel.params);
            let number = known.position(|(a, p)| a == arg && p == param);
            numbers.push(number.unwrap_or_else(|| {
                self.args.push(*arg);
                self.kernel.params.push(*param);
                self.args.len() - 1
            }));
        }
        part.renumber(&numbers);
        self.kernel.parts.push(part);
        self.groups.push(group);
    }
}
