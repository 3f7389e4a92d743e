//! Chat templates: Jinja programs in model files that format a conversation the way the model was trained on.
//!
//! Templates are written for Python's Jinja as HF `transformers` configures it, and [`ChatTemplate`] behaves like that:
//! operators, methods, filters and tests are Python's (`python.rs`), blocks leave no blank lines, `tojson` is `json.dumps`
//! without HTML escapes, and `{% break %}`, `{% continue %}`, `{% generation %}`, `raise_exception` and `strftime_now`
//! exist. Beyond that, lists that begin empty can be changed (`lists.rs`). `tests/it/jinja.rs` lists what differs.

use std::fmt::Write as _;
use std::sync::OnceLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, ErrorKind, Value};
use serde_json::{Map, Value as Json};

use self::lists::GrowingList;
use self::marks::{Marker, Origin};
use self::python::TooMuchText;
use self::sandbox::{FUEL, LimitedOutput, MAX_DEPTH, MAX_OUTPUT, MAX_SOURCE, PROBE_FUEL, on_large_stack};
use crate::error::TemplateError;
use crate::prompt::RenderedPrompt;
use crate::tokenizer::Tokenizer;

mod adapt;
mod features;
mod json;
mod lists;
mod marks;
mod message;
mod number;
mod python;
mod rewrite;
mod sandbox;
mod sentinel;
mod source;
mod strftime;
mod tools;
mod turns;

pub use features::{ArgumentsForm, PRESERVE, TemplateFeatures};
pub use message::Message;

/// The ChatML template, for models that come without one. The caller decides whether the model understands it.
pub const CHATML: &str = "\
{%- for message in messages -%}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- '<|im_start|>assistant\\n' -}}
{%- endif -%}";

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

/// A compiled chat template, for the tokenizer of one model.
#[derive(Clone)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    source: String,
    marker: Marker,
    bos: Option<String>,
    eos: Option<String>,
    features: OnceLock<TemplateFeatures>,
}

impl std::fmt::Debug for ChatTemplate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatTemplate").field("bos", &self.bos).field("eos", &self.eos).finish_non_exhaustive()
    }
}

/// The name of the template, as error messages show it.
const NAME: &str = "chat_template";

impl ChatTemplate {
    /// Compiles `source` for prompts that `tokenizer` encodes. The template sees the texts of its BOS and EOS tokens as
    /// `bos_token` and `eos_token`.
    ///
    /// # Errors
    /// [`TemplateError::Invalid`] if `source` is too long or has a syntax error.
    pub fn new(source: &str, tokenizer: &Tokenizer) -> Result<ChatTemplate, TemplateError> {
        if source.len() > MAX_SOURCE {
            let length = source.len();
            return Err(TemplateError::Invalid(format!("{length} bytes: expected at most {MAX_SOURCE}")));
        }
        let environment = on_large_stack(|| {
            environment(rewrite::rewritten(source)).map_err(|error| TemplateError::Invalid(describe(&error)))
        })?;
        let controls: Vec<&str> = tokenizer.control_texts().collect();
        Ok(ChatTemplate {
            environment,
            source: source.to_owned(),
            marker: Marker::new(&controls, &source::literals(source)),
            bos: tokenizer.bos_text().map(str::to_owned),
            eos: tokenizer.eos_text().map(str::to_owned),
            features: OnceLock::new(),
        })
    }

    /// Compiles the template that came with a tokenizer.
    ///
    /// # Errors
    /// [`TemplateError::Missing`] if there is none (the caller may then choose [`CHATML`]), and those of
    /// [`new`](ChatTemplate::new).
    pub fn of(tokenizer: &Tokenizer) -> Result<ChatTemplate, TemplateError> {
        ChatTemplate::new(tokenizer.chat_template().ok_or(TemplateError::Missing)?, tokenizer)
    }

    /// Compiles the template for conversations with tools that came with a tokenizer; `None` if there is no such template,
    /// and [`of`](ChatTemplate::of) is for all conversations.
    ///
    /// # Errors
    /// Those of [`new`](ChatTemplate::new).
    pub fn for_tools(tokenizer: &Tokenizer) -> Result<Option<ChatTemplate>, TemplateError> {
        tokenizer.tool_template().map(|source| ChatTemplate::new(source, tokenizer)).transpose()
    }

    /// The Jinja source.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The features of the template. The first call renders a dozen small conversations to find them.
    pub fn features(&self) -> &TemplateFeatures {
        self.features.get_or_init(|| {
            let mut environment = self.environment.clone();
            environment.set_fuel(Some(PROBE_FUEL));
            let render = |messages: &[Message], tools: Option<&Json>| {
                let mut options = RenderOptions { now: Some(0), ..RenderOptions::default() };
                options.extra.extend(tools.map(|tools| ("tools".to_owned(), tools.clone())));
                self.output(&environment, messages, &options).ok()
            };
            on_large_stack(|| Ok(features::find(&self.source, &render))).unwrap_or_default()
        })
    }

    /// Brings messages in the form of OpenAI's API into the form that the template expects, so that nothing in them is lost:
    ///
    /// - the role `developer` becomes `system`, and `function` becomes `tool`;
    /// - the arguments of tool calls become objects or JSON text, also where the model wrote what is neither, and empty lists of calls
    ///   disappear;
    /// - content that is `null` becomes `""`, unless the template tells calls from text by it, and lists of text parts
    ///   become one string, unless the template takes parts;
    /// - messages of tools get the `name` of the function whose call they answer, and ids name their functions where the
    ///   template needs it;
    /// - `reasoning` becomes `reasoning_content`;
    /// - a system message in a place where the template would not write it joins the message before or after.
    ///
    /// Messages that have the right form already stay as they are.
    ///
    /// # Errors
    /// [`TemplateError::Message`] if a message is malformed, has parts that are not text, or if the template cannot write
    /// tool calls or their results.
    pub fn adapt(&self, messages: &[Message]) -> Result<Vec<Message>, TemplateError> {
        adapt::adapt(self.features(), messages)
    }

    /// Adapts `messages` as [`adapt`](ChatTemplate::adapt) does and renders them. If the template refuses their order, they are
    /// put in the one that strict templates insist on: the user's and the assistant's in turn.
    ///
    /// # Errors
    /// Those of [`adapt`](ChatTemplate::adapt) and [`render`](ChatTemplate::render).
    pub fn prompt(
        &self,
        messages: &[Message],
        options: &RenderOptions,
    ) -> Result<RenderedPrompt, TemplateError> {
        let adapted = self.adapt(messages)?;
        self.render(&adapted, options).or_else(|error| match error {
            TemplateError::Refused(_) | TemplateError::Failed(_) => {
                self.render(&turns::alternate(self.features(), adapted), options).map_err(|_| error)
            }
            error => Err(error),
        })
    }

    /// Renders `messages` as a prompt, for [`Tokenizer::encode_chat`].
    ///
    /// Control tokens in the messages and in `options.extra` stay text. Two things are up to the template: it may combine a
    /// role with text of its own, as in `<|{{ message.role }}|>`, and messages of the assistant may contain the tokens that
    /// the template itself looks for in messages, such as a `</think>` at which it splits them.
    ///
    /// If the template fails, it gets the tools with empty descriptions where there are none, and with text in place of
    /// defaults of choices that are no strings; gpt-oss's needs both. Without tools it gets an empty list of them, which a template
    /// for tools alone needs.
    ///
    /// # Errors
    /// If the template refuses the messages, fails on them, or exceeds its limits.
    pub fn render(
        &self,
        messages: &[Message],
        options: &RenderOptions,
    ) -> Result<RenderedPrompt, TemplateError> {
        let output = on_large_stack(|| {
            let result = self.output(&self.environment, messages, options);
            let Err(TemplateError::Failed(_)) = result else { return result };
            // A template that is for tools alone may need a list, if only an empty one.
            let without = || Some(Vec::<serde_json::Value>::new().into());
            let completed = options.extra.get("tools").map_or_else(without, tools::completed);
            let Some(tools) = completed else { return result };
            let mut options = options.clone();
            options.extra.insert("tools".to_owned(), tools);
            self.output(&self.environment, messages, &options).or(result)
        })?;
        let (text, data) = sentinel::remove(output);
        Ok(RenderedPrompt::new(text, data))
    }

    /// Runs the template on the large stack. The output still has its sentinels.
    fn output(
        &self,
        environment: &Environment<'_>,
        messages: &[Message],
        options: &RenderOptions,
    ) -> Result<String, TemplateError> {
        let mut output = LimitedOutput::default();
        python::begin();
        let template = environment.get_template(NAME);
        template
            .and_then(|template| template.render_captured_to(self.context(messages, options), &mut output))
            .map_err(|error| to_template_error(&error))?;
        output.into_string()
    }

    fn context(&self, messages: &[Message], options: &RenderOptions) -> Value {
        let messages: Value = messages.iter().map(|message| self.message(message)).collect();
        // As in HF transformers, tools and documents are always defined.
        let mut pairs = vec![("tools", Value::from(())), ("documents", Value::from(()))];
        let extra = options.extra.iter();
        pairs.extend(extra.map(|(name, value)| (name.as_str(), self.value(value, Origin::Other))));
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

    fn message(&self, message: &Message) -> Value {
        let origin = if message.role == "assistant" { Origin::Assistant } else { Origin::Other };
        let role = Value::from(self.marker.text(&message.role, Origin::Role).as_ref());
        let mut pairs = vec![("role", role), ("content", self.value(&message.content, origin))];
        for (name, value) in &message.extra {
            if name != "role" && name != "content" {
                pairs.push((name, self.value(value, origin)));
            }
        }
        Value::from_pairs(pairs)
    }

    fn value(&self, value: &Json, origin: Origin) -> Value {
        Value::from(Serde(&self.marker.json(value, origin)))
    }
}

fn environment(source: String) -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.set_fuel(Some(FUEL));
    environment.set_recursion_limit(MAX_DEPTH);
    python::add(&mut environment);
    environment.add_filter("tojson", json::tojson);
    environment.add_function("raise_exception", raise_exception);
    environment.add_function(lists::NEW, GrowingList::value);
    environment.add_template_owned(NAME, source)?;
    Ok(environment)
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
        if let Some(limit) = cause.downcast_ref::<TooMuchText>() {
            return TemplateError::Limit(limit.to_string());
        }
        if let Some(Refusal(message)) = cause.downcast_ref() {
            return TemplateError::Refused(sentinel::remove(message.clone()).0);
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
    sentinel::remove(text).0
}
