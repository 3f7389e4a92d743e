//! The CPU as hardware: its name, its threads, and the cost model's numbers until it has been measured.

use std::thread::available_parallelism;

use weft_device::Hardware;
use weft_kern::Machine;

use crate::isa::Isa;
use crate::sysctl;

/// More threads than this are a mistake.
pub(crate) const MAX_THREADS: usize = 1024;

/// The number of threads: the number asked for, or as many as the machine runs at once at full speed. Threads wait for each
/// other after each kernel, so one on an efficiency core slows all of them down.
pub(crate) fn threads(wanted: Option<usize>) -> usize {
    let all = || available_parallelism().map_or(1, usize::from);
    wanted.unwrap_or_else(|| fast_threads(all(), sysctl::number("hw.perflevel0.logicalcpu")).min(MAX_THREADS))
}

/// The number of threads that performance cores run, if the system reports it; otherwise the number of all threads.
fn fast_threads(all: usize, performance: Option<u64>) -> usize {
    let performance = performance.and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
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
        near: [None; 2],
    }
}

/// The CPU's name; its architecture if the system does not report a name.
pub fn processor_name() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let linux = model_name(&info).map(str::to_string);
    linux
        .or_else(|| sysctl::text("machdep.cpu.brand_string"))
        .unwrap_or_else(|| std::env::consts::ARCH.into())
}

/// The bytes of the last-level cache, if the system reports it.
pub fn last_level_cache() -> Option<u64> {
    let size = |index| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
        cache_size(&std::fs::read_to_string(path).ok()?)
    };
    // Apple's performance cores share one.
    let apple = || {
        ["hw.perflevel0.l2cachesize", "hw.l3cachesize", "hw.l2cachesize"].into_iter().find_map(sysctl::number)
    };
    (0..8).filter_map(size).max().or_else(apple)
}

/// Parses a size of sysfs, as `2048K`, into bytes.
fn cache_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, unit) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        b'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
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
    fn threads_are_those_of_performance_cores() {
        for (all, performance, expected) in
            [(16, None, 16), (16, Some(12), 12), (16, Some(0), 16), (2, Some(4), 2), (4, Some(u64::MAX), 4)]
        {
            assert_eq!(fast_threads(all, performance), expected, "{performance:?} of {all}");
        }
    }

    #[test]
    fn sizes_of_caches_have_units() {
        let cases = [("48K\n", 49_152), ("2M", 2_097_152), ("1G", 1_073_741_824), ("512", 512)];
        for (text, bytes) in cases {
            assert_eq!(cache_size(text), Some(bytes), "{text:?}");
        }
        for wrong in ["", "K", "-1K", "1T", "20000000000000000G"] {
            assert_eq!(cache_size(wrong), None, "{wrong:?}");
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
