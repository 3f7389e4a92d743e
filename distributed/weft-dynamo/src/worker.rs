//! The seam: an engine as Dynamo drives it.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use dynamo_backend_common::{
    AsyncEngineContext, DynamoError, EngineConfig, GenerateContext, KvEventSource, LLMEngine,
    LLMEngineOutput, LlmRegistration, MetricsBindings, MetricsCtx, PreprocessedRequest,
};
use futures::StreamExt as _;
use futures::stream::{BoxStream, unfold};
use serde_json::{Value, json};
use tracing::info;
use weft_engine::{EngineOptions, LogitProcessor, Tokenizer, Usage};
use weft_grammar::ReplyForms;

use crate::thread::{EngineThread, Item, Reply};
use crate::{down, failed, guided, outputs, refused, requests};

/// How long replies have to end. Less than what Dynamo leaves a worker that it stops.
const DRAIN: Duration = Duration::from_secs(20);

/// The time between two looks at the number of replies.
const POLL: Duration = Duration::from_millis(20);

/// A worker: opens its model when it is started, and serves requests until it is cleaned up.
pub struct Worker {
    model: PathBuf,
    name: String,
    options: EngineOptions,
    drain: Duration,
    reasons: bool,
    started: Mutex<Option<Started>>,
}

/// The parts of a started worker.
#[derive(Clone)]
struct Started {
    thread: Arc<EngineThread>,
    tokenizer: Arc<Tokenizer>,
    forms: Arc<ReplyForms>,
}

impl Worker {
    /// Creates a worker of a model file, which clients know by `name`.
    pub fn new(model: impl Into<PathBuf>, name: impl Into<String>, options: EngineOptions) -> Worker {
        let (model, name, started) = (model.into(), name.into(), Mutex::new(None));
        Worker { model, name, options, drain: DRAIN, reasons: false, started }
    }

    /// Sets how long a worker that is cleaned up waits for its replies to end. The front end sends the others elsewhere.
    pub fn drain(self, drain: Duration) -> Worker {
        Worker { drain, ..self }
    }

    /// Sets whether the front end takes reasoning out of replies. Then a reply of a form may reason before it.
    pub fn reasons(self, reasons: bool) -> Worker {
        Worker { reasons, ..self }
    }

    /// A processor that makes the reply follow the form that a request asks for, if it asks for one.
    async fn guided(
        &self,
        started: &Started,
        request: PreprocessedRequest,
    ) -> Result<Option<Box<dyn LogitProcessor>>, DynamoError> {
        let Some(asked) = request.sampling_options.guided_decoding else { return Ok(None) };
        let (Started { tokenizer, forms, .. }, reasons) = (started.clone(), self.reasons);
        let compile = move || guided::processor(&asked, &request.token_ids, &forms, &tokenizer, reasons);
        tokio::task::spawn_blocking(compile).await.map_err(failed)?
    }

    fn started(&self) -> Result<Started, DynamoError> {
        self.state().clone().ok_or_else(|| down("this worker has not started, or has stopped"))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, Option<Started>> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl LLMEngine for Worker {
    async fn start(&self, _worker_id: u64) -> Result<EngineConfig, DynamoError> {
        let (model, options) = (self.model.clone(), self.options.clone());
        info!(model = %model.display(), "loading");
        let opened = tokio::task::spawn_blocking(move || options.open(model)).await;
        let engine = opened.map_err(down)?.map_err(refused)?;
        let number = |n: usize| u32::try_from(n).ok();
        let config = EngineConfig {
            model: self.name.clone(),
            llm: Some(LlmRegistration {
                context_length: number(engine.context()),
                kv_cache_block_size: number(engine.page()),
                total_kv_blocks: Some(engine.stats().pages as u64),
                max_num_seqs: Some(self.options.sequences as u64),
                max_num_batched_tokens: self.options.batch.map(|tokens| tokens as u64),
                ..LlmRegistration::default()
            }),
            ..EngineConfig::default()
        };
        let tokenizer = Arc::clone(engine.model().tokenizer());
        let thread = Arc::new(EngineThread::start(engine).map_err(down)?);
        let forms = Arc::new(ReplyForms::new(Arc::clone(&tokenizer)));
        *self.state() = Some(Started { thread, tokenizer, forms });
        Ok(config)
    }

    async fn generate(
        &self,
        request: PreprocessedRequest,
        context: GenerateContext,
    ) -> Result<BoxStream<'static, Result<LLMEngineOutput, DynamoError>>, DynamoError> {
        let started = self.started()?;
        // A request without a seed gets one of its own.
        let mut seed = DefaultHasher::new();
        context.id().hash(&mut seed);
        let prompt_tokens = request.token_ids.len();
        let mut asked = requests::request(&request, seed.finish())?;
        if let Some(processor) = self.guided(&started, request).await? {
            asked = asked.processor(processor);
        }
        let Started { thread, tokenizer, .. } = started;
        let reply = thread.reply(asked).ok_or_else(|| down("the engine has stopped"))?;
        let stream = Stream { reply, tokenizer, context: context.inner_arc(), prompt_tokens, tokens: 0 };
        Ok(unfold(Some(stream), |stream| async { Some(stream?.next().await) }).boxed())
    }

    async fn is_quiescent(&self) -> Result<Option<bool>, DynamoError> {
        Ok(Some(self.state().as_ref().is_none_or(|started| started.thread.replies() == 0)))
    }

    async fn cleanup(&self) -> Result<(), DynamoError> {
        // Dynamo waits for replies only in workers for prompts. This worker takes no more requests.
        let Some(Started { thread, .. }) = self.state().take() else { return Ok(()) };
        let end = Instant::now() + self.drain;
        while thread.replies() > 0 && Instant::now() < end {
            tokio::time::sleep(POLL).await;
        }
        tokio::task::spawn_blocking(move || thread.stop()).await.map_err(down)
    }

    async fn kv_event_sources(&self) -> Result<Vec<KvEventSource>, DynamoError> {
        let Started { thread, .. } = self.started()?;
        let on_ready = Box::new(move |publisher| {
            thread.publish_events(publisher);
            Ok(())
        });
        Ok(vec![KvEventSource::Push { on_ready, dp_rank: 0 }])
    }

    async fn setup_metrics(&self, _context: MetricsCtx<'_>) -> Result<MetricsBindings, DynamoError> {
        let Started { thread, .. } = self.started()?;
        let on_ready = Box::new(move |publisher| {
            thread.publish_reports(publisher);
            Ok(())
        });
        Ok(MetricsBindings { dp_ranks: vec![0], on_publisher_ready: Some(on_ready) })
    }

    async fn health_check_payload(&self) -> Result<Option<Value>, DynamoError> {
        Ok(Some(json!({
            "token_ids": [0],
            "stop_conditions": { "max_tokens": 1, "ignore_eos": true },
            "sampling_options": { "temperature": 0.0 },
        })))
    }
}

/// A reply as a stream.
struct Stream {
    reply: Reply,
    tokenizer: Arc<Tokenizer>,
    context: Arc<dyn AsyncEngineContext>,
    prompt_tokens: usize,
    /// The number of tokens so far.
    tokens: usize,
}

impl Stream {
    /// The next item, and the stream if there can be more.
    async fn next(mut self) -> (Result<LLMEngineOutput, DynamoError>, Option<Stream>) {
        let item = tokio::select! {
            biased;
            () = self.context.stopped() => {
                let mut used = Usage::default();
                (used.prompt_tokens, used.tokens) = (self.prompt_tokens, self.tokens);
                return (Ok(outputs::cancelled(used)), None);
            }
            item = self.reply.next() => item,
        };
        match item {
            Some(Item::Token(token)) => {
                self.tokens += 1;
                (Ok(outputs::token(&token, &self.tokenizer)), Some(self))
            }
            Some(Item::End(finish, used, last)) => {
                let last = last.map(|token| outputs::token(&token, &self.tokenizer));
                (outputs::end(finish, used, last), None)
            }
            Some(Item::Refused(why)) => (Err(refused(why)), None),
            None => (Err(down("the engine stopped before the reply ended")), None),
        }
    }
}
