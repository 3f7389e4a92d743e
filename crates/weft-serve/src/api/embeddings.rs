//! `/v1/embeddings`: texts become vectors.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};
use weft_engine::{Request, normalised};

use super::lora;
use super::pooled::{Budget, Input, compute, embeds, inputs, numbers, tokens};
use super::submit::model;
use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::http::{JsonBody, answer};
use crate::ignored::Ignored;
use crate::json::Fields;
use crate::tenant::Tenant;

/// A request of `/v1/embeddings`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EmbeddingRequest {
    inputs: Vec<Input>,
    /// Whether vectors are base64 of their bytes.
    base64: bool,
    /// The number of values that are kept of each vector.
    dimensions: usize,
}

impl EmbeddingRequest {
    /// Reads a request of at most `most` inputs for a model with this many tokens, whose embeddings have `width` values.
    ///
    /// # Errors
    /// If a field is missing or wrong.
    pub(crate) fn read(
        body: &Value,
        most: usize,
        [vocab, width]: [usize; 2],
        ignored: &Ignored,
    ) -> Result<EmbeddingRequest, ApiError> {
        let mut fields = Fields::of(body, "", ignored)?;
        fields.text("model")?;
        let input = fields.required("input", "a string or an array of strings")?;
        let inputs = inputs("input", input, most, vocab)?;
        let format = fields.choice("encoding_format", &["float", "base64"])?;
        let dimensions = fields.count("dimensions", 1..=width)?.unwrap_or(width);
        fields.ignore(&["user"]);
        fields.refuse("lora", &[Value::Array(Vec::new())], lora::BY_NAME)?;
        fields.end()?;
        Ok(EmbeddingRequest { inputs, base64: format == Some("base64"), dimensions })
    }
}

/// Computes embeddings.
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Extension(tenant): Extension<Tenant>,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let model = model(&app, &body).await?;
    embeds(&model)?;
    let ignored = Ignored::new(app.strict);
    let sizes = [model.facts.vocab, model.facts.width];
    let EmbeddingRequest { inputs, base64, dimensions } =
        EmbeddingRequest::read(&body, app.limits.inputs, sizes, &ignored)?;
    let (theirs, mut budget) = (Arc::clone(&model), Budget::new(&app));
    let single = !body["input"].is_array();
    let encoded = tokio::task::spawn_blocking(move || {
        let one = |(i, input): (usize, Input)| {
            let path = if single { "input".to_string() } else { format!("input[{i}]") };
            let tokens = tokens(&theirs, &path, input, false)?;
            budget.add(&path, tokens.len())?;
            Ok(Request::pooled(tokens))
        };
        let requests = inputs.into_iter().enumerate().map(one).collect::<Result<Vec<_>, ApiError>>()?;
        Ok::<_, ApiError>((requests, budget.used()))
    });
    let panicked = |_| ApiError::new(Kind::Internal, "the tokenizer panicked");
    let (requests, count) = encoded.await.map_err(panicked)??;
    let outputs = compute(&app, &tenant, &model, requests, count).await?;
    let one = |(index, output): (usize, &Vec<f32>)| {
        let values = normalised(output, dimensions);
        let embedding = if base64 { Value::String(encode(&values)) } else { numbers(&values) };
        json!({ "object": "embedding", "index": index, "embedding": embedding })
    };
    let data: Vec<Value> = outputs.iter().enumerate().map(one).collect();
    Ok(ignored.mark(answer(&json!({
        "object": "list",
        "data": data,
        "model": model.name,
        "usage": { "prompt_tokens": count, "total_tokens": count },
    }))))
}

/// The little-endian bytes of values in base64.
fn encode(values: &[f32]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            let index = bits >> (18 - 6 * digit) & 63;
            text.push(if digit > three.len() { '=' } else { char::from(DIGITS[index as usize]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_bytes() {
        for (values, expected) in [
            (&[][..], ""),
            (&[1.0][..], "AACAPw=="),
            (&[1.0, -2.5], "AACAPwAAIMA="),
            (&[0.0, f32::from_bits(u32::MAX), 1e-3], "AAAAAP////9vEoM6"),
        ] {
            assert_eq!(encode(values), expected);
        }
    }
}
