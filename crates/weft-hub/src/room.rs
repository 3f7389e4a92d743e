//! The room on a disk, so that a download that cannot fit is refused before it begins.

use std::path::Path;

use crate::error::Error;

/// Checks that a file system has room for `needed` more bytes of `what` in a folder, which need not exist.
/// Where the system does not report what is free, there is.
///
/// # Errors
/// [`Error::NoRoom`] if it has not.
pub(crate) fn check(what: &str, folder: &Path, needed: u64) -> Result<(), Error> {
    match free(folder) {
        Some(free) if free < needed => {
            Err(Error::NoRoom { what: what.into(), folder: folder.into(), needed, free })
        }
        _ => Ok(()),
    }
}

/// The bytes that this user can still write below a folder.
#[cfg(unix)]
fn free(folder: &Path) -> Option<u64> {
    let there = folder.ancestors().find(|folder| folder.exists())?;
    let about = rustix::fs::statvfs(there).ok()?;
    // Some network file systems report no size at all.
    let known = about.f_blocks > 0;
    known.then(|| about.f_bavail.saturating_mul(about.f_frsize))
}

#[cfg(not(unix))]
fn free(_: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_cannot_fit_is_refused() {
        let folder = std::env::temp_dir().join("not-there").join("nor-this");
        check("a", &folder, 0).unwrap();
        if cfg!(unix) {
            let error = check("a.gguf", &folder, u64::MAX).unwrap_err().to_string();
            assert!(
                error.starts_with("there is no room for a.gguf in ") && error.contains("nor-this"),
                "{error}"
            );
        }
    }
}
