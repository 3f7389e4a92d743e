//! What GPUs can do, for the compiler's decisions by cost.
//!
//! No graphics API tells bandwidths or numbers of cores, so these are tables by kind of adapter.
//! Only the proportions matter: a launch costs as much as reading a megabyte or more, and what
//! every workgroup recomputes is not free.

use weft_device::DeviceKind;
use weft_kern::Machine;

/// What an adapter of this kind can do. Software runs on `threads` threads.
///
/// A launch, with the barrier before it, takes 5.2 µs on Metal (measured by others, by adding launches to a step) and 5 to 10 µs on Vulkan.
/// A mid-range discrete GPU has 500 GB/s and 40 cores, one that shares the processor's memory 80 GB/s and 8 cores.
pub(crate) fn machine(kind: DeviceKind, threads: usize) -> Machine {
    let card = |workers: u64, gigabytes: u64| Machine {
        workers,
        launch_ns: 7_000,
        // A workgroup alone does not use up a core's share of the bandwidth.
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
