//! The memory of sequences: their part of a model's states, and the part that the prefix cache keeps after them.
//!
//! There are three kinds of states, each with a file that implements [`Kind`]: rows for tokens ([`per_token`]), rows of a sliding
//! window ([`windows`]), and states of whole sequences ([`per_sequence`]). [`Memory`] knows the sequences, and asks all kinds.
//! Sequences that begin with the same tokens share their memory: [`Memory::begin`] finds in the prefix cache the longest prefix for
//! which no kind lacks anything, and [`Memory::record`] adds to the prefix cache.

mod follow;
pub(crate) mod key;
mod kind;
mod messages;
mod need;
mod per_sequence;
mod per_token;
mod pool;
mod prefix;
mod snapshots;
mod watch;
mod windows;

use std::sync::atomic::{AtomicU64, Ordering};

use weft_runtime::{Error, PageCopy, StepInputs, Window};

use crate::adapters::SequenceAdapter;
use crate::batch::{Entry, SeqId};
use key::{Key, Keys};
use kind::{Kind, Prefix};
pub(crate) use need::{Found, Need};
use per_sequence::States;
use per_token::Rows;
use pool::Pool;
pub use watch::CacheEvent;
use windows::Windows;

/// The number of engines so far, which makes the ids of their sequences unique.
static ENGINES: AtomicU64 = AtomicU64::new(0);

/// The least rows worth a copy, which touches every layer of the cache. Fewer are computed again.
const WORTH_A_COPY: usize = 8;

/// The memory of all sequences.
#[derive(Debug)]
pub(crate) struct Memory {
    page: usize,
    context: usize,
    /// The most pages that the sequences of a step have together. A shared page counts for each.
    listed: usize,
    /// The pages of states with a row for every token.
    rows: Rows,
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
    /// The key of its last page in the prefix cache, and the number of its pages there. `None` if it does not use the
    /// prefix cache.
    chain: Option<(Key, usize)>,
    /// The LoRA adapter of its tokens.
    adapter: SequenceAdapter,
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

impl Memory {
    /// Creates `count` pages of `page` rows, for sequences of at most `context` tokens, with at most `listed` pages in
    /// a step. The number of rows must fit into an `i32`.
    pub(crate) fn new(page: usize, count: usize, context: usize, listed: usize) -> Memory {
        let engine = ENGINES.fetch_add(1, Ordering::Relaxed);
        let (rows, windows, states) = (Rows::new(page, count, context.div_ceil(page)), None, None);
        let (sequences, starts) = (Vec::new(), Vec::new());
        Memory { page, context, listed, rows, windows, states, sequences, starts, engine, begun: 0 }
    }

    /// Gives layers with a sliding window pages of their own, before any sequence has begun.
    pub(crate) fn with_window(self, window: Option<Window>) -> Memory {
        Memory { windows: window.map(|window| Windows::new(window, self.page)), ..self }
    }

    /// All kinds of states that the model has.
    fn kinds(&self) -> impl Iterator<Item = &dyn Kind> {
        let Memory { rows, windows, states, .. } = self;
        let windows = windows.iter().map(|kind| kind as &dyn Kind);
        let states = states.iter().map(|kind| kind as &dyn Kind);
        std::iter::once(rows as &dyn Kind).chain(windows).chain(states)
    }

    /// All kinds of states that the model has, to change them.
    fn kinds_mut(&mut self) -> impl Iterator<Item = &mut dyn Kind> {
        let Memory { rows, windows, states, .. } = self;
        kinds_mut(rows, windows, states)
    }

    /// The pool of pages with a row for every token.
    pub(crate) fn pool(&self) -> &Pool {
        &self.rows.pool
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
        self.kinds_mut().for_each(|kind| kind.open(at));
        let id = SeqId { engine: self.engine, place: at, generation: self.begun };
        self.begun += 1;
        self.sequences[at] = Some(Sequence { id, len: 0, chain: None, adapter: SequenceAdapter::default() });
        id
    }

    /// Sets the LoRA adapter of a sequence, before any of its tokens is computed.
    pub(crate) fn adapt(&mut self, seq: SeqId, adapter: SequenceAdapter) {
        self.sequence_mut(seq).into_iter().for_each(|sequence| sequence.adapter = adapter);
    }

    /// Looks for these tokens in the prefix cache, except for the last, whose logits are wanted.
    pub(crate) fn find(&self, keys: &Keys, tokens: &[u32]) -> Found {
        let prefix = Prefix { keys, tokens, page: self.page };
        let full = self.longest(prefix);
        let windowed = self.windows.as_ref().map(|windows| windows.found(prefix, full));
        Found { rows: self.rows.found(prefix, full), windowed: windowed.unwrap_or_default() }
    }

    /// The number of full pages of a prefix, before its last token, after which all kinds of states have what a sequence needs.
    fn longest(&self, prefix: Prefix<'_>) -> usize {
        let mut most = prefix.most();
        loop {
            let found = self.kinds().fold(most, |most, kind| kind.longest(prefix, most));
            if found == most {
                return most;
            }
            most = found;
        }
    }

    /// Begins a sequence with as many of these tokens as the prefix cache has, except for the last, whose logits are
    /// wanted.
    ///
    /// If it returns a `copy`, that must be done before any other change to the memory.
    pub(crate) fn begin(&mut self, keys: &Keys, tokens: &[u32]) -> Begun {
        let seq = self.new_sequence();
        let prefix = Prefix { keys, tokens, page: self.page };
        let full = self.longest(prefix);
        self.kinds_mut().for_each(|kind| kind.begin(seq.place, prefix, full));
        self.choose_cuts(seq.place, prefix);
        let key = *keys.before(full);
        let mut cached = full * self.page;
        let most = tokens.len().saturating_sub(1);
        let copy = self.copy_of(&key, &tokens[cached..most.min(cached + self.page)]);
        if let Some(PageCopy { from, to, windowed, rows }) = copy {
            self.rows.push(seq.place, to);
            self.windows.iter_mut().zip(windowed).for_each(|(windows, (_, to))| windows.push(seq.place, to));
            cached += rows;
            // The last row of the layer for one token more depends on the next token.
            let predicted = self.rows.pool.predicted(from).min(rows - 1);
            self.rows.pool.predict(to, predicted);
        }
        let adapter = SequenceAdapter::default();
        self.sequences[seq.place] =
            Some(Sequence { id: seq, len: cached, chain: Some((key, full)), adapter });
        Begun { seq, cached, copy }
    }

    /// Takes pages for a copy of the rows of these tokens after `key`, as far as a page in the prefix cache has them. `None` if
    /// that is not worth it, there are no pages, the rows of layers with a sliding window are gone, or there would be no state of a
    /// whole sequence after them.
    fn copy_of(&mut self, key: &Key, tokens: &[u32]) -> Option<PageCopy> {
        let found = self.rows.pool.kept().longest(key, tokens).filter(|_| !self.has_states());
        let (from, rows) = found.filter(|(_, rows)| *rows >= WORTH_A_COPY)?;
        // Held meanwhile, so that they are not evicted.
        let mut copied = None;
        let Memory { rows: Rows { pool, .. }, windows, .. } = self;
        pool.hold(from);
        let windowed = match windows {
            None => Some(None),
            Some(windows) => pool.kept().key(from).and_then(|key| windows.copy_of(key)).map(Some),
        };
        if let Some(windowed) = windowed {
            copied = pool.take().map(|to| PageCopy { from, to, windowed, rows });
            if let (None, Some((_, unused)), Some(windows)) = (copied, windowed, windows) {
                windows.pool.release(unused);
            }
        }
        pool.release(from);
        copied
    }

    /// The tokens that the prefix cache has after `tokens`, at most `most`. The sequence holds all of `tokens` but the last.
    pub(crate) fn continued(&self, seq: SeqId, tokens: &[u32], most: usize) -> Vec<u32> {
        let chain = self.sequence(seq).and_then(|sequence| sequence.chain.as_ref());
        let Some((key, kept)) = chain.filter(|_| most > 0) else { return Vec::new() };
        let rest = tokens.get(kept * self.page..).unwrap_or_default();
        // A whole page beyond those that the sequence holds was not recorded yet.
        let (key, rest) = match rest.split_at_checked(self.page) {
            Some((page, rest)) => (key.then(page), rest),
            None => (*key, rest),
        };
        self.rows.pool.kept().continued(key, rest, self.page, most)
    }

    /// Adds the full pages of a sequence, which holds these tokens, to the prefix cache.
    pub(crate) fn record(&mut self, seq: SeqId, tokens: &[u32]) {
        let Memory { page, rows, windows, states, sequences, .. } = self;
        let Some(Some(sequence)) = sequences.get_mut(seq.place) else { return };
        let Sequence { id, len, chain: Some((key, kept)), .. } = sequence else { return };
        while *id == seq && (*kept + 1) * *page <= *len {
            let tokens = &tokens[*kept * *page..][..*page];
            kinds_mut(rows, windows, states).for_each(|kind| kind.keep(seq.place, *kept, key, tokens));
            *key = key.then(tokens);
            *kept += 1;
        }
    }

    /// Ends a sequence, which holds these tokens, and adds all its pages to the prefix cache.
    pub(crate) fn end(&mut self, seq: SeqId, tokens: &[u32]) {
        self.record(seq, tokens);
        if let Some(&Sequence { len, chain: Some((key, kept)), .. }) = self.sequence(seq) {
            let rest = &tokens[kept * self.page..len];
            if !rest.is_empty() {
                self.kinds_mut().for_each(|kind| kind.keep(seq.place, kept, &key, rest));
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
        self.list(seq).get(full).copied()
    }

    /// Records that all rows of the [next page](Memory::next_page) of a sequence, which holds these tokens, have been
    /// written.
    pub(crate) fn fill_page(&mut self, seq: SeqId, tokens: &[u32]) {
        let page = self.page;
        if let Some(sequence) = self.sequence_mut(seq) {
            sequence.len = (sequence.len / page + 1) * page;
        }
        self.record(seq, tokens);
    }

    /// The number of pages by which all sequences can grow together.
    pub(crate) fn available(&self) -> usize {
        self.kinds().map(Kind::available).min().unwrap_or(0)
    }

    /// Takes the pages for `more` tokens of a sequence. Returns `false` and changes nothing if there are not enough.
    pub(crate) fn grow(&mut self, seq: SeqId, more: usize) -> bool {
        let Some(sequence) = self.sequence(seq) else { return false };
        let needed = self.pages_of(sequence.len + more).saturating_sub(self.list(seq).len());
        self.make_room(needed);
        if needed > self.available() {
            return false;
        }
        self.kinds_mut().for_each(|kind| kind.grow(seq.place, needed));
        true
    }

    /// Releases pages that no next token of any sequence sees. The tokens of the last step must have been accepted or removed.
    pub(crate) fn slide(&mut self) {
        self.make_room(usize::MAX);
    }

    /// Releases such pages of kinds of which fewer than `needed` are available.
    fn make_room(&mut self, needed: usize) {
        let Memory { rows, windows, states, sequences, .. } = self;
        for kind in kinds_mut(rows, windows, states).filter(|kind| kind.available() < needed) {
            sequences.iter().flatten().for_each(|sequence| kind.slide(sequence.id.place, sequence.len));
        }
    }

    /// The most pages that the sequences of a step have together.
    pub(crate) fn listed(&self) -> usize {
        self.listed
    }

    /// The number of tokens by which a sequence can grow.
    pub(crate) fn room(&self, seq: SeqId) -> usize {
        let Some(Sequence { len, .. }) = self.sequence(seq) else { return 0 };
        ((self.list(seq).len() + self.available()) * self.page).min(self.context).saturating_sub(*len)
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

    fn sequence_mut(&mut self, seq: SeqId) -> Option<&mut Sequence> {
        self.sequences.get_mut(seq.place)?.as_mut().filter(|s| s.id == seq)
    }

    /// Begins to record changes of the prefix cache after `root`.
    pub(crate) fn watch(&mut self, root: Key) {
        self.rows.pool.watch(root, self.page);
    }

    /// Takes the changes so far.
    pub(crate) fn cache_events(&mut self) -> Vec<CacheEvent> {
        self.rows.pool.cache_events()
    }

    /// Empties the prefix cache. Sequences keep what they hold.
    pub(crate) fn forget(&mut self) {
        self.kinds_mut().for_each(Kind::forget);
    }

    /// Ends a sequence and releases what it holds.
    pub(crate) fn free(&mut self, seq: SeqId) {
        self.truncate(seq, 0);
        if self.has(seq) {
            self.sequences[seq.place] = None;
        }
    }

    /// Removes all but the first `len` tokens of a sequence. Returns how many it has left: as many as all kinds of states can be cut
    /// back to. These are none if layers with a sliding window have released pages that a token after them would see, and as
    /// many as before the last step, or none, if the model has states of whole sequences and the step has not kept the rows up to `len`.
    pub(crate) fn truncate(&mut self, seq: SeqId, len: usize) -> usize {
        let mut keep = self.len(seq).min(len);
        if !self.has(seq) {
            return 0;
        }
        loop {
            let reach = self.kinds().fold(keep, |keep, kind| kind.reach(seq.place, keep));
            if reach == keep {
                break;
            }
            keep = reach;
        }
        if let Some(sequence) = self.sequence_mut(seq) {
            sequence.len = keep;
        }
        self.kinds_mut().for_each(|kind| kind.truncate(seq.place, keep));
        keep
    }

    /// Releases the pages of a sequence that it does not need for `more` tokens.
    pub(crate) fn release_spare(&mut self, seq: SeqId, more: usize) {
        if let Some(&Sequence { len, .. }) = self.sequence(seq) {
            self.kinds_mut().for_each(|kind| kind.truncate(seq.place, len + more));
        }
    }

    /// Assigns a row to every token of a step, and writes the step's index inputs. On an error, nothing has changed.
    pub(crate) fn place(&mut self, entries: &[Entry], out: &mut StepInputs) -> Result<(), Error> {
        self.check(entries)?;
        out.clear();
        let Memory { rows, windows, states, sequences, starts, .. } = self;
        starts.fill(ABSENT);
        for entry in entries {
            let place = entry.seq.place;
            let Some(Some(sequence)) = sequences.get_mut(place) else { continue };
            kinds_mut(rows, windows, states).for_each(|kind| kind.place_token(place, sequence.len, out));
            out.tokens.push(entry.token as i32);
            out.pos.push(sequence.len as i32);
            out.adapters.push(sequence.adapter.number);
            out.adapter_scales.push(sequence.adapter.scale.to_bits() as i32);
            sequence.len += 1;
        }
        // The page lists are complete now.
        for Entry { seq: SeqId { place, .. }, .. } in entries {
            if starts[*place] == ABSENT {
                starts[*place] = out.pages.len() as i32;
                kinds_mut(rows, windows, states).for_each(|kind| kind.list(*place, out));
            }
            out.first.push(starts[*place]);
        }
        for run in entries.chunk_by(|a, b| a.seq == b.seq) {
            let place = run[0].seq.place;
            let Some(Some(sequence)) = sequences.get(place) else { continue };
            let guesses = run.iter().rev().take_while(|entry| entry.guess).count();
            let tokens = [run.len() - guesses, guesses];
            kinds_mut(rows, windows, states).for_each(|kind| kind.advance(place, tokens, sequence.len, out));
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
        for Sequence { id, len, .. } in self.sequences.iter().flatten() {
            let pages = self.rows.of(id.place).len();
            let more = entries.iter().filter(|e| e.seq == *id).count();
            if len + more > self.context {
                return Err(Error::Context { len: *len, more, context: self.context });
            }
            let all = (len + more).div_ceil(self.page).max(pages);
            needed += all - pages;
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

/// All kinds of states, to change them.
fn kinds_mut<'a>(
    rows: &'a mut Rows,
    windows: &'a mut Option<Windows>,
    states: &'a mut Option<States>,
) -> impl Iterator<Item = &'a mut dyn Kind> {
    let windows = windows.iter_mut().map(|kind| kind as &mut dyn Kind);
    let states = states.iter_mut().map(|kind| kind as &mut dyn Kind);
    std::iter::once(rows as &mut dyn Kind).chain(windows).chain(states)
}

#[cfg(test)]
mod tests;
