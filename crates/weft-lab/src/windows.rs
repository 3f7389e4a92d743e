//! Cuts a text into windows, which models read independently; the second half of each is scored.
//!
//! This follows llama.cpp (`llama-perplexity` without `--ppl-stride`), so that results can be compared: windows of `context` tokens
//! follow each other without overlap. If the vocabulary has a token that begins texts (BOS), it replaces the first token of each
//! window. Scored are the predictions at the positions from `context / 2` on, each of the next token in the window, so that every
//! prediction is based on at least half a window.

use std::sync::atomic::{AtomicBool, Ordering};

use weft_engine::inspect::{Batch, Runner};
use weft_text::{EncodeOptions, Tokenizer};

use crate::OnProgress;
use crate::error::Error;

/// The most logits computed at once: 64 MiB, whatever the vocabulary.
const LOGITS: usize = 1 << 24;

/// A callback that gets a row of logits from each runner, and the actual next token.
type OnRows<'a> = &'a mut dyn FnMut(&[&[f32]], u32) -> Result<(), Error>;

/// The number of scored predictions of a window of `context` tokens.
pub(crate) fn scored(context: usize) -> usize {
    context.saturating_sub(1).saturating_sub(context / 2)
}

/// A text, cut into windows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Windows {
    tokens: Vec<u32>,
    /// The token that replaces the first one of each window.
    bos: Option<u32>,
    context: usize,
    count: usize,
}

impl Windows {
    /// The smallest window that has a position to score.
    pub const LEAST: usize = 3;

    /// Cuts a text into at most `most` windows of `context` tokens; the rest at its end is ignored. Names of control tokens in it are
    /// read as text.
    ///
    /// # Errors
    /// If the text is too short for a window, or the window too short to score.
    pub fn new(
        tokenizer: &Tokenizer,
        text: &str,
        context: usize,
        most: Option<usize>,
    ) -> Result<Windows, Error> {
        let plain = EncodeOptions { parse_special: false, add_special: false };
        let bos = tokenizer.added_bos();
        let tokens = bos.into_iter().chain(tokenizer.encode(text, plain)).collect();
        Windows::of(tokens, bos, context, most)
    }

    fn of(tokens: Vec<u32>, bos: Option<u32>, context: usize, most: Option<usize>) -> Result<Windows, Error> {
        let count = tokens.len().checked_div(context).unwrap_or(0).min(most.unwrap_or(usize::MAX));
        if context < Windows::LEAST || count == 0 {
            return Err(Error::Short { tokens: tokens.len(), context });
        }
        Ok(Windows { tokens, bos, context, count })
    }

    /// Tokens of the whole text.
    pub fn tokens(&self) -> usize {
        self.tokens.len()
    }

    /// The number of windows.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Tokens of a window.
    pub fn context(&self) -> usize {
        self.context
    }

    /// The first position whose prediction is scored.
    fn first(&self) -> usize {
        self.context / 2
    }

    /// The number of scored predictions of a window.
    pub fn scored(&self) -> usize {
        scored(self.context)
    }

    /// The tokens of each window.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Vec<u32>> {
        (0..self.count).map(|index| self.window(index))
    }

    /// The tokens of a window.
    fn window(&self, index: usize) -> Vec<u32> {
        let mut tokens = self.tokens[index * self.context..][..self.context].to_vec();
        if let Some(bos) = self.bos {
            tokens[0] = bos;
        }
        tokens
    }

    /// Makes runners read all windows side by side. For each scored position, `score` gets the rows of logits, in the order of the
    /// runners, and the actual next token. `on` is told how many tokens are computed; `cancel` is checked before every step. Returns
    /// false if cancelled.
    ///
    /// # Errors
    /// If a step fails, or `score` does.
    pub(crate) fn read(
        &self,
        runners: &mut [&mut Runner],
        cancel: &AtomicBool,
        on: OnProgress<'_>,
        score: OnRows<'_>,
    ) -> Result<bool, Error> {
        let seqs: Vec<_> = runners.iter_mut().map(|runner| runner.new_sequence()).collect();
        let read = self.read_with(runners, &seqs, cancel, on, score);
        runners.iter_mut().zip(seqs).for_each(|(runner, seq)| runner.free(seq));
        read
    }

    fn read_with(
        &self,
        runners: &mut [&mut Runner],
        seqs: &[weft_engine::inspect::SeqId],
        cancel: &AtomicBool,
        on: OnProgress<'_>,
        score: OnRows<'_>,
    ) -> Result<bool, Error> {
        let batch = runners.iter().map(|runner| runner.batch()).min().unwrap_or(1);
        let vocab = runners.iter().map(|runner| runner.model().graph().config.vocab).max().unwrap_or(1);
        let rows = (LOGITS / vocab.max(1)).clamp(1, batch);
        let mut batches = vec![Batch::new(); runners.len()];
        // The last token of a window predicts nothing in it, so it is not computed.
        let (first, last) = (self.first(), self.context - 1);
        let total = (self.count * last) as u64;
        on(0, total);
        for index in 0..self.count {
            let tokens = self.window(index);
            for (runner, seq) in runners.iter_mut().zip(seqs) {
                runner.truncate(*seq, 0);
            }
            let mut at = 0;
            while at < last {
                if cancel.load(Ordering::Relaxed) {
                    return Ok(false);
                }
                let end = if at < first { first.min(at + batch) } else { last.min(at + rows) };
                for (batch, seq) in batches.iter_mut().zip(seqs) {
                    batch.clear();
                    tokens[at..end].iter().for_each(|token| batch.push(*seq, *token, at >= first));
                }
                let steps = runners.iter_mut().zip(&batches).map(|(runner, batch)| {
                    let vocab = runner.model().graph().config.vocab.max(1);
                    Ok(runner.step(batch)?.chunks_exact(vocab))
                });
                let mut each = steps.collect::<Result<Vec<_>, Error>>()?;
                for at in at.max(first)..end {
                    let rows: Vec<&[f32]> = each.iter_mut().filter_map(Iterator::next).collect();
                    score(&rows, tokens[at + 1])?;
                }
                at = end;
                on((index * last + at) as u64, total);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::bench::tests::runner;

    /// Windows of 7 tokens, on a text of more than three of them.
    pub(crate) fn windows(runner: &Runner) -> Windows {
        let vocab = runner.model().tokenizer();
        let text = "The quick brown fox jumps over the lazy dog, and the dog, being lazy, lets it.";
        let windows = Windows::new(vocab, text, 7, Some(3)).unwrap();
        assert_eq!((windows.count(), windows.scored()), (3, 3));
        assert!(windows.tokens() > 21);
        windows
    }

    #[test]
    fn windows_follow_each_other_and_begin_with_bos() {
        let windows = Windows::of((100..110).collect(), Some(1), 4, None).unwrap();
        assert_eq!((windows.count(), windows.scored(), windows.first()), (2, 1, 2));
        assert_eq!([windows.window(0), windows.window(1)], [[1, 101, 102, 103], [1, 105, 106, 107]]);
        let plain = Windows::of((100..110).collect(), None, 5, Some(9)).unwrap();
        assert_eq!((plain.count(), plain.scored(), plain.window(1)[0]), (2, 2, 105));
        // llama.cpp scores 255 of 512.
        assert_eq!(Windows::of(vec![0; 512], None, 512, None).unwrap().scored(), 255);
    }

    #[test]
    fn texts_and_windows_that_are_too_short_are_refused() {
        for (tokens, context, most) in
            [(0, 4, None), (3, 4, None), (9, 2, None), (9, 0, None), (9, 3, Some(0))]
        {
            let error = Windows::of(vec![0; tokens], None, context, most).unwrap_err();
            assert!(matches!(error, Error::Short { .. }), "{tokens} in {context}: {error}");
        }
    }

    /// However a window is cut into steps, the rows are those of the whole sequence.
    #[test]
    fn the_second_half_is_scored_against_the_actual_tokens() {
        let mut runner = runner(16, 2);
        let windows = windows(&runner);
        let mut expected = Vec::new();
        let vocab = runner.model().graph().config.vocab;
        for index in 0..3 {
            let tokens = windows.window(index);
            let seq = runner.new_sequence();
            for (at, token) in tokens[..6].iter().enumerate() {
                let mut batch = Batch::new();
                batch.push(seq, *token, true);
                let row = runner.step(&batch).unwrap().to_vec();
                if at >= 3 {
                    expected.push((row, tokens[at + 1]));
                }
            }
            runner.free(seq);
        }
        let (mut found, mut told) = (Vec::new(), Vec::new());
        let cancel = AtomicBool::new(false);
        let whole = windows.read(
            &mut [&mut runner],
            &cancel,
            &mut |done, total| told.push((done, total)),
            &mut |rows, token| {
                assert!(rows.len() == 1 && rows[0].len() == vocab);
                found.push((rows[0].to_vec(), token));
                Ok(())
            },
        );
        assert!(whole.unwrap());
        assert!(found == expected, "{} rows", found.len());
        assert_eq!((told.first(), told.last()), (Some(&(0, 18)), Some(&(18, 18))));
        assert!(told.is_sorted());
    }

    #[test]
    fn cancelling_ends_it_and_frees_the_sequences() {
        let mut runner = runner(8, 1);
        let windows = windows(&runner);
        let cancel = AtomicBool::new(false);
        let mut rows = 0;
        for _ in 0..2 {
            let whole = windows.read(&mut [&mut runner], &cancel, &mut |_, _| {}, &mut |_, _| {
                rows += 1;
                cancel.store(true, Ordering::Relaxed);
                Ok(())
            });
            assert!(!whole.unwrap());
            cancel.store(false, Ordering::Relaxed);
        }
        // The first step with logits has all three scored rows of a window.
        assert_eq!(rows, 6);
    }
}
