//! Cards as hardware: how fast they are, as far as can be known without measuring.

use weft_device::Hardware;
use weft_kern::Machine;

use crate::card::Card;

/// Bytes per second that a card's memory has if the driver does not say: a mid-range card's.
const BANDWIDTH: u64 = 500_000_000_000;

/// A card with its driver.
pub(crate) fn hardware(card: &Card) -> Hardware {
    let workers = u64::from(card.processors.max(1));
    let bytes = card.bandwidth.unwrap_or(BANDWIDTH);
    Hardware {
        key: card.key(),
        // Texts say in which order numbers are rounded, and each architecture rounds in its own way in `expf` alone.
        numbers: format!("cuda {}", card.architecture()),
        machine: Machine {
            workers,
            // A kernel that depends on the one before it, measured on an H200.
            launch_ns: 1_000,
            worker_bytes: bytes / workers,
            bytes,
            // 64 `dp4a` a clock, at about 1.7 GHz.
            worker_multiplications: 435_000_000_000,
            worker_float_multiplications: 218_000_000_000,
            worker_values: 20_000_000_000,
            // The last workgroup to arrive has the row.
            row_workers: 16,
        },
        // Lanes that share a sum add it up in another order.
        rules_keep_bits: false,
        distant: true,
        batch: Hardware::BATCH,
    }
}
