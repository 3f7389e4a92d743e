//! Threads that compute masks while the forward pass runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};

/// Something to do on one of the threads.
type Job = Box<dyn FnOnce() + Send>;

/// A few threads for all requests of a model. They start with the first job and end with the last [`Masks`].
#[derive(Clone, Default)]
pub(super) struct Masks {
    jobs: Arc<OnceLock<Option<mpsc::Sender<Job>>>>,
}

impl Masks {
    /// Runs `work` on one of the threads; returns where its result will come.
    ///
    /// Without threads, it runs here and now. If it panics, the sender is dropped.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> mpsc::Receiver<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let job: Job = Box::new(move || {
            // The request may be gone.
            let _ = sender.send(work());
        });
        match self.jobs.get_or_init(start) {
            Some(jobs) => {
                if let Err(mpsc::SendError(job)) = jobs.send(job) {
                    run(job);
                }
            }
            None => run(job),
        }
        receiver
    }
}

/// Starts the threads: one on small machines, where they share the cores with the forward pass.
fn start() -> Option<mpsc::Sender<Job>> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let (sender, receiver) = mpsc::channel::<Job>();
    let receiver = Arc::new(Mutex::new(receiver));
    let mut started = false;
    for _ in 0..if cores >= 8 { 2 } else { 1 } {
        let receiver = receiver.clone();
        let work = move || {
            loop {
                let job = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok(job) = job else { break };
                run(job);
            }
        };
        started |= std::thread::Builder::new().name("weft masks".into()).spawn(work).is_ok();
    }
    started.then_some(sender)
}

fn run(job: Job) {
    // The sender of a job that panics is dropped with it, which its receiver sees.
    let _ = catch_unwind(AssertUnwindSafe(job));
}
