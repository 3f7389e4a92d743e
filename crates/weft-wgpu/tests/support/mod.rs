//! An adapter to test on.

use std::io::Write as _;

use weft_wgpu::{GpuDevice, GpuOptions};

/// The most promising adapter of this machine, opened. Without one a test has nothing to do, and says so; where `WEFT_TEST_ADAPTER` is set that is a failure.
pub(crate) fn device(test: &str) -> Option<GpuDevice> {
    let adapter = match weft_wgpu::adapter(None) {
        Ok(adapter) => adapter,
        Err(why) if std::env::var_os("WEFT_TEST_ADAPTER").is_some() => panic!("{test}: {why}"),
        Err(_) => {
            // Past the harness, which keeps what passing tests print to itself.
            let _ = writeln!(std::io::stderr(), "{test} SKIPPED: no graphics adapter");
            return None;
        }
    };
    Some(GpuDevice::open(&adapter, &GpuOptions::default()).unwrap())
}
