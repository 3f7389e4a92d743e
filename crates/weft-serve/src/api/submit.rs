//! Hands a request to a model, for all APIs.

use std::sync::Arc;
use std::time::Instant;

use weft_engine::{GenerateOptions, LogitProcessor, Request};

use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::http::new_seed;
use crate::models::Loaded;
use crate::reply::{Reading, Replies};
use crate::tenant::Tenant;
use crate::worker::{Job, Worker};

/// Makes a grammar for each reply.
pub(crate) type NewProcessor = Box<dyn Fn() -> Box<dyn LogitProcessor> + Send>;

/// What a model is asked.
pub(crate) struct Ask {
    /// The prompts, one for each group of `n` replies.
    pub(crate) prompts: Vec<Vec<u32>>,
    /// The number of replies to each prompt.
    pub(crate) n: usize,
    /// How replies are generated.
    pub(crate) options: GenerateOptions,
    /// Whether the client gave the seed.
    pub(crate) seeded: bool,
    /// The grammar of the replies.
    pub(crate) grammar: Option<NewProcessor>,
    /// How replies are read.
    pub(crate) reading: Reading,
}

/// The model that a request names.
///
/// # Errors
/// If there is none, it cannot be loaded, or the server is shutting down.
pub(crate) async fn model(app: &App, name: Option<&str>) -> Result<Arc<Loaded>, ApiError> {
    if app.is_draining() {
        let message = "the server is shutting down; try again when it is back";
        return Err(ApiError::new(Kind::Unavailable, message).retry_after(std::time::Duration::from_secs(5)));
    }
    app.models.get(name).await
}

/// Asks a model. The replies are numbered in the order of the prompts.
///
/// # Errors
/// If a prompt does not fit the context, or the server is busy.
pub(crate) fn submit(app: &App, tenant: &Tenant, model: &Loaded, ask: Ask) -> Result<Replies, ApiError> {
    let Ask { prompts, n, mut options, seeded, grammar, reading } = ask;
    let context = model.facts.context;
    // A reply without a limit of its own may fill the context; one that has more room than there is, likewise.
    for prompt in &prompts {
        if prompt.len() > context || (prompt.len() == context && options.max_tokens != Some(0)) {
            return Err(ApiError::context(prompt.len(), 0, context));
        }
    }
    if let Some(most) = app.limits.max_tokens {
        options.max_tokens = Some(options.max_tokens.map_or(most, |asked| asked.min(most)));
    }
    options.salt = tenant.salt().to_string();
    if !seeded {
        options.sampling.seed = new_seed();
    }
    let seed = options.sampling.seed;
    let now = Instant::now();
    let count = prompts.len() * n;
    let prompt_tokens = prompts.iter().map(|prompt| prompt.len() * n).sum();
    let longest = prompts.iter().map(Vec::len).max().unwrap_or(0);
    let reply_tokens = options.max_tokens.unwrap_or(context).min(context - longest) * count;
    let requests = prompts.into_iter().flat_map(|prompt| std::iter::repeat_n(prompt, n)).enumerate();
    let requests = requests.map(|(choice, prompt)| {
        let mut options = options.clone();
        // The first reply to a seed is the same, whatever `n`.
        options.sampling.seed = seed.wrapping_add((choice % n) as u64);
        let request = Request::new(prompt).options(options);
        match &grammar {
            Some(new) => request.processor(new()),
            None => request,
        }
    });
    let (signals, receive) = Worker::channel();
    let job = Job {
        tenant: tenant.clone(),
        requests: requests.collect(),
        prompt_tokens,
        reply_tokens,
        since: now,
        deadline: now + app.limits.request_time,
        signals,
    };
    model.worker.submit(job)?;
    Ok(Replies::new(receive, count, &reading))
}
