//! Random data, the same in every run.

use weft_kern::{interp, q8};
use weft_quant::GgmlType;

/// The types of states whose values are rounded in blocks.
pub const BLOCK_TYPES: [GgmlType; 3] = [GgmlType::Q8_0, GgmlType::Q5_1, GgmlType::Q4_0];

/// A generator of numbers, vectors and weights.
pub struct Random(weft_random::Random);

impl Random {
    /// A generator that this seed determines.
    pub fn new(seed: u64) -> Random {
        Random(weft_random::Random::new(seed))
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0.below(n)
    }

    /// In −1..1.
    pub fn float(&mut self) -> f32 {
        self.0.signed()
    }

    /// `n` numbers in −1..1.
    pub fn floats(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.float()).collect()
    }

    /// `n` of the numbers below `of`, none twice.
    pub fn distinct(&mut self, n: usize, of: usize) -> Vec<i32> {
        let mut all: Vec<i32> = (0..of as i32).collect();
        for i in 0..n {
            let j = i + self.below(of - i);
            all.swap(i, j);
        }
        all.truncate(n);
        all
    }

    /// A row of any type, with every bit of the quantised numbers random and scales of a sane size.
    pub fn weight(&mut self, ty: GgmlType, values: usize) -> Vec<u8> {
        let bytes = ty.row_bytes(values as u64).unwrap() as usize;
        if ty.int_layout().is_none() {
            let mut out = vec![0; bytes];
            weft_quant::encode(ty, &self.floats(values), &mut out).unwrap();
            return out;
        }
        let mut out: Vec<u8> = (0..bytes).map(|_| self.0.next_u64() as u8).collect();
        // The offsets of a block's half-precision numbers.
        let halves: &[usize] = match ty {
            GgmlType::Q2_K => &[80, 82],
            GgmlType::Q3_K => &[108],
            GgmlType::Q6_K => &[208],
            GgmlType::TQ1_0 => &[52],
            GgmlType::TQ2_0 => &[64],
            GgmlType::MXFP4 | GgmlType::NVFP4 | GgmlType::IQ1_M => &[],
            GgmlType::Q4_1 | GgmlType::Q5_1 | GgmlType::Q4_K | GgmlType::Q5_K => &[0, 2],
            _ => &[0],
        };
        for block in out.chunks_exact_mut(ty.block_bytes()) {
            for at in halves {
                let half = half::f16::from_f32(0.05 * self.float()).to_le_bytes();
                block[*at..at + 2].copy_from_slice(&half);
            }
            match ty {
                GgmlType::MXFP4 => block[0] = 118 + self.below(8) as u8,
                // Scales from 1/64 to 1/8.
                GgmlType::NVFP4 => block[..4].iter_mut().for_each(|d| *d = 8 + *d % 24),
                GgmlType::IQ1_M => {
                    let half = half::f16::from_f32(0.05 * self.float()).to_bits();
                    for (i, word) in block[48..].as_chunks_mut::<2>().0.iter_mut().enumerate() {
                        word[1] = (word[1] & 0x0f) | ((half >> (4 * i)) as u8 & 0x0f) << 4;
                    }
                }
                _ => {}
            }
        }
        out
    }
}

/// Rounded activations, as a buffer holds them.
pub fn rounded(values: &[f32]) -> Vec<u8> {
    interp::Buffer::q8(values.as_chunks().0.iter().map(q8::quantise).collect()).to_bytes()
}

/// Every type a weight can have.
pub fn weight_types() -> impl Iterator<Item = GgmlType> {
    GgmlType::ALL.iter().copied().filter(|ty| ty.can_decode())
}
