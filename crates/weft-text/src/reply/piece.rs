//! The pieces of a reply.

/// A piece of a reply.
///
/// Neighbouring pieces of one kind belong together: where a text is cut into pieces has no meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyPiece {
    /// More of the reasoning.
    Reasoning(String),
    /// More of the answer.
    Text(String),
    /// A call begins.
    ToolCall {
        /// The number of the call, from 0.
        index: usize,
        /// The name of a declared tool.
        name: String,
    },
    /// More of a call's arguments. All fragments of a call that has a [`ToolCallEnd`](ReplyPiece::ToolCallEnd) join to one
    /// JSON object.
    Arguments {
        /// The number of the call.
        index: usize,
        /// A fragment of JSON text, never empty.
        json: String,
    },
    /// The call is complete. Without this piece the reply ended, or its JSON became invalid, within the arguments.
    ToolCallEnd {
        /// The number of the call.
        index: usize,
    },
}

/// The kind of text being read outside of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    Reasoning,
    Text,
}

/// Appends pieces to a caller's list, and joins neighbours of one kind.
pub(crate) struct Output<'a> {
    pieces: &'a mut Vec<ReplyPiece>,
    /// Pieces before this one are the caller's.
    from: usize,
}

impl<'a> Output<'a> {
    pub(crate) fn new(pieces: &'a mut Vec<ReplyPiece>) -> Output<'a> {
        let from = pieces.len();
        Output { pieces, from }
    }

    pub(crate) fn push(&mut self, piece: ReplyPiece) {
        self.pieces.push(piece);
    }

    pub(crate) fn prose(&mut self, channel: Channel, text: &str) {
        match channel {
            Channel::Reasoning => self.reasoning(text),
            Channel::Text => self.text(text),
        }
    }

    pub(crate) fn reasoning(&mut self, text: &str) {
        match self.pieces[self.from..].last_mut() {
            _ if text.is_empty() => {}
            Some(ReplyPiece::Reasoning(last)) => last.push_str(text),
            _ => self.push(ReplyPiece::Reasoning(text.to_owned())),
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        match self.pieces[self.from..].last_mut() {
            _ if text.is_empty() => {}
            Some(ReplyPiece::Text(last)) => last.push_str(text),
            _ => self.push(ReplyPiece::Text(text.to_owned())),
        }
    }

    pub(crate) fn arguments(&mut self, index: usize, json: &str) {
        match self.pieces[self.from..].last_mut() {
            _ if json.is_empty() => {}
            Some(ReplyPiece::Arguments { index: last_index, json: last }) if *last_index == index => {
                last.push_str(json);
            }
            _ => self.push(ReplyPiece::Arguments { index, json: json.to_owned() }),
        }
    }
}
