//! Rows of the KV cache, and how they are rounded.

use weft_kern::{Cached, Format, Param, STATE_TYPES};
use weft_quant::GgmlType;

use super::round::{self, BYTES_4, BYTES_8, Bits4, Bits8, Limits};
use crate::isa::{Line, Numbers, Simd};
use crate::memory::Arg;
use crate::rows::Fault;

/// Rows of a state: the position and length of a key head's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rows {
    cached: Cached,
    ty: GgmlType,
    /// Values.
    pub(super) len: usize,
    /// Lines of 32 numbers, rounded up.
    lines: usize,
    /// Lines between two rounded rows: an odd number, so that the same line of many rows does not map to few sets of a cache.
    pub(super) stride: usize,
}

impl Rows {
    /// # Errors
    /// A sentence, if this device does not read states of that type.
    pub(super) fn new(params: &[Param], cached: Cached, len: usize) -> Result<Rows, String> {
        let lines = len.div_ceil(32);
        match params[cached.param].format {
            Format::Ggml(ty) if STATE_TYPES.contains(&ty) => {
                Ok(Rows { cached, ty, len, lines, stride: lines | 1 })
            }
            format => Err(format!("this device cannot attend to a state of {format:?}")),
        }
    }

    /// The value at which other rows begin, if they are part of these.
    pub(super) fn start_of(&self, part: &Rows, kv_heads: usize) -> Option<usize> {
        let (own, other) = (self.cached, part.cached);
        let same_rows = own.param == other.param
            && own.row_stride == other.row_stride
            && (kv_heads == 1 || own.head_stride == other.head_stride);
        let start = other.offset.checked_sub(own.offset)?;
        (same_rows && start + part.len <= self.len).then_some(start)
    }

    /// The number of rows of the state.
    pub(super) fn count(&self, args: &[Arg]) -> usize {
        args[self.cached.param].values() / self.cached.row_stride
    }

    /// The bytes from a key head's part of row `row` to the part in the last of `n` rows, the bytes between two parts, and the
    /// bytes of each.
    #[inline(always)]
    pub(super) fn bytes<'a>(
        &self,
        args: &'a [Arg],
        (row, n): (usize, usize),
        kv_head: usize,
    ) -> Result<(&'a [u8], usize, usize), Fault> {
        let Cached { param, offset, row_stride, head_stride } = self.cached;
        let at = row * row_stride + offset + kv_head * head_stride;
        let bytes = args[param].blocks(at, (n - 1) * row_stride + self.len).ok_or(Fault)?;
        let of = |values: usize| values / self.ty.block_len() * self.ty.block_bytes();
        Ok((bytes, of(row_stride), of(self.len)))
    }

    /// Rounds a row with these bytes, and returns its scale. `room` holds a row of floats.
    #[inline(always)]
    pub(super) fn round<S: Simd>(
        &self,
        simd: S,
        row: &[u8],
        limits: Limits,
        room: &mut [Line],
        out: &mut [Numbers],
    ) -> f32 {
        let (room, out) = (&mut room[..2 * self.lines], &mut out[..self.lines]);
        match self.ty {
            GgmlType::F16 => round::halves::<S, false>(simd, row, limits, out),
            GgmlType::BF16 => round::halves::<S, true>(simd, row, limits, out),
            GgmlType::Q8_0 => round::with_scale::<S, Bits8, BYTES_8>(simd, row, limits, room, out),
            GgmlType::Q4_0 => round::with_scale::<S, Bits4, BYTES_4>(simd, row, limits, room, out),
            GgmlType::Q5_1 => round::with_minimum(simd, row, limits, room, out),
            _ => {
                let (values, behind) = Line::flat_mut(room).split_at_mut(self.len);
                for (to, from) in values.iter_mut().zip(row.as_chunks::<4>().0) {
                    *to = f32::from_le_bytes(*from);
                }
                behind.fill(0.0);
                round::floats(simd, room, limits, out)
            }
        }
    }
}

/// Lays out numbers of two rows for [`super::vectors`]: in pairs, sixteen of them to a line.
#[inline(always)]
pub(super) fn interleave<S: Simd>(simd: S, a: &[i16], b: &[i16], out: &mut [Numbers]) {
    let rows = a.as_chunks::<32>().0.iter().zip(b.as_chunks::<32>().0);
    for ((a, b), out) in rows.zip(out.as_chunks_mut::<2>().0) {
        let [first, second] = simd.interleave(simd.numbers(a), simd.numbers(b));
        simd.store_numbers(first, &mut out[0]);
        simd.store_numbers(second, &mut out[1]);
    }
}
