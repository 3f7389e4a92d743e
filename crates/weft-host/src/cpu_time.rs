//! The time that the machine's cores have spent.

/// The time that the machine's cores have spent since it was started, in the system's ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuTime {
    /// The number of hardware threads.
    pub cores: u32,
    /// All of it, summed over the cores.
    pub all: u64,
    /// Not idle: work, and what a virtual machine's host took.
    pub busy: u64,
    /// Of this process.
    pub own: u64,
}
