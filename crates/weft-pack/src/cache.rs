//! The cache folder of packed weights: which file belongs to which model, and how much there may be.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::checksum::checksum;
use crate::file;

/// What names of files end in.
const SUFFIX: &str = ".weftpack";

/// What names of files ended in that version 0.1 was writing.
const OLD_PART: &str = ".partial";

/// Letters of a model's name that a file name repeats; with what follows, any file system allows as many.
const STEM: usize = 80;

/// A folder of packed weights.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackCache {
    /// The folder. It need not exist. Other files in it stay.
    pub folder: PathBuf,
    /// The most bytes of all files together. Least recently used files are removed for new ones.
    pub limit: u64,
}

/// The packed weights of a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packed {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// When it was last used.
    pub used: SystemTime,
    /// The model and the layout; `None` if the file is damaged or of another version.
    pub of: Option<PackedOf>,
}

/// Which weights are packed, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackedOf {
    /// Where the model's (first) file was.
    pub model: PathBuf,
    /// The name of the layout.
    pub packing: String,
}

impl PackCache {
    /// The default limit: room for three of the largest models this is made for, each about as large as its own file.
    pub const LIMIT: u64 = 64_000_000_000;

    /// The cache in a folder.
    pub fn new(folder: PathBuf) -> PackCache {
        PackCache { folder, limit: PackCache::LIMIT }
    }

    /// The cache in the user's own folder for such things; `None` if the environment does not say where that is.
    pub fn of_user() -> Option<PackCache> {
        weft_file::cache_folder().map(|folder| PackCache::new(folder.join(weft_file::PACKED_FOLDER)))
    }

    /// The file of a model's weights: one for each path of a model and each layout, so that a changed model replaces what was packed
    /// of it before.
    pub(crate) fn file(&self, model: &Path, packing: &str) -> PathBuf {
        let stem = model.file_stem().unwrap_or_default().to_string_lossy();
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' };
        let stem: String = stem.chars().map(plain).take(STEM).collect();
        let hash = checksum(format!("{}\n{packing}", model.display()).as_bytes());
        self.folder.join(format!("{stem}-{hash:016x}{SUFFIX}"))
    }

    /// All files, by name.
    ///
    /// # Errors
    /// If the folder exists and cannot be read.
    pub fn list(&self) -> io::Result<Vec<Packed>> {
        let describe = |(path, bytes, used): (PathBuf, u64, SystemTime)| {
            let header = file::header(&path);
            let of = header.map(|h| PackedOf { model: h.model.into(), packing: h.packing });
            Packed { path, bytes, used, of }
        };
        Ok(self.files(SUFFIX)?.into_iter().map(describe).collect())
    }

    /// Removes a file, and returns how many bytes that frees: none while a process uses it.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(&self, packed: &Packed) -> io::Result<u64> {
        Ok(if remove_unused(&packed.path)? { packed.bytes } else { 0 })
    }

    /// Removes what processes left behind that were killed while packing. What cannot be removed does no harm.
    pub fn sweep(&self) {
        let _ = weft_file::sweep(&self.folder);
        for (path, ..) in self.files(OLD_PART).unwrap_or_default() {
            let _ = remove_unused(&path);
        }
    }

    /// Makes room for a file of `bytes` bytes at `path`, and removes the one that is there.
    ///
    /// # Errors
    /// A sentence, if there is no room.
    pub(crate) fn make_room(&self, path: &Path, bytes: u64) -> Result<(), String> {
        let PackCache { folder, limit } = self;
        if bytes > *limit {
            return Err(format!("they take {}, and the limit is {}", gigabytes(bytes), gigabytes(*limit)));
        }
        let failed = |error: io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(failed)?;
        self.sweep();
        // What is there is of no use any more. If it cannot be removed, the new one replaces it.
        let _ = remove_unused(path);
        let mut files = self.files(SUFFIX).map_err(failed)?;
        files.retain(|(other, ..)| other != path);
        files.sort_by_key(|(_, _, used)| *used);
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
        Err(format!("they take {bytes} beside {total} that are in use, and the limit is {limit}"))
    }

    /// Our files of one kind, by name; none if there is no folder.
    fn files(&self, suffix: &str) -> io::Result<Vec<(PathBuf, u64, SystemTime)>> {
        let mut files = Vec::new();
        for entry in weft_file::entries(&self.folder)? {
            let name = entry.file_name();
            let ours = name.to_str().is_some_and(|name| name.contains(SUFFIX) && name.ends_with(suffix));
            // One may disappear in between.
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

/// Removes a file unless a process has it locked; says whether it did.
fn remove_unused(path: &Path) -> io::Result<bool> {
    let file = File::open(path)?;
    // Without locks it is not known who uses it, so it counts as used.
    if file.try_lock().is_err() {
        return Ok(false);
    }
    fs::remove_file(path)?;
    Ok(true)
}
