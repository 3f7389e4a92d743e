//! Dynamo's requests as the engine's.

use dynamo_backend_common::{DynamoError, PreprocessedRequest};
use weft_engine::{GenerateOptions, Request, Sampling};

use crate::refused;

/// Returns the engine's request. `seed` is used if the client gave none.
///
/// The form of a guided reply is left to [`guided`](crate::guided), stop strings to the front end, which has the text: it ends
/// the stream when one comes.
///
/// # Errors
/// If it asks for anything that the engine does not have. Nothing is ignored that would change the reply.
pub fn request(from: &PreprocessedRequest, seed: u64) -> Result<Request, DynamoError> {
    let PreprocessedRequest {
        stop_conditions: stop, sampling_options: asked, output_options: output, ..
    } = from;
    let absent = [
        ("embeddings as a prompt", from.prompt_embeds.is_some()),
        ("images, audio or video", from.multi_modal_data.is_some()),
        ("prompts computed by another worker", from.prefill_result.is_some()),
        ("adapters (LoRA)", from.routing.as_ref().is_some_and(|routing| routing.lora_name.is_some())),
        ("beam search", asked.use_beam_search == Some(true)),
        ("a limit on reasoning tokens", stop.max_thinking_tokens.is_some()),
    ];
    if let Some((what, _)) = absent.iter().find(|(_, asked)| *asked) {
        return Err(refused(format!("this worker has no {what}")));
    }
    let replies = [("n", asked.n), ("best_of", asked.best_of)];
    if let Some((name, Some(count))) = replies.iter().find(|(_, count)| count.is_some_and(|count| count > 1))
    {
        return Err(refused(format!("{name} is {count}: a worker gives one reply; send the request again")));
    }
    let mut options = GenerateOptions::default();
    options.sampling = sampling(from, seed);
    options.max_tokens = stop.max_tokens.map(|tokens| tokens as usize);
    options.min_tokens = stop.min_tokens.unwrap_or(0) as usize;
    options.ignore_end = stop.ignore_eos == Some(true);
    if !options.ignore_end {
        let lists = [&stop.stop_token_ids, &stop.stop_token_ids_visible, &stop.stop_token_ids_hidden];
        let mut tokens: Vec<u32> = lists.into_iter().flatten().flatten().copied().collect();
        tokens.extend(&from.eos_token_ids);
        tokens.sort_unstable();
        tokens.dedup();
        options.stop_tokens = tokens;
    }
    options.logprobs = output.logprobs.map(|likeliest| likeliest as usize);
    options.prompt_logprobs = output.prompt_logprobs.map(|likeliest| likeliest as usize);
    let salt = from.routing.as_ref().and_then(|routing| routing.cache_namespace.clone());
    options.salt = salt.unwrap_or_default();
    Ok(Request::new(from.token_ids.as_slice()).options(options))
}

/// The defaults are those of the OpenAI API: no cut, temperature 1.
fn sampling(from: &PreprocessedRequest, seed: u64) -> Sampling {
    let asked = &from.sampling_options;
    let mut sampling = Sampling::default();
    sampling.temperature = asked.temperature.unwrap_or(1.0);
    sampling.top_p = asked.top_p.unwrap_or(1.0);
    // -1 is all.
    sampling.top_k = asked.top_k.and_then(|k| usize::try_from(k).ok()).unwrap_or(0);
    sampling.min_p = asked.min_p.unwrap_or(0.0);
    sampling.presence_penalty = asked.presence_penalty.unwrap_or(0.0);
    sampling.frequency_penalty = asked.frequency_penalty.unwrap_or(0.0);
    sampling.repeat_penalty = asked.repetition_penalty.unwrap_or(1.0);
    if asked.presence_penalty.is_some() || asked.frequency_penalty.is_some() {
        // As the API has it: they count the tokens of the reply.
        sampling.penalize_prompt = false;
        sampling.repeat_last_n = usize::MAX;
    }
    sampling.seed = asked.seed.map_or(seed, i64::cast_unsigned);
    sampling
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(value: Value) -> Result<Request, String> {
        let request: PreprocessedRequest = serde_json::from_value(value).unwrap();
        super::request(&request, 7).map_err(|error| error.to_string())
    }

    #[test]
    fn what_the_engine_does_not_have_is_refused_by_name() {
        assert!(read(json!({ "token_ids": [1, 2] })).is_ok());
        for (field, value, why) in [
            ("sampling_options", json!({ "n": 2 }), "n is 2"),
            ("sampling_options", json!({ "use_beam_search": true }), "no beam search"),
            ("stop_conditions", json!({ "max_thinking_tokens": 5 }), "a limit on reasoning"),
            ("routing", json!({ "lora_name": "pirate" }), "no adapters"),
        ] {
            let error = read(json!({ "token_ids": [1], field: value })).err().unwrap();
            assert!(error.contains(why), "{error}");
        }
    }
}
