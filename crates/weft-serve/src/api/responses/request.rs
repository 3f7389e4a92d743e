//! The request of a response.

use serde_json::{Map, Value, json};
use weft_engine::{GenerateOptions, Message};

use super::input;
use super::item::ReasoningForm;
use super::tools::Callables;
use crate::api::constraints;
use crate::api::dialogue::{Dialogue, OutputFormat};
use crate::api::foreign;
use crate::api::sampling::{self, Parameters};
use crate::api::thinking;
use crate::error::{ApiError, beginning};
use crate::ignored::Ignored;
use crate::json::Fields;

/// A request of a response.
#[derive(Clone, Debug)]
pub(crate) struct ResponseRequest {
    /// The conversation.
    pub(crate) dialogue: Dialogue,
    /// The tools, by the names that the model knows.
    pub(super) callables: Callables,
    /// How the reply is generated.
    pub(super) parameters: Parameters,
    /// Where reasoning goes.
    pub(super) reasoning: ReasoningForm,
    /// Whether log probabilities are wanted.
    pub(super) logprobs: bool,
    /// Whether the reply is streamed.
    pub(super) stream: bool,
    /// The fields of the request that the response repeats.
    pub(super) echo: Map<String, Value>,
}

/// Fields that ask for nothing that this server could do or leave.
const IGNORED: &[&str] = &[
    "access_programs",
    "background_options",
    "client_metadata",
    "image",
    "prompt_cache_options",
    "prompt_cache_retention",
    "stream_options",
];

/// The values that `include` may list. All but two are about tools of OpenAI's servers.
const INCLUDES: &[&str] = &[
    LOGPROBS,
    ENCRYPTED,
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    "web_search_call.action.sources",
    "web_search_call.results",
];
const LOGPROBS: &str = "message.output_text.logprobs";
const ENCRYPTED: &str = "reasoning.encrypted_content";

impl ResponseRequest {
    /// Reads a request for a model with this many tokens.
    ///
    /// # Errors
    /// If a field is missing, wrong, not supported or not known.
    pub(crate) fn read(
        body: &Value,
        defaults: &GenerateOptions,
        vocab: usize,
        ignored: &Ignored,
    ) -> Result<ResponseRequest, ApiError> {
        let mut fields = Fields::of(body, "", ignored)?;
        let mut callables = Callables::default();
        let mut dialogue = Dialogue { parallel: true, ..Dialogue::default() };
        fields.text("model")?;
        refuse(&mut fields)?;
        let instructions = fields.text("instructions")?;
        dialogue.messages.extend(instructions.map(|text| Message::new("system", text)));
        callables.read(&mut fields, &mut dialogue, ignored)?;
        let value = fields.required("input", "a string or an array of items")?;
        input::read(value, &mut dialogue, &mut callables, ignored)?;
        callables.choose(&mut fields, &mut dialogue, ignored)?;
        dialogue.parallel = fields.flag("parallel_tool_calls")?.unwrap_or(true);
        let (format, text) = text_format(&mut fields)?;
        dialogue.format = format;
        constraints::read(&mut fields, &mut dialogue.format)?;

        let mut parameters = sampling::read(&mut fields, defaults, vocab)?;
        let most = sampling::most_tokens(&mut fields, &["max_output_tokens"], 1)?;
        parameters.options.max_tokens = most.unwrap_or(parameters.options.max_tokens);
        let include = include(&mut fields)?;
        let top = fields.count("top_logprobs", 0..=20)?;
        let logprobs = include.contains(&LOGPROBS) || top.is_some_and(|top| top > 0);
        parameters.options.logprobs = logprobs.then_some(top.unwrap_or(0));

        let mut summary = None;
        if let Some(mut reasoning) = fields.object("reasoning")? {
            let effort = reasoning.choice("effort", thinking::EFFORTS)?;
            thinking::set_effort(&mut dialogue.thinking, effort);
            let summaries = ["auto", "concise", "detailed", "none"];
            // `generate_summary` is its older name.
            let older = reasoning.choice("generate_summary", &summaries)?;
            summary = reasoning.choice("summary", &summaries)?.or(older).filter(|summary| *summary != "none");
            reasoning.ignore(&["context", "mode"]);
            reasoning.end()?;
        }
        let reasoning = ReasoningForm { summary: summary.is_some(), encrypted: include.contains(&ENCRYPTED) };
        let stream = fields.flag("stream")?.unwrap_or(false);
        fields.flag("store")?;
        fields.ignore(&["service_tier"]);
        if fields.value("context_management").is_some() {
            ignored.add("context_management");
        }
        fields.ignore(IGNORED);

        let mut echo = Map::new();
        for name in ["metadata", "prompt_cache_key", "safety_identifier", "user"] {
            echo.insert(name.into(), fields.value(name).cloned().unwrap_or_default());
        }
        if echo["metadata"].is_null() {
            echo["metadata"] = json!({});
        }
        for name in ["max_output_tokens", "max_tool_calls", "reasoning"] {
            echo.insert(name.into(), fields.value(name).cloned().unwrap_or_default());
        }
        let sampling = &parameters.options.sampling;
        let rest = json!({
            "background": false,
            "frequency_penalty": sampling.frequency_penalty,
            "instructions": instructions,
            "parallel_tool_calls": dialogue.parallel,
            "presence_penalty": sampling.presence_penalty,
            "previous_response_id": null,
            "service_tier": "default",
            "store": false,
            "temperature": sampling.temperature,
            "text": text,
            "tool_choice": fields.value("tool_choice").cloned().unwrap_or("auto".into()),
            "tools": callables.declared,
            "top_logprobs": parameters.options.logprobs.unwrap_or(0),
            "top_p": sampling.top_p,
            "truncation": "disabled",
        });
        if let Value::Object(rest) = rest {
            echo.extend(rest);
        }
        // The form of this API always has the reasoning.
        if !thinking::read_foreign(&mut fields, &mut dialogue.thinking)? {
            ignored.add("include_reasoning");
        }
        foreign::read(&mut fields)?;
        fields.end()?;
        Ok(ResponseRequest { dialogue, callables, parameters, reasoning, logprobs, stream, echo })
    }
}

/// Refuses what this server does not have.
fn refuse(fields: &mut Fields<'_>) -> Result<(), ApiError> {
    let stateless = "this server stores no responses; send the whole conversation in `input`";
    fields.refuse("previous_response_id", &[], stateless)?;
    fields.refuse("conversation", &[], stateless)?;
    fields.refuse("background", &[false.into()], "a reply is answered or streamed as it is made")?;
    fields.refuse("prompt", &[], "this server stores no prompts; send the text in `input`")?;
    fields.refuse("moderation", &[], "this server does not moderate")?;
    // A conversation that fits is the same with it; one that does not is refused for its length.
    let truncation = "nothing is truncated in silence; leave out old items when the context is full";
    if !fields.ignored().is_strict() && fields.value("truncation").is_some_and(|mode| mode == "auto") {
        fields.leave_out("truncation");
        return Ok(());
    }
    fields.refuse("truncation", &["disabled".into()], truncation)
}

/// Reads `text`: the form of the reply, and its description in the response.
fn text_format(fields: &mut Fields<'_>) -> Result<(Option<OutputFormat>, Value), ApiError> {
    let plain = json!({ "format": { "type": "text" } });
    let Some(value) = fields.value("text").cloned() else { return Ok((None, plain)) };
    let mut text = Fields::of(&value, "text", fields.ignored())?;
    text.ignore(&["verbosity"]);
    let mut wanted = None;
    if let Some(mut format) = text.object("format")? {
        let kinds = ["text", "json_object", "json_schema"];
        let Some(kind) = format.choice("type", &kinds)? else {
            let message = "text.format.type is missing: expected one of `text`, `json_object`, `json_schema`";
            return Err(ApiError::invalid("text.format.type", message));
        };
        if kind == "json_object" {
            wanted = Some(OutputFormat::JsonObject);
        } else if kind == "json_schema" {
            let schema = format.required("schema", "a JSON schema")?;
            if !schema.is_object() && !schema.is_boolean() {
                return Err(format.expected("schema", "a JSON schema", schema));
            }
            format.text("name")?;
            format.text("description")?;
            format.flag("strict")?;
            wanted = Some(OutputFormat::JsonSchema(schema.clone()));
        }
        format.end()?;
    }
    text.end()?;
    let mut echo = value;
    if echo["format"].is_null() {
        echo["format"] = json!({ "type": "text" });
    }
    Ok((wanted, echo))
}

/// Reads `include`.
fn include(fields: &mut Fields<'_>) -> Result<Vec<&'static str>, ApiError> {
    let mut include = Vec::new();
    for (i, value) in fields.array("include", 64)?.unwrap_or_default().iter().enumerate() {
        let known = INCLUDES.iter().find(|known| value.as_str() == Some(**known));
        let wrong = || {
            let list: Vec<String> = INCLUDES.iter().map(|known| format!("`{known}`")).collect();
            let path = format!("include[{i}]");
            let message = format!("{path}: expected one of {}, found {value}", list.join(", "));
            ApiError::invalid(path, message.chars().take(600).collect::<String>())
        };
        match (known, value.as_str()) {
            (Some(known), _) => include.push(*known),
            (None, Some(other)) if !fields.ignored().is_strict() => {
                fields.ignored().add(format!("include[{i}] ({})", beginning(other)));
            }
            _ => return Err(wrong()),
        }
    }
    Ok(include)
}
