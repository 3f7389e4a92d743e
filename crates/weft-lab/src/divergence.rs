//! The divergence of one model's predictions from another's: what quantisation costs, for example.
//!
//! Both read the same text side by side, in the same [`Windows`], so that only the logits of one step of each are in memory. At every
//! scored position the base predicts `p` and the other model `q`; `Σ p · ln p/q` is the information lost there (Kullback and Leibler,
//! 1951).

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use serde_json::{Value, json};
use weft_engine::inspect::Runner;
use weft_text::Tokenizer;

use crate::OnProgress;
use crate::distribution::{Distribution, Mean};
use crate::error::Error;
use crate::samples::Samples;
use crate::windows::Windows;

/// The divergence of a model's predictions from another's.
#[derive(Clone, PartialEq, Debug)]
pub struct Divergence {
    /// The divergence at every position, in nats, in the order of the text.
    pub each: Samples,
    /// The number of positions where both find the same token the likeliest.
    pub same_top: u64,
    /// The change in probability of the actual next token: `q − p`.
    pub shift: Mean,
    /// Its square.
    pub square_shift: Mean,
    /// `−ln p` of the actual next tokens: base, other.
    pub nll: [Mean; 2],
    /// Windows of the text, and tokens of each.
    pub windows: (usize, usize),
    /// Whether all windows were read.
    pub whole: bool,
    /// The time it took, in seconds.
    pub seconds: f64,
}

impl Divergence {
    /// The mean divergence and its error.
    pub fn mean(&self) -> Mean {
        self.each.all().iter().copied().collect()
    }

    /// The fraction of positions with the same likeliest token.
    pub fn same_top_share(&self) -> f64 {
        self.same_top as f64 / self.each.all().len() as f64
    }

    /// The perplexities: base, other.
    pub fn perplexities(&self) -> [f64; 2] {
        self.nll.map(|nll| nll.mean().exp())
    }

    /// Everything as JSON; NaN is `null`.
    pub fn json(&self) -> Value {
        let [median, p99, most] = [0.5, 0.99, 1.0].map(|share| self.each.quantile(share));
        let mean = self.mean();
        let (windows, context) = self.windows;
        json!({
            "kl": {
                "mean": mean.mean(),
                "standard_error": mean.standard_error(),
                "median": median,
                "p99": p99,
                "max": most,
                "each": self.each.all(),
            },
            "same_top": { "share": self.same_top_share(), "positions": self.same_top },
            "probability_shift": {
                "mean": self.shift.mean(),
                "standard_error": self.shift.standard_error(),
                "root_mean_square": self.square_shift.mean().sqrt(),
            },
            "perplexity": self.perplexities(),
            "scored_tokens": self.each.all().len(),
            "windows": windows,
            "context": context,
            "whole": self.whole,
            "seconds": self.seconds,
        })
    }
}

/// Compares the predictions of `other` with those of `base`. `on` is told how many tokens are computed; once `cancel` is set, the
/// results so far are returned.
///
/// # Errors
/// [`Error::Vocabulary`] if their tokens differ; an error if a step fails, a runner has no room for a window, or logits are not numbers.
pub fn divergence(
    base: &mut Runner,
    other: &mut Runner,
    windows: &Windows,
    cancel: &AtomicBool,
    on: OnProgress<'_>,
) -> Result<Divergence, Error> {
    let models = [base.model(), other.model()];
    same_tokens(models.map(|model| (&**model.tokenizer(), model.graph().config.vocab)))?;
    let started = Instant::now();
    let mut found = Divergence {
        each: Samples::new(),
        same_top: 0,
        shift: Mean::default(),
        square_shift: Mean::default(),
        nll: [Mean::default(); 2],
        windows: (windows.count(), windows.context()),
        whole: false,
        seconds: 0.0,
    };
    found.whole = windows.read(&mut [base, other], cancel, on, &mut |rows, token| {
        if let [p, q] = rows {
            found.compare(&Distribution::new(p)?, &Distribution::new(q)?, token);
        }
        Ok(())
    })?;
    found.seconds = started.elapsed().as_secs_f64();
    Ok(found)
}

impl Divergence {
    /// Adds a position.
    fn compare(&mut self, p: &Distribution<'_>, q: &Distribution<'_>, token: u32) {
        self.each.push(p.divergence(q));
        self.same_top += u64::from(p.top() == q.top());
        let logs = [p, q].map(|d| d.log(token));
        let shift = logs[1].exp() - logs[0].exp();
        self.shift.push(shift);
        self.square_shift.push(shift * shift);
        self.nll.iter_mut().zip(logs).for_each(|(nll, log)| nll.push(-log));
    }
}

/// Checks that two vocabularies have the same tokens.
fn same_tokens([(a, a_rows), (b, b_rows)]: [(&Tokenizer, usize); 2]) -> Result<(), Error> {
    for (what, [a, b]) in [("tokens", [a.vocab_len(), b.vocab_len()]), ("logits", [a_rows, b_rows])] {
        if a != b {
            return Err(Error::Vocabulary(format!("the first has {a} {what}, the second {b}")));
        }
    }
    let differs = |id: &u32| a.token_bytes(*id) != b.token_bytes(*id);
    match (0..a.vocab_len() as u32).find(differs) {
        None => Ok(()),
        Some(id) => {
            let [a, b] = [a, b].map(|tokens| tokens.decode(&[id], false));
            Err(Error::Vocabulary(format!("token {id} is {a:?} in the first, {b:?} in the second")))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::path::Path;
    use std::sync::atomic::Ordering;

    use weft_engine::EngineOptions;

    use super::*;
    use crate::bench::tests::runner;
    use crate::windows::tests::windows;

    fn fixture(name: &str) -> Runner {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
        // A different batch size than `engine` has.
        let options = EngineOptions::default().threads(1).context(16).batch(3);
        Runner::load(&path, &options, &mut |_| ControlFlow::Continue(())).unwrap()
    }

    fn none() -> Divergence {
        Divergence {
            each: Samples::new(),
            same_top: 0,
            shift: Mean::default(),
            square_shift: Mean::default(),
            nll: [Mean::default(); 2],
            windows: (1, 4),
            whole: true,
            seconds: 1.0,
        }
    }

    #[test]
    fn positions_are_compared_in_the_right_direction() {
        let logits = |p: f64| [p.ln() as f32, (1.0 - p).ln() as f32];
        let (p, q) = (logits(0.75), logits(0.25));
        let (p, q) = (Distribution::new(&p).unwrap(), Distribution::new(&q).unwrap());
        let mut found = none();
        found.compare(&p, &q, 0);
        found.compare(&p, &p, 1);
        // 0.75 ln 3 + 0.25 ln 1/3.
        assert!(
            (found.each.all()[0] - 0.5 * 3f64.ln()).abs() < 1e-7 && found.each.all()[1] == 0.0,
            "{found:?}"
        );
        assert_eq!((found.same_top, found.same_top_share()), (1, 0.5));
        assert!((found.shift.mean() + 0.25).abs() < 1e-7, "the actual token is less likely for the second");
        assert!((found.square_shift.mean() - 0.125).abs() < 1e-7);
        let expected = [(0.75 * 0.25f64).powf(-0.5), 4.0];
        let close = |(a, b): (f64, f64)| (a - b).abs() < 1e-6;
        assert!(found.perplexities().into_iter().zip(expected).all(close), "{:?}", found.perplexities());
    }

    #[test]
    fn quantiles_are_of_all_samples() {
        let each: Samples = (1..=200).rev().map(f64::from).collect();
        let kl = Divergence { each, ..none() }.json()["kl"].clone();
        assert_eq!([&kl["median"], &kl["p99"], &kl["max"]], [100.5, 198.01, 200.0]);
        assert!(none().mean().mean().is_nan());
        assert_eq!(
            (&none().json()["kl"]["mean"], &none().json()["kl"]["median"]),
            (&Value::Null, &Value::Null)
        );
    }

    #[test]
    fn a_model_does_not_differ_from_itself() {
        let (mut a, mut b) = (runner(16, 1), fixture("glm-tiny-q4_0.gguf"));
        let windows = windows(&a);
        let cancel = AtomicBool::new(false);
        let found = divergence(&mut a, &mut b, &windows, &cancel, &mut |_, _| {}).unwrap();
        assert!(found.whole && found.each.all().len() == 9);
        assert!(found.each.all().iter().all(|kl| kl.abs() < 1e-14), "{:?}", found.each);
        assert_eq!((found.same_top, found.shift.mean()), (9, 0.0));
    }

    #[test]
    fn the_same_weights_in_fewer_bits_differ_a_little() {
        let (mut a, mut b) = (fixture("glm-tiny-q8_0.gguf"), fixture("glm-tiny-q4_0.gguf"));
        let windows = windows(&a);
        let cancel = AtomicBool::new(false);
        let found = divergence(&mut a, &mut b, &windows, &cancel, &mut |_, _| {}).unwrap();
        let mean = found.mean();
        assert!(mean.mean() > 1e-6 && mean.mean() < 1.0, "{mean:?}");
        let quantiles = [0.5, 0.99, 1.0].map(|share| found.each.quantile(share));
        assert!(quantiles.is_sorted(), "{quantiles:?}");
        let stop = |done, _| cancel.store(done > 6, Ordering::Relaxed);
        let part = divergence(&mut a, &mut b, &windows, &cancel, &mut { stop }).unwrap();
        assert!(!part.whole && found.each.all().starts_with(part.each.all()) && part.each != Samples::new());
    }

    #[test]
    fn other_vocabularies_are_refused() {
        let (mut a, mut b) = (fixture("glm-tiny-q4_0.gguf"), fixture("ds2-tiny-q4_0.gguf"));
        let windows = windows(&a);
        let refused = divergence(&mut a, &mut b, &windows, &AtomicBool::new(false), &mut |_, _| {});
        let said = refused.unwrap_err().to_string();
        assert!(said.contains("the first has 2048 tokens, the second 1024"), "{said}");
    }
}
