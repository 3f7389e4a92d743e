//! The [`Device`] trait, and the [`Program`]s that devices replay.
//!
//! A device knows kernels and buffers, and nothing about layers, models or the names of tensors: [`link()`] binds plans
//! to buffers before a program reaches it.
//!
//! ```
//! use weft_device::{Device, ReferenceDevice};
//!
//! let mut device = ReferenceDevice::default();
//! let buffer = device.alloc(8)?;
//! device.write(buffer, 4, &1.5f32.to_le_bytes())?;
//! let mut bytes = [0; 8];
//! device.read(buffer, 0, &mut bytes)?;
//! assert_eq!(bytes, [0, 0, 0, 0, 0, 0, 0xc0, 0x3f]);
//! # Ok::<(), weft_device::DeviceError>(())
//! ```
//!
//! Start with [`Device`]. Abilities that not every device has are traits of their own: [`Timing`], [`Tuning`],
//! [`Checkpoints`]. A [`Backend`] finds and opens devices of one kind. A [`SplitDevice`] is two devices that run programs
//! together.
//!
//! Two devices are here: the [`ReferenceDevice`] interprets kernels and defines what every other device must compute;
//! the [`NullDevice`] computes nothing, for tests.
#![forbid(unsafe_code)]

mod ask;
mod backend;
mod checkpoints;
mod device;
mod error;
mod forward;
mod hardware;
mod ids;
mod info;
mod link;
mod null;
mod packing;
mod placement;
mod program;
mod reference;
mod roof;
mod split;
mod staging;
mod streaming;
mod target;
mod timing;
mod timings;
mod tuning;
mod weight;

pub use ask::replay_timed;
pub use backend::{Backend, OpenError, OpenOptions, choose};
pub use checkpoints::{Checkpoints, Mark};
pub use device::{Caps, Device};
pub use error::DeviceError;
pub use forward::Forward;
pub use hardware::Hardware;
pub use ids::{BufferId, ProgramId};
pub use info::{DeviceInfo, DeviceKind, Fact, FactValue};
pub use link::{COLUMN_BYTES, Instance, LinkError, Linked, LinkedPart, link};
pub use null::NullDevice;
pub use packing::{Packing, RowsOf16, Tile};
pub use placement::{Crossings, Placement, Side};
pub use program::{KernelLaunch, Program, Region};
pub use reference::{ReferenceBackend, ReferenceDevice};
pub use roof::{Probe, Roof};
pub use split::SplitDevice;
pub use staging::Staging;
pub use streaming::{RowsCopied, Streaming};
pub use target::{SourceText, Target};
pub use timing::Timing;
pub use timings::{Lane, Span, Timings};
pub use tuning::{Departure, Order, Scheduled, Tuning};
pub use weight::{Weight, WeightBytes};
