//! Decisions by cost: compile both ways, keep what costs less.
//!
//! No decision that is on or by cost changes a bit on a device whose rules keep bits. On one whose rules do not
//! ([`CostModel::rules_keep_bits`](crate::CostModel::rules_keep_bits)), those of the graph are decided by numbers that no measurement changes.

use weft_ir::rules::RULES;
use weft_ir::{Decision, Keeps, Mode, STEPS, Switches};

use crate::cost::{Cost, cost};
use crate::decide::decisions;
use crate::{FuseError, Fusion, Options};

/// A decision, and what the plan costs either way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The decision.
    pub decision: &'static Decision,
    /// Whether the cost decides. If not, it is only told.
    pub decides: bool,
    /// What the plan costs without it, on the [machine it is decided for](crate::CostModel::decides) and with the decisions taken before.
    pub without: Cost,
    /// What the plan costs with it. An error is a fault of the decision, since the graph compiles without it.
    pub with: Result<Cost, FuseError>,
}

impl Choice {
    /// Whether it pays. If it makes no difference or does not compile, it does not.
    pub fn pays(&self) -> bool {
        self.with.as_ref().is_ok_and(|with| with.ns < self.without.ns)
    }

    /// Whether it was taken.
    pub fn taken(&self) -> bool {
        self.decides && self.pays()
    }

    /// Whether it makes a difference.
    pub fn differs(&self) -> bool {
        self.with.as_ref() != Ok(&self.without)
    }
}

/// Takes the decisions by cost one after another, each with those before it as they were decided. `compile` makes a graph's plan with every
/// decision on or off.
pub(crate) fn choose(
    options: &Options,
    compile: impl Fn(&Switches) -> Result<Fusion, FuseError>,
) -> Result<Fusion, FuseError> {
    let mut switches: Switches = options.switches.clone();
    let mut best = compile(&switches)?;
    let mut choices = Vec::new();
    // Whether segments share tables is decided before a graph comes here, and not by cost.
    for decision in decisions().filter(|decision| **decision != STEPS) {
        let decides = options.switches.mode(decision) == Mode::ByCost;
        let told = options.advise && left_to_the_user(decision, &switches);
        if !decides && !told {
            continue;
        }
        let mut switched = switches.clone();
        switched.set(decision, Mode::On);
        let other = compile(&switched);
        let machine = options.costs.decides(decision);
        let with = other.as_ref().map(|other| cost(&other.plan, machine)).map_err(FuseError::clone);
        let choice = Choice { decision, decides, without: cost(&best.plan, machine), with };
        if let (true, Ok(other)) = (choice.taken(), other) {
            (best, switches) = (other, switched);
        }
        choices.push(choice);
    }
    Ok(Fusion { choices, ..best })
}

/// Whether a decision is off although it may pay: one that stores weights in another precision than the file is never taken unasked.
fn left_to_the_user(decision: &Decision, switches: &Switches) -> bool {
    let rounds = RULES.iter().any(|rule| rule.decision == *decision && rule.keeps == Keeps::Value);
    rounds && switches.mode(decision) == Mode::Off && decision.default == Mode::Off
}

#[cfg(test)]
mod tests {
    use weft_kern::Machine;

    use super::*;
    use crate::CostModel;
    use crate::decide::PROLOGUE;

    /// The last product of six experts, and the sum of them.
    const EXPERTS: &str = "graph experts {
  %0 = input x : f32[T, 6, 64]
  %1 = input ids : i32[T, 6]
  %2 = input weights : f32[T, 6, 1]
  %3 = weight down : q8_0[8, 256, 64]
  %4 = select_dot %0 %3 %1 : f32[T, 6, 256]
  %5 = mul %4 %2 : f32[T, 6, 256]
  %6 = reduce_sum %5 axis=1 : f32[T, 1, 256]
  output y = %6
}
";

    /// A norm in front of a product, which pays if the product computes it.
    const GRAPH: &str = "graph norm {
  %0 = input x : f32[T, 64]
  %1 = mul %0 %0 : f32[T, 64]
  %2 = reduce_sum %1 axis=1 : f32[T, 1]
  %3 = rsqrt %2 : f32[T, 1]
  %4 = mul %0 %3 : f32[T, 64]
  %5 = weight w : q8_0[32, 64]
  %6 = dot %4 %5 : f32[T, 32]
  output y = %6
}
";

    #[test]
    fn what_does_not_compile_is_not_taken_and_is_told() {
        let graph = weft_ir::parse(GRAPH).unwrap();
        let options = Options::default();
        let compile = |switches: &Switches| crate::compile(&graph, switches, &options);
        let of = |fusion: &Fusion| fusion.choices.iter().find(|c| *c.decision == PROLOGUE).cloned().unwrap();
        assert!(of(&choose(&options, compile).unwrap()).taken(), "else this tests nothing");

        let node = graph.outputs()[0].1;
        let wrong = FuseError::new(&graph, node, "not today");
        let found = choose(&options, |switches| match switches.on(&PROLOGUE) {
            true => Err(wrong.clone()),
            false => compile(switches),
        });
        let found = found.unwrap();
        let choice = of(&found);
        assert_eq!(choice.with, Err(wrong));
        assert!(choice.differs() && !choice.pays() && !choice.taken());
        assert_eq!(choice.without, found.cost);
        let mut off = options.clone();
        off.switches.set(&PROLOGUE, Mode::Off);
        assert_eq!(found.plan, crate::fuse_with(&graph, &off).unwrap().plan);
    }

    /// On a machine where it pays and on one where it does not, whatever the measured numbers say.
    #[test]
    fn what_may_change_bits_is_decided_by_fixed_numbers() {
        let few = Machine { workers: 1, launch_ns: 1_000_000, ..Machine::default() };
        // One that launches for nothing, and has more workers than a sum has pieces.
        let many = Machine { workers: 1 << 20, launch_ns: 0, bytes: u64::MAX, ..Machine::default() };
        let rule = crate::decision("moe.sum_in_down").unwrap();
        let graph = weft_ir::parse(EXPERTS).unwrap();
        let taken = |costs: CostModel, decision: &Decision| {
            let fusion = crate::fuse_with(&graph, &Options { costs, ..Options::default() }).unwrap();
            fusion.choices.iter().any(|c| c.decision == decision && c.taken())
        };
        for (machine, fixed, rules_keep_bits, expected) in [
            (few, few, true, true),
            (many, many, true, false),
            (few, many, true, true),
            (many, few, true, false),
            (few, many, false, false),
            (many, few, false, true),
        ] {
            let costs = CostModel { machine, fixed, rules_keep_bits };
            assert_eq!(taken(costs, rule), expected, "{costs:?}");
        }
        for rules_keep_bits in [true, false] {
            let costs = CostModel { machine: few, fixed: many, rules_keep_bits };
            let of = |name| costs.decides(crate::decision(name).unwrap()) == &few;
            assert!(of("fuse.norm_into_dot") && !of("fold.query"), "products of weights are rounded again");
        }
    }
}
