//! The grammar of a reply in the harmony format: messages of reasoning, then one of text or calls.
//!
//! What the parser of replies would read as the end of a message, or as the beginning of another, is not allowed within their
//! texts.

use weft_text::Tokenizer;

use crate::calls::Calls;
use crate::lark::{Lark, mark};
use crate::spec::{Begun, TextSpec, ToolChoice};
use crate::vocabulary::Mark;

const NEVER: [&str; 4] = ["<|start|>", "<|channel|>", "<|return|>", "<|call|>"];

/// The rules for parts of replies.
struct Parts {
    channel: String,
    message: String,
    /// Any text, and the end of its message with the beginning of the next.
    text: String,
    /// A last message of any text that is not empty.
    last: String,
}

/// The rule of a whole reply whose final text has the rule `text`, unless it is free.
pub(super) fn reply(
    lark: &mut Lark,
    tokenizer: &Tokenizer,
    begun: Begun,
    spec: &TextSpec,
    text: Option<String>,
    calls: Option<(&Calls, &ToolChoice)>,
) -> String {
    let of = |text: &str| Mark::of(text, tokenizer);
    let [start, channel, message, constrain] =
        ["<|start|>", "<|channel|>", "<|message|>", "<|constrain|>"].map(|text| mark(&of(text)));
    let end = of("<|end|>");
    let mut never = NEVER.map(of).to_vec();
    let until = lark.text_until(&end, &never.iter().collect::<Vec<_>>());
    never.push(end);
    let last = lark.text(&never.iter().collect::<Vec<_>>());
    let parts = Parts { text: lark.rule(&format!("{until} {start} \"assistant\"")), last, channel, message };

    let required = calls.is_some_and(|(_, choice)| *choice != ToolChoice::Auto);
    let is_json = matches!(spec, TextSpec::JsonObject | TextSpec::JsonSchema(_));
    let kind = if is_json { format!("(\" \"? {constrain} \"json\")? ") } else { String::new() };
    let content = match &text {
        Some(text) if is_json => format!("WS? {text}"),
        Some(text) => text.clone(),
        None => format!("{}?", parts.last),
    };
    let content = lark.rule(&content);
    let mut ends = Vec::new();
    if !required {
        ends.push(lark.rule(&format!("{} \"final\" {kind}{} {content}", parts.channel, parts.message)));
    }
    ends.extend(calls.map(|(calls, _)| calls.calls.clone()));
    // Text that announces calls.
    let plan = calls.is_some() && !required;
    let messages = parts.messages(lark, plan, &ends);
    match begun {
        Begun::Header => messages,
        Begun::Reasoning => lark.rule(&format!("{} {messages}", parts.text)),
        Begun::Text if required => lark.rule(&format!("{} {messages}", parts.text)),
        Begun::Text if plan => lark.rule(&format!("{content} | {} {messages}", parts.text)),
        Begun::Text => content,
    }
}

impl Parts {
    /// Messages of reasoning, or plans, then one of these.
    fn messages(&self, lark: &mut Lark, plan: bool, ends: &[String]) -> String {
        let Parts { channel, message, text, .. } = self;
        let reasoning = lark.rule(&format!("{channel} \"analysis\" {message} {text}"));
        let before = if plan {
            let plan = lark.rule(&format!("{channel} \"commentary\" {message} {text}"));
            format!("({reasoning} | {plan})*")
        } else {
            format!("{reasoning}*")
        };
        lark.rule(&format!("{before} ({})", ends.join(" | ")))
    }
}
