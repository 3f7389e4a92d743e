//! The parameters of replies that OpenAI's two older APIs share, with the extensions of other servers.

use serde_json::Value;
use weft_engine::GenerateOptions;

use super::{lora, samplers, texts};
use crate::error::ApiError;
use crate::json::{Fields, expected_at};

/// The most stop strings of a request. Editors send twenty.
const STOPS: usize = 64;
/// The most bytes of a stop string.
const STOP_BYTES: usize = 256;

/// The most tokens with a bias.
const BIASES: usize = 1024;

/// How replies are to be generated.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Parameters {
    /// For the engine.
    pub(crate) options: GenerateOptions,
    /// Whether the client gave the seed.
    pub(crate) seeded: bool,
}

/// Reads the parameters, for a model with this many tokens; the model's defaults stand for what is left out.
///
/// # Errors
/// If one is out of range.
pub(crate) fn read(
    fields: &mut Fields<'_>,
    defaults: &GenerateOptions,
    vocab: usize,
) -> Result<Parameters, ApiError> {
    let mut options = defaults.clone();
    let sampling = &mut options.sampling;
    let mut set = |name, range, target: &mut f32| -> Result<bool, ApiError> {
        let number = fields.number(name, range)?;
        if let Some(number) = number {
            *target = number as f32;
        }
        Ok(number.is_some())
    };
    set("temperature", 0.0..=2.0, &mut sampling.temperature)?;
    set("top_p", 0.0..=1.0, &mut sampling.top_p)?;
    set("min_p", 0.0..=1.0, &mut sampling.min_p)?;
    let presence = set("presence_penalty", -2.0..=2.0, &mut sampling.presence_penalty)?;
    let frequency = set("frequency_penalty", -2.0..=2.0, &mut sampling.frequency_penalty)?;
    if presence || frequency {
        // As the API has it: they count the tokens of the reply.
        sampling.penalize_prompt = false;
        sampling.repeat_last_n = usize::MAX;
    }
    set("repetition_penalty", 0.01..=10.0, &mut sampling.repeat_penalty)?;
    // llama.cpp's name.
    set("repeat_penalty", 0.01..=10.0, &mut sampling.repeat_penalty)?;
    let strict = fields.ignored().is_strict();
    if let Some(k) = fields.integer("top_k", -1..=1 << 31)? {
        // vLLM writes -1 for all.
        sampling.top_k = usize::try_from(k).unwrap_or(0);
    }
    let seed = fields.seed("seed")?;
    sampling.seed = seed.unwrap_or(sampling.seed);
    // Anthropic's name is the second.
    for name in ["stop", "stop_sequences"].into_iter().take(if strict { 1 } else { 2 }) {
        if let Some(stop) = fields.value(name) {
            options.stop = stops(&fields.at(name), stop)?;
        }
    }
    samplers::read(fields, &mut options)?;
    if let Some(bias) = fields.value("logit_bias") {
        options.logit_bias = logit_bias(&fields.at("logit_bias"), bias, vocab)?;
    }
    if let Some(tokens) = fields.array("stop_token_ids", STOPS)? {
        options.stop_tokens.extend(token_ids(&fields.at("stop_token_ids"), tokens, vocab)?);
    }
    options.min_tokens = fields.count("min_tokens", 0..=usize::MAX)?.unwrap_or(options.min_tokens);
    options.ignore_end = fields.flag("ignore_eos")?.unwrap_or(options.ignore_end);
    if !strict {
        lora::read(fields, &mut options)?;
    }
    let mut parameters = Parameters { options, seeded: seed.is_some() };
    if !strict {
        last_tokens(fields, &mut parameters)?;
    }
    Ok(parameters)
}

/// Reads how many of the last tokens the penalties count, by llama.cpp's name. -1 means all.
///
/// # Errors
/// If it is not a count.
pub(crate) fn last_tokens(fields: &mut Fields<'_>, parameters: &mut Parameters) -> Result<(), ApiError> {
    if let Some(last) = fields.integer("repeat_last_n", -1..=i64::MAX)? {
        parameters.options.sampling.repeat_last_n = usize::try_from(last).unwrap_or(usize::MAX);
    }
    Ok(())
}

/// Reads the most tokens of a reply, at least `least`: by the first of these names that is there, or else by a name of
/// another API. `None` if there is none, `Some(None)` if the request asks for no limit.
///
/// # Errors
/// If it is not a count.
pub(crate) fn most_tokens(
    fields: &mut Fields<'_>,
    names: &[&'static str],
    least: usize,
) -> Result<Option<Option<usize>>, ApiError> {
    const OTHERS: [&str; 5] =
        ["max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "n_predict"];
    let others: &[&str] = if fields.ignored().is_strict() { &[] } else { &OTHERS };
    let mut most = None;
    for name in names.iter().chain(others) {
        if !fields.knows(name) {
            let limit = fields.limit(name, least)?;
            most = most.or(limit);
        }
    }
    Ok(most)
}

/// Stop strings: one, or an array.
///
/// # Errors
/// If one is empty, there are too many, or they are too long.
pub(crate) fn stops(path: &str, value: &Value) -> Result<Vec<String>, ApiError> {
    texts::strings(path, value, STOPS, STOP_BYTES)
}

/// Biases of tokens: an object of numbers by token id.
fn logit_bias(path: &str, value: &Value, vocab: usize) -> Result<Vec<(u32, f32)>, ApiError> {
    if value.as_array().is_some_and(Vec::is_empty) {
        return Ok(Vec::new());
    }
    let Value::Object(biases) = value else { return Err(expected_at(path, "an object", value)) };
    if biases.len() > BIASES {
        let message = format!("{path}: expected at most {BIASES} tokens, found {}", biases.len());
        return Err(ApiError::invalid(path, message));
    }
    let one = |(id, bias): (&String, &Value)| {
        let token = id.parse::<u32>().ok().filter(|id| (*id as usize) < vocab);
        let expected = || format!("a token id from 0 to {}", vocab.saturating_sub(1));
        let token = token.ok_or_else(|| expected_at(path, &expected(), &Value::String(id.clone())))?;
        let number = bias.as_f64().filter(|bias| (-100.0..=100.0).contains(bias));
        let number = number
            .ok_or_else(|| expected_at(&format!("{path}.{token}"), "a number from -100 to 100", bias))?;
        Ok((token, number as f32))
    };
    biases.iter().map(one).collect()
}

/// Token ids of a vocabulary.
///
/// # Errors
/// If one is not.
pub(crate) fn token_ids(path: &str, items: &[Value], vocab: usize) -> Result<Vec<u32>, ApiError> {
    let id = |(i, item): (usize, &Value)| {
        let id = item.as_u64().filter(|id| *id < vocab as u64).and_then(|id| u32::try_from(id).ok());
        let expected = || format!("a token id from 0 to {}", vocab.saturating_sub(1));
        id.ok_or_else(|| expected_at(&format!("{path}[{i}]"), &expected(), item))
    };
    items.iter().enumerate().map(id).collect()
}
