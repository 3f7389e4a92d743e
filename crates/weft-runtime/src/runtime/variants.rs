//! The compilations of one model in a runtime, and parts of its steps.
//!
//! All run on the same device with the same threads, weights and KV cache, so that nothing differs but the plans. Another
//! compilation of a large model costs only the memory between its kernels.

use weft_device::{DeviceError, Mark, ProgramId};
use weft_fuse::Options;

use crate::compile::Compiled;
use crate::error::Error;

/// The id of a compilation of a runtime's model. It is never used again for another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlansId {
    /// The index in the runtime's list, which is reused.
    place: usize,
    /// The number of plans and parts made before.
    generation: u64,
}

impl PlansId {
    /// The compilation that the runtime was loaded with.
    pub const LOADED: PlansId = PlansId { place: 0, generation: 0 };
}

/// The id of a part of a step that can be replayed alone, until it is [dropped](super::Runtime::drop_parts) or the plans
/// added before it [are](super::Runtime::drop_plans). It is never used again for another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartId {
    /// The index in the runtime's list, which is reused.
    place: usize,
    /// The number of plans and parts made before this one.
    generation: u64,
}

/// The compilations of a runtime's model, and parts of its steps.
#[derive(Debug)]
pub(super) struct Variants {
    /// The options of compilation. Only the switches vary.
    options: Options,
    /// The one that the runtime was loaded with, then those that were added.
    all: Vec<Variant>,
    used: usize,
    /// Whether no token of the step has an adapter.
    plain: bool,
    parts: Vec<StepPart>,
    /// The number of plans and parts made so far.
    made: u64,
}

#[derive(Debug)]
struct Variant {
    generation: u64,
    compiled: Compiled,
    /// The device's checkpoint before it.
    mark: Option<Mark>,
    /// The number of parts made before it.
    parts: usize,
    /// The device's checkpoint before the first part made after it.
    parts_mark: Option<Mark>,
}

#[derive(Debug)]
pub(super) struct StepPart {
    generation: u64,
    pub(super) program: ProgramId,
    /// The number of tokens of the step.
    pub(super) tokens: usize,
}

impl Variants {
    pub(super) fn new(loaded: Compiled, options: Options) -> Variants {
        let mut variants =
            Variants { options, all: Vec::new(), used: 0, plain: false, parts: Vec::new(), made: 0 };
        variants.add(loaded, None);
        variants
    }

    /// The options that the model was compiled with first.
    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    /// Begins a step. `plain` says that none of its tokens has an adapter.
    pub(super) fn begin(&mut self, plain: bool) {
        self.plain = plain;
    }

    /// The compilation that the step runs.
    pub(super) fn used(&self) -> &Compiled {
        let compiled = &self.all[self.used].compiled;
        compiled.plain.as_deref().filter(|_| self.plain).unwrap_or(compiled)
    }

    /// Streams offloaded experts in steps of this many tokens and more.
    #[cfg(test)]
    pub(super) fn stream_from(&mut self, tokens: Option<usize>) {
        for Variant { compiled, .. } in &mut self.all {
            compiled.streamed_from = tokens;
            compiled.plain.iter_mut().for_each(|plain| plain.streamed_from = tokens);
        }
    }

    /// Returns a compilation.
    ///
    /// # Errors
    /// If it has been dropped.
    pub(super) fn get(&self, plans: PlansId) -> Result<&Compiled, Error> {
        let known = self.all.get(plans.place).filter(|known| known.generation == plans.generation);
        let compiled = known.map(|known| &known.compiled);
        compiled.ok_or_else(|| DeviceError::Usage("these plans have been dropped".into()).into())
    }

    /// Makes steps run a compilation.
    ///
    /// # Errors
    /// If it has been dropped.
    pub(super) fn select(&mut self, plans: PlansId) -> Result<(), Error> {
        self.get(plans)?;
        self.used = plans.place;
        Ok(())
    }

    /// Returns a part, if it has not been dropped.
    pub(super) fn part(&self, part: PartId) -> Option<&StepPart> {
        self.parts.get(part.place).filter(|known| known.generation == part.generation)
    }

    /// Adds a compilation. `mark` is the device's checkpoint before it.
    pub(super) fn add(&mut self, compiled: Compiled, mark: Option<Mark>) -> PlansId {
        let id = PlansId { place: self.all.len(), generation: self.made };
        let (generation, parts) = (id.generation, self.parts.len());
        self.made += 1;
        self.all.push(Variant { generation, compiled, mark, parts, parts_mark: None });
        id
    }

    /// Adds a part of a step. `mark` is the device's checkpoint before it.
    pub(super) fn add_part(&mut self, program: ProgramId, tokens: usize, mark: Option<Mark>) -> PartId {
        let id = PartId { place: self.parts.len(), generation: self.made };
        self.made += 1;
        self.parts.push(StepPart { generation: id.generation, program, tokens });
        if let Some(last) = self.all.last_mut() {
            last.parts_mark = last.parts_mark.or(mark);
        }
        id
    }

    /// Removes the last compilation, unless it is the one loaded, and the parts added since. Steps run the one loaded.
    /// Returns the checkpoint to restore.
    pub(super) fn drop_last(&mut self) -> Option<Mark> {
        self.used = 0;
        let Variant { mark, parts, .. } = self.all.pop_if(|last| last.generation > 0)?;
        self.parts.truncate(parts);
        mark
    }

    /// Removes the parts added since the last compilation. Returns the checkpoint to restore.
    pub(super) fn drop_parts(&mut self) -> Option<Mark> {
        let last = self.all.last_mut()?;
        self.parts.truncate(last.parts);
        last.parts_mark.take()
    }
}
