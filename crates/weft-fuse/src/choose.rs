//! Decisions by cost: compile both ways, keep what costs less.

use weft_ir::rules::RULES;
use weft_ir::{Decision, Graph, Keeps, Mode, STEPS, Switches};

use crate::cost::Cost;
use crate::decide::decisions;
use crate::{FuseError, Fusion, Options, compile};

/// A decision, and what the plan costs either way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// Which.
    pub decision: &'static Decision,
    /// Whether the cost decides. If not, it is only told.
    pub decides: bool,
    /// What the plan costs without it, and with the decisions taken before.
    pub without: Cost,
    /// What the plan costs with it.
    pub with: Cost,
}

impl Choice {
    /// Whether it pays: if it makes no difference, it does not.
    pub fn pays(&self) -> bool {
        self.with.ns < self.without.ns
    }

    /// Whether it was taken.
    pub fn taken(&self) -> bool {
        self.decides && self.pays()
    }
}

/// Compiles a graph, taking decisions by cost one after another, each with those before it as they were decided.
pub(crate) fn choose(graph: &Graph, options: &Options) -> Result<Fusion, FuseError> {
    let mut switches: Switches = options.switches.clone();
    let mut best = compile(graph, &switches, options)?;
    let mut choices = Vec::new();
    // Whether segments share tables is decided before a graph comes here, and no cost is asked.
    for decision in decisions().filter(|decision| **decision != STEPS) {
        let decides = options.switches.mode(decision) == Mode::ByCost;
        let told = options.advise && left_to_the_user(decision, &switches);
        if !decides && !told {
            continue;
        }
        let mut with = switches.clone();
        with.set(decision, Mode::On);
        // What cannot be compiled does not pay.
        let Ok(other) = compile(graph, &with, options) else { continue };
        let choice = Choice { decision, decides, without: best.cost, with: other.cost };
        if choice.taken() {
            (best, switches) = (other, with);
        }
        choices.push(choice);
    }
    Ok(Fusion { choices, ..best })
}

/// Whether a decision is off although it may pay: it stores weights in another precision than the file, which is nobody's to do unasked.
fn left_to_the_user(decision: &Decision, switches: &Switches) -> bool {
    let rounds = RULES.iter().any(|rule| rule.decision == *decision && rule.keeps == Keeps::Value);
    rounds && switches.mode(decision) == Mode::Off && decision.default == Mode::Off
}
