//! The engine: a compiled model, its KV cache, and the step.

use std::path::Path;

use weft_cpu::{CpuDevice, CpuOptions};
use weft_device::{Caps, Device};
use weft_fuse::Options;
use weft_ir::{Sizes, Switches};
use weft_pack::{OnReport, PackCache};
use weft_quant::GgmlType;

use crate::batch::{Batch, SeqId};
use crate::compile::{Class, Compiled, compile};
use crate::error::Error;
use crate::model::{Model, PAGE};
use crate::pages::{Indices, Pages};

/// Rows of logits computed at once, and kept without allocating. More are had by replaying the head; what they cost is memory for a
/// row of the vocabulary each.
const LOGIT_ROWS: usize = 8;

/// Context length unless told otherwise: long enough for a conversation, and a KV cache that any machine has room for.
const DEFAULT_CONTEXT: usize = 4096;

/// What an engine is loaded with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EngineOptions {
    /// Threads of the CPU device; `None` takes all there are.
    pub threads: Option<usize>,
    /// Most tokens of a sequence; `None` takes 4096, or what the model was made for if that is less.
    pub context: Option<usize>,
    /// Sequences that can be of full length at the same time.
    pub sequences: usize,
    /// Most tokens computed at once.
    pub batch: usize,
    /// How the KV cache stores its values: F16, BF16 or F32.
    pub kv: GgmlType,
    /// Decisions of the compiler that are set by hand.
    pub switches: Switches,
    /// Where packed weights are kept; `None` packs them in memory each time.
    pub cache: Option<PackCache>,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            threads: None,
            context: None,
            sequences: 1,
            batch: 512,
            kv: GgmlType::F16,
            switches: Switches::default(),
            cache: None,
        }
    }
}

/// A model, compiled and ready.
pub struct Engine {
    model: Model,
    device: Box<dyn Device>,
    compiled: Compiled,
    pages: Pages,
    context: usize,
    max: Sizes,
    // What a step writes and reads, kept so that no step allocates.
    indices: Indices,
    bytes: Vec<u8>,
    logits: Vec<f32>,
    wanted: Vec<i32>,
}

impl Engine {
    /// Opens a file and compiles it for the CPU. `report` is told how far loading is.
    ///
    /// # Errors
    /// If the file cannot be read or run, or there is no memory for it; [`Error::Interrupted`] if `report` says so.
    pub fn load(path: &Path, options: &EngineOptions, report: OnReport<'_>) -> Result<Engine, Error> {
        let model = Model::open(path, options.kv)?;
        let device = CpuDevice::new(CpuOptions { threads: options.threads, ..CpuOptions::default() })?;
        Engine::new(model, Box::new(device), options, report)
    }

    /// Compiles a model for a device, whose threads are its own affair.
    ///
    /// # Errors
    /// If an option makes no sense for the model, or the device has no room; [`Error::Interrupted`] if `report` says so.
    pub fn new(
        model: Model,
        mut device: Box<dyn Device>,
        options: &EngineOptions,
        report: OnReport<'_>,
    ) -> Result<Engine, Error> {
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
        let max = Sizes { tokens, rows: LOGIT_ROWS, slots: pages * PAGE, pages };
        let machine = device.caps().machine;
        let fusion = Options { max, switches: options.switches.clone(), machine, advise: false };
        let cache = options.cache.as_ref();
        let compiled = compile(&mut *device, model.gguf(), model.graph(), &fusion, cache, report)?;
        let vocab = model.graph().config.vocab;
        Ok(Engine {
            model,
            device,
            compiled,
            pages: Pages::new(PAGE, pages, context),
            context,
            max,
            indices: Indices::with_capacity(tokens, pages, options.sequences),
            bytes: Vec::with_capacity(tokens.max(pages).max(LOGIT_ROWS * vocab) * 4),
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
            return Ok(&self.logits);
        }
        self.pages.place(entries, &mut self.indices)?;
        self.wanted.clear();
        self.wanted.extend(entries.iter().enumerate().filter(|(_, e)| e.logits).map(|(i, _)| i as i32));
        let done = self.replay(vocab);
        if let Err(e) = done {
            self.pages.undo(entries);
            return Err(e);
        }
        Ok(&self.logits)
    }

    fn replay(&mut self, vocab: usize) -> Result<(), Error> {
        let Engine { device, compiled, indices, bytes, .. } = self;
        for (name, values) in [
            ("tokens", &indices.tokens),
            ("pos", &indices.pos),
            ("slots", &indices.slots),
            ("first", &indices.first),
            ("pages", &indices.pages),
        ] {
            write(&mut **device, compiled, name, values, bytes)?;
        }
        let sizes = Sizes {
            tokens: indices.tokens.len(),
            rows: 0,
            slots: self.max.slots,
            pages: indices.pages.len(),
        };
        // The largest class holds any batch.
        let fits = |class: &&Class| class.tokens >= sizes.tokens;
        let class = compiled.classes.iter().find(fits).or(compiled.classes.last());
        let class =
            class.ok_or_else(|| Error::Option("the model was compiled for no size of step".into()))?;
        device.replay(class.body, &sizes)?;
        for rows in self.wanted.chunks(LOGIT_ROWS) {
            write(&mut **device, compiled, "out_rows", rows, bytes)?;
            device.replay(class.head, &Sizes { rows: rows.len(), ..sizes })?;
            bytes.clear();
            bytes.resize(rows.len() * vocab * 4, 0);
            device.read(class.logits.buffer, class.logits.offset, bytes)?;
            self.logits.extend(bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)));
        }
        Ok(())
    }
}

fn write(
    device: &mut dyn Device,
    compiled: &Compiled,
    name: &str,
    values: &[i32],
    bytes: &mut Vec<u8>,
) -> Result<(), Error> {
    bytes.clear();
    bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    let region = compiled.inputs[name];
    Ok(device.write(region.buffer, region.offset, bytes)?)
}
