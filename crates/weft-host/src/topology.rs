//! The records of `GetLogicalProcessorInformationEx`: the cores and caches of a machine.
//!
//! Each record begins with its relation and its size, both u32; then follow, little-endian:
//!
//! - a core: flags (u8), efficiency class (u8, higher is faster), 20 bytes, the number of groups (u16), and for each group a mask of its
//!   hardware threads (u64), its number and padding (8 bytes);
//! - a cache: level (u8), associativity (u8), bytes of a line (u16), bytes (u32), type (u32).
//!
//! They are read as bytes, so that a record that lies about its size cannot do harm.

/// The relation of a core's record: `RelationProcessorCore`.
const CORE: u32 = 0;
/// The relation of a cache's record: `RelationCache`.
const CACHE: u32 = 2;

/// The bytes before what a record says.
const HEAD: usize = 8;

/// The relation and the body of each record.
fn records(mut bytes: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    std::iter::from_fn(move || {
        let relation = number(bytes, 0, 4)?;
        let size = usize::try_from(number(bytes, 4, 4)?).ok().filter(|size| *size >= HEAD)?;
        let body = bytes.get(HEAD..size)?;
        bytes = &bytes[size..];
        Some((relation as u32, body))
    })
}

/// The little-endian number of `len` bytes at a place.
fn number(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(len)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// The number of threads of the cores with the highest class, if there are cores of several classes.
pub(crate) fn fast_threads(bytes: &[u8]) -> Option<u64> {
    let cores = || {
        records(bytes).filter(|(relation, _)| *relation == CORE).filter_map(|(_, core)| {
            let class = number(core, 1, 1)?;
            let groups = usize::try_from(number(core, 22, 2)?).ok()?;
            let threads = |group: usize| number(core, 24 + 16 * group, 8).map(u64::count_ones);
            Some((class, (0..groups).map_while(threads).map(u64::from).sum::<u64>()))
        })
    };
    let fastest = cores().map(|(class, _)| class).max()?;
    let mixed = cores().any(|(class, _)| class != fastest);
    mixed.then(|| cores().filter(|(class, _)| *class == fastest).map(|(_, threads)| threads).sum())
}

/// The bytes of the largest cache.
pub(crate) fn last_level_cache(bytes: &[u8]) -> Option<u64> {
    let caches = records(bytes).filter(|(relation, _)| *relation == CACHE);
    caches.filter_map(|(_, cache)| number(cache, 4, 4)).filter(|bytes| *bytes > 0).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(relation: u32, body: &[u8]) -> Vec<u8> {
        let size = (HEAD + body.len()) as u32;
        [&relation.to_le_bytes()[..], &size.to_le_bytes(), body].concat()
    }

    fn core(class: u8, masks: &[u64]) -> Vec<u8> {
        let mut body = vec![0, class];
        body.extend([0; 20]);
        body.extend((masks.len() as u16).to_le_bytes());
        for mask in masks {
            body.extend(mask.to_le_bytes());
            body.extend([0; 8]);
        }
        record(CORE, &body)
    }

    fn cache(level: u8, bytes: u32) -> Vec<u8> {
        let mut body = vec![level, 8, 64, 0];
        body.extend(bytes.to_le_bytes());
        body.extend([0; 40]);
        record(CACHE, &body)
    }

    #[test]
    fn threads_are_those_of_the_fastest_cores() {
        let fast = [core(1, &[0b11]), core(1, &[0b1100])].concat();
        let slow = [core(0, &[0b1_0000]), core(0, &[0b10_0000])].concat();
        assert_eq!(fast_threads(&[fast.clone(), slow.clone()].concat()), Some(4));
        assert_eq!(fast_threads(&[core(2, &[1, 7]), slow].concat()), Some(4), "a core of two groups");
        assert_eq!(fast_threads(&fast), None, "all cores are alike");
        assert_eq!(fast_threads(&[]), None);
    }

    #[test]
    fn the_largest_cache_is_the_last() {
        let all = [core(0, &[1]), cache(1, 48 << 10), cache(3, 32 << 20), cache(2, 2 << 20)].concat();
        assert_eq!(last_level_cache(&all), Some(32 << 20));
        assert_eq!(last_level_cache(&core(0, &[1])), None);
    }

    #[test]
    fn records_that_lie_about_their_size_end_the_list() {
        let good = cache(3, 5);
        for size in [0u32, 7, u32::MAX, 1000] {
            let mut lying = record(CACHE, &[9; 20]);
            lying[4..8].copy_from_slice(&size.to_le_bytes());
            assert_eq!(last_level_cache(&[good.clone(), lying].concat()), Some(5), "{size}");
        }
        for cut in 0..good.len() {
            assert_eq!(last_level_cache(&good[..cut]), None, "{cut}");
        }
        assert_eq!(fast_threads(&record(CORE, &[0, 1, 2])), None);
    }
}
