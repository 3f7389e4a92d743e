//! The GPUs of this machine, which wgpu calls adapters, and what each can do.

use std::path::Path;

use weft_device::DeviceKind;
use weft_gpu::Scheduler;
use weft_render::{Gpu, Language, Target};
use wgpu::{AdapterInfo, Backends, CooperativeMatrixProperties, Features, InstanceDescriptor, InstanceFlags};

use crate::{features, limits, macos, memory};

/// A GPU, or software that behaves like one.
#[derive(Debug)]
pub struct Adapter {
    pub(crate) raw: wgpu::Adapter,
    pub(crate) info: AdapterInfo,
    /// The limit on pieces of weights, if it is less than a kernel can bind.
    pieces: Option<u64>,
    /// Whether it has the texts of a large GPU, which none has by default.
    large: bool,
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
    let mut adapters: Vec<Adapter> = found
        .into_iter()
        .map(|raw| Adapter { info: raw.get_info(), raw, pieces: None, large: false })
        .collect();
    // A stable sort: equals stay in the driver's order.
    adapters.sort_by_key(Adapter::kind);
    adapters
}

impl Adapter {
    /// Its name, from its driver.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// Its kind.
    pub fn kind(&self) -> DeviceKind {
        limits::kind(&self.info)
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
        // Metal's compiler comes with the system and has no version of its own.
        let driver = match info.backend {
            wgpu::Backend::Metal => macos::build().unwrap_or_default(),
            _ => self.driver(),
        };
        format!("{} {:x}:{:x} {driver}", self.name(), info.vendor, info.device)
    }

    /// Bytes of its own memory, or of what it may use of the memory that it shares with the processor; `None` where that is
    /// not known.
    pub fn memory(&self) -> Option<u64> {
        memory::bytes(&self.raw)
    }

    /// Bytes of the largest buffer that a kernel can bind, a whole number of vectors of four words.
    pub fn largest_buffer(&self) -> usize {
        usize::try_from(limits::binding_bytes(&self.raw.limits())).unwrap_or(usize::MAX & !15)
    }

    /// The same adapter, with weights in pieces of at most `bytes` bytes (at least 256), as if kernels could bind no more.
    #[must_use]
    pub fn with_pieces_of(self, bytes: u64) -> Adapter {
        Adapter { pieces: Some(bytes), ..self }
    }

    /// The same adapter, with texts that load 16 bytes at a time, schedules of a large GPU ([`Gpu::with_tiles`]), and chains of
    /// launches ([`Features::chains`](weft_render::Features::chains)) if it can have them.
    #[must_use]
    pub fn as_large(self) -> Adapter {
        Adapter { large: true, ..self }
    }

    /// The GPU that kernels are rendered for.
    pub fn gpu(&self) -> Gpu {
        let gpu = limits::of(&self.info, &self.raw.limits(), self.features());
        let chains = limits::can_chain(&self.info, self.features());
        let gpu = match self.large {
            true => gpu.with_tiles().with(|features| features.chains = chains),
            false => gpu,
        };
        let pieces = self.pieces.map_or(gpu.piece_bytes, limits::piece_bytes);
        Gpu { piece_bytes: gpu.piece_bytes.min(pieces), ..gpu }
    }

    /// The schedules of its kernels, with those kept for it in a folder. They use [element-wise products](crate::probe) of cooperative
    /// matrices only with `by_value`.
    pub(crate) fn scheduler(&self, folder: Option<&Path>, by_value: bool) -> Scheduler {
        let gpu = self.gpu().with(|features| features.cooperative_values &= by_value);
        Scheduler::open(&self.key(), Target { language: Language::Wgsl, gpu }, folder)
    }

    /// The shapes and types of the cooperative matrices that it reports: `16×16×16 f16 to f32` has 16 rows times 16 columns of
    /// 16 halves, added to floats.
    pub fn matrices(&self) -> Vec<String> {
        let shape = |found: &CooperativeMatrixProperties| {
            let CooperativeMatrixProperties { m_size, n_size, k_size, ab_type, cr_type, .. } = found;
            format!("{m_size}×{n_size}×{k_size} {ab_type:?} to {cr_type:?}").to_lowercase()
        };
        let mut shapes: Vec<String> = Vec::new();
        for shape in self.raw.cooperative_matrix_properties().iter().map(shape) {
            if !shapes.contains(&shape) {
                shapes.push(shape);
            }
        }
        shapes
    }

    /// Whether it can time kernels.
    pub fn has_clock(&self) -> bool {
        self.features().contains(Features::TIMESTAMP_QUERY)
    }

    /// The features that it has and Weft uses.
    pub(crate) fn features(&self) -> Features {
        features::of(&self.raw, &self.info)
    }
}
