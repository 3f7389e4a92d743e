//! Several ways to compile one model, side by side in one engine: for who compares them.
//!
//! All run on the same device with the same threads, weights and KV cache, so that nothing differs but the plans, and a second way to compile a
//! large model costs the memory between its kernels and no more. Sequences go on through a change of plans.

use weft_device::{Device, DeviceError, Mark, ProgramId};
use weft_fuse::Options;
use weft_ir::Switches;

use super::{PartId, Runner};
use crate::compile::{Class, Compiled, compile_again};
use crate::error::Error;

/// A way the model of an engine is compiled. It names no other, not even after this one has been dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlansId {
    /// Its place in the engine's list, which is used again.
    place: usize,
    /// How many plans and parts were made before it.
    generation: u64,
}

impl PlansId {
    /// How the engine was loaded.
    pub const LOADED: PlansId = PlansId { place: 0, generation: 0 };
}

/// The ways an engine's model is compiled, and parts of its steps.
#[derive(Debug)]
pub(super) struct Variants {
    /// What plans are made for; of these only the switches differ.
    options: Options,
    /// How it was loaded first, then those that were added.
    all: Vec<Variant>,
    used: usize,
    parts: Vec<StepPart>,
    /// Plans and parts made so far.
    made: u64,
}

#[derive(Debug)]
struct Variant {
    generation: u64,
    compiled: Compiled,
    /// Where the device stood before it.
    mark: Option<Mark>,
    /// Parts that were made before it.
    parts: usize,
    /// Where the device stood before the first part that was made after it.
    parts_mark: Option<Mark>,
}

#[derive(Debug)]
pub(super) struct StepPart {
    generation: u64,
    pub(super) program: ProgramId,
    /// Of the step it is a part of.
    pub(super) tokens: usize,
}

impl Variants {
    pub(super) fn new(loaded: Compiled, options: Options) -> Variants {
        let mut variants = Variants { options, all: Vec::new(), used: 0, parts: Vec::new(), made: 0 };
        variants.add(loaded, None);
        variants
    }

    /// What steps run.
    pub(super) fn used(&self) -> &Compiled {
        &self.all[self.used].compiled
    }

    /// A part, if it has not been dropped.
    pub(super) fn part(&self, part: PartId) -> Option<&StepPart> {
        self.parts.get(part.place).filter(|known| known.generation == part.generation)
    }

    fn add(&mut self, compiled: Compiled, mark: Option<Mark>) -> PlansId {
        let id = PlansId { place: self.all.len(), generation: self.made };
        let (generation, parts) = (id.generation, self.parts.len());
        self.made += 1;
        self.all.push(Variant { generation, compiled, mark, parts, parts_mark: None });
        id
    }

    fn add_part(&mut self, program: ProgramId, tokens: usize, mark: Option<Mark>) -> PartId {
        let id = PartId { place: self.parts.len(), generation: self.made };
        self.made += 1;
        self.parts.push(StepPart { generation: id.generation, program, tokens });
        if let Some(last) = self.all.last_mut() {
            last.parts_mark = last.parts_mark.or(mark);
        }
        id
    }
}

/// Has a device make something. Also returns where it stood before; if it fails nothing is left behind.
fn make<T, E>(
    device: &mut dyn Device,
    make: impl FnOnce(&mut dyn Device) -> Result<T, E>,
) -> Result<(T, Option<Mark>), E> {
    let mark = Mark::of(device);
    let made = make(device);
    if made.is_err() {
        mark.into_iter().for_each(|mark| mark.restore(device));
    }
    made.map(|made| (made, mark))
}

impl Runner {
    /// Compiles the model once more, with other decisions. Steps go on to run what they ran before.
    ///
    /// # Errors
    /// If it cannot be compiled so, or the device has no room. Nothing is left behind.
    pub fn add_plans(&mut self, switches: &Switches) -> Result<PlansId, Error> {
        let Runner { model, device, shared, variants, .. } = self;
        let options = Options { switches: switches.clone(), ..variants.options.clone() };
        let compile =
            |device: &mut dyn Device| compile_again(device, model.gguf(), model.graph(), &options, shared);
        let (compiled, mark) = make(&mut **device, compile)?;
        Ok(variants.add(compiled, mark))
    }

    /// Has the device compile some plans once more: for who varies how it does that. With `tokens` only what runs steps of so many; all else is shared.
    /// Steps go on to run what they ran before.
    ///
    /// # Errors
    /// If the plans have been dropped, or the device refuses or has no room. Nothing is left behind.
    pub fn add_recompiled(&mut self, plans: PlansId, tokens: Option<usize>) -> Result<PlansId, Error> {
        let mut compiled = self.plans(plans)?.clone();
        let only = tokens.and_then(|tokens| compiled.class(tokens)).map(|class| class.tokens);
        let Runner { device, variants, .. } = self;
        let compile = |device: &mut dyn Device| -> Result<(), DeviceError> {
            let wanted = |class: &&mut Class| only.is_none_or(|only| class.tokens == only);
            for class in compiled.classes.iter_mut().filter(wanted) {
                let [body, head] = &class.programs;
                (class.body, class.head) = (device.compile(body)?, device.compile(head)?);
            }
            Ok(())
        };
        let ((), mark) = make(&mut **device, compile)?;
        Ok(variants.add(compiled, mark))
    }

    /// Has steps run these plans from now on.
    ///
    /// # Errors
    /// If they have been dropped.
    pub fn use_plans(&mut self, plans: PlansId) -> Result<(), Error> {
        self.plans(plans)?;
        self.variants.used = plans.place;
        Ok(())
    }

    /// Forgets the plans that were added last, if any were, with the parts that were made since, and gives their room back. Steps run the plans
    /// the engine was loaded with.
    pub fn drop_plans(&mut self) {
        let Runner { device, variants, .. } = self;
        variants.used = 0;
        // The first are those it was loaded with.
        if let Some(Variant { mark, parts, .. }) = variants.all.pop_if(|last| last.generation > 0) {
            variants.parts.truncate(parts);
            mark.into_iter().for_each(|mark| mark.restore(&mut **device));
        }
    }

    /// Forgets the parts that were made since plans were added last, or since the engine was loaded, and gives their room back: with it goes
    /// whatever the [device](Runner::device_mut) was given after the first of them.
    pub fn drop_parts(&mut self) {
        let Runner { device, variants, .. } = self;
        if let Some(last) = variants.all.last_mut() {
            variants.parts.truncate(last.parts);
            last.parts_mark.take().into_iter().for_each(|mark| mark.restore(&mut **device));
        }
    }

    /// Has the device make a part of steps of so many tokens. If it fails nothing is left behind.
    pub(super) fn add_part(
        &mut self,
        tokens: usize,
        compile: impl FnOnce(&mut dyn Device) -> Result<ProgramId, DeviceError>,
    ) -> Result<PartId, Error> {
        let (program, mark) = make(&mut *self.device, compile)?;
        Ok(self.variants.add_part(program, tokens, mark))
    }

    /// Whether two ways to compile the model are one: the same kernels on the same weights in the same order, for every size of step.
    ///
    /// # Errors
    /// If one of them has been dropped.
    pub fn same_plans(&self, a: PlansId, b: PlansId) -> Result<bool, Error> {
        let [a, b] = [&self.plans(a)?.classes, &self.plans(b)?.classes];
        Ok(a.iter().map(|class| &class.plans).eq(b.iter().map(|class| &class.plans)))
    }

    /// Kernels that a step of so many tokens launches, one of which wants logits.
    ///
    /// # Errors
    /// If the plans have been dropped.
    pub fn kernels(&self, plans: PlansId, tokens: usize) -> Result<usize, Error> {
        Ok(self.plans(plans)?.class(tokens).map_or(0, |class| class.kernels))
    }

    fn plans(&self, plans: PlansId) -> Result<&Compiled, Error> {
        let known = self.variants.all.get(plans.place).filter(|known| known.generation == plans.generation);
        let compiled = known.map(|known| &known.compiled);
        compiled.ok_or_else(|| DeviceError::Usage("these plans have been dropped".into()).into())
    }
}
