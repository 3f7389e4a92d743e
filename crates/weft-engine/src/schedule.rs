//! What the next step computes: tokens of many generations in one ragged batch.
//!
//! Generations are served in the order they came. Those that reply get their one token first; what is left of the budget goes to prompts, cut
//! into chunks. When pages run out, the generation that came last gives its own back and is computed again later; most of it is then still
//! kept. The first one can always take what it needs from all others, so every one comes to its end.

use crate::batch::{Batch, SeqId};
use crate::error::Error;
use crate::generation::Finish;
use crate::pages::Pages;
use crate::runner::Runner;
use crate::running::Running;

/// All generations of an engine.
#[derive(Default)]
pub(crate) struct Schedule {
    /// In the order they came; those with a sequence are active.
    all: Vec<Running>,
    work: Vec<Work>,
    batch: Batch,
    preempted: u64,
}

/// What a step computes of a generation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Work {
    /// Which generation.
    at: usize,
    /// Tokens of it.
    tokens: usize,
}

/// How an engine is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Generations that have pages.
    pub running: usize,
    /// Generations that wait for some.
    pub waiting: usize,
    /// How often a generation gave its pages back for one that came before it.
    pub preempted: u64,
    /// Pages of the KV cache.
    pub pages: usize,
    /// Pages that generations and sequences hold.
    pub pages_held: usize,
    /// Pages that none holds and that are kept for prompts that begin alike.
    pub pages_kept: usize,
}

impl Schedule {
    /// Takes one more.
    pub(crate) fn push(&mut self, running: Running) {
        self.all.push(running);
    }

    /// How it is doing.
    pub(crate) fn stats(&self, pages: &Pages) -> Stats {
        let running = self.all.iter().filter(|one| one.seq.is_some()).count();
        let pool = pages.pool();
        Stats {
            running,
            waiting: self.all.len() - running,
            preempted: self.preempted,
            pages: pool.count(),
            pages_held: pool.count() - pool.available(),
            pages_kept: pool.idle(),
        }
    }

    /// Ends those whose owners want no more of them.
    pub(crate) fn sweep(&mut self, pages: &mut Pages) {
        let cancelled = self.all.extract_if(.., |one| one.shared.is_cancelled());
        cancelled.for_each(|one| end(one, Finish::Cancelled, pages));
    }

    /// Computes one step. Returns whether there was anything to compute.
    ///
    /// # Errors
    /// If the device fails; the generations it was computing have then ended.
    pub(crate) fn step(&mut self, runner: &mut Runner) -> Result<bool, Error> {
        self.sweep(runner.pages_mut());
        self.plan(runner)?;
        if self.work.is_empty() {
            return self.nothing_planned(runner.pages_mut());
        }
        self.batch.clear();
        for &Work { at, tokens } in &self.work {
            let Running { seq: Some(seq), tokens: all, .. } = &self.all[at] else { continue };
            let from = runner.pages().len(*seq);
            for (i, token) in all[from..from + tokens].iter().enumerate() {
                self.batch.push(*seq, *token, from + i + 1 == all.len());
            }
        }
        match runner.step(&self.batch) {
            Ok(_) => self.take_results(runner),
            Err(error) => {
                let why = error.to_string();
                let ended = self.work.iter().map(|work| (work.at, Finish::Failed(why.clone()))).collect();
                self.end(ended, runner.pages_mut());
                return Err(error);
            }
        }
        Ok(true)
    }

    /// Nothing is left to compute, or there is no room for the first generation although all others gave theirs back: then sequences that were
    /// begun by hand hold the pages, and waiting would not help.
    fn nothing_planned(&mut self, pages: &mut Pages) -> Result<bool, Error> {
        let Some(first) = self.all.first() else { return Ok(false) };
        let computed = first.seq.map_or(0, |seq| pages.len(seq));
        let needed = pages.pages_of(first.tokens.len()) - pages.pages_of(computed);
        let error = Error::Pages { needed, free: pages.pool().available() };
        self.end(vec![(0, Finish::Failed(error.to_string()))], pages);
        Err(error)
    }

    /// Keeps what was computed, and chooses the next tokens.
    fn take_results(&mut self, runner: &mut Runner) {
        let (mut row, mut ended) = (0, Vec::new());
        for &Work { at, .. } in &self.work {
            let one = &mut self.all[at];
            let Some(seq) = one.seq else { continue };
            let computed = runner.pages().len(seq);
            if one.caches() {
                runner.pages_mut().record(seq, &one.tokens);
            }
            one.prompt_done(computed);
            if computed == one.tokens.len() {
                let finish = runner
                    .with_logits(row, |logits, tokenizer, context| one.choose(logits, tokenizer, context));
                row += 1;
                ended.extend(finish.map(|finish| (at, finish)));
            }
        }
        self.end(ended, runner.pages_mut());
    }

    /// Ends generations, by their places.
    fn end(&mut self, mut ended: Vec<(usize, Finish)>, pages: &mut Pages) {
        ended.sort_by_key(|(at, _)| *at);
        for (at, finish) in ended.into_iter().rev() {
            end(self.all.remove(at), finish, pages);
        }
    }

    /// Decides what the next step computes, and makes room for it.
    fn plan(&mut self, runner: &mut Runner) -> Result<(), Error> {
        self.work.clear();
        let mut budget = Budget { tokens: runner.batch(), pages: runner.pages().listed() };
        for replying in [true, false] {
            for at in 0..self.all.len() {
                let one = &self.all[at];
                let Some(seq) = one.seq else { continue };
                let rest = one.tokens.len() - runner.pages().len(seq);
                if (rest == 1) == replying && budget.tokens > 0 {
                    self.add(at, rest, &mut budget, runner.pages_mut());
                }
            }
        }
        while budget.tokens > 0
            && let Some(at) = self.all.iter().position(|one| one.seq.is_none())
            && self.begin(at, runner)?
        {
            let rest = self.all[at].seq.map_or(0, |seq| self.all[at].tokens.len() - runner.pages().len(seq));
            if !self.add(at, rest, &mut budget, runner.pages_mut()) {
                break;
            }
        }
        Ok(())
    }

    /// Plans up to `rest` tokens of an active generation, and takes the pages for them. Returns whether any are planned.
    fn add(&mut self, at: usize, rest: usize, budget: &mut Budget, pages: &mut Pages) -> bool {
        loop {
            let Some(seq) = self.all[at].seq else { return false };
            let len = pages.len(seq);
            let tokens = rest.min(budget.tokens).min(pages.room(seq));
            let listed = pages.pages_of(len + tokens);
            // A chunk of what there is room for is better than nothing; the last to come makes more room.
            let whole = tokens == rest.min(budget.tokens);
            let last = self.all.iter().rposition(|one| one.seq.is_some()).filter(|last| *last > at);
            if let (false, Some(last)) = (whole, last) {
                self.preempt(last, budget, pages);
                continue;
            }
            if tokens == 0 || listed > budget.pages || !pages.grow(seq, tokens) {
                return false;
            }
            budget.tokens -= tokens;
            budget.pages -= listed;
            self.work.push(Work { at, tokens });
            return true;
        }
    }

    /// Takes the pages of a generation, which is computed again later, out of those that are kept.
    fn preempt(&mut self, at: usize, budget: &mut Budget, pages: &mut Pages) {
        let one = &mut self.all[at];
        let Some(seq) = one.seq.take() else { return };
        if let Some(planned) = self.work.iter().position(|work| work.at == at) {
            let Work { tokens, .. } = self.work.remove(planned);
            budget.tokens += tokens;
            budget.pages += pages.pages_of(pages.len(seq) + tokens);
        }
        leave(one, seq, pages);
        self.preempted += 1;
    }

    /// Begins a waiting generation, if there is room for all its tokens and one more, or no other is active. Returns whether it has.
    fn begin(&mut self, at: usize, runner: &mut Runner) -> Result<bool, Error> {
        let context = runner.context();
        let alone = self.all.iter().all(|one| one.seq.is_none());
        let one = &mut self.all[at];
        let pages = runner.pages_mut();
        let known = if one.caches() { one.tokens.as_slice() } else { &[] };
        let begun = pages.begin(&one.root, known);
        let needed = (one.tokens.len() + 1).min(context) - begun.cached;
        if !alone && pages.room(begun.seq) < needed {
            pages.free(begun.seq);
            return Ok(false);
        }
        one.begun(begun.seq, begun.cached);
        if let Some(copy) = begun.copy
            && let Err(error) = runner.copy(&copy)
        {
            let why = Finish::Failed(error.to_string());
            self.end(vec![(at, why)], runner.pages_mut());
            return Err(error);
        }
        Ok(true)
    }
}

/// What a step may have.
struct Budget {
    tokens: usize,
    /// Pages, counted for each generation that lists them.
    pages: usize,
}

/// Gives a sequence up, and keeps what was computed of it.
fn leave(one: &Running, seq: SeqId, pages: &mut Pages) {
    if one.caches() {
        pages.end(seq, &one.tokens);
    } else {
        pages.free(seq);
    }
}

fn end(mut one: Running, finish: Finish, pages: &mut Pages) {
    if let Some(seq) = one.seq.take() {
        leave(&one, seq, pages);
    }
    one.finish(finish);
}
