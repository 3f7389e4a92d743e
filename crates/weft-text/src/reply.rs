//! A model's reply, split into reasoning, text and tool calls as it is generated.
//!
//! [`ReplyFormat::of`] recognises from a chat template how the model writes these; a [`ReplyParser`] then takes the reply
//! in pieces of any size and returns [`ReplyPiece`]s. The pieces, joined, depend on the reply alone and not on how it was
//! cut. Only what may still become a tag or a call is held back, and each character is handled once.
//!
//! Nothing the model writes is an error. What is not a valid call of a declared tool is text, as written.
//!
//! ```
//! # use weft_text::reply::{ReplyFormat, ReplyParser, ReplyPiece, Tool};
//! let format = ReplyFormat::of("… <think> … <tool_call>{name}<arg_key>{key}</arg_key> …");
//! let tools = [Tool::new("weather", serde_json::json!({"properties": {"city": {"type": "string"}}}))];
//! let mut parser = ReplyParser::new(&format, &tools, "<|assistant|><think>");
//!
//! let mut pieces = Vec::new();
//! for text in ["Par", "is.</thi", "nk><tool_", "call>weather<arg_", "key>city</arg_key><arg_value>Pa", "ris</arg_value></tool_call>"] {
//!     parser.push(text, &mut pieces);
//! }
//! parser.finish(&mut pieces);
//!
//! let arguments: String = pieces.iter().filter_map(|piece| match piece {
//!     ReplyPiece::Arguments { json, .. } => Some(json.as_str()),
//!     _ => None,
//! }).collect();
//! assert_eq!(arguments, r#"{"city":"Paris"}"#);
//! assert_eq!(pieces[0], ReplyPiece::Reasoning("Par".into()));
//! ```
//!
//! # What is markup
//! Everything else is passed on byte for byte.
//! - Reasoning begins in the prompt (`<think>` at its end) or with the tag at the beginning of the reply, and ends with the
//!   end tag or with a call. Newlines next to the tags are markup, as templates write them again. If the prompt has begun it,
//!   the tag at the beginning of the reply is markup too.
//! - An end tag without a beginning is dropped, wherever it is. A beginning within the text is text, and so is its end: a model
//!   may write about them.
//! - White space before a call is markup. After a call it is markup if nothing but another call follows.
//! - A call that was made while the reasoning was still open closes it. An end tag of a call that comes twice is dropped.
//!
//! In the harmony format, messages have channels instead ([`ReplyFormat::harmony`]): `analysis` is reasoning, `commentary` and `final` are
//! text. Headers and end marks are markup, and white space between them; all else is passed on, newlines too.
//!
//! # Calls
//! A call begins once the name of a declared tool is known and its arguments begin. Until then it can turn out to be text.
//! Afterwards what was sent stands:
//! - If the reply ends in the middle of the arguments, what was held back of them is dropped and there is no
//!   [`ReplyPiece::ToolCallEnd`].
//! - If nothing but brackets are missing from the model's JSON where the mark of the call's end follows, they are added.
//! - If the model's JSON is invalid in another way in the middle of the arguments, there is no [`ReplyPiece::ToolCallEnd`] either, and the
//!   rest is text.
//! - If the markup of GLM or Qwen3-Coder breaks between two arguments, the call ends with the arguments so far, and the rest is text.

mod call;
mod format;
mod gemma;
mod harmony;
mod json_call;
#[doc(hidden)]
pub mod law;
mod ledger;
mod marked;
mod markup;
mod parser;
mod piece;
mod scanner;
mod schema;
mod tagged;
mod tools;
mod value;

pub use format::{ReasoningTags, ReplyFormat, ToolSyntax};
pub use parser::ReplyParser;
pub use piece::ReplyPiece;
pub use tools::Tool;
