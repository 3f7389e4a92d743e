//! The CPU as hardware: its name, its threads, and the cost model's numbers until it has been measured.

use std::thread::available_parallelism;

use weft_device::Hardware;
use weft_host::processor_name;
use weft_kern::Machine;

use crate::isa::Isa;

/// More threads than this are a mistake.
pub(crate) const MAX_THREADS: usize = 1024;

/// The number of threads: the number asked for, or as many as the machine runs at once at full speed. Threads wait for each
/// other after each kernel, so one on an efficiency core slows all of them down.
pub(crate) fn threads(wanted: Option<usize>) -> usize {
    let all = || available_parallelism().map_or(1, usize::from);
    wanted.unwrap_or_else(|| fast_threads(all(), weft_host::fast_threads()).min(MAX_THREADS))
}

/// The number of threads that performance cores run, if the system reports it; otherwise the number of all threads.
fn fast_threads(all: usize, performance: Option<usize>) -> usize {
    performance.map_or(all, |n| n.min(all))
}

/// The CPU with an instruction set and a number of threads.
pub(crate) fn hardware(isa: Isa, wanted: Option<usize>) -> Hardware {
    let threads = threads(wanted);
    Hardware {
        key: format!("cpu {}, {isa}, {threads} threads", processor_name()),
        // All instruction sets and all numbers of threads give the same bits.
        numbers: "cpu".into(),
        machine: Machine { workers: threads as u64, ..Machine::default() },
        rules_keep_bits: true,
        distant: false,
        batch: Hardware::BATCH,
        steps: Hardware::STEPS,
        short_contexts: [None; 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_those_of_performance_cores() {
        for (all, performance, expected) in
            [(16, None, 16), (16, Some(12), 12), (2, Some(4), 2), (4, Some(usize::MAX), 4)]
        {
            assert_eq!(fast_threads(all, performance), expected, "{performance:?} of {all}");
        }
    }

    #[test]
    fn hardware_is_told_by_what_speed_depends_on() {
        let of = |isa, threads| hardware(isa, Some(threads));
        assert_eq!(of(Isa::Portable, 3), of(Isa::Portable, 3));
        assert_ne!(of(Isa::Portable, 3).key, of(Isa::Portable, 2).key);
        assert_ne!(of(Isa::Portable, 3).key, of(Isa::Avx2, 3).key);
        assert_eq!(of(Isa::Portable, 3).machine.workers, 3);
        assert_eq!(of(Isa::Portable, 3).numbers, of(Isa::Avx2, 2).numbers);
    }
}
