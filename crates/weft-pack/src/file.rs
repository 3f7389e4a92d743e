//! A cache file: written by all cores, and trusted only after all cores have checked every byte.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use weft_file::AtomicFile;
use weft_gguf::MappedFile;

use crate::checksum::checksum;
use crate::header::{self, Header};
use crate::identity::Identity;
use crate::layout::{BLOCK, Layout};
use crate::storage::Storage;
use crate::work::{self, Stop};

/// Blocks after which a thread syncs to the disk, so that neither an interrupted process nor a finished one has to wait long for it.
const SYNC: usize = 256;

/// Why a file is not used.
#[derive(Debug)]
pub(crate) enum Unusable {
    /// There is no file.
    Missing,
    /// It is not what is wanted, or no longer.
    Stale(String),
    /// The callback said so.
    Interrupted,
}

/// Weights in a file.
pub(crate) struct Opened {
    pub(crate) storage: Storage,
    /// Where the tiles of each weight of the layout lie.
    pub(crate) ranges: Vec<Range<usize>>,
}

/// Maps a file and checks it, which also reads it into memory. It may hold other weights beside those of the layout.
pub(crate) fn open(
    path: &Path,
    identity: Identity,
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
        MappedFile::new(&file).map_err(|error| Unusable::Stale(format!("cannot be mapped: {error}")))?;
    map.prefer_huge_pages();
    let header = Header::parse(&map, map.len() as u64).map_err(|error| Unusable::Stale(error.to_string()))?;
    if header.identity != identity {
        return Err(stale("is of another model, or of this one before it was changed"));
    }
    if header.packing != layout.packing().id() {
        return Err(stale("is packed for another device"));
    }
    let found: Option<Vec<_>> = layout.places().iter().map(|place| header.find(place)).collect();
    let found = found.ok_or_else(|| stale("does not have all weights"))?;
    let start = map.len() - header.data;
    let total = header.data as u64;
    let check = |(block, bytes): (usize, &[u8]), _: &mut ()| {
        if header.sums[block] == checksum(bytes) { Ok(()) } else { Err(block) }
    };
    let mut done = |blocks: usize| progress(((blocks * BLOCK) as u64).min(total), total);
    work::each(threads, map[start..].chunks(BLOCK).enumerate(), || (), check, &mut done).map_err(|stop| {
        match stop {
            Stop::Interrupted => Unusable::Interrupted,
            Stop::Failed(block) => {
                Unusable::Stale(format!("is damaged at byte {} or after it", start + block * BLOCK))
            }
        }
    })?;
    // What was used last is removed last. Only the owner may set the time.
    let _ = file.set_modified(SystemTime::now());
    let ranges = found.into_iter().map(|range| range.start + start..range.end + start).collect();
    Ok(Opened { storage: Storage::File { map, _locked: file }, ranges })
}

/// Opens a file, locks it as in use for as long as the result lives, and returns its length.
fn open_for_use(path: &Path) -> io::Result<(File, u64)> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    // A process that has it locked for itself is removing it, or has just written it. Then, and where there are no locks, it may be
    // removed while it is in use; its bytes stay until they are unmapped.
    let _ = file.try_lock_shared();
    Ok((file, about.len()))
}

/// Packs all weights of a layout into a file with this header.
///
/// # Errors
/// If the file cannot be written or `progress` interrupts; then there is none.
pub(crate) fn write(
    path: &Path,
    mut header: Header,
    layout: &Layout<'_>,
    threads: usize,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<(), Stop<io::Error>> {
    let start = header::start(header.encode().len()) as u64;
    let file = AtomicFile::create(path).map_err(Stop::Failed)?;
    let sums: Vec<AtomicU64> = header.sums.iter().map(|_| AtomicU64::new(0)).collect();
    let total = layout.len() as u64;
    let fill = |block: usize, (buffer, tile): &mut (Vec<u8>, Vec<u8>)| {
        let at = block * BLOCK;
        let out = &mut buffer[..BLOCK.min(layout.len() - at)];
        layout.fill(block, out, tile);
        sums[block].store(checksum(out), Ordering::Relaxed);
        file.write_all_at(out, start + at as u64)?;
        if block % SYNC == SYNC - 1 { file.sync_data() } else { Ok(()) }
    };
    let mut done = |blocks: usize| progress(((blocks * BLOCK) as u64).min(total), total);
    work::each(threads, 0..sums.len(), || (vec![0; BLOCK], Vec::new()), fill, &mut done)?;
    header.sums = sums.into_iter().map(AtomicU64::into_inner).collect();
    file.write_all_at(&header.encode(), 0).and_then(|()| file.commit()).map_err(Stop::Failed)
}

/// The size of a file with this header.
pub(crate) fn size(header: &Header) -> u64 {
    header::start(header.encode().len()) as u64 + header.data as u64
}

/// The header of a file; `None` if it has none.
pub(crate) fn header(path: &Path) -> Option<Header> {
    let mut file = File::open(path).ok()?;
    let len = file.metadata().ok().filter(|about| about.is_file())?.len();
    let mut bytes = Vec::new();
    (&mut file).take(header::PROLOGUE as u64).read_to_end(&mut bytes).ok()?;
    let more = header::bytes(&bytes, len).ok()?.saturating_sub(bytes.len() as u64);
    file.take(more).read_to_end(&mut bytes).ok()?;
    Header::parse(&bytes, len).ok()
}
