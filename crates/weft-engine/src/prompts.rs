//! The prefix cache on disk: pages of computed prompts, which a later engine need not compute again.
//!
//! A page of the prefix cache is identified by its [`Key`], a SHA-256 of everything its keys and values depend on: the tokens up to its
//! end, the request's salt, the type of the KV cache, the compiler's decisions, and with a prompt cache also the model's files, the
//! device's numbers ([`Runtime::numbers`](weft_runtime::Runtime::numbers)), the version of Weft and [`NUMBERS`]. So a page is found only
//! where computing it would give the same bits, and a file can be stored under its key alone ([`page_file`], [`folder`]).
//!
//! **Writing.** Whenever a generation has chosen a token, all full pages of its sequence are known to be good: the device
//! has reported no failure, and the logits, which depend on all of them, are numbers. Only then are they offered to the
//! [`writer`], a thread. Pages that it wants are read from the device in a thirty-second of the time of steps, or when the
//! engine is idle, and written in the background. If the device fails, everything not yet read is dropped.
//!
//! **Reading.** When a generation begins, the pages after those in memory are read by the [`reader`], another thread, up to
//! the first that is missing or damaged. The engine takes what has been read at the beginning of each step and writes it
//! to the device, while other generations go on; then the rest of the prompt is computed. A later generation that needs
//! the same pages waits for them, as for pages that are being computed.
//!
//! **States of whole sequences.** A page is of use only with the states after it. So snapshots of those are kept, too, in files
//! of their own: where prompts were cut to leave one, and at the end of a reply. A snapshot can be as large as the pages of
//! thousands of tokens; one of a short prompt is not kept ([`WORTH`]). Pages are read up to the last snapshot, and then the
//! snapshot.
//!
//! **Failures.** A file that is damaged in any way is removed, and its page is computed again and written again. If logits
//! are NaN, the files of the sequence's pages are removed as well. A process that is killed leaves whole files, and
//! possibly part files that the next one sweeps away. A disk that is full or cannot be written to costs nothing but a
//! count ([`PromptCacheStats`]).
//!
//! **Limits.** Only full pages are kept, so the last 1 to 32 tokens of a prompt are always computed. Pages that leave the
//! memory before the engine had time to read them are not kept. A build whose numbers changed without a change of
//! [`NUMBERS`] or the version would find pages of the old ones.

pub(crate) mod counts;
pub(crate) mod folder;
mod page_file;
mod reader;
mod writer;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use weft_pack::identity;
use weft_runtime::{Error, PAGE, Piece};

use crate::batch::SeqId;
use crate::memory::Memory;
use crate::memory::key::{Key, Keys};
use crate::runner::Runner;
use crate::running::Running;
use counts::{Counts, PromptCacheStats};
use folder::{PromptCache, time_of_use};
use page_file::HEADER;
use reader::{Bytes, Next, Read, Reader, Reading};
use writer::{UsedPage, Writer};

/// Increases whenever a model computes other bits than before. (A new version of Weft need not increase it.)
const NUMBERS: u32 = 4;

/// The longest time that a step spends on pages that were read.
const SLICE: Duration = Duration::from_millis(4);

/// The longest time that a step with nothing to compute waits for a page.
const PATIENCE: Duration = Duration::from_millis(20);

/// The share of the time of steps that may be spent on reading pages from the device, and the most that is saved up.
const SHARE: u32 = 32;
const SAVED: Duration = Duration::from_millis(20);

/// A snapshot is kept on disk if it has at most this many times the bytes of the pages before it.
const WORTH: usize = 16;

/// The time in which an engine that is dropped still writes pages to disk.
const LAST: Duration = Duration::from_secs(2);

/// The prompt cache of an engine.
pub(crate) struct Prompts {
    // Before the reader, which would wait for them.
    restores: Vec<Restore>,
    offered: Vec<Offered>,
    reader: Reader,
    writer: Writer,
    counts: Arc<Counts>,
    bytes: Bytes,
    /// The time that may be spent on reading pages from the device, and has been overdrawn.
    saved: Duration,
    overdrawn: Duration,
}

/// The number of pages of a sequence that were offered.
struct Offered {
    seq: SeqId,
    pages: usize,
}

/// A sequence whose pages are being read.
struct Restore {
    seq: SeqId,
    /// The number of its pages that were in memory.
    known: usize,
    reading: Reading,
}

/// Returns the root key of an engine that has a prompt cache. `key` is its root key without one.
///
/// # Errors
/// [`Error::Option`] if the model was not read from files, so that it cannot be identified.
pub(crate) fn root(key: &Key, runner: &mut Runner) -> Result<Key, Error> {
    let model = identity(runner.model().gguf());
    let model = model.ok_or_else(|| {
        Error::Option("a prompt cache needs a model that is read from a file; leave the cache out".into())
    })?;
    let version = format!("weft {} numbers {NUMBERS}", env!("CARGO_PKG_VERSION"));
    let machine = [std::env::consts::OS, std::env::consts::ARCH].join(" ");
    let [model, numbers] = [model.to_le_bytes().to_vec(), runner.numbers().into_bytes()];
    Ok(Key::root([key.bytes(), version.as_bytes(), machine.as_bytes(), &model, &numbers]))
}

impl Prompts {
    /// Opens the cache of a model.
    ///
    /// # Errors
    /// [`Error::Option`] if the folder cannot be used, or has no room for a page.
    pub(crate) fn open(cache: &PromptCache, runner: &Runner) -> Result<Prompts, Error> {
        let [page, states] = [Piece::Page, Piece::States].map(|piece| runner.piece_bytes(piece));
        let bytes = Bytes { page, states };
        // Room for a larger file is made by removing all others.
        let (files, what) = match states {
            0 => (HEADER + page, "a page"),
            _ => (2 * HEADER + page + states, "a page and a snapshot"),
        };
        if cache.bytes < files as u64 {
            let limit = cache.bytes;
            return Err(Error::Option(format!(
                "the prompt cache is limited to {limit} bytes: expected at least {files}, the size of {what} of this model"
            )));
        }
        let folder = cache.folder.display();
        let failed = |error| Error::Option(format!("cannot keep prompts in {folder}: {error}"));
        cache.prepare().map_err(failed)?;
        let counts = Arc::new(Counts::default());
        let pages = runner.memory().pool().count();
        Ok(Prompts {
            restores: Vec::new(),
            offered: Vec::new(),
            reader: Reader::start(cache.clone(), bytes, Arc::clone(&counts)).map_err(failed)?,
            writer: Writer::start(cache.clone(), pages, Arc::clone(&counts)).map_err(failed)?,
            counts,
            bytes,
            saved: Duration::ZERO,
            overdrawn: Duration::ZERO,
        })
    }

    /// The counts so far.
    pub(crate) fn stats(&self) -> PromptCacheStats {
        self.counts.stats()
    }

    /// Begins to read the pages of a new sequence that are not in memory, of its first `len` tokens.
    pub(crate) fn begin(&mut self, seq: SeqId, keys: &Keys, len: usize, memory: &Memory) {
        self.restores.retain(|restore| memory.has(restore.seq));
        self.offered.retain(|offered| memory.has(offered.seq));
        self.offered.push(Offered { seq, pages: 0 });
        // The logits of the last token are wanted, so it has to be computed.
        let (known, most) = (memory.len(seq) / PAGE, len.saturating_sub(1) / PAGE);
        if let Some(missing) = keys.pages().get(known..most).filter(|missing| !missing.is_empty()) {
            self.restores.push(Restore { seq, known, reading: self.reader.read(missing.to_vec()) });
        }
    }

    /// Returns whether pages of a sequence are still being read.
    pub(crate) fn is_restoring(&self, seq: SeqId) -> bool {
        self.restores.iter().any(|restore| restore.seq == seq)
    }

    /// Writes pages that have been read to the device, and adds them to their sequences and the prefix cache. Returns the
    /// number of prompt tokens that they hold.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn restore(&mut self, all: &mut [Running], runner: &mut Runner) -> Result<usize, Error> {
        let begun = Instant::now();
        let (mut tokens, mut failed) = (0, None);
        let counts = &self.counts;
        self.restores.retain_mut(|restore| {
            let Some(one) = all.iter_mut().find(|one| one.seq == Some(restore.seq)) else { return false };
            while failed.is_none() && begun.elapsed() < SLICE {
                let taken = match restore.reading.next() {
                    Next::Read(read) => restore.take(read, one, runner),
                    Next::Later => return true,
                    Next::End => Ok(false),
                };
                match taken {
                    Ok(true) => {
                        counts.restored.add(1);
                        // Pages are of use without more only if the model has no states of whole sequences.
                        if !runner.memory().has_states() {
                            tokens += one.restored(runner.memory().len(restore.seq));
                        }
                    }
                    Ok(false) => {
                        runner.memory_mut().back_to_state(restore.seq, &one.keys);
                        tokens += one.restored(runner.memory().len(restore.seq));
                        return false;
                    }
                    Err(error) => failed = Some(error),
                }
            }
            true
        });
        failed.map_or(Ok(tokens), Err)
    }

    /// Waits for a page of the sequence that has waited longest. Returns `false` if no sequence waits for any.
    pub(crate) fn wait(&mut self) -> bool {
        let Some(first) = self.restores.first_mut() else { return false };
        first.reading.wait(PATIENCE);
        true
    }

    /// Offers the full pages of a sequence, whose first `computed` tokens are computed and good, and snapshots. If it has `ended`, its
    /// last snapshot is among them.
    pub(crate) fn offer(&mut self, seq: SeqId, keys: &Keys, computed: usize, ended: bool, memory: &Memory) {
        let Some(offered) = self.offered.iter_mut().find(|offered| offered.seq == seq) else { return };
        let full = computed / PAGE;
        let now = SystemTime::now();
        let new = keys.pages().iter().enumerate().take(full).skip(offered.pages);
        let used = |piece: Piece| {
            move |(depth, key): (usize, &Key)| UsedPage { key: *key, piece, used: time_of_use(now, depth) }
        };
        self.writer.offer(new.clone().map(used(Piece::Page)));
        offered.pages = full.max(offered.pages);
        let Bytes { page, states } = self.bytes;
        if states == 0 {
            return;
        }
        let is_worth = |depth: usize| (depth + 1).saturating_mul(page).saturating_mul(WORTH) >= states;
        let snapshots = new.filter(|(depth, key)| {
            is_worth(*depth) && memory.snapshot_after(key).is_some_and(|(_, is_wanted)| is_wanted)
        });
        self.writer.offer(snapshots.map(used(Piece::States)));
        if ended {
            let mut all = keys.pages().iter().enumerate().take(full).rev();
            let last = all.find(|(_, key)| memory.snapshot_after(key).is_some());
            self.writer
                .offer(last.filter(|(depth, _)| is_worth(*depth)).map(used(Piece::States)).into_iter());
        }
    }

    /// Drops what has been offered and not read from the device yet.
    pub(crate) fn drop_offers(&mut self) {
        self.writer.drop_offers();
    }

    /// Removes the files of pages.
    pub(crate) fn distrust(&mut self, keys: &Keys) {
        self.writer.remove(keys.pages());
    }

    /// Reads wanted pages from the device, in a share of the time that the step before it `took`.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn hand_over(&mut self, took: Duration, runner: &Runner) -> Result<(), Error> {
        let gained = took / SHARE;
        self.saved = (self.saved + gained.saturating_sub(self.overdrawn)).min(SAVED);
        self.overdrawn = self.overdrawn.saturating_sub(gained);
        while !self.saved.is_zero() {
            let begun = Instant::now();
            if !self.hand_over_one(runner)? {
                break;
            }
            let spent = begun.elapsed();
            self.overdrawn += spent.saturating_sub(self.saved);
            self.saved = self.saved.saturating_sub(spent);
        }
        Ok(())
    }

    /// Works for a few milliseconds on pages that are to be written. Returns whether there are more.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn idle(&mut self, runner: &mut Runner) -> Result<bool, Error> {
        let begun = Instant::now();
        while !self.writer.is_idle() {
            let Some(left) = SLICE.checked_sub(begun.elapsed()) else { return Ok(true) };
            runner.wait()?;
            if !self.hand_over_one(runner)? {
                self.writer.wait(left);
            }
        }
        Ok(false)
    }

    /// Hands over what is wanted before the engine is dropped, as far as that is possible in a short time.
    pub(crate) fn finish(&mut self, runner: &mut Runner) {
        let begun = Instant::now();
        while begun.elapsed() < LAST && self.idle(runner).is_ok_and(|more| more) {}
    }

    /// Reads one page or snapshot that is wanted. Returns `false` if none is wanted or can be handed over.
    fn hand_over_one(&mut self, runner: &Runner) -> Result<bool, Error> {
        let Some(page) = self.writer.take_wanted() else { return Ok(false) };
        let memory = runner.memory();
        let at = match page.piece {
            Piece::Page => memory.pool().kept().page(&page.key),
            Piece::States => memory.snapshot_after(&page.key).map(|(slot, _)| slot),
        };
        // It may have been evicted.
        if let Some(at) = at {
            let mut rows = self.writer.buffer();
            runner.read_piece(page.piece, at, &mut rows)?;
            self.writer.hand(page, rows);
        }
        Ok(true)
    }
}

impl Restore {
    /// Writes what has been read to the device, and adds it to the sequence and the prefix cache. Returns whether there was room for
    /// it.
    ///
    /// # Errors
    /// If the device fails.
    fn take(&self, read: Read, one: &Running, runner: &mut Runner) -> Result<bool, Error> {
        let seq = self.seq;
        match read {
            Read::Page(rows) => {
                let Some(page) = runner.memory_mut().next_page(seq) else { return Ok(false) };
                runner.write_piece(Piece::Page, page, &rows)?;
                runner.memory_mut().fill_page(seq, &one.tokens);
            }
            Read::States(pages, rows) => {
                let pages = self.known + pages;
                let Some(slot) = runner.memory_mut().next_state(seq, pages) else { return Ok(false) };
                runner.write_piece(Piece::States, slot, &rows)?;
                runner.memory_mut().fill_state(seq, &one.keys, &one.tokens, pages);
            }
        }
        Ok(true)
    }
}
