//! The header of a packed model: all of its GGUF files but their tensors, how each tensor is stored, and the checksum of every block.
//!
//! ```text
//! magic, version, zero, size of the header, checksum of the rest of the header       8, 4, 4, 8, 8 bytes
//! fingerprint and identity of the original, name of the model, id of the layout      8, 8 bytes, text, text
//! number of files; for each its name, size, SHA-256, and its bytes outside of tensors
//! number of tensors, and the form of each
//! size of the data; the checksum of each block of data                               8 bytes each
//! ```
//!
//! The data begin at the next multiple of [`BLOCK`]. They hold the tensors in the order of the files' directories, each at a
//! multiple of 4096 bytes: as it was, packed in tiles, or one after the other. A file may be damaged or hostile: nothing is
//! allocated or trusted before it has been checked against the length of the file.

use crate::bytes::{HeaderError, Reader, put_text};
use crate::checksum::checksum;
use crate::layout::BLOCK;

/// The first bytes of a packed model.
pub(crate) const MAGIC: [u8; 8] = *b"weftgguf";

/// Increases with every change of the format or the checksum.
const VERSION: u32 = 1;

/// The size of the part before the one that the header's checksum covers.
const PROLOGUE: usize = 32;

/// The largest header. That of a GGUF file is at most about as large, and is in here.
const MAX_BYTES: u64 = 1 << 30;

/// The longest name of a file.
const MAX_NAME: usize = 255;

/// How a tensor is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// As its file had it.
    Rows,
    /// Packed in tiles, from which its rows can be restored.
    Tiles,
    /// Both, since kernels read both.
    Both,
}

/// One of the files that a model was packed from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Original {
    /// The name of the file, without folders.
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) sha256: [u8; 32],
    /// Its bytes outside of tensors.
    pub(crate) other: Vec<u8>,
}

/// The header of a packed model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ModelHeader {
    /// The [fingerprint](crate::fingerprint) of the original.
    pub(crate) fingerprint: u64,
    /// The [identity](crate::identity) of the original.
    pub(crate) identity: u64,
    /// The model's name, for messages.
    pub(crate) name: String,
    /// The id of the layout.
    pub(crate) packing: String,
    /// The files, at least one.
    pub(crate) files: Vec<Original>,
    /// The form of each tensor.
    pub(crate) forms: Vec<Form>,
    /// The size of the data.
    pub(crate) data: usize,
    /// The checksums of the blocks.
    pub(crate) sums: Vec<u64>,
}

impl ModelHeader {
    /// Encodes the header. The length does not depend on checksums and hashes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let ModelHeader { fingerprint, identity, name, packing, files, forms, data, sums } = self;
        let mut out = vec![0; PROLOGUE];
        out.extend(fingerprint.to_le_bytes());
        out.extend(identity.to_le_bytes());
        put_text(&mut out, name);
        put_text(&mut out, packing);
        out.extend((files.len() as u64).to_le_bytes());
        for Original { name, size, sha256, other } in files {
            put_text(&mut out, name);
            out.extend(size.to_le_bytes());
            out.extend(sha256);
            out.extend((other.len() as u64).to_le_bytes());
            out.extend(other);
        }
        out.extend((forms.len() as u64).to_le_bytes());
        out.extend(forms.iter().map(|form| *form as u8));
        out.extend((*data as u64).to_le_bytes());
        sums.iter().for_each(|sum| out.extend(sum.to_le_bytes()));
        let (bytes, sum) = (out.len() as u64, checksum(&out[PROLOGUE..]));
        out[..8].copy_from_slice(&MAGIC);
        out[8..12].copy_from_slice(&VERSION.to_le_bytes());
        out[16..24].copy_from_slice(&bytes.to_le_bytes());
        out[24..PROLOGUE].copy_from_slice(&sum.to_le_bytes());
        out
    }

    /// Parses the header of a file, and returns it with the offset of the data.
    ///
    /// # Errors
    /// If the header is damaged, or the length of the file does not match it.
    pub(crate) fn parse(file: &[u8]) -> Result<(ModelHeader, usize), HeaderError> {
        let mut prologue = Reader::new(file);
        if prologue.array::<8>()? != MAGIC {
            return Err(HeaderError("is not a packed model"));
        }
        if prologue.u32()? != VERSION || prologue.u32()? != 0 {
            return Err(HeaderError("has another version of the format"));
        }
        let (own, sum) = (prologue.u64()?, prologue.u64()?);
        let invalid = HeaderError("has a header of invalid size");
        if own > MAX_BYTES {
            return Err(invalid);
        }
        let bytes = file.get(PROLOGUE..own as usize).ok_or(invalid)?;
        if checksum(bytes) != sum {
            return Err(HeaderError("has a damaged header"));
        }
        let mut reader = Reader::new(bytes);
        let (fingerprint, identity) = (reader.u64()?, reader.u64()?);
        let (name, packing) = (reader.text()?, reader.text()?);
        let mut files = Vec::new();
        for _ in 0..reader.u64()? {
            // Each takes some of the rest, so that no number is too large.
            files.push(Original::read(&mut reader)?);
        }
        if files.is_empty() {
            return Err(HeaderError("names no file that it was packed from"));
        }
        let count = reader.u64()?;
        let forms = reader.take(count)?.iter().map(|form| Form::of(*form)).collect::<Result<_, _>>()?;
        let data = reader.size()?;
        let start = (own as usize).next_multiple_of(BLOCK);
        if start.checked_add(data) != Some(file.len()) {
            return Err(HeaderError("does not have the length that its header says"));
        }
        let (sums, rest) = reader.rest().as_chunks();
        if sums.len() != data.div_ceil(BLOCK) || !rest.is_empty() {
            return Err(HeaderError("has a header that does not match its data"));
        }
        let sums = sums.iter().map(|sum| u64::from_le_bytes(*sum)).collect();
        let header = ModelHeader { fingerprint, identity, name, packing, files, forms, data, sums };
        Ok((header, start))
    }
}

impl Form {
    fn of(byte: u8) -> Result<Form, HeaderError> {
        [Form::Rows, Form::Tiles, Form::Both]
            .into_iter()
            .find(|form| *form as u8 == byte)
            .ok_or(HeaderError("has a tensor in an unknown form"))
    }
}

impl Original {
    fn read(reader: &mut Reader<'_>) -> Result<Original, HeaderError> {
        let name = reader.text()?;
        // A file of this name is written beside the packed one, and nowhere else.
        let folders = name.contains(['/', '\\', ':', '\0']);
        if folders || name.len() > MAX_NAME || name.starts_with('.') || !name.ends_with(".gguf") {
            return Err(HeaderError("was packed from a file whose name is not that of a GGUF file"));
        }
        let (size, sha256, len) = (reader.u64()?, reader.array()?, reader.u64()?);
        Ok(Original { name, size, sha256, other: reader.take(len)?.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> ModelHeader {
        let file = |name: &str| Original {
            name: name.into(),
            size: 123,
            sha256: [7; 32],
            other: b"GGUF and so on".to_vec(),
        };
        ModelHeader {
            fingerprint: 1,
            identity: 2,
            name: "hf:org/repo:Q4_0".into(),
            packing: "toy".into(),
            files: vec![file("a-00001-of-00002.gguf"), file("a-00002-of-00002.gguf")],
            forms: vec![Form::Rows, Form::Tiles, Form::Both],
            data: BLOCK + 8192,
            sums: vec![3, 4],
        }
    }

    /// A file with this header. Its data are zeros, which the header does not cover.
    fn file(mut header: Vec<u8>) -> Vec<u8> {
        let len = header.len() as u64;
        header[16..24].copy_from_slice(&len.to_le_bytes());
        let sum = checksum(&header[PROLOGUE..]);
        header[24..PROLOGUE].copy_from_slice(&sum.to_le_bytes());
        header.resize(header.len().next_multiple_of(BLOCK) + BLOCK + 8192, 0);
        header
    }

    #[test]
    fn headers_round_trip() {
        let header = header();
        let bytes = header.encode();
        let file = file(bytes.clone());
        assert_eq!(file[..bytes.len()], bytes);
        assert_eq!(ModelHeader::parse(&file), Ok((header, BLOCK)));
    }

    #[test]
    fn hostile_headers_are_refused() {
        let good = header().encode();
        let mut whole = file(good.clone());
        let len = whole.len();
        for at in 0..=good.len() - 8 {
            for value in [u64::MAX, u64::MAX / 2, i64::MAX as u64, 1 << 32, 1 << 20, 0] {
                whole[..good.len()].copy_from_slice(&good);
                whole[at..at + 8].copy_from_slice(&value.to_le_bytes());
                if at >= PROLOGUE {
                    let sum = checksum(&whole[PROLOGUE..good.len()]);
                    whole[24..PROLOGUE].copy_from_slice(&sum.to_le_bytes());
                }
                // Many are valid headers of other models, but none may lead beyond the file.
                if let Ok((header, start)) = ModelHeader::parse(&whole) {
                    assert_eq!((start + header.data, header.sums.len()), (len, 2), "at {at}");
                    let other: usize = header.files.iter().map(|file| file.other.len()).sum();
                    assert!(other + header.forms.len() < good.len(), "at {at}");
                }
            }
        }
        for cut in 0..good.len() {
            assert!(ModelHeader::parse(&good[..cut]).is_err(), "ends at {cut}");
            if cut >= PROLOGUE {
                assert!(ModelHeader::parse(&file(good[..cut].to_vec())).is_err(), "cut at {cut}");
            }
        }
        assert!(ModelHeader::parse(&file([&good[..], &[0; 8]].concat())).is_err());
        assert!(ModelHeader::parse(&[file(good.clone()), vec![0]].concat()).is_err());
        assert!(ModelHeader::parse(&file(good)[..len - 1]).is_err());
    }

    #[test]
    fn files_stay_in_their_folder() {
        for name in
            ["../a.gguf", "/a.gguf", "a/b.gguf", "a\\b.gguf", "c:a.gguf", ".a.gguf", "a", "", "a.gguf\0.gguf"]
        {
            let mut header = header();
            header.files[1].name = name.into();
            assert!(ModelHeader::parse(&file(header.encode())).is_err(), "{name}");
        }
    }
}
