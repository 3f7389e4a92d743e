//! Request bodies of any bytes, for fuzzing: each is read, or refused with an error that is the client's.

use axum::response::Response;
use serde_json::Value;
use weft_engine::GenerateOptions;
use weft_text::reply::{ReplyFormat, ReplyParser, Tool};

use super::chat::ChatRequest;
use super::completions::CompletionRequest;
use super::embeddings::EmbeddingRequest;
use super::fallback;
use super::fim::InfillRequest;
use super::messages::MessageRequest;
use super::ollama::{EmbedRequest, OllamaRequest};
use super::rerank::RerankRequest;
use super::responses::ResponseRequest;
use crate::error::{ApiError, Kind};
use crate::ignored::Ignored;
use crate::json;

/// The number of tokens of a vocabulary that does not exist.
const VOCAB: usize = 1000;
/// The number of values of its embeddings, and the most inputs of a request.
const WIDTH: usize = 8;
const INPUTS: usize = 8;

/// Reads a body as a server does. The first byte says of which API.
///
/// Returns numbers that say what was found, for a fuzzer to look for more.
///
/// # Panics
/// If the body is refused with an error that is not the client's, or that says nothing.
pub fn request_body(bytes: &[u8]) -> Vec<u64> {
    let [api, body @ ..] = bytes else { return Vec::new() };
    let api = api % 11;
    let defaults = GenerateOptions::default();
    let ignored = Ignored::default();
    let read = json::parse(body).map(json::merged).and_then(|body| {
        let dialogue = match api {
            0 => ChatRequest::read(&body, &defaults, VOCAB, &ignored)?.dialogue,
            1 => ResponseRequest::read(&body, &defaults, VOCAB, &ignored)?.dialogue,
            2 => MessageRequest::read(&body, &defaults, VOCAB, false, &ignored)?.dialogue,
            3 => {
                CompletionRequest::read(&body, &defaults, VOCAB, &ignored)?;
                return Ok(body);
            }
            6 => {
                InfillRequest::read(&body, &defaults, VOCAB, &ignored)?;
                return Ok(body);
            }
            7..11 => {
                match api {
                    7 => drop(EmbeddingRequest::read(&body, INPUTS, [VOCAB, WIDTH], &ignored)?),
                    8 => drop(RerankRequest::read(&body, INPUTS, &ignored)?),
                    9 => drop(EmbedRequest::read(&body, INPUTS, WIDTH, &ignored)?),
                    _ => drop(EmbedRequest::read_one(&body, &ignored)?),
                }
                return Ok(body);
            }
            other => {
                let read = if other == 4 { OllamaRequest::read_chat } else { OllamaRequest::read_generate };
                match read(&body, &defaults, VOCAB, &ignored)?.into_dialogue() {
                    Some(dialogue) => dialogue,
                    None => return Ok(body),
                }
            }
        };
        fallback::rewrite(&dialogue.messages, &dialogue.tools);
        read_tools(&dialogue.tools);
        Ok(body)
    });
    drop(ignored.mark(Response::default()));
    let shown = match read {
        Ok(body) => {
            let fields = body.as_object().into_iter().flatten();
            fields.map(|(name, value)| format!("{api} {name} {}", kind(value))).collect()
        }
        Err(error) => vec![format!("{api} {}", checked(&error))],
    };
    shown.iter().map(|text| hash(text)).collect()
}

/// The parser of replies reads the schemas of tools.
fn read_tools(tools: &[Tool]) {
    let mut format = ReplyFormat::default();
    format.tools = Some(weft_text::reply::ToolSyntax::Glm);
    drop(ReplyParser::new(&format, tools, ""));
}

/// The sentence of an error without its quotations from the body: the field, names, numbers, and the value found.
fn checked(error: &ApiError) -> String {
    assert_eq!(error.kind, Kind::Invalid, "{error:?}");
    assert!(!error.message.is_empty(), "{error:?}");
    let field = error.param.as_deref().unwrap_or_default();
    let sentence = error.message.strip_prefix(field).unwrap_or(&error.message);
    // A quotation can contain quotes, so only the text before it is certain to be ours.
    let fixed =
        sentence.split(['`', '"']).next().unwrap_or_default().split("found").next().unwrap_or_default();
    fixed.chars().filter(|c| !c.is_ascii_digit()).take(48).collect()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// FNV-1a, which is the same in every run.
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
