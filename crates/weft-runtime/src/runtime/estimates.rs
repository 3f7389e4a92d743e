//! Estimated times of steps, by the cost model.

use std::sync::Arc;

use weft_fuse::estimate;
use weft_ir::Sizes;
use weft_kern::{Plan, Seen};

use super::Runtime;

impl Runtime {
    /// Estimates the times of steps of one token, of two and so on, as many as logits can be computed of at once. The logits
    /// of all are wanted. Attention, which depends on the depth, is left out.
    pub fn estimates(&self) -> Vec<f64> {
        (1..=self.room.max.rows.min(self.room.max.tokens)).map(|rows| self.estimated(rows)).collect()
    }

    fn estimated(&self, rows: usize) -> f64 {
        let Some(class) = self.variants.used().class(rows) else { return 0.0 };
        self.estimated_of(&class.plans, rows)
    }

    /// Estimates the times of predicting one token more with one row, with two and so on. Empty if the model cannot.
    pub fn prediction_estimates(&self) -> Vec<f64> {
        let plans =
            |rows| self.variants.used().class(rows)?.predictor.as_ref().map(|predictor| &predictor.plans);
        let rows = 1..=self.room.max.rows.min(self.room.max.tokens);
        rows.map_while(|rows| Some(self.estimated_of(plans(rows)?, rows))).collect()
    }

    fn estimated_of(&self, plans: &[Arc<Plan>], rows: usize) -> f64 {
        let sizes = Sizes::of(rows).rows(rows).slots(self.room.max.slots).pages(rows);
        let sizes = sizes.sequences(self.room.max.sequences.min(1));
        let seen = Seen { rows: rows as u64, pairs: rows as u64 };
        // Layers share plans.
        let mut known: Vec<(&Arc<Plan>, f64)> = Vec::new();
        plans.iter().fold(0.0, |all, plan| {
            let time = known.iter().find(|(other, _)| Arc::ptr_eq(other, plan)).map(|(_, time)| *time);
            let time = time.unwrap_or_else(|| {
                let time = estimate(plan, &sizes, &seen, &self.costs().machine).iter().sum::<u64>() as f64;
                known.push((plan, time));
                time
            });
            all + time
        })
    }
}
