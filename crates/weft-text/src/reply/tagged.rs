//! Replies whose reasoning and calls are between tags: which characters are reasoning, text, tags or calls.
//!
//! The parser goes through a reply character by character, so pieces of any size give the same result. Between calls it looks for
//! the few tags that can come next, and holds back what may be one; within a call, the parser of the call's syntax says
//! what a character is. A call that turns out to be none becomes text, but for its end if a tag may begin there: only
//! that is read again, so work is linear in the length of the reply.

use super::call::{Sink, Step};
use super::format::{CALL_BEGIN, FUNCTION, KIMI_CALL, PYTHON_TAG, ReasoningTags, ReplyFormat, ToolSyntax};
use super::json_call::JsonCall;
use super::ledger::{Fate, Ledger};
use super::marked::MarkedCall;
use super::markup::MarkupCall;
use super::piece::{Channel, Output};
use super::tools::{Tool, Tools};

/// Splits such a reply.
pub(crate) struct TaggedParser {
    reasoning: Option<ReasoningTags>,
    /// `None` without tools.
    syntax: Option<ToolSyntax>,
    tools: Tools,
    /// The kind of text being read outside of calls.
    channel: Channel,
    place: Place,
    /// Whether newlines are dropped, since a tag of reasoning came just before.
    trim: bool,
    /// Whether the prompt has begun the reasoning, so that it does not begin with its tag.
    begun: bool,
    /// How many tags that begin reasoning are in the text, and were not ended there.
    written: usize,
    /// The tags that may come next.
    tags: Vec<(Tag, &'static str)>,
    /// Whether white space before such a tag is markup.
    drops_space: bool,
    /// The text that has been read and not decided.
    held: String,
    /// How many bytes of `held`, from its beginning, are white space before a possible tag.
    space: usize,
    call: Option<OpenCall>,
    /// How many calls have begun.
    calls: usize,
    ledger: Option<Ledger>,
}

/// The text before, except white space.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Nothing.
    Beginning,
    /// The end of the reasoning.
    AfterReasoning,
    /// A call and this many of its closing tags.
    AfterCall(usize),
    /// Text.
    Middle,
}

#[derive(Clone, Copy)]
enum Tag {
    BeginReasoning,
    EndReasoning,
    /// A tag that begins reasoning, in the middle of text: it is text.
    Written,
    /// The end tag of a span that has not begun.
    StrayEnd,
    BeginCall,
    /// The closing tag with this place in the list.
    AfterCall(usize),
}

/// A call that is being read.
struct OpenCall {
    syntax: CallSyntax,
    /// The length of the tag that it begins with.
    tag: usize,
    /// Its number, if it becomes a call.
    index: usize,
}

enum CallSyntax {
    Markup(MarkupCall),
    Marked(MarkedCall),
    Json(JsonCall),
    /// Mistral's; no character has been read.
    Mistral,
}

impl TaggedParser {
    /// A parser for one reply to this prompt.
    pub(crate) fn new(format: &ReplyFormat, tools: &[Tool], prompt: &str) -> TaggedParser {
        let tools = Tools::new(tools);
        let begun = format.begins_in_reasoning(prompt);
        let ended = format.reasoning.is_some_and(|tags| prompt.trim_end().ends_with(tags.end));
        let mut parser = TaggedParser {
            reasoning: format.reasoning,
            syntax: format.tools.filter(|_| !tools.is_empty()),
            tools,
            channel: if begun { Channel::Reasoning } else { Channel::Text },
            place: Place::Beginning,
            trim: begun || ended,
            begun,
            written: 0,
            tags: Vec::new(),
            drops_space: false,
            held: String::new(),
            space: 0,
            call: None,
            calls: 0,
            ledger: None,
        };
        parser.find_tags();
        parser
    }

    /// Ends the reply.
    pub(crate) fn finish(&mut self, output: &mut Output<'_>) {
        while let Some(OpenCall { syntax: CallSyntax::Markup(call), .. }) = &mut self.call
            && call.end_doubt(&mut Sink { output, calls: &mut self.calls })
        {
            self.read_again(output);
        }
        match self.call.take() {
            Some(call) if self.calls > call.index => self.settle_call(),
            Some(_) => self.release(self.held.len(), output),
            None if matches!(self.place, Place::AfterCall(_)) && self.may_close() => {
                self.settle(Fate::Space, self.space);
                self.settle(Fate::Tag, self.held.len() - self.space);
            }
            None => self.release(self.held.len(), output),
        }
        self.held.clear();
        self.space = 0;
    }

    /// Whether what is held after white space is nothing, or the beginning of a tag that closes a call.
    fn may_close(&self) -> bool {
        let rest = &self.held[self.space..];
        let closes = |(kind, tag): &(Tag, &str)| matches!(kind, Tag::AfterCall(_)) && tag.starts_with(rest);
        rest.is_empty() || self.tags.iter().any(closes)
    }

    /// Whether the next character is expected to be reasoning.
    pub(crate) fn in_reasoning(&self) -> bool {
        self.channel == Channel::Reasoning
    }

    pub(crate) fn ledger(&mut self) -> &mut Option<Ledger> {
        &mut self.ledger
    }

    /// Reads the next character.
    pub(crate) fn step(&mut self, c: char, output: &mut Output<'_>) {
        self.work(1);
        if self.call.is_some() {
            self.step_call(c, output);
        } else {
            self.step_prose(c, output);
        }
    }

    fn step_call(&mut self, c: char, output: &mut Output<'_>) {
        let Some(call) = &mut self.call else { return };
        self.held.push(c);
        let mut sink = Sink { output, calls: &mut self.calls };
        if let CallSyntax::Mistral = call.syntax
            && !c.is_whitespace()
        {
            call.syntax = match c {
                '[' | '{' => CallSyntax::Json(JsonCall::list()),
                _ => CallSyntax::Marked(MarkedCall::mistral(&self.tools)),
            };
        }
        let step = match &mut call.syntax {
            CallSyntax::Markup(call) => call.push(c, &self.tools, &mut sink),
            CallSyntax::Marked(call) => call.push(c, &self.tools, &mut sink),
            CallSyntax::Json(call) => call.push(c, &self.tools, &mut sink),
            CallSyntax::Mistral => Step::Hold,
        };
        match step {
            Step::Hold if self.reasoning_ends() => self.leave_call(output),
            Step::Hold => {}
            Step::Take => self.settle_call(),
            Step::Done => {
                self.settle_call();
                self.end_call();
            }
            Step::Again => self.read_again(output),
            Step::Leave => self.leave_call(output),
        }
    }

    /// Reads what is held again.
    fn read_again(&mut self, output: &mut Output<'_>) {
        self.space = 0;
        std::mem::take(&mut self.held).chars().for_each(|c| self.step(c, output));
    }

    /// Whether the reasoning ends here, in the middle of a possible call. A model that thinks about calls may write one that is broken;
    /// that must not swallow its answer.
    fn reasoning_ends(&self) -> bool {
        let open = self.channel == Channel::Reasoning
            && self.call.as_ref().is_some_and(|call| self.calls == call.index);
        open && self.reasoning.is_some_and(|tags| self.held.ends_with(tags.end))
    }

    /// The text held back belongs to the call.
    fn settle_call(&mut self) {
        self.settle(Fate::Space, self.space);
        self.settle(Fate::Call(self.calls - 1), self.held.len() - self.space);
        self.held.clear();
        self.space = 0;
    }

    fn end_call(&mut self) {
        self.call = None;
        self.channel = Channel::Text;
        self.trim = false;
        self.place = Place::AfterCall(0);
        self.find_tags();
    }

    /// The call is over, or was none. The held text is part of the answer, except for an end that may begin a tag.
    fn leave_call(&mut self, output: &mut Output<'_>) {
        let Some(call) = self.call.take() else { return };
        let mut text = 0;
        if self.calls > call.index {
            self.end_call();
        } else {
            text = self.space + call.tag;
            self.place = Place::Middle;
            self.trim = false;
            self.find_tags();
        }
        // Tags are short, so this looks at a few characters only.
        let longest = self.tags.iter().map(|(_, tag)| tag.len()).max().unwrap_or(0);
        let mut end = self.held.floor_char_boundary(self.held.len().saturating_sub(longest)).max(text);
        self.work(longest);
        while end < self.held.len() && !self.tags.iter().any(|(_, tag)| tag.starts_with(&self.held[end..])) {
            end = self.held.ceil_char_boundary(end + 1);
        }
        let before = self.held[text..end].trim_end_matches(|c| self.is_space(c)).len();
        let again = self.held.split_off(text + before);
        self.release(self.held.len(), output);
        self.space = 0;
        again.chars().for_each(|c| self.step(c, output));
    }

    /// Reads a character outside of calls.
    fn step_prose(&mut self, c: char, output: &mut Output<'_>) {
        if self.held.is_empty() {
            if self.trim && c == '\n' {
                return self.settle(Fate::Space, 1);
            }
            self.trim = false;
        }
        self.held.push(c);
        loop {
            if self.held.len() == self.space + c.len_utf8() && self.held.ends_with(c) && self.is_space(c) {
                self.space = self.held.len();
                return;
            }
            let rest = &self.held[self.space..];
            let tag = self.tags.iter().find(|(_, tag)| tag.starts_with(rest)).copied();
            let Some(first) = rest.chars().next() else { return };
            let length = rest.len();
            self.work(length);
            match tag {
                Some((kind, tag)) if tag.len() == length => return self.found(kind, tag, output),
                Some(_) => return,
                None => {
                    // No tag begins here: the first character is text, and the space before it.
                    self.release(self.space + first.len_utf8(), output);
                    self.space = 0;
                }
            }
        }
    }

    /// A tag has been read, and is held with the white space before it.
    fn found(&mut self, kind: Tag, tag: &'static str, output: &mut Output<'_>) {
        match kind {
            Tag::BeginCall => {
                self.call = self.open(tag);
                return;
            }
            Tag::BeginReasoning => {
                self.channel = Channel::Reasoning;
                self.trim = true;
                self.begun = false;
                self.place = Place::Beginning;
            }
            Tag::EndReasoning => {
                self.channel = Channel::Text;
                self.trim = true;
                self.place = Place::AfterReasoning;
            }
            Tag::Written => {
                self.written += 1;
                self.release(self.held.len(), output);
                self.space = 0;
                return;
            }
            Tag::StrayEnd => {
                if self.written > 0 {
                    self.written -= 1;
                    self.release(self.held.len(), output);
                    self.space = 0;
                    return;
                }
                // The words before and after are not to run together.
                self.release(self.space, output);
                self.space = 0;
            }
            Tag::AfterCall(place) => {
                let last = self.syntax.map_or(0, |syntax| syntax.closers().len().saturating_sub(1));
                self.place = Place::AfterCall((place + 1).min(last));
            }
        }
        self.settle(Fate::Space, self.space);
        self.settle(Fate::Tag, tag.len());
        self.held.clear();
        self.space = 0;
        self.find_tags();
    }

    fn open(&self, tag: &str) -> Option<OpenCall> {
        let syntax = match self.syntax? {
            ToolSyntax::Glm => CallSyntax::Markup(MarkupCall::glm(&self.tools)),
            ToolSyntax::Qwen3Coder => CallSyntax::Markup(MarkupCall::qwen(tag == FUNCTION, &self.tools)),
            ToolSyntax::DeepSeekV3 => {
                CallSyntax::Marked(MarkedCall::deepseek(tag == CALL_BEGIN, true, &self.tools))
            }
            ToolSyntax::DeepSeekV31 => {
                CallSyntax::Marked(MarkedCall::deepseek(tag == CALL_BEGIN, false, &self.tools))
            }
            ToolSyntax::KimiK2 => CallSyntax::Marked(MarkedCall::kimi(tag == KIMI_CALL, &self.tools)),
            ToolSyntax::Gemma4 => CallSyntax::Marked(MarkedCall::gemma(&self.tools)),
            ToolSyntax::Mistral | ToolSyntax::MistralList if tag == "," => {
                CallSyntax::Json(JsonCall::new(false, false))
            }
            ToolSyntax::Mistral | ToolSyntax::MistralList => CallSyntax::Mistral,
            ToolSyntax::Hermes => CallSyntax::Json(JsonCall::new(false, false)),
            ToolSyntax::Llama3 => CallSyntax::Json(JsonCall::new(tag == "{", tag != PYTHON_TAG)),
            ToolSyntax::Harmony => return None,
        };
        Some(OpenCall { syntax, tag: tag.len(), index: self.calls })
    }

    /// Finds out which tags may come next.
    fn find_tags(&mut self) {
        self.tags.clear();
        let (first, after_call) = match self.place {
            Place::Beginning | Place::AfterReasoning => (true, false),
            Place::AfterCall(_) => (false, true),
            Place::Middle => (false, false),
        };
        let reasoning = self.channel == Channel::Reasoning;
        if let Some(tags) = self.reasoning {
            // Where there is nothing but white space before, an end is the end of nothing.
            let end =
                if reasoning || self.place != Place::Middle { Tag::EndReasoning } else { Tag::StrayEnd };
            self.tags.push((end, tags.end));
            if self.place != Place::Middle && (!reasoning || self.begun) {
                self.tags.push((Tag::BeginReasoning, tags.begin));
            } else if !reasoning {
                self.tags.push((Tag::Written, tags.begin));
            }
        }
        if let Some(syntax) = self.syntax {
            let openers = syntax.openers(first && !reasoning, after_call);
            self.tags.extend(openers.iter().map(|tag| (Tag::BeginCall, *tag)));
            if let Place::AfterCall(closed) = self.place {
                let closers = (0..).zip(syntax.closers()).skip(closed);
                self.tags.extend(closers.map(|(place, tag)| (Tag::AfterCall(place), *tag)));
            }
        }
        let text = |(kind, _): &(Tag, &str)| matches!(kind, Tag::Written | Tag::StrayEnd);
        self.drops_space = !self.tags.iter().all(text);
    }

    /// Whether a character is held back as white space before a possible tag.
    fn is_space(&self, c: char) -> bool {
        match self.channel {
            Channel::Reasoning => c == '\n',
            Channel::Text => self.drops_space && c.is_whitespace(),
        }
    }

    /// Sends what is held, up to `end`, as text or reasoning.
    fn release(&mut self, end: usize, output: &mut Output<'_>) {
        if end == 0 {
            return;
        }
        output.prose(self.channel, &self.held[..end]);
        self.settle(self.channel.into(), end);
        self.work(self.held.len());
        self.held.drain(..end);
        if self.place != Place::Middle {
            self.place = Place::Middle;
            self.find_tags();
        }
    }

    fn settle(&mut self, fate: Fate, length: usize) {
        if let Some(ledger) = &mut self.ledger {
            ledger.settle(fate, length);
        }
    }

    fn work(&mut self, amount: usize) {
        if let Some(ledger) = &mut self.ledger {
            ledger.work += amount;
        }
    }
}
