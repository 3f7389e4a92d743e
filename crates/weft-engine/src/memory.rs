//! The rows of the KV cache that belong to each sequence.
//!
//! Rows come in pages. Sequences that begin with the same tokens share pages: [`Pages::begin`] finds them in the prefix
//! cache, and [`Pages::record`] adds them to it. Layers with a sliding window have pages of their own ([`sliding`]). Layers with a state of a
//! whole sequence have slots ([`states`]).

mod follow;
pub(crate) mod key;
mod messages;
mod pool;
mod prefix;
mod sliding;
mod slots;
mod states;
mod watch;
mod window;

use std::sync::atomic::{AtomicU64, Ordering};

use weft_runtime::{Error, PageCopy, StepInputs, Window};

use crate::batch::{Entry, SeqId};
use key::{Key, Keys};
use pool::Pool;
use slots::States;
pub use watch::CacheEvent;
pub(crate) use window::Need;
use window::{Held, Windows};

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
    /// The pages of layers with a sliding window, if they keep only their window.
    windows: Option<Windows>,
    /// The slots of states of whole sequences, if the model has any.
    states: Option<States>,
    sequences: Vec<Option<Sequence>>,
    /// Where the pages of each sequence begin in the list of a step, or [`ABSENT`]. Kept so that no step allocates.
    starts: Vec<i32>,
    /// The number of the engine.
    engine: u64,
    /// The number of sequences begun so far.
    begun: u64,
}

/// No pages of a sequence are listed yet.
const ABSENT: i32 = -1;

#[derive(Debug)]
struct Sequence {
    id: SeqId,
    len: usize,
    pages: Vec<u32>,
    /// Its pages of layers with a sliding window.
    window: Held,
    /// Its states, if the model has states of whole sequences.
    state: slots::Held,
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
    /// The number of pages of layers with a sliding window that a token after them sees.
    pub(crate) windowed: usize,
    /// The number of those that no sequence holds.
    pub(crate) windowed_idle: usize,
}

impl Pages {
    /// Creates `count` pages of `page` rows, for sequences of at most `context` tokens, with at most `listed` pages in
    /// a step. The number of rows must fit into an `i32`.
    pub(crate) fn new(page: usize, count: usize, context: usize, listed: usize) -> Pages {
        let engine = ENGINES.fetch_add(1, Ordering::Relaxed);
        let (pool, windows, states) = (Pool::new(count), None, None);
        let (sequences, starts) = (Vec::new(), Vec::new());
        Pages { page, context, listed, pool, windows, states, sequences, starts, engine, begun: 0 }
    }

    /// Gives layers with a sliding window pages of their own, before any sequence has begun.
    pub(crate) fn with_window(self, window: Option<Window>) -> Pages {
        Pages { windows: window.map(Windows::new), ..self }
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
            self.starts.push(ABSENT);
            self.sequences.len() - 1
        });
        // Enough for the whole context, so that no step allocates.
        let pages = Vec::with_capacity(self.pages_of(self.context));
        let id = SeqId { engine: self.engine, place: at, generation: self.begun };
        self.begun += 1;
        let window = self.windows.as_ref().map(|windows| windows.none_held(self.page)).unwrap_or_default();
        self.sequences[at] =
            Some(Sequence { id, len: 0, pages, window, state: slots::Held::default(), chain: None });
        id
    }

    /// Looks for these tokens in the prefix cache, except for the last, whose logits are wanted.
    pub(crate) fn find(&self, keys: &Keys, tokens: &[u32]) -> Found {
        let full = self.usable(keys, tokens);
        let mut found = Found { pages: full, ..Found::default() };
        for page in self.cached(keys, tokens).take(full) {
            found.idle += usize::from(self.pool.is_idle(page));
        }
        if let Some(windows) = &self.windows {
            for page in self.cached_windows(windows, keys, tokens, full) {
                found.windowed += 1;
                found.windowed_idle += usize::from(windows.pool.is_idle(page));
            }
        }
        found
    }

    /// The full pages that the prefix cache has of these tokens, except for the last.
    fn cached<'a>(&'a self, keys: &'a Keys, tokens: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
        let most = tokens.len().saturating_sub(1);
        let pages = tokens[..most].chunks_exact(self.page).enumerate();
        pages.map_while(|(i, tokens)| self.pool.kept().find(keys.get(i)?, keys.before(i), tokens))
    }

    /// Begins a sequence with as many of these tokens as the prefix cache has, except for the last, whose logits are
    /// wanted.
    ///
    /// If it returns a `copy`, that must be done before any other change to the pages.
    pub(crate) fn begin(&mut self, keys: &Keys, tokens: &[u32]) -> Begun {
        let seq = self.new_sequence();
        let most = tokens.len().saturating_sub(1);
        let full = self.usable(keys, tokens);
        let mut pages: Vec<u32> = self.cached(keys, tokens).take(full).collect();
        let windowed = self.hold_windows(keys, tokens, full);
        let snapshot = self.hold_snapshot(keys, tokens, full);
        let cuts = self.cuts(keys, tokens);
        pages.iter().for_each(|page| self.pool.hold(*page));
        let key = *keys.before(full);
        let mut cached = full * self.page;
        let rest = &tokens[cached..most.min(cached + self.page)];
        // Rows can be copied, but there is no state after them.
        let partial = self.pool.kept().longest(&key, rest).filter(|_| !self.has_states());
        let partial = partial.filter(|(_, rows)| *rows >= WORTH_A_COPY);
        let copy = partial.and_then(|(from, rows)| self.copy_of(from, rows));
        if let Some(PageCopy { from, to, rows, .. }) = copy {
            pages.push(to);
            cached += rows;
            // The last row of the layer for one token more depends on the next token.
            self.pool.predict(to, self.pool.predicted(from).min(rows - 1));
        }
        let first_window =
            self.windows.as_ref().map_or(0, |windows| windows.first_seen(full * self.page, self.page));
        if let Some(Some(sequence)) = self.sequences.get_mut(seq.place) {
            sequence.len = cached;
            sequence.pages.extend(pages);
            sequence.window.begin(first_window, windowed);
            sequence.window.extend(copy.and_then(|copy| copy.windowed).map(|(_, to)| to));
            sequence.state.begin(snapshot, cached, cuts);
            sequence.chain = Some((key, full));
        }
        Begun { seq, cached, copy }
    }

    /// Takes pages for a copy of the first rows of a page in the prefix cache. `None` if there are none, or the rows of layers
    /// with a sliding window are gone.
    fn copy_of(&mut self, from: u32, rows: usize) -> Option<PageCopy> {
        // Held meanwhile, so that they are not evicted.
        let mut copied = None;
        self.pool.hold(from);
        let windowed = match &mut self.windows {
            None => Some(None),
            Some(windows) => self.pool.kept().key(from).and_then(|key| windows.copy_of(key)).map(Some),
        };
        if let Some(windowed) = windowed {
            copied = self.pool.take().map(|to| PageCopy { from, to, windowed, rows });
            if let (None, Some((_, unused)), Some(windows)) = (copied, windowed, &mut self.windows) {
                windows.pool.release(unused);
            }
        }
        self.pool.release(from);
        copied
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
            if let (Some(windows), Some(own)) = (&mut self.windows, sequence.window.get(*kept)) {
                windows.pool.keep(own, key, tokens);
            }
            if let Some(states) = &mut self.states {
                states.record(&mut sequence.state, (*kept + 1) * page, key, tokens);
            }
            *key = key.then(tokens);
            *kept += 1;
        }
    }

    /// Ends a sequence, which holds these tokens, and adds all its pages to the prefix cache.
    pub(crate) fn end(&mut self, seq: SeqId, tokens: &[u32]) {
        self.record(seq, tokens);
        if let Some(Sequence { len, pages, window, chain: Some((key, kept)), .. }) = self.sequence(seq) {
            let rest = &tokens[kept * self.page..*len];
            if let (Some(page), false) = (pages.get(*kept), rest.is_empty()) {
                let (page, windowed, key) = (*page, window.get(*kept), *key);
                self.pool.keep(page, &key, rest);
                if let (Some(windows), Some(own)) = (&mut self.windows, windowed) {
                    windows.pool.keep(own, &key, rest);
                }
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
        self.make_room(needed);
        if needed > self.available() {
            return false;
        }
        let Pages { pool, windows, sequences, .. } = self;
        if let Some(Some(sequence)) = sequences.get_mut(seq.place) {
            sequence.pages.extend((0..needed).map_while(|_| pool.take()));
            if let Some(windows) = windows {
                sequence.window.extend((0..needed).map_while(|_| windows.pool.take()));
            }
        }
        true
    }

    /// The most pages that the sequences of a step have together.
    pub(crate) fn listed(&self) -> usize {
        self.listed
    }

    /// The number of tokens by which a sequence can grow.
    pub(crate) fn room(&self, seq: SeqId) -> usize {
        let Some(Sequence { len, pages, .. }) = self.sequence(seq) else { return 0 };
        ((pages.len() + self.available()) * self.page).min(self.context).saturating_sub(*len)
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
        self.windows.iter_mut().for_each(|windows| windows.pool.forget());
        self.states.iter_mut().for_each(|states| states.pool.forget());
    }

    /// Ends a sequence and releases its pages.
    pub(crate) fn free(&mut self, seq: SeqId) {
        self.truncate(seq, 0);
        if self.sequence(seq).is_some() {
            self.sequences[seq.place] = None;
        }
    }

    /// Removes all but the first `len` tokens of a sequence. Returns how many it has left: fewer if layers with a sliding
    /// window have released pages that a token after them would see, and then none; or if the model has states of whole sequences,
    /// and then as many as it had before the last step, or none.
    pub(crate) fn truncate(&mut self, seq: SeqId, len: usize) -> usize {
        let Pages { page, windows, states, sequences, .. } = self;
        let Some(Some(sequence)) = sequences.get_mut(seq.place) else { return 0 };
        if sequence.id != seq {
            return 0;
        }
        let mut keep = sequence.len.min(len);
        if let Some(states) = states {
            keep = states.go_back(&mut sequence.state, keep);
        }
        if let Some(windows) = &*windows
            && !sequence.window.reaches(windows.first_seen(keep, *page))
        {
            keep = 0;
        }
        if let (0, Some(states)) = (keep, states) {
            states.go_back(&mut sequence.state, 0);
        }
        sequence.len = keep;
        self.release_spare(seq, 0);
        keep
    }

    /// Releases the pages of a sequence that it does not need for `more` tokens.
    pub(crate) fn release_spare(&mut self, seq: SeqId, more: usize) {
        let Pages { page, pool, windows, sequences, .. } = self;
        let Some(Some(sequence)) = sequences.get_mut(seq.place) else { return };
        let keep = (sequence.len + more).div_ceil(*page);
        if sequence.id != seq || keep >= sequence.pages.len() {
            return;
        }
        // The last first: the end of an idle chain is evicted before its beginning, without which it is useless.
        sequence.pages.drain(keep..).rev().for_each(|page| pool.release(page));
        if let Some(windows) = windows {
            sequence.window.truncate(keep, &mut windows.pool);
        }
    }

    /// Assigns a row to every token of a step, and writes the step's index inputs. On an error, nothing has changed.
    pub(crate) fn place(&mut self, entries: &[Entry], out: &mut StepInputs) -> Result<(), Error> {
        self.check(entries)?;
        out.clear();
        self.starts.fill(ABSENT);
        for entry in entries {
            let Some(Some(sequence)) = self.sequences.get_mut(entry.seq.place) else { continue };
            let pos = sequence.len;
            if pos / self.page == sequence.pages.len() {
                sequence.pages.extend(self.pool.take());
                sequence.window.extend(self.windows.as_mut().and_then(|windows| windows.pool.take()));
            }
            debug_assert!(self.pool.is_own(sequence.pages[pos / self.page]), "others read this page");
            sequence.len += 1;
            out.tokens.push(entry.token as i32);
            out.pos.push(pos as i32);
            let row = sequence.pages[pos / self.page] as usize * self.page + pos % self.page;
            out.slots.push(row as i32);
            let page = sequence.window.get(pos / self.page);
            debug_assert!(
                page.iter().zip(&self.windows).all(|(page, windows)| windows.pool.is_own(*page)),
                "others read this page"
            );
            out.window_slots.extend(page.map(|page| (page as usize * self.page + pos % self.page) as i32));
        }
        // The page lists are complete now.
        for entry in entries {
            if self.starts[entry.seq.place] == ABSENT {
                self.starts[entry.seq.place] = out.pages.len() as i32;
                let sequence = self.sequences[entry.seq.place].iter();
                out.pages.extend(sequence.clone().flat_map(|s| &s.pages).map(|p| *p as i32));
                out.window_pages.extend(sequence.flat_map(|s| s.window.listed()).map(|p| p as i32));
            }
            out.first.push(self.starts[entry.seq.place]);
        }
        let Pages { states: Some(states), sequences, .. } = self else { return Ok(()) };
        for run in entries.chunk_by(|a, b| a.seq == b.seq) {
            let Some(Some(sequence)) = sequences.get_mut(run[0].seq.place) else { continue };
            let end = out.ends.last().copied().unwrap_or(0) + run.len() as i32;
            // There is a slot: `check` has seen to it.
            let Some([from, to]) = states.advance(&mut sequence.state, sequence.len) else { continue };
            out.ends.push(end);
            out.from.push(from);
            out.to.push(to);
        }
        Ok(())
    }

    /// Removes a step's tokens after it failed.
    pub(crate) fn undo(&mut self, entries: &[Entry]) {
        // All tokens of a sequence at once, because a state of a whole sequence cannot go back by one.
        for (i, Entry { seq, .. }) in entries.iter().enumerate() {
            if entries[..i].iter().any(|other| other.seq == *seq) {
                continue;
            }
            let count = entries[i..].iter().filter(|other| other.seq == *seq).count();
            let len = self.len(*seq);
            self.truncate(*seq, len.saturating_sub(count));
        }
    }

    fn check(&mut self, entries: &[Entry]) -> Result<(), Error> {
        if let Some(ended) = entries.iter().find(|e| self.sequence(e.seq).is_none()) {
            let why = format!("{:?} has ended or belongs to another engine", ended.seq);
            return Err(Error::Batch(why));
        }
        self.check_states(entries)?;
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
        self.make_room(needed);
        let free = self.available();
        if needed > free {
            return Err(Error::Pages { needed, free });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
