//! Times every launch of real steps, with two sets of plans in turns.

use std::sync::atomic::{AtomicBool, Ordering};

use weft_engine::inspect::{Batch, PlansId, Runner, SeqId, StepShape, StepTimings};
use weft_random::Random;

use crate::error::Error;

/// Times steps of one size of a model, always after the same tokens.
pub(super) struct Sampler<'a> {
    pub(super) runner: &'a mut Runner,
    pub(super) shape: StepShape,
    seq: SeqId,
    batch: Batch,
    timings: StepTimings,
    cancel: &'a AtomicBool,
}

impl<'a> Sampler<'a> {
    /// Creates a sampler for steps of this shape, and fills the cache up to its depth.
    pub(super) fn new(
        runner: &'a mut Runner,
        shape: StepShape,
        cancel: &'a AtomicBool,
    ) -> Result<Sampler<'a>, Error> {
        let seq = runner.new_sequence();
        let (batch, timings) = (Batch::new(), StepTimings::default());
        let mut sampler = Sampler { runner, shape, seq, batch, timings, cancel };
        match sampler.fill() {
            Ok(()) => Ok(sampler),
            Err(error) => {
                sampler.end();
                Err(error)
            }
        }
    }

    /// Frees the sequence.
    pub(super) fn end(self) {
        self.runner.free(self.seq);
    }

    fn fill(&mut self) -> Result<(), Error> {
        let at_once = self.runner.batch();
        let mut random = Random::new(u64::MAX);
        for begin in (0..self.shape.depth).step_by(at_once) {
            self.draw(at_once.min(self.shape.depth - begin), &mut random)?;
            self.runner.step(&self.batch)?;
        }
        Ok(())
    }

    /// Draws the tokens of a step, unless cancelled. The last token gives logits.
    fn draw(&mut self, tokens: usize, random: &mut Random) -> Result<(), Error> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let vocab = self.runner.model().graph().config.vocab;
        self.batch.clear();
        (0..tokens).rev().for_each(|left| self.batch.push(self.seq, random.below(vocab) as u32, left == 0));
        Ok(())
    }

    /// Times every launch of a step, in seconds, with each of the plans in `ways`, on the same tokens and therefore the same experts.
    /// Every other pair is in reverse order, so that a machine that slows down favours neither.
    pub(super) fn pair(&mut self, ways: [PlansId; 2], number: usize) -> Result<[Vec<f64>; 2], Error> {
        let mut taken = [const { Vec::new() }; 2];
        for turn in 0..2 {
            let which = (turn + number) % 2;
            taken[which] = self.step(ways[which], number as u64)?;
        }
        Ok(taken)
    }

    /// Computes a step and removes its tokens again. Returns the seconds of each launch.
    pub(super) fn step(&mut self, plans: PlansId, seed: u64) -> Result<Vec<f64>, Error> {
        self.runner.use_plans(plans)?;
        self.draw(self.shape.tokens, &mut Random::new(seed))?;
        let before = self.runner.len(self.seq);
        self.runner.step_timed(&self.batch, &mut self.timings)?;
        self.runner.truncate(self.seq, before);
        let mut seconds = Vec::new();
        for replay in self.timings.replays() {
            let launches = &replay.launches;
            let longest = |step| (0..launches.workers()).map(|w| launches.span(w, step).busy()).max();
            seconds.extend((0..launches.launches()).map(|step| longest(step).unwrap_or(0) as f64 / 1e9));
        }
        Ok(seconds)
    }
}
