//! Guesses by a smaller model of the same vocabulary.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use weft_runtime::{Error, Head, Model, PAGE, has_states};

use super::drafter::{Ask, BY_MODEL, Drafter};
use crate::batch::{Batch, SeqId};
use crate::options::EngineOptions;
use crate::runner::Runner;
use crate::sampling::logprobs::Likeliest;
use crate::speculate::Speculate;

/// The most tokens guessed at once: each takes a step of the smaller model.
const MOST: usize = 6;

/// The least probability, by the smaller model, of a token that is guessed.
const LIKELY: f32 = 0.4;

/// A smaller model that continues the texts of replies, with a KV cache of its own.
pub(crate) struct DraftModel {
    runner: Runner,
    texts: BTreeMap<u64, Text>,
    /// The pages of its KV cache.
    pages: usize,
}

/// The tokens that the smaller model has computed for a generation.
struct Text {
    seq: SeqId,
    tokens: Vec<u32>,
}

/// A reply that is being guessed.
struct Guessing {
    /// The index of its ask.
    at: usize,
    generation: u64,
    /// The tokens to compute next.
    next: Vec<u32>,
    guess: Vec<u32>,
    most: usize,
}

/// The options of a model that guesses for one with these `options`: all of it is on their device, and it has no adapters.
pub(crate) fn draft_options(options: &EngineOptions, context: usize) -> EngineOptions {
    let own = options.clone().context(context).prompts(None).speculate(Speculate::Off).kernels(Vec::new());
    own.adapters(Vec::new()).gpu_layers(None).gpu_experts(None).gpu_memory(None)
}

impl DraftModel {
    /// Opens a model that guesses for another, with room for as many sequences. Texts longer than it was trained for are not
    /// guessed.
    ///
    /// # Errors
    /// Those of opening a model, and [`Error::Option`] if its vocabulary is another one or it has states of whole sequences.
    pub(crate) fn load(path: &Path, main: &Runner, options: &EngineOptions) -> Result<DraftModel, Error> {
        let model = Model::open(path, options.kv)?;
        same_vocabulary(path, &model, main.model())?;
        if model.graph().config.head != Head::Logits {
            let why = "writes no text, so it cannot guess any; choose a chat model of the same family";
            return Err(Error::Option(format!("the draft model {} {why}", path.display())));
        }
        if model.graph().segments.iter().any(|segment| has_states(&segment.graph)) {
            return Err(Error::Option(format!(
                "the draft model {} has states of whole sequences (linear attention), which cannot go back to the tokens that \
                 were accepted: expected a model with attention in all layers; choose another one, or speculate with `lookup` or \
                 `auto`",
                path.display()
            )));
        }
        let context = main.context().min(model.graph().config.context);
        let own = draft_options(options, context);
        let device = own.device.open(own.threads, own.device_folder())?;
        let runner = Runner::new(model, device, &own, &mut |_| ControlFlow::Continue(()))?;
        let pages = context.div_ceil(PAGE).saturating_mul(own.sequences);
        Ok(DraftModel { runner, texts: BTreeMap::new(), pages })
    }

    /// The replies that are guessed: those with room in the KV cache, the first asks first. What was computed for
    /// generations that do not ask is dropped if the room is needed.
    fn chosen(&mut self, asks: &[Ask<'_>]) -> Vec<Guessing> {
        let vocab = self.runner.model().graph().config.vocab;
        let context = self.runner.context();
        let pages = |tokens: usize| tokens.div_ceil(PAGE);
        let (mut all, mut used) = (Vec::new(), 0);
        let mut dropped: Vec<u64> = Vec::new();
        for (at, ask) in asks.iter().enumerate() {
            let (len, most) = (ask.tokens().len(), ask.most().min(MOST));
            let fits = len + most <= context && used + pages(len + most) <= self.pages;
            let is_known = ask.tokens().iter().all(|token| (*token as usize) < vocab);
            if len == 0 || most == 0 || !fits || !is_known {
                dropped.push(ask.generation());
                continue;
            }
            used += pages(len + most);
            all.push(Guessing {
                at,
                generation: ask.generation(),
                next: Vec::new(),
                guess: Vec::new(),
                most,
            });
        }
        let asking = |generation: &u64| all.iter().any(|one: &Guessing| one.generation == *generation);
        let mut held: usize = self.texts.values().map(|text| pages(text.tokens.len() + MOST)).sum();
        for (generation, text) in self.texts.iter().filter(|(generation, _)| !asking(generation)) {
            if used + held > self.pages && !dropped.contains(generation) {
                held -= pages(text.tokens.len() + MOST);
                dropped.push(*generation);
            }
        }
        dropped.into_iter().for_each(|generation| self.ended(generation));
        all.iter_mut().for_each(|one| one.next = self.follow(one.generation, asks[one.at].tokens()));
        all
    }

    /// Removes what was computed of another text, and returns the tokens that are missing: at least the last, whose logits are
    /// wanted.
    fn follow(&mut self, generation: u64, tokens: &[u32]) -> Vec<u32> {
        let DraftModel { runner, texts, .. } = self;
        let text = texts
            .entry(generation)
            .or_insert_with(|| Text { seq: runner.new_sequence(), tokens: Vec::new() });
        let same = text.tokens.iter().zip(tokens).take_while(|(a, b)| a == b).count();
        let same = same.min(tokens.len() - 1);
        let kept = runner.truncate(text.seq, same);
        text.tokens.truncate(kept);
        tokens[kept..].to_vec()
    }

    /// Guesses for all, a token of each at a time.
    fn guess(&mut self, all: &mut [Guessing]) -> Result<(), Error> {
        let DraftModel { runner, texts, .. } = self;
        let most = runner.batch();
        let vocab = runner.model().graph().config.vocab;
        // Tokens that texts lack are computed first, except the last one of each.
        for one in all.iter_mut() {
            let Some(text) = texts.get_mut(&one.generation) else { continue };
            let last = one.next.len() - 1;
            for tokens in one.next[..last].chunks(most) {
                let mut batch = Batch::new();
                tokens.iter().for_each(|token| batch.push(text.seq, *token, false));
                runner.step(&batch)?;
                text.tokens.extend(tokens);
            }
            one.next.drain(..last);
        }
        let mut going: Vec<&mut Guessing> = all.iter_mut().collect();
        while !going.is_empty() {
            for some in going.chunks_mut(most.min(runner.logit_rows())) {
                let mut batch = Batch::new();
                for one in some.iter() {
                    let Some(text) = texts.get_mut(&one.generation) else { continue };
                    batch.push(text.seq, one.next[0], true);
                    text.tokens.push(one.next[0]);
                }
                let logits = runner.step(&batch)?;
                for (one, logits) in some.iter_mut().zip(logits.chunks_exact(vocab)) {
                    match Likeliest::of(logits, 1).tokens.first() {
                        Some((token, logprob)) if logprob.exp() >= LIKELY => {
                            one.guess.push(*token);
                            one.next[0] = *token;
                        }
                        _ => one.most = one.guess.len(),
                    }
                }
            }
            going.retain(|one| one.guess.len() < one.most);
        }
        Ok(())
    }
}

impl Drafter for DraftModel {
    fn draft(&mut self, asks: &mut [Ask<'_>]) {
        let mut all = self.chosen(asks);
        if self.guess(&mut all).is_err() {
            // The device failed, so it begins anew. Its guesses so far are as good as any.
            for text in std::mem::take(&mut self.texts).into_values() {
                self.runner.free(text.seq);
            }
        }
        all.into_iter().for_each(|one| asks[one.at].guess_of_kind(one.guess, BY_MODEL));
    }

    fn ended(&mut self, generation: u64) {
        if let Some(text) = self.texts.remove(&generation) {
            self.runner.free(text.seq);
        }
    }
}

/// Checks that two models have the same tokens.
fn same_vocabulary(path: &Path, draft: &Model, main: &Model) -> Result<(), Error> {
    let [own, other] = [draft, main].map(|model| model.tokenizer());
    let differs = |why: String| {
        Err(Error::Option(format!(
            "the draft model {} has another vocabulary than the model: {why}; choose a model of the same family",
            path.display()
        )))
    };
    let [found, expected] = [own, other].map(|tokenizer| tokenizer.vocab_len());
    if found != expected {
        return differs(format!("expected {expected} tokens, found {found}"));
    }
    let same = |id: &u32| {
        own.token_bytes(*id) == other.token_bytes(*id) && own.is_control(*id) == other.is_control(*id)
    };
    match (0..found as u32).find(|id| !same(id)) {
        None => Ok(()),
        Some(id) => {
            let [found, expected] =
                [own, other].map(|tokenizer| String::from_utf8_lossy(tokenizer.token_bytes(id)).into_owned());
            differs(format!("expected token {id} to be {expected:?}, found {found:?}"))
        }
    }
}
