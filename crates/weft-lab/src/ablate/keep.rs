//! Which decisions of an ablation are worth keeping.

use weft_engine::inspect::{REPLACE, TunedDecision};

use super::{Ablation, Change, Combined, Measured, Outcome, Row, Verdict};

impl Ablation {
    /// The decisions to keep: the winners that were combined, if they do not lose together. If the ablation was interrupted
    /// before that, those that were combined so far, or the best change alone.
    ///
    /// Changes that are no decisions cannot be kept: `weft tune` finds schedules for each kernel, and `--batch` sets the size
    /// of steps. Nor can the use of kernels that were given, which are not known to later runs.
    pub fn winners(&self) -> Vec<TunedDecision> {
        let combined = self.combined.as_ref();
        if let Some(Combined { tried, kept, together }) =
            combined.filter(|combined| !combined.kept.is_empty())
        {
            let loses = match together {
                Some(together) => !together.computes_the_same() || together.verdict() == Verdict::Drop,
                None => !self.interrupted,
            };
            let is_kept = |row: &&Row| kept.contains(&row.change);
            return if loses { Vec::new() } else { tried.iter().filter(is_kept).filter_map(tuned).collect() };
        }
        // Combining has found that none wins, or has not begun.
        if combined.is_some() && !self.interrupted {
            return Vec::new();
        }
        let winners = self.rows.iter().filter(|row| row.outcome.verdict() == Verdict::Keep);
        let winners = winners.filter(|row| tuned(row).is_some());
        let best = winners.max_by(|a, b| a.outcome.gain().total_cmp(&b.outcome.gain()));
        best.and_then(tuned).into_iter().collect()
    }
}

impl Outcome {
    /// Whether it was measured, and its logits are close enough.
    fn computes_the_same(&self) -> bool {
        matches!(self, Outcome::Measured(gate, _) if gate.passes)
    }
}

fn tuned(row: &Row) -> Option<TunedDecision> {
    let (Change::Decision(decision, mode), Outcome::Measured(gate, phases)) = (row.change, &row.outcome)
    else {
        return None;
    };
    if *decision == REPLACE {
        // A result with users' kernels says nothing about others.
        return None;
    }
    let gain = |phase: &Measured| format!("{} {:+.1} %", phase.phase.name(), 100.0 * phase.gain.median);
    let mut gains: Vec<String> = phases.iter().map(gain).collect();
    if !gate.same_bits {
        gains.push(format!("KL {:.1e}", gate.from_base.mean_kl));
    }
    Some(TunedDecision { decision, mode, why: gains.join(", ") })
}

/// Returns the decisions kept before and those found on top of them. One that is back at its default need not be kept.
pub fn kept_together(before: &[TunedDecision], found: &[TunedDecision]) -> Vec<TunedDecision> {
    let is_found = |one: &TunedDecision| found.iter().any(|new| new.decision == one.decision);
    let all = before.iter().filter(|one| !is_found(one)).chain(found);
    all.filter(|one| one.mode != one.decision.default).cloned().collect()
}
