//! What the machine can do at most, for each number of threads.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use weft_cpu::{Probe, Roof};

use crate::OnProgress;
use crate::error::Error;
use crate::host::Host;
use crate::samples::Samples;

/// How long a roof is measured for one sample.
pub(crate) const SAMPLE: Duration = Duration::from_millis(50);

/// Samples of each roof at each number of threads.
const SAMPLES: usize = 5;

/// Every number of threads up to this is measured; of more only powers of two, and all.
const EACH: usize = 4;

/// How many times the last-level cache is read, so that nearly all of it comes from memory.
const CACHES: u64 = 4;

/// Least and most bytes read, and what is read where the size of the cache is not known.
const BYTES: [u64; 3] = [256 << 20, 4 << 30, 1 << 30];

/// What a machine can do at most.
#[derive(Clone, PartialEq, Debug)]
pub struct Roofline {
    /// The machine.
    pub host: Host,
    /// For each number of threads, the fewest first.
    pub roofs: Vec<Roofs>,
}

/// What a device can do at most: the processor with so many threads, or another one, of which only reading is known.
#[derive(Clone, PartialEq, Debug)]
pub struct Roofs {
    /// How many threads of the processor compute, or prepare for the device that does.
    pub threads: NonZeroUsize,
    /// Bytes a second read from memory.
    pub read: Samples,
    /// Bytes a second read from memory by threads that go from one end to the other: less, but what most loops can hope for.
    pub read_in_order: Samples,
    /// Multiplications a second of 8-bit integers, with their additions.
    pub dot: Samples,
    /// Multiplications a second of `f32`, with their additions.
    pub mul_add: Samples,
}

impl Roofs {
    pub(crate) fn new(threads: NonZeroUsize) -> Roofs {
        let [read, read_in_order, dot, mul_add] = [const { Samples::new() }; 4];
        Roofs { threads, read, read_in_order, dot, mul_add }
    }

    /// Takes one sample more.
    pub(crate) fn sample(&mut self, probe: &mut Probe, roof: Roof) -> Result<(), Error> {
        let sample = probe.sample(roof, self.threads, SAMPLE).map_err(weft_engine::Error::from)?;
        match roof {
            Roof::Read => self.read.push(sample),
            Roof::ReadInOrder => self.read_in_order.push(sample),
            Roof::Dot => self.dot.push(sample),
            Roof::MulAdd => self.mul_add.push(sample),
        }
        Ok(())
    }

    /// The samples of a roof; none if it was not measured.
    pub fn of(&self, roof: Roof) -> &Samples {
        match roof {
            Roof::Read => &self.read,
            Roof::ReadInOrder => &self.read_in_order,
            Roof::Dot => &self.dot,
            Roof::MulAdd => &self.mul_add,
        }
    }

    /// What was measured of them, for programs.
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

impl Roofline {
    /// All of it, for programs.
    pub fn json(&self) -> Value {
        json!({ "machine": self.host.json(), "roofs": self.roofs.iter().map(Roofs::json).collect::<Value>() })
    }
}

/// Measures the machine with 1 to `most` threads, in less than ten seconds. Samples of everything are taken in turns, so that what comes over
/// the machine meanwhile comes over all of it.
///
/// # Errors
/// If threads cannot be started; [`Error::Interrupted`] if it was cancelled.
pub fn roofline(
    probe: &mut Probe,
    most: NonZeroUsize,
    cancel: &AtomicBool,
    on: OnProgress<'_>,
) -> Result<Roofline, Error> {
    let mut roofs: Vec<Roofs> = thread_counts(most).into_iter().map(Roofs::new).collect();
    let all = [Roof::Read, Roof::ReadInOrder, Roof::Dot, Roof::MulAdd];
    let (mut done, total) = (0, (SAMPLES * roofs.len() * all.len()) as u64);
    on(done, total);
    for _ in 0..SAMPLES {
        for roofs in &mut roofs {
            for roof in all {
                if cancel.load(Ordering::Relaxed) {
                    return Err(Error::Interrupted);
                }
                roofs.sample(probe, roof)?;
                done += 1;
                on(done, total);
            }
        }
    }
    Ok(Roofline { host: Host::this(), roofs })
}

/// A probe with so much to read that the caches of this machine do not matter; a gigabyte or so.
///
/// # Errors
/// If there is not so much memory.
pub fn probe() -> Result<Probe, Error> {
    let host = Host::this();
    let bytes = usize::try_from(bytes_to_read(host.cache)).unwrap_or(usize::MAX);
    Ok(Probe::new(host.isa, bytes).map_err(weft_engine::Error::from)?)
}

fn bytes_to_read(cache: Option<u64>) -> u64 {
    let [least, most, unknown] = BYTES;
    cache.map_or(unknown, |cache| cache.saturating_mul(CACHES).clamp(least, most))
}

fn thread_counts(most: NonZeroUsize) -> Vec<NonZeroUsize> {
    let some = |&n: &usize| n <= EACH || n.is_power_of_two() || n == most.get();
    (1..=most.get()).filter(some).filter_map(NonZeroUsize::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_threads_are_measured_each_and_many_by_powers_of_two() {
        let counts = |most| -> Vec<usize> {
            thread_counts(NonZeroUsize::new(most).unwrap()).into_iter().map(NonZeroUsize::get).collect()
        };
        assert_eq!(counts(1), [1]);
        assert_eq!(counts(4), [1, 2, 3, 4]);
        assert_eq!(counts(6), [1, 2, 3, 4, 6]);
        assert_eq!(counts(64), [1, 2, 3, 4, 8, 16, 32, 64]);
        assert_eq!(counts(96), [1, 2, 3, 4, 8, 16, 32, 64, 96]);
    }

    #[test]
    fn several_times_the_cache_is_read_within_reason() {
        let mib = 1 << 20;
        for (cache, bytes) in [
            (None, 1024 * mib),
            (Some(0), 256 * mib),
            (Some(2 * mib), 256 * mib),
            (Some(100 * mib), 400 * mib),
            (Some(u64::MAX), 4096 * mib),
        ] {
            assert_eq!(bytes_to_read(cache), bytes, "{cache:?}");
        }
    }

    #[test]
    fn samples_go_to_the_roof_they_are_of() {
        let mut probe = Probe::new(Host::this().isa, 1 << 20).unwrap();
        let mut roofs = Roofs::new(NonZeroUsize::MIN);
        for (roof, times) in [(Roof::Read, 1), (Roof::ReadInOrder, 2), (Roof::Dot, 3), (Roof::MulAdd, 4)] {
            for _ in 0..times {
                roofs.sample(&mut probe, roof).unwrap();
            }
            assert_eq!(roofs.of(roof).all().len(), times, "{roof:?}");
        }
        assert_eq!(roofs.json()["mul_add_multiplications_per_second"], roofs.mul_add.json());
    }

    #[test]
    fn measuring_ends_when_it_is_cancelled() {
        let (cancel, mut told) = (AtomicBool::new(false), Vec::new());
        let mut probe = Probe::new(Host::this().isa, 1 << 20).unwrap();
        let ended = roofline(&mut probe, NonZeroUsize::MIN, &cancel, &mut |done, total| {
            told.push((done, total));
            cancel.store(done == 2, Ordering::Relaxed);
        });
        assert!(matches!(ended, Err(Error::Interrupted)));
        assert_eq!(told, [(0, 20), (1, 20), (2, 20)]);
    }
}
