//! Several ways to compile one model, side by side in one engine: for who compares them.
//!
//! All run on the same device with the same threads, weights and KV cache, so that nothing differs but the plans, and a second way to compile a
//! large model costs the memory between its kernels and no more. Sequences go on through a change of plans.

use weft_device::{DeviceError, Mark};
use weft_fuse::Options;
use weft_ir::Switches;

use super::Engine;
use crate::compile::{Compiled, compile_again};
use crate::error::Error;

/// A way the model of an engine is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlansId(usize);

impl PlansId {
    /// How the engine was loaded.
    pub const LOADED: PlansId = PlansId(0);
}

/// The ways an engine's model is compiled.
#[derive(Debug)]
pub(super) struct Variants {
    /// What plans are made for; of these only the switches differ.
    options: Options,
    /// How it was loaded first, then those that were added.
    all: Vec<Compiled>,
    /// Where the device stood before each that was added.
    marks: Vec<Option<Mark>>,
    used: usize,
}

impl Variants {
    pub(super) fn new(loaded: Compiled, options: Options) -> Variants {
        Variants { options, all: vec![loaded], marks: Vec::new(), used: 0 }
    }

    /// What steps run.
    pub(super) fn used(&self) -> &Compiled {
        &self.all[self.used]
    }
}

impl Engine {
    /// Compiles the model once more, with other decisions. Steps go on to run what they ran before.
    ///
    /// # Errors
    /// If it cannot be compiled so, or the device has no room. Nothing is left behind.
    pub fn add_plans(&mut self, switches: &Switches) -> Result<PlansId, Error> {
        let Engine { model, device, shared, variants, .. } = self;
        let options = Options { switches: switches.clone(), ..variants.options.clone() };
        let mark = device.mark();
        match compile_again(&mut **device, model.gguf(), model.graph(), &options, shared) {
            Ok(compiled) => {
                variants.all.push(compiled);
                variants.marks.push(mark);
                Ok(PlansId(variants.all.len() - 1))
            }
            Err(error) => {
                mark.into_iter().for_each(|mark| device.rewind(mark));
                Err(error)
            }
        }
    }

    /// Has steps run these plans from now on.
    ///
    /// # Errors
    /// If they have been dropped.
    pub fn use_plans(&mut self, plans: PlansId) -> Result<(), Error> {
        self.plans(plans)?;
        self.variants.used = plans.0;
        Ok(())
    }

    /// Forgets the plans that were added last, if any were, and gives their room back. Steps run those the engine was loaded with.
    pub fn drop_plans(&mut self) {
        let Engine { device, variants, .. } = self;
        variants.used = 0;
        if let Some(mark) = variants.marks.pop() {
            variants.all.pop();
            mark.into_iter().for_each(|mark| device.rewind(mark));
        }
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
        let known = self.variants.all.get(plans.0);
        known.ok_or_else(|| DeviceError::Usage("these plans have been dropped".into()).into())
    }
}
