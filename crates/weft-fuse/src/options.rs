//! The target of a plan, and the numbers that decide by cost.

use std::sync::Arc;

use weft_ir::{Decision, Sizes, Switches};
use weft_kern::{Machine, Replacement};

use crate::decide::REPLACE;

/// The target that a plan is compiled for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// The largest sizes of a step.
    pub max: Sizes,
    /// The most pages of a sequence, if attention should know: it is then spread over no more workgroups than one of them needs.
    pub most_pages: Option<usize>,
    /// Decisions that were set explicitly.
    pub switches: Switches,
    /// The numbers that decide by cost.
    pub costs: CostModel,
    /// Kernels to replace wherever a plan has them. The first that fits a kernel replaces it.
    pub replacements: Vec<Arc<Replacement>>,
}

/// The numbers that decide by cost: how fast a machine is.
///
/// Two runs may know different numbers of one machine, because it was measured in between. So that bits never depend on when that
/// was, decisions that may change bits use [`fixed`](CostModel::fixed) numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CostModel {
    /// The best numbers known: measured, if the machine was.
    pub machine: Machine,
    /// Numbers that are the same in every run, from a table.
    pub fixed: Machine,
    /// Whether the machine sums a product in the same order wherever a rule moves it, so that rules that keep the bits of values
    /// ([`Keeps::Bits`](weft_ir::Keeps::Bits)) keep those of the machine as well.
    pub rules_keep_bits: bool,
    /// Whether reading results takes longer the more there are.
    pub distant: bool,
}

impl CostModel {
    /// A machine that was not measured, and whose bits rules keep if they promise so.
    pub const fn fixed(machine: Machine) -> CostModel {
        CostModel { machine, fixed: machine, rules_keep_bits: true, distant: false }
    }

    /// Whether the machine has been measured.
    pub fn is_measured(&self) -> bool {
        self.machine != self.fixed
    }

    /// Returns whether a decision by cost changes no bits: a decision of fusion, or a rule that keeps the machine's bits. A kernel
    /// of a user may change them.
    pub fn keeps_bits(&self, decision: &Decision) -> bool {
        if *decision == REPLACE {
            return false;
        }
        let rule = weft_ir::rules::RULES.into_iter().find(|rule| rule.decision == *decision);
        rule.is_none_or(|rule| rule.keeps == weft_ir::Keeps::Bits && self.rules_keep_bits)
    }

    /// The numbers that a decision uses.
    pub fn decides(&self, decision: &Decision) -> &Machine {
        if self.keeps_bits(decision) { &self.machine } else { &self.fixed }
    }
}

impl Default for CostModel {
    /// A common machine.
    fn default() -> CostModel {
        CostModel::fixed(Machine::default())
    }
}
