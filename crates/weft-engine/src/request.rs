//! Requests, and the options of a reply.

use std::fmt;
use std::time::Duration;

use weft_runtime::{Error, Head, RankedBy, Ranking};

use crate::sampling::parameters::Sampling;
use crate::sampling::processor::LogitProcessor;

/// Why a model that writes text refuses a request for an embedding.
const NO_EMBEDDINGS: &str = "this model writes text and has no embeddings: use an embedding model, such as Qwen3-Embedding, or \
    open this one with a pooling of its hidden states";

/// Options of a reply.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct GenerateOptions {
    /// The most tokens of the reply. `None` means until the model ends its turn or the context is full; 0 computes only
    /// the prompt.
    pub max_tokens: Option<usize>,
    /// How tokens are sampled.
    pub sampling: Sampling,
    /// Texts that a repetition does not reach beyond, for [DRY](Sampling::dry_multiplier).
    pub dry_breakers: Vec<String>,
    /// Stop strings, which end the reply and are not part of it.
    pub stop: Vec<String>,
    /// Stop tokens, which end the reply in addition to those that end the model's turn. Their text is not part of it.
    pub stop_tokens: Vec<u32>,
    /// Where the reply ends besides.
    pub lines: LineLimits,
    /// The fewest tokens of the reply. Until then, stop tokens and those that end the model's turn are forbidden, unless a
    /// logit processor allows nothing else, and no stop string is looked for.
    pub min_tokens: usize,
    /// Added to the logits of these tokens, before penalties and logit processors.
    pub logit_bias: Vec<(u32, f32)>,
    /// Control tokens whose text is part of the reply's text. The text of others is not.
    pub shown: Vec<u32>,
    /// Reports the log probability of each token, and those of this many of the likeliest tokens.
    pub logprobs: Option<usize>,
    /// Reports the log probability of each token of the prompt after the first, and those of this many of the likeliest
    /// tokens at its place. They have to be computed, so the prompt does not come from the prefix cache.
    pub prompt_logprobs: Option<usize>,
    /// Whether the reply continues after the model ends its turn, to measure replies of a known length.
    pub ignore_end: bool,
    /// Whether the request uses the prefix cache: takes the beginning of its prompt from it, and leaves its pages there.
    pub cache: bool,
    /// The LoRA adapter that is added to the model for this request.
    pub adapter: Option<Adapted>,
    /// Requests share cached pages only with requests of the same salt, so that users cannot find out each other's
    /// prompts.
    pub salt: String,
}

/// Where the reply of an editor's request ends that fills a gap in code; nowhere by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LineLimits {
    /// The reply ends before a line, other than its first, that has text and begins with fewer spaces and tabs.
    pub indent: usize,
    /// The reply ends this long after its first token, or at its first line break if that comes later. Where it ends depends on how
    /// fast the machine is.
    pub time: Option<Duration>,
}

/// The LoRA adapter of a request: one of those with which the model was opened.
#[derive(Clone, PartialEq, Debug)]
pub struct Adapted {
    /// The adapter.
    pub adapter: AdapterId,
    /// The factor of its additions; `None` for the one that it was opened with.
    pub scale: Option<f32>,
}

/// Names an adapter of a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AdapterId {
    /// By its name.
    Name(String),
    /// By its index among those that requests choose.
    Index(usize),
}

impl From<&str> for AdapterId {
    fn from(name: &str) -> AdapterId {
        AdapterId::Name(name.into())
    }
}

impl From<usize> for AdapterId {
    fn from(index: usize) -> AdapterId {
        AdapterId::Index(index)
    }
}

impl fmt::Display for AdapterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AdapterId::Name(name) => write!(f, "`{name}`"),
            AdapterId::Index(index) => write!(f, "number {index}"),
        }
    }
}

impl Default for GenerateOptions {
    fn default() -> GenerateOptions {
        GenerateOptions {
            max_tokens: None,
            sampling: Sampling::default(),
            dry_breakers: ["\n", ":", "\"", "*"].map(str::to_string).to_vec(),
            stop: Vec::new(),
            stop_tokens: Vec::new(),
            lines: LineLimits::default(),
            min_tokens: 0,
            logit_bias: Vec::new(),
            shown: Vec::new(),
            logprobs: None,
            prompt_logprobs: None,
            ignore_end: false,
            cache: true,
            adapter: None,
            salt: String::new(),
        }
    }
}

/// The kind of result that a request asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    /// A reply.
    Reply,
    /// The result of a head that writes no text: an embedding or scores.
    Pooled,
    /// The logits of these tokens after the prompt.
    Logits(Vec<u32>),
}

/// A prompt and its options, for [`Engine::push`](crate::Engine::push).
pub struct Request {
    pub(crate) prompt: Vec<u32>,
    pub(crate) wanted: Wanted,
    pub(crate) options: GenerateOptions,
    pub(crate) processors: Vec<Box<dyn LogitProcessor>>,
}

impl Request {
    /// Creates a request to continue these tokens.
    pub fn new(prompt: impl Into<Vec<u32>>) -> Request {
        Request {
            prompt: prompt.into(),
            wanted: Wanted::Reply,
            options: GenerateOptions::default(),
            processors: Vec::new(),
        }
    }

    /// Creates a request for the embedding of these tokens, or for the scores of a model that ranks documents. They come as
    /// [`Event::Output`](crate::Event::Output).
    pub fn pooled(prompt: impl Into<Vec<u32>>) -> Request {
        Request { wanted: Wanted::Pooled, ..Request::new(prompt).max_tokens(0) }
    }

    /// Creates a request for the results that say how relevant the document of a prompt is, by which
    /// [`Ranking::score`] computes a score. They come as [`Event::Output`](crate::Event::Output).
    pub fn ranked(ranking: &Ranking, prompt: impl Into<Vec<u32>>) -> Request {
        match ranking.by() {
            RankedBy::Label(_) => Request::pooled(prompt),
            RankedBy::Tokens(tokens) => {
                Request { wanted: Wanted::Logits(tokens.to_vec()), ..Request::new(prompt).max_tokens(0) }
            }
        }
    }

    /// Checks the request against a model's head, its vocabulary and context, both in tokens.
    ///
    /// # Errors
    /// [`Error::Context`] if the prompt is too long, [`Error::Batch`] for everything else.
    pub(crate) fn check(&self, head: Head, vocab: usize, context: usize) -> Result<(), Error> {
        let Request { prompt, options, wanted, .. } = self;
        match (wanted, head) {
            (Wanted::Pooled, Head::Logits) => return Err(Error::Batch(NO_EMBEDDINGS.into())),
            (Wanted::Reply | Wanted::Logits(_), Head::Embedding(_)) => {
                return Err(Error::Batch(
                    "this model computes embeddings and writes no text: use a chat model".into(),
                ));
            }
            (Wanted::Reply | Wanted::Logits(_), Head::Scores { .. }) => {
                return Err(Error::Batch(
                    "this model ranks documents and writes no text: use a chat model".into(),
                ));
            }
            _ => {}
        }
        if *wanted != Wanted::Reply && options.prompt_logprobs.is_some() {
            return Err(Error::Batch("prompt_logprobs: only a request for a reply has them".into()));
        }
        if prompt.is_empty() {
            return Err(Error::Batch("the prompt is empty".into()));
        }
        if prompt.len() > context {
            return Err(Error::Context { len: 0, more: prompt.len(), context });
        }
        let none = Vec::new();
        let logits = if let Wanted::Logits(tokens) = wanted { tokens } else { &none };
        let lists = [
            ("", prompt),
            ("logits: ", logits),
            ("stop_tokens: ", &options.stop_tokens),
            ("shown: ", &options.shown),
        ];
        let listed = lists.into_iter().flat_map(|(name, list)| list.iter().map(move |token| (name, *token)));
        let biased = options.logit_bias.iter().map(|(token, _)| ("logit_bias: ", *token));
        if let Some((name, token)) = listed.chain(biased).find(|(_, token)| *token as usize >= vocab) {
            let why = format!("{name}token {token} is not in the vocabulary of {vocab} tokens");
            return Err(Error::Batch(why));
        }
        let bias = options.logit_bias.iter().find(|(_, bias)| !bias.is_finite());
        if let Some((name, value)) =
            bias.map(|(_, bias)| ("logit_bias", *bias)).or(options.sampling.not_finite())
        {
            return Err(Error::Batch(format!("{name} is {value}: expected a finite number")));
        }
        match options.max_tokens {
            Some(most) if most < options.min_tokens => {
                let fewest = options.min_tokens;
                Err(Error::Batch(format!("min_tokens is {fewest}: expected at most max_tokens, {most}")))
            }
            _ => Ok(()),
        }
    }

    /// Replaces all options, including those that other methods have set: call it first.
    pub fn options(self, options: GenerateOptions) -> Request {
        Request { options, ..self }
    }

    /// Sets the [most tokens](GenerateOptions::max_tokens) of the reply.
    pub fn max_tokens(mut self, most: impl Into<Option<usize>>) -> Request {
        self.options.max_tokens = most.into();
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

    /// Adds a [stop token](GenerateOptions::stop_tokens).
    pub fn stop_token(mut self, token: u32) -> Request {
        self.options.stop_tokens.push(token);
        self
    }

    /// Sets the [fewest tokens](GenerateOptions::min_tokens) of the reply.
    pub fn min_tokens(mut self, fewest: usize) -> Request {
        self.options.min_tokens = fewest;
        self
    }

    /// Adds a [bias](GenerateOptions::logit_bias) to the logit of a token.
    pub fn logit_bias(mut self, token: u32, bias: f32) -> Request {
        self.options.logit_bias.push((token, bias));
        self
    }

    /// Adds a control token whose text is [shown](GenerateOptions::shown).
    pub fn shown(mut self, token: u32) -> Request {
        self.options.shown.push(token);
        self
    }

    /// Asks for [log probabilities](GenerateOptions::logprobs).
    pub fn logprobs(mut self, likeliest: impl Into<Option<usize>>) -> Request {
        self.options.logprobs = likeliest.into();
        self
    }

    /// Asks for [log probabilities of the prompt](GenerateOptions::prompt_logprobs).
    pub fn prompt_logprobs(mut self, likeliest: impl Into<Option<usize>>) -> Request {
        self.options.prompt_logprobs = likeliest.into();
        self
    }

    /// Sets whether the reply [continues](GenerateOptions::ignore_end) after the model ends its turn.
    pub fn ignore_end(mut self, ignore: bool) -> Request {
        self.options.ignore_end = ignore;
        self
    }

    /// Sets whether the request uses the [prefix cache](GenerateOptions::cache).
    pub fn cache(mut self, cache: bool) -> Request {
        self.options.cache = cache;
        self
    }

    /// Sets the [salt](GenerateOptions::salt) of its cached pages.
    pub fn salt(mut self, salt: impl Into<String>) -> Request {
        self.options.salt = salt.into();
        self
    }

    /// Chooses a [LoRA adapter](GenerateOptions::adapter), with the factor that it was opened with if `scale` is `None`.
    pub fn adapter(mut self, adapter: impl Into<AdapterId>, scale: impl Into<Option<f32>>) -> Request {
        self.options.adapter = Some(Adapted { adapter: adapter.into(), scale: scale.into() });
        self
    }

    /// Adds a logit processor. It runs after biases and penalties, and after processors added earlier.
    pub fn processor(mut self, processor: impl LogitProcessor + 'static) -> Request {
        self.processors.push(Box::new(processor));
        self
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Request { prompt, wanted, options, processors } = self;
        let mut f = f.debug_struct("Request");
        f.field("prompt", prompt)
            .field("wanted", wanted)
            .field("options", options)
            .field("processors", &processors.len())
            .finish()
    }
}
