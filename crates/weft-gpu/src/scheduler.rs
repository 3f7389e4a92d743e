//! The schedules of a GPU's kernels: those of the renderer, with a file for those that are kept.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use weft_device::{BufferId, Departure, DeviceError, Order, Program, Scheduled, SourceText, Tuning};
use weft_kern::{Kernel, Sizes};
use weft_render::{Refused, Shader, Slots, Target, as_given, given_slots};

use crate::launches::{Begins, Binds, slots};
use crate::schedule_file::ScheduleFile;
use crate::scratch::ScratchBytes;

/// Chooses the schedules of a GPU's kernels, and renders them.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// The schedules and the renderer.
    pub renderer: weft_render::Scheduler,
    file: Option<ScheduleFile>,
}

impl Scheduler {
    /// For a target, with the schedules kept in a folder for the GPU and driver that `key` identifies.
    pub fn open(key: &str, target: Target, folder: Option<&Path>) -> Scheduler {
        let file = folder.map(|folder| ScheduleFile::new(key, folder));
        let tuned = file.as_ref().map(ScheduleFile::read).unwrap_or_default();
        Scheduler { renderer: weft_render::Scheduler::new(target, tuned), file }
    }

    /// Renders a kernel as [`weft_render::render`] does, with its current schedule.
    ///
    /// # Errors
    /// Those of `render`.
    pub fn shaders(&self, kernel: &Kernel, slots: &Slots, max: &Sizes) -> Result<Vec<Shader>, Refused> {
        self.renderer.render(kernel, slots, max)
    }

    /// How its target binds the launches of a program, and when it begins them.
    pub fn binds(&self) -> Binds {
        let Target { language, gpu } = self.renderer.target();
        let begins = if gpu.features.dependent_launch { Begins::Early } else { Begins::After };
        Binds { language: *language, begins }
    }

    fn slots(&self, program: &Program, launch: usize, weights: &dyn Fn(BufferId) -> Option<u64>) -> Slots {
        let gpu = &self.renderer.target().gpu;
        slots(program, launch, |id| Some(gpu.pieces(weights(id)?)), self.binds()).0
    }
}

/// The ways in which schedules can differ from the heuristic's.
static DEPARTURES: LazyLock<Vec<Departure>> = LazyLock::new(|| {
    weft_render::departures().map(|each| Departure { name: each.name, about: each.about }).collect()
});

/// The ways in which schedules can differ from the heuristic's.
pub fn departures() -> impl Iterator<Item = &'static Departure> {
    DEPARTURES.iter()
}

impl Tuning for Scheduler {
    fn schedule(&self, kernel: &Kernel, max: &Sizes) -> Option<String> {
        self.renderer.schedule(kernel, max)
    }

    fn near(&self, kernel: &Kernel, max: &Sizes, schedule: &str) -> Vec<String> {
        self.renderer.near(kernel, max, schedule)
    }

    fn orders(&self, kernel: &Kernel, schedule: &str) -> Vec<Order> {
        let orders = self.renderer.orders(kernel, schedule).into_iter();
        orders.map(|order| Order { sums: order.sums, order: order.order }).collect()
    }

    fn try_out(&mut self, schedules: &[Scheduled]) {
        self.renderer.try_out(schedules.iter().map(texts));
    }

    fn keep(&mut self, schedules: &[Scheduled]) {
        self.renderer.keep(schedules.iter().map(texts));
    }

    fn save(&mut self) -> Result<Option<PathBuf>, DeviceError> {
        let Some(file) = &self.file else { return Ok(None) };
        let path = file.path();
        file.write(self.renderer.tuned()).map_err(|error| {
            DeviceError::Usage(format!("cannot write the schedules to {}: {error}", path.display()))
        })?;
        Ok(Some(path.to_path_buf()))
    }

    fn judged_by_steps(&self) -> bool {
        let features = &self.renderer.target().gpu.features;
        features.dependent_launch || features.chains
    }

    fn depart(&mut self, departures: &[&'static Departure]) {
        self.renderer.depart(departures.iter().map(|departure| departure.name));
    }
}

impl SourceText for Scheduler {
    fn render(
        &self,
        program: &Program,
        launch: usize,
        weights: &dyn Fn(BufferId) -> Option<u64>,
    ) -> Result<String, String> {
        let kernel = &program.kernels[program.launches[launch].kernel];
        let slots = self.slots(program, launch, weights);
        let shaders = self.shaders(kernel, &slots, &program.max).map_err(|refused| refused.to_string())?;
        let language = self.renderer.target().language;
        let text = |shader: Shader| match as_given(kernel, &slots, &program.max, language, &shader) {
            Some(given) => given.to_string(),
            None => shader.source,
        };
        Ok(shaders.into_iter().map(text).collect())
    }

    fn given(&self, kernel: &Kernel, max: &Sizes) -> Option<&'static str> {
        let language = self.renderer.target().language;
        given_slots(kernel, language, max).map(|_| language.name())
    }

    fn scratch_bytes(&self, program: &Program, weights: &dyn Fn(BufferId) -> Option<u64>) -> u64 {
        let launches = program.launches.iter().enumerate();
        let slots = launches.map(|(at, launch)| (launch.kernel, self.slots(program, at, weights)));
        let distinct: BTreeSet<(usize, Slots)> = slots.collect();
        let mut scratch = ScratchBytes::default();
        for (kernel, slots) in distinct {
            let shaders = self.shaders(&program.kernels[kernel], &slots, &program.max);
            shaders.iter().flatten().for_each(|shader| scratch.add(kernel, shader));
        }
        scratch.total()
    }
}

fn texts(Scheduled { kernel, max, schedule }: &Scheduled) -> (&Kernel, &Sizes, &str) {
    (kernel, max, schedule)
}
