//! A prompt that a chat template has written, and which of its characters are data.

/// The output of a [`ChatTemplate`](crate::ChatTemplate), for [`Tokenizer::encode_chat`](crate::Tokenizer::encode_chat).
///
/// It remembers where the text of messages, tools and other values could be mistaken for control tokens: `<|user|>` typed
/// by a user is text, the same characters written by the template are a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderedPrompt {
    text: String,
    /// The ends of the characters that no control token may contain, in bytes, in ascending order.
    data: Vec<usize>,
}

impl RenderedPrompt {
    /// Creates a prompt in which every control token is parsed, wherever it is. For prompts that a program wrote itself,
    /// without any text of a user.
    pub fn trusted(text: impl Into<String>) -> RenderedPrompt {
        RenderedPrompt { text: text.into(), data: Vec::new() }
    }

    /// Creates a prompt; the characters that end at the ascending offsets `data` belong to no control token.
    pub(crate) fn new(text: String, data: Vec<usize>) -> RenderedPrompt {
        debug_assert!(data.is_sorted());
        RenderedPrompt { text, data }
    }

    /// Adds text of the template, in which control tokens are parsed.
    pub fn push_markup(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds text of a user or a model, which contains no control tokens.
    pub fn push_data(&mut self, text: &str) {
        let begin = self.text.len();
        self.data.extend(text.char_indices().map(|(at, c)| begin + at + c.len_utf8()));
        self.text.push_str(text);
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text, without the marks of data.
    pub fn into_text(self) -> String {
        self.text
    }

    /// The ends of the characters that no control token may contain.
    pub(crate) fn data(&self) -> &[usize] {
        &self.data
    }
}
