//! Checks the rules of kernels, calls and plans.

use std::collections::BTreeSet;

use weft_ir::{Dim, Sizes};
use weft_quant::GgmlType;

use crate::kernel::{Access, Format, Indexed, Instr, Kernel, Param, ParamId, Part, View};
use crate::plan::{BufferId, Call, Plan, Source};
use crate::q8;

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
    let params = &kernel.params;
    if let Some(prologue) = &part.prologue {
        let own = &rows[..part.prologue_rows().len()];
        let cx = Context { params, values, rows: own, part, max };
        cx.program(&prologue.body, &prologue.lens(), usize::MAX, true)
            .map_err(|why| format!("before: {why}"))?;
    }
    let cx = Context { params, values, rows: &rows, part, max };
    part.anchor.verify(&cx)?;
    if part.prologue.is_some() && !part.anchor.reads_prologue() {
        return Err("nothing reads the prologue".into());
    }
    cx.program(&part.body, &part.lens(), part.cols, false)
}

/// A parameter that one part writes and the other uses.
fn conflict(kernel: &Kernel, a: &Part, b: &Part) -> Option<ParamId> {
    let (a, b) = (a.params(), b.params());
    let written = |p: &ParamId| kernel.params.get(*p).is_some_and(|param| param.access.writes());
    a.into_iter().find(|p| written(p) && b.contains(p))
}

/// The rows that views are checked for: those of a part, or of its prologue.
pub(crate) struct Context<'a> {
    pub(crate) params: &'a [Param],
    /// The values of each parameter's argument.
    pub(crate) values: &'a [usize],
    pub(crate) rows: &'a [usize],
    pub(crate) part: &'a Part,
    /// The largest sizes of a step.
    pub(crate) max: &'a Sizes,
}

impl Context<'_> {
    pub(crate) fn format(&self, param: ParamId, access: Access) -> Result<Format, String> {
        let p = self.params.get(param).ok_or_else(|| format!("no parameter p{param}"))?;
        if p.access == access {
            Ok(p.format)
        } else {
            Err(format!("p{param} is declared for {:?}, but used for {access:?}", p.access))
        }
    }

    /// Checks that a view of `len` values per row stays within its argument or, with a row picked by index, within one row of it.
    fn view(&self, v: &View, len: usize, indexed: Option<&Indexed>) -> Result<(), String> {
        let room = *self.values.get(v.param).ok_or_else(|| format!("no parameter p{}", v.param))?;
        if v.strides.len() != self.rows.len() {
            return Err(format!(
                "a view of p{} has {} strides, but there are {} axes",
                v.param,
                v.strides.len(),
                self.rows.len()
            ));
        }
        let room = match indexed {
            None => room,
            Some(i) => {
                self.indices(&i.index, 1)?;
                if i.stride == 0 || i.index.step != 0 {
                    return Err(format!(
                        "rows of p{} that are picked by index need a stride, and indices need step 0",
                        v.param
                    ));
                }
                i.stride.min(room)
            }
        };
        let last = self
            .rows
            .iter()
            .zip(&v.strides)
            .try_fold(v.offset, |at, (n, s)| (n - 1).checked_mul(*s)?.checked_add(at));
        let last = last.and_then(|at| len.checked_sub(1)?.checked_mul(v.step)?.checked_add(at));
        match last {
            Some(last) if last < room => Ok(()),
            Some(last) => Err(format!("a view of p{} reaches value {last}, but there are {room}", v.param)),
            None => Err(format!("a view of p{} overflows", v.param)),
        }
    }

    pub(crate) fn reads(&self, v: &View, len: usize, allowed: impl Fn(Format) -> bool) -> Result<(), String> {
        let format = self.format(v.param, Access::Read)?;
        if !allowed(format) {
            return Err(format!("p{} has the wrong format {format}", v.param));
        }
        self.view(v, len, None)
    }

    pub(crate) fn indices(&self, v: &View, len: usize) -> Result<(), String> {
        self.reads(v, len, |f| f == Format::I32)
    }

    /// Checks a row program whose loads are at most `width` long; a `prologue` uses only memory, and does not write it.
    fn program(&self, body: &[Instr], lens: &[usize], width: usize, prologue: bool) -> Result<(), String> {
        let results = if prologue { 0 } else { self.part.anchor.results() };
        for (i, instr) in body.iter().enumerate() {
            let fail = |why: String| format!("v{i}: {why}");
            let len_of = |v: usize| match lens.get(v) {
                Some(n) if v < i && *n > 0 => Ok(*n),
                _ => Err(fail(format!("v{v} is not an earlier value"))),
            };
            match instr {
                Instr::Const(_) => {}
                Instr::Acc(result) if *result < results => {}
                Instr::Acc(result) => {
                    return Err(fail(format!("the anchor has {results} results, not number {result}")));
                }
                Instr::Load { view, indexed, len } => {
                    if *len == 0 || *len > width {
                        return Err(fail(format!("it loads {len} values, but at most {width} are allowed")));
                    }
                    self.load(view, indexed.as_ref(), *len).map_err(fail)?;
                }
                Instr::TopK { x, k } => {
                    let n = len_of(*x)?;
                    if *k == 0 || *k > n {
                        return Err(fail(format!("cannot take the {k} largest of {n} values")));
                    }
                }
                Instr::Take { from, ids } => {
                    len_of(*from)?;
                    len_of(*ids)?;
                }
                Instr::Unary(_, x) | Instr::Reduce(_, x) => {
                    len_of(*x)?;
                }
                Instr::Binary(_, a, b) => {
                    let (a, b) = (len_of(*a)?, len_of(*b)?);
                    if a != b && a != 1 && b != 1 {
                        return Err(fail(format!("the operands have {a} and {b} values")));
                    }
                }
                Instr::Rope { x, cos, sin, .. } => {
                    let (x, cos, sin) = (len_of(*x)?, len_of(*cos)?, len_of(*sin)?);
                    if x % 2 != 0 || cos != x / 2 || sin != x / 2 {
                        return Err(fail(format!("it has {x} values, {cos} cosines and {sin} sines")));
                    }
                }
                Instr::Store { .. } if prologue => {
                    return Err(fail("a prologue must not write memory".into()));
                }
                Instr::Store { value, view, indexed } => {
                    let len = len_of(*value)?;
                    self.view(view, len, indexed.as_ref()).map_err(fail)?;
                    self.stored(view, len, indexed.as_ref()).map_err(fail)?;
                }
            }
        }
        Ok(())
    }

    fn load(&self, view: &View, indexed: Option<&Indexed>, len: usize) -> Result<(), String> {
        let format = self.format(view.param, Access::Read)?;
        self.view(view, len, indexed)?;
        match format {
            Format::Q8 => Err(format!("cannot load {len} values of {format}")),
            Format::Ggml(ty) if ty.is_quantised() => {
                let whole = ty.row_bytes(len as u64).is_some()
                    && indexed.is_some_and(|i| i.stride == len)
                    && view.offset == 0
                    && view.strides.iter().all(|s| *s == 0)
                    && view.step == 1;
                if whole { Ok(()) } else { Err("quantised rows must be read whole and by index".into()) }
            }
            Format::Ggml(_) => Ok(()),
        }
    }

    fn stored(&self, view: &View, len: usize, indexed: Option<&Indexed>) -> Result<(), String> {
        let format = self.format(view.param, Access::Write)?;
        match format {
            Format::Q8 => {
                let aligned = |n: &usize| n.is_multiple_of(q8::BLOCK);
                let fits = view.step == 1 && indexed.is_none() && aligned(&len) && aligned(&view.offset);
                if !fits || !view.strides.iter().all(aligned) {
                    return Err("a q8 store must write whole, contiguous blocks".into());
                }
            }
            Format::Ggml(GgmlType::F32 | GgmlType::I32 | GgmlType::F16 | GgmlType::BF16) => {}
            Format::Ggml(ty @ GgmlType::Q8_0) => {
                let aligned = |n: &usize| n.is_multiple_of(ty.block_len());
                if view.step != 1
                    || !aligned(&len)
                    || !aligned(&view.offset)
                    || !view.strides.iter().all(aligned)
                    || !indexed.is_none_or(|indexed| aligned(&indexed.stride))
                {
                    return Err(format!("a store to {ty} must write whole, contiguous blocks"));
                }
            }
            Format::Ggml(ty) => return Err(format!("kernels cannot write {ty}")),
        }
        if view.step == 0 && len > 1 {
            return Err("all columns are stored in one place".into());
        }
        Ok(())
    }
}
