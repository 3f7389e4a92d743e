//! A generation from the engine's side: its tokens, its sequence, and how the next token is sampled.

mod lines;

use std::sync::Arc;
use std::time::{Duration, Instant};

use weft_text::{StopMatcher, StreamDecoder, Tokenizer};

use weft_runtime::{Candidates, Error, Model, Row};

use crate::adapters::SequenceAdapter;
use crate::batch::SeqId;
use crate::failure::Failure;
use crate::generation::{Event, Finish, Shared, Token};
use crate::memory::key::{Key, Keys};
use crate::pooled::Pool;
use crate::request::{GenerateOptions, Request};
use crate::running::lines::Lines;
use crate::sampling::choose::Chooser;
use crate::sampling::dry::Dry;
use crate::sampling::logprobs::Likeliest;
use crate::sampling::rank::Survey;
use crate::speculate::Acceptance;
use crate::speculate::drafter::Guess;

/// A request that the engine is working on.
pub(crate) struct Running {
    /// The number of the generation.
    pub(crate) id: u64,
    /// The prompt, and the reply so far.
    pub(crate) tokens: Vec<u32>,
    /// Its sequence, while it has pages.
    pub(crate) seq: Option<SeqId>,
    /// The keys of its pages in the prefix cache.
    pub(crate) keys: Keys,
    /// Its LoRA adapter.
    pub(crate) adapter: SequenceAdapter,
    /// Whether its prompt has waited for others to be done with it.
    pub(crate) waited: bool,
    /// The number of its last tokens, but for the last, that have to be computed again, because the state after them was that of
    /// wrong guesses too.
    pub(crate) again: usize,
    pub(crate) shared: Arc<Shared>,
    /// The guess of its next tokens, of which some are computed in this step.
    pub(crate) guess: Guess,
    /// The acceptance of its guesses.
    pub(crate) acceptance: Acceptance,
    /// The number of tokens of the prompt.
    prompt: usize,
    /// The number of them that were reported as computed, if any report was made.
    reported: Option<usize>,
    /// The number of them that were reported with their log probabilities.
    scored: usize,
    /// How the rows of its prompt become its result, if it asks for no reply.
    pool: Option<Pool>,
    options: GenerateOptions,
    chooser: Chooser,
    decoder: StreamDecoder,
    stops: StopMatcher,
    lines: Lines,
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
    /// Creates a generation that waits, with its number. `root` is the root key of pages without an adapter.
    pub(crate) fn new(
        id: u64,
        request: Request,
        (root, adapter): (Key, SequenceAdapter),
        shared: Arc<Shared>,
        model: &Model,
    ) -> Running {
        let Request { prompt, wanted, options, processors } = request;
        let tokenizer = model.tokenizer();
        let dry = Dry::of(&options, tokenizer);
        let special = [tokenizer.end_of_generation(), tokenizer.suppressed()];
        shared.state().usage.prompt_tokens = prompt.len();
        Running {
            id,
            guess: Guess::default(),
            acceptance: Acceptance::default(),
            chooser: Chooser::new(&options, processors, dry, special, prompt.len()),
            prompt: prompt.len(),
            reported: None,
            scored: 0,
            pool: Pool::of(wanted, model.graph().config.head),
            tokens: prompt,
            seq: None,
            keys: Keys::new(adapter.root(root)),
            adapter,
            waited: false,
            again: 0,
            shared,
            decoder: StreamDecoder::new(),
            stops: StopMatcher::new(options.stop.iter().cloned()),
            lines: Lines::new(options.lines),
            times: Times { pushed: Instant::now(), begun: None, first: None },
            options,
        }
    }

    /// Returns whether it uses the prefix cache.
    pub(crate) fn caches(&self) -> bool {
        self.options.cache
    }

    /// The tokens that it can take from the prefix cache, and the one after them, whose logits are wanted.
    pub(crate) fn reusable(&self) -> &[u32] {
        let scores = self.options.prompt_logprobs.is_some() && self.scored < self.prompt;
        let reusable = if scores { self.scored.max(1) } else { self.tokens.len() };
        let pooled = self.pool.as_ref().and_then(Pool::reusable);
        &self.tokens[..reusable.min(pooled.unwrap_or(reusable))]
    }

    /// Returns whether the logits of a token are wanted: it is the last, or the next one is to be scored.
    pub(crate) fn wants_logits(&self, at: usize) -> bool {
        let pooled = self.pool.as_ref().is_some_and(|pool| pool.wants(at));
        at + 1 == self.tokens.len() || self.scores(at) || pooled
    }

    /// The number of tokens of the reply that may follow the next one: its limit and the context are known.
    pub(crate) fn foreseeable(&self, context: usize) -> usize {
        if self.pool.is_some() || self.options.prompt_logprobs.is_some() && self.scored < self.prompt {
            return 0;
        }
        let next = self.tokens.len() - self.prompt + 1;
        let left = self.options.max_tokens.map_or(usize::MAX, |most| most.saturating_sub(next));
        left.min(context.saturating_sub(self.tokens.len()))
    }

    /// Records the number of tokens guessed for it, and how many of them were right.
    pub(crate) fn guessed(&self, guessed: usize, accepted: usize) {
        let mut state = self.shared.state();
        state.usage.guessed += guessed;
        state.usage.accepted += accepted;
    }

    /// Returns whether the token after this one is to be scored.
    fn scores(&self, at: usize) -> bool {
        self.options.prompt_logprobs.is_some() && (self.scored..self.prompt).contains(&(at + 1))
    }

    /// Records that it has a sequence, with `cached` of its tokens in the KV cache. Returns whether it begins for the first
    /// time, and not after a preemption.
    pub(crate) fn begun(&mut self, seq: SeqId, cached: usize) -> bool {
        self.seq = Some(seq);
        self.again = 0;
        let first = self.times.begun.is_none();
        if first {
            self.times.begun = Some(Instant::now());
            let mut state = self.shared.state();
            state.usage.cached_tokens = cached;
            state.timings.queued = self.times.pushed.elapsed();
            drop(state);
            self.prompt_done(cached);
            if self.options.prompt_logprobs.is_some() {
                // Nothing predicts the first.
                self.scored(Token { id: self.tokens[0], logprob: None, likeliest: Vec::new() });
            }
        }
        first
    }

    /// Records that `cached` of its tokens have come from the prefix cache by now. Returns how many more that are than
    /// before, or 0 if tokens had been computed, before a preemption.
    pub(crate) fn restored(&mut self, cached: usize) -> usize {
        let mut state = self.shared.state();
        let before = state.usage.cached_tokens;
        if self.reported != Some(before) || cached < before {
            return 0;
        }
        state.usage.cached_tokens = cached;
        drop(state);
        self.prompt_done(cached);
        cached - before
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

    /// Takes the logits of a token: scores the next one of the prompt, or chooses the next one of the reply. `logits` is
    /// memory for a copy of `row` to change. Returns why the reply ends, if it does.
    pub(crate) fn take_logits(
        &mut self,
        at: usize,
        row: Row<'_>,
        logits: &mut Vec<f32>,
        tokenizer: &Tokenizer,
        context: usize,
    ) -> Option<Finish> {
        if self.pool.is_some() {
            return self.pool(at, row);
        }
        match self.options.prompt_logprobs.filter(|_| self.scores(at)) {
            Some(most) => self.score(at + 1, most, row),
            None => self.choose(row, logits, tokenizer, context),
        }
    }

    /// Returns whether candidates for the next token may be all that is needed of a token's logits.
    pub(crate) fn takes_candidates(&mut self, at: usize) -> bool {
        !self.scores(at)
            && self.pool.is_none()
            && self.options.max_tokens != Some(0)
            && self.chooser.takes_candidates(&self.tokens, self.prompt)
    }

    /// Chooses the next token of the reply from candidates, and reports it. Returns why the reply ends with it, if it does;
    /// `None` if the candidates do not decide it.
    pub(crate) fn take_candidates(
        &mut self,
        candidates: Candidates<'_>,
        tokenizer: &Tokenizer,
        context: usize,
    ) -> Option<Option<Finish>> {
        match self.chooser.choose_from(&self.tokens, self.prompt, candidates) {
            Ok(token) => token.map(|token| self.chose(token, tokenizer, context)),
            Err(failure) => Some(Some(Finish::Failed(failure))),
        }
    }

    /// Reports a token of the prompt with its log probability and those of the `most` likeliest tokens.
    fn score(&mut self, at: usize, most: usize, row: Row<'_>) -> Option<Finish> {
        if Survey::of(row.logits()).has_nan {
            return Some(Finish::Failed(Failure::from(&Error::NotNumbers)));
        }
        let id = self.tokens[at];
        self.scored(Likeliest::of(row.logits(), most).token(id, row.logit(id)));
        None
    }

    /// Takes what the model computed of a token. With the last one, reports the result. Returns why the generation ends, if it does.
    fn pool(&mut self, at: usize, row: Row<'_>) -> Option<Finish> {
        if Survey::of(row.logits()).has_nan {
            return Some(Finish::Failed(Failure::from(&Error::NotNumbers)));
        }
        let is_last = at + 1 == self.tokens.len();
        let pool = self.pool.as_mut()?;
        pool.add(row, is_last);
        if !is_last {
            return None;
        }
        let output = pool.output();
        self.time_prompt();
        self.shared.state().events.push_back(Event::Output(output));
        Some(Finish::Length)
    }

    fn scored(&mut self, token: Token) {
        self.scored += 1;
        self.shared.state().events.push_back(Event::PromptToken(token));
    }

    /// Chooses the next token from the logits of the last one, and reports it. Returns why the reply ends with it, if it
    /// does.
    fn choose(
        &mut self,
        row: Row<'_>,
        logits: &mut Vec<f32>,
        tokenizer: &Tokenizer,
        context: usize,
    ) -> Option<Finish> {
        if self.options.max_tokens == Some(0) {
            self.time_prompt();
            return Some(Finish::Length);
        }
        match self.chooser.choose(&self.tokens, self.prompt, row, logits) {
            Ok(token) => self.chose(token, tokenizer, context),
            Err(failure) => Some(Finish::Failed(failure)),
        }
    }

    /// Adds a token to the reply, and reports it. Returns why the reply ends with it, if it does.
    fn chose(&mut self, token: Token, tokenizer: &Tokenizer, context: usize) -> Option<Finish> {
        let (id, reply) = (token.id, self.tokens.len() - self.prompt);
        self.tokens.push(id);
        self.report(token, reply + 1);
        let finish = self.ends_with(id, tokenizer, reply + 1, context);
        match finish {
            None => self.chooser.chosen(id).err().map(Finish::Failed),
            Some(_) => finish,
        }
    }

    /// Reports the text of a token, the `count`th of the reply. Returns why the reply ends with it, if it does.
    fn ends_with(&mut self, id: u32, tokenizer: &Tokenizer, count: usize, context: usize) -> Option<Finish> {
        let ends_turn = tokenizer.is_end_of_generation(id);
        if ends_turn && !self.options.ignore_end {
            return Some(Finish::EndOfTurn);
        }
        if self.options.stop_tokens.contains(&id) {
            return Some(Finish::StopToken(id));
        }
        let markup = ends_turn || tokenizer.is_control(id);
        if !markup || self.options.shown.contains(&id) {
            let text = self.decoder.push(tokenizer.token_bytes(id));
            if count < self.options.min_tokens {
                self.report_text(text);
            } else if let Some(finish) = self.show(&text) {
                return Some(finish);
            }
        }
        if self.options.max_tokens.is_some_and(|most| count >= most) {
            return Some(Finish::Length);
        }
        (self.tokens.len() > context).then_some(Finish::Context)
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

    /// Reports text that is not part of a stop string, nor beyond a limit of lines. Returns why the reply ends with it, if it does.
    fn show(&mut self, text: &str) -> Option<Finish> {
        let mut unstopped = String::new();
        let stop = self.stops.push(text, &mut unstopped);
        let ended = self.show_lines(&unstopped);
        match stop {
            _ if ended => Some(Finish::Length),
            Some(stop) => Some(Finish::Stop(self.options.stop[stop].clone())),
            None => None,
        }
    }

    /// Reports text up to a limit of lines. Returns whether that ends the reply.
    fn show_lines(&mut self, text: &str) -> bool {
        let began = self.times.first.map_or(Duration::ZERO, |first| first.elapsed());
        let mut shown = String::new();
        let ended = self.lines.push(text, began, &mut shown);
        self.report_text(shown);
        ended
    }

    fn report_text(&self, text: String) {
        if !text.is_empty() {
            self.shared.state().events.push_back(Event::Text(text));
        }
    }

    /// Reports the text that was held back, and the end.
    pub(crate) fn finish(mut self, finish: Finish) {
        if !matches!(finish, Finish::Stop(_)) && !self.lines.ended() {
            let rest = self.decoder.finish();
            self.show(rest);
            let mut held_back = String::new();
            self.stops.finish(&mut held_back);
            self.show_lines(&held_back);
        }
        let rest = self.lines.rest();
        self.report_text(rest);
        let mut state = self.shared.state();
        if self.times.begun.is_none() {
            state.timings.queued = self.times.pushed.elapsed();
        }
        state.finish = Some(finish.clone());
        state.events.push_back(Event::Finished(finish));
    }
}
