//! A step as a trace for `chrome://tracing` and Perfetto, with a track for each thread.
//!
//! The format is Chrome's "Trace Event Format", JSON object form: complete events (`ph` is `X`) with times in microseconds, and
//! metadata events (`M`) that name the tracks.

use serde_json::{Value, json};

use super::Profile;

/// The process of all tracks.
const PROCESS: u32 = 1;

/// The track of the calling thread. Those of the workers follow; the first worker is the same thread.
const HOST: usize = 0;

impl Profile {
    /// The fastest step as a trace.
    pub fn trace(&self) -> Value {
        let timeline = &self.timeline;
        let mut events = vec![
            json!({ "ph": "M", "pid": PROCESS, "name": "process_name", "args": { "name": "weft" } }),
            named(HOST, "host"),
        ];
        events
            .extend((0..self.workers.len()).map(|worker| named(track(worker), &format!("thread {worker}"))));
        let tokens = self.shape.tokens;
        events.push(slice(HOST, "step", "step", (0.0, timeline.wall), json!({ "tokens": tokens })));
        for (name, times) in ["layers", "head"].into_iter().zip(&timeline.replays) {
            events.push(slice(HOST, name, "replay", *times, json!({})));
        }
        for it in &timeline.slices {
            let Some(timed) = self.launches.get(it.launch) else { continue };
            let launch = &timed.launch;
            let roles: Vec<&str> = launch.roles().iter().map(|role| role.name()).collect();
            let (amounts, role) = (launch.amounts(), roles.join(" + "));
            let args = json!({
                "segment": launch.segment,
                "layer": launch.layer,
                "role": role,
                "weight_bytes": amounts.weight_bytes,
                "state_bytes": amounts.state_bytes,
                "activation_bytes": amounts.activation_bytes,
                "multiplications": amounts.multiplications(),
            });
            events.push(slice(track(it.worker), launch.kernel(), &role, (it.begin, it.done), args));
        }
        json!({ "displayTimeUnit": "ms", "traceEvents": events })
    }
}

fn track(worker: usize) -> usize {
    HOST + 1 + worker
}

fn named(track: usize, name: &str) -> Value {
    json!({ "ph": "M", "pid": PROCESS, "tid": track, "name": "thread_name", "args": { "name": name } })
}

/// An event from `begin` to `done`, in seconds.
fn slice(track: usize, name: &str, category: &str, (begin, done): (f64, f64), args: Value) -> Value {
    json!({
        "ph": "X",
        "pid": PROCESS,
        "tid": track,
        "name": name,
        "cat": category,
        "ts": begin * 1e6,
        "dur": (done - begin).max(0.0) * 1e6,
        "args": args,
    })
}
