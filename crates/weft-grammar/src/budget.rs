//! A budget of reasoning: closes the thought after so many tokens, with the mark that the model itself would write.

use std::collections::VecDeque;
use std::sync::Arc;

use weft_engine::{EncodeOptions, LogitProcessor};
use weft_text::reply::{ReplyFormat, ReplyParser, ReplyPiece, Tool};
use weft_text::{StreamDecoder, Tokenizer};

/// The name of the channel of reasoning in the harmony format.
const ANALYSIS: &[u8] = b"analysis";

/// Closes the reasoning of one reply after so many tokens. The reply continues with its answer.
///
/// The reply is read by the parser that splits replies, so a token of reasoning is what counts as one in the usage. A character
/// that has begun is completed first.
pub struct ReasoningBudget {
    tokenizer: Arc<Tokenizer>,
    parser: ReplyParser,
    decoder: StreamDecoder,
    /// The control tokens that the parser must see.
    shown: Vec<u32>,
    /// The number of tokens that are left.
    left: usize,
    /// The tokens that end the reasoning.
    end: Vec<u32>,
    /// The tokens that come next, whatever the logits are.
    forced: VecDeque<u32>,
    /// In the harmony format, messages have a channel, and the next must not be one of reasoning.
    harmony: bool,
    /// Whether the next token is the name of a channel.
    names_channel: bool,
}

impl ReasoningBudget {
    /// A budget for a reply of this format to this rendered prompt; `None` if the model does not reason.
    pub fn new(
        format: &ReplyFormat,
        tools: &[Tool],
        prompt: &str,
        tokenizer: &Arc<Tokenizer>,
        most: usize,
    ) -> Option<ReasoningBudget> {
        let end = match &format.reasoning {
            _ if format.harmony => "<|end|><|start|>assistant<|channel|>",
            Some(tags) => tags.end,
            None => return None,
        };
        let mut budget = ReasoningBudget {
            parser: ReplyParser::new(format, tools, prompt),
            decoder: StreamDecoder::new(),
            shown: format.shown(tokenizer),
            left: most,
            end: tokenizer.encode(end, EncodeOptions { parse_special: true, add_special: false }),
            forced: VecDeque::new(),
            harmony: format.harmony,
            names_channel: false,
            tokenizer: Arc::clone(tokenizer),
        };
        budget.close_if_spent();
        Some(budget)
    }

    /// Closes the reasoning if nothing is left, and the reply is within it.
    fn close_if_spent(&mut self) {
        if self.left == 0 && self.forced.is_empty() && self.parser.in_reasoning() && self.decoder.is_whole() {
            self.forced.extend(&self.end);
        }
    }

    /// Whether the next token must not name the channel of reasoning.
    fn forbids(&self, token: u32) -> bool {
        let text = self.tokenizer.token_bytes(token);
        !text.is_empty() && (ANALYSIS.starts_with(text) || text.starts_with(ANALYSIS))
    }
}

impl LogitProcessor for ReasoningBudget {
    fn process(&mut self, _: &[u32], _: usize, logits: &mut [f32]) -> Result<(), String> {
        if let Some(forced) = self.forced.front() {
            let forced = *forced as usize;
            // A grammar that does not allow the mark here comes first.
            if logits.get(forced).is_some_and(|logit| *logit > f32::NEG_INFINITY) {
                let others = logits.iter_mut().enumerate().filter(|(id, _)| *id != forced);
                others.for_each(|(_, logit)| *logit = f32::NEG_INFINITY);
            }
        } else if self.names_channel {
            let allowed = |(id, logit): (usize, &f32)| *logit > f32::NEG_INFINITY && !self.forbids(id as u32);
            if logits.iter().enumerate().any(allowed) {
                let named = logits.iter_mut().enumerate().filter(|(id, _)| self.forbids(*id as u32));
                named.for_each(|(_, logit)| *logit = f32::NEG_INFINITY);
            }
        }
        Ok(())
    }

    fn only(&mut self, _: &[u32], _: usize) -> Option<u32> {
        self.forced.front().copied()
    }

    fn is_idle(&mut self, _: &[u32], _: usize) -> bool {
        self.forced.is_empty() && !self.names_channel
    }

    fn chosen(&mut self, token: u32) {
        self.names_channel = false;
        if let Some(forced) = self.forced.pop_front() {
            if forced != token {
                // The reply went another way.
                self.forced.clear();
            } else if self.forced.is_empty() {
                self.names_channel = self.harmony;
            }
        }
        let before = self.parser.in_reasoning();
        let markup = self.tokenizer.is_end_of_generation(token) || self.tokenizer.is_control(token);
        if !markup || self.shown.contains(&token) {
            let text = self.decoder.push(self.tokenizer.token_bytes(token));
            let mut pieces: Vec<ReplyPiece> = Vec::new();
            self.parser.push(&text, &mut pieces);
        }
        if before && self.parser.in_reasoning() {
            self.left = self.left.saturating_sub(1);
        }
        self.close_if_spent();
    }
}

#[cfg(test)]
mod tests {
    use weft_text::TokenizerSpec;

    use super::*;

    /// A tokenizer of single bytes and these control tokens, which come after them.
    fn tokenizer(controls: &[&str]) -> Arc<Tokenizer> {
        let printable = |byte: u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
        let spelling = |byte: u8| {
            let before = (0..byte).filter(|&byte| !printable(byte)).count();
            let code = if printable(byte) { u32::from(byte) } else { 256 + before as u32 };
            char::from_u32(code).unwrap().to_string()
        };
        let mut tokens: Vec<String> = (0..=u8::MAX).map(spelling).collect();
        tokens.extend(controls.iter().map(|text| text.to_string()));
        let types = (0..tokens.len()).map(|id| if id < 256 { 1 } else { 3 }).collect();
        let spec = TokenizerSpec {
            model: "gpt2",
            pre: "gpt-2",
            tokens: tokens.iter().map(String::as_bytes).collect(),
            token_types: Some(types),
            merges: Some(Vec::new()),
            ..TokenizerSpec::default()
        };
        Arc::new(Tokenizer::new(&spec).unwrap())
    }

    /// The text of a reply whose model would write `written`, with the tokens that a budget forces in between.
    fn reply(template: &str, controls: &[&str], prompt: &str, most: usize, written: &str) -> String {
        let tokenizer = tokenizer(controls);
        let format = ReplyFormat::of(template);
        let mut budget = ReasoningBudget::new(&format, &[], prompt, &tokenizer, most).unwrap();
        let parse = EncodeOptions { parse_special: true, add_special: false };
        let mut wanted = VecDeque::from(tokenizer.encode(written, parse));
        let mut all = Vec::new();
        while let Some(next) = wanted.front().copied() {
            let mut logits = vec![0.0; 256 + controls.len()];
            logits[next as usize] = 1.0;
            let idle = budget.is_idle(&[], 0);
            let before = logits.clone();
            budget.process(&[], 0, &mut logits).unwrap();
            assert!(!idle || logits == before);
            let best = (0..logits.len()).max_by(|a, b| logits[*a].total_cmp(&logits[*b])).unwrap() as u32;
            if let Some(only) = budget.only(&[], 0) {
                assert_eq!(only, best);
            }
            if best == next {
                wanted.pop_front();
            } else if logits[next as usize] == f32::NEG_INFINITY && budget.only(&[], 0).is_none() {
                // Forbidden, and not in favour of a certain one: the model writes something else.
                wanted.pop_front();
                continue;
            }
            all.push(best);
            budget.chosen(best);
        }
        let bytes: Vec<u8> = all.iter().flat_map(|id| tokenizer.token_bytes(*id)).copied().collect();
        String::from_utf8(bytes).unwrap()
    }

    const TAGS: &[&str] = &["<think>", "</think>"];

    #[test]
    fn the_thought_is_closed_when_the_budget_is_spent() {
        let think =
            |prompt: &str, most: usize, written: &str| reply("{{ '<think>' }}", TAGS, prompt, most, written);
        // Begun by the prompt.
        assert_eq!(think("<think>", 3, "abcdef"), "abc</think>def");
        assert_eq!(think("<think>", 0, "ab"), "</think>ab");
        assert_eq!(think("<think>", 9, "ab</think>cd"), "ab</think>cd");
        assert_eq!(think("<think>", 2, "ab</think>cd"), "ab</think>cd");
        // Begun by the reply.
        assert_eq!(think("", 2, "<think>abcd"), "<think>ab</think>cd");
        assert_eq!(think("", 0, "<think>ab"), "<think></think>ab");
        // Not begun.
        assert_eq!(think("", 2, "abcdef"), "abcdef");
        // A character of three bytes is completed.
        assert_eq!(think("<think>", 1, "名b"), "名</think>b");
        // A mark that is no token of its own.
        assert_eq!(reply("{{ '<think>' }}", &[], "<think>", 2, "abcd"), "ab</think>cd");
    }

    #[test]
    fn harmony_goes_on_with_another_channel() {
        let marks = &["<|start|>", "<|channel|>", "<|message|>", "<|end|>"];
        let template = "<|start|>assistant<|channel|>analysis<|message|><|end|>";
        let written = "<|channel|>analysis<|message|>abcd";
        let found = reply(template, marks, "<|start|>assistant", 2, written);
        assert_eq!(found, "<|channel|>analysis<|message|>ab<|end|><|start|>assistant<|channel|>cd");
        // The name of the channel must not be that of reasoning again.
        let found = reply(
            template,
            marks,
            "<|start|>assistant",
            0,
            "<|channel|>analysis<|message|>afinal<|message|>x",
        );
        assert!(found.ends_with("<|end|><|start|>assistant<|channel|>final<|message|>x"), "{found}");
    }

    #[test]
    fn models_that_do_not_reason_have_no_budget() {
        let none = ReasoningBudget::new(&ReplyFormat::default(), &[], "", &tokenizer(&[]), 3);
        assert!(none.is_none());
    }
}
