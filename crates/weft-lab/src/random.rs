//! Numbers that look random and are the same each time: SplitMix64 (Steele, Lea and Flood, 2014).

/// A sequence of numbers, all of which follow from the seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// The next number below `end`, or 0 if there is none. (Some are likelier than others by one part in 2^64 / `end`.)
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % (end as u64).max(1)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_paper() {
        // The reference implementation's for the seed 1234567.
        let mut random = Random::new(1_234_567);
        let first = [(); 3].map(|()| random.next());
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn all_numbers_below_the_end_come_and_none_else() {
        let mut random = Random::new(0);
        let mut seen = [0; 7];
        (0..700).for_each(|_| seen[random.below(7)] += 1);
        assert!(seen.iter().all(|times| (60..140).contains(times)), "{seen:?}");
        assert_eq!(random.below(0), 0);
    }
}
