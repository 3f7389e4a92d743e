//! The messages of a conversation. The first may be the system message.

use weft_text::Message;

const SYSTEM: &str = "system";
const USER: &str = "user";

/// The messages of a conversation.
#[derive(Default)]
pub(crate) struct Messages(Vec<Message>);

impl Messages {
    /// A system message.
    pub(crate) fn system_message(text: &str) -> Message {
        Message::new(SYSTEM, text)
    }

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
            self.0.insert(0, Messages::system_message(text));
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

    /// Replaces all messages.
    pub(crate) fn replace(&mut self, messages: Vec<Message>) {
        self.0 = messages;
    }

    /// The text of the user's last message.
    pub(crate) fn last_question(&self) -> Option<String> {
        let last = self.0.iter().rfind(|message| message.role == USER)?;
        Some(last.content.as_str().unwrap_or_default().to_string())
    }

    /// Removes the last message of the user and all messages after it, and returns its text.
    pub(crate) fn undo(&mut self) -> Option<String> {
        let at = self.0.iter().rposition(|message| message.role == USER)?;
        let text = self.0[at].content.as_str().unwrap_or_default().to_string();
        self.0.truncate(at);
        Some(text)
    }

    /// Removes the oldest message of the user and its replies, unless it is the only one. Returns whether it did.
    pub(crate) fn drop_oldest(&mut self) -> bool {
        let mut questions =
            self.0.iter().enumerate().filter(|(_, message)| message.role == USER).map(|(at, _)| at);
        let (Some(first), Some(second)) = (questions.next(), questions.next()) else { return false };
        self.0.drain(first..second);
        true
    }

    /// Adds a message of the user.
    pub(crate) fn ask(&mut self, text: &str) {
        self.0.push(Message::new(USER, text));
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

    #[test]
    fn exchanges_are_removed_at_both_ends() {
        let mut messages = Messages::default();
        messages.set_system(Some("s"));
        for text in ["a", "b", "c"] {
            messages.ask(text);
            messages.answer(Some(Message::new("assistant", text.to_uppercase())));
        }
        let texts = |messages: &Messages| {
            messages.all().iter().filter_map(|m| m.content.as_str()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(messages.undo().as_deref(), Some("c"));
        assert_eq!(texts(&messages), "s a A b B");
        assert!(messages.drop_oldest());
        assert_eq!(texts(&messages), "s b B");
        assert!(!messages.drop_oldest(), "the last one stays");
        assert_eq!((messages.undo().as_deref(), messages.undo()), (Some("b"), None));
        assert_eq!(texts(&messages), "s");
    }
}
