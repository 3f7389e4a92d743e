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
//!   end tag or with a call. A tag anywhere else is text. Newlines next to the tags are markup, as templates write them
//!   again.
//! - White space before a call is markup. After a call it is markup if nothing but another call follows.
//! - A call that was made while the reasoning was still open closes it; an end tag right after the call is dropped.
//!
//! In the harmony format, messages have channels instead ([`ReplyFormat::harmony`]): `analysis` is reasoning, `commentary` and `final` are
//! text. Headers and end marks are markup, and white space between them; all else is passed on, newlines too.
//!
//! # Calls
//! A call begins once the name of a declared tool is known and its arguments begin. Until then it can turn out to be text.
//! Afterwards what was sent stands:
//! - If the reply ends in the middle of the arguments, what was held back of them is dropped and there is no
//!   [`ReplyPiece::ToolCallEnd`].
//! - If the model's JSON is invalid in the middle of the arguments, there is no [`ReplyPiece::ToolCallEnd`] either, and the
//!   rest is text.
//! - If GLM's markup breaks between two arguments, the call ends with the arguments so far, and the rest is text.

mod call;
mod deepseek;
mod format;
mod glm;
mod harmony;
mod json_call;
#[doc(hidden)]
pub mod law;
mod ledger;
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
