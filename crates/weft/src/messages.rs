//! The messages of a conversation, of which the first may be the system message.

use weft_text::Message;

const SYSTEM: &str = "system";

/// The messages of a conversation.
#[derive(Default)]
pub(crate) struct Messages(Vec<Message>);

impl Messages {
    /// All messages.
    pub(crate) fn all(&self) -> &[Message] {
        &self.0
    }

    /// The system message.
    pub(crate) fn system(&self) -> Option<&str> {
        self.0.first().filter(|message| message.role == SYSTEM)?.content.as_str()
    }

    /// Replaces the system message, or removes it.
    pub(crate) fn set_system(&mut self, text: Option<&str>) {
        if self.system().is_some() {
            self.0.remove(0);
        }
        if let Some(text) = text {
            self.0.insert(0, Message::new(SYSTEM, text));
        }
    }

    /// Whether there are no messages but the system message.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|message| message.role == SYSTEM)
    }

    /// Removes all messages but the system message.
    pub(crate) fn clear(&mut self) {
        self.0.retain(|message| message.role == SYSTEM);
    }

    /// Adds a message of the user.
    pub(crate) fn ask(&mut self, text: &str) {
        self.0.push(Message::new("user", text));
    }

    /// Ends a turn. Templates expect alternating turns, so a message without a reply is removed.
    pub(crate) fn answer(&mut self, reply: Option<Message>) {
        match reply {
            Some(reply) => self.0.push(reply),
            None => drop(self.0.pop()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_without_a_reply_is_removed() {
        let mut messages = Messages::default();
        messages.set_system(Some("a"));
        messages.set_system(Some("b"));
        messages.ask("q");
        messages.answer(Some(Message::new("assistant", "r")));
        messages.ask("q");
        messages.answer(None);
        let texts: Vec<&str> = messages.all().iter().filter_map(|m| m.content.as_str()).collect();
        assert_eq!(texts, ["b", "q", "r"]);
        assert!(!messages.is_empty());
        messages.clear();
        assert_eq!((messages.system(), messages.is_empty()), (Some("b"), true));
        messages.set_system(None);
        assert_eq!(messages.all(), []);
    }
}
