//! What a machine can do, in the few numbers that decide between plans.

/// The capabilities of a device, as far as they are needed to say which of two plans is faster.
///
/// Rates are those that a device's own kernels reach, not its maker's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    /// How many pieces of work run at the same time: threads, or groups of a GPU.
    pub workers: u64,
    /// Nanoseconds from the end of a kernel's work to the beginning of the next one's.
    pub launch_ns: u64,
    /// Bytes of weights a second that one worker reads and multiplies by one row.
    pub worker_bytes: u64,
    /// Bytes a second that all workers read together, at most.
    pub bytes: u64,
    /// Multiplications a second of one worker, if weights are at hand.
    pub worker_multiplications: u64,
    /// Values a second that one instruction of a row program makes, on one worker.
    pub worker_values: u64,
}

impl Default for Machine {
    /// One core of a common processor.
    fn default() -> Machine {
        Machine {
            workers: 1,
            launch_ns: 1_000,
            worker_bytes: 8_000_000_000,
            bytes: 20_000_000_000,
            worker_multiplications: 40_000_000_000,
            worker_values: 12_000_000_000,
        }
    }
}
