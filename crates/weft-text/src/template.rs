//! Chat templates: Jinja programs in model files that format a conversation the way the model was trained on.
//!
//! Templates are written for Python's Jinja as HF `transformers` configures it, and [`ChatTemplate`] behaves like that:
//! blocks leave no blank lines, `tojson` is `json.dumps` without HTML escapes, values have their Python methods, and
//! `{% break %}`, `{% continue %}`, `{% generation %}`, `raise_exception` and `strftime_now` exist.

use std::fmt::Write as _;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, ErrorKind, Value};
use minijinja_contrib::pycompat::unknown_method_callback;
use serde_json::{Map, Value as Json};

use self::sandbox::{FUEL, LimitedOutput, MAX_DEPTH, MAX_OUTPUT, MAX_SOURCE, on_large_stack};
use crate::error::TemplateError;
use crate::tokenizer::Tokenizer;

mod json;
mod sandbox;
mod strftime;

/// The ChatML template, for models that come without one. The caller decides whether the model understands it.
pub const CHATML: &str = "\
{%- for message in messages -%}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- '<|im_start|>assistant\\n' -}}
{%- endif -%}";

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// `"system"`, `"user"`, `"assistant"`, `"tool"`, or another role that the template knows.
    pub role: String,
    /// A string, `null`, or the list of parts that some templates take.
    pub content: Json,
    /// More fields, as in HF `transformers`: `tool_calls` (whose `arguments` is an object, not a string of JSON),
    /// `reasoning_content`, `name`. They do not override `role` and `content`.
    pub extra: Map<String, Json>,
}

impl Message {
    /// Creates a message without extra fields.
    pub fn new(role: impl Into<String>, content: impl Into<Json>) -> Message {
        Message { role: role.into(), content: content.into(), extra: Map::new() }
    }
}

/// Options of [`ChatTemplate::render`].
#[derive(Clone, Debug, PartialEq)]
pub struct RenderOptions {
    /// Whether the prompt ends with the beginning of the assistant's reply.
    pub add_generation_prompt: bool,
    /// The local time, in seconds since 1970-01-01 00:00:00 local time. Without it the template has no `strftime_now`;
    /// most templates then use a fixed date.
    pub now: Option<i64>,
    /// More variables, such as `tools` or `enable_thinking`. They do not override `messages`, `add_generation_prompt`,
    /// `bos_token`, `eos_token` and `strftime_now`.
    pub extra: Map<String, Json>,
}

impl Default for RenderOptions {
    /// With a generation prompt, without a time or extra variables.
    fn default() -> RenderOptions {
        RenderOptions { add_generation_prompt: true, now: None, extra: Map::new() }
    }
}

/// A compiled chat template.
#[derive(Clone)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    bos: Option<String>,
    eos: Option<String>,
}

impl std::fmt::Debug for ChatTemplate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatTemplate").field("bos", &self.bos).field("eos", &self.eos).finish_non_exhaustive()
    }
}

/// The name of the template, as error messages show it.
const NAME: &str = "chat_template";

impl ChatTemplate {
    /// Compiles `source`. The template sees `bos` and `eos`, the texts of these tokens, as `bos_token` and `eos_token`.
    ///
    /// # Errors
    /// [`TemplateError::Invalid`] if `source` is too long or has a syntax error.
    pub fn new(source: &str, bos: Option<&str>, eos: Option<&str>) -> Result<ChatTemplate, TemplateError> {
        if source.len() > MAX_SOURCE {
            let length = source.len();
            return Err(TemplateError::Invalid(format!("{length} bytes: expected at most {MAX_SOURCE}")));
        }
        let environment = on_large_stack(|| {
            environment(without_generation_tags(source))
                .map_err(|error| TemplateError::Invalid(describe(&error)))
        })?;
        Ok(ChatTemplate { environment, bos: bos.map(str::to_owned), eos: eos.map(str::to_owned) })
    }

    /// Compiles the template that came with a tokenizer.
    ///
    /// # Errors
    /// [`TemplateError::Missing`] if there is none (the caller may then choose [`CHATML`]), and those of
    /// [`new`](ChatTemplate::new).
    pub fn of(tokenizer: &Tokenizer) -> Result<ChatTemplate, TemplateError> {
        let source = tokenizer.chat_template().ok_or(TemplateError::Missing)?;
        ChatTemplate::new(source, tokenizer.bos_text(), tokenizer.eos_text())
    }

    /// Renders `messages` as a prompt, for [`Tokenizer::encode_chat`].
    ///
    /// # Errors
    /// If the template refuses the messages, fails on them, or exceeds its limits.
    pub fn render(&self, messages: &[Message], options: &RenderOptions) -> Result<String, TemplateError> {
        on_large_stack(|| {
            let mut output = LimitedOutput::default();
            let template = self.environment.get_template(NAME);
            template
                .and_then(|template| {
                    template.render_captured_to(self.context(messages, options), &mut output)
                })
                .map_err(|error| to_template_error(&error))?;
            output.into_string()
        })
    }

    fn context(&self, messages: &[Message], options: &RenderOptions) -> Value {
        let messages: Value = messages.iter().map(message_value).collect();
        // As in HF transformers, tools and documents are always defined.
        let mut pairs = vec![("tools", Value::from(())), ("documents", Value::from(()))];
        pairs.extend(options.extra.iter().map(|(name, value)| (name.as_str(), Value::from(Serde(value)))));
        pairs.extend(self.bos.as_deref().map(|text| ("bos_token", Value::from(text))));
        pairs.extend(self.eos.as_deref().map(|text| ("eos_token", Value::from(text))));
        if let Some(now) = options.now {
            let strftime_now = move |format: &str| strftime::format(now, format);
            pairs.push(("strftime_now", Value::from_function(strftime_now)));
        }
        pairs.push(("messages", messages));
        pairs.push(("add_generation_prompt", Value::from(options.add_generation_prompt)));
        Value::from_pairs(pairs)
    }
}

fn environment(source: String) -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.set_fuel(Some(FUEL));
    environment.set_recursion_limit(MAX_DEPTH);
    environment.set_unknown_method_callback(unknown_method_callback);
    environment.add_filter("tojson", json::tojson);
    environment.add_function("raise_exception", raise_exception);
    environment.add_template_owned(NAME, source)?;
    Ok(environment)
}

fn message_value(message: &Message) -> Value {
    let mut pairs =
        vec![("role", Value::from(message.role.as_str())), ("content", Value::from(Serde(&message.content)))];
    for (name, value) in &message.extra {
        if name != "role" && name != "content" {
            pairs.push((name, Value::from(Serde(value))));
        }
    }
    Value::from_pairs(pairs)
}

/// The message of a template's `raise_exception`, passed through minijinja as the source of its error.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Refusal(String);

fn raise_exception(message: &str) -> Result<Value, minijinja::Error> {
    let error = minijinja::Error::new(ErrorKind::InvalidOperation, "raise_exception");
    Err(error.with_source(Refusal(message.to_owned())))
}

fn to_template_error(error: &minijinja::Error) -> TemplateError {
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(cause) = source {
        if let Some(Refusal(message)) = cause.downcast_ref() {
            return TemplateError::Refused(message.clone());
        }
        source = cause.source();
    }
    match error.kind() {
        ErrorKind::OutOfFuel => TemplateError::Limit(format!("more than {FUEL} instructions")),
        ErrorKind::WriteFailure => TemplateError::Limit(format!("more than {MAX_OUTPUT} bytes of output")),
        _ => TemplateError::Failed(describe(error)),
    }
}

/// An error and all its causes, on one line.
fn describe(error: &minijinja::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let _ = write!(text, ": {cause}");
        source = cause.source();
    }
    text
}

/// Replaces `{% generation %}` and `{% endgeneration %}` with `{% if true %}` and `{% endif %}`.
///
/// In `transformers` these tags mark the model's replies, for training; they do not change the text within. minijinja does
/// not know them, but an `if` in their place has the same effect on the white space around it.
fn without_generation_tags(source: &str) -> String {
    let mut result = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(begin) = rest.find("{%") {
        let (before, tag) = rest.split_at(begin + 2);
        result.push_str(before);
        let length = tag.find("%}").unwrap_or(tag.len());
        let inner = &tag[..length];
        let name = inner.trim_matches(|c: char| c.is_whitespace() || c == '-' || c == '+');
        match name {
            "generation" => result.push_str(&inner.replacen(name, "if true", 1)),
            "endgeneration" => result.push_str(&inner.replacen(name, "endif", 1)),
            _ => result.push_str(inner),
        }
        rest = &tag[length..];
    }
    result.push_str(rest);
    result
}
