//! llama.cpp's importance matrices before they were GGUF files: a count, then for each entry the length of its name, the name,
//! the number of calls, the number of values, and the values, which are means of squares times the number of calls. The
//! number of windows and the name of the text may follow. Integers are `i32`, and everything is little-endian.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::error::{Context as _, Result, ensure};

/// The most bytes of a file: more than the largest models need.
const MOST_BYTES: u64 = 4 << 30;
/// The most bytes of a name.
const MOST_NAME: usize = 1 << 10;

/// The contents of a file.
pub(super) struct Legacy {
    pub(super) entries: Vec<LegacyEntry>,
    /// The number of windows, or 0.
    pub(super) chunks: u32,
    /// The name of the text, perhaps empty.
    pub(super) dataset: String,
}

/// The means of squares of a weight's columns, times the number of calls.
pub(super) struct LegacyEntry {
    pub(super) name: String,
    pub(super) calls: i32,
    pub(super) values: Vec<f32>,
}

/// Reads the bytes of a file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    ensure!(bytes.len() as u64 <= MOST_BYTES, "it is larger than {} GiB", MOST_BYTES >> 30);
    Ok(bytes)
}

/// Parses the bytes of a file. Takes no more memory than they have.
pub(super) fn parse(bytes: &[u8]) -> Result<Legacy> {
    let mut rest = bytes;
    let count = number(&mut rest, "the number of entries")?;
    ensure!(
        count > 0,
        "expected a GGUF file, or a list of entries, found a number of entries of {count}: this is no importance matrix"
    );
    let mut entries = Vec::new();
    for index in 0..count {
        entries.push(entry(&mut rest).with_context(|| format!("entry {index} of {count}"))?);
    }
    let mut legacy = Legacy { entries, chunks: 0, dataset: String::new() };
    // Old files end here.
    if !rest.is_empty() {
        legacy.chunks = u32::try_from(number(&mut rest, "the number of windows")?).unwrap_or(0);
        legacy.dataset = text(&mut rest, "the name of the text")?;
    }
    Ok(legacy)
}

fn entry(rest: &mut &[u8]) -> Result<LegacyEntry> {
    let name = text(rest, "the name")?;
    ensure!(!name.is_empty(), "its name is empty");
    let calls = number(rest, "the number of calls")?.max(1);
    let count = number(rest, "the number of values")?;
    let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(4));
    let values = take(rest, bytes.context("the number of values is negative")?, "the values")?;
    let values = values.as_chunks().0.iter().map(|x| f32::from_le_bytes(*x)).collect();
    Ok(LegacyEntry { name, calls, values })
}

fn text(rest: &mut &[u8], what: &str) -> Result<String> {
    let len = number(rest, what)?;
    let len = usize::try_from(len).ok().filter(|len| *len <= MOST_NAME);
    let len =
        len.with_context(|| format!("{what} is longer than {MOST_NAME} bytes, or its length negative"))?;
    Ok(String::from_utf8_lossy(take(rest, len, what)?).into_owned())
}

fn number(rest: &mut &[u8], what: &str) -> Result<i32> {
    let bytes = take(rest, 4, what)?;
    Ok(i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

fn take<'a>(rest: &mut &'a [u8], len: usize, what: &str) -> Result<&'a [u8]> {
    let found = rest.len();
    let taken = rest.split_off(..len);
    taken.with_context(|| format!("the file ends within {what}: expected {len} more bytes, found {found}"))
}
