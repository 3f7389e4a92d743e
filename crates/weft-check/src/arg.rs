//! An argument of a kernel under test, and the values of its bytes.

use weft_kern::{Access, Format, q8};
use weft_quant::GgmlType;

use crate::data;

/// The bytes of an output before it is written: NaNs, or other bits that no kernel writes.
pub const POISON: u8 = 0xff;

/// An argument of a kernel under test.
#[derive(Clone, Debug)]
pub struct Arg {
    /// How its values are stored.
    pub format: Format,
    /// Whether the kernel writes it.
    pub access: Access,
    /// How many values it has.
    pub values: usize,
    /// Its contents.
    pub bytes: Vec<u8>,
    /// Values per token, if the first axis counts tokens.
    pub per_token: Option<usize>,
    /// If the device gets it as a weight: the values per row.
    pub row_len: Option<usize>,
}

impl Arg {
    /// An input with these bytes.
    pub fn read(format: Format, values: usize, bytes: Vec<u8>) -> Arg {
        assert_eq!(format.bytes(values), Some(bytes.len()));
        Arg { format, access: Access::Read, values, bytes, per_token: None, row_len: None }
    }

    /// An input of `f32`.
    pub fn f32(values: &[f32]) -> Arg {
        Arg::read(Format::F32, values.len(), values.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    /// An input of `i32`.
    pub fn i32(values: &[i32]) -> Arg {
        Arg::read(Format::I32, values.len(), values.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    /// An input of floats of any width, or of blocks, as in a state.
    pub fn floats_of(ty: GgmlType, values: &[f32]) -> Arg {
        let mut bytes = vec![0; Format::Ggml(ty).bytes(values.len()).unwrap()];
        weft_quant::encode(ty, values, &mut bytes).unwrap();
        Arg::read(Format::Ggml(ty), values.len(), bytes)
    }

    /// A matrix that the device gets as a weight.
    pub fn weight(ty: GgmlType, rows: usize, row_len: usize, bytes: Vec<u8>) -> Arg {
        Arg { row_len: Some(row_len), ..Arg::read(Format::Ggml(ty), rows * row_len, bytes) }
    }

    /// Rows that are multiplied by a weight of this type: rounded if it is quantised.
    pub fn activations(ty: GgmlType, values: &[f32]) -> Arg {
        match ty.is_quantised() {
            true => Arg::read(Format::Q8, values.len(), data::rounded(values)),
            false => Arg::f32(values),
        }
    }

    /// An output, poisoned.
    pub fn out(format: Format, values: usize) -> Arg {
        let bytes = vec![POISON; format.bytes(values).unwrap()];
        Arg { access: Access::Write, ..Arg::read(format, values, bytes) }
    }

    /// A state that is updated in place.
    pub fn state(values: &[f32]) -> Arg {
        Arg { access: Access::ReadWrite, ..Arg::f32(values) }
    }

    /// With `values` of them for each token.
    pub fn per_token(self, values: usize) -> Arg {
        Arg { per_token: Some(values), ..self }
    }

    /// The bytes of some tokens' values, of all bytes of this argument.
    pub fn of_tokens(&self, bytes: &[u8], tokens: std::ops::Range<usize>) -> Option<Vec<u8>> {
        let values = self.per_token?;
        let (start, end) = (tokens.start * values, tokens.end * values);
        Some(match self.format {
            Format::Ggml(ty) => {
                let size = |n: usize| n / ty.block_len() * ty.block_bytes();
                bytes[size(start)..size(end)].to_vec()
            }
            Format::Q8 => {
                let [quants, scales, sums] = self.planes(bytes);
                [&quants[start..end], &scales[start / 8..end / 8], &sums[start / 4..end / 4]].concat()
            }
        })
    }

    /// As floats, indices as such; of rounded values their sums as well.
    pub fn floats(&self, bytes: &[u8]) -> Vec<f32> {
        match self.format {
            Format::I32 => bytes.as_chunks().0.iter().map(|b| i32::from_le_bytes(*b) as f32).collect(),
            Format::Ggml(ty) => {
                let mut out = vec![0.0; self.values];
                weft_quant::decode(ty, bytes, &mut out).unwrap();
                out
            }
            Format::Q8 => {
                let words = |bytes: &[u8]| -> Vec<f32> {
                    bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
                };
                let [quants, scales, sums] = self.planes(bytes);
                let scales = words(scales);
                let values = quants.iter().enumerate();
                let mut all: Vec<f32> =
                    values.map(|(i, q)| f32::from(*q as i8) * scales[i / q8::BLOCK]).collect();
                // A sum is that of 16 values, each of which may be off by a step.
                all.extend(words(sums).iter().map(|s| s / 16.0));
                all
            }
        }
    }

    /// The planes of rounded values: the quants, then their scales, then their sums.
    fn planes<'a>(&self, bytes: &'a [u8]) -> [&'a [u8]; 3] {
        let (quants, rest) = bytes.split_at(self.values);
        let (scales, sums) = rest.split_at(self.values / 8);
        [quants, scales, sums]
    }

    /// How far a stored value may differ from the oracle's beyond the tolerance of the computation: one step of the format, relative to the
    /// largest value, where rounding may go to the neighbour.
    pub fn step(&self) -> f32 {
        match self.format {
            Format::Ggml(GgmlType::F16) => 1.0 / 1024.0,
            Format::Ggml(GgmlType::BF16) => 1.0 / 128.0,
            Format::Q8 | Format::Ggml(GgmlType::Q8_0) => 1.0 / 126.0,
            // Least and largest values may have either sign.
            Format::Ggml(GgmlType::Q5_1) => 2.0 / 30.9,
            Format::Ggml(GgmlType::Q4_0) => 1.0 / 7.9,
            _ => 0.0,
        }
    }
}
