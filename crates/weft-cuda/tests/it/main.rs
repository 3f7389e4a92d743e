//! A card against the interpreter, and what every device promises.

use std::io::Write as _;

use weft_cuda::CudaDevice;
use weft_device::OpenOptions;

/// The first card of this machine, opened. Without one a test is skipped and says so; where `WEFT_TEST_CUDA` is set it fails.
fn device(test: &str) -> Option<CudaDevice> {
    let Some(card) = weft_cuda::cards().into_iter().next() else {
        assert!(std::env::var_os("WEFT_TEST_CUDA").is_none(), "{test}: no NVIDIA GPU");
        // Past the harness, which captures what passing tests print.
        let _ = writeln!(std::io::stderr(), "{test} SKIPPED: no NVIDIA GPU");
        return None;
    };
    Some(CudaDevice::open(&card, &OpenOptions::default()).unwrap())
}

weft_check::device_tests!(crate::device);

/// Weights large enough that copies and products overlap.
#[test]
fn weights_take_turns_in_slots() {
    let Some(mut device) = device("turns") else { return };
    weft_check::suite::streaming::weights_take_turns(&mut device, 1 << 15, 0);
    weft_check::suite::streaming::weights_take_turns(&mut device, 1 << 12, 1 << 10);
    weft_check::suite::streaming::weights_take_turns(&mut device, 64, 16);
}

/// More tiles than multiprocessors, which hand them to each other.
#[test]
fn workgroups_share_tiles_of_attention() {
    let Some(mut device) = device("shared tiles") else { return };
    weft_check::suite::attend::prompts_of_many_tiles(&mut device);
}
