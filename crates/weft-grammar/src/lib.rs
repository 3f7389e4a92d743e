//! Structured output: grammars that every reply to a request must follow.
//!
//! [`ReplyForms`] is for a form by itself: a schema, a pattern, a list of texts, a grammar. A [`GrammarSpec`] says what replies
//! must look like: perhaps reasoning, then text (free, a JSON object, or JSON by a schema) or calls of tools, in the model's own
//! form. [`Grammars`], one per model, compiles it by [llguidance](https://github.com/guidance-ai/llguidance) to a logit
//! processor, which forbids all tokens that do not continue the reply. What cannot be enforced is an error that names it; nothing
//! is ignored.
//!
//! # Schemas
//! - **Enforced**: `type`, `enum`, `const`, `anyOf`, `allOf`, `$ref` within the schema; `properties`, `patternProperties`
//!   (no name may match two), `additionalProperties`, `required`, `minProperties` and `maxProperties` (where all listed
//!   properties are required); `items`, `prefixItems`, `additionalItems`, `minItems`, `maxItems`; `minLength`,
//!   `maxLength`, `pattern` (without look-around and back references), `format` (`date-time`, `date`, `time`, `duration`,
//!   `email`, `hostname`, `ipv4`, `ipv6`, `uuid`, `uri`; for integers `int8` … `uint32`); `minimum`, `maximum`,
//!   `exclusiveMinimum`, `exclusiveMaximum`, `multipleOf`. `oneOf` where its schemas exclude each other.
//! - **Refused**: `not`, `if`, `dependent…`, `uniqueItems`, `contains`, `propertyNames`, `unevaluated…`, dynamic references,
//!   and words that are no keywords. Where they say nothing (`"uniqueItems": false`), they may stay.
//! - **Notes**: `title`, `description`, `default`, `examples`, `x-…` and the like have no effect.
//!
//! Properties come in the order of the schema. Additional ones may repeat a name. Between the parts of JSON there may be
//! spaces or line breaks, but not many. Integers beyond 2⁵³ are refused: most parsers would read others.
//!
//! # Tools
//! A reply to `auto` is constrained if a tool is `strict`: free text, and once a call begins, its name is that of a tool
//! and its arguments follow the schema. The schema of a tool that is not strict loses the keywords above that are refused.
//! GLM and Qwen3-Coder write arguments one by one, in the order of `properties`; strings go without quotes and end at the next tag.
//! Their schemas may not combine all arguments by `anyOf` and the like.
//!
//! # Limits
//! `limits.rs` has the figures: bytes, depth and number of schemas, patterns, values and references, and llguidance's own
//! limits of work and memory, most of them lowered. One grammar is compiled at a time, on a thread of its own with a deadline
//! of 5 s; the 32 used last are kept. A reply that exceeds a limit ends alone, as failed.
//!
//! # Tokens
//! A grammar sees the bytes of ordinary and user-defined tokens. Control tokens are no text: a grammar allows only those it
//! names, and those that end a reply where the grammar is complete. The tree of tokens is built for a model's first grammar.
//! Tokens are never forced: how a reply is cut into tokens is up to the model. Only [`ReasoningBudget`] forces some, to close a
//! thought.
//!
//! # Time Masks are computed on one or two threads per model during the forward pass. In a barely optimised build on two busy cores, over
//! JSON, prose and calls of 20 strict tools (`tests/measure.rs`):
//!
//! | tokens | first grammar | mask, mean | p99 | compilation |
//! |---|---|---|---|---|
//! | 49,152 | 0.4 s, 21 MB | 0.05 to 0.3 ms | 5 ms | 10 to 45 ms |
//! | 151,936 | 1 s, 61 MB | 0.1 to 0.8 ms | 8 ms | 10 to 60 ms |

#![forbid(unsafe_code)]

mod budget;
mod cache;
mod calls;
mod compile;
mod compose;
mod error;
mod form;
mod gbnf;
mod given;
mod harmony;
mod lark;
mod limits;
mod masks;
mod processor;
mod schema;
mod spec;
#[cfg(test)]
mod tests;
mod vocabulary;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use llguidance::ParserFactory;
use weft_engine::LogitProcessor;
use weft_text::Tokenizer;

pub use budget::ReasoningBudget;
pub use error::{GrammarError, Place};
pub use form::{ReplyForm, ReplyForms};
pub use spec::{Begun, CallForm, CallSpec, Callable, GrammarSpec, Reasoning, TextSpec, ToolChoice};

/// The grammars of one model.
pub struct Grammars {
    tokenizer: Arc<Tokenizer>,
    /// Built for the first grammar.
    factory: OnceLock<Result<Arc<ParserFactory>, GrammarError>>,
    compiler: compile::Compiler,
    cache: Mutex<cache::Cache>,
    masks: masks::Masks,
    ends: Arc<[u32]>,
}

impl Grammars {
    /// Grammars for a model with this tokenizer. Costs nothing until the first is compiled.
    pub fn new(tokenizer: Arc<Tokenizer>) -> Grammars {
        Grammars {
            ends: tokenizer.end_of_generation().into(),
            tokenizer,
            factory: OnceLock::new(),
            compiler: compile::Compiler::default(),
            cache: Mutex::default(),
            masks: masks::Masks::default(),
        }
    }

    /// Compiles what a reply must look like to a processor for one generation; `None` if anything goes.
    ///
    /// Takes milliseconds as a rule, up to some seconds in the worst case: call it where blocking is allowed.
    ///
    /// # Errors
    /// If the specification cannot be enforced; the error says which part and why.
    pub fn compile(&self, spec: &GrammarSpec) -> Result<Option<Box<dyn LogitProcessor>>, GrammarError> {
        if !spec.constrains() {
            return Ok(None);
        }
        self.compile_text(compose::grammar(spec, &self.tokenizer)?).map(Some)
    }

    /// Compiles a grammar's text.
    ///
    /// # Errors
    /// If the text is not a grammar, or too complex.
    pub fn compile_text(&self, grammar: String) -> Result<Box<dyn LogitProcessor>, GrammarError> {
        let key = cache::key(&grammar);
        let known = self.cache().get(&key);
        let matcher = match known {
            Some(matcher) => matcher,
            None => {
                let factory = self.factory.get_or_init(|| vocabulary::factory(&self.tokenizer).map(Arc::new));
                let matcher = self.compiler.compile(factory.as_ref().map_err(Clone::clone)?, grammar)?;
                let own = matcher.deep_clone();
                self.cache().put(key, matcher);
                own
            }
        };
        let processor = processor::GrammarProcessor::new(matcher, self.ends.clone(), self.masks.clone());
        Ok(Box::new(processor))
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, cache::Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
