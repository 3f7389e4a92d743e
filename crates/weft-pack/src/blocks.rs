//! The data of a file in blocks: written by all cores, and checked by all cores against the checksum of each.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_file::AtomicFile;

use crate::checksum::checksum;
use crate::layout::{BLOCK, Layout};
use crate::work::{self, Stop};

/// The number of blocks after which a file is synced, so that a process never has to wait long for it at its end.
const SYNC: usize = 256;

/// Checks every block of a file's data, which begin at `start`, against their checksums.
///
/// # Errors
/// The place of a block that is damaged, or that the callback interrupted the check.
pub(crate) fn check_blocks(
    map: &[u8],
    start: usize,
    sums: &[u64],
    threads: usize,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<(), Stop<usize>> {
    let total = (map.len() - start) as u64;
    let check = |(block, bytes): (usize, &[u8]), _: &mut ()| {
        if sums[block] == checksum(bytes) { Ok(()) } else { Err(start + block * BLOCK) }
    };
    let mut done = |blocks: usize| progress(((blocks * BLOCK) as u64).min(total), total);
    work::each(threads, map[start..].chunks(BLOCK).enumerate(), || (), check, &mut done)
}

/// Packs all weights of a layout into a file from byte `start` on, and returns the checksum of each block.
///
/// # Errors
/// If the file cannot be written, or `progress` interrupts.
pub(crate) fn write_blocks(
    file: &AtomicFile,
    start: u64,
    layout: &Layout<'_>,
    threads: usize,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Vec<u64>, Stop<io::Error>> {
    let total = layout.len() as u64;
    let sums: Vec<AtomicU64> = (0..layout.len().div_ceil(BLOCK)).map(|_| AtomicU64::new(0)).collect();
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
    Ok(sums.into_iter().map(AtomicU64::into_inner).collect())
}
