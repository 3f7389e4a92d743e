//! A generation from the caller's side: its events, usage and timings.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::failure::Failure;

/// An event of a generation.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// More tokens of the prompt have been computed.
    Prompt {
        /// The number of tokens computed so far, including those from the prefix cache.
        done: usize,
        /// The number of tokens of the prompt.
        total: usize,
    },
    /// The next token of the prompt, with its log probability if it is not the first, if
    /// [requested](crate::GenerateOptions::prompt_logprobs). All come before the first token of the reply.
    PromptToken(Token),
    /// A token was sampled. The token that ends the turn counts, as does a stop token.
    Token(Token),
    /// More text of the reply: whole characters, without stop strings.
    Text(String),
    /// What the model computed of the prompt in place of a reply, if [requested](crate::Request::pooled): an embedding, not
    /// [normalised](crate::normalised), or scores.
    Output(Vec<f32>),
    /// The reply has ended. This is the last event.
    Finished(Finish),
}

/// A token, sampled or of a prompt.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Token {
    /// The token's id.
    pub id: u32,
    /// The log probability that the model gives the token, if requested: before biases, penalties, logit processors,
    /// temperature and cuts.
    pub logprob: Option<f32>,
    /// The likeliest tokens with their log probabilities, as many as requested, the likeliest first.
    pub likeliest: Vec<(u32, f32)>,
}

/// Why a reply ended.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Finish {
    /// The model ended its turn.
    EndOfTurn,
    /// This stop string came.
    Stop(String),
    /// This stop token came.
    StopToken(u32),
    /// The reply has the most tokens requested.
    Length,
    /// The context is full.
    Context,
    /// The generation was cancelled.
    Cancelled,
    /// The generation failed.
    Failed(Failure),
}

/// The tokens of a generation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Usage {
    /// The number of tokens of the prompt.
    pub prompt_tokens: usize,
    /// The number of prompt tokens that came from the prefix cache.
    pub cached_tokens: usize,
    /// The number of tokens generated, including the one that ends the turn.
    pub tokens: usize,
    /// The number of tokens that were guessed and computed. They are not part of the reply, unless they were right.
    pub guessed: usize,
    /// The number of guessed tokens that were right and saved a step.
    pub accepted: usize,
}

/// The durations of a generation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Timings {
    /// From the request until its first step.
    pub queued: Duration,
    /// From then until the first token was sampled.
    pub prompt: Duration,
    /// From then until the last token was sampled.
    pub decode: Duration,
}

/// A complete reply.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Reply {
    /// The tokens of the prompt, if their log probabilities were requested.
    pub prompt: Vec<Token>,
    /// Its text.
    pub text: String,
    /// Its tokens.
    pub tokens: Vec<Token>,
    /// What the model computed of the prompt in place of a reply, if requested.
    pub output: Option<Vec<f32>>,
    /// Why it ended.
    pub finish: Finish,
    /// Its tokens, counted.
    pub usage: Usage,
    /// Its durations.
    pub timings: Timings,
}

/// A request that an engine is working on.
///
/// [`Engine::step`](crate::Engine::step) computes it, and [`poll`](Generation::poll) returns its events. Dropping it
/// cancels it, which frees its pages at the beginning of the next step. It can be sent to another thread than the
/// engine's.
#[derive(Debug)]
#[must_use = "dropping a generation cancels it"]
pub struct Generation {
    id: u64,
    shared: Arc<Shared>,
}

impl Generation {
    pub(crate) fn new(id: u64, shared: Arc<Shared>) -> Generation {
        Generation { id, shared }
    }

    /// The number of the request. An engine numbers requests in the order in which they come.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the next event, or `None` if there are no more until the next step.
    pub fn poll(&mut self) -> Option<Event> {
        self.shared.state().events.pop_front()
    }

    /// Why the generation ended, or `None` if it has not. There may still be events to [`poll`](Generation::poll).
    pub fn finish(&self) -> Option<Finish> {
        self.shared.state().finish.clone()
    }

    /// The tokens so far.
    pub fn usage(&self) -> Usage {
        self.shared.state().usage
    }

    /// The durations so far.
    pub fn timings(&self) -> Timings {
        self.shared.state().timings
    }

    /// Cancels the generation. It ends at the beginning of the next step, with the reply so far.
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Release);
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// The state that an engine shares with the owner of a generation.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    cancelled: AtomicBool,
    state: Mutex<State>,
}

/// The events and the results of a generation, for its owner.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) events: VecDeque<Event>,
    pub(crate) finish: Option<Finish>,
    pub(crate) usage: Usage,
    pub(crate) timings: Timings,
}

impl Shared {
    /// Returns whether the owner has cancelled or dropped the generation.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Locks the state.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the state is locked. Even if something did, the state would be valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
