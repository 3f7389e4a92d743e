//! The memory plan: buffers between kernels share one arena, each while it is live.

use std::collections::BTreeMap;

use weft_ir::Sizes;
use weft_kern::{Buffer, Call, Kernel, Plan, Seen, Source};

use crate::order::Launch;

/// The alignment of buffers in the arena: a cache line, and enough for SIMD loads and GPU bindings.
const ALIGN: usize = 64;

/// Names the kernels, merges equal ones, and places every arena buffer.
pub(crate) fn plan(name: &str, max: &Sizes, mut buffers: Vec<Buffer>, launches: Vec<Launch>) -> Plan {
    let mut kernels: Vec<Kernel> = Vec::new();
    let mut calls = Vec::with_capacity(launches.len());
    for Launch { kernel, args, .. } in launches {
        let same = kernels.iter().position(|k| k.same_work(&kernel));
        let kernel = same.unwrap_or_else(|| {
            let name = unique(&kernels, describe(&kernel, max));
            kernels.push(Kernel { name, ..kernel });
            kernels.len() - 1
        });
        calls.push(Call { kernel, args });
    }
    let arena = lay_out(&mut buffers, &calls, max);
    Plan { name: name.into(), max: *max, buffers, kernels, calls, arena }
}

/// A kernel's name: the kind and size of its largest part, and the number of other parts.
fn describe(kernel: &Kernel, max: &Sizes) -> String {
    let operations = kernel.traffic(max, &Seen::default());
    let size = |at: usize| -> u64 {
        let own = operations.iter().filter(|op| op.part == at && op.weight.is_some());
        own.map(|op| op.touches[0].bytes).sum()
    };
    // The first of several equal ones.
    let largest = (0..kernel.parts.len()).rev().max_by_key(|at| size(*at)).map(|at| &kernel.parts[at]);
    let name = largest.map_or(String::new(), |part| part.anchor.label(&kernel.params, part.cols));
    match kernel.parts.len() {
        0 | 1 => name,
        n => format!("{name}+{}", n - 1),
    }
}

fn unique(kernels: &[Kernel], name: String) -> String {
    let taken = |n: &str| kernels.iter().any(|k| k.name == n);
    if !taken(&name) {
        return name;
    }
    let numbered = (2..).map(|i| format!("{name}.{i}")).find(|n| !taken(n));
    numbered.unwrap_or(name)
}

/// Allocates first fit, in order of first use: a buffer takes the lowest place that is free while it is live.
///
/// Returns the arena's size. The verifier refuses sizes that overflow.
fn lay_out(buffers: &mut [Buffer], calls: &[Call], max: &Sizes) -> usize {
    let mut lives: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for (i, call) in calls.iter().enumerate() {
        for b in &call.args {
            lives.entry(*b).or_insert((i, i)).1 = i;
        }
    }
    let mut arena: Vec<usize> =
        lives.keys().copied().filter(|b| matches!(buffers[*b].source, Source::Arena(_))).collect();
    arena.sort_by_key(|b| (lives[b], *b));
    let mut placed: Vec<(usize, usize, (usize, usize))> = Vec::new();
    for b in arena {
        let (first, last) = lives[&b];
        let bytes = buffers[b].bytes(max).and_then(|bytes| bytes.checked_next_multiple_of(ALIGN));
        let size = bytes.unwrap_or(usize::MAX / 4);
        let mut others: Vec<(usize, usize)> = placed
            .iter()
            .filter(|(_, _, (f, l))| *f <= last && first <= *l)
            .map(|(start, end, _)| (*start, *end))
            .collect();
        others.sort_unstable();
        let mut at = 0usize;
        for (start, end) in others {
            if at.saturating_add(size) <= start {
                break;
            }
            at = at.max(end);
        }
        placed.push((at, at.saturating_add(size), (first, last)));
        buffers[b].source = Source::Arena(at);
    }
    placed.iter().map(|(_, end, _)| *end).max().unwrap_or(0)
}
