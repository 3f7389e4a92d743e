//! The hardware under a device, as far as plans depend on it.

use weft_kern::Machine;

/// The hardware under a device: its identity and its speed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hardware {
    /// Identifies the hardware, its driver and the share of it in use, such as a number of threads. Measurements are kept under this key.
    pub key: String,
    /// Identifies all that bits depend on, except the program: devices with the same `numbers` compute the same bits, on any machine.
    pub numbers: String,
    /// The speed of such hardware according to a table, for decisions by cost until it has been measured.
    pub machine: Machine,
    /// Whether a value has the same bits whichever kernel computes it, so that for example a weighted sum of products equals the products
    /// summed afterwards. Otherwise even a rule that keeps the bits of a graph may change those of the device.
    pub rules_keep_bits: bool,
    /// Whether results are far from the host, in memory of the device's own, so that reading them takes longer the more
    /// there are: 600 kB of logits as long as several layers.
    pub distant: bool,
    /// The most tokens of a step that suit it, unless a user asks for more or fewer.
    pub batch: usize,
    /// The most tokens of short steps that have programs of their own, ascending and the first 1: to decode one sequence,
    /// and a few together. Bits do not depend on them.
    pub steps: &'static [usize],
    /// The lengths of context, ascending, up to which a step of one token has a program of its own: the renderer's kernels for longer
    /// contexts are slower there. Bits do not depend on them.
    pub short_contexts: [Option<usize>; 2],
}

impl Hardware {
    /// The most tokens of a step on hardware that nobody else waits for: prompts are about as fast with longer steps.
    pub const BATCH: usize = 512;

    /// The short steps of most hardware. How many workgroups a kernel has follows from the most tokens of its program, not
    /// from a step's.
    pub const STEPS: &'static [usize] = &[1, 16, 64];

    /// Nominal hardware with default numbers, for devices that are not built for speed.
    pub fn common(key: &str) -> Hardware {
        let (key, numbers) = (key.into(), key.into());
        let (machine, batch) = (Machine::default(), Hardware::BATCH);
        let steps = Hardware::STEPS;
        Hardware {
            key,
            numbers,
            machine,
            rules_keep_bits: true,
            distant: false,
            batch,
            steps,
            short_contexts: [None; 2],
        }
    }
}
