//! What measures, beside a model, how much the device that it runs on can do at most.
//!
//! The processor has loops of its own for that ([`Probe`]). Any other device is measured as it is used, by a program: one kernel reads a buffer that
//! is larger than caches, and writes an eighth as much, so that nearly all it does is to read the device's memory. How fast it multiplies at
//! most no kernel of ours would tell, only how fast that kernel is: so that stays unknown.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weft_cpu::{Probe, Roof};
use weft_device::{Device, DeviceError, KernelLaunch, Mark, Program, ProgramId, Region};
use weft_engine::Runner;
use weft_kern::{Access, Anchor, Binary, Dim, Format, Instr, Kernel, Param, Part, Sizes, View};

use crate::error::Error;
use crate::roofline::{Roofs, SAMPLE, probe};

/// Least and most bytes that are read at once, powers of two. Less may lie in caches.
const BYTES: [usize; 2] = [16 << 20, 512 << 20];

/// Values that are read for each that is written: one after another is not waited for, so that enough of them are on their way at any time. (A
/// large card has to have 20 kB on their way to each of its cores, and runs two thousand lanes there.)
const TOGETHER: usize = 8;

/// Columns of the kernel, about as many as a workgroup has lanes, so that what it reads lies side by side.
const COLS: usize = 256;

/// Launches of it in a sample, at most.
const MOST: usize = 1024;

/// Measures what a device can do at most.
#[derive(Debug)]
pub struct Meter(Kind);

#[derive(Debug)]
enum Kind {
    Processor(Probe),
    /// `None` of a device without room for enough to be read.
    Other(Option<Reader>),
}

/// A program that reads.
#[derive(Debug)]
struct Reader {
    program: ProgramId,
    /// What it reads, and what it writes, which passes through the same memory.
    bytes: f64,
}

impl Meter {
    /// For the device that a model was loaded on. Takes a gigabyte or less of its memory.
    ///
    /// # Errors
    /// If the processor has no room, or the device fails.
    pub fn new(engine: &mut Runner) -> Result<Meter, Error> {
        if engine.device().processor {
            return Ok(probe()?.into());
        }
        let reader = Reader::new(engine.device_mut()).map_err(weft_engine::Error::from)?;
        Ok(Meter(Kind::Other(reader)))
    }

    /// Takes a sample of each of these roofs, if there is a way to.
    pub(crate) fn sample(
        &mut self,
        engine: &mut Runner,
        roofs: &mut Roofs,
        wanted: &[Roof],
    ) -> Result<(), Error> {
        match &mut self.0 {
            Kind::Processor(probe) => wanted.iter().try_for_each(|roof| roofs.sample(probe, *roof)),
            Kind::Other(Some(reader)) if wanted.contains(&Roof::Read) => {
                let rate = reader.sample(engine.device_mut()).map_err(weft_engine::Error::from)?;
                roofs.read.push(rate);
                Ok(())
            }
            Kind::Other(_) => Ok(()),
        }
    }
}

impl From<Probe> for Meter {
    /// The processor, measured by this.
    fn from(probe: Probe) -> Meter {
        Meter(Kind::Processor(probe))
    }
}

impl Reader {
    /// Prepares to read as much as the device has room for; `None` if that is too little to say anything.
    fn new(device: &mut dyn Device) -> Result<Option<Reader>, DeviceError> {
        let [least, most] = BYTES;
        let largest = device.caps().largest_buffer;
        let sizes = std::iter::successors(Some(most), |bytes| Some(bytes / 2));
        for bytes in sizes.take_while(|bytes| *bytes >= least).filter(|bytes| *bytes <= largest) {
            let mark = Mark::of(device);
            match Reader::of(device, bytes) {
                Err(DeviceError::Memory { .. }) => mark.into_iter().for_each(|mark| mark.restore(device)),
                prepared => return prepared.map(Some),
            }
        }
        Ok(None)
    }

    /// Prepares to read so many bytes, as often as takes about as long as a sample should.
    fn of(device: &mut dyn Device, bytes: usize) -> Result<Reader, DeviceError> {
        let mut region = |bytes| {
            let buffer = device.alloc(bytes)?;
            Ok(Region { buffer, offset: 0, values: bytes / 4 })
        };
        let args = vec![region(bytes)?, region(bytes / TOGETHER)?];
        let moved = (bytes + bytes / TOGETHER) as f64;
        let kernel = Arc::new(kernel(bytes));
        let times = |device: &mut dyn Device, times: usize| {
            let launches = vec![KernelLaunch { kernel: 0, args: args.clone() }; times];
            let program = Program { max: Sizes::default(), kernels: vec![Arc::clone(&kernel)], launches };
            Ok(Reader { program: device.compile(&program)?, bytes: moved * times as f64 })
        };
        let once = times(device, 1)?;
        // The first time memory comes to be.
        once.time(device)?;
        let enough = SAMPLE.as_secs_f64() / once.time(device)?.as_secs_f64();
        times(device, (enough.ceil() as usize).clamp(1, MOST))
    }

    fn time(&self, device: &mut dyn Device) -> Result<Duration, DeviceError> {
        device.wait()?;
        let began = Instant::now();
        device.replay(self.program, &Sizes::default())?;
        device.wait()?;
        Ok(began.elapsed())
    }

    /// Bytes moved in a second.
    fn sample(&self, device: &mut dyn Device) -> Result<f64, DeviceError> {
        Ok(self.bytes / self.time(device)?.as_secs_f64())
    }
}

/// Adds up [`TOGETHER`] values for each one that it writes, and reads so many bytes in all.
fn kernel(bytes: usize) -> Kernel {
    let row = TOGETHER * COLS;
    let view = |param, offset, stride| View { param, offset, strides: vec![stride], step: 1 };
    let load = |i| Instr::Load { view: view(0, i * COLS, row), indexed: None, len: COLS };
    let mut body: Vec<Instr> = (0..TOGETHER).map(load).collect();
    for i in 1..TOGETHER {
        let sum = if i == 1 { 0 } else { body.len() - 1 };
        body.push(Instr::Binary(Binary::Add, sum, i));
    }
    body.push(Instr::Store { value: body.len() - 1, view: view(1, 0, COLS), indexed: None });
    let rows = vec![Dim::Const(bytes / 4 / row)];
    let part = Part { rows, cols: COLS, prologue: None, anchor: Anchor::Map, body };
    let params = [Access::Read, Access::Write].map(|access| Param { access, format: Format::F32 });
    Kernel { name: "read".into(), params: params.to_vec(), parts: vec![part] }
}

#[cfg(test)]
mod tests {
    use weft_device::{BufferId, Forward, NullDevice};
    use weft_kern::interp;

    use super::*;

    const MIB: usize = 1 << 20;

    /// A device with so much memory and no more.
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

        /// A mebibyte takes a microsecond.
        fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError> {
            let launches = &self.null.programs()[program.0 as usize].launches;
            let values: usize = launches.iter().map(|launch| launch.args[0].values).sum();
            std::thread::sleep(Duration::from_micros((4 * values / MIB) as u64));
            self.null.replay(program, sizes)
        }
    }

    #[test]
    fn as_much_is_read_as_there_is_room_for() {
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

    /// A launch takes half a millisecond at the fastest; how long threads really sleep is the system's affair.
    #[test]
    fn a_sample_counts_what_is_read_and_what_is_written() {
        let mut device = Small { null: NullDevice::default(), room: usize::MAX };
        let reader = Reader::new(&mut device).unwrap().unwrap();
        let launches = reader.bytes / (576.0 * MIB as f64);
        assert!(launches.fract() == 0.0 && (1.0..=98.0).contains(&launches), "{launches}");
        let rate = reader.sample(&mut device).unwrap();
        assert!(rate > 0.0 && rate <= 1.125 * MIB as f64 / 1e-6, "{rate}");
    }

    #[test]
    fn all_of_the_buffer_is_read_once() {
        let bytes = BYTES[0];
        let values = [bytes / 4, bytes / 4 / TOGETHER];
        let kernel = kernel(bytes);
        weft_kern::verify_call(&kernel, &values, &Sizes::default()).unwrap();
        let kernel = super::kernel(4 * 2 * TOGETHER * COLS);
        let from: Vec<u8> = (0..2 * TOGETHER * COLS).flat_map(|i| (i as f32).to_le_bytes()).collect();
        let to = vec![0xff; 4 * 2 * COLS];
        let mut buffers = [&from, &to]
            .map(|bytes| interp::Buffer::from_bytes(Format::F32, bytes.len() / 4, bytes).unwrap());
        interp::run(&kernel, &mut buffers, &Sizes::default()).unwrap();
        for i in 0..2 * COLS {
            let expected: usize =
                (0..TOGETHER).map(|j| i / COLS * TOGETHER * COLS + j * COLS + i % COLS).sum();
            assert_eq!(buffers[1].float(i), expected as f32, "{i}");
        }
    }
}
