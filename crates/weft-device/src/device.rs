//! What a device must be able to do.

use std::sync::Arc;

use weft_kern::{Machine, Sizes};
use weft_quant::GgmlType;

use crate::packing::Packing;
use crate::program::Program;
use crate::schedules::Schedules;
use crate::timings::Timings;

/// A buffer of a device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BufferId(pub u32);

/// A compiled program of a device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ProgramId(pub u32);

/// What a device is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caps {
    /// For people: `cpu (avx512-vnni), 2 threads`.
    pub name: String,
    /// Threads of the host that work on one step, or prepare for it: those that pack weights.
    pub threads: usize,
    /// Bytes of the largest buffer it has, and so of the largest weight.
    pub largest_buffer: usize,
    /// What it can do, for the compiler's decisions by cost.
    pub machine: Machine,
    /// Whether the processor that this program runs on computes, so that what it can do at most is what the device can.
    pub processor: bool,
}

/// The bytes of a weight, as the file has them, kept alive as long as a device wants them.
pub type WeightBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A weight to be packed: `rows` rows of `row_len` values.
#[derive(Clone)]
pub struct Weight {
    /// How values are stored.
    pub ty: GgmlType,
    /// Rows, over all axes but the last.
    pub rows: usize,
    /// Values in a row, a whole number of blocks.
    pub row_len: usize,
    /// Exactly the rows' bytes.
    pub bytes: WeightBytes,
}

impl std::fmt::Debug for Weight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Weight({}[{}, {}])", self.ty, self.rows, self.row_len)
    }
}

impl Weight {
    /// Checks that the bytes are as many as the rows take.
    ///
    /// # Errors
    /// [`DeviceError::Weight`] if they are not.
    pub fn check(&self) -> Result<(), DeviceError> {
        let row = self.ty.row_bytes(self.row_len as u64);
        let expected = row.and_then(|b| b.checked_mul(self.rows as u64));
        let found = (*self.bytes).as_ref().len() as u64;
        if expected == Some(found) {
            Ok(())
        } else {
            Err(DeviceError::Weight { ty: self.ty, rows: self.rows, row_len: self.row_len, found })
        }
    }
}

/// Why a device refused or failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// No memory.
    #[error("{device}: cannot allocate {bytes} bytes; try a smaller context or batch")]
    Memory {
        /// Who.
        device: String,
        /// How much was asked for.
        bytes: usize,
    },
    /// A buffer larger than any the device has.
    #[error("{bytes} bytes in one piece: {device} has no buffers of more than {largest}")]
    TooLarge {
        /// Who.
        device: String,
        /// How much was asked for.
        bytes: usize,
        /// The most there is.
        largest: usize,
    },
    /// A kernel that the device cannot run.
    #[error("{device} cannot run the kernel `{kernel}`: {why}")]
    Kernel {
        /// Who.
        device: String,
        /// The kernel.
        kernel: String,
        /// What it would take.
        why: String,
    },
    /// The device is gone: unplugged, reset by its driver, or given to somebody else.
    #[error("{device} was lost: {why}; start again, and look at the system's log if it happens again")]
    Lost {
        /// Who.
        device: String,
        /// What the driver says.
        why: String,
    },
    /// The driver refused something that should be right.
    #[error(
        "{device} refused {what}: {why}; this is a mistake in this program or in the driver, please report it"
    )]
    Refused {
        /// Who.
        device: String,
        /// What was asked for.
        what: String,
        /// What the driver says.
        why: String,
    },
    /// A weight whose bytes do not fit its shape.
    #[error("a weight {ty}[{rows}, {row_len}] has {found} bytes")]
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
    /// A program that breaks a rule; always a bug of the compiler.
    #[error("program refused at step {step} (`{kernel}`): {why}")]
    Program {
        /// Which step.
        step: usize,
        /// Its kernel.
        kernel: String,
        /// The rule.
        why: String,
    },
    /// A buffer, program or range that does not exist; always a bug of the caller.
    #[error("{0}")]
    Usage(String),
    /// An index in the step's data pointed outside the buffer it indexes. Within the buffer, which has room for the largest step, it is
    /// the caller who knows what the step filled.
    #[error("`{kernel}`: an index in its data lies outside of what it indexes; the step's results are void")]
    Index {
        /// The kernel that met it.
        kernel: String,
    },
}

/// Where a device stands: how many buffers and programs it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Buffers.
    pub buffers: usize,
    /// Programs.
    pub programs: usize,
}

/// Somewhere programs run.
///
/// Buffers and programs live as long as the device, or until it is [rewound](Device::rewind). Nothing here blocks except [`Device::replay`] and what waits for
/// its results.
pub trait Device: Send {
    /// What the device is.
    fn caps(&self) -> &Caps;

    /// A new buffer of zeros.
    ///
    /// # Errors
    /// [`DeviceError::Memory`].
    fn alloc(&mut self, bytes: usize) -> Result<BufferId, DeviceError>;

    /// Takes a weight in, in whatever layout the device likes best. It can be read by kernels only.
    ///
    /// # Errors
    /// [`DeviceError::Memory`] or [`DeviceError::Weight`].
    fn pack(&mut self, weight: Weight) -> Result<BufferId, DeviceError>;

    /// How weights are packed that products multiply by; `None` if the device needs none of that.
    fn packing(&self) -> Option<&'static dyn Packing> {
        None
    }

    /// Takes a weight in together with its tiles, one after another, as [`Device::packing`] made them. (A device that is given none makes
    /// them itself when a program multiplies by the weight.)
    ///
    /// # Errors
    /// [`DeviceError::Memory`] or [`DeviceError::Weight`].
    fn pack_tiles(&mut self, weight: Weight, tiles: WeightBytes) -> Result<BufferId, DeviceError> {
        drop(tiles);
        self.pack(weight)
    }

    /// Checks and prepares a program for replay.
    ///
    /// # Errors
    /// [`DeviceError::Program`], [`DeviceError::Memory`].
    fn compile(&mut self, program: &Program) -> Result<ProgramId, DeviceError>;

    /// Copies bytes into a buffer.
    ///
    /// # Errors
    /// [`DeviceError::Usage`].
    fn write(&mut self, buffer: BufferId, offset: usize, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Copies bytes out of a buffer.
    ///
    /// # Errors
    /// [`DeviceError::Usage`].
    fn read(&self, buffer: BufferId, offset: usize, out: &mut [u8]) -> Result<(), DeviceError>;

    /// Runs a program once. `sizes` must not exceed the program's. Allocates nothing, locks nothing, logs nothing. A device that works beside the host
    /// may return before it is done, and then tells of what goes wrong later; whatever is asked of it afterwards finds the program done.
    ///
    /// # Errors
    /// [`DeviceError::Usage`], [`DeviceError::Index`].
    fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError>;

    /// Returns when all that was begun is done: for who takes the time.
    ///
    /// # Errors
    /// What went wrong meanwhile.
    fn wait(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    /// [`Device::replay`], with notes for each worker of when it was at which step; returns when it is done. By then [`Timings::begin`] has made room,
    /// so that nothing more is allocated while the program runs.
    ///
    /// # Errors
    /// Those of [`Device::replay`]; [`DeviceError::Usage`] from a device that cannot tell.
    fn replay_timed(
        &mut self,
        program: ProgramId,
        sizes: &Sizes,
        timings: &mut Timings,
    ) -> Result<(), DeviceError> {
        let _ = (program, sizes, timings);
        let name = &self.caps().name;
        Err(DeviceError::Usage(format!("{name} has no clock for single kernels, so it cannot be profiled")))
    }

    /// How it lays kernels out, if that can be varied.
    fn schedules(&mut self) -> Option<&mut dyn Schedules> {
        None
    }

    /// Where the device stands; `None` from one that gives no room back.
    fn mark(&self) -> Option<Mark> {
        None
    }

    /// Forgets every buffer and program that was made since `mark`, and gives their room back. Who still has their ids does not use them.
    fn rewind(&mut self, mark: Mark) {
        let _ = mark;
    }
}
