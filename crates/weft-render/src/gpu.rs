//! What kernels are rendered for: a language and a GPU.

use weft_kern::TextLanguage;

use crate::features::Features;

/// The most tokens of a step whose launches become [chains](crate::Chain). Through Vulkan on an H100, steps of 2 tokens take as long in
/// chains as in separate launches, those of 4 tokens 9 % longer, and of 8 tokens 15 % (`bench/runs/2026-11-26-vulkan-chains.md`).
pub const MOST_CHAINED: usize = 1;

/// A language and a GPU.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    /// The language.
    pub language: Language,
    /// The GPU, with the features that are in use.
    pub gpu: Gpu,
}

/// A language that kernels are rendered in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Language {
    /// WGSL, for wgpu.
    Wgsl,
    /// CUDA C++ for NVRTC, to be compiled with [`CUDA_OPTIONS`](crate::CUDA_OPTIONS). `subgroup`
    /// must be 32 or `None`; kernels for others are refused.
    Cuda,
}

impl Language {
    /// The language of texts in files.
    pub(crate) const fn in_files(self) -> TextLanguage {
        match self {
            Language::Wgsl => TextLanguage::Wgsl,
            Language::Cuda => TextLanguage::Cuda,
        }
    }

    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        self.in_files().name()
    }
}

/// A GPU: what it is, and which of its features are in use.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Gpu {
    /// The most invocations (lanes) of a workgroup.
    pub invocations: u32,
    /// The most bytes of workgroup memory. Metal rounds each array up to 16 of them.
    pub shared_bytes: u32,
    /// Bytes of workgroup memory that a runtime can give to a shader that asks for more than `shared_bytes`. Attention on matrix units
    /// does.
    pub most_shared_bytes: u32,
    /// The most workgroups along one axis of a launch.
    pub groups: u32,
    /// The most storage buffers that a shader can bind.
    pub storage_buffers: u32,
    /// Bytes of a storage buffer that a shader can address.
    pub binding_bytes: u64,
    /// Bytes of a piece of a weight, a multiple of 256, at most `binding_bytes`: a larger weight is bound as several storage
    /// buffers, all but the last of this size.
    pub piece_bytes: u64,
    /// The smallest subgroup size, if subgroup operations may be used.
    pub subgroup: Option<u32>,
    /// Multiprocessors, for schedules that fill whole waves of them; 0 if unknown. For a large GPU that does not report them, see
    /// [`as_large`](Gpu::as_large).
    pub processors: u32,
    /// Whether it has 16-bit floats.
    pub f16: bool,
    /// Whether it multiplies four bytes by four and adds the products in one instruction. Without it they are computed in floats, which
    /// hold them exactly.
    pub dot4: bool,
    /// Whether it picks any four of the bytes of two words in one instruction. Then quants that are numbers of values are looked up so.
    pub picks_bytes: bool,
    /// Whether lanes can store different words of a vector at the same time. WGSL lets a store of one word write the whole
    /// vector (gpuweb issue 2112); SPIR-V stores just the word, while Metal and Direct3D have been seen to lose others.
    pub word_stores: bool,
    /// The features that texts use.
    pub features: Features,
}

impl Gpu {
    /// Every GPU of compute capability 7.5 or later.
    pub const fn cuda() -> Gpu {
        Gpu {
            invocations: 1024,
            shared_bytes: 48 << 10,
            most_shared_bytes: 48 << 10,
            // The limit along `y`; along `x` there may be more.
            groups: 65_535,
            // Every driver takes 4 KiB of arguments. These pointers are 1 KiB of them, `sizes` 16
            // bytes, and `args` 8 bytes for each parameter of the kernel, so up to 382 parameters fit.
            storage_buffers: 128,
            // As many words as 32 bits can address.
            binding_bytes: 4 << 32,
            piece_bytes: 4 << 32,
            subgroup: Some(32),
            f16: true,
            dot4: true,
            picks_bytes: true,
            word_stores: true,
            features: Features { quads: true, gathers: true, early_words: 128, ..Features::NONE },
            ..Gpu::webgpu()
        }
    }

    /// The least that WebGPU promises.
    pub const fn webgpu() -> Gpu {
        Gpu {
            invocations: 256,
            shared_bytes: 16 << 10,
            most_shared_bytes: 0,
            groups: 65_535,
            storage_buffers: 10,
            binding_bytes: 128 << 20,
            piece_bytes: 128 << 20,
            subgroup: None,
            processors: 0,
            f16: false,
            dot4: false,
            picks_bytes: false,
            word_stores: false,
            features: Features::NONE,
        }
    }

    /// An Apple GPU, as wgpu reports it through Metal, except for its subgroups: wgpu says 4 to 64 lanes for every Metal GPU, and
    /// Apple's have 32.
    pub const fn apple() -> Gpu {
        Gpu {
            invocations: 1024,
            shared_bytes: 32 << 10,
            // Metal has 31 slots for buffers: wgpu keeps two of them, and two hold `args` and `sizes`.
            storage_buffers: 27,
            binding_bytes: 4 << 30,
            piece_bytes: 4 << 30,
            subgroup: Some(32),
            f16: true,
            ..Gpu::webgpu()
        }
    }

    /// A GPU with this compute capability, 7.5 or later, and this number of multiprocessors.
    pub const fn of_cuda((major, minor): (i32, i32), processors: u32) -> Gpu {
        let base = Gpu::cuda();
        Gpu {
            processors,
            most_shared_bytes: match (major, minor) {
                (..8, _) => 64 << 10,
                (8, 0 | 7) => 163 << 10,
                (8, _) | (12.., _) => 99 << 10,
                _ => 227 << 10,
            },
            features: Features {
                matrix: major >= 8,
                matrix_stages_ahead: true,
                matrix_whole: true,
                matrix_large: major >= 8,
                picked_by_lanes: true,
                matrix_halves: true,
                warpgroups: major == 9,
                shares_tiles: major >= 7,
                dependent_launch: major >= 9,
                releases_early: major >= 9,
                ..base.features
            },
            ..base
        }
    }

    /// The same GPU with its features changed.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Features)) -> Gpu {
        change(&mut self.features);
        self
    }

    /// The same GPU, with the schedules of a large one if it does not report its multiprocessors: those for 128 multiprocessors, with loads
    /// of 16 bytes, and prompts multiplied from panels. On an NVIDIA H200 through Vulkan, the first two gained together, and either alone
    /// lost (`bench/runs/2026-11-23-vulkan-large.md`). It stays as it is without [`word_stores`](Gpu::word_stores).
    #[must_use]
    pub const fn as_large(self) -> Gpu {
        if !self.word_stores {
            return self;
        }
        let features =
            Features { quads: true, panels: true, panels_ahead: true, early_words: 128, ..self.features };
        Gpu { processors: 128, features, ..self }
    }

    /// A large GPU with [`tiles`](Features::tiles), which load 16 bytes at a time.
    #[must_use]
    pub const fn with_tiles(self) -> Gpu {
        let large = self.as_large();
        Gpu { features: Features { tiles: large.word_stores, ..large.features }, ..large }
    }

    /// The number of pieces of a weight of this many bytes, at least one.
    pub fn pieces(&self, bytes: u64) -> u32 {
        u32::try_from(bytes.div_ceil(self.piece_bytes.max(1)).max(1)).unwrap_or(u32::MAX)
    }

    /// Bytes of the largest weight: as many words as 32 bits can count, in at most half of the storage buffers, because kernels also bind
    /// others.
    pub fn largest_weight(&self) -> u64 {
        let pieces = u64::from((self.storage_buffers / 2).max(1));
        self.piece_bytes.saturating_mul(pieces).min(4 << 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_has_as_many_pieces_as_it_needs() {
        let gpu = Gpu { piece_bytes: 512, storage_buffers: 10, ..Gpu::webgpu() };
        for (bytes, pieces) in [(0, 1), (1, 1), (512, 1), (513, 2), (1536, 3), (u64::MAX, u32::MAX)] {
            assert_eq!(gpu.pieces(bytes), pieces, "{bytes} bytes");
        }
        assert_eq!(gpu.largest_weight(), 5 * 512);
        assert_eq!(Gpu::webgpu().largest_weight(), 5 * (128 << 20));
        // More words than 32 bits can count are refused for any number of bindings.
        assert_eq!(Gpu::apple().largest_weight(), 4 << 32);
        assert_eq!(Gpu::cuda().largest_weight(), 4 << 32);
    }
}
