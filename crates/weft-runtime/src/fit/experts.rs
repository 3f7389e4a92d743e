//! Experts on two devices: which of them run on the device that was asked for, while the CPU computes the others.

use std::ops::ControlFlow;

use weft_device::{Device, SplitDevice};
use weft_fuse::CostModel;
use weft_pack::{OnReport, Report};

use crate::devices::choice::DeviceChoice;
use crate::devices::machines::cost_model;
use crate::error::Error;
use crate::fit::layers::Opened;
use crate::fit::need::MemoryNeed;
use crate::fit::search::Search;
use crate::plans::offload::{self, Experts};
use crate::plans::streamed;
use crate::sizes::{Beside, OffloadedExperts, SecondPart};

/// Slots for weights that are read in turn take at most one part of so many of a device's free memory.
const SMALL: u64 = 8;

/// The CPU, and the experts that it computes.
pub(crate) struct ExpertsOnCpu {
    pub(super) cpu: Box<dyn Device>,
    pub(super) experts: Experts,
    pub(super) offloaded: OffloadedExperts,
    pub(super) costs: CostModel,
    /// The most tokens of a step, if that is not the options'.
    pub(super) batch: Option<usize>,
}

/// Decides whether the CPU computes experts: if fewer were asked for on the device, or the model does not fit there and all the rest does.
/// `None` if the device computes all, or whole layers are on the CPU. `all` is what the whole model needs, if the device says how
/// much memory it has.
///
/// As few layers as possible have offloaded experts, since each of them crosses over to the CPU and back. Memory that is left has experts
/// of these layers. Where experts are streamed, they are chosen for `longer` steps, if there are any.
///
/// # Errors
/// If experts were asked for and the model has none, or the device has not enough memory for these.
pub(super) fn choose(
    search: &Search<'_>,
    longer: Option<&Search<'_>>,
    all: Option<&MemoryNeed>,
    report: OnReport<'_>,
) -> Result<Option<ExpertsOnCpu>, Error> {
    let options = search.options;
    if options.gpu_layers.is_some() || options.gpu_experts.is_none() && all.is_none() {
        return Ok(None);
    }
    let found = Experts::of(&search.model.graph().segments, search.device.caps().packing);
    let Some(experts) = found else {
        return match options.gpu_experts {
            None => Ok(None),
            Some(_) => Err(Error::Option(
                "experts on a GPU: expected a model with experts, found one without; `--gpu-layers` divides such a model".into(),
            )),
        };
    };
    let short = all.filter(|need| need.missing() > 0);
    let (fit, offloaded) = match (options.gpu_experts, short) {
        (None, None) => return Ok(None),
        (Some(asked), None) if asked >= experts.count => return Ok(None),
        (Some(asked), Some(all)) if asked >= experts.count => {
            return Err(Error::Memory(Box::new(all.clone())));
        }
        (Some(asked), _) => {
            let fit = Fit::open(search, longer, experts)?;
            let offloaded = fit.asked(asked)?;
            (fit, offloaded)
        }
        (None, Some(all)) => {
            let fit = Fit::open(search, longer, experts)?;
            let Some(offloaded) = fit.most(all)? else { return Ok(None) };
            let note =
                format!("{all}; {} run there, and the others on the CPU", residents(experts, offloaded));
            if report(Report::Note(note)) == ControlFlow::Break(()) {
                return Err(Error::Interrupted);
            }
            (fit, offloaded)
        }
    };
    let Fit { search, cpu, costs, .. } = fit;
    let batch = longer.filter(|_| offloaded.streamed).and(search.options.batch);
    Ok(Some(ExpertsOnCpu { cpu, experts, offloaded, costs, batch }))
}

/// Says which experts run on the first device.
fn residents(experts: Experts, offloaded: OffloadedExperts) -> String {
    let (Experts { layers, count, .. }, resident) = (experts, offloaded.resident);
    match layers - offloaded.layers {
        0 => format!("{resident} of {count} experts of each layer"),
        whole if resident == 0 => format!("the experts of {whole} of {layers} layers"),
        whole => {
            format!("the experts of {whole} of {layers} layers and {resident} of {count} of each other one")
        }
    }
}

/// Joins a device with the CPU that computes some experts.
pub(super) fn join(device: Box<dyn Device>, with: ExpertsOnCpu) -> Opened {
    let ExpertsOnCpu { cpu, experts, offloaded, costs, batch } = with;
    let residents = residents(experts, offloaded);
    let name = format!("{} with {residents}, {} with the others", device.caps().name, cpu.caps().name);
    let both = SplitDevice::new(device, cpu, name, &residents);
    let beside = Beside { part: SecondPart::Experts(offloaded), costs };
    Opened { device: Box::new(both), beside: Some(beside), planned: None, batch }
}

/// Finds the experts that a device has memory for.
struct Fit<'a> {
    search: &'a Search<'a>,
    experts: Experts,
    /// The CPU, which computes the others, and its costs.
    cpu: Box<dyn Device>,
    costs: CostModel,
}

impl<'a> Fit<'a> {
    /// Opens the CPU. Finds them for `longer` steps if they are streamed.
    fn open(
        search: &'a Search<'a>,
        longer: Option<&'a Search<'a>>,
        experts: Experts,
    ) -> Result<Fit<'a>, Error> {
        let options = search.options;
        let cpu = DeviceChoice::default().open(options.threads, options.device_folder())?;
        let costs = cost_model(&cpu.caps().hardware, options.device_folder());
        let fit = Fit { search, experts, cpu, costs };
        match longer.filter(|_| fit.of(experts.layers, 0).streamed) {
            Some(search) => Ok(Fit { search, ..fit }),
            None => Ok(fit),
        }
    }

    /// The memory that the device needs.
    fn need(&self, offloaded: OffloadedExperts) -> Result<MemoryNeed, Error> {
        let part = SecondPart::Experts(offloaded);
        self.search.need(&self.search.plan(Some(Beside { part, costs: self.costs }))?)
    }

    /// Whether the device computes these experts too in long steps: if it can replace their weights, and the slots for these are a small
    /// part of its memory.
    fn streamed(&self, offloaded: OffloadedExperts) -> bool {
        let caps = self.search.device.caps();
        let segments = offload::segments(&self.search.model.graph().segments, offloaded);
        let stacks = streamed::stacks(&segments);
        let slots = streamed::slot_bytes(&stacks, caps.packing);
        let small = self.search.device.free_memory().is_none_or(|free| slots <= free / SMALL);
        caps.streams && small && streamed::agree(&stacks)
    }

    /// These experts, streamed if the device can.
    fn of(&self, layers: usize, resident: usize) -> OffloadedExperts {
        let offloaded = OffloadedExperts { layers, resident, streamed: false };
        OffloadedExperts { streamed: self.streamed(offloaded), ..offloaded }
    }

    /// This number of experts of each layer, if the device has memory for them.
    fn asked(&self, asked: usize) -> Result<OffloadedExperts, Error> {
        let Experts { layers, step, .. } = self.experts;
        let resident = asked / step * step;
        let offloaded = self.of(layers, resident);
        let need = self.need(offloaded)?;
        match need.missing() {
            0 => Ok(offloaded),
            _ => Err(Error::Memory(Box::new(need))),
        }
    }

    /// As many experts as the device has memory for, which has too little for `all`. `None` if it has too little without any.
    fn most(&self, all: &MemoryNeed) -> Result<Option<OffloadedExperts>, Error> {
        let Experts { layers: most, count, step } = self.experts;
        let streamed = self.of(most, 0).streamed;
        let with = |layers, resident| OffloadedExperts { layers, resident, streamed };
        let none = self.need(with(most, 0))?;
        if none.missing() > 0 {
            return Ok(None);
        }
        // An estimate, since layers may differ in size: it is checked below.
        let each = (all.total().saturating_sub(none.total()) / most as u64).max(1);
        let mut layers = (all.missing().div_ceil(each) as usize).clamp(1, most);
        let mut need = self.need(with(layers, 0))?;
        while need.missing() > 0 && layers < most {
            layers += 1;
            need = self.need(with(layers, 0))?;
        }
        // The remaining memory has experts of these layers.
        let left = need.free.unwrap_or(0).saturating_sub(need.total());
        let of_step = (each * layers as u64 * step as u64 / count as u64).max(1);
        let mut steps = ((left / of_step) as usize).min((count - 1) / step);
        while steps > 0 && self.need(with(layers, steps * step))?.missing() > 0 {
            steps -= 1;
        }
        Ok(Some(with(layers, steps * step)))
    }
}
