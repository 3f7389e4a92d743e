//! The header of a message, with the end of the message before it.
//!
//! ```text
//! <|end|> <|start|>assistant to=RECIPIENT<|channel|>CHANNEL to=RECIPIENT <|constrain|>TYPE<|message|>
//! ```
//!
//! Each part but the last may be missing, and the type may come without its mark. The recipient is in the role's part or in
//! the channel's. A second channel replaces the first, since models write that by mistake.

use crate::reply::call::{TagRead, TagReader};

pub(crate) const START: &str = "<|start|>";
pub(crate) const CHANNEL: &str = "<|channel|>";
pub(crate) const CONSTRAIN: &str = "<|constrain|>";
pub(crate) const MESSAGE: &str = "<|message|>";
pub(crate) const END: &str = "<|end|>";
/// The marks that end a message. The last two end the reply too.
pub(crate) const ENDS: [&str; 3] = [END, "<|return|>", "<|call|>"];

const ASSISTANT: &str = "assistant";
const TO: &str = "to=";

/// The most bytes of a header, with the end of the message before it. It is held back while it is read, and its words are kept.
pub(super) const MAX_BYTES: usize = 4096;

/// Reads a header character by character.
#[derive(Default)]
pub(super) struct Header {
    part: Part,
    /// The word being read.
    word: String,
    tag: TagReader,
    /// How many bytes have been read.
    read: usize,
    /// Where the header begins, after the end of the message before it.
    begin: usize,
    /// Whether there has been a mark.
    marks: bool,
    /// Whether the prompt has begun it.
    prompted: bool,
    /// How many channels there have been.
    channels: usize,
    channel: Option<String>,
    recipient: Option<String>,
    /// Whether there has been a type.
    typed: bool,
}

/// Which part is being read.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Part {
    /// Before a header: nothing yet, or the end of a message.
    #[default]
    Before,
    /// `assistant`, at the beginning of the header.
    Role,
    /// After that.
    AfterRole,
    Channel,
    Type,
}

/// The meaning of a character to a header.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderStep {
    /// A part of it.
    More,
    /// Its end.
    Whole,
    /// No header continues like that.
    Other,
}

impl Header {
    /// A header that begins with the end of the message before it.
    pub(super) fn new() -> Header {
        Header::default()
    }

    /// After `<|start|>`.
    pub(super) fn after_start() -> Header {
        Header { part: Part::Role, ..Header::default() }
    }

    /// The text so far was the prompt's, and the reply follows.
    pub(super) fn continue_in_reply(&mut self) {
        (self.read, self.begin, self.marks, self.prompted) = (0, 0, false, true);
    }

    /// Whether the prompt has begun it.
    pub(super) fn is_prompted(&self) -> bool {
        self.prompted
    }

    /// Where the header begins, after the end of the message before it.
    pub(super) fn begin(&self) -> usize {
        self.begin
    }

    /// Whether there has been a mark.
    pub(super) fn has_marks(&self) -> bool {
        self.marks
    }

    /// Whether the header itself has not begun.
    pub(super) fn is_before(&self) -> bool {
        self.part == Part::Before
    }

    pub(super) fn channel(&self) -> Option<&str> {
        self.channel.as_deref()
    }

    pub(super) fn recipient(&self) -> Option<&str> {
        self.recipient.as_deref()
    }

    pub(super) fn push(&mut self, c: char) -> HeaderStep {
        self.read += c.len_utf8();
        if self.read > MAX_BYTES {
            return HeaderStep::Other;
        }
        if self.tag.is_empty() && c != '<' {
            let goes_on = if c.is_whitespace() {
                self.end_word()
            } else {
                self.word.push(c);
                self.may_be_word()
            };
            return if goes_on { HeaderStep::More } else { HeaderStep::Other };
        }
        if self.tag.is_empty() && !self.end_word() {
            return HeaderStep::Other;
        }
        let marks: &[&'static str] = match self.part {
            Part::Before if self.marks => &[START, CHANNEL],
            Part::Before => &[START, CHANNEL, ENDS[0], ENDS[1], ENDS[2]],
            Part::Role | Part::AfterRole | Part::Channel if self.channels < 2 => {
                &[CHANNEL, CONSTRAIN, MESSAGE]
            }
            Part::Role | Part::AfterRole | Part::Channel => &[CONSTRAIN, MESSAGE],
            Part::Type => &[MESSAGE],
        };
        match self.tag.push(c, marks) {
            TagRead::Part => HeaderStep::More,
            TagRead::Other => HeaderStep::Other,
            TagRead::Whole(place) => self.mark(marks[place]),
        }
    }

    fn mark(&mut self, mark: &str) -> HeaderStep {
        if self.part == Part::Before && matches!(mark, START | CHANNEL) {
            self.begin = self.read - mark.len();
        }
        self.marks = true;
        self.part = match mark {
            MESSAGE => return HeaderStep::Whole,
            START => Part::Role,
            CONSTRAIN => {
                self.typed = false;
                Part::Type
            }
            CHANNEL => {
                if self.channels > 0 {
                    self.recipient = None;
                }
                self.channels += 1;
                self.channel = None;
                self.typed = false;
                Part::Channel
            }
            _ => Part::Before,
        };
        HeaderStep::More
    }

    /// Whether a word may begin like the one being read.
    fn may_be_word(&self) -> bool {
        let word = self.word.as_str();
        let recipient = self.recipient.is_none() && (TO.starts_with(word) || word.starts_with(TO));
        match self.part {
            Part::Before => false,
            Part::Role => ASSISTANT.starts_with(word),
            Part::AfterRole => recipient || (self.recipient.is_some() && !self.typed),
            Part::Channel => self.channel.is_none() || recipient || !self.typed,
            Part::Type => !self.typed,
        }
    }

    /// Whether the word that ends here has a place.
    fn end_word(&mut self) -> bool {
        if self.word.is_empty() {
            return true;
        }
        let word = std::mem::take(&mut self.word);
        let recipient = word.strip_prefix(TO).filter(|name| !name.is_empty() && self.recipient.is_none());
        match (self.part, recipient) {
            (Part::Role, _) => {
                self.part = Part::AfterRole;
                return word == ASSISTANT;
            }
            (Part::Channel, _) if self.channel.is_none() => self.channel = Some(word),
            (Part::AfterRole | Part::Channel, Some(name)) => self.recipient = Some(name.to_owned()),
            _ if self.typed || (self.part == Part::AfterRole && self.recipient.is_none()) => return false,
            _ => self.typed = true,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many characters of a text are parts of a header.
    fn parts(text: &str) -> usize {
        let mut header = Header::new();
        text.chars().take_while(|c| header.push(*c) == HeaderStep::More).count()
    }

    #[test]
    fn headers_are_bounded() {
        let (many, mark) = ("é".repeat(MAX_BYTES), "<|start|>assistant<|channel|>");
        // Two bytes each, after the mark.
        assert_eq!(parts(&format!("{mark}{many}")), mark.len() + (MAX_BYTES - mark.len()) / 2);
        let spaces = " ".repeat(MAX_BYTES);
        for begin in ["<|end|>", mark, "<|start|>assistant to=functions.f ", "<|channel|>final <|constrain|>"]
        {
            assert_eq!(parts(&format!("{begin}{spaces}")), MAX_BYTES, "{begin}");
            assert_eq!(
                parts(&format!("{begin}{}<|", &spaces[..MAX_BYTES - begin.len() - 2])),
                MAX_BYTES,
                "{begin}"
            );
        }
    }
}
