//! Checks the rules of kernels, calls and plans.

mod context;

use std::collections::BTreeSet;

use weft_ir::{Dim, Sizes};

pub(crate) use context::Context;

use crate::kernel::{Kernel, Part};
use crate::plan::{BufferId, Call, Plan, Source};
use crate::program::{Access, Format, ParamId};

/// The most values that a part computes. So the numbers of its values, bytes and elements beside them are numbers.
pub const MOST_VALUES: usize = 1 << 40;

/// A rule that a plan breaks, which is a bug of the compiler.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("plan `{plan}`, {place}: {why}")]
pub struct VerifyError {
    /// The plan's name.
    pub plan: String,
    /// The kernel, call or buffer.
    pub place: String,
    /// The rule and how it is broken.
    pub why: String,
}

/// Checks a plan: every kernel is well-formed, has a unique name and is called; every call gives each parameter a buffer of the
/// right format, none twice, none too small at the largest sizes; inputs and weights are not written; arena buffers lie within
/// the arena, and still hold what was written to them when they are read.
///
/// # Errors
/// The first rule that is broken.
pub fn verify(plan: &Plan) -> Result<(), VerifyError> {
    let fail = |place: String, why: String| VerifyError { plan: plan.name.clone(), place, why };
    let mut capacity = Vec::with_capacity(plan.buffers.len());
    for (i, buffer) in plan.buffers.iter().enumerate() {
        let place = || format!("buffer b{i}");
        let (Some(values), Some(bytes)) = (buffer.values(&plan.max), buffer.bytes(&plan.max)) else {
            return Err(fail(place(), "its size overflows or is not a whole number of blocks".into()));
        };
        if let Source::Arena(offset) = buffer.source
            && (offset % 64 != 0 || offset.checked_add(bytes).is_none_or(|end| end > plan.arena))
        {
            return Err(fail(
                place(),
                format!(
                    "{bytes} bytes at {offset} do not fit an arena of {}, or are not aligned to 64",
                    plan.arena
                ),
            ));
        }
        if let Source::Constant(given) = &buffer.source
            && (given.len() != values || buffer.format != Format::F32)
        {
            return Err(fail(place(), format!("it has {} constants for {values} values", given.len())));
        }
        capacity.push(values);
    }
    for (i, kernel) in plan.kernels.iter().enumerate() {
        let place = || format!("kernel `{}`", kernel.name);
        if plan.kernels[..i].iter().any(|k| k.name == kernel.name) {
            return Err(fail(place(), "another kernel has this name".into()));
        }
        if !plan.calls.iter().any(|c| c.kernel == i) {
            return Err(fail(place(), "it is never called".into()));
        }
    }
    let mut arena = Arena::default();
    for (i, call) in plan.calls.iter().enumerate() {
        let Some(kernel) = plan.kernels.get(call.kernel) else {
            return Err(fail(format!("call {i}"), format!("no kernel {}", call.kernel)));
        };
        let place = || format!("call {i} (`{}`)", kernel.name);
        if call.args.len() != kernel.params.len() {
            return Err(fail(
                place(),
                format!("it has {} parameters and {} arguments", kernel.params.len(), call.args.len()),
            ));
        }
        let mut values = Vec::with_capacity(call.args.len());
        for (p, (arg, param)) in call.args.iter().zip(&kernel.params).enumerate() {
            let Some(buffer) = plan.buffers.get(*arg) else {
                return Err(fail(place(), format!("no buffer b{arg}")));
            };
            if buffer.format != param.format {
                return Err(fail(
                    place(),
                    format!("p{p} is {}, but b{arg} is {}", param.format, buffer.format),
                ));
            }
            if param.access.writes()
                && matches!(buffer.source, Source::Input(_) | Source::Weight(_) | Source::Constant(_))
            {
                return Err(fail(place(), format!("p{p} writes b{arg}, which is read-only")));
            }
            if call.args[..p].contains(arg) {
                return Err(fail(place(), format!("b{arg} is an argument twice")));
            }
            values.push(capacity[*arg]);
        }
        verify_call(kernel, &values, &plan.max).map_err(|why| fail(place(), why))?;
        arena.call(plan, call, kernel).map_err(|why| fail(place(), why))?;
    }
    Ok(())
}

/// The arena buffers that still hold what was last written to them.
#[derive(Default)]
struct Arena {
    live: BTreeSet<BufferId>,
}

impl Arena {
    /// Checks that a call reads only live buffers, and ends the life of all that overlap what it writes.
    fn call(&mut self, plan: &Plan, call: &Call, kernel: &Kernel) -> Result<(), String> {
        let range = |b: BufferId| match plan.buffers[b].source {
            Source::Arena(offset) => Some(offset..offset + plan.buffers[b].bytes(&plan.max).unwrap_or(0)),
            _ => None,
        };
        let overlap = |a: BufferId, b: BufferId| match (range(a), range(b)) {
            (Some(a), Some(b)) => a.start < b.end && b.start < a.end,
            _ => false,
        };
        let of = |access: fn(Access) -> bool| {
            let args = call.args.iter().zip(&kernel.params);
            args.filter(move |(_, p)| access(p.access)).map(|(b, _)| *b)
        };
        for read in of(Access::reads).filter(|b| range(*b).is_some()) {
            if !self.live.contains(&read) {
                return Err(format!("b{read} is read before it is written"));
            }
        }
        for written in of(Access::writes).filter(|b| range(*b).is_some()) {
            if let Some(other) = call.args.iter().find(|b| **b != written && overlap(**b, written)) {
                return Err(format!("b{written} overlaps b{other}, which is an argument of the same call"));
            }
            self.live.retain(|b| !overlap(*b, written));
            self.live.insert(written);
        }
        Ok(())
    }
}

/// Checks a kernel, and that no view reaches beyond its argument. `values[p]` is the capacity of parameter `p`'s argument in
/// values, and `max` the largest sizes. Only indices in the data remain to be checked at run time.
///
/// # Errors
/// A sentence naming the first rule that is broken.
pub fn verify_call(kernel: &Kernel, values: &[usize], max: &Sizes) -> Result<(), String> {
    if values.len() != kernel.params.len() {
        return Err(format!("it has {} parameters and {} arguments", kernel.params.len(), values.len()));
    }
    if kernel.parts.is_empty() {
        return Err("it has no parts".into());
    }
    for (i, part) in kernel.parts.iter().enumerate() {
        let at = |why: String| if kernel.parts.len() > 1 { format!("part {i}: {why}") } else { why };
        verify_part(kernel, part, values, max).map_err(at)?;
        for other in &kernel.parts[..i] {
            if let Some(p) = conflict(kernel, part, other) {
                return Err(at(format!("p{p} is written while another part uses it")));
            }
        }
    }
    Ok(())
}

fn verify_part(kernel: &Kernel, part: &Part, values: &[usize], max: &Sizes) -> Result<(), String> {
    if part.rows.iter().skip(1).any(|d| matches!(d, Dim::Sym(_))) || part.cols == 0 {
        return Err("only the first axis of rows may be symbolic, and there must be columns".into());
    }
    if let Some(p) = part.params().into_iter().find(|p| *p >= kernel.params.len()) {
        return Err(format!("no parameter p{p}"));
    }
    let rows: Vec<usize> = part.rows.iter().map(|d| d.eval(max)).collect();
    if rows.contains(&0) {
        // Nothing runs.
        return Ok(());
    }
    let computed = rows.iter().try_fold(part.cols, |n, rows| n.checked_mul(*rows));
    if computed.is_none_or(|n| n > MOST_VALUES) {
        return Err(format!("it computes more than {MOST_VALUES} values"));
    }
    let params = &kernel.params;
    let prologue = part.prologue.as_ref();
    let cx = Context { params, values, rows: &rows, cols: part.cols, prologue, max };
    if let Some(prologue) = prologue {
        let own = &rows[..part.prologue_rows().len()];
        let cx = Context { rows: own, ..cx };
        cx.program(&prologue.body, &prologue.lens(), usize::MAX, None)
            .map_err(|why| format!("before: {why}"))?;
    }
    part.anchor.verify(&cx)?;
    if part.prologue.is_some() && !part.anchor.reads_prologue() {
        return Err("nothing reads the prologue".into());
    }
    cx.program(&part.body, &part.lens(), part.cols, Some(part.anchor.results()))
}

/// A parameter that one part writes and the other uses.
fn conflict(kernel: &Kernel, a: &Part, b: &Part) -> Option<ParamId> {
    let (a, b) = (a.params(), b.params());
    let written = |p: &ParamId| kernel.params.get(*p).is_some_and(|param| param.access.writes());
    a.into_iter().find(|p| written(p) && b.contains(p))
}
