//! The parts that forms of calls have in common.

use serde_json::Value;

use crate::error::{GrammarError, Place};
use crate::lark::Lark;
use crate::schema::Mode;
use crate::vocabulary::Mark;

/// The rules for all calls of a reply.
pub(crate) struct Calls {
    /// How calls begin.
    pub(crate) opening: Opening,
    /// The rule of all calls, after the mark if one opens them.
    pub(crate) calls: String,
}

/// How the parser of replies distinguishes calls from text.
pub(crate) enum Opening {
    /// By the mark `begin`. Free text contains neither it nor those of `never`.
    Mark { begin: Mark, never: Vec<Mark> },
    /// By a brace at the very beginning of the reply. This rule is for text that begins differently.
    Brace { text: String },
    /// By the header of a message, in the harmony format.
    Header,
}

/// A tool with its schema reduced.
pub(super) struct Tool<'s> {
    pub(super) index: usize,
    pub(super) name: &'s str,
    pub(super) mode: Mode,
    /// The schema of its arguments.
    pub(super) arguments: Value,
}

/// Several calls with a rule each, or one.
pub(super) fn repeated(lark: &mut Lark, first: &str, next: &str, parallel: bool) -> String {
    if parallel { lark.rule(&format!("{first} (WS? {next})*")) } else { lark.rule(first) }
}

/// Refuses names that cannot be told from the markup around them.
///
/// # Errors
/// If the tool has such a name.
pub(super) fn plain_name(tool: &Tool<'_>) -> Result<(), GrammarError> {
    let odd = |c: char| {
        c.is_control() || c.is_whitespace() || matches!(c, '<' | '>' | '{' | '}' | '[' | ']' | '`' | '｜')
    };
    if !tool.name.contains(odd) {
        return Ok(());
    }
    Err(GrammarError::new(
        Place::Tool(tool.index),
        "name",
        "expected a name without whitespace, control characters and any of <>{}[]`｜: this model writes names as they are",
    ))
}
