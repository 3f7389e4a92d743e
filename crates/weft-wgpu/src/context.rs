//! wgpu's device and queue. All errors come back through here as values, never as panics.

use std::sync::{Arc, Mutex, OnceLock};

use weft_device::{DeviceError, DeviceKind, OpenError};
use weft_kern::Machine;
use wgpu::{ErrorFilter, PollType, SubmissionIndex};

use crate::adapter::Adapter;
use crate::error::{of_wgpu, one_line};
use crate::experimental;

/// An open adapter.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    /// The device's name, for errors.
    pub(crate) name: String,
    /// The speed of the machine, by which long steps are cut into submissions, if the device ends long ones.
    pub(crate) limited: Option<Machine>,
    /// Whether chains are launched with one workgroup: software can put off a thread for longer than others wait for it.
    pub(crate) one_group: bool,
    trouble: Arc<Trouble>,
}

/// Errors that belong to no call.
#[derive(Debug, Default)]
struct Trouble {
    lost: OnceLock<String>,
    error: Mutex<Option<wgpu::Error>>,
}

impl Context {
    /// Opens an adapter with all of its limits, and the features that are used.
    pub(crate) fn open(
        adapter: &Adapter,
        name: String,
        limited: Option<Machine>,
    ) -> Result<Context, OpenError> {
        let described = wgpu::DeviceDescriptor {
            label: None,
            required_features: adapter.features(),
            required_limits: adapter.raw.limits(),
            experimental_features: experimental::of(adapter.features()),
            // Larger blocks would be allocated for buffers of each size, and weights fill the
            // memory.
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
        let one_group = adapter.kind() == DeviceKind::Software;
        Ok(Context { device, queue, name, limited, one_group, trouble })
    }

    /// Calls `f` and returns the errors that the device reports. `what` describes the call and
    /// `bytes` its memory, for the error.
    pub(crate) fn checked<T>(
        &self,
        what: &str,
        bytes: usize,
        f: impl FnOnce() -> T,
    ) -> Result<T, DeviceError> {
        // Error scopes are per thread, so several threads can do this at once.
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
        // Of several errors, running out of memory is the cause.
        match said.into_iter().flatten().last() {
            Some(error) => Err(of_wgpu(&error, &self.name, what, bytes)),
            None => Ok(done),
        }
    }

    /// Reads a word of a buffer, after all that was submitted.
    pub(crate) fn word(&self, buffer: &wgpu::Buffer, word: usize) -> Result<u32, DeviceError> {
        let described = wgpu::BufferDescriptor {
            label: None,
            size: 4,
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        };
        let staging = self.checked("a word", 4, || self.device.create_buffer(&described))?;
        let submitted = self.checked("a word", 4, || {
            let mut encoder = self.device.create_command_encoder(&Default::default());
            encoder.copy_buffer_to_buffer(buffer, 4 * word as u64, &staging, 0, 4);
            let submitted = self.queue.submit([encoder.finish()]);
            staging.map_async(wgpu::MapMode::Read, .., |_| ());
            submitted
        })?;
        self.wait(submitted)?;
        let mapped = staging.get_mapped_range(..);
        let mapped = mapped.map_err(|error| self.refused("to read a word", &error.to_string()))?;
        Ok(u32::from_le_bytes(mapped.first_chunk().copied().unwrap_or_default()))
    }

    /// Blocks until a submission has completed.
    pub(crate) fn wait(&self, submission: SubmissionIndex) -> Result<(), DeviceError> {
        let wait = PollType::Wait { submission_index: Some(submission), timeout: None };
        let waited = self.device.poll(wait);
        self.alive()?;
        waited.map(drop).map_err(|error| self.refused("to wait", &error.to_string()))
    }

    /// The driver rejected `what`.
    pub(crate) fn refused(&self, what: &str, why: &str) -> DeviceError {
        DeviceError::Refused { device: self.name.clone(), what: what.into(), why: one_line(why) }
    }

    /// Fails if the device is lost, or reported an error that belongs to no call.
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
