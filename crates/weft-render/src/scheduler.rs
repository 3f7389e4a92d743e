//! Chooses a kernel's schedule: the one being tried, or the tuned one, or the heuristic's.

use std::collections::BTreeMap;

use weft_kern::{Kernel, Sizes};

use crate::chain::{Chain, Chained, render_chain};
use crate::given;
use crate::gpu::{Gpu, Target};
use crate::refused::Refused;
use crate::render::{fits, fitting, render_with};
use crate::schedule::Schedule;
use crate::schedule::heuristic::choose;
use crate::schedule::order::{SumOrder, orders};
use crate::schedule::tuned::{Key, TunedSchedules};
use crate::search::departures::{self, depart, departures};
use crate::search::neighbours::neighbours;
use crate::shader::{Shader, Slots};
use crate::switches::Departure;

/// Chooses the schedules of a device's kernels, and renders them.
///
/// Schedules are exchanged as text, the form in which the lab stores them; texts that are not schedules are ignored.
#[derive(Clone, Debug)]
pub struct Scheduler {
    target: Target,
    tuned: TunedSchedules,
    trial: Trial,
}

/// The schedules being tried.
#[derive(Clone, Debug)]
enum Trial {
    Nothing,
    Schedules(BTreeMap<Key, Schedule>),
    Departures(Vec<&'static Departure>),
}

impl Scheduler {
    /// Creates a scheduler for a target with its tuned schedules.
    pub fn new(target: Target, tuned: TunedSchedules) -> Scheduler {
        Scheduler { target, tuned, trial: Trial::Nothing }
    }

    /// The target that kernels are rendered for.
    pub fn target(&self) -> &Target {
        &self.target
    }

    fn gpu(&self) -> &Gpu {
        &self.target.gpu
    }

    /// The tuned schedules.
    pub fn tuned(&self) -> &TunedSchedules {
        &self.tuned
    }

    /// Whether schedules are being tried, so that rendered kernels will rarely be used again.
    pub fn is_trying(&self) -> bool {
        !matches!(self.trial, Trial::Nothing)
    }

    /// Renders a kernel like [`render`](crate::render()) with its chosen schedule. A kernel with texts of its own has no schedule.
    ///
    /// # Errors
    /// As for `render`.
    pub fn render(&self, kernel: &Kernel, slots: &Slots, max: &Sizes) -> Result<Vec<Shader>, Refused> {
        if let Some(given) = given::shaders(kernel, slots, max, &self.target)? {
            return Ok(given);
        }
        let (schedule, target) = self.scheduled(kernel, max)?;
        render_with(kernel, slots, &schedule, max, &target)
    }

    /// Renders the kernels of a [`Joined`](crate::Joined) as a chain, with their slots in it and their chosen schedules.
    ///
    /// # Errors
    /// As for `render`.
    pub fn chain(&self, kernels: &[Chained<'_>], max: &Sizes) -> Result<Chain, Refused> {
        let mut target = self.target.clone();
        let mut scheduled = Vec::with_capacity(kernels.len());
        for chained in kernels {
            let schedule;
            (schedule, target) = self.scheduled(chained.kernel, max)?;
            scheduled.push((*chained, schedule));
        }
        render_chain(&scheduled, max, &target)
    }

    /// The schedule of a kernel in programs for steps up to `max`, and its target, both under the current trial.
    fn scheduled(&self, kernel: &Kernel, max: &Sizes) -> Result<(Schedule, Target), Refused> {
        let tried = match &self.trial {
            Trial::Schedules(tried) => tried.get(&Key::new(kernel, max)).cloned(),
            Trial::Nothing | Trial::Departures(_) => None,
        };
        let (gpu, rendered) = self.gpu_as_tried();
        let mut schedule = match tried {
            Some(tried) => tried,
            None => self.chosen(kernel, max, &gpu)?,
        };
        if let Trial::Departures(departures) = &self.trial {
            for departure in departures {
                schedule = depart(departure, kernel, max, &schedule, &gpu);
            }
        }
        Ok((schedule, Target { gpu: rendered, ..self.target.clone() }))
    }

    /// The GPU that texts are rendered for under the current trial.
    pub fn gpu_now(&self) -> Gpu {
        self.gpu_as_tried().1
    }

    /// The GPU that schedules are chosen for under the current trial, and the one that texts are rendered for.
    fn gpu_as_tried(&self) -> (Gpu, Gpu) {
        let (mut chosen, mut rendered) = (self.gpu().clone(), self.gpu().clone());
        if let Trial::Departures(departures) = &self.trial {
            for departure in departures {
                departures::switch(departure, &mut chosen, &mut rendered);
            }
        }
        (chosen, rendered)
    }

    /// A kernel's schedule without a trial, on this GPU.
    fn chosen(&self, kernel: &Kernel, max: &Sizes, gpu: &Gpu) -> Result<Schedule, Refused> {
        let own = choose(kernel, max, gpu, &self.tuned);
        let fit = |schedule: &Schedule| fits(kernel, schedule, max, gpu);
        match self.tuned.schedule(kernel, max, &own, gpu).filter(fit) {
            Some(kept) => Ok(kept),
            None => fitting(kernel, own, max, gpu),
        }
    }

    /// A kernel's schedule in programs for steps up to `max`, without a trial; `None` if the kernel cannot be rendered, or has texts of its
    /// own.
    pub fn schedule(&self, kernel: &Kernel, max: &Sizes) -> Option<String> {
        if given::given_slots(kernel, self.target.language, max).is_some() {
            return None;
        }
        Some(self.chosen(kernel, max, self.gpu()).ok()?.to_string())
    }

    /// The schedules that differ from this one by one step of one number. All can be rendered.
    pub fn near(&self, kernel: &Kernel, max: &Sizes, schedule: &str) -> Vec<String> {
        let Ok(from) = schedule.parse::<Schedule>() else { return Vec::new() };
        if from.parts.len() != kernel.parts.len() {
            return Vec::new();
        }
        neighbours(kernel, max, &from, self.gpu()).iter().map(ToString::to_string).collect()
    }

    /// The orders of a kernel's sums under this schedule.
    pub fn orders(&self, kernel: &Kernel, schedule: &str) -> Vec<SumOrder> {
        schedule.parse().map_or_else(|_| Vec::new(), |schedule| orders(kernel, &schedule))
    }

    /// Starts a trial: from now on, renders these kernels with these schedules instead of tuned
    /// ones. An empty list ends the trial.
    pub fn try_out<'a>(&mut self, schedules: impl IntoIterator<Item = (&'a Kernel, &'a Sizes, &'a str)>) {
        let keyed = |(kernel, max, schedule): (&Kernel, &Sizes, &str)| {
            Some((Key::new(kernel, max), schedule.parse().ok()?))
        };
        let tried: BTreeMap<Key, Schedule> = schedules.into_iter().filter_map(keyed).collect();
        self.trial = if tried.is_empty() { Trial::Nothing } else { Trial::Schedules(tried) };
    }

    /// Stores these schedules. The orders of their sums hold for all kernels with such sums.
    pub fn keep<'a>(&mut self, schedules: impl IntoIterator<Item = (&'a Kernel, &'a Sizes, &'a str)>) {
        for (kernel, max, schedule) in schedules {
            if let Ok(schedule) = schedule.parse() {
                let own = choose(kernel, max, &self.target.gpu, &self.tuned);
                self.tuned.insert(kernel, max, schedule, &own, &self.target.gpu);
            }
        }
    }

    /// Starts a trial of the named departures from the chosen schedules, wherever they are legal.
    /// An empty list ends the trial.
    pub fn depart<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        let named = |name: &str| departures().find(|departure| departure.name == name);
        let departures: Vec<&'static Departure> = names.into_iter().filter_map(named).collect();
        self.trial = if departures.is_empty() { Trial::Nothing } else { Trial::Departures(departures) };
    }
}

#[cfg(test)]
mod tests {
    use weft_kern::parse_plan;

    use super::*;
    use crate::gpu::Language;
    use weft_shader::module::Content;

    /// A product of many rows with one matrix.
    const PLAN: &str = "plan p T=128 R=1 S=0 P=0 arena=0 {
b0 = input x : q8[T, 2048]
b1 = weight w : q4_0[4096, 2048]
b2 = output y : f32[T, 4096]
kernel dot {
  p0 read q8
  p1 read q4_0
  p2 write f32
  rows [T] cols 4096
  dot x=p0[0; 2048; 1] w=p1 count=1 n=4096 k=2048 first=0 stride=4096 pick=only transposed=false
  v0 = acc 0
  v1 = store v0 p2[0; 4096; 1]
}
call dot b0 b1 b2
}
";

    #[test]
    fn departures_of_a_card_change_its_texts() {
        let plan = parse_plan(PLAN).unwrap();
        let contents = [Content::Open, Content::Weight, Content::Open];
        let (kernel, slots) = (&plan.kernels[0], Slots::new(contents.into_iter().enumerate()).0);
        let target = Target { language: Language::Cuda, gpu: Gpu::of_cuda((9, 0), 132) };
        let mut scheduler = Scheduler::new(target.clone(), TunedSchedules::default());
        // The text of one row, which loads ahead, or of many rows, which multiplies matrices.
        let mut text = |names: &[&str], tokens| {
            scheduler.depart(names.iter().copied());
            let shaders = scheduler.render(kernel, &slots, &Sizes { tokens, ..plan.max }).unwrap();
            (shaders[0].source.clone(), scheduler.gpu_as_tried().1)
        };
        for (departure, tokens, marks) in [
            ("launch.early=off", 1, &["wait_for_previous", "launch_next"][..]),
            ("loads.quads=off", 1, &["uint4"]),
            ("products.matrix=off", 128, &["multiply_matrices"]),
        ] {
            let ((usual, gpu), (departed, others)) = (text(&[], tokens), text(&[departure], tokens));
            assert!(gpu == target.gpu && gpu != others, "{departure}");
            for mark in marks {
                assert!(usual.contains(mark) && !departed.contains(mark), "{departure}: {mark}");
            }
        }
        let early = |text: &str| {
            let kernel = text.split_once("__global__").unwrap().1;
            kernel.split_once("wait_for_previous();").unwrap().0.contains("load_early")
        };
        let [usual, departed] = [&[][..], &["loads.early=off"]].map(|names| text(names, 1).0);
        assert!(early(&usual) && !early(&departed));
        let (waves, gpu) = text(&["schedule.waves=off"], 1);
        assert!(usual != waves && gpu.processors == 0);
        let (both, gpu) = text(&["launch.early=off", "products.matrix=off"], 128);
        assert!(!both.contains("launch_next") && !both.contains("multiply_matrices"));
        assert!(!gpu.features.dependent_launch && !gpu.features.matrix);
    }

    #[test]
    fn weights_of_all_formats_are_multiplied_from_panels() {
        let all = Gpu { shared_bytes: 48 << 10, dot4: true, word_stores: true, ..Gpu::webgpu() };
        let target = Target { language: Language::Wgsl, gpu: all.with_tiles() };
        let scheduler = Scheduler::new(target, TunedSchedules::default());
        for ty in ["q4_0", "q5_k", "q6_k", "q3_k", "q2_k", "iq2_xs", "nvfp4"] {
            let plan = parse_plan(&PLAN.replace("q4_0", ty)).unwrap();
            let contents = [Content::Open, Content::Weight, Content::Open];
            let (kernel, slots) = (&plan.kernels[0], Slots::new(contents.into_iter().enumerate()).0);
            let max = Sizes { tokens: 512, ..plan.max };
            let shaders = scheduler.render(kernel, &slots, &max).unwrap();
            assert!(shaders[0].source.contains("dot.panels"), "{ty}");
        }
    }

    #[test]
    fn departures_of_panels_change_their_texts() {
        let plan = parse_plan(PLAN).unwrap();
        let contents = [Content::Open, Content::Weight, Content::Open];
        let (kernel, slots) = (&plan.kernels[0], Slots::new(contents.into_iter().enumerate()).0);
        let all = Gpu { shared_bytes: 48 << 10, dot4: true, word_stores: true, ..Gpu::webgpu() };
        let target = Target { language: Language::Wgsl, gpu: all.with_tiles() };
        let mut scheduler = Scheduler::new(target, TunedSchedules::default());
        let mut text = |names: &[&str]| {
            scheduler.depart(names.iter().copied());
            let max = Sizes { tokens: 512, ..plan.max };
            scheduler.render(kernel, &slots, &max).unwrap()[0].source.clone()
        };
        let usual = text(&[]);
        assert!(usual.contains("dot.panels") && usual.contains("let next = min("));
        let without = text(&["products.panels=off"]);
        assert!(!without.contains("dot.panels") && without.contains("rows 8 width"));
        let late = text(&["panels.ahead=off"]);
        assert!(late.contains("dot.panels") && !late.contains("let next = min("));
    }
}
