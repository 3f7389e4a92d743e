//! Reads the file of a kernel that replaces one of the compiler's.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use weft_engine::{Replacement, parse_replacement};

/// The maximum size in bytes.
const LIMIT: u64 = 1 << 20;

/// Reads a file of `--kernel`.
///
/// # Errors
/// If it cannot be read, is too large, or is not a replacement; says where.
pub(crate) fn kernel_file(path: &str) -> Result<Arc<Replacement>, String> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LIMIT + 1).read_to_string(&mut text));
    read.map_err(|error| format!("cannot read it: {error}"))?;
    if text.len() as u64 > LIMIT {
        return Err(format!("it is larger than {} MiB", LIMIT >> 20));
    }
    let kernel = parse_replacement(&text).map_err(|error| error.to_string())?;
    Ok(Arc::new(kernel.of_file(path)))
}
