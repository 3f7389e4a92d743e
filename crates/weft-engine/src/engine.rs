//! The engine: requests in, events out.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use weft_device::{Caps, Device};
use weft_pack::{OnReport, PackCache, fingerprint};
use weft_runtime::{Error, MemoryNeed, Model, PAGE, memory_of};

use crate::adapters::SequenceAdapter;
use crate::batch::SeqId;
use crate::generation::{Event, Generation, Reply, Shared};
use crate::memory::CacheEvent;
use crate::memory::key::{Key, Keys};
use crate::options::EngineOptions;
use crate::prompts::{self, Prompts};
use crate::request::Request;
use crate::runner::Runner;
use crate::running::Running;
use crate::schedule::Schedule;
use crate::schedule::stats::Stats;
use crate::speculate::draft_model::{DraftModel, draft_options};
use crate::speculate::drafter::Drafter;
use crate::speculate::{Learnt, Speculate, Speculation};

/// A compiled model, and the generations it works on.
///
/// [`push`](Engine::push) adds a request, [`step`](Engine::step) computes a batch of tokens for all requests, and each [`Generation`]
/// reports the events of its reply. Results are batch-invariant: a reply is the same, bit for bit, whatever runs at the same time, and
/// whether its prompt is computed or comes from the prefix cache.
pub struct Engine {
    runner: Runner,
    schedule: Schedule,
    /// The root key of all pages in the prefix cache.
    key: Key,
    pushed: u64,
    /// The times and acceptance that `auto` has learnt, while it is not chosen.
    learnt: Option<Learnt>,
    options: EngineOptions,
}

impl Engine {
    /// Opens a model with default options: on the CPU with all its threads, and with a cache of packed weights on disk.
    ///
    /// # Errors
    /// If the file cannot be read, the model is not supported, or there is not enough memory.
    pub fn open(path: impl AsRef<Path>) -> Result<Engine, Error> {
        Engine::builder().open(path)
    }

    /// Returns options to open a model with, to be changed by their methods and ended with [`open`](EngineOptions::open).
    pub fn builder() -> EngineOptions {
        EngineOptions::default().cache(PackCache::of_user())
    }

    /// Opens a model and compiles it for the device of `options`. `report` receives the progress.
    ///
    /// # Errors
    /// If the file cannot be read, the model is not supported, there is no such device, or there is not enough memory;
    /// [`Error::Interrupted`] if `report` interrupts it.
    pub fn load(path: &Path, options: &EngineOptions, report: OnReport<'_>) -> Result<Engine, Error> {
        check_chunk(options)?;
        Engine::of(Runner::load(path, options, report)?, options)
    }

    /// Compiles a model for a device that is already open. The device and threads of `options` are ignored.
    ///
    /// # Errors
    /// If an option is not valid for the model, or the device has not enough memory.
    pub fn new(model: Model, device: Box<dyn Device>, options: &EngineOptions) -> Result<Engine, Error> {
        check_chunk(options)?;
        let report = &mut |_| ControlFlow::Continue(());
        Engine::of(Runner::new(model, device, options, report)?, options)
    }

    fn of(mut runner: Runner, options: &EngineOptions) -> Result<Engine, Error> {
        // Pages in memory stay on the device that computed them, so the device need not be part of the key.
        let model = fingerprint(runner.model().gguf()).to_le_bytes();
        let numbers = format!("{} {:?}", options.kv, runner.switches());
        let mut key = Key::root([model.as_slice(), numbers.as_bytes()]);
        let mut prompts = None;
        if let Some(cache) = options.prompt_cache() {
            key = prompts::root(&key, &mut runner)?;
            prompts = Some(Prompts::open(cache, &runner)?);
        }
        let schedule = Schedule::new(options.chunk, prompts);
        let mut engine = Engine { runner, schedule, key, pushed: 0, learnt: None, options: options.clone() };
        engine.speculate(options.guesser())?;
        Ok(engine)
    }

    /// Sets what guesses the next tokens of replies, in place of the [option](EngineOptions::speculate). No reply depends on it. What
    /// [`Speculate::Auto`] has learnt is kept until it is chosen again.
    ///
    /// The model's own predictions need the layer that an engine opened with [`Speculate::Mtp`] or [`Speculate::Auto`] loads, if the
    /// file has it. Without it, [`Speculate::Mtp`] guesses nothing.
    ///
    /// # Errors
    /// If a draft model cannot be opened with the engine's options, or has another vocabulary.
    pub fn speculate(&mut self, speculate: &Speculate) -> Result<(), Error> {
        let speculation = match speculate {
            Speculate::Off => None,
            Speculate::Lookup => Some(Speculation::lookup()),
            Speculate::Mtp(tokens) => Some(Speculation::mtp(*tokens)).filter(|_| self.runner.predicts()),
            Speculate::Auto => {
                self.set(None);
                let estimated = || Learnt::new(self.runner.estimates(), self.runner.prediction_estimates());
                Some(Speculation::auto(self.learnt.take().unwrap_or_else(estimated)))
            }
            Speculate::Model(path) => {
                Some(Speculation::by(Box::new(DraftModel::load(path, &self.runner, &self.options)?)))
            }
        };
        self.set(speculation);
        Ok(())
    }

    /// Sets a drafter of your own, which guesses the next tokens of replies. No reply depends on it.
    pub fn speculate_by(&mut self, drafter: impl Drafter + 'static) {
        self.set(Some(Speculation::by(Box::new(drafter))));
    }

    /// Sets what guesses, and keeps what the one before has learnt.
    fn set(&mut self, speculation: Option<Speculation>) {
        let before = self.schedule.speculate(speculation);
        self.learnt = before.and_then(Speculation::learnt).or(self.learnt.take());
    }

    /// The model.
    pub fn model(&self) -> &Model {
        self.runner.model()
    }

    /// The device.
    pub fn device(&self) -> &Caps {
        self.runner.device()
    }

    /// The memory that the model's parts need on each of two devices, as planned; none if there is one device.
    pub fn divided(&self) -> &[MemoryNeed] {
        self.runner.divided()
    }

    /// The most tokens of a prompt and its reply together.
    pub fn context(&self) -> usize {
        self.runner.context()
    }

    /// The number of tokens of a page of the KV cache.
    pub fn page(&self) -> usize {
        PAGE
    }

    /// The number of generations, the use of the KV cache, and what was computed so far.
    pub fn stats(&self) -> Stats {
        let slots = self.runner.slot_use().unwrap_or_default();
        let crossings = self.runner.crossings();
        Stats { slots, crossings, ..self.schedule.stats(self.runner.memory()) }
    }

    /// Adds a request. It begins with the first step that has room for it, after all earlier requests.
    ///
    /// # Errors
    /// [`Error::Context`] if the prompt is too long. [`Error::Batch`] if it is empty, it or an option has a token outside
    /// the vocabulary, a sampling parameter or bias is not finite, the model has no such adapter, `min_tokens` exceeds `max_tokens`, or
    /// the model does not compute what the request asks for.
    pub fn push(&mut self, request: Request) -> Result<Generation, Error> {
        let graph = self.model().graph();
        request.check(graph.config.head, graph.config.vocab, self.context())?;
        let adapter = SequenceAdapter::of(request.options.adapter.as_ref(), self.model().selectable())?;
        let shared = Arc::new(Shared::default());
        let generation = Generation::new(self.pushed, Arc::clone(&shared));
        self.pushed += 1;
        let root = self.key.salted(&request.options.salt);
        let model = self.runner.model();
        self.schedule.push(Running::new(generation.id(), request, (root, adapter), shared, model));
        Ok(generation)
    }

    /// Computes one batch: one token of every generation that is replying, and as many prompt tokens of others as there is room for;
    /// together with replies at most [`chunk`](EngineOptions::chunk). Returns whether there was anything to compute. Events of earlier
    /// steps may still be unread when it returns `false`.
    ///
    /// While nobody replies, prompts share a batch equally. Beside replies, half of the chunk goes to the oldest prompt and
    /// the rest to those that are done first.
    ///
    /// # Errors
    /// If the device fails. The generations of this batch then end as [`Finish::Failed`](crate::Finish::Failed). Others
    /// are computed again in later steps, and the prefix cache is emptied, since the device may report a failure late.
    pub fn step(&mut self) -> Result<bool, Error> {
        self.schedule.step(&mut self.runner)
    }

    /// Begins to record [changes](CacheEvent) of the prefix cache in memory, with the pages that it has now.
    pub fn watch_cache(&mut self) {
        let root = self.key.salted("");
        self.runner.memory_mut().watch(root);
    }

    /// Takes the changes of the prefix cache since the last call, in order. Whoever [watches](Engine::watch_cache) should call
    /// it after every step, because they are kept until then.
    pub fn cache_events(&mut self) -> Vec<CacheEvent> {
        self.runner.memory_mut().cache_events()
    }

    /// Empties the prefix cache in memory. Generations keep their pages, and what they compute from now on is kept again.
    /// A prompt cache on disk is not changed.
    pub fn forget_prefixes(&mut self) {
        self.runner.memory_mut().forget();
    }

    /// Does work that can wait until there is nothing to compute, for a few milliseconds: with a
    /// [prompt cache](crate::PromptCache), it writes computed prompts to disk. Returns whether there is more, so
    /// that a caller that waits for requests can call it until one comes or nothing is left to do.
    ///
    /// Steps do some of this work too, and a dropped engine finishes it within two seconds or leaves the rest.
    ///
    /// # Errors
    /// If the device fails, as for [`step`](Engine::step).
    pub fn idle(&mut self) -> Result<bool, Error> {
        self.schedule.idle(&mut self.runner)
    }

    /// Runs one request to its end, together with all others.
    ///
    /// # Errors
    /// Those of [`push`](Engine::push) and [`step`](Engine::step).
    pub fn complete(&mut self, request: Request) -> Result<Reply, Error> {
        let mut generation = self.push(request)?;
        let (mut text, mut prompt, mut tokens, mut output) = (String::new(), Vec::new(), Vec::new(), None);
        loop {
            self.step()?;
            while let Some(event) = generation.poll() {
                match event {
                    Event::Prompt { .. } => {}
                    Event::PromptToken(token) => prompt.push(token),
                    Event::Token(token) => tokens.push(token),
                    Event::Text(more) => text += &more,
                    Event::Output(values) => output = Some(values),
                    Event::Finished(finish) => {
                        let (usage, timings) = (generation.usage(), generation.timings());
                        return Ok(Reply { prompt, text, tokens, output, finish, usage, timings });
                    }
                }
            }
        }
    }

    /// Begins a sequence, to be driven by hand, with as many of these tokens as the prefix cache has, but the
    /// last at most. [`Runner::len`] says how many it has; the caller computes the rest, and frees it.
    ///
    /// # Errors
    /// If the device fails. The prefix cache is then emptied.
    pub fn begin_by_hand(&mut self, tokens: &[u32]) -> Result<SeqId, Error> {
        let mut keys = Keys::new(self.key.salted(""));
        keys.extend(tokens, PAGE);
        let begun = self.runner.memory_mut().begin(&keys, tokens);
        let copied = begun.copy.map_or(Ok(()), |copy| self.runner.copy(&copy));
        copied.inspect_err(|_| {
            self.runner.free(begun.seq);
            self.runner.memory_mut().forget();
        })?;
        Ok(begun.seq)
    }

    /// The engine's runner, to inspect launches, plans and timings.
    pub fn inspect(&self) -> &Runner {
        &self.runner
    }

    /// The engine's runner, to compute batches by hand. Sequences begun there hold pages, which generations then lack.
    pub fn inspect_mut(&mut self) -> &mut Runner {
        &mut self.runner
    }
}

/// Checks that prompts can be computed in steps with replies.
///
/// # Errors
/// If a chunk has no tokens.
fn check_chunk(options: &EngineOptions) -> Result<(), Error> {
    if options.chunk == 0 {
        let why = "chunks of 0 prompt tokens beside replies: expected at least 1";
        return Err(Error::Option(why.into()));
    }
    Ok(())
}

/// Writes the remaining pages of the prompt cache to disk.
impl Drop for Engine {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.schedule.close(&mut self.runner);
        }
    }
}

impl EngineOptions {
    /// Opens a model.
    ///
    /// # Errors
    /// If the file cannot be read, the model is not supported, there is no such device, or there is not enough memory.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Engine, Error> {
        self.open_with(path, &mut |_| ControlFlow::Continue(()))
    }

    /// Opens a model. `report` receives the progress, and can interrupt loading.
    ///
    /// # Errors
    /// Those of [`open`](EngineOptions::open), and [`Error::Interrupted`] if `report` interrupts it.
    pub fn open_with(&self, path: impl AsRef<Path>, report: OnReport<'_>) -> Result<Engine, Error> {
        Engine::load(path.as_ref(), self, report)
    }

    /// The memory that a model needs with these options, before it is opened, on each device that has a part of it: see
    /// [`memory_of`](weft_runtime::memory_of). A draft model is a further entry. It counts without adapters, because it has none.
    ///
    /// # Errors
    /// If a file cannot be read, the model is not supported, or there is no such device.
    pub fn memory_needs(&self, path: impl AsRef<Path>) -> Result<Vec<MemoryNeed>, Error> {
        let mut needs = memory_of(path.as_ref(), self)?;
        if let (Speculate::Model(draft), Some(own)) = (self.guesser(), needs.first()) {
            needs.extend(memory_of(draft, &draft_options(self, own.tokens / self.sequences.max(1)))?);
        }
        Ok(needs)
    }

    /// The bytes of memory that a model needs with these options, on all devices together, before it is opened. A draft model counts.
    ///
    /// # Errors
    /// Those of [`memory_needs`](EngineOptions::memory_needs).
    pub fn memory(&self, path: impl AsRef<Path>) -> Result<u64, Error> {
        Ok(self.memory_needs(path)?.iter().map(MemoryNeed::total).fold(0, u64::saturating_add))
    }
}
