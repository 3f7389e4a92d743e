//! Tokenizers (byte-level BPE, SentencePiece), chat templates, streaming decoding and the parsing of replies for language models.
//!
//! This crate knows no file format. The caller fills a [`TokenizerSpec`] from a model's `tokenizer.ggml.*` metadata and
//! gets a [`Tokenizer`]. A prompt goes in through a [`ChatTemplate`] and [`Tokenizer::encode_chat`]; the reply comes out
//! token by token through a [`StreamDecoder`], which yields whole characters only, and a [`StopMatcher`]. The module
//! [`reply`] splits it into reasoning, text and tool calls.
//!
//! ```
//! # use weft_text::*;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let spec = TokenizerSpec {
//! #     model: "gpt2", pre: "gpt-2",
//! #     tokens: vec![b"h", b"i", b"!", b"hi", b"<|im_start|>", b"<|im_end|>"],
//! #     token_types: Some(vec![1, 1, 1, 1, 3, 3]),
//! #     merges: Some(vec![b"h i"]),
//! #     ..TokenizerSpec::default()
//! # };
//! let tokenizer = Tokenizer::new(&spec)?;
//! let template = ChatTemplate::new(CHATML, &tokenizer)?;
//! let prompt = template.render(&[Message::new("user", "hi!")], &RenderOptions::default())?;
//! let ids = tokenizer.encode_chat(&prompt);
//! # assert!(!ids.is_empty());
//!
//! let (mut utf8, mut stops) = (StreamDecoder::new(), StopMatcher::new(["!!"]));
//! let mut reply = String::new();
//! for id in [3, 2, 2] {
//!     let text = utf8.push(tokenizer.token_bytes(id));
//!     if stops.push(&text, &mut reply).is_some() {
//!         break;
//!     }
//! }
//! assert_eq!(reply, "hi");
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod bpe;
mod byte_level;
mod end_of_generation;
mod error;
mod hugging_face;
mod partial;
mod piece_spelling;
mod pieces;
mod pre;
mod pre_of_json;
mod prompt;
pub mod reply;
mod special;
mod stop;
mod stream;
mod template;
mod tokenizer;
mod vocab;

pub use error::{TemplateError, TokenizerError};
pub use partial::object_prefix;
pub use pre_of_json::pre_tokenizers_like;
pub use prompt::RenderedPrompt;
pub use stop::StopMatcher;
pub use stream::StreamDecoder;
pub use template::{ArgumentsForm, CHATML, ChatTemplate, Message, PRESERVE, RenderOptions, TemplateFeatures};
pub use tokenizer::{EncodeOptions, Tokenizer};
pub use vocab::TokenizerSpec;
