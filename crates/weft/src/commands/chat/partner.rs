//! What a conversation is held with.

use crate::messages::Messages;
use crate::out::Out;

/// A model in this process, or a server.
pub(super) trait Partner {
    /// What answers, for the first line.
    fn name(&self) -> String;

    /// The conversation so far.
    fn messages(&mut self) -> &mut Messages;

    /// Sends a message and streams the reply to `out`, until it ends or Ctrl-C is pressed.
    ///
    /// # Errors
    /// If there is no reply. The conversation is then unchanged.
    fn say(&mut self, message: &str, out: &mut Out) -> anyhow::Result<Reply>;

    /// Whether an error of [`say`](Partner::say) means that the context is full.
    fn is_full(&self, error: &anyhow::Error) -> bool;

    /// Says that the context is full, and how to continue.
    fn full(&self) -> String;
}

/// A reply, which has been shown.
pub(super) struct Reply {
    pub(super) ended: Ended,
    /// Token counts and timings, on one line.
    pub(super) statistics: String,
}

/// How a reply ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ended {
    /// By itself.
    Done,
    /// The context is full.
    Full,
    /// By Ctrl-C.
    Cancelled,
}
