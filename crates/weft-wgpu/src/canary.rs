//! Whether submissions ran to their end.
//!
//! Metal ends a command buffer that takes too long, faults or runs out of memory, and wgpu treats it as completed: its
//! results are stale, and no error is reported. So the GPU keeps a count. The last dispatch of each submission adds one to
//! it; every read copies it, too, and compares it with the number of submissions.

use std::cell::Cell;

use weft_device::DeviceError;
use weft_render::{CHAIN_WORDS, TIMED_OUT};
use wgpu::{BindGroup, Buffer, BufferUsages, ComputePass, ComputePipeline};

use crate::context::Context;

/// Bytes of the count, and of [`TIMED_OUT`].
pub(crate) const BYTES: u64 = 4 * (TIMED_OUT as u64 + 1);

/// Bytes of these and all other words of chains.
const ALL_BYTES: u64 = 4 * CHAIN_WORDS as u64;

/// Adds one to the count.
const TEXT: &str = "
@group(0) @binding(0) var<storage, read_write> completed: u32;
@compute @workgroup_size(1)
fn main() { completed += 1u; }
";

/// The count of submissions that ran to their end.
#[derive(Debug)]
pub(crate) struct Canary {
    pipeline: ComputePipeline,
    bindings: BindGroup,
    count: Buffer,
    submitted: Cell<u32>,
}

impl Canary {
    /// A count of zero.
    ///
    /// # Errors
    /// Those of the driver.
    pub(crate) fn new(context: &Context) -> Result<Canary, DeviceError> {
        let device = &context.device;
        context.checked("the count of submissions", BYTES as usize, || {
            let source = wgpu::ShaderSource::Wgsl(TEXT.into());
            let module =
                device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some("canary"), source });
            let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some("canary"),
                layout: None,
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            });
            let count = device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: ALL_BYTES,
                usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            let bindings = device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &pipeline.get_bind_group_layout(0),
                entries: &[wgpu::BindGroupEntry { binding: 0, resource: count.as_entire_binding() }],
            });
            Canary { pipeline, bindings, count, submitted: Cell::new(0) }
        })
    }

    /// Counts a submission, as the last dispatch of its last pass.
    pub(crate) fn count(&self, pass: &mut ComputePass<'_>) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.bindings, &[]);
        pass.dispatch_workgroups(1, 1, 1);
    }

    /// A submission that [counts](Canary::count) was accepted.
    pub(crate) fn submitted(&self) {
        // The GPU's count also wraps.
        self.submitted.set(self.submitted.get().wrapping_add(1));
    }

    /// The count, and the words of chains after it.
    pub(crate) fn buffer(&self) -> &Buffer {
        &self.count
    }

    /// Sets words to 0.
    pub(crate) fn reset(&self, context: &Context, words: &[usize]) -> Result<(), DeviceError> {
        context.checked("counts", 0, || {
            words.iter().for_each(|word| context.queue.write_buffer(&self.count, 4 * *word as u64, &[0; 4]));
        })
    }

    /// Reads a word.
    pub(crate) fn word(&self, context: &Context, word: usize) -> Result<u32, DeviceError> {
        context.word(&self.count, word)
    }

    /// Compares a copy of the count with the number of submissions.
    ///
    /// # Errors
    /// [`DeviceError::Incomplete`] if they differ, and [`DeviceError::InVain`] if the wait of a workgroup of a chain timed out,
    /// from then on at each call.
    pub(crate) fn check(&self, context: &Context, count: [u8; BYTES as usize]) -> Result<(), DeviceError> {
        let word = |i: usize| count.as_chunks::<4>().0.get(i).map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let (completed, timed_out) = (word(0), word(TIMED_OUT));
        let submitted = self.submitted.get();
        if timed_out > 0 {
            return Err(DeviceError::InVain { device: context.name.clone() });
        }
        if completed == submitted {
            return Ok(());
        }
        Err(DeviceError::Incomplete { device: context.name.clone(), completed, submitted })
    }
}
