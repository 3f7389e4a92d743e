//! `/tokenize`, `/detokenize` and `/apply-template`, in the forms of vLLM and of llama.cpp.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};
use weft_engine::EncodeOptions;

use super::chat::ChatRequest;
use super::completions::decode;
use super::sampling::token_ids;
use super::submit::model;
use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::http::{JsonBody, answer};
use crate::ignored::Ignored;
use crate::json::Fields;

/// Text or messages as tokens.
pub(crate) async fn tokenize(
    State(app): State<Arc<App>>,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let model = model(&app, &body).await?;
    let ignored = Ignored::new(app.strict);
    let context = model.facts.context;
    if body.get("messages").is_some_and(|messages| !messages.is_null()) {
        let request = ChatRequest::read(&body, &model.defaults, model.facts.vocab, &ignored)?;
        let (_, prompt) = request.dialogue.prompt(&model, None).await?;
        let tokens = prompt.tokens;
        return Ok(ignored
            .mark(answer(&json!({ "count": tokens.len(), "max_model_len": context, "tokens": tokens }))));
    }
    let Text { text, options, pieces, strings } = Text::read(&body, &ignored)?;
    let encoded = tokio::task::spawn_blocking(move || {
        let tokenizer = &model.facts.tokenizer;
        let tokens = tokenizer.encode(&text, options);
        let piece = |id: &u32| String::from_utf8_lossy(tokenizer.token_bytes(*id)).into_owned();
        let mut value = json!({ "count": tokens.len(), "max_model_len": context });
        if strings {
            value["token_strs"] = tokens.iter().map(piece).collect();
        }
        value["tokens"] = if pieces {
            tokens.iter().map(|id| json!({ "id": id, "piece": piece(id) })).collect()
        } else {
            tokens.into()
        };
        value
    });
    let value = encoded.await.map_err(|_| ApiError::new(Kind::Internal, "the tokenizer panicked"))?;
    Ok(ignored.mark(answer(&value)))
}

/// A text to tokenise, and how its tokens are listed.
struct Text {
    text: String,
    options: EncodeOptions,
    /// Whether each token comes with its text.
    pieces: bool,
    /// Whether the texts of the tokens come as a list of their own.
    strings: bool,
}

impl Text {
    /// Reads a request.
    ///
    /// # Errors
    /// If a field is missing, wrong or not known.
    fn read(body: &Value, ignored: &Ignored) -> Result<Text, ApiError> {
        let mut fields = Fields::of(body, "", ignored)?;
        fields.text("model")?;
        // vLLM says `prompt`, llama.cpp `content`.
        let prompt = fields.text("prompt")?;
        let content = fields.text("content")?;
        if prompt.is_some() && content.is_some() {
            return Err(ApiError::invalid("content", "content: expected `prompt` or `content`, found both"));
        }
        let text = prompt.or(content);
        let Some(text) = text.map(str::to_string) else {
            return Err(ApiError::invalid("prompt", "prompt is missing: expected a string, or `messages`"));
        };
        // llama.cpp leaves special tokens out unless asked, vLLM adds them.
        let add_special = fields.flag("add_special_tokens")?.or(fields.flag("add_special")?);
        let options = EncodeOptions {
            add_special: add_special.unwrap_or(prompt.is_some()),
            parse_special: fields.flag("parse_special")?.unwrap_or(true),
        };
        let pieces = fields.flag("with_pieces")?.unwrap_or(false);
        let strings = fields.flag("return_token_strs")?.unwrap_or(false);
        fields.end()?;
        Ok(Text { text, options, pieces, strings })
    }
}

/// Tokens as text.
pub(crate) async fn detokenize(
    State(app): State<Arc<App>>,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let model = model(&app, &body).await?;
    let ignored = Ignored::new(app.strict);
    let mut fields = Fields::of(&body, "", &ignored)?;
    fields.text("model")?;
    let tokens = fields.array("tokens", 1 << 20)?;
    let Some(tokens) = tokens else {
        return Err(ApiError::invalid("tokens", "tokens is missing: expected an array of token ids"));
    };
    let tokens = token_ids("tokens", tokens, model.facts.vocab)?;
    fields.end()?;
    let text = decode(&model.facts.tokenizer, &tokens);
    Ok(ignored.mark(answer(&json!({ "prompt": text, "content": text }))))
}

/// Messages as the text of the prompt.
pub(crate) async fn apply_template(
    State(app): State<Arc<App>>,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let model = model(&app, &body).await?;
    let ignored = Ignored::new(app.strict);
    let request = ChatRequest::read(&body, &model.defaults, model.facts.vocab, &ignored)?;
    let (_, prompt) = request.dialogue.prompt(&model, None).await?;
    Ok(ignored.mark(answer(&json!({ "prompt": &*prompt.text }))))
}
