//! The scheduler, which decides what a step computes: tokens of many generations in one ragged batch.
//!
//! Generations are served in the order in which they came. Those that are replying get their one token first; the rest
//! of the token budget goes to prompts, in chunks. When pages run out, the generation that came last gives its pages
//! back and is computed again later, mostly from the prefix cache. The first generation can always take what it needs
//! from all others, so every generation ends.

use crate::batch::{Batch, SeqId};
use crate::error::Error;
use crate::failure::{Failure, FailureKind};
use crate::generation::Finish;
use crate::pages::Pages;
use crate::runner::Runner;
use crate::running::Running;

/// All generations of an engine.
#[derive(Default)]
pub(crate) struct Schedule {
    /// In the order in which they came. Those with a sequence are active.
    all: Vec<Running>,
    work: Vec<Work>,
    batch: Batch,
    preempted: u64,
}

/// The work of a step on one generation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Work {
    /// The index of the generation.
    at: usize,
    /// The number of its tokens that are computed.
    tokens: usize,
}

/// Statistics of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// The number of generations that have pages.
    pub running: usize,
    /// The number of generations that wait for pages.
    pub waiting: usize,
    /// The number of preemptions so far.
    pub preempted: u64,
    /// The number of pages of the KV cache.
    pub pages: usize,
    /// The number of pages that sequences hold.
    pub pages_held: usize,
    /// The number of pages in the prefix cache that no sequence holds.
    pub pages_kept: usize,
}

impl Schedule {
    /// Adds a generation.
    pub(crate) fn push(&mut self, running: Running) {
        self.all.push(running);
    }

    /// The statistics.
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

    /// Ends cancelled generations.
    pub(crate) fn sweep(&mut self, pages: &mut Pages) {
        let cancelled = self.all.extract_if(.., |one| one.shared.is_cancelled());
        cancelled.for_each(|one| end(one, Finish::Cancelled, pages));
    }

    /// Computes one step. Returns whether there was anything to compute.
    ///
    /// # Errors
    /// If the device fails. The generations of the step have then ended.
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
        match runner.compute(&self.batch) {
            Ok(()) => self.take_results(runner),
            Err(error) => {
                let why = Finish::Failed(Failure::from(&error));
                let ended = self.work.iter().map(|work| (work.at, why.clone())).collect();
                self.fail(ended, runner.pages_mut());
                return Err(error);
            }
        }
        Ok(true)
    }

    /// Ends generations because the device failed. It may report late what went wrong in an earlier step, so no page can
    /// be trusted: the prefix cache is emptied, and all other generations are computed again.
    fn fail(&mut self, ended: Vec<(usize, Finish)>, pages: &mut Pages) {
        self.all.iter_mut().filter_map(|one| one.seq.take()).for_each(|seq| pages.free(seq));
        pages.forget();
        self.end(ended, pages);
    }

    /// Returns `false` if there are no generations. Otherwise there is no room for the first one, although all others
    /// gave their pages back: sequences begun by hand hold the rest, and waiting would not help.
    fn nothing_planned(&mut self, pages: &mut Pages) -> Result<bool, Error> {
        let Some(first) = self.all.first() else { return Ok(false) };
        let computed = first.seq.map_or(0, |seq| pages.len(seq));
        let needed = pages.pages_of(first.tokens.len()) - pages.pages_of(computed);
        let error = Error::Pages { needed, free: pages.pool().available() };
        self.end(vec![(0, Finish::Failed(Failure::from(&error)))], pages);
        Err(error)
    }

    /// Adds full pages to the prefix cache, and samples the next tokens.
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
                let finish = runner.with_logits(row, |row, logits, tokenizer, context| {
                    one.choose(row, logits, tokenizer, context)
                });
                row += 1;
                if let Some(Finish::Failed(Failure { kind: FailureKind::NotNumbers, .. })) = finish {
                    // Keys and values may be NaN as well.
                    one.seq = None;
                    runner.pages_mut().free(seq);
                    runner.pages_mut().forget();
                }
                ended.extend(finish.map(|finish| (at, finish)));
            }
        }
        self.end(ended, runner.pages_mut());
    }

    /// Ends generations, given by index.
    fn end(&mut self, mut ended: Vec<(usize, Finish)>, pages: &mut Pages) {
        ended.sort_by_key(|(at, _)| *at);
        for (at, finish) in ended.into_iter().rev() {
            end(self.all.remove(at), finish, pages);
        }
    }

    /// Plans the next step, and takes the pages for it.
    fn plan(&mut self, runner: &mut Runner) -> Result<(), Error> {
        self.work.clear();
        let mut budget = Budget { tokens: runner.batch(), pages: runner.pages().listed() };
        // Once there is no room for a generation, nothing of later prompts is computed: it would take the room that the
        // generation waits for, again and again.
        let mut full = false;
        for replying in [true, false] {
            for at in 0..self.all.len() {
                let one = &self.all[at];
                let Some(seq) = one.seq else { continue };
                let rest = one.tokens.len() - runner.pages().len(seq);
                if (rest == 1) == replying && budget.tokens > 0 && (replying || !full) {
                    full |= !self.add(at, rest, &mut budget, runner.pages_mut());
                }
            }
        }
        while budget.tokens > 0
            && !full
            && let Some(at) = self.all.iter().position(|one| one.seq.is_none())
            && self.begin(at, runner)?
        {
            let rest = self.all[at].seq.map_or(0, |seq| self.all[at].tokens.len() - runner.pages().len(seq));
            full = !self.add(at, rest, &mut budget, runner.pages_mut());
        }
        Ok(())
    }

    /// Plans up to `rest` tokens of an active generation, and takes the pages for them. Returns whether it planned any.
    fn add(&mut self, at: usize, rest: usize, budget: &mut Budget, pages: &mut Pages) -> bool {
        loop {
            let Some(seq) = self.all[at].seq else { return false };
            let len = pages.len(seq);
            let tokens = rest.min(budget.tokens).min(pages.room(seq));
            let listed = pages.pages_of(len + tokens);
            // If there is no room for all of them, preempt the generation that came last; if there is none, compute
            // what there is room for.
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

    /// Takes the pages of a generation, which is computed again later.
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

    /// Begins a waiting generation if there is room for all its tokens and one more, or if no other is active. Returns
    /// whether it did.
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
            let why = Finish::Failed(Failure::from(&error));
            self.fail(vec![(at, why)], runner.pages_mut());
            return Err(error);
        }
        Ok(true)
    }
}

/// Generations whose engine is dropped end.
impl Drop for Schedule {
    fn drop(&mut self) {
        let why = Finish::Failed(Failure::new(FailureKind::Closed, "the engine was closed"));
        self.all.drain(..).for_each(|one| one.finish(why.clone()));
    }
}

/// The budget of a step.
struct Budget {
    tokens: usize,
    /// Pages, counted once for each generation that lists them.
    pages: usize,
}

/// Ends a sequence, and adds its pages to the prefix cache.
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
