//! Calls whose name and arguments are between marks, each of them one token: those of DeepSeek, Kimi K2, Mistral and Gemma 4.
//!
//! - DeepSeek V3: a type, the name, and a fence around the arguments; V3.1: the name and the arguments.
//! - Kimi K2: the id `functions.NAME:INDEX`, of which the name is read, and the arguments.
//! - Mistral: the name, perhaps an id, and the arguments.
//! - Gemma 4: the name, and the arguments in its own spelling.

use super::call::{Sink, Step, TagRead, TagReader};
use super::format::{
    CALL_BEGIN, CALL_END, CALL_SEP, GEMMA_CALL_END, KIMI_ARGUMENTS, KIMI_CALL, KIMI_CALL_END,
    MISTRAL_ARGUMENTS, MISTRAL_ID,
};
use super::gemma::Respelled;
use super::scanner::{Scan, Scanner};
use super::tools::{NamePrefix, Tools};

/// The text before the arguments. White space may come before each of them.
#[derive(Clone, Copy)]
enum Part {
    Tag(&'static str),
    /// A tag that may be missing.
    Prefix(&'static str),
    Name,
    /// `:` and a number, if they are there.
    Index,
    /// A tag and letters and digits, if they are there.
    Id(&'static str),
}

const V3: &[Part] =
    &[Part::Tag(CALL_BEGIN), Part::Tag("function"), Part::Tag(CALL_SEP), Part::Name, Part::Tag("```json")];
const V31: &[Part] = &[Part::Tag(CALL_BEGIN), Part::Name, Part::Tag(CALL_SEP)];

const KIMI: &[Part] =
    &[Part::Tag(KIMI_CALL), Part::Prefix("functions."), Part::Name, Part::Index, Part::Tag(KIMI_ARGUMENTS)];
const GEMMA: &[Part] = &[Part::Tag("call:"), Part::Name];
const MISTRAL: &[Part] = &[Part::Name, Part::Id(MISTRAL_ID), Part::Tag(MISTRAL_ARGUMENTS)];

/// A call after what it begins with.
pub(crate) struct MarkedCall {
    parts: &'static [Part],
    /// The mark after the arguments, which may be missing before it.
    end: Option<&'static str>,
    /// Whether the tag before an id has been read.
    id: bool,
    tag: TagReader,
    name: NamePrefix,
    tool: Option<usize>,
    /// If the arguments are no JSON.
    spelling: Option<Respelled>,
    scanner: Scanner,
    text: String,
    begun: bool,
}

impl MarkedCall {
    /// DeepSeek's. Expects `<｜tool▁call▁begin｜>`, or with `open` what comes after it.
    pub(crate) fn deepseek(open: bool, fenced: bool, tools: &Tools) -> MarkedCall {
        let parts = if fenced { V3 } else { V31 };
        MarkedCall::new(if open { &parts[1..] } else { parts }, Some(CALL_END), tools)
    }

    /// Kimi's. Expects `<|tool_call_begin|>`, or with `open` what comes after it.
    pub(crate) fn kimi(open: bool, tools: &Tools) -> MarkedCall {
        MarkedCall::new(if open { &KIMI[1..] } else { KIMI }, Some(KIMI_CALL_END), tools)
    }

    /// Mistral's. Expects the name.
    pub(crate) fn mistral(tools: &Tools) -> MarkedCall {
        MarkedCall::new(MISTRAL, None, tools)
    }

    /// Gemma's. Expects `call:`.
    pub(crate) fn gemma(tools: &Tools) -> MarkedCall {
        MarkedCall {
            spelling: Some(Respelled::default()),
            ..MarkedCall::new(GEMMA, Some(GEMMA_CALL_END), tools)
        }
    }

    fn new(parts: &'static [Part], end: Option<&'static str>, tools: &Tools) -> MarkedCall {
        MarkedCall {
            parts,
            end,
            id: false,
            tag: TagReader::default(),
            name: tools.prefix(),
            tool: None,
            spelling: None,
            scanner: Scanner::new(),
            text: String::new(),
            begun: false,
        }
    }

    pub(crate) fn push(&mut self, c: char, tools: &Tools, sink: &mut Sink<'_, '_>) -> Step {
        if self.begun {
            return self.arguments(c, sink);
        }
        if self.tag.is_empty() && self.name.is_empty() && c.is_whitespace() {
            return Step::Hold;
        }
        match self.parts.first() {
            Some(Part::Tag(tag)) => match self.tag.push(c, &[tag]) {
                TagRead::Part => Step::Hold,
                TagRead::Whole(_) => {
                    self.parts = &self.parts[1..];
                    Step::Hold
                }
                TagRead::Other => Step::Leave,
            },
            Some(Part::Prefix(tag)) => match self.tag.push(c, &[tag]) {
                TagRead::Part => Step::Hold,
                TagRead::Whole(_) => {
                    self.parts = &self.parts[1..];
                    Step::Hold
                }
                TagRead::Other => self.without(tools, sink),
            },
            Some(Part::Index) if c == ':' || c.is_ascii_digit() => Step::Hold,
            Some(Part::Index) => {
                self.parts = &self.parts[1..];
                self.push(c, tools, sink)
            }
            Some(Part::Id(_)) if self.id => {
                if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') {
                    return Step::Hold;
                }
                self.parts = &self.parts[1..];
                self.push(c, tools, sink)
            }
            Some(Part::Id(tag)) => match self.tag.push(c, &[tag]) {
                TagRead::Part => Step::Hold,
                TagRead::Whole(_) => {
                    self.id = true;
                    Step::Hold
                }
                TagRead::Other => self.without(tools, sink),
            },
            Some(Part::Name) => {
                if tools.extend(&mut self.name, c) {
                    return Step::Hold;
                }
                self.tool = tools.complete(self.name);
                if self.tool.is_none() {
                    return Step::Leave;
                }
                self.name = tools.prefix();
                self.parts = &self.parts[1..];
                self.push(c, tools, sink)
            }
            None => self.begin(c, tools, sink),
        }
    }

    /// The part that was expected is not there: what has been read belongs to the next.
    fn without(&mut self, tools: &Tools, sink: &mut Sink<'_, '_>) -> Step {
        self.parts = &self.parts[1..];
        let read = self.tag.take();
        let mut steps = read.chars().map(|c| self.push(c, tools, sink));
        steps.find(|step| *step != Step::Hold).unwrap_or(Step::Hold)
    }

    /// The arguments begin, or the end of a call without any.
    fn begin(&mut self, c: char, tools: &Tools, sink: &mut Sink<'_, '_>) -> Step {
        let Some(tool) = self.tool else { return Step::Leave };
        if c == '{' && self.tag.is_empty() {
            sink.begin(tools, tool);
            self.begun = true;
            return self.arguments(c, sink);
        }
        let Some(end) = self.end else { return Step::Leave };
        match self.tag.push(c, &[end]) {
            TagRead::Part => Step::Hold,
            TagRead::Whole(_) => {
                sink.begin(tools, tool);
                sink.arguments("{}");
                sink.end();
                Step::Done
            }
            TagRead::Other => Step::Leave,
        }
    }

    fn arguments(&mut self, c: char, sink: &mut Sink<'_, '_>) -> Step {
        self.text.clear();
        let first = self.spelling.as_ref().map_or(c, |spelling| spelling.first(c));
        let scan = match &mut self.spelling {
            None => self.scanner.push(c, &mut self.text),
            Some(spelling) => match spelling.push(c, &mut self.scanner, &mut self.text) {
                Some(scan) => scan,
                None if self.text.is_empty() => return Step::Hold,
                // A mark may begin within what was held back; the rest of that is spelled.
                None => Scan::More,
            },
        };
        sink.arguments(&self.text);
        match scan {
            Scan::More => Step::Take,
            Scan::Done => {
                sink.end();
                Step::Done
            }
            Scan::Past | Scan::Invalid => {
                sink.close_before(first, &self.scanner);
                Step::Leave
            }
        }
    }
}
