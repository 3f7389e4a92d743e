//! Files that Windows neither replaces nor removes, because a program has mapped them or they are read-only. It says only that access is
//! denied.

use std::path::Path;
use std::{fs, io};

/// Removes a file.
///
/// # Errors
/// If it cannot be removed; on Windows also if a program has mapped it or it is read-only, which the error then says.
pub fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path).map_err(|error| told(error, path, "it"))
}

/// Gives a part file its target's name.
///
/// # Errors
/// If it cannot be renamed; on Windows also if a program has mapped the file that is there or it is read-only, which the error then says.
pub(crate) fn rename(part: &Path, target: &Path) -> io::Result<()> {
    fs::rename(part, target).map_err(|error| told(error, target, "the file that would be replaced"))
}

/// The error; its reason if it is the one of Windows for a file that is mapped or read-only. `named` is what the message calls the file.
fn told(error: io::Error, path: &Path, named: &str) -> io::Error {
    if !cfg!(windows) || error.kind() != io::ErrorKind::PermissionDenied {
        return error;
    }
    match fs::metadata(path) {
        Ok(about) if about.is_file() && about.permissions().readonly() => {
            io::Error::new(error.kind(), format!("{named} is read-only"))
        }
        Ok(about) if about.is_file() => io::Error::new(error.kind(), format!("a program is using {named}")),
        _ => error,
    }
}

#[cfg(all(test, windows))]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_read_only_is_called_so() {
        let path = std::env::temp_dir().join(format!("weft-file-in-use-{}", std::process::id()));
        fs::write(&path, "").unwrap();
        let said = || told(io::ErrorKind::PermissionDenied.into(), &path, "it").to_string();
        assert_eq!(said(), "a program is using it");
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions.clone()).unwrap();
        assert_eq!(said(), "it is read-only");
        #[expect(clippy::permissions_set_readonly_false, reason = "only Windows has this test")]
        permissions.set_readonly(false);
        fs::set_permissions(&path, permissions).unwrap();
        fs::remove_file(&path).unwrap();
        assert_ne!(said(), "it is read-only");
    }
}
