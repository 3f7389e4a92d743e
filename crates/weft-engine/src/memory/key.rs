//! The keys of the prefix cache: a chain of hashes over the tokens of a sequence, page by page.

use std::fmt;

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

/// The keys of the full pages of a list of tokens, so that looking for them again and again hashes them once.
#[derive(Debug)]
pub(crate) struct Keys {
    root: Key,
    pages: Vec<Key>,
}

impl Keys {
    /// Creates the keys of an empty list.
    pub(crate) fn new(root: Key) -> Keys {
        Keys { root, pages: Vec::new() }
    }

    /// Adds the keys of full pages that the list has gained at its end.
    pub(crate) fn extend(&mut self, tokens: &[u32], page: usize) {
        for tokens in tokens.chunks_exact(page).skip(self.pages.len()) {
            let key = self.before(self.pages.len()).then(tokens);
            self.pages.push(key);
        }
    }

    /// The key of a page, if it is full.
    pub(crate) fn get(&self, page: usize) -> Option<&Key> {
        self.pages.get(page)
    }

    /// The key that a page continues. The page may be the one after the last.
    pub(crate) fn before(&self, page: usize) -> &Key {
        page.checked_sub(1).and_then(|page| self.pages.get(page)).unwrap_or(&self.root)
    }

    /// The number of pages at the beginning that two lists have in common.
    pub(crate) fn common(&self, other: &Keys) -> usize {
        self.pages.iter().zip(&other.pages).take_while(|(a, b)| a == b).count()
    }

    /// The keys of all full pages.
    pub(crate) fn pages(&self) -> &[Key] {
        &self.pages
    }
}

impl Key {
    /// The first 64 bits of the hash.
    pub(crate) fn short(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }

    /// The key of the states of whole sequences after the page with this key.
    pub(crate) fn of_states(&self) -> Key {
        Key::root([self.0.as_slice(), b"states"])
    }

    /// The hash.
    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The hash in hexadecimal digits.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(salt: &[u8]) -> Key {
        Key::root([b"model".as_slice(), salt])
    }

    #[test]
    fn keys_follow_their_list() {
        let tokens: Vec<u32> = (0..9).collect();
        let of = |tokens: &[u32]| {
            let mut keys = Keys::new(root(b""));
            keys.extend(tokens, 2);
            keys
        };
        let mut grown = of(&tokens[..3]);
        assert_eq!((grown.get(0), grown.get(1)), (Some(&root(b"").then(&[0, 1])), None));
        assert_eq!((grown.before(0), grown.before(1)), (&root(b""), grown.get(0).unwrap()));
        grown.extend(&tokens, 2);
        assert_eq!(grown.pages, of(&tokens).pages);
        assert_eq!(grown.before(4), &grown.pages[3]);
        assert_eq!((grown.common(&of(&[0, 1, 2, 3, 4, 9])), grown.common(&of(&[1, 1]))), (2, 0));
    }

    #[test]
    fn facts_are_separated() {
        assert_ne!(Key::root([b"ab".as_slice(), b"c"]), Key::root([b"a".as_slice(), b"bc"]));
        assert_ne!(Key::root([b"".as_slice()]), Key::root([]));
    }
}
