//! Samples of the limits of a device: memory bandwidth and arithmetic rates.

use std::num::NonZeroUsize;

use serde_json::{Value, json};
use weft_device::Roof;

use crate::host::Host;
use crate::samples::Samples;

/// The multiple of the last-level cache that is read, so that nearly all of it comes from memory.
const CACHES: u64 = 4;

/// The fewest and most bytes that are read, and the bytes read if the size of the cache is not known.
const BYTES: [u64; 3] = [256 << 20, 4 << 30, 1 << 30];

/// The limits of a device: the CPU with a number of threads, or another device, of which only the memory bandwidth is known.
#[derive(Clone, PartialEq, Debug)]
pub struct Roofs {
    /// Threads of the CPU that compute, or that prepare work for another device.
    pub threads: NonZeroUsize,
    /// Bytes per second read from memory.
    pub read: Samples,
    /// Bytes per second read from memory by threads that read sequentially: fewer, but what most loops can reach.
    pub read_in_order: Samples,
    /// Multiply-accumulates of 8-bit integers per second.
    pub dot: Samples,
    /// Multiply-adds of `f32` per second.
    pub mul_add: Samples,
}

impl Roofs {
    pub(crate) fn new(threads: NonZeroUsize) -> Roofs {
        let [read, read_in_order, dot, mul_add] = [const { Samples::new() }; 4];
        Roofs { threads, read, read_in_order, dot, mul_add }
    }

    /// The samples of a limit; empty if it was not measured.
    pub fn of(&self, roof: Roof) -> &Samples {
        match roof {
            Roof::Read => &self.read,
            Roof::ReadInOrder => &self.read_in_order,
            Roof::Dot => &self.dot,
            Roof::MulAdd => &self.mul_add,
        }
    }

    pub(crate) fn of_mut(&mut self, roof: Roof) -> &mut Samples {
        match roof {
            Roof::Read => &mut self.read,
            Roof::ReadInOrder => &mut self.read_in_order,
            Roof::Dot => &mut self.dot,
            Roof::MulAdd => &mut self.mul_add,
        }
    }

    /// The limits that were measured, as JSON.
    pub fn json(&self) -> Value {
        let mut json = json!({ "threads": self.threads });
        for (name, samples) in [
            ("read_bytes_per_second", &self.read),
            ("read_in_order_bytes_per_second", &self.read_in_order),
            ("dot_multiplications_per_second", &self.dot),
            ("mul_add_multiplications_per_second", &self.mul_add),
        ] {
            if !samples.all().is_empty() {
                json[name] = samples.json();
            }
        }
        json
    }
}

/// Bytes that the CPU's probe should read on this machine so that its caches do not matter.
pub(crate) fn bytes_to_read() -> usize {
    usize::try_from(several_times(Host::this().cache)).unwrap_or(usize::MAX)
}

fn several_times(cache: Option<u64>) -> u64 {
    let [least, most, unknown] = BYTES;
    cache.map_or(unknown, |cache| cache.saturating_mul(CACHES).clamp(least, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_multiple_of_the_cache_is_read_within_bounds() {
        let mib = 1 << 20;
        for (cache, bytes) in [
            (None, 1024 * mib),
            (Some(0), 256 * mib),
            (Some(2 * mib), 256 * mib),
            (Some(100 * mib), 400 * mib),
            (Some(u64::MAX), 4096 * mib),
        ] {
            assert_eq!(several_times(cache), bytes, "{cache:?}");
        }
    }

    #[test]
    fn each_limit_has_its_own_samples() {
        let mut roofs = Roofs::new(NonZeroUsize::MIN);
        for (times, roof) in Roof::ALL.into_iter().enumerate() {
            (0..times).for_each(|i| roofs.of_mut(roof).push(i as f64));
        }
        for (times, roof) in Roof::ALL.into_iter().enumerate() {
            assert_eq!(roofs.of(roof).all().len(), times, "{roof:?}");
        }
        let json = roofs.json();
        assert_eq!(json["mul_add_multiplications_per_second"], roofs.mul_add.json());
        assert_eq!(json.get("read_bytes_per_second"), None, "it was not measured");
    }
}
