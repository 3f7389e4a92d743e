//! The models of a server: loaded on first use, unloaded when another needs the memory or nobody asked for them for a while.
//!
//! A task of its own brings a model, so that it does not end with the request that asked first. Models come one after another, in the
//! order in which they were asked for: each waits until there is memory for it.

mod facts;
mod header;
mod idle;
mod room;
mod slot;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, Notify, watch};
use tracing::{info, warn};
use weft_engine::{Engine, EngineOptions};
use weft_grammar::Grammars;

use crate::error::{ApiError, Kind};
use crate::http::waiting;
use crate::kv_events::KvEvents;
use crate::loading::logged;
use crate::metrics::Metrics;
use crate::options::{Limits, ModelSource};
use crate::stage::Step;
use crate::worker::Worker;
pub(crate) use facts::{Facts, Loaded, Shared};
pub(crate) use header::{Header, keys};
use slot::Brought;
pub(crate) use slot::Slot;

/// All models of a server.
pub(crate) struct Models {
    slots: Vec<Slot>,
    engine: EngineOptions,
    limits: Limits,
    metrics: Metrics,
    /// Where changes of prefix caches are published.
    events: Option<KvEvents>,
    /// Counts uses, to know which model was used last.
    clock: AtomicU64,
    /// Wakes the task that unloads idle models.
    alarm: Notify,
    /// Held while a model is brought: others wait, in the order in which they were asked for.
    turn: Mutex<()>,
}

/// Why a model cannot be loaded.
struct Unfit {
    /// It may work once other models are unloaded.
    out_of_memory: bool,
    error: ApiError,
}

impl Models {
    /// Creates the models of a server, none of them loaded.
    pub(crate) fn new(
        sources: Vec<ModelSource>,
        engine: EngineOptions,
        limits: Limits,
        metrics: Metrics,
        events: Option<KvEvents>,
    ) -> Models {
        let slots = sources.into_iter().map(|source| Slot::new(source, &engine)).collect();
        let (clock, alarm, turn) = (AtomicU64::new(1), Notify::new(), Mutex::new(()));
        Models { slots, engine, limits, metrics, events, clock, alarm, turn }
    }

    /// All of them, in the order they were given.
    pub(crate) fn all(&self) -> &[Slot] {
        &self.slots
    }

    /// The number of CPU threads that compute.
    pub(crate) fn threads(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        self.engine.threads.unwrap_or_else(all)
    }

    /// The error of a name that no model has.
    pub(crate) fn no_such(&self) -> ApiError {
        let names =
            self.slots.iter().flat_map(|slot| std::iter::once(&slot.source.name).chain(&slot.adapters));
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        let message = format!("there is no such model; this server has {}", names.join(", "));
        let error = ApiError { param: Some("model".into()), ..ApiError::new(Kind::NotFound, message) };
        error.code("model_not_found")
    }

    /// The model of this name or alias, or with a LoRA adapter of this name.
    pub(crate) fn named(&self, name: &str) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.is_called(name))
    }

    /// Those that are loaded.
    pub(crate) fn loaded(&self) -> impl Iterator<Item = Arc<Loaded>> + '_ {
        self.slots.iter().filter_map(Slot::loaded)
    }

    /// The model that a request names, the first if it names none or an empty name, as some editors do, with the LoRA adapter if it names
    /// that. Waits until it is loaded, and has it loaded if need be.
    ///
    /// # Errors
    /// If there is no such model, it cannot be loaded, or that takes longer than a request may.
    pub(crate) async fn get(self: &Arc<Models>, name: Option<&str>) -> Result<Arc<Loaded>, ApiError> {
        let name = name.filter(|name| !name.is_empty());
        let loaded = self.loaded_of(name).await?;
        let adapter = name.filter(|name| self.named(name).is_some_and(|slot| slot.has_adapter(name)));
        Ok(adapter.map_or(Arc::clone(&loaded), |adapter| Arc::new(loaded.adapted(adapter))))
    }

    /// The model that a request names.
    async fn loaded_of(self: &Arc<Models>, name: Option<&str>) -> Result<Arc<Loaded>, ApiError> {
        let at = match name {
            None => Some(0),
            Some(name) => self.slots.iter().position(|slot| slot.is_called(name)),
        };
        let Some((at, slot)) = at.and_then(|at| Some((at, self.slots.get(at)?))) else {
            return Err(self.no_such());
        };
        slot.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        if let Some(loaded) = slot.open() {
            return Ok(loaded);
        }
        let _told = waiting(&slot.source.name, &slot.progress);
        let mut coming = slot.wait(|send| {
            tokio::spawn(Arc::clone(self).bring(at, send));
        });
        let most = self.limits.request_time;
        let brought = tokio::time::timeout(most, coming.wait_for(Option::is_some)).await;
        let Ok(brought) = brought else {
            let message = format!(
                "`{}` was not loaded within {} s, the most that a request may take; try again later",
                slot.source.name,
                most.as_secs()
            );
            return Err(ApiError::new(Kind::Timeout, message));
        };
        match brought.ok().and_then(|brought| brought.clone()) {
            Some(result) => result,
            None => Err(ApiError::new(Kind::Internal, "loading the model panicked")),
        }
    }

    /// Loads a model for those who wait for it, once it is its turn and there is memory.
    async fn bring(self: Arc<Models>, at: usize, waiting: Arc<watch::Sender<Brought>>) {
        let slot = &self.slots[at];
        let _clears = slot.progress.clear_later();
        slot.progress.set(Some(Step::Memory));
        let _turn = self.turn.lock().await;
        let _changing = slot.changing.lock().await;
        let result = match slot.open() {
            Some(loaded) => Ok(loaded),
            None => self.load_with_room(slot, &waiting).await,
        };
        slot.progress.set(None);
        slot.tell(&waiting, result);
        // It may have a limit of time.
        self.alarm.notify_one();
    }

    async fn load_with_room(
        &self,
        slot: &Slot,
        waiting: &watch::Sender<Brought>,
    ) -> Result<Arc<Loaded>, ApiError> {
        let room = self.make_room(slot, waiting).await;
        // Those that were to leave and did not have to.
        self.slots.iter().for_each(|other| other.leave(false));
        room?;
        loop {
            slot.progress.set(Some(Step::Loading { task: "opening the file", done: 0, total: 0 }));
            match self.load(slot).await {
                Err(Unfit { out_of_memory: true, .. }) if self.unload_one(slot).await => {}
                loaded => return loaded.map_err(|unfit| unfit.error),
            }
        }
    }

    async fn load(&self, slot: &Slot) -> Result<Arc<Loaded>, Unfit> {
        let ModelSource { name, path, defaults, system, think, reasoning_budget, preserve, .. } =
            slot.source.clone();
        let begun = Instant::now();
        info!(model = %name, "loading");
        let (options, metrics) = (self.options(slot).clone(), self.metrics.of_model(&name));
        let mut report = logged(name.clone(), Arc::clone(&slot.progress));
        let failed = |why: String, out_of_memory: bool| {
            warn!(model = %name, %why, "cannot load the model");
            let error = ApiError::new(Kind::Internal, format!("cannot load the model `{name}`: {why}"));
            Unfit { out_of_memory, error }
        };
        let describing = metrics.clone();
        let describe = move |engine: &Engine| {
            describing.observe(&engine.stats());
            describing.cache(engine.page(), engine.stats().pages);
            Facts::of(engine)
        };
        let (worker, facts) = Worker::start(
            &name,
            &self.limits,
            metrics,
            self.events.as_ref().map(|events| events.of_model(&name)),
            move || options.open_with(&path, &mut report),
            describe,
        )
        .map_err(|error| failed(error.to_string(), false))?;
        let facts = match facts.await {
            Ok(facts) => facts.map_err(|error| failed(error.to_string(), error.is_out_of_memory()))?,
            Err(_) => return Err(failed("loading panicked".into(), false)),
        };
        info!(model = %name, seconds = begun.elapsed().as_secs_f64(), device = %facts.device, "loaded");
        let grammars = Grammars::new(Arc::clone(&facts.tokenizer));
        let shared = Shared { system, think, reasoning_budget, preserve, grammars, facts, worker };
        let loaded = Arc::new(Loaded { name, defaults, shared: Arc::new(shared) });
        slot.put(&loaded);
        Ok(loaded)
    }

    /// How a model is run.
    fn options<'a>(&'a self, slot: &'a Slot) -> &'a EngineOptions {
        slot.source.engine.as_ref().unwrap_or(&self.engine)
    }

    /// Sets how long a model stays loaded after its last request; `None` is without end. A pinned model stays.
    pub(crate) fn keep(&self, slot: &Slot, most: Option<Duration>) {
        if !slot.is_pinned() {
            slot.keep.limit(most);
            self.alarm.notify_one();
        }
    }

    /// Pins a model, so that only those who ask for it unload it; or lets it be unloaded again.
    pub(crate) fn pin(&self, slot: &Slot, pinned: bool) {
        slot.pin(pinned);
        slot.keep.limit(if pinned { None } else { slot.source.keep_alive });
        self.alarm.notify_one();
    }

    /// Unloads a model now, or as soon as nobody uses it.
    pub(crate) async fn let_go(&self, slot: &Slot) {
        slot.keep.limit(Some(Duration::ZERO));
        self.alarm.notify_one();
        self.sleep(slot, false).await;
    }

    /// Unloads models whose time is over, for ever.
    pub(crate) async fn unload_idle(self: Arc<Models>) {
        loop {
            let mut pause = None;
            for slot in &self.slots {
                let Some(tick) = slot.keep.tick().filter(|_| slot.loaded().is_some()) else { continue };
                pause = Some(pause.map_or(tick, |known: Duration| known.min(tick)));
                if slot.keep.is_over(slot.is_used()) {
                    self.sleep(slot, true).await;
                }
            }
            let more = self.alarm.notified();
            match pause {
                // A limit may have been set meanwhile that is shorter.
                Some(pause) => drop(tokio::time::timeout(pause, more).await),
                None => more.await,
            }
        }
    }

    /// Unloads a model, unless somebody uses it.
    async fn sleep(&self, slot: &Slot, idle: bool) {
        // A request that comes meanwhile loads the model again, but not before its memory is free.
        let _changing = slot.changing.lock().await;
        let Some(unloaded) = slot.take_unused() else { return };
        let why = if idle { "its time without requests is over" } else { "a client asked for it" };
        info!(model = %slot.source.name, why, "unloading");
        released(slot, unloaded).await;
        slot.keep.sleep(idle);
    }
}

/// Waits for the thread of a model, which then has given its memory back. That goes on if nobody waits any more.
async fn released(slot: &Slot, unloaded: Arc<Loaded>) {
    let releasing = Arc::clone(&slot.releasing);
    let released = tokio::task::spawn_blocking(move || {
        drop(unloaded);
        weft_host::give_back_freed_memory();
        releasing.store(false, Ordering::SeqCst);
    });
    let _ = released.await;
}
