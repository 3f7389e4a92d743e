//! What an engine is asked for.

use std::fmt;

use crate::processor::LogitProcessor;
use crate::sample::Sampling;

/// How a reply is generated.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct GenerateOptions {
    /// Most tokens of the reply; `None` goes on until the turn ends or the context is full. 0 computes the prompt only.
    pub max_tokens: Option<usize>,
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// Texts that end the reply and are not part of it.
    pub stop: Vec<String>,
    /// With each token its log probability, and those of so many of the likeliest; `None` for none.
    pub logprobs: Option<usize>,
    /// Whether the reply goes on when the model ends its turn: to measure replies of a known length.
    pub ignore_end: bool,
    /// Whether the prompt's beginning may come from the KV cache, and what is computed be kept for others.
    pub cache: bool,
    /// Prompts share what is kept only with those of the same salt: so that one user cannot tell what another asked.
    pub salt: String,
}

impl Default for GenerateOptions {
    fn default() -> GenerateOptions {
        GenerateOptions {
            max_tokens: None,
            sampling: Sampling::default(),
            stop: Vec::new(),
            logprobs: None,
            ignore_end: false,
            cache: true,
            salt: String::new(),
        }
    }
}

/// A prompt, and how it is answered. [`Engine::push`](crate::Engine::push) takes it.
pub struct Request {
    pub(crate) prompt: Vec<u32>,
    pub(crate) options: GenerateOptions,
    pub(crate) processors: Vec<Box<dyn LogitProcessor>>,
}

impl Request {
    /// A request to continue these tokens.
    pub fn new(prompt: impl Into<Vec<u32>>) -> Request {
        Request { prompt: prompt.into(), options: GenerateOptions::default(), processors: Vec::new() }
    }

    /// Sets all options.
    pub fn options(self, options: GenerateOptions) -> Request {
        Request { options, ..self }
    }

    /// Sets the [length](GenerateOptions::max_tokens) of the reply.
    pub fn max_tokens(mut self, most: usize) -> Request {
        self.options.max_tokens = Some(most);
        self
    }

    /// Sets how tokens are [chosen](GenerateOptions::sampling).
    pub fn sampling(mut self, sampling: Sampling) -> Request {
        self.options.sampling = sampling;
        self
    }

    /// Adds a text that [ends](GenerateOptions::stop) the reply.
    pub fn stop(mut self, text: impl Into<String>) -> Request {
        self.options.stop.push(text.into());
        self
    }

    /// Asks for [log probabilities](GenerateOptions::logprobs).
    pub fn logprobs(mut self, likeliest: usize) -> Request {
        self.options.logprobs = Some(likeliest);
        self
    }

    /// Adds a logit processor. It comes after the penalties of the sampling options and after those added before.
    pub fn processor(mut self, processor: impl LogitProcessor + 'static) -> Request {
        self.processors.push(Box::new(processor));
        self
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Request { prompt, options, processors } = self;
        let mut f = f.debug_struct("Request");
        f.field("prompt", prompt).field("options", options).field("processors", &processors.len()).finish()
    }
}
