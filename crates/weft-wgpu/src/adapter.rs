//! The graphics adapters of this machine: which there are, what they can do, and which one somebody means.

use weft_render::Limits;
use wgpu::{AdapterInfo, Backends, DeviceType, Features, InstanceDescriptor, InstanceFlags};

use crate::error::OpenError;
use crate::memory;

/// What is used where an adapter has it.
const WANTED: Features = Features::SUBGROUP
    .union(Features::SHADER_F16)
    .union(Features::TIMESTAMP_QUERY)
    .union(Features::TIMESTAMP_QUERY_INSIDE_PASSES)
    .union(Features::PIPELINE_CACHE);

/// A graphics adapter: a card, a part of the processor, or a program that pretends to be one.
#[derive(Debug)]
pub struct Adapter {
    pub(crate) raw: wgpu::Adapter,
    pub(crate) info: AdapterInfo,
}

/// What an adapter is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AdapterKind {
    /// A card with memory of its own.
    Discrete,
    /// It shares its memory with the processor.
    Integrated,
    /// A share of somebody else's card.
    Virtual,
    /// The driver does not say.
    Other,
    /// A program that runs on the processor.
    Software,
}

impl AdapterKind {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            AdapterKind::Discrete => "discrete",
            AdapterKind::Integrated => "integrated",
            AdapterKind::Virtual => "virtual",
            AdapterKind::Other => "other",
            AdapterKind::Software => "software",
        }
    }
}

/// The adapters of this machine, the most promising first: discrete ones before integrated ones, and software last.
///
/// A machine without drivers has none. This is where drivers are loaded: nothing of them is touched before.
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
    // Stable: among equals the driver's own order.
    adapters.sort_by_key(Adapter::kind);
    adapters
}

/// The adapter whose name contains `name`, in capitals or not, or without a name the most promising.
///
/// # Errors
/// [`OpenError`] if there is none; it tells which there are.
pub fn adapter(name: Option<&str>) -> Result<Adapter, OpenError> {
    let adapters = adapters();
    let names: Vec<String> = adapters.iter().map(|adapter| adapter.info.name.clone()).collect();
    let at = pick(&names, name)?;
    adapters.into_iter().nth(at).ok_or(OpenError::None)
}

/// Which of the names is meant.
fn pick(names: &[String], wanted: Option<&str>) -> Result<usize, OpenError> {
    if names.is_empty() {
        return Err(OpenError::None);
    }
    let Some(wanted) = wanted else { return Ok(0) };
    let lower = wanted.to_lowercase();
    let found = names.iter().position(|name| name.to_lowercase().contains(&lower));
    found.ok_or_else(|| OpenError::Unknown { wanted: wanted.into(), there: names.to_vec() })
}

impl Adapter {
    /// Its name, as its driver has it.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// What it is.
    pub fn kind(&self) -> AdapterKind {
        match self.info.device_type {
            DeviceType::DiscreteGpu => AdapterKind::Discrete,
            DeviceType::IntegratedGpu => AdapterKind::Integrated,
            DeviceType::VirtualGpu => AdapterKind::Virtual,
            DeviceType::Cpu => AdapterKind::Software,
            DeviceType::Other => AdapterKind::Other,
        }
    }

    /// The interface it is reached through: `Vulkan` or `Metal`.
    pub fn interface(&self) -> String {
        format!("{:?}", self.info.backend)
    }

    /// Its driver with its version.
    pub fn driver(&self) -> String {
        format!("{} {}", self.info.driver, self.info.driver_info).trim().to_string()
    }

    /// What files are kept by that are for this adapter and this driver alone.
    pub(crate) fn key(&self) -> String {
        let info = &self.info;
        format!("{} {:x}:{:x} {}", self.name(), info.vendor, info.device, self.driver())
    }

    /// Bytes of its own memory, or of what it shares; `None` where that cannot be found out.
    pub fn memory(&self) -> Option<u64> {
        memory::bytes(&self.raw)
    }

    /// Bytes of the largest buffer a kernel can be given, a whole number of words.
    pub fn largest_buffer(&self) -> usize {
        let limits = self.raw.limits();
        let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size) & !3;
        usize::try_from(most).unwrap_or(usize::MAX & !3)
    }

    /// What decides how kernels are rendered for it.
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
        }
    }

    /// Whether four bytes are multiplied by four bytes at once. Drivers of Vulkan for real hardware of the last ten years do that (it is part of
    /// Vulkan 1.3); Metal has no such instruction, and a program is better off with floats.
    fn dot4(&self) -> bool {
        self.info.backend == wgpu::Backend::Vulkan && self.kind() != AdapterKind::Software
    }

    /// Whether it can tell when kernels began and ended.
    pub fn has_clock(&self) -> bool {
        self.features().contains(Features::TIMESTAMP_QUERY)
    }

    /// The features that are used, of those it has.
    pub(crate) fn features(&self) -> Features {
        self.raw.features() & WANTED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_a_part_of_them() {
        let names: Vec<String> =
            ["NVIDIA H200", "Intel Graphics", "llvmpipe (LLVM 19)"].map(str::to_string).into();
        for (wanted, expected) in [(None, 0), (Some("llvm"), 2), (Some("INTEL"), 1), (Some("n"), 0)] {
            assert_eq!(pick(&names, wanted), Ok(expected), "{wanted:?}");
        }
        let unknown = pick(&names, Some("radeon")).unwrap_err().to_string();
        assert_eq!(
            unknown,
            "no graphics adapter is called `radeon`; there are `NVIDIA H200`, `Intel Graphics`, `llvmpipe (LLVM 19)`; any part of a name will do"
        );
        assert_eq!(pick(&[], Some("radeon")), Err(OpenError::None));
    }
}
