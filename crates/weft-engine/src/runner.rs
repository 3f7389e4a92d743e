//! The runner: a compiled model with its KV cache.
//!
//! It computes ragged batches of tokens and knows nothing about requests. The engine's scheduler and the lab drive it.

mod clock;
mod estimates;
mod pieces;
mod plans;
mod predict;
mod timed;
mod variants;

use std::path::Path;

use weft_device::{Caps, Device, Region};
use weft_fuse::{CostModel, Options};
use weft_ir::{Sizes, StateKind, Switches};
use weft_models::{BuildOptions, Mtp};
use weft_pack::OnReport;
use weft_text::Tokenizer;

use crate::batch::{Batch, Entry, SeqId};
use crate::compile::{Class, Planned, Shared, compile};
use crate::error::Error;
use crate::layers::{self, Opened};
use crate::logits::{Candidates, Row};
use crate::machines::cost_model;
use crate::memory;
use crate::model::{Model, PAGE};
use crate::options::EngineOptions;
use crate::pages::{Indices, PageCopy, Pages};
use crate::plans::CANDIDATES;
use crate::sequence_states::has_states;
use crate::sizes::Room;
use crate::speculate::Speculate;
use variants::Variants;

pub use clock::{ReplayTimings, StepTimings};
pub(crate) use pieces::Piece;
pub use predict::{Pending, Prediction};
pub use timed::StepShape;
pub use variants::{PartId, PlansId};

/// A compiled model, which computes batches of tokens of any number of sequences, in any order.
pub struct Runner {
    model: Model,
    /// The layer that predicts one token more, if it was compiled.
    mtp: Option<Mtp>,
    device: Box<dyn Device>,
    /// The buffers that all compilations share.
    shared: Shared,
    variants: Variants,
    pages: Pages,
    room: Room,
    // Buffers of a step, kept so that no step allocates.
    indices: Indices,
    bytes: Vec<u8>,
    /// The tokens of the last step whose logits are wanted. The head computes a window of them at once.
    wanted: Vec<i32>,
    /// The window whose logits are on the device.
    window: Option<usize>,
    /// The logits of that window as the device computed them, if they have been read.
    computed: Read,
    /// The candidates of that window, if they have been read.
    candidates: Read,
    /// What the last prediction has read, and the inputs of its step.
    predicted: Read,
    following: Indices,
    /// A copy of all logits of the last step, or of a row that a generation changes. Has room for both.
    logits: Vec<f32>,
}

impl Runner {
    /// Opens a model and compiles it for the device of `options`. `report` receives the progress.
    ///
    /// # Errors
    /// If the file cannot be read, the model is not supported, there is no such device, or there is not enough memory;
    /// [`Error::Interrupted`] if `report` interrupts it.
    pub fn load(path: &Path, options: &EngineOptions, report: OnReport<'_>) -> Result<Runner, Error> {
        let model = Model::open_with(path, options)?;
        let mtp = mtp(&model, &options.speculate)?;
        let opened = layers::open(&model, mtp.as_ref(), options, report)?;
        Runner::with(model, opened, options, report)
    }

    /// Compiles a model for a device that is already open. The device, its layers and the threads of `options` are ignored.
    ///
    /// # Errors
    /// If an option is not valid for the model, or the device has not enough memory; [`Error::Interrupted`] if `report`
    /// interrupts it.
    pub fn new(
        model: Model,
        device: Box<dyn Device>,
        options: &EngineOptions,
        report: OnReport<'_>,
    ) -> Result<Runner, Error> {
        Runner::with(model, Opened { device, beside: None, planned: None }, options, report)
    }

    /// Compiles a model for a device that is open, or for two that are one.
    pub(crate) fn with(
        model: Model,
        Opened { mut device, beside, planned }: Opened,
        options: &EngineOptions,
        report: OnReport<'_>,
    ) -> Result<Runner, Error> {
        if options.kv != model.kv() {
            let why = format!(
                "the KV cache is {}: expected {}, which the model was opened with",
                options.kv,
                model.kv()
            );
            return Err(Error::Option(why));
        }
        let room = Room::of(options, model.graph(), &device.caps().hardware)?;
        let room = Room { beside, ..room };
        let Room { context, pages, window, states, max, .. } = room;
        let costs = cost_model(&device.caps().hardware, options.device_folder());
        let switches = options.decisions(&device.caps().hardware, model.gguf());
        let replacements = options.kernels.clone();
        let fusion = Options { max, switches, costs, replacements, ..Options::default() };
        let cache = options.cache.as_ref();
        let mtp = mtp(&model, &options.speculate)?;
        let planned = match planned {
            Some(planned) => planned,
            None => {
                let planned = Planned::of_all_steps(model.graph(), mtp.as_ref(), &fusion, &room)?;
                memory::check(&planned, &max, &*device)?;
                planned
            }
        };
        let (shared, compiled) = compile(&mut *device, model.gguf(), &planned, &fusion, cache, report)?;
        if options.commit {
            device.commit(&shared.states.values().map(|state| state.buffer).collect::<Vec<_>>())?;
        }
        let vocab = model.graph().config.vocab;
        let is_control = |token: &u32| states.is_some() && model.tokenizer().is_control(*token);
        let controls = (0..vocab as u32).filter(is_control).collect();
        let inputs =
            shared.inputs.values().map(|region| region.offset + 4 * region.values).max().unwrap_or(0);
        let predicted = if mtp.is_some() { 4 * max.rows * vocab } else { 0 };
        Ok(Runner {
            model,
            mtp,
            device,
            shared,
            variants: Variants::new(compiled, fusion),
            pages: Pages::new(PAGE, pages, context, max.pages)
                .with_window(window)
                .with_states(states, controls),
            room,
            indices: Indices::with_capacity(&max, options.sequences),
            bytes: Vec::with_capacity(inputs),
            computed: Read::with_capacity(4 * max.rows * vocab),
            candidates: Read::with_capacity(8 * max.rows * CANDIDATES),
            predicted: Read::with_capacity(predicted),
            following: Indices::default(),
            logits: Vec::with_capacity(max.rows * vocab),
            wanted: Vec::with_capacity(max.tokens),
            window: None,
        })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The cost model that decisions were made with.
    pub fn costs(&self) -> &CostModel {
        &self.variants.options().costs
    }

    /// The decisions that the model was loaded with: those set by hand, and those kept for it.
    pub fn switches(&self) -> &Switches {
        &self.variants.options().switches
    }

    /// The device's capabilities.
    pub fn device(&self) -> &Caps {
        self.device.caps()
    }

    /// The device, to run other programs beside the model. Do not rewind it past the mark that it had when the model was
    /// loaded.
    pub fn device_mut(&mut self) -> &mut dyn Device {
        &mut *self.device
    }

    /// The most tokens of a sequence.
    pub fn context(&self) -> usize {
        self.room.context
    }

    /// The most tokens of a batch.
    pub fn batch(&self) -> usize {
        self.room.max.tokens
    }

    /// The most rows of logits that are computed at once.
    pub(crate) fn logit_rows(&self) -> usize {
        self.room.max.rows
    }

    /// Returns whether the model has states of whole sequences, as linear attention has: a sequence can then go back only to
    /// where its last batch began, see [`truncate`](Runner::truncate).
    pub fn has_sequence_states(&self) -> bool {
        self.room.states.is_some()
    }

    /// Begins an empty sequence.
    pub fn new_sequence(&mut self) -> SeqId {
        self.pages.new_sequence()
    }

    /// The number of tokens in a sequence, or 0 if it has ended.
    pub fn len(&self, seq: SeqId) -> usize {
        self.pages.len(seq)
    }

    /// Ends a sequence and releases its pages.
    pub fn free(&mut self, seq: SeqId) {
        self.pages.free(seq);
    }

    /// Removes all but the first `len` tokens of a sequence. Returns how many it has left.
    ///
    /// These are none if layers with a sliding window no longer have what a token after them sees; the caller has to compute
    /// them again. All tokens of the last batch can always be removed. A model with states of whole sequences can go back only to
    /// where the last batch began: of a length within that batch, this much is left, and of a shorter one nothing.
    pub fn truncate(&mut self, seq: SeqId, len: usize) -> usize {
        self.pages.truncate(seq, len)
    }

    /// Computes a batch, and returns the logits asked for: `[rows, vocab]`, in the order of the batch.
    ///
    /// Results are batch-invariant, bit for bit: they do not depend on the other sequences of the batch, on how a
    /// sequence is cut into batches, or on the number of threads.
    ///
    /// # Errors
    /// If the batch is too large, has an unknown token or sequence, or exceeds the context, or the device fails. The
    /// sequences are then unchanged.
    pub fn step(&mut self, batch: &Batch) -> Result<&[f32], Error> {
        self.compute(batch, None)?;
        self.all_logits(batch)
    }

    /// Computes a batch, and reads what choosing tokens takes: candidates where the device chooses them, otherwise logits.
    ///
    /// # Errors
    /// Those of [`step`](Runner::step).
    pub fn advance(&mut self, batch: &Batch) -> Result<(), Error> {
        self.compute(batch, None)?;
        self.read_results().inspect_err(|_| self.pages.undo(batch.entries()))
    }

    /// Reads what choosing tokens takes of the last step.
    fn read_results(&mut self) -> Result<(), Error> {
        for window in 0..self.wanted.len().div_ceil(self.room.max.rows) {
            self.compute_window(window, None)?;
            if self.chooses() { self.read_candidates()? } else { self.read_logits()? }
        }
        Ok(())
    }

    /// The logits of the last step, which computed `batch`.
    fn all_logits(&mut self, batch: &Batch) -> Result<&[f32], Error> {
        self.logits.clear();
        for window in 0..self.wanted.len().div_ceil(self.room.max.rows) {
            let read = self.compute_window(window, None).and_then(|()| self.read_logits());
            read.inspect_err(|_| self.pages.undo(batch.entries()))?;
            Row::new(&self.computed.bytes).append_to(&mut self.logits);
        }
        Ok(&self.logits)
    }

    /// Calls `show` with a row of the last step's logits, memory for a copy of it, the tokenizer and the context length.
    ///
    /// # Errors
    /// If the device fails. The step's tokens are then still in their sequences.
    pub(crate) fn with_logits<T>(
        &mut self,
        row: usize,
        show: impl FnOnce(Row<'_>, &mut Vec<f32>, &Tokenizer, usize) -> T,
    ) -> Result<T, Error> {
        self.compute_window(row / self.room.max.rows, None)?;
        self.read_logits()?;
        let bytes = 4 * self.model.graph().config.vocab;
        let computed = self.computed.bytes.chunks(bytes).nth(row % self.room.max.rows).unwrap_or_default();
        Ok(show(Row::new(computed), &mut self.logits, self.model.tokenizer(), self.room.context))
    }

    /// Returns whether the device chooses candidates for the next token.
    pub(crate) fn chooses(&self) -> bool {
        self.class().is_ok_and(|class| class.candidates.is_some())
    }

    /// Calls `show` with the candidates that the device chose from a row of the last step's logits, the tokenizer and the
    /// context length.
    ///
    /// # Errors
    /// If the device fails. The step's tokens are then still in their sequences.
    pub(crate) fn with_candidates<T>(
        &mut self,
        row: usize,
        show: impl FnOnce(Candidates<'_>, &Tokenizer, usize) -> T,
    ) -> Result<T, Error> {
        self.compute_window(row / self.room.max.rows, None)?;
        self.read_candidates()?;
        let vocab = self.model.graph().config.vocab;
        let chosen = self
            .candidates
            .bytes
            .chunks(8 * CANDIDATES.min(vocab))
            .nth(row % self.room.max.rows)
            .unwrap_or_default();
        Ok(show(Candidates::new(chosen, vocab), self.model.tokenizer(), self.room.context))
    }

    /// The pages of all sequences.
    pub(crate) fn pages(&self) -> &Pages {
        &self.pages
    }

    /// The pages of all sequences, to change them.
    pub(crate) fn pages_mut(&mut self) -> &mut Pages {
        &mut self.pages
    }

    /// Copies rows from one page of the KV cache to another, in every layer.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn copy(&mut self, copy: &PageCopy) -> Result<(), Error> {
        let Runner { device, shared, bytes, .. } = self;
        // Devices copy whole words. The surplus rows are overwritten before they are read.
        let rows = copy.rows.next_multiple_of(8).min(PAGE);
        let paged = shared.states.values().filter(|state| state.kind != StateKind::PerSequence);
        for state in paged {
            let at = |page: u32| page as usize * PAGE * state.row_bytes;
            let (from, to) =
                copy.windowed.filter(|_| state.kind == StateKind::Window).unwrap_or((copy.from, copy.to));
            bytes.clear();
            bytes.resize(rows * state.row_bytes, 0);
            device.read(state.buffer, at(from), bytes)?;
            device.write(state.buffer, at(to), bytes)?;
        }
        Ok(())
    }

    /// Computes a batch and the first window of its logits, which stay on the device.
    ///
    /// # Errors
    /// Those of [`step`](Runner::step).
    pub(crate) fn compute(&mut self, batch: &Batch, timings: Option<&mut StepTimings>) -> Result<(), Error> {
        let entries = batch.entries();
        let vocab = self.model.graph().config.vocab;
        if entries.len() > self.room.max.tokens {
            let most = self.room.max.tokens;
            return Err(Error::Batch(format!(
                "a batch of {} tokens: expected at most {most}",
                entries.len()
            )));
        }
        if let Some(e) = entries.iter().find(|e| e.token as usize >= vocab) {
            let why = format!("token {} is not in the vocabulary of {vocab} tokens", e.token);
            return Err(Error::Batch(why));
        }
        self.window = None;
        self.wanted.clear();
        if entries.is_empty() {
            return Ok(());
        }
        match grouped(entries).filter(|_| self.has_sequence_states()) {
            None => {
                self.pages.place(entries, &mut self.indices)?;
                let wanted = entries.iter().enumerate().filter(|(_, e)| e.logits);
                self.wanted.extend(wanted.map(|(i, _)| i as i32));
            }
            Some((grouped, rows)) => {
                self.pages.place(&grouped, &mut self.indices)?;
                let wanted = entries.iter().zip(rows).filter(|(e, _)| e.logits);
                self.wanted.extend(wanted.map(|(_, row)| row as i32));
            }
        }
        let done = self.replay(timings);
        if let Err(e) = done {
            self.pages.undo(entries);
            return Err(e);
        }
        Ok(())
    }

    /// The sizes of the current step, without rows of logits.
    fn sizes(&self) -> Sizes {
        let Indices { tokens, pages, ends, .. } = &self.indices;
        Sizes::of(tokens.len()).slots(self.room.max.slots).pages(pages.len()).sequences(ends.len())
    }

    fn replay(&mut self, mut timings: Option<&mut StepTimings>) -> Result<(), Error> {
        let sizes = self.sizes();
        let Runner { device, shared, variants, indices, bytes, wanted, room, .. } = self;
        let inputs = indices.inputs(wanted.chunks(room.max.rows).next().unwrap_or_default());
        write(&mut **device, shared, &inputs, bytes)?;
        let class = class(variants, &sizes)?;
        let timed = timings.as_deref_mut().map(|timings| (timings, 0));
        clock::replay(&mut **device, class.body(sizes.pages).0, &sizes, timed)?;
        if wanted.is_empty() { Ok(()) } else { self.compute_window(0, timings) }
    }

    /// The programs of the last step.
    fn class(&self) -> Result<&Class, Error> {
        class(&self.variants, &self.sizes())
    }

    /// The number of rows of the current window.
    fn rows_of_window(&self) -> usize {
        let rows = self.window.and_then(|window| self.wanted.chunks(self.room.max.rows).nth(window));
        rows.map_or(0, <[i32]>::len)
    }

    /// Reads the candidates of the current window, unless it has been done.
    fn read_candidates(&mut self) -> Result<(), Error> {
        let region = self.class()?.candidates;
        let region = region.ok_or_else(|| Error::Option("this device chooses no candidates".into()))?;
        let bytes = 8 * self.rows_of_window() * CANDIDATES.min(self.model.graph().config.vocab);
        self.candidates.read(&*self.device, region, bytes)
    }

    /// Reads the logits of the current window, unless it has been done.
    fn read_logits(&mut self) -> Result<(), Error> {
        let region = self.class()?.logits;
        let bytes = 4 * self.rows_of_window() * self.model.graph().config.vocab;
        self.computed.read(&*self.device, region, bytes)
    }

    /// Computes the rows of logits of a window, unless they are on the device. The last hidden state stays in its place until
    /// the next step.
    fn compute_window(&mut self, window: usize, timings: Option<&mut StepTimings>) -> Result<(), Error> {
        if self.window == Some(window) {
            return Ok(());
        }
        let sizes = self.sizes();
        [&mut self.computed, &mut self.candidates].into_iter().for_each(|read| read.done = false);
        let Runner { device, shared, variants, bytes, wanted, room, .. } = self;
        let rows = wanted.chunks(room.max.rows).nth(window).unwrap_or_default();
        // Those of the first were written with the other inputs.
        if self.window.take().is_some() {
            write(&mut **device, shared, &[("out_rows", rows)], bytes)?;
        }
        let class = class(variants, &sizes)?;
        let timed = timings.map(|timings| (timings, 1));
        clock::replay(&mut **device, class.head, &Sizes { rows: rows.len(), ..sizes }, timed)?;
        self.window = Some(window);
        Ok(())
    }
}

/// The graphs of the layer that predicts one token more, if they are wanted.
fn mtp(model: &Model, speculate: &Speculate) -> Result<Option<Mtp>, Error> {
    let options = BuildOptions { kv: model.kv(), page: PAGE };
    let built = || -> Result<Option<Mtp>, Error> {
        let built = weft_models::mtp(model.graph(), model.gguf(), &options)?;
        let segments = built.iter().flat_map(|mtp| mtp.segments.iter().chain([&mtp.hidden]));
        if segments.into_iter().any(|segment| has_states(&segment.graph)) {
            let why = "the model cannot guess its own tokens: its MTP layer has a state of whole sequences, which cannot follow the \
                       model at its own pace; speculate with `lookup` or `auto`";
            return Err(Error::Option(why.into()));
        }
        Ok(built)
    };
    match speculate {
        Speculate::Off | Speculate::Lookup | Speculate::Model(_) => Ok(None),
        // What it cannot use, it leaves.
        Speculate::Auto => Ok(built().unwrap_or(None)),
        Speculate::Mtp(_) => match built()? {
            Some(mtp) => Ok(Some(mtp)),
            None => Err(Error::Option(
                "the model cannot guess its own tokens: expected a file with an MTP layer (tensors named `nextn`), which \
                 this one lacks; speculate with `lookup` or `auto`"
                    .into(),
            )),
        },
    }
}

/// Results of a window that have been read, or not.
#[derive(Debug)]
struct Read {
    bytes: Vec<u8>,
    done: bool,
}

impl Read {
    fn with_capacity(bytes: usize) -> Read {
        Read { bytes: Vec::with_capacity(bytes), done: false }
    }

    /// Reads the first bytes of a region, unless it has been done.
    fn read(&mut self, device: &dyn Device, from: Region, bytes: usize) -> Result<(), Error> {
        if !self.done {
            // All of it is overwritten, so only what is new is filled.
            self.bytes.resize(bytes, 0);
            device.read(from.buffer, from.offset, &mut self.bytes)?;
            self.done = true;
        }
        Ok(())
    }
}

/// A step's tokens with those of each sequence next to each other, as a scan takes them, and the row of each. `None` if they are so
/// already, as those of the scheduler are.
fn grouped(entries: &[Entry]) -> Option<(Vec<Entry>, Vec<usize>)> {
    let mut before = 0;
    let mut runs = entries.chunk_by(|a, b| a.seq == b.seq);
    let apart = runs.any(|run| {
        let earlier = &entries[..before];
        before += run.len();
        earlier.iter().any(|entry| entry.seq == run[0].seq)
    });
    if !apart {
        return None;
    }
    let first = |at: usize| entries.iter().position(|entry| entry.seq == entries[at].seq);
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|at| first(*at));
    let mut rows = vec![0; entries.len()];
    order.iter().enumerate().for_each(|(row, at)| rows[*at] = row);
    Some((order.into_iter().map(|at| entries[at]).collect(), rows))
}

/// The programs of a step.
fn class<'a>(variants: &'a Variants, sizes: &Sizes) -> Result<&'a Class, Error> {
    let class = variants.used().class(sizes.tokens);
    class.ok_or_else(|| Error::Option("the model was not compiled for any step".into()))
}

/// Writes inputs of a step at once, including the unused bytes between them.
fn write(
    device: &mut dyn Device,
    shared: &Shared,
    inputs: &[(&str, &[i32])],
    bytes: &mut Vec<u8>,
) -> Result<(), Error> {
    let regions = || inputs.iter().filter_map(|(name, values)| Some((*shared.inputs.get(*name)?, *values)));
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
