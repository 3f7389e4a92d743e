//! Checks views and row programs against the arguments of a call.

use weft_ir::{STATE_TYPES, Sizes};
use weft_quant::GgmlType;

use crate::program::{Access, Format, Indexed, Instr, Param, ParamId, Prologue, View};
use crate::q8;

/// The rows that views are checked for: those of a part, or of its prologue.
pub(crate) struct Context<'a> {
    pub(crate) params: &'a [Param],
    /// The values of each parameter's argument.
    pub(crate) values: &'a [usize],
    pub(crate) rows: &'a [usize],
    /// The columns of the part.
    pub(crate) cols: usize,
    /// The part's prologue, whose value products read.
    pub(crate) prologue: Option<&'a Prologue>,
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

    /// Checks that a view of `len` values per row stays within its argument or, with a row selected by index, within one row of it.
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

    /// Checks a row program whose loads are at most `width` long. `results` are those of the anchor; `None` in a prologue, which
    /// uses only memory, and does not write it.
    pub(super) fn program(
        &self,
        body: &[Instr],
        lens: &[usize],
        width: usize,
        results: Option<usize>,
    ) -> Result<(), String> {
        let prologue = results.is_none();
        let results = results.unwrap_or(0);
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
            Format::Ggml(ty) if STATE_TYPES.contains(&ty) => {
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
