//! Guesses by looking up what came before: replies repeat parts of their prompts and of themselves.
//!
//! The last two tokens are looked up among all earlier ones of the same generation. Of the places where they occur, the one before which
//! most tokens are the same as at the end tells what comes next; if there is none, the last place of the last token does. The continuation
//! of an earlier request with the same beginning, which the prefix cache has, goes first.

use std::collections::BTreeMap;

use super::drafter::{Ask, Drafter};

/// The most places compared, the latest first.
const PLACES: usize = 32;

/// The most places walked past to find them.
const WALKED: usize = 128;

/// The longest match that is counted.
const LONGEST: usize = 32;

/// The kind of guesses that come from the prefix cache.
const KNOWN: usize = 0;

/// Looks up the last tokens of replies among earlier ones.
#[derive(Debug)]
pub(crate) struct Lookup {
    texts: BTreeMap<u64, Index>,
    /// How many tokens are guessed for each token that is the same.
    each: usize,
}

impl Lookup {
    /// Guesses so many tokens for each that is the same as at the end.
    pub(crate) fn new(each: usize) -> Lookup {
        Lookup { texts: BTreeMap::new(), each }
    }
}

impl Drafter for Lookup {
    fn draft(&mut self, asks: &mut [Ask<'_>]) {
        for ask in asks.iter_mut().filter(|ask| ask.most() > 0) {
            if !ask.known().is_empty() {
                ask.guess_of_kind(ask.known().to_vec(), KNOWN);
                continue;
            }
            let tokens = ask.tokens();
            let index = self.texts.entry(ask.generation()).or_default();
            index.extend(tokens);
            if let Some(Match { at, len }) = index.find(tokens) {
                // Repeated text continues to repeat itself.
                let period = tokens.len() - at;
                let guess = (0..len * self.each).map(|i| tokens[at + i % period]);
                ask.guess_of_kind(guess, kind(len));
            }
        }
    }

    fn ended(&mut self, generation: u64) {
        self.texts.remove(&generation);
    }
}

/// The kind of guess after a match of this length: the longer, the more likely.
fn kind(len: usize) -> usize {
    match len {
        ..=1 => 1,
        2 => 2,
        3 => 3,
        4..8 => 4,
        8..16 => 5,
        16.. => 6,
    }
}

/// Where tokens and pairs of them occur in a text. It takes some 24 bytes for each token.
#[derive(Debug, Default)]
struct Index {
    tokens: Places<1>,
    pairs: Places<2>,
}

/// The places after `N` tokens in a text: those after the same tokens are a chain, from the latest on, perhaps with some after others.
#[derive(Debug, Default)]
struct Places<const N: usize> {
    /// The last place of each chain, or 0. There are more chains than places, and their number is a power of two.
    last: Vec<u32>,
    /// For each place, the one before it in its chain, or 0.
    before: Vec<u32>,
}

impl<const N: usize> Places<N> {
    /// Adds the places of a text, which begins with that of the call before. A place is known once a token is there: so the end is not
    /// a place.
    fn extend(&mut self, tokens: &[u32]) {
        if tokens.len() >= self.last.len() {
            let chains = (2 * tokens.len()).next_power_of_two();
            (self.last, self.before) = (vec![0; chains], Vec::with_capacity(chains));
        }
        for at in self.before.len()..tokens.len() {
            let chain = tokens[..at].last_chunk().map(|from| self.chain(from));
            let before = chain.map_or(0, |chain| std::mem::replace(&mut self.last[chain], at as u32));
            self.before.push(before);
        }
    }

    /// The chain of places after these tokens.
    fn chain(&self, tokens: &[u32; N]) -> usize {
        // Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4). Whoever makes chains long gets fewer guesses.
        let mixed = tokens
            .iter()
            .fold(0u64, |sum, token| (sum ^ u64::from(*token)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (mixed >> 32) as usize & (self.last.len() - 1)
    }

    /// The latest places in the chain of the last tokens, at most `most`.
    fn after_last<'a>(&'a self, tokens: &'a [u32], most: usize) -> impl Iterator<Item = usize> + 'a {
        let last =
            tokens.last_chunk().filter(|_| !self.last.is_empty()).map(|last| self.last[self.chain(last)]);
        let next = |place: &u32| self.before.get(*place as usize).copied();
        let places = std::iter::successors(last, next).take_while(|place| *place > 0);
        places.take(most).map(|place| place as usize)
    }
}

/// A place after tokens that are the same as the last ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Match {
    /// The place of the next token.
    at: usize,
    /// The number of tokens that are the same.
    len: usize,
}

impl Index {
    /// Adds the places of a text, which begins with that of the call before.
    fn extend(&mut self, tokens: &[u32]) {
        self.tokens.extend(tokens);
        self.pairs.extend(tokens);
    }

    /// The place before which most tokens are the same as the last ones, the latest among equals.
    fn find(&self, tokens: &[u32]) -> Option<Match> {
        let mut best = Match { at: 0, len: 1 };
        let pairs = |place: &usize| tokens[*place - 2..*place] == tokens[tokens.len() - 2..];
        for place in self.pairs.after_last(tokens, WALKED).filter(pairs).take(PLACES) {
            // As many as those of the best and one more, or it is not better.
            let more = |len: usize| place > len && tokens[place - 1 - len] == tokens[tokens.len() - 1 - len];
            if best.len < LONGEST && more(best.len) {
                let same = tokens[..place].iter().rev().zip(tokens.iter().rev());
                let len = same.take(LONGEST).take_while(|(a, b)| a == b).count();
                if len > best.len {
                    best = Match { at: place, len };
                }
            }
        }
        if best.len > 1 {
            return Some(best);
        }
        let last = |place: &usize| tokens[*place - 1] == tokens[tokens.len() - 1];
        self.tokens.after_last(tokens, WALKED).find(last).map(|at| Match { at, len: 1 })
    }
}

#[cfg(test)]
mod tests {
    use weft_random::Random;

    use super::*;

    fn guess(lookup: &mut Lookup, tokens: &[u32], most: usize) -> Vec<u32> {
        let mut asks = [Ask::new(1, tokens, Vec::new(), most)];
        lookup.draft(&mut asks);
        let [ask] = asks;
        ask.into_guess(usize::MAX).tokens
    }

    #[test]
    fn the_longest_match_tells_what_comes_next() {
        let text = [1, 2, 3, 4, 5, 9, 2, 3, 7, 8, 1, 2, 3];
        // `1 2 3` came once, `2 3` also later.
        assert_eq!(guess(&mut Lookup::new(1), &text, 9), [4, 5, 9]);
        assert_eq!(guess(&mut Lookup::new(1), &text, 2), [4, 5]);
        // The later of two that are as long.
        assert_eq!(guess(&mut Lookup::new(1), &[1, 2, 3, 1, 2, 4, 1, 2], 9), [4, 1]);
        // Only the last token came before.
        assert_eq!(guess(&mut Lookup::new(1), &[1, 2, 3, 2], 9), [3]);
        assert_eq!(guess(&mut Lookup::new(1), &[1, 1], 9), [1]);
        assert_eq!(guess(&mut Lookup::new(3), &[1, 2, 3, 2], 9), [3, 2, 3]);
        // Nothing did.
        for text in [&[][..], &[1], &[1, 2]] {
            assert!(guess(&mut Lookup::new(1), text, 9).is_empty());
        }
    }

    #[test]
    fn what_repeats_itself_goes_on() {
        assert_eq!(guess(&mut Lookup::new(1), &[5, 1, 2, 3, 1, 2, 3, 1, 2, 3], 15), [1, 2, 3, 1, 2, 3]);
        assert_eq!(guess(&mut Lookup::new(1), &[7, 7, 7, 7], 15), [7, 7, 7]);
    }

    #[test]
    fn the_prefix_cache_goes_first() {
        let mut asks = [Ask::new(1, &[1, 2, 3, 1, 2], vec![8, 9], 9)];
        Lookup::new(1).draft(&mut asks);
        let [ask] = asks;
        assert_eq!(ask.into_guess(10).tokens, [8, 9]);
    }

    /// An index that grows token by token finds what comparing all places finds.
    #[test]
    fn the_index_follows_the_text() {
        let mut random = Random::new(3);
        let mut lookup = Lookup::new(1);
        let mut tokens: Vec<u32> = Vec::new();
        for _ in 0..400 {
            tokens.push(random.below(5) as u32);
            let same = |at: usize| {
                let pairs = tokens[..at].iter().rev().zip(tokens.iter().rev());
                pairs.take(LONGEST).take_while(|(a, b)| a == b).count()
            };
            let places = (2..tokens.len()).rev().filter(|at| same(*at) >= 2);
            let one = usize::from((1..tokens.len()).any(|at| same(at) == 1));
            let longest = places.take(PLACES).map(same).max().unwrap_or(one);
            assert_eq!(guess(&mut lookup, &tokens, LONGEST).len(), longest);
        }
        lookup.ended(1);
        assert!(lookup.texts.is_empty());
    }
}
