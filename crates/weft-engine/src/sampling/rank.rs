//! Tokens in the order of their logits, sorted only as far as they are looked at.
//!
//! A vocabulary has more than a hundred thousand tokens, and a choice depends on a few of them. Passing over all logits
//! takes microseconds, sorting them takes milliseconds.

use weft_runtime::{Candidates, Logit};

/// A token and its logit. The likeliest is the least. Among equals the lowest token comes first, so that results do not
/// depend on the sorting algorithm.
///
/// The upper half is the logit's rank, the lower half the token: such integers are sorted several times faster than pairs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Ranked(u64);

impl Ranked {
    fn new(token: u32, logit: f32) -> Ranked {
        Ranked(u64::from(!unsigned(rank(logit))) << 32 | u64::from(token))
    }

    /// The token.
    pub(crate) fn token(self) -> u32 {
        self.0 as u32
    }

    /// The token's logit.
    pub(crate) fn logit(self) -> f32 {
        let rank = (!((self.0 >> 32) as u32) ^ SIGN) as i32;
        f32::from_bits((rank ^ ((rank >> 31) as u32 >> 1) as i32) as u32)
    }
}

const SIGN: u32 = 1 << 31;

/// Maps integers to unsigned ones, in the same order.
fn unsigned(rank: i32) -> u32 {
    rank as u32 ^ SIGN
}

/// Maps each `f32` to an integer, in the order of [`f32::total_cmp`]. Vector instructions compare integers.
fn rank(x: f32) -> i32 {
    let bits = x.to_bits() as i32;
    bits ^ ((bits >> 31) as u32 >> 1) as i32
}

/// The largest rank.
fn largest<L: Logit>(logits: &[L]) -> i32 {
    logits.iter().fold(i32::MIN, |most, logit| most.max(rank(logit.value())))
}

/// The result of one pass over all logits. A pass takes tens of microseconds, as long as a small model's whole token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Survey {
    /// Whether a logit is NaN.
    pub(crate) has_nan: bool,
    /// The token with the highest logit, the first among equals, or `None` if all are `-∞`. It means nothing if a logit is
    /// NaN.
    pub(crate) likeliest: Option<u32>,
}

impl Survey {
    /// Passes over logits.
    pub(crate) fn of<L: Logit>(logits: &[L]) -> Survey {
        // Negative NaNs rank below all other values, positive NaNs above.
        let (mut least, mut most, mut best) = (i32::MAX, i32::MIN, 0);
        for (chunk, first) in chunks(logits) {
            let bounds = chunk.iter().fold((i32::MAX, i32::MIN), |(least, most), logit| {
                let rank = rank(logit.value());
                (least.min(rank), most.max(rank))
            });
            least = least.min(bounds.0);
            if bounds.1 > most {
                (most, best) = (bounds.1, first);
            }
        }
        let chunk = logits.iter().zip(0u32..).skip(best as usize).take(CHUNK);
        let likeliest = chunk.into_iter().find(|(logit, _)| rank(logit.value()) == most);
        Survey {
            has_nan: !logits.is_empty() && (least < rank(f32::NEG_INFINITY) || most > rank(f32::INFINITY)),
            likeliest: likeliest
                .filter(|(logit, _)| logit.value() > f32::NEG_INFINITY)
                .map(|(_, token)| token),
        }
    }
}

/// The number of logits compared at once, enough for the compiler to use vector instructions.
const CHUNK: usize = 64;

/// The chunks of logits, each with its first token.
fn chunks<L>(logits: &[L]) -> impl Iterator<Item = (&[L], u32)> {
    logits.chunks(CHUNK).zip((0u32..).step_by(CHUNK))
}

/// Replaces `out` by the `most` likeliest tokens, the likeliest first.
pub(crate) fn select<L: Logit>(logits: &[L], most: usize, out: &mut Vec<Ranked>) {
    out.clear();
    if most == 0 {
        return;
    }
    // Nearly all tokens are less likely than the least likely one so far, so few are looked at twice. One that is as
    // likely comes after it, since it is a higher token.
    let mut least = None;
    for (chunk, first) in chunks(logits) {
        if least.is_some_and(|least| largest(chunk) <= least) {
            continue;
        }
        let is_above = |logit: &L| least.is_none_or(|least| rank(logit.value()) > least);
        let above = chunk.iter().zip(first..).filter(|(logit, _)| is_above(logit));
        out.extend(above.map(|(logit, token)| Ranked::new(token, logit.value())));
        if out.len() / 4 >= most {
            out.select_nth_unstable(most - 1);
            out.truncate(most);
            least = out.last().map(|last| rank(last.logit()));
        }
    }
    out.sort_unstable();
    out.truncate(most);
}

/// Replaces `out` by the tokens whose logits fulfil a condition, the likeliest first.
pub(crate) fn ranked<L: Logit>(
    logits: &[L],
    stays: impl Fn(f32) -> bool,
    out: &mut Vec<Ranked>,
    spare: &mut Vec<Ranked>,
) {
    out.clear();
    let kept = logits.iter().zip(0u32..).filter(|(logit, _)| stays(logit.value()));
    out.extend(kept.map(|(logit, token)| Ranked::new(token, logit.value())));
    sort(out, spare);
}

/// The likeliest tokens of a vocabulary in order, as far as they are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    tokens: Vec<Ranked>,
    /// Whether these are all tokens of the vocabulary.
    all: bool,
}

impl Known {
    /// Takes candidates. Returns whether none of their logits is NaN.
    pub(crate) fn take(&mut self, candidates: Candidates<'_>) -> bool {
        self.tokens.clear();
        self.tokens.extend(candidates.tokens().map(|(token, logit)| Ranked::new(token, logit)));
        self.all = candidates.all;
        self.first().is_none_or(|(_, logit)| !logit.is_nan())
    }

    /// The likeliest token and its logit.
    pub(crate) fn first(&self) -> Option<(u32, f32)> {
        self.tokens.first().map(|one| (one.token(), one.logit()))
    }

    /// The `most` likeliest tokens, or `None` if not all of them are known.
    pub(crate) fn first_of(&self, most: usize) -> Option<&[Ranked]> {
        if self.all { Some(&self.tokens[..most.min(self.tokens.len())]) } else { self.tokens.get(..most) }
    }

    /// Lowers logits; none becomes higher, not even those of unknown tokens. Returns whether none became NaN.
    pub(crate) fn lower(&mut self, lowered: impl Fn(u32, f32) -> f32) -> bool {
        let last = self.tokens.last().copied();
        let mut numbers = true;
        for one in &mut self.tokens {
            let logit = lowered(one.token(), one.logit());
            numbers &= !logit.is_nan();
            *one = Ranked::new(one.token(), logit);
        }
        // Unknown tokens come after the last known one. Tokens that now come after it are dropped, because their order among the unknown
        // ones is not known.
        if let (Some(last), false) = (last, self.all) {
            self.tokens.retain(|one| *one <= last);
        }
        self.tokens.sort_unstable();
        numbers
    }
}

/// The tokens of a vocabulary, the likeliest first, sorted in stages: those whose logit is close to the highest, then
/// those twice as far from it, and so on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranking {
    sorted: Vec<Ranked>,
    /// Memory to sort in.
    spare: Vec<Ranked>,
    /// The highest logit.
    top: f32,
    /// How far below it tokens have been sorted, or `None` if there are no more to sort.
    depth: Option<f32>,
    /// Whether there are tokens beyond the sorted ones, if there are no more to sort.
    end: End,
}

/// Whether there are tokens beyond the sorted ones, if there are no more to sort.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum End {
    /// There are none.
    #[default]
    Known,
    /// There are some that no logits are known of.
    Unknown,
    /// One of them was asked for.
    Missed,
}

/// The depth of the first stage. Twice as deep, and four times, are just beyond `2^-12` and `2^-24` times the highest
/// probability; a sum of `f32` that contains the highest does not change by less than the latter.
const FIRST_DEPTH: f32 = 4.25;
/// The last stage but one.
const LAST_DEPTH: f32 = 34.0;

impl Ranking {
    /// Begins to rank the `most` likeliest tokens, the likeliest of which has the logit `top`. No logit is NaN.
    pub(crate) fn begin<L: Logit>(&mut self, logits: &[L], top: f32, most: usize) {
        self.sorted.clear();
        (self.top, self.depth, self.end) = (top, Some(0.0), End::Known);
        if most < logits.len() {
            select(logits, most, &mut self.sorted);
            self.depth = None;
        }
    }

    /// Begins to rank the `most` likeliest tokens, of which only these are known.
    pub(crate) fn begin_with(&mut self, known: &Known, most: usize) {
        let Known { tokens, all } = known;
        self.sorted.clear();
        self.sorted.extend_from_slice(&tokens[..most.min(tokens.len())]);
        self.depth = None;
        self.end = if *all || self.sorted.len() == most { End::Known } else { End::Unknown };
    }

    /// Whether a token was asked for that is not among the candidates. Results that depend on it are wrong.
    pub(crate) fn missed(&self) -> bool {
        self.end == End::Missed
    }

    /// The `place`th token of these logits, from 0, or `None` if there are fewer.
    pub(crate) fn get<L: Logit>(&mut self, logits: &[L], place: usize) -> Option<Ranked> {
        while place >= self.sorted.len() {
            if self.end != End::Known {
                self.end = End::Missed;
                return None;
            }
            self.sort_more(logits)?;
        }
        self.sorted.get(place).copied()
    }

    /// The number of tokens sorted so far, and a logit that is no lower than any other. `None` if all are sorted.
    pub(crate) fn rest(&self) -> Option<(usize, f32)> {
        if self.end != End::Known {
            return self.sorted.last().map(|last| (self.sorted.len(), last.logit()));
        }
        self.depth.map(|depth| (self.sorted.len(), self.top - depth))
    }

    /// Sorts the next stage, or returns `None` if all are sorted.
    fn sort_more<L: Logit>(&mut self, logits: &[L]) -> Option<()> {
        let depth = self.depth?;
        // Of the first stage, all are above. Ranks of infinities are far from the limits of `i32`.
        let above = if depth == 0.0 { i32::MAX } else { rank(self.top - depth) };
        let next = (2.0 * depth).max(FIRST_DEPTH);
        self.depth = (next <= LAST_DEPTH).then_some(next);
        let least = self.depth.map_or(i32::MIN, |depth| rank(self.top - depth));
        let from = self.sorted.len();
        for (chunk, first) in chunks(logits).filter(|(chunk, _)| largest(chunk) >= least) {
            let ranks =
                chunk.iter().zip(first..).filter(|(logit, _)| (least..above).contains(&rank(logit.value())));
            self.sorted.extend(ranks.map(|(logit, token)| Ranked::new(token, logit.value())));
        }
        sort(&mut self.sorted[from..], &mut self.spare);
        Some(())
    }
}

/// The fewest tokens that are sorted by digits, which takes a pass over a histogram for each digit.
const MANY: usize = 2048;
/// The number of bits of a digit. Three make a rank.
const DIGIT: u32 = 11;

/// Sorts tokens that are in ascending order of their ids: so tokens of equal rank are in order already, and those of many
/// ranks can be distributed by one digit after another, the least first.
fn sort(tokens: &mut [Ranked], spare: &mut Vec<Ranked>) {
    if tokens.len() < MANY {
        tokens.sort_unstable();
        return;
    }
    spare.clear();
    spare.extend_from_slice(tokens);
    let (mut from, mut to) = (tokens, spare.as_mut_slice());
    for shift in (32..64).step_by(DIGIT as usize) {
        let digit = |one: &Ranked| (one.0 >> shift) as usize & ((1 << DIGIT) - 1);
        let mut places = [0u32; 1 << DIGIT];
        from.iter().for_each(|one| places[digit(one)] += 1);
        let mut next = 0;
        for place in &mut places {
            next += std::mem::replace(place, next);
        }
        for one in from.iter() {
            let place = &mut places[digit(one)];
            to[*place as usize] = *one;
            *place += 1;
        }
        std::mem::swap(&mut from, &mut to);
    }
    // After three passes, that is the spare memory.
    to.copy_from_slice(from);
}

#[cfg(test)]
mod tests {
    use weft_random::Random;

    use super::*;

    /// All tokens with their logits' bits, sorted.
    fn sorted(logits: &[f32]) -> Vec<(u32, u32)> {
        let mut all: Vec<(u32, f32)> = (0u32..).zip(logits.iter().copied()).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all.into_iter().map(|(token, logit)| (token, logit.to_bits())).collect()
    }

    fn pair(ranked: &Ranked) -> (u32, u32) {
        (ranked.token(), ranked.logit().to_bits())
    }

    /// Logits of this length: with many equals, ascending (the worst order), spread out, and with extremes.
    fn cases(len: usize, random: &mut Random) -> [Vec<f32>; 4] {
        let few = (0..len).map(|_| random.below(9) as f32).collect();
        let ascending = (0..len).map(|i| i as f32).collect();
        let spread = (0..len).map(|_| 60.0 * random.signed()).collect();
        let odd = [f32::NEG_INFINITY, f32::MIN, -0.0, 0.0, f32::MIN_POSITIVE, 1.0, f32::MAX, f32::INFINITY];
        [few, ascending, spread, (0..len).map(|_| odd[random.below(odd.len())]).collect()]
    }

    #[test]
    fn a_survey_finds_the_first_of_the_likeliest_and_any_nan() {
        let mut random = Random::new(5);
        for len in [0, 1, 63, 64, 65, 1000] {
            for mut logits in cases(len, &mut random) {
                let first = sorted(&logits).first().copied();
                let first = first.filter(|(_, bits)| f32::from_bits(*bits) > f32::NEG_INFINITY);
                let likeliest = first.map(|(token, _)| token);
                assert_eq!(Survey::of(&logits), Survey { has_nan: false, likeliest });
                for nan in [f32::NAN, -f32::NAN] {
                    if len > 0 {
                        logits[random.below(len)] = nan;
                        assert!(Survey::of(&logits).has_nan);
                    }
                }
            }
        }
    }

    #[test]
    fn selecting_finds_what_sorting_would() {
        let mut random = Random::new(3);
        for (len, most) in
            [(0, 3), (1, 0), (1, 1), (50, 7), (1000, 40), (1000, 999), (7, 40), (7, usize::MAX)]
        {
            for logits in cases(len, &mut random) {
                let mut found = Vec::new();
                select(&logits, most, &mut found);
                let found: Vec<_> = found.iter().map(pair).collect();
                assert_eq!(found, sorted(&logits)[..most.min(len)], "{most} of {len}");
            }
        }
    }

    /// Lowered candidates come in the order that sorting all lowered logits would give.
    #[test]
    fn lowered_candidates_are_the_likeliest() {
        let mut random = Random::new(7);
        for (len, k) in [(1, 64), (64, 64), (65, 64), (1000, 64), (1000, 1)] {
            for logits in cases(len, &mut random) {
                let all = sorted(&logits);
                let few = &all[..k.min(len)];
                let values =
                    few.iter().map(|one| one.1).chain(few.iter().map(|one| (one.0 as f32).to_bits()));
                let bytes: Vec<u8> = values.flat_map(u32::to_le_bytes).collect();
                let lowered =
                    |token: u32, logit: f32| if token.is_multiple_of(3) { logit - 2.5 } else { logit };
                let mut known = Known::default();
                assert!(known.take(Candidates::new(&bytes, len)) && known.lower(lowered));
                let changed: Vec<f32> =
                    (0..).zip(&logits).map(|(token, logit)| lowered(token, *logit)).collect();
                let found: Vec<_> = known.tokens.iter().map(pair).collect();
                assert_eq!(found, sorted(&changed)[..found.len()]);
                assert!(
                    found.len()
                        >= if known.all { len } else { few.iter().filter(|one| one.0 % 3 > 0).count() }
                );
            }
        }
    }

    #[test]
    fn stages_add_up_to_the_whole_order() {
        let mut random = Random::new(4);
        let mut ranking = Ranking::default();
        for (len, most) in [(1, 9), (70, 9), (1000, 1000), (1000, 30), (3 * MANY, usize::MAX)] {
            for logits in cases(len, &mut random) {
                let all = sorted(&logits);
                let Some(top) = Survey::of(&logits).likeliest else { continue };
                ranking.begin(&logits, logits[top as usize], most);
                for (place, expected) in all.iter().take(most).enumerate() {
                    assert_eq!(pair(&ranking.get(&logits, place).unwrap()), *expected);
                    // The highest of the rest is the first of it.
                    let rest = ranking.rest().and_then(|(len, bound)| Some((all.get(len)?, bound)));
                    assert!(rest.is_none_or(|(next, bound)| f32::from_bits(next.1) <= bound));
                }
                assert_eq!(ranking.get(&logits, most.min(len)), None);
            }
        }
    }
}
