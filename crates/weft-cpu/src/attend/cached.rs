//! Cached rows, and converting them.

use weft_kern::{Cached, Format, Param};
use weft_quant::GgmlType;

use crate::isa::{Line, Simd};
use crate::memory::Arg;
use crate::rows::Fault;

/// Rows of a state: where the part of a key head is, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rows {
    cached: Cached,
    ty: GgmlType,
    /// Values.
    pub(super) len: usize,
    /// The same in lines, rounded up.
    pub(super) lines: usize,
    /// Lines between two rows that have been converted: an odd number, so that the same line of many rows does not fall into few sets of a
    /// cache.
    pub(super) stride: usize,
}

impl Rows {
    /// # Errors
    /// A sentence, if this device does not read states of that type.
    pub(super) fn new(params: &[Param], cached: Cached, len: usize) -> Result<Rows, String> {
        let lines = len.div_ceil(16);
        match params[cached.param].format {
            Format::Ggml(ty @ (GgmlType::F32 | GgmlType::F16 | GgmlType::BF16)) => {
                Ok(Rows { cached, ty, len, lines, stride: lines | 1 })
            }
            format => Err(format!("this device cannot attend to a state of {format:?}")),
        }
    }

    /// If other rows are part of these: the line at which they begin.
    pub(super) fn line_of(&self, part: &Rows, kv_heads: usize) -> Option<usize> {
        let (own, other) = (self.cached, part.cached);
        let same_rows = own.param == other.param
            && own.row_stride == other.row_stride
            && (kv_heads == 1 || own.head_stride == other.head_stride);
        let start = other.offset.checked_sub(own.offset)?;
        (same_rows && start.is_multiple_of(16) && start + part.len <= self.len).then_some(start / 16)
    }

    /// How many rows the state has.
    pub(super) fn count(&self, args: &[Arg]) -> usize {
        args[self.cached.param].values() / self.cached.row_stride
    }

    /// Converts a key head's part of `n` rows from `row` on; what is left of a line becomes 0.
    #[inline(always)]
    pub(super) fn convert<S: Simd>(
        &self,
        simd: S,
        args: &[Arg],
        (row, n): (usize, usize),
        kv_head: usize,
        out: &mut [Line],
    ) -> Result<(), Fault> {
        let Cached { param, offset, row_stride, head_stride } = self.cached;
        let at = row * row_stride + offset + kv_head * head_stride;
        let bytes = args[param].blocks(at, (n - 1) * row_stride + self.len).ok_or(Fault)?;
        let out = out.chunks_mut(self.stride);
        match self.ty {
            GgmlType::F16 => {
                for (out, row) in out.zip(bytes.chunks(2 * row_stride)) {
                    each::<32>(&row[..2 * self.len], out, |from, to| simd.store(simd.halves(from), to));
                }
            }
            GgmlType::BF16 => {
                for (out, row) in out.zip(bytes.chunks(2 * row_stride)) {
                    each::<32>(&row[..2 * self.len], out, |from, to| simd.store(simd.upper_halves(from), to));
                }
            }
            _ => {
                for (out, row) in out.zip(bytes.chunks(4 * row_stride)) {
                    each::<64>(&row[..4 * self.len], out, |from, to| {
                        let from = from.as_chunks().0;
                        *to = std::array::from_fn(|i| f32::from_le_bytes(from[i]));
                    });
                }
            }
        }
        Ok(())
    }
}

/// Converts each sixteen values, of `N` bytes.
#[inline(always)]
fn each<const N: usize>(row: &[u8], out: &mut [Line], convert: impl Fn(&[u8; N], &mut [f32; 16])) {
    let (whole, tail) = row.as_chunks::<N>();
    for (from, to) in whole.iter().zip(&mut *out) {
        convert(from, &mut to.0);
    }
    if !tail.is_empty() {
        let mut last = [0; N];
        last[..tail.len()].copy_from_slice(tail);
        convert(&last, &mut out[whole.len()].0);
    }
}
