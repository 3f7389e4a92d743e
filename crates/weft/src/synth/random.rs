//! Random numbers that are a function of the seed, a name and an index, so that any thread can make any of them.
//!
//! The generator is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014), whose state
//! is a counter. Everything here is integer arithmetic and correctly rounded `f32` operations: the same on every machine.

/// A sequence of random numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random {
    start: u64,
}

impl Random {
    /// The sequence of this seed and name.
    pub(crate) fn new(seed: u64, name: &str) -> Random {
        let start = name.bytes().fold(mix(seed), |state, byte| mix(state ^ u64::from(byte)));
        Random { start }
    }

    /// Number `index` of the sequence, uniform in all its bits.
    #[inline]
    pub(crate) fn bits(&self, index: u64) -> u64 {
        /// 2⁶⁴ divided by the golden ratio, made odd.
        const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
        mix(self.start.wrapping_add(index.wrapping_mul(GAMMA)))
    }

    /// Number `index` as one of a distribution with mean 0 and variance 1 that is close to the normal one: the sum of four
    /// uniform numbers (it has no tails beyond 3.46).
    #[inline]
    pub(crate) fn normal(&self, index: u64) -> f32 {
        const MEAN: i32 = 4 * 0xffff / 2;
        /// 1/σ of the sum of four numbers of 16 bits, √(12 / (4 · (2³² − 1))).
        const SCALE: f32 = 2.642_899_8e-5;
        let bits = self.bits(index);
        let sum: i32 = (0..4).map(|k| (bits >> (16 * k)) as u16).map(i32::from).sum();
        (sum - MEAN) as f32 * SCALE
    }
}

/// A bijection of 64-bit numbers that changes half of all bits when one is changed ("variant 13" of Stafford's mixers).
#[inline]
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_numbers_have_mean_zero_and_variance_one() {
        let random = Random::new(1, "a");
        let numbers: Vec<f64> = (0..100_000).map(|i| f64::from(random.normal(i))).collect();
        let mean = numbers.iter().sum::<f64>() / 1e5;
        let variance = numbers.iter().map(|x| x * x).sum::<f64>() / 1e5;
        // Five standard errors: 1/√n, and √(κ − 1)/√n with the kurtosis κ = 2.7.
        assert!(mean.abs() < 0.016, "{mean}");
        assert!((variance - 1.0).abs() < 0.021, "{variance}");
        assert!(numbers.iter().all(|x| x.abs() < 3.47));
    }

    #[test]
    fn sequences_differ_by_seed_and_by_name() {
        let numbers = |seed, name| (0..4).map(|i| Random::new(seed, name).bits(i)).collect::<Vec<_>>();
        assert_eq!(numbers(1, "a"), numbers(1, "a"));
        assert_ne!(numbers(1, "a"), numbers(2, "a"));
        assert_ne!(numbers(1, "a"), numbers(1, "b"));
        assert_ne!(numbers(1, "ab"), numbers(1, "ba"));
    }
}
