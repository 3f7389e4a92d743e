//! Where the values of a GGUF tensor come from: stored tensors, row by row in some order.
//!
//! A model is larger than memory, so a tensor is never built: [`Source::values`] computes any range of its values from the stored bytes.

use std::ops::Range;

use weft_quant::{GgmlType, decode};

use crate::checkpoint::Checkpoint;
use crate::packed::Packed;
use crate::safetensors::Dtype;

/// The values of a tensor.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// Stored tensors, one after the other, with a change of each value.
    Stored { parts: Vec<Part>, order: Order, change: Change },
    /// Blocks of a stored format.
    Packed(Packed),
    /// Values that no file has.
    Made(Vec<f32>),
}

/// A stored tensor as a matrix.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Where it is in the checkpoint.
    pub(crate) at: usize,
    /// The number of rows: the product of all dimensions but the last.
    pub(crate) rows: u64,
    /// The length of a row.
    pub(crate) columns: u64,
    /// For 8-bit weights, the factors of its blocks.
    pub(crate) scale: Option<Scale>,
}

/// The change to each value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing: the value is as stored.
    Nothing,
    /// 1 is added, because the model adds it where it uses the value.
    PlusOne,
    /// e to the power of the value.
    Exp,
    /// e to the power of the value, with a negative sign.
    NegativeExp,
}

impl Change {
    fn apply(self, values: &mut [f32]) {
        // In `f64`, so that the result is the nearest `f32` on every machine.
        let exp = |value: f32| f64::from(value).exp() as f32;
        match self {
            Change::Nothing => {}
            Change::PlusOne => values.iter_mut().for_each(|value| *value += 1.0),
            Change::Exp => values.iter_mut().for_each(|value| *value = exp(*value)),
            Change::NegativeExp => values.iter_mut().for_each(|value| *value = -exp(*value)),
        }
    }
}

/// One factor for each block of a matrix.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    /// Where the factors are in the checkpoint.
    pub(crate) at: usize,
    /// The length of a row of the matrix, which is not that of a part whose rows are cut.
    pub(crate) columns: u64,
    /// The rows and columns of a block.
    pub(crate) block: [u64; 2],
}

/// Which stored row, or column, each row of the tensor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// As stored.
    Rows,
    /// The two halves of each head interleaved: the values that are rotated together become neighbours.
    Pairs { heads: u64 },
    /// Of each group of `of` rows, those from `start`, `len` in number.
    Take { start: u64, len: u64, of: u64 },
    /// As [`Take`](Order::Take), with rows and columns of each group exchanged.
    TakeTransposed { start: u64, len: u64, of: u64 },
    /// Of each group of `of` rows, three runs of these lengths from its start: first that of all groups, then
    /// the second, then the third.
    Sections { lens: [u64; 3], of: u64 },
    /// In each `before + groups · each · len` rows, heads of `len` rows after the first `before`, which are
    /// stored group by group: first the first head of all groups, then the second, and so on.
    Tiled { before: u64, groups: u64, each: u64, len: u64 },
}

impl Order {
    /// The number of rows that are taken of `rows` stored ones, counted before they become columns.
    fn taken(self, rows: u64) -> u64 {
        match self {
            Order::Rows | Order::Pairs { .. } | Order::Tiled { .. } => rows,
            Order::Sections { lens, of } => rows / of * lens.iter().sum::<u64>(),
            Order::Take { len, of, .. } | Order::TakeTransposed { len, of, .. } => rows / of * len,
        }
    }

    /// The stored row of a row that is taken.
    fn row(self, row: u64, rows: u64) -> u64 {
        match self {
            Order::Rows => row,
            Order::Pairs { heads } => {
                let width = rows / heads;
                let (head, at) = (row / width, row % width);
                head * width + at % 2 * (width / 2) + at / 2
            }
            Order::Take { start, len, of } | Order::TakeTransposed { start, len, of } => {
                row / len * of + start + row % len
            }
            Order::Sections { lens, of } => {
                let groups = rows / of;
                let (mut row, mut start) = (row, 0);
                for len in lens {
                    if row < groups * len {
                        return row / len * of + start + row % len;
                    }
                    row -= groups * len;
                    start += len;
                }
                unreachable!("a row beyond those that are taken")
            }
            Order::Tiled { before, groups, each, len } => {
                let all = before + groups * each * len;
                let Some(at) = (row % all).checked_sub(before) else { return row };
                let head = at / len;
                row / all * all + before + (head % groups * each + head / groups) * len + at % len
            }
        }
    }
}

impl Source {
    /// The type of the stored values, if they are in the order of rows and need no factors.
    fn stored_type(&self, checkpoint: &Checkpoint) -> Option<GgmlType> {
        let Source::Stored { parts, order, change } = self else { return None };
        if matches!(order, Order::TakeTransposed { .. }) || *change != Change::Nothing {
            return None;
        }
        let dtype = checkpoint.stored(parts.first()?.at).dtype;
        let alike =
            parts.iter().all(|part| part.scale.is_none() && checkpoint.stored(part.at).dtype == dtype);
        ggml_type(dtype).filter(|_| alike)
    }

    /// The bytes of a range of values, where they are stored as `ty`.
    pub(crate) fn bytes(&self, checkpoint: &Checkpoint, ty: GgmlType, values: Range<u64>) -> Option<Vec<u8>> {
        if let Source::Packed(packed) = self {
            return (ty == Packed::TYPE).then(|| packed.blocks(checkpoint, values));
        }
        if self.stored_type(checkpoint)? != ty {
            return None;
        }
        let size = ty.block_bytes();
        let mut out = Vec::with_capacity((values.end - values.start) as usize * size);
        self.pieces(values, |part, range| {
            out.extend_from_slice(
                &checkpoint.data(part.at)[range.start as usize * size..range.end as usize * size],
            );
        });
        Some(out)
    }

    /// A range of values.
    pub(crate) fn values(&self, checkpoint: &Checkpoint, values: Range<u64>) -> Vec<f32> {
        match self {
            Source::Made(made) => made[values.start as usize..values.end as usize].to_vec(),
            Source::Packed(packed) => packed.values(checkpoint, values),
            Source::Stored { parts, order: Order::TakeTransposed { start, len, of }, .. } => {
                let order = Order::Take { start: *start, len: *len, of: *of };
                let mut out = Vec::with_capacity((values.end - values.start) as usize);
                values.for_each(|at| transposed(checkpoint, &parts[0], order, *len, at, &mut out));
                out
            }
            Source::Stored { change, .. } => {
                let mut out = Vec::with_capacity((values.end - values.start) as usize);
                self.pieces(values, |part, range| part.decode(checkpoint, range, &mut out));
                change.apply(&mut out);
                out
            }
        }
    }

    /// Calls `take` with the stored values, in parts, of a range of values.
    fn pieces(&self, values: Range<u64>, mut take: impl FnMut(&Part, Range<u64>)) {
        let Source::Stored { parts, order, .. } = self else { return };
        let Some(first) = parts.first() else { return };
        let (columns, rows) = (first.columns, order.taken(first.rows));
        let mut at = values.start;
        while at < values.end {
            let (row, column) = (at / columns, at % columns);
            let part = &parts[(row / rows) as usize];
            if *order == Order::Rows {
                // A whole part at once.
                let from = at - row / rows * rows * columns;
                let until = (from + values.end - at).min(rows * columns);
                take(part, from..until);
                at += until - from;
            } else {
                let until = (column + values.end - at).min(columns);
                let start = order.row(row % rows, part.rows) * columns;
                take(part, start + column..start + until);
                at += until - column;
            }
        }
    }

    /// Drops the stored bytes that a range of values comes from, if they are in order, from memory.
    pub(crate) fn release(&self, checkpoint: &Checkpoint, values: Range<u64>) {
        if !matches!(self, Source::Stored { order: Order::Rows, .. }) {
            return;
        }
        self.pieces(values, |part, range| {
            let size = checkpoint.stored(part.at).dtype.bytes();
            checkpoint.release(part.at, (range.start * size) as usize..(range.end * size) as usize);
        });
    }
}

/// Appends a value of groups of `len` rows whose rows and columns are exchanged.
fn transposed(checkpoint: &Checkpoint, part: &Part, order: Order, len: u64, at: u64, out: &mut Vec<f32>) {
    let (inner, column) = (at % len, at / len % part.columns);
    let row = order.row(at / len / part.columns * len + inner, part.rows);
    let stored = row * part.columns + column;
    part.decode(checkpoint, stored..stored + 1, out);
}

impl Part {
    /// Appends a range of the part's values.
    fn decode(&self, checkpoint: &Checkpoint, range: Range<u64>, out: &mut Vec<f32>) {
        let dtype = checkpoint.stored(self.at).dtype;
        let size = dtype.bytes();
        let data = &checkpoint.data(self.at)[(range.start * size) as usize..(range.end * size) as usize];
        let begin = out.len();
        match ggml_type(dtype) {
            Some(ty) => {
                out.resize(begin + (range.end - range.start) as usize, 0.0);
                decode(ty, data, &mut out[begin..]).expect("the slices have the same number of values");
            }
            // Only 8-bit weights are left: other types were refused.
            None => out.extend(data.iter().map(|&byte| f8_e4m3(byte))),
        }
        if let Some(Scale { at, columns: width, block: [rows, columns] }) = self.scale {
            let (factors, dtype) = (checkpoint.data(at), checkpoint.stored(at).dtype);
            let ty = ggml_type(dtype).expect("the type of factors was checked");
            let across = width.div_ceil(columns);
            let mut last = (u64::MAX, [1.0]);
            for (value, at) in out[begin..].iter_mut().zip(range) {
                let block = at / width / rows * across + at % width / columns;
                if last.0 != block {
                    let size = dtype.bytes() as usize;
                    let stored = &factors[block as usize * size..][..size];
                    decode(ty, stored, &mut last.1).expect("the slices have one value");
                    last.0 = block;
                }
                *value *= last.1[0];
            }
        }
    }
}

/// The type of GGML that stores values as `dtype` does.
fn ggml_type(dtype: Dtype) -> Option<GgmlType> {
    match dtype {
        Dtype::F32 => Some(GgmlType::F32),
        Dtype::F16 => Some(GgmlType::F16),
        Dtype::BF16 => Some(GgmlType::BF16),
        Dtype::F8E4M3 | Dtype::Other(..) => None,
    }
}

/// The value of E4M3: a sign, 4 bits of exponent with a bias of 7, and 3 of mantissa. All ones is not a number; there are no infinities.
fn f8_e4m3(bits: u8) -> f32 {
    let (exponent, mantissa) = (i32::from(bits >> 3 & 15), f32::from(bits & 7));
    let size = match (exponent, bits & 7) {
        (15, 7) => f32::NAN,
        (0, _) => mantissa * 2f32.powi(-9),
        _ => (8.0 + mantissa) * 2f32.powi(exponent - 10),
    };
    if bits & 0x80 == 0 { size } else { -size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bit_values_are_those_of_the_format() {
        let values = [
            (0x00, 0.0),
            (0x01, 2f32.powi(-9)),
            (0x08, 2f32.powi(-6)),
            (0x38, 1.0),
            (0x7e, 448.0),
            (0xb8, -1.0),
        ];
        for (bits, value) in values {
            assert_eq!(f8_e4m3(bits), value, "{bits:#x}");
        }
        assert!(f8_e4m3(0x7f).is_nan() && f8_e4m3(0xff).is_nan());
    }

    #[test]
    fn orders_name_stored_rows() {
        let rows = |order: Order, rows: u64| {
            (0..order.taken(rows)).map(|row| order.row(row, rows)).collect::<Vec<_>>()
        };
        assert_eq!(rows(Order::Pairs { heads: 2 }, 8), [0, 2, 1, 3, 4, 6, 5, 7]);
        assert_eq!(rows(Order::Take { start: 1, len: 2, of: 4 }, 8), [1, 2, 5, 6]);
        assert_eq!(rows(Order::Rows, 3), [0, 1, 2]);
        // Two groups of q, k, two of v and two of z.
        assert_eq!(rows(Order::Sections { lens: [1, 1, 2], of: 6 }, 12), [0, 6, 1, 7, 2, 3, 8, 9]);
        // One other row, then two groups of three heads of two rows.
        let tiled = Order::Tiled { before: 1, groups: 2, each: 3, len: 2 };
        assert_eq!(rows(tiled, 13), [0, 1, 2, 7, 8, 3, 4, 9, 10, 5, 6, 11, 12]);
        // Twice the same.
        let tiled = Order::Tiled { before: 0, groups: 2, each: 2, len: 1 };
        assert_eq!(rows(tiled, 8), [0, 2, 1, 3, 4, 6, 5, 7]);
    }
}
