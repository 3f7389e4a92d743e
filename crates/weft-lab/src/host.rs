//! A description of this machine.

use std::num::NonZeroUsize;
use std::thread;

use serde_json::{Value, json};
use weft_cpu::Isa;
use weft_host::{last_level_cache, processor_name};

/// A machine, described for people who compare measurements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    /// The name of the CPU; only its architecture if the system does not report it.
    pub cpu: String,
    /// The operating system and the architecture: `linux x86_64`.
    pub system: String,
    /// The number of hardware threads.
    pub threads: NonZeroUsize,
    /// The fastest instruction set that it has. The name of a CPU as a device has the one that kernels use.
    pub isa: Isa,
    /// Bytes of the last-level cache, if the system reports them.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_name() {
        let host = Host::this();
        assert!(!host.cpu.is_empty() && host.isa.is_available());
        assert_eq!(host.json()["threads"], host.threads.get());
    }
}
