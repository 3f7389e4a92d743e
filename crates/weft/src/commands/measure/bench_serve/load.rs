//! Clients that send requests to a server, and what they see.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::queue::{Queue, Watch};
use crate::chat::client::{ClientError, Server};

/// How often Ctrl-C and the end are looked for.
const TICK: Duration = Duration::from_millis(20);
/// The longest wait after a server says that it is busy.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// A request that succeeded.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) sent: Instant,
    /// When each piece of the reply arrived.
    pub(super) arrived: Vec<Instant>,
    pub(super) ended: Instant,
    /// The tokens that the server counted; `None` if it does not.
    pub(super) usage: Option<Tokens>,
}

/// Numbers of tokens of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens {
    pub(super) prompt: u64,
    /// Tokens of the prompt that came from a cache.
    pub(super) cached: u64,
    pub(super) reply: u64,
}

/// The results for one number of clients.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) samples: Vec<Sample>,
    /// By kind: how many requests failed, and the first error.
    pub(super) errors: BTreeMap<String, (usize, String)>,
    pub(super) queue: Queue,
}

/// Sends a request and reads its reply.
///
/// # Errors
/// If the server cannot be reached, returns an error, or its reply breaks off or has no text.
pub(super) fn request(server: &Server, body: &Value) -> Result<Sample, ClientError> {
    let sent = Instant::now();
    let mut stream = server.stream("/v1/completions", body)?;
    let (mut arrived, mut usage) = (Vec::new(), None);
    while let Some(event) = stream.next()? {
        let now = Instant::now();
        if event["choices"][0]["text"].as_str().is_some_and(|text| !text.is_empty()) {
            arrived.push(now);
        }
        if let (Some(prompt), Some(reply)) =
            (event["usage"]["prompt_tokens"].as_u64(), event["usage"]["completion_tokens"].as_u64())
        {
            let cached = event["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap_or(0);
            usage = Some(Tokens { prompt, cached, reply });
        }
    }
    if arrived.is_empty() {
        return Err(ClientError::Broken("it has no text".to_string()));
    }
    Ok(Sample { sent, arrived, ended: Instant::now(), usage })
}

/// Clients of a server, each with a connection and a thread of its own.
pub(super) struct Clients<'s> {
    server: &'s Server,
    each: Vec<Server>,
}

impl<'s> Clients<'s> {
    pub(super) fn new(server: &'s Server, count: usize) -> Clients<'s> {
        Clients { server, each: (0..count).map(|_| server.apart()).collect() }
    }

    /// Sends all requests, as many at once as there are clients, until `stop` is set.
    pub(super) fn measure(self, bodies: &mut Vec<Value>, stop: &AtomicBool) -> Seen {
        let bodies = std::mem::take(bodies);
        let next = AtomicUsize::new(0);
        let running = AtomicUsize::new(self.each.len());
        let barrier = Barrier::new(self.each.len());
        let seen = Mutex::new(Seen::default());
        let watch = Watch::new(self.server);
        thread::scope(|scope| {
            for client in &self.each {
                let (bodies, next, running, barrier, seen) = (&bodies, &next, &running, &barrier, &seen);
                scope.spawn(move || {
                    barrier.wait();
                    while !stop.load(Ordering::SeqCst)
                        && let Some(body) = bodies.get(next.fetch_add(1, Ordering::SeqCst))
                    {
                        let result = request(client, body);
                        if stop.load(Ordering::SeqCst) {
                            break;
                        }
                        let pause = pause(&result);
                        seen.lock().unwrap_or_else(PoisonError::into_inner).add(result);
                        pause.into_iter().for_each(thread::sleep);
                    }
                    running.fetch_sub(1, Ordering::SeqCst);
                });
            }
            let (running, watch) = (&running, &watch);
            scope.spawn(move || watch.until(|| running.load(Ordering::SeqCst) == 0));
            while running.load(Ordering::SeqCst) > 0 {
                if stop.load(Ordering::SeqCst) {
                    // Ends the requests that wait.
                    self.each.iter().cloned().for_each(Server::hang_up);
                    break;
                }
                thread::sleep(TICK);
            }
        });
        let mut seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        seen.queue = watch.seen();
        seen
    }
}

impl Seen {
    fn add(&mut self, result: Result<Sample, ClientError>) {
        match result {
            Ok(sample) => self.samples.push(sample),
            Err(error) => {
                self.errors.entry(error.kind()).or_insert_with(|| (0, error.to_string())).0 += 1;
            }
        }
    }
}

/// How long to wait before the next request: a server that is busy or gone would fail them all at once.
fn pause(result: &Result<Sample, ClientError>) -> Option<Duration> {
    match result {
        Err(ClientError::Busy { retry_after, .. }) => {
            Some(retry_after.map_or(MAX_PAUSE, Duration::from_secs).min(MAX_PAUSE))
        }
        Err(ClientError::Unreachable { .. }) => Some(5 * TICK),
        _ => None,
    }
}
