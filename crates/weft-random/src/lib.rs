//! Reproducible pseudo-random numbers: SplitMix64, as a stream or by index.
//!
//! The generator is SplitMix64 (Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, 2014). Its state
//! is a counter, so any number of a sequence can be computed without those before it, by any thread. Everything here is
//! integer arithmetic and correctly rounded `f32` operations: a seed gives the same numbers on every machine, in every
//! version of Weft. It is not suitable for cryptography.
//!
//! ```
//! use weft_random::Random;
//!
//! let mut random = Random::new(42);
//! let dice: Vec<usize> = (0..3).map(|_| 1 + random.below(6)).collect();
//! assert_eq!(dice, [2, 2, 1]);
//!
//! // By index: the same numbers, in any order.
//! let random = Random::named(42, "blk.0.attn_q.weight");
//! let (third, first) = (random.nth_u64(2), random.nth_u64(0));
//! let mut stream = random;
//! assert_eq!([first, stream.nth_u64(1), third], [(); 3].map(|()| stream.next_u64()));
//! assert_eq!(random.skip(3), stream);
//! ```
#![forbid(unsafe_code)]

/// 2⁶⁴ divided by the golden ratio, made odd: the step of the counter.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A generator, at some place in a sequence that its seed determines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Random {
    /// The counter. The next number is `mix(state + GAMMA)`.
    state: u64,
}

impl Random {
    /// The sequence of a seed.
    pub const fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// The sequence of a seed and a name, so that one seed serves many things that must not be alike.
    pub fn named(seed: u64, name: &str) -> Random {
        let start = name.bytes().fold(mix(seed), |state, byte| mix(state ^ u64::from(byte)));
        Random { state: start.wrapping_sub(GAMMA) }
    }

    /// The sequence without its next `n` numbers.
    pub const fn skip(self, n: u64) -> Random {
        Random { state: self.state.wrapping_add(n.wrapping_mul(GAMMA)) }
    }

    /// The next number, uniform in all its bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let number = self.nth_u64(0);
        self.state = self.state.wrapping_add(GAMMA);
        number
    }

    /// The number that [`next_u64`](Self::next_u64) returns after `n` others; 0 is the next one.
    #[inline]
    pub const fn nth_u64(&self, n: u64) -> u64 {
        mix(self.state.wrapping_add(n.wrapping_add(1).wrapping_mul(GAMMA)))
    }

    /// The next number below `end`; 0 if `end` is 0. Numbers differ in probability by at most `end` / 2⁶⁴.
    #[inline]
    pub fn below(&mut self, end: usize) -> usize {
        (self.next_u64() % (end as u64).max(1)) as usize
    }

    /// The next number in [0, 1), a multiple of 2⁻²⁴.
    #[inline]
    pub fn uniform(&mut self) -> f32 {
        (self.next_u64() >> 40) as f32 / (1u32 << 24) as f32
    }

    /// The next number in [−1, 1), a multiple of 2⁻²³.
    #[inline]
    pub fn signed(&mut self) -> f32 {
        (self.next_u64() >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    }

    /// Number `n` from here of a distribution with mean 0 and variance 1 that is close to the normal one: the sum of four
    /// uniform 16-bit numbers. It has no tails beyond 3.46.
    #[inline]
    pub fn nth_normal(&self, n: u64) -> f32 {
        const MEAN: i32 = 4 * 0xffff / 2;
        /// 1/σ of the sum of four 16-bit numbers, √(12 / (4 · (2³² − 1))).
        const SCALE: f32 = 2.642_899_8e-5;
        let bits = self.nth_u64(n);
        let sum: i32 = (0..4).map(|k| (bits >> (16 * k)) as u16).map(i32::from).sum();
        (sum - MEAN) as f32 * SCALE
    }
}

/// A bijection in which each input bit flips about half of the output bits (variant 13 of Stafford's mixers).
#[inline]
const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_reference_implementation() {
        // The first numbers of the authors' implementation for the seed 1234567.
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        let mut random = Random::new(1_234_567);
        assert_eq!([0, 1, 2].map(|n| random.nth_u64(n)), expected);
        assert_eq!([(); 3].map(|()| random.next_u64()), expected);
    }

    #[test]
    fn named_sequences_stay_what_synthetic_models_were_made_of() {
        // Changing these changes every file that `weft synth` writes.
        let random = Random::named(1, "a");
        assert_eq!(
            [0, 1, u64::MAX].map(|n| random.nth_u64(n)),
            [8_687_405_705_859_325_652, 9_194_050_565_555_729_429, 4_371_853_430_844_442_562]
        );
        assert_eq!(random.nth_normal(0).to_bits(), 0xbe4d_c321);
    }

    #[test]
    fn sequences_differ_by_seed_and_by_name() {
        let numbers = |seed, name| [0, 1, 2, 3].map(|n| Random::named(seed, name).nth_u64(n));
        assert_eq!(numbers(1, "a"), numbers(1, "a"));
        assert_ne!(numbers(1, "a"), numbers(2, "a"));
        assert_ne!(numbers(1, "a"), numbers(1, "b"));
        assert_ne!(numbers(1, "ab"), numbers(1, "ba"));
    }

    #[test]
    fn below_covers_its_range_and_nothing_else() {
        let mut random = Random::new(0);
        let mut seen = [0; 7];
        (0..700).for_each(|_| seen[random.below(7)] += 1);
        assert!(seen.iter().all(|times| (60..140).contains(times)), "{seen:?}");
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn uniform_and_signed_stay_in_range_and_reach_its_ends() {
        let mut random = Random::new(0);
        for _ in 0..2000 {
            let (uniform, signed) = ({ random }.uniform(), random.signed());
            assert!((0.0..1.0).contains(&uniform) && signed == 2.0 * uniform - 1.0, "{uniform} {signed}");
        }
        let mut seen: Vec<f32> = (0..2000).map(|_| random.uniform()).collect();
        seen.sort_by(f32::total_cmp);
        assert!(seen[0] < 0.01 && seen[1999] > 0.99 && (seen[1000] - 0.5).abs() < 0.06, "{}", seen[1000]);
    }

    #[test]
    fn normal_numbers_have_mean_zero_and_variance_one() {
        let random = Random::named(1, "a");
        let numbers: Vec<f64> = (0..100_000).map(|n| f64::from(random.nth_normal(n))).collect();
        let mean = numbers.iter().sum::<f64>() / 1e5;
        let variance = numbers.iter().map(|x| x * x).sum::<f64>() / 1e5;
        // Five standard errors: 1/√n, and √(κ − 1)/√n with the kurtosis κ = 2.7.
        assert!(mean.abs() < 0.016, "{mean}");
        assert!((variance - 1.0).abs() < 0.021, "{variance}");
        assert!(numbers.iter().all(|x| x.abs() < 3.47));
    }
}
