//! A message of a conversation, as Ollama's API writes it.

use serde_json::{Map, Value, json};
use weft_engine::Message;

use crate::api::chat::arguments_of;
use crate::api::chat::message::CALLS;
use crate::error::ApiError;
use crate::ignored::Ignored;
use crate::json::Fields;

/// Reads messages, and finds which call a result belongs to: Ollama's have no ids.
#[derive(Default)]
pub(super) struct Reader {
    /// The number of calls so far.
    calls: usize,
    /// The calls without a result: their ids and names.
    open: Vec<(String, String)>,
}

impl Reader {
    /// Reads a message at `path`.
    ///
    /// # Errors
    /// If it is not one, or has something other than text.
    pub(super) fn read(&mut self, value: &Value, path: &str, ignored: &Ignored) -> Result<Message, ApiError> {
        let mut fields = Fields::of(value, path, ignored)?;
        let Some(role) = fields.choice("role", &["system", "developer", "user", "assistant", "tool"])? else {
            let path = fields.at("role");
            let message = format!("{path} is missing: expected `system`, `user`, `assistant` or `tool`");
            return Err(ApiError::invalid(path, message));
        };
        let content = fields.text("content")?.map_or(Value::Null, Value::from);
        if role != "assistant" && content.is_null() {
            let path = fields.at("content");
            return Err(ApiError::invalid(path.clone(), format!("{path} is missing: expected a string")));
        }
        fields.refuse("images", &[Value::Array(Vec::new())], "this model reads text only")?;
        let mut extra = Map::new();
        if let Some(thinking) = fields.text("thinking")?.filter(|_| role == "assistant") {
            extra.insert("reasoning_content".into(), thinking.into());
        }
        let calls = fields.array("tool_calls", CALLS)?.unwrap_or_default();
        let calls = calls.iter().enumerate();
        let calls = calls.map(|(i, call)| self.call(call, &format!("{path}.tool_calls[{i}]"), ignored));
        let calls: Vec<Value> = calls.collect::<Result<_, _>>()?;
        if !calls.is_empty() && role == "assistant" {
            extra.insert("tool_calls".into(), calls.into());
        }
        let name = fields.text("tool_name")?;
        let name = name.or(fields.text("name")?);
        let id = fields.text("tool_call_id")?;
        if role == "tool" {
            extra.insert("tool_call_id".into(), self.close(name, id).into());
        }
        if let Some(name) = name {
            extra.insert("name".into(), name.into());
        }
        fields.end()?;
        Ok(Message { extra, ..Message::new(role, content) })
    }

    /// A call of an earlier reply.
    fn call(&mut self, value: &Value, path: &str, ignored: &Ignored) -> Result<Value, ApiError> {
        let mut fields = Fields::of(value, path, ignored)?;
        let id = fields.text("id")?.map(str::to_string);
        fields.choice("type", &["function"])?;
        let function = fields.required("function", "an object")?;
        let mut function = Fields::of(function, fields.at("function"), ignored)?;
        let name = function.required_text("name")?.to_string();
        let arguments = arguments_of(function.value("arguments"));
        function.ignore(&["index"]);
        function.end()?;
        fields.end()?;
        let id = id.unwrap_or_else(|| format!("call_{}", self.calls));
        self.calls += 1;
        self.open.push((id.clone(), name.clone()));
        Ok(json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }))
    }

    /// The id of the call that a result belongs to: the one that it names, or else the oldest of this tool, or else the oldest.
    fn close(&mut self, name: Option<&str>, id: Option<&str>) -> String {
        let of_id = self.open.iter().position(|(open, _)| Some(open.as_str()) == id);
        let of_name = || self.open.iter().position(|(_, open)| Some(open.as_str()) == name);
        match of_id.or_else(of_name).or((!self.open.is_empty()).then_some(0)) {
            Some(at) => self.open.remove(at).0,
            None => id.map_or_else(|| "call_0".to_string(), str::to_string),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_find_their_calls() {
        let ignored = Ignored::default();
        let mut reader = Reader::default();
        let mut read = |value: Value| reader.read(&value, "messages[0]", &ignored);
        let call = |name: &str| json!({ "function": { "name": name, "arguments": { "a": 1 } } });
        let message =
            read(json!({ "role": "assistant", "tool_calls": [call("x"), call("y"), call("y")] })).unwrap();
        assert_eq!(message.extra["tool_calls"][1]["id"], "call_1");
        assert_eq!(message.extra["tool_calls"][1]["function"]["arguments"], "{\"a\":1}");
        let mut id = |value: Value| read(value).unwrap().extra["tool_call_id"].clone();
        assert_eq!(id(json!({ "role": "tool", "content": "4", "tool_name": "y" })), "call_1");
        assert_eq!(id(json!({ "role": "tool", "content": "4", "name": "y" })), "call_2");
        assert_eq!(id(json!({ "role": "tool", "content": "4" })), "call_0");
        assert_eq!(id(json!({ "role": "tool", "content": "4" })), "call_0");
        let error = read(json!({ "role": "user", "content": "a", "images": ["aGk="] })).unwrap_err();
        assert_eq!(error.message, "messages[0].images is not supported: this model reads text only");
    }
}
