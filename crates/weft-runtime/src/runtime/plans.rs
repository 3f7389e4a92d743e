//! Adding, comparing and dropping compilations of a runtime's model.
//!
//! Sequences continue through a change of plans.

use weft_device::{Device, DeviceError, Mark, ProgramId};
use weft_fuse::Options;
use weft_ir::Switches;

use super::Runtime;
use super::variants::{PartId, PlansId};
use crate::compile::{Class, compile_again};
use crate::error::Error;

/// Calls `make` with a device. Returns its result and the device's checkpoint before, or restores that on an error.
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

impl Runtime {
    /// Compiles the model again, with other decisions. Steps continue to run the plans that they ran before.
    ///
    /// # Errors
    /// If it cannot be compiled, or the device has not enough memory. The runtime is then unchanged.
    pub fn add_plans(&mut self, switches: &Switches) -> Result<PlansId, Error> {
        let Runtime { model, mtp, device, shared, variants, room, .. } = self;
        let options = Options { switches: switches.clone(), ..variants.options().clone() };
        let compile = |device: &mut dyn Device| {
            compile_again(device, (model.graph(), mtp.as_ref()), (&options, &*room), shared)
        };
        let (compiled, mark) = make(&mut **device, compile)?;
        Ok(variants.add(compiled, mark))
    }

    /// Has the device compile existing plans again, to vary how it does that. With `tokens`, compiles only the programs
    /// for steps of that size and shares the rest. Steps continue to run the plans that they ran before.
    ///
    /// # Errors
    /// If the plans have been dropped, or the device fails. The runtime is then unchanged.
    pub fn add_recompiled(&mut self, plans: PlansId, tokens: Option<usize>) -> Result<PlansId, Error> {
        let Runtime { device, variants, .. } = self;
        let mut compiled = variants.get(plans)?.clone();
        let only = tokens.and_then(|tokens| compiled.class(tokens)).map(|class| class.tokens);
        let compile = |device: &mut dyn Device| -> Result<(), DeviceError> {
            let wanted = |class: &&mut Class| only.is_none_or(|only| class.tokens == only);
            for class in compiled.classes.iter_mut().filter(wanted) {
                class.compile_again(device)?;
            }
            Ok(())
        };
        let ((), mark) = make(&mut **device, compile)?;
        Ok(variants.add(compiled, mark))
    }

    /// Makes steps run these plans.
    ///
    /// # Errors
    /// If the plans have been dropped.
    pub fn use_plans(&mut self, plans: PlansId) -> Result<(), Error> {
        self.variants.select(plans)
    }

    /// Drops the plans that were added last, if any, with the parts made since, and frees their memory. Steps run the
    /// plans that the runtime was loaded with.
    pub fn drop_plans(&mut self) {
        let Runtime { device, variants, .. } = self;
        variants.drop_last().into_iter().for_each(|mark| mark.restore(&mut **device));
    }

    /// Drops the parts made since plans were added last, or since the runtime was loaded, and frees their memory, with
    /// everything that the [device](Runtime::device_mut) was given after the first of them.
    pub fn drop_parts(&mut self) {
        let Runtime { device, variants, .. } = self;
        variants.drop_parts().into_iter().for_each(|mark| mark.restore(&mut **device));
    }

    /// Has the device compile a part of steps of `tokens` tokens. On an error, the device is unchanged.
    pub(super) fn add_part(
        &mut self,
        tokens: usize,
        compile: impl FnOnce(&mut dyn Device) -> Result<ProgramId, DeviceError>,
    ) -> Result<PartId, Error> {
        let (program, mark) = make(&mut *self.device, compile)?;
        Ok(self.variants.add_part(program, tokens, mark))
    }

    /// Returns whether two compilations are equal: the same kernels on the same weights in the same order, for every
    /// size of step.
    ///
    /// # Errors
    /// If one of them has been dropped.
    pub fn same_plans(&self, a: PlansId, b: PlansId) -> Result<bool, Error> {
        let [a, b] = [&self.variants.get(a)?.classes, &self.variants.get(b)?.classes];
        Ok(a.iter().map(|class| &class.plans).eq(b.iter().map(|class| &class.plans)))
    }

    /// The number of launches of a step of `tokens` tokens, one of which wants logits.
    ///
    /// # Errors
    /// If the plans have been dropped.
    pub fn kernels(&self, plans: PlansId, tokens: usize) -> Result<usize, Error> {
        Ok(self.variants.get(plans)?.class(tokens).map_or(0, |class| class.kernels))
    }
}
