//! The numbers of `/metrics`, by the names that vLLM uses, which schedulers such as llm-d's read.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use weft_engine::{Finish, SOURCES, Stats, Usage};

/// Labels of a model's metrics.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct Model {
    model_name: String,
}

/// Labels of counts of replies.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct Ended {
    model_name: String,
    finished_reason: &'static str,
}

/// Labels of counts of HTTP responses.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct Response {
    route: String,
    status: u16,
}

/// Labels of pages of the prompt cache.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct CachedPages {
    model_name: String,
    what: &'static str,
}

/// Labels of accepted tokens by their places in a guess, from 0.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct Accepted {
    model_name: String,
    position: usize,
}

/// Labels of guessed tokens by where they come from.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct GuessedBy {
    model_name: String,
    source: &'static str,
}

/// Labels of the KV cache's sizes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct CacheConfig {
    model_name: String,
    block_size: String,
    num_gpu_blocks: String,
}

type FloatGauge = Gauge<f64, AtomicU64>;
type FloatCounter = Counter<f64, AtomicU64>;
type Times = Family<Model, Histogram, fn() -> Histogram>;

/// All metrics of a server.
#[derive(Clone)]
pub(crate) struct Metrics {
    registry: Arc<Mutex<Registry>>,
    families: Families,
    responses: Family<Response, Counter>,
    uptime: FloatGauge,
    started: Instant,
}

#[derive(Clone)]
struct Families {
    running: Family<Model, Gauge>,
    waiting: Family<Model, Gauge>,
    cache_usage: Family<Model, FloatGauge>,
    cache_config: Family<CacheConfig, Gauge>,
    pages: Family<Model, Gauge>,
    pages_held: Family<Model, Gauge>,
    pages_kept: Family<Model, Gauge>,
    preemptions: Family<Model, Counter>,
    steps: Family<Model, Counter>,
    computed: Family<Model, Counter>,
    prompt_tokens: Family<Model, Counter>,
    generation_tokens: Family<Model, Counter>,
    prefix_queries: Family<Model, Counter>,
    prefix_hits: Family<Model, Counter>,
    guesses: Family<Model, Counter>,
    guessed: Family<Model, Counter>,
    accepted: Family<Model, Counter>,
    accepted_at: Family<Accepted, Counter>,
    guessed_by: [Family<GuessedBy, Counter>; 2],
    cached_pages: Family<CachedPages, Counter>,
    experts: [Family<Model, Counter>; 3],
    crossings: Family<Model, Counter>,
    crossing_times: [Family<Model, FloatCounter>; 2],
    ended: Family<Ended, Counter>,
    first_token: Times,
    between_tokens: Times,
    queue_time: Times,
    whole: Times,
}

impl Metrics {
    /// Creates the metrics.
    pub(crate) fn new() -> Metrics {
        let mut registry = Registry::default();
        // The name `Histogram::new` takes buckets, so a family needs a function to make one.
        let times = || Times::new_with_constructor(|| Histogram::new(BUCKETS));
        let families = Families {
            running: Family::default(),
            waiting: Family::default(),
            cache_usage: Family::default(),
            cache_config: Family::default(),
            pages: Family::default(),
            pages_held: Family::default(),
            pages_kept: Family::default(),
            preemptions: Family::default(),
            steps: Family::default(),
            computed: Family::default(),
            prompt_tokens: Family::default(),
            generation_tokens: Family::default(),
            prefix_queries: Family::default(),
            prefix_hits: Family::default(),
            guesses: Family::default(),
            guessed: Family::default(),
            accepted: Family::default(),
            accepted_at: Family::default(),
            guessed_by: Default::default(),
            cached_pages: Family::default(),
            experts: Default::default(),
            crossings: Family::default(),
            crossing_times: Default::default(),
            ended: Family::default(),
            first_token: times(),
            between_tokens: times(),
            queue_time: times(),
            whole: times(),
        };
        let (f, r) = (&families, &mut registry);
        r.register("vllm:num_requests_running", "Replies that are being computed", f.running.clone());
        r.register("vllm:num_requests_waiting", "Requests that wait", f.waiting.clone());
        r.register("vllm:kv_cache_usage_perc", "Share of the KV cache in use, 0 to 1", f.cache_usage.clone());
        r.register("vllm:cache_config_info", "Sizes of the KV cache", f.cache_config.clone());
        r.register("vllm:num_preemptions", "Replies whose pages were taken", f.preemptions.clone());
        r.register("vllm:prompt_tokens", "Tokens of prompts", f.prompt_tokens.clone());
        r.register("vllm:generation_tokens", "Tokens of replies", f.generation_tokens.clone());
        r.register("vllm:prefix_cache_queries", "Prompt tokens looked up", f.prefix_queries.clone());
        r.register("vllm:prefix_cache_hits", "Prompt tokens found", f.prefix_hits.clone());
        r.register("vllm:spec_decode_num_drafts", "Guesses of the next tokens of replies", f.guesses.clone());
        r.register("vllm:spec_decode_num_draft_tokens", "Guessed tokens", f.guessed.clone());
        r.register(
            "vllm:spec_decode_num_accepted_tokens",
            "Guessed tokens that were right",
            f.accepted.clone(),
        );
        r.register(
            "vllm:spec_decode_num_accepted_tokens_per_pos",
            "Guessed tokens that were right, by place in the guess",
            f.accepted_at.clone(),
        );
        let [guessed, accepted] = &f.guessed_by;
        r.register("weft_guessed_tokens", "Guessed tokens, by where they come from", guessed.clone());
        r.register(
            "weft_accepted_tokens",
            "Guessed tokens that were right, by where they come from",
            accepted.clone(),
        );
        r.register("vllm:request_success", "Replies that ended, by reason", f.ended.clone());
        r.register("vllm:time_to_first_token_seconds", "Time to the first token", f.first_token.clone());
        r.register("vllm:inter_token_latency_seconds", "Time between tokens", f.between_tokens.clone());
        r.register("vllm:request_queue_time_seconds", "Time before the first step", f.queue_time.clone());
        r.register("vllm:e2e_request_latency_seconds", "Time of a whole request", f.whole.clone());
        r.register("weft_pages", "Pages of the KV cache", f.pages.clone());
        r.register("weft_pages_held", "Pages that replies hold", f.pages_held.clone());
        r.register("weft_pages_kept", "Pages that only the prefix cache holds", f.pages_kept.clone());
        r.register("weft_prompt_cache_pages", "Pages of the prompt cache on disk", f.cached_pages.clone());
        let [chosen, in_slots, copied] = &f.experts;
        r.register("weft_experts_chosen", "Experts chosen, where some are in slots of a GPU", chosen.clone());
        r.register("weft_experts_in_slots", "Those that were in slots", in_slots.clone());
        r.register("weft_experts_copied_bytes", "Bytes of experts copied to slots", copied.clone());
        r.register("weft_crossings", "How often a GPU and the CPU exchanged values", f.crossings.clone());
        let [waited, computed] = &f.crossing_times;
        r.register("weft_crossing_wait_seconds", "Time that the CPU waited for a GPU", waited.clone());
        r.register("weft_crossing_cpu_seconds", "Time that the CPU computed beside a GPU", computed.clone());
        r.register("weft_steps", "Steps of the engine", f.steps.clone());
        r.register("weft_computed_tokens", "Tokens computed, of prompts and replies", f.computed.clone());
        let responses = Family::default();
        r.register("weft_http_responses", "HTTP responses, by route and status", responses.clone());
        let uptime = FloatGauge::default();
        r.register("weft_uptime_seconds", "Time since the server started", uptime.clone());
        let registry = Arc::new(Mutex::new(registry));
        Metrics { registry, families, responses, uptime, started: Instant::now() }
    }

    /// The metrics of a model.
    pub(crate) fn of_model(&self, name: &str) -> ModelMetrics {
        let model = Model { model_name: name.to_string() };
        let metrics = ModelMetrics {
            families: self.families.clone(),
            model,
            seen: Arc::new(Mutex::new(Stats::default())),
        };
        metrics.observe(&Stats::default());
        metrics.waiting(0);
        metrics
    }

    /// Counts a response.
    pub(crate) fn response(&self, route: &str, status: u16) {
        self.responses.get_or_create(&Response { route: route.to_string(), status }).inc();
    }

    /// The time since the server started.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// The text of `/metrics`.
    pub(crate) fn render(&self) -> String {
        self.uptime.set(self.started.elapsed().as_secs_f64());
        let mut text = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &registry);
        text
    }
}

/// The bounds of the histograms of times, in seconds.
const BUCKETS: [f64; 18] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
    300.0,
];

/// The metrics of a model.
#[derive(Clone)]
pub(crate) struct ModelMetrics {
    families: Families,
    model: Model,
    /// The statistics at the last observation: counters grow by the difference.
    seen: Arc<Mutex<Stats>>,
}

impl ModelMetrics {
    /// Records the engine's statistics.
    pub(crate) fn observe(&self, stats: &Stats) {
        let ModelMetrics { families: f, model, seen } = self;
        let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        f.running.get_or_create(model).set(count(stats.running));
        f.pages.get_or_create(model).set(count(stats.pages));
        f.pages_held.get_or_create(model).set(count(stats.pages_held));
        f.pages_kept.get_or_create(model).set(count(stats.pages_kept));
        let used = if stats.pages > 0 { stats.pages_held as f64 / stats.pages as f64 } else { 0.0 };
        f.cache_usage.get_or_create(model).set(used);
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        let grow = |counter: &Family<Model, Counter>, now: u64, before: u64| {
            counter.get_or_create(model).inc_by(now.saturating_sub(before));
        };
        grow(&f.preemptions, stats.preempted, seen.preempted);
        grow(&f.generation_tokens, stats.generated, seen.generated);
        grow(&f.prefix_queries, stats.prefix_queries, seen.prefix_queries);
        grow(&f.prefix_hits, stats.prefix_hits, seen.prefix_hits);
        grow(&f.steps, stats.steps, seen.steps);
        grow(&f.computed, stats.computed, seen.computed);
        let (now, before) = (stats.speculation, seen.speculation);
        grow(&f.guesses, now.guesses, before.guesses);
        grow(&f.guessed, now.guessed, before.guessed);
        grow(&f.accepted, now.accepted, before.accepted);
        let places = now.accepted_at.into_iter().zip(before.accepted_at).enumerate();
        for (position, (now, before)) in places.filter(|(_, (now, _))| *now > 0) {
            let labels = Accepted { model_name: model.model_name.clone(), position };
            f.accepted_at.get_or_create(&labels).inc_by(now.saturating_sub(before));
        }
        let sources = SOURCES.into_iter().zip(now.by_source.into_iter().zip(before.by_source));
        for (source, (now, before)) in sources.filter(|(_, (now, _))| now[0] > 0) {
            let labels = GuessedBy { model_name: model.model_name.clone(), source };
            for (family, (now, before)) in f.guessed_by.iter().zip(now.into_iter().zip(before)) {
                family.get_or_create(&labels).inc_by(now.saturating_sub(before));
            }
        }
        let (now, before) = (stats.prompt_cache, seen.prompt_cache);
        for (what, now, before) in [
            ("restored", now.restored, before.restored),
            ("written", now.written, before.written),
            ("damaged", now.damaged, before.damaged),
            ("failed", now.failed, before.failed),
            ("evicted", now.evicted, before.evicted),
        ] {
            let labels = CachedPages { model_name: model.model_name.clone(), what };
            f.cached_pages.get_or_create(&labels).inc_by(now.saturating_sub(before));
        }
        self.observe_devices(stats, &seen);
        *seen = *stats;
    }

    /// Records what a GPU and the CPU did together, if they did.
    fn observe_devices(&self, stats: &Stats, seen: &Stats) {
        let ModelMetrics { families: f, model, .. } = self;
        let (now, before) = (stats.slots, seen.slots);
        let counts = [(now.chosen, before.chosen), (now.found, before.found), (now.copied, before.copied)];
        for (family, (now, before)) in f.experts.iter().zip(counts).filter(|_| now.chosen > 0) {
            family.get_or_create(model).inc_by(now.saturating_sub(before));
        }
        let since = stats.crossings.since(seen.crossings);
        if since.count > 0 {
            f.crossings.get_or_create(model).inc_by(since.count);
            for (family, time) in f.crossing_times.iter().zip([since.waited, since.second]) {
                family.get_or_create(model).inc_by(time.as_secs_f64());
            }
        }
    }

    /// Records the sizes of the KV cache.
    pub(crate) fn cache(&self, page: usize, pages: usize) {
        let config = CacheConfig {
            model_name: self.model.model_name.clone(),
            block_size: page.to_string(),
            num_gpu_blocks: pages.to_string(),
        };
        self.families.cache_config.get_or_create(&config).set(1);
    }

    /// Records how many requests wait.
    pub(crate) fn waiting(&self, requests: usize) {
        self.families.waiting.get_or_create(&self.model).set(i64::try_from(requests).unwrap_or(i64::MAX));
    }

    /// Records the time of a reply's first token.
    pub(crate) fn first_token(&self, time: Duration) {
        self.families.first_token.get_or_create(&self.model).observe(time.as_secs_f64());
    }

    /// Records the time between two tokens of a reply.
    pub(crate) fn between_tokens(&self, time: Duration) {
        self.families.between_tokens.get_or_create(&self.model).observe(time.as_secs_f64());
    }

    /// Records that a reply has ended.
    pub(crate) fn ended(&self, finish: &Finish, usage: &Usage, queued: Duration, whole: Duration) {
        let ModelMetrics { families: f, model, .. } = self;
        let finished_reason = match finish {
            Finish::EndOfTurn | Finish::Stop(_) => "stop",
            Finish::Length | Finish::Context => "length",
            Finish::Cancelled => "abort",
            _ => "error",
        };
        let labels = Ended { model_name: model.model_name.clone(), finished_reason };
        f.ended.get_or_create(&labels).inc();
        f.prompt_tokens.get_or_create(model).inc_by(usage.prompt_tokens as u64);
        f.queue_time.get_or_create(model).observe(queued.as_secs_f64());
        f.whole.get_or_create(model).observe(whole.as_secs_f64());
    }
}
