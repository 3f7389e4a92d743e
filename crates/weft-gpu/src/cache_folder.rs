//! The cache folder: compiled kernels and tuned schedules, a file each for every GPU and driver.

use std::path::Path;
use std::{fs, io};

/// How the names of files of compiled pipelines begin; they end with `.bin`.
pub const PIPELINES: &str = "pipelines-";

/// How the names of files of compiled CUDA kernels begin; they end with `.bin`.
pub const CUBINS: &str = "cubins-";

/// How the names of files of schedules begin.
pub(crate) const SCHEDULES: &str = "schedules-";

/// Replaces a file, making its folder first if need be.
///
/// # Errors
/// If the folder or the file cannot be written.
pub(crate) fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    weft_file::write(path, bytes)
}

/// Removes the files of GPU devices from a cache folder. Returns how many bytes that frees.
///
/// # Errors
/// If the folder exists and cannot be read, or a file in it cannot be removed.
pub fn clear(folder: &Path) -> io::Result<u64> {
    weft_file::remove_files(folder, |name| {
        [(PIPELINES, ".bin"), (CUBINS, ".bin"), (SCHEDULES, ".txt")]
            .iter()
            .any(|(prefix, extension)| weft_file::is_keyed(name, prefix, extension))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_with_names_of_our_form_are_removed() {
        let folder = std::env::temp_dir().join(format!("weft-gpu-folder-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        assert_eq!(clear(&folder).unwrap(), 0, "there is no folder");
        let ours = [
            "pipelines-0123456789abcdef.bin",
            "cubins-0123456789abcdef.bin",
            "schedules-0123456789abcdef.txt",
        ];
        let foreign = [
            "schedules-0123456789abcdef.txt.bak",
            "schedules-0123456789abcdef.bin",
            "schedules-0123456789abcde.txt",
            "schedules-0123456789abcdef0.txt",
            "schedules-0123456789abcdeg.txt",
            "schedules-of-mine.txt",
            "pipelines-0123456789abcdef.txt",
            "pipelines-",
        ];
        for name in ours.iter().chain(&foreign) {
            put(&folder.join(name), b"12345").unwrap();
        }
        assert_eq!(clear(&folder).unwrap(), 15);
        assert!(ours.iter().all(|name| !folder.join(name).exists()));
        assert!(foreign.iter().all(|name| folder.join(name).exists()));
        fs::remove_dir_all(folder).unwrap();
    }
}
