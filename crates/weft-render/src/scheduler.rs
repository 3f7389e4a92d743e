//! Chooses a kernel's schedule: the one being tried, else the tuned one, else the heuristic's.

use std::collections::BTreeMap;

use weft_kern::{Kernel, Sizes};

use crate::limits::{Limits, Target};
use crate::refused::Refused;
use crate::render::{fits, fitting, render_with};
use crate::schedule::Schedule;
use crate::schedule::order::{SumOrder, orders};
use crate::schedule::tuned::{Key, TunedSchedules};
use crate::schedule::waves::choose;
use crate::search::departures::{self, Departure, depart, departures};
use crate::search::neighbours::neighbours;
use crate::shader::{Shader, Slots};

/// Chooses the schedules of a device's kernels, and renders them.
///
/// Schedules go in and out as text, the form in which the lab passes them around; texts that are
/// not schedules are ignored.
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
    /// Creates a scheduler for a target, with the schedules that were tuned for it.
    pub fn new(target: Target, tuned: TunedSchedules) -> Scheduler {
        Scheduler { target, tuned, trial: Trial::Nothing }
    }

    /// The target that kernels are rendered for.
    pub fn target(&self) -> &Target {
        &self.target
    }

    fn limits(&self) -> &Limits {
        &self.target.limits
    }

    /// The tuned schedules.
    pub fn tuned(&self) -> &TunedSchedules {
        &self.tuned
    }

    /// Whether schedules are being tried, so that rendered kernels will hardly be used again.
    pub fn is_trying(&self) -> bool {
        !matches!(self.trial, Trial::Nothing)
    }

    /// Renders a kernel like [`render`](crate::render()), with its chosen schedule.
    ///
    /// # Errors
    /// As for `render`.
    pub fn render(&self, kernel: &Kernel, slots: &Slots, max: &Sizes) -> Result<Vec<Shader>, Refused> {
        let tried = match &self.trial {
            Trial::Schedules(tried) => tried.get(&Key::new(kernel, max)).cloned(),
            Trial::Nothing | Trial::Departures(_) => None,
        };
        let mut schedule = match tried {
            Some(tried) => tried,
            None => self.chosen(kernel, max)?,
        };
        let mut target = self.target.clone();
        if let Trial::Departures(departures) = &self.trial {
            for departure in departures {
                schedule = depart(departure, kernel, max, &schedule, self.limits());
                target.limits = departures::limits(departure, &target.limits);
            }
        }
        render_with(kernel, slots, &schedule, max, &target)
    }

    /// A kernel's schedule without a trial.
    fn chosen(&self, kernel: &Kernel, max: &Sizes) -> Result<Schedule, Refused> {
        let own = choose(kernel, max, self.limits(), &self.tuned);
        let fit = |schedule: &&Schedule| fits(kernel, schedule, max, self.limits());
        match self.tuned.schedule(kernel, max, &own, self.limits()).filter(fit) {
            Some(kept) => Ok(kept.clone()),
            None => fitting(kernel, own, max, self.limits()),
        }
    }

    /// A kernel's schedule in programs for steps up to `max`, without a trial; `None` if the kernel
    /// cannot be rendered.
    pub fn schedule(&self, kernel: &Kernel, max: &Sizes) -> Option<String> {
        Some(self.chosen(kernel, max).ok()?.to_string())
    }

    /// The schedules that differ from this one in one choice by one step. All can be rendered.
    pub fn near(&self, kernel: &Kernel, max: &Sizes, schedule: &str) -> Vec<String> {
        let Ok(from) = schedule.parse::<Schedule>() else { return Vec::new() };
        if from.parts.len() != kernel.parts.len() {
            return Vec::new();
        }
        neighbours(kernel, max, &from, self.limits()).iter().map(ToString::to_string).collect()
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

    /// Keeps these schedules. The orders of their sums hold for all kernels with such sums.
    pub fn keep<'a>(&mut self, schedules: impl IntoIterator<Item = (&'a Kernel, &'a Sizes, &'a str)>) {
        for (kernel, max, schedule) in schedules {
            if let Ok(schedule) = schedule.parse() {
                let own = choose(kernel, max, &self.target.limits, &self.tuned);
                self.tuned.insert(kernel, max, schedule, &own, &self.target.limits);
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
