//! The use of each byte of a reply, for tests that nothing is lost.

use super::piece::Channel;

/// The use of a part of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is text of the answer.
    Text,
    /// It is reasoning.
    Reasoning,
    /// It is a tag.
    Tag,
    /// It is white space next to a tag or a call.
    Space,
    /// It is a part of the call with this number.
    Call(usize),
}

/// The uses of a reply's bytes, in order, and the work that they took.
#[derive(Default)]
pub(crate) struct Ledger {
    /// Uses, each with the number of bytes.
    pub(crate) fates: Vec<(Fate, usize)>,
    /// Characters handled, and bytes moved or compared.
    pub(crate) work: usize,
}

impl From<Channel> for Fate {
    fn from(channel: Channel) -> Fate {
        match channel {
            Channel::Reasoning => Fate::Reasoning,
            Channel::Text => Fate::Text,
        }
    }
}

impl Ledger {
    /// Adds the use of the next bytes.
    pub(crate) fn settle(&mut self, fate: Fate, length: usize) {
        match self.fates.last_mut() {
            Some((last, total)) if *last == fate && fate != Fate::Tag => *total += length,
            _ if length == 0 => {}
            _ => self.fates.push((fate, length)),
        }
    }
}
