//! How a reply is shown while it is generated: as text, as lines of JSON, or not at all.

use std::io::{self, Write as _};

use serde_json::{Value, json};

use crate::terminal::streams::Out;

/// How a reply is shown.
pub(crate) enum Show<'a> {
    Nothing,
    /// As text, set for a terminal if there is one.
    Text(&'a mut Out),
    /// As events, a line of JSON each.
    Events(&'a mut Out),
}

impl Show<'_> {
    /// Shows more of the answer.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        match self {
            Show::Nothing => Ok(()),
            Show::Text(out) => out.reply(text),
            Show::Events(out) => event(out, &json!({ "event": "text", "text": text })),
        }
    }

    /// Shows more of the reasoning before the answer: dimmed on a terminal. Elsewhere it is not part of the text, because programs take the
    /// text as the answer.
    pub(crate) fn reasoning(&mut self, text: &str) -> io::Result<()> {
        match self {
            Show::Nothing => Ok(()),
            Show::Text(out) => out.aside(text),
            Show::Events(out) => event(out, &json!({ "event": "reasoning", "text": text })),
        }
    }

    /// Whether what the model writes before its answer is shown nowhere while it comes.
    pub(crate) fn hides_reasoning(&self) -> bool {
        match self {
            Show::Nothing => true,
            Show::Text(out) => !out.is_terminal(),
            Show::Events(_) => false,
        }
    }

    /// Says how many tokens of the prompt have been computed.
    pub(crate) fn prompt(&mut self, done: usize, total: usize) -> io::Result<()> {
        match self {
            Show::Nothing | Show::Text(_) => Ok(()),
            Show::Events(out) => event(out, &json!({ "event": "prompt", "done": done, "total": total })),
        }
    }

    /// Ends the reply.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        match self {
            Show::Nothing | Show::Events(_) => Ok(()),
            Show::Text(out) => out.end_reply(),
        }
    }
}

/// Writes and flushes a line of JSON.
pub(crate) fn event(out: &mut Out, event: &Value) -> io::Result<()> {
    writeln!(out, "{event}")?;
    out.flush()
}
