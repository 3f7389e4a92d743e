//! The result of tuning in words and as JSON.

use serde_json::{Value, json};

use super::found::{Candidate, TuneEnd, TuneOutcome, Tuned, TunedKernel};
use crate::ablate::{MARGIN, Measured};

impl TuneEnd {
    /// The outcome for the schedules, as a sentence.
    pub fn said(&self) -> String {
        match self {
            TuneEnd::Nothing => "nothing to keep".into(),
            TuneEnd::Kept(Some(path)) => format!("the schedules are saved in {}", path.display()),
            TuneEnd::Kept(None) => {
                "the schedules are not saved: there is no folder for them, as with --no-cache".into()
            }
            TuneEnd::Slower => "the schedules are not saved: whole steps are slower with them".into(),
        }
    }
}

impl TunedKernel {
    /// The outcome in a word.
    pub fn verdict(&self) -> &'static str {
        match (&self.outcome, &self.best) {
            (TuneOutcome::Faster, _) => "faster",
            (TuneOutcome::Wrong(_), _) => "wrong",
            (TuneOutcome::Best, Some(_)) => "not certain",
            (TuneOutcome::Best, None) => "as it was",
        }
    }

    fn json(&self) -> Value {
        let TunedKernel { tokens, kernel, segment, launches, tried, before, best, outcome } = self;
        let best = best.as_ref().map(|Candidate { schedule, pairs, gain }| {
            let (base, tried): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
            json!({
                "schedule": schedule,
                "gain": gain.json(),
                "seconds": { "before": base, "with": tried },
            })
        });
        let wrong = match outcome {
            TuneOutcome::Wrong(why) => Some(why),
            TuneOutcome::Best | TuneOutcome::Faster => None,
        };
        json!({
            "step": tokens,
            "kernel": kernel,
            "segment": segment,
            "launches": launches,
            "tried": tried,
            "before": before,
            "best": best,
            "verdict": self.verdict(),
            "wrong": wrong,
        })
    }
}

impl Tuned {
    /// Everything as JSON.
    pub fn json(&self) -> Value {
        let Tuned { host, kernels, steps, rounds, end } = self;
        let steps = steps.iter().map(|step| (step.phase.name().to_string(), Measured::json(step)));
        json!({
            "machine": host.json(),
            "margin": MARGIN,
            "rounds": rounds,
            "kernels": kernels.iter().map(TunedKernel::json).collect::<Value>(),
            "steps": steps.collect::<serde_json::Map<_, _>>(),
            "end": end.said(),
            "kept": matches!(end, TuneEnd::Kept(_)),
        })
    }
}
