//! A job in work: its generations, and how their events reach the one who asked.

use std::time::Instant;

use weft_engine::{Event, Finish, Generation, Usage};

use super::job::{Job, Signal};
use crate::metrics::ModelMetrics;

/// A job whose requests the engine has.
pub(super) struct Active {
    /// The job, without its requests.
    pub(super) job: Job,
    replies: Vec<Option<Reply>>,
    /// The tokens of prompts and replies that were computed for replies that have ended.
    used: [u64; 2],
}

struct Reply {
    generation: Generation,
    /// When its last token came.
    last: Option<Instant>,
}

impl Active {
    pub(super) fn new(job: Job, generations: Vec<Generation>) -> Active {
        let replies =
            generations.into_iter().map(|generation| Some(Reply { generation, last: None })).collect();
        job.listed.begin();
        Active { job, replies, used: [0; 2] }
    }

    /// The tokens of prompts and replies that were computed.
    pub(super) fn used(&self) -> [u64; 2] {
        let replies = self.replies.iter().flatten();
        replies.fold(self.used, |used, reply| add(used, &reply.generation.usage(), false))
    }

    /// The number of replies that have not ended.
    pub(super) fn left(&self) -> usize {
        self.replies.iter().flatten().count()
    }

    /// Passes on what has happened. Returns whether the job has ended: no reply is left, or nobody listens. Dropping it
    /// then cancels what is left.
    pub(super) fn poll(&mut self, now: Instant, metrics: &ModelMetrics) -> bool {
        let Active { job, replies, used } = self;
        for (choice, slot) in replies.iter_mut().enumerate() {
            let Some(reply) = slot else { continue };
            let mut ended = false;
            while let Some(event) = reply.generation.poll() {
                if matches!(event, Event::Token(_)) {
                    job.listed.add_token();
                    match reply.last.replace(now) {
                        Some(last) => metrics.between_tokens(now - last),
                        None => metrics.first_token(now - job.since),
                    }
                }
                let signal = match event {
                    Event::Finished(finish) => {
                        ended = true;
                        let (usage, timings) = (reply.generation.usage(), reply.generation.timings());
                        metrics.ended(&finish, &usage, timings.queued, now - job.since);
                        *used = add(*used, &usage, matches!(finish, Finish::Length));
                        Signal::Ended { choice, finish, usage, timings }
                    }
                    event => Signal::Event { choice, event },
                };
                // Whether anybody listens is asked below.
                let _ = job.signals.send(signal);
            }
            if ended {
                *slot = None;
            }
        }
        if job.signals.is_closed() {
            for reply in replies.iter().flatten() {
                metrics.ended(
                    &Finish::Cancelled,
                    &reply.generation.usage(),
                    Default::default(),
                    now - job.since,
                );
            }
            return true;
        }
        self.left() == 0
    }
}

/// Adds what was computed for a reply. A prompt counts without what came from the cache, and not before the reply has begun, or
/// `ended` without a token.
fn add([prompts, replies]: [u64; 2], usage: &Usage, ended: bool) -> [u64; 2] {
    let computed =
        if ended || usage.tokens > 0 { usage.prompt_tokens.saturating_sub(usage.cached_tokens) } else { 0 };
    [prompts + computed as u64, replies + usage.tokens as u64]
}
