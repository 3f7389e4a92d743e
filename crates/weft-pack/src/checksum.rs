//! A checksum as fast as memory. It detects damage, but is no protection against deliberate collisions.
//!
//! Eight lanes take a 64-bit word each, so that eight multiplications are in flight at once. The upper half of a
//! product carries high bits down and the lower half low bits up (as in Wang Yi's wyhash), so a flipped bit cannot
//! cancel another in the next word. Each pair of lanes reads a quarter of the bytes: four streams measured twice as
//! fast as one.

const LANES: usize = 8;
const WORD: usize = 8;

/// The number of bytes that a pair of lanes takes at once.
const PAIR: usize = 2 * WORD;

/// An odd number with about as many ones as zeros: 2⁶⁴ over the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns a checksum of `bytes` that detects damage. It is no protection against forgery.
pub fn checksum(bytes: &[u8]) -> u64 {
    let mut lanes: [u64; LANES] = std::array::from_fn(|lane| MULTIPLIER.wrapping_mul(lane as u64 + 1));
    let quarter = bytes.len() / (LANES * WORD) * PAIR;
    let (quarters, rest) = bytes.split_at(4 * quarter);
    let pairs = |i: usize| quarters[i * quarter..][..quarter].as_chunks::<PAIR>().0;
    for (((a, b), c), d) in pairs(0).iter().zip(pairs(1)).zip(pairs(2)).zip(pairs(3)) {
        take(&mut lanes, [a, b, c, d]);
    }
    if !rest.is_empty() {
        let mut last = [0; LANES * WORD];
        last[..rest.len()].copy_from_slice(rest);
        let (pairs, _) = last.as_chunks();
        take(&mut lanes, std::array::from_fn(|i| &pairs[i]));
    }
    // The length distinguishes trailing zeros from none.
    lanes.into_iter().fold(step(MULTIPLIER, bytes.len() as u64), step)
}

fn take(lanes: &mut [u64; LANES], pairs: [&[u8; PAIR]; 4]) {
    for (lanes, pair) in lanes.as_chunks_mut::<2>().0.iter_mut().zip(pairs) {
        for (lane, word) in lanes.iter_mut().zip(pair.as_chunks::<WORD>().0) {
            *lane = step(*lane, u64::from_le_bytes(*word));
        }
    }
}

fn step(sum: u64, word: u64) -> u64 {
    let product = u128::from(sum ^ word) * u128::from(MULTIPLIER);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_bit_and_every_length_counts() {
        let mut seen = BTreeSet::new();
        for len in 0..200 {
            let mut bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
            assert!(seen.insert(checksum(&bytes)), "{len} bytes");
            for bit in 0..8 * len {
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(seen.insert(checksum(&bytes)), "bit {bit} of {len} bytes");
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
        assert_eq!((0..300).map(|n| checksum(&vec![0; n])).collect::<BTreeSet<_>>().len(), 300);
    }

    #[test]
    fn no_two_bits_cancel() {
        // Two words for every lane.
        let whole = [0x5au8; 2 * LANES * WORD];
        let bits = 8 * whole.len();
        let sum = checksum(&whole);
        for (a, b) in (0..bits).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let mut bytes = whole;
            bytes[a / 8] ^= 1 << (a % 8);
            bytes[b / 8] ^= 1 << (b % 8);
            assert_ne!(checksum(&bytes), sum, "bits {a} and {b}");
        }
    }

    #[test]
    fn order_counts() {
        let bytes: Vec<u8> = (0..=255).collect();
        for size in [1, 8, 16, 32, 64, 128] {
            let mut swapped = bytes.clone();
            swapped[..2 * size].rotate_left(size);
            assert_ne!(checksum(&bytes), checksum(&swapped), "{size} bytes swapped");
        }
    }

    #[test]
    fn the_checksum_is_stable() {
        // Cache files contain it: a change requires a new version of the format.
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(checksum(&bytes[..250]), 17_740_377_746_677_850_636);
    }
}
