//! Random weights in any format, made as fast as a disk can write them.
//!
//! Most values are approximately normal ([`Random::nth_normal`]). In `f32`, each value is drawn individually. In every other
//! format, [`CHOICES`] chunks of values (a block, and at least 32) are drawn and encoded once for each distribution, and a
//! tensor is a random sequence of these chunks. Quants and scales are distributed as in a real encoding, and yet a tensor
//! of 10⁹ values costs little more than a copy. The price: two rows sometimes share a chunk, at any one place with
//! probability 1/[`CHOICES`].

use std::collections::BTreeMap;
use std::ops::Range;

use weft_quant::{GgmlType, encode};
use weft_random::Random;

use crate::error::Result;

/// The number of chunks to choose from: a power of two, and small enough for a core's cache.
const CHOICES: u64 = 1 << 12;

/// The minimum number of values in a chunk.
const SMALLEST_CHUNK: usize = 32;

/// The distribution of a tensor's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Distribution {
    /// Approximately normal.
    Normal {
        /// The mean.
        mean: f32,
        /// The standard deviation.
        deviation: f32,
    },
    /// The same density everywhere from one value to another.
    Uniform {
        /// The smallest value.
        from: f32,
        /// The end of the range.
        to: f32,
    },
    /// A number of ones, followed by another value.
    Steps {
        /// The number of values that are 1.
        ones: u32,
        /// The value of all others.
        rest: f32,
    },
    /// Negative, from -1 to -16, with the same probability for each of the four octaves.
    Octaves,
}

impl Distribution {
    fn draw(&self, random: &Random, values: Range<u64>) -> Vec<f32> {
        let uniform = |i| (random.nth_u64(i) >> 40) as f32 / (1u32 << 24) as f32;
        let value = |i| match *self {
            Distribution::Normal { mean, deviation } => mean + deviation * random.nth_normal(i),
            Distribution::Uniform { from, to } => from + (to - from) * uniform(i),
            Distribution::Steps { ones, .. } if i < u64::from(ones) => 1.0,
            Distribution::Steps { rest, .. } => rest,
            // Straight lines between powers of two: exponentials are not the same on every machine.
            Distribution::Octaves => {
                let octave = 4.0 * uniform(i);
                -(1.0 + octave.fract()) * (1u32 << octave as u32) as f32
            }
        };
        values.map(value).collect()
    }

    /// Its parameters as bits, and a number that distinguishes kinds with the same parameters.
    fn key(&self) -> [u32; 3] {
        match *self {
            Distribution::Normal { mean, deviation } => [mean.to_bits(), deviation.to_bits(), 0],
            Distribution::Uniform { from, to } => [from.to_bits(), to.to_bits(), 1],
            Distribution::Octaves => [0, 0, 2],
            Distribution::Steps { ones, rest } => [ones, rest.to_bits(), 3],
        }
    }
}

/// The key of a pool: type and distribution.
type PoolKey = (GgmlType, [u32; 3]);

/// Makes weights from pools of encoded chunks.
pub(crate) struct Weights {
    seed: u64,
    pools: BTreeMap<PoolKey, Vec<u8>>,
}

impl Weights {
    /// Draws the pools for tensors of these types and distributions.
    pub(crate) fn new(seed: u64, kinds: impl Iterator<Item = (GgmlType, Distribution)>) -> Result<Weights> {
        let mut pools = BTreeMap::new();
        for (ty, distribution) in kinds {
            let key = pool_key(ty, distribution);
            if ty != GgmlType::F32 && !pools.contains_key(&key) {
                pools.insert(key, pool(seed, ty, distribution)?);
            }
        }
        Ok(Weights { seed, pools })
    }

    /// The stored bytes of a range of a tensor's values, which begins and ends at chunk boundaries.
    pub(crate) fn make(
        &self,
        name: &str,
        ty: GgmlType,
        distribution: Distribution,
        values: Range<u64>,
    ) -> Result<Vec<u8>> {
        let random = Random::named(self.seed, name);
        let Some(pool) = self.pools.get(&pool_key(ty, distribution)) else {
            return stored(ty, &distribution.draw(&random, values));
        };
        let len = chunk_len(ty) as u64;
        let bytes = pool.len() / CHOICES as usize;
        let chunks = values.start / len..values.end / len;
        let mut out = Vec::with_capacity((chunks.end - chunks.start) as usize * bytes);
        for chunk in chunks {
            let choice = (random.nth_u64(chunk) % CHOICES) as usize;
            out.extend_from_slice(&pool[choice * bytes..][..bytes]);
        }
        Ok(out)
    }
}

/// The number of values in a chunk.
fn chunk_len(ty: GgmlType) -> usize {
    ty.block_len().max(SMALLEST_CHUNK)
}

fn pool_key(ty: GgmlType, distribution: Distribution) -> PoolKey {
    (ty, distribution.key())
}

fn pool(seed: u64, ty: GgmlType, distribution: Distribution) -> Result<Vec<u8>> {
    let [first, second, _] = distribution.key();
    let random = Random::named(seed, &format!("pool {} {first:x} {second:x}", ty.name()));
    stored(ty, &distribution.draw(&random, 0..CHOICES * chunk_len(ty) as u64))
}

fn stored(ty: GgmlType, values: &[f32]) -> Result<Vec<u8>> {
    let mut bytes = vec![0; values.len() / ty.block_len() * ty.block_bytes()];
    encode(ty, values, &mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use weft_quant::decode;

    use super::*;
    use crate::tensor_types::QUANT_MIXES;

    const LENGTH: u64 = 1 << 17;
    /// Formats of three values for each block, whose standard deviation differs from that of the weights they encode.
    const TERNARY: &[GgmlType] = &[GgmlType::TQ1_0, GgmlType::TQ2_0];
    /// These, and formats whose steps near 1 are larger than the deviation of norms, which are never stored in them.
    const UNFIT_FOR_NORMS: &[GgmlType] =
        &[GgmlType::TQ1_0, GgmlType::TQ2_0, GgmlType::MXFP4, GgmlType::Q3_K, GgmlType::Q2_K];

    fn values(ty: GgmlType, distribution: Distribution) -> Vec<f32> {
        let weights = Weights::new(3, [(ty, distribution)].into_iter()).unwrap();
        let bytes = weights.make("w", ty, distribution, 0..LENGTH).unwrap();
        let mut values = vec![0.0; LENGTH as usize];
        decode(ty, &bytes, &mut values).unwrap();
        values
    }

    /// Mean and standard deviation.
    fn moments(values: &[f32]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().map(|x| f64::from(*x)).sum::<f64>() / n;
        let squares = values.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>();
        (mean, (squares / n).sqrt())
    }

    #[test]
    fn every_format_holds_the_distribution_asked_for() {
        for (mean, deviation) in [(0.0, 0.002), (0.0, 1.0), (1.0, 0.05)] {
            let coarse = if mean == 0.0 { TERNARY } else { UNFIT_FOR_NORMS };
            for ty in QUANT_MIXES.iter().map(|mix| mix.main).filter(|ty| !coarse.contains(ty)) {
                let values = values(ty, Distribution::Normal { mean, deviation });
                let (found_mean, found) = moments(&values);
                // Room for rounding to four bits, and for noise.
                let slack = 0.02 * f64::from(deviation) + 0.03 * f64::from(mean);
                assert!(
                    (found_mean - f64::from(mean)).abs() < slack,
                    "{ty} {mean} {deviation}: {found_mean}"
                );
                assert!((found - f64::from(deviation)).abs() < slack, "{ty} {mean} {deviation}: {found}");
            }
        }
    }

    #[test]
    fn other_distributions_fill_their_ranges_evenly() {
        let uniform = values(GgmlType::F32, Distribution::Uniform { from: -7.0, to: -2.0 });
        assert!(uniform.iter().all(|x| (-7.0..-2.0).contains(x)));
        let quarter = uniform.iter().filter(|x| **x < -5.75).count() as f64 / LENGTH as f64;
        assert!((quarter - 0.25).abs() < 0.01, "{quarter}");
        let octaves = values(GgmlType::F32, Distribution::Octaves);
        assert!(octaves.iter().all(|x| *x <= -1.0 && *x > -16.0));
        for end in [2.0, 4.0, 8.0] {
            let below = octaves.iter().filter(|x| **x > -end).count() as f64 / LENGTH as f64;
            assert!((below - f64::from(end).log2() / 4.0).abs() < 0.01, "{end}: {below}");
        }
    }

    #[test]
    fn rows_are_independent_enough() {
        let rows = values(GgmlType::Q4_K, Distribution::Normal { mean: 0.0, deviation: 1.0 });
        let rows: Vec<&[f32]> = rows.chunks_exact(2048).collect();
        for (i, a) in rows.iter().enumerate() {
            for b in &rows[..i] {
                let dot = a.iter().zip(*b).map(|(a, b)| a * b).sum::<f32>() / 2048.0;
                // Five standard errors, and one of eight chunks shared.
                assert!(dot.abs() < 0.11 + 0.125, "row {i}: {dot}");
            }
        }
    }

    #[test]
    fn ranges_are_parts_of_the_whole() {
        for ty in [GgmlType::F32, GgmlType::F16, GgmlType::Q4_0, GgmlType::Q6_K] {
            let distribution = Distribution::Normal { mean: 0.0, deviation: 1.0 };
            let weights = Weights::new(3, [(ty, distribution)].into_iter()).unwrap();
            let make = |values| weights.make("w", ty, distribution, values).unwrap();
            assert_eq!(make(0..2048), [make(0..512), make(512..2048)].concat(), "{ty}");
            assert_ne!(make(0..512), make(512..1024), "{ty}");
        }
    }
}
