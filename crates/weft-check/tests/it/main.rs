//! CUDA texts on the CPU: the suite of all devices, and what the emulator finds wrong.

mod units;
mod wrong;

use std::path::Path;

use weft_check::Emulator;

fn device(test: &str) -> Option<Emulator> {
    Emulator::for_test(test, &Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator"))
}

weft_check::device_tests!(crate::device);
