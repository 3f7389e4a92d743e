//! Whether every token is what its own text merges to. Then a word that is a token becomes that token either way, with `ignore_merges`
//! or without.

use std::collections::BTreeMap;

/// The longest token that is merged, in characters: merging takes the square of the length.
const MAX_LENGTH: usize = 1024;

/// The first token, if there is one, whose text does not merge to it. `merges` are the pairs, best first.
pub(super) fn unreachable<'a>(
    tokens: impl Iterator<Item = &'a str>,
    merges: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<&'a str> {
    let mut ranks = BTreeMap::new();
    for (rank, pair) in merges.enumerate() {
        ranks.entry(pair).or_insert(rank);
    }
    tokens.into_iter().find(|token| !merges_to_itself(token, &ranks))
}

fn merges_to_itself(token: &str, ranks: &BTreeMap<(&str, &str), usize>) -> bool {
    let mut ends: Vec<usize> =
        token.char_indices().map(|(at, c)| at + c.len_utf8()).take(MAX_LENGTH + 1).collect();
    if ends.len() > MAX_LENGTH {
        return false;
    }
    while ends.len() > 1 {
        // The best pair, the first of equals.
        let rank = |at: usize| {
            let start = if at == 0 { 0 } else { ends[at - 1] };
            ranks.get(&(&token[start..ends[at]], &token[ends[at]..ends[at + 1]])).map(|rank| (*rank, at))
        };
        let Some((_, at)) = (0..ends.len() - 1).filter_map(rank).min() else { return false };
        ends.remove(at);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_merges_do_not_reach() {
        let merges = [("a", "b"), ("b", "c"), ("ab", "c"), ("é", "a")];
        let unreachable = |tokens: &[&'static str]| unreachable(tokens.iter().copied(), merges.into_iter());
        assert_eq!(unreachable(&["a", "ab", "abc", "bc", "éa", ""]), None);
        // `ab` merges first, and no pair continues from there.
        assert_eq!(unreachable(&["abc", "bcab", "abbc"]), Some("bcab"));
        assert_eq!(unreachable(&["abab"]), Some("abab"));
        let long = "a".repeat(MAX_LENGTH + 1).leak();
        assert_eq!(unreachable(&[long]), Some(&*long));
    }
}
