//! A running model: one thread owns its engine, and requests reach it through a queue.

mod active;
mod job;
mod listed;
mod queue;
mod run;
mod shared;

use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::{mpsc, oneshot};
use weft_engine::{Engine, Error};

use crate::error::ApiError;
use crate::kv_events::ModelEvents;
use crate::metrics::ModelMetrics;
use crate::options::Limits;
pub(crate) use job::{Job, Signal};
pub(crate) use listed::Listed;
use serde_json::Value;
use shared::Shared;

/// The handle of a model's thread.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts a thread, which opens the engine and then serves jobs. What `describe` says of the engine, or why it could
    /// not be opened, comes through the receiver.
    pub(crate) fn start<T: Send + 'static>(
        name: &str,
        limits: &Limits,
        metrics: ModelMetrics,
        events: Option<ModelEvents>,
        open: impl FnOnce() -> Result<Engine, Error> + Send + 'static,
        describe: impl FnOnce(&Engine) -> T + Send + 'static,
    ) -> std::io::Result<(Worker, oneshot::Receiver<Result<T, Error>>)> {
        let (send, receive) = oneshot::channel();
        let shared = Arc::new(Shared::new(limits.clone()));
        let theirs = Arc::clone(&shared);
        let thread =
            std::thread::Builder::new().name(format!("model {name}")).spawn(move || match open() {
                Err(error) => {
                    let _ = send.send(Err(error));
                    theirs.close(None);
                }
                Ok(mut engine) => {
                    let _ = send.send(Ok(describe(&engine)));
                    run::run(&mut engine, &theirs, &metrics, events);
                }
            })?;
        Ok((Worker { shared, thread: Some(thread) }, receive))
    }

    /// Records that a request has come, for which [`submit`](Worker::submit) will be called soon unless it is refused.
    pub(crate) fn announce(&self) {
        self.shared.announce();
    }

    /// Queues a job.
    ///
    /// # Errors
    /// If the queue is full, the key has as many requests as it may, or the model has ended.
    pub(crate) fn submit(&self, job: Job) -> Result<(), ApiError> {
        self.shared.submit(job)
    }

    /// Returns whether the engine makes progress, or has nothing to do.
    pub(crate) fn is_healthy(&self) -> bool {
        self.shared.is_healthy()
    }

    /// Returns whether the thread has ended because of a bug or a failure of the device.
    pub(crate) fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// The number of jobs, in work or waiting.
    pub(crate) fn jobs(&self) -> usize {
        self.shared.jobs()
    }

    /// The requests of this model that wait or are in work, the oldest first.
    pub(crate) fn listed(&self, model: &str) -> Vec<Value> {
        self.shared.listed().iter().map(|one| one.json(model)).collect()
    }

    /// Ends all jobs with this error.
    pub(crate) fn abort(&self, error: ApiError) {
        self.shared.abort(error);
    }

    /// A channel for the signals of a job.
    pub(crate) fn channel() -> (mpsc::UnboundedSender<Signal>, mpsc::UnboundedReceiver<Signal>) {
        // Bounded by the number of tokens of the replies, which the request's limits bound.
        mpsc::unbounded_channel()
    }
}

/// The thread ends when its last job has ended; the drop waits for that.
impl Drop for Worker {
    fn drop(&mut self) {
        self.shared.stop();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            // It catches panics itself.
            let _ = thread.join();
        }
    }
}
