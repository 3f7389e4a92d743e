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

#[cfg(test)]
mod tests {
    use weft_device::{Packing, RowsOf16};

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

    #[test]
    fn every_instruction_set_that_there_is_can_be_chosen() {
        let options = OpenOptions { threads: Some(2), ..OpenOptions::default() };
        let best = CpuBackend.target(None, &options).unwrap().hardware;
        for isa in Isa::available() {
            for name in [isa.name().to_string(), isa.name().to_uppercase()] {
                let device = CpuBackend.open(Some(&name), &options).unwrap();
                let caps = device.caps();
                assert_eq!(caps.name, format!("cpu ({isa}), 2 threads"));
                assert_eq!(caps.hardware, CpuBackend.target(Some(&name), &options).unwrap().hardware);
                // A measurement with one instruction set says nothing about another. Packed weights and computed prompts serve all.
                assert_eq!(caps.hardware.key == best.key, isa == Isa::best());
                assert_eq!(caps.hardware.numbers, best.numbers);
                assert_eq!(caps.packing.map(|packing| packing.id()), Some(RowsOf16.id()));
            }
        }
    }

    #[test]
    fn instruction_sets_that_there_are_not_are_refused() {
        let options = OpenOptions::default();
        let absent = Isa::ALL.into_iter().filter(|isa| !isa.is_available()).map(Isa::name);
        for name in absent.chain(["", "avx", "sse9", "0"]) {
            let opened = CpuBackend.open(Some(name), &options).err().unwrap().to_string();
            let available: Vec<_> = Isa::available().map(Isa::name).collect();
            let expected = format!("this processor does not have `{name}`; it has {}", available.join(", "));
            assert_eq!(opened, expected);
            assert_eq!(CpuBackend.target(Some(name), &options).err().unwrap().to_string(), expected);
        }
    }
}
