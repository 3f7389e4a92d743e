//! The runtime: a compiled model with its states on a device, which computes one step at a time.
//!
//! Its user fills the inputs of a step: which tokens, at which positions, and where in the states their sequences are.

mod clock;
mod estimates;
pub(crate) mod logits;
mod pieces;
mod plans;
mod predict;
mod slots;
mod timed;
mod variants;

use std::path::Path;

use weft_device::{Caps, Crossings, Device, Region};
use weft_fuse::CostModel;
use weft_ir::{Sizes, StateKind, Switches};
use weft_models::Mtp;
use weft_pack::{OnReport, fingerprint};
use weft_text::Tokenizer;

use crate::compile::{Class, Shared, compile};
use crate::devices::uses::KeptUses;
use crate::error::Error;
use crate::fit;
use crate::fit::layers::Opened;
use crate::fit::need::MemoryNeed;
use crate::fit::open;
use crate::inputs::StepInputs;
use crate::layout::PAGE;
use crate::model::Model;
use crate::mtp::mtp;
use crate::options::RuntimeOptions;
use crate::planned::Planned;
use crate::plans::CANDIDATES;
use crate::runtime::logits::{Candidates, Row};
use crate::sizes::Room;
use slots::ExpertSlots;
use variants::Variants;

pub use clock::{ReplayTimings, StepTimings};
pub use pieces::{PageCopy, Piece};
pub use predict::Prediction;
pub use slots::SlotUse;
pub use timed::StepShape;
pub use variants::{PartId, PlansId};

/// A compiled model, which computes steps of tokens of any number of sequences.
pub struct Runtime {
    model: Model,
    /// The layer that predicts one token more, if it was compiled.
    mtp: Option<Mtp>,
    device: Box<dyn Device>,
    /// The buffers that all compilations share.
    shared: Shared,
    variants: Variants,
    room: Room,
    /// The experts that are in slots.
    slots: Option<ExpertSlots>,
    crossings: Crossings,
    /// The memory that the model's parts need on each of two devices; none if there is one.
    divided: Vec<MemoryNeed>,
    // Buffers of a step, kept so that no step allocates.
    /// The inputs of the last step. The head computes a window of the wanted logits at once.
    inputs: StepInputs,
    bytes: Vec<u8>,
    /// The window whose logits are on the device.
    window: Option<usize>,
    /// The logits of that window as the device computed them, if they have been read.
    computed: Read,
    /// The candidates of that window, if they have been read.
    candidates: Read,
    /// The results of the last prediction, if they have been read.
    predicted: Read,
    /// A copy of all logits of the last step, or of a row that is to be changed. Has room for both.
    logits: Vec<f32>,
}

impl Runtime {
    /// Opens a model and compiles it for the device of `options`. `report` receives the progress.
    ///
    /// # Errors
    /// If the file cannot be read, the model is not supported, there is no such device, or there is not enough memory;
    /// [`Error::Interrupted`] if `report` interrupts it.
    pub fn load(path: &Path, options: &RuntimeOptions, report: OnReport<'_>) -> Result<Runtime, Error> {
        let model = Model::open_with(path, options)?;
        let mtp = mtp(&model, options.mtp)?;
        let opened = open::open(&model, mtp.as_ref(), options, report)?;
        Runtime::with(model, opened, options, report)
    }

    /// Compiles a model for a device that is already open. The device, its layers and the threads of `options` are ignored.
    ///
    /// # Errors
    /// If an option is not valid for the model, or the device has not enough memory; [`Error::Interrupted`] if `report`
    /// interrupts it.
    pub fn new(
        model: Model,
        device: Box<dyn Device>,
        options: &RuntimeOptions,
        report: OnReport<'_>,
    ) -> Result<Runtime, Error> {
        Runtime::with(model, Opened { device, beside: None, planned: None, batch: None }, options, report)
    }

    /// Compiles a model for a device that is open, or for two that are one.
    pub(crate) fn with(
        model: Model,
        Opened { mut device, beside, planned, batch }: Opened,
        options: &RuntimeOptions,
        report: OnReport<'_>,
    ) -> Result<Runtime, Error> {
        if options.kv != model.kv() {
            let why = format!(
                "the KV cache is {}: expected {}, which the model was opened with",
                options.kv,
                model.kv()
            );
            return Err(Error::Option(why));
        }
        let steps = RuntimeOptions { batch: batch.or(options.batch), ..options.clone() };
        let room = Room::of(&steps, model.graph(), &device.caps().hardware)?;
        let room = Room { beside, ..room };
        let max = room.max;
        let fusion = options.compile_options(&device.caps().hardware, model.gguf(), max);
        let cache = options.cache.as_ref();
        let mtp = mtp(&model, options.mtp)?;
        let planned = match planned {
            Some(planned) => planned,
            None => {
                let planned = Planned::of_model(&model, mtp.as_ref(), &fusion, &room)?;
                fit::check(&planned, &max, &*device)?;
                planned
            }
        };
        let divided = fit::of_divided(&planned, &max, &mut *device)?;
        let (shared, compiled) = compile(&mut *device, model.gguf(), &planned, &fusion, cache, report)?;
        let kept = |experts: usize| {
            let folder = options.device_folder()?;
            Some(KeptUses::new(folder, fingerprint(model.gguf()), experts))
        };
        let slots = ExpertSlots::new(&mut *device, &shared, &planned.segments, kept)?;
        if options.commit {
            device.commit(&shared.states.values().map(|state| state.buffer).collect::<Vec<_>>())?;
        }
        let width = model.graph().config.width();
        let inputs =
            shared.inputs.values().map(|region| region.offset + 4 * region.values).max().unwrap_or(0);
        let predicted = if mtp.is_some() { 4 * max.rows * width } else { 0 };
        Ok(Runtime {
            model,
            mtp,
            device,
            shared,
            variants: Variants::new(compiled, fusion),
            room,
            slots,
            crossings: Crossings::default(),
            divided,
            inputs: StepInputs::with_capacity(&max),
            bytes: Vec::with_capacity(inputs),
            computed: Read::with_capacity(4 * max.rows * width),
            candidates: Read::with_capacity(8 * max.rows * CANDIDATES),
            predicted: Read::with_capacity(predicted),
            logits: Vec::with_capacity(max.rows * width),
            window: None,
        })
    }

    /// Streams offloaded experts in steps of this many tokens and more, however fast that is.
    #[cfg(test)]
    pub(crate) fn stream_from(&mut self, tokens: Option<usize>) {
        self.variants.stream_from(tokens);
    }

    /// How often the experts that tokens chose were in slots, if some are.
    pub fn slot_use(&self) -> Option<SlotUse> {
        self.slots.as_ref().map(ExpertSlots::used)
    }

    /// What two devices did together so far; nothing if there is one.
    pub fn crossings(&self) -> Crossings {
        self.crossings
    }

    /// The memory that the model's parts need on each of two devices, as planned; none if there is one device.
    pub fn divided(&self) -> &[MemoryNeed] {
        &self.divided
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

    /// The device, to run other programs than the model's. Do not rewind it past the mark that it had when the model was loaded.
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
    pub fn logit_rows(&self) -> usize {
        self.room.max.rows
    }

    /// Returns whether the model has states of whole sequences, as linear attention has: a sequence can then go back only to
    /// where its last batch began, see [`truncate`](Runtime::truncate).
    pub fn has_sequence_states(&self) -> bool {
        self.room.states.is_some()
    }

    /// The capacity that the model is compiled for: the places and sizes of its states.
    pub fn room(&self) -> &Room {
        &self.room
    }

    /// Checks the tokens of a step.
    ///
    /// # Errors
    /// [`Error::Batch`] if there are too many, or one is not in the vocabulary.
    pub fn check(&self, mut tokens: impl ExactSizeIterator<Item = u32>) -> Result<(), Error> {
        let vocab = self.model.graph().config.vocab;
        if tokens.len() > self.room.max.tokens {
            let most = self.room.max.tokens;
            return Err(Error::Batch(format!("a batch of {} tokens: expected at most {most}", tokens.len())));
        }
        match tokens.find(|token| *token as usize >= vocab) {
            Some(token) => {
                Err(Error::Batch(format!("token {token} is not in the vocabulary of {vocab} tokens")))
            }
            None => Ok(()),
        }
    }

    /// Ends the last step, whose results are gone. Returns the inputs to be filled for the next one.
    pub fn next_step(&mut self) -> &mut StepInputs {
        self.window = None;
        self.inputs.wanted.clear();
        &mut self.inputs
    }

    /// Computes the [step](Runtime::next_step) whose inputs were filled, and the first window of its logits, which stay on the
    /// device.
    ///
    /// # Errors
    /// If the device fails.
    pub fn compute(&mut self, mut timings: Option<&mut StepTimings>) -> Result<(), Error> {
        let sizes = self.sizes();
        let Runtime { device, shared, variants, inputs, bytes, room, slots, crossings, .. } = self;
        let rows = inputs.wanted.chunks(room.max.rows).next().unwrap_or_default();
        write(&mut **device, shared, &inputs.named(rows), bytes)?;
        variants.begin(inputs.has_no_adapter());
        if let Some(slots) = slots {
            slots.next_step(&mut **device)?;
            slots.begins(sizes.tokens, !variants.used().streams(sizes.tokens));
        }
        let class = class(variants, &sizes)?;
        let timed = timings.as_deref_mut().map(|timings| (timings, 0));
        clock::replay(&mut **device, class.body(sizes.pages).0, &sizes, timed)?;
        *crossings = device.placement().map(|placement| placement.crossings()).unwrap_or_default();
        if inputs.wanted.is_empty() { Ok(()) } else { self.compute_window(0, timings) }
    }

    /// Reads what choosing tokens takes of the last step: candidates where the device chooses them, otherwise logits.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read_results(&mut self) -> Result<(), Error> {
        for window in 0..self.windows() {
            self.compute_window(window, None)?;
            if self.chooses() { self.read_candidates()? } else { self.read_logits()? }
        }
        Ok(())
    }

    /// Reads all logits of the last step: `[rows, vocab]`, or what the model's [head](weft_models::Head) computes in their place.
    ///
    /// # Errors
    /// If the device fails.
    pub fn all_logits(&mut self) -> Result<&[f32], Error> {
        self.logits.clear();
        for window in 0..self.windows() {
            self.compute_window(window, None)?;
            self.read_logits()?;
            Row::new(&self.computed.bytes).append_to(&mut self.logits);
        }
        Ok(&self.logits)
    }

    /// The number of windows of the logits that are wanted.
    fn windows(&self) -> usize {
        self.inputs.wanted.len().div_ceil(self.room.max.rows)
    }

    /// Calls `show` with a row of the last step's logits, or of the results that the model's [head](weft_models::Head) computes in their
    /// place, memory for a copy of it, the tokenizer and the context length.
    ///
    /// # Errors
    /// If the device fails. The step's tokens are then still in their sequences.
    pub fn with_logits<T>(
        &mut self,
        row: usize,
        show: impl FnOnce(Row<'_>, &mut Vec<f32>, &Tokenizer, usize) -> T,
    ) -> Result<T, Error> {
        self.compute_window(row / self.room.max.rows, None)?;
        self.read_logits()?;
        let bytes = 4 * self.model.graph().config.width();
        let computed = self.computed.bytes.chunks(bytes).nth(row % self.room.max.rows).unwrap_or_default();
        Ok(show(Row::new(computed), &mut self.logits, self.model.tokenizer(), self.room.context))
    }

    /// Returns whether the device chooses candidates for the next token.
    pub fn chooses(&self) -> bool {
        self.class().is_ok_and(|class| class.candidates.is_some())
    }

    /// Calls `show` with the candidates that the device chose from a row of the last step's logits, the tokenizer and the
    /// context length.
    ///
    /// # Errors
    /// If the device fails. The step's tokens are then still in their sequences.
    pub fn with_candidates<T>(
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

    /// Copies rows from one page of the KV cache to another, in every layer.
    ///
    /// # Errors
    /// If the device fails.
    pub fn copy(&mut self, copy: &PageCopy) -> Result<(), Error> {
        let Runtime { device, shared, bytes, .. } = self;
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

    /// The sizes of the current step, without rows of logits.
    fn sizes(&self) -> Sizes {
        let StepInputs { tokens, pages, ends, .. } = &self.inputs;
        Sizes::of(tokens.len()).slots(self.room.max.slots).pages(pages.len()).sequences(ends.len())
    }

    /// The programs of the last step.
    fn class(&self) -> Result<&Class, Error> {
        class(&self.variants, &self.sizes())
    }

    /// The number of rows of the current window.
    fn rows_of_window(&self) -> usize {
        let rows = self.window.and_then(|window| self.inputs.wanted.chunks(self.room.max.rows).nth(window));
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
        let bytes = 4 * self.rows_of_window() * self.model.graph().config.width();
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
        let Runtime { device, shared, variants, bytes, inputs, room, .. } = self;
        let rows = inputs.wanted.chunks(room.max.rows).nth(window).unwrap_or_default();
        // The rows of the first window were written with the other inputs.
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
