//! Linux reports facts in files.

use std::fs;

use crate::CpuTime;

/// The CPU's name in `/proc/cpuinfo`, which has it for x86 and some other architectures.
pub(crate) fn processor_name() -> Option<String> {
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    model_name(&info).map(str::to_string)
}

fn model_name(info: &str) -> Option<&str> {
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, name)| name.trim()).filter(|name| !name.is_empty())
}

pub(crate) fn last_level_cache() -> Option<u64> {
    let size = |index| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
        cache_size(&fs::read_to_string(path).ok()?)
    };
    (0..8).filter_map(size).max()
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

/// Not asked: processors report kinds of cores in different files.
pub(crate) fn fast_threads() -> Option<u64> {
    None
}

/// Linux places threads well enough alone.
pub(crate) fn prefer_fast_cores() {}

pub(crate) fn available_memory() -> Option<u64> {
    kilobytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

pub(crate) fn resident_memory(pid: u32) -> Option<u64> {
    kilobytes(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?, "VmRSS:")
}

/// The bytes of the line with this name, as `VmRSS:  12 kB`.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

pub(crate) fn cpu_time() -> Option<CpuTime> {
    let read = |path| fs::read_to_string(path).ok();
    times(&read("/proc/stat")?, &read("/proc/self/stat")?)
}

/// Reads `/proc/stat` and `/proc/self/stat`.
fn times(system: &str, own: &str) -> Option<CpuTime> {
    let cores = system.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count();
    let times = system.lines().find_map(|line| line.strip_prefix("cpu "))?;
    // User, nice, system, idle, waiting for disks, interrupts (2), stolen; guests are part of the user's.
    let times: Vec<u64> = times.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
    let sum = |times: &[u64]| times.iter().fold(0u64, |sum, one| sum.saturating_add(*one));
    let idle = times.get(3..5).map(sum)?;
    let all = sum(&times);
    // The name of the program, in parentheses, may contain anything.
    let (_, fields) = own.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|word| word.parse::<u64>().ok());
    let own = ticks(11)?.saturating_add(ticks(12)?);
    let cores = u32::try_from(cores).ok().filter(|cores| *cores > 0)?;
    Some(CpuTime { cores, all, busy: all - idle, own })
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
    fn memory_is_counted_in_kilobytes() {
        let info = "MemTotal:       24000000 kB\nMemAvailable:    2000000 kB\nBuffers: 1 kB\n";
        assert_eq!(kilobytes(info, "MemAvailable:"), Some(2_048_000_000));
        for silent in
            ["", "MemAvailable:\n", "MemAvailable: many kB\n", "MemAvailable: 18446744073709551615 kB\n"]
        {
            assert_eq!(kilobytes(silent, "MemAvailable:"), None, "{silent:?}");
        }
    }

    #[test]
    fn times_are_read_as_linux_writes_them() {
        let system = "cpu  100 20 30 400 50 6 7 8 90 1\ncpu0 1 2 3 4\ncpu1 1 2 3 4\nintr 5\n";
        let own = "77 (a) b) R 1 2 3 4 5 6 7 8 9 10 110 12 13 14 20\n";
        assert_eq!(times(system, own), Some(CpuTime { cores: 2, all: 621, busy: 171, own: 122 }));
        for (system, own) in [
            ("", own),
            ("cpu  1 2 3\ncpu0\n", own),
            ("cpu  1 2 3 4 5\n", own),
            (system, ""),
            (system, "1 (x) R 1"),
        ] {
            assert_eq!(times(system, own), None, "{system} {own}");
        }
    }
}
