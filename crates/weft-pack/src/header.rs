//! The header of a file of packed weights: the identity of its model, the offset of each weight, and the checksum of
//! every block.
//!
//! ```text
//! magic, version, size of the header, checksum of the rest of the header             8, 4, 4, 8 bytes
//! identity of the model, id of the layout, path of the model                         8 bytes, text, text
//! size of the data, number of weights; for each weight its name, type, rows, row length, offset, size
//! the checksum of each block of data                                                 8 bytes each
//! ```
//!
//! Numbers are little-endian; a text is its length in 4 bytes, then UTF-8. The data begin at the next multiple of
//! [`BLOCK`], and offsets count from there. A file may be damaged or hostile: nothing is allocated or trusted before it
//! has been checked against the length of the file.

use std::collections::BTreeMap;
use std::ops::Range;

use weft_device::Weight;

use crate::bytes::{HeaderError, Reader, SHORT, put_text};
use crate::checksum::checksum;
use crate::identity::Identity;
use crate::layout::{ALIGN, BLOCK, Layout, PlacedWeight, SourceWeight};

const MAGIC: [u8; 8] = *b"weftpack";

/// Increases with every change of the format or the checksum.
const VERSION: u32 = 1;

/// The size of the part before the one that the header's checksum covers.
pub(crate) const PROLOGUE: usize = 24;

/// The largest header, more than the largest model needs.
pub(crate) const MAX_BYTES: u64 = 64 << 20;

/// The header of a file of packed weights.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    /// The identity of the model.
    pub(crate) identity: Identity,
    /// The id of the layout.
    pub(crate) packing: String,
    /// The path of the model, for display.
    pub(crate) model: String,
    /// The size of the data.
    pub(crate) data: usize,
    /// The weights by name.
    pub(crate) weights: BTreeMap<String, Entry>,
    /// The checksums of the blocks.
    pub(crate) sums: Vec<u64>,
}

/// A packed weight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// The id of its GGML type.
    pub(crate) ty: u32,
    pub(crate) rows: u64,
    pub(crate) row_len: u64,
    /// The offset of its tiles in the data.
    pub(crate) offset: usize,
    /// The size of its tiles.
    pub(crate) bytes: usize,
}

impl Header {
    /// Creates the header for a layout, without checksums.
    pub(crate) fn new(identity: Identity, model: String, packing: &str, layout: &Layout<'_>) -> Header {
        let entry = |place: &PlacedWeight<'_>| {
            let SourceWeight { name, weight: Weight { ty, rows, row_len, .. }, .. } = place.source;
            let (offset, bytes) = (place.range.start, place.range.len());
            (name.clone(), Entry { ty: ty.id(), rows: *rows as u64, row_len: *row_len as u64, offset, bytes })
        };
        Header {
            identity,
            packing: packing.to_string(),
            model,
            data: layout.len(),
            weights: layout.places().iter().map(entry).collect(),
            sums: vec![0; layout.len().div_ceil(BLOCK)],
        }
    }

    /// Returns the range of a weight's tiles in the data, if the file has the weight with the same shape, type and size.
    pub(crate) fn find(&self, place: &PlacedWeight<'_>) -> Option<Range<usize>> {
        let SourceWeight { name, weight: Weight { ty, rows, row_len, .. }, .. } = place.source;
        let found = self.weights.get(name)?;
        let (rows, row_len) = (*rows as u64, *row_len as u64);
        let wanted = Entry { ty: ty.id(), rows, row_len, offset: found.offset, bytes: place.range.len() };
        (*found == wanted).then(|| found.offset..found.offset + found.bytes)
    }

    /// Encodes the header. The length does not depend on the checksums.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let Header { identity, packing, model, data, weights, sums } = self;
        let mut out = vec![0; PROLOGUE];
        out.extend(identity.0.to_le_bytes());
        put_text(&mut out, packing);
        put_text(&mut out, model);
        out.extend((*data as u64).to_le_bytes());
        out.extend((weights.len() as u64).to_le_bytes());
        for (name, Entry { ty, rows, row_len, offset, bytes }) in weights {
            put_text(&mut out, name);
            out.extend(ty.to_le_bytes());
            [*rows, *row_len, *offset as u64, *bytes as u64].iter().for_each(|n| out.extend(n.to_le_bytes()));
        }
        sums.iter().for_each(|sum| out.extend(sum.to_le_bytes()));
        let sum = checksum(&out[PROLOGUE..]);
        out[..8].copy_from_slice(&MAGIC);
        out[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let bytes = out.len() as u32;
        out[12..16].copy_from_slice(&bytes.to_le_bytes());
        out[16..PROLOGUE].copy_from_slice(&sum.to_le_bytes());
        out
    }

    /// Parses the header of a file of `len` bytes. `bytes` is the beginning of the file, at least as long as [`bytes`]
    /// returns.
    ///
    /// # Errors
    /// If the header is missing or damaged, or the length of the file does not match it.
    pub(crate) fn parse(bytes: &[u8], len: u64) -> Result<Header, HeaderError> {
        let own = self::bytes(bytes, len)?;
        let bytes = bytes.get(..own as usize).ok_or(HeaderError("ends within its header"))?;
        let sum = u64::from_le_bytes(*bytes[16..].first_chunk().ok_or(SHORT)?);
        if checksum(&bytes[PROLOGUE..]) != sum {
            return Err(HeaderError("has a damaged header"));
        }
        let mut reader = Reader::new(&bytes[PROLOGUE..]);
        let identity = Identity(reader.u64()?);
        let (packing, model) = (reader.text()?, reader.text()?);
        let data = reader.size()?;
        if start(own as usize).checked_add(data).is_none_or(|end| end as u64 != len) {
            return Err(HeaderError("does not have the length that its header says"));
        }
        let mut weights = BTreeMap::new();
        for _ in 0..reader.u64()? {
            weights.insert(reader.text()?, Entry::read(&mut reader, data)?);
        }
        let (sums, rest) = reader.rest().as_chunks();
        if sums.len() != data.div_ceil(BLOCK) || !rest.is_empty() {
            return Err(HeaderError("has a header that does not match its data"));
        }
        let sums = sums.iter().map(|sum| u64::from_le_bytes(*sum)).collect();
        Ok(Header { identity, packing, model, data, weights, sums })
    }
}

impl Entry {
    fn read(reader: &mut Reader<'_>, data: usize) -> Result<Entry, HeaderError> {
        let (ty, rows, row_len) = (reader.u32()?, reader.u64()?, reader.u64()?);
        let (offset, bytes) = (reader.size()?, reader.size()?);
        if !offset.is_multiple_of(ALIGN) || offset.checked_add(bytes).is_none_or(|end| end > data) {
            return Err(HeaderError("has a weight outside of its data"));
        }
        Ok(Entry { ty, rows, row_len, offset, bytes })
    }
}

/// The offset of the data in a file whose header has `header` bytes.
pub(crate) fn start(header: usize) -> usize {
    header.next_multiple_of(BLOCK)
}

/// Returns the size of the header of a file of `len` bytes, given its first [`PROLOGUE`] bytes.
///
/// # Errors
/// If it is not a file of packed weights of this version.
pub(crate) fn bytes(prologue: &[u8], len: u64) -> Result<u64, HeaderError> {
    let (magic, rest) = prologue.split_first_chunk::<8>().ok_or(SHORT)?;
    let (version, rest) = rest.split_first_chunk::<4>().ok_or(SHORT)?;
    let (bytes, _) = rest.split_first_chunk::<4>().ok_or(SHORT)?;
    if *magic != MAGIC {
        return Err(HeaderError("is not a file of packed weights"));
    }
    if u32::from_le_bytes(*version) != VERSION {
        return Err(HeaderError("has another version of the format"));
    }
    let bytes = u64::from(u32::from_le_bytes(*bytes));
    if bytes < PROLOGUE as u64 || bytes > len.min(MAX_BYTES) {
        return Err(HeaderError("has a header of invalid size"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {

    use super::*;

    fn header() -> Header {
        let entry = |offset| Entry { ty: 2, rows: 5, row_len: 64, offset, bytes: 4000 };
        Header {
            identity: Identity(7),
            packing: "toy".into(),
            model: "model.gguf".into(),
            data: BLOCK + 8192,
            weights: [("a".to_string(), entry(0)), ("b".to_string(), entry(BLOCK + 4096))].into(),
            sums: vec![1, 2],
        }
    }

    /// Corrects the length and the checksum of a header.
    fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
        let len = bytes.len() as u32;
        bytes[12..16].copy_from_slice(&len.to_le_bytes());
        let sum = checksum(&bytes[PROLOGUE..]);
        bytes[16..PROLOGUE].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn len() -> u64 {
        (2 * BLOCK + 8192) as u64
    }

    #[test]
    fn headers_round_trip() {
        let header = header();
        let bytes = header.encode();
        assert_eq!(bytes, sealed(bytes.clone()));
        assert_eq!(self::bytes(&bytes, len()), Ok(bytes.len() as u64));
        assert_eq!(Header::parse(&bytes, len()).as_ref(), Ok(&header));
        assert_eq!(Header::parse(&[&bytes[..], &[0; 100]].concat(), len()), Ok(header));
    }

    #[test]
    fn hostile_headers_are_refused() {
        let good = header().encode();
        for at in PROLOGUE..=good.len() - 8 {
            for value in [u64::MAX, u64::MAX / 2, i64::MAX as u64, 1 << 32, 0] {
                let mut bytes = good.clone();
                bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
                // Many are still valid headers, but none may reach beyond the file.
                if let Ok(header) = Header::parse(&sealed(bytes), len()) {
                    assert_eq!((header.data, header.sums.len()), (BLOCK + 8192, 2));
                    assert!(header.weights.values().all(|e| e.offset + e.bytes <= header.data), "at {at}");
                }
            }
        }
        for cut in PROLOGUE..good.len() {
            assert!(Header::parse(&sealed(good[..cut].to_vec()), len()).is_err(), "cut at {cut}");
            assert!(Header::parse(&good[..cut], len()).is_err(), "ends at {cut}");
        }
        assert!(Header::parse(&sealed([&good[..], &[0; 8]].concat()), len()).is_err());
        for wrong in [len() - 1, len() + 1, 0, u64::MAX] {
            assert!(Header::parse(&good, wrong).is_err(), "{wrong} bytes");
        }
    }

    #[test]
    fn the_size_of_a_header_is_checked() {
        let mut bytes = header().encode();
        for wrong in [0, 23, MAX_BYTES as u32 + 1, u32::MAX] {
            bytes[12..16].copy_from_slice(&wrong.to_le_bytes());
            assert!(self::bytes(&bytes, u64::MAX).is_err(), "{wrong}");
        }
        bytes[12..16].copy_from_slice(&100u32.to_le_bytes());
        assert!(self::bytes(&bytes, 99).is_err());
        assert!(self::bytes(&bytes[..15], 1000).is_err() && self::bytes(&[], 0).is_err());
    }
}
