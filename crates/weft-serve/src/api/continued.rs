//! Continues the last message of a conversation, which the model then takes for the beginning of its own reply.
//!
//! The prompt is that of the conversation without the message, and after it the message as the model would have written it. The text of
//! the message is data: it contains no control tokens.

use serde_json::Value;
use weft_engine::{Message, RenderedPrompt};
use weft_text::reply::ReplyFormat;

/// The beginning of a message of reasoning, and of the answer, in the harmony format; the prompt ends with `<|start|>assistant`.
const ANALYSIS: &str = "<|channel|>analysis<|message|>";
const FINAL: &str = "<|channel|>final<|message|>";

/// The text and reasoning of a message that a reply continues.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said<'a> {
    reasoning: &'a str,
    pub(super) text: &'a str,
}

impl Said<'_> {
    /// The text and reasoning of a message; `None` if it has calls, which cannot be continued.
    pub(super) fn of(message: &Message) -> Option<Said<'_>> {
        let reasoning = message.extra.get("reasoning_content").and_then(Value::as_str).unwrap_or_default();
        let text = message.content.as_str().unwrap_or_default();
        (message.role == "assistant" && !message.extra.contains_key("tool_calls"))
            .then_some(Said { reasoning, text })
    }

    /// Adds it to the prompt of a reply. Returns the prompt as the parser of the reply has to see it: with the mark at its end that says
    /// whether the reply continues reasoning or text.
    pub(super) fn write(self, prompt: &mut RenderedPrompt, format: &ReplyFormat) -> String {
        let Said { reasoning, text } = self;
        let open = format.begins_in_reasoning(prompt.text());
        if format.harmony {
            if !reasoning.is_empty() {
                prompt.push_markup(ANALYSIS);
                prompt.push_data(reasoning);
                if text.is_empty() {
                    return format!("<|start|>assistant{ANALYSIS}");
                }
                prompt.push_markup("<|end|><|start|>assistant");
            }
            if !text.is_empty() {
                prompt.push_markup(FINAL);
                prompt.push_data(text);
                return format!("<|start|>assistant{FINAL}");
            }
            return prompt.text().to_string();
        }
        if let Some(tags) = format.reasoning {
            if !reasoning.is_empty() {
                if !open {
                    prompt.push_markup(&format!("{}\n", tags.begin));
                }
                prompt.push_data(reasoning);
                if text.is_empty() {
                    return tags.begin.to_string();
                }
            }
            if !text.is_empty() && (open || !reasoning.is_empty()) {
                prompt.push_markup(&format!("\n{}\n\n", tags.end));
            }
        }
        let before = prompt.text().to_string();
        prompt.push_data(text);
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The prompt for the model, and the prompt for the parser.
    fn written(template: &str, prompt: &str, reasoning: &str, text: &str) -> [String; 2] {
        let mut message = Message::new("assistant", text);
        if !reasoning.is_empty() {
            message.extra.insert("reasoning_content".into(), reasoning.into());
        }
        let mut rendered = RenderedPrompt::trusted(prompt);
        let seen = Said::of(&message).unwrap().write(&mut rendered, &ReplyFormat::of(template));
        [rendered.into_text(), seen]
    }

    #[test]
    fn a_message_goes_on_where_it_ended() {
        let both = |prompt: &str, seen: &str| [prompt.to_string(), seen.to_string()];
        assert_eq!(written("", "<a>", "", "Hi"), both("<a>Hi", "<a>"));
        let think = "<think></think>";
        assert_eq!(written(think, "<a>", "", "Hi"), both("<a>Hi", "<a>"));
        assert_eq!(
            written(think, "<a><think>\n", "", "Hi"),
            both("<a><think>\n\n</think>\n\nHi", "<a><think>\n\n</think>\n\n")
        );
        assert_eq!(written(think, "<a>", "Hm", ""), both("<a><think>\nHm", "<think>"));
        assert_eq!(written(think, "<a><think>", "Hm", ""), both("<a><think>Hm", "<think>"));
        let whole = "<a><think>\nHm\n</think>\n\n";
        assert_eq!(written(think, "<a>", "Hm", "Hi"), both(&format!("{whole}Hi"), whole));
        let harmony = "<|start|><|message|><|channel|><|end|>";
        assert_eq!(
            written(harmony, "<|start|>assistant", "Hm", "Hi"),
            both(
                "<|start|>assistant<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>Hi",
                "<|start|>assistant<|channel|>final<|message|>"
            )
        );
        assert_eq!(written(think, "<a>", "", ""), both("<a>", "<a>"));
        let mut call = Message::new("assistant", "");
        call.extra.insert("tool_calls".into(), Value::Null);
        assert!(Said::of(&call).is_none() && Said::of(&Message::new("user", "Hi")).is_none());
    }
}
