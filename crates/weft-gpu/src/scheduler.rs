//! Which schedule a kernel gets: the one that is being tried, or else one that was kept, or else the heuristic's own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use weft_device::{Departure, DeviceError, Order, Scheduled, Schedules};
use weft_kern::{Kernel, Sizes};

use crate::adapter::Adapter;
use crate::limits::Limits;
use crate::render::{Refused, fits, fitting, render_with};
use crate::schedule::{self, KeptSchedules, Key, Schedule, ScheduleFile};
use crate::shader::Shader;

/// Chooses the schedules of kernels, and renders them.
#[derive(Clone, Debug)]
pub struct Scheduler {
    limits: Limits,
    kept: KeptSchedules,
    file: Option<ScheduleFile>,
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
    /// For an adapter, with what was kept for it in a folder.
    pub fn open(adapter: &Adapter, folder: Option<&Path>) -> Scheduler {
        let file = folder.map(|folder| ScheduleFile::new(adapter, folder));
        let kept = file.as_ref().map(ScheduleFile::read).unwrap_or_default();
        Scheduler { limits: adapter.limits(), kept, file, trial: Trial::Nothing }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether something is tried that will hardly be used again.
    pub(crate) fn is_trying(&self) -> bool {
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
                schedule = schedule::depart(departure, kernel, max, &schedule, &self.limits);
            }
        }
        render_with(kernel, slots, &schedule, max, &self.limits)
    }

    /// The schedule of a kernel as long as nothing is tried.
    fn chosen(&self, kernel: &Kernel, max: &Sizes) -> Result<Schedule, Refused> {
        let own = schedule::choose(kernel, max, &self.limits, &self.kept);
        let fit = |schedule: &&Schedule| fits(kernel, schedule, max, &self.limits);
        match self.kept.schedule(kernel, max, &own, &self.limits).filter(fit) {
            Some(kept) => Ok(kept.clone()),
            None => fitting(kernel, own, max, &self.limits),
        }
    }
}

impl Schedules for Scheduler {
    fn schedule(&self, kernel: &Kernel, max: &Sizes) -> Option<String> {
        Some(self.chosen(kernel, max).ok()?.to_string())
    }

    fn near(&self, kernel: &Kernel, max: &Sizes, schedule: &str) -> Vec<String> {
        let Ok(from) = schedule.parse::<Schedule>() else { return Vec::new() };
        if from.parts.len() != kernel.parts.len() {
            return Vec::new();
        }
        schedule::near(kernel, max, &from, &self.limits).iter().map(ToString::to_string).collect()
    }

    fn orders(&self, kernel: &Kernel, schedule: &str) -> Vec<Order> {
        schedule.parse().map_or_else(|_| Vec::new(), |schedule| schedule::orders(kernel, &schedule))
    }

    fn try_out(&mut self, schedules: &[Scheduled]) {
        let tried: BTreeMap<Key, Schedule> = schedules.iter().filter_map(keyed).collect();
        self.trial = if tried.is_empty() { Trial::Nothing } else { Trial::Schedules(tried) };
    }

    fn keep(&mut self, schedules: &[Scheduled]) {
        for Scheduled { kernel, max, schedule } in schedules {
            if let Ok(schedule) = schedule.parse() {
                let own = schedule::choose(kernel, max, &self.limits, &self.kept);
                self.kept.insert(kernel, max, schedule, &own);
            }
        }
    }

    fn save(&mut self) -> Result<Option<PathBuf>, DeviceError> {
        let Some(file) = &self.file else { return Ok(None) };
        let path = file.path();
        file.write(&self.kept).map_err(|error| {
            DeviceError::Usage(format!("cannot write the schedules to {}: {error}", path.display()))
        })?;
        Ok(Some(path.to_path_buf()))
    }

    fn depart(&mut self, departures: &[&'static Departure]) {
        self.trial =
            if departures.is_empty() { Trial::Nothing } else { Trial::Departures(departures.to_vec()) };
    }
}

fn keyed(Scheduled { kernel, max, schedule }: &Scheduled) -> Option<(Key, Schedule)> {
    Some((Key::new(kernel, max), schedule.parse().ok()?))
}
