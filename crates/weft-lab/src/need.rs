//! What computing takes at least, and so how fast a machine can do it at most.

use serde_json::{Value, json};
use weft_device::Roof;
use weft_engine::inspect::{Amounts, Runner, StepShape};

use crate::roofs::Roofs;

/// What something needs of one roof.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Need {
    /// The roof.
    pub roof: Roof,
    /// How many bytes or multiplications.
    pub amount: f64,
}

impl Need {
    /// Tokens a second, if so many tokens together need it and nothing else takes time; NaN if the roof is not known.
    pub fn limit(&self, tokens: usize, roofs: &Roofs) -> f64 {
        roofs.of(self.roof).median() * tokens as f64 / self.amount
    }
}

/// What a model takes for one token of a reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PerToken {
    /// Bytes of weights that are read, as the file has them.
    pub weight_bytes: u64,
    /// Bytes of the KV cache that are read for each token before it.
    pub kv_bytes: u64,
    /// Multiplications by weights.
    pub multiplications: u64,
}

impl PerToken {
    /// What the plans take that an engine runs.
    pub(crate) fn of(engine: &Runner) -> PerToken {
        let [first, second] = [0, 1].map(|depth| amounts(engine, 1, depth, false));
        PerToken {
            weight_bytes: first.weight_bytes,
            kv_bytes: second.state_bytes - first.state_bytes,
            multiplications: amounts(engine, 1, 0, true).multiplications(),
        }
    }

    /// What a reply of `tokens` tokens reads after `depth` others: every token all weights it uses, and the cache of all tokens up to it.
    pub fn decode(&self, depth: usize, tokens: usize) -> Need {
        decode(self.weight_bytes, self.kv_bytes, depth, tokens, 1)
    }

    /// All of it, for programs.
    pub fn json(&self) -> Value {
        let PerToken { weight_bytes, kv_bytes, multiplications } = self;
        json!({
            "weight_bytes": weight_bytes,
            "kv_bytes_per_token_before": kv_bytes,
            "multiplications": multiplications,
        })
    }
}

/// What `sequences` replies of `tokens` tokens each read, computed together: every step the weights that one of its tokens uses, as if no two
/// of them picked the same experts, and every token the cache of its own sequence.
pub(crate) fn decode_together(engine: &Runner, depth: usize, tokens: usize, sequences: usize) -> Need {
    let per_token = PerToken::of(engine);
    let weights = amounts(engine, sequences, 0, false).weight_bytes;
    decode(weights, per_token.kv_bytes, depth, tokens, sequences)
}

/// What replies read that are computed together, with this much of weights a step.
fn decode(weight_bytes: u64, kv_bytes: u64, depth: usize, tokens: usize, sequences: usize) -> Need {
    let [depth, tokens, sequences] = [depth, tokens, sequences].map(|n| n as f64);
    let in_cache = sequences * (tokens * depth + tokens * (tokens + 1.0) / 2.0);
    Need { roof: Roof::Read, amount: tokens * weight_bytes as f64 + in_cache * kv_bytes as f64 }
}

/// What a prompt of `tokens` tokens multiplies by weights, for the logits of its last token.
pub(crate) fn prefill(engine: &Runner, tokens: usize) -> Need {
    Need { roof: Roof::Dot, amount: amounts(engine, tokens, 0, true).multiplications() as f64 }
}

/// What a step of `tokens` tokens takes after `depth` others, with the logits of one; `by_weights` leaves attention out.
fn amounts(engine: &Runner, tokens: usize, depth: usize, by_weights: bool) -> Amounts {
    let launches = engine.launches(&StepShape { tokens, depth, logits: 1 });
    let pieces = launches.iter().flat_map(|launch| &launch.pieces);
    pieces.filter(|piece| !by_weights || piece.anchor != "attend").map(|piece| piece.amounts).sum()
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::bench::tests::engine;

    #[test]
    fn a_limit_is_what_the_roof_allows() {
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
    fn a_reply_reads_the_weights_each_time_and_a_growing_cache() {
        let per_token = PerToken { weight_bytes: 1000, kv_bytes: 10, multiplications: 0 };
        for (depth, tokens, amount) in [(0, 1, 1010.0), (0, 3, 3060.0), (100, 1, 2010.0), (100, 2, 4030.0)] {
            assert_eq!(per_token.decode(depth, tokens), Need { roof: Roof::Read, amount });
        }
    }

    #[test]
    fn replies_together_read_their_weights_once_a_step() {
        let engine = engine(64, 4);
        let need = |tokens, sequences| decode_together(&engine, 16, tokens, sequences).amount;
        assert_eq!(need(5, 1), PerToken::of(&engine).decode(16, 5).amount);
        // Four read less than four times what one does, and more than one.
        assert!(need(5, 4) < 4.0 * need(5, 1) && need(5, 4) > need(5, 1));
    }

    #[test]
    fn a_token_takes_what_the_model_says() {
        let engine = engine(16, 1);
        let per_token = PerToken::of(&engine);
        let cost = engine.model().graph().cost();
        assert_eq!(per_token.kv_bytes, cost.kv_bytes);
        assert_eq!(per_token.weight_bytes, cost.active_bytes);

        let of = |tokens| prefill(&engine, tokens).amount;
        assert_eq!(of(1), per_token.multiplications as f64);
        // Every token adds the same, and the head is for one of them.
        let body = of(3) - of(2);
        assert_eq!(of(20) - of(3), 17.0 * body);
        let config = &engine.model().graph().config;
        assert_eq!(of(1) - body, (config.vocab * config.hidden) as f64);
    }
}
