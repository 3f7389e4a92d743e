//! The models of a server: loaded on first use, unloaded when another needs the memory.

mod header;
mod idle;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::{Mutex, Notify};
use tracing::{info, warn};
use weft_engine::{
    ChatTemplate, Engine, EngineOptions, GenerateOptions, Head, Ranking, TemplateError, Tokenizer,
};
use weft_grammar::Grammars;
use weft_host::available_memory;
use weft_text::reply::ReplyFormat;

use crate::error::{ApiError, Kind};
use crate::kv_events::KvEvents;
use crate::loading::logged;
use crate::metrics::Metrics;
use crate::options::{Limits, ModelSource};
use crate::worker::Worker;
pub(crate) use header::{Header, keys};
use idle::{Keep, TICK};

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
}

/// A model of the server.
pub(crate) struct Slot {
    /// Its source.
    pub(crate) source: ModelSource,
    /// The modification time of its file, in seconds since 1970.
    pub(crate) created: u64,
    used: AtomicU64,
    // Held while it loads: others wait for it.
    loading: Mutex<()>,
    loaded: std::sync::Mutex<Option<Arc<Loaded>>>,
    context: OnceLock<usize>,
    header: OnceLock<Header>,
    keep: Keep,
}

/// A model that is loaded.
pub(crate) struct Loaded {
    /// Its name in requests.
    pub(crate) name: String,
    /// What requests leave out.
    pub(crate) defaults: GenerateOptions,
    /// The system message of conversations that have none.
    pub(crate) system: Option<String>,
    /// Whether it reasons, where a request does not say.
    pub(crate) think: Option<bool>,
    /// The most tokens of its reasoning, where a request does not say.
    pub(crate) reasoning_budget: Option<usize>,
    /// What its file says.
    pub(crate) facts: Facts,
    /// Its grammars.
    pub(crate) grammars: Grammars,
    /// Its thread.
    pub(crate) worker: Worker,
}

/// Why a model cannot be loaded.
struct Unfit {
    /// It may work once other models are unloaded.
    out_of_memory: bool,
    error: ApiError,
}

/// What a model's file says, and how it runs.
pub(crate) struct Facts {
    /// The tokenizer.
    pub(crate) tokenizer: Arc<Tokenizer>,
    /// The chat template, or why there is none.
    pub(crate) template: Result<Arc<ChatTemplate>, TemplateError>,
    /// How the model writes reasoning and tool calls.
    pub(crate) format: ReplyFormat,
    /// The chat template for conversations with tools and its form of replies, if that is another.
    pub(crate) tools: Result<Option<(Arc<ChatTemplate>, ReplyFormat)>, TemplateError>,
    /// The most tokens of a prompt and its reply together.
    pub(crate) context: usize,
    /// The context that the model was trained for.
    pub(crate) trained: usize,
    /// The size of the vocabulary.
    pub(crate) vocab: usize,
    /// What the model computes: logits, embeddings or scores.
    pub(crate) head: Head,
    /// The number of values of that.
    pub(crate) width: usize,
    /// How the model ranks documents, if it does.
    pub(crate) ranking: Option<Ranking>,
    /// The architecture's name.
    pub(crate) architecture: String,
    /// The device's name.
    pub(crate) device: String,
    /// Whether that is a card with memory of its own.
    pub(crate) on_gpu: bool,
}

impl Facts {
    fn of(engine: &Engine) -> Facts {
        let model = engine.model();
        let config = &model.graph().config;
        let tokenizer = Arc::clone(model.tokenizer());
        Facts {
            format: tokenizer.chat_template().map(ReplyFormat::of).unwrap_or_default(),
            template: model.chat_template(),
            tools: model.tool_template().map(|template| {
                template.map(|template| {
                    let format = ReplyFormat::of(template.source());
                    (template, format)
                })
            }),
            tokenizer,
            context: engine.context(),
            trained: config.context,
            vocab: config.vocab,
            head: config.head,
            width: config.width(),
            ranking: model.ranking().cloned(),
            architecture: config.architecture.to_string(),
            device: engine.device().name.clone(),
            on_gpu: engine.device().hardware.distant,
        }
    }
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
        let slots = sources.into_iter().map(Slot::new).collect();
        Models { slots, engine, limits, metrics, events, clock: AtomicU64::new(1), alarm: Notify::new() }
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
        let names: Vec<String> = self.slots.iter().map(|slot| format!("`{}`", slot.source.name)).collect();
        let message = format!("there is no such model; this server has {}", names.join(", "));
        let error = ApiError { param: Some("model".into()), ..ApiError::new(Kind::NotFound, message) };
        error.code("model_not_found")
    }

    /// The model of this name.
    pub(crate) fn named(&self, name: &str) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.source.name == name)
    }

    /// Those that are loaded.
    pub(crate) fn loaded(&self) -> impl Iterator<Item = Arc<Loaded>> + '_ {
        self.slots.iter().filter_map(Slot::loaded)
    }

    /// The model that a request names, the first if it names none. Loads it if need be.
    ///
    /// # Errors
    /// If there is no such model, or it cannot be loaded.
    pub(crate) async fn get(self: &Arc<Models>, name: Option<&str>) -> Result<Arc<Loaded>, ApiError> {
        let at = match name {
            None => Some(0),
            Some(name) => self.slots.iter().position(|slot| slot.source.name == name),
        };
        let Some(slot) = at.and_then(|at| self.slots.get(at)) else {
            return Err(self.no_such());
        };
        slot.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        if let Some(loaded) = slot.loaded() {
            return Ok(loaded);
        }
        let _loading = slot.loading.lock().await;
        if let Some(loaded) = slot.loaded() {
            return Ok(loaded);
        }
        self.make_room(slot).await?;
        loop {
            match self.load(slot).await {
                Err(Unfit { out_of_memory: true, .. }) if self.unload_one().await => {}
                loaded => return loaded.map_err(|unfit| unfit.error),
            }
        }
    }

    async fn load(&self, slot: &Slot) -> Result<Arc<Loaded>, Unfit> {
        let ModelSource { name, path, defaults, system, think, reasoning_budget, engine } =
            slot.source.clone();
        let begun = Instant::now();
        info!(model = %name, "loading");
        let (options, metrics) = (engine.unwrap_or(self.engine.clone()), self.metrics.of_model(&name));
        let mut report = logged(name.clone());
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
        let _ = slot.context.set(facts.context);
        let loaded = Arc::new(Loaded {
            name,
            defaults,
            system,
            think,
            reasoning_budget,
            grammars: Grammars::new(Arc::clone(&facts.tokenizer)),
            facts,
            worker,
        });
        slot.keep.loaded();
        slot.set(Some(Arc::clone(&loaded)));
        Ok(loaded)
    }

    /// Unloads models that nobody uses, those used least recently first, until there is memory for this one.
    async fn make_room(&self, slot: &Slot) -> Result<(), ApiError> {
        let needed = slot.bytes();
        loop {
            let Some(available) = available_memory() else { return Ok(()) };
            if available >= needed {
                return Ok(());
            }
            if self.unload_one().await {
                continue;
            }
            if self.loaded().next().is_none() {
                // Nothing else to unload: the loader says what is missing, if anything is.
                return Ok(());
            }
            let message = format!(
                "`{}` needs about {} MB of memory, {} MB are free, and other models are in use; try again later",
                slot.source.name,
                needed / 1_000_000,
                available / 1_000_000
            );
            return Err(ApiError::new(Kind::Unavailable, message).retry_after(Duration::from_secs(10)));
        }
    }

    /// Sets how long a model stays loaded after its last request; `None` is without end.
    pub(crate) fn keep(&self, slot: &Slot, most: Option<Duration>) {
        slot.keep.limit(most);
        self.alarm.notify_one();
    }

    /// Unloads a model now, or as soon as nobody uses it.
    pub(crate) async fn let_go(&self, slot: &Slot) {
        self.keep(slot, Some(Duration::ZERO));
        slot.sleep().await;
    }

    /// Unloads models whose time is over, for ever.
    pub(crate) async fn unload_idle(self: Arc<Models>) {
        loop {
            let mut limited = false;
            for slot in &self.slots {
                if slot.loaded().is_none() || slot.keep.left().is_none() {
                    continue;
                }
                limited = true;
                if slot.keep.is_over(slot.is_used()) {
                    slot.sleep().await;
                }
            }
            if limited {
                tokio::time::sleep(TICK).await;
            } else {
                self.alarm.notified().await;
            }
        }
    }

    /// Unloads the model that was used least recently, of those that nobody uses. Returns whether there was one.
    async fn unload_one(&self) -> bool {
        let idle = self
            .slots
            .iter()
            .filter(|other| other.loaded().is_some_and(|loaded| loaded.worker.jobs() == 0))
            .min_by_key(|other| other.used.load(Ordering::Relaxed));
        let Some(idle) = idle else { return false };
        info!(model = %idle.source.name, "unloading, to make room");
        let unloaded = idle.set(None);
        // Waits for its thread.
        let _ = tokio::task::spawn_blocking(move || drop(unloaded)).await;
        true
    }
}

impl Slot {
    fn new(source: ModelSource) -> Slot {
        let modified = fs::metadata(&source.path).and_then(|file| file.modified()).ok();
        let created = modified.unwrap_or_else(SystemTime::now).duration_since(UNIX_EPOCH);
        Slot {
            source,
            created: created.map_or(0, |since| since.as_secs()),
            used: AtomicU64::new(0),
            loading: Mutex::new(()),
            loaded: std::sync::Mutex::new(None),
            context: OnceLock::new(),
            header: OnceLock::new(),
            keep: Keep::default(),
        }
    }

    /// What the model's file says; `None` if it cannot be read.
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
        let loaded = self.loaded.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        loaded.clone().filter(|loaded| !loaded.worker.is_closed())
    }

    /// The context length, if the model was ever loaded.
    pub(crate) fn context(&self) -> Option<usize> {
        self.context.get().copied()
    }

    fn set(&self, loaded: Option<Arc<Loaded>>) -> Option<Arc<Loaded>> {
        let mut slot = self.loaded.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        std::mem::replace(&mut slot, loaded)
    }

    /// Whether anybody uses the model: a job, or a request that is being read.
    fn is_used(&self) -> bool {
        let loaded = self.loaded.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        loaded.as_ref().is_some_and(|loaded| !is_unused(loaded))
    }

    /// Whether the model was unloaded because its time was over: the next request loads it.
    pub(crate) fn is_asleep(&self) -> bool {
        self.keep.is_asleep()
    }

    /// The time that the model stays loaded without requests, if it has a limit.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        self.keep.left()
    }

    /// Unloads the model, unless somebody uses it.
    async fn sleep(&self) {
        // A request that comes meanwhile loads the model again, but not before its memory is free.
        let _loading = self.loading.lock().await;
        let poisoned = std::sync::PoisonError::into_inner;
        let unloaded = self.loaded.lock().unwrap_or_else(poisoned).take_if(|loaded| is_unused(loaded));
        if unloaded.is_none() {
            return;
        }
        info!(model = %self.source.name, "unloading, since its time without requests is over");
        self.keep.sleep();
        // Waits for its thread.
        let _ = tokio::task::spawn_blocking(move || drop(unloaded)).await;
    }

    /// The memory that the model needs, roughly: the size of its files, and a tenth more.
    fn bytes(&self) -> u64 {
        let size = |path: &PathBuf| fs::metadata(path).map_or(0, |file| file.len());
        size(&self.source.path) / 10 * 11
    }
}

/// Whether nobody uses a model but the slot itself.
fn is_unused(loaded: &Arc<Loaded>) -> bool {
    Arc::strong_count(loaded) == 1 && loaded.worker.jobs() == 0
}
