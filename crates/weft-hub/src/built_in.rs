//! The model in the program: its bytes become a file, since models are mapped into memory from files.
//!
//! The file is written into the cache once, below a folder named after its hash, so that programs with different models share
//! a cache. A machine without a writable cache gets it in a private folder for temporary files. Keeping the model a file leaves
//! one path for loading, packing and caching; reading it from the program's own memory would be a second.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::cache::Cache;
use crate::catalog::{CatalogModel, Source};
use crate::error::Error;

/// Writes the file of a [built-in](Source::BuiltIn) model, unless it is there already, and returns its path: in the cache, or
/// where there is none or it cannot be written, in a private folder for temporary files.
///
/// # Errors
/// [`Error::Io`] if neither folder can be written; [`Error::NotFetchable`] if the model is not built in.
pub fn unpack(model: &CatalogModel, cache: Option<&Cache>) -> Result<PathBuf, Error> {
    let Source::BuiltIn(bytes) = model.source else {
        return Err(Error::NotFetchable { name: model.name.into(), near: Vec::new() });
    };
    if let Some(cache) = cache {
        let path = cache.path_of(model);
        if put(&path, bytes, &cache.locks().join(model.sha256)).is_ok() {
            return Ok(path);
        }
    }
    let folder = std::env::temp_dir().join(temporary_name());
    let path = folder.join(model.built_in_path());
    let written = private(&folder).and_then(|()| put(&path, bytes, &folder.join("lock")));
    written.map_err(Error::io("write", &path))?;
    Ok(path)
}

/// Writes the file, unless it has these bytes already. A damaged copy is replaced.
///
/// One process writes it while others wait: to what was packed from the first file, a second one with the
/// same bytes is another model.
fn put(path: &Path, bytes: &[u8], lock: &Path) -> io::Result<()> {
    let is_there = || has(path, bytes).unwrap_or(false);
    if is_there() {
        return Ok(());
    }
    let _locked = locked(lock);
    if is_there() {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
        // A program that was ended as it wrote the file has left a part.
        let _ = weft_file::sweep(folder);
    }
    weft_file::write(path, bytes)
}

/// Waits for the lock file, and holds it for as long as the result lives; `None` where it cannot be written,
/// or there are no locks.
fn locked(path: &Path) -> Option<File> {
    path.parent().map_or(Ok(()), fs::create_dir_all).ok()?;
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path).ok()?;
    file.lock().ok()?;
    Some(file)
}

/// Whether the file consists of these bytes. Reading 12 MB takes a few milliseconds; a hash would take longer.
fn has(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    const CHUNK: usize = 1 << 18;
    let mut file = File::open(path)?;
    if file.metadata()?.len() != bytes.len() as u64 {
        return Ok(false);
    }
    let mut read = vec![0; CHUNK];
    for chunk in bytes.chunks(CHUNK) {
        let read = &mut read[..chunk.len()];
        file.read_exact(read)?;
        if read != chunk {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The name of the user's folder among everybody's temporary files.
fn temporary_name() -> String {
    #[cfg(unix)]
    return format!("weft-{}", rustix::process::geteuid().as_raw());
    #[cfg(not(unix))]
    return "weft".into();
}

/// Creates a folder that only this user can write, or checks that it is one: elsewhere, others could change the file after it
/// was compared.
fn private(folder: &Path) -> io::Result<()> {
    weft_file::create_private(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let data = fs::symlink_metadata(folder)?;
        let ours = data.uid() == rustix::process::geteuid().as_raw();
        if !data.is_dir() || !ours || data.mode() & 0o022 != 0 {
            let problem = format!("{} is not a private folder of this user", folder.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use sha2::{Digest as _, Sha256};

    use super::*;
    use crate::catalog::BUILT_IN;

    #[test]
    fn first_uses_at_once_write_one_file() {
        let Some(model) = BUILT_IN else { return };
        let folder = std::env::temp_dir().join(format!("weft-built-in-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let cache = Cache::new(folder.clone());
        // Of a program that was killed.
        let part = cache.path_of(model).with_extension("gguf.0123456789abcdef.part");
        fs::create_dir_all(part.parent().unwrap()).unwrap();
        fs::write(&part, b"GGUF").unwrap();
        let start = std::sync::Barrier::new(4);
        let found: Vec<_> = std::thread::scope(|scope| {
            let unpack = || {
                start.wait();
                let path = unpack(model, Some(&cache)).unwrap();
                let about = fs::metadata(&path).unwrap();
                (path, about)
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(unpack)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(!part.exists());
        // Each had the file that is there now.
        for (path, about) in &found {
            let now = fs::metadata(path).unwrap();
            assert_eq!(now.modified().unwrap(), about.modified().unwrap(), "it was written again");
            #[cfg(unix)]
            {
                use std::os::unix::fs::MetadataExt as _;
                assert_eq!(now.ino(), about.ino(), "it was replaced");
            }
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_hash_in_the_catalogue_is_that_of_the_bytes() {
        let Some(model) = BUILT_IN else { return };
        let Source::BuiltIn(bytes) = model.source else { panic!("{model:?}") };
        let mut found = String::new();
        for byte in Sha256::digest(bytes) {
            write!(found, "{byte:02x}").unwrap();
        }
        assert_eq!((found.as_str(), model.bytes), (model.sha256, bytes.len() as u64));
        assert!(bytes.len() <= 12 << 20 && bytes.starts_with(b"GGUF"));
    }
}
