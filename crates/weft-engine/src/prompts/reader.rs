//! The thread that reads prompts from disk, with others that read their pages: a few ahead of the engine, and then a snapshot if the
//! model has states of whole sequences.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::counts::Counts;
use super::folder::{Found, PromptCache};
use crate::memory::key::Key;

/// The pages of a prompt that wait for the engine in order. Each reader has one more and reads another.
const AHEAD: usize = 8;

/// The threads that read pages of a prompt at once.
const READERS: usize = 4;

/// The pages that each of them has read before their turn.
const AHEAD_EACH: usize = 1;

/// The thread that reads pages, prompt by prompt.
pub(crate) struct Reader {
    /// `None` once the thread is to end.
    prompts: Option<Sender<Prompt>>,
    thread: Option<JoinHandle<()>>,
}

/// The pages to be read of one prompt.
struct Prompt {
    keys: Vec<Key>,
    pieces: SyncSender<Read>,
}

/// The sizes of files without their headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bytes {
    pub(crate) page: usize,
    /// The bytes of a snapshot; 0 if the model has no states of whole sequences.
    pub(crate) states: usize,
}

/// A piece that has been read.
pub(crate) enum Read {
    /// The rows of the next page.
    Page(Vec<u8>),
    /// The states of whole sequences after this many of the pages. Nothing comes after it.
    States(usize, Vec<u8>),
}

/// The rows of one prompt's pages, in order, up to the first that is missing or damaged; and the states after the last of them that
/// has any, without which those after it are of no use. Dropping it stops the reading.
pub(crate) struct Reading {
    pieces: Receiver<Read>,
    /// A piece that was waited for.
    waited: Option<Read>,
}

/// The next piece of a prompt.
pub(crate) enum Next {
    Read(Read),
    /// It is still being read.
    Later,
    /// There are no more.
    End,
}

impl Reader {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub(crate) fn start(cache: PromptCache, bytes: Bytes, counts: Arc<Counts>) -> io::Result<Reader> {
        let (prompts, queue) = channel();
        let work = move || queue.into_iter().for_each(|prompt| read(&cache, bytes, prompt, &counts));
        let thread = thread::Builder::new().name("weft prompt reader".into()).spawn(work)?;
        Ok(Reader { prompts: Some(prompts), thread: Some(thread) })
    }

    /// Begins to read these pages, after those asked for earlier.
    pub(crate) fn read(&self, keys: Vec<Key>) -> Reading {
        let (pieces, receiver) = sync_channel(AHEAD);
        // If the thread has died, the channel is closed, which says that there are no pages.
        let _ = self.prompts.as_ref().map(|prompts| prompts.send(Prompt { keys, pieces }));
        Reading { pieces: receiver, waited: None }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.prompts = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Reads a prompt's pages and a snapshot, and sends them in order.
fn read(cache: &PromptCache, bytes: Bytes, Prompt { keys, pieces }: Prompt, counts: &Counts) {
    let has_states = |pages: &usize| cache.has(&keys[pages - 1].of_states());
    let wanted = match bytes.states {
        0 => keys.len(),
        _ => (1..=keys.len()).rev().find(has_states).unwrap_or(0),
    };
    let read = |key: &Key, bytes: usize| match cache.read(key, bytes) {
        Found::Rows(rows) => Some(rows),
        Found::Missing => None,
        Found::Damaged => {
            counts.damaged.add(1);
            None
        }
    };
    let keys = &keys[..wanted];
    thread::scope(|scope| {
        // Most of the time goes to checksums, so several threads read pages, each every so many.
        let share = |reader: usize, readers: usize| {
            let (rows, receiver) = sync_channel(AHEAD_EACH);
            let pages = keys.iter().skip(reader).step_by(readers);
            let work = move || {
                for key in pages {
                    let Some(page) = read(key, bytes.page) else { return };
                    if rows.send(page).is_err() {
                        return;
                    }
                }
            };
            thread::Builder::new().name("weft page reader".into()).spawn_scoped(scope, work)?;
            Ok::<_, io::Error>(receiver)
        };
        let readers = wanted.min(READERS);
        let threads: io::Result<Vec<Receiver<Vec<u8>>>> = (0..readers).map(|i| share(i, readers)).collect();
        // The last snapshot, meanwhile.
        let last = (bytes.states > 0 && wanted > 0).then(|| {
            let states = || read(&keys[wanted - 1].of_states(), bytes.states);
            thread::Builder::new().name("weft state reader".into()).spawn_scoped(scope, states).ok()
        });
        let last = last.flatten();
        // Without more threads, this one reads them all.
        let threads = threads.unwrap_or_default();
        let page = |at: usize| match threads.len() {
            0 => read(&keys[at], bytes.page),
            all => threads[at % all].recv().ok(),
        };
        let mut pages = 0;
        while pages < wanted
            && let Some(rows) = page(pages)
        {
            if pieces.send(Read::Page(rows)).is_err() {
                // The engine no longer wants them.
                return;
            }
            pages += 1;
        }
        let last = last.filter(|_| pages == wanted).and_then(|thread| thread.join().ok()).flatten();
        let states = |pages: usize| Some((pages, read(&keys[pages - 1].of_states(), bytes.states)?));
        let earlier = || (1..=pages).rev().filter(has_states).find_map(states);
        if bytes.states > 0
            && let Some((pages, rows)) = last.map(|rows| (pages, rows)).or_else(earlier)
        {
            let _ = pieces.send(Read::States(pages, rows));
        }
    });
}

impl Reading {
    /// Takes the next piece, if it has been read.
    pub(crate) fn next(&mut self) -> Next {
        match self.waited.take().map_or_else(|| self.pieces.try_recv(), Ok) {
            Ok(read) => Next::Read(read),
            Err(TryRecvError::Empty) => Next::Later,
            Err(TryRecvError::Disconnected) => Next::End,
        }
    }

    /// Waits for the next piece or the end, no longer than this.
    pub(crate) fn wait(&mut self, most: Duration) {
        if self.waited.is_none() {
            match self.pieces.recv_timeout(most) {
                Ok(read) => self.waited = Some(read),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }
}
