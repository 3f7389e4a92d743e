//! Legality rules that several forms share.

use weft_kern::{Format, Instr, Kernel, Part};

use crate::gpu::Gpu;

/// A part that a form may compute, and the rest that the form's legality depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) part: &'a Part,
    /// Lanes of a workgroup.
    pub(crate) lanes: u32,
    pub(crate) gpu: &'a Gpu,
}

/// The most rows or columns per lane. Each takes a variable.
pub(crate) const MOST: u32 = 64;

/// The most sums per lane in a schedule that is tuned or tried. Each takes a variable.
pub(crate) const MOST_SUMS: u32 = 64;

/// Checks the variables of a lane.
///
/// # Errors
/// If there are too many.
pub(crate) fn variables(rows: u32, columns: u32) -> Result<(), String> {
    match rows > MOST || columns > MOST {
        true => Err(format!("a lane can have {MOST} rows and columns at most")),
        false => Ok(()),
    }
}

/// Whether a workgroup of this width has all columns of a part.
pub(crate) fn is_whole(part: &Part, width: u32) -> bool {
    width as usize >= part.cols
}

/// Checks that a workgroup has all columns, or a number that the row program can compute separately.
///
/// # Errors
/// If it lacks columns that the row program needs.
pub(crate) fn columns(part: &Part, width: u32) -> Result<(), String> {
    let apart = part.columns_together().is_some_and(|unit| (width as usize).is_multiple_of(unit));
    match is_whole(part, width) || apart {
        true => Ok(()),
        false => Err(format!("a workgroup needs all {} columns, it has {width}", part.cols)),
    }
}

/// Checks that a workgroup stores whole blocks and whole words.
///
/// # Errors
/// If it stores a part of one.
pub(crate) fn stores(kernel: &Kernel, part: &Part, width: u32) -> Result<(), String> {
    for instr in &part.body {
        let Instr::Store { view, .. } = instr else { continue };
        let unit = match kernel.params[view.param].format {
            Format::Q8 => 32,
            Format::Ggml(ty) if ty.is_quantised() => 32,
            Format::Ggml(ty) if ty.block_bytes() == 2 => 2,
            _ => 1,
        };
        if !is_whole(part, width) && !width.is_multiple_of(unit) {
            return Err(format!("{width} columns are not a multiple of the {unit} that are stored together"));
        }
    }
    Ok(())
}

/// Whether a part stores rounded values, which are whole blocks.
pub(crate) fn rounds(kernel: &Kernel, part: &Part) -> bool {
    part.body.iter().any(|i| match i {
        Instr::Store { view, .. } => match kernel.params[view.param].format {
            Format::Q8 => true,
            Format::Ggml(ty) => ty.is_quantised(),
        },
        _ => false,
    })
}
