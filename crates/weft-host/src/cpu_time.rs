//! The time that the machine's cores have spent.

use crate::system;

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

impl CpuTime {
    /// The time up to now, where the system reports it.
    pub fn now() -> Option<CpuTime> {
        system::cpu_time()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on() {
        let Some(before) = CpuTime::now() else { return };
        let end = std::time::Instant::now() + std::time::Duration::from_millis(200);
        while std::time::Instant::now() < end {}
        let after = CpuTime::now().unwrap();
        assert!(
            after.own > before.own && after.all > before.all && after.busy <= after.all,
            "{before:?} {after:?}"
        );
        assert!(after.cores > 0);
    }
}
