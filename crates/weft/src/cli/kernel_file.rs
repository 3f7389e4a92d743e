//! Reads the file of a kernel that replaces one of the compiler's.

use std::path::Path;
use std::sync::Arc;

use weft_engine::{Replacement, parse_replacement};

use crate::cli::text_file;
use crate::terminal::streams::in_one_line;

/// The maximum size in bytes.
const LIMIT: u64 = 1 << 20;

/// Reads a file of `--kernel`.
///
/// # Errors
/// If it cannot be read, is too large, or is not a replacement; says where.
pub(crate) fn kernel_file(path: &Path) -> Result<Arc<Replacement>, String> {
    let text = text_file::text(path, "the kernel").map_err(|error| in_one_line(&error))?;
    if text.len() as u64 > LIMIT {
        return Err(format!("it is larger than {} MiB", LIMIT >> 20));
    }
    let kernel = parse_replacement(&text).map_err(|error| error.to_string())?;
    Ok(Arc::new(kernel.of_file(&path.display().to_string())))
}
