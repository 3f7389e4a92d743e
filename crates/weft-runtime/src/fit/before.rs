//! The memory that a model's file needs, before it is opened: on each device that would have a part of it.

use std::ops::ControlFlow;
use std::path::Path;

use weft_models::Mtp;

use crate::error::Error;
use crate::fit::layers::Opened;
use crate::fit::need::MemoryNeed;
use crate::fit::open::open;
use crate::fit::{of, of_divided};
use crate::model::Model;
use crate::mtp::mtp;
use crate::options::RuntimeOptions;
use crate::planned::Planned;
use crate::sizes::Room;

/// Computes the memory that a model's file needs with these options, before it is loaded: on their device, and then on the CPU if the model
/// would be divided between both. The layer that predicts one token more counts if the options have it compiled. A context longer than the
/// model's counts as the model's. A model for which the device has too little free memory now counts as if all of it were there.
///
/// # Errors
/// If the file cannot be read, the model is not supported or cannot be compiled, an option is not valid for it, or there is no such
/// device.
pub fn memory_of(path: &Path, options: &RuntimeOptions) -> Result<Vec<MemoryNeed>, Error> {
    let model = Model::open_with(path, options)?;
    let mtp = mtp(&model, options.mtp)?;
    let context = options.context.map(|context| context.min(model.graph().config.context));
    let options = RuntimeOptions { context, ..options.clone() };
    let opened = match open(&model, mtp.as_ref(), &options, &mut |_| ControlFlow::Continue(())) {
        Err(Error::Memory(_)) => {
            Opened { device: options.open_device()?, beside: None, planned: None, batch: None }
        }
        opened => opened?,
    };
    of_opened((&model, mtp.as_ref()), opened, &options)
}

/// The memory that a model needs on the device that was opened for it, or on each of the two that are one.
pub(super) fn of_opened(
    (model, mtp): (&Model, Option<&Mtp>),
    Opened { mut device, beside, planned, batch }: Opened,
    options: &RuntimeOptions,
) -> Result<Vec<MemoryNeed>, Error> {
    let steps = RuntimeOptions { batch: batch.or(options.batch), ..options.clone() };
    let room = Room { beside, ..Room::of(&steps, model.graph(), &device.caps().hardware)? };
    let compile = options.compile_options(&device.caps().hardware, model.gguf(), room.max);
    let planned = match planned {
        Some(planned) => planned,
        None => Planned::of_model(model, mtp, &compile, &room)?,
    };
    match of_divided(&planned, &room.max, &mut *device)? {
        divided if divided.is_empty() => Ok(vec![of(&planned, &room.max, &*device)?]),
        divided => Ok(divided),
    }
}
