//! The request of a message.

use serde_json::Value;
use weft_engine::GenerateOptions;

use super::content;
use super::tools;
use crate::api::constraints;
use crate::api::dialogue::{Dialogue, OutputFormat};
use crate::api::foreign;
use crate::api::sampling::{self, Parameters};
use crate::api::thinking;
use crate::error::ApiError;
use crate::ignored::Ignored;
use crate::json::Fields;

/// A request of a message, or of the number of its tokens.
#[derive(Clone, Debug)]
pub(crate) struct MessageRequest {
    /// The conversation.
    pub(crate) dialogue: Dialogue,
    /// How the reply is generated.
    pub(super) parameters: Parameters,
    /// Whether the client wants to see the thinking.
    pub(super) thinking_shown: bool,
    /// Whether the reply is streamed.
    pub(super) stream: bool,
}

/// Fields that ask for nothing that this server could do or leave.
const IGNORED: &[&str] = &[
    "betas",
    "billing_policy",
    "cache_control",
    "diagnostics",
    "fallback_credit_token",
    "fallbacks",
    "inference_geo",
    "metadata",
    "service_tier",
    "speed",
    "user_profile_id",
    "workspace_id",
];

/// Fields that ask for something that a request does without: the client manages its context itself if the server does
/// not.
const LEFT_OUT: &[&str] = &["compaction", "context_management"];

impl MessageRequest {
    /// Reads a request for a model with this many tokens. Only a request of a message, not one of a count, must say how
    /// long the message may be.
    ///
    /// # Errors
    /// If a field is missing, wrong, not supported or not known.
    pub(crate) fn read(
        body: &Value,
        defaults: &GenerateOptions,
        vocab: usize,
        count: bool,
        ignored: &Ignored,
    ) -> Result<MessageRequest, ApiError> {
        let mut fields = Fields::of(body, "", ignored)?;
        let mut dialogue = Dialogue::default();
        fields.text("model")?;
        let most = sampling::most_tokens(&mut fields, &["max_tokens"], 1)?;
        if most.is_none() && !count {
            let message = "max_tokens is missing: expected an integer of at least 1";
            return Err(ApiError::invalid("max_tokens", message));
        }
        content::read(&mut fields, &mut dialogue, ignored)?;
        tools::read(&mut fields, &mut dialogue, ignored)?;
        let mut parameters = sampling::read(&mut fields, defaults, vocab)?;
        parameters.options.max_tokens = most.unwrap_or(parameters.options.max_tokens);
        if let Some(stop) = fields.value("stop_sequences") {
            if !stop.is_array() {
                return Err(fields.expected("stop_sequences", "an array of strings", stop));
            }
            parameters.options.stop = sampling::stops("stop_sequences", stop)?;
        }
        let mut thinking_shown = thinking(&mut fields, &mut dialogue, ignored)?;
        if let Some(mut output) = fields.object("output_config")? {
            let effort = output.choice("effort", &thinking::EFFORTS[1..])?;
            thinking::set_effort(&mut dialogue.thinking, effort);
            if let Some(format) = output.object("format")? {
                dialogue.format = Some(output_format(format)?);
            }
            ignored.fields("output_config", output.rest());
        }
        // Its name in an earlier version.
        if let Some(format) = fields.object("output_format")? {
            dialogue.format = Some(output_format(format)?);
        }
        constraints::read(&mut fields, &mut dialogue.format)?;
        let stream = fields.flag("stream")?.unwrap_or(false);
        for name in LEFT_OUT {
            if fields.value(name).is_some() {
                ignored.add(*name);
            }
        }
        fields.refuse("container", &[], "this server runs no code")?;
        fields.refuse(
            "mcp_servers",
            &[Value::Array(Vec::new())],
            "this server connects to no other servers",
        )?;
        fields.refuse("thread", &[], "this server stores no messages; send the whole conversation")?;
        fields.ignore(IGNORED);
        thinking_shown &= thinking::read_foreign(&mut fields, &mut dialogue.thinking)?;
        foreign::read(&mut fields)?;
        fields.end()?;
        Ok(MessageRequest { dialogue, parameters, thinking_shown, stream })
    }
}

/// Reads `thinking`. Returns whether the client wants to see it.
fn thinking(fields: &mut Fields<'_>, dialogue: &mut Dialogue, ignored: &Ignored) -> Result<bool, ApiError> {
    // Some hosts have a flag of this name.
    if let Some(Value::Bool(on)) = fields.value("thinking").filter(|_| !ignored.is_strict()) {
        thinking::set(&mut dialogue.thinking, *on);
        return Ok(true);
    }
    let Some(mut thinking) = fields.object("thinking")? else { return Ok(true) };
    let kinds = ["enabled", "adaptive", "between_tools", "disabled"];
    let Some(kind) = thinking.choice("type", &kinds)? else {
        let message = "thinking.type is missing: expected one of `enabled`, `adaptive`, `disabled`";
        return Err(ApiError::invalid("thinking.type", message));
    };
    thinking::set(&mut dialogue.thinking, kind != "disabled");
    let display = thinking.choice("display", &["summarized", "omitted"])?;
    if let Some(most) = thinking.count("budget_tokens", 0..=usize::MAX)?.filter(|_| kind != "disabled") {
        thinking::set_budget(&mut dialogue.thinking, most);
    }
    ignored.fields("thinking", thinking.rest());
    Ok(display != Some("omitted"))
}

/// Reads the form of the reply.
fn output_format(mut format: Fields<'_>) -> Result<OutputFormat, ApiError> {
    let place = format.at("type");
    if format.choice("type", &["json_schema"])?.is_none() {
        let message = format!("{place} is missing: expected `json_schema`");
        return Err(ApiError::invalid(place, message));
    }
    let schema = format.required("schema", "a JSON schema")?;
    if !schema.is_object() && !schema.is_boolean() {
        return Err(format.expected("schema", "a JSON schema", schema));
    }
    format.end()?;
    Ok(OutputFormat::JsonSchema(schema.clone()))
}
