//! A profile as JSON. `docs/profile.md` describes it.

use serde_json::{Value, json};

use super::{Profile, Row, Timed};
use crate::json::joined;
use crate::lint::Lint;

impl Profile {
    /// Everything as JSON.
    pub fn json(&self) -> Value {
        let wall = self.clock.wall;
        let rows = |rows: Vec<Row>, what: &str| -> Value {
            rows.iter().map(|row| joined(json!({ what: row.name }), row.json(wall))).collect()
        };
        let kernel = |row: &Row| {
            let names = json!({ "kernel": row.name, "role": row.role, "segments": row.segments });
            joined(names, row.json(wall))
        };
        let rate = |seconds: &f64| self.shape.tokens as f64 / seconds;
        let rates: crate::Samples = self.plain.all().iter().map(rate).collect();
        let workers = self
            .workers
            .iter()
            .map(|worker| json!({ "busy_ms": worker.busy * 1e3, "waiting_ms": worker.waiting * 1e3 }));
        json!({
            "machine": self.host.json(),
            "roofs": self.roofs.json(),
            "step": {
                "tokens": self.shape.tokens,
                "depth": self.shape.depth,
                "logits": self.shape.logits,
                "kernels": self.launches.len(),
            },
            "tokens_per_second": rates.json(),
            "step_seconds": { "plain": self.plain.json(), "timed": self.timed.json() },
            "overhead": self.overhead.json(),
            "clock": self.clock.json(),
            "threads": workers.collect::<Value>(),
            "empty_launch_ms": self.empty_launch * 1e3,
            "roles": rows(self.roles(), "role"),
            "anchors": rows(self.anchors(), "anchor"),
            "types": rows(self.types(), "type"),
            "kernels": self.kernels().iter().map(kernel).collect::<Value>(),
            "layers": rows(self.layers(), "segment"),
            "launches": self.launches.iter().map(Timed::json).collect::<Value>(),
            "timeline": self.timeline_json(),
            "lints": self.lints().iter().map(Lint::json).collect::<Value>(),
        })
    }

    fn timeline_json(&self) -> Value {
        let timeline = &self.timeline;
        let slice =
            |slice: &super::Slice| json!([slice.worker, slice.launch, slice.begin * 1e3, slice.done * 1e3]);
        json!({
            "wall_ms": timeline.wall * 1e3,
            "replays_ms": timeline.replays.iter().map(|(a, b)| json!([a * 1e3, b * 1e3])).collect::<Value>(),
            "columns": ["thread", "launch", "begin_ms", "done_ms"],
            "slices": timeline.slices.iter().map(slice).collect::<Value>(),
        })
    }
}

impl Timed {
    fn json(&self) -> Value {
        let launch = &self.launch;
        let roles: Vec<&str> = launch.roles().iter().map(|role| role.name()).collect();
        json!({
            "kernel": launch.kernel(),
            "role": roles.join(" + "),
            "segment": launch.segment,
            "layer": launch.layer,
            "busy_ms": self.busy * 1e3,
            "waiting_ms": self.waiting * 1e3,
            "longest_ms": self.longest * 1e3,
            "roof_ms": self.roof * 1e3,
        })
    }
}
