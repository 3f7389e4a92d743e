//! Queries scaled by their position, so that attention stays sharp over long contexts: "attention temperature tuning" of Llama 4
//! and Ministral 3.
//!
//! Queries at position p are multiplied by `1 + β·ln(1 + ⌊p/L⌋)`, where L is the context of the original training
//! (`llm_graph_input_attn_temp` in llama.cpp, `get_llama_4_attn_scale` in `transformers`). That is a sum of steps,
//! `1 + Σₖ β·(ln(k + 1) − ln k)·[p ≥ kL]`, each of which is `min(max(p − (kL − 1), 0), 1)` since positions are whole: no logarithm is
//! computed in a step, and no rounding moves a step to another position.

use weft_ir::{Dim, NodeId};

use crate::error::Error;
use crate::keys::{Keys, MAX_CONTEXT};
use crate::segment::SegmentBuilder;

/// The most steps within the context. Published models have 15.
const MAX_STEPS: usize = 1024;

/// How queries are scaled by their position.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Temperature {
    /// β.
    scale: f32,
    /// L, in tokens.
    length: usize,
    /// The number of steps at positions of the context, at least 1.
    steps: usize,
}

impl Temperature {
    /// Reads `attention.temperature_scale`, and for L `rope.scaling.original_context_length`, by default the whole context. `None` if
    /// the file has no scale, or the context is too short for a step.
    ///
    /// # Errors
    /// If there are too many steps.
    pub(crate) fn read(keys: &Keys<'_>, context: usize) -> Result<Option<Temperature>, Error> {
        const LENGTH: &str = "rope.scaling.original_context_length";
        let Some(scale) = keys.positive_opt("attention.temperature_scale")? else { return Ok(None) };
        let length = keys.number_opt(LENGTH, 1..=MAX_CONTEXT)?.unwrap_or(context);
        let steps = (context - 1) / length;
        if steps > MAX_STEPS {
            let supported = format!(
                "with attention.temperature_scale, context_length, {context}, can be at most {MAX_STEPS} times as long"
            );
            return Err(keys.unsupported(LENGTH, length, supported));
        }
        Ok((steps > 0).then_some(Temperature { scale, length, steps }))
    }

    /// Scales queries, `[T, heads, width]`.
    pub(crate) fn apply(&self, s: &mut SegmentBuilder<'_>, queries: NodeId) -> NodeId {
        let pos = s.per_token("pos");
        let g = &mut s.g;
        let pos = g.cast(pos);
        let pos = g.reshape(pos, [Dim::T, 1.into()]);
        let before: Vec<f32> = (1..=self.steps).map(|k| (k * self.length - 1) as f32).collect();
        let before = g.vector(&before);
        let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
        let past = g.sub(pos, before);
        let past = g.max(past, zero);
        let reached = g.min(past, one);
        let heights: Vec<f32> = (1..=self.steps).map(|k| self.height(k)).collect();
        let heights = g.vector(&heights);
        let steps = g.mul(reached, heights);
        let sum = g.reduce_sum(steps, 1);
        let factor = g.add(sum, one);
        let factor = g.reshape(factor, [Dim::T, 1.into(), 1.into()]);
        g.mul(queries, factor)
    }

    /// The addend of step `k` to the factor.
    fn height(&self, k: usize) -> f32 {
        let k = k as f64;
        (f64::from(self.scale) * ((k + 1.0) / k).ln()) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_add_up_to_the_logarithm() {
        let temperature = Temperature { scale: 0.1, length: 16_384, steps: 15 };
        let mut sum = 1.0f32;
        for k in 1..=temperature.steps {
            sum += temperature.height(k);
            let whole = 1.0 + 0.1 * ((k + 1) as f64).ln();
            assert!((f64::from(sum) / whole - 1.0).abs() < 3e-7, "step {k}: {sum}, expected {whole}");
        }
    }
}
