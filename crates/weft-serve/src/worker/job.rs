//! The jobs of a model's thread, and its answers.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc;
use weft_engine::{Event, Finish, Request, Timings, Usage};

use super::listed::Listed;
use crate::error::ApiError;
use crate::tenant::Tenant;

/// A request for one or more replies.
pub(crate) struct Job {
    /// Who asks.
    pub(crate) tenant: Tenant,
    /// One request for each reply.
    pub(crate) requests: Vec<Request>,
    /// The number of tokens of the prompts of all requests.
    pub(crate) prompt_tokens: usize,
    /// The most tokens of all replies.
    pub(crate) reply_tokens: usize,
    /// The tokens that its tenant has paid for it.
    pub(crate) paid: u64,
    /// When it came.
    pub(crate) since: Instant,
    /// When it must have ended.
    pub(crate) deadline: Instant,
    /// The facts about it for other threads.
    pub(crate) listed: Arc<Listed>,
    /// Where the answers go. Once nobody listens, the job is cancelled.
    pub(crate) signals: mpsc::UnboundedSender<Signal>,
}

/// An answer to a [`Job`].
#[derive(Debug)]
pub(crate) enum Signal {
    /// Something happened to a reply.
    Event {
        /// The number of the reply.
        choice: usize,
        /// What happened. [`Event::Finished`] comes as [`Signal::Ended`].
        event: Event,
    },
    /// A reply has ended.
    Ended {
        /// The number of the reply.
        choice: usize,
        /// Why.
        finish: Finish,
        /// Its tokens.
        usage: Usage,
        /// Its durations.
        timings: Timings,
    },
    /// The job has ended before its replies have.
    Refused(ApiError),
}
