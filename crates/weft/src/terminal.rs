//! The user's terminal: streams, progress, interrupts, and text set for a terminal.

pub(crate) mod interrupt;
pub(crate) mod mode;
pub(crate) mod progress;
pub(crate) mod readable;
pub(crate) mod result_file;
pub(crate) mod streams;
pub(crate) mod typeset;
pub(crate) mod units;
