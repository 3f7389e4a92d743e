//! A prologue: what a product multiplies, computed in front of it instead of by a kernel of its own.
//!
//! Every thread computes the rows it needs, each once, into its own scratch memory. That is the same row program, run by
//! the same code, and the same rounding as of a store, so the bits are those that another kernel would have written. It
//! is meant for steps of few tokens, where a row costs less than the wait for another thread; how often it is computed
//! changes no bit.

use weft_kern::{Kernel, Part, Product, Prologue as KernelPrologue, q8};

use crate::convert::Round;
use crate::made::Made;
use crate::rowprog::{Acc, Registers, RowProgram};
use crate::rows::Fault;
use crate::scratch::Needs;
use crate::thread::Thread;

/// Whether two parts of a kernel have the same prologue, for the same rows: a thread that has done one need not do the other.
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
    /// Prepares the prologue of a verified part. It is rounded if a product wants it so, be it of another part with the same.
    ///
    /// # Errors
    /// A sentence, if there is none, or the device cannot run it.
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
            return Err(format!("a prologue of {len} values, which are no whole number of blocks"));
        }
        Ok(Prologue { program, len, rounded })
    }

    /// Scratch memory for as many rows.
    pub(crate) fn needs(&self, rows: usize) -> Needs {
        let values = rows.saturating_mul(self.len);
        let made = (rows, values, if self.rounded { values } else { 0 });
        Needs { made, slots: self.program.slots, ..Needs::default() }
    }

    /// Forgets the rows of another prologue.
    pub(crate) fn begin(&self, cx: &Thread<'_>, made: &mut Made) {
        made.ready[..cx.space.axes()[0]].fill(false);
    }

    /// Computes a row, if it is not there yet.
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
