//! The least bytes and multiplications that computing tokens takes, and the limits on speed that follow.

use serde_json::{Value, json};
use weft_device::Roof;
use weft_engine::inspect::{Amounts, Runner, StepShape};

use crate::roofs::Roofs;

/// The least that a computation needs of one limited resource.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Need {
    /// The resource.
    pub roof: Roof,
    /// The number of bytes or multiplications.
    pub amount: f64,
}

impl Need {
    /// The limit in tokens per second if `tokens` tokens together need this; NaN if the limit of the resource is not known.
    pub fn limit(&self, tokens: usize, roofs: &Roofs) -> f64 {
        roofs.of(self.roof).median() * tokens as f64 / self.amount
    }
}

/// The cost of one token of a reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PerToken {
    /// Bytes of weights read, as stored in the file.
    pub weight_bytes: u64,
    /// Bytes of the KV cache read for each earlier token.
    pub kv_bytes: u64,
    /// Multiplications by weights.
    pub multiplications: u64,
}

impl PerToken {
    /// Returns the cost according to the plans that a runner executes.
    pub(crate) fn of(runner: &Runner) -> PerToken {
        let [first, second] = [0, 1].map(|depth| amounts(runner, 1, depth, false));
        PerToken {
            weight_bytes: first.weight_bytes,
            kv_bytes: second.state_bytes - first.state_bytes,
            multiplications: amounts(runner, 1, 0, true).multiplications(),
        }
    }

    /// Everything as JSON.
    pub fn json(&self) -> Value {
        let PerToken { weight_bytes, kv_bytes, multiplications } = self;
        json!({
            "weight_bytes": weight_bytes,
            "kv_bytes_per_token_before": kv_bytes,
            "multiplications": multiplications,
        })
    }
}

/// The bytes that `sequences` replies of `tokens` tokens each read when decoded together: in each step the weights that its tokens use,
/// as if no two of them selected the same expert, and for each token the cache of its sequence.
pub(crate) fn decode_together(runner: &Runner, depth: usize, tokens: usize, sequences: usize) -> Need {
    let per_token = PerToken::of(runner);
    let weights = amounts(runner, sequences, 0, false).weight_bytes;
    decode(weights, per_token.kv_bytes, depth, tokens, sequences)
}

/// The bytes that replies decoded together read if a step reads `weight_bytes` bytes of weights.
fn decode(weight_bytes: u64, kv_bytes: u64, depth: usize, tokens: usize, sequences: usize) -> Need {
    let [depth, tokens, sequences] = [depth, tokens, sequences].map(|n| n as f64);
    let in_cache = sequences * (tokens * depth + tokens * (tokens + 1.0) / 2.0);
    Need { roof: Roof::Read, amount: tokens * weight_bytes as f64 + in_cache * kv_bytes as f64 }
}

/// The multiplications by weights for a prompt of `tokens` tokens, with logits for the last.
pub(crate) fn prefill(runner: &Runner, tokens: usize) -> Need {
    Need { roof: Roof::Dot, amount: amounts(runner, tokens, 0, true).multiplications() as f64 }
}

/// The cost of a step of `tokens` tokens after `depth` tokens, with logits for one; `by_weights` excludes attention.
fn amounts(runner: &Runner, tokens: usize, depth: usize, by_weights: bool) -> Amounts {
    let launches = runner.launches(&StepShape { tokens, depth, logits: 1 });
    let pieces = launches.iter().flat_map(|launch| &launch.pieces);
    pieces.filter(|piece| !by_weights || !piece.reads_state).map(|piece| piece.amounts).sum()
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::bench::tests::runner;

    #[test]
    fn a_limit_is_the_rate_divided_by_the_need() {
        let mut roofs = Roofs::new(NonZeroUsize::MIN);
        roofs.read.push(30e9);
        roofs.dot.push(320e9);
        let read = Need { roof: Roof::Read, amount: 2e9 };
        assert_eq!(read.limit(1, &roofs), 15.0);
        let dot = Need { roof: Roof::Dot, amount: 512.0 * 4e9 };
        assert_eq!(dot.limit(512, &roofs), 80.0);
        assert!(Need { roof: Roof::MulAdd, amount: 1.0 }.limit(1, &roofs).is_nan(), "it was not measured");
    }

    #[test]
    fn each_token_of_a_reply_reads_the_weights_and_the_cache_so_far() {
        for (depth, tokens, amount) in [(0, 1, 1010.0), (0, 3, 3060.0), (100, 1, 2010.0), (100, 2, 4030.0)] {
            assert_eq!(decode(1000, 10, depth, tokens, 1), Need { roof: Roof::Read, amount });
        }
    }

    #[test]
    fn replies_decoded_together_share_weights() {
        let runner = runner(64, 4);
        let need = |tokens, sequences| decode_together(&runner, 16, tokens, sequences).amount;
        let PerToken { weight_bytes, kv_bytes, .. } = PerToken::of(&runner);
        assert_eq!(need(5, 1), decode(weight_bytes, kv_bytes, 16, 5, 1).amount);
        // Four read more than one does, but less than four times as much.
        assert!(need(5, 4) < 4.0 * need(5, 1) && need(5, 4) > need(5, 1));
    }

    #[test]
    fn the_cost_of_a_token_agrees_with_the_model() {
        let runner = runner(16, 1);
        let per_token = PerToken::of(&runner);
        let cost = runner.model().graph().cost();
        assert_eq!(per_token.kv_bytes, cost.kv_bytes);
        assert_eq!(per_token.weight_bytes, cost.active_bytes);

        let of = |tokens| prefill(&runner, tokens).amount;
        assert_eq!(of(1), per_token.multiplications as f64);
        // Every token costs the same, but only one needs the head.
        let body = of(3) - of(2);
        assert_eq!(of(20) - of(3), 17.0 * body);
        let config = &runner.model().graph().config;
        assert_eq!(of(1) - body, (config.vocab * config.hidden) as f64);
    }
}
