//! Measures the limits of a device while a model is loaded.
//!
//! A device may come with a [`Probe`], loops written for this purpose: the CPU's measures all limits, CUDA's how fast matrix
//! units multiply. Memory bandwidth can also be measured by a program: a kernel reads a buffer larger than the caches and
//! writes an eighth as much. How fast a program multiplies would only tell its own speed.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use weft_device::{Device, DeviceError, Mark, Probe, Region, Roof};

use crate::error::Error;
use crate::kernels::{self, TOGETHER};
use crate::repeat::Repeated;
use crate::roofs::{Roofs, bytes_to_read};

/// The fewest and most bytes that a program reads, powers of two. Fewer might fit in caches.
const BYTES: [usize; 2] = [16 << 20, 512 << 20];

/// The approximate duration of a sample.
const SAMPLE: Duration = Duration::from_millis(50);

/// A device that needs longer than this for the fewest bytes is measured with them.
const SLOW: Duration = Duration::from_millis(20);

/// Measures the limits of a device.
#[derive(Debug)]
pub struct Meter {
    /// The device's probe.
    own: Option<Box<dyn Probe>>,
    /// A program that reads, if the probe does not; `None` if the device has too little memory for it.
    reader: Option<Reader>,
}

/// A program that reads memory.
#[derive(Debug)]
struct Reader {
    launches: Repeated,
    /// Bytes that a launch reads and writes.
    bytes: usize,
}

impl Meter {
    /// Creates a meter for a device. Takes up to 576 MiB of its memory; on the CPU, four times the last-level cache, at
    /// most 4 GiB.
    ///
    /// # Errors
    /// If the CPU has too little memory, or the device fails.
    pub fn new(device: &mut dyn Device) -> Result<Meter, Error> {
        let own = device.probe(bytes_to_read())?;
        let reads = own.as_ref().is_some_and(|probe| probe.roofs().contains(&Roof::Read));
        let reader = if reads { None } else { Reader::new(device)? };
        Ok(Meter { own, reader })
    }

    /// Whether the device has a probe that measures all limits for any number of threads.
    pub fn has_own_loops(&self) -> bool {
        self.own_measures(Roof::Read)
    }

    /// The limits that can be measured.
    pub(crate) fn roofs(&self) -> Vec<Roof> {
        let reads = |roof: Roof| roof == Roof::Read && self.reader.is_some();
        Roof::ALL.into_iter().filter(|roof| self.own_measures(*roof) || reads(*roof)).collect()
    }

    fn own_measures(&self, roof: Roof) -> bool {
        self.own.as_ref().is_some_and(|probe| probe.roofs().contains(&roof))
    }

    /// Takes a sample of a limit with `threads` threads of the CPU; `None` if it cannot be measured.
    ///
    /// # Errors
    /// If threads cannot be started, or the device fails.
    pub(crate) fn rate(
        &mut self,
        device: &mut dyn Device,
        roof: Roof,
        threads: NonZeroUsize,
    ) -> Result<Option<f64>, Error> {
        let measures = self.own_measures(roof);
        Ok(match (&mut self.own, &self.reader) {
            (Some(probe), _) if measures => Some(probe.sample(roof, threads, SAMPLE)?),
            (_, Some(reader)) if roof == Roof::Read => Some(reader.rate(device)?),
            _ => None,
        })
    }

    /// Adds a sample of each of these limits that can be measured.
    ///
    /// # Errors
    /// As for [`rate`](Meter::rate).
    pub(crate) fn sample(
        &mut self,
        device: &mut dyn Device,
        roofs: &mut Roofs,
        wanted: &[Roof],
    ) -> Result<(), Error> {
        for roof in wanted {
            if let Some(rate) = self.rate(device, *roof, roofs.threads)? {
                roofs.of_mut(*roof).push(rate);
            }
        }
        Ok(())
    }
}

impl From<Box<dyn Probe>> for Meter {
    /// Creates a meter for a device with this probe.
    fn from(probe: Box<dyn Probe>) -> Meter {
        Meter { own: Some(probe), reader: None }
    }
}

impl Reader {
    /// Creates a program that reads as much as the device has room for; `None` if that is too little for a measurement.
    fn new(device: &mut dyn Device) -> Result<Option<Reader>, DeviceError> {
        let [least, most] = BYTES;
        let largest = device.caps().largest_buffer;
        if least > largest {
            return Ok(None);
        }
        let sizes = std::iter::successors(Some(most), |bytes| Some(bytes / 2));
        let mut sizes = sizes.take_while(|bytes| *bytes >= least).filter(|bytes| *bytes <= largest);
        let mark = Mark::of(device);
        // The smallest first: a slow device is not given more.
        let Some(reader) = Reader::of(device, least)? else { return Ok(None) };
        if reader.is_slow(device)? {
            return Ok(Some(reader));
        }
        mark.into_iter().for_each(|mark| mark.restore(device));
        sizes.find_map(|bytes| Reader::of(device, bytes).transpose()).transpose()
    }

    fn is_slow(&self, device: &mut dyn Device) -> Result<bool, DeviceError> {
        Ok(self.launches.seconds(device)? > SLOW.as_secs_f64())
    }

    /// Creates a program that reads `bytes` bytes; `None` if there is no room for them.
    fn of(device: &mut dyn Device, bytes: usize) -> Result<Option<Reader>, DeviceError> {
        let mark = Mark::of(device);
        let mut region = |bytes| {
            let buffer = device.alloc(bytes)?;
            Ok(Region { buffer, offset: 0, values: bytes / 4 })
        };
        let args = match region(bytes).and_then(|from| Ok(vec![from, region(bytes / TOGETHER)?])) {
            Err(DeviceError::Memory { .. }) => {
                mark.into_iter().for_each(|mark| mark.restore(device));
                return Ok(None);
            }
            args => args?,
        };
        let launches = Repeated::enough(device, &Arc::new(kernels::read(bytes)), SAMPLE, |_| args.clone())?;
        Ok(Some(Reader { launches, bytes: bytes + bytes / TOGETHER }))
    }

    /// Bytes moved per second.
    fn rate(&self, device: &mut dyn Device) -> Result<f64, DeviceError> {
        Ok(self.bytes as f64 / self.launches.seconds(device)?)
    }
}

#[cfg(test)]
mod tests {
    use weft_device::{BufferId, Forward, NullDevice, ProgramId};
    use weft_kern::Sizes;

    use super::*;

    const MIB: usize = 1 << 20;

    /// A device with `room` bytes of memory.
    struct Small {
        null: NullDevice,
        room: usize,
    }

    impl Forward for Small {
        fn inner(&self) -> &dyn Device {
            &self.null
        }

        fn inner_mut(&mut self) -> &mut dyn Device {
            &mut self.null
        }

        fn alloc(&mut self, bytes: usize) -> Result<BufferId, DeviceError> {
            if self.null.bytes() + bytes > self.room {
                return Err(DeviceError::Memory { device: "small".into(), bytes });
            }
            self.null.alloc(bytes)
        }

        /// Takes a microsecond per mebibyte.
        fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError> {
            let launches = &self.null.programs()[program.0 as usize].launches;
            let values: usize = launches.iter().map(|launch| launch.args[0].values).sum();
            std::thread::sleep(Duration::from_micros((4 * values / MIB) as u64));
            self.null.replay(program, sizes)
        }
    }

    #[test]
    fn the_program_reads_as_much_as_fits() {
        for (room, largest, read) in [
            (usize::MAX, usize::MAX, Some(512)),
            (usize::MAX, 300 * MIB, Some(256)),
            (200 * MIB, usize::MAX, Some(128)),
            (18 * MIB, 128 * MIB, Some(16)),
            (17 * MIB, usize::MAX, None),
            (usize::MAX, 15 * MIB, None),
        ] {
            let mut device = Small { null: NullDevice::with_largest_buffer(largest), room };
            let reader = Reader::new(&mut device).unwrap();
            assert_eq!(reader.is_some(), read.is_some(), "{room} {largest}");
            let bytes = read.map_or(0, |mib| mib * MIB);
            assert_eq!(device.null.bytes(), bytes + bytes / 8, "{room} {largest}");
        }
    }

    /// A probe that only multiplies.
    #[derive(Debug)]
    struct Multiplies;

    impl Probe for Multiplies {
        fn roofs(&self) -> &'static [Roof] {
            &[Roof::Dot]
        }

        fn sample(&mut self, roof: Roof, _: NonZeroUsize, _: Duration) -> Result<f64, DeviceError> {
            assert_eq!(roof, Roof::Dot);
            Ok(3e12)
        }
    }

    #[test]
    fn a_program_measures_what_a_probe_does_not() {
        let mut device = Small { null: NullDevice::default(), room: usize::MAX };
        let reader = Reader::new(&mut device).unwrap();
        let mut meter = Meter { own: Some(Box::new(Multiplies)), reader };
        assert_eq!((meter.roofs(), meter.has_own_loops()), (vec![Roof::Read, Roof::Dot], false));
        let mut rate = |roof| meter.rate(&mut device, roof, NonZeroUsize::MIN).unwrap();
        assert_eq!([Roof::Dot, Roof::MulAdd, Roof::ReadInOrder].map(&mut rate), [Some(3e12), None, None]);
        assert!(rate(Roof::Read).is_some_and(|rate| rate > 0.0));
        let meter = Meter::from(Box::new(Multiplies) as Box<dyn Probe>);
        assert_eq!((meter.roofs(), meter.has_own_loops()), (vec![Roof::Dot], false));
    }

    /// A launch takes at least half a millisecond; the system may let threads sleep longer.
    #[test]
    fn a_rate_counts_bytes_read_and_written() {
        let mut device = Small { null: NullDevice::default(), room: usize::MAX };
        let reader = Reader::new(&mut device).unwrap().unwrap();
        assert_eq!(reader.bytes, 576 * MIB);
        let rate = reader.rate(&mut device).unwrap();
        assert!(rate > 0.0 && rate <= 1.125 * MIB as f64 / 1e-6, "{rate}");
    }
}
