//! The loop of a model's thread: takes jobs, computes steps, passes on what has happened.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use tracing::{error, warn};
use weft_engine::{Engine, Error, Generation};

use super::active::Active;
use super::job::{Job, Signal};
use super::shared::{Shared, Wait};
use crate::error::{ApiError, Kind};
use crate::kv_events::ModelEvents;
use crate::metrics::ModelMetrics;

/// Serves jobs until it is told to stop and has none, or the engine fails for good.
pub(super) fn run(
    engine: &mut Engine,
    shared: &Shared,
    metrics: &ModelMetrics,
    mut events: Option<ModelEvents>,
) {
    if events.is_some() {
        engine.watch_cache();
    }
    let mut active: Vec<Active> = Vec::new();
    // Whether the engine has something to do besides jobs: to write prompts to disk.
    let mut more = false;
    loop {
        let stats = engine.stats();
        let wait = match active.is_empty() && stats.running + stats.waiting == 0 {
            true if more => Wait::Together,
            true => Wait::Idle,
            false => Wait::No,
        };
        if !take(engine, shared, &mut active, metrics, wait) {
            return;
        }
        // A bug in the engine must not leave clients waiting for ever.
        match catch_unwind(AssertUnwindSafe(|| if engine.step()? { Ok(true) } else { engine.idle() })) {
            // A server that is to end leaves what is not written to the engine's drop, which takes a bounded time.
            Ok(Ok(busy)) => more = busy && !shared.state().stopping,
            // Its generations say so themselves.
            Ok(Err(failure)) => {
                more = false;
                warn!(%failure, "a step failed");
            }
            Err(_) => {
                error!("the engine panicked; the model is unloaded");
                let failed =
                    ApiError::new(Kind::Internal, "the engine failed; the next request loads it anew");
                active.iter().for_each(|one| {
                    let _ = one.job.signals.send(Signal::Refused(failed.clone()));
                });
                shared.close(Some(failed));
                return;
            }
        }
        shared.beat();
        if let Some(events) = &mut events {
            events.publish(&engine.cache_events());
        }
        // A client that has read its reply finds its tokens counted.
        metrics.observe(&engine.stats());
        let now = Instant::now();
        let ended: Vec<Active> = active.extract_if(.., |one| one.poll(now, metrics)).collect();
        if !ended.is_empty() {
            let mut state = shared.state();
            for one in &ended {
                let [prompts, replies] = one.used();
                state.queue.settle(&one.job, prompts, replies);
                state.ended(&one.job.tenant);
            }
            state.active = active.len();
        }
    }
}

/// Ends jobs that nobody waits for, that took too long or that were aborted, and hands the engine as many of the others
/// as it has room for. Returns `false` once the thread is to end.
fn take(
    engine: &mut Engine,
    shared: &Shared,
    active: &mut Vec<Active>,
    metrics: &ModelMetrics,
    wait: Wait,
) -> bool {
    let Some(mut state) = shared.wait_for_work(wait) else { return false };
    let now = Instant::now();
    let mut refused = Vec::new();
    if let Some(error) = state.abort.clone() {
        let all = state.queue.remove(|_| true).into_iter().chain(active.drain(..).map(|one| one.job));
        refused.extend(all.map(|job| (job, error.clone())));
    }
    for job in state.queue.remove(|job| job.signals.is_closed() || job.deadline <= now) {
        let waited = (now - job.since).as_secs();
        let why = format!("the request waited {waited} s without being served; try again later");
        refused.push((job, ApiError::new(Kind::Timeout, why)));
    }
    for one in active.extract_if(.., |one| one.job.deadline <= now) {
        let [prompts, replies] = one.used();
        state.queue.settle(&one.job, prompts, replies);
        let took = (now - one.job.since).as_secs();
        let why = format!("the request took {took} s, more than this server allows; ask for fewer tokens");
        refused.push((one.job, ApiError::new(Kind::Timeout, why)));
    }
    let mut replies: usize = active.iter().map(Active::left).sum();
    let stats = engine.stats();
    let mut room = if stats.waiting > 0 { 0 } else { stats.pages - stats.pages_held };
    while state.queue.len() > 0 && (active.is_empty() || (replies < shared.limits.parallel && room > 0)) {
        let Some(mut job) = state.queue.pop() else { break };
        room = room.saturating_sub(job.prompt_tokens.div_ceil(engine.page()) + job.requests.len());
        let requests = std::mem::take(&mut job.requests);
        replies += requests.len();
        match requests.into_iter().map(|request| engine.push(request)).collect::<Result<Vec<Generation>, _>>()
        {
            Ok(generations) => active.push(Active::new(job, generations)),
            Err(error) => {
                state.queue.settle(&job, 0, 0);
                refused.push((job, refusal(&error)));
            }
        }
    }
    refused.iter().for_each(|(job, _)| state.ended(&job.tenant));
    state.active = active.len();
    metrics.waiting(state.queue.len());
    drop(state);
    refused.into_iter().for_each(|(job, error)| send(&job, error));
    true
}

fn send(job: &Job, error: ApiError) {
    let _ = job.signals.send(Signal::Refused(error));
}

/// The error of a request that the engine does not take.
fn refusal(error: &Error) -> ApiError {
    match error {
        Error::Context { more, context, .. } => ApiError::context(*more, *context),
        Error::Batch(_) => ApiError::new(Kind::Invalid, error.to_string()),
        _ => ApiError::new(Kind::Internal, error.to_string()),
    }
}
