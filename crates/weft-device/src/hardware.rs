//! The hardware under a device, as far as plans depend on it.

use weft_kern::Machine;

/// The hardware under a device: which it is, and how fast.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hardware {
    /// Tells it, its driver and how much of it is used from all others. What was measured on it is kept by this.
    pub key: String,
    /// How fast hardware of its kind is: what decisions by cost go by until it has been measured.
    pub machine: Machine,
    /// Whether a value has the same bits in whichever kernel it is computed: a weighted sum of products those of the products summed
    /// afterwards. Otherwise even a rule that keeps the bits of a graph may change those of the device.
    pub rules_keep_bits: bool,
}

impl Hardware {
    /// A common machine that exists nowhere: that of devices that are not to be fast.
    pub fn common(key: &str) -> Hardware {
        Hardware { key: key.into(), machine: Machine::default(), rules_keep_bits: true }
    }
}
