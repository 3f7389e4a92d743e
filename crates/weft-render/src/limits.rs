//! What kernels are rendered for: a language, and a GPU's limits.

use weft_kern::TextLanguage;

/// The tokens of the longest step whose launches become [chains](crate::Chain). Through Vulkan on an H100, steps of 2 tokens take
/// as long as chains as they do apart, those of 4 tokens 9 % longer, and of 8 tokens 15 %.
pub const MOST_CHAINED: usize = 1;

/// A language and a GPU.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    /// The language.
    pub language: Language,
    /// The GPU's limits.
    pub limits: Limits,
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

    /// Its name, for people.
    pub const fn name(self) -> &'static str {
        self.in_files().name()
    }
}

/// The limits and features of a GPU that decide how kernels are rendered.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// Invocations (lanes) of a workgroup.
    pub invocations: u32,
    /// Bytes of workgroup memory. Metal rounds each array up to 16 of them.
    pub shared_bytes: u32,
    /// Workgroups along one axis of a launch.
    pub groups: u32,
    /// Storage buffers that a shader can bind.
    pub storage_buffers: u32,
    /// Bytes of a storage buffer that a shader can address.
    pub binding_bytes: u64,
    /// Bytes of a piece of a weight, a multiple of 256, at most `binding_bytes`: a larger weight is bound as several storage
    /// buffers, all but the last of this size.
    pub piece_bytes: u64,
    /// The smallest subgroup size, if subgroup operations may be used.
    pub subgroup: Option<u32>,
    /// 16-bit floats.
    pub f16: bool,
    /// Dot products of four bytes in one instruction. Without it they are computed in floats, which hold them exactly.
    pub dot4: bool,
    /// Loads of four neighbouring words at once. Lanes then take rows in groups of four values,
    /// which is another order of sums than without.
    pub quads: bool,
    /// Whether lanes can store different words of a vector at the same time. WGSL lets a store of one word write the whole
    /// vector (gpuweb issue 2112); SPIR-V stores just the word, while Metal and Direct3D have been seen to lose others.
    pub word_stores: bool,
    /// Whether a workgroup can see what others of its launch stored, once they have counted themselves. Then products of
    /// whole rows can be spread over workgroups, of which the last one goes on.
    pub gathers: bool,
    /// Whether a workgroup can have many heads of attention in prompts, where matrix units do not compute it.
    pub tiles: bool,
    /// Whether products of many rows are multiplied by lanes from panels in workgroup memory, which change no bit, where no
    /// matrix units compute them. It needs `quads`.
    pub panels: bool,
    /// Whether lanes load the next stage of panels before they multiply the one that is there: that takes registers.
    pub panels_ahead: bool,
    /// Most words of weights that a lane loads ahead of all that it does with them, each into a
    /// register: before it waits for the launch before it, if it knows which; 0 for none. [Chains](crate::Chain) load none.
    pub early_words: u32,
    /// Matrix units for signed bytes: 16 rows of 32 times 8 columns in one instruction of a subgroup.
    pub matrix: bool,
    /// Whether products on matrix units copy the weights of their first stages before they wait for the launch before.
    pub matrix_stages_ahead: bool,
    /// Whether they have all that they multiply in workgroup memory at once, in short steps and where it fits.
    pub matrix_whole: bool,
    /// Whether wide products of long steps have workgroups of 128 rows and as many columns. This changes no bit.
    pub matrix_large: bool,
    /// Whether lanes multiply rows that pick their matrices in steps in which few rows pick the same one, and matrix units
    /// those of longer steps. This changes no bit.
    pub picked_by_lanes: bool,
    /// Matrix units for halves: 16 rows of 16 times 8 columns, added to floats, in one instruction of a
    /// subgroup.
    pub matrix_halves: bool,
    /// Whether a warp can multiply matrices of 16 × 16 halves, and add the products to floats, by instructions that say nothing of
    /// how matrices lie in its lanes. They compute latent attention, where there are also `quads`, `word_stores`, subgroups of 32, a
    /// known number of `processors`, and 48 KiB of workgroup memory.
    pub cooperative: bool,
    /// Whether a warp can multiply such matrices of signed bytes, too, 32 values deep, and sums by factors value by value. Then
    /// products from [`panels`](Limits::panels) are computed by them, and chunks of attention joined, which changes no bit of
    /// finite values. WGSL has no words for either: texts are for a compiler that knows what they mean
    /// ([`Shader::needs_spirv`](crate::Shader::needs_spirv)).
    pub cooperative_values: bool,
    /// Whether four warps multiply halves together, with operands in workgroup memory (Hopper's `wgmma`). Texts that use it are
    /// for that very architecture.
    pub warpgroups: bool,
    /// Whether a workgroup can wait for another of its launch, if no more are launched than there are multiprocessors. Then they
    /// share the tiles of warpgroups' attention evenly.
    pub shares_tiles: bool,
    /// Bytes of workgroup memory that a runtime can give to a shader that asks for more than
    /// `shared_bytes`. Attention on matrix units does.
    pub most_shared_bytes: u32,
    /// Multiprocessors, for schedules that fill whole waves of them; 0 if unknown. For a large GPU that does not report them, see
    /// [`as_large`](Limits::as_large).
    pub processors: u32,
    /// Whether a launch may begin before the one it depends on has ended (CUDA's programmatic
    /// dependent launch). Then each shader waits for that one before it touches anything but
    /// weights, and can fetch weights earlier.
    pub dependent_launch: bool,
    /// Whether workgroups of a launch can wait for each other, if no more are launched than run at once, in a language whose
    /// launches can't begin early: then those of short steps become [chains](crate::Chain).
    pub chains: bool,
    /// Whether launches of short steps let the next one begin before they have waited themselves, where that is
    /// [possible](crate::hands_over).
    pub hands_over: bool,
}

impl Limits {
    /// The limits of every GPU of compute capability 7.5 or later.
    pub const fn cuda() -> Limits {
        Limits {
            invocations: 1024,
            shared_bytes: 48 << 10,
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
            quads: true,
            word_stores: true,
            gathers: true,
            early_words: 128,
            most_shared_bytes: 48 << 10,
            ..Limits::webgpu()
        }
    }

    /// The least that WebGPU promises.
    pub const fn webgpu() -> Limits {
        Limits {
            invocations: 256,
            shared_bytes: 16 << 10,
            groups: 65_535,
            storage_buffers: 10,
            binding_bytes: 128 << 20,
            piece_bytes: 128 << 20,
            subgroup: None,
            f16: false,
            dot4: false,
            quads: false,
            word_stores: false,
            gathers: false,
            tiles: false,
            panels: false,
            panels_ahead: false,
            early_words: 0,
            matrix: false,
            matrix_stages_ahead: false,
            matrix_whole: false,
            matrix_large: false,
            picked_by_lanes: false,
            matrix_halves: false,
            cooperative: false,
            cooperative_values: false,
            warpgroups: false,
            shares_tiles: false,
            most_shared_bytes: 0,
            processors: 0,
            dependent_launch: false,
            chains: false,
            hands_over: false,
        }
    }

    /// The limits of an Apple GPU, as wgpu reports them through Metal, but for its subgroups: wgpu says 4 to 64 lanes for
    /// every Metal GPU, and Apple's have 32.
    pub const fn apple() -> Limits {
        Limits {
            invocations: 1024,
            shared_bytes: 32 << 10,
            // Metal has 31 slots for buffers: wgpu keeps two of them, and two hold `args` and `sizes`.
            storage_buffers: 27,
            binding_bytes: 4 << 30,
            piece_bytes: 4 << 30,
            subgroup: Some(32),
            f16: true,
            ..Limits::webgpu()
        }
    }

    /// The same limits, as if a GPU that does not report its multiprocessors were large: it has 128 multiprocessors, loads 16
    /// bytes at a time, and multiplies prompts from panels. On an NVIDIA H200 through Vulkan, the first two gained together, and
    /// either alone lost. The limits stay as they are without [`word_stores`](Limits::word_stores).
    #[must_use]
    pub const fn as_large(self) -> Limits {
        if !self.word_stores {
            return self;
        }
        Limits { quads: true, panels: true, panels_ahead: true, early_words: 128, processors: 128, ..self }
    }

    /// The same with [`tiles`](Limits::tiles), which load 16 bytes at a time.
    #[must_use]
    pub const fn with_tiles(self) -> Limits {
        Limits { tiles: self.word_stores, ..self.as_large() }
    }

    /// The number of pieces of a weight of so many bytes; at least one.
    pub fn pieces(&self, bytes: u64) -> u32 {
        u32::try_from(bytes.div_ceil(self.piece_bytes.max(1)).max(1)).unwrap_or(u32::MAX)
    }

    /// Bytes of the largest weight: as many words as 32 bits can count, in at most half of the storage buffers, since kernels
    /// bind others, too.
    pub fn largest_weight(&self) -> u64 {
        let pieces = u64::from((self.storage_buffers / 2).max(1));
        self.piece_bytes.saturating_mul(pieces).min(4 << 32)
    }

    /// The limits of a GPU with this compute capability, 7.5 or later, and so many multiprocessors.
    pub const fn of_cuda((major, minor): (i32, i32), processors: u32) -> Limits {
        Limits {
            processors,
            matrix: major >= 8,
            matrix_stages_ahead: true,
            matrix_whole: true,
            matrix_large: major >= 8,
            picked_by_lanes: true,
            matrix_halves: true,
            warpgroups: major == 9,
            shares_tiles: major >= 7,
            most_shared_bytes: match (major, minor) {
                (..8, _) => 64 << 10,
                (8, 0 | 7) => 163 << 10,
                (8, _) | (12.., _) => 99 << 10,
                _ => 227 << 10,
            },
            dependent_launch: major >= 9,
            hands_over: major >= 9,
            ..Limits::cuda()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_has_as_many_pieces_as_it_needs() {
        let limits = Limits { piece_bytes: 512, storage_buffers: 10, ..Limits::webgpu() };
        for (bytes, pieces) in [(0, 1), (1, 1), (512, 1), (513, 2), (1536, 3), (u64::MAX, u32::MAX)] {
            assert_eq!(limits.pieces(bytes), pieces, "{bytes} bytes");
        }
        assert_eq!(limits.largest_weight(), 5 * 512);
        assert_eq!(Limits::webgpu().largest_weight(), 5 * (128 << 20));
        // More words than 32 bits can count are refused, however many bindings there are.
        assert_eq!(Limits::apple().largest_weight(), 4 << 32);
        assert_eq!(Limits::cuda().largest_weight(), 4 << 32);
    }
}
