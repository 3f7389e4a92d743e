//! The GPUs of this machine, which wgpu calls adapters, and what each can do.

use std::path::Path;

use weft_device::DeviceKind;
use weft_gpu::Scheduler;
use weft_render::{Language, Limits, Target};
use wgpu::{AdapterInfo, Backends, DeviceType, Features, InstanceDescriptor, InstanceFlags};

use crate::memory;

/// The features that are used where an adapter has them.
const WANTED: Features = Features::SUBGROUP
    .union(Features::SHADER_F16)
    .union(Features::TIMESTAMP_QUERY)
    .union(Features::TIMESTAMP_QUERY_INSIDE_PASSES)
    .union(Features::PIPELINE_CACHE);

/// A GPU, or software that behaves like one.
#[derive(Debug)]
pub struct Adapter {
    pub(crate) raw: wgpu::Adapter,
    pub(crate) info: AdapterInfo,
}

/// The GPUs of this machine, the best first: discrete before integrated, software last. A machine without drivers has none.
///
/// Nothing of a driver is loaded before this is called.
pub fn adapters() -> Vec<Adapter> {
    let backends = Backends::VULKAN | Backends::METAL;
    let flags = InstanceFlags::empty();
    let instance = wgpu::Instance::new(InstanceDescriptor {
        backends,
        flags,
        ..InstanceDescriptor::new_without_display_handle()
    });
    let found = pollster::block_on(instance.enumerate_adapters(backends));
    let mut adapters: Vec<Adapter> =
        found.into_iter().map(|raw| Adapter { info: raw.get_info(), raw }).collect();
    // A stable sort: equals stay in the driver's order.
    adapters.sort_by_key(Adapter::kind);
    adapters
}

impl Adapter {
    /// Its name, from its driver.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// What it is.
    pub fn kind(&self) -> DeviceKind {
        match self.info.device_type {
            DeviceType::DiscreteGpu => DeviceKind::Discrete,
            DeviceType::IntegratedGpu => DeviceKind::Integrated,
            DeviceType::VirtualGpu => DeviceKind::Virtual,
            DeviceType::Cpu => DeviceKind::Software,
            DeviceType::Other => DeviceKind::Other,
        }
    }

    /// The API it is reached through: `Vulkan` or `Metal`.
    pub fn interface(&self) -> String {
        format!("{:?}", self.info.backend)
    }

    /// Its driver and the driver's version.
    pub fn driver(&self) -> String {
        format!("{} {}", self.info.driver, self.info.driver_info).trim().to_string()
    }

    /// Identifies the adapter and its driver, for files that are valid for these alone.
    pub(crate) fn key(&self) -> String {
        let info = &self.info;
        format!("{} {:x}:{:x} {}", self.name(), info.vendor, info.device, self.driver())
    }

    /// Bytes of its own memory, or of what it shares with the processor; `None` where that is not known.
    pub fn memory(&self) -> Option<u64> {
        memory::bytes(&self.raw)
    }

    /// Bytes of the largest buffer that a kernel can bind, a whole number of words.
    pub fn largest_buffer(&self) -> usize {
        let limits = self.raw.limits();
        let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size) & !3;
        usize::try_from(most).unwrap_or(usize::MAX & !3)
    }

    /// The limits that kernels are rendered for.
    pub fn limits(&self) -> Limits {
        let (limits, features) = (self.raw.limits(), self.features());
        let along = limits.max_compute_workgroup_size_x;
        Limits {
            invocations: limits.max_compute_invocations_per_workgroup.min(along),
            shared_bytes: limits.max_compute_workgroup_storage_size,
            groups: limits.max_compute_workgroups_per_dimension,
            storage_buffers: limits.max_storage_buffers_per_shader_stage,
            binding_bytes: self.largest_buffer() as u64,
            subgroup: features.contains(Features::SUBGROUP).then_some(self.info.subgroup_min_size),
            f16: features.contains(Features::SHADER_F16),
            dot4: self.dot4(),
            matrix: false,
            matrix_halves: false,
            most_shared_bytes: 0,
            quads: false,
            early_words: 0,
            processors: 0,
            dependent_launch: false,
        }
    }

    /// Whether it has dot products of four bytes. Vulkan drivers for hardware of the last ten years do (they are part of Vulkan 1.3);
    /// Metal does not, and software is faster with floats.
    fn dot4(&self) -> bool {
        self.info.backend == wgpu::Backend::Vulkan && self.kind() != DeviceKind::Software
    }

    /// The schedules of its kernels, with those kept for it in a folder.
    pub(crate) fn scheduler(&self, folder: Option<&Path>) -> Scheduler {
        Scheduler::open(&self.key(), Target { language: Language::Wgsl, limits: self.limits() }, folder)
    }

    /// Whether it can time kernels.
    pub fn has_clock(&self) -> bool {
        self.features().contains(Features::TIMESTAMP_QUERY)
    }

    /// Those of its features that are used.
    pub(crate) fn features(&self) -> Features {
        self.raw.features() & WANTED
    }
}
