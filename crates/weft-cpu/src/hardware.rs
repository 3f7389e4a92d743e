//! The CPU as hardware: its name, its threads, and the cost model's numbers until it has been measured.

use std::thread::available_parallelism;

use weft_device::Hardware;
use weft_kern::Machine;

use crate::isa::Isa;

/// More threads than this are a mistake.
pub(crate) const MAX_THREADS: usize = 1024;

/// The number of threads: the number asked for, or as many as the machine runs at once.
pub(crate) fn threads(wanted: Option<usize>) -> usize {
    wanted.unwrap_or_else(|| available_parallelism().map_or(1, |n| n.get().min(MAX_THREADS)))
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
    }
}

/// The CPU's name; its architecture if the system does not report a name.
pub fn processor_name() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    model_name(&info).unwrap_or(std::env::consts::ARCH).into()
}

/// The CPU's name in Linux's `/proc/cpuinfo`, which has it for x86 and some other architectures.
fn model_name(info: &str) -> Option<&str> {
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, name)| name.trim()).filter(|name| !name.is_empty())
}

/// The memory that programs can still get, in bytes, if the system reports it.
pub fn available_memory() -> Option<u64> {
    available(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

/// The available memory in Linux's `/proc/meminfo`.
fn available(info: &str) -> Option<u64> {
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_what_the_system_calls_it() {
        let info = "processor\t: 0\nmodel name\t: A Processor: 3 GHz \nmodel name\t: another\n";
        assert_eq!(model_name(info), Some("A Processor: 3 GHz"));
        for nameless in ["", "processor: 0\n", "model name\t:\n", "model name\n"] {
            assert_eq!(model_name(nameless), None, "{nameless:?}");
        }
    }

    #[test]
    fn available_memory_is_what_linux_reports() {
        let info = "MemTotal:       24000000 kB\nMemAvailable:    2000000 kB\nBuffers: 1 kB\n";
        assert_eq!(available(info), Some(2_048_000_000));
        for silent in
            ["", "MemAvailable:\n", "MemAvailable: many kB\n", "MemAvailable: 18446744073709551615 kB\n"]
        {
            assert_eq!(available(silent), None, "{silent:?}");
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
