//! The rows of the KV cache that belong to each sequence.
//!
//! Rows come in pages. Sequences that begin with the same tokens share pages: [`Pages::begin`] finds them in the prefix
//! cache, and [`Pages::record`] adds them to it.

mod follow;
mod indices;
mod key;
mod pool;
mod prefix;
mod watch;

use std::sync::atomic::{AtomicU64, Ordering};

use crate::batch::{Entry, SeqId};
use crate::error::Error;
use indices::ABSENT;
pub(crate) use indices::Indices;
pub(crate) use key::{Key, Keys};
use pool::Pool;
pub use watch::CacheEvent;

/// The number of engines so far, which makes the ids of their sequences unique.
static ENGINES: AtomicU64 = AtomicU64::new(0);

/// The least rows worth a copy, which touches every layer of the cache. Fewer are computed again.
const WORTH_A_COPY: usize = 8;

/// The pages of all sequences.
#[derive(Debug)]
pub(crate) struct Pages {
    page: usize,
    context: usize,
    /// The most pages that the sequences of a step have together. A shared page counts for each.
    listed: usize,
    pool: Pool,
    sequences: Vec<Option<Sequence>>,
    /// The number of the engine.
    engine: u64,
    /// The number of sequences begun so far.
    begun: u64,
}

#[derive(Debug)]
struct Sequence {
    id: SeqId,
    len: usize,
    pages: Vec<u32>,
    /// The key of its last page in the prefix cache, and the number of its pages there. `None` if it does not use the
    /// prefix cache.
    chain: Option<(Key, usize)>,
}

/// A sequence that has begun, possibly with tokens from the prefix cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Begun {
    /// The sequence.
    pub(crate) seq: SeqId,
    /// The number of tokens whose keys and values it has once `copy` is done.
    pub(crate) cached: usize,
    /// Rows to copy before anything else.
    pub(crate) copy: Option<PageCopy>,
}

/// What the prefix cache has of some tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Found {
    /// The number of full pages.
    pub(crate) pages: usize,
    /// The number of them that no sequence holds.
    pub(crate) idle: usize,
}

/// A copy of the first `rows` rows of a page to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageCopy {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) rows: usize,
}

impl Pages {
    /// Creates `count` pages of `page` rows, for sequences of at most `context` tokens, with at most `listed` pages in
    /// a step. The number of rows must fit into an `i32`.
    pub(crate) fn new(page: usize, count: usize, context: usize, listed: usize) -> Pages {
        let engine = ENGINES.fetch_add(1, Ordering::Relaxed);
        Pages { page, context, listed, pool: Pool::new(count), sequences: Vec::new(), engine, begun: 0 }
    }

    /// The pool of pages.
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The number of pages that `tokens` tokens take.
    pub(crate) fn pages_of(&self, tokens: usize) -> usize {
        tokens.div_ceil(self.page)
    }

    /// Begins an empty sequence, which does not use the prefix cache.
    pub(crate) fn new_sequence(&mut self) -> SeqId {
        let empty = self.sequences.iter().position(Option::is_none);
        let at = empty.unwrap_or_else(|| {
            self.sequences.push(None);
            self.sequences.len() - 1
        });
        // Enough for the whole context, so that no step allocates.
        let pages = Vec::with_capacity(self.pages_of(self.context));
        let id = SeqId { engine: self.engine, place: at, generation: self.begun };
        self.begun += 1;
        self.sequences[at] = Some(Sequence { id, len: 0, pages, chain: None });
        id
    }

    /// Looks for these tokens in the prefix cache, except for the last, whose logits are wanted.
    pub(crate) fn find(&self, keys: &Keys, tokens: &[u32]) -> Found {
        let mut found = Found::default();
        for page in self.cached(keys, tokens) {
            found.pages += 1;
            found.idle += usize::from(self.pool.is_idle(page));
        }
        found
    }

    /// The full pages that the prefix cache has of these tokens, except for the last.
    fn cached<'a>(&'a self, keys: &'a Keys, tokens: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
        let most = tokens.len().saturating_sub(1);
        let pages = tokens[..most].chunks_exact(self.page).enumerate();
        pages.map_while(|(i, tokens)| self.pool.kept().find(keys.get(i)?, keys.before(i), tokens))
    }

    /// Returns whether there is room for `tokens` tokens, up to the whole context, of a sequence of which these pages are
    /// in the prefix cache, beside `reserved` pages.
    pub(crate) fn fits(&self, found: Found, tokens: usize, reserved: usize) -> bool {
        let available = found.pages + (self.pool.available() - found.idle).saturating_sub(reserved);
        available >= self.pages_of(tokens.min(self.context))
    }

    /// Begins a sequence with as many of these tokens as the prefix cache has, except for the last, whose logits are
    /// wanted.
    ///
    /// If it returns a `copy`, that must be done before any other change to the pages.
    pub(crate) fn begin(&mut self, keys: &Keys, tokens: &[u32]) -> Begun {
        let seq = self.new_sequence();
        let most = tokens.len().saturating_sub(1);
        let mut pages: Vec<u32> = self.cached(keys, tokens).collect();
        pages.iter().for_each(|page| self.pool.hold(*page));
        let key = *keys.before(pages.len());
        let full = pages.len();
        let mut cached = full * self.page;
        let rest = &tokens[cached..most.min(cached + self.page)];
        let partial = self.pool.kept().longest(&key, rest).filter(|(_, rows)| *rows >= WORTH_A_COPY);
        let mut copy = None;
        if let Some((from, rows)) = partial {
            // Held meanwhile, so that it is not evicted.
            self.pool.hold(from);
            if let Some(to) = self.pool.take() {
                pages.push(to);
                cached += rows;
                copy = Some(PageCopy { from, to, rows });
                // The last row of the layer for one token more depends on the next token.
                self.pool.predict(to, self.pool.predicted(from).min(rows - 1));
            }
            self.pool.release(from);
        }
        if let Some(Some(sequence)) = self.sequences.get_mut(seq.place) {
            sequence.len = cached;
            sequence.pages.extend(pages);
            sequence.chain = Some((key, full));
        }
        Begun { seq, cached, copy }
    }

    /// What the prefix cache has after these tokens, of which a sequence holds all but the last: at most so many.
    pub(crate) fn continued(&self, seq: SeqId, tokens: &[u32], most: usize) -> Vec<u32> {
        let chain = self.sequence(seq).and_then(|sequence| sequence.chain.as_ref());
        let Some((key, kept)) = chain.filter(|_| most > 0) else { return Vec::new() };
        let rest = tokens.get(kept * self.page..).unwrap_or_default();
        // A whole page beyond those that the sequence holds was not recorded yet.
        let (key, rest) = match rest.split_at_checked(self.page) {
            Some((page, rest)) => (key.then(page), rest),
            None => (*key, rest),
        };
        self.pool.kept().continued(key, rest, self.page, most)
    }

    /// Adds the full pages of a sequence, which holds these tokens, to the prefix cache.
    pub(crate) fn record(&mut self, seq: SeqId, tokens: &[u32]) {
        let page = self.page;
        let Some(Some(sequence)) = self.sequences.get_mut(seq.place) else { return };
        if sequence.id != seq {
            return;
        }
        let Some((key, kept)) = &mut sequence.chain else { return };
        while (*kept + 1) * page <= sequence.len {
            let tokens = &tokens[*kept * page..][..page];
            self.pool.keep(sequence.pages[*kept], key, tokens);
            *key = key.then(tokens);
            *kept += 1;
        }
    }

    /// Ends a sequence, which holds these tokens, and adds all its pages to the prefix cache.
    pub(crate) fn end(&mut self, seq: SeqId, tokens: &[u32]) {
        self.record(seq, tokens);
        if let Some(Sequence { len, pages, chain: Some((key, kept)), .. }) = self.sequence(seq) {
            let rest = &tokens[kept * self.page..*len];
            if let (Some(page), false) = (pages.get(*kept), rest.is_empty()) {
                let (page, key) = (*page, *key);
                self.pool.keep(page, &key, rest);
            }
        }
        self.free(seq);
    }

    /// The page that a whole page of rows of a sequence is to be written to, after its full pages. It may hold rows that
    /// the sequence has already. `None` if the sequence has ended, has all tokens of the context, or no page is available.
    pub(crate) fn next_page(&mut self, seq: SeqId) -> Option<u32> {
        let full = self.len(seq) / self.page;
        let more = (full + 1) * self.page - self.len(seq);
        ((full + 1) * self.page <= self.context && self.grow(seq, more)).then_some(())?;
        self.sequence(seq)?.pages.get(full).copied()
    }

    /// Records that all rows of the [next page](Pages::next_page) of a sequence, which holds these tokens, have been
    /// written.
    pub(crate) fn fill_page(&mut self, seq: SeqId, tokens: &[u32]) {
        let page = self.page;
        if let Some(Some(sequence)) = self.sequences.get_mut(seq.place)
            && sequence.id == seq
        {
            sequence.len = (sequence.len / page + 1) * page;
        }
        self.record(seq, tokens);
    }

    /// Takes the pages for `more` tokens of a sequence. Returns `false` and changes nothing if there are not enough.
    pub(crate) fn grow(&mut self, seq: SeqId, more: usize) -> bool {
        let Some(sequence) = self.sequence(seq) else { return false };
        let needed = self.pages_of(sequence.len + more).saturating_sub(sequence.pages.len());
        if needed > self.pool.available() {
            return false;
        }
        let Pages { pool, sequences, .. } = self;
        if let Some(Some(sequence)) = sequences.get_mut(seq.place) {
            sequence.pages.extend((0..needed).map_while(|_| pool.take()));
        }
        true
    }

    /// The number of pages that a sequence lacks for `tokens` tokens, up to the whole context.
    pub(crate) fn missing(&self, seq: SeqId, tokens: usize) -> usize {
        let held = self.sequence(seq).map_or(0, |sequence| sequence.pages.len());
        self.pages_of(tokens.min(self.context)).saturating_sub(held)
    }

    /// The most pages that the sequences of a step have together.
    pub(crate) fn listed(&self) -> usize {
        self.listed
    }

    /// The number of tokens by which a sequence can grow.
    pub(crate) fn room(&self, seq: SeqId) -> usize {
        let Some(Sequence { len, pages, .. }) = self.sequence(seq) else { return 0 };
        ((pages.len() + self.pool.available()) * self.page).min(self.context).saturating_sub(*len)
    }

    pub(crate) fn len(&self, seq: SeqId) -> usize {
        self.sequence(seq).map_or(0, |s| s.len)
    }

    /// Returns whether a sequence has not ended.
    pub(crate) fn has(&self, seq: SeqId) -> bool {
        self.sequence(seq).is_some()
    }

    fn sequence(&self, seq: SeqId) -> Option<&Sequence> {
        self.sequences.get(seq.place)?.as_ref().filter(|s| s.id == seq)
    }

    /// Begins to record changes of the prefix cache after `root`.
    pub(crate) fn watch(&mut self, root: Key) {
        self.pool.watch(root, self.page);
    }

    /// Takes the changes so far.
    pub(crate) fn cache_events(&mut self) -> Vec<CacheEvent> {
        self.pool.cache_events()
    }

    /// Empties the prefix cache. Sequences keep their pages.
    pub(crate) fn forget(&mut self) {
        self.pool.forget();
    }

    /// Ends a sequence and releases its pages.
    pub(crate) fn free(&mut self, seq: SeqId) {
        self.truncate(seq, 0);
        if self.sequence(seq).is_some() {
            self.sequences[seq.place] = None;
        }
    }

    /// Removes all but the first `len` tokens of a sequence.
    pub(crate) fn truncate(&mut self, seq: SeqId, len: usize) {
        let Pages { page, pool, sequences, .. } = self;
        if let Some(Some(sequence)) = sequences.get_mut(seq.place)
            && sequence.id == seq
        {
            sequence.len = sequence.len.min(len);
            let keep = sequence.len.div_ceil(*page);
            // The last first: the end of an idle chain is evicted before its beginning, without which it is useless.
            sequence.pages.drain(keep..).rev().for_each(|page| pool.release(page));
        }
    }

    /// Assigns a row to every token of a step, and writes the step's index inputs. On an error, nothing has changed.
    pub(crate) fn place(&mut self, entries: &[Entry], out: &mut Indices) -> Result<(), Error> {
        self.check(entries)?;
        for list in [&mut out.tokens, &mut out.pos, &mut out.slots, &mut out.first, &mut out.pages] {
            list.clear();
        }
        out.starts.clear();
        out.starts.resize(self.sequences.len(), ABSENT);
        for entry in entries {
            let Some(Some(sequence)) = self.sequences.get_mut(entry.seq.place) else { continue };
            let pos = sequence.len;
            if pos / self.page == sequence.pages.len() {
                sequence.pages.extend(self.pool.take());
            }
            debug_assert!(self.pool.is_own(sequence.pages[pos / self.page]), "others read this page");
            sequence.len += 1;
            out.tokens.push(entry.token as i32);
            out.pos.push(pos as i32);
            let row = sequence.pages[pos / self.page] as usize * self.page + pos % self.page;
            out.slots.push(row as i32);
        }
        // The page lists are complete now.
        for entry in entries {
            if out.starts[entry.seq.place] == ABSENT {
                out.starts[entry.seq.place] = out.pages.len() as i32;
                let pages = self.sequences[entry.seq.place].iter().flat_map(|s| &s.pages);
                out.pages.extend(pages.map(|p| *p as i32));
            }
            out.first.push(out.starts[entry.seq.place]);
        }
        Ok(())
    }

    /// Removes a step's tokens after it failed.
    pub(crate) fn undo(&mut self, entries: &[Entry]) {
        for entry in entries.iter().rev() {
            let len = self.len(entry.seq);
            self.truncate(entry.seq, len.saturating_sub(1));
        }
    }

    fn check(&self, entries: &[Entry]) -> Result<(), Error> {
        if let Some(ended) = entries.iter().find(|e| self.sequence(e.seq).is_none()) {
            let why = format!("{:?} has ended or belongs to another engine", ended.seq);
            return Err(Error::Batch(why));
        }
        let mut needed = 0;
        let mut listed = 0;
        for Sequence { id, len, pages, .. } in self.sequences.iter().flatten() {
            let more = entries.iter().filter(|e| e.seq == *id).count();
            if len + more > self.context {
                return Err(Error::Context { len: *len, more, context: self.context });
            }
            let all = (len + more).div_ceil(self.page).max(pages.len());
            needed += all - pages.len();
            listed += if more > 0 { all } else { 0 };
        }
        if listed > self.listed {
            let most = self.listed;
            return Err(Error::Batch(format!(
                "the sequences of the batch have {listed} pages: expected at most {most}"
            )));
        }
        let free = self.pool.available();
        if needed > free {
            return Err(Error::Pages { needed, free });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(seqs: &[(SeqId, u32)]) -> Vec<Entry> {
        seqs.iter().map(|(seq, token)| Entry { seq: *seq, token: *token, logits: false }).collect()
    }

    #[test]
    fn tokens_of_mixed_sequences_get_their_rows() {
        let mut pages = Pages::new(2, 4, 6, 64);
        let (a, b) = (pages.new_sequence(), pages.new_sequence());
        let mut out = Indices::default();
        pages.place(&entries(&[(a, 7), (a, 8), (b, 9), (a, 5)]), &mut out).unwrap();
        assert_eq!(out.tokens, [7, 8, 9, 5]);
        assert_eq!(out.pos, [0, 1, 0, 2]);
        // Pages are taken in the order in which they are needed: a 0, b 1, a 2.
        assert_eq!(out.slots, [0, 1, 2, 4]);
        assert_eq!(out.pages, [0, 2, 1]);
        assert_eq!(out.first, [0, 0, 2, 0]);
        pages.place(&entries(&[(b, 1)]), &mut out).unwrap();
        assert_eq!((&out.slots[..], &out.pages[..], &out.first[..]), (&[3][..], &[1][..], &[0][..]));
    }

    #[test]
    fn limits_are_errors_and_change_nothing() {
        let mut pages = Pages::new(2, 2, 3, 64);
        let (a, b) = (pages.new_sequence(), pages.new_sequence());
        let mut out = Indices::default();
        let four = entries(&[(a, 0); 4]);
        assert!(matches!(pages.place(&four, &mut out), Err(Error::Context { len: 0, more: 4, context: 3 })));
        pages.place(&four[..3], &mut out).unwrap();
        assert!(matches!(
            pages.place(&entries(&[(b, 0)]), &mut out),
            Err(Error::Pages { needed: 1, free: 0 })
        ));
        assert_eq!(pages.len(b), 0);
        pages.undo(&four[..3]);
        assert_eq!(pages.len(a), 0);
        pages.place(&entries(&[(b, 0)]), &mut out).unwrap();
        pages.free(b);
        assert!(matches!(pages.place(&entries(&[(b, 0)]), &mut out), Err(Error::Batch(_))));
        // The index is reused, the id is not.
        let c = pages.new_sequence();
        assert!(c.place == b.place && c != b);
        assert!(matches!(pages.place(&entries(&[(b, 0)]), &mut out), Err(Error::Batch(_))));
        pages.place(&entries(&[(c, 0)]), &mut out).unwrap();
        pages.free(b);
        assert_eq!(pages.len(c), 1);
    }

    #[test]
    fn truncating_releases_pages() {
        let mut pages = Pages::new(2, 3, 6, 64);
        let a = pages.new_sequence();
        let mut out = Indices::default();
        pages.place(&entries(&[(a, 0); 5]), &mut out).unwrap();
        pages.truncate(a, 2);
        assert_eq!((pages.len(a), pages.pool.available()), (2, 2));
        pages.place(&entries(&[(a, 0)]), &mut out).unwrap();
        assert_eq!(out.pos, [2]);
    }

    #[test]
    fn ids_are_unique_across_engines() {
        let (mut one, mut other) = (Pages::new(2, 2, 4, 64), Pages::new(2, 2, 4, 64));
        let (a, b) = (one.new_sequence(), other.new_sequence());
        assert_eq!((a.place, a.generation), (b.place, b.generation));
        assert!(a != b);
        let mut out = Indices::default();
        assert!(matches!(one.place(&entries(&[(b, 0)]), &mut out), Err(Error::Batch(_))));
        one.place(&entries(&[(a, 0)]), &mut out).unwrap();
        one.free(b);
        assert_eq!((one.len(a), one.len(b)), (1, 0));
    }

    fn keys(root: &Key, tokens: &[u32], page: usize) -> Keys {
        let mut keys = Keys::new(*root);
        keys.extend(tokens, page);
        keys
    }

    fn begin(pages: &mut Pages, root: &Key, tokens: &[u32]) -> Begun {
        let keys = keys(root, tokens, pages.page);
        let found = pages.find(&keys, tokens);
        let begun = pages.begin(&keys, tokens);
        assert_eq!(found.pages, begun.cached / pages.page);
        begun
    }

    /// Computes the rest of a sequence.
    fn compute(pages: &mut Pages, seq: SeqId, tokens: &[u32]) {
        let rest = &tokens[pages.len(seq)..];
        let entries = entries(&rest.iter().map(|token| (seq, *token)).collect::<Vec<_>>());
        pages.place(&entries, &mut Indices::default()).unwrap();
        pages.record(seq, tokens);
    }

    #[test]
    fn common_prefixes_share_full_pages_and_copy_the_rest() {
        let page = 2 * WORTH_A_COPY;
        let mut pages = Pages::new(page, 6, 6 * page, 64);
        let root = Key::root([]);
        let tokens: Vec<u32> = (0..).take(2 * page + WORTH_A_COPY + 2).collect();
        let first = begin(&mut pages, &root, &tokens);
        assert_eq!((first.cached, first.copy), (0, None));
        compute(&mut pages, first.seq, &tokens);

        // Full pages are shared while the first sequence still runs; its last page is not in the prefix cache yet.
        let second = begin(&mut pages, &root, &tokens);
        assert_eq!((second.cached, second.copy), (2 * page, None));
        assert_eq!(pages.pool.available(), 6 - 3);
        pages.end(second.seq, &tokens);
        assert_eq!(pages.pool.available(), 6 - 3, "the first still holds them");

        // Once it has ended, everything but the last token is shared.
        pages.end(first.seq, &tokens);
        assert_eq!((pages.pool.available(), pages.pool.idle()), (6, 3));
        let third = begin(&mut pages, &root, &tokens);
        let Some(PageCopy { from, to, rows }) = third.copy else { panic!("{third:?}") };
        assert_eq!((third.cached, rows, from != to), (tokens.len() - 1, WORTH_A_COPY + 1, true));
        compute(&mut pages, third.seq, &tokens);
        pages.end(third.seq, &tokens);

        // Other tokens in the middle of a page, another salt, and too few rows to be worth a copy.
        let mut other = tokens.clone();
        other[page + WORTH_A_COPY] = 99;
        let fourth = begin(&mut pages, &root, &other);
        assert_eq!(fourth.cached, page + WORTH_A_COPY);
        pages.free(fourth.seq);
        other[WORTH_A_COPY - 1] = 99;
        for (root, tokens) in [(root, other.as_slice()), (Key::root([b"salt".as_slice()]), &tokens)] {
            let none = begin(&mut pages, &root, tokens);
            assert_eq!((none.cached, none.copy), (0, None));
            pages.free(none.seq);
        }
    }

    #[test]
    fn a_copy_never_takes_the_page_it_copies_from() {
        let page = 2 * WORTH_A_COPY;
        let mut pages = Pages::new(page, 1, 4 * page, 64);
        let (root, tokens) = (Key::root([]), (0..WORTH_A_COPY as u32 + 1).collect::<Vec<_>>());
        let first = begin(&mut pages, &root, &tokens);
        compute(&mut pages, first.seq, &tokens);
        pages.end(first.seq, &tokens);
        assert_eq!((pages.pool.available(), pages.pool.idle()), (1, 1));
        let second = begin(&mut pages, &root, &tokens);
        assert_eq!((second.cached, second.copy), (0, None), "there is no page to copy to");
        assert_eq!(pages.pool.idle(), 1);
        // To grow, it evicts the page.
        assert!(pages.grow(second.seq, page) && !pages.grow(second.seq, page + 1));
        assert_eq!((pages.room(second.seq), pages.pool.available()), (page, 0));
    }
    #[test]
    fn idle_pages_that_are_shared_cannot_be_taken() {
        let mut pages = Pages::new(2, 6, 16, 64);
        let (root, tokens) = (Key::root([]), (0..9).collect::<Vec<u32>>());
        let first = begin(&mut pages, &root, &tokens[..6]);
        compute(&mut pages, first.seq, &tokens[..6]);
        let keys = keys(&root, &tokens, 2);
        // The third page's end is the last token of a prompt of six, and not of one of nine.
        assert_eq!(pages.find(&keys, &tokens[..6]), Found { pages: 2, idle: 0 });
        let all = Found { pages: 3, idle: 0 };
        for found in [all, Found { idle: 3, ..all }] {
            assert_eq!(pages.find(&keys, &tokens), found);
            let fits = |tokens, reserved| pages.fits(found, tokens, reserved);
            assert!(fits(12, 0) && !fits(13, 0) && fits(8, 2) && !fits(9, 2) && fits(6, 9));
            pages.end(first.seq, &tokens[..6]);
        }
        // A sequence has at most the context, eight pages.
        assert!(pages.fits(Found { pages: 8, idle: 3 }, 99, 6));
    }
}
