//! The clock of measurements, which tests replace.

use std::time::Duration;

/// Tells the time since some moment. That of a test need not be the real one.
pub(crate) type Now<'a> = &'a dyn Fn() -> Duration;
