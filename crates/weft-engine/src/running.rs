//! A generation from the engine's side: its tokens, its sequence, and how the next token is sampled.

use std::sync::Arc;
use std::time::Instant;

use weft_text::{StopMatcher, StreamDecoder, Tokenizer};

use crate::batch::SeqId;
use crate::error::Error;
use crate::generation::{Event, Finish, Shared, Token};
use crate::logprobs;
use crate::pages::Key;
use crate::processor::{LogitProcessor, Penalties};
use crate::request::{GenerateOptions, Request};
use crate::sample::Sampler;

/// A request that the engine is working on.
pub(crate) struct Running {
    /// The prompt, and the reply so far.
    pub(crate) tokens: Vec<u32>,
    /// Its sequence, while it has pages.
    pub(crate) seq: Option<SeqId>,
    /// The root key of its pages in the prefix cache.
    pub(crate) root: Key,
    pub(crate) shared: Arc<Shared>,
    /// The number of tokens of the prompt.
    prompt: usize,
    options: GenerateOptions,
    processors: Vec<Box<dyn LogitProcessor>>,
    sampler: Sampler,
    decoder: StreamDecoder,
    stops: StopMatcher,
    times: Times,
}

/// When the generation reached each stage.
#[derive(Debug)]
struct Times {
    pushed: Instant,
    begun: Option<Instant>,
    first: Option<Instant>,
}

impl Running {
    pub(crate) fn new(request: Request, root: Key, shared: Arc<Shared>) -> Running {
        let Request { prompt, options, processors } = request;
        let penalties = Penalties::of(&options.sampling).map(|p| Box::new(p) as Box<dyn LogitProcessor>);
        shared.state().usage.prompt_tokens = prompt.len();
        Running {
            prompt: prompt.len(),
            tokens: prompt,
            seq: None,
            root,
            shared,
            processors: penalties.into_iter().chain(processors).collect(),
            sampler: Sampler::new(options.sampling),
            decoder: StreamDecoder::new(),
            stops: StopMatcher::new(options.stop.iter().cloned()),
            times: Times { pushed: Instant::now(), begun: None, first: None },
            options,
        }
    }

    /// Returns whether it uses the prefix cache.
    pub(crate) fn caches(&self) -> bool {
        self.options.cache
    }

    /// Returns whether the reply has begun.
    pub(crate) fn is_replying(&self) -> bool {
        self.tokens.len() > self.prompt
    }

    /// Records that it has a sequence, with `cached` of its tokens in the KV cache.
    pub(crate) fn begun(&mut self, seq: SeqId, cached: usize) {
        self.seq = Some(seq);
        // Only the first time: after a preemption it begins again.
        if self.times.begun.is_none() {
            self.times.begun = Some(Instant::now());
            let mut state = self.shared.state();
            state.usage.cached_tokens = cached;
            state.timings.queued = self.times.pushed.elapsed();
            drop(state);
            self.prompt_done(cached);
        }
    }

    /// Reports that `done` of its tokens have been computed, if they are of the prompt.
    pub(crate) fn prompt_done(&self, done: usize) {
        if !self.is_replying() {
            let event = Event::Prompt { done: done.min(self.prompt), total: self.prompt };
            self.shared.state().events.push_back(event);
        }
    }

    /// Samples the next token from the logits of the last one, which processors may change, and reports it. Returns why
    /// the reply ends with it, if it does.
    pub(crate) fn choose(
        &mut self,
        logits: &mut [f32],
        tokenizer: &Tokenizer,
        context: usize,
    ) -> Option<Finish> {
        let reply = self.tokens.len() - self.prompt;
        if self.options.max_tokens == Some(0) {
            return Some(Finish::Length);
        }
        let distribution = self.options.logprobs.map(|most| logprobs::Likeliest::of(logits, most));
        let before = distribution.is_some().then(|| logits.to_vec());
        for processor in &mut self.processors {
            processor.process(&self.tokens, self.prompt, logits);
        }
        let Some(chosen) = self.sampler.sample(logits) else {
            return Some(Finish::Failed(Error::NotNumbers.to_string()));
        };
        self.tokens.push(chosen);
        let mut token = Token { id: chosen, logprob: None, likeliest: Vec::new() };
        if let (Some(distribution), Some(before)) = (distribution, before) {
            token.logprob = before.get(chosen as usize).map(|logit| distribution.of_logit(*logit));
            token.likeliest = distribution.tokens;
        }
        self.report(token, reply + 1);
        if tokenizer.is_end_of_generation(chosen) {
            if !self.options.ignore_end {
                return Some(Finish::EndOfTurn);
            }
        } else if !tokenizer.is_control(chosen) {
            let text = self.decoder.push(tokenizer.token_bytes(chosen));
            if let Some(stop) = self.show(&text) {
                return Some(Finish::Stop(self.options.stop[stop].clone()));
            }
        }
        if self.options.max_tokens.is_some_and(|most| reply + 1 >= most) {
            return Some(Finish::Length);
        }
        (self.tokens.len() > context).then_some(Finish::Context)
    }

    /// Reports a token, the `count`th of the reply.
    fn report(&mut self, token: Token, count: usize) {
        let now = Instant::now();
        let first = *self.times.first.get_or_insert(now);
        let begun = self.times.begun.unwrap_or(first);
        let mut state = self.shared.state();
        state.usage.tokens = count;
        state.timings.prompt = first.duration_since(begun);
        state.timings.decode = now.duration_since(first);
        state.events.push_back(Event::Token(token));
    }

    /// Reports text that is not part of a stop string. Returns the stop string that came, if one did.
    fn show(&mut self, text: &str) -> Option<usize> {
        let mut shown = String::new();
        let stop = self.stops.push(text, &mut shown);
        self.report_text(shown);
        stop
    }

    fn report_text(&self, text: String) {
        if !text.is_empty() {
            self.shared.state().events.push_back(Event::Text(text));
        }
    }

    /// Reports the text that was held back, and the end.
    pub(crate) fn finish(mut self, finish: Finish) {
        if !matches!(finish, Finish::Stop(_)) {
            let rest = self.decoder.finish();
            self.show(rest);
            let mut held_back = String::new();
            self.stops.finish(&mut held_back);
            self.report_text(held_back);
        }
        let mut state = self.shared.state();
        state.finish = Some(finish.clone());
        state.events.push_back(Event::Finished(finish));
    }
}
