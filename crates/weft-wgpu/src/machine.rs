//! What adapters can do, for the compiler's decisions by cost.
//!
//! No graphics interface tells bandwidths or numbers of cores, so these are tables by kind of adapter. They only have to be right by their
//! proportions: a launch costs as much as reading a megabyte or more, and what every workgroup computes again for itself is not cheap.

use weft_device::DeviceKind;
use weft_kern::Machine;

/// What an adapter of a kind can do. Software runs on so many `threads`.
///
/// A launch with the barrier before it: 5.2 µs measured by others on Metal (by adding launches to a step), 5 to 10 on Vulkan. Bandwidth: a card of the
/// middle has 500 GB/s and 40 cores, what shares the processor's memory 80 and 8.
pub(crate) fn machine(kind: DeviceKind, threads: usize) -> Machine {
    let card = |workers: u64, gigabytes: u64| Machine {
        workers,
        launch_ns: 7_000,
        // One workgroup alone does not fill a core's share of the bandwidth.
        worker_bytes: gigabytes * 1_000_000_000 / workers,
        bytes: gigabytes * 1_000_000_000,
        worker_multiplications: 500_000_000_000,
        worker_values: 20_000_000_000,
    };
    match kind {
        DeviceKind::Discrete | DeviceKind::Virtual => card(40, 500),
        DeviceKind::Integrated | DeviceKind::Other => card(8, 80),
        DeviceKind::Software | DeviceKind::Processor => Machine {
            workers: threads as u64,
            launch_ns: 20_000,
            worker_bytes: 1_000_000_000,
            bytes: 10_000_000_000,
            worker_multiplications: 2_000_000_000,
            worker_values: 1_000_000_000,
        },
    }
}
