//! Why a kernel cannot be rendered.

/// Why a kernel cannot be rendered for a GPU.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}`{}: {why}", part.map(|p| format!(", part {p}")).unwrap_or_default())]
pub struct Refused {
    /// The kernel's name.
    pub kernel: String,
    /// The part at fault, if one is.
    pub part: Option<usize>,
    /// The limit it exceeds, or its unsupported operation.
    pub why: Why,
}

/// A limit of a GPU or of the renderer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// A workgroup needs too much workgroup memory.
    #[error("a workgroup needs {needed} bytes of workgroup memory; the GPU has {limit}")]
    Shared {
        /// Bytes it needs.
        needed: u64,
        /// Bytes a workgroup can have.
        limit: u32,
    },
    /// Too many buffers.
    #[error("it needs {needed} storage buffers; the GPU allows {limit} per shader")]
    Buffers {
        /// The number it needs.
        needed: usize,
        /// The number that a shader can bind.
        limit: u32,
    },
    /// Too many workgroups.
    #[error("it needs {needed} workgroups; the GPU allows {limit} along an axis; try a smaller batch")]
    Groups {
        /// The number it needs at the largest sizes.
        needed: u64,
        /// The number that the GPU launches along an axis.
        limit: u32,
    },
    /// Too many workgroups that count themselves.
    #[error("it has {needed} tiles and workgroups that count themselves; there are {limit} counters")]
    Counters {
        /// The number it has at the largest sizes.
        needed: u64,
        /// The number of counters.
        limit: u64,
    },
    /// CUDA with subgroups that are not warps.
    #[error("CUDA needs subgroups of 32 lanes or none; this GPU has {found}")]
    Subgroup {
        /// The smallest subgroup size of the GPU.
        found: u32,
    },
    /// A schedule that does not fit the kernel or the GPU.
    #[error("the schedule is not legal: {0}")]
    Schedule(String),
    /// A user's text cannot be launched.
    #[error("its text in {language}, {place}: {why}")]
    Given {
        /// The text's language.
        language: &'static str,
        /// The line of its head, and the file.
        place: String,
        /// What was found, and what is supported.
        why: String,
    },
    /// The kernel does something that cannot be rendered.
    #[error("cannot render a kernel that {0}")]
    Form(String),
}

/// A number of the kernel as a 32-bit word.
pub(crate) fn word(n: usize) -> Result<u32, Why> {
    u32::try_from(n).map_err(|_| Why::Form(format!("counts to {n}, which exceeds 32 bits")))
}

/// The error for shaders that pass too much data to each other.
pub(crate) fn too_much() -> Why {
    Why::Form("needs more scratch memory than a buffer can have".into())
}
