//! Models whose tensors are in another file.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use weft_gguf::{Error, FileBytes, Gguf, Metadata, Piece, Restore, StoredPart, TensorInfo, Writer};
use weft_quant::GgmlType;

use crate::folder::Folder;

/// Restores bytes that all have one value, so that tests can tell them.
struct Constant(u8);

impl Restore for Constant {
    fn restore(&self, tensor: &TensorInfo) -> Vec<u8> {
        vec![self.0; tensor.bytes as usize]
    }
}

const SHAPES: [(&str, &[u64]); 3] = [("a", &[3]), ("b", &[5, 2]), ("c", &[1])];

/// A model, and its file.
fn model(folder: &Folder) -> (PathBuf, Vec<u8>) {
    let path = folder.join("model.gguf");
    let mut metadata = Metadata::new();
    metadata.insert("general.architecture", "toy");
    let mut writer = Writer::new(metadata).unwrap();
    SHAPES.iter().for_each(|(name, shape)| writer.declare(name, GgmlType::F32, shape).unwrap());
    let mut data = writer.create(&path).unwrap();
    for (i, (name, shape)) in SHAPES.iter().enumerate() {
        data.write(name, &vec![i as u8 + 1; 4 * shape.iter().product::<u64>() as usize]).unwrap();
    }
    data.finish().unwrap();
    // Bytes after the last tensor belong to the file too.
    let bytes = [fs::read(&path).unwrap(), b"the end".to_vec()].concat();
    fs::write(&path, &bytes).unwrap();
    (path, bytes)
}

/// The model without its tensors, of which `b` is in `file`.
fn stored(part: StoredPart, file: &FileBytes, place: Range<usize>) -> Result<Gguf, Error> {
    Gguf::stored(file, vec![part], |model| {
        assert_eq!(model.tensors().len(), 3);
        Ok((vec![None, Some(place), None], Arc::new(Constant(9)) as Arc<dyn Restore>))
    })
}

#[test]
fn tensors_are_where_they_are_said_to_be_or_restored() {
    let folder = Folder::new("stored");
    let (path, bytes) = model(&folder);
    let original = Gguf::open(&path).unwrap();
    let part = StoredPart { path: path.clone(), size: bytes.len() as u64, other: original.other_bytes(0) };
    let other = folder.join("other");
    fs::write(&other, [7u8; 100]).unwrap();
    let file = FileBytes::open(&other).unwrap();
    let model = stored(part.clone(), &file, 20..60).unwrap();
    assert!(model.restorer().is_some() && original.restorer().is_none());
    assert_eq!(model.tensors(), original.tensors());
    assert_eq!(model.metadata().require_str("general.architecture").unwrap(), "toy");
    assert!(model.headers().eq(original.headers()));
    assert_eq!(model.files()[0].size, bytes.len() as u64);
    assert_eq!((model.pieces(0), model.other_bytes(0)), (original.pieces(0), part.other.clone()));
    for (name, value) in [("a", 9), ("b", 7), ("c", 9)] {
        let tensor = model.tensor(name).unwrap();
        let expected = vec![value; tensor.bytes as usize];
        let owned = model.tensor_bytes(tensor);
        assert_eq!(owned.len(), expected.len());
        owned.release(0..usize::MAX);
        assert!(model.data(tensor) == expected && *owned == *expected, "{name}");
    }
    // The pieces make up the file.
    let (mut whole, mut rest) = (Vec::<u8>::new(), &part.other[..]);
    for piece in original.pieces(0) {
        match piece {
            Piece::Other(len) => {
                whole.extend(&rest[..len as usize]);
                rest = &rest[len as usize..];
            }
            Piece::Tensor(at) => whole.extend(original.data(&original.tensors()[at])),
        }
    }
    assert!(whole == bytes && rest.is_empty());
}

#[test]
fn parts_that_do_not_match_their_headers_are_refused() {
    let folder = Folder::new("stored-parts");
    let (path, bytes) = model(&folder);
    let other = Gguf::open(&path).unwrap().other_bytes(0);
    fs::write(folder.join("other"), [7u8; 100]).unwrap();
    let file = FileBytes::open(&folder.join("other")).unwrap();
    let size = bytes.len() as u64;
    let refused = |size: u64, other: &[u8]| {
        let part = StoredPart { path: path.clone(), size, other: other.to_vec() };
        stored(part, &file, 20..60).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(refused(size, &other), "");
    assert!(
        refused(size, &other[..other.len() - 1]).contains("bytes outside of tensors are stored, expected")
    );
    assert!(refused(size + 1, &other).contains("bytes outside of tensors are stored, expected"));
    assert!(refused(size - 60, &other).contains("reaches beyond the end of the file"));
    assert!(refused(size, &[]).contains("it is empty"));
    for cut in 0..other.len() {
        assert!(!refused(size, &other[..cut]).is_empty(), "{cut} bytes");
    }
}
