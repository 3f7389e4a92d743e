//! A conversation as every chat-like API asks for it, and how it becomes a prompt.

use std::sync::Arc;

use serde_json::{Map, Value};
use weft_engine::{Message, RenderOptions, TemplateError};
use weft_text::reply::Tool;

use crate::error::{ApiError, Kind};
use crate::models::Loaded;
use crate::reply::Reading;

/// Which tools the model has to call.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum ToolChoice {
    /// Those it chooses, if any.
    #[default]
    Auto,
    /// None.
    None,
    /// At least one.
    Required,
    /// This one.
    Named(String),
}

/// A form that the reply must have.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum OutputFormat {
    /// A JSON object.
    JsonObject,
    /// JSON that is valid for a schema.
    JsonSchema(Value),
}

/// A conversation, and what is asked of the reply.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dialogue {
    /// The messages, as OpenAI writes them.
    pub(crate) messages: Vec<Message>,
    /// The tools that the model may call.
    pub(crate) tools: Vec<Tool>,
    /// Which of them it has to call.
    pub(crate) choice: ToolChoice,
    /// Whether it may call several.
    pub(crate) parallel: bool,
    /// The form of the reply.
    pub(crate) format: Option<OutputFormat>,
    /// Variables of the chat template, of those that a request may set.
    pub(crate) variables: Map<String, Value>,
}

/// A conversation as a prompt.
pub(crate) struct Prompt {
    /// Its tokens.
    pub(crate) tokens: Vec<u32>,
    /// Its text.
    pub(crate) text: Arc<str>,
    /// Control tokens that the reader must see.
    pub(crate) shown: Vec<u32>,
    /// How the reply to it is read.
    pub(crate) reading: Reading,
}

impl Dialogue {
    /// Makes a prompt, with the model's template.
    ///
    /// # Errors
    /// If the model has no template, or the template refuses the messages.
    pub(crate) async fn prompt(self, model: &Arc<Loaded>) -> Result<(Dialogue, Prompt), ApiError> {
        let model = Arc::clone(model);
        // Templates are programs, and long prompts take a while.
        let rendered = tokio::task::spawn_blocking(move || {
            let prompt = self.render(&model)?;
            Ok((self, prompt))
        });
        rendered.await.unwrap_or_else(|_| Err(ApiError::new(Kind::Internal, "the chat template panicked")))
    }

    fn render(&self, model: &Loaded) -> Result<Prompt, ApiError> {
        let facts = &model.facts;
        let wrong = |error: &TemplateError| match error {
            TemplateError::Missing => {
                let message = "this model has no chat template; use /v1/completions";
                ApiError::new(Kind::Invalid, message).code("no_chat_template")
            }
            error => ApiError::invalid("messages", format!("the model's chat template: {error}")),
        };
        let template = facts.template.as_ref().map_err(wrong)?;
        let now = i64::try_from(super::wire::now()).ok();
        let mut options = RenderOptions { now, extra: self.variables.clone(), ..RenderOptions::default() };
        let offered = !self.tools.is_empty() && self.choice != ToolChoice::None;
        if offered {
            let tools = self.tools.iter().map(tool_json).collect();
            options.extra.insert("tools".into(), Value::Array(tools));
        }
        let messages = template.adapt(&self.messages).map_err(|error| wrong(&error))?;
        let rendered = template.render(&messages, &options).map_err(|error| wrong(&error))?;
        let tokens = facts.tokenizer.encode_chat(&rendered);
        let text: Arc<str> = rendered.text().into();
        let tools: Arc<[Tool]> = if offered { self.tools.clone().into() } else { Arc::new([]) };
        let reading = Reading::Chat { format: facts.format.clone(), tools, prompt: Arc::clone(&text) };
        Ok(Prompt { tokens, text, shown: facts.format.shown(&facts.tokenizer), reading })
    }
}

/// A tool as templates expect it.
fn tool_json(tool: &Tool) -> Value {
    let mut function = Map::new();
    function.insert("name".into(), tool.name.clone().into());
    if let Some(description) = &tool.description {
        function.insert("description".into(), description.clone().into());
    }
    function.insert("parameters".into(), tool.parameters.clone());
    let mut value = Map::new();
    value.insert("type".into(), "function".into());
    value.insert("function".into(), Value::Object(function));
    Value::Object(value)
}
