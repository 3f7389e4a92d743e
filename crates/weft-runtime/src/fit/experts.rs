//! Experts on two devices: how many of each layer run on the device that was asked for, while the CPU computes the others.

use std::ops::ControlFlow;

use weft_device::{Device, Side, SplitDevice};
use weft_fuse::{CostModel, Options};
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
use crate::sizes::{Beside, OutsideExperts, Room, SecondPart};

/// The CPU, and what it computes beside another device.
pub(crate) struct BesideCpu {
    pub(super) cpu: Box<dyn Device>,
    pub(super) experts: Experts,
    pub(super) outside: OutsideExperts,
    pub(super) costs: CostModel,
}

/// Decides whether the CPU computes experts beside a device: if so many were asked for there, or the model does not fit and the device
/// has memory for all the rest. `None` if the device computes all, or whole layers are on the CPU.
///
/// As few layers as possible have experts outside, since each of them crosses over to the CPU and back. Memory that is left has experts of
/// these layers.
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
    let Some(experts) = found else {
        return match options.gpu_experts {
            None => Ok(None),
            Some(_) => Err(Error::Option(
                "experts on a GPU: expected a model with experts, found one without; `--gpu-layers` divides such a model".into(),
            )),
        };
    };
    let Experts { layers, count, step } = experts;
    let search = Search::new(model, mtp, device, options)?;
    let asked = options.gpu_experts.map(|near| if near >= count { count } else { near / step * step });
    let all = search.need(None)?;
    if asked == Some(count) || asked.is_none() && all.missing() == 0 {
        return Ok(None);
    }
    let cpu = DeviceChoice::default().open(options.threads, options.device_folder())?;
    let costs = cost_model(&cpu.caps().hardware, options.device_folder());
    let search = Search { costs, ..search };
    let outside = match asked {
        Some(near) => {
            let outside = OutsideExperts { layers, near };
            let need = search.need(Some(outside))?;
            if need.missing() > 0 {
                return Err(Error::Memory(Box::new(need)));
            }
            outside
        }
        None => {
            let Some(outside) = search.most(&all, experts)? else { return Ok(None) };
            let note = format!("{all}; {} run there, and the others on the CPU", said(experts, outside));
            if report(Report::Note(note)) == ControlFlow::Break(()) {
                return Err(Error::Interrupted);
            }
            outside
        }
    };
    Ok(Some(BesideCpu { cpu, experts, outside, costs }))
}

/// Says which experts run on the first device.
fn said(
    Experts { layers, count, .. }: Experts,
    OutsideExperts { layers: outside, near }: OutsideExperts,
) -> String {
    match layers - outside {
        0 => format!("{near} of {count} experts of each layer"),
        inside if near == 0 => format!("the experts of {inside} of {layers} layers"),
        inside => {
            format!("the experts of {inside} of {layers} layers and {near} of {count} of each other one")
        }
    }
}

/// Joins a device with the CPU that computes experts beside it.
pub(crate) fn joined(device: Box<dyn Device>, with: BesideCpu) -> Opened {
    let BesideCpu { cpu, experts, outside, costs } = with;
    let inside = said(experts, outside);
    let name = format!("{} with {inside}, {} with the others", device.caps().name, cpu.caps().name);
    let both = SplitDevice::new(device, cpu, name, &inside);
    let beside = Beside { part: SecondPart::Experts(outside), costs };
    Opened { device: Box::new(both), beside: Some(beside), planned: None }
}

/// Finds what a device has memory for.
struct Search<'a> {
    model: &'a Model,
    mtp: Option<&'a Mtp>,
    device: &'a dyn Device,
    compile: Options,
    room: Room,
    /// The costs of the CPU, once it is open.
    costs: CostModel,
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
        Ok(Search { model, mtp, device, compile, room, costs })
    }

    /// The memory that the device needs for its part.
    fn need(&self, outside: Option<OutsideExperts>) -> Result<MemoryNeed, Error> {
        let beside = outside.map(|outside| Beside { part: SecondPart::Experts(outside), costs: self.costs });
        let room = Room { beside, ..self.room };
        let planned = Planned::of_all_steps(self.model.graph(), self.mtp, &self.compile, &room)?;
        of_sides(&planned, &room.max, self.device, Side::First)
    }

    /// The experts outside if the device, which has no room for `all`, has as many as it has memory for. `None` if it has too little
    /// without any.
    fn most(&self, all: &MemoryNeed, experts: Experts) -> Result<Option<OutsideExperts>, Error> {
        let Experts { layers, count, step } = experts;
        let none = self.need(Some(OutsideExperts { layers, near: 0 }))?;
        if none.missing() > 0 {
            return Ok(None);
        }
        // Layers mostly have the same size, and one that is smaller shows below.
        let each = (all.total().saturating_sub(none.total()) / layers as u64).max(1);
        let mut outside = (all.missing().div_ceil(each) as usize).clamp(1, layers);
        let fits = |layers, near| -> Result<bool, Error> {
            Ok(self.need(Some(OutsideExperts { layers, near }))?.missing() == 0)
        };
        while outside < layers && !fits(outside, 0)? {
            outside += 1;
        }
        // What is left has experts of these layers.
        let need = self.need(Some(OutsideExperts { layers: outside, near: 0 }))?;
        let left = need.free.unwrap_or(0).saturating_sub(need.total());
        let of_step = (each * outside as u64 * step as u64 / count as u64).max(1);
        let mut steps = ((left / of_step) as usize).min((count - 1) / step);
        while steps > 0 && !fits(outside, steps * step)? {
            steps -= 1;
        }
        Ok(Some(OutsideExperts { layers: outside, near: steps * step }))
    }
}
