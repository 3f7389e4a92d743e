//! Calls as JSON: `{"name": …, "arguments": {…}}` of Hermes and Qwen, in a list those of Mistral, `{"name": …, "parameters": {…}}`
//! of Llama 3.
//!
//! - The members may come in any order. Arguments before the name are held back until the name is known.
//! - `arguments` and `parameters` mean the same. Their value is an object, a string that contains one, null, or missing; the
//!   last two, and an empty string, stand for `{}`.
//! - Of several members with one name, the first counts.
//! - Arguments are passed on byte for byte, but for what [`Scanner`] repairs in strings.

use super::call::{Sink, Step};
use super::scanner::{Scan, Scanner, is_space};
use super::tools::{NamePrefix, Tools};

/// A call after what it begins with.
pub(crate) struct JsonCall {
    state: State,
    /// Whether an unknown member shows that this is no call.
    strict: bool,
    tool: Option<usize>,
    /// Arguments that came before the name.
    arguments: Option<String>,
    scanner: Scanner,
    /// The key or value being read.
    text: String,
    begun: bool,
}

enum State {
    /// Before `[`.
    List,
    /// Before `{`.
    Open,
    /// After `{`.
    FirstKey,
    Key,
    InKey,
    Colon(Member),
    Value(Member),
    /// The name, as long as it has no escapes.
    Name(Option<NamePrefix>),
    /// Arguments that are sent as they come.
    Sent,
    /// Arguments that are held back, or are in a string.
    Held,
    /// The value of another member.
    Skipped,
    AfterValue,
}

#[derive(Clone, Copy)]
enum Member {
    Name,
    Arguments,
    Other,
}

impl JsonCall {
    /// Expects an object, or with `open` what comes after its `{`.
    ///
    /// With `strict`, members that calls of Llama 3 never have show that this is none. There is no tag around these calls,
    /// so any JSON could be one.
    pub(crate) fn new(open: bool, strict: bool) -> JsonCall {
        JsonCall {
            state: if open { State::FirstKey } else { State::Open },
            strict,
            tool: None,
            arguments: None,
            scanner: Scanner::new(),
            text: String::new(),
            begun: false,
        }
    }

    /// Expects a list of objects; what follows the first is not read.
    pub(crate) fn list() -> JsonCall {
        JsonCall { state: State::List, ..JsonCall::new(false, false) }
    }

    pub(crate) fn push(&mut self, c: char, tools: &Tools, sink: &mut Sink<'_, '_>) -> Step {
        match self.state {
            State::List
            | State::Open
            | State::FirstKey
            | State::Key
            | State::Colon(_)
            | State::Value(_)
            | State::AfterValue
                if is_space(c) =>
            {
                self.kept()
            }
            State::List if c == '[' => self.enter(State::Open),
            State::List | State::Open if c == '{' => self.enter(State::FirstKey),
            State::FirstKey | State::AfterValue if c == '}' => self.close(tools, sink),
            State::FirstKey | State::Key if c == '"' => {
                self.begin_value(c);
                self.enter(State::InKey)
            }
            State::AfterValue if c == ',' => self.enter(State::Key),
            State::Colon(member) if c == ':' => self.enter(State::Value(member)),
            State::List
            | State::Open
            | State::FirstKey
            | State::Key
            | State::Colon(_)
            | State::AfterValue => Step::Leave,
            State::InKey => match self.scanner.push(c, &mut self.text) {
                Scan::More => self.kept(),
                Scan::Done => match self.member() {
                    Some(member) => self.enter(State::Colon(member)),
                    None => Step::Leave,
                },
                Scan::Past | Scan::Invalid => Step::Leave,
            },
            State::Value(member) => self.value(member, c, tools, sink),
            State::Name(prefix) => self.name(prefix, c, tools, sink),
            State::Sent => {
                self.text.clear();
                let scan = self.scanner.push(c, &mut self.text);
                sink.arguments(&self.text);
                match scan {
                    Scan::More => Step::Take,
                    Scan::Done => {
                        sink.end();
                        self.enter(State::AfterValue)
                    }
                    Scan::Past | Scan::Invalid => {
                        sink.close_before(c, &self.scanner);
                        Step::Leave
                    }
                }
            }
            State::Held => match self.scanner.push(c, &mut self.text) {
                Scan::More => Step::Hold,
                Scan::Done => {
                    let text = std::mem::take(&mut self.text);
                    let Some(arguments) = held_arguments(text) else { return Step::Leave };
                    self.arguments = Some(arguments);
                    self.state = State::AfterValue;
                    self.send(tools, sink)
                }
                Scan::Past | Scan::Invalid => Step::Leave,
            },
            State::Skipped => {
                self.text.clear();
                match self.scanner.push(c, &mut self.text) {
                    Scan::More => self.kept(),
                    Scan::Done => self.enter(State::AfterValue),
                    Scan::Past => {
                        self.state = State::AfterValue;
                        self.push(c, tools, sink)
                    }
                    Scan::Invalid => Step::Leave,
                }
            }
        }
    }

    /// The step for a character that belongs to the call, if this is one.
    fn kept(&self) -> Step {
        if self.begun { Step::Take } else { Step::Hold }
    }

    fn enter(&mut self, state: State) -> Step {
        self.state = state;
        self.kept()
    }

    fn begin_value(&mut self, c: char) -> Scan {
        self.scanner = Scanner::new();
        self.text.clear();
        self.scanner.push(c, &mut self.text)
    }

    /// The member whose key has been read; `None` if no call has it.
    fn member(&self) -> Option<Member> {
        let key = serde_json::from_str::<String>(&self.text).unwrap_or_default();
        match key.as_str() {
            "name" if self.tool.is_none() => Some(Member::Name),
            "arguments" | "parameters" if self.arguments.is_none() && !self.begun => Some(Member::Arguments),
            "name" | "arguments" | "parameters" | "type" | "id" => Some(Member::Other),
            _ if self.strict && !self.begun => None,
            _ => Some(Member::Other),
        }
    }

    /// The first character of a value.
    fn value(&mut self, member: Member, c: char, tools: &Tools, sink: &mut Sink<'_, '_>) -> Step {
        if self.begin_value(c) != Scan::More {
            return Step::Leave;
        }
        match (member, c, self.tool) {
            (Member::Name, '"', _) => self.enter(State::Name(Some(tools.prefix()))),
            (Member::Name, ..) => Step::Leave,
            (Member::Arguments, '{', Some(tool)) => {
                self.begin(tool, tools, sink);
                sink.arguments("{");
                self.enter(State::Sent)
            }
            (Member::Arguments, '{' | '"' | 'n', _) => self.enter(State::Held),
            (Member::Arguments, ..) => Step::Leave,
            (Member::Other, ..) => self.enter(State::Skipped),
        }
    }

    fn name(&mut self, prefix: Option<NamePrefix>, c: char, tools: &Tools, sink: &mut Sink<'_, '_>) -> Step {
        match self.scanner.push(c, &mut self.text) {
            Scan::More => {
                let prefix = prefix.filter(|_| c != '\\');
                if let Some(mut prefix) = prefix {
                    if !tools.extend(&mut prefix, c) {
                        return Step::Leave;
                    }
                    return self.enter(State::Name(Some(prefix)));
                }
                self.enter(State::Name(None))
            }
            Scan::Done => {
                let name = serde_json::from_str::<String>(&self.text).unwrap_or_default();
                self.tool = tools.find(&name);
                if self.tool.is_none() {
                    return Step::Leave;
                }
                self.state = State::AfterValue;
                self.send(tools, sink)
            }
            Scan::Past | Scan::Invalid => Step::Leave,
        }
    }

    fn begin(&mut self, tool: usize, tools: &Tools, sink: &mut Sink<'_, '_>) {
        sink.begin(tools, tool);
        self.begun = true;
    }

    /// Sends the call if both its parts are known.
    fn send(&mut self, tools: &Tools, sink: &mut Sink<'_, '_>) -> Step {
        if let (Some(tool), Some(arguments)) = (self.tool, self.arguments.take_if(|_| self.tool.is_some())) {
            self.begin(tool, tools, sink);
            sink.arguments(&arguments);
            sink.end();
        }
        self.kept()
    }

    /// The object is complete.
    fn close(&mut self, tools: &Tools, sink: &mut Sink<'_, '_>) -> Step {
        if !self.begun && self.tool.is_some() {
            self.arguments = Some("{}".to_owned());
            self.send(tools, sink);
        }
        if self.begun { Step::Done } else { Step::Leave }
    }
}

/// Arguments that were read as a whole: an object, a string that contains one, or null. `None` if they are something else.
fn held_arguments(text: String) -> Option<String> {
    match text.as_bytes().first() {
        Some(b'{') => Some(text),
        Some(b'n') => Some("{}".to_owned()),
        _ => {
            let text: String = serde_json::from_str(&text).ok()?;
            let text = text.trim_matches(is_space);
            if text.is_empty() {
                return Some("{}".to_owned());
            }
            let (mut scanner, mut copy) = (Scanner::new(), String::new());
            let mut scan = Scan::Invalid;
            for c in text.chars() {
                if scan == Scan::Done {
                    return None;
                }
                scan = scanner.push(c, &mut copy);
                if matches!(scan, Scan::Past | Scan::Invalid) {
                    return None;
                }
            }
            (scan == Scan::Done && copy.starts_with('{')).then_some(copy)
        }
    }
}
