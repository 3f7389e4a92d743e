//! Structured output: grammars that every reply to a request must follow.
//!
//! A [`GrammarSpec`] says what the reply must look like. [`Grammars`] compiles it to a logit processor, by
//! [llguidance](https://github.com/guidance-ai/llguidance).

mod cache;
mod calls;
mod compile;
mod compose;
mod error;
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

pub(crate) use error::GrammarError;
#[cfg(test)]
pub(crate) use error::Place;
pub(crate) use spec::{CallForm, CallSpec, Callable, GrammarSpec, Reasoning, TextSpec, ToolChoice};

/// The grammars of one model.
pub(crate) struct Grammars {
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
    pub(crate) fn new(tokenizer: Arc<Tokenizer>) -> Grammars {
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
    pub(crate) fn compile(
        &self,
        spec: &GrammarSpec,
    ) -> Result<Option<Box<dyn LogitProcessor>>, GrammarError> {
        if !spec.constrains() {
            return Ok(None);
        }
        let grammar = compose::grammar(spec, &self.tokenizer)?;
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
        Ok(Some(Box::new(processor)))
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, cache::Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
