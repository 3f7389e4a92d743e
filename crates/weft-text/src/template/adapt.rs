//! Brings messages in the form of OpenAI's API into the form that a template expects.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::features::{ArgumentsForm, TemplateFeatures};
use super::message::Message;
use crate::error::TemplateError;
use crate::partial::object_prefix;

/// See [`ChatTemplate::adapt`](crate::ChatTemplate::adapt).
pub(super) fn adapt(
    features: &TemplateFeatures,
    messages: &[Message],
) -> Result<Vec<Message>, TemplateError> {
    let mut adapted = Vec::with_capacity(messages.len());
    // The calls so far, by the ids that the client knows.
    let mut called: BTreeMap<String, Json> = BTreeMap::new();
    let mut count = 0;
    for (index, message) in messages.iter().enumerate() {
        let path = format!("messages[{index}]");
        let mut extra = message.extra.clone();
        rename_reasoning(features, &mut extra);
        let mut calls = tool_calls(features, &mut extra, &path)?;
        for call in &mut calls {
            let id = call["id"].as_str().map(str::to_owned);
            if features.named_ids {
                let name = call["function"]["name"].as_str().unwrap_or_default();
                call["id"] = format!("functions.{name}:{count}").into();
            } else if features.short_ids {
                call["id"] = short_id(count);
            }
            count += 1;
            called.extend(id.map(|id| (id, call.clone())));
        }
        let role = match message.role.as_str() {
            "developer" => "system",
            "function" => "tool",
            role => role,
        };
        if role == "tool" {
            if !features.tool_results {
                let expected = "a role that the model's chat template can write";
                return Err(wrong(format!("{path}.role"), expected, format!("{:?}", message.role)));
            }
            let call = extra.get("tool_call_id").and_then(Json::as_str).and_then(|id| called.get(id));
            if let Some(call) = call {
                if !extra.get("name").is_some_and(Json::is_string) {
                    extra.insert("name".to_owned(), call["function"]["name"].clone());
                }
                extra.insert("tool_call_id".to_owned(), call["id"].clone());
            } else if features.short_ids {
                extra.insert("tool_call_id".to_owned(), short_id(count));
                count += 1;
            }
        }
        let content = content(features, role, &message.content, &format!("{path}.content"))?;
        let mut message = Message { role: role.to_owned(), content, extra };
        if calls.is_empty() {
            push(features, &mut adapted, message);
            continue;
        }
        let is_empty = message.content == json!("");
        if !is_empty && !features.text_with_calls {
            // The text first, as the model wrote it.
            push(features, &mut adapted, message.clone());
            message.extra.remove("reasoning_content");
        }
        if features.null_content && (is_empty || !features.text_with_calls) {
            message.content = Json::Null;
        } else if !features.text_with_calls {
            message.content = json!("");
        }
        if features.reasoning_or_text {
            join_reasoning(features, &mut message);
        }
        message.extra.insert("tool_calls".to_owned(), Json::Array(calls));
        adapted.push(message);
    }
    if features.one_call {
        adapted = one_call_each(features, adapted);
    }
    fold_late_system(features, &mut adapted);
    Ok(adapted)
}

/// An id of nine letters and digits.
fn short_id(count: usize) -> Json {
    format!("call{:05}", count % 100_000).into()
}

/// Adds a message; a system message that the template would not write is appended to the one before.
fn push(features: &TemplateFeatures, messages: &mut Vec<Message>, message: Message) {
    if message.role == "system"
        && !features.second_system
        && let [first] = &mut messages[..]
        && first.role == "system"
    {
        first.content = joined(&first.content, &message.content);
        return;
    }
    messages.push(message);
}

/// A system message that the template would not write becomes part of the user's next message, or a message of the user
/// if none comes next.
fn fold_late_system(features: &TemplateFeatures, messages: &mut Vec<Message>) {
    let mut index = 0;
    while index < messages.len() {
        let written = if index == 0 { features.system } else { features.late_system };
        let second = index == 1 && messages[0].role == "system" && features.second_system;
        if messages[index].role != "system" || written || second {
            index += 1;
            continue;
        }
        if messages.get(index + 1).is_some_and(|next| next.role == "user") {
            let text = messages.remove(index).content;
            let next = &mut messages[index];
            next.content = joined(&text, &next.content);
        } else {
            messages[index].role = "user".to_owned();
        }
    }
}

/// Two contents, each a string or a list of parts, as one.
pub(super) fn joined(first: &Json, second: &Json) -> Json {
    let parts = |content: &Json| match content {
        Json::Array(parts) => parts.clone(),
        text => vec![json!({"type": "text", "text": text})],
    };
    match (first, second) {
        (Json::String(first), Json::String(second)) => Json::String(format!("{first}\n\n{second}")),
        _ => Json::Array([parts(first), parts(second)].concat()),
    }
}

/// `reasoning` is another name of `reasoning_content`; the template may have a third.
fn rename_reasoning(features: &TemplateFeatures, extra: &mut Map<String, Json>) {
    let other = extra.remove("reasoning").filter(Json::is_string);
    let text = extra.remove("reasoning_content").filter(Json::is_string).or(other);
    let name = reasoning_name(features);
    if !extra.get(name).is_some_and(Json::is_string) {
        extra.remove(name);
        extra.extend(text.map(|text| (name.to_owned(), text)));
    }
}

/// The template's name for the reasoning of a message.
pub(super) fn reasoning_name(features: &TemplateFeatures) -> &'static str {
    if features.thinking_content { "thinking" } else { "reasoning_content" }
}

/// A message with calls may have either reasoning or text: the text, which was to announce the calls, joins the reasoning.
fn join_reasoning(features: &TemplateFeatures, message: &mut Message) {
    let Some(Json::String(reasoning)) = message.extra.get_mut(reasoning_name(features)) else { return };
    let text = message.content.as_str().unwrap_or_default();
    if reasoning.is_empty() || text.is_empty() {
        return;
    }
    *reasoning = format!("{reasoning}\n\n{text}");
    message.content = json!("");
}

/// Messages with several calls become messages with one, each followed by its result.
fn one_call_each(features: &TemplateFeatures, messages: Vec<Message>) -> Vec<Message> {
    let mut result = Vec::with_capacity(messages.len());
    let mut messages = messages.into_iter().peekable();
    while let Some(mut message) = messages.next() {
        let calls = match message.extra.get_mut("tool_calls") {
            Some(Json::Array(calls)) if calls.len() > 1 => std::mem::take(calls),
            _ => {
                result.push(message);
                continue;
            }
        };
        let mut results = Vec::new();
        while let Some(next) = messages.next_if(|next| next.role == "tool") {
            results.push(next);
        }
        for call in calls {
            let id = call.get("id").cloned();
            message.extra.insert("tool_calls".to_owned(), json!([call]));
            result.push(message.clone());
            message.content = if features.null_content { Json::Null } else { json!("") };
            message.extra.remove(reasoning_name(features));
            // Without ids, results come in the order of the calls.
            let answers = |tool: &Message| id.is_none() || tool.extra.get("tool_call_id") == id.as_ref();
            if let Some(place) = results.iter().position(answers) {
                result.push(results.remove(place));
            }
        }
        result.append(&mut results);
    }
    result
}

/// Takes the tool calls of a message, in the form that the template expects.
fn tool_calls(
    features: &TemplateFeatures,
    extra: &mut Map<String, Json>,
    path: &str,
) -> Result<Vec<Json>, TemplateError> {
    let path = format!("{path}.tool_calls");
    let calls = match extra.remove("tool_calls") {
        None | Some(Json::Null) => return Ok(Vec::new()),
        Some(Json::Array(calls)) => calls,
        Some(other) => return Err(wrong(path, "an array", kind(&other))),
    };
    if !calls.is_empty() && !features.tool_calls {
        let expected = "none, because the model's chat template cannot write tool calls";
        return Err(wrong(path, expected, calls.len().to_string()));
    }
    let calls = calls.into_iter().enumerate();
    calls.map(|(index, call)| tool_call(features.arguments, call, &format!("{path}[{index}]"))).collect()
}

fn tool_call(form: ArgumentsForm, call: Json, path: &str) -> Result<Json, TemplateError> {
    let Json::Object(mut call) = call else { return Err(wrong(path.to_owned(), "an object", kind(&call))) };
    let mut function = match call.remove("function") {
        Some(Json::Object(function)) => function,
        other => {
            return Err(wrong(format!("{path}.function"), "an object", kind(&other.unwrap_or_default())));
        }
    };
    if !function.get("name").is_some_and(Json::is_string) {
        let found = kind(function.get("name").unwrap_or(&Json::Null));
        return Err(wrong(format!("{path}.function.name"), "a string", found));
    }
    let (object, text) = object(function.remove("arguments"));
    let arguments = match form {
        ArgumentsForm::Object => Json::Object(object),
        ArgumentsForm::Text => Json::String(text),
    };
    function.insert("arguments".to_owned(), arguments);
    call.entry("type").or_insert_with(|| json!("function"));
    call.insert("function".to_owned(), Json::Object(function));
    Ok(Json::Object(call))
}

/// Arguments as an object, and as text.
///
/// A model may have written what is no JSON object, and the client returns it: that is no reason to end the conversation. The text
/// stays as it is, and the object has the values that were whole.
fn object(arguments: Option<Json>) -> (Map<String, Json>, String) {
    let text = match arguments {
        Some(Json::String(text)) => text,
        Some(Json::Object(object)) => {
            let text = Json::Object(object.clone()).to_string();
            return (object, text);
        }
        None | Some(Json::Null) => String::new(),
        Some(other) => other.to_string(),
    };
    // Some models write null where a function takes no arguments.
    if matches!(text.trim(), "" | "null") {
        return (Map::new(), "{}".to_owned());
    }
    (object_prefix(&text), text)
}

/// The content of a message of this role: a string, or a list of parts where the template wants one.
fn content(
    features: &TemplateFeatures,
    role: &str,
    content: &Json,
    path: &str,
) -> Result<Json, TemplateError> {
    let is_user = role == "user";
    match content {
        Json::Null => Ok(json!("")),
        Json::String(text) if is_user && features.content_parts_only => {
            Ok(json!([{"type": "text", "text": text}]))
        }
        Json::String(_) => Ok(content.clone()),
        Json::Array(parts) => {
            let parts = parts.iter().enumerate();
            let texts = parts.map(|(index, part)| text_of(part, &format!("{path}[{index}]")));
            let texts = texts.collect::<Result<Vec<&str>, _>>()?;
            Ok(match is_user && features.content_parts {
                true => texts.iter().map(|text| json!({"type": "text", "text": text})).collect(),
                false => Json::String(texts.join("\n")),
            })
        }
        other => Err(wrong(path.to_owned(), "a string or an array of parts", kind(other))),
    }
}

/// The text of a part of a message.
fn text_of<'p>(part: &'p Json, path: &str) -> Result<&'p str, TemplateError> {
    match part {
        Json::String(text) => Ok(text),
        Json::Object(fields) => {
            match fields.get("type").and_then(Json::as_str) {
                Some("text" | "input_text" | "output_text") => {}
                Some(other) => return Err(wrong(format!("{path}.type"), "\"text\"", format!("{other:?}"))),
                None => return Err(wrong(format!("{path}.type"), "\"text\"", "nothing".to_owned())),
            }
            let text = fields.get("text").unwrap_or(&Json::Null);
            text.as_str().ok_or_else(|| wrong(format!("{path}.text"), "a string", kind(text)))
        }
        other => Err(wrong(path.to_owned(), "a part with a type", kind(other))),
    }
}

fn wrong(path: String, expected: &'static str, found: String) -> TemplateError {
    TemplateError::Message { path, expected, found }
}

fn kind(value: &Json) -> String {
    let kind = match value {
        Json::Null => "nothing",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object",
    };
    kind.to_owned()
}
