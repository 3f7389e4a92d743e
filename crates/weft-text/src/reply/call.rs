//! The parts that parsers of calls have in common.

use super::piece::{Output, ReplyPiece};
use super::scanner::Scanner;
use super::tools::Tools;

/// The meaning of a character to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Undecided. It is held back, with all since the last `Take`.
    Hold,
    /// It belongs to the call, with all that was held back. The step in which a call begins is a `Take` or a `Done`.
    Take,
    /// It belongs to the call, with all that was held back, and ends it.
    Done,
    /// The text that was held back and this character are to be read again: the call has changed its mind about what came before.
    Again,
    /// It does not belong to the call, nor does anything that was held back: the call is over, or never was one.
    Leave,
}

/// Where a call's pieces go.
pub(crate) struct Sink<'a, 'o> {
    pub(crate) output: &'a mut Output<'o>,
    /// How many calls have begun.
    pub(crate) calls: &'a mut usize,
}

impl Sink<'_, '_> {
    pub(crate) fn begin(&mut self, tools: &Tools, tool: usize) {
        self.output.push(ReplyPiece::ToolCall { index: *self.calls, name: tools.name(tool).to_owned() });
        *self.calls += 1;
    }

    pub(crate) fn arguments(&mut self, json: &str) {
        self.output.arguments(*self.calls - 1, json);
    }

    /// Ends the call if only brackets are missing from its arguments where `c` begins the mark of its end: a model that writes the
    /// mark takes the call for complete.
    pub(crate) fn close_before(&mut self, c: char, scanner: &Scanner) -> bool {
        let Some(rest) = scanner.missing().filter(|_| matches!(c, '<' | '[' | '`')) else { return false };
        self.arguments(&rest);
        self.end();
        true
    }

    pub(crate) fn end(&mut self) {
        self.output.push(ReplyPiece::ToolCallEnd { index: *self.calls - 1 });
    }
}

/// Reads one of several tags.
#[derive(Default)]
pub(crate) struct TagReader {
    read: String,
}

/// The result of [`TagReader::push`].
pub(crate) enum TagRead {
    /// The beginning of a tag.
    Part,
    /// The tag with this place in the list.
    Whole(usize),
    /// Something else.
    Other,
}

impl TagReader {
    /// Whether no character has been read since the last tag.
    pub(crate) fn is_empty(&self) -> bool {
        self.read.is_empty()
    }

    pub(crate) fn push(&mut self, c: char, tags: &[&str]) -> TagRead {
        self.read.push(c);
        let found = tags.iter().position(|tag| tag.starts_with(&self.read));
        match found {
            Some(place) if tags[place].len() == self.read.len() => {
                self.read.clear();
                TagRead::Whole(place)
            }
            Some(_) => TagRead::Part,
            None => TagRead::Other,
        }
    }

    /// The text read of a tag that turned out to be something else, with the character that showed it.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(&mut self.read)
    }
}
