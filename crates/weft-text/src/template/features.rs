//! The features of a chat template, detected by rendering small conversations.
//!
//! Templates do not say which form of a message they expect: whether the arguments of a tool call are an object or JSON
//! text, whether `content` may be a list. A template that gets the wrong form fails, or leaves something out, or prints
//! Python. So a conversation with known words is rendered in each form, and the output shows which words are there.

use serde_json::{Value as Json, json};

use super::message::Message;

/// The form in which a template expects the arguments of earlier tool calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArgumentsForm {
    /// An object, as in HF `transformers`: GLM, Llama 3, Qwen. Templates that take both get this.
    #[default]
    Object,
    /// A string of JSON, as in OpenAI's API: DeepSeek V3.
    Text,
}

/// The features of a chat template. See [`ChatTemplate::features`](crate::ChatTemplate::features).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TemplateFeatures {
    /// Whether it lists the tools of the variable `tools`.
    pub tools: bool,
    /// Whether it writes the `tool_calls` of messages.
    pub tool_calls: bool,
    /// The form of `tool_calls[].function.arguments`.
    pub arguments: ArgumentsForm,
    /// Whether it writes the id of a call and not the name of the function, so that the id must contain the name: Kimi K2
    /// knows calls as `functions.NAME:INDEX`.
    pub named_ids: bool,
    /// Whether it refuses ids of calls that are not nine letters and digits, as Mistral's do.
    pub short_ids: bool,
    /// Whether it writes messages of the role `tool`.
    pub tool_results: bool,
    /// Whether a message with tool calls may have text as well.
    pub text_with_calls: bool,
    /// Whether the content of a message with tool calls and no text must be `null`. Everywhere else it is `""`, because
    /// many templates print `null` as `None`.
    pub null_content: bool,
    /// Whether the content of a user's message may be a list of parts, `{"type": "text", "text": …}`.
    pub content_parts: bool,
    /// Whether the content of a user's message must be a list of parts.
    pub content_parts_only: bool,
    /// Whether it writes a first message of the role `system`.
    pub system: bool,
    /// Whether it writes a second system message after the first.
    pub second_system: bool,
    /// Whether it writes system messages within the conversation.
    pub late_system: bool,
    /// Whether it writes the `reasoning_content` of messages, of some at least.
    pub reasoning_content: bool,
    /// Whether it calls that `thinking`, as gpt-oss does.
    pub thinking_content: bool,
    /// Whether a message with tool calls may have either reasoning or text.
    pub reasoning_or_text: bool,
    /// Whether it writes only the first tool call of a message.
    pub one_call: bool,
    /// The variable that switches reasoning on and off: `enable_thinking`, or `thinking` (DeepSeek V3.1).
    pub thinking: Option<&'static str>,
    /// The variable that keeps the reasoning of earlier turns, and the value that does: `clear_thinking` as false (GLM),
    /// `preserve_thinking` as true, and other names of the same.
    pub preserve: Option<(&'static str, bool)>,
}

/// The variables by which templates keep the reasoning of earlier turns, and the values that do.
pub const PRESERVE: [(&str, bool); 5] = [
    ("clear_thinking", false),
    ("preserve_thinking", true),
    ("keep_past_thinking", true),
    ("truncate_history_thinking", false),
    ("drop_thinking", false),
];

/// Renders messages with these tools; `None` if the template fails on them.
pub(super) type Render<'a> = &'a dyn Fn(&[Message], Option<&Json>) -> Option<String>;

const FUNCTION: &str = "weft_function";
const SECOND: &str = "weft_second";
const KEY: &str = "weft_key";
const VALUE: &str = "weft_value";
const TEXT: &str = "weft_text";

/// Finds out what the template with this source can do.
pub(super) fn find(source: &str, render: Render<'_>) -> TemplateFeatures {
    let user = || Message::new("user", "weft_question");
    let writes = |messages: &[Message]| render(messages, None).is_some_and(|output| output.contains(TEXT));
    let parts = Message::new("user", json!([{"type": "text", "text": TEXT}]));
    let content_parts = render(&[parts], None).is_some_and(|output| {
        output.contains(TEXT) && !["'text'", "\"text\""].iter().any(|key| output.contains(key))
    });
    let written = calls(render);
    let (arguments, null_content) =
        written.as_ref().map_or_else(Default::default, |calls| (calls.form, calls.null_content));
    let text_with_calls = render(&[user(), call(arguments, json!(TEXT))], None)
        .is_some_and(|output| output.contains(TEXT) && output.contains(KEY));
    let thinking_content = !source.contains("reasoning_content") && source.contains(".thinking");
    let mut reasoned = call(arguments, json!(TEXT));
    reasoned.extra.insert(
        if thinking_content { "thinking" } else { "reasoning_content" }.into(),
        json!("weft_thought"),
    );
    let reasoning_or_text = text_with_calls && render(&[user(), reasoned], None).is_none();
    let silent = || call(arguments, if null_content { Json::Null } else { json!("") });
    let mut two = silent();
    if let Some(Json::Array(calls)) = two.extra.get_mut("tool_calls") {
        let mut second = calls[0].clone();
        second["function"]["name"] = json!(SECOND);
        calls.push(second);
    }
    let second_call = render(&[user(), two], None).is_some_and(|output| output.contains(SECOND));
    let named_ids = written.as_ref().is_some_and(|calls| !calls.output.contains(FUNCTION));
    // Where ids stand for names, the second has the first's.
    let one_call = written.is_some() && !named_ids && !second_call;
    let mut long = silent();
    long.extra["tool_calls"][0]["id"] = json!("call_of_a_tool_1");
    let short_ids = written.is_some() && render(&[user(), long], None).is_none();
    let answered = silent();
    let mut result = Message::new("tool", TEXT);
    result.extra.insert("tool_call_id".into(), json!(ID));
    result.extra.insert("name".into(), json!(FUNCTION));
    let system = || Message::new("system", TEXT);
    let first_system = || Message::new("system", "weft_rule");
    let reply = || Message::new("assistant", "weft_reply");
    TemplateFeatures {
        tools: render(&[user()], Some(&tools()))
            .is_some_and(|output| output.contains(FUNCTION) && output.contains(KEY)),
        tool_calls: written.is_some(),
        arguments,
        named_ids,
        short_ids,
        tool_results: writes(&[user(), answered, result]),
        text_with_calls,
        null_content,
        content_parts,
        content_parts_only: content_parts && !writes(&[Message::new("user", TEXT)]),
        system: writes(&[system(), user()]),
        second_system: writes(&[first_system(), system(), user()]),
        late_system: writes(&[user(), reply(), system(), user()]),
        reasoning_content: source.contains("reasoning_content"),
        thinking_content,
        reasoning_or_text,
        one_call,
        // Where it is a field of messages, errors may speak of "content and thinking".
        thinking: ["enable_thinking", "thinking"]
            .into_iter()
            .take(if thinking_content { 1 } else { 2 })
            .find(|name| asks_for(source, name)),
        preserve: PRESERVE.into_iter().find(|(name, _)| has_word(source, name)),
    }
}

/// How a template writes tool calls.
struct Calls {
    form: ArgumentsForm,
    /// Whether the content must be `null`.
    null_content: bool,
    output: String,
}

/// Tries the forms of tool calls; `None` if the template writes none.
fn calls(render: Render<'_>) -> Option<Calls> {
    for content in [json!(""), Json::Null] {
        for form in [ArgumentsForm::Object, ArgumentsForm::Text] {
            let messages = [Message::new("user", "weft_question"), call(form, content.clone())];
            let Some(output) = render(&messages, None) else { continue };
            let readable = match form {
                // Neither Python's form nor JSON in JSON.
                ArgumentsForm::Object => {
                    let broken = [format!("'{KEY}'"), format!("\\\"{KEY}")];
                    output.contains(KEY)
                        && output.contains(VALUE)
                        && !broken.iter().any(|broken| output.contains(broken))
                }
                ArgumentsForm::Text => output.contains(&arguments().to_string()),
            };
            if readable && (output.contains(FUNCTION) || output.contains(ID)) {
                return Some(Calls { form, null_content: content.is_null(), output });
            }
        }
    }
    None
}

/// An id that all templates accept: Mistral's insist on nine letters and digits.
const ID: &str = "call00001";

fn arguments() -> Json {
    json!({KEY: VALUE})
}

/// A message of the assistant with a tool call.
fn call(form: ArgumentsForm, content: Json) -> Message {
    let arguments = match form {
        ArgumentsForm::Object => arguments(),
        ArgumentsForm::Text => Json::String(arguments().to_string()),
    };
    let call = json!({"id": ID, "type": "function", "function": {"name": FUNCTION, "arguments": arguments}});
    let mut message = Message::new("assistant", content);
    message.extra.insert("tool_calls".into(), json!([call]));
    message
}

fn tools() -> Json {
    let parameters = json!({"type": "object", "properties": {KEY: {"type": "string", "description": "k"}}, "required": [KEY]});
    json!([{"type": "function", "function": {"name": FUNCTION, "description": "f", "parameters": parameters}}])
}

/// Whether a template has a name as a whole word.
fn has_word(source: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    source
        .match_indices(name)
        .any(|(at, _)| !source[..at].ends_with(is_part) && !source[at + name.len()..].starts_with(is_part))
}

/// Whether a template asks if a variable is defined, or uses it as a condition.
fn asks_for(source: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    source.match_indices(name).any(|(at, _)| {
        let (before, after) = (&source[..at], &source[at + name.len()..]);
        let whole = !before.ends_with(is_part) && !after.starts_with(is_part);
        let before = before.trim_end();
        let tested = after.trim_start().starts_with("is ")
            || ["if", "not", "and", "or"].iter().any(|word| before.ends_with(word));
        whole && tested
    })
}
