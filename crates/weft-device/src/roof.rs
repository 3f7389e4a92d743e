//! Roofs: the limits of hardware, and how they are measured.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use crate::error::DeviceError;

/// A resource whose rate limits what a program can reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Roof {
    /// Reading from memory as fast as possible, in bytes.
    Read,
    /// Reading from memory, each thread from one end to the other, in bytes: what most loops can reach at best.
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

/// Native loops that do one thing each: their rates are the hardware's roofs.
///
/// A device without a probe can still be measured by a program; but how fast a program multiplies says more about the program.
pub trait Probe: fmt::Debug + Send {
    /// The roofs that it measures.
    fn roofs(&self) -> &'static [Roof] {
        &Roof::ALL
    }

    /// The rate of one of its [roofs](Probe::roofs) that this many threads of the host reach together, per second, measured
    /// for about `time`. A device with processors of its own uses all of them whatever the number of threads.
    ///
    /// # Errors
    /// [`DeviceError::Usage`] if the threads cannot be started, or it does not measure this roof; the device's own.
    fn sample(&mut self, roof: Roof, threads: NonZeroUsize, time: Duration) -> Result<f64, DeviceError>;
}
