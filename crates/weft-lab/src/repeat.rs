//! Times a kernel by launching it repeatedly.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weft_device::{Device, DeviceError, KernelLaunch, Program, ProgramId, Region};
use weft_kern::{Kernel, Sizes};

/// The most launches that are timed together.
const MOST: usize = 1024;

/// A program that launches one kernel repeatedly.
#[derive(Debug)]
pub(crate) struct Repeated {
    program: ProgramId,
    launches: usize,
}

impl Repeated {
    /// Compiles `launches` launches of a kernel; `args` returns the arguments of each by its number.
    ///
    /// # Errors
    /// If the device refuses it or has no room.
    pub(crate) fn of(
        device: &mut dyn Device,
        kernel: &Arc<Kernel>,
        launches: usize,
        args: impl Fn(usize) -> Vec<Region>,
    ) -> Result<Repeated, DeviceError> {
        let all = (0..launches).map(|i| KernelLaunch { kernel: 0, args: args(i) }).collect();
        let program = Program { max: Sizes::default(), kernels: vec![Arc::clone(kernel)], launches: all };
        Ok(Repeated { program: device.compile(&program)?, launches })
    }

    /// Compiles as many launches of a kernel as take about `time`, at most 1024.
    ///
    /// # Errors
    /// If the device refuses it, has no room or fails.
    pub(crate) fn enough(
        device: &mut dyn Device,
        kernel: &Arc<Kernel>,
        time: Duration,
        args: impl Fn(usize) -> Vec<Region>,
    ) -> Result<Repeated, DeviceError> {
        let once = Repeated::of(device, kernel, 1, &args)?;
        // The first run maps memory and fills caches.
        once.time(device)?;
        let enough = time.as_secs_f64() / once.time(device)?.as_secs_f64();
        Repeated::of(device, kernel, (enough.ceil() as usize).clamp(1, MOST), args)
    }

    /// Runs all launches and returns the time they take.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn time(&self, device: &mut dyn Device) -> Result<Duration, DeviceError> {
        device.wait()?;
        let began = Instant::now();
        device.replay(self.program, &Sizes::default())?;
        device.wait()?;
        Ok(began.elapsed())
    }

    /// Runs all launches and returns the seconds that one takes.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn seconds(&self, device: &mut dyn Device) -> Result<f64, DeviceError> {
        Ok(self.time(device)?.as_secs_f64() / self.launches as f64)
    }
}
