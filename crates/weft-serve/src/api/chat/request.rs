//! The request of a chat completion.

use serde_json::Value;
use weft_engine::GenerateOptions;

use super::message;
use super::tools;
use crate::api::constraints;
use crate::api::dialogue::{Dialogue, OutputFormat};
use crate::api::foreign;
use crate::api::sampling::{self, Parameters};
use crate::api::streaming::{self, Streaming};
use crate::api::thinking;
use crate::error::ApiError;
use crate::ignored::Ignored;
use crate::json::Fields;

/// The most messages of a conversation.
pub(crate) const MESSAGES: usize = 4096;
/// The most replies to a request.
pub(crate) const MOST_REPLIES: usize = 8;

/// A request of a chat completion.
#[derive(Clone, Debug)]
pub(crate) struct ChatRequest {
    /// The conversation.
    pub(crate) dialogue: Dialogue,
    /// How replies are generated.
    pub(crate) parameters: Parameters,
    /// The number of replies.
    pub(crate) n: usize,
    /// Whether log probabilities are wanted.
    pub(crate) logprobs: bool,
    /// Whether the reply is streamed.
    pub(crate) streaming: Streaming,
    /// Whether a stream says how much of the prompt has been computed.
    pub(crate) progress: bool,
    /// Whether the answer has the reasoning.
    pub(crate) reasoning_shown: bool,
}

impl ChatRequest {
    /// Reads a request for a model with this many tokens.
    ///
    /// # Errors
    /// If a field is missing, wrong, not supported or not known.
    pub(crate) fn read(
        body: &Value,
        defaults: &GenerateOptions,
        vocab: usize,
        ignored: &Ignored,
    ) -> Result<ChatRequest, ApiError> {
        let mut fields = Fields::of(body, "", ignored)?;
        fields.text("model")?;
        let mut dialogue = Dialogue { parallel: true, ..Dialogue::default() };
        let messages = fields.required("messages", "an array of messages")?;
        let Value::Array(messages) = messages else {
            return Err(fields.expected("messages", "an array of messages", messages));
        };
        if messages.is_empty() || messages.len() > MESSAGES {
            let message = format!("messages: expected 1 to {MESSAGES} messages, found {}", messages.len());
            return Err(ApiError::invalid("messages", message));
        }
        for (i, value) in messages.iter().enumerate() {
            dialogue.messages.push(message::read(value, &format!("messages[{i}]"), ignored)?);
        }
        let last = messages.len() - 1;
        // Mistral and DeepSeek say so in the message.
        let mut continues = messages[last]["prefix"] == true;
        if !ignored.is_strict() {
            continues |= fields.flag("continue_final_message")?.unwrap_or(false);
            // vLLM wants the two together.
            let template = fields.flag("add_generation_prompt")?.unwrap_or(true);
            if !template && !continues {
                let message = "add_generation_prompt is not supported without `continue_final_message`: the chat template of the \
                               model decides";
                return Err(ApiError::unsupported("add_generation_prompt", message));
            }
        }
        if continues {
            if dialogue.messages[last].role != "assistant" {
                let message = "continue_final_message: the last message is not the assistant's";
                return Err(ApiError::invalid("continue_final_message", message));
            }
            dialogue.continue_last(&format!("messages[{last}]"))?;
        }
        tools::read(&mut fields, &mut dialogue)?;
        let mut parameters = sampling::read(&mut fields, defaults, vocab)?;
        let most = sampling::most_tokens(&mut fields, &["max_completion_tokens", "max_tokens"], 1)?;
        parameters.options.max_tokens = most.unwrap_or(parameters.options.max_tokens);
        let logprobs = fields.flag("logprobs")?.unwrap_or(false);
        let top = fields.count("top_logprobs", 0..=20)?;
        if top.is_some_and(|top| top > 0) && !logprobs {
            return Err(ApiError::invalid("top_logprobs", "top_logprobs needs `logprobs` to be true"));
        }
        parameters.options.logprobs = logprobs.then_some(top.unwrap_or(0));
        dialogue.format = output_format(&mut fields)?;
        constraints::read(&mut fields, &mut dialogue.format)?;
        fields.refuse("chat_template", &["".into()], "templates come with the model only")?;
        thinking::read(&mut fields, &mut dialogue.thinking)?;
        let reasoning_shown = thinking::read_foreign(&mut fields, &mut dialogue.thinking)?;
        let n = fields.count("n", 1..=MOST_REPLIES)?.unwrap_or(1);
        let streaming = Streaming::read(&mut fields)?;
        streaming::read_cache(&mut fields, &mut parameters.options)?;
        // llama.cpp's name.
        let progress = fields.flag("return_progress")?.unwrap_or(false);
        fields.refuse("modalities", &[serde_json::json!(["text"])], "replies are text")?;
        fields.refuse("audio", &[], "replies are text")?;
        fields.refuse("prediction", &[], "the server has no predicted outputs")?;
        fields.refuse("web_search_options", &[], "the server does not search the web")?;
        if ignored.is_strict() {
            fields.refuse("timings_per_token", &[false.into()], "`timings` come with the last chunk")?;
        }
        fields.refuse("functions", &[Value::Array(Vec::new())], "use `tools`")?;
        fields.refuse("function_call", &["none".into(), "auto".into()], "use `tool_choice`")?;
        fields.ignore(IGNORED);
        foreign::read(&mut fields)?;
        fields.end()?;
        Ok(ChatRequest { dialogue, parameters, n, logprobs, streaming, progress, reasoning_shown })
    }
}

/// Fields of the API that ask for nothing that this server could do or leave.
const IGNORED: &[&str] = &[
    "metadata",
    "moderation",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "store",
    "user",
    "verbosity",
];

/// The form that the reply must have.
fn output_format(fields: &mut Fields<'_>) -> Result<Option<OutputFormat>, ApiError> {
    let Some(mut format) = fields.object("response_format")? else { return Ok(None) };
    let Some(kind) = format.choice("type", &["text", "json_object", "json_schema"])? else {
        return Err(ApiError::invalid(
            "response_format.type",
            "response_format.type is missing: expected one of `text`, `json_object`, `json_schema`",
        ));
    };
    let wanted = match kind {
        "text" => None,
        // Not OpenAI's: llama.cpp and others take a schema here.
        "json_object" => Some(match format.value("schema") {
            Some(value) => OutputFormat::JsonSchema(json_schema(&format, value)?),
            None => OutputFormat::JsonObject,
        }),
        _ => {
            let value = format.required("json_schema", "an object")?;
            let mut schema = Fields::of(value, "response_format.json_schema", fields.ignored())?;
            schema.text("name")?;
            schema.text("description")?;
            schema.flag("strict")?;
            let value = schema.required("schema", "a JSON schema")?;
            let value = json_schema(&schema, value)?;
            schema.end()?;
            Some(OutputFormat::JsonSchema(value))
        }
    };
    format.end()?;
    Ok(wanted)
}

/// The value of the field `schema`.
fn json_schema(fields: &Fields<'_>, value: &Value) -> Result<Value, ApiError> {
    if !value.is_object() && !value.is_boolean() {
        return Err(fields.expected("schema", "a JSON schema", value));
    }
    Ok(value.clone())
}
