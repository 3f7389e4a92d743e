//! Why a kernel cannot be rendered.

/// Why a kernel cannot be rendered for an adapter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}`{}: {why}", part.map(|p| format!(", part {p}")).unwrap_or_default())]
pub struct Refused {
    /// The kernel.
    pub kernel: String,
    /// Which of its parts, if it is one's fault.
    pub part: Option<usize>,
    /// The limit, or what it says that cannot be said here.
    pub why: Why,
}

/// A limit of an adapter or of the renderer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// A workgroup keeps too much.
    #[error("a workgroup keeps {needed} bytes, the adapter has room for {limit}")]
    Shared {
        /// Bytes it keeps.
        needed: u64,
        /// Bytes there are.
        limit: u32,
    },
    /// Too many buffers.
    #[error("it works on {needed} buffers, the adapter lets a shader have {limit}")]
    Buffers {
        /// How many it works on.
        needed: usize,
        /// How many it may.
        limit: u32,
    },
    /// Too many workgroups.
    #[error("it takes {needed} workgroups, the adapter launches {limit} along an axis; try a smaller batch")]
    Groups {
        /// How many it takes, at the largest sizes.
        needed: u64,
        /// How many may be along an axis.
        limit: u32,
    },
    /// A schedule that is none for this kernel or adapter.
    #[error("the schedule does not fit: {0}")]
    Schedule(String),
    /// Something the kernel does that the renderer has no form for.
    #[error("this device has no form for a kernel that {0}")]
    Form(String),
}

/// A number of the kernel as a word.
pub(crate) fn word(n: usize) -> Result<u32, Why> {
    u32::try_from(n).map_err(|_| Why::Form(format!("counts to {n}, which 32 bits cannot")))
}
