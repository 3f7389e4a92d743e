//! GLM's calls: `<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`.
//!
//! White space between the tags is allowed (GLM-4.5 writes newlines). A value that is JSON may contain `</arg_value>` in its
//! strings. Whether that ends the value is not known until the JSON is complete, which it then does not, or turns out to be
//! broken, or the reply ends; what comes after it is read again in the last two cases. Of several arguments with one key, the first counts,
//! since it may have been sent already.

use std::collections::BTreeSet;

use super::call::{Sink, Step, TagRead, TagReader};
use super::format::{ARG_KEY, ARG_KEY_END, ARG_VALUE, ARG_VALUE_END, TOOL_CALL_END};
use super::scanner::{Scan, escape_into};
use super::tools::{NamePrefix, Tools};
use super::value::ValueWriter;

/// A call after `<tool_call>`.
pub(crate) struct GlmCall {
    state: State,
    tag: TagReader,
    /// The key being read.
    key: String,
    /// The keys that were sent.
    keys: BTreeSet<String>,
    begun: bool,
    /// The length of the value before an `</arg_value>` within a string of its JSON, while that may be the value's end.
    doubt: Option<usize>,
}

enum State {
    Name(NamePrefix),
    /// After the name or an argument: another argument, or the end.
    Argument(usize),
    Key(usize),
    AfterKey(usize),
    /// `None` for the value of a repeated key.
    Value(usize, Option<ValueWriter>),
}

impl GlmCall {
    pub(crate) fn new(tools: &Tools) -> GlmCall {
        let state = State::Name(tools.prefix());
        let (key, keys) = (String::new(), BTreeSet::new());
        GlmCall { state, tag: TagReader::default(), key, keys, begun: false, doubt: None }
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
            State::Name(prefix) => {
                if (prefix.is_empty() && c.is_whitespace()) || tools.extend(prefix, c) {
                    return Step::Hold;
                }
                let Some(tool) = tools.complete(*prefix) else { return Step::Leave };
                self.state = State::Argument(tool);
                self.push(c, tools, sink)
            }
            State::Argument(_) | State::AfterKey(_) if self.tag.is_empty() && c.is_whitespace() => Step::Hold,
            &mut State::Argument(tool) => match self.tag.push(c, &[ARG_KEY, TOOL_CALL_END]) {
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
            State::Key(_) if self.tag.is_empty() && c != '<' => {
                self.key.push(c);
                Step::Hold
            }
            &mut State::Key(tool) => match self.tag.push(c, &[ARG_KEY_END]) {
                TagRead::Part => Step::Hold,
                TagRead::Whole(_) => {
                    self.state = State::AfterKey(tool);
                    Step::Hold
                }
                // A key contains no other tags.
                TagRead::Other => self.leave(sink),
            },
            &mut State::AfterKey(tool) => match self.tag.push(c, &[ARG_VALUE]) {
                TagRead::Part => Step::Hold,
                TagRead::Whole(_) => {
                    let value = self.begin_value(tool, tools, sink);
                    self.state = State::Value(tool, value);
                    Step::Take
                }
                TagRead::Other => self.leave(sink),
            },
            State::Value(_, value) if self.tag.is_empty() && c != '<' => {
                if let Some(value) = value {
                    value.push(c, sink);
                }
                Step::Take
            }
            State::Value(tool, value) => {
                match self.tag.push(c, &[ARG_VALUE_END]) {
                    TagRead::Part => {}
                    TagRead::Whole(_) => {
                        self.doubt = value.as_ref().and_then(ValueWriter::in_json_string);
                        match value {
                            Some(value) if self.doubt.is_some() => {
                                for c in ARG_VALUE_END.chars() {
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
                        // The character that showed it may begin the tag.
                        if c == '<' && text.len() > 1 {
                            text.pop();
                            self.tag.push(c, &[ARG_VALUE_END]);
                        }
                        if let Some(value) = value {
                            text.chars().for_each(|c| value.push(c, sink));
                        }
                    }
                }
                Step::Take
            }
        }
    }

    /// Sends the call's name, if this is its first argument, and the key.
    fn begin_value(&mut self, tool: usize, tools: &Tools, sink: &mut Sink<'_, '_>) -> Option<ValueWriter> {
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
