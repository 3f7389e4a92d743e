//! Which device a model runs on: what somebody says, and what comes of it.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use weft_cpu::{CpuDevice, CpuOptions};
use weft_device::{Departure, Device};
use weft_kern::{Machine, Plan, Source};
use weft_pack::PackCache;
use weft_wgpu::{GpuDevice, GpuOptions, Scheduler};

use crate::error::Error;

/// A device, as people say it: `cpu`, `gpu` or `gpu:NAME`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum DeviceChoice {
    /// The processor.
    #[default]
    Cpu,
    /// The graphics adapter with this in its name, or the most promising one.
    Gpu(Option<String>),
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<DeviceChoice, String> {
        match text.split_once(':') {
            None if text == "cpu" => Ok(DeviceChoice::Cpu),
            None if text == "gpu" => Ok(DeviceChoice::Gpu(None)),
            Some(("gpu", name)) if !name.trim().is_empty() => {
                Ok(DeviceChoice::Gpu(Some(name.trim().to_string())))
            }
            _ => Err("a device is `cpu`, `gpu`, or `gpu:` and a part of the name of an adapter; \
                      `weft devices` lists them"
                .into()),
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceChoice::Cpu => f.write_str("cpu"),
            DeviceChoice::Gpu(None) => f.write_str("gpu"),
            DeviceChoice::Gpu(Some(name)) => write!(f, "gpu:{name}"),
        }
    }
}

impl DeviceChoice {
    /// Opens the device, with so many threads of the host. What a driver makes of kernels, and
    /// schedules that were found for them, are kept beside the packed weights.
    ///
    /// # Errors
    /// If there is no such device, or it cannot be opened.
    pub fn open(&self, threads: Option<usize>, cache: Option<&PackCache>) -> Result<Box<dyn Device>, Error> {
        Ok(match self {
            DeviceChoice::Cpu => Box::new(CpuDevice::new(CpuOptions { threads, ..CpuOptions::default() })?),
            DeviceChoice::Gpu(name) => {
                let options = GpuOptions { threads, folder: cache.map(|cache| cache.folder.clone()) };
                Box::new(GpuDevice::open(&weft_wgpu::adapter(name.as_deref())?, &options)?)
            }
        })
    }

    /// What is compiled for, without opening it, with the schedules that were kept for it in a folder.
    ///
    /// # Errors
    /// [`Error::Open`] if there is no such adapter.
    pub fn target(&self, threads: Option<usize>, folder: Option<&Path>) -> Result<Target, Error> {
        Ok(match self {
            DeviceChoice::Cpu => Target { machine: weft_cpu::machine(threads), scheduler: None },
            DeviceChoice::Gpu(name) => {
                let adapter = weft_wgpu::adapter(name.as_deref())?;
                let host = weft_cpu::machine(threads).workers as usize;
                let scheduler = Scheduler::open(&adapter, folder);
                Target { machine: weft_wgpu::machine(adapter.kind(), host), scheduler: Some(scheduler) }
            }
        })
    }

    /// The ways in which schedules can depart from the device's own choice; none, if it has no schedules.
    pub fn departures(&self) -> Vec<&'static Departure> {
        match self {
            DeviceChoice::Cpu => Vec::new(),
            DeviceChoice::Gpu(_) => weft_wgpu::departures().collect(),
        }
    }
}

/// A device that a model is compiled for, but not run on.
#[derive(Debug)]
pub struct Target {
    machine: Machine,
    scheduler: Option<Scheduler>,
}

impl Target {
    /// What decisions by cost are taken for.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// Whether what it runs is text.
    pub fn has_sources(&self) -> bool {
        self.scheduler.is_some()
    }

    /// The text that each call of a plan runs, or why it cannot be run; `None` from a device that runs no text.
    pub fn sources(&self, plan: &Plan) -> Option<Vec<Result<String, String>>> {
        let scheduler = self.scheduler.as_ref()?;
        let calls = plan.calls.iter().map(|call| {
            // Only the arena holds several buffers of a plan.
            let buffer = |at: &usize| (!matches!(plan.buffers[*at].source, Source::Arena(_))).then_some(*at);
            let (slots, _) = weft_render::slots(call.args.iter().map(buffer));
            let shaders = scheduler.render(&plan.kernels[call.kernel], &slots, &plan.max);
            let text = |shaders: Vec<weft_render::Shader>| {
                shaders.into_iter().map(|shader| shader.source).collect::<Vec<_>>().join("\n")
            };
            shaders.map(text).map_err(|refused| refused.to_string())
        });
        Some(calls.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_said_in_three_ways() {
        for (text, expected) in [
            ("cpu", DeviceChoice::Cpu),
            ("gpu", DeviceChoice::Gpu(None)),
            ("gpu:NVIDIA H200", DeviceChoice::Gpu(Some("NVIDIA H200".into()))),
        ] {
            let choice: DeviceChoice = text.parse().unwrap();
            assert_eq!((&choice, choice.to_string().as_str()), (&expected, text));
        }
        for wrong in ["", "GPU", "gpu:", "gpu: ", "cpu:1", "cuda", "cpu gpu"] {
            assert!(wrong.parse::<DeviceChoice>().is_err(), "{wrong}");
        }
    }
}
