//! Experts on two devices: how many of each layer run on the device that was asked for, while the CPU computes the others.

use std::ops::ControlFlow;

use weft_device::{Device, Side, SplitDevice};
use weft_fuse::Options;
use weft_models::Mtp;
use weft_pack::{OnReport, Report};

use crate::compile::Planned;
use crate::devices::choice::DeviceChoice;
use crate::devices::machines::cost_model;
use crate::error::Error;
use crate::fit::layers::Opened;
use crate::fit::need::MemoryNeed;
use crate::fit::of_sides;
use crate::model::Model;
use crate::options::RuntimeOptions;
use crate::plans::outside::Experts;
use crate::sizes::{Beside, Room, SecondPart};

/// The CPU, and what it computes beside another device.
pub(crate) struct BesideCpu {
    pub(super) cpu: Box<dyn Device>,
    /// The experts of each layer that the other device computes, and all of them.
    pub(super) near: usize,
    pub(super) count: usize,
    pub(super) beside: Beside,
}

/// Decides whether the CPU computes experts beside a device: if so many were asked for there, or the model does not fit and the device
/// has memory for all the rest. `None` if the device computes all, or whole layers are on the CPU.
///
/// # Errors
/// If experts were asked for and the model has none, or the device has not enough memory for these.
pub(crate) fn beside(
    model: &Model,
    mtp: Option<&Mtp>,
    device: &dyn Device,
    options: &RuntimeOptions,
    report: OnReport<'_>,
) -> Result<Option<BesideCpu>, Error> {
    if options.gpu_layers.is_some() || options.gpu_experts.is_none() && device.free_memory().is_none() {
        return Ok(None);
    }
    let found = Experts::of(&model.graph().segments, device.caps().packing);
    let Some(Experts { count, step }) = found else {
        return match options.gpu_experts {
            None => Ok(None),
            Some(_) => Err(Error::Option(
                "experts on a GPU: expected a model with experts, found one without; `--gpu-layers` divides such a model".into(),
            )),
        };
    };
    let search = Search::new(model, mtp, device, options)?;
    let asked = options.gpu_experts.map(|near| if near >= count { count } else { near / step * step });
    let all = search.need(None)?;
    if asked == Some(count) || asked.is_none() && all.missing() == 0 {
        return Ok(None);
    }
    let cpu = DeviceChoice::default().open(options.threads, options.device_folder())?;
    let costs = cost_model(&cpu.caps().hardware, options.device_folder());
    let of = |near: usize| Beside { part: SecondPart::ExpertsFrom(near), costs };
    let near = match asked {
        Some(near) => {
            let need = search.need(Some(of(near)))?;
            if need.missing() > 0 {
                return Err(Error::Memory(Box::new(need)));
            }
            near
        }
        None => {
            let Some(near) = search.most(count, step, of)? else { return Ok(None) };
            let note = format!(
                "{all}; {near} of {count} experts of each layer run there, and the others on the CPU"
            );
            if report(Report::Note(note)) == ControlFlow::Break(()) {
                return Err(Error::Interrupted);
            }
            near
        }
    };
    Ok(Some(BesideCpu { cpu, near, count, beside: of(near) }))
}

/// Joins a device with the CPU that computes experts beside it.
pub(crate) fn joined(device: Box<dyn Device>, with: BesideCpu) -> Opened {
    let BesideCpu { cpu, near, count, beside } = with;
    let (own, other) = (&device.caps().name, &cpu.caps().name);
    let name = format!("{own} with {near} of {count} experts of each layer, {other} with the others");
    let both = SplitDevice::new(device, cpu, name, &format!("{near} of {count} experts"));
    Opened { device: Box::new(both), beside: Some(beside), planned: None }
}

/// Finds what a device has memory for.
struct Search<'a> {
    model: &'a Model,
    mtp: Option<&'a Mtp>,
    device: &'a dyn Device,
    compile: Options,
    room: Room,
}

impl<'a> Search<'a> {
    fn new(
        model: &'a Model,
        mtp: Option<&'a Mtp>,
        device: &'a dyn Device,
        options: &RuntimeOptions,
    ) -> Result<Search<'a>, Error> {
        let hardware = &device.caps().hardware;
        let room = Room::of(options, model.graph(), hardware)?;
        let costs = cost_model(hardware, options.device_folder());
        let switches = options.decisions(hardware, model.gguf());
        let replacements = options.kernels.clone();
        let compile = Options { max: room.max, switches, costs, replacements, ..Options::default() };
        Ok(Search { model, mtp, device, compile, room })
    }

    /// The memory that the device needs for its part.
    fn need(&self, beside: Option<Beside>) -> Result<MemoryNeed, Error> {
        let room = Room { beside, ..self.room };
        let planned = Planned::of_all_steps(self.model.graph(), self.mtp, &self.compile, &room)?;
        of_sides(&planned, &room.max, self.device, Side::First)
    }

    /// The most experts of each layer that the device has memory for. `None` if it has too little without any.
    fn most(&self, count: usize, step: usize, of: impl Fn(usize) -> Beside) -> Result<Option<usize>, Error> {
        let steps = (count - 1) / step;
        let none = self.need(Some(of(0)))?;
        if none.missing() > 0 {
            return Ok(None);
        }
        if steps == 0 {
            return Ok(Some(0));
        }
        // All experts but those of one step take as much each.
        let (one, most) = (self.need(Some(of(step)))?, self.need(Some(of(steps * step)))?);
        let each = (most.total() - one.total()).checked_div(steps as u64 - 1).unwrap_or(0).max(1);
        let spare = one.free.unwrap_or(u64::MAX).checked_sub(one.total());
        let Some(spare) = spare else { return Ok(Some(0)) };
        let mut fit = (1 + spare / each).min(steps as u64) as usize;
        while fit > 1 && self.need(Some(of(fit * step)))?.missing() > 0 {
            fit -= 1;
        }
        Ok(Some(fit * step))
    }
}
