//! The scheduler, which decides what a step computes: tokens of many generations in one ragged batch.
//!
//! Those that are replying get their one token first, and guessed tokens after it ([`guesses`]). The rest of the token budget goes to
//! prompts, which share it ([`shares`]); in steps with replies, which have to wait for it, it is smaller. Prompts begin in the order in
//! which they came, as soon as there is room for all of their tokens. When pages run out, the generation that came last gives its pages
//! back and is computed again later, mostly from the prefix cache. The first generation can always take what it needs from all others, so
//! every generation ends.
//!
//! A generation whose next page an earlier one is computing waits for that page, so that prompts with a common beginning
//! compute it once, even if they come together. It waits only while the earlier one is active, which never waits for a
//! later one.

mod guesses;
mod results;
mod shares;
pub(crate) mod stats;

use std::time::{Duration, Instant};

use weft_runtime::{Crossings, Error, PAGE, SlotUse};

use crate::batch::{Batch, SeqId};
use crate::failure::{Failure, FailureKind};
use crate::generation::Finish;
use crate::memory::{Found, Memory, Need};
use crate::prompts::Prompts;
use crate::runner::Runner;
use crate::running::Running;
use crate::speculate::Speculation;
use crate::speculate::drafter::Guess;
use shares::Share;
use stats::Stats;

/// All generations of an engine.
pub(crate) struct Schedule {
    /// The most prompt tokens of a step with replies.
    chunk: usize,
    /// In the order in which they came. Those with a sequence are active.
    all: Vec<Running>,
    work: Vec<Work>,
    batch: Batch,
    counts: Counts,
    /// The prefix cache on disk.
    prompts: Option<Prompts>,
    /// The source of guesses of the next tokens of replies.
    speculation: Option<Speculation>,
    /// The time that predictions took in this step.
    predicting: Duration,
}

/// The counts of a schedule so far.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    preempted: u64,
    steps: u64,
    computed: u64,
    generated: u64,
    prefix_queries: u64,
    prefix_hits: u64,
}

/// The work of a step on one generation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Work {
    /// The index of the generation.
    at: usize,
    /// The number of its tokens that are computed.
    tokens: usize,
    /// The number of them that were computed before, with wrong guesses.
    again: usize,
    /// The number of guessed tokens that are computed after them.
    guessed: usize,
}

impl Schedule {
    /// Creates a schedule without generations. `chunk` is the most prompt tokens of a step with replies.
    pub(crate) fn new(chunk: usize, prompts: Option<Prompts>) -> Schedule {
        let (all, work, batch) = (Vec::new(), Vec::new(), Batch::new());
        Schedule {
            chunk,
            all,
            work,
            batch,
            counts: Counts::default(),
            prompts,
            speculation: None,
            predicting: Duration::ZERO,
        }
    }

    /// Sets what guesses the next tokens of replies. Returns what did so before.
    pub(crate) fn speculate(&mut self, speculation: Option<Speculation>) -> Option<Speculation> {
        std::mem::replace(&mut self.speculation, speculation)
    }

    /// Adds a generation.
    pub(crate) fn push(&mut self, running: Running) {
        self.all.push(running);
    }

    /// The statistics.
    pub(crate) fn stats(&self, memory: &Memory) -> Stats {
        let running = self.all.iter().filter(|one| one.seq.is_some()).count();
        let pool = memory.pool();
        let Counts { preempted, steps, computed, generated, prefix_queries, prefix_hits } = self.counts;
        Stats {
            running,
            waiting: self.all.len() - running,
            preempted,
            steps,
            computed,
            generated,
            prefix_queries,
            prefix_hits,
            pages: pool.count(),
            pages_held: pool.count() - pool.available(),
            pages_kept: pool.idle(),
            prompt_cache: self.prompts.as_ref().map(Prompts::stats).unwrap_or_default(),
            speculation: self.speculation.as_ref().map(Speculation::stats).unwrap_or_default(),
            slots: SlotUse::default(),
            crossings: Crossings::default(),
        }
    }

    /// Ends cancelled generations.
    pub(crate) fn sweep(&mut self, memory: &mut Memory) {
        let cancelled = self.all.extract_if(.., |one| one.shared.is_cancelled());
        let ended = cancelled.map(|one| end(one, Finish::Cancelled, memory));
        ended.for_each(|id| self.speculation.iter_mut().for_each(|speculation| speculation.ended(id)));
    }

    /// Computes one step. Returns whether there was anything to compute.
    ///
    /// # Errors
    /// If the device fails. The generations of the step have then ended.
    pub(crate) fn step(&mut self, runner: &mut Runner) -> Result<bool, Error> {
        let begun = Instant::now();
        self.sweep(runner.memory_mut());
        self.restore(runner)?;
        self.plan(runner)?;
        if self.work.is_empty() {
            if self.prompts.as_mut().is_some_and(Prompts::wait) {
                return Ok(true);
            }
            return self.nothing_planned(runner.memory_mut());
        }
        self.batch.clear();
        for &Work { at, tokens, guessed, .. } in &self.work {
            let one = &self.all[at];
            let Some(seq) = one.seq else { continue };
            let from = runner.memory().len(seq);
            for (i, token) in one.tokens[from..from + tokens].iter().enumerate() {
                self.batch.push(seq, *token, one.wants_logits(from + i));
            }
            one.guess.tokens[..guessed].iter().for_each(|token| self.batch.push_guess(seq, *token));
        }
        if let Err(error) = runner.compute(&self.batch, None).and_then(|()| self.take_results(runner)) {
            self.fail_step(&error, runner.memory_mut());
            return Err(error);
        }
        let took = begun.elapsed();
        self.took(took);
        self.hand_over(took, runner)?;
        Ok(true)
    }

    /// Ends the generations of a step that failed.
    fn fail_step(&mut self, error: &Error, memory: &mut Memory) {
        let why = Finish::Failed(Failure::from(error));
        let ended = self.work.iter().map(|work| (work.at, why.clone())).collect();
        self.fail(ended, memory);
    }

    /// Ends generations because the device failed. It may report late what went wrong in an earlier step, so no page can
    /// be trusted: the prefix cache is emptied, and all other generations are computed again.
    fn fail(&mut self, ended: Vec<(usize, Finish)>, memory: &mut Memory) {
        self.all.iter_mut().filter_map(|one| one.seq.take()).for_each(|seq| memory.free(seq));
        memory.forget();
        self.prompts.iter_mut().for_each(Prompts::drop_offers);
        self.end(ended, memory);
    }

    /// Takes pages that were read from disk.
    fn restore(&mut self, runner: &mut Runner) -> Result<(), Error> {
        let Some(prompts) = &mut self.prompts else { return Ok(()) };
        let found = prompts.restore(&mut self.all, runner);
        self.counts.prefix_hits += found.inspect_err(|_| self.fail(Vec::new(), runner.memory_mut()))? as u64;
        Ok(())
    }

    /// Hands pages over to be written to disk, after a step that `took` so long. If the step chose no token, the device
    /// may still be computing, and reading would wait for it.
    fn hand_over(&mut self, took: Duration, runner: &mut Runner) -> Result<(), Error> {
        let Some(prompts) = self.prompts.as_mut().filter(|_| self.batch.wants_logits()) else {
            return Ok(());
        };
        prompts.hand_over(took, runner).inspect_err(|_| self.fail(Vec::new(), runner.memory_mut()))
    }

    /// Does work that can wait until there is nothing to compute. Returns whether there is more.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn idle(&mut self, runner: &mut Runner) -> Result<bool, Error> {
        let Some(prompts) = &mut self.prompts else { return Ok(false) };
        prompts.idle(runner).inspect_err(|_| self.fail(Vec::new(), runner.memory_mut()))
    }

    /// Finishes what can be finished quickly before the engine is dropped.
    pub(crate) fn close(&mut self, runner: &mut Runner) {
        self.prompts.iter_mut().for_each(|prompts| prompts.finish(runner));
    }

    /// Returns `false` if there are no generations. Otherwise there is no room for the first one, although all others
    /// gave their pages back: sequences begun by hand hold the rest, and waiting would not help.
    fn nothing_planned(&mut self, memory: &mut Memory) -> Result<bool, Error> {
        let Some(first) = self.all.first() else { return Ok(false) };
        let computed = first.seq.map_or(0, |seq| memory.len(seq));
        let needed = memory.pages_of(first.tokens.len()) - memory.pages_of(computed);
        let error = Error::Pages { needed, free: memory.available() };
        self.end(vec![(0, Finish::Failed(Failure::from(&error)))], memory);
        Err(error)
    }

    /// Ends generations, given by index.
    fn end(&mut self, mut ended: Vec<(usize, Finish)>, memory: &mut Memory) {
        ended.sort_by_key(|(at, _)| *at);
        for (at, finish) in ended.into_iter().rev() {
            let id = end(self.all.remove(at), finish, memory);
            self.speculation.iter_mut().for_each(|speculation| speculation.ended(id));
        }
    }

    /// Plans the next step, and takes the pages for it.
    fn plan(&mut self, runner: &mut Runner) -> Result<(), Error> {
        self.work.clear();
        runner.memory_mut().slide();
        let mut budget = Budget { tokens: runner.batch(), pages: runner.memory().listed() };
        // Once there is no room for a generation, nothing of later prompts is computed: it would take the room that the
        // generation waits for, again and again.
        let mut full = false;
        for at in 0..self.all.len() {
            if budget.tokens > 0 && self.is_replying(at, runner.memory()) {
                full |= !self.add(at, 1 + self.all[at].again, &mut budget, runner.memory_mut());
            }
        }
        if full {
            return Ok(());
        }
        if let Err(error) = self.guess(&mut budget, runner) {
            self.fail_step(&error, runner.memory_mut());
            return Err(error);
        }
        let beside_replies = !self.work.is_empty();
        if beside_replies {
            budget.tokens = budget.tokens.min(self.chunk);
        }
        let prompts = self.prompts_of_step(budget.tokens, runner)?;
        let share = |at: &usize| {
            let left = self.left(*at, runner.memory()).unwrap_or(0);
            Share { left, given: 0, waited: self.all[*at].waited }
        };
        let mut shares: Vec<Share> = prompts.iter().map(share).collect();
        shares::divide(&mut shares, budget.tokens, beside_replies);
        for (at, Share { given, waited, .. }) in prompts.into_iter().zip(shares) {
            self.all[at].waited = waited;
            // One that an earlier one has preempted meanwhile gets nothing.
            if given > 0
                && self.all[at].seq.is_some()
                && !self.add(at, given, &mut budget, runner.memory_mut())
            {
                break;
            }
        }
        Ok(())
    }

    /// The number of tokens to compute of an active generation: one of a reply, or what is left of a prompt. `None` while its
    /// pages are read from disk.
    fn left(&self, at: usize, memory: &Memory) -> Option<usize> {
        let one = &self.all[at];
        let seq = one.seq.filter(|seq| !self.is_restoring(*seq))?;
        Some(one.tokens.len() - memory.len(seq))
    }

    /// Returns whether an active generation has only its last token to compute, and the tokens that were removed together with wrong
    /// guesses.
    fn is_replying(&self, at: usize, memory: &Memory) -> bool {
        self.left(at, memory) == Some(1 + self.all[at].again)
    }

    /// The generations whose prompts share a step of this many tokens, oldest first. Those that wait begin, if there is room for all of
    /// their tokens in addition to all that earlier ones still need.
    fn prompts_of_step(&mut self, tokens: usize, runner: &mut Runner) -> Result<Vec<usize>, Error> {
        let most = if tokens == 0 { 0 } else { shares::most(tokens) };
        let mut prompts = Vec::new();
        // Pages that those which have begun still need, and pages for those that wait for pages of others.
        let (mut needed, mut reserved) = (Need::default(), Need::default());
        for at in 0..self.all.len() {
            if prompts.len() == most {
                break;
            }
            if self.all[at].seq.is_some() {
                if self.is_replying(at, runner.memory()) {
                    continue;
                }
            } else {
                if runner.memory().lacks(needed) {
                    break;
                }
                let found = self.find(at, runner.memory());
                if let Some(own) = self.awaits(at, found, runner.memory_mut()) {
                    reserved += own;
                    continue;
                }
                if !self.begin(at, found, needed + reserved, runner)? {
                    break;
                }
            }
            let one = &self.all[at];
            let Some(seq) = one.seq else { continue };
            needed += runner.memory().missing(seq, one.tokens.len() + 1);
            if !self.is_restoring(seq) {
                prompts.push(at);
            }
        }
        Ok(prompts)
    }

    /// Looks for the tokens of a waiting generation in the prefix cache.
    fn find(&mut self, at: usize, memory: &Memory) -> Found {
        let one = &mut self.all[at];
        if !one.caches() {
            return Found::default();
        }
        one.keys.extend(&one.tokens, PAGE);
        memory.find(&one.keys, one.reusable())
    }

    /// Returns the number of pages that a generation needs beyond those that it shares with an earlier one, if it should wait: the
    /// earlier one is computing the page after those `found`.
    fn awaits(&self, at: usize, found: Found, memory: &mut Memory) -> Option<Need> {
        let one = &self.all[at];
        let next = one.keys.get(found.rows.pages).filter(|_| one.caches())?;
        let end = (found.rows.pages + 1) * PAGE;
        // Tokens whose logits are wanted it computes itself.
        if end >= one.reusable().len() {
            return None;
        }
        let most = (one.reusable().len() - 1) / PAGE;
        let has_states = memory.has_states();
        let mut computes = |other: &&Running| {
            let Some(seq) = other.seq.filter(|_| other.caches()) else { return false };
            if has_states {
                // A page is of use only with the state after it.
                let common = one.keys.common(&other.keys).min(most);
                if common > found.rows.pages && self.is_restoring(seq) {
                    return true;
                }
                return memory.cut_for_another(seq, found.rows.pages * PAGE, common * PAGE);
            }
            memory.len(seq) < end && other.keys.get(found.rows.pages) == Some(next)
        };
        let other = self.all[..at].iter().find(|other| computes(other))?;
        let Need { pages, windowed } = memory.need(one.tokens.len() + 1);
        Some(Need { pages: pages.saturating_sub(one.keys.common(&other.keys)), windowed })
    }

    /// Returns whether pages of a sequence are still being read from disk.
    fn is_restoring(&self, seq: SeqId) -> bool {
        self.prompts.as_ref().is_some_and(|prompts| prompts.is_restoring(seq))
    }

    /// Plans up to `rest` tokens of an active generation, and takes the pages for them. Returns whether it planned any.
    fn add(&mut self, at: usize, rest: usize, budget: &mut Budget, memory: &mut Memory) -> bool {
        loop {
            let Some(seq) = self.all[at].seq else { return false };
            let len = memory.len(seq);
            let rest = rest.min(memory.until_cut(seq));
            let tokens = rest.min(budget.tokens).min(memory.room(seq));
            let listed = memory.pages_of(len + tokens);
            // If there is no room for all of them, preempt the generation that came last. If there is none, compute the tokens that there
            // is room for.
            let whole = tokens == rest.min(budget.tokens);
            let last = self.all.iter().rposition(|one| one.seq.is_some()).filter(|last| *last > at);
            if let (false, Some(last)) = (whole, last) {
                self.preempt(last, budget, memory);
                continue;
            }
            if tokens == 0 || listed > budget.pages || !memory.grow(seq, tokens) {
                return false;
            }
            budget.tokens -= tokens;
            budget.pages -= listed;
            let again = self.all[at].again.min(tokens);
            self.work.push(Work { at, tokens, again, guessed: 0 });
            return true;
        }
    }

    /// Takes the pages of a generation, which is computed again later.
    fn preempt(&mut self, at: usize, budget: &mut Budget, memory: &mut Memory) {
        let one = &mut self.all[at];
        let Some(seq) = one.seq.take() else { return };
        one.guess = Guess::default();
        if let Some(planned) = self.work.iter().position(|work| work.at == at) {
            let Work { tokens, guessed, .. } = self.work.remove(planned);
            budget.tokens += tokens + guessed;
            budget.pages += memory.pages_of(memory.len(seq) + tokens + guessed);
        }
        leave(one, seq, memory);
        self.counts.preempted += 1;
    }

    /// Begins a waiting generation if there is room for all its tokens and one more in addition to the pages that are reserved for
    /// earlier ones, or if no other is active. Returns whether it did.
    fn begin(&mut self, at: usize, found: Found, reserved: Need, runner: &mut Runner) -> Result<bool, Error> {
        let alone = self.all.iter().all(|one| one.seq.is_none());
        let one = &mut self.all[at];
        let memory = runner.memory_mut();
        if !alone && !memory.fits(found, one.tokens.len() + 1, reserved) {
            return Ok(false);
        }
        let known = if one.caches() { one.reusable() } else { &[] };
        let begun = memory.begin(&one.keys, known);
        memory.adapt(begun.seq, one.adapter);
        if one.begun(begun.seq, begun.cached) && one.caches() {
            self.counts.prefix_queries += one.tokens.len() as u64;
            self.counts.prefix_hits += begun.cached as u64;
        }
        if let Some(prompts) = self.prompts.as_mut().filter(|_| one.caches()) {
            prompts.begin(begun.seq, &one.keys, one.reusable().len(), memory);
        }
        if let Some(copy) = begun.copy
            && let Err(error) = runner.copy(&copy)
        {
            let why = Finish::Failed(Failure::from(&error));
            self.fail(vec![(at, why)], runner.memory_mut());
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
fn leave(one: &Running, seq: SeqId, memory: &mut Memory) {
    if one.caches() {
        memory.end(seq, &one.tokens);
    } else {
        memory.free(seq);
    }
}

/// Ends a generation. Returns its number.
fn end(mut one: Running, finish: Finish, memory: &mut Memory) -> u64 {
    if let Some(seq) = one.seq.take() {
        leave(&one, seq, memory);
    }
    let id = one.id;
    one.finish(finish);
    id
}
