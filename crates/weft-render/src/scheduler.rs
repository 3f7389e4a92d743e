//! Which schedule a kernel gets: the one that is being tried, or else one that was kept, or else the heuristic's own.

use std::collections::BTreeMap;

use weft_kern::{Kernel, Sizes};

use crate::limits::{Limits, Target};
use crate::refused::Refused;
use crate::render::{fits, fitting, render_with};
use crate::schedule::Schedule;
use crate::schedule::heuristic::choose;
use crate::schedule::order::{SumOrder, orders};
use crate::schedule::tuned::{Key, TunedSchedules};
use crate::search::departures::{Departure, depart, departures};
use crate::search::neighbours::neighbours;
use crate::shader::Shader;

/// Chooses the schedules of a device's kernels, and renders them.
///
/// Schedules go in and out as text, the form in which tuners pass them around; a text that is no schedule is passed over.
#[derive(Clone, Debug)]
pub struct Scheduler {
    target: Target,
    tuned: TunedSchedules,
    trial: Trial,
}

/// What is tried.
#[derive(Clone, Debug)]
enum Trial {
    Nothing,
    Schedules(BTreeMap<Key, Schedule>),
    Departures(Vec<&'static Departure>),
}

impl Scheduler {
    /// For a GPU and its language, with the schedules that were kept for it.
    pub fn new(target: Target, tuned: TunedSchedules) -> Scheduler {
        Scheduler { target, tuned, trial: Trial::Nothing }
    }

    /// What kernels are rendered for.
    pub fn target(&self) -> &Target {
        &self.target
    }

    fn limits(&self) -> &Limits {
        &self.target.limits
    }

    /// The schedules that are kept.
    pub fn tuned(&self) -> &TunedSchedules {
        &self.tuned
    }

    /// Whether something is tried that will hardly be used again.
    pub fn is_trying(&self) -> bool {
        !matches!(self.trial, Trial::Nothing)
    }

    /// Renders a kernel as [`render`](crate::render()) does, with the schedule that it is to have.
    ///
    /// # Errors
    /// Those of `render`.
    pub fn render(&self, kernel: &Kernel, slots: &[usize], max: &Sizes) -> Result<Vec<Shader>, Refused> {
        let tried = match &self.trial {
            Trial::Schedules(tried) => tried.get(&Key::new(kernel, max)).cloned(),
            Trial::Nothing | Trial::Departures(_) => None,
        };
        let mut schedule = match tried {
            Some(tried) => tried,
            None => self.chosen(kernel, max)?,
        };
        if let Trial::Departures(departures) = &self.trial {
            for departure in departures {
                schedule = depart(departure, kernel, max, &schedule, self.limits());
            }
        }
        render_with(kernel, slots, &schedule, max, &self.target)
    }

    /// The schedule of a kernel as long as nothing is tried.
    fn chosen(&self, kernel: &Kernel, max: &Sizes) -> Result<Schedule, Refused> {
        let own = choose(kernel, max, self.limits(), &self.tuned);
        let fit = |schedule: &&Schedule| fits(kernel, schedule, max, self.limits());
        match self.tuned.schedule(kernel, max, &own, self.limits()).filter(fit) {
            Some(kept) => Ok(kept.clone()),
            None => fitting(kernel, own, max, self.limits()),
        }
    }

    /// The schedule of a kernel in programs for steps up to `max`, as long as nothing is tried; `None` if the kernel cannot be rendered.
    pub fn schedule(&self, kernel: &Kernel, max: &Sizes) -> Option<String> {
        Some(self.chosen(kernel, max).ok()?.to_string())
    }

    /// Schedules that differ from this one in one step of one choice. All of them can be rendered.
    pub fn near(&self, kernel: &Kernel, max: &Sizes, schedule: &str) -> Vec<String> {
        let Ok(from) = schedule.parse::<Schedule>() else { return Vec::new() };
        if from.parts.len() != kernel.parts.len() {
            return Vec::new();
        }
        neighbours(kernel, max, &from, self.limits()).iter().map(ToString::to_string).collect()
    }

    /// In what order a kernel with this schedule makes its sums.
    pub fn orders(&self, kernel: &Kernel, schedule: &str) -> Vec<SumOrder> {
        schedule.parse().map_or_else(|_| Vec::new(), |schedule| orders(kernel, &schedule))
    }

    /// Renders these kernels with these schedules from now on, whatever was kept; with none, ends that.
    pub fn try_out<'a>(&mut self, schedules: impl IntoIterator<Item = (&'a Kernel, &'a Sizes, &'a str)>) {
        let keyed = |(kernel, max, schedule): (&Kernel, &Sizes, &str)| {
            Some((Key::new(kernel, max), schedule.parse().ok()?))
        };
        let tried: BTreeMap<Key, Schedule> = schedules.into_iter().filter_map(keyed).collect();
        self.trial = if tried.is_empty() { Trial::Nothing } else { Trial::Schedules(tried) };
    }

    /// Keeps the schedules of these kernels. What they say of the order of sums holds for all kernels that make such sums.
    pub fn keep<'a>(&mut self, schedules: impl IntoIterator<Item = (&'a Kernel, &'a Sizes, &'a str)>) {
        for (kernel, max, schedule) in schedules {
            if let Ok(schedule) = schedule.parse() {
                let own = choose(kernel, max, self.limits(), &self.tuned);
                self.tuned.insert(kernel, max, schedule, &own);
            }
        }
    }

    /// Departs from the heuristic in the ways of these names from now on, wherever that is legal; with none, ends that.
    pub fn depart<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        let named = |name: &str| departures().find(|departure| departure.name == name);
        let departures: Vec<&'static Departure> = names.into_iter().filter_map(named).collect();
        self.trial = if departures.is_empty() { Trial::Nothing } else { Trial::Departures(departures) };
    }
}
