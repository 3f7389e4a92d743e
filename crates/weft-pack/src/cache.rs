//! The cache folder of packed weights: file names, the size limit, and removal in LRU order.

use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::checked;
use crate::checksum::checksum;
use crate::file;

/// The suffix of cache files.
const SUFFIX: &str = ".weftpack";

/// The suffix that version 0.1 gave to unfinished files.
const OLD_PART: &str = ".partial";

/// The most letters of a model's name in a file name, so that every file system allows the name.
const STEM: usize = 80;

/// A folder of packed weights.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackCache {
    /// The folder, which need not exist. Other files in it are left alone.
    pub folder: PathBuf,
    /// The limit on the total size of all files, in bytes. The least recently used files are removed to make room for
    /// new ones.
    pub limit: u64,
}

/// A file of packed weights.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packed {
    /// The path of the file.
    pub path: PathBuf,
    /// The size of the file.
    pub bytes: u64,
    /// When the file was last used.
    pub used: SystemTime,
    /// The model and the layout, or `None` if the file is damaged or of another version.
    pub of: Option<PackedOf>,
}

/// The model and the layout of packed weights.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackedOf {
    /// The path of the model's (first) file when it was packed.
    pub model: PathBuf,
    /// The id of the layout.
    pub packing: String,
}

impl PackedOf {
    /// Whether the path is not UTF-8, so that the file has only a likeness of it.
    fn is_approximate(&self) -> bool {
        self.model.to_str().is_none_or(|path| path.contains(char::REPLACEMENT_CHARACTER))
    }
}

impl Packed {
    /// Whether the model is gone: no file is at its path any more.
    pub fn is_of_none(&self) -> bool {
        let gone = |of: &PackedOf| !of.is_approximate() && matches!(of.model.try_exists(), Ok(false));
        self.of.as_ref().is_some_and(gone)
    }
}

impl PackCache {
    /// The default limit: three of the largest models that Weft is made for. Packed weights are about as large as the
    /// model.
    pub const LIMIT: u64 = 64_000_000_000;

    /// Creates a cache in a folder, with the default limit.
    pub fn new(folder: PathBuf) -> PackCache {
        PackCache { folder, limit: PackCache::LIMIT }
    }

    /// Creates a cache in the user's cache folder. Returns `None` if the environment does not name that folder.
    pub fn of_user() -> Option<PackCache> {
        weft_file::cache_folder().map(|folder| PackCache::new(folder.join(weft_file::PACKED_FOLDER)))
    }

    /// The path of the cache file for a model and a layout. It depends on the model's path, so that a changed model
    /// replaces its old file.
    pub(crate) fn file(&self, model: &Path, packing: &str) -> PathBuf {
        let stem = model.file_stem().unwrap_or_default().to_string_lossy();
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' };
        let stem: String = stem.chars().map(plain).take(STEM).collect();
        // The bytes of the path, because two paths that are not UTF-8 may be shown alike.
        let of = [model.as_os_str().as_encoded_bytes(), b"\n", packing.as_bytes()].concat();
        let hash = checksum(&of);
        self.folder.join(format!("{stem}-{hash:016x}{SUFFIX}"))
    }

    /// Lists all files, sorted by name.
    ///
    /// # Errors
    /// If the folder exists but cannot be read.
    pub fn list(&self) -> io::Result<Vec<Packed>> {
        let describe = |(path, bytes, used): (PathBuf, u64, SystemTime)| {
            let header = file::header(&path);
            let of = header.map(|h| PackedOf { model: h.model.into(), packing: h.packing });
            Packed { path, bytes, used, of }
        };
        Ok(self.files(SUFFIX)?.into_iter().map(describe).collect())
    }

    /// Removes a file unless a process uses it. Returns the number of bytes freed.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(&self, packed: &Packed) -> io::Result<u64> {
        Ok(if remove_unused(&packed.path)? { packed.bytes } else { 0 })
    }

    /// Checks every byte of a file on `threads` threads, even if it was checked before. `on` receives the bytes done and in
    /// total. `None` if `on` interrupts it.
    ///
    /// # Errors
    /// What is wrong with the file, as a predicate to its path. It is packed again at its next use.
    pub fn verify(
        &self,
        packed: &Packed,
        threads: usize,
        on: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Option<Result<(), String>> {
        file::verify(&packed.path, threads, on)
    }

    /// Removes the unfinished files of processes that were killed, and returns how many bytes that frees. Failures are ignored.
    pub fn sweep(&self) -> u64 {
        let mut freed = weft_file::sweep(&self.folder).unwrap_or(0);
        for (path, bytes, _) in self.files(OLD_PART).unwrap_or_default() {
            if remove_unused(&path).unwrap_or(false) {
                freed += bytes;
            }
        }
        // Notes about files that are gone.
        for (path, bytes, _) in self.files(checked::SUFFIX).unwrap_or_default() {
            if !path.with_extension("").exists() && fs::remove_file(&path).is_ok() {
                freed += bytes;
            }
        }
        freed
    }

    /// The size of the unfinished files that [`sweep`](PackCache::sweep) would remove.
    pub fn unfinished(&self) -> u64 {
        let old = self.files(OLD_PART).unwrap_or_default();
        weft_file::abandoned(&self.folder).unwrap_or(0) + old.iter().map(|(_, bytes, _)| bytes).sum::<u64>()
    }

    /// Removes the packed weights of models that are gone, and returns how many bytes that frees. Failures are ignored.
    pub fn prune(&self) -> u64 {
        let gone = self.list().unwrap_or_default().into_iter().filter(Packed::is_of_none);
        gone.map(|packed| self.remove(&packed).unwrap_or(0)).sum()
    }

    /// Makes room for a file of `bytes` bytes at `path`, and removes the existing one.
    ///
    /// # Errors
    /// The reason, if there is no room.
    pub(crate) fn make_room(&self, path: &Path, bytes: u64) -> Result<(), String> {
        let PackCache { folder, limit } = self;
        if bytes > *limit {
            return Err(format!("their size is {}; the limit is {}", gigabytes(bytes), gigabytes(*limit)));
        }
        let failed = |error: io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(failed)?;
        self.sweep();
        // The existing file is useless. If it cannot be removed, the new one will replace it.
        let _ = remove_unused(path);
        let mut files = self.files(SUFFIX).map_err(failed)?;
        files.retain(|(other, ..)| other != path);
        // Files of models that are gone are removed first, then the least recently used.
        let gone: Vec<PathBuf> =
            self.list().unwrap_or_default().into_iter().filter(Packed::is_of_none).map(|p| p.path).collect();
        files.sort_by_key(|(path, _, used)| (!gone.contains(path), *used));
        let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        for (other, size, _) in files {
            if total.saturating_add(bytes) <= *limit {
                break;
            }
            if remove_unused(&other).unwrap_or(false) {
                total -= size;
            }
        }
        if total.saturating_add(bytes) <= *limit {
            return Ok(());
        }
        let [bytes, total, limit] = [bytes, total, *limit].map(gigabytes);
        Err(format!("their size is {bytes}, files in use take {total}, and the limit is {limit}"))
    }

    /// The files of this cache with a suffix, sorted by name; none if there is no folder.
    fn files(&self, suffix: &str) -> io::Result<Vec<(PathBuf, u64, SystemTime)>> {
        let mut files = Vec::new();
        for entry in weft_file::entries(&self.folder)? {
            let name = entry.file_name();
            let ours = name.to_str().is_some_and(|name| name.contains(SUFFIX) && name.ends_with(suffix));
            // The file may have disappeared.
            let Some(about) = entry.metadata().ok().filter(|about| ours && about.is_file()) else { continue };
            files.push((entry.path(), about.len(), about.modified().unwrap_or(SystemTime::UNIX_EPOCH)));
        }
        files.sort();
        Ok(files)
    }
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

/// Removes a file unless a process has it locked, and returns whether it did.
fn remove_unused(path: &Path) -> io::Result<bool> {
    let file = File::open(path)?;
    // On a file system without locks, every file counts as used.
    if file.try_lock().is_err() {
        return Ok(false);
    }
    fs::remove_file(path)?;
    checked::forget(path);
    Ok(true)
}
