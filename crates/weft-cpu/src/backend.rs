//! The CPU as a [`Backend`]: there is always exactly one.

use weft_device::{Backend, Device, DeviceInfo, DeviceKind, Fact, FactValue, OpenError, OpenOptions, Target};

use crate::device::{CpuDevice, CpuOptions};
use crate::hardware::{hardware, processor_name, threads};
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

    fn open(&self, _: Option<&str>, options: &OpenOptions) -> Result<Box<dyn Device>, OpenError> {
        let options = CpuOptions { threads: options.threads, ..CpuOptions::default() };
        Ok(Box::new(CpuDevice::new(options)?))
    }

    fn target(&self, _: Option<&str>, options: &OpenOptions) -> Result<Target, OpenError> {
        Ok(Target { hardware: hardware(Isa::best(), options.threads), text: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_probed_can_be_opened() {
        let [info] = &CpuBackend.probe()[..] else { panic!("one processor") };
        assert!(!info.name.is_empty());
        let options = OpenOptions { threads: Some(2), ..OpenOptions::default() };
        let device = CpuBackend.open(None, &options).unwrap();
        assert_eq!(device.caps().threads, 2);
        assert_eq!(device.caps().hardware, CpuBackend.target(None, &options).unwrap().hardware);
        let none = OpenOptions { threads: Some(0), ..OpenOptions::default() };
        assert!(matches!(CpuBackend.open(None, &none).err(), Some(OpenError::Device(_))));
    }
}
