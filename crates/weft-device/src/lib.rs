//! The [`Device`] trait, the [`Program`] it replays, and the reference and null devices.
//!
//! A device knows kernels and buffers. It does not know tensors' names, layers or models: [`link()`] has turned those into regions of
//! buffers before a program reaches it.
#![forbid(unsafe_code)]

mod device;
mod link;
mod null;
mod packing;
mod program;
mod reference;
mod schedules;
mod timings;

pub use device::{BufferId, Caps, Device, DeviceError, Mark, ProgramId, Weight, WeightBytes};
pub use link::{Instance, LinkError, Linked, link};
pub use null::NullDevice;
pub use packing::{Packing, RowsOf16, Tile};
pub use program::{Program, Region, Step};
pub use reference::ReferenceDevice;
pub use schedules::{Departure, Order, Scheduled, Schedules};
pub use timings::{Lane, Span, Timings};
