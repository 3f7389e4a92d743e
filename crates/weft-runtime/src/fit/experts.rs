//! Experts on two devices: which of them run on the device that was asked for, while the CPU computes the others.

use std::ops::ControlFlow;

use weft_device::{Device, Side, SplitDevice};
use weft_fuse::CostModel;
use weft_pack::{OnReport, Report};

use crate::devices::choice::DeviceChoice;
use crate::devices::machines::cost_model;
use crate::error::Error;
use crate::fit::layers::Opened;
use crate::fit::need::MemoryNeed;
use crate::fit::search::Search;
use crate::plans::offload::{self, Experts};
use crate::plans::slots::SlotLayout;
use crate::plans::streamed;
use crate::sizes::{Beside, OffloadedExperts, SecondPart};

/// Slots for weights that are read in turn take at most one part of so many of a device's free memory.
const SMALL: u64 = 8;

/// What a layer's crossing to the CPU and back costs, as bytes that the CPU reads meanwhile, and what it costs more for each expert that a
/// token chooses: 80 and 125 µs of 110 GB/s for four and eight, in `bench/runs/2026-11-30-crossings.md`.
const CROSSING: f64 = 4e6;
const EACH: f64 = 1.2e6;

/// Fewer layers cross if that is expected to cost at most this much more: where a text chooses all experts alike, it costs less.
const HEDGE: f64 = 1.08;

/// The share of choices that miss the resident experts, if these are so large a share of all. Where they are chosen by their use, published
/// rates of hits are 44 to 74 % for 19 % of the experts, 62 to 89 for 38 and 75 to 96 for 63; this expects 57, 85 and 98.
fn missed(resident: f64, by_use: bool) -> f64 {
    let others = 1.0 - resident;
    if by_use { others.powi(4) } else { others }
}

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
/// As few layers as possible have offloaded experts, since each of them crosses over to the CPU and back, and the memory that is left has
/// experts of these layers; unless those that are chosen most can be there, and more such layers take less time. Where experts are
/// streamed, they are chosen for `longer` steps, if there are any.
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
            let Some((offloaded, bytes)) = fit.most(all)? else { return Ok(None) };
            let speed = fit.expected(offloaded, bytes)?;
            let speed =
                speed.map_or(String::new(), |speed| format!(" (about {speed:.0} tokens/s are expected)"));
            let residents = residents(experts, offloaded);
            let note = format!("{all}; {residents} run there, and the others on the CPU{speed}");
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
        0 if offloaded.in_slots => format!("the most chosen {resident} of {count} experts of each layer"),
        0 => format!("{resident} of {count} experts of each layer"),
        whole if resident == 0 => format!("the experts of {whole} of {layers} layers"),
        whole => {
            let most = if offloaded.in_slots { "the most chosen " } else { "" };
            format!(
                "the experts of {whole} of {layers} layers and {most}{resident} of {count} of each other one"
            )
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

    /// These experts, streamed and in slots if the device can.
    fn of(&self, layers: usize, resident: usize) -> OffloadedExperts {
        let offloaded = OffloadedExperts { layers, resident, streamed: false, in_slots: false };
        let streamed = self.streamed(offloaded);
        // A slot has whole tiles, and all layers are alike.
        let in_slots = streamed && resident > 0 && self.experts.step == 1;
        let offloaded = OffloadedExperts { streamed, in_slots, ..offloaded };
        let segments = offload::segments(&self.search.model.graph().segments, offloaded);
        OffloadedExperts { in_slots: in_slots && SlotLayout::of(&segments).is_some(), ..offloaded }
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

    /// The tokens per second that are expected in replies, if both devices have been measured. While the CPU computes, it could read
    /// `bytes` of a token.
    fn expected(&self, offloaded: OffloadedExperts, bytes: f64) -> Result<Option<f64>, Error> {
        if !self.search.costs().is_measured() || !self.costs.is_measured() {
            return Ok(None);
        }
        let part = SecondPart::Experts(offloaded);
        let planned = self.search.plan(Some(Beside { part, costs: self.costs }))?;
        // The first class is for one token. A layer that predicts one more is not part of it.
        let of_token = planned.fusions.first().into_iter().flatten().take(planned.sections.of_model());
        let of_token = of_token.zip(&planned.sides);
        let near: u64 = of_token.filter(|(_, side)| **side == Side::First).map(|(one, _)| one.cost.ns).sum();
        let far = bytes / self.costs.machine.bytes as f64;
        Ok(Some(1.0 / (near as f64 / 1e9 + far)))
    }

    /// As many experts as the device has memory for, which has too little for `all`, and what a token costs the CPU then, as bytes that it
    /// could read. `None` if the device has too little without any.
    fn most(&self, all: &MemoryNeed) -> Result<Option<(OffloadedExperts, f64)>, Error> {
        let Experts { layers: most, count, step } = self.experts;
        let OffloadedExperts { streamed, in_slots, .. } = self.of(most, 1);
        let with = |layers, resident| {
            let in_slots = in_slots && resident > 0;
            OffloadedExperts { layers, resident, streamed, in_slots }
        };
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
        let fewest = layers;
        // The remaining memory has experts of these layers. If those are chosen by their use, more layers may share it.
        let free = need.free.unwrap_or(0).saturating_sub(need.total());
        let left = |more: usize| free + each * more as u64;
        let steps_of = |layers: usize, left: u64| {
            let of_step = (each * layers as u64 * step as u64 / count as u64).max(1);
            ((left / of_step) as usize).min((count - 1) / step)
        };
        let chosen = self.chosen(with(most, 0));
        let (read, crossing) = (each as f64 * chosen, CROSSING + EACH * chosen * count as f64);
        let cost_of = |layers: usize, resident: usize| {
            layers as f64 * (crossing + missed(resident as f64 / count as f64, in_slots) * read)
        };
        let cost = |layers: usize| cost_of(layers, steps_of(layers, left(layers - fewest)) * step);
        let least = (fewest..=most).map(cost).fold(f64::INFINITY, f64::min);
        let layers = (fewest..=most).find(|layers| cost(*layers) <= HEDGE * least).unwrap_or(fewest);
        let mut steps = steps_of(layers, left(layers - fewest));
        while steps > 0 && self.need(with(layers, steps * step))?.missing() > 0 {
            steps -= 1;
        }
        Ok(Some((with(layers, steps * step), cost_of(layers, steps * step))))
    }

    /// The share of a layer's experts that a token chooses.
    fn chosen(&self, offloaded: OffloadedExperts) -> f64 {
        let segments = offload::segments(&self.search.model.graph().segments, offloaded);
        streamed::stacks(&segments).first().map_or(1.0, |(_, stack)| stack.chosen())
    }
}
