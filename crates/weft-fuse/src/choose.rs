//! Decisions by cost: compile both ways, keep the cheaper plan.
//!
//! On a device whose rules keep bits, no decision that is on or by cost changes a bit. On one whose rules do not
//! ([`CostModel::rules_keep_bits`](crate::CostModel::rules_keep_bits)), rules are decided with numbers that no measurement
//! changes.

use weft_ir::{Mode, STEPS, Switches};

use crate::cost::cost;
use crate::decide::{CANDIDATES, decisions};
use crate::error::FuseError;
use crate::fusion::{Choice, Fusion};
use crate::options::Options;

/// Takes the decisions by cost one after another, each on top of those before it. `compile` compiles a graph with every decision
/// on or off.
pub(crate) fn choose(
    options: &Options,
    compile: impl Fn(&Switches) -> Result<Fusion, FuseError>,
) -> Result<Fusion, FuseError> {
    let mut switches: Switches = options.switches.clone();
    let mut best = compile(&switches)?;
    let mut choices = Vec::new();
    // Which segments there are was decided before, and not by cost.
    for decision in decisions().filter(|decision| ![&STEPS, &CANDIDATES].contains(decision)) {
        if options.switches.mode(decision) != Mode::ByCost {
            continue;
        }
        let mut switched = switches.clone();
        switched.set(decision, Mode::On);
        let other = compile(&switched);
        // A given kernel that does not fit is the person's mistake, and says nothing about the decision.
        if let Err(error @ FuseError::Replaced(_)) = other {
            return Err(error);
        }
        let machine = options.costs.decides(decision);
        let with = other.as_ref().map(|other| cost(&other.plan, machine)).map_err(FuseError::clone);
        let choice = Choice { decision, without: cost(&best.plan, machine), with };
        if let (true, Ok(other)) = (choice.pays(), other) {
            (best, switches) = (other, switched);
        }
        choices.push(choice);
    }
    Ok(Fusion { choices, ..best })
}

#[cfg(test)]
mod tests {
    use weft_ir::Decision;
    use weft_kern::Machine;

    use super::*;
    use crate::CostModel;
    use crate::decide::PROLOGUE;

    /// The last product of six experts, and their weighted sum.
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

    /// A norm before a product, which pays as a prologue.
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
    fn a_decision_that_does_not_compile_is_reported_and_not_taken() {
        let graph = weft_ir::parse(GRAPH).unwrap();
        let options = Options::default();
        let compile = |switches: &Switches| crate::compile(&graph, switches, &options);
        let of = |fusion: &Fusion| fusion.choices.iter().find(|c| *c.decision == PROLOGUE).cloned().unwrap();
        assert!(of(&choose(&options, compile).unwrap()).pays(), "else this tests nothing");

        let node = graph.outputs()[0].1;
        let wrong = FuseError::new(&graph, node, "not today");
        let found = choose(&options, |switches| match switches.on(&PROLOGUE) {
            true => Err(wrong.clone()),
            false => compile(switches),
        });
        let found = found.unwrap();
        let choice = of(&found);
        assert_eq!(choice.with, Err(wrong));
        assert!(choice.differs() && !choice.pays());
        assert_eq!(choice.without, found.cost);
        let mut off = options.clone();
        off.switches.set(&PROLOGUE, Mode::Off);
        assert_eq!(found.plan, crate::fuse_with(&graph, &off).unwrap().plan);
    }

    /// On a machine where it pays and on one where it does not, whatever the measured numbers are.
    #[test]
    fn decisions_that_may_change_bits_use_fixed_numbers() {
        let few = Machine { workers: 1, launch_ns: 1_000_000, ..Machine::default() };
        // Launches cost nothing, and there are more workers than pieces of a sum.
        let many = Machine { workers: 1 << 20, launch_ns: 0, bytes: u64::MAX, ..Machine::default() };
        let rule = crate::decision("moe.sum_in_down").unwrap();
        let graph = weft_ir::parse(EXPERTS).unwrap();
        let taken = |costs: CostModel, decision: &Decision| {
            let fusion = crate::fuse_with(&graph, &Options { costs, ..Options::default() }).unwrap();
            fusion.choices.iter().any(|c| c.decision == decision && c.pays())
        };
        for (machine, fixed, rules_keep_bits, expected) in [
            (few, few, true, true),
            (many, many, true, false),
            (few, many, true, true),
            (many, few, true, false),
            (few, many, false, false),
            (many, few, false, true),
        ] {
            let costs = CostModel { machine, fixed, rules_keep_bits, distant: false };
            assert_eq!(taken(costs, rule), expected, "{costs:?}");
        }
        for rules_keep_bits in [true, false] {
            let costs = CostModel { machine: few, fixed: many, rules_keep_bits, distant: false };
            assert_eq!(costs.decides(crate::decision("fuse.norm_into_dot").unwrap()), &few);
        }
    }

    /// Experts of GLM-4.7-Flash on an H100. Where 32 columns are the fewest, their sum is 64 pieces for 132 workers, each four
    /// products long, which takes longer than the launch that it saves.
    #[test]
    fn a_sum_of_experts_pays_where_its_columns_are_divided_among_all_workers() {
        let text = EXPERTS
            .replace("[8, 256, 64]", "[64, 2048, 1536]")
            .replace("[T, 6, 64]", "[T, 4, 1536]")
            .replace("[T, 6, 256]", "[T, 4, 2048]")
            .replace("[T, 1, 256]", "[T, 1, 2048]")
            .replace("[T, 6", "[T, 4")
            .replace("q8_0", "q4_0");
        let graph = weft_ir::parse(&text).unwrap();
        for (columns, expected) in [(16, true), (32, false)] {
            let (workers, bytes) = (132, 3_350_000_000_000);
            let machine = Machine {
                workers,
                bytes,
                worker_bytes: bytes / workers,
                worker_multiplications: 435_000_000_000,
                columns,
                ..Machine::default()
            };
            let costs = CostModel { rules_keep_bits: false, ..CostModel::fixed(machine) };
            let max = weft_ir::Sizes { tokens: 1, ..Options::default().max };
            let fusion = crate::fuse_with(&graph, &Options { max, costs, ..Options::default() }).unwrap();
            let rule = crate::decision("moe.sum_in_down").unwrap();
            let taken = fusion.choices.iter().any(|c| c.decision == rule && c.pays());
            assert_eq!(taken, expected, "{columns} columns");
        }
    }
}
