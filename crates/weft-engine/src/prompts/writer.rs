//! The thread that writes pages to disk.
//!
//! A page goes through three queues. The engine *offers* it when it was used. The thread looks whether it has a file: if
//! so, the file's time of use is updated; if not, the page is *wanted*. The engine reads the rows of wanted pages from
//! the device when it has time to, and *hands* them over to be written. It never waits for the disk: the queue of rows
//! is bounded, and when it is full, wanted pages stay where they are.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use weft_runtime::Piece;

use super::counts::Counts;
use super::folder::PromptCache;
use super::page_file::HEADER;
use crate::memory::key::Key;

/// The most pages in memory that wait to be written.
const QUEUE: usize = 4;

/// A page or a snapshot after it, and when it was used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct UsedPage {
    pub(crate) key: Key,
    pub(crate) piece: Piece,
    pub(crate) used: SystemTime,
}

impl UsedPage {
    /// The key of its file.
    fn file(&self) -> Key {
        match self.piece {
            Piece::Page => self.key,
            Piece::States => self.key.of_states(),
        }
    }
}

/// The thread that writes pages.
pub(crate) struct Writer {
    desk: Arc<Desk>,
    thread: Option<JoinHandle<()>>,
    /// The most pages that are offered or wanted.
    most: usize,
}

/// The state that the engine and the thread share.
#[derive(Default)]
struct Desk {
    trays: Mutex<Trays>,
    changed: Condvar,
}

#[derive(Default)]
struct Trays {
    offered: VecDeque<UsedPage>,
    wanted: VecDeque<UsedPage>,
    handed: VecDeque<(UsedPage, Vec<u8>)>,
    removed: Vec<Key>,
    /// Buffers of pages that were written, for reuse.
    spare: Vec<Vec<u8>>,
    /// Whether the thread is working.
    busy: bool,
    /// The number of times that offers were dropped.
    drops: u64,
    closed: bool,
}

/// A piece of the thread's work.
enum Task {
    Look(UsedPage),
    Write(UsedPage, Vec<u8>),
    Remove(Vec<Key>),
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Trays> {
        // Nothing panics while the trays are locked.
        self.trays.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for work. Returns it with the number of drops so far, or `None` at the end.
    fn next(&self) -> Option<(Task, u64)> {
        let mut trays = self.lock();
        trays.busy = false;
        self.changed.notify_all();
        let task = loop {
            if !trays.removed.is_empty() {
                break Task::Remove(std::mem::take(&mut trays.removed));
            }
            if let Some((page, rows)) = trays.handed.pop_front() {
                break Task::Write(page, rows);
            }
            if trays.closed {
                return None;
            }
            if let Some(page) = trays.offered.pop_front() {
                break Task::Look(page);
            }
            trays = self.changed.wait(trays).unwrap_or_else(PoisonError::into_inner);
        };
        trays.busy = true;
        Some((task, trays.drops))
    }
}

impl Writer {
    /// Starts the thread, with at most `most` pages offered or wanted at a time.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub(crate) fn start(cache: PromptCache, most: usize, counts: Arc<Counts>) -> io::Result<Writer> {
        let desk = Arc::new(Desk::default());
        let shared = Arc::clone(&desk);
        let work = move || Work { cache, counts, total: None, unseen: 0 }.run(&shared);
        let thread = thread::Builder::new().name("weft prompt writer".into()).spawn(work)?;
        Ok(Writer { desk, thread: Some(thread), most })
    }

    /// Offers pages that were used, the beginning of a prompt first. Those that are too many are left out.
    pub(crate) fn offer(&self, pages: impl Iterator<Item = UsedPage>) {
        let mut trays = self.desk.lock();
        let room = self.most.saturating_sub(trays.offered.len() + trays.wanted.len());
        trays.offered.extend(pages.take(room));
        self.desk.changed.notify_all();
    }

    /// Takes a page whose rows are wanted, if they could be handed over now.
    pub(crate) fn take_wanted(&self) -> Option<UsedPage> {
        let mut trays = self.desk.lock();
        if trays.handed.len() < QUEUE { trays.wanted.pop_front() } else { None }
    }

    /// A buffer for rows.
    pub(crate) fn buffer(&self) -> Vec<u8> {
        self.desk.lock().spare.pop().unwrap_or_default()
    }

    /// Hands over the rows of a page to be written.
    pub(crate) fn hand(&self, page: UsedPage, rows: Vec<u8>) {
        self.desk.lock().handed.push_back((page, rows));
        self.desk.changed.notify_all();
    }

    /// Drops all pages that are offered or wanted, because they cannot be trusted.
    pub(crate) fn drop_offers(&self) {
        let mut trays = self.desk.lock();
        trays.offered.clear();
        trays.wanted.clear();
        trays.drops += 1;
    }

    /// Removes the files of these pages, and of the snapshots after them.
    pub(crate) fn remove(&self, pages: &[Key]) {
        self.desk.lock().removed.extend(pages);
        self.desk.changed.notify_all();
    }

    /// Returns whether everything offered has been dealt with.
    pub(crate) fn is_idle(&self) -> bool {
        let Trays { offered, wanted, handed, removed, busy, .. } = &*self.desk.lock();
        !busy && offered.is_empty() && wanted.is_empty() && handed.is_empty() && removed.is_empty()
    }

    /// Waits until the thread has done something, no longer than this.
    pub(crate) fn wait(&self, most: Duration) {
        let trays = self.desk.lock();
        let nothing = trays.offered.is_empty() && trays.handed.is_empty() && !trays.busy;
        if !nothing {
            drop(self.desk.changed.wait_timeout(trays, most));
        }
    }
}

/// Writes what was handed over, and nothing else.
impl Drop for Writer {
    fn drop(&mut self) {
        self.desk.lock().closed = true;
        self.desk.changed.notify_all();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The state of the thread.
struct Work {
    cache: PromptCache,
    counts: Arc<Counts>,
    /// The bytes of all files, as far as known.
    total: Option<u64>,
    /// The bytes written since the folder was listed.
    unseen: u64,
}

impl Work {
    fn run(mut self, desk: &Desk) {
        while let Some((task, drops)) = desk.next() {
            match task {
                Task::Look(page) => {
                    if !self.cache.touch(&page.file(), page.used) {
                        let mut trays = desk.lock();
                        if trays.drops == drops {
                            trays.wanted.push_back(page);
                        }
                    }
                }
                Task::Write(page, rows) => {
                    match self.write(&page, &rows) {
                        Ok(()) => self.counts.written.add(1),
                        Err(_) => self.counts.failed.add(1),
                    }
                    let mut trays = desk.lock();
                    if trays.spare.len() < QUEUE {
                        trays.spare.push(rows);
                    }
                }
                Task::Remove(pages) => {
                    pages
                        .iter()
                        .flat_map(|page| [*page, page.of_states()])
                        .for_each(|page| self.cache.remove(&page));
                }
            }
        }
    }

    fn write(&mut self, page: &UsedPage, rows: &[u8]) -> io::Result<()> {
        let bytes = (HEADER + rows.len()) as u64;
        let full = |total: u64| total.saturating_add(bytes) > self.cache.bytes;
        if self.unseen > self.cache.slack() || self.total.is_none_or(full) {
            let (left, removed) = self.cache.make_room(bytes)?;
            self.counts.evicted.add(removed);
            (self.total, self.unseen) = (Some(left), 0);
            if left.saturating_add(bytes) > self.cache.bytes {
                return Err(io::Error::other("other files leave no room"));
            }
        }
        let key = page.file();
        match self.cache.write(&key, rows, page.used) {
            // The folder was removed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.cache.prepare()?;
                self.cache.write(&key, rows, page.used)?;
            }
            written => written?,
        }
        self.total = self.total.map(|total| total + bytes);
        self.unseen += bytes;
        Ok(())
    }
}
