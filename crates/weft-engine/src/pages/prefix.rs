//! The index of the prefix cache: pages are found by a chain of hashes, and verified by their tokens.
//!
//! The keys and values of a token depend only on the tokens up to it, so a full page serves every sequence that begins
//! with the same tokens. A page is identified by a hash of the previous page's key and its own tokens. The chain begins
//! with a hash of everything else that changes the numbers: the model, the type of the KV cache, decisions that round,
//! a salt. A partial page cannot be extended while others read it, but its rows can be copied, so the longest common
//! prefix counts token by token.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

/// Identifies all tokens of a sequence up to the end of a page, and everything else that their keys and values depend on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Key([u8; 32]);

impl Key {
    /// The beginning of a chain: everything but tokens.
    pub(crate) fn root<'a>(facts: impl IntoIterator<Item = &'a [u8]>) -> Key {
        let mut hash = Sha256::new();
        for fact in facts {
            // The lengths make different lists hash differently.
            hash.update((fact.len() as u64).to_le_bytes());
            hash.update(fact);
        }
        Key(hash.finalize().into())
    }

    /// The beginning of a separate chain for this salt.
    pub(crate) fn salted(&self, salt: &str) -> Key {
        Key::root([self.0.as_slice(), salt.as_bytes()])
    }

    /// The chain continued with the tokens of a page.
    pub(crate) fn then(&self, tokens: &[u32]) -> Key {
        let mut hash = Sha256::new();
        hash.update(self.0);
        tokens.iter().for_each(|token| hash.update(token.to_le_bytes()));
        Key(hash.finalize().into())
    }
}

/// The contents of a page in the prefix cache.
#[derive(Debug)]
struct Contents {
    key: Key,
    parent: Key,
    tokens: Box<[u32]>,
}

/// The index from tokens to pages.
#[derive(Debug, Default)]
pub(crate) struct Prefixes {
    /// The contents of each page, if it is in the prefix cache.
    pages: Vec<Option<Contents>>,
    by_key: BTreeMap<Key, u32>,
    /// The pages that continue each chain.
    after: BTreeMap<Key, Vec<u32>>,
}

impl Prefixes {
    pub(crate) fn new(pages: usize) -> Prefixes {
        Prefixes { pages: (0..pages).map(|_| None).collect(), ..Prefixes::default() }
    }

    /// Returns whether a page is in the prefix cache.
    pub(crate) fn has(&self, page: u32) -> bool {
        self.pages[page as usize].is_some()
    }

    /// Adds a page that holds these tokens after `parent`, unless another page holds the same.
    pub(crate) fn insert(&mut self, page: u32, parent: &Key, tokens: &[u32]) {
        let key = parent.then(tokens);
        if self.has(page) || self.by_key.contains_key(&key) {
            return;
        }
        self.by_key.insert(key, page);
        self.after.entry(*parent).or_default().push(page);
        self.pages[page as usize] = Some(Contents { key, parent: *parent, tokens: tokens.into() });
    }

    /// Removes a page.
    pub(crate) fn remove(&mut self, page: u32) {
        let Some(Contents { key, parent, .. }) = self.pages[page as usize].take() else { return };
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
        let contents = self.pages[page as usize].as_ref()?;
        // A hash collision must not give one prompt the values of another.
        (contents.parent == *parent && *contents.tokens == *tokens).then_some((page, key))
    }

    /// The page after `parent` with the longest common prefix with these tokens, and its length.
    pub(crate) fn longest(&self, parent: &Key, tokens: &[u32]) -> Option<(u32, usize)> {
        let common = |page: &u32| {
            let contents = self.pages[*page as usize].as_ref();
            contents.map_or(0, |it| it.tokens.iter().zip(tokens).take_while(|(a, b)| a == b).count())
        };
        let pages = self.after.get(parent)?;
        // The first among equals, so that the result depends only on the order in which pages were added.
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
    fn a_page_is_found_by_all_tokens_up_to_its_end() {
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
    fn facts_are_separated() {
        assert_ne!(Key::root([b"ab".as_slice(), b"c"]), Key::root([b"a".as_slice(), b"bc"]));
        assert_ne!(Key::root([b"".as_slice()]), Key::root([]));
    }

    #[test]
    fn the_longest_common_prefix_wins() {
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
        // A duplicate is not added.
        prefixes.insert(3, &root, &[7]);
        assert!(!prefixes.has(3));
    }
}
