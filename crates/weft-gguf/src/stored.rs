//! Models whose files are gone: their headers are kept, and their tensors are in another file, some of them in another form.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Quoted};
use crate::mmap::{Mapping, Stamp, TensorBytes};
use crate::restore::{Restore, Restored};
use crate::tensor::TensorInfo;

/// A mapped file that holds the tensors of a model. Cheap to clone.
///
/// The [contract of a mapped file](crate::Gguf::open) holds.
#[derive(Clone)]
pub struct FileBytes(pub(crate) Arc<Mapping>);

impl FileBytes {
    /// Maps a file for reading.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be opened or mapped.
    pub fn open(path: &Path) -> Result<FileBytes, Error> {
        Mapping::open(path).map(|mapping| FileBytes(Arc::new(mapping)))
    }

    /// Maps an open file for reading.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn of(file: &File) -> io::Result<FileBytes> {
        Mapping::of(file).map(|mapping| FileBytes(Arc::new(mapping)))
    }

    /// Asks for huge pages. This has no effect where the operating system has none for files.
    pub fn prefer_huge_pages(&self) {
        if let Mapping::File(map, _) = &*self.0 {
            map.prefer_huge_pages();
        }
    }

    /// A part of the file, which keeps it mapped.
    ///
    /// # Panics
    /// If the range reaches beyond the file.
    pub fn slice(&self, range: Range<usize>) -> TensorBytes {
        TensorBytes::new(&self.0, range)
    }

    /// The file's state when it was opened.
    pub fn stamp(&self) -> Option<Stamp> {
        self.0.stamp()
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for FileBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileBytes({} bytes)", self.len())
    }
}

/// One of the files of a model, without its tensors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredPart {
    /// The file to name in errors.
    pub path: PathBuf,
    /// The size of the original file.
    pub size: u64,
    /// The original's bytes outside of tensors, in order: the header first, then whatever is between tensors and after them.
    pub other: Vec<u8>,
}

/// Where the tensors of a model are.
pub(crate) struct Stored {
    file: FileBytes,
    /// The range of each tensor in the file, if it is there as it was.
    places: Vec<Option<Range<usize>>>,
    restore: Arc<dyn Restore>,
    /// Tensors that were restored because a caller wanted to borrow them.
    borrowed: Vec<OnceLock<Vec<u8>>>,
}

impl Stored {
    /// # Panics
    /// If a place is outside of the file or has another length than its tensor.
    pub(crate) fn new(
        tensors: &[TensorInfo],
        file: FileBytes,
        places: Vec<Option<Range<usize>>>,
        restore: Arc<dyn Restore>,
    ) -> Stored {
        assert_eq!(tensors.len(), places.len(), "a place for each tensor");
        for (tensor, place) in tensors.iter().zip(&places) {
            let fits = |place: &Range<usize>| file.get(place.clone()).map(|bytes| bytes.len() as u64);
            let fits = place.as_ref().is_none_or(|place| fits(place) == Some(tensor.bytes));
            assert!(fits, "{} is not at {place:?} of {file:?}", Quoted(&tensor.name));
        }
        let borrowed = tensors.iter().map(|_| OnceLock::new()).collect();
        Stored { file, places, restore, borrowed }
    }

    pub(crate) fn restorer(&self) -> &dyn Restore {
        &*self.restore
    }

    /// The bytes of tensor number `at`. Restored bytes are kept.
    pub(crate) fn data(&self, at: usize, tensor: &TensorInfo) -> &[u8] {
        match &self.places[at] {
            Some(place) => &self.file[place.clone()],
            None => self.borrowed[at].get_or_init(|| self.restore.restore(tensor)),
        }
    }

    /// The bytes of tensor number `at`, restored when they are first read and dropped with the last copy.
    pub(crate) fn tensor_bytes(&self, at: usize, tensor: &TensorInfo) -> TensorBytes {
        match &self.places[at] {
            Some(place) => self.file.slice(place.clone()),
            None => TensorBytes::restored(Restored::new(&self.restore, tensor)),
        }
    }
}

/// A piece of a GGUF file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece {
    /// As many bytes outside of tensors.
    Other(u64),
    /// The tensor with this index in the model.
    Tensor(usize),
}

/// The pieces of file number `file` of `size` bytes, in order. Its tensors were found to lie in it and not to overlap.
pub(crate) fn pieces(tensors: &[TensorInfo], file: usize, data_start: u64, size: u64) -> Vec<Piece> {
    let mut own: Vec<(usize, &TensorInfo)> =
        tensors.iter().enumerate().filter(|(_, tensor)| tensor.file == file).collect();
    own.sort_by_key(|(_, tensor)| tensor.offset);
    let mut pieces = Vec::with_capacity(2 * own.len() + 1);
    let mut at = 0;
    for (index, tensor) in own {
        let start = data_start + tensor.offset;
        if start > at {
            pieces.push(Piece::Other(start - at));
        }
        pieces.push(Piece::Tensor(index));
        at = start + tensor.bytes;
    }
    if size > at {
        pieces.push(Piece::Other(size - at));
    }
    pieces
}
