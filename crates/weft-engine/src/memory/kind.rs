//! The interface of a kind of state to the memory of sequences.

use weft_runtime::StepInputs;

use super::key::{Key, Keys};
use super::pool::Pool;

/// The pages or slots of one kind of state: those that each sequence holds, and those that the prefix cache keeps.
///
/// Sequences are identified by their places, which are reused. After it has begun or advanced, a sequence has the same length in all
/// kinds.
pub(super) trait Kind {
    /// Begins an empty sequence in a place, which may be a new one after all others. Takes memory for it, so that no step allocates.
    fn open(&mut self, place: usize);

    /// The length of the longest prefix, of at most `most` full pages, for which the prefix cache has all that a sequence needs to
    /// continue after it.
    fn longest(&self, prefix: Prefix<'_>, most: usize) -> usize;

    /// The number of pages that a sequence would hold after the first `pages` pages of that prefix, and the number of those that no
    /// sequence holds.
    fn found(&self, _prefix: Prefix<'_>, _pages: usize) -> Cached {
        Cached::default()
    }

    /// Takes the pages or rows that a new sequence needs to continue after that prefix.
    fn begin(&mut self, place: usize, prefix: Prefix<'_>, pages: usize);

    /// Adds the page of a sequence with this index, which has these tokens after `parent`, to the prefix cache. It may be its last
    /// and not full.
    fn keep(&mut self, place: usize, page: usize, parent: &Key, tokens: &[u32]);

    /// The number of pages by which all sequences can grow together.
    fn available(&self) -> usize {
        usize::MAX
    }

    /// Takes `pages` more pages for a sequence. They are available.
    fn grow(&mut self, _place: usize, _pages: usize) {}

    /// Releases the rows that no later token of a sequence of `len` tokens sees.
    fn slide(&mut self, _place: usize, _len: usize) {}

    /// Writes where a step stores what it computes of the token at this position.
    fn place_token(&mut self, _place: usize, _pos: usize, _out: &mut StepInputs) {}

    /// Writes where a step finds the tokens of a sequence.
    fn list(&self, _place: usize, _out: &mut StepInputs) {}

    /// Writes where a step finds and leaves the state of a sequence, of which it computes so many tokens and guesses after them, up to
    /// `len`.
    fn advance(&mut self, _place: usize, _tokens: [usize; 2], _len: usize, _out: &mut StepInputs) {}

    /// The greatest length of at most `len` tokens that a sequence can be cut back to.
    fn reach(&self, place: usize, len: usize) -> usize;

    /// Releases what a sequence does not need for `len` tokens, to which it can be cut back.
    fn truncate(&mut self, place: usize, len: usize);

    /// Empties the prefix cache. Sequences keep what they hold.
    fn forget(&mut self);
}

/// The beginning of some tokens, to be found in the prefix cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefix<'a> {
    pub(super) keys: &'a Keys,
    pub(super) tokens: &'a [u32],
    /// The number of tokens of a page.
    pub(super) page: usize,
}

impl Prefix<'_> {
    /// The page of a pool that keeps the full page with this index.
    pub(super) fn kept(&self, pool: &Pool, page: usize) -> Option<u32> {
        let tokens = self.tokens.get(page * self.page..(page + 1) * self.page)?;
        pool.kept().find(self.keys.get(page)?, self.keys.before(page), tokens)
    }

    /// The number of full pages before the last token, whose logits are wanted.
    pub(super) fn most(&self) -> usize {
        self.tokens.len().saturating_sub(1) / self.page
    }
}

/// Pages that the prefix cache has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Cached {
    pub(crate) pages: usize,
    /// The number of them that no sequence holds.
    pub(crate) idle: usize,
}

impl Cached {
    /// Counts pages of a pool.
    pub(super) fn of(pool: &Pool, pages: impl Iterator<Item = u32>) -> Cached {
        pages.fold(Cached::default(), |found, page| Cached {
            pages: found.pages + 1,
            idle: found.idle + usize::from(pool.is_idle(page)),
        })
    }
}
