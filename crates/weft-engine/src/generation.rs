//! A generation as its owner sees it: events, and what it took.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Something that happened to a generation.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// So many tokens of the prompt have been computed.
    Prompt {
        /// Tokens done, those from the cache included.
        done: usize,
        /// Tokens of the prompt.
        total: usize,
    },
    /// A token was chosen, the one that ends the turn included.
    Token(Token),
    /// More text of the reply: whole characters, and no part of a stop text.
    Text(String),
    /// The reply has ended; nothing comes after it.
    Finished(Finish),
}

/// A chosen token.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Token {
    /// Which one.
    pub id: u32,
    /// Its log probability, if that was asked for: in the model's own distribution, before penalties, temperature and cuts.
    pub logprob: Option<f32>,
    /// The likeliest tokens with their log probabilities, as many as were asked for, the likeliest first.
    pub likeliest: Vec<(u32, f32)>,
}

/// Why a reply ended.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Finish {
    /// The model ended its turn.
    EndOfTurn,
    /// This stop text came.
    Stop(String),
    /// It has as many tokens as were asked for.
    Length,
    /// The context is full.
    Context,
    /// It was cancelled.
    Cancelled,
    /// It could not go on; a sentence says why.
    Failed(String),
}

/// How many tokens a generation took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// How many of these were in the KV cache already.
    pub cached_tokens: usize,
    /// Tokens generated, the one that ends the turn included.
    pub tokens: usize,
}

/// How long a generation took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Timings {
    /// From the request until it was begun.
    pub queued: Duration,
    /// From then until the first token was chosen.
    pub prompt: Duration,
    /// From then until the last.
    pub decode: Duration,
}

/// A reply as a whole.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Reply {
    /// Its text.
    pub text: String,
    /// Its tokens.
    pub tokens: Vec<Token>,
    /// Why it ended.
    pub finish: Finish,
    /// How many tokens it took.
    pub usage: Usage,
    /// How long it took.
    pub timings: Timings,
}

/// A request that an engine is working on.
///
/// [`Engine::step`](crate::Engine::step) moves it on, [`poll`](Generation::poll) tells what happened. Dropping it cancels it: the next step
/// begins with its pages free. It may be moved to another thread than the engine's.
#[derive(Debug)]
pub struct Generation {
    id: u64,
    shared: Arc<Shared>,
}

impl Generation {
    pub(crate) fn new(id: u64, shared: Arc<Shared>) -> Generation {
        Generation { id, shared }
    }

    /// Its number: requests of an engine are numbered in the order they came.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The next event, if there is one that was not polled yet.
    pub fn poll(&mut self) -> Option<Event> {
        self.shared.state().events.pop_front()
    }

    /// Why it ended, once it has.
    pub fn finish(&self) -> Option<Finish> {
        self.shared.state().finish.clone()
    }

    /// How many tokens it took so far.
    pub fn usage(&self) -> Usage {
        self.shared.state().usage
    }

    /// How long it took so far.
    pub fn timings(&self) -> Timings {
        self.shared.state().timings
    }

    /// Has it end with what there is, at the beginning of the next step.
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Release);
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// What an engine and the owner of a generation have in common.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    cancelled: AtomicBool,
    state: Mutex<State>,
}

/// What the owner is told.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) events: VecDeque<Event>,
    pub(crate) finish: Option<Finish>,
    pub(crate) usage: Usage,
    pub(crate) timings: Timings,
}

impl Shared {
    /// Whether the owner wants no more.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// What the owner is told.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // Nothing can panic while it is locked; if something did, what is there is still true.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
