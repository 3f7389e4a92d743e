//! Buffers of the interpreter.

use std::borrow::Cow;

use weft_quant::GgmlType;
use weft_quant::ints::unpack_row;

use crate::program::Format;
use crate::q8;

/// The values of one argument.
#[derive(Clone, Debug)]
pub struct Buffer<'a> {
    data: Data<'a>,
    len: usize,
}

#[derive(Clone, Debug)]
enum Data<'a> {
    /// Floats, rounded to a type when they are stored.
    Floats(GgmlType, Vec<f32>),
    Ints(Vec<i32>),
    Q8(Vec<q8::Block>),
    /// Blocks, decoded when they are read and encoded when they are written.
    Blocks(GgmlType, Cow<'a, [u8]>),
}

/// Bytes that do not fit a buffer's format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes are not {values} values of {format:?}")]
pub struct BufferError {
    /// The buffer's format.
    pub format: Format,
    /// The number of values.
    pub values: usize,
    /// The number of bytes given.
    pub bytes: usize,
}

impl<'a> Buffer<'a> {
    /// Decodes a buffer of `values` values.
    ///
    /// # Errors
    /// If the number of bytes is not exactly what the format takes.
    pub fn from_bytes(format: Format, values: usize, bytes: &'a [u8]) -> Result<Buffer<'a>, BufferError> {
        if format.bytes(values) != Some(bytes.len()) {
            return Err(BufferError { format, values, bytes: bytes.len() });
        }
        let words = |b: &[u8]| -> Vec<[u8; 4]> { b.as_chunks::<4>().0.to_vec() };
        let data = match format {
            Format::Ggml(GgmlType::F32) => {
                Data::Floats(GgmlType::F32, words(bytes).into_iter().map(f32::from_le_bytes).collect())
            }
            Format::Ggml(GgmlType::I32) => {
                Data::Ints(words(bytes).into_iter().map(i32::from_le_bytes).collect())
            }
            Format::Ggml(ty @ (GgmlType::F16 | GgmlType::BF16)) => {
                let mut floats = vec![0.0; values];
                decode(ty, bytes, &mut floats);
                Data::Floats(ty, floats)
            }
            Format::Ggml(ty) => Data::Blocks(ty, bytes.into()),
            Format::Q8 => {
                let (quants, rest) = bytes.split_at(values);
                let (scales, sums) = rest.split_at(values / q8::BLOCK * 4);
                let scales = words(scales).into_iter().map(f32::from_le_bytes);
                let sums: Vec<f32> = words(sums).into_iter().map(f32::from_le_bytes).collect();
                let blocks = quants.as_chunks::<{ q8::BLOCK }>().0.iter().zip(scales).enumerate();
                let block = |(i, (q, scale)): (usize, (&[u8; q8::BLOCK], f32))| q8::Block {
                    quants: q.map(|b| b as i8),
                    scale,
                    sums: [sums[2 * i], sums[2 * i + 1]],
                };
                Data::Q8(blocks.map(block).collect())
            }
        };
        Ok(Buffer { data, len: values })
    }

    /// A weight whose rows are decoded when they are read, for weights of any type that are too large to decode as a whole.
    ///
    /// # Errors
    /// If the number of bytes is not exactly what the type takes.
    pub fn weight(ty: GgmlType, values: usize, bytes: &'a [u8]) -> Result<Buffer<'a>, BufferError> {
        let format = Format::Ggml(ty);
        if format.bytes(values) != Some(bytes.len()) {
            return Err(BufferError { format, values, bytes: bytes.len() });
        }
        Ok(Buffer { data: Data::Blocks(ty, bytes.into()), len: values })
    }

    /// Rounded activations, whole blocks of them.
    pub fn q8(blocks: Vec<q8::Block>) -> Buffer<'static> {
        let len = blocks.len() * q8::BLOCK;
        Buffer { data: Data::Q8(blocks), len }
    }

    /// The buffer's bytes. Blocks that were not written are unchanged.
    pub fn to_bytes(&self) -> Vec<u8> {
        match &self.data {
            Data::Floats(GgmlType::F32, v) => v.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Data::Floats(ty, v) => encode(*ty, v),
            Data::Ints(v) => v.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Data::Q8(blocks) => {
                let mut out: Vec<u8> = blocks.iter().flat_map(|b| b.quants.map(|q| q as u8)).collect();
                out.extend(blocks.iter().flat_map(|b| b.scale.to_le_bytes()));
                out.extend(blocks.iter().flat_map(|b| b.sums).flat_map(f32::to_le_bytes));
                out
            }
            Data::Blocks(_, bytes) => bytes.to_vec(),
        }
    }

    /// The number of values.
    #[expect(clippy::len_without_is_empty, reason = "no caller asks whether a buffer is empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// One value.
    ///
    /// # Panics
    /// If `at` is out of range.
    pub fn float(&self, at: usize) -> f32 {
        match &self.data {
            Data::Floats(_, v) => v[at],
            Data::Ints(v) => v[at] as f32,
            Data::Q8(blocks) => {
                let block = &blocks[at / q8::BLOCK];
                f32::from(block.quants[at % q8::BLOCK]) * block.scale
            }
            Data::Blocks(ty, bytes) => {
                let n = ty.block_len();
                let mut block = vec![0.0; n];
                decode(*ty, &bytes[at / n * ty.block_bytes()..][..ty.block_bytes()], &mut block);
                block[at % n]
            }
        }
    }

    /// One index.
    ///
    /// # Panics
    /// If `at` is out of range, or the values are not indices.
    pub fn int(&self, at: usize) -> i32 {
        match &self.data {
            Data::Ints(v) => v[at],
            _ => panic!("expected indices (i32), found another format"),
        }
    }

    /// Row `row` of `k` values.
    ///
    /// # Panics
    /// If `row` is out of range, or `k` values are not whole blocks.
    pub fn row(&self, row: usize, k: usize) -> Vec<f32> {
        match &self.data {
            Data::Blocks(ty, bytes) => {
                let len = k / ty.block_len() * ty.block_bytes();
                let mut out = vec![0.0; k];
                decode(*ty, &bytes[row * len..][..len], &mut out);
                out
            }
            _ => (row * k..(row + 1) * k).map(|i| self.float(i)).collect(),
        }
    }

    /// The magnitude of the terms that each weight of a row is computed from: `|weight|`, or `|scale · q| + |minimum|`.
    /// `values` are the row's weights.
    ///
    /// # Panics
    /// If `row` is out of range.
    pub(crate) fn magnitudes(&self, row: usize, values: &[f32]) -> Vec<f64> {
        let plain = || values.iter().map(|w| f64::from(w.abs())).collect();
        let Data::Blocks(ty, bytes) = &self.data else { return plain() };
        let Some(layout) = ty.int_layout().filter(|layout| layout.has_min) else { return plain() };
        let len = values.len() / ty.block_len() * ty.block_bytes();
        let groups = values.len() / layout.group;
        let (mut q, mut scales, mut mins) = (vec![0; values.len()], vec![0.0; groups], vec![0.0; groups]);
        unpack_row(*ty, &bytes[row * len..][..len], &mut q, &mut scales, &mut mins);
        let magnitude = |(i, q): (usize, &i8)| {
            let group = i / layout.group;
            f64::from((scales[group] * f32::from(*q)).abs()) + f64::from(mins[group].abs())
        };
        q.iter().enumerate().map(magnitude).collect()
    }

    /// Writes values at a distance of `step`.
    pub(super) fn store(&mut self, at: usize, step: usize, values: &[f32]) {
        match &mut self.data {
            Data::Floats(ty, v) => {
                let mut rounded = values.to_vec();
                if *ty != GgmlType::F32 {
                    decode(*ty, &encode(*ty, values), &mut rounded);
                }
                rounded.iter().enumerate().for_each(|(c, x)| v[at + c * step] = *x);
            }
            Data::Ints(v) => values.iter().enumerate().for_each(|(c, x)| v[at + c * step] = *x as i32),
            Data::Q8(blocks) => {
                for (i, chunk) in values.as_chunks::<{ q8::BLOCK }>().0.iter().enumerate() {
                    blocks[at / q8::BLOCK + i] = q8::quantise(chunk);
                }
            }
            Data::Blocks(ty, bytes) => {
                let encoded = encode(*ty, values);
                let at = at / ty.block_len() * ty.block_bytes();
                bytes.to_mut()[at..at + encoded.len()].copy_from_slice(&encoded);
            }
        }
    }
}

fn decode(ty: GgmlType, bytes: &[u8], out: &mut [f32]) {
    weft_quant::decode(ty, bytes, out).expect("a verified kernel reads whole blocks of a decodable type");
}

fn encode(ty: GgmlType, values: &[f32]) -> Vec<u8> {
    let mut out = vec![0; values.len() / ty.block_len() * ty.block_bytes()];
    weft_quant::encode(ty, values, &mut out)
        .expect("a verified kernel writes whole blocks of a type that can be encoded");
    out
}
