//! What kernels are rendered for: a language, and what a GPU allows a shader to be.

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
    /// CUDA C++, for NVRTC: compile it with [`CUDA_OPTIONS`](crate::CUDA_OPTIONS). `subgroup` must be a warp, or `None`.
    Cuda,
}

/// The limits and abilities that decide how a kernel is rendered; the adapter's own.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// Invocations of a workgroup.
    pub invocations: u32,
    /// Bytes of workgroup memory.
    pub shared_bytes: u32,
    /// Workgroups along one axis of a launch.
    pub groups: u32,
    /// Storage buffers of a shader.
    pub storage_buffers: u32,
    /// Bytes of a buffer that a shader can see.
    pub binding_bytes: u64,
    /// The least number of lanes of a subgroup, if subgroup operations may be used.
    pub subgroup: Option<u32>,
    /// 16-bit floats.
    pub f16: bool,
    /// Dot products of four bytes.
    pub dot4: bool,
}

impl Limits {
    /// What every GPU of compute capability 6.1 or later allows a CUDA kernel.
    pub const fn cuda() -> Limits {
        Limits {
            invocations: 1024,
            shared_bytes: 48 << 10,
            // Along `y`; along `x` there may be more.
            groups: 65_535,
            // With all that each of them can add to `args`, fewer bytes than the 4 KiB of arguments that every driver takes.
            storage_buffers: 128,
            // As many words as 32 bits can count.
            binding_bytes: 4 << 32,
            subgroup: Some(32),
            f16: true,
            dot4: true,
        }
    }
}
