//! The engine's reports as Dynamo's outputs.

use dynamo_backend_common::{
    CompletionUsage, DynamoError, LLMEngineOutput, LLMEngineOutputExt as _, PromptTokensDetails, TopLogprob,
    chunk, usage,
};
use weft_engine::{Finish, Token, Tokenizer, Usage};

use crate::down;

/// A token of a reply.
pub fn token(token: &Token, tokenizer: &Tokenizer) -> LLMEngineOutput {
    let mut output = chunk::token(token.id);
    if let Some(logprob) = token.logprob {
        output.log_probs = Some(vec![logprob.into()]);
        let likeliest = token.likeliest.iter().zip(1..).map(|((id, logprob), rank)| TopLogprob {
            rank,
            token_id: *id,
            token: Some(tokenizer.decode(&[*id], false)),
            logprob: (*logprob).into(),
            bytes: Some(tokenizer.token_bytes(*id).to_vec()),
        });
        output.top_logprobs = Some(vec![likeliest.collect()]);
    }
    output
}

/// The last item of a reply, with its last token if that was not sent.
///
/// # Errors
/// If the generation failed.
pub fn end(
    finish: Finish,
    used: Usage,
    last: Option<LLMEngineOutput>,
) -> Result<LLMEngineOutput, DynamoError> {
    let output = match finish {
        Finish::Length | Finish::Context => LLMEngineOutput::length(),
        Finish::Cancelled => LLMEngineOutput::cancelled(),
        Finish::Failed(failure) => return Err(down(failure)),
        _ => LLMEngineOutput::stop(),
    };
    let LLMEngineOutput { token_ids, log_probs, top_logprobs, .. } = last.unwrap_or_default();
    Ok(LLMEngineOutput { token_ids, log_probs, top_logprobs, ..output.with_usage(counted(used)) })
}

/// A reply that its client has ended.
pub fn cancelled(used: Usage) -> LLMEngineOutput {
    LLMEngineOutput::cancelled().with_usage(counted(used))
}

fn counted(used: Usage) -> CompletionUsage {
    let count = |tokens: usize| u32::try_from(tokens).unwrap_or(u32::MAX);
    let details = PromptTokensDetails {
        cached_tokens: Some(count(used.cached_tokens)),
        ..PromptTokensDetails::default()
    };
    CompletionUsage {
        prompt_tokens_details: Some(details),
        ..usage(count(used.prompt_tokens), count(used.tokens))
    }
}
