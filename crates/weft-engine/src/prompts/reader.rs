//! The thread that reads pages from disk, a few ahead of the engine.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::counts::Counts;
use super::folder::{Found, PromptCache};
use crate::pages::Key;

/// The most pages of a prompt that are in memory because the engine has not taken them yet.
const AHEAD: usize = 8;

/// The thread that reads pages, prompt by prompt.
pub(crate) struct Reader {
    /// `None` once the thread is to end.
    prompts: Option<Sender<Prompt>>,
    thread: Option<JoinHandle<()>>,
}

/// The pages to be read of one prompt.
struct Prompt {
    keys: Vec<Key>,
    rows: SyncSender<Vec<u8>>,
}

/// The rows of one prompt's pages, in order, up to the first that is missing or damaged. Dropping it stops the reading.
pub(crate) struct Reading {
    rows: Receiver<Vec<u8>>,
    /// A page that was waited for.
    waited: Option<Vec<u8>>,
}

/// The next page of a prompt.
pub(crate) enum Next {
    Rows(Vec<u8>),
    /// It is still being read.
    Later,
    /// There are no more.
    End,
}

impl Reader {
    /// Starts the thread. Pages have `bytes` bytes.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub(crate) fn start(cache: PromptCache, bytes: usize, counts: Arc<Counts>) -> io::Result<Reader> {
        let (prompts, queue) = channel();
        let work = move || queue.into_iter().for_each(|prompt| read(&cache, bytes, prompt, &counts));
        let thread = thread::Builder::new().name("weft prompt reader".into()).spawn(work)?;
        Ok(Reader { prompts: Some(prompts), thread: Some(thread) })
    }

    /// Begins to read these pages, after those asked for earlier.
    pub(crate) fn read(&self, keys: Vec<Key>) -> Reading {
        let (rows, receiver) = sync_channel(AHEAD);
        // If the thread has died, the channel is closed, which says that there are no pages.
        let _ = self.prompts.as_ref().map(|prompts| prompts.send(Prompt { keys, rows }));
        Reading { rows: receiver, waited: None }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.prompts = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn read(cache: &PromptCache, bytes: usize, Prompt { keys, rows }: Prompt, counts: &Counts) {
    for key in &keys {
        match cache.read(key, bytes) {
            Found::Rows(page) => {
                if rows.send(page).is_err() {
                    // The engine no longer wants them.
                    return;
                }
            }
            Found::Missing => return,
            Found::Damaged => return counts.damaged.add(1),
        }
    }
}

impl Reading {
    /// Takes the next page, if it has been read.
    pub(crate) fn next(&mut self) -> Next {
        match self.waited.take().map_or_else(|| self.rows.try_recv(), Ok) {
            Ok(rows) => Next::Rows(rows),
            Err(TryRecvError::Empty) => Next::Later,
            Err(TryRecvError::Disconnected) => Next::End,
        }
    }

    /// Waits for the next page or the end, no longer than this.
    pub(crate) fn wait(&mut self, most: Duration) {
        if self.waited.is_none() {
            match self.rows.recv_timeout(most) {
                Ok(rows) => self.waited = Some(rows),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }
}
