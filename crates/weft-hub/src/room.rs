//! The room on a disk, so that a download that cannot fit is refused before it begins.

use std::path::Path;

use weft_host::free_on_disk;

use crate::error::Error;

/// Checks that a file system has room for `needed` more bytes of `what` in a folder, which need not exist.
/// Where the system does not report what is free, there is.
///
/// # Errors
/// [`Error::NoRoom`] if it has not.
pub(crate) fn check(what: &str, folder: &Path, needed: u64) -> Result<(), Error> {
    match free_on_disk(folder) {
        Some(free) if free < needed => {
            Err(Error::NoRoom { what: what.into(), folder: folder.into(), needed, free })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_cannot_fit_is_refused() {
        let folder = std::env::temp_dir().join("not-there").join("nor-this");
        check("a", &folder, 0).unwrap();
        if cfg!(any(unix, windows)) {
            let error = check("a.gguf", &folder, u64::MAX).unwrap_err().to_string();
            assert!(
                error.starts_with("there is no room for a.gguf in ") && error.contains("nor-this"),
                "{error}"
            );
        }
    }
}
