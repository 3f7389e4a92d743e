//! A reply read as it comes: reasoning and answer apart, in the form in which the model writes them.

use std::io;

use weft_text::ChatTemplate;
use weft_text::reply::{ReplyFormat, ReplyParser, ReplyPiece};

use crate::chat::show::Show;

/// The form of a model's replies. Calls of tools are none of the command's: they are text, as written.
pub(super) fn format(template: &ChatTemplate) -> ReplyFormat {
    let mut format = ReplyFormat::of(template.source());
    format.tools = None;
    format
}

/// The part of a reply that has been read.
#[derive(Default)]
pub(super) struct Reading {
    /// The parser that separates reasoning from the answer; `None` if the reply is only text.
    parser: Option<ReplyParser>,
    /// The answer.
    pub(super) text: String,
    /// The reasoning before it.
    pub(super) reasoning: String,
    /// Whether spaces and line breaks at the beginning of the answer are left out.
    pub(super) trims: bool,
}

impl Reading {
    /// Reads a reply to this prompt, as rendered.
    pub(super) fn new(format: &ReplyFormat, prompt: &str) -> Reading {
        Reading { parser: Some(ReplyParser::new(format, &[], prompt)), ..Reading::default() }
    }

    /// Reads a reply that is only text. `trims` leaves out spaces and line breaks at its beginning.
    pub(super) fn plain(trims: bool) -> Reading {
        Reading { trims, ..Reading::default() }
    }

    /// Takes more of the reply and shows what it says.
    ///
    /// # Errors
    /// If it cannot be shown. It is kept in any case.
    pub(super) fn push(&mut self, text: &str, show: &mut Show<'_>) -> io::Result<()> {
        let mut pieces = Vec::new();
        match &mut self.parser {
            Some(parser) => parser.push(text, &mut pieces),
            None => pieces.push(ReplyPiece::Text(text.to_string())),
        }
        self.take(pieces, show)
    }

    /// Ends the reply: takes what was held back because it could have become a mark.
    ///
    /// # Errors
    /// If it cannot be shown. It is kept in any case.
    pub(super) fn finish(&mut self, show: &mut Show<'_>) -> io::Result<()> {
        let mut pieces = Vec::new();
        if let Some(parser) = &mut self.parser {
            parser.finish(&mut pieces);
        }
        self.take(pieces, show)
    }

    fn take(&mut self, pieces: Vec<ReplyPiece>, show: &mut Show<'_>) -> io::Result<()> {
        let mut shown = Ok(());
        for piece in pieces {
            let one = match &piece {
                ReplyPiece::Reasoning(more) => {
                    self.reasoning += more;
                    show.reasoning(more)
                }
                ReplyPiece::Text(more) => {
                    let trim = self.trims && self.text.is_empty();
                    let more = if trim { more.trim_start() } else { more.as_str() };
                    self.text += more;
                    show.text(more)
                }
                // There are no tools.
                _ => Ok(()),
            };
            shown = shown.and(one);
        }
        shown
    }
}
