//! Which of two devices holds what.

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
    /// Makes buffers and weights on this side from now on, or on both.
    fn place(&mut self, side: Option<Side>);
}
