//! NVRTC for tests, which are skipped without it.

use std::io::Write as _;
use std::path::Path;

use weft_nvrtc::{Nvrtc, VARIABLE};

/// The library that the environment names. Without one a test has nothing to do, and says so; if `WEFT_TEST_NVRTC` is
/// set, that is a failure.
pub(super) fn open(test: &str) -> Option<Nvrtc> {
    let Some(path) = std::env::var_os(VARIABLE) else {
        let why = format!("{VARIABLE} does not say where NVRTC is; .ci/nvrtc installs it");
        assert!(std::env::var_os("WEFT_TEST_NVRTC").is_none(), "{test}: {why}");
        // Past the harness, which keeps what passing tests print to itself.
        let _ = writeln!(std::io::stderr(), "{test} SKIPPED: {why}");
        return None;
    };
    let path = Path::new(&path);
    Some(Nvrtc::load(path).unwrap_or_else(|why| panic!("{}: {why}", path.display())))
}
