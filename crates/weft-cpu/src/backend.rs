//! The processor as a [`Backend`]: always there, and one.

use weft_device::{Backend, Device, DeviceInfo, DeviceKind, Fact, FactValue, OpenError, OpenOptions, Target};

use crate::device::{CpuDevice, CpuOptions, machine};
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
                Fact::new("threads", "{} threads", FactValue::Count(machine(None).workers)),
                Fact::new("isa", "{}", FactValue::Text(Isa::best().name().into())),
            ],
        }]
    }

    fn open(&self, _: Option<&str>, options: &OpenOptions) -> Result<Box<dyn Device>, OpenError> {
        let options = CpuOptions { threads: options.threads, ..CpuOptions::default() };
        Ok(Box::new(CpuDevice::new(options)?))
    }

    fn target(&self, _: Option<&str>, options: &OpenOptions) -> Result<Target, OpenError> {
        Ok(Target { machine: machine(options.threads), text: None })
    }
}

/// The processor's name; only its architecture where the system does not tell.
pub fn processor_name() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    model_name(&info).unwrap_or(std::env::consts::ARCH).into()
}

/// The processor's name in Linux's `/proc/cpuinfo`, which has it for x86 and some other architectures.
fn model_name(info: &str) -> Option<&str> {
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, name)| name.trim()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_what_the_system_calls_it() {
        let info = "processor\t: 0\nmodel name\t: A Processor: 3 GHz \nmodel name\t: another\n";
        assert_eq!(model_name(info), Some("A Processor: 3 GHz"));
        for nameless in ["", "processor: 0\n", "model name\t:\n", "model name\n"] {
            assert_eq!(model_name(nameless), None, "{nameless:?}");
        }
    }

    #[test]
    fn what_is_probed_can_be_opened() {
        let [info] = &CpuBackend.probe()[..] else { panic!("one processor") };
        assert!(!info.name.is_empty());
        let options = OpenOptions { threads: Some(2), folder: None };
        let device = CpuBackend.open(None, &options).unwrap();
        assert_eq!(device.caps().threads, 2);
        assert_eq!(device.caps().machine, CpuBackend.target(None, &options).unwrap().machine);
        let none = OpenOptions { threads: Some(0), folder: None };
        assert!(matches!(CpuBackend.open(None, &none).err(), Some(OpenError::Device(_))));
    }
}
