//! A description of this machine.

use std::fs;
use std::num::NonZeroUsize;
use std::thread;

use serde_json::{Value, json};
use weft_cpu::{Isa, processor_name};

/// A machine, described for people who compare measurements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    /// The name of the CPU; only its architecture if the system does not tell.
    pub cpu: String,
    /// The operating system and the architecture: `linux x86_64`.
    pub system: String,
    /// The number of hardware threads.
    pub threads: NonZeroUsize,
    /// The instruction set that kernels use.
    pub isa: Isa,
    /// Bytes of the last-level cache, if the system tells.
    pub cache: Option<u64>,
}

impl Host {
    /// Describes this machine.
    pub fn this() -> Host {
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        Host {
            cpu: processor_name(),
            system: format!("{os} {arch}"),
            threads: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            isa: Isa::best(),
            cache: last_level_cache(),
        }
    }

    /// Everything as JSON.
    pub fn json(&self) -> Value {
        let Host { cpu, system, threads, isa, cache } = self;
        json!({
            "cpu": cpu,
            "system": system,
            "threads": threads,
            "isa": isa.name(),
            "last_level_cache_bytes": cache,
        })
    }
}

/// The largest cache that Linux lists for the first CPU.
fn last_level_cache() -> Option<u64> {
    let size = |index| fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size"));
    (0..8).filter_map(|index| cache_size(&size(index).ok()?)).max()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_name() {
        let host = Host::this();
        assert!(!host.cpu.is_empty() && host.isa.is_available());
        assert_eq!(host.json()["threads"], host.threads.get());
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
}
