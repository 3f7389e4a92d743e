//! The common fields of OpenAI's APIs: usage, reasons, log probabilities, timings.

use std::time::Duration;

use serde_json::{Value, json};
use weft_engine::{Finish, Token, Tokenizer};

use crate::reply::{Outcome, Total};
pub(crate) use crate::time::now;

/// The fingerprint of a reply: the version alone, because this server computes every reply as if it were alone.
pub(crate) fn fingerprint() -> String {
    format!("weft-{}", env!("CARGO_PKG_VERSION"))
}

/// The usage of all replies to a request.
pub(crate) fn usage(total: &Total) -> Value {
    let Total { prompt, cached, completion, reasoning, guessed, accepted } = total;
    let mut usage = json!({
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": { "cached_tokens": cached },
        "completion_tokens_details": { "reasoning_tokens": reasoning },
    });
    if *guessed > 0 {
        let details = &mut usage["completion_tokens_details"];
        details["accepted_prediction_tokens"] = json!(accepted);
        details["rejected_prediction_tokens"] = json!(guessed - accepted);
    }
    usage
}

/// Why a reply ended. A reply that was cut off says so even if it has tool calls, since the last may be incomplete; so does one
/// with a call that broke off, which is not to be run.
pub(crate) fn finish_reason(finish: &Finish, calls: Calls) -> &'static str {
    match finish {
        Finish::Length | Finish::Context => "length",
        _ if calls.begun > calls.ended => "length",
        _ if calls.begun > 0 => "tool_calls",
        _ => "stop",
    }
}

/// How many calls of a reply have begun, and how many of them are complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Calls {
    pub(crate) begun: usize,
    pub(crate) ended: usize,
}

/// Timings of a reply, as llama.cpp writes them.
pub(crate) fn timings(outcome: &Outcome) -> Value {
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    let rate = |tokens: usize, time: Duration| {
        let seconds = time.as_secs_f64();
        if seconds > 0.0 { tokens as f64 / seconds } else { 0.0 }
    };
    let Outcome { usage, timings, .. } = outcome;
    let computed = usage.prompt_tokens - usage.cached_tokens;
    let later = usage.tokens.saturating_sub(1);
    let mut value = json!({
        "queued_ms": milliseconds(timings.queued),
        "cache_n": usage.cached_tokens,
        "prompt_n": computed,
        "prompt_ms": milliseconds(timings.prompt),
        "prompt_per_second": rate(computed, timings.prompt),
        "predicted_n": usage.tokens,
        "predicted_ms": milliseconds(timings.decode),
        "predicted_per_second": rate(later, timings.decode),
    });
    if usage.guessed > 0 {
        value["draft_n"] = json!(usage.guessed);
        value["draft_n_accepted"] = json!(usage.accepted);
    }
    value
}

/// A token of log probabilities, as the chat API writes it. `bytes` are exact where the token ends within a character.
pub(crate) fn token_logprob(token: &Token, tokenizer: &Tokenizer) -> Value {
    let top: Vec<Value> =
        token.likeliest.iter().map(|(id, logprob)| one(*id, Some(*logprob), tokenizer)).collect();
    let mut value = one(token.id, token.logprob, tokenizer);
    value["top_logprobs"] = Value::Array(top);
    value
}

fn one(id: u32, logprob: Option<f32>, tokenizer: &Tokenizer) -> Value {
    let bytes = tokenizer.token_bytes(id);
    json!({ "token": String::from_utf8_lossy(bytes), "bytes": bytes, "logprob": finite(logprob) })
}

/// A log probability as JSON can write it: OpenAI's own floor stands for minus infinity.
pub(crate) fn finite(logprob: Option<f32>) -> f32 {
    logprob.filter(|logprob| logprob.is_finite()).unwrap_or(-9999.0)
}
