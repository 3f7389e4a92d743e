//! The runner: a compiled model with its KV cache, and the step.
//!
//! It computes ragged batches of tokens and knows nothing of requests. The engine's scheduler drives it; the lab does so by hand.

mod timed;
mod variants;

use std::path::Path;

use weft_device::{Caps, Device, Region};
use weft_fuse::Options;
use weft_ir::Sizes;
use weft_pack::OnReport;
use weft_text::Tokenizer;

use crate::batch::{Batch, SeqId};
use crate::compile::{Shared, compile};
use crate::error::Error;
use crate::machines::cost_model;
use crate::model::{Model, PAGE};
use crate::options::EngineOptions;
use crate::pages::{Indices, PageCopy, Pages};
use variants::Variants;

pub use timed::{PartId, ReplayTimings, StepShape, StepTimings};
pub use variants::PlansId;

/// Rows of logits computed at once, and kept without allocating. More take several replays of the head; what they cost is memory for a
/// row of the vocabulary each.
const LOGIT_ROWS: usize = 8;

/// Context length unless told otherwise: long enough for a conversation, and a KV cache that any machine has room for.
const DEFAULT_CONTEXT: usize = 4096;

/// How many times a page may be listed in a step, on average, where sequences can share pages: each that reads it lists it.
const SHARED: usize = 4;

/// A compiled model: computes batches of tokens of any sequences, in any mixture.
pub struct Runner {
    model: Model,
    device: Box<dyn Device>,
    /// What every way to compile it uses.
    shared: Shared,
    variants: Variants,
    pages: Pages,
    context: usize,
    max: Sizes,
    // What a step writes and reads, kept so that no step allocates.
    indices: Indices,
    bytes: Vec<u8>,
    logits: Vec<f32>,
    wanted: Vec<i32>,
}

impl Runner {
    /// Opens a file, and the device of the options, and compiles the one for the other. `report` is told how far loading is.
    ///
    /// # Errors
    /// If the file cannot be read or run, there is no such device, or no memory for it; [`Error::Interrupted`] if `report` says so.
    pub fn load(path: &Path, options: &EngineOptions, report: OnReport<'_>) -> Result<Runner, Error> {
        let model = Model::open(path, options.kv)?;
        let device = options.device.open(options.threads, options.cache.as_ref())?;
        Runner::new(model, device, options, report)
    }

    /// Compiles a model for a device that is open already, whatever the options say of devices and threads.
    ///
    /// # Errors
    /// If an option makes no sense for the model, or the device has no room; [`Error::Interrupted`] if `report` says so.
    pub fn new(
        model: Model,
        mut device: Box<dyn Device>,
        options: &EngineOptions,
        report: OnReport<'_>,
    ) -> Result<Runner, Error> {
        if options.kv != model.kv() {
            let why = format!("a KV cache of {}: the model was opened for one of {}", options.kv, model.kv());
            return Err(Error::Option(why));
        }
        let trained = model.graph().config.context;
        let context = options.context.unwrap_or(DEFAULT_CONTEXT.min(trained));
        if context == 0 || context > trained {
            let why = format!("a context of {context} tokens: the model was made for 1 to {trained}");
            return Err(Error::Option(why));
        }
        let pages = context.div_ceil(PAGE).saturating_mul(options.sequences);
        if options.sequences == 0 || options.batch == 0 || i32::try_from(pages.saturating_mul(PAGE)).is_err()
        {
            let EngineOptions { sequences, batch, .. } = options;
            let why = format!(
                "{sequences} sequences of {context} tokens, {batch} at once, are too few or too many"
            );
            return Err(Error::Option(why));
        }
        let tokens = options.batch.min(context.saturating_mul(options.sequences));
        // Sequences that share pages list them together. One alone shares with none.
        let all = context.div_ceil(PAGE).saturating_mul(tokens);
        let listed = if options.sequences == 1 { pages } else { all.min(SHARED * pages).max(pages) };
        let max = Sizes { tokens, rows: LOGIT_ROWS, slots: pages * PAGE, pages: listed };
        let folder = options.cache.as_ref().map(|cache| cache.folder.as_path());
        let costs = cost_model(&device.caps().hardware, folder);
        let fusion = Options { max, switches: options.switches.clone(), costs, advise: false };
        let cache = options.cache.as_ref();
        let (shared, compiled) = compile(&mut *device, model.gguf(), model.graph(), &fusion, cache, report)?;
        let vocab = model.graph().config.vocab;
        let inputs =
            shared.inputs.values().map(|region| region.offset + 4 * region.values).max().unwrap_or(0);
        Ok(Runner {
            model,
            device,
            shared,
            variants: Variants::new(compiled, fusion),
            pages: Pages::new(PAGE, pages, context, listed),
            context,
            max,
            indices: Indices::with_capacity(tokens, listed, options.sequences),
            bytes: Vec::with_capacity(inputs.max(4 * LOGIT_ROWS * vocab)),
            logits: Vec::with_capacity(LOGIT_ROWS * vocab),
            wanted: Vec::with_capacity(tokens),
        })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The device.
    pub fn device(&self) -> &Caps {
        self.device.caps()
    }

    /// The device itself, to run other programs beside the model. Do not rewind it past the mark it had when the model was loaded.
    pub fn device_mut(&mut self) -> &mut dyn Device {
        &mut *self.device
    }

    /// Most tokens of a sequence.
    pub fn context(&self) -> usize {
        self.context
    }

    /// Most tokens of a batch.
    pub fn batch(&self) -> usize {
        self.max.tokens
    }

    /// Begins an empty sequence.
    pub fn new_sequence(&mut self) -> SeqId {
        self.pages.new_sequence()
    }

    /// Tokens in a sequence; 0 for one that has ended.
    pub fn len(&self, seq: SeqId) -> usize {
        self.pages.len(seq)
    }

    /// Ends a sequence and gives its room back.
    pub fn free(&mut self, seq: SeqId) {
        self.pages.free(seq);
    }

    /// Forgets all but the first `len` tokens of a sequence.
    pub fn truncate(&mut self, seq: SeqId, len: usize) {
        self.pages.truncate(seq, len);
    }

    /// Computes a batch, and returns the logits asked for: a row of the vocabulary each, in the order of the batch.
    ///
    /// What comes out for a token depends on its own sequence only: not on the other tokens of the batch, nor on how a sequence was cut
    /// into batches, nor on the number of threads.
    ///
    /// # Errors
    /// If the batch is too large, names an unknown token or sequence, or does not fit into the context. The sequences are then what they
    /// were before.
    pub fn step(&mut self, batch: &Batch) -> Result<&[f32], Error> {
        self.step_with(batch, None)?;
        Ok(&self.logits)
    }

    /// Shows a row of the last step's logits, which may be changed, beside the tokenizer and the length of the context.
    pub(crate) fn with_logits<T>(
        &mut self,
        row: usize,
        show: impl FnOnce(&mut [f32], &Tokenizer, usize) -> T,
    ) -> T {
        let vocab = self.model.graph().config.vocab;
        let logits = self.logits.get_mut(row * vocab..(row + 1) * vocab).unwrap_or_default();
        show(logits, self.model.tokenizer(), self.context)
    }

    /// The pages of all sequences.
    pub(crate) fn pages(&self) -> &Pages {
        &self.pages
    }

    /// The pages of all sequences, to be given to them.
    pub(crate) fn pages_mut(&mut self) -> &mut Pages {
        &mut self.pages
    }

    /// Copies rows from one page of the KV cache to another, in every layer.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn copy(&mut self, copy: &PageCopy) -> Result<(), Error> {
        let Runner { device, shared, bytes, .. } = self;
        // Devices copy whole words. The rows that are too many are written over before anything reads them.
        let rows = copy.rows.next_multiple_of(8).min(PAGE);
        for state in shared.states.values() {
            let at = |page: u32| page as usize * PAGE * state.row_bytes;
            bytes.clear();
            bytes.resize(rows * state.row_bytes, 0);
            device.read(state.buffer, at(copy.from), bytes)?;
            device.write(state.buffer, at(copy.to), bytes)?;
        }
        Ok(())
    }

    /// Computes a batch, leaving what comes out in `logits`.
    fn step_with(&mut self, batch: &Batch, timings: Option<&mut StepTimings>) -> Result<(), Error> {
        let entries = batch.entries();
        let vocab = self.model.graph().config.vocab;
        if entries.len() > self.max.tokens {
            let most = self.max.tokens;
            return Err(Error::Batch(format!("{} tokens, at most {most} at once", entries.len())));
        }
        if let Some(e) = entries.iter().find(|e| e.token as usize >= vocab) {
            return Err(Error::Batch(format!("token {} is not in the vocabulary of {vocab}", e.token)));
        }
        self.logits.clear();
        if entries.is_empty() {
            return Ok(());
        }
        self.pages.place(entries, &mut self.indices)?;
        self.wanted.clear();
        self.wanted.extend(entries.iter().enumerate().filter(|(_, e)| e.logits).map(|(i, _)| i as i32));
        let done = self.replay(vocab, timings);
        if let Err(e) = done {
            self.pages.undo(entries);
            return Err(e);
        }
        Ok(())
    }

    /// The sizes of the step whose indices these are; no rows of logits.
    fn sizes(&self) -> Sizes {
        let Indices { tokens, pages, .. } = &self.indices;
        Sizes { tokens: tokens.len(), rows: 0, slots: self.max.slots, pages: pages.len() }
    }

    fn replay(&mut self, vocab: usize, mut timings: Option<&mut StepTimings>) -> Result<(), Error> {
        let sizes = self.sizes();
        let Runner { device, shared, variants, indices, bytes, wanted, .. } = self;
        let inputs = [
            ("tokens", &indices.tokens[..]),
            ("pos", &indices.pos),
            ("slots", &indices.slots),
            ("first", &indices.first),
            ("pages", &indices.pages),
            ("out_rows", wanted.chunks(LOGIT_ROWS).next().unwrap_or_default()),
        ];
        write(&mut **device, shared, &inputs, bytes)?;
        let class = variants.used().class(sizes.tokens);
        let class =
            class.ok_or_else(|| Error::Option("the model was compiled for no size of step".into()))?;
        let timed = timings.as_deref_mut().map(|timings| (timings, 0));
        timed::replay(&mut **device, class.body, &sizes, timed)?;
        for (window, rows) in wanted.chunks(LOGIT_ROWS).enumerate() {
            // The first was written with the other inputs.
            if window > 0 {
                write(&mut **device, shared, &[("out_rows", rows)], bytes)?;
            }
            let timed = timings.as_deref_mut().map(|timings| (timings, 1));
            timed::replay(&mut **device, class.head, &Sizes { rows: rows.len(), ..sizes }, timed)?;
            bytes.clear();
            bytes.resize(rows.len() * vocab * 4, 0);
            device.read(class.logits.buffer, class.logits.offset, bytes)?;
            self.logits.extend(bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)));
        }
        Ok(())
    }
}

/// Writes inputs of a step, all at once: with what lies between them, which nobody reads.
fn write(
    device: &mut dyn Device,
    shared: &Shared,
    inputs: &[(&str, &[i32])],
    bytes: &mut Vec<u8>,
) -> Result<(), Error> {
    let regions = || inputs.iter().map(|(name, values)| (shared.inputs[*name], *values));
    let begin = regions().map(|(region, _)| region.offset).min().unwrap_or(0);
    let end = regions().map(|(region, values)| region.offset + size_of_val(values)).max().unwrap_or(0);
    bytes.clear();
    bytes.resize(end - begin, 0);
    for (region, values) in regions() {
        let to = &mut bytes[region.offset - begin..][..size_of_val(values)];
        for (to, value) in to.as_chunks_mut::<4>().0.iter_mut().zip(values) {
            *to = value.to_le_bytes();
        }
    }
    match regions().next() {
        Some((Region { buffer, .. }, _)) => Ok(device.write(buffer, begin, bytes)?),
        None => Ok(()),
    }
}
