//! The times of a step's kernels, from a profile in the journal.

use serde_json::Value;

use crate::journal::{Journal, JournalError};

/// Which profile is looked for. Plans of other caches or decisions have other kernels.
#[derive(Clone, Copy, Debug)]
pub struct WantedProfile<'a> {
    /// The model's fingerprint.
    pub fingerprint: u64,
    /// The device's hardware, by its key.
    pub hardware: &'a str,
    /// Tokens of the step.
    pub tokens: usize,
    /// The type of the KV cache.
    pub kv: &'a str,
    /// The decisions set by hand, as the knob has them; null if there are none.
    pub set: &'a Value,
}

/// A profile that a journal has.
#[derive(Clone, PartialEq, Debug)]
pub struct RecordedProfile {
    /// The number of the run.
    pub run: i64,
    /// When it was, in UTC: `2026-11-20T16:02:59Z`.
    pub time: String,
    /// Tokens of the sequence before the step.
    pub depth: usize,
    /// Every launch of the step: the part of the model, the kernel, and nanoseconds including the waits of threads.
    launches: Vec<(String, String, f64)>,
}

impl RecordedProfile {
    /// Finds the newest profile of this kind.
    ///
    /// # Errors
    /// [`JournalError`]
    pub fn find(
        journal: &Journal,
        wanted: &WantedProfile<'_>,
    ) -> Result<Option<RecordedProfile>, JournalError> {
        let fingerprint = format!("{:016x}", wanted.fingerprint);
        for id in journal.find(&["profile", &fingerprint])?.into_iter().rev() {
            let Some(record) = journal.run(id)? else { continue };
            let results = &record.results;
            let is_wanted = record.command == "profile"
                && record.model["fingerprint"] == fingerprint
                && results["hardware"] == wanted.hardware
                && results["step"]["tokens"] == wanted.tokens
                && results["kv"] == wanted.kv
                && record.knobs["set"] == *wanted.set;
            let launches = results["launches"].as_array().filter(|_| is_wanted);
            let launches = launches.and_then(|launches| launches.iter().map(launch).collect());
            if let (Some(launches), Some(depth)) = (launches, results["step"]["depth"].as_u64()) {
                let depth = usize::try_from(depth).unwrap_or(usize::MAX);
                return Ok(Some(RecordedProfile { run: id, time: record.time, depth, launches }));
            }
        }
        Ok(None)
    }

    /// The mean nanoseconds of each kernel of a plan over the parts of the model that share it; `None` if these parts had other kernels.
    pub fn times(&self, segments: &[String], kernels: &[&str]) -> Option<Vec<f64>> {
        let mut times = vec![0.0; kernels.len()];
        for segment in segments {
            let own = self.launches.iter().filter(|(own, ..)| own == segment);
            let (names, own): (Vec<&str>, Vec<f64>) =
                own.map(|(_, kernel, ns)| (kernel.as_str(), *ns)).unzip();
            if names != kernels {
                return None;
            }
            times.iter_mut().zip(own).for_each(|(time, ns)| *time += ns / segments.len() as f64);
        }
        Some(times)
    }
}

/// A launch in the JSON of a profile; `None` if something is missing.
fn launch(launch: &Value) -> Option<(String, String, f64)> {
    let ns = 1e6 * (launch["busy_ms"].as_f64()? + launch["waiting_ms"].as_f64()?);
    Some((launch["segment"].as_str()?.into(), launch["kernel"].as_str()?.into(), ns))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::journal::{Model, Run};

    /// A profile of two layers of two kernels, each of which takes `ms` and waits as long again.
    fn run(fingerprint: u64, hardware: &str, tokens: usize, ms: f64) -> Run {
        let launch = |segment: &str, kernel: &str, ms: f64| json!({ "segment": segment, "kernel": kernel, "busy_ms": ms, "waiting_ms": ms });
        let launches = json!([
            launch("layer 0", "norm", ms),
            launch("layer 0", "product", 2.0 * ms),
            launch("layer 1", "norm", 3.0 * ms),
            launch("layer 1", "product", 4.0 * ms),
        ]);
        Run {
            command: "profile".into(),
            model: Some(Model { path: "m.gguf".into(), bytes: 1, fingerprint }),
            knobs: json!({ "set": "fuse.tail=off" }),
            results: json!({
                "hardware": hardware, "kv": "F16", "step": { "tokens": tokens, "depth": 7 }, "launches": launches,
            }),
        }
    }

    #[test]
    fn the_newest_profile_of_the_same_step_is_found() {
        let folder = std::env::temp_dir().join(format!("weft-recorded-{}", std::process::id()));
        // Of a process of the same number that was killed.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let mut journal = Journal::create(&folder.join("journal.db")).unwrap();
        for run in [
            run(1, "card", 1, 1.0),
            run(1, "card", 1, 2.0),
            run(2, "card", 1, 3.0),
            run(1, "other card", 1, 4.0),
            run(1, "card", 512, 5.0),
            Run { command: "bench".into(), ..run(1, "card", 1, 6.0) },
        ] {
            journal.append(&run).unwrap();
        }
        let set = json!("fuse.tail=off");
        let wanted = WantedProfile { fingerprint: 1, hardware: "card", tokens: 1, kv: "F16", set: &set };
        let found = RecordedProfile::find(&journal, &wanted).unwrap().unwrap();
        assert_eq!((found.run, found.depth), (2, 7));
        let layers = ["layer 0".to_string(), "layer 1".to_string()];
        assert_eq!(found.times(&layers, &["norm", "product"]), Some(vec![8e6, 12e6]));
        assert_eq!(found.times(&layers[..1], &["norm", "product"]), Some(vec![4e6, 8e6]));
        assert_eq!(found.times(&layers, &["product"]), None, "other kernels");
        assert_eq!(found.times(&["layer 2".into()], &["norm", "product"]), None, "another part");

        for other in [
            WantedProfile { fingerprint: 3, ..wanted },
            WantedProfile { hardware: "no card", ..wanted },
            WantedProfile { tokens: 2, ..wanted },
            WantedProfile { kv: "F32", ..wanted },
            WantedProfile { set: &Value::Null, ..wanted },
        ] {
            assert_eq!(RecordedProfile::find(&journal, &other).unwrap(), None, "{other:?}");
        }
        drop(journal);
        let _ = fs::remove_dir_all(&folder);
    }
}
