//! A model of the server, loaded or not, and what happens to it.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use weft_engine::EngineOptions;

use super::facts::Loaded;
use super::header::Header;
use super::idle::Keep;
use crate::error::ApiError;
use crate::options::ModelSource;
use crate::stage::{Progress, Stage, Step};

/// The result for which the requests for a model that is not loaded wait. They hold the model until each has taken it, so that it is not
/// unloaded in between.
pub(super) type Brought = Option<Result<Arc<Loaded>, ApiError>>;

/// A model of the server.
pub(crate) struct Slot {
    /// Its source.
    pub(crate) source: ModelSource,
    /// The names of its LoRA adapters that requests choose.
    pub(crate) adapters: Vec<String>,
    /// The modification time of its file, in seconds since 1970.
    pub(crate) created: u64,
    /// When it was used last, by the clock of all models.
    pub(super) used: AtomicU64,
    /// Held while it loads or unloads.
    pub(super) changing: tokio::sync::Mutex<()>,
    /// The time that it stays loaded without requests.
    pub(super) keep: Keep,
    /// How far loading has come.
    pub(super) progress: Arc<Progress>,
    /// The bytes of memory that it needs, once they were computed.
    pub(super) need: OnceLock<u64>,
    /// Whether it was unloaded and its memory is being given back.
    pub(super) releasing: Arc<AtomicBool>,
    inner: Mutex<Inner>,
    pinned: AtomicBool,
    context: OnceLock<usize>,
    header: OnceLock<Header>,
}

#[derive(Default)]
struct Inner {
    loaded: Option<Arc<Loaded>>,
    /// Whether it is to be unloaded once its requests have ended. Further requests wait.
    leaving: bool,
    /// Those who wait until it is loaded.
    coming: Weak<watch::Sender<Brought>>,
    /// Why it could not be loaded the last time.
    failure: Option<String>,
}

impl Slot {
    /// A model that is not loaded. `engine` says how it is run if its source does not.
    pub(super) fn new(source: ModelSource, engine: &EngineOptions) -> Slot {
        let adapters = &source.engine.as_ref().unwrap_or(engine).adapters;
        let adapters = adapters.iter().filter_map(|adapter| adapter.name.clone()).collect();
        let modified = fs::metadata(&source.path).and_then(|file| file.modified()).ok();
        let created = modified.unwrap_or_else(SystemTime::now).duration_since(UNIX_EPOCH);
        Slot {
            adapters,
            created: created.map_or(0, |since| since.as_secs()),
            used: AtomicU64::new(0),
            changing: tokio::sync::Mutex::new(()),
            keep: Keep::default(),
            progress: Arc::default(),
            need: OnceLock::new(),
            releasing: Arc::default(),
            inner: Mutex::default(),
            pinned: AtomicBool::new(source.pinned),
            context: OnceLock::new(),
            header: OnceLock::new(),
            source,
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the model has this name or alias, or a LoRA adapter of this name.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.source.name == name
            || self.source.aliases.iter().any(|alias| alias == name)
            || self.has_adapter(name)
    }

    /// Whether the model has a LoRA adapter of this name, which is not its own.
    pub(super) fn has_adapter(&self, name: &str) -> bool {
        self.adapters.iter().any(|adapter| adapter == name)
    }

    /// The facts in the headers of the model's file; `None` if it cannot be read.
    pub(crate) fn header(&self) -> Option<&Header> {
        if self.header.get().is_none()
            && let Ok(header) = Header::read(&self.source.path)
        {
            let _ = self.header.set(header);
        }
        self.header.get()
    }

    /// The model, if it is loaded and its thread lives.
    pub(crate) fn loaded(&self) -> Option<Arc<Loaded>> {
        self.inner().loaded.clone().filter(|loaded| !loaded.worker.is_closed())
    }

    /// The model, if requests may use it: it is loaded, and not to be unloaded.
    pub(super) fn open(&self) -> Option<Arc<Loaded>> {
        let inner = self.inner();
        inner.loaded.clone().filter(|loaded| !inner.leaving && !loaded.worker.is_closed())
    }

    /// The model's current stage.
    pub(crate) fn stage(&self) -> Stage {
        let step = self.progress.get();
        let inner = self.inner();
        let alive = inner.loaded.as_ref().is_some_and(|loaded| !loaded.worker.is_closed());
        match step {
            Some(Step::Loading { .. }) => Stage::Loading(step),
            _ if self.is_releasing() || alive && inner.leaving => Stage::Unloading,
            _ if alive => Stage::Loaded,
            Some(Step::Memory) => Stage::Loading(step),
            None if self.keep.is_asleep() => Stage::Sleeping,
            None => Stage::Unloaded,
        }
    }

    /// Why the model could not be loaded, if that is what happened last.
    pub(crate) fn failure(&self) -> Option<String> {
        self.inner().failure.clone()
    }

    /// The context length, if the model was ever loaded.
    pub(crate) fn context(&self) -> Option<usize> {
        self.context.get().copied()
    }

    /// Whether the model is only unloaded by those who ask for it.
    pub(crate) fn is_pinned(&self) -> bool {
        self.pinned.load(Ordering::Relaxed)
    }

    /// Pins the model, or not any longer.
    pub(super) fn pin(&self, pinned: bool) {
        self.pinned.store(pinned, Ordering::Relaxed);
    }

    /// The time that the model stays loaded without requests, if it has a limit.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        self.keep.left()
    }

    /// The bytes of memory that the model needs, as far as they are known.
    pub(crate) fn need(&self) -> Option<u64> {
        self.need.get().copied()
    }

    /// Waits for the model with the others that do. If nobody does yet, `bring` is called with those who wait from now on.
    pub(super) fn wait(&self, bring: impl FnOnce(Arc<watch::Sender<Brought>>)) -> watch::Receiver<Brought> {
        let mut inner = self.inner();
        if let Some(coming) = inner.coming.upgrade() {
            return coming.subscribe();
        }
        let (send, receive) = watch::channel(None);
        let send = Arc::new(send);
        inner.coming = Arc::downgrade(&send);
        drop(inner);
        bring(send);
        receive
    }

    /// Tells those who wait, and lets those who come from now on wait anew.
    pub(super) fn tell(&self, waiting: &watch::Sender<Brought>, result: Result<Arc<Loaded>, ApiError>) {
        let mut inner = self.inner();
        inner.coming = Weak::new();
        if !waiting.is_closed() {
            inner.failure = result.as_ref().err().map(|error| error.message.clone());
        }
        waiting.send_replace(Some(result));
    }

    /// Takes up a model that was loaded.
    pub(super) fn put(&self, loaded: &Arc<Loaded>) {
        let _ = self.context.set(loaded.facts.context);
        let keep = if self.is_pinned() { None } else { self.source.keep_alive };
        self.keep.loaded(keep);
        let mut inner = self.inner();
        let before = inner.loaded.replace(Arc::clone(loaded));
        inner.leaving = false;
        drop(inner);
        drop(before);
    }

    /// Whether anybody uses the model: a job, or a request that is being read.
    pub(super) fn is_used(&self) -> bool {
        self.inner().loaded.as_ref().is_some_and(|loaded| !is_unused(loaded))
    }

    /// Takes the model out, if nobody uses it. The caller says when its memory was given back.
    pub(super) fn take_unused(&self) -> Option<Arc<Loaded>> {
        let mut inner = self.inner();
        let taken = inner.loaded.take_if(|loaded| is_unused(loaded));
        if taken.is_some() {
            inner.leaving = false;
            self.releasing.store(true, Ordering::SeqCst);
        }
        taken
    }

    /// Whether its memory is being given back.
    pub(super) fn is_releasing(&self) -> bool {
        self.releasing.load(Ordering::SeqCst)
    }

    /// Says whether the model is to be unloaded once its requests have ended.
    pub(super) fn leave(&self, leaving: bool) {
        self.inner().leaving = leaving;
    }
}

/// Whether nobody uses a model but the slot itself.
fn is_unused(loaded: &Arc<Loaded>) -> bool {
    Arc::strong_count(loaded) == 1 && Arc::strong_count(&loaded.shared) == 1 && loaded.worker.jobs() == 0
}
