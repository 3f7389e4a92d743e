//! The engine: requests in, events out.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use weft_device::{Caps, Device};
use weft_pack::{OnReport, PackCache, fingerprint};

use crate::error::Error;
use crate::generation::{Event, Generation, Reply, Shared};
use crate::model::Model;
use crate::options::EngineOptions;
use crate::pages::Key;
use crate::request::Request;
use crate::runner::Runner;
use crate::running::Running;
use crate::schedule::{Schedule, Stats};

/// A model, compiled and ready, and the generations it works on.
///
/// [`push`](Engine::push) takes a request, [`step`](Engine::step) computes a batch for all that are under way, and each
/// [`Generation`] tells its owner what happened. Requests run together and do not notice: a reply is the same, bit for bit, alone and in
/// company, with its prompt computed or taken from the cache.
pub struct Engine {
    runner: Runner,
    schedule: Schedule,
    /// What all pages of the KV cache depend on.
    key: Key,
    pushed: u64,
}

impl Engine {
    /// Opens a model with what is right for a person: on the CPU with all its threads, its packed weights kept on the disk for the next time.
    ///
    /// # Errors
    /// If the file cannot be read or run, or there is no memory for it.
    pub fn open(path: impl AsRef<Path>) -> Result<Engine, Error> {
        Engine::builder().open(path)
    }

    /// Begins to choose how a model is opened; [`open`](EngineOptions::open) ends it.
    pub fn builder() -> EngineOptions {
        EngineOptions::default().cache(PackCache::of_user())
    }

    /// Opens a file, and the device of the options, and compiles the one for the other. `report` is told how far loading is.
    ///
    /// # Errors
    /// If the file cannot be read or run, there is no such device, or no memory for it; [`Error::Interrupted`] if `report` says so.
    pub fn load(path: &Path, options: &EngineOptions, report: OnReport<'_>) -> Result<Engine, Error> {
        Ok(Engine::of(Runner::load(path, options, report)?, options))
    }

    /// Compiles a model for a device that is open already, whatever the options say of devices and threads.
    ///
    /// # Errors
    /// If an option makes no sense for the model, or the device has no room.
    pub fn new(model: Model, device: Box<dyn Device>, options: &EngineOptions) -> Result<Engine, Error> {
        let report = &mut |_| ControlFlow::Continue(());
        Ok(Engine::of(Runner::new(model, device, options, report)?, options))
    }

    fn of(runner: Runner, options: &EngineOptions) -> Engine {
        // Pages stay on the device they were computed on, so that need not be part of it.
        let model = fingerprint(runner.model().gguf()).to_le_bytes();
        let numbers = format!("{} {:?}", options.kv, options.switches);
        let key = Key::root([model.as_slice(), numbers.as_bytes()]);
        Engine { runner, schedule: Schedule::default(), key, pushed: 0 }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        self.runner.model()
    }

    /// The device.
    pub fn device(&self) -> &Caps {
        self.runner.device()
    }

    /// Most tokens of a prompt and its reply together.
    pub fn context(&self) -> usize {
        self.runner.context()
    }

    /// How many generations there are, and what room they take.
    pub fn stats(&self) -> Stats {
        self.schedule.stats(self.runner.pages())
    }

    /// Takes a request. It begins with the next step that has room for it; those that came before it come first.
    ///
    /// # Errors
    /// [`Error::Batch`] if the prompt is empty or has a token that the vocabulary has not, [`Error::Context`] if it is too long.
    pub fn push(&mut self, request: Request) -> Result<Generation, Error> {
        let (vocab, context) = (self.model().graph().config.vocab, self.context());
        let len = request.prompt.len();
        if len == 0 {
            return Err(Error::Batch("the prompt is empty".into()));
        }
        if len > context {
            return Err(Error::Context { len: 0, more: len, context });
        }
        if let Some(token) = request.prompt.iter().find(|token| **token as usize >= vocab) {
            return Err(Error::Batch(format!("token {token} is not in the vocabulary of {vocab}")));
        }
        let shared = Arc::new(Shared::default());
        let generation = Generation::new(self.pushed, Arc::clone(&shared));
        self.pushed += 1;
        let root = self.key.salted(&request.options.salt);
        self.schedule.push(Running::new(request, root, shared));
        Ok(generation)
    }

    /// Computes one batch: a token of every generation that replies, and as much of the prompts of others as there is room for. Returns
    /// whether there was anything to compute; the events of the last step are still to be polled when it says no.
    ///
    /// # Errors
    /// If the device fails. The generations of this batch have then ended as [`Finish::Failed`](crate::Finish::Failed); others go on.
    pub fn step(&mut self) -> Result<bool, Error> {
        self.schedule.step(&mut self.runner)
    }

    /// Answers one request, and works on all others meanwhile.
    ///
    /// # Errors
    /// Those of [`push`](Engine::push) and [`step`](Engine::step).
    pub fn complete(&mut self, request: Request) -> Result<Reply, Error> {
        let mut generation = self.push(request)?;
        let (mut text, mut tokens) = (String::new(), Vec::new());
        loop {
            self.step()?;
            while let Some(event) = generation.poll() {
                match event {
                    Event::Prompt { .. } => {}
                    Event::Token(token) => tokens.push(token),
                    Event::Text(more) => text += &more,
                    Event::Finished(finish) => {
                        let (usage, timings) = (generation.usage(), generation.timings());
                        return Ok(Reply { text, tokens, finish, usage, timings });
                    }
                }
            }
        }
    }

    /// The compiled model under the engine, to look into: launches, plans, clocks.
    pub fn inspect(&self) -> &Runner {
        &self.runner
    }

    /// The compiled model under the engine, to compute batches by hand: for the lab. Sequences begun there hold pages that generations then
    /// do not have.
    pub fn inspect_mut(&mut self) -> &mut Runner {
        &mut self.runner
    }
}

impl EngineOptions {
    /// Opens a model file.
    ///
    /// # Errors
    /// If the file cannot be read or run, there is no such device, or no memory for it.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Engine, Error> {
        self.open_with(path, &mut |_| ControlFlow::Continue(()))
    }

    /// Opens a model file; `report` is told how far that is, and can stop it.
    ///
    /// # Errors
    /// Those of [`open`](EngineOptions::open), and [`Error::Interrupted`] if `report` says so.
    pub fn open_with(&self, path: impl AsRef<Path>, report: OnReport<'_>) -> Result<Engine, Error> {
        Engine::load(path.as_ref(), self, report)
    }
}
