//! A GPU to test on.

use std::io::Write as _;

use weft_device::OpenOptions;
use weft_wgpu::{Adapter, GpuDevice};

/// The best GPU of this machine, opened. Without one a test is skipped and says so; where `WEFT_TEST_ADAPTER` is set it fails.
pub(crate) fn device(test: &str) -> Option<GpuDevice> {
    Some(open(&adapter(test)?))
}

/// The same with the texts of a large GPU, whatever it is.
pub(crate) fn large_device(test: &str) -> Option<GpuDevice> {
    Some(open(&adapter(test)?.as_large()))
}

/// The best GPU of this machine.
pub(crate) fn adapter(test: &str) -> Option<Adapter> {
    let found = weft_wgpu::adapters().into_iter().next();
    if found.is_none() {
        assert!(std::env::var_os("WEFT_TEST_ADAPTER").is_none(), "{test}: no GPU");
        // Past the harness, which captures what passing tests print.
        let _ = writeln!(std::io::stderr(), "{test} SKIPPED: no GPU");
    }
    found
}

pub(crate) fn open(adapter: &Adapter) -> GpuDevice {
    GpuDevice::open(adapter, &OpenOptions::default()).unwrap()
}
