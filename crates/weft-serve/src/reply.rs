//! A reply as every API sees it: updates as they come, or all of them collected.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::mpsc;
use weft_engine::{Event, Finish, Timings, Token, Usage};
use weft_text::reply::{ReplyFormat, ReplyParser, ReplyPiece, Tool};

use crate::error::{ApiError, Kind};
use crate::worker::Signal;

/// News of a reply.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Update {
    /// More of the prompt has been computed.
    Prompt {
        /// The number of tokens so far.
        done: usize,
        /// The number of tokens of the prompt.
        total: usize,
    },
    /// A token of the prompt, if its log probability was asked for.
    PromptToken(Token),
    /// A token came. The pieces that it completes follow.
    Token(Token),
    /// More of the reply.
    Piece(ReplyPiece),
    /// The reply has ended.
    Finished(Outcome),
}

/// How a reply ended.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Outcome {
    /// Why.
    pub(crate) finish: Finish,
    /// Its tokens.
    pub(crate) usage: Usage,
    /// The number of tokens of its reasoning.
    pub(crate) reasoning_tokens: usize,
    /// Its durations.
    pub(crate) timings: Timings,
}

/// How the text of a reply is read.
#[derive(Clone, Debug)]
pub(crate) enum Reading {
    /// As it is.
    Plain,
    /// As reasoning, text and tool calls.
    Chat {
        /// The form in which the model writes them.
        format: ReplyFormat,
        /// The tools it may call.
        tools: Arc<[Tool]>,
        /// The prompt, whose end says whether the reply begins with reasoning.
        prompt: Arc<str>,
    },
}

impl Reading {
    fn parser(&self) -> Option<ReplyParser> {
        match self {
            Reading::Plain => None,
            Reading::Chat { format, tools, prompt } => Some(ReplyParser::new(format, tools, prompt)),
        }
    }
}

/// The replies to a request, as they come. Dropping it cancels them.
pub(crate) struct Replies {
    signals: mpsc::UnboundedReceiver<Signal>,
    choices: Vec<Choice>,
    pending: VecDeque<(usize, Update)>,
    left: usize,
    reasoning_hidden: bool,
}

struct Choice {
    parser: Option<ReplyParser>,
    reasoning_tokens: usize,
    /// Whether nothing but reasoning has come.
    reasoning: bool,
}

impl Replies {
    /// Reads `n` replies from a channel.
    pub(crate) fn new(signals: mpsc::UnboundedReceiver<Signal>, n: usize, reading: &Reading) -> Replies {
        let choice = || Choice { parser: reading.parser(), reasoning_tokens: 0, reasoning: false };
        let choices = (0..n).map(|_| choice()).collect();
        Replies { signals, choices, pending: VecDeque::new(), left: n, reasoning_hidden: false }
    }

    /// Leaves out the text of the reasoning. Its tokens are counted all the same.
    pub(crate) fn hide_reasoning(&mut self) {
        self.reasoning_hidden = true;
    }

    /// The next update, with the number of its reply. `None` once all replies have ended.
    ///
    /// # Errors
    /// If the request ends before its replies have.
    pub(crate) async fn next(&mut self) -> Result<Option<(usize, Update)>, ApiError> {
        loop {
            if let Some(update) = self.pending.pop_front() {
                return Ok(Some(update));
            }
            if self.left == 0 {
                return Ok(None);
            }
            match self.signals.recv().await {
                None => {
                    return Err(ApiError::new(Kind::Internal, "the model stopped before the reply ended"));
                }
                Some(Signal::Refused(error)) => return Err(error),
                Some(Signal::Event { choice, event }) => self.event(choice, event),
                Some(Signal::Ended { choice, finish, usage, timings }) => {
                    self.end(choice, finish, usage, timings)?;
                }
            }
        }
    }

    fn event(&mut self, choice: usize, event: Event) {
        match event {
            Event::Prompt { done, total } => self.pending.push_back((choice, Update::Prompt { done, total })),
            Event::PromptToken(token) => self.pending.push_back((choice, Update::PromptToken(token))),
            Event::Token(token) => {
                let reply = &mut self.choices[choice];
                reply.reasoning_tokens += usize::from(reply.reasoning);
                self.pending.push_back((choice, Update::Token(token)));
            }
            Event::Text(text) => self.read(choice, |parser, out| match parser {
                None => out.push(ReplyPiece::Text(text)),
                Some(parser) => parser.push(&text, out),
            }),
            _ => {}
        }
    }

    fn read(&mut self, choice: usize, read: impl FnOnce(Option<&mut ReplyParser>, &mut Vec<ReplyPiece>)) {
        let reply = &mut self.choices[choice];
        let mut pieces = Vec::new();
        read(reply.parser.as_mut(), &mut pieces);
        for piece in pieces {
            let reasoning = matches!(piece, ReplyPiece::Reasoning(_));
            if reasoning && !reply.reasoning {
                // The token whose text this is was counted before.
                reply.reasoning_tokens += 1;
            }
            reply.reasoning = reasoning;
            if reasoning && self.reasoning_hidden {
                continue;
            }
            self.pending.push_back((choice, Update::Piece(piece)));
        }
    }

    fn end(&mut self, choice: usize, finish: Finish, usage: Usage, timings: Timings) -> Result<(), ApiError> {
        if let Finish::Failed(why) = finish {
            return Err(ApiError::new(Kind::Internal, why.to_string()));
        }
        self.read(choice, |parser, out| {
            if let Some(parser) = parser {
                parser.finish(out);
            }
        });
        let reasoning_tokens = self.choices[choice].reasoning_tokens;
        let outcome = Outcome { finish, usage, reasoning_tokens, timings };
        self.pending.push_back((choice, Update::Finished(outcome)));
        self.left -= 1;
        Ok(())
    }
}

/// A complete reply.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Collected {
    /// Its reasoning.
    pub(crate) reasoning: String,
    /// Its text.
    pub(crate) text: String,
    /// Its tool calls, in order.
    pub(crate) calls: Vec<Call>,
    /// The tokens of the prompt, if their log probabilities were asked for.
    pub(crate) prompt: Vec<Token>,
    /// Its tokens.
    pub(crate) tokens: Vec<Token>,
    /// How it ended.
    pub(crate) outcome: Option<Outcome>,
}

/// A call of a tool.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Call {
    /// The tool.
    pub(crate) name: String,
    /// Its arguments, a JSON object as text. Cut off if the call is.
    pub(crate) arguments: String,
    /// Whether it is complete.
    pub(crate) whole: bool,
}

impl Collected {
    /// Adds an update. A stream is the sequence of updates, so that the collected reply is what a stream adds up to.
    pub(crate) fn add(&mut self, update: Update) {
        match update {
            Update::Prompt { .. } => {}
            Update::PromptToken(token) => self.prompt.push(token),
            Update::Token(token) => self.tokens.push(token),
            Update::Piece(ReplyPiece::Reasoning(more)) => self.reasoning += &more,
            Update::Piece(ReplyPiece::Text(more)) => self.text += &more,
            Update::Piece(ReplyPiece::ToolCall { name, .. }) => {
                self.calls.push(Call { name, ..Call::default() });
            }
            Update::Piece(ReplyPiece::Arguments { index, json }) => {
                if let Some(call) = self.calls.get_mut(index) {
                    call.arguments += &json;
                }
            }
            Update::Piece(ReplyPiece::ToolCallEnd { index }) => {
                if let Some(call) = self.calls.get_mut(index) {
                    call.whole = true;
                }
            }
            Update::Piece(_) => {}
            Update::Finished(outcome) => self.outcome = Some(outcome),
        }
    }
}

/// Collects `n` replies.
///
/// # Errors
/// If the request ends before its replies have.
pub(crate) async fn collect(mut replies: Replies) -> Result<Vec<Collected>, ApiError> {
    let mut collected: Vec<Collected> = replies.choices.iter().map(|_| Collected::default()).collect();
    while let Some((choice, update)) = replies.next().await? {
        collected[choice].add(update);
    }
    Ok(collected)
}

/// The usage of all replies to one prompt.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Total {
    /// The number of tokens of the prompt.
    pub(crate) prompt: usize,
    /// The number of prompt tokens that were cached.
    pub(crate) cached: usize,
    /// The number of tokens of all replies.
    pub(crate) completion: usize,
    /// The number of them that are reasoning.
    pub(crate) reasoning: usize,
    /// The number of tokens that were guessed, and of those that were right.
    pub(crate) guessed: usize,
    pub(crate) accepted: usize,
}

impl Total {
    /// Adds a reply to the same prompt.
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        self.prompt = outcome.usage.prompt_tokens;
        self.cached = self.cached.max(outcome.usage.cached_tokens);
        self.completion += outcome.usage.tokens;
        self.reasoning += outcome.reasoning_tokens;
        self.guessed += outcome.usage.guessed;
        self.accepted += outcome.usage.accepted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn reasoning_can_be_left_out() {
        let format = ReplyFormat::of("{{ '<think>' }}");
        let reading = Reading::Chat { format, tools: Arc::from([]), prompt: "".into() };
        for (hidden, reasoning) in [(false, "a"), (true, "")] {
            let (signals, receive) = mpsc::unbounded_channel();
            for text in ["<think>a</think>", "b"] {
                signals.send(Signal::Event { choice: 0, event: Event::Text(text.into()) }).unwrap();
            }
            let (usage, timings) = (Usage::default(), Timings::default());
            signals.send(Signal::Ended { choice: 0, finish: Finish::Length, usage, timings }).unwrap();
            let mut replies = Replies::new(receive, 1, &reading);
            if hidden {
                replies.hide_reasoning();
            }
            let reply = collect(replies).await.unwrap().remove(0);
            assert_eq!((reply.reasoning.as_str(), reply.text.as_str()), (reasoning, "b"));
            assert!(reply.outcome.unwrap().reasoning_tokens > 0);
        }
    }
}
