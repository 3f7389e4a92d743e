//! The target of an output path: a file that can be replaced, or a device or pipe that can only be written to.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The target of a path, with links followed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// A regular file, or a path where no file exists yet. Its last component is not a link.
    File(PathBuf),
    /// A device, a pipe or a socket.
    Stream,
}

impl Target {
    /// Finds out what a path leads to.
    ///
    /// # Errors
    /// If it is a folder or a broken symbolic link, or its metadata cannot be read.
    pub fn of(path: &Path) -> io::Result<Target> {
        if cfg!(windows) && is_device(path) {
            return Ok(Target::Stream);
        }
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder")),
            Ok(found) if found.is_file() => Ok(Target::File(canonical(path)?)),
            Ok(_) => Ok(Target::Stream),
            Err(_) if path.is_symlink() => {
                Err(io::Error::new(io::ErrorKind::NotFound, "it is a broken symbolic link"))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Target::File(path.to_path_buf())),
            Err(error) => Err(error),
        }
    }
}

/// Whether a path is that of a device of Windows, as `NUL`: these names mean the device in every folder, and the system cannot describe it.
fn is_device(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is = |device: &str| name.eq_ignore_ascii_case(device);
    let numbered = |kind: &str| (1..=9).any(|number| is(&format!("{kind}{number}")));
    ["NUL", "CON", "AUX", "PRN", "CONIN$", "CONOUT$"].into_iter().any(is)
        || ["COM", "LPT"].into_iter().any(numbered)
}

/// The absolute path of a file or folder without links, in the form that people type. On Windows, that of [`fs::canonicalize`] begins with
/// `\\?\`, which many programs do not understand; it is kept only where the path has no other form.
///
/// # Errors
/// If the path leads nowhere, or cannot be read.
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    let path = dunce::canonicalize(path)?;
    Ok(if cfg!(windows) { share(&path).unwrap_or(path) } else { path })
}

/// The longest path that all programs of Windows take, in units of UTF-16.
const MAX_PATH: usize = 260;

/// `\\server\share\name` for `\\?\UNC\server\share\name`, a path on another machine, which `dunce` leaves as it is. `None` for other
/// paths, and where the short form means something else. On other systems, every name is taken for one that Windows allows.
fn share(path: &Path) -> Option<PathBuf> {
    let rest = path.to_str()?.strip_prefix(r"\\?\UNC\")?;
    let (server, below) = rest.split_once('\\')?;
    let (share, names) = below.split_once('\\').unwrap_or((below, ""));
    let short = format!(r"\\{rest}");
    // What a drive allows, a share does.
    let on_drive = format!(r"\\?\C:\{names}");
    let allowed = !cfg!(windows) || dunce::simplified(Path::new(&on_drive)) != Path::new(&on_drive);
    let is_short = short.encode_utf16().count() < MAX_PATH;
    (allowed && is_short && !server.is_empty() && !share.is_empty()).then(|| short.into())
}

/// The folder that contains a file.
pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_have_names_of_their_own() {
        for device in ["NUL", "nul", "a/Nul", "com3", "LPT9", "CONOUT$"] {
            assert!(is_device(Path::new(device)), "{device}");
        }
        for file in ["", "nul.gguf", "null", "com0", "com10", "lpt", "NUL/a"] {
            assert!(!is_device(Path::new(file)), "{file}");
        }
    }

    #[test]
    fn paths_on_other_machines_are_as_people_type_them() {
        let check = |path: &str, expected: Option<&str>| {
            assert_eq!(share(Path::new(path)).as_deref(), expected.map(Path::new), "{path}");
        };
        check(r"\\?\UNC\nas\models\a é.gguf", Some(r"\\nas\models\a é.gguf"));
        check(r"\\?\UNC\nas\models", Some(r"\\nas\models"));
        check(r"\\?\C:\models\a.gguf", None);
        check(r"\\nas\models\a.gguf", None);
        check(r"\\?\UNC\nas", None);
        check(r"\\?\UNC\\models", None);
        check(&format!(r"\\?\UNC\nas\models\{}", "long\\".repeat(60)), None);
        if cfg!(windows) {
            // The short form of these is a device, and a name without its last character.
            check(r"\\?\UNC\nas\models\nul", None);
            check(r"\\?\UNC\nas\models\a.", None);
        }
    }

    #[test]
    fn what_is_written_to_a_device_is_gone() {
        let device = Path::new(if cfg!(windows) { "NUL" } else { "/dev/null" });
        assert_eq!(Target::of(device).unwrap(), Target::Stream);
        crate::write(device, b"bytes").unwrap();
    }
}
