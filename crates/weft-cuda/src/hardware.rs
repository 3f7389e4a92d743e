//! Cards as hardware: how fast they are, as far as can be known without measuring.

use weft_device::Hardware;
use weft_gpu::cuda_hardware;

use crate::card::Card;

/// Bytes per second that a card's memory has if the driver does not say: a mid-range card's.
const BANDWIDTH: u64 = 500_000_000_000;

/// A card with its driver.
pub(crate) fn hardware(card: &Card) -> Hardware {
    // Texts say in which order numbers are rounded, and each architecture rounds in its own way in `expf` alone.
    let numbers = format!("cuda {}", card.architecture());
    cuda_hardware(card.key(), numbers, card.processors, card.bandwidth.unwrap_or(BANDWIDTH))
}
