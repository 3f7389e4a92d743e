//! The kind of an adapter, and the GPU that kernels are rendered for, from wgpu's reports.

use weft_device::DeviceKind;
use weft_render::Gpu;
use wgpu::{AdapterInfo, Backend, DeviceType, Features};

use crate::features::{BY_VALUE, COOPERATIVE};

/// Lanes of a subgroup of every Apple GPU.
const APPLE_LANES: u32 = 32;

/// The fewest lanes of a subgroup that are worth it: a block of 32 values is rounded by eight lanes, and with fewer lanes a
/// reduction takes longer than without subgroups.
const LEAST_LANES: u32 = 8;

/// Storage buffers that `args` and `sizes` take the place of: Metal has the same slots for all buffers.
const UNIFORMS: u32 = 2;

/// NVIDIA's vendor number.
const NVIDIA: u32 = 0x10de;

/// The ids of NVIDIA's PCI devices with a GV100, the only discrete GPU of the Volta architecture.
const VOLTA: std::ops::RangeInclusive<u32> = 0x1d80..=0x1dff;

/// The size in bytes of a piece of a weight is a multiple of this.
const PIECE: u64 = 256;

/// The kind of an adapter.
pub(crate) fn kind(info: &AdapterInfo) -> DeviceKind {
    match info.device_type {
        DeviceType::DiscreteGpu => DeviceKind::Discrete,
        DeviceType::IntegratedGpu => DeviceKind::Integrated,
        DeviceType::VirtualGpu => DeviceKind::Virtual,
        DeviceType::Cpu => DeviceKind::Software,
        DeviceType::Other => DeviceKind::Other,
    }
}

/// The GPU behind an adapter, with the features that texts use.
pub(crate) fn of(info: &AdapterInfo, limits: &wgpu::Limits, features: Features) -> Gpu {
    let metal = info.backend == Backend::Metal;
    let storage_buffers = limits.max_storage_buffers_per_shader_stage;
    let of = Gpu {
        invocations: limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x),
        shared_bytes: limits.max_compute_workgroup_storage_size,
        groups: limits.max_compute_workgroups_per_dimension,
        storage_buffers: if metal { storage_buffers.saturating_sub(UNIFORMS) } else { storage_buffers },
        binding_bytes: binding_bytes(limits),
        piece_bytes: piece_bytes(binding_bytes(limits)),
        subgroup: subgroup(info).filter(|_| features.contains(Features::SUBGROUP)),
        f16: features.contains(Features::SHADER_F16),
        // Vulkan drivers for hardware of the last ten years have dot products of four bytes (they are part of Vulkan 1.3);
        // Metal does not, and software is faster with floats.
        dot4: info.backend == Backend::Vulkan && kind(info) != DeviceKind::Software,
        word_stores: info.backend == Backend::Vulkan,
        ..Gpu::webgpu()
    };
    let of = of.with(|used| {
        // Not measured on others.
        used.chains = info.vendor == NVIDIA && can_chain(info, features);
        used.cooperative = info.backend == Backend::Vulkan && features.contains(COOPERATIVE);
        // wgpu does not report matrices of bytes. NVIDIA's GPUs have had them since Turing; before it, Volta has only those of halves.
        used.cooperative_values = info.backend == Backend::Vulkan
            && info.vendor == NVIDIA
            && !VOLTA.contains(&info.device)
            && features.contains(COOPERATIVE | BY_VALUE);
    });
    // Measured on an NVIDIA H200, not on integrated GPUs.
    if info.backend == Backend::Vulkan && kind(info) == DeviceKind::Discrete { of.with_tiles() } else { of }
}

/// Whether workgroups of a launch can wait for each other, and see what others stored.
pub(crate) fn can_chain(info: &AdapterInfo, features: Features) -> bool {
    info.backend == Backend::Vulkan && features.contains(Features::MEMORY_DECORATION_COHERENT)
}

/// Bytes of the largest buffer that a kernel can bind, a whole number of vectors of four words.
pub(crate) fn binding_bytes(limits: &wgpu::Limits) -> u64 {
    limits.max_storage_buffer_binding_size.min(limits.max_buffer_size) & !15
}

/// The size in bytes of the largest piece that a weight is split into, if a buffer holds at most `most` bytes.
pub(crate) fn piece_bytes(most: u64) -> u64 {
    (most / PIECE * PIECE).max(PIECE)
}

/// The fewest lanes of a subgroup, where subgroups are worth it.
fn subgroup(info: &AdapterInfo) -> Option<u32> {
    let lanes = match info.backend {
        // wgpu does not ask Metal and says 4. Other GPUs have 8 to 64 lanes there, which kernels cannot know beforehand.
        Backend::Metal if info.name.starts_with("Apple") => APPLE_LANES,
        _ => info.subgroup_min_size,
    };
    (lanes >= LEAST_LANES).then_some(lanes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The report of wgpu-hal 30 for an M3 Max.
    fn apple() -> (AdapterInfo, wgpu::Limits, Features) {
        let info = AdapterInfo {
            name: "Apple M3 Max".into(),
            subgroup_min_size: 4,
            subgroup_max_size: 64,
            ..AdapterInfo::new(DeviceType::IntegratedGpu, Backend::Metal)
        };
        let limits = wgpu::Limits {
            max_compute_invocations_per_workgroup: 1024,
            max_compute_workgroup_size_x: 1024,
            max_compute_workgroup_storage_size: 32 << 10,
            max_compute_workgroups_per_dimension: 65_535,
            max_storage_buffers_per_shader_stage: 29,
            max_storage_buffer_binding_size: 4 << 30,
            max_buffer_size: 4 << 30,
            ..wgpu::Limits::default()
        };
        (info, limits, Features::SUBGROUP | Features::SHADER_F16 | Features::TIMESTAMP_QUERY)
    }

    #[test]
    fn apple_gpus_have_the_limits_that_texts_are_tested_with() {
        let (info, limits, features) = apple();
        assert_eq!(of(&info, &limits, features), Gpu::apple());
    }

    #[test]
    fn discrete_gpus_through_vulkan_have_texts_of_large_ones() {
        let (apple, limits, features) = apple();
        for (device_type, backend, large) in [
            (DeviceType::DiscreteGpu, Backend::Vulkan, true),
            (DeviceType::IntegratedGpu, Backend::Vulkan, false),
            (DeviceType::Cpu, Backend::Vulkan, false),
            (DeviceType::DiscreteGpu, Backend::Metal, false),
        ] {
            let found = of(&AdapterInfo { device_type, backend, ..apple.clone() }, &limits, features);
            assert_eq!(
                [found.features.quads, found.features.tiles],
                [large; 2],
                "{device_type:?} through {backend:?}"
            );
            let asked = found.with_tiles();
            assert_eq!(
                [asked.features.quads, asked.features.tiles],
                [backend == Backend::Vulkan; 2],
                "through {backend:?}"
            );
        }
    }

    #[test]
    fn subgroups_are_used_where_they_are_wide() {
        let (apple, limits, features) = apple();
        let cases = [
            ("Apple M3 Max", Backend::Metal, 4, Some(32)),
            ("AMD Radeon Pro 5500M", Backend::Metal, 4, None),
            ("llvmpipe", Backend::Vulkan, 4, None),
            ("llvmpipe", Backend::Vulkan, 8, Some(8)),
            ("NVIDIA H200", Backend::Vulkan, 32, Some(32)),
        ];
        for (name, backend, subgroup_min_size, expected) in cases {
            let info = AdapterInfo { name: name.into(), backend, subgroup_min_size, ..apple.clone() };
            assert_eq!(of(&info, &limits, features).subgroup, expected, "{name} through {backend:?}");
            assert_eq!(of(&info, &limits, Features::empty()).subgroup, None, "{name} through {backend:?}");
        }
    }

    #[test]
    fn cooperative_matrices_need_vulkan_and_all_that_they_use() {
        let (apple, limits, _) = apple();
        let found = |backend, features| {
            of(&AdapterInfo { backend, ..apple.clone() }, &limits, features).features.cooperative
        };
        assert!(found(Backend::Vulkan, COOPERATIVE));
        assert!(!found(Backend::Metal, COOPERATIVE));
        let by_value = |vendor, device, features| {
            let info = AdapterInfo { backend: Backend::Vulkan, vendor, device, ..apple.clone() };
            of(&info, &limits, features).features.cooperative_values
        };
        let all = COOPERATIVE | BY_VALUE;
        assert!(by_value(NVIDIA, 0x2330, all));
        assert!(!by_value(NVIDIA, 0x1db1, all) && !by_value(0x1002, 0x744c, all));
        assert!(!by_value(NVIDIA, 0x2330, COOPERATIVE));
        for needed in COOPERATIVE.iter() {
            assert!(!by_value(NVIDIA, 0x2330, all - needed), "{needed:?}");
            assert!(!found(Backend::Vulkan, COOPERATIVE - needed), "{needed:?}");
        }
    }
}
