//! Perplexity, or how well a model predicts a text: `exp` of the mean of `−ln p(actual token)`.
//!
//! Lower is better; a model that knows nothing has the size of its vocabulary. [`Windows`] says which positions are scored.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use serde_json::{Value, json};
use weft_engine::inspect::Runner;

use crate::OnProgress;
use crate::distribution::{Distribution, Mean};
use crate::error::Error;
use crate::samples::Samples;
use crate::windows::Windows;

/// The perplexity of a model on a text.
#[derive(Clone, PartialEq, Debug)]
pub struct Perplexity {
    /// `−ln p` of the actual tokens, in nats.
    pub nll: Mean,
    /// The mean of each complete window.
    pub windows: Samples,
    /// The number of windows of the text.
    pub of: usize,
    /// Tokens of a window.
    pub context: usize,
    /// Tokens that were computed: all of a window but its last.
    pub computed: u64,
    /// The time it took, in seconds.
    pub seconds: f64,
}

impl Perplexity {
    /// The perplexity; NaN if nothing was scored.
    pub fn value(&self) -> f64 {
        self.nll.mean().exp()
    }

    /// Its standard error: to first order, the error of the mean times the perplexity.
    pub fn standard_error(&self) -> f64 {
        self.value() * self.nll.standard_error()
    }

    /// Whether the whole text was read.
    pub fn is_whole(&self) -> bool {
        self.windows.all().len() == self.of
    }

    /// Everything as JSON; NaN is `null`.
    pub fn json(&self) -> Value {
        json!({
            "perplexity": self.value(),
            "standard_error": self.standard_error(),
            "nll": self.nll.json(),
            "scored_tokens": self.nll.count(),
            "context": self.context,
            "windows": { "of": self.of, "nll": self.windows.all() },
            "whole": self.is_whole(),
            "seconds": self.seconds,
            "tokens_per_second": self.computed as f64 / self.seconds,
        })
    }
}

/// Computes the perplexity of a model on a text. `on` is told how many tokens are computed; once `cancel` is set, the results so far
/// are returned.
///
/// # Errors
/// If a step fails, the runner has no room for a window, or logits are not numbers.
pub fn perplexity(
    runner: &mut Runner,
    windows: &Windows,
    cancel: &AtomicBool,
    on: OnProgress<'_>,
) -> Result<Perplexity, Error> {
    let (mut nll, mut own, mut each) = (Mean::default(), Mean::default(), Samples::new());
    let started = Instant::now();
    let mut computed = 0;
    let mut on = |done, total| {
        computed = done;
        on(done, total);
    };
    windows.read(&mut [runner], cancel, &mut on, &mut |rows, token| {
        for row in rows {
            let surprise = -Distribution::new(row)?.log(token);
            nll.push(surprise);
            own.push(surprise);
        }
        if own.count() == windows.scored() as u64 {
            each.push(std::mem::take(&mut own).mean());
        }
        Ok(())
    })?;
    let seconds = started.elapsed().as_secs_f64();
    let (of, context) = (windows.count(), windows.context());
    Ok(Perplexity { nll, windows: each, of, context, computed, seconds })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use weft_engine::inspect::Batch;

    use super::*;
    use crate::bench::tests::runner;
    use crate::windows::tests::windows;

    #[test]
    fn it_is_the_exponential_of_the_mean_surprise() {
        let perplexity = Perplexity {
            // Tokens of probability 1/2, 1/8: a mean of ln 4.
            nll: [2f64.ln(), 8f64.ln()].into_iter().collect(),
            windows: [4f64.ln()].into_iter().collect(),
            of: 2,
            context: 6,
            computed: 10,
            seconds: 4.0,
        };
        assert!((perplexity.value() - 4.0).abs() < 1e-12);
        // The standard error of two numbers is half their distance, here ln 2.
        assert!((perplexity.standard_error() - 4.0 * 2f64.ln()).abs() < 1e-12);
        assert!(!perplexity.is_whole());
        let json = perplexity.json();
        assert_eq!((&json["scored_tokens"], &json["tokens_per_second"]), (&json!(2), &json!(2.5)));
        assert_eq!(json["windows"], json!({ "of": 2, "nll": [4f64.ln()] }));
    }

    #[test]
    fn a_text_is_scored() {
        let mut runner = runner(16, 1);
        let windows = windows(&runner);
        let cancel = AtomicBool::new(false);
        let found = perplexity(&mut runner, &windows, &cancel, &mut |_, _| {}).unwrap();
        assert!(found.is_whole() && found.nll.count() == 9 && found.computed == 18, "{found:?}");
        let mean = found.windows.all().iter().sum::<f64>() / 3.0;
        assert!((mean - found.nll.mean()).abs() < 1e-12);
        // A model of random weights knows nothing.
        let vocab = runner.model().graph().config.vocab as f64;
        assert!((0.2 * vocab..10.0 * vocab).contains(&found.value()), "{}", found.value());
    }

    /// The perplexity from the rows of logits one by one.
    #[test]
    fn the_perplexity_is_that_of_the_rows() {
        let mut runner = runner(16, 1);
        let windows = windows(&runner);
        let mut direct = Vec::new();
        let tokens = {
            let mut all = Vec::new();
            let cancel = AtomicBool::new(false);
            windows
                .read(&mut [&mut runner], &cancel, &mut |_, _| {}, &mut |rows, token| {
                    all.push((rows[0].to_vec(), token));
                    Ok(())
                })
                .unwrap();
            all
        };
        for (row, token) in &tokens {
            let sum: f64 = row.iter().map(|x| f64::from(*x).exp()).sum();
            direct.push(sum.ln() - f64::from(row[*token as usize]));
        }
        let mean = direct.iter().sum::<f64>() / direct.len() as f64;
        let cancel = AtomicBool::new(false);
        let found = perplexity(&mut runner, &windows, &cancel, &mut |_, _| {}).unwrap();
        assert!((found.nll.mean() - mean).abs() < 1e-9);
    }

    #[test]
    fn a_cancelled_run_returns_what_was_scored() {
        let mut runner = runner(8, 1);
        let windows = windows(&runner);
        let cancel = AtomicBool::new(false);
        let stop = |done, _| cancel.store(done > 6, Ordering::Relaxed);
        let found = perplexity(&mut runner, &windows, &cancel, &mut { stop }).unwrap();
        assert!(!found.is_whole() && found.windows.all().len() == 1 && found.nll.count() == 3, "{found:?}");
        // The runner has room again.
        let seq = runner.new_sequence();
        let mut batch = Batch::new();
        (0..4).for_each(|token| batch.push(seq, token, false));
        runner.step(&batch).unwrap();
        runner.step(&batch).unwrap();
    }
}
