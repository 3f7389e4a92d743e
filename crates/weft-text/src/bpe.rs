//! Byte-pair encoding of one word.
//!
//! A word starts as its single bytes. The pair of neighbours with the best rank merges, the leftmost of equals first,
//! until no pair can. With candidates in a heap and symbols in a linked list, a word of n bytes takes O(n log n). Source:
//! Sennrich, Haddow, Birch, "Neural Machine Translation of Rare Words with Subword Units".

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::error::TokenizerError;
use crate::vocab::{Vocab, utf8};

/// The result of merging a pair of tokens, and its priority: the lowest rank merges first.
#[derive(Clone, Copy)]
struct Merge {
    rank: u32,
    result: u32,
}

/// Which pairs of tokens merge.
pub(crate) enum Merges {
    /// The pairs listed in the file, ranked by their position in the list.
    Listed(MergeList),
    /// Any pair whose bytes together are a token, ranked by the id of that token. This is how tiktoken encodes; no list
    /// of pairs reproduces it exactly.
    ByTokenId,
}

/// Merges grouped by their left token. There is no hashing, so no file can make it slow.
pub(crate) struct MergeList {
    /// The group of left token `l` is `starts[l]..starts[l + 1]`.
    starts: Vec<u32>,
    /// Right tokens, ascending within a group; of equals, the best rank comes first.
    rights: Vec<u32>,
    /// The merge of each entry of `rights`.
    merges: Vec<Merge>,
}

impl MergeList {
    /// Resolves pairs of spellings to tokens.
    ///
    /// Pairs of which a part or the result is not a text token can never occur and are left out. This also ensures that
    /// merging text never makes a control token.
    pub(crate) fn new(
        pairs: &[&[u8]],
        vocab: &Vocab,
        push_bytes: fn(&str, &mut Vec<u8>),
    ) -> Result<MergeList, TokenizerError> {
        struct Entry {
            left: u32,
            right: u32,
            merge: Merge,
        }
        let mut entries = Vec::with_capacity(pairs.len());
        let mut bytes = Vec::new();
        for (index, pair) in pairs.iter().enumerate() {
            let pair = utf8("merges", index, pair)?;
            let (Some((left, right)), Ok(rank)) = (split_pair(pair), u32::try_from(index)) else {
                return Err(TokenizerError::Merge { index, found: pair.to_owned() });
            };
            bytes.clear();
            push_bytes(left, &mut bytes);
            let middle = bytes.len();
            push_bytes(right, &mut bytes);
            let resolved = (|| {
                let left = vocab.find_text(&bytes[..middle])?;
                let right = vocab.find_text(&bytes[middle..])?;
                let result = vocab.find_text(&bytes)?;
                Some(Entry { left, right, merge: Merge { rank, result } })
            })();
            entries.extend(resolved);
        }
        entries.sort_unstable_by_key(|entry| (entry.left, entry.right, entry.merge.rank));

        let mut starts = Vec::with_capacity(vocab.len() + 1);
        let mut start = 0;
        for left in 0..=vocab.len() as u32 {
            start += entries[start..].iter().take_while(|entry| entry.left < left).count();
            starts.push(start as u32);
        }
        Ok(MergeList {
            starts,
            rights: entries.iter().map(|entry| entry.right).collect(),
            merges: entries.iter().map(|entry| entry.merge).collect(),
        })
    }

    fn find(&self, left: u32, right: u32) -> Option<Merge> {
        let group = self.starts[left as usize] as usize..self.starts[left as usize + 1] as usize;
        let place = group.start + self.rights[group.clone()].partition_point(|&other| other < right);
        (place < group.end && self.rights[place] == right).then(|| self.merges[place])
    }
}

/// Splits "Ġ t" into "Ġ" and "t". The first character belongs to the left part even if it is a space.
pub(crate) fn split_pair(pair: &str) -> Option<(&str, &str)> {
    let first = pair.chars().next()?.len_utf8();
    let space = first + pair[first..].find(' ')?;
    let (left, right) = (&pair[..space], &pair[space + 1..]);
    (!right.is_empty()).then_some((left, right))
}

/// Encodes words one by one, reusing its buffers.
pub(crate) struct WordEncoder<'a> {
    vocab: &'a Vocab,
    merges: &'a Merges,
    /// The token that each byte starts as. Bytes without one are dropped, as in HF `tokenizers`.
    byte_tokens: &'a [Option<u32>; 256],
    /// The tokens that a word starts as.
    starts: Vec<u32>,
    symbols: Vec<Symbol>,
    queue: BinaryHeap<Candidate>,
    joined: Vec<u8>,
}

/// A node of the linked list of symbols. A symbol merged into its left neighbour stays in place without a token.
struct Symbol {
    token: Option<u32>,
    previous: usize,
    next: usize,
}

const NO_SYMBOL: usize = usize::MAX;

/// A pair of neighbours that can merge. The greatest merges first.
#[derive(PartialEq, Eq)]
struct Candidate {
    rank: u32,
    /// The index of the left symbol.
    place: usize,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Candidate) -> Ordering {
        (other.rank, other.place).cmp(&(self.rank, self.place))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Candidate) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'a> WordEncoder<'a> {
    pub(crate) fn new(vocab: &'a Vocab, merges: &'a Merges, byte_tokens: &'a [Option<u32>; 256]) -> Self {
        WordEncoder {
            vocab,
            merges,
            byte_tokens,
            starts: Vec::new(),
            symbols: Vec::new(),
            queue: BinaryHeap::new(),
            joined: Vec::new(),
        }
    }

    /// Appends the tokens of `word`, which starts as its bytes.
    pub(crate) fn encode(&mut self, word: &[u8], tokens: &mut Vec<u32>) {
        self.starts.clear();
        self.starts.extend(word.iter().filter_map(|&byte| self.byte_tokens[usize::from(byte)]));
        self.merge_all(tokens);
    }

    /// Appends the tokens of `word`, which starts as its characters, and as the bytes of those that are no tokens.
    pub(crate) fn encode_characters(&mut self, word: &str, tokens: &mut Vec<u32>) {
        self.starts.clear();
        for character in word.char_indices().map(|(start, c)| &word.as_bytes()[start..start + c.len_utf8()]) {
            match self.vocab.find_text(character) {
                Some(id) => self.starts.push(id),
                None => {
                    self.starts.extend(character.iter().filter_map(|&b| self.byte_tokens[usize::from(b)]))
                }
            }
        }
        self.merge_all(tokens);
    }

    /// Merges the tokens that a word starts as, and appends those that it ends as.
    fn merge_all(&mut self, tokens: &mut Vec<u32>) {
        self.symbols.clear();
        self.symbols.extend(self.starts.iter().enumerate().map(|(place, &token)| Symbol {
            token: Some(token),
            previous: place.checked_sub(1).unwrap_or(NO_SYMBOL),
            next: place + 1,
        }));
        let Some(last) = self.symbols.last_mut() else { return };
        last.next = NO_SYMBOL;

        for place in 0..self.symbols.len() - 1 {
            self.enqueue(place);
        }
        while let Some(Candidate { rank, place }) = self.queue.pop() {
            // Either symbol may have merged with another since the pair was enqueued. Symbols only grow, so an equal
            // rank means the same pair.
            if let Some(merge) = self.merge_at(place).filter(|merge| merge.rank == rank) {
                self.merge(place, merge.result);
            }
        }
        tokens.extend(self.symbols.iter().filter_map(|symbol| symbol.token));
    }

    /// The merge of the symbol at `place` with the next one, if they can merge.
    fn merge_at(&mut self, place: usize) -> Option<Merge> {
        let left = self.symbols.get(place)?;
        let (left, right) = (left.token?, self.symbols.get(left.next)?.token?);
        match self.merges {
            Merges::Listed(list) => list.find(left, right),
            Merges::ByTokenId => {
                self.joined.clear();
                self.joined.extend_from_slice(self.vocab.bytes(left));
                self.joined.extend_from_slice(self.vocab.bytes(right));
                self.vocab.find_text(&self.joined).map(|id| Merge { rank: id, result: id })
            }
        }
    }

    fn enqueue(&mut self, place: usize) {
        if let Some(Merge { rank, .. }) = self.merge_at(place) {
            self.queue.push(Candidate { rank, place });
        }
    }

    /// Merges the next symbol into the one at `place`.
    fn merge(&mut self, place: usize, result: u32) {
        let right = self.symbols[place].next;
        let next = self.symbols[right].next;
        self.symbols[right].token = None;
        self.symbols[place].token = Some(result);
        self.symbols[place].next = next;
        if let Some(next) = self.symbols.get_mut(next) {
            next.previous = place;
        }
        self.enqueue(self.symbols[place].previous);
        self.enqueue(place);
    }
}
