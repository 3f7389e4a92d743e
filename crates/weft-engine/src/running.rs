//! A generation from the engine's side: its tokens, its sequence, and how the next token is sampled.

use std::panic::{AssertUnwindSafe, catch_unwind};
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
    /// The number of them that were reported as computed, if any report was made.
    reported: Option<usize>,
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
            reported: None,
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

    /// Reports that `done` of its tokens have been computed, if that is more of the prompt than was reported before. (After
    /// a preemption it can be less.)
    pub(crate) fn prompt_done(&mut self, done: usize) {
        let done = done.min(self.prompt);
        if self.reported.is_none_or(|before| done > before) {
            self.reported = Some(done);
            self.shared.state().events.push_back(Event::Prompt { done, total: self.prompt });
        }
    }

    /// Samples the next token from the logits of the last one, which processors may change, and reports it. Returns why
    /// the reply ends with it, if it does.
    ///
    /// # Errors
    /// [`Error::NotNumbers`] if a logit is NaN.
    pub(crate) fn choose(
        &mut self,
        logits: &mut [f32],
        tokenizer: &Tokenizer,
        context: usize,
    ) -> Result<Option<Finish>, Error> {
        let reply = self.tokens.len() - self.prompt;
        if self.options.max_tokens == Some(0) {
            self.time_prompt();
            return Ok(Some(Finish::Length));
        }
        let distribution = self.options.logprobs.map(|most| logprobs::Likeliest::of(logits, most));
        let changed = !self.processors.is_empty();
        let before = (distribution.is_some() && changed).then(|| logits.to_vec());
        if let Err(why) = self.process(logits) {
            return Ok(Some(Finish::Failed(why)));
        }
        let chosen = match self.sampler.sample(logits) {
            Err(Error::NothingAllowed) => {
                return Ok(Some(Finish::Failed(Error::NothingAllowed.to_string())));
            }
            chosen => chosen?,
        };
        self.tokens.push(chosen);
        let mut token = Token { id: chosen, logprob: None, likeliest: Vec::new() };
        if let Some(distribution) = distribution {
            let logit = before.as_deref().unwrap_or(logits)[chosen as usize];
            token.logprob = Some(distribution.of_logit(logit));
            token.likeliest = distribution.tokens;
        }
        self.report(token, reply + 1);
        if tokenizer.is_end_of_generation(chosen) {
            if !self.options.ignore_end {
                return Ok(Some(Finish::EndOfTurn));
            }
        } else if !tokenizer.is_control(chosen) {
            let text = self.decoder.push(tokenizer.token_bytes(chosen));
            if let Some(stop) = self.show(&text) {
                return Ok(Some(Finish::Stop(self.options.stop[stop].clone())));
            }
        }
        if self.options.max_tokens.is_some_and(|most| reply + 1 >= most) {
            return Ok(Some(Finish::Length));
        }
        Ok((self.tokens.len() > context).then_some(Finish::Context))
    }

    /// Applies all processors to the logits.
    ///
    /// # Errors
    /// The message of the first that fails or panics. A bug in one, say a grammar, must not take down other generations.
    fn process(&mut self, logits: &mut [f32]) -> Result<(), String> {
        let Running { processors, tokens, prompt, .. } = self;
        let all = AssertUnwindSafe(|| {
            processors.iter_mut().try_for_each(|processor| processor.process(tokens, *prompt, logits))
        });
        catch_unwind(all).unwrap_or_else(|_| Err("a logit processor panicked".into()))
    }

    /// Returns when the first token was sampled, now if it is this one.
    fn time_prompt(&mut self) -> Instant {
        let first = *self.times.first.get_or_insert_with(Instant::now);
        let begun = self.times.begun.unwrap_or(first);
        self.shared.state().timings.prompt = first.duration_since(begun);
        first
    }

    /// Reports a token, the `count`th of the reply.
    fn report(&mut self, token: Token, count: usize) {
        let first = self.time_prompt();
        let mut state = self.shared.state();
        state.usage.tokens = count;
        state.timings.decode = first.elapsed();
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
        if self.times.begun.is_none() {
            state.timings.queued = self.times.pushed.elapsed();
        }
        state.finish = Some(finish.clone());
        state.events.push_back(Event::Finished(finish));
    }
}
