//! Requests, and the options of a reply.

use std::fmt;

use crate::processor::LogitProcessor;
use crate::sample::Sampling;

/// Options of a reply.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct GenerateOptions {
    /// The most tokens of the reply. `None` means until the model ends its turn or the context is full; 0 computes only
    /// the prompt.
    pub max_tokens: Option<usize>,
    /// How tokens are sampled.
    pub sampling: Sampling,
    /// Stop strings, which end the reply and are not part of it.
    pub stop: Vec<String>,
    /// Reports the log probability of each token, and those of this many of the likeliest tokens.
    pub logprobs: Option<usize>,
    /// Whether the reply continues after the model ends its turn, to measure replies of a known length.
    pub ignore_end: bool,
    /// Whether the request uses the prefix cache: takes the beginning of its prompt from it, and leaves its pages there.
    pub cache: bool,
    /// Requests share cached pages only with requests of the same salt, so that users cannot find out each other's
    /// prompts.
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

/// A prompt and its options, for [`Engine::push`](crate::Engine::push).
pub struct Request {
    pub(crate) prompt: Vec<u32>,
    pub(crate) options: GenerateOptions,
    pub(crate) processors: Vec<Box<dyn LogitProcessor>>,
}

impl Request {
    /// Creates a request to continue these tokens.
    pub fn new(prompt: impl Into<Vec<u32>>) -> Request {
        Request { prompt: prompt.into(), options: GenerateOptions::default(), processors: Vec::new() }
    }

    /// Sets all options.
    pub fn options(self, options: GenerateOptions) -> Request {
        Request { options, ..self }
    }

    /// Sets the [most tokens](GenerateOptions::max_tokens) of the reply.
    pub fn max_tokens(mut self, most: usize) -> Request {
        self.options.max_tokens = Some(most);
        self
    }

    /// Sets how tokens are [sampled](GenerateOptions::sampling).
    pub fn sampling(mut self, sampling: Sampling) -> Request {
        self.options.sampling = sampling;
        self
    }

    /// Adds a [stop string](GenerateOptions::stop).
    pub fn stop(mut self, text: impl Into<String>) -> Request {
        self.options.stop.push(text.into());
        self
    }

    /// Asks for [log probabilities](GenerateOptions::logprobs).
    pub fn logprobs(mut self, likeliest: usize) -> Request {
        self.options.logprobs = Some(likeliest);
        self
    }

    /// Adds a logit processor. It runs after the penalties of the sampling options, and after processors added earlier.
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
