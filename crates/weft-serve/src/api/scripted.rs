//! Replies written by hand or at random, for tests of the events they become.

use proptest::prelude::*;
use serde_json::{Value, json};
use weft_engine::{Finish, Timings, Usage};
use weft_text::reply::ReplyPiece;

use crate::http::sse::{Events, Frames};
use crate::reply::{Outcome, Update};

pub(crate) fn reasoning(text: &str) -> Update {
    Update::Piece(ReplyPiece::Reasoning(text.into()))
}

pub(crate) fn text(text: &str) -> Update {
    Update::Piece(ReplyPiece::Text(text.into()))
}

pub(crate) fn call(index: usize, name: &str) -> Update {
    Update::Piece(ReplyPiece::ToolCall { index, name: name.into() })
}

pub(crate) fn arguments(index: usize, json: &str) -> Update {
    Update::Piece(ReplyPiece::Arguments { index, json: json.into() })
}

pub(crate) fn call_end(index: usize) -> Update {
    Update::Piece(ReplyPiece::ToolCallEnd { index })
}

pub(crate) fn finished(finish: Finish) -> Update {
    let mut usage = Usage::default();
    usage.prompt_tokens = 30;
    usage.cached_tokens = 16;
    usage.tokens = 7;
    Update::Finished(Outcome { finish, usage, reasoning_tokens: 3, timings: Timings::default() })
}

/// The events of a whole reply.
pub(crate) fn stream(events: &mut impl Events, updates: &[Update]) -> Vec<(String, Value)> {
    let mut frames = Frames::default();
    events.begin(&mut frames);
    updates.iter().for_each(|update| events.update(0, update.clone(), &mut frames));
    events.end(&mut frames);
    parse(frames.text())
}

/// Events without the stream.
pub(crate) fn fold(events: &mut impl Events, updates: &[Update]) {
    updates.iter().for_each(|update| events.update(0, update.clone(), &mut Frames::default()));
}

/// The names and data of events, as a client reads them.
pub(crate) fn parse(text: &str) -> Vec<(String, Value)> {
    let event = |text: &str| {
        let (name, data) = match text.split_once('\n') {
            None => ("", text),
            Some((name, data)) => (name.strip_prefix("event: ").expect("a name"), data),
        };
        let data = data.strip_prefix("data: ").expect("data");
        (name.to_string(), serde_json::from_str(data).unwrap_or_else(|_| json!(data)))
    };
    text.split_terminator("\n\n").map(event).collect()
}

/// Events as lines, for expected files.
pub(crate) fn lines(events: &[(String, Value)]) -> String {
    let line = |(name, data): &(String, Value)| {
        let mut data = data.clone();
        for hidden in ["type", "sequence_number"] {
            if let Value::Object(map) = &mut data {
                map.remove(hidden);
            }
        }
        if let Some(timings) = data.get_mut("response").and_then(|response| response.get_mut("timings")) {
            *timings = json!("…");
        }
        format!("{name} {data}\n")
    };
    events.iter().map(line).collect()
}

/// A text cut into pieces that are not empty.
fn pieces(text: String, cuts: &[prop::sample::Index]) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(chars.len() + 1)).collect();
    at.extend([0, chars.len()]);
    at.sort_unstable();
    let pieces = at.windows(2).map(|pair| chars[pair[0]..pair[1]].iter().collect::<String>());
    pieces.filter(|piece| !piece.is_empty()).collect()
}

/// Any reply that a parser can produce: parts in any order, each in pieces; calls that end, and calls that break off.
/// `names` are those of tools, and `key` is what a call's argument is called.
pub(crate) fn any_reply(
    names: &'static [&'static str],
    key: &'static str,
) -> impl Strategy<Value = Vec<Update>> {
    let cuts = prop::collection::vec(any::<prop::sample::Index>(), 0..6);
    let part = (0..3u8, "\\PC{0,12}|[\"\\\\\n\u{1}𝄞a]{0,6}", cuts, prop::sample::select(names), 0..4u8);
    let finish = prop::sample::select(vec![
        Finish::EndOfTurn,
        Finish::Length,
        Finish::Context,
        Finish::Stop("END".into()),
    ]);
    (prop::collection::vec(part, 0..6), finish).prop_map(move |(parts, finish)| {
        let mut updates = Vec::new();
        let mut calls = 0;
        for (kind, words, cuts, name, broken) in parts {
            match kind {
                0 => updates.extend(pieces(words, &cuts).iter().map(|piece| reasoning(piece))),
                1 => updates.extend(pieces(words, &cuts).iter().map(|piece| text(piece))),
                _ => {
                    updates.push(call(calls, name));
                    let mut json = json!({ key: words, "more": [1, { "x": null }] }).to_string();
                    if broken == 0 {
                        let half = json.chars().count() / 2;
                        json = json.chars().take(half).collect();
                    }
                    updates.extend(pieces(json, &cuts).iter().map(|piece| arguments(calls, piece)));
                    if broken > 0 {
                        updates.push(call_end(calls));
                    }
                    calls += 1;
                }
            }
        }
        updates.push(finished(finish));
        updates
    })
}
