//! The pages that are kept for prompts to come: found by a chain of hashes, verified by their tokens.
//!
//! The keys and values of a token depend on the tokens before it and on nothing else, so a page that is full can serve every sequence that
//! begins with the same tokens. A page is known by the hash of the page before it and of its own tokens; the chain begins with a hash of
//! everything else that changes the numbers (the model, how the cache stores values, decisions that round, a salt). A page that is not full
//! cannot be extended while others read it, but its rows can be copied: so the longest common beginning counts, token by token.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

/// Names all tokens of a sequence up to the end of a page, and everything else that their keys and values depend on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Key([u8; 32]);

impl Key {
    /// The beginning of a chain: what a sequence without tokens depends on.
    pub(crate) fn root<'a>(facts: impl IntoIterator<Item = &'a [u8]>) -> Key {
        let mut hash = Sha256::new();
        for fact in facts {
            // With their lengths, so that no two lists of facts are the same bytes.
            hash.update((fact.len() as u64).to_le_bytes());
            hash.update(fact);
        }
        Key(hash.finalize().into())
    }

    /// The beginning of a chain of its own, for those who know the salt.
    pub(crate) fn salted(&self, salt: &str) -> Key {
        Key::root([self.0.as_slice(), salt.as_bytes()])
    }

    /// This chain, continued by the tokens of a page.
    pub(crate) fn then(&self, tokens: &[u32]) -> Key {
        let mut hash = Sha256::new();
        hash.update(self.0);
        tokens.iter().for_each(|token| hash.update(token.to_le_bytes()));
        Key(hash.finalize().into())
    }
}

/// What a kept page holds.
#[derive(Debug)]
struct Kept {
    key: Key,
    parent: Key,
    tokens: Box<[u32]>,
}

/// Which pages hold what.
#[derive(Debug, Default)]
pub(crate) struct Prefixes {
    /// For each page what it holds, if it is kept.
    pages: Vec<Option<Kept>>,
    by_key: BTreeMap<Key, u32>,
    /// The pages that continue a chain.
    after: BTreeMap<Key, Vec<u32>>,
}

impl Prefixes {
    pub(crate) fn new(pages: usize) -> Prefixes {
        Prefixes { pages: (0..pages).map(|_| None).collect(), ..Prefixes::default() }
    }

    /// Whether a page is kept.
    pub(crate) fn has(&self, page: u32) -> bool {
        self.pages[page as usize].is_some()
    }

    /// Keeps a page that holds these tokens after `parent`, unless another holds the same.
    pub(crate) fn insert(&mut self, page: u32, parent: &Key, tokens: &[u32]) {
        let key = parent.then(tokens);
        if self.has(page) || self.by_key.contains_key(&key) {
            return;
        }
        self.by_key.insert(key, page);
        self.after.entry(*parent).or_default().push(page);
        self.pages[page as usize] = Some(Kept { key, parent: *parent, tokens: tokens.into() });
    }

    /// Forgets what a page holds.
    pub(crate) fn remove(&mut self, page: u32) {
        let Some(Kept { key, parent, .. }) = self.pages[page as usize].take() else { return };
        self.by_key.remove(&key);
        if let Some(pages) = self.after.get_mut(&parent) {
            pages.retain(|other| *other != page);
            if pages.is_empty() {
                self.after.remove(&parent);
            }
        }
    }

    /// The page that holds exactly these tokens after `parent`.
    pub(crate) fn find(&self, parent: &Key, tokens: &[u32]) -> Option<(u32, Key)> {
        let key = parent.then(tokens);
        let page = *self.by_key.get(&key)?;
        let kept = self.pages[page as usize].as_ref()?;
        // A hash that collides must not give one prompt the values of another.
        (kept.parent == *parent && *kept.tokens == *tokens).then_some((page, key))
    }

    /// The page after `parent` that has most of its first tokens in common with these, and how many.
    pub(crate) fn longest(&self, parent: &Key, tokens: &[u32]) -> Option<(u32, usize)> {
        let common = |page: &u32| {
            let kept = self.pages[*page as usize].as_ref();
            kept.map_or(0, |kept| kept.tokens.iter().zip(tokens).take_while(|(a, b)| a == b).count())
        };
        let pages = self.after.get(parent)?;
        // The first of equals, so that nothing depends on more than the order in which pages were kept.
        let best = pages.iter().map(|page| (*page, common(page))).rev().max_by_key(|(_, common)| *common)?;
        (best.1 > 0).then_some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(salt: &[u8]) -> Key {
        Key::root([b"model".as_slice(), salt])
    }

    #[test]
    fn a_page_is_found_by_all_that_comes_before_it_and_by_nothing_less() {
        let mut prefixes = Prefixes::new(3);
        let (a, b) = (root(b"a"), root(b"b"));
        prefixes.insert(0, &a, &[1, 2]);
        let (page, key) = prefixes.find(&a, &[1, 2]).unwrap();
        assert_eq!((page, key), (0, a.then(&[1, 2])));
        prefixes.insert(1, &key, &[3, 4]);
        assert_eq!(prefixes.find(&key, &[3, 4]).map(|(page, _)| page), Some(1));
        for (parent, tokens) in [(a, [3, 4]), (b, [1, 2]), (key, [1, 2]), (key, [4, 3])] {
            assert_eq!(prefixes.find(&parent, &tokens), None, "{tokens:?}");
        }
        prefixes.remove(0);
        assert_eq!(prefixes.find(&a, &[1, 2]), None);
        assert!(!prefixes.has(0) && prefixes.has(1));
    }

    #[test]
    fn facts_are_not_run_together() {
        assert_ne!(Key::root([b"ab".as_slice(), b"c"]), Key::root([b"a".as_slice(), b"bc"]));
        assert_ne!(Key::root([b"".as_slice()]), Key::root([]));
    }

    #[test]
    fn the_longest_common_beginning_wins() {
        let mut prefixes = Prefixes::new(4);
        let root = root(b"");
        prefixes.insert(0, &root, &[1, 2, 3, 4]);
        prefixes.insert(1, &root, &[1, 2, 9]);
        prefixes.insert(2, &root, &[7]);
        for (tokens, expected) in [
            (&[1, 2, 3, 9][..], Some((0, 3))),
            (&[1, 2, 9, 9], Some((1, 3))),
            (&[1, 2], Some((0, 2))),
            (&[7, 7], Some((2, 1))),
            (&[8], None),
            (&[], None),
        ] {
            assert_eq!(prefixes.longest(&root, tokens), expected, "{tokens:?}");
        }
        // Twice the same is kept once.
        prefixes.insert(3, &root, &[7]);
        assert!(!prefixes.has(3));
    }
}
