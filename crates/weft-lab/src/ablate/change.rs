//! The changes an ablation can try: every decision of the compiler, schedules, half a batch, and nothing at all.

use std::fmt;

use weft_engine::inspect::Departure;
use weft_engine::{Decision, DeviceChoice, Mode, Switches, decisions};

/// One change to how a model is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// None: the same plans, compiled a second time. Its apparent gain is the noise of the method.
    Nothing,
    /// A decision of the compiler in another mode.
    Decision(&'static Decision, Mode),
    /// Schedules that differ from the device's own choice.
    Schedule(&'static Departure),
    /// Half as many tokens of a prompt are computed at once.
    HalfBatch,
}

impl Change {
    /// Returns every change to a model on this device with the decisions `base`. A decision that is on can be switched off and vice
    /// versa; one that is by cost can be switched on or off.
    pub fn all(base: &Switches, device: &DeviceChoice) -> Vec<Change> {
        let decided = decisions().flat_map(|decision| Change::of(decision, base));
        let scheduled = device.departures().into_iter().map(Change::Schedule);
        [Change::Nothing].into_iter().chain(decided).chain(scheduled).chain([Change::HalfBatch]).collect()
    }

    /// Returns the other modes of a decision.
    pub fn of(decision: &'static Decision, base: &Switches) -> Vec<Change> {
        let now = base.mode(decision);
        let others = [Mode::Off, Mode::On].into_iter().filter(|mode| *mode != now);
        others.map(|mode| Change::Decision(decision, mode)).collect()
    }

    /// The name of its knob: the decision's, or its own.
    pub fn knob(&self) -> &'static str {
        match self {
            Change::Nothing => "aa",
            Change::Decision(decision, _) => decision.name,
            Change::Schedule(departure) => departure.name,
            Change::HalfBatch => "batch.half",
        }
    }

    /// The effect of its knob, in a sentence.
    pub fn about(&self) -> &'static str {
        match self {
            Change::Nothing => "Nothing is changed: any apparent gain is noise.",
            Change::Decision(decision, _) => decision.about,
            Change::Schedule(departure) => departure.about,
            Change::HalfBatch => "Half as many tokens of a prompt are computed at once.",
        }
    }

    /// Applies the change to switches.
    pub(crate) fn apply(&self, switches: &mut Switches) {
        if let Change::Decision(decision, mode) = *self {
            switches.set(decision, mode);
        }
    }
}

impl fmt::Display for Change {
    /// As `--set` takes it: `fuse.tail=off`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Decision(decision, mode) => write!(f, "{}={}", decision.name, mode.name()),
            _ => f.write_str(self.knob()),
        }
    }
}

#[cfg(test)]
mod tests {
    use weft_engine::decision;

    use super::*;

    #[test]
    fn every_decision_can_be_changed() {
        let all = |base: &Switches| Change::all(base, &DeviceChoice::default());
        let names = |base: &Switches| all(base).iter().map(Change::to_string).collect::<Vec<_>>();
        let all = names(&Switches::default());
        for decision in decisions() {
            let others = all.iter().filter(|name| name.starts_with(&format!("{}=", decision.name)));
            assert_eq!(
                others.count(),
                if decision.default == Mode::ByCost { 2 } else { 1 },
                "{}",
                decision.name
            );
        }
        assert_eq!(
            (all.first().map(String::as_str), all.last().map(String::as_str)),
            (Some("aa"), Some("batch.half"))
        );

        // A GPU has schedules as well.
        let on_gpu = Change::all(&Switches::default(), &"gpu".parse().unwrap());
        let own = |change: &&Change| matches!(change, Change::Schedule(_));
        let schedules = on_gpu.iter().filter(own);
        assert!(schedules.clone().count() > 4 && schedules.count() + all.len() == on_gpu.len());

        let tail = decision("fuse.tail").unwrap();
        let mut base = Switches::default();
        base.set(tail, Mode::Off);
        assert!(
            names(&base).contains(&"fuse.tail=on".to_string())
                && !names(&base).contains(&"fuse.tail=off".into())
        );
        Change::Decision(tail, Mode::On).apply(&mut base);
        assert_eq!(base.mode(tail), Mode::On);
    }
}
