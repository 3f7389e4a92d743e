//! GPUs as hardware: their speed, estimated without measuring.
//!
//! Graphics APIs report neither bandwidth nor the number of cores, so this is a table by kind. Only its proportions have to be right:
//! a launch costs as much as reading a megabyte or more, and work that every workgroup repeats is not cheap.

use weft_device::{DeviceKind, Hardware};
use weft_kern::Machine;
use weft_render::STEPS_OF_WAVES;

use crate::adapter::Adapter;

/// The tokens of a step on a GPU that also draws the screen, which waits for each step.
const SHORT_BATCH: usize = 128;

/// An adapter with its driver. A software adapter runs on `threads` threads.
pub(crate) fn hardware(adapter: &Adapter, threads: usize) -> Hardware {
    let software =
        if adapter.kind() == DeviceKind::Software { format!(", {threads} threads") } else { String::new() };
    let key = format!("gpu {}{software}", adapter.key());
    Hardware {
        // Drivers compile, and may contract or reorder.
        numbers: key.clone(),
        key,
        machine: machine(adapter.kind(), threads),
        // Lanes that share a sum add it up in another order.
        rules_keep_bits: false,
        // Software computes in the host's memory.
        distant: !matches!(adapter.kind(), DeviceKind::Software | DeviceKind::Processor),
        batch: if has_time_limit(adapter.kind()) { SHORT_BATCH } else { Hardware::BATCH },
        // Where schedules fill the GPU exactly, those for many tokens are bad for a few.
        steps: if adapter.gpu().processors > 0 { &STEPS_OF_WAVES } else { Hardware::STEPS },
        short_contexts: [None; 2],
    }
}

/// Whether long submissions are ended on adapters of a kind.
pub(crate) fn has_time_limit(kind: DeviceKind) -> bool {
    matches!(kind, DeviceKind::Integrated | DeviceKind::Other)
}

/// How fast an adapter of a kind is.
///
/// A launch with the barrier before it: 5.2 µs measured by others on Metal (by adding launches to a step), 5 to 10 on Vulkan. Bandwidth: a
/// mid-range card has 500 GB/s and 40 cores; what shares the processor's memory, 80 and 8.
pub(crate) fn machine(kind: DeviceKind, threads: usize) -> Machine {
    let card = |workers: u64, gigabytes: u64| Machine {
        workers,
        launch_ns: 7_000,
        // One workgroup alone does not fill a core's share of the bandwidth.
        worker_bytes: gigabytes * 1_000_000_000 / workers,
        bytes: gigabytes * 1_000_000_000,
        worker_multiplications: 500_000_000_000,
        worker_float_multiplications: 250_000_000_000,
        worker_values: 20_000_000_000,
        row_workers: 1,
        columns: 32,
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
            worker_float_multiplications: 2_000_000_000,
            worker_values: 1_000_000_000,
            row_workers: 1,
            columns: 32,
        },
    }
}
