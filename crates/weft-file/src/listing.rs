//! Folders that need not exist: their entries, and removing files by name.

use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;

/// Returns the entries of `folder` in no particular order; none if the folder does not exist.
///
/// # Errors
/// If the folder exists and cannot be read.
pub fn entries(folder: &Path) -> io::Result<Vec<DirEntry>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.collect(),
    }
}

/// Removes the files directly in `folder` whose names match, and returns how many bytes that frees.
///
/// # Errors
/// If the folder exists and cannot be read, or a file cannot be removed.
pub fn remove_files(folder: &Path, matches: impl Fn(&str) -> bool) -> io::Result<u64> {
    let mut freed = 0;
    for entry in entries(folder)? {
        if entry.file_name().to_str().is_some_and(&matches) {
            freed += entry.metadata()?.len();
            fs::remove_file(entry.path())?;
        }
    }
    Ok(freed)
}

/// Returns whether a file name is `prefix`, a 64-bit key as 16 hexadecimal digits, and `extension`. Before files are removed, it
/// distinguishes those that a program named by a key from others in the same folder, such as a user's copies.
pub fn is_keyed(name: &str, prefix: &str, extension: &str) -> bool {
    let key = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(extension));
    key.is_some_and(|key| key.len() == 16 && key.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keyed_names_have_a_prefix_a_key_and_an_extension() {
        let keyed = |name| is_keyed(name, "machine-", ".txt");
        assert!(keyed("machine-0123456789abcdef.txt"));
        for other in [
            "machine-0123456789abcdef.txt.bak",
            "machine-0123456789abcde.txt",
            "machine-0123456789abcdeg.txt",
            "machine-notes.txt",
            "machine-.txt",
            "a-machine-0123456789abcdef.txt",
        ] {
            assert!(!keyed(other), "{other}");
        }
    }

    #[test]
    fn only_files_with_matching_names_are_removed() {
        let folder = std::env::temp_dir().join(format!("weft-file-listing-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let matches = |name: &str| name.starts_with("a-");
        assert_eq!((entries(&folder).unwrap().len(), remove_files(&folder, matches).unwrap()), (0, 0));
        fs::create_dir_all(&folder).unwrap();
        for (name, bytes) in [("a-1", "12345"), ("a-2", "123"), ("b-1", "1")] {
            fs::write(folder.join(name), bytes).unwrap();
        }
        assert_eq!(remove_files(&folder, matches).unwrap(), 8);
        let left: Vec<_> = entries(&folder).unwrap().iter().map(DirEntry::file_name).collect();
        assert_eq!(left, ["b-1"]);
        assert!(entries(&folder.join("b-1")).is_err(), "a file is no folder");
        fs::remove_dir_all(&folder).unwrap();
    }
}
