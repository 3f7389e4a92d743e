//! Why a device refused or failed.

use weft_quant::GgmlType;

/// Why a device refused or failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// Out of memory.
    #[error("{device}: out of memory: cannot allocate {bytes} bytes")]
    Memory {
        /// The device.
        device: String,
        /// Bytes asked for.
        bytes: usize,
    },
    /// A buffer or weight larger than the device allows.
    #[error("cannot allocate {bytes} bytes: the largest that {device} allows is {largest}")]
    TooLarge {
        /// The device.
        device: String,
        /// Bytes asked for.
        bytes: usize,
        /// Bytes of the largest one.
        largest: usize,
    },
    /// A kernel that the device cannot run.
    #[error("{device} cannot run the kernel `{kernel}`: {why}")]
    Kernel {
        /// The device.
        device: String,
        /// The kernel's name.
        kernel: String,
        /// The missing ability, or the exceeded limit.
        why: String,
    },
    /// An ability that the device does not have.
    #[error("{device} cannot {ability}")]
    Unsupported {
        /// The device.
        device: String,
        /// The operation that it was asked for.
        ability: &'static str,
    },
    /// The device is gone: unplugged, reset by its driver or assigned to another process.
    #[error("{device} was lost: {why}; start again, and check the system log if it happens again")]
    Lost {
        /// The device.
        device: String,
        /// The driver's message.
        why: String,
    },
    /// The device ended some of its work early, without an error: its results are not valid from then on.
    #[error(
        "{device} completed {completed} of {submitted} submissions and reported no error: it ended a step early (a time \
         limit, a fault or too little memory), so its results are not valid; start again, with a smaller batch or a \
         smaller context"
    )]
    Incomplete {
        /// The device.
        device: String,
        /// Submissions that ran to their end, modulo 2³².
        completed: u32,
        /// Submissions that should have, modulo 2³².
        submitted: u32,
    },
    /// Workgroups of a launch wait for each other, and did not all run at once.
    #[error(
        "a workgroup of {device} waited in vain for others of its launch: fewer run at once than did when the program was \
         compiled, so results are not valid; start again, with nothing else on the GPU"
    )]
    InVain {
        /// The device.
        device: String,
    },
    /// The driver rejected something that should be valid.
    #[error("{device} rejected {what}: {why}; this is a bug in Weft or in the driver, please report it")]
    Refused {
        /// The device.
        device: String,
        /// The requested memory.
        what: String,
        /// The driver's message.
        why: String,
    },
    /// A weight whose bytes do not match its shape.
    #[error("{found} bytes for a weight of {ty}[{rows}, {row_len}], which takes {}", row_bytes(*ty, *rows, *row_len))]
    Weight {
        /// Its type.
        ty: GgmlType,
        /// Its rows.
        rows: usize,
        /// Values in a row.
        row_len: usize,
        /// Bytes given.
        found: u64,
    },
    /// An invalid program: a bug in the compiler.
    #[error("launch {launch} (`{kernel}`) is invalid: {why}; this is a bug in Weft, please report it")]
    Program {
        /// Which launch of the program.
        launch: usize,
        /// Its kernel.
        kernel: String,
        /// What is wrong.
        why: String,
    },
    /// A buffer, program or range that does not exist, or an option out of range: the caller's mistake.
    #[error("{0}")]
    Usage(String),
    /// An index in the step's data is out of bounds. Only the buffer's own bounds are checked: a device does not know how much of a
    /// buffer the step has filled.
    #[error("`{kernel}`: an index in the step's data is out of bounds; the step's results are not valid")]
    Index {
        /// The kernel that read it.
        kernel: String,
    },
}

/// The bytes that a weight takes, for people.
fn row_bytes(ty: GgmlType, rows: usize, row_len: usize) -> String {
    let row = ty.row_bytes(row_len as u64);
    match row.and_then(|bytes| bytes.checked_mul(rows as u64)) {
        Some(bytes) => bytes.to_string(),
        None => format!("whole blocks of {} values", ty.block_len()),
    }
}
