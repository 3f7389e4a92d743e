//! Replies whose reasoning and calls are between tags: which characters are reasoning, text, tags or calls.
//!
//! The parser goes through a reply character by character, so pieces of any size give the same result. Between calls it looks for
//! the few tags that can come next, and holds back what may be one; within a call, the parser of the call's syntax says
//! what a character is. A call that turns out to be none becomes text, but for its end if a tag may begin there: only
//! that is read again, so work is linear in the length of the reply.

use super::call::{Sink, Step};
use super::deepseek::DeepSeekCall;
use super::format::{CALL_BEGIN, PYTHON_TAG, ReasoningTags, ReplyFormat, ToolSyntax};
use super::glm::GlmCall;
use super::json_call::JsonCall;
use super::ledger::{Fate, Ledger};
use super::piece::{Channel, Output};
use super::tools::{Tool, Tools};

/// Splits such a reply.
pub(crate) struct TaggedParser {
    reasoning: Option<ReasoningTags>,
    /// `None` without tools.
    syntax: Option<ToolSyntax>,
    tools: Tools,
    /// What is being read outside of calls.
    channel: Channel,
    place: Place,
    /// Whether newlines are dropped, since a tag of reasoning came just before.
    trim: bool,
    /// Whether reasoning was still open when the last call began.
    interrupted: bool,
    /// The tags that may come next.
    tags: Vec<(Tag, &'static str)>,
    /// What has been read and not decided.
    held: String,
    /// How many bytes of `held`, from its beginning, are white space before a possible tag.
    space: usize,
    call: Option<OpenCall>,
    /// How many calls have begun.
    calls: usize,
    ledger: Option<Ledger>,
}

/// What came before, but for white space.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Nothing.
    Beginning,
    /// The end of the reasoning.
    AfterReasoning,
    /// A call, and so many of its closing tags.
    AfterCall(usize),
    /// Text.
    Middle,
}

#[derive(Clone, Copy)]
enum Tag {
    BeginReasoning,
    EndReasoning,
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
    Glm(GlmCall),
    DeepSeek(DeepSeekCall),
    Json(JsonCall),
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
            interrupted: false,
            tags: Vec::new(),
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
        while let Some(OpenCall { syntax: CallSyntax::Glm(call), .. }) = &mut self.call
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
        let step = match &mut call.syntax {
            CallSyntax::Glm(call) => call.push(c, &self.tools, &mut sink),
            CallSyntax::DeepSeek(call) => call.push(c, &self.tools, &mut sink),
            CallSyntax::Json(call) => call.push(c, &self.tools, &mut sink),
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

    /// Whether the reasoning ends here, in the middle of what may be a call. A model that thinks about calls may write one
    /// that is broken; that must not swallow its answer.
    fn reasoning_ends(&self) -> bool {
        let open = self.channel == Channel::Reasoning
            && self.call.as_ref().is_some_and(|call| self.calls == call.index);
        open && self.reasoning.is_some_and(|tags| self.held.ends_with(tags.end))
    }

    /// What is held belongs to the call.
    fn settle_call(&mut self) {
        self.settle(Fate::Space, self.space);
        self.settle(Fate::Call(self.calls - 1), self.held.len() - self.space);
        self.held.clear();
        self.space = 0;
    }

    fn end_call(&mut self) {
        self.call = None;
        if self.channel == Channel::Reasoning {
            self.channel = Channel::Text;
            self.interrupted = true;
        }
        self.trim = false;
        self.place = Place::AfterCall(0);
        self.find_tags();
    }

    /// The call is over, or was none: what is held is text, but for its end if that may begin a tag.
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
                Some((kind, tag)) if tag.len() == length => return self.found(kind, tag),
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
    fn found(&mut self, kind: Tag, tag: &'static str) {
        match kind {
            Tag::BeginCall => {
                self.call = self.open(tag);
                return;
            }
            Tag::BeginReasoning => {
                self.channel = Channel::Reasoning;
                self.trim = true;
            }
            Tag::EndReasoning => {
                self.channel = Channel::Text;
                self.trim = true;
                self.interrupted = false;
                self.place = Place::AfterReasoning;
            }
            Tag::AfterCall(place) => self.place = Place::AfterCall(place + 1),
        }
        self.settle(Fate::Space, self.space);
        self.settle(Fate::Tag, tag.len());
        self.held.clear();
        self.space = 0;
        self.find_tags();
    }

    fn open(&self, tag: &str) -> Option<OpenCall> {
        let syntax = match self.syntax? {
            ToolSyntax::Glm => CallSyntax::Glm(GlmCall::new(&self.tools)),
            ToolSyntax::DeepSeekV3 => {
                CallSyntax::DeepSeek(DeepSeekCall::new(tag == CALL_BEGIN, true, &self.tools))
            }
            ToolSyntax::DeepSeekV31 => {
                CallSyntax::DeepSeek(DeepSeekCall::new(tag == CALL_BEGIN, false, &self.tools))
            }
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
            if reasoning || (after_call && self.interrupted) {
                self.tags.push((Tag::EndReasoning, tags.end));
            } else if self.place == Place::Beginning {
                self.tags.push((Tag::BeginReasoning, tags.begin));
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
    }

    /// Whether a character is held back as white space before a possible tag.
    fn is_space(&self, c: char) -> bool {
        match self.channel {
            Channel::Reasoning => c == '\n',
            Channel::Text => !self.tags.is_empty() && c.is_whitespace(),
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
            self.interrupted = false;
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
