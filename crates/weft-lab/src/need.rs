//! What computing takes at least, and so how fast a machine can do it at most.

use serde_json::{Value, json};
use weft_cpu::Roof;
use weft_engine::{ExplainOptions, Runner, Switches, explain};

use crate::error::Error;
use crate::roofline::Roofs;

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
    /// Bytes of weights that are multiplied by, as the file has them.
    pub weight_bytes: u64,
    /// Bytes of the KV cache for each token that stands before it.
    pub kv_bytes: u64,
    /// Multiplications by weights.
    pub multiplications: u64,
}

impl PerToken {
    /// What the model of this engine takes, as it is compiled with these decisions.
    pub(crate) fn of(engine: &Runner, switches: &Switches) -> Result<PerToken, Error> {
        let (weight_bytes, multiplications) = work(engine, switches, 1)?;
        let kv_bytes = engine.model().graph().cost().kv_bytes;
        Ok(PerToken { weight_bytes, kv_bytes, multiplications })
    }

    /// What a reply of `tokens` tokens reads after `depth` others: every token all weights it uses, and the cache of all tokens up to it.
    pub fn decode(&self, depth: usize, tokens: usize) -> Need {
        let [depth, tokens] = [depth, tokens].map(|n| n as f64);
        let in_cache = tokens * depth + tokens * (tokens + 1.0) / 2.0;
        Need { roof: Roof::Read, amount: tokens * self.weight_bytes as f64 + in_cache * self.kv_bytes as f64 }
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

/// What a prompt of `tokens` tokens multiplies by weights; the logits are those of its last token.
pub(crate) fn prefill(engine: &Runner, switches: &Switches, tokens: usize) -> Result<Need, Error> {
    let (_, multiplications) = work(engine, switches, tokens)?;
    Ok(Need { roof: Roof::Dot, amount: multiplications as f64 })
}

/// Bytes of weights read and multiplications by them in a step of `tokens` tokens with the logits of one.
fn work(engine: &Runner, switches: &Switches, tokens: usize) -> Result<(u64, u64), Error> {
    let options = ExplainOptions { switches: switches.clone(), tokens, machine: engine.device().machine };
    let plans = explain(engine.model().graph(), &options)?;
    let works = plans.iter().flat_map(|plan| {
        let times = plan.segments.len() as u64;
        plan.calls.iter().map(move |call| (times, call.work))
    });
    Ok(works.fold((0, 0), |(bytes, multiplications), (times, work)| {
        (bytes + times * work.weight_bytes, multiplications + times * work.multiplications)
    }))
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
    fn a_token_takes_what_the_model_says() {
        let engine = engine(16, 1);
        let none = Switches::default();
        let per_token = PerToken::of(&engine, &none).unwrap();
        let cost = engine.model().graph().cost();
        assert_eq!(per_token.kv_bytes, cost.kv_bytes);
        // All but norms, biases and one row of the embedding are multiplied by.
        let share = per_token.weight_bytes as f64 / cost.active_bytes as f64;
        assert!((0.95..1.0).contains(&share), "{share}");

        let of = |tokens| prefill(&engine, &none, tokens).unwrap().amount;
        assert_eq!(of(1), per_token.multiplications as f64);
        // Every token adds the same, and the head is for one of them.
        let body = of(3) - of(2);
        assert_eq!(of(20) - of(3), 17.0 * body);
        let config = &engine.model().graph().config;
        assert_eq!(of(1) - body, (config.vocab * config.hidden) as f64);
    }
}
