//! Hands a request to a model, for all APIs.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use weft_engine::{EncodeOptions, GenerateOptions, Head, LogitProcessor, Request};
use weft_grammar::{GrammarError, GrammarSpec, ReasoningBudget};

use super::dialogue::Dialogue;
use super::lora;
use super::sampling::Parameters;
use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::http::{new_seed, request_id};
use crate::models::Loaded;
use crate::reply::{Reading, Replies};
use crate::tenant::Tenant;
use crate::worker::{Job, Listed, Signal, Worker};

/// A model's task.
pub(crate) struct Ask {
    /// The prompts, one for each group of `n` replies.
    pub(crate) prompts: Vec<Vec<u32>>,
    /// The number of replies to each prompt.
    pub(crate) n: usize,
    /// How replies are generated.
    pub(crate) options: GenerateOptions,
    /// Whether the client gave the seed.
    pub(crate) seeded: bool,
    /// The constraints of each reply, if there are any.
    pub(crate) constraints: Vec<Box<dyn LogitProcessor>>,
    /// The limit of each reply's reasoning, if there is one.
    pub(crate) budgets: Vec<ReasoningBudget>,
    /// How replies are read.
    pub(crate) reading: Reading,
}

/// The model that the body of a request names.
///
/// # Errors
/// If there is none, it cannot be loaded, or the server is shutting down.
pub(crate) async fn model(app: &App, body: &Value) -> Result<Arc<Loaded>, ApiError> {
    // A value that is not a text is refused with the other fields.
    model_named(app, body.get("model").and_then(Value::as_str)).await
}

/// The model that the body of a request names, if it writes text.
///
/// # Errors
/// Those of [`model`], and if it writes none.
pub(crate) async fn writer(app: &App, body: &Value) -> Result<Arc<Loaded>, ApiError> {
    let model = model(app, body).await?;
    writes(&model)?;
    Ok(model)
}

/// Refuses a model that writes no text.
///
/// # Errors
/// If it writes none.
pub(crate) fn writes(model: &Loaded) -> Result<(), ApiError> {
    let (does, route) = match model.facts.head {
        Head::Logits => return Ok(()),
        Head::Embedding(_) => ("computes embeddings", "/v1/embeddings"),
        Head::Scores { .. } => ("ranks documents", "/v1/rerank"),
    };
    let message = format!(
        "`{}` {does} and writes no text: use it at {route}, and name a chat model here, which the server must have been started \
         with (--model NAME=MODEL)",
        model.name
    );
    Err(ApiError::invalid("model", message).code("model_not_supported"))
}

/// The model of this name, the first without one.
///
/// # Errors
/// Those of [`model`].
pub(crate) async fn model_named(app: &App, name: Option<&str>) -> Result<Arc<Loaded>, ApiError> {
    if app.is_draining() {
        let message = "the server is shutting down; try again when it is back";
        return Err(ApiError::new(Kind::Unavailable, message).retry_after(std::time::Duration::from_secs(5)));
    }
    let model = app.models.get(name).await?;
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
    let (dialogue, prompt) = dialogue.prompt(model, Some(model.facts.context)).await?;
    let constraints = constraints(model, prompt.grammar, n, prompt.begun).await?;
    let budget = |most: usize| match &prompt.reading {
        Reading::Plain => None,
        Reading::Chat { format, tools, prompt } => {
            ReasoningBudget::new(format, tools, prompt, &model.facts.tokenizer, most)
        }
    };
    let budgets = dialogue.thinking.budget.into_iter().flat_map(|most| std::iter::repeat_n(most, n));
    let budgets = budgets.filter_map(budget).collect();
    let Parameters { mut options, seeded } = parameters;
    options.shown = prompt.shown;
    let prompt_tokens = prompt.tokens.len();
    let ask = Ask {
        prompts: vec![prompt.tokens],
        n,
        options,
        seeded,
        constraints,
        budgets,
        reading: prompt.reading,
    };
    let replies = submit(app, tenant, model, ask)?;
    Ok(Conversation { prompt_tokens, replies })
}

/// Asks a model. The replies are numbered in the order of the prompts.
///
/// # Errors
/// If a prompt does not fit the context, or the server is busy.
pub(crate) fn submit(app: &App, tenant: &Tenant, model: &Loaded, ask: Ask) -> Result<Replies, ApiError> {
    let Ask { prompts, n, mut options, seeded, constraints, budgets, reading } = ask;
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
    lora::check(model, &options)?;
    options.salt = tenant.salt().to_string();
    if !seeded {
        options.sampling.seed = new_seed();
    }
    let seed = options.sampling.seed;
    let count = prompts.len() * n;
    let prompt_tokens = prompts.iter().map(|prompt| prompt.len() * n).sum();
    let longest = prompts.iter().map(Vec::len).max().unwrap_or(0);
    let reply_tokens = options.max_tokens.unwrap_or(context).min(context - longest) * count;
    let requests = prompts.into_iter().flat_map(|prompt| std::iter::repeat_n(prompt, n)).enumerate();
    let (mut constraints, mut budgets) = (constraints.into_iter(), budgets.into_iter());
    let requests = requests.map(|(choice, prompt)| {
        let mut options = options.clone();
        // The first reply to a seed is the same, whatever `n`.
        options.sampling.seed = seed.wrapping_add((choice % n) as u64);
        let mut request = Request::new(prompt).options(options);
        if let Some(constraint) = constraints.next() {
            request = request.processor(constraint);
        }
        // After the grammar, which may not allow the mark yet.
        match budgets.next() {
            Some(budget) => request.processor(budget),
            None => request,
        }
    });
    let receive = queue(app, tenant, model, requests.collect(), [prompt_tokens, reply_tokens])?;
    Ok(Replies::new(receive, count, &reading))
}

/// Queues requests as one job, with the tokens of all prompts and the most of all replies.
///
/// # Errors
/// If the server is busy.
pub(super) fn queue(
    app: &App,
    tenant: &Tenant,
    model: &Loaded,
    requests: Vec<Request>,
    [prompt_tokens, reply_tokens]: [usize; 2],
) -> Result<UnboundedReceiver<Signal>, ApiError> {
    let now = Instant::now();
    let (signals, receive) = Worker::channel();
    let job = Job {
        tenant: tenant.clone(),
        requests,
        prompt_tokens,
        reply_tokens,
        paid: 0,
        since: now,
        deadline: now + app.limits.request_time,
        listed: Arc::new(Listed::new(request_id(), now, prompt_tokens)),
        signals,
    };
    model.worker.submit(job)?;
    Ok(receive)
}

/// Compiles a grammar for each of `n` replies, which have begun with a text; none if it allows everything.
///
/// # Errors
/// If it cannot be enforced: an output that was asked for is never left to chance. If it does not allow the beginning.
pub(crate) async fn constraints(
    model: &Arc<Loaded>,
    grammar: GrammarSpec,
    n: usize,
    begun: String,
) -> Result<Vec<Box<dyn LogitProcessor>>, ApiError> {
    if !grammar.constrains() {
        return Ok(Vec::new());
    }
    let model = Arc::clone(model);
    let compiled = tokio::task::spawn_blocking(move || {
        let one = |_| model.grammars.compile(&grammar);
        let all: Result<Vec<_>, GrammarError> = (0..n).map(one).collect();
        let mut all: Vec<Box<dyn LogitProcessor>> = all?.into_iter().flatten().collect();
        let begun =
            model.facts.tokenizer.encode(&begun, EncodeOptions { parse_special: false, add_special: false });
        let mut logits = Vec::new();
        let allowed = begun.is_empty()
            || all.iter_mut().all(|processor| {
                logits.clear();
                logits.resize(model.facts.vocab, 0.0);
                processor.process(&begun, 0, &mut logits).is_ok()
            });
        Ok(allowed.then_some(all))
    });
    let compiled =
        compiled.await.map_err(|_| ApiError::new(Kind::Internal, "the grammar compiler panicked"))?;
    let compiled = compiled.map_err(|error: GrammarError| {
        let kind = if error.server { Kind::Unavailable } else { Kind::Invalid };
        let param = error
            .param("response_format.json_schema.schema", |tool| format!("tools[{tool}].function.parameters"));
        let message = format!("this cannot be enforced: {error}");
        ApiError { param, ..ApiError::new(kind, message) }.code("invalid_grammar")
    })?;
    compiled.ok_or_else(|| {
        let message = "the message to continue does not have the form that the reply is to have";
        ApiError::invalid("messages", message)
    })
}
