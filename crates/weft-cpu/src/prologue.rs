//! A prologue: a product's operand, computed before it in the same kernel.
//!
//! Every thread computes the rows it needs, each once, into its own scratch memory. The row program, the code that runs
//! it and the rounding are those of a store, so the bits are what another kernel would have written. Prologues are for
//! steps of few tokens, where computing a row takes less time than waiting for another thread; how often a row is
//! computed changes no bit.

use weft_kern::{Kernel, Part, Product, Prologue as KernelPrologue, q8};

use crate::convert::Round;
use crate::made::Made;
use crate::rowprog::{Acc, Registers, RowProgram};
use crate::rows::Fault;
use crate::scratch::Needs;
use crate::thread::Thread;

/// Whether two parts of a kernel have the same prologue, for the same rows: a thread computes it once for both.
pub(crate) fn same(a: &Part, b: &Part) -> bool {
    a.prologue.is_some() && a.prologue == b.prologue && a.prologue_rows() == b.prologue_rows()
}

/// A prepared prologue.
#[derive(Debug, Clone)]
pub(crate) struct Prologue {
    program: RowProgram,
    /// Values of a row.
    pub(crate) len: usize,
    /// Whether it is also rounded.
    rounded: bool,
}

impl Prologue {
    /// Prepares the prologue of a verified part. It is rounded if a product of this part, or of another part with the same
    /// prologue, needs that.
    ///
    /// # Errors
    /// A sentence, if there is no prologue, or the device cannot run it.
    pub(crate) fn new(kernel: &Kernel, part: &Part) -> Result<Prologue, String> {
        let params = &kernel.params;
        let wants = |p: &Product| p.x == weft_kern::Factor::Prologue && p.rounds(params);
        let alike = kernel.parts.iter().filter(|other| same(part, other));
        let rounded = alike.flat_map(|part| part.products()).any(wants);
        let source: &KernelPrologue =
            part.prologue.as_ref().ok_or("a product multiplies a prologue that is not there")?;
        let program = RowProgram::of_prologue(params, source)?;
        let len = program.result_len();
        if len == 0 || rounded && !len.is_multiple_of(q8::BLOCK) {
            return Err(format!("a prologue of {len} values, not a whole number of blocks"));
        }
        Ok(Prologue { program, len, rounded })
    }

    /// Scratch memory for this many rows.
    pub(crate) fn needs(&self, rows: usize) -> Needs {
        let values = rows.saturating_mul(self.len);
        let made = (rows, values, if self.rounded { values } else { 0 });
        Needs { made, slots: self.program.slots, ..Needs::default() }
    }

    /// Discards the rows of another prologue.
    pub(crate) fn begin(&self, cx: &Thread<'_>, made: &mut Made) {
        made.ready[..cx.space.axes()[0]].fill(false);
    }

    /// Computes a row, if it has not been computed yet.
    pub(crate) fn make(
        &self,
        cx: &Thread<'_>,
        row: usize,
        registers: &mut Registers,
        made: &mut Made,
    ) -> Result<(), Fault> {
        if std::mem::replace(&mut made.ready[row], true) {
            return Ok(());
        }
        let space = cx.space.first_axis();
        let program = Thread { space, program: &self.program, ..*cx };
        program.finish(row..row + 1, 0..1, Acc::default(), registers)?;
        let coords = space.coords(row);
        let values = self.program.result(cx.args, &coords, registers)?;
        let at = row * self.len;
        made.floats[at..][..self.len].copy_from_slice(values);
        if self.rounded {
            cx.arch.dispatch(Round {
                values,
                quants: &mut made.quants[at..][..self.len],
                scales: &mut made.scales[at / q8::BLOCK..],
                sums: &mut made.sums[at / 16..],
            });
        }
        Ok(())
    }
}
