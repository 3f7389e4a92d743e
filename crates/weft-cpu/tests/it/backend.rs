//! The choice of a processor, of its threads, and of an instruction set.
//!
//! These tests open devices. In the library they would have all its kernels compiled a second time.

use weft_cpu::{CpuBackend, Isa};
use weft_device::{Backend, OpenError, OpenOptions, Packing, RowsOf16};

/// Those this machine supports, fastest first.
fn available() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().rev().filter(|isa| isa.is_available())
}

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
    for isa in available() {
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
        let available: Vec<_> = available().map(Isa::name).collect();
        let expected = format!("this processor does not have `{name}`; it has {}", available.join(", "));
        assert_eq!(opened, expected);
        assert_eq!(CpuBackend.target(Some(name), &options).err().unwrap().to_string(), expected);
    }
}
