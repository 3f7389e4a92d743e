//! How a generation chooses its next token: biases, penalties, logit processors, then sampling.

use std::panic::{AssertUnwindSafe, catch_unwind};

use weft_runtime::{Candidates, Error, Row};

use crate::failure::{Failure, FailureKind};
use crate::generation::Token;
use crate::request::GenerateOptions;
use crate::sampling::dry::Dry;
use crate::sampling::logprobs::Likeliest;
use crate::sampling::processor::{LogitProcessor, Penalties};
use crate::sampling::rank::Known;
use crate::sampling::sample::Sampler;

/// Chooses the tokens of one generation.
pub(crate) struct Chooser {
    bias: Vec<(u32, f32)>,
    penalties: Option<Penalties>,
    dry: Option<Dry>,
    processors: Vec<Box<dyn LogitProcessor>>,
    sampler: Sampler,
    logprobs: Option<usize>,
    /// The tokens that the model's file forbids, in ascending order.
    suppressed: Vec<u32>,
    /// The tokens that are forbidden while the reply has fewer than `min_tokens`.
    ends: Vec<u32>,
    min_tokens: usize,
    /// The number of further tokens for which all logits are read, without the candidates.
    patience: usize,
    /// The only token that a processor allows next, if there is a single one.
    only: Option<u32>,
    /// The candidates for the next token, kept for their memory.
    known: Known,
}

/// How many tokens are chosen from all logits after one that candidates did not decide. The tokens after it are often undecided too, and a
/// search without success costs a tenth of the time that a successful one saves.
const PATIENCE: usize = 8;

impl Chooser {
    /// Creates a chooser of the tokens after a prompt of `prompt` tokens. `ends` are the tokens that end the model's turn, and
    /// `suppressed` those that are never chosen, in ascending order.
    pub(crate) fn new(
        options: &GenerateOptions,
        processors: Vec<Box<dyn LogitProcessor>>,
        dry: Option<Dry>,
        [ends, suppressed]: [&[u32]; 2],
        prompt: usize,
    ) -> Chooser {
        // Tokens that end nothing need not be forbidden.
        let ends = if options.ignore_end { &[] } else { ends };
        Chooser {
            bias: options.logit_bias.clone(),
            penalties: Penalties::of(&options.sampling),
            dry,
            processors,
            sampler: Sampler::at(options.sampling, prompt),
            logprobs: options.logprobs,
            suppressed: suppressed.to_vec(),
            ends: ends.iter().chain(&options.stop_tokens).copied().collect(),
            min_tokens: options.min_tokens,
            patience: 0,
            only: None,
            known: Known::default(),
        }
    }

    /// Returns whether candidates may decide the token after `tokens`, whose reply begins at `reply`.
    pub(crate) fn takes_candidates(&mut self, tokens: &[u32], reply: usize) -> bool {
        let lowered = self.penalties.as_ref().is_none_or(Penalties::only_lower);
        if !self.bias.is_empty() || !lowered || self.logprobs.is_some() || self.keeps_on(tokens.len() - reply)
        {
            return false;
        }
        self.only = None;
        let mut acting = self.processors.iter_mut().filter_map(|processor| {
            // One that panics is called again, and fails then.
            let idle =
                catch_unwind(AssertUnwindSafe(|| processor.is_idle(tokens, reply))).unwrap_or_default();
            (!idle).then_some(processor)
        });
        match (acting.next(), acting.next()) {
            (None, _) => {}
            (Some(processor), None) => {
                let only = || processor.only(tokens, reply);
                self.only = catch_unwind(AssertUnwindSafe(only)).unwrap_or_default();
                return self.only.is_some_and(|only| self.suppressed.binary_search(&only).is_err());
            }
            _ => return false,
        }
        if !self.sampler.takes_candidates() {
            return false;
        }
        let looks = self.patience == 0;
        self.patience = self.patience.saturating_sub(1);
        looks
    }

    /// Chooses the token after `tokens` from [candidates](Chooser::takes_candidates), with the same result as from all logits.
    /// `None` if they do not decide it.
    ///
    /// # Errors
    /// If a logit is NaN, or no token is allowed.
    pub(crate) fn choose_from(
        &mut self,
        tokens: &[u32],
        reply: usize,
        candidates: Candidates<'_>,
    ) -> Result<Option<Token>, Failure> {
        let Chooser { sampler, suppressed, penalties, dry, known, .. } = self;
        if !known.take(candidates) {
            return Err(Failure::from(&Error::NotNumbers));
        }
        let id = if let Some(only) = self.only.take() {
            sampler.decided();
            Ok(Some(only))
        } else {
            let mut numbers = true;
            if !suppressed.is_empty() {
                let is_suppressed = |token: &u32| suppressed.binary_search(token).is_ok();
                known.lower(|token, logit| if is_suppressed(&token) { f32::NEG_INFINITY } else { logit });
            }
            if let Some(penalties) = penalties {
                penalties.slide(tokens, reply);
                numbers = known.lower(|token, logit| penalties.lowered(token, logit));
            }
            if let Some(dry) = dry {
                dry.look(tokens);
                numbers = numbers && known.lower(|token, logit| dry.lowered(token, logit));
            }
            if numbers { sampler.sample_known(known) } else { Ok(None) }
        };
        let id = id.map_err(|error: Error| Failure::from(&error))?;
        if id.is_none() {
            self.patience = PATIENCE;
        }
        Ok(id.map(|id| Token { id, logprob: None, likeliest: Vec::new() }))
    }

    /// Chooses the token after `tokens`, whose reply begins at `reply`. `logits` is memory for a copy of `row`, which is made
    /// only to be changed: a copy takes as long as the choice.
    ///
    /// # Errors
    /// If a logit is NaN, a processor fails, or no token is allowed.
    pub(crate) fn choose(
        &mut self,
        tokens: &[u32],
        reply: usize,
        row: Row<'_>,
        logits: &mut Vec<f32>,
    ) -> Result<Token, Failure> {
        let id = if self.changes(tokens.len() - reply) {
            logits.clear();
            row.append_to(logits);
            self.process(tokens, reply, logits)?;
            self.sampler.sample_from(logits)
        } else {
            self.sampler.sample_from(row.logits())
        };
        let id = id.map_err(|error: Error| Failure::from(&error))?;
        Ok(match self.logprobs.map(|most| Likeliest::of(row.logits(), most)) {
            Some(distribution) => distribution.token(id, row.logit(id)),
            None => Token { id, logprob: None, likeliest: Vec::new() },
        })
    }

    /// Tells the processors that the reply continues with this token.
    ///
    /// # Errors
    /// If one panics.
    pub(crate) fn chosen(&mut self, token: u32) -> Result<(), Failure> {
        guarded(|| {
            self.processors.iter_mut().for_each(|processor| processor.chosen(token));
            Ok(())
        })
    }

    /// Whether anything may change the logits of the token after a reply of this length.
    fn changes(&self, reply: usize) -> bool {
        let Chooser { bias, suppressed, penalties, dry, processors, .. } = self;
        !bias.is_empty()
            || !suppressed.is_empty()
            || penalties.is_some()
            || dry.is_some()
            || !processors.is_empty()
            || self.keeps_on(reply)
    }

    /// Whether a reply of this length must not end.
    fn keeps_on(&self, reply: usize) -> bool {
        reply < self.min_tokens && !self.ends.is_empty()
    }

    /// Changes the logits.
    ///
    /// # Errors
    /// If a processor fails.
    fn process(&mut self, tokens: &[u32], reply: usize, logits: &mut [f32]) -> Result<(), Failure> {
        for (token, bias) in &self.bias {
            if let Some(logit) = logits.get_mut(*token as usize) {
                *logit += bias;
            }
        }
        for token in &self.suppressed {
            if let Some(logit) = logits.get_mut(*token as usize) {
                *logit = f32::NEG_INFINITY;
            }
        }
        if let Some(penalties) = &mut self.penalties {
            penalties.apply(tokens, reply, logits);
        }
        if let Some(dry) = &mut self.dry {
            dry.apply(tokens, logits);
        }
        let processors = &mut self.processors;
        guarded(|| processors.iter_mut().try_for_each(|processor| processor.process(tokens, reply, logits)))?;
        // Last, so that no processor can undo it. Where processors allow nothing else, the reply is complete.
        let ends = &self.ends;
        let goes_on = |id: usize| !ends.iter().any(|end| *end as usize == id);
        let can_go_on =
            || logits.iter().enumerate().any(|(id, logit)| *logit > f32::NEG_INFINITY && goes_on(id));
        if tokens.len() - reply < self.min_tokens && can_go_on() {
            for token in &self.ends {
                if let Some(logit) = logits.get_mut(*token as usize) {
                    *logit = f32::NEG_INFINITY;
                }
            }
        }
        Ok(())
    }
}

/// Calls processors. A panic is an error: a bug in one, say a grammar, must not take down other generations.
fn guarded(call: impl FnOnce() -> Result<(), String>) -> Result<(), Failure> {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|_| Err("a logit processor panicked".into()))
        .map_err(|why| Failure::new(FailureKind::Processor, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::parameters::Sampling;

    fn chooser(set: impl FnOnce(&mut GenerateOptions)) -> Chooser {
        let mut options = GenerateOptions { sampling: Sampling::greedy(), ..GenerateOptions::default() };
        set(&mut options);
        Chooser::new(&options, Vec::new(), None, [&[3], &[]], 0)
    }

    fn choose(chooser: &mut Chooser, tokens: &[u32], logits: [f32; 4]) -> Result<Token, Failure> {
        let computed = logits.map(f32::to_le_bytes);
        chooser.choose(tokens, 1, Row::new(computed.as_flattened()), &mut Vec::new())
    }

    fn id(chooser: &mut Chooser, tokens: &[u32], logits: [f32; 4]) -> Result<u32, Failure> {
        choose(chooser, tokens, logits).map(|token| token.id)
    }

    #[test]
    fn biases_are_added_before_penalties() {
        let mut biased = chooser(|options| options.logit_bias = vec![(1, 2.0), (1, 1.5), (9, 4.0)]);
        assert_eq!(id(&mut biased, &[0], [3.0, 0.0, 0.0, 0.0]), Ok(1));
        let mut penalised = chooser(|options| {
            options.logit_bias = vec![(1, 4.0)];
            options.sampling.repeat_penalty = 2.0;
        });
        // (0 + 4) / 2 < 3; the other order would give 0 / 2 + 4.
        assert_eq!(id(&mut penalised, &[1], [3.0, 0.0, 0.0, 0.0]), Ok(0));
    }

    #[test]
    fn the_reply_cannot_end_before_it_is_long_enough() {
        let mut patient = chooser(|options| {
            options.min_tokens = 2;
            options.stop_tokens = vec![2];
        });
        let logits = [0.0, 1.0, 2.0, 3.0];
        let found = [&[0][..], &[0, 1], &[0, 1, 1]].map(|tokens| id(&mut patient, tokens, logits));
        assert_eq!(found, [Ok(1), Ok(1), Ok(3)]);
        // A grammar that is complete allows nothing but the end.
        let only_ends = [f32::NEG_INFINITY, f32::NEG_INFINITY, 0.0, 1.0];
        assert_eq!(id(&mut patient, &[0], only_ends), Ok(3));
        let nothing = id(&mut patient, &[0], [f32::NEG_INFINITY; 4]).map_err(|failure| failure.kind);
        assert_eq!(nothing, Err(FailureKind::NothingAllowed));
        // With `ignore_end`, the end of the turn is a token like any other.
        let mut endless = chooser(|options| (options.min_tokens, options.ignore_end) = (2, true));
        assert_eq!(id(&mut endless, &[0], logits), Ok(3));
    }

    #[test]
    fn suppressed_tokens_are_not_chosen() {
        let options = GenerateOptions { sampling: Sampling::greedy(), ..GenerateOptions::default() };
        let mut chooser = Chooser::new(&options, Vec::new(), None, [&[3], &[1, 2]], 0);
        assert_eq!(id(&mut chooser, &[0], [1.0, 9.0, 8.0, 2.0]), Ok(3));
        // Neither a bias nor the length of the reply brings one back.
        let options = GenerateOptions { logit_bias: vec![(1, 50.0)], min_tokens: 4, ..options };
        let mut chooser = Chooser::new(&options, Vec::new(), None, [&[3], &[1, 2]], 0);
        assert_eq!(id(&mut chooser, &[0], [1.0, 9.0, 8.0, 2.0]), Ok(0));
        // The reply has to end where only the end is left.
        assert_eq!(id(&mut chooser, &[0], [f32::NEG_INFINITY, 9.0, 8.0, 2.0]), Ok(3));
    }

    #[test]
    fn log_probabilities_are_those_before_changes() {
        let logits = [0.5f32, 0.25, 0.125, 0.125].map(f32::ln);
        let mut changed = chooser(|options| {
            options.logprobs = Some(1);
            options.logit_bias = vec![(2, 9.0)];
        });
        let token = choose(&mut changed, &[0], logits).unwrap();
        assert_eq!((token.id, token.likeliest[0].0), (2, 0));
        assert!((token.logprob.unwrap().exp() - 0.125).abs() < 1e-6, "{token:?}");
    }
}
