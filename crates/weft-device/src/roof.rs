//! Roofs: what hardware does only so much of per second, whatever the program.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use crate::error::DeviceError;

/// Something that hardware does only so much of per second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Roof {
    /// Reading from memory as fast as possible, in bytes.
    Read,
    /// Reading from memory, each thread from one end to the other, in bytes: what most loops can hope for.
    ReadInOrder,
    /// Multiplying 8-bit integers and adding the products in 32 bits, in multiplications.
    Dot,
    /// Multiplying and adding `f32` with one rounding, in multiplications.
    MulAdd,
}

impl Roof {
    /// Every roof.
    pub const ALL: [Roof; 4] = [Roof::Read, Roof::ReadInOrder, Roof::Dot, Roof::MulAdd];
}

/// Loops that do one thing and nothing else, written for the hardware: how fast they go is a roof.
///
/// A device that has none can still be measured by a program; but the rate that a program multiplies at says more about the program.
pub trait Probe: fmt::Debug + Send {
    /// How much so many threads together do per second, measured for about `time`.
    ///
    /// # Errors
    /// [`DeviceError::Usage`] if the threads cannot be started.
    fn sample(&mut self, roof: Roof, threads: NonZeroUsize, time: Duration) -> Result<f64, DeviceError>;
}
