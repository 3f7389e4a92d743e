//! The division of a chunk of positions and of heads: which numbers are legal, and which a tuner tries.

use crate::forms::checks::Candidate;
use crate::forms::indexer::keys;
use crate::split::Split;

/// Checks the division of a chunk, and what is done with its scores.
///
/// # Errors
/// The rule that is broken.
pub(crate) fn check(of: &Candidate<'_>, split: &Split) -> Result<(), String> {
    if split.narrow && !split.spread {
        return Err("candidates are those of chunks that have their own workgroups: add `spread`".into());
    }
    let all = split.across(of.lanes) * split.upcast;
    if split.chunk != all || !all.is_multiple_of(keys::AHEAD) {
        return Err(format!(
            "lanes score {all} positions at once: a chunk must have as many, and a multiple of {}",
            keys::AHEAD
        ));
    }
    Ok(())
}

/// The tuner's neighbours: more or fewer positions at a time, and choices narrowed or not.
pub(crate) fn neighbours(split: &Split) -> Vec<Split> {
    let with = |upcast| Split { upcast, chunk: split.chunk / split.upcast * upcast, ..*split };
    let fewer = split.upcast.is_multiple_of(2).then(|| with(split.upcast / 2));
    let narrow = split.spread.then_some(Split { narrow: !split.narrow, ..*split });
    [with(2 * split.upcast)].into_iter().chain(fewer).chain(narrow).collect()
}

/// The largest divisor of `n` that is at most `most`.
pub(super) fn divisor(n: u32, most: u32) -> u32 {
    (1..=most.min(n)).rev().find(|d| n.is_multiple_of(*d)).unwrap_or(1)
}
