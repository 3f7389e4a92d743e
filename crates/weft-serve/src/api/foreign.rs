//! Fields of other servers for which this one has nothing. A value that asks for nothing is accepted; any other would
//! change the answer, so it is refused.
//!
//! Fields that mean the same as one of ours are read where ours is: `sampling.rs`, `samplers.rs`, `thinking.rs`,
//! `constraints.rs`. All others have no effect on the text of an answer, and end up among those that no reader knows.

use serde_json::Value;

use crate::error::ApiError;
use crate::json::Fields;

/// The values of a field that ask for nothing.
enum Neutral {
    /// Numbers up to this one. `false` counts as 0, `true` as 1.
    AtMost(f64),
    /// Numbers from this one on.
    AtLeast(f64),
    /// Exactly this number.
    Number(f64),
    /// This flag.
    Flag(bool),
    /// One of these texts.
    Text(&'static [&'static str]),
    /// An empty text, array or object.
    Empty,
    /// An object of this type.
    Type(&'static str),
    /// An array of this text, or an empty one.
    Only(&'static str),
    /// None: only a field that is absent asks for nothing.
    Absent,
}

use Neutral::{Absent, AtLeast, AtMost, Empty, Flag, Number, Only, Text, Type};

impl Neutral {
    fn holds(&self, value: &Value) -> bool {
        let number = || value.as_f64().or(value.as_bool().map(|flag| f64::from(u8::from(flag))));
        match self {
            AtMost(most) => number().is_some_and(|number| number <= *most),
            AtLeast(least) => number().is_some_and(|number| number >= *least),
            Number(one) => value.as_f64() == Some(*one),
            Flag(flag) => value.as_bool() == Some(*flag),
            Text(texts) => value.as_str().is_some_and(|text| texts.contains(&text)),
            Empty => match value {
                Value::String(text) => text.is_empty(),
                Value::Array(items) => items.is_empty(),
                Value::Object(map) => map.is_empty(),
                _ => false,
            },
            Type(name) => value["type"] == *name,
            Only(text) => value.as_array().is_some_and(|items| items.iter().all(|item| item == text)),
            Absent => false,
        }
    }
}

const NO_SAMPLER: &str =
    "the server has no such sampler; leave the field out, or use `temperature`, `top_p` and `min_p`";
const SCHEMA: &str = "use `response_format` with a JSON schema";
const TEMPLATE: &str = "the chat template of the model decides";
const FORM: &str = "replies have no such form here";

/// The fields: name, neutral values, and what to do instead.
const FIELDS: &[(&str, Neutral, &str)] = &[
    // Samplers: llama.cpp, KoboldCpp, text-generation-webui.
    ("tfs_z", AtLeast(1.0), NO_SAMPLER),
    ("top_a", AtMost(0.0), NO_SAMPLER),
    ("adaptive_target", AtMost(-1.0), NO_SAMPLER),
    ("smoothing_factor", AtMost(0.0), NO_SAMPLER),
    ("epsilon_cutoff", AtMost(0.0), NO_SAMPLER),
    ("eta_cutoff", AtMost(0.0), NO_SAMPLER),
    ("no_repeat_ngram_size", AtMost(0.0), NO_SAMPLER),
    ("guidance_scale", Number(1.0), NO_SAMPLER),
    ("do_sample", Flag(true), "use `temperature`"),
    // Searches: vLLM, Hugging Face.
    ("best_of", Number(1.0), "ask for `n` replies and choose"),
    ("use_beam_search", Flag(false), "the server has no beam search"),
    ("num_beams", AtMost(1.0), "the server has no beam search"),
    ("length_penalty", Number(1.0), "the server has no beam search"),
    ("n", Number(1.0), "this API answers with one reply"),
    // Constraints.
    ("grammar_lazy", Flag(false), SCHEMA),
    ("format", Empty, SCHEMA),
    ("response_format", Type("text"), "this API has no such field; the chat API does"),
    ("allowed_token_ids", Empty, "use `logit_bias`"),
    ("bad_words", Empty, "use `logit_bias`"),
    ("logits_processors", Empty, "use `logit_bias`"),
    ("t_max_predict_ms", AtMost(0.0), "use `max_tokens`"),
    ("t_max_prompt_ms", AtMost(0.0), "use `max_tokens`"),
    // Prompts.
    ("messages", Empty, "this API reads no messages"),
    ("prompt", Empty, "this API reads no prompt; the completions API does"),
    ("input", Empty, "this API reads no input; the responses API does"),
    ("system", Empty, "send a message with the role `system`"),
    ("instructions", Empty, "send a message with the role `system`"),
    ("suffix", Empty, "this API does not fill in the middle; /infill and the completions API do"),
    ("tools", Empty, "this API has no tools"),
    ("tool_choice", Text(&["none", "auto"]), "this API has no tools"),
    ("documents", Empty, TEMPLATE),
    ("chat_template", Empty, "templates come with the model only"),
    ("add_generation_prompt", Flag(true), TEMPLATE),
    ("continue_final_message", Flag(false), "this API does not continue messages; the chat API does"),
    ("truncate_prompt_tokens", Absent, "nothing is truncated in silence"),
    ("image_data", Empty, "this model reads text only"),
    ("images", Empty, "this model reads text only"),
    ("audio", Empty, "replies are text"),
    ("modalities", Only("text"), "replies are text"),
    ("lora", Empty, "name the adapter as the `model`"),
    // The form of the answer.
    ("skip_special_tokens", Flag(true), FORM),
    ("include_stop_str_in_output", Flag(false), FORM),
    ("echo", Flag(false), FORM),
    ("logprobs", AtMost(0.0), FORM),
    ("prompt_logprobs", Flag(false), FORM),
    ("n_probs", AtMost(0.0), "use `logprobs`"),
    ("post_sampling_probs", Flag(false), FORM),
    ("return_tokens", Flag(false), FORM),
    ("return_token_ids", Flag(false), FORM),
    ("return_tokens_as_token_ids", Flag(false), FORM),
    ("reasoning_format", Text(&["auto", "deepseek"]), "reasoning comes in a field of its own"),
    ("reasoning_in_content", Flag(false), "reasoning comes in a field of its own"),
    ("parse_tool_calls", Flag(true), FORM),
];

/// Fields that say more about one of the others, and nothing without it.
const DETAILS: &[&str] = &[
    "adaptive_decay",
    "early_stopping",
    "grammar_triggers",
    "smoothing_curve",
    "spaces_between_special_tokens",
];

/// Reads the fields that the API does not have itself.
///
/// # Errors
/// If one asks for something that this server does not do.
pub(crate) fn read(fields: &mut Fields<'_>) -> Result<(), ApiError> {
    if fields.ignored().is_strict() {
        return Ok(());
    }
    for (name, neutral, why) in FIELDS {
        if fields.knows(name) {
            continue;
        }
        if fields.value(name).is_some_and(|value| !neutral.holds(value)) {
            let path = fields.at(name);
            return Err(ApiError::unsupported(path.clone(), format!("{path} is not supported: {why}")));
        }
    }
    for name in DETAILS {
        if !fields.knows(name) {
            fields.ignore(&[name]);
        }
    }
    Ok(())
}

/// When a field asks for something.
#[cfg(test)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asks {
    /// With some values.
    Sometimes,
    /// With any value.
    Always,
    /// With none.
    Never,
}

/// The names of all fields here.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = (&'static str, Asks)> {
    let asks = |neutral: &Neutral| if matches!(neutral, Absent) { Asks::Always } else { Asks::Sometimes };
    let fields = FIELDS.iter().map(move |(name, neutral, _)| (*name, asks(neutral)));
    fields.chain(DETAILS.iter().map(|name| (*name, Asks::Never)))
}
