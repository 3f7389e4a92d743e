//! Replays that are timed launch by launch.

use weft_kern::Sizes;

use crate::error::DeviceError;
use crate::ids::ProgramId;
use crate::timings::Timings;

/// A device that can time single launches.
pub trait Timing {
    /// Runs a program as [`replay`](crate::Device::replay) does, records when each worker was at which launch, and returns when
    /// the program has finished. Calls [`Timings::begin`] first, which makes room, so that nothing is allocated while the program
    /// runs.
    ///
    /// # Errors
    /// Those of [`replay`](crate::Device::replay).
    fn replay_timed(
        &mut self,
        program: ProgramId,
        sizes: &Sizes,
        timings: &mut Timings,
    ) -> Result<(), DeviceError>;
}
