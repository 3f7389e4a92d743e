//! The kernel interpreter, slow and obvious: it defines what kernels compute, and is the oracle for every device.
//!
//! Operands are read in the precision they are stored in (rounded activations stay rounded). Sums are accumulated in `f64` and
//! rounded once, so a device differs only by the rounding of its sums.
//!
//! The interpreter is generic over [`Number`]: [`run`] computes with `f32` and writes the results; [`stores`] computes one row
//! with values that carry more, such as error bounds, and returns what it would write.

mod buffer;
mod number;
mod program;
mod rows;
mod views;

use weft_ir::Sizes;

pub use crate::anchor::{Attention, Indexing};
pub use buffer::{Buffer, BufferError};
pub use number::Number;
pub use program::Stored;
pub(crate) use program::{binary, load, program};
pub use rows::rows;
pub use views::place;
pub(crate) use views::{base, index};

use crate::kernel::{Kernel, Part};

/// An index in the data is out of range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}`: {why}")]
pub struct InterpError {
    /// The kernel.
    pub kernel: String,
    /// Which index, and its bound.
    pub why: String,
}

/// Runs a kernel on its arguments, one buffer per parameter.
///
/// # Errors
/// If an index in the data is out of range. Earlier rows have been written then.
///
/// # Panics
/// If [`crate::verify_call`] does not accept the kernel for these buffers.
pub fn run(kernel: &Kernel, args: &mut [Buffer<'_>], sizes: &Sizes) -> Result<(), InterpError> {
    for part in &kernel.parts {
        let mut all = Vec::new();
        if part.anchor.walks_sequences() {
            // Once for all rows, because each row needs those before it.
            let mut walked = Vec::new();
            let after =
                walk::<f32>(kernel, part, args, sizes, &mut |row, result| walked.push((row, result)))?;
            for (row, result) in walked {
                program(&part.body, args, &row, &[result], &mut all).map_err(|why| error(kernel, why))?;
            }
            all.extend(after);
        }
        for row in rows(&part.rows, sizes).filter(|_| !part.anchor.walks_sequences()) {
            for stored in stores::<f32>(kernel, part, args, &row)? {
                args[stored.param].store(stored.at, stored.step, &stored.values);
            }
        }
        for stored in all {
            args[stored.param].store(stored.at, stored.step, &stored.values);
        }
    }
    Ok(())
}

/// Computes what one row of a part writes.
///
/// # Errors
/// If an index in the data is out of range.
///
/// # Panics
/// If [`crate::verify_call`] does not accept the kernel for these buffers, or there is no such row.
pub fn stores<N: Number>(
    kernel: &Kernel,
    part: &Part,
    args: &[Buffer<'_>],
    row: &[usize],
) -> Result<Vec<Stored<N>>, InterpError> {
    let run = || {
        let results: Vec<Vec<N>> =
            part.anchor.compute(part.cols, (&kernel.params, part.prologue.as_ref()), args, row)?;
        let mut stored = Vec::new();
        program(&part.body, args, row, &results, &mut stored)?;
        Ok(stored)
    };
    run().map_err(|why| error(kernel, why))
}

/// Computes what a part writes to states of whole sequences once all rows are done.
///
/// # Errors
/// If an index in the data is out of range.
///
/// # Panics
/// If [`crate::verify_call`] does not accept the kernel for these buffers.
pub fn updates<N: Number>(
    kernel: &Kernel,
    part: &Part,
    args: &[Buffer<'_>],
    sizes: &Sizes,
) -> Result<Vec<Stored<N>>, InterpError> {
    walk(kernel, part, args, sizes, &mut |_, _| {})
}

/// Walks the sequences of a part, see [`Anchor::walk`](crate::Anchor).
fn walk<N: Number>(
    kernel: &Kernel,
    part: &Part,
    args: &[Buffer<'_>],
    sizes: &Sizes,
    result: &mut dyn FnMut([usize; 2], Vec<N>),
) -> Result<Vec<Stored<N>>, InterpError> {
    let done = match part.rows.first().map_or(1, |rows| rows.eval(sizes)) {
        // Nothing runs.
        0 => Ok(Vec::new()),
        tokens => part.anchor.walk(part.cols, args, (tokens, sizes.sequences), result),
    };
    done.map_err(|why| error(kernel, why))
}

fn error(kernel: &Kernel, why: String) -> InterpError {
    InterpError { kernel: kernel.name.clone(), why }
}
