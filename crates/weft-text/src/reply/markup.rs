//! Calls whose arguments are between tags, one by one: those of GLM and Qwen3-Coder.
//!
//! ```text
//! <tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>
//! <function=name> <parameter=key> value </parameter> </function>
//! ```
//!
//! White space between the tags is allowed: GLM-4.5 and Qwen3-Coder write newlines. Those of Qwen3-Coder around a value are no part
//! of it. A value that is JSON may contain the tag that ends it in its strings. Whether that ends the value is not known until the
//! JSON is complete, which it then does not, or turns out to be broken, or the reply ends; what comes after it is read again in the
//! last two cases. Of several arguments with one key, the first counts, since it may have been sent already.

use std::collections::BTreeSet;

use super::call::{Sink, Step, TagRead, TagReader};
use super::format::{
    ARG_KEY, ARG_KEY_END, ARG_VALUE, ARG_VALUE_END, FUNCTION, FUNCTION_END, PARAMETER, PARAMETER_END,
    TOOL_CALL_END,
};
use super::scanner::{Scan, escape_into};
use super::tools::{NamePrefix, Tools};
use super::value::ValueWriter;

/// The tags of a form. What comes before and after may be empty.
struct Tags {
    name: (&'static str, &'static str),
    key: (&'static str, &'static str),
    value: (&'static str, &'static str),
    end: &'static str,
    /// Whether values are on lines of their own.
    lines: bool,
}

const GLM: Tags = Tags {
    name: ("", ""),
    key: (ARG_KEY, ARG_KEY_END),
    value: (ARG_VALUE, ARG_VALUE_END),
    end: TOOL_CALL_END,
    lines: false,
};

const QWEN: Tags = Tags {
    name: (FUNCTION, ">"),
    key: (PARAMETER, ">"),
    value: ("", PARAMETER_END),
    end: FUNCTION_END,
    lines: true,
};

/// A call after the tag that it begins with.
pub(crate) struct MarkupCall {
    tags: &'static Tags,
    state: State,
    tag: TagReader,
    /// The meaning of a line break at this place of a value.
    line: Line,
    /// The key being read.
    key: String,
    /// The keys that were sent.
    keys: BTreeSet<String>,
    begun: bool,
    /// The length of the value before an `</arg_value>` within a string of its JSON, while that may be the value's end.
    doubt: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    /// A line break here ends the line of the value's tag.
    First,
    /// A line break is held back: it belongs to the value unless the value's end follows.
    Held,
    /// No line break is held back.
    Free,
}

enum State {
    /// Before the tag that the name follows.
    Open,
    Name(NamePrefix),
    /// After the name, and before the rest of its tag.
    AfterName(usize),
    /// After the name or an argument: another argument, or the end.
    Argument(usize),
    Key(usize),
    AfterKey(usize),
    /// `None` for the value of a repeated key.
    Value(usize, Option<ValueWriter>),
}

impl MarkupCall {
    /// GLM's, after `<tool_call>`.
    pub(crate) fn glm(tools: &Tools) -> MarkupCall {
        MarkupCall::new(&GLM, State::Name(tools.prefix()))
    }

    /// Qwen3-Coder's. Expects `<function=`, or with `open` what comes after it.
    pub(crate) fn qwen(open: bool, tools: &Tools) -> MarkupCall {
        MarkupCall::new(&QWEN, if open { State::Name(tools.prefix()) } else { State::Open })
    }

    fn new(tags: &'static Tags, state: State) -> MarkupCall {
        let (key, keys) = (String::new(), BTreeSet::new());
        MarkupCall {
            tags,
            state,
            tag: TagReader::default(),
            line: Line::First,
            key,
            keys,
            begun: false,
            doubt: None,
        }
    }

    /// The reply has ended, or JSON is broken: if an `</arg_value>` was in doubt, it ended the value. Returns whether it was;
    /// then what came after it is to be read again.
    pub(crate) fn end_doubt(&mut self, sink: &mut Sink<'_, '_>) -> bool {
        let Some(length) = self.doubt.take() else { return false };
        if let State::Value(tool, value) = &mut self.state {
            if let Some(value) = value {
                value.cut(length, sink);
            }
            self.state = State::Argument(*tool);
        }
        true
    }

    pub(crate) fn push(&mut self, c: char, tools: &Tools, sink: &mut Sink<'_, '_>) -> Step {
        match &mut self.state {
            State::Value(_, Some(value)) if self.doubt.is_some() => match value.push_json(c) {
                Scan::More => Step::Hold,
                Scan::Done => {
                    self.doubt = None;
                    Step::Take
                }
                Scan::Past | Scan::Invalid => {
                    self.end_doubt(sink);
                    Step::Again
                }
            },
            State::Open | State::AfterName(_) | State::Argument(_) | State::AfterKey(_)
                if self.tag.is_empty() && c.is_whitespace() =>
            {
                Step::Hold
            }
            State::Open => match self.tag.push(c, &[self.tags.name.0]) {
                TagRead::Part => Step::Hold,
                TagRead::Whole(_) => {
                    self.state = State::Name(tools.prefix());
                    Step::Hold
                }
                TagRead::Other => Step::Leave,
            },
            State::Name(prefix) => {
                if (prefix.is_empty() && c.is_whitespace()) || tools.extend(prefix, c) {
                    return Step::Hold;
                }
                let Some(tool) = tools.complete(*prefix) else { return Step::Leave };
                let rest = self.tags.name.1;
                self.state = if rest.is_empty() { State::Argument(tool) } else { State::AfterName(tool) };
                self.push(c, tools, sink)
            }
            &mut State::AfterName(tool) => match self.tag.push(c, &[self.tags.name.1]) {
                TagRead::Part => Step::Hold,
                TagRead::Whole(_) => {
                    self.state = State::Argument(tool);
                    Step::Hold
                }
                TagRead::Other => Step::Leave,
            },
            &mut State::Argument(tool) => match self.tag.push(c, &[self.tags.key.0, self.tags.end]) {
                TagRead::Part => Step::Hold,
                TagRead::Whole(0) => {
                    self.key.clear();
                    self.state = State::Key(tool);
                    Step::Hold
                }
                TagRead::Whole(_) => {
                    if !self.begun {
                        sink.begin(tools, tool);
                        sink.arguments("{");
                    }
                    sink.arguments("}");
                    sink.end();
                    Step::Done
                }
                TagRead::Other => self.leave(sink),
            },
            State::Key(_) if self.tag.is_empty() && !self.tags.key.1.starts_with(c) => {
                self.key.push(c);
                Step::Hold
            }
            &mut State::Key(tool) => match self.tag.push(c, &[self.tags.key.1]) {
                TagRead::Part => Step::Hold,
                TagRead::Whole(_) if self.tags.value.0.is_empty() => {
                    let value = self.begin_value(tool, tools, sink);
                    self.state = State::Value(tool, value);
                    Step::Take
                }
                TagRead::Whole(_) => {
                    self.state = State::AfterKey(tool);
                    Step::Hold
                }
                // A key contains no other tags.
                TagRead::Other => self.leave(sink),
            },
            &mut State::AfterKey(tool) => match self.tag.push(c, &[self.tags.value.0]) {
                TagRead::Part => Step::Hold,
                TagRead::Whole(_) => {
                    let value = self.begin_value(tool, tools, sink);
                    self.state = State::Value(tool, value);
                    Step::Take
                }
                TagRead::Other => self.leave(sink),
            },
            State::Value(_, value) if self.tag.is_empty() && c != '<' => {
                if self.tags.lines && c == '\n' && self.line != Line::Held {
                    self.line = if self.line == Line::First { Line::Free } else { Line::Held };
                    return Step::Take;
                }
                if let Some(value) = value {
                    if self.line == Line::Held {
                        value.push('\n', sink);
                    }
                    if !self.tags.lines || c != '\n' {
                        value.push(c, sink);
                    }
                }
                self.line = if self.tags.lines && c == '\n' { Line::Held } else { Line::Free };
                Step::Take
            }
            State::Value(tool, value) => {
                let end = self.tags.value.1;
                match self.tag.push(c, &[end]) {
                    TagRead::Part => {}
                    TagRead::Whole(_) => {
                        let held = std::mem::replace(&mut self.line, Line::Free) == Line::Held;
                        self.doubt = value.as_ref().and_then(ValueWriter::in_json_string);
                        match value {
                            Some(value) if self.doubt.is_some() => {
                                if held {
                                    value.push_json('\n');
                                }
                                for c in end.chars() {
                                    value.push_json(c);
                                }
                                return Step::Take;
                            }
                            Some(value) => value.finish(sink),
                            None => {}
                        }
                        self.state = State::Argument(*tool);
                    }
                    TagRead::Other => {
                        let mut text = self.tag.take();
                        let held = std::mem::replace(&mut self.line, Line::Free) == Line::Held;
                        let last = text.pop().unwrap_or(c);
                        if let Some(value) = value {
                            if held {
                                value.push('\n', sink);
                            }
                            text.chars().for_each(|c| value.push(c, sink));
                        }
                        // This character may begin the tag, or be the newline before it.
                        return self.push(last, tools, sink);
                    }
                }
                Step::Take
            }
        }
    }

    /// Sends the call's name, if this is its first argument, and the key.
    fn begin_value(&mut self, tool: usize, tools: &Tools, sink: &mut Sink<'_, '_>) -> Option<ValueWriter> {
        self.line = Line::First;
        let key = self.key.trim();
        if !self.keys.insert(key.to_owned()) {
            return None;
        }
        let mut json = String::from(if self.begun { ",\"" } else { "{\"" });
        key.chars().for_each(|c| escape_into(c, &mut json));
        json.push_str("\":");
        if !self.begun {
            sink.begin(tools, tool);
            self.begun = true;
        }
        sink.arguments(&json);
        Some(ValueWriter::new(tools.types(tool, key), sink))
    }

    /// The markup is broken between two arguments: the call ends here, or was none.
    fn leave(&mut self, sink: &mut Sink<'_, '_>) -> Step {
        if self.begun {
            sink.arguments("}");
            sink.end();
        }
        Step::Leave
    }
}
