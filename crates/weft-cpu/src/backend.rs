//! The CPU as a [`Backend`]: there is always exactly one.

use weft_device::{Backend, Device, DeviceInfo, DeviceKind, Fact, FactValue, OpenError, OpenOptions, Target};
use weft_host::processor_name;

use crate::device::{CpuDevice, CpuOptions};
use crate::hardware::{hardware, threads};
use crate::isa::Isa;

/// The [`Backend`] of the CPU device.
#[derive(Clone, Copy, Debug)]
pub struct CpuBackend;

impl Backend for CpuBackend {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn about(&self) -> &'static str {
        "the processor, with the fastest instruction set it has"
    }

    /// An instruction set, so that others than the fastest can be measured.
    fn variant(&self) -> Option<&'static str> {
        Some("ISA")
    }

    fn probe(&self) -> Vec<DeviceInfo> {
        vec![DeviceInfo {
            name: processor_name(),
            kind: DeviceKind::Processor,
            interface: None,
            driver: None,
            memory_bytes: None,
            facts: vec![
                Fact::new("threads", "{} threads", FactValue::Count(threads(None) as u64)),
                Fact::new("isa", "{}", FactValue::Text(Isa::best().name().into())),
            ],
        }]
    }

    fn open(&self, isa: Option<&str>, options: &OpenOptions) -> Result<Box<dyn Device>, OpenError> {
        let options = CpuOptions { threads: options.threads, isa: Some(Isa::named(isa)?) };
        Ok(Box::new(CpuDevice::new(options)?))
    }

    fn target(&self, isa: Option<&str>, options: &OpenOptions) -> Result<Target, OpenError> {
        Ok(Target { hardware: hardware(Isa::named(isa)?, options.threads), text: None })
    }
}
