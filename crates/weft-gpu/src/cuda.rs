//! NVIDIA cards as hardware: how fast they are, as far as can be known without measuring.
//!
//! The emulator is such hardware too, so that models have the same programs there as on a card.

use weft_device::Hardware;
use weft_kern::Machine;
use weft_render::{LEAST_COLUMNS, STEPS_WITH_CUDA, short_contexts};

/// Returns the hardware of a card with `processors` multiprocessors, and memory of `bandwidth` bytes per second. `key` identifies it with
/// its driver, and `numbers` identifies all that its bits depend on.
pub fn cuda_hardware(key: String, numbers: String, processors: u32, bandwidth: u64) -> Hardware {
    let workers = u64::from(processors.max(1));
    Hardware {
        key,
        numbers,
        machine: Machine {
            workers,
            // A kernel that depends on the one before it, measured on an H200.
            launch_ns: 1_000,
            worker_bytes: bandwidth / workers,
            bytes: bandwidth,
            // 64 `dp4a` a clock, at about 1.7 GHz.
            worker_multiplications: 435_000_000_000,
            worker_float_multiplications: 218_000_000_000,
            worker_values: 20_000_000_000,
            // The last workgroup to arrive has the row.
            row_workers: 16,
            columns: LEAST_COLUMNS,
        },
        // Lanes that share a sum add it up in another order.
        rules_keep_bits: false,
        distant: true,
        batch: Hardware::BATCH,
        steps: &STEPS_WITH_CUDA,
        short_contexts: short_contexts(processors).map(Some),
    }
}
