//! A grammar at work: allows only the tokens that continue a reply by it.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use llguidance::Matcher;
use toktrie::SimpleVob;
use weft_engine::LogitProcessor;

use crate::compile::explain;
use crate::masks::Masks;

/// Forbids all tokens that a grammar does not allow next.
///
/// The mask of the next token is computed on a thread of [`Masks`] while the device computes the logits.
pub(super) struct GrammarProcessor {
    masks: Masks,
    ends: Arc<[u32]>,
    /// How many tokens of the reply the matcher has consumed, or will have when its work is done.
    consumed: usize,
    state: State,
}

enum State {
    /// Its mask is ready.
    Ready(Box<Step>),
    /// Computing the next mask.
    Working(Receiver<Result<Step, String>>),
    /// Failed before; why.
    Failed(String),
}

/// A matcher and the tokens that it allows next.
struct Step {
    matcher: Matcher,
    allowed: SimpleVob,
}

impl GrammarProcessor {
    /// A processor for a reply that has not begun. The first mask is computed while the prompt is.
    pub(super) fn new(matcher: Matcher, ends: Arc<[u32]>, masks: Masks) -> GrammarProcessor {
        let receiver = masks.run(move || step(matcher));
        GrammarProcessor { masks, ends, consumed: 0, state: State::Working(receiver) }
    }

    /// Waits for the mask.
    fn ready(&mut self) -> Result<&mut Step, String> {
        if let State::Working(receiver) = &self.state {
            let result = receiver.recv().unwrap_or_else(|_| Err("the grammar failed: it panicked".into()));
            self.state = match result {
                Ok(step) => State::Ready(Box::new(step)),
                Err(why) => State::Failed(why),
            };
        }
        match &mut self.state {
            State::Ready(step) => Ok(step),
            State::Failed(why) => Err(why.clone()),
            State::Working(_) => unreachable!("it has been waited for"),
        }
    }

    /// Begins to compute the mask after these tokens.
    fn consume(&mut self, tokens: Vec<u32>) -> Result<(), String> {
        self.ready()?;
        self.consumed += tokens.len();
        let State::Ready(before) = std::mem::replace(&mut self.state, State::Failed(String::new())) else {
            unreachable!("it is ready");
        };
        let ends = self.ends.clone();
        let receiver = self.masks.run(move || {
            let mut matcher = before.matcher;
            for token in tokens {
                consume(&mut matcher, token, &ends)?;
            }
            step(matcher)
        });
        self.state = State::Working(receiver);
        Ok(())
    }
}

impl LogitProcessor for GrammarProcessor {
    fn process(&mut self, tokens: &[u32], reply: usize, logits: &mut [f32]) -> Result<(), String> {
        let new = tokens.get(reply + self.consumed..).unwrap_or_default();
        if !new.is_empty() {
            self.consume(new.to_vec())?;
        }
        apply(&self.ready()?.allowed, logits);
        Ok(())
    }

    fn chosen(&mut self, token: u32) {
        // A failure is reported by the next call of `process`.
        let _ = self.consume(vec![token]);
    }
}

/// Advances a matcher by one token.
fn consume(matcher: &mut Matcher, token: u32, ends: &[u32]) -> Result<(), String> {
    // After its end, llguidance takes no token, not even one that ends the reply.
    if matcher.is_stopped() && !matcher.is_error() {
        return if ends.contains(&token) { Ok(()) } else { Err(unexpected(token)) };
    }
    let taken = matcher.try_consume_tokens(&[token]).map_err(|why| failed(&why.to_string()))?;
    if taken == 1 { Ok(()) } else { Err(unexpected(token)) }
}

/// Computes the tokens that may come next: those that end the reply if the grammar is complete.
fn step(mut matcher: Matcher) -> Result<Step, String> {
    let allowed = matcher.compute_mask_or_eos().map_err(|why| failed(&why.to_string()))?;
    Ok(Step { matcher, allowed })
}

fn unexpected(token: u32) -> String {
    format!("token {token} was chosen, which the grammar does not allow; does a logit bias contradict it?")
}

fn failed(error: &str) -> String {
    if ["TooComplex", "too complex", "limit", "Current row has"].iter().any(|part| error.contains(part)) {
        return "the reply became too complex for its grammar".to_owned();
    }
    explain(error)
}

/// Forbids all tokens that are not allowed.
fn apply(allowed: &SimpleVob, logits: &mut [f32]) {
    let mut chunks = logits.chunks_mut(32);
    let words = allowed.as_slice().iter().copied().chain(std::iter::repeat(0));
    for (chunk, word) in chunks.by_ref().zip(words) {
        match word {
            u32::MAX => {}
            0 => chunk.fill(f32::NEG_INFINITY),
            word => {
                for (bit, logit) in chunk.iter_mut().enumerate() {
                    if word >> bit & 1 == 0 {
                        *logit = f32::NEG_INFINITY;
                    }
                }
            }
        }
    }
}
