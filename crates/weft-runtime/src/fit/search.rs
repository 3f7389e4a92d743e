//! Plans a model for a device, to see what the device has memory for.

use weft_device::{Device, Side};
use weft_fuse::{CostModel, Options};
use weft_models::Mtp;

use crate::error::Error;
use crate::fit::need::MemoryNeed;
use crate::fit::{On, of_sides};
use crate::model::Model;
use crate::options::RuntimeOptions;
use crate::planned::Planned;
use crate::sizes::{Beside, Room};

/// A model that is to run on a device, alone or with the CPU.
pub(super) struct Search<'a> {
    pub(super) model: &'a Model,
    pub(super) device: &'a dyn Device,
    pub(super) options: &'a RuntimeOptions,
    mtp: Option<&'a Mtp>,
    compile: Options,
    room: Room,
}

impl<'a> Search<'a> {
    /// # Errors
    /// If an option is not valid for the model.
    pub(super) fn new(
        (model, mtp): (&'a Model, Option<&'a Mtp>),
        device: &'a dyn Device,
        options: &'a RuntimeOptions,
    ) -> Result<Search<'a>, Error> {
        let hardware = &device.caps().hardware;
        let room = Room::of(options, model.graph(), hardware)?;
        let compile = options.compile_options(hardware, model.gguf(), room.max);
        Ok(Search { model, device, options, mtp, compile, room })
    }

    /// The costs of the device.
    pub(super) fn costs(&self) -> CostModel {
        self.compile.costs
    }

    /// The plans of the model if the CPU computes this part of it.
    ///
    /// # Errors
    /// If the model cannot be compiled.
    pub(super) fn plan(&self, beside: Option<Beside>) -> Result<Planned, Error> {
        Planned::of_model(self.model, self.mtp, &self.compile, &Room { beside, ..self.room })
    }

    /// The memory that the device needs for its part of such plans.
    ///
    /// # Errors
    /// If plans do not fit together.
    pub(super) fn need(&self, planned: &Planned) -> Result<MemoryNeed, Error> {
        of_sides(planned, &self.room.max, &On::device(self.device), Side::First)
    }

    /// The memory that the last layers need with the head, for each number of them from all down to none.
    ///
    /// # Errors
    /// If plans do not fit together.
    pub(super) fn of_last_layers(&self, planned: &Planned) -> Result<Vec<MemoryNeed>, Error> {
        super::of_last_layers(planned, &self.room.max, self.model.graph().config.layers(), self.device)
    }
}
