//! The index of the prefix cache: pages are found by a chain of hashes, and verified by their tokens.
//!
//! The keys and values of a token depend only on the tokens up to it, so a full page serves every sequence that begins
//! with the same tokens. A page is identified by a hash of the previous page's key and its own tokens. The chain begins
//! with a hash of everything else that changes the numbers: the model, the type of the KV cache, decisions that round,
//! a salt. A partial page cannot be extended while others read it, but its rows can be copied, so the longest common
//! prefix counts token by token.

use std::collections::{BTreeMap, VecDeque};

use super::key::Key;
use super::watch::{CacheEvent, Watch};

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
    watch: Option<Watch>,
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
        if let Some(watch) = &mut self.watch {
            watch.stored(key, parent, tokens);
        }
        self.pages[page as usize] = Some(Contents { key, parent: *parent, tokens: tokens.into() });
    }

    /// Removes a page.
    pub(crate) fn remove(&mut self, page: u32) {
        let Some(Contents { key, parent, .. }) = self.pages[page as usize].take() else { return };
        self.by_key.remove(&key);
        if let Some(watch) = &mut self.watch {
            watch.removed(&key);
        }
        if let Some(pages) = self.after.get_mut(&parent) {
            pages.retain(|other| *other != page);
            if pages.is_empty() {
                self.after.remove(&parent);
            }
        }
    }

    /// Removes all pages.
    pub(crate) fn clear(&mut self) {
        let mut watch = self.watch.take();
        if let Some(watch) = &mut watch {
            watch.cleared();
        }
        *self = Prefixes { watch, ..Prefixes::new(self.pages.len()) };
    }

    /// Begins to record changes of the chains that begin with `root`, with the full pages of `page` tokens that there are.
    pub(crate) fn watch(&mut self, root: Key, page: usize) {
        let mut watch = Watch::new(root, page);
        let mut chains = VecDeque::from([root]);
        while let Some(chain) = chains.pop_front() {
            let pages = self.after.get(&chain).into_iter().flatten();
            for contents in pages.filter_map(|page| self.pages[*page as usize].as_ref()) {
                watch.stored(contents.key, &chain, &contents.tokens);
                chains.push_back(contents.key);
            }
        }
        self.watch = Some(watch);
    }

    /// Takes what has been recorded.
    pub(crate) fn events(&mut self) -> Vec<CacheEvent> {
        self.watch.as_mut().map(Watch::take).unwrap_or_default()
    }

    /// The page with this key.
    pub(crate) fn page(&self, key: &Key) -> Option<u32> {
        self.by_key.get(key).copied()
    }

    /// The key of a page, if it is in the prefix cache.
    pub(crate) fn key(&self, page: u32) -> Option<&Key> {
        self.pages[page as usize].as_ref().map(|contents| &contents.key)
    }

    /// The page with this key, which holds exactly these tokens after `parent`.
    pub(crate) fn find(&self, key: &Key, parent: &Key, tokens: &[u32]) -> Option<u32> {
        let page = *self.by_key.get(key)?;
        let contents = self.pages[page as usize].as_ref()?;
        // A hash collision must not give one prompt the values of another.
        (contents.parent == *parent && *contents.tokens == *tokens).then_some(page)
    }

    /// The tokens that follow `tokens` after `parent`, on their page and on further full pages, at most `most`.
    pub(crate) fn continued(&self, parent: Key, tokens: &[u32], page: usize, most: usize) -> Vec<u32> {
        let (mut parent, mut tokens, mut found) = (parent, tokens, Vec::new());
        while found.len() < most {
            let pages = self.after.get(&parent).into_iter().flatten().rev();
            let contents = pages.filter_map(|page| self.pages[*page as usize].as_ref());
            let Some((contents, more)) = contents
                .filter_map(|it| Some((it, it.tokens.strip_prefix(tokens)?)))
                .find(|(_, more)| !more.is_empty())
            else {
                break;
            };
            found.extend(more);
            if contents.tokens.len() < page {
                break;
            }
            (parent, tokens) = (contents.key, &[]);
        }
        found.truncate(most);
        found
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
    fn what_followed_is_found_across_pages() {
        let mut prefixes = Prefixes::new(5);
        let a = root(b"a");
        prefixes.insert(0, &a, &[1, 2, 3]);
        prefixes.insert(1, &a.then(&[1, 2, 3]), &[4, 5, 6]);
        prefixes.insert(2, &a.then(&[1, 2, 3]).then(&[4, 5, 6]), &[7]);
        let continued = |tokens: &[u32], most: usize| prefixes.continued(a, tokens, 3, most);
        assert_eq!(continued(&[1], 9), [2, 3, 4, 5, 6, 7]);
        assert_eq!(continued(&[1, 2], 2), [3, 4]);
        assert_eq!(continued(&[], 1), [1]);
        assert!(continued(&[2], 9).is_empty() && continued(&[1, 2, 3], 9).is_empty());
        assert_eq!(prefixes.continued(a.then(&[1, 2, 3]), &[4, 5], 3, 9), [6, 7]);
        assert!(prefixes.continued(root(b"b"), &[1], 3, 9).is_empty());
        // The latest of those that begin alike.
        prefixes.insert(3, &a, &[1, 2, 9]);
        assert_eq!(prefixes.continued(a, &[1, 2], 3, 9), [9]);
    }

    #[test]
    fn a_page_is_found_by_all_tokens_up_to_its_end() {
        let mut prefixes = Prefixes::new(3);
        let (a, b) = (root(b"a"), root(b"b"));
        let key = a.then(&[1, 2]);
        prefixes.insert(0, &a, &[1, 2]);
        prefixes.insert(1, &key, &[3, 4]);
        let find = |prefixes: &Prefixes, parent: Key, tokens: &[u32]| {
            prefixes.find(&parent.then(tokens), &parent, tokens)
        };
        assert_eq!(find(&prefixes, a, &[1, 2]), Some(0));
        assert_eq!(find(&prefixes, key, &[3, 4]), Some(1));
        for (parent, tokens) in [(a, [3, 4]), (b, [1, 2]), (key, [1, 2]), (key, [4, 3])] {
            assert_eq!(find(&prefixes, parent, &tokens), None, "{tokens:?}");
        }
        assert_eq!(prefixes.find(&key, &a, &[1, 3]), None, "a collision");
        prefixes.remove(0);
        assert_eq!(find(&prefixes, a, &[1, 2]), None);
        assert!(!prefixes.has(0) && prefixes.has(1));
    }

    #[test]
    fn changes_of_chains_without_a_salt_are_recorded() {
        let mut prefixes = Prefixes::new(8);
        let (a, salted) = (root(b"a"), root(b"b"));
        let (one, two) = (a.then(&[1, 2]), a.then(&[1, 2]).then(&[3, 4]));
        let stored = |key: &Key, before: Option<&Key>, tokens: [u32; 2]| CacheEvent::Stored {
            page: key.short(),
            before: before.map(Key::short),
            tokens: tokens.into(),
        };
        prefixes.insert(0, &a, &[1, 2]);
        assert!(prefixes.events().is_empty());
        // Those that were there come first.
        prefixes.watch(a, 2);
        prefixes.insert(1, &one, &[3, 4]);
        prefixes.insert(2, &salted, &[1, 2]);
        prefixes.insert(3, &two, &[5]);
        assert_eq!(prefixes.events(), [stored(&one, None, [1, 2]), stored(&two, Some(&one), [3, 4])]);
        [2, 3, 0].into_iter().for_each(|page| prefixes.remove(page));
        // The page before it is gone.
        prefixes.insert(4, &one, &[7, 8]);
        assert_eq!(prefixes.events(), [CacheEvent::Removed { page: one.short() }]);
        prefixes.clear();
        prefixes.clear();
        prefixes.insert(0, &a, &[1, 2]);
        assert_eq!(prefixes.events(), [CacheEvent::Cleared, stored(&one, None, [1, 2])]);
        assert!(prefixes.find(&two, &one, &[3, 4]).is_none());
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
