//! The harmony format of gpt-oss: a reply is a sequence of messages, and the channel of each says what it is.
//!
//! ```text
//! <|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>…<|return|>
//! <|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>
//! ```
//!
//! The channel `analysis` is reasoning, `final` and `commentary` are text, and a message to a declared tool whose text is a JSON
//! object is a call. The prompt ends with `<|start|>assistant`, so a reply begins in the middle of a header.
//!
//! An end mark, white space and a header are read as one, by [`Header`]: they are markup if the message is one of those above, or
//! if the reply ends there. Otherwise they are text, as written: a mark that a model only writes about stays, and so does a message
//! to an unknown recipient or in an unknown channel.

mod header;

use super::call::Sink;
use super::ledger::{Fate, Ledger};
use super::piece::{Channel, Output};
use super::scanner::{Scan, Scanner};
use super::tools::{Tool, Tools};
pub(super) use header::{CHANNEL, END, MESSAGE, START};
use header::{CONSTRAIN, ENDS, Header, HeaderStep};

/// The prefix of recipients that are the client's tools; others are tools that the model was trained with.
pub(super) const FUNCTIONS: &str = "functions.";

/// The most white space between a header and the arguments of its call, in bytes.
const MAX_SPACE: usize = 1024;

/// All marks that a reply has within it.
pub(super) const MARKS: &[&str] = &[START, CHANNEL, CONSTRAIN, MESSAGE, END];

/// Splits such a reply.
pub(crate) struct HarmonyParser {
    tools: Tools,
    /// The kind of text of the message.
    channel: Channel,
    state: State,
    /// The text that has been read and not decided: a header, and the text before it.
    held: String,
    /// How many calls have begun.
    calls: usize,
    ledger: Option<Ledger>,
}

enum State {
    /// The text of a message.
    Body,
    Header(Header),
    /// After the header of a call to this tool; `header` is where it begins in what is held.
    Called {
        tool: usize,
        header: usize,
    },
    Arguments(Scanner),
}

impl HarmonyParser {
    /// A parser for one reply to this prompt, with calls of these tools.
    pub(crate) fn new(tools: &[Tool], prompt: &str) -> HarmonyParser {
        let (state, channel) = opened(prompt);
        let tools = Tools::new(tools);
        HarmonyParser { tools, channel, state, held: String::new(), calls: 0, ledger: None }
    }

    /// Ends the reply. A header that is cut off is dropped, with the end mark before it.
    pub(crate) fn finish(&mut self, output: &mut Output<'_>) {
        let held = std::mem::take(&mut self.held);
        match std::mem::replace(&mut self.state, State::Body) {
            State::Header(header) => {
                let space = header.is_before() && held.trim_start().is_empty();
                if space || header.has_marks() { self.drop_markup(&held) } else { self.write(&held, output) }
            }
            State::Called { .. } => self.drop_markup(&held),
            State::Body | State::Arguments(_) => {}
        }
    }

    /// Whether the next character is expected to be reasoning.
    pub(crate) fn in_reasoning(&self) -> bool {
        self.channel == Channel::Reasoning && matches!(self.state, State::Body)
    }

    pub(crate) fn ledger(&mut self) -> &mut Option<Ledger> {
        &mut self.ledger
    }

    /// Reads the next character.
    pub(crate) fn step(&mut self, c: char, output: &mut Output<'_>) {
        if let Some(ledger) = &mut self.ledger {
            ledger.work += 1;
        }
        match &mut self.state {
            State::Body if c != '<' => self.write(c.encode_utf8(&mut [0; 4]), output),
            State::Body => {
                self.state = State::Header(Header::new());
                self.step_header(c, output);
            }
            State::Header(_) => self.step_header(c, output),
            State::Called { tool, header } => {
                let (tool, begin) = (*tool, *header);
                if c == '{' {
                    self.begin_call(tool, begin, output);
                } else if c.is_whitespace() && self.held.len() < header::MAX_BYTES + MAX_SPACE {
                    self.held.push(c);
                } else {
                    // Not a call: this model's own tools take other things than JSON.
                    self.as_written(begin, Channel::Text, output);
                    self.step(c, output);
                }
            }
            State::Arguments(_) => self.step_arguments(c, output),
        }
    }

    fn step_header(&mut self, c: char, output: &mut Output<'_>) {
        let State::Header(header) = &mut self.state else { return };
        self.held.push(c);
        match header.push(c) {
            HeaderStep::More => {}
            HeaderStep::Whole => self.begin_message(output),
            HeaderStep::Other => {
                // The first character is text, unless only what the prompt has begun is none. Another header may begin after it,
                // but there are few places where one can.
                let rest = if header.is_prompted() { 0 } else { self.held.ceil_char_boundary(1) };
                self.state = State::Body;
                let held = std::mem::take(&mut self.held);
                self.write(&held[..rest], output);
                held[rest..].chars().for_each(|c| self.step(c, output));
            }
        }
    }

    /// A whole header is held.
    fn begin_message(&mut self, output: &mut Output<'_>) {
        let State::Header(header) = &self.state else { return };
        let (begin, channel) = (header.begin(), header.channel());
        match header.recipient() {
            None => match known(channel) {
                Some(channel) => {
                    let held = std::mem::take(&mut self.held);
                    self.drop_markup(&held);
                    self.channel = channel;
                    self.state = State::Body;
                }
                None => self.as_written(begin, Channel::Text, output),
            },
            Some(recipient) => {
                match recipient.strip_prefix(FUNCTIONS).and_then(|name| self.tools.find(name)) {
                    Some(tool) => self.state = State::Called { tool, header: begin },
                    None => {
                        let channel = known(channel).unwrap_or(Channel::Text);
                        self.as_written(begin, channel, output);
                    }
                }
            }
        }
    }

    /// The message whose header is held is none of those that are known: from its header on, it is text in this channel.
    fn as_written(&mut self, header: usize, channel: Channel, output: &mut Output<'_>) {
        let held = std::mem::take(&mut self.held);
        self.drop_markup(&held[..header]);
        self.channel = channel;
        self.state = State::Body;
        self.write(&held[header..], output);
    }

    fn begin_call(&mut self, tool: usize, header: usize, output: &mut Output<'_>) {
        let held = std::mem::take(&mut self.held);
        self.drop_markup(&held[..header]);
        self.settle(Fate::Call(self.calls), held.len() - header);
        self.channel = Channel::Text;
        self.state = State::Arguments(Scanner::new());
        Sink { output, calls: &mut self.calls }.begin(&self.tools, tool);
        self.step_arguments('{', output);
    }

    fn step_arguments(&mut self, c: char, output: &mut Output<'_>) {
        let State::Arguments(scanner) = &mut self.state else { return };
        let mut json = String::new();
        let scan = scanner.push(c, &mut json);
        let mut sink = Sink { output, calls: &mut self.calls };
        sink.arguments(&json);
        match scan {
            Scan::More => {}
            Scan::Done => {
                sink.end();
                self.state = State::Header(Header::new());
            }
            Scan::Past | Scan::Invalid if sink.close_before(c, scanner) => {
                self.state = State::Header(Header::new());
                return self.step(c, output);
            }
            Scan::Past | Scan::Invalid => {
                self.state = State::Body;
                return self.step(c, output);
            }
        }
        self.settle(Fate::Call(self.calls - 1), c.len_utf8());
    }

    fn write(&mut self, text: &str, output: &mut Output<'_>) {
        output.prose(self.channel, text);
        self.settle(self.channel.into(), text.len());
    }

    /// An end mark, a header, or both, with the white space next to them.
    fn drop_markup(&mut self, held: &str) {
        let rest = held.trim_start();
        self.settle(Fate::Space, held.len() - rest.len());
        let end = ENDS.iter().find(|end| rest.starts_with(**end)).map_or(0, |end| end.len());
        self.settle(Fate::Tag, end);
        let header = rest[end..].trim_start();
        self.settle(Fate::Space, rest.len() - end - header.len());
        self.settle(Fate::Tag, header.len());
    }

    fn settle(&mut self, fate: Fate, length: usize) {
        if let Some(ledger) = &mut self.ledger {
            ledger.settle(fate, length);
        }
    }
}

/// The kind of text of messages in this channel; `None` if there is no such channel.
fn known(channel: Option<&str>) -> Option<Channel> {
    match channel {
        Some("analysis") => Some(Channel::Reasoning),
        Some("final" | "commentary") | None => Some(Channel::Text),
        Some(_) => None,
    }
}

/// Whether a reply to this prompt begins inside reasoning.
pub(super) fn begins_in_reasoning(prompt: &str) -> bool {
    matches!(opened(prompt), (State::Body, Channel::Reasoning))
}

/// The state that a prompt leaves the reply in: as a rule, in the header of a message.
fn opened(prompt: &str) -> (State, Channel) {
    const NOTHING: (State, Channel) = (State::Body, Channel::Text);
    let Some(start) = prompt.rfind(START) else { return NOTHING };
    let message = &prompt[start + START.len()..];
    if ENDS.iter().any(|end| message.contains(end)) {
        return NOTHING;
    }
    let mut header = Header::after_start();
    for c in message.chars() {
        match header.push(c) {
            HeaderStep::More => {}
            HeaderStep::Whole => return (State::Body, known(header.channel()).unwrap_or(Channel::Text)),
            HeaderStep::Other => return NOTHING,
        }
    }
    header.continue_in_reply();
    (State::Header(header), Channel::Text)
}
