//! Which machine this is, as far as it tells without asking anybody but its own files.

use std::fs;
use std::num::NonZeroUsize;
use std::thread;

use serde_json::{Value, json};
use weft_cpu::{Isa, processor_name};

/// The machine, for people who compare figures.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    /// The processor's name; only its architecture where the system does not tell.
    pub cpu: String,
    /// The system and the architecture: `linux x86_64`.
    pub system: String,
    /// Threads it runs at once.
    pub threads: NonZeroUsize,
    /// The instruction set that kernels use.
    pub isa: Isa,
    /// Bytes of the last-level cache, where the system tells.
    pub cache: Option<u64>,
}

impl Host {
    /// This one.
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

    /// All of it, for programs.
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

/// The largest cache that Linux lists for the first processor.
fn last_level_cache() -> Option<u64> {
    let size = |index| fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size"));
    (0..8).filter_map(|index| cache_size(&size(index).ok()?)).max()
}

/// Bytes, from the `2048K` of sysfs.
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
    fn this_machine_is_somebody() {
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
