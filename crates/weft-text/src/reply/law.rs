//! Properties of every reply, for tests and fuzzing.
//!
//! 1. The joined pieces do not depend on how a reply is cut.
//! 2. No byte is lost, moved or changed: each is a byte of text or reasoning at its place, belongs to a call, is part of a
//!    whole tag (or, at the end, of the beginning of one that closes a call), or is white space next to a tag or call. In the
//!    harmony format, tags are ends of messages, and headers of messages without a recipient.
//! 3. Calls are numbered from 0 and name declared tools. The pieces of one are not interrupted by others, and the arguments
//!    of one that ends are a JSON object.

use serde_json::{Value, json};

use super::format::{ReasoningTags, ReplyFormat, ToolSyntax};
use super::ledger::{Fate, Ledger};
use super::parser::ReplyParser;
use super::piece::{Output, ReplyPiece};
use super::tools::Tool;

/// The pieces of a reply that arrives cut at these places, joined.
pub fn pieces(
    format: &ReplyFormat,
    tools: &[Tool],
    prompt: &str,
    reply: &str,
    cuts: impl IntoIterator<Item = usize>,
) -> Vec<ReplyPiece> {
    run(&mut ReplyParser::new(format, tools, prompt), reply, cuts)
}

/// How much work a reply is that arrives one character at a time: characters handled, and bytes compared or moved.
pub fn work(format: &ReplyFormat, tools: &[Tool], prompt: &str, reply: &str) -> usize {
    let mut parser = ReplyParser::new(format, tools, prompt);
    parser.keep_ledger();
    run(&mut parser, reply, reply.char_indices().map(|(at, _)| at));
    parser.take_ledger().work
}

/// Checks a reply, whole and cut in each of these ways. Returns numbers that say what happened in it: which fates of bytes
/// came after each other, and how arguments ended.
///
/// # Panics
/// If a property does not hold.
pub fn check(
    format: &ReplyFormat,
    tools: &[Tool],
    prompt: &str,
    reply: &str,
    cuts: &[Vec<usize>],
) -> Vec<u64> {
    let mut parser = ReplyParser::new(format, tools, prompt);
    parser.keep_ledger();
    let whole = run(&mut parser, reply, []);
    let Ledger { fates, .. } = parser.take_ledger();
    check_bytes(format, reply, &fates, &whole);
    check_calls(tools, &whole);

    for cuts in cuts {
        let cut = pieces(format, tools, prompt, reply, cuts.iter().copied());
        assert_eq!(cut, whole, "cut at {cuts:?}: {reply:?}");
    }
    let characters = pieces(format, tools, prompt, reply, reply.char_indices().map(|(at, _)| at));
    assert_eq!(characters, whole, "character by character: {reply:?}");
    features(&fates, &whole)
}

/// Checks a reply made of any bytes: the first selects the format, the second the end of the prompt, the third the cuts.
/// Returns numbers that identify the events of the reply, so that a fuzzer can look for new ones.
///
/// # Panics
/// If a property does not hold.
pub fn check_fuzzed(bytes: &[u8]) -> Vec<u64> {
    let [number, prompt, cut, reply @ ..] = bytes else { return Vec::new() };
    let reply = String::from_utf8_lossy(reply);
    let formats = formats();
    let number = usize::from(*number) % formats.len();
    let (_, format) = &formats[number];
    let prompt = prompts(format)[usize::from(*prompt) % 3];
    let near = |at: usize| reply.floor_char_boundary(at.min(reply.len()));
    let cut = near(usize::from(*cut));
    let steps: Vec<usize> = (0..reply.len()).step_by(3).map(near).collect();
    let features = check(format, &tools(), prompt, &reply, &[vec![cut], vec![cut, near(cut + 7)], steps]);
    features.into_iter().map(|feature| feature * 8 + number as u64).collect()
}

/// Three fates in a row, and for each call the kind of character that its arguments end with and whether they are complete.
fn features(fates: &[(Fate, usize)], pieces: &[ReplyPiece]) -> Vec<u64> {
    let kind = |at: usize| match fates.get(at) {
        None => 0,
        Some((Fate::Text, _)) => 1,
        Some((Fate::Reasoning, _)) => 2,
        Some((Fate::Tag, _)) => 3,
        Some((Fate::Space, _)) => 4,
        Some((Fate::Call(_), _)) => 5,
    };
    let fates = (0..fates.len()).map(|at| kind(at) + 6 * kind(at + 1) + 36 * kind(at + 2));
    let arguments = (0..pieces.len()).filter_map(|at| {
        let ReplyPiece::Arguments { json, .. } = &pieces[at] else { return None };
        let ended = matches!(pieces.get(at + 1), Some(ReplyPiece::ToolCallEnd { .. }));
        let depth = json.chars().filter(|c| matches!(c, '{' | '[')).count().min(3) as u64;
        let last = u64::from(json.as_bytes().last().map_or(0, |byte| byte % 8));
        Some(1000 + last + 8 * depth + 32 * u64::from(ended))
    });
    fates.chain(arguments).collect()
}

/// Ends of prompts after which replies in a format begin differently.
pub fn prompts(format: &ReplyFormat) -> [&'static str; 3] {
    if format.harmony {
        ["<|start|>assistant", "<|start|>assistant<|channel|>analysis<|message|>", ""]
    } else {
        ["", "<think>", "<think>\n\n</think>\n\n"]
    }
}

/// Every format, with and without reasoning, and its name.
pub fn formats() -> Vec<(&'static str, ReplyFormat)> {
    let think = Some(ReasoningTags { begin: "<think>", end: "</think>" });
    let tools = |syntax| ReplyFormat { reasoning: think, tools: Some(syntax), harmony: false };
    vec![
        ("plain", ReplyFormat::default()),
        ("think", ReplyFormat { reasoning: think, ..ReplyFormat::default() }),
        ("glm", tools(ToolSyntax::Glm)),
        ("deepseek-v3", tools(ToolSyntax::DeepSeekV3)),
        ("deepseek-v3.1", tools(ToolSyntax::DeepSeekV31)),
        ("hermes", tools(ToolSyntax::Hermes)),
        ("llama3", ReplyFormat { reasoning: None, ..tools(ToolSyntax::Llama3) }),
        ("qwen3-coder", tools(ToolSyntax::Qwen3Coder)),
        ("kimi-k2", tools(ToolSyntax::KimiK2)),
        ("gemma4", {
            let reasoning = Some(ReasoningTags { begin: "<|channel>thought", end: "<channel|>" });
            ReplyFormat { reasoning, ..tools(ToolSyntax::Gemma4) }
        }),
        ("mistral", tools(ToolSyntax::Mistral)),
        ("harmony", ReplyFormat { reasoning: None, harmony: true, ..tools(ToolSyntax::Harmony) }),
    ]
}

/// Tools whose parameters have every kind of type.
pub fn tools() -> Vec<Tool> {
    let weather = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "unit": {"enum": ["C", "F", null]},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "where": {"$ref": "#/$defs/Place"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "exact": {"type": ["boolean", "null"]},
            "any": {},
        },
        "$defs": {"Place": {"type": "object"}},
    });
    vec![
        Tool::new("weather", weather),
        Tool::new("weather_map", json!({"properties": {"zoom": {"type": ["number", "string"]}}})),
        Tool::new("time", Value::Null),
    ]
}

fn run(parser: &mut ReplyParser, reply: &str, cuts: impl IntoIterator<Item = usize>) -> Vec<ReplyPiece> {
    let mut pieces = Vec::new();
    let mut from = 0;
    for cut in cuts {
        parser.push(&reply[from..cut], &mut pieces);
        from = cut;
    }
    parser.push(&reply[from..], &mut pieces);
    parser.finish(&mut pieces);
    join(&pieces)
}

/// Joins neighbours of one kind.
fn join(pieces: &[ReplyPiece]) -> Vec<ReplyPiece> {
    let mut joined = Vec::new();
    let mut output = Output::new(&mut joined);
    for piece in pieces {
        match piece {
            ReplyPiece::Reasoning(text) => output.reasoning(text),
            ReplyPiece::Text(text) => output.text(text),
            ReplyPiece::Arguments { index, json } => output.arguments(*index, json),
            other => output.push(other.clone()),
        }
    }
    joined
}

/// Checks that the pieces agree with the use of each byte.
fn check_bytes(format: &ReplyFormat, reply: &str, fates: &[(Fate, usize)], pieces: &[ReplyPiece]) {
    let total: usize = fates.iter().map(|(_, length)| length).sum();
    assert_eq!(total, reply.len(), "bytes without a fate: {fates:?} of {reply:?}");
    let reasoning = format.reasoning.into_iter().flat_map(|tags| [tags.begin, tags.end]);
    let closers = format.tools.into_iter().flat_map(|syntax| syntax.closers().iter().copied());
    let tags: Vec<&str> = reasoning.chain(closers.clone()).collect();

    let (mut from, mut expected) = (0, Vec::new());
    let mut output = Output::new(&mut expected);
    for (at, &(fate, length)) in fates.iter().enumerate() {
        let part = &reply[from..from + length];
        match fate {
            Fate::Text => output.text(part),
            Fate::Reasoning => output.reasoning(part),
            Fate::Tag if format.harmony => {
                let last = at + 1 == fates.len();
                assert!(is_message_markup(part, last), "{part:?} is no markup: {reply:?}");
            }
            Fate::Tag => {
                let cut_off = at + 1 == fates.len() && closers.clone().any(|tag| tag.starts_with(part));
                assert!(cut_off || tags.contains(&part), "{part:?} is no tag: {reply:?}");
            }
            Fate::Space => {
                assert!(part.trim().is_empty(), "{part:?} is not white space: {reply:?}");
                let beside =
                    |fate: Option<&(Fate, usize)>| matches!(fate, Some((Fate::Tag | Fate::Call(_), _)));
                let before = at.checked_sub(1).and_then(|at| fates.get(at));
                assert!(
                    beside(before) || beside(fates.get(at + 1)) || at == 0,
                    "{part:?}: {fates:?} of {reply:?}"
                );
            }
            Fate::Call(index) if format.harmony => {
                let header = part.split_once("<|message|>").map(|(header, _)| header);
                assert!(header.is_some_and(|header| header.contains("to=functions.")), "{part:?}: {reply:?}");
                output.push(ReplyPiece::ToolCallEnd { index });
            }
            Fate::Call(index) => {
                let syntax = format.tools.expect("a call needs a syntax");
                let opens = syntax.openers(true, false).iter().chain(syntax.openers(false, true));
                assert!(opens.clone().any(|tag| part.starts_with(tag)), "call {index} begins with {part:?}");
                output.push(ReplyPiece::ToolCallEnd { index });
            }
        }
        from += length;
    }
    // Of a call, only its place counts here.
    let found: Vec<ReplyPiece> = pieces
        .iter()
        .filter(|piece| !matches!(piece, ReplyPiece::Arguments { .. } | ReplyPiece::ToolCallEnd { .. }))
        .map(|piece| match piece {
            ReplyPiece::ToolCall { index, .. } => ReplyPiece::ToolCallEnd { index: *index },
            other => other.clone(),
        })
        .collect();
    assert_eq!(join(&found), expected, "{reply:?}");
}

/// Whether this is the end of a message, or the header of one without a recipient; the last may be cut off, and may then be
/// the header of a call.
fn is_message_markup(part: &str, last: bool) -> bool {
    if ["<|end|>", "<|return|>", "<|call|>"].contains(&part) {
        return true;
    }
    let whole = part.strip_suffix("<|message|>");
    let words = ["<|start|>", "<|channel|>", "<|constrain|>"]
        .iter()
        .fold(whole.unwrap_or(part).to_owned(), |text, mark| text.replace(mark, " "));
    let known = |word: &str| ["assistant", "analysis", "commentary", "final"].contains(&word);
    let others = words.split_whitespace().filter(|word| !known(word)).count();
    // The type, and the first of two channels with a type and recipient of its own.
    if whole.is_some() {
        return others <= 4;
    }
    let begun = |mark: &str| mark.starts_with(part) || part.contains(mark);
    last && ["<|start|>", "<|channel|>", "<|constrain|>", "<|message|>"].iter().any(|mark| begun(mark))
}

/// Checks that calls are complete and name declared tools.
fn check_calls(tools: &[Tool], pieces: &[ReplyPiece]) {
    let mut next = 0;
    let mut open: Option<String> = None;
    for piece in pieces {
        match piece {
            ReplyPiece::ToolCall { index, name } => {
                assert_eq!(*index, next, "{pieces:?}");
                assert!(tools.iter().any(|tool| tool.name == *name), "{name} is not declared");
                next += 1;
                open = Some(String::new());
            }
            ReplyPiece::Arguments { index, json } => {
                assert_eq!(*index + 1, next, "{pieces:?}");
                open.as_mut().expect("arguments within a call").push_str(json);
            }
            ReplyPiece::ToolCallEnd { index } => {
                assert_eq!(*index + 1, next, "{pieces:?}");
                let arguments = open.take().expect("the end of an open call");
                let value = serde_json::from_str::<Value>(&arguments);
                assert!(value.is_ok_and(|value| value.is_object()), "{arguments}");
            }
            ReplyPiece::Text(text) | ReplyPiece::Reasoning(text) => {
                assert!(!text.is_empty());
                // A broken call is over.
                open = None;
            }
        }
    }
}
