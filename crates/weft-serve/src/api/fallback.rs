//! Tools for models whose chat template has none: they are described in the system message, and called in the form of
//! Hermes, which many models have seen.

use serde_json::{Value, json};
use weft_engine::Message;
use weft_text::reply::Tool;

/// The instruction before the list of functions. The wording follows that of models trained on this form.
const BEFORE: &str = "You may call one or more functions to assist with the user query. The functions are described by \
                      these JSON objects:\n<tools>\n";
const AFTER: &str = "</tools>\n\nTo call a function, write a JSON object with its name and arguments within \
                     <tool_call></tool_call> tags:\n<tool_call>\n{\"name\": \"function-name\", \"arguments\": \
                     {\"parameter\": \"value\"}}\n</tool_call>";

/// Messages without `tool_calls` and tools' results, as plain text, and with the tools described.
pub(crate) fn rewrite(messages: &[Message], tools: &[Tool]) -> Vec<Message> {
    let mut rewritten: Vec<Message> = Vec::with_capacity(messages.len() + 1);
    for message in messages {
        let text = message.content.as_str().unwrap_or_default();
        match message.role.as_str() {
            "tool" | "function" => {
                let response = format!("<tool_response>\n{text}\n</tool_response>");
                match rewritten.last_mut().filter(|last| is_response(last)) {
                    // Templates want turns to alternate.
                    Some(last) => {
                        last.content =
                            format!("{}\n{response}", last.content.as_str().unwrap_or_default()).into()
                    }
                    None => rewritten.push(Message::new("user", response)),
                }
            }
            "assistant" => rewritten.push(with_calls(message, text)),
            _ => rewritten.push(message.clone()),
        }
    }
    if !tools.is_empty() {
        let description = describe(tools);
        match rewritten.first_mut().filter(|first| matches!(first.role.as_str(), "system" | "developer")) {
            Some(system) => {
                system.content =
                    format!("{}\n\n{description}", system.content.as_str().unwrap_or_default()).into();
            }
            None => rewritten.insert(0, Message::new("system", description)),
        }
    }
    rewritten
}

fn is_response(message: &Message) -> bool {
    message.role == "user" && message.content.as_str().is_some_and(|text| text.starts_with("<tool_response>"))
}

fn describe(tools: &[Tool]) -> String {
    let mut text = BEFORE.to_string();
    for tool in tools {
        let function =
            json!({ "name": tool.name, "description": tool.description, "parameters": tool.parameters });
        text += &json!({ "type": "function", "function": function }).to_string();
        text.push('\n');
    }
    text + AFTER
}

/// An assistant's message whose calls are part of its text.
fn with_calls(message: &Message, text: &str) -> Message {
    let mut message = message.clone();
    let Some(Value::Array(calls)) = message.extra.shift_remove("tool_calls") else { return message };
    let mut content = text.to_string();
    for call in calls {
        let function = &call["function"];
        let arguments = match &function["arguments"] {
            // As the model wrote them, if that was JSON.
            Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()),
            other => other.clone(),
        };
        if !content.is_empty() {
            content.push('\n');
        }
        let call = json!({ "name": function["name"], "arguments": arguments });
        content += &format!("<tool_call>\n{call}\n</tool_call>");
    }
    message.content = content.into();
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_results_become_text() {
        let call = json!([{ "id": "1", "type": "function", "function": { "name": "add", "arguments": "{\"a\":1}" } }]);
        let mut assistant = Message::new("assistant", Value::Null);
        assistant.extra.insert("tool_calls".into(), call);
        let messages = [
            Message::new("system", "Be brief."),
            Message::new("user", "1+1?"),
            assistant,
            Message::new("tool", "2"),
            Message::new("tool", "two"),
        ];
        let tool = Tool::new("add", json!({ "type": "object" }));
        let rewritten = rewrite(&messages, &[tool]);
        let shown: Vec<(&str, &str)> =
            rewritten.iter().map(|m| (m.role.as_str(), m.content.as_str().unwrap())).collect();
        assert!(
            shown[0].1.starts_with("Be brief.\n\nYou may call") && shown[0].1.contains("\"name\":\"add\"")
        );
        assert_eq!(
            shown[1..],
            [
                ("user", "1+1?"),
                ("assistant", "<tool_call>\n{\"name\":\"add\",\"arguments\":{\"a\":1}}\n</tool_call>"),
                ("user", "<tool_response>\n2\n</tool_response>\n<tool_response>\ntwo\n</tool_response>"),
            ]
        );
        assert!(rewritten.iter().all(|message| !message.extra.contains_key("tool_calls")));
        assert_eq!(rewrite(&messages[..2], &[]), messages[..2]);
    }
}
