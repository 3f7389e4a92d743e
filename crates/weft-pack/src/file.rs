//! Cache files: written by all cores, and trusted only after all cores have checked every byte, once since the machine was started.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::time::{Duration, SystemTime};

use weft_file::AtomicFile;
use weft_gguf::MappedFile;

use crate::blocks::{check_blocks, write_blocks};
use crate::checked;
use crate::header::{self, Header};
use crate::identity::Identity;
use crate::layout::Layout;
use crate::storage::Storage;
use crate::work::Stop;

/// Files used within this time are not marked as used again.
const RECENT: Duration = Duration::from_secs(3600);

/// Why a file cannot be used.
#[derive(Debug)]
pub(crate) enum Unusable {
    /// There is no file.
    Missing,
    /// The file is damaged, outdated, or of another model or layout: a predicate to the file's path.
    Stale(String),
    /// The file cannot be mapped: there is too little memory, or address space. It may be as good as ever.
    NotMapped(String),
    /// The callback interrupted the check.
    Interrupted,
}

/// An open cache file.
pub(crate) struct Opened {
    pub(crate) storage: Storage,
    /// The ranges of the tiles of each weight of the layout.
    pub(crate) ranges: Vec<Range<usize>>,
}

/// Maps and checks a file, which also reads it into memory, unless that has been done since the machine was started. The file may
/// hold more weights than the layout.
pub(crate) fn open(
    path: &Path,
    identity: Identity,
    packing: &str,
    layout: &Layout<'_>,
    threads: usize,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Opened, Unusable> {
    let stale = |why: &str| Unusable::Stale(why.to_string());
    let (file, len) = match open_for_use(path) {
        Err(error) if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&error.kind()) => {
            return Err(Unusable::Missing);
        }
        found => found.map_err(|error| Unusable::Stale(format!("cannot be read: {error}")))?,
    };
    if len == 0 {
        return Err(stale("is empty"));
    }
    let map =
        MappedFile::new(&file).map_err(|error| Unusable::NotMapped(format!("cannot be mapped: {error}")))?;
    map.prefer_huge_pages();
    let header = Header::parse(&map, map.len() as u64).map_err(|error| Unusable::Stale(error.to_string()))?;
    if header.identity != identity {
        return Err(stale("belongs to another model, or to this one before it was changed"));
    }
    if header.packing != packing {
        return Err(stale("was packed for another device"));
    }
    let found: Option<Vec<_>> = layout.places().iter().map(|place| header.find(place)).collect();
    let found = found.ok_or_else(|| stale("does not have all weights"))?;
    let start = map.len() - header.data;
    if checked::is_checked(path, &file) {
        // For the LRU order, an hour is exact enough.
        let used = file
            .metadata()
            .and_then(|about| about.modified())
            .and_then(|at| at.elapsed().map_err(io::Error::other));
        if used.is_ok_and(|since| since > RECENT) {
            let _ = file.set_modified(SystemTime::now());
            checked::remember(path, &file);
        }
    } else {
        check_blocks(&map, start, &header.sums, threads, progress).map_err(|stop| match stop {
            Stop::Interrupted => Unusable::Interrupted,
            Stop::Failed(at) => Unusable::Stale(format!("is damaged at byte {at} or after it")),
        })?;
        // For the LRU order. Only the owner may set the time.
        let _ = file.set_modified(SystemTime::now());
        checked::remember(path, &file);
    }
    let ranges = found.into_iter().map(|range| range.start + start..range.end + start).collect();
    Ok(Opened { storage: Storage::File { map, _locked: file }, ranges })
}

/// Checks a file whoever it belongs to, and notes the result. `None` if the callback interrupted it.
///
/// # Errors
/// A predicate to the file's path: what is wrong with it.
pub(crate) fn verify(
    path: &Path,
    threads: usize,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Option<Result<(), String>> {
    checked::forget(path);
    let opened = || -> Result<(File, MappedFile, Header), String> {
        let (file, _) = open_for_use(path).map_err(|error| format!("cannot be read: {error}"))?;
        let map = MappedFile::new(&file).map_err(|error| format!("cannot be mapped: {error}"))?;
        let header = Header::parse(&map, map.len() as u64).map_err(|error| error.to_string())?;
        Ok((file, map, header))
    };
    let (file, map, header) = match opened() {
        Ok(opened) => opened,
        Err(why) => return Some(Err(why)),
    };
    let start = map.len() - header.data;
    match check_blocks(&map, start, &header.sums, threads, progress) {
        Ok(()) => {
            checked::remember(path, &file);
            Some(Ok(()))
        }
        Err(Stop::Interrupted) => None,
        Err(Stop::Failed(at)) => Some(Err(format!("is damaged at byte {at} or after it"))),
    }
}

/// Opens a file, locks it as in use for as long as it is open, and returns it with its length.
fn open_for_use(path: &Path) -> io::Result<(File, u64)> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    // Fails if a process that is removing the file, or has just written it, has it locked, or if there are no locks.
    // The file may then be removed while in use, but its bytes stay until they are unmapped.
    let _ = file.try_lock_shared();
    Ok((file, about.len()))
}

/// Packs all weights of a layout into a file with this header.
///
/// # Errors
/// If the file cannot be written, or `progress` interrupts. No file remains then.
pub(crate) fn write(
    path: &Path,
    mut header: Header,
    layout: &Layout<'_>,
    threads: usize,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<(), Stop<io::Error>> {
    let start = header::start(header.encode().len()) as u64;
    let file = AtomicFile::create(path).map_err(Stop::Failed)?;
    header.sums = write_blocks(&file, start, layout, threads, progress)?;
    file.write_all_at(&header.encode(), 0).and_then(|()| file.commit()).map_err(Stop::Failed)
}

/// The size of a file with this header.
pub(crate) fn size(header: &Header) -> u64 {
    header::start(header.encode().len()) as u64 + header.data as u64
}

/// Reads the header of a file. Returns `None` if it is not valid.
pub(crate) fn header(path: &Path) -> Option<Header> {
    let mut file = File::open(path).ok()?;
    let len = file.metadata().ok().filter(|about| about.is_file())?.len();
    let mut bytes = Vec::new();
    (&mut file).take(header::PROLOGUE as u64).read_to_end(&mut bytes).ok()?;
    let more = header::bytes(&bytes, len).ok()?.saturating_sub(bytes.len() as u64);
    file.take(more).read_to_end(&mut bytes).ok()?;
    Header::parse(&bytes, len).ok()
}
