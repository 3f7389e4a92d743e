//! Weights in 4 bits as gpt-oss has them (OCP MXFP4): codes and scales in two tensors, which GGML has in one.
//!
//! A block is 32 values of a row. Stored, it is 16 bytes with the codes of two neighbours each, and elsewhere a byte with the exponent
//! of its scale. In GGML it is the scale and 16 bytes, each with the codes of a value and of the one 16 after it. Nothing is rounded.

use std::ops::Range;

use weft_quant::{GgmlType, decode};

use crate::checkpoint::Checkpoint;

/// The values of a block, and the bytes of their codes.
pub(crate) const VALUES: u64 = 32;
pub(crate) const CODES: u64 = 16;

/// Rows of matrices in this format.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    /// Where the codes are in the checkpoint: `[matrices, rows, blocks, 16]`.
    pub(crate) codes: usize,
    /// Where the scales are: `[matrices, rows, blocks]`.
    pub(crate) scales: usize,
    /// The blocks of a row.
    pub(crate) blocks: u64,
    /// Every so-manieth stored row is one of these, from `start` on. It divides the rows of a matrix.
    pub(crate) step: u64,
    pub(crate) start: u64,
}

impl Packed {
    pub(crate) const TYPE: GgmlType = GgmlType::MXFP4;

    /// The blocks of a range of values, which begins and ends with blocks.
    pub(crate) fn blocks(&self, checkpoint: &Checkpoint, values: Range<u64>) -> Vec<u8> {
        let (codes, scales) = (checkpoint.data(self.codes), checkpoint.data(self.scales));
        let mut out = Vec::with_capacity(((values.end - values.start) / VALUES * (CODES + 1)) as usize);
        for at in values.start / VALUES..values.end.div_ceil(VALUES) {
            let row = at / self.blocks * self.step + self.start;
            let stored = (row * self.blocks + at % self.blocks) as usize;
            let codes = &codes[stored * CODES as usize..][..CODES as usize];
            let code = |value: usize| codes[value / 2] >> (value % 2 * 4) & 15;
            out.push(scales[stored]);
            out.extend((0..CODES as usize).map(|value| code(value) | code(value + 16) << 4));
        }
        out
    }

    /// Any range of values.
    pub(crate) fn values(&self, checkpoint: &Checkpoint, values: Range<u64>) -> Vec<f32> {
        let whole = values.start / VALUES * VALUES..values.end.div_ceil(VALUES) * VALUES;
        let mut out = vec![0.0; (whole.end - whole.start) as usize];
        let blocks = self.blocks(checkpoint, whole.clone());
        decode(Packed::TYPE, &blocks, &mut out).expect("as many blocks as values");
        out.truncate((values.end - whole.start) as usize);
        out.drain(..(values.start - whole.start) as usize);
        out
    }
}
