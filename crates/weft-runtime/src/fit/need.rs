//! The memory that a model needs on a device, as numbers and as a sentence.

use std::fmt;

/// The memory that a model needs on a device. All sizes are in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryNeed {
    /// The device.
    pub device: String,
    /// The most tokens that the KV cache has room for.
    pub tokens: usize,
    /// The weights, as the device lays them out.
    pub weights: u64,
    /// The KV cache.
    pub cache: u64,
    /// The states of whole sequences, which the KV cache does not include; 0 if the model has none.
    pub states: u64,
    /// The number of these states: of sequences that are computed, and snapshots of the prefix cache.
    pub slots: usize,
    /// The inputs of a step, values between kernels, and scratch memory of kernels.
    pub values: u64,
    /// The memory of the device that is free, if the device knows.
    pub free: Option<u64>,
}

impl MemoryNeed {
    /// All of it.
    pub fn total(&self) -> u64 {
        self.weights + self.cache + self.states + self.values
    }

    /// How much more memory is needed than is free; 0 if it suffices, or if the device does not know.
    pub fn missing(&self) -> u64 {
        self.free.map_or(0, |free| self.total().saturating_sub(free))
    }
}

/// A sentence or two: what is needed, and whether there is as much.
impl fmt::Display for MemoryNeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemoryNeed { device, tokens, weights, cache, states, slots, values, free } = self;
        write!(
            f,
            "the model needs {} on {device}: {} for weights, {} for a KV cache of {tokens} tokens",
            Size(self.total()),
            Size(*weights),
            Size(*cache),
        )?;
        if *states > 0 {
            write!(f, ", {} for {slots} states of sequences", Size(*states))?;
        }
        write!(f, " and {} to compute", Size(*values))?;
        match (free, self.missing()) {
            (None, _) => Ok(()),
            (Some(free), 0) => write!(f, "; {} is free", Size(*free)),
            (Some(free), missing) => write!(f, "; {} is free, so {} is missing", Size(*free), Size(missing)),
        }
    }
}

/// Bytes in binary units, as drivers count memory.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MIB: f64 = (1 << 20) as f64;
        let mib = self.0 as f64 / MIB;
        // 1023.5 MiB would be written as 1024.
        if mib < 1023.5 { write!(f, "{mib:.0} MiB") } else { write!(f, "{:.1} GiB", mib / 1024.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_need_is_a_sentence() {
        const GIB: u64 = 1 << 30;
        let need = |free| MemoryNeed {
            device: "cuda (A Card)".into(),
            tokens: 4096,
            weights: 16 * GIB,
            cache: GIB / 4,
            states: 0,
            slots: 0,
            values: GIB / 2,
            free,
        };
        let needed = "the model needs 16.8 GiB on cuda (A Card): 16.0 GiB for weights, 256 MiB for a KV cache of 4096 \
                      tokens and 512 MiB to compute";
        for (free, rest, missing) in [
            (None, "", 0),
            (Some(24 * GIB), "; 24.0 GiB is free", 0),
            (Some(67 * GIB / 4), "; 16.8 GiB is free", 0),
            (Some(12 * GIB), "; 12.0 GiB is free, so 4.8 GiB is missing", 19 * GIB / 4),
        ] {
            assert_eq!(need(free).to_string(), format!("{needed}{rest}"));
            assert_eq!(need(free).missing(), missing);
        }
        let with_states = MemoryNeed { states: GIB / 4, slots: 10, ..need(None) };
        let needed = needed.replace("16.8 GiB on", "17.0 GiB on");
        let needed = needed.replace(" and 512 MiB", ", 256 MiB for 10 states of sequences and 512 MiB");
        assert_eq!(with_states.to_string(), needed);
    }
}
