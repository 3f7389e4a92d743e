//! Hands a request to a model, for all APIs.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use weft_engine::{GenerateOptions, LogitProcessor, Request};
use weft_grammar::{GrammarError, GrammarSpec};

use super::dialogue::Dialogue;
use super::sampling::Parameters;
use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::http::{new_seed, request_id};
use crate::models::Loaded;
use crate::reply::{Reading, Replies};
use crate::tenant::Tenant;
use crate::worker::{Job, Listed, Worker};

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
    /// What constrains each reply. Empty if nothing does.
    pub(crate) constraints: Vec<Box<dyn LogitProcessor>>,
    /// How replies are read.
    pub(crate) reading: Reading,
}

/// The model that the body of a request names.
///
/// # Errors
/// If there is none, it cannot be loaded, or the server is shutting down.
pub(crate) async fn model(app: &App, body: &Value) -> Result<Arc<Loaded>, ApiError> {
    if app.is_draining() {
        let message = "the server is shutting down; try again when it is back";
        return Err(ApiError::new(Kind::Unavailable, message).retry_after(std::time::Duration::from_secs(5)));
    }
    // What is not a text is refused with the other fields.
    let model = app.models.get(body.get("model").and_then(Value::as_str)).await?;
    model.worker.announce();
    Ok(model)
}

/// The replies to a conversation.
pub(crate) struct Conversation {
    /// The number of tokens of the prompt.
    pub(crate) prompt_tokens: usize,
    /// The replies, as they come.
    pub(crate) replies: Replies,
}

/// Asks a model for `n` replies to a conversation.
///
/// # Errors
/// If the chat template refuses it, its grammar cannot be compiled, it does not fit the context, or the server is busy.
pub(crate) async fn converse(
    app: &App,
    tenant: &Tenant,
    model: &Arc<Loaded>,
    dialogue: Dialogue,
    parameters: Parameters,
    n: usize,
) -> Result<Conversation, ApiError> {
    let (_, prompt) = dialogue.prompt(model, Some(model.facts.context)).await?;
    let constraints = constraints(model, prompt.grammar, n).await?;
    let Parameters { mut options, seeded } = parameters;
    options.shown = prompt.shown;
    let prompt_tokens = prompt.tokens.len();
    let ask = Ask { prompts: vec![prompt.tokens], n, options, seeded, constraints, reading: prompt.reading };
    let replies = submit(app, tenant, model, ask)?;
    Ok(Conversation { prompt_tokens, replies })
}

/// Asks a model. The replies are numbered in the order of the prompts.
///
/// # Errors
/// If a prompt does not fit the context, or the server is busy.
pub(crate) fn submit(app: &App, tenant: &Tenant, model: &Loaded, ask: Ask) -> Result<Replies, ApiError> {
    let Ask { prompts, n, mut options, seeded, constraints, reading } = ask;
    let context = model.facts.context;
    // A reply without a limit of its own may fill the context; one that has more room than there is, likewise.
    for prompt in &prompts {
        if prompt.len() > context || (prompt.len() == context && options.max_tokens != Some(0)) {
            return Err(ApiError::context(prompt.len(), context));
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
    let mut constraints = constraints.into_iter();
    let requests = requests.map(|(choice, prompt)| {
        let mut options = options.clone();
        // The first reply to a seed is the same, whatever `n`.
        options.sampling.seed = seed.wrapping_add((choice % n) as u64);
        let request = Request::new(prompt).options(options);
        match constraints.next() {
            Some(constraint) => request.processor(constraint),
            None => request,
        }
    });
    let (signals, receive) = Worker::channel();
    let job = Job {
        tenant: tenant.clone(),
        requests: requests.collect(),
        prompt_tokens,
        reply_tokens,
        paid: 0,
        since: now,
        deadline: now + app.limits.request_time,
        listed: Arc::new(Listed::new(request_id(), now, prompt_tokens)),
        signals,
    };
    model.worker.submit(job)?;
    Ok(Replies::new(receive, count, &reading))
}

/// Compiles a grammar for each of `n` replies; none if it allows everything.
///
/// # Errors
/// If it cannot be enforced: an output that was asked for is never left to chance.
pub(crate) async fn constraints(
    model: &Arc<Loaded>,
    grammar: GrammarSpec,
    n: usize,
) -> Result<Vec<Box<dyn LogitProcessor>>, ApiError> {
    if !grammar.constrains() {
        return Ok(Vec::new());
    }
    let model = Arc::clone(model);
    let compiled = tokio::task::spawn_blocking(move || {
        let one = |_| model.grammars.compile(&grammar);
        let all: Result<Vec<_>, GrammarError> = (0..n).map(one).collect();
        all.map(|all| all.into_iter().flatten().collect())
    });
    let compiled =
        compiled.await.map_err(|_| ApiError::new(Kind::Internal, "the grammar compiler panicked"))?;
    compiled.map_err(|error: GrammarError| {
        let kind = if error.server { Kind::Unavailable } else { Kind::Invalid };
        let param = error
            .param("response_format.json_schema.schema", |tool| format!("tools[{tool}].function.parameters"));
        let message = format!("this cannot be enforced: {error}");
        ApiError { param, ..ApiError::new(kind, message) }.code("invalid_grammar")
    })
}
