//! The parser of replies, in whichever form the model writes them.

use super::format::{ReplyFormat, ToolSyntax};
use super::harmony::HarmonyParser;
use super::ledger::Ledger;
use super::piece::{Output, ReplyPiece};
use super::tagged::TaggedParser;
use super::tools::Tool;

/// Splits a reply into [`ReplyPiece`]s as it is generated. The [module](super) says how.
pub struct ReplyParser(Form);

enum Form {
    Tagged(Box<TaggedParser>),
    Harmony(Box<HarmonyParser>),
}

impl ReplyParser {
    /// A parser for one reply. `prompt` is the rendered prompt, whose end says what it has begun of the reply: reasoning, or in
    /// the harmony format a message.
    ///
    /// Without tools no call is recognised. Schemas are read once, here.
    pub fn new(format: &ReplyFormat, tools: &[Tool], prompt: &str) -> ReplyParser {
        ReplyParser(if format.harmony {
            let tools = if format.tools == Some(ToolSyntax::Harmony) { tools } else { &[] };
            Form::Harmony(Box::new(HarmonyParser::new(tools, prompt)))
        } else {
            Form::Tagged(Box::new(TaggedParser::new(format, tools, prompt)))
        })
    }

    /// Takes more of the reply, and appends what is decided by it.
    pub fn push(&mut self, text: &str, out: &mut Vec<ReplyPiece>) {
        let mut output = Output::new(out);
        match &mut self.0 {
            Form::Tagged(parser) => text.chars().for_each(|c| parser.step(c, &mut output)),
            Form::Harmony(parser) => text.chars().for_each(|c| parser.step(c, &mut output)),
        }
    }

    /// Ends the reply: appends the text that was held back. The held beginning of a call is dropped, and so is the beginning of a tag that
    /// closes a call, or of a message's header.
    pub fn finish(&mut self, out: &mut Vec<ReplyPiece>) {
        let mut output = Output::new(out);
        match &mut self.0 {
            Form::Tagged(parser) => parser.finish(&mut output),
            Form::Harmony(parser) => parser.finish(&mut output),
        }
    }

    /// Whether the next character is expected to be reasoning, for counting tokens.
    pub fn in_reasoning(&self) -> bool {
        match &self.0 {
            Form::Tagged(parser) => parser.in_reasoning(),
            Form::Harmony(parser) => parser.in_reasoning(),
        }
    }

    /// Records the use of each byte, for [`law`](super::law).
    pub(crate) fn keep_ledger(&mut self) {
        *self.ledger() = Some(Ledger::default());
    }

    pub(crate) fn take_ledger(&mut self) -> Ledger {
        self.ledger().take().unwrap_or_default()
    }

    fn ledger(&mut self) -> &mut Option<Ledger> {
        match &mut self.0 {
            Form::Tagged(parser) => parser.ledger(),
            Form::Harmony(parser) => parser.ledger(),
        }
    }
}
