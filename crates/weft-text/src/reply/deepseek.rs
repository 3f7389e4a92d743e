//! DeepSeek's calls: V3's with a type and a fence around the arguments, and V3.1's without.

use super::call::{Sink, Step, TagRead, TagReader};
use super::format::{CALL_BEGIN, CALL_END, CALL_SEP};
use super::scanner::{Scan, Scanner};
use super::tools::{NamePrefix, Tools};

/// What comes before the arguments. White space may come before each of them.
#[derive(Clone, Copy)]
enum Part {
    Tag(&'static str),
    Name,
}

const V3: &[Part] =
    &[Part::Tag(CALL_BEGIN), Part::Tag("function"), Part::Tag(CALL_SEP), Part::Name, Part::Tag("```json")];
const V31: &[Part] = &[Part::Tag(CALL_BEGIN), Part::Name, Part::Tag(CALL_SEP)];

/// A call after what it begins with.
pub(crate) struct DeepSeekCall {
    parts: &'static [Part],
    tag: TagReader,
    name: NamePrefix,
    tool: Option<usize>,
    scanner: Scanner,
    text: String,
    begun: bool,
}

impl DeepSeekCall {
    /// Expects `<｜tool▁call▁begin｜>`, or with `open` what comes after it.
    pub(crate) fn new(open: bool, fenced: bool, tools: &Tools) -> DeepSeekCall {
        let parts = if fenced { V3 } else { V31 };
        DeepSeekCall {
            parts: if open { &parts[1..] } else { parts },
            tag: TagReader::default(),
            name: tools.prefix(),
            tool: None,
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

    /// The arguments begin, or the end of a call without any.
    fn begin(&mut self, c: char, tools: &Tools, sink: &mut Sink<'_, '_>) -> Step {
        let Some(tool) = self.tool else { return Step::Leave };
        if c == '{' && self.tag.is_empty() {
            sink.begin(tools, tool);
            self.begun = true;
            return self.arguments(c, sink);
        }
        match self.tag.push(c, &[CALL_END]) {
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
        let scan = self.scanner.push(c, &mut self.text);
        sink.arguments(&self.text);
        match scan {
            Scan::More => Step::Take,
            Scan::Done => {
                sink.end();
                Step::Done
            }
            Scan::Past | Scan::Invalid => Step::Leave,
        }
    }
}
