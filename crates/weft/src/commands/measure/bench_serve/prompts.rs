//! Prompts of random words.

use weft_random::Random;

/// Common words, most of which are a token each.
const WORDS: [&str; 64] = [
    "time",
    "year",
    "people",
    "way",
    "day",
    "man",
    "thing",
    "woman",
    "life",
    "child",
    "world",
    "school",
    "state",
    "family",
    "student",
    "group",
    "country",
    "problem",
    "hand",
    "part",
    "place",
    "case",
    "week",
    "company",
    "system",
    "program",
    "question",
    "work",
    "government",
    "number",
    "night",
    "point",
    "home",
    "water",
    "room",
    "mother",
    "area",
    "money",
    "story",
    "fact",
    "month",
    "lot",
    "right",
    "study",
    "book",
    "eye",
    "job",
    "word",
    "business",
    "issue",
    "side",
    "kind",
    "head",
    "house",
    "service",
    "friend",
    "father",
    "power",
    "hour",
    "game",
    "line",
    "end",
    "member",
    "law",
];

/// A sequence of prompts that a seed determines.
pub(super) struct Prompts {
    random: Random,
    shared: Random,
    tokens_per_word: f64,
}

impl Prompts {
    /// The prompts of a seed.
    pub(super) fn new(seed: u64) -> Prompts {
        let [random, shared] = ["prompts", "shared prefix"].map(|name| Random::named(seed, name));
        Prompts { random, shared, tokens_per_word: 1.0 }
    }

    /// Sets the mean number of tokens of a word, which depends on the server's tokenizer.
    pub(super) fn set_tokens_per_word(&mut self, tokens: f64) {
        self.tokens_per_word = tokens.max(0.1);
    }

    /// A prompt of this many words.
    pub(super) fn words(&mut self, words: usize) -> String {
        text((0..words).map(|_| self.random.next_u64()))
    }

    /// The next prompt of about `tokens` tokens, of which the first `shared` are the same in all prompts.
    pub(super) fn next(&mut self, tokens: usize, shared: usize) -> String {
        let words = |tokens: usize| (tokens as f64 / self.tokens_per_word).round().max(1.0) as usize;
        let (all, same) = (words(tokens), if shared == 0 { 0 } else { words(shared) });
        let own = (same..all.max(same + 1)).map(|_| self.random.next_u64());
        text((0..same).map(|n| self.shared.nth_u64(n as u64)).chain(own))
    }
}

fn text(numbers: impl Iterator<Item = u64>) -> String {
    numbers.map(|number| WORDS[(number % WORDS.len() as u64) as usize]).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_differ_after_the_shared_prefix() {
        let mut prompts = Prompts::new(1);
        let [a, b] = [(), ()].map(|()| prompts.next(40, 0));
        assert_ne!(a, b);
        assert_eq!(a.split(' ').count(), 40);
        assert_eq!(Prompts::new(1).next(40, 0), a, "a seed gives the same prompts");
        assert_ne!(Prompts::new(2).next(40, 0), a);
        let [a, b] = [(), ()].map(|()| prompts.next(40, 30));
        let same = a.split(' ').zip(b.split(' ')).take_while(|(a, b)| a == b).count();
        assert!((30..36).contains(&same), "{same}");
        prompts.set_tokens_per_word(2.0);
        assert_eq!(prompts.next(40, 0).split(' ').count(), 20);
        assert_eq!(prompts.next(1, 0).split(' ').count(), 1);
    }
}
