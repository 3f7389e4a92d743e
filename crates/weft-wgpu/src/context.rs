//! wgpu's device and queue, and the one way to them: what goes wrong there comes back as an error, never as a panic.

use std::sync::{Arc, Mutex, OnceLock};

use weft_device::{DeviceError, OpenError};
use wgpu::{ErrorFilter, PollType, SubmissionIndex};

use crate::adapter::Adapter;
use crate::error::{of_wgpu, one_line};

/// An adapter that is open.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    /// For people.
    pub(crate) name: String,
    trouble: Arc<Trouble>,
}

/// What came up outside of any call.
#[derive(Debug, Default)]
struct Trouble {
    lost: OnceLock<String>,
    error: Mutex<Option<wgpu::Error>>,
}

impl Context {
    /// Opens an adapter with all of its limits, and the features that are used.
    pub(crate) fn open(adapter: &Adapter, name: String) -> Result<Context, OpenError> {
        let described = wgpu::DeviceDescriptor {
            label: None,
            required_features: adapter.features(),
            required_limits: adapter.raw.limits(),
            // Large blocks would be taken for each size of buffer, and weights fill the memory.
            memory_hints: wgpu::MemoryHints::MemoryUsage,
            ..wgpu::DeviceDescriptor::default()
        };
        let opened = pollster::block_on(adapter.raw.request_device(&described));
        let (device, queue) = opened.map_err(|error| OpenError::Failed {
            device: adapter.name().into(),
            why: one_line(&error.to_string()),
        })?;
        let trouble = Arc::new(Trouble::default());
        let seen = Arc::clone(&trouble);
        device.set_device_lost_callback(move |_, why| {
            let _ = seen.lost.set(one_line(&why));
        });
        let seen = Arc::clone(&trouble);
        device.on_uncaptured_error(Arc::new(move |error| {
            seen.error.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(error);
        }));
        Ok(Context { device, queue, name, trouble })
    }

    /// Does something with the device, and returns what it says against it. `what` it is, and how many `bytes` it takes, is for the error.
    pub(crate) fn checked<T>(
        &self,
        what: &str,
        bytes: usize,
        f: impl FnOnce() -> T,
    ) -> Result<T, DeviceError> {
        // Scopes belong to the thread, so that several threads can be at it.
        let memory = self.device.push_error_scope(ErrorFilter::OutOfMemory);
        let internal = self.device.push_error_scope(ErrorFilter::Internal);
        let validation = self.device.push_error_scope(ErrorFilter::Validation);
        let done = f();
        let said = [
            pollster::block_on(validation.pop()),
            pollster::block_on(internal.pop()),
            pollster::block_on(memory.pop()),
        ];
        self.alive()?;
        // Out of memory is the cause, where it is one.
        match said.into_iter().flatten().last() {
            Some(error) => Err(of_wgpu(&error, &self.name, what, bytes)),
            None => Ok(done),
        }
    }

    /// Waits until a submission is done.
    pub(crate) fn wait(&self, submission: SubmissionIndex) -> Result<(), DeviceError> {
        let wait = PollType::Wait { submission_index: Some(submission), timeout: None };
        let waited = self.device.poll(wait);
        self.alive()?;
        waited.map(drop).map_err(|error| self.refused("to wait", &error.to_string()))
    }

    /// The driver's refusal of `what`.
    pub(crate) fn refused(&self, what: &str, why: &str) -> DeviceError {
        DeviceError::Refused { device: self.name.clone(), what: what.into(), why: one_line(why) }
    }

    /// Whether nothing has come up beside what was asked for.
    fn alive(&self) -> Result<(), DeviceError> {
        if let Some(why) = self.trouble.lost.get() {
            return Err(DeviceError::Lost { device: self.name.clone(), why: why.clone() });
        }
        match self.trouble.error.lock().unwrap_or_else(|e| e.into_inner()).take() {
            Some(error) => Err(of_wgpu(&error, &self.name, "something", 0)),
            None => Ok(()),
        }
    }
}
