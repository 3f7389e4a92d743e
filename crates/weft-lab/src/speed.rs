//! Measures the numbers that the cost model needs of a device, each with a kernel that does one thing.
//!
//! `docs/cost.md` says what the numbers mean. Rates are those that kernels reach, without the launch overhead, and [`Kernel::traffic`]
//! counts what a kernel does, as for the cost model. If a device refuses a kernel or has no room for it, the number from the table stays.
//!
//! The fastest of several samples counts: whatever disturbs the machine makes a sample slower, never faster.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weft_device::{Device, DeviceError, Mark, Region, Roof, Weight};
use weft_kern::{Kernel, Machine, Operation, Seen, Sizes, q8};
use weft_quant::GgmlType;

use crate::error::Error;
use crate::kernels;
use crate::meter::Meter;
use crate::repeat::Repeated;
use crate::samples::Samples;

/// Samples of each number, and the approximate duration of one.
const SAMPLES: usize = 10;
const SAMPLE: Duration = Duration::from_millis(10);

/// Empty launches beyond a single one, and samples of them: more than of others, because short samples are noisy.
const EMPTY: usize = 256;
const EMPTY_SAMPLES: usize = 100;

/// A device that reads fewer bytes per second is an interpreter. It is not measured, because that would take minutes.
const SLOWEST: f64 = 2e9;

/// The smallest fraction of a measured time that counts as work, even if what is subtracted from it, which is noisy, leaves less.
const LEAST_WORK: f64 = 0.2;

/// The values of a norm, and the rows of a large one.
const NORM: [usize; 2] = [4096, 16384];

/// The rows, columns and inner dimension of a product of many rows.
const PRODUCT: [usize; 3] = [128, 2048, 2048];

/// The matrices, columns and inner dimension of a product of one row, with as few columns as one worker computes.
const PICKED: [usize; 3] = [512, 32, 8192];

/// The type of weights for products in 8-bit integers.
const INTEGERS: GgmlType = GgmlType::Q4_0;

/// Measures the speed of a device in a second or two; `None` if the device is too slow for that.
///
/// # Errors
/// If the device fails; [`Error::Interrupted`] if it was cancelled.
pub fn measure(
    device: &mut dyn Device,
    meter: &mut Meter,
    cancel: &AtomicBool,
) -> Result<Option<Machine>, Error> {
    let mark = Mark::of(device);
    let measured = Measuring { device: &mut *device, cancel, launch: 0.0 }.all(meter);
    mark.into_iter().for_each(|mark| mark.restore(device));
    measured
}

/// A device being measured.
struct Measuring<'a> {
    device: &'a mut dyn Device,
    cancel: &'a AtomicBool,
    /// Seconds of an empty launch.
    launch: f64,
}

impl Measuring<'_> {
    fn all(&mut self, meter: &mut Meter) -> Result<Option<Machine>, Error> {
        let table = self.device.caps().hardware.machine;
        let threads = NonZeroUsize::new(self.device.caps().threads).unwrap_or(NonZeroUsize::MIN);
        let Some(bytes) = self.roof(meter, threads)?.filter(|bytes| *bytes >= SLOWEST) else {
            return Ok(None);
        };
        self.launch = self.empty()?;
        let values = self.norm(1)?;
        let mut machine = Machine {
            launch_ns: whole(self.launch * 1e9),
            bytes: whole(bytes),
            worker_values: values.map_or(table.worker_values, whole),
            ..table
        };
        let worker_bytes = if meter.has_own_loops() {
            // The number of workers is the number of threads.
            self.roof(meter, NonZeroUsize::MIN)?
        } else {
            if let (Some(one), Some(all)) = (values, self.norm(NORM[1])?) {
                machine.workers = whole(all / one);
            }
            self.picked()?
        };
        let each = |all: f64| whole(all / machine.workers as f64);
        // Where the figures are nearly equal, or one worker's matrices fit a cache, it can seem faster than all.
        machine.worker_bytes = worker_bytes.map_or_else(|| each(bytes), whole).min(machine.bytes);
        if let Some(all) = self.product(INTEGERS)? {
            machine.worker_multiplications = each(all);
        }
        if let Some(all) = self.product(GgmlType::F32)? {
            machine.worker_float_multiplications = each(all);
        }
        Ok(Some(machine))
    }

    /// Takes `count` samples.
    fn samples(
        &mut self,
        count: usize,
        mut sample: impl FnMut(&mut dyn Device) -> Result<f64, Error>,
    ) -> Result<Samples, Error> {
        let mut samples = Samples::new();
        for _ in 0..count {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            samples.push(sample(self.device)?);
        }
        Ok(samples)
    }

    /// The fewest seconds of a launch, of `count` samples.
    fn seconds(&mut self, count: usize, launches: &Repeated) -> Result<f64, Error> {
        Ok(self.samples(count, |device| Ok(launches.seconds(device)?))?.min())
    }

    /// Bytes per second that `threads` threads read; `None` if they cannot be measured.
    fn roof(&mut self, meter: &mut Meter, threads: NonZeroUsize) -> Result<Option<f64>, Error> {
        let rate = |device: &mut dyn Device| Ok(meter.rate(device, Roof::Read, threads)?.unwrap_or(f64::NAN));
        Ok(Some(self.samples(SAMPLES, rate)?.max()).filter(|rate| !rate.is_nan()))
    }

    /// Seconds of an empty launch: the time that each of many adds to that of one.
    fn empty(&mut self) -> Result<f64, Error> {
        let kernel = Arc::new(kernels::empty());
        let to = self.region(4, 1)?;
        let [one, many] = [1, 1 + EMPTY].map(|launches| {
            let repeated = Repeated::of(self.device, &kernel, launches, |_| vec![to])?;
            Ok::<f64, Error>(self.seconds(EMPTY_SAMPLES, &repeated)? * launches as f64)
        });
        let many = many?;
        Ok((many - one?).max(LEAST_WORK * many) / EMPTY as f64)
    }

    /// Values per second of a norm of `rows` rows.
    fn norm(&mut self, rows: usize) -> Result<Option<f64>, Error> {
        let [values, _] = NORM;
        self.rate(
            kernels::norm(rows, values),
            |op| op.values,
            |own| {
                let args = vec![own.region(4 * values, values)?, own.region(4 * rows, rows)?];
                Ok(Box::new(move |_| args.clone()))
            },
        )
    }

    /// Multiplications per second of a product of many rows with a weight of this type.
    fn product(&mut self, ty: GgmlType) -> Result<Option<f64>, Error> {
        let [rows, n, k] = PRODUCT;
        self.rate(
            kernels::product(ty, rows, n, k),
            |op| op.multiplications,
            |own| {
                let x = own.factor(ty, rows * k)?;
                let args = vec![x, own.weight(ty, n, k)?, own.region(4 * rows * n, rows * n)?];
                Ok(Box::new(move |_| args.clone()))
            },
        )
    }

    /// Bytes per second of weights that one worker reads and multiplies by one row. Each launch uses another of many matrices, so that they
    /// come from memory.
    fn picked(&mut self) -> Result<Option<f64>, Error> {
        let [count, n, k] = PICKED;
        self.rate(
            kernels::picked_product(INTEGERS, count, n, k),
            |op| op.touches[0].bytes,
            |own| {
                let fixed = [own.factor(INTEGERS, k)?, own.weight(INTEGERS, count * n, k)?];
                let (numbers, to) = (own.region(64 * count, 1)?, own.region(4 * n, n)?);
                // Regions must begin at multiples of 64 bytes.
                let all: Vec<u8> =
                    (0..count).flat_map(|i| [(i as u64).to_le_bytes(), [0; 8]].concat().repeat(4)).collect();
                own.device.write(numbers.buffer, 0, &all)?;
                Ok(Box::new(move |launch| {
                    let number = Region { offset: 64 * (launch % count), ..numbers };
                    vec![fixed[0], fixed[1], number, to]
                }))
            },
        )
    }

    /// The operations of the kind that `count` counts which a kernel does per second, without the launch overhead; `None` if the device
    /// cannot run it.
    fn rate(
        &mut self,
        kernel: Kernel,
        count: impl Fn(&Operation) -> u64,
        args: impl FnOnce(&mut Self) -> Result<Args, DeviceError>,
    ) -> Result<Option<f64>, Error> {
        let amount = count(&kernel.traffic(&Sizes::default(), &Seen::default())[0]);
        let prepared =
            args(self).and_then(|args| Repeated::enough(self.device, &Arc::new(kernel), SAMPLE, args));
        let launches = match prepared {
            Err(DeviceError::Kernel { .. } | DeviceError::Memory { .. } | DeviceError::TooLarge { .. }) => {
                return Ok(None);
            }
            prepared => prepared?,
        };
        let seconds = self.seconds(SAMPLES, &launches)?;
        Ok(Some(amount as f64 / (seconds - self.launch).max(LEAST_WORK * seconds)))
    }

    fn region(&mut self, bytes: usize, values: usize) -> Result<Region, DeviceError> {
        Ok(Region { buffer: self.device.alloc(bytes)?, offset: 0, values })
    }

    /// An input of zeros for a product with a weight of this type.
    fn factor(&mut self, ty: GgmlType, values: usize) -> Result<Region, DeviceError> {
        let bytes =
            if ty.is_quantised() { q8::buffer_bytes(values).unwrap_or(usize::MAX) } else { 4 * values };
        self.region(bytes, values)
    }

    /// A weight of zeros.
    fn weight(&mut self, ty: GgmlType, rows: usize, row_len: usize) -> Result<Region, DeviceError> {
        let bytes = ty.row_bytes(row_len as u64).unwrap_or(0) as usize * rows;
        let weight = Weight { ty, rows, row_len, bytes: Arc::new(vec![0u8; bytes]), tiles: None };
        Ok(Region { buffer: self.device.pack(weight)?, offset: 0, values: rows * row_len })
    }
}

/// Returns the arguments of a launch by its number.
type Args = Box<dyn Fn(usize) -> Vec<Region>>;

fn whole(number: f64) -> u64 {
    (number.round() as u64).max(1)
}

#[cfg(test)]
mod tests {
    use weft_cpu::{CpuDevice, CpuOptions};
    use weft_device::{Caps, Forward, NullDevice, ProgramId};

    use super::*;

    fn go_on() -> AtomicBool {
        AtomicBool::new(false)
    }

    /// The CPU, with a table of implausible numbers.
    struct Unknown {
        cpu: CpuDevice,
        caps: Caps,
    }

    impl Forward for Unknown {
        fn inner(&self) -> &dyn Device {
            &self.cpu
        }

        fn inner_mut(&mut self) -> &mut dyn Device {
            &mut self.cpu
        }

        fn caps(&self) -> &Caps {
            &self.caps
        }
    }

    /// The numbers depend on the machine and on what else runs there, but none is left from the table, and all memory is freed.
    #[test]
    fn every_number_of_the_cpu_is_measured() {
        let cpu = CpuDevice::new(CpuOptions { threads: Some(2), ..CpuOptions::default() }).unwrap();
        let mut caps = cpu.caps().clone();
        const TABLE: u64 = u64::MAX / 3;
        let workers = |name: &str| ["workers", "row_workers", "columns"].contains(&name);
        caps.hardware.machine =
            Machine::from_numbers(|name| Some(if workers(name) { 2 } else { TABLE })).unwrap();
        let mut device = Unknown { cpu, caps };
        let mut meter = Meter::from(Device::probe(&device, 1 << 20).unwrap().unwrap());
        let before = Mark::of(&mut device);
        let found = measure(&mut device, &mut meter, &go_on()).unwrap().unwrap();
        assert_eq!(Mark::of(&mut device), before);
        // The number of workers that share a row, and the number of columns that stay together, are properties of the device.
        let [(_, workers), measured @ .., (_, row_workers), (_, columns)] = found.numbers();
        assert_eq!((workers, row_workers, columns), (2, 2, 2));
        assert!(measured.iter().all(|(_, number)| *number != TABLE), "{found:?}");
    }

    /// A device that computes nothing, slowly.
    #[derive(Default)]
    struct Slow(NullDevice);

    impl Forward for Slow {
        fn inner(&self) -> &dyn Device {
            &self.0
        }

        fn inner_mut(&mut self) -> &mut dyn Device {
            &mut self.0
        }

        fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError> {
            let launches = self.0.programs()[program.0 as usize].launches.len();
            std::thread::sleep(Duration::from_millis(25 * launches as u64));
            self.0.replay(program, sizes)
        }
    }

    #[test]
    fn a_slow_device_is_not_measured() {
        let mut device = Slow::default();
        let mut meter = Meter::new(&mut device).unwrap();
        assert_eq!(measure(&mut device, &mut meter, &go_on()).unwrap(), None);
    }

    #[test]
    fn cancelling_stops_the_measurement() {
        let mut device = NullDevice::default();
        let mut meter = Meter::new(&mut device).unwrap();
        let ended = measure(&mut device, &mut meter, &AtomicBool::new(true));
        assert!(matches!(ended, Err(Error::Interrupted)), "{ended:?}");
    }
}
