//! Layers on two devices: how many of a model run on the device that was asked for, and how many on the CPU.

use std::ops::ControlFlow;

use weft_device::{Device, SplitDevice};
use weft_pack::{OnReport, Report};

use crate::devices::choice::DeviceChoice;
use crate::devices::machines::cost_model;
use crate::error::Error;
use crate::fit::need::MemoryNeed;
use crate::fit::search::Search;
use crate::model::Model;
use crate::options::RuntimeOptions;
use crate::planned::Planned;
use crate::sizes::{Beside, SecondPart};

/// The device that runs a model, opened.
pub(crate) struct Opened {
    /// The device, or two as one.
    pub(crate) device: Box<dyn Device>,
    /// The part of the second of two devices.
    pub(crate) beside: Option<Beside>,
    /// The plans of the model for one device, if they were made to see that it has room for them.
    pub(crate) planned: Option<Planned>,
    /// The most tokens of a step, if that is not the options'.
    pub(crate) batch: Option<usize>,
}

/// The number of layers that run on a device: as many as were asked for, or as have room. `needs` has the memory that each number of layers
/// needs, from all down to none. It is empty if the device does not report its memory.
pub(super) fn fitting(
    search: &Search<'_>,
    needs: Vec<MemoryNeed>,
    report: OnReport<'_>,
) -> Result<usize, Error> {
    let (layers, asked) = (search.model.graph().config.layers(), search.options.gpu_layers);
    let most = asked.map_or(layers, |most| most.min(layers));
    if needs.is_empty() {
        return Ok(most);
    }
    let fit = needs.iter().skip(layers - most).position(|need| need.missing() == 0);
    match (fit.map(|less| most - less), needs.into_iter().nth(layers - most)) {
        (Some(fit), _) if fit == most => Ok(fit),
        (Some(fit), Some(need)) if asked.is_none() => {
            let others = layers - fit;
            let note = format!("{need}; {fit} of {layers} layers run there, and {others} on the CPU");
            match report(Report::Note(note)) {
                ControlFlow::Continue(()) => Ok(fit),
                ControlFlow::Break(()) => Err(Error::Interrupted),
            }
        }
        // A number of layers was asked for, or none fits.
        (_, Some(need)) => Err(Error::Memory(Box::new(need))),
        (_, None) => Ok(most),
    }
}

/// Joins a device that runs `on_device` layers with the CPU for the others, if there are any.
pub(super) fn beside_cpu(
    model: &Model,
    device: Box<dyn Device>,
    on_device: usize,
    options: &RuntimeOptions,
) -> Result<(Box<dyn Device>, Option<Beside>), Error> {
    let layers = model.graph().config.layers();
    if on_device >= layers {
        return Ok((device, None));
    }
    let cpu = DeviceChoice::default().open(options.threads, options.device_folder())?;
    let costs = cost_model(&cpu.caps().hardware, options.device_folder());
    let name = format!(
        "{} with {on_device} of {layers} layers, {} with the others",
        device.caps().name,
        cpu.caps().name
    );
    let both = SplitDevice::new(device, cpu, name, &format!("{on_device} of {layers} layers"));
    Ok((Box::new(both), Some(Beside { part: SecondPart::Layers(layers - on_device), costs })))
}
