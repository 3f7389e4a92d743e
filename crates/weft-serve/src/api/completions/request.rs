//! The request of a completion.

use serde_json::Value;
use weft_engine::GenerateOptions;

use crate::api::chat::MOST_REPLIES;
use crate::api::constraints;
use crate::api::dialogue::OutputFormat;
use crate::api::foreign;
use crate::api::sampling::{self, Parameters, token_ids};
use crate::api::streaming::{self, Streaming};
use crate::error::ApiError;
use crate::ignored::Ignored;
use crate::json::{Fields, expected_at};

/// The most prompts of a request.
const PROMPTS: usize = 64;
/// The tokens of a reply where the request does not say, as the API has it.
const DEFAULT_TOKENS: usize = 16;

/// A prompt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum PromptText {
    /// A text.
    Text(String),
    /// Tokens.
    Tokens(Vec<u32>),
}

/// A request of a completion.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct CompletionRequest {
    /// The prompts.
    pub(super) prompts: Vec<PromptText>,
    /// How replies are generated.
    pub(super) parameters: Parameters,
    /// The text after each reply.
    pub(super) suffix: Option<String>,
    /// The number of replies to each prompt.
    pub(super) n: usize,
    /// Whether replies repeat the prompt.
    pub(super) echo: bool,
    /// Whether log probabilities are wanted.
    pub(super) logprobs: bool,
    /// The form that replies must have.
    pub(super) format: Option<OutputFormat>,
    /// Whether the reply is streamed.
    pub(super) streaming: Streaming,
}

impl CompletionRequest {
    /// Reads a request for a model with this many tokens.
    ///
    /// # Errors
    /// If a field is missing, wrong, not supported or not known.
    pub(crate) fn read(
        body: &Value,
        defaults: &GenerateOptions,
        vocab: usize,
        ignored: &Ignored,
    ) -> Result<CompletionRequest, ApiError> {
        let mut fields = Fields::of(body, "", ignored)?;
        fields.text("model")?;
        let prompts = prompts(fields.required("prompt", EXPECTED)?, vocab)?;
        let mut parameters = sampling::read(&mut fields, defaults, vocab)?;
        let most = sampling::most_tokens(&mut fields, &["max_tokens"], 0)?;
        let default = parameters.options.max_tokens.unwrap_or(DEFAULT_TOKENS);
        parameters.options.max_tokens = most.unwrap_or(Some(default));
        let likeliest = match fields.value("logprobs") {
            // As the chat API says it.
            Some(Value::Bool(false)) => None,
            _ => fields.count("logprobs", 0..=20)?,
        };
        parameters.options.logprobs = likeliest;
        let echo = fields.flag("echo")?.unwrap_or(false);
        // With `echo` the lists begin with the prompt's tokens.
        parameters.options.prompt_logprobs = likeliest.filter(|_| echo);
        let n = fields.count("n", 1..=MOST_REPLIES)?.unwrap_or(1);
        let best = fields.count("best_of", 1..=MOST_REPLIES)?;
        if best.is_some_and(|best| best != n) {
            let why = "best_of is not supported: ask for `n` replies and choose";
            return Err(ApiError::unsupported("best_of", why));
        }
        let mut format = None;
        constraints::read(&mut fields, &mut format)?;
        let streaming = Streaming::read(&mut fields)?;
        streaming::read_cache(&mut fields, &mut parameters.options)?;
        let suffix = fields.text("suffix")?.filter(|suffix| !suffix.is_empty()).map(str::to_string);
        if suffix.is_some() && prompts.iter().any(|prompt| matches!(prompt, PromptText::Tokens(_))) {
            return Err(ApiError::invalid("suffix", "suffix: expected a prompt that is text"));
        }
        if suffix.is_some() && echo {
            return Err(ApiError::unsupported("echo", "echo is not supported with `suffix`"));
        }
        fields.ignore(&["user", "metadata", "store", "service_tier"]);
        foreign::read(&mut fields)?;
        fields.end()?;
        let logprobs = likeliest.is_some();
        Ok(CompletionRequest { prompts, suffix, parameters, n, echo, logprobs, format, streaming })
    }
}

const EXPECTED: &str = "a string, an array of strings, an array of tokens, or an array of those";

/// The prompts: a text, tokens, or an array of either.
fn prompts(value: &Value, vocab: usize) -> Result<Vec<PromptText>, ApiError> {
    let wrong = || expected_at("prompt", EXPECTED, value);
    let Value::Array(items) = value else {
        return value.as_str().map(|text| vec![PromptText::Text(text.into())]).ok_or_else(wrong);
    };
    if items.first().is_some_and(Value::is_number) {
        return Ok(vec![PromptText::Tokens(token_ids("prompt", items, vocab)?)]);
    }
    if items.is_empty() || items.len() > PROMPTS {
        let message = format!("prompt: expected 1 to {PROMPTS} prompts, found {}", items.len());
        return Err(ApiError::invalid("prompt", message));
    }
    let one = |(i, item): (usize, &Value)| match item {
        Value::String(text) => Ok(PromptText::Text(text.clone())),
        Value::Array(tokens) => Ok(PromptText::Tokens(token_ids(&format!("prompt[{i}]"), tokens, vocab)?)),
        _ => Err(wrong()),
    };
    items.iter().enumerate().map(one).collect()
}
