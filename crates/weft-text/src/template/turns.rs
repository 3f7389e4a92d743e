//! Puts messages in the order that strict templates insist on: a system message, if there is one, and then the user's and the
//! assistant's in turn, the user's first.
//!
//! Calls of tools and their results do not count, as these templates have it. Agents send other orders: two messages of the user,
//! a message of the user after a tool's result, a reply that was empty.

use serde_json::{Value as Json, json};

use super::adapt::joined;
use super::features::TemplateFeatures;
use super::message::Message;

/// The text of a turn that nobody took. Some templates refuse an empty one.
const NOTHING: &str = " ";

/// Messages in that order, with the text of all.
pub(super) fn alternate(features: &TemplateFeatures, messages: Vec<Message>) -> Vec<Message> {
    let mut turns: Vec<Message> = Vec::with_capacity(messages.len());
    // The last message that counts, and whether others came after it.
    let mut last: Option<usize> = None;
    for mut message in messages {
        if message.role == "system" {
            if turns.is_empty() && features.system {
                turns.push(message);
                continue;
            }
            message.role = "user".to_owned();
        }
        let calls = message
            .extra
            .get("tool_calls")
            .is_some_and(|calls| calls.as_array().is_some_and(|c| !c.is_empty()));
        if message.role == "tool" || calls {
            if last.is_none() {
                last = Some(turns.len());
                turns.push(nothing(features, "user"));
            }
            turns.push(message);
            continue;
        }
        let is_user = message.role == "user";
        if !is_user && is_empty(&message) {
            continue;
        }
        match last.filter(|&at| (turns[at].role == "user") == is_user) {
            None if last.is_none() && !is_user => turns.push(nothing(features, "user")),
            None => {}
            Some(at) if at + 1 == turns.len() => {
                turns[at] = together(features, turns[at].clone(), message);
                continue;
            }
            // The text before the calls is put together with the text after them.
            Some(at) if !is_user => message = together(features, turns.remove(at), message),
            Some(_) => turns.push(nothing(features, "assistant")),
        }
        last = Some(turns.len());
        turns.push(message);
    }
    turns
}

/// A turn without words.
fn nothing(features: &TemplateFeatures, role: &str) -> Message {
    let parts = role == "user" && features.content_parts_only;
    Message::new(role, if parts { json!([{"type": "text", "text": NOTHING}]) } else { json!(NOTHING) })
}

fn is_empty(message: &Message) -> bool {
    match &message.content {
        Json::Null => true,
        Json::String(text) => text.trim().is_empty(),
        _ => false,
    }
}

/// Two messages of one role as one.
fn together(features: &TemplateFeatures, first: Message, mut second: Message) -> Message {
    if !is_empty(&first) {
        second.content =
            if is_empty(&second) { first.content } else { joined(&first.content, &second.content) };
    }
    let name = super::adapt::reasoning_name(features);
    let thought = |message: &Message| message.extra.get(name).and_then(Json::as_str).map(str::to_owned);
    if let Some(before) = first.extra.get(name).and_then(Json::as_str) {
        let both = thought(&second).map_or(before.to_owned(), |after| format!("{before}\n\n{after}"));
        second.extra.insert(name.to_owned(), both.into());
    }
    second
}
