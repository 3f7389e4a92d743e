//! Measures the roofline of a device; on the CPU, for each number of threads.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use weft_device::Device;
use weft_kern::Machine;

use crate::OnProgress;
use crate::error::Error;
use crate::host::Host;
use crate::meter::Meter;
use crate::roofs::Roofs;
use crate::speed;

/// Samples of each limit at each number of threads.
const SAMPLES: usize = 5;

/// Every number of threads up to this is measured; beyond it, powers of two and the most.
const EACH: usize = 4;

/// The limits of a device.
#[derive(Clone, PartialEq, Debug)]
pub struct Roofline {
    /// The machine it is in.
    pub host: Host,
    /// The device's name.
    pub device: String,
    /// The limits for each number of threads, the fewest first; a single entry unless the device is the CPU.
    pub roofs: Vec<Roofs>,
    /// Its speed as the cost model needs it; `None` if the device is too slow to be measured.
    pub machine: Option<Machine>,
}

impl Roofline {
    /// Everything as JSON.
    pub fn json(&self) -> Value {
        json!({
            "machine": self.host.json(),
            "device": self.device,
            "roofs": self.roofs.iter().map(Roofs::json).collect::<Value>(),
            "cost_model": self.machine.as_ref().map(machine_json),
        })
    }
}

/// The numbers of a machine as JSON.
pub fn machine_json(machine: &Machine) -> Value {
    let named = machine.numbers().into_iter().map(|(name, number)| {
        let unit = if ["workers", "launch_ns"].contains(&name) { "" } else { "_per_s" };
        (format!("{name}{unit}"), json!(number))
    });
    named.collect()
}

/// Measures a device in about ten seconds; the CPU with 1 to `most` threads. Everything is sampled in turns, so that whatever disturbs the
/// machine affects all results alike.
///
/// # Errors
/// If threads cannot be started or the device fails; [`Error::Interrupted`] if it was cancelled.
pub fn roofline(
    device: &mut dyn Device,
    meter: &mut Meter,
    most: NonZeroUsize,
    cancel: &AtomicBool,
    on: OnProgress<'_>,
) -> Result<Roofline, Error> {
    let own = meter.has_own_loops();
    let all = NonZeroUsize::new(device.caps().threads).unwrap_or(NonZeroUsize::MIN);
    let threads = if own { thread_counts(most) } else { vec![all] };
    let wanted = meter.roofs();
    let mut roofs: Vec<Roofs> = threads.into_iter().map(Roofs::new).collect();
    let (mut done, total) = (0, (SAMPLES * roofs.len() * wanted.len()) as u64);
    on(done, total);
    for _ in 0..SAMPLES {
        for roofs in &mut roofs {
            for roof in &wanted {
                if cancel.load(Ordering::Relaxed) {
                    return Err(Error::Interrupted);
                }
                meter.sample(device, roofs, &[*roof])?;
                done += 1;
                on(done, total);
            }
        }
    }
    let machine = speed::measure(device, meter, cancel)?;
    Ok(Roofline { host: Host::this(), device: device.caps().name.clone(), roofs, machine })
}

fn thread_counts(most: NonZeroUsize) -> Vec<NonZeroUsize> {
    let some = |&n: &usize| n <= EACH || n.is_power_of_two() || n == most.get();
    (1..=most.get()).filter(some).filter_map(NonZeroUsize::new).collect()
}

#[cfg(test)]
mod tests {
    use weft_cpu::{CpuDevice, CpuOptions};

    use super::*;

    #[test]
    fn every_small_number_of_threads_is_measured_then_powers_of_two() {
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
    fn cancelling_stops_the_measurement() {
        let (cancel, mut told) = (AtomicBool::new(false), Vec::new());
        let mut device = CpuDevice::new(CpuOptions { threads: Some(1), ..CpuOptions::default() }).unwrap();
        let mut meter = Meter::from(device.probe(1 << 20).unwrap().unwrap());
        let ended = roofline(&mut device, &mut meter, NonZeroUsize::MIN, &cancel, &mut |done, total| {
            told.push((done, total));
            cancel.store(done == 2, Ordering::Relaxed);
        });
        assert!(matches!(ended, Err(Error::Interrupted)));
        assert_eq!(told, [(0, 20), (1, 20), (2, 20)]);
    }
}
