//! A GPU to test on.

use std::io::Write as _;

use weft_device::OpenOptions;
use weft_wgpu::GpuDevice;

/// The best GPU of this machine, opened. Without one a test is skipped and says so; where `WEFT_TEST_ADAPTER` is set it fails.
pub(crate) fn device(test: &str) -> Option<GpuDevice> {
    let Some(adapter) = weft_wgpu::adapters().into_iter().next() else {
        assert!(std::env::var_os("WEFT_TEST_ADAPTER").is_none(), "{test}: no GPU");
        // Past the harness, which captures what passing tests print.
        let _ = writeln!(std::io::stderr(), "{test} SKIPPED: no GPU");
        return None;
    };
    Some(GpuDevice::open(&adapter, &OpenOptions::default()).unwrap())
}
