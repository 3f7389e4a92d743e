//! The partner of a conversation: a model or a server.

use serde_json::Value;
use weft_text::Message;

use super::session::With;
use crate::chat::messages::Messages;
use crate::terminal::streams::Out;

/// A model in this process, or a server.
pub(super) trait Partner {
    /// The name of the partner, for the first line.
    fn name(&self) -> String;

    /// The model or server, to find it again.
    fn with(&self) -> With;

    /// The conversation so far.
    fn messages(&mut self) -> &mut Messages;

    /// Generates a reply to the messages, and streams it to `out` until it ends or Ctrl-C is pressed.
    ///
    /// # Errors
    /// If there is no reply.
    fn reply(&mut self, out: &mut Out) -> anyhow::Result<Reply>;

    /// Whether an error of [`reply`](Partner::reply) means that the context is full.
    fn is_full(&self, error: &anyhow::Error) -> bool;

    /// Says that the context is full, and how to continue.
    fn full(&self) -> String;

    /// Changes a setting to a number; `None` to its default. The name is that of an option, and the value in its range.
    fn set(&mut self, name: &str, value: Option<f64>);

    /// Sets whether the model reasons first; `None` leaves it to the chat template.
    fn set_think(&mut self, think: Option<bool>);

    /// The value of a setting that [`set`](Partner::set) changes; `None` if it is not set.
    fn setting(&self, name: &str) -> Option<Value>;

    /// Makes the next reply to the same messages another one.
    fn vary(&mut self);

    /// Continues with another model. The messages stay.
    ///
    /// # Errors
    /// If it cannot be used. The conversation then continues with the model it had.
    fn switch(&mut self, model: &str) -> anyhow::Result<()>;
}

/// A reply, which has been shown.
pub(super) struct Reply {
    pub(super) ended: Ended,
    /// The message to add to the conversation; `None` if there is nothing to keep.
    pub(super) message: Option<Message>,
    /// Token counts and timings, on one line.
    pub(super) statistics: String,
    /// The tokens of the conversation with the reply, and the context, where they are known.
    pub(super) room: Option<(usize, usize)>,
}

/// The message of a reply.
pub(super) fn answer(text: &str, reasoning: &str) -> Message {
    let mut message = Message::new("assistant", text);
    if !reasoning.is_empty() {
        // Templates need it where a turn is not over, and drop it elsewhere.
        message.extra.insert("reasoning_content".to_string(), reasoning.into());
    }
    message
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
    /// It only repeated itself.
    Repeats,
}
