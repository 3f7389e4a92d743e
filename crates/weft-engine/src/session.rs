//! One conversation.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use weft_text::{StopMatcher, StreamDecoder};

use crate::batch::{Batch, SeqId};
use crate::engine::Engine;
use crate::error::Error;
use crate::generate::{Event, Finish, GenerateOptions, Generated};
use crate::sample::Sampler;

/// One conversation: a sequence of an engine, and the tokens in it.
///
/// Each [`generate`](Session::generate) is given the whole prompt; what it has in common with the tokens already computed is not computed
/// again.
#[derive(Debug)]
pub struct Session {
    seq: SeqId,
    /// The tokens whose keys and values are in the cache.
    tokens: Vec<u32>,
    batch: Batch,
}

impl Session {
    /// An empty conversation.
    pub fn new(engine: &mut Engine) -> Session {
        Session { seq: engine.new_sequence(), tokens: Vec::new(), batch: Batch::new() }
    }

    /// Ends the conversation and gives its room back.
    pub fn end(self, engine: &mut Engine) {
        engine.free(self.seq);
    }

    /// Computes a prompt and generates a reply to it, telling `on` as it goes.
    ///
    /// `cancel` is looked at between steps; once it is set the reply ends with what there is.
    ///
    /// # Errors
    /// If the prompt is empty or does not fit into the context, or a step fails. The conversation can go on with another prompt.
    pub fn generate(
        &mut self,
        engine: &mut Engine,
        prompt: &[u32],
        options: &GenerateOptions,
        cancel: &AtomicBool,
        on: &mut dyn FnMut(Event<'_>),
    ) -> Result<Generated, Error> {
        let Some((last, _)) = prompt.split_last() else {
            return Err(Error::Batch("the prompt is empty".into()));
        };
        if prompt.len() > engine.context() {
            return Err(Error::Context { len: 0, more: prompt.len(), context: engine.context() });
        }
        let started = Instant::now();
        let reused_tokens = self.reuse(engine, prompt);
        let mut reply = Reply::new(options);
        let mut generated = Generated {
            text: String::new(),
            prompt_tokens: prompt.len(),
            reused_tokens,
            tokens: 0,
            finish: Finish::Cancelled,
            prompt_seconds: 0.0,
            decode_seconds: 0.0,
        };
        if !self.prefill(engine, prompt, cancel, on)? {
            generated.prompt_seconds = started.elapsed().as_secs_f64();
            return Ok(generated);
        }
        let mut next = *last;
        let mut decoding = None;
        generated.finish = loop {
            let finish = self.decode(engine, next, &mut reply, options, &mut generated, on)?;
            if decoding.is_none() {
                generated.prompt_seconds = started.elapsed().as_secs_f64();
                decoding = Some(Instant::now());
            }
            match finish {
                Ok(_) if cancel.load(Ordering::Relaxed) => break Finish::Cancelled,
                Ok(token) => next = token,
                Err(finish) => break finish,
            }
        };
        generated.decode_seconds = decoding.map_or(0.0, |t| t.elapsed().as_secs_f64());
        reply.finish(&mut generated, on);
        Ok(generated)
    }

    /// Keeps what the cache has in common with a prompt, all but its last token, whose logits are wanted. Returns how much that is.
    fn reuse(&mut self, engine: &mut Engine, prompt: &[u32]) -> usize {
        let common = self.tokens.iter().zip(prompt).take_while(|(a, b)| a == b).count().min(prompt.len() - 1);
        self.tokens.truncate(common);
        engine.truncate(self.seq, common);
        common
    }

    /// Computes all but the last token of a prompt. Returns whether it got there.
    fn prefill(
        &mut self,
        engine: &mut Engine,
        prompt: &[u32],
        cancel: &AtomicBool,
        on: &mut dyn FnMut(Event<'_>),
    ) -> Result<bool, Error> {
        let total = prompt.len();
        while self.tokens.len() + 1 < total {
            on(Event::Prompt { done: self.tokens.len(), total });
            if cancel.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let from = self.tokens.len();
            let to = (from + engine.batch()).min(total - 1);
            self.batch.clear();
            prompt[from..to].iter().for_each(|t| self.batch.push(self.seq, *t, false));
            engine.step(&self.batch)?;
            self.tokens.extend_from_slice(&prompt[from..to]);
        }
        Ok(!cancel.load(Ordering::Relaxed))
    }

    /// Computes one token and chooses the next, or says why there is none.
    fn decode(
        &mut self,
        engine: &mut Engine,
        token: u32,
        reply: &mut Reply,
        options: &GenerateOptions,
        generated: &mut Generated,
        on: &mut dyn FnMut(Event<'_>),
    ) -> Result<Result<u32, Finish>, Error> {
        if options.max_tokens.is_some_and(|most| generated.tokens >= most) {
            return Ok(Err(Finish::Length));
        }
        if self.tokens.len() == engine.context() {
            return Ok(Err(Finish::Context));
        }
        self.batch.clear();
        self.batch.push(self.seq, token, true);
        self.tokens.push(token);
        let chosen = match engine.step(&self.batch) {
            Ok(logits) => reply.sampler.sample(logits, &self.tokens).ok_or(Error::NotNumbers)?,
            Err(e) => {
                self.tokens.pop();
                return Err(e);
            }
        };
        generated.tokens += 1;
        let tokenizer = engine.model().tokenizer();
        if tokenizer.is_end_of_generation(chosen) {
            return Ok(Err(Finish::EndOfTurn));
        }
        if !tokenizer.is_control(chosen) {
            let text = reply.decoder.push(tokenizer.token_bytes(chosen));
            if let Some(stop) = reply.show(&text, generated, on) {
                return Ok(Err(Finish::Stop(options.stop[stop].clone())));
            }
        }
        Ok(Ok(chosen))
    }
}

/// A reply in the making.
struct Reply {
    sampler: Sampler,
    decoder: StreamDecoder,
    stops: StopMatcher,
}

impl Reply {
    fn new(options: &GenerateOptions) -> Reply {
        Reply {
            sampler: Sampler::new(options.sampling),
            decoder: StreamDecoder::new(),
            stops: StopMatcher::new(options.stop.iter().cloned()),
        }
    }

    /// Shows what is certainly not part of a stop text; returns the stop text that came, if one did.
    fn show(
        &mut self,
        text: &str,
        generated: &mut Generated,
        on: &mut dyn FnMut(Event<'_>),
    ) -> Option<usize> {
        let before = generated.text.len();
        let stop = self.stops.push(text, &mut generated.text);
        let new = &generated.text[before..];
        if !new.is_empty() {
            on(Event::Text(new));
        }
        stop
    }

    /// Shows what was held back.
    fn finish(mut self, generated: &mut Generated, on: &mut dyn FnMut(Event<'_>)) {
        if matches!(generated.finish, Finish::Stop(_)) {
            return;
        }
        let rest = self.decoder.finish();
        self.show(rest, generated, on);
        let before = generated.text.len();
        self.stops.finish(&mut generated.text);
        let new = &generated.text[before..];
        if !new.is_empty() {
            on(Event::Text(new));
        }
    }
}
