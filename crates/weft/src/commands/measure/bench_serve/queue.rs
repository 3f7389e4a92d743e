//! How many requests wait at the server, from its `/metrics`.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::chat::client::Server;

/// How often the metrics are read.
const PERIOD: Duration = Duration::from_millis(250);
/// How often the end is looked for.
const TICK: Duration = Duration::from_millis(20);

/// The names of the gauges of requests that wait and that run, in vLLM (and Weft) and in llama.cpp.
const WAITING: [&str; 2] = ["vllm:num_requests_waiting", "llamacpp:requests_deferred"];
const RUNNING: [&str; 2] = ["vllm:num_requests_running", "llamacpp:requests_processing"];

/// The most requests seen at once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Queue {
    /// Those that waited; `None` if the server does not say.
    pub(super) waiting: Option<f64>,
    /// Those that ran.
    pub(super) running: Option<f64>,
}

/// Watches the queue of a server.
pub(super) struct Watch {
    server: Server,
    seen: Mutex<Queue>,
}

impl Watch {
    pub(super) fn new(server: &Server) -> Watch {
        Watch { server: server.apart(), seen: Mutex::default() }
    }

    /// Watches until `ended`, or until the server has no metrics.
    pub(super) fn until(&self, ended: impl Fn() -> bool) {
        while !ended() {
            let Ok(text) = self.server.get("/metrics") else { return };
            let (now, read) = (Queue::parse(&text), Instant::now());
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.waiting = seen.waiting.max_by(now.waiting);
            seen.running = seen.running.max_by(now.running);
            drop(seen);
            while !ended() && read.elapsed() < PERIOD {
                thread::sleep(TICK);
            }
        }
    }

    /// The most seen so far.
    pub(super) fn seen(&self) -> Queue {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

trait Larger {
    fn max_by(self, other: Self) -> Self;
}

impl Larger for Option<f64> {
    fn max_by(self, other: Option<f64>) -> Option<f64> {
        match (self, other) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        }
    }
}

impl Queue {
    /// Reads the gauges from Prometheus's text format. Those of several models are added up.
    fn parse(text: &str) -> Queue {
        let sum = |names: [&str; 2]| {
            let values = text.lines().filter_map(|line| {
                let rest = names.iter().find_map(|name| line.strip_prefix(name))?;
                let value = match rest.strip_prefix('{') {
                    Some(labels) => labels.rsplit_once('}')?.1,
                    None => rest.strip_prefix(' ')?,
                };
                value.split_whitespace().next()?.parse::<f64>().ok()
            });
            values.fold(None, |sum: Option<f64>, value| Some(sum.unwrap_or(0.0) + value))
        };
        Queue { waiting: sum(WAITING), running: sum(RUNNING) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauges() {
        let text = "# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{model_name=\"a}b\"} 3\n\
                    vllm:num_requests_waiting{model_name=\"c\"} 2.0 1700000000\nvllm:num_requests_running 4\n\
                    vllm:num_requests_waiting_total 9\n";
        assert_eq!(Queue::parse(text), Queue { waiting: Some(5.0), running: Some(4.0) });
        let text = "llamacpp:requests_processing 1\nllamacpp:requests_deferred 7\n";
        assert_eq!(Queue::parse(text), Queue { waiting: Some(7.0), running: Some(1.0) });
        assert_eq!(Queue::parse(""), Queue::default());
        assert_eq!(None.max_by(Some(1.0)).max_by(Some(0.5)).max_by(None), Some(1.0));
    }
}
