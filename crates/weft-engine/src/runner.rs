//! The runner: a runtime with the memory of sequences.
//!
//! It computes ragged batches of tokens and knows nothing about requests. The engine's scheduler and the lab drive it.

mod predict;

use std::ops::{Deref, DerefMut};
use std::path::Path;

use weft_device::Device;
use weft_pack::OnReport;
use weft_runtime::{Error, Head, Model, PAGE, Room, Runtime, StepInputs, StepTimings};

use crate::adapters::SequenceAdapter;
use crate::batch::{Batch, Entry, SeqId};
use crate::memory::Memory;
use crate::options::EngineOptions;
use crate::request::Adapted;

pub use predict::Pending;

/// A compiled model and the memory of its sequences. It computes batches of tokens of any number of sequences, in any order.
///
/// It dereferences to the [`Runtime`], which knows launches, plans and costs.
pub struct Runner {
    runtime: Runtime,
    memory: Memory,
    /// The inputs of predictions, kept for their memory.
    following: StepInputs,
}

impl Deref for Runner {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        &self.runtime
    }
}

impl DerefMut for Runner {
    fn deref_mut(&mut self) -> &mut Runtime {
        &mut self.runtime
    }
}

impl Runner {
    /// Opens a model and compiles it for the device of `options`. `report` receives the progress.
    ///
    /// # Errors
    /// If the file cannot be read, the model is not supported, there is no such device, or there is not enough memory;
    /// [`Error::Interrupted`] if `report` interrupts it.
    pub fn load(path: &Path, options: &EngineOptions, report: OnReport<'_>) -> Result<Runner, Error> {
        Ok(Runner::of(Runtime::load(path, options, report)?))
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
        Ok(Runner::of(Runtime::new(model, device, options, report)?))
    }

    fn of(runtime: Runtime) -> Runner {
        let Room { context, pages, window, states, max, .. } = *runtime.room();
        let model = runtime.model();
        let is_control = |token: &u32| states.is_some() && model.tokenizer().is_control(*token);
        let controls = (0..model.graph().config.vocab as u32).filter(is_control).collect();
        let memory =
            Memory::new(PAGE, pages, context, max.pages).with_window(window).with_states(states, controls);
        Runner { runtime, memory, following: StepInputs::default() }
    }

    /// Begins an empty sequence.
    pub fn new_sequence(&mut self) -> SeqId {
        self.memory.new_sequence()
    }

    /// Sets the LoRA adapter of an empty sequence: one of the model's [selectable](weft_runtime::Model::selectable) ones by its name,
    /// with the factor that it was opened with if `scale` is `None`.
    ///
    /// # Errors
    /// [`Error::Batch`] if the model has no such adapter, or the factor is not finite.
    pub fn adapt(&mut self, seq: SeqId, name: &str, scale: Option<f32>) -> Result<(), Error> {
        let chosen = Adapted { adapter: name.into(), scale };
        let adapter = SequenceAdapter::of(Some(&chosen), self.runtime.model().selectable())?;
        self.memory.adapt(seq, adapter);
        Ok(())
    }

    /// The number of tokens in a sequence, or 0 if it has ended.
    pub fn len(&self, seq: SeqId) -> usize {
        self.memory.len(seq)
    }

    /// Ends a sequence and releases its pages.
    pub fn free(&mut self, seq: SeqId) {
        self.memory.free(seq);
    }

    /// Removes all but the first `len` tokens of a sequence. Returns how many it has left.
    ///
    /// These are none if layers with a sliding window no longer have what a token after them sees; the caller has to compute
    /// them again. All tokens of the last batch can always be removed. A model with states of whole sequences can go back to any of a
    /// few [guesses](Batch::push_guess) at its end, and otherwise only to where the last batch began: of a length within that batch,
    /// this much is left, and of a shorter one nothing.
    pub fn truncate(&mut self, seq: SeqId, len: usize) -> usize {
        self.memory.truncate(seq, len)
    }

    /// Computes a batch, and returns the logits asked for: `[rows, vocab]`, in the order of the batch.
    ///
    /// Results are batch-invariant, bit for bit: they do not depend on the other sequences of the batch, on how a
    /// sequence is cut into batches, or on the number of threads.
    ///
    /// # Errors
    /// If the model computes no logits, the batch is too large, has an unknown token or sequence, or exceeds the context, or the
    /// device fails. The sequences are then unchanged.
    pub fn step(&mut self, batch: &Batch) -> Result<&[f32], Error> {
        self.writes()?;
        self.compute(batch, None)?;
        self.runtime.all_logits().inspect_err(|_| self.memory.undo(batch.entries()))
    }

    /// Computes a batch, and reads what choosing tokens takes: candidates where the device chooses them, otherwise logits.
    ///
    /// # Errors
    /// Those of [`step`](Runner::step).
    pub fn advance(&mut self, batch: &Batch) -> Result<(), Error> {
        self.compute(batch, None)?;
        self.runtime.read_results().inspect_err(|_| self.memory.undo(batch.entries()))
    }

    /// Computes a batch like [`Runner::advance`], and records when each worker ran each launch. Then reads the logits.
    ///
    /// # Errors
    /// Those of [`Runner::step`]. Also if the device cannot time launches, or more rows of logits are wanted than one
    /// replay computes.
    pub fn step_timed(&mut self, batch: &Batch, timings: &mut StepTimings) -> Result<&[f32], Error> {
        let logits = batch.entries().iter().filter(|entry| entry.logits).count();
        let most = self.runtime.logit_rows();
        if batch.is_empty() || logits > most {
            let why = format!(
                "cannot time a step of {} tokens and {logits} rows of logits: expected at least 1 token and at most {most} rows",
                batch.len()
            );
            return Err(Error::Batch(why));
        }
        self.writes()?;
        timings.begin(logits > 0);
        self.compute(batch, Some(&mut *timings))?;
        self.runtime.read_results().inspect_err(|_| self.memory.undo(batch.entries()))?;
        timings.end();
        self.runtime.all_logits().inspect_err(|_| self.memory.undo(batch.entries()))
    }

    /// Refuses a model that computes no logits.
    fn writes(&self) -> Result<(), Error> {
        match self.model().graph().config.head {
            Head::Logits => Ok(()),
            Head::Embedding(_) => {
                Err(Error::Batch("this model computes embeddings and no logits: use a chat model".into()))
            }
            Head::Scores { .. } => {
                Err(Error::Batch("this model ranks documents and has no logits: use a chat model".into()))
            }
        }
    }

    /// The memory of all sequences.
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The memory of all sequences, to change it.
    pub(crate) fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// Computes a batch and the first window of its logits, which stay on the device.
    ///
    /// # Errors
    /// Those of [`step`](Runner::step).
    pub(crate) fn compute(&mut self, batch: &Batch, timings: Option<&mut StepTimings>) -> Result<(), Error> {
        let Runner { runtime, memory, .. } = self;
        let entries = batch.entries();
        runtime.check(entries.iter().map(|entry| entry.token))?;
        let inputs = runtime.next_step();
        if entries.is_empty() {
            return Ok(());
        }
        match grouped(entries).filter(|_| memory.has_states()) {
            None => {
                memory.place(entries, inputs)?;
                let wanted = entries.iter().enumerate().filter(|(_, e)| e.logits);
                inputs.wanted.extend(wanted.map(|(i, _)| i as i32));
            }
            Some((grouped, rows)) => {
                memory.place(&grouped, inputs)?;
                let wanted = entries.iter().zip(rows).filter(|(e, _)| e.logits);
                inputs.wanted.extend(wanted.map(|(_, row)| row as i32));
            }
        }
        runtime.compute(timings).inspect_err(|_| memory.undo(entries))
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
