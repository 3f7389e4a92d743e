//! The header of one file: magic, version, metadata, tensor directory, and where the data section begins.

use std::collections::BTreeSet;

use weft_quant::GgmlType;

use crate::cursor::Cursor;
use crate::decode;
use crate::error::{Error, Quoted};
use crate::limits::{DEFAULT_ALIGNMENT, MAX_KEY_BYTES, MAX_KEYS, MAX_TENSORS};
use crate::metadata::Metadata;
use crate::sniff;
use crate::tensor::{TensorInfo, check_alignment, check_dims, check_name, check_shape};
use crate::value::MIN_STRING_BYTES;

/// The first four bytes of every GGUF file.
pub(crate) const MAGIC: [u8; 4] = *b"GGUF";
/// The key that overrides [`DEFAULT_ALIGNMENT`].
pub(crate) const ALIGNMENT_KEY: &str = "general.alignment";
/// The fewest bytes of a key with its value: the key's length, a type, a value of one byte.
const MIN_ENTRY_BYTES: u64 = MIN_STRING_BYTES + 4 + 1;
/// The fewest bytes of a directory entry: the name's length, number of dimensions, one dimension, type,
/// offset.
const MIN_TENSOR_BYTES: u64 = MIN_STRING_BYTES + 4 + 8 + 4 + 8;

/// The checked header of a file.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) version: u32,
    pub(crate) metadata: Metadata,
    /// In the file's order, with `file` 0.
    pub(crate) tensors: Vec<TensorInfo>,
    /// Where the data section begins, in bytes from the file's start.
    pub(crate) data_start: u64,
}

impl Header {
    /// Parses and checks a header at the beginning of `bytes`, of a file of `size` bytes. Errors call the file `file`.
    pub(crate) fn parse(bytes: &[u8], file: &str, size: u64) -> Result<Header, Error> {
        if !bytes.starts_with(&MAGIC) && (bytes.is_empty() || !MAGIC.starts_with(bytes)) {
            return Err(Error::NotGguf { file: file.to_string(), found: sniff::describe(bytes) });
        }
        let mut cursor = Cursor::new(file, bytes);
        cursor.take(1, MAGIC.len() as u64, "the magic `GGUF`")?;
        let version = check_version(cursor.u32("the format version")?)
            .map_err(|found| Error::NotGguf { file: file.to_string(), found })?;
        let tensor_count = count(&mut cursor, "tensors", MAX_TENSORS)?;
        let key_count = count(&mut cursor, "metadata keys", MAX_KEYS)?;
        let (metadata, alignment) = metadata(&mut cursor, file, key_count)?;
        let entries = entries(&mut cursor, tensor_count, alignment)?;
        let data_start = cursor.pos().next_multiple_of(alignment);
        check_extents(&cursor, &entries, data_start, size)?;
        let tensors = entries.into_iter().map(|entry| entry.tensor).collect();
        Ok(Header { version, metadata, tensors, data_start })
    }
}

fn check_version(version: u32) -> Result<u32, String> {
    match version {
        2 | 3 => Ok(version),
        1 => Err("it is GGUF version 1, of August 2023; convert the model again from its source".to_string()),
        // In a big-endian file, a small version number is in the other half of the word.
        _ if version & 0xffff == 0 && version != 0 => {
            Err("it is in big-endian byte order; convert it to little-endian".to_string())
        }
        _ => Err(format!("it claims GGUF version {version}, but only versions 2 and 3 are supported")),
    }
}

/// Reads the number of `things`, at most `limit`.
fn count(cursor: &mut Cursor<'_>, things: &str, limit: u64) -> Result<u64, Error> {
    let at = cursor.pos();
    let count = cursor.u64(format_args!("the number of {things}"))?;
    if count > limit {
        return Err(
            cursor.malformed(at, format!("the file claims {count} {things}, more than the limit of {limit}"))
        );
    }
    Ok(count)
}

/// Reads the metadata, and the alignment it sets.
fn metadata(cursor: &mut Cursor<'_>, file: &str, count: u64) -> Result<(Metadata, u64), Error> {
    cursor.expect(count, MIN_ENTRY_BYTES, format_args!("{count} metadata keys"))?;
    let mut metadata = Metadata::of_file(file);
    let mut alignment = DEFAULT_ALIGNMENT;
    for i in 0..count {
        let at = cursor.pos();
        let key = cursor.text(format_args!("the name of metadata key {i}"))?;
        check_key(key).map_err(|rule| cursor.malformed(at, rule))?;
        let value_at = cursor.pos();
        let value = decode::value(cursor, key)?;
        if key == ALIGNMENT_KEY {
            alignment = check_alignment(&value).map_err(|rule| cursor.malformed(value_at, rule))?;
        }
        if metadata.insert(key, value).is_some() {
            return Err(cursor.malformed(at, format!("the metadata key {} occurs twice", Quoted(key))));
        }
    }
    Ok((metadata, alignment))
}

/// Checks that a key is 1 to [`MAX_KEY_BYTES`] bytes long.
pub(crate) fn check_key(key: &str) -> Result<(), String> {
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        return Err(format!(
            "a metadata key must have 1 to {MAX_KEY_BYTES} bytes, but this one has {}",
            key.len()
        ));
    }
    Ok(())
}

/// A directory entry, and its place in the file.
struct Entry {
    at: u64,
    tensor: TensorInfo,
}

/// Reads the tensor directory.
fn entries(cursor: &mut Cursor<'_>, count: u64, alignment: u64) -> Result<Vec<Entry>, Error> {
    cursor.expect(count, MIN_TENSOR_BYTES, format_args!("the directory of {count} tensors"))?;
    let entries =
        (0..count).map(|index| entry(cursor, index, alignment)).collect::<Result<Vec<Entry>, Error>>()?;
    let mut names = BTreeSet::new();
    if let Some(again) = entries.iter().find(|entry| !names.insert(&entry.tensor.name)) {
        let rule = format!("the tensor name {} occurs twice", Quoted(&again.tensor.name));
        return Err(cursor.malformed(again.at, rule));
    }
    Ok(entries)
}

fn entry(cursor: &mut Cursor<'_>, index: u64, alignment: u64) -> Result<Entry, Error> {
    let at = cursor.pos();
    let name = cursor.text(format_args!("the name of tensor {index}"))?;
    let quoted = Quoted(name);
    check_name(name).map_err(|rule| cursor.malformed(at, rule))?;
    let dims_at = cursor.pos();
    let dims = cursor.u32(format_args!("the number of dimensions of tensor {quoted}"))?;
    check_dims(name, dims.into()).map_err(|rule| cursor.malformed(dims_at, rule))?;
    let shape_at = cursor.pos();
    let shape = (0..dims).map(|_| cursor.u64(format_args!("the shape of tensor {quoted}")));
    let shape = shape.collect::<Result<Vec<u64>, Error>>()?;
    let type_at = cursor.pos();
    let id = cursor.u32(format_args!("the type of tensor {quoted}"))?;
    let ty = GgmlType::from_id(id)
        .ok_or_else(|| cursor.malformed(type_at, format!("tensor {quoted} has the unknown type {id}")))?;
    let bytes = check_shape(name, ty, &shape).map_err(|rule| cursor.malformed(shape_at, rule))?;
    let offset_at = cursor.pos();
    let offset = cursor.u64(format_args!("the offset of tensor {quoted}"))?;
    if !offset.is_multiple_of(alignment) {
        let rule =
            format!("the offset of tensor {quoted} is {offset}, not a multiple of the alignment {alignment}");
        return Err(cursor.malformed(offset_at, rule));
    }
    Ok(Entry { at, tensor: TensorInfo { name: name.to_string(), ty, shape, offset, bytes, file: 0 } })
}

/// Checks that every tensor lies within the file, and that none overlap.
fn check_extents(
    cursor: &Cursor<'_>,
    entries: &[Entry],
    data_start: u64,
    file_size: u64,
) -> Result<(), Error> {
    // An end that overflows is beyond the end of any file, and so is the saturated one.
    let end =
        |entry: &Entry| data_start.saturating_add(entry.tensor.offset).saturating_add(entry.tensor.bytes);
    if let Some(outside) = entries.iter().find(|entry| end(entry) > file_size) {
        let needed = entries.iter().map(end).max().unwrap_or(data_start);
        let rule = format!(
            "tensor {} reaches beyond the end of the file, which has {file_size} bytes, but its tensors need \
             {needed}; the download is incomplete, or the file is damaged",
            Quoted(&outside.tensor.name)
        );
        return Err(cursor.malformed(outside.at, rule));
    }
    let mut by_offset: Vec<&Entry> = entries.iter().collect();
    by_offset.sort_by_key(|entry| entry.tensor.offset);
    for pair in by_offset.windows(2) {
        let (before, after) = (&pair[0].tensor, &pair[1].tensor);
        if before.offset + before.bytes > after.offset {
            let rule = format!(
                "tensor {} begins at byte {} of the data, within tensor {}, which has {} bytes from byte {}",
                Quoted(&after.name),
                after.offset,
                Quoted(&before.name),
                before.bytes,
                before.offset
            );
            return Err(cursor.malformed(pair[1].at, rule));
        }
    }
    Ok(())
}
