//! Which of two devices holds what.

use std::ops::Range;
use std::time::Duration;

use crate::error::DeviceError;
use crate::ids::BufferId;
use crate::target::SourceText;
use crate::weight::Weight;

/// One of two devices.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Side {
    /// The first.
    First,
    /// The second.
    Second,
}

impl Side {
    /// Both of them.
    pub const ALL: [Side; 2] = [Side::First, Side::Second];

    /// The other one.
    pub fn other(self) -> Side {
        match self {
            Side::First => Side::Second,
            Side::Second => Side::First,
        }
    }
}

/// A device whose buffers are on one of two sides.
pub trait Placement {
    /// The name of a side's device.
    fn name_of(&self, side: Side) -> &str;

    /// The free memory of a side's device in bytes, if it knows that.
    fn free_memory_of(&self, side: Side) -> Option<u64>;

    /// The texts of a side's device, if it runs any.
    fn text_of(&self, side: Side) -> Option<&dyn SourceText>;

    /// Makes buffers and weights on this side from now on, or on both.
    fn place(&mut self, side: Option<Side>);

    /// A weight that the first side reads in a slot, to which programs copy `rows` of it in time. Weights of one shape with the same number
    /// of a `slot` take turns there.
    ///
    /// # Errors
    /// [`DeviceError::Memory`] if there is no memory for the slot.
    fn stream(&mut self, weight: Weight, slot: usize, rows: &[Range<usize>])
    -> Result<BufferId, DeviceError>;

    /// Copies these rows of such a weight from now on.
    ///
    /// # Errors
    /// [`DeviceError::Usage`] if it is no such weight.
    fn stream_rows(&mut self, buffer: BufferId, rows: &[Range<usize>]) -> Result<(), DeviceError>;

    /// The speed of copies to slots in bytes per second, measured with one of them; `None` if there is no slot.
    ///
    /// # Errors
    /// Those of the copy.
    fn rate(&mut self) -> Result<Option<f64>, DeviceError>;

    /// What programs did on both sides so far.
    fn crossings(&self) -> Crossings;
}

/// What programs did on two sides.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Crossings {
    /// How often the second side waited for values of the first one.
    pub count: u64,
    /// How long it waited: for launches before, and the copies.
    pub waited: Duration,
    /// How long it computed.
    pub second: Duration,
}

impl Crossings {
    /// What happened since an earlier time.
    pub fn since(self, before: Crossings) -> Crossings {
        Crossings {
            count: self.count.saturating_sub(before.count),
            waited: self.waited.saturating_sub(before.waited),
            second: self.second.saturating_sub(before.second),
        }
    }

    /// Adds what happened at another time.
    pub fn add(&mut self, other: Crossings) {
        self.count += other.count;
        self.waited += other.waited;
        self.second += other.second;
    }
}
