//! A logical model: a file, or all the files that it was split into.

mod adapter;
mod selectable;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Quoted};
use crate::header::Header;
use crate::limits::MAX_TENSORS;
use crate::metadata::Metadata;
use crate::mmap::{Mapping, Stamp, TensorBytes};
use crate::restore::Restore;
use crate::split::{self, Split};
use crate::stored::{self, FileBytes, Piece, Stored, StoredPart};
use crate::tensor::TensorInfo;

pub use adapter::Adapter;
pub use selectable::Selectable;

/// The name in errors of bytes that were not read from a file.
const IN_MEMORY: &str = "GGUF in memory";

/// A file of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileInfo {
    /// Its path.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// Its state when it was opened; `None` for bytes in memory.
    pub stamp: Option<Stamp>,
}

/// A model: its metadata, its tensors, and the mapping that holds their data.
///
/// All of it has been checked: every tensor lies within its file and overlaps no other, its size fits its
/// type and shape, and names are unique.
pub struct Gguf {
    version: u32,
    metadata: Metadata,
    tensors: Vec<TensorInfo>,
    /// Indices into `tensors`, sorted by name.
    by_name: Vec<usize>,
    files: Vec<FileInfo>,
    /// The data section of each of `files`.
    data: Vec<Data>,
    /// Where the tensors are, if not in these sections.
    stored: Option<Stored>,
    /// LoRA adapters, whose files come after those of the model.
    adapters: Vec<Adapter>,
    /// LoRA adapters that requests choose, whose stacks are the last file.
    selection: Option<Selection>,
}

/// The selectable adapters of a model.
#[derive(Debug)]
struct Selection {
    /// The index of the file that holds the stacks, which is the last.
    file: usize,
    all: Vec<Selectable>,
    /// For each matrix, the first adapter that adds to it.
    first: BTreeMap<String, usize>,
}

/// The data section of a file.
struct Data {
    /// The file, or if its tensors are stored elsewhere, all else that was in it.
    mapping: Arc<Mapping>,
    /// Where it begins in the mapping.
    start: u64,
}

impl Gguf {
    /// Opens the model at `path`: maps the file and, if it is part of a split model, all other parts.
    ///
    /// Only headers are read here; tensor data is read from disk when it is first touched. `path` may be any
    /// part of a split model. The metadata is that of the first part; the others do not repeat it.
    ///
    /// # The contract of a mapped file
    ///
    /// While the returned value, or a [`TensorBytes`] of it, is alive, the files must not be truncated or
    /// changed in place. A file truncated under a mapping ends the process with SIGBUS, and one changed in
    /// place changes weights in the middle of a computation; no operating system offers a way to rule that
    /// out. Replacing a file by renaming another over it is fine, and is what
    /// [`Writer::create`](crate::Writer::create) does.
    ///
    /// # Errors
    ///
    /// If a file cannot be opened, is not a GGUF file, or breaks a rule; see [`Error`]. The error names
    /// missing parts.
    pub fn open(path: &Path) -> Result<Gguf, Error> {
        let part = Part::open(path)?;
        let Some(own) = Split::of(&part.header.metadata)? else {
            return Gguf::of(part);
        };
        let paths = own.paths(path)?;
        let mut model = Gguf::empty();
        for (number, path) in (0..).zip(&paths) {
            let part = Part::open(path)?;
            Split { number, ..own }.check(Split::of(&part.header.metadata)?, path)?;
            model.add(part)?;
        }
        own.check_tensors(model.tensors.len(), &paths[0])?;
        model.index_names()?;
        Ok(model)
    }

    /// Reads a model from memory, just as from a mapped file, except that a split model is refused.
    ///
    /// # Errors
    ///
    /// If the bytes are not a GGUF file, or break a rule; see [`Error`].
    pub fn parse(bytes: impl Into<Arc<[u8]>>) -> Result<Gguf, Error> {
        let part = Part::new(PathBuf::from(IN_MEMORY), Mapping::Memory(bytes.into()))?;
        match Split::of(&part.header.metadata)? {
            None => Gguf::of(part),
            Some(own) => Err(split::error(&part.path, format!("this is {own}; open it by its path"))),
        }
    }

    /// The model of a single part.
    fn of(part: Part) -> Result<Gguf, Error> {
        let mut model = Gguf::empty();
        model.add(part)?;
        model.index_names()?;
        Ok(model)
    }

    fn empty() -> Gguf {
        Gguf {
            version: 0,
            metadata: Metadata::new(),
            tensors: Vec::new(),
            by_name: Vec::new(),
            files: Vec::new(),
            data: Vec::new(),
            stored: None,
            adapters: Vec::new(),
            selection: None,
        }
    }

    /// Opens a model whose tensors are in another file, some of them in a form that `restore` has to compute them from. `places`
    /// says where each of the model's tensors is in that file, if it is there as it was.
    ///
    /// # Errors
    ///
    /// If a header breaks a rule, or a part does not have the bytes that its header says; those of `places`.
    ///
    /// # Panics
    ///
    /// If a place is outside of the file or has another length than its tensor.
    pub fn stored<E: From<Error>>(
        file: &FileBytes,
        parts: Vec<StoredPart>,
        places: impl FnOnce(&Gguf) -> Result<(Vec<Option<Range<usize>>>, Arc<dyn Restore>), E>,
    ) -> Result<Gguf, E> {
        let mut model = Gguf::empty();
        for part in parts {
            model.add(Part::stored(part, file.stamp())?)?;
        }
        model.index_names()?;
        let (places, restore) = places(&model)?;
        model.stored = Some(Stored::new(&model.tensors, file.clone(), places, restore));
        Ok(model)
    }

    /// The reader that restores tensors, if this model was opened with [`stored`](Gguf::stored).
    pub fn restorer(&self) -> Option<&dyn Restore> {
        self.stored.as_ref().map(Stored::restorer)
    }

    /// The pieces of file number `file`, in order.
    ///
    /// # Panics
    ///
    /// If there is no such file.
    pub fn pieces(&self, file: usize) -> Vec<Piece> {
        stored::pieces(&self.tensors, file, self.data[file].start, self.files[file].size)
    }

    /// The bytes of file number `file` outside of tensors, in order: what a [`StoredPart`] keeps.
    ///
    /// # Panics
    ///
    /// If there is no such file.
    pub fn other_bytes(&self, file: usize) -> Vec<u8> {
        let bytes: &[u8] = &self.data[file].mapping;
        if bytes.len() as u64 != self.files[file].size {
            return bytes.to_vec();
        }
        let mut at = 0;
        let mut other = Vec::new();
        for piece in self.pieces(file) {
            match piece {
                Piece::Other(len) => {
                    other.extend(&bytes[at..at + len as usize]);
                    at += len as usize;
                }
                Piece::Tensor(index) => at += self.tensors[index].bytes as usize,
            }
        }
        other
    }

    /// Appends a part. Version and metadata are those of the first one.
    fn add(&mut self, part: Part) -> Result<(), Error> {
        let Part { path, size, stamp, mapping, header } = part;
        let file = self.files.len();
        if file == 0 {
            self.version = header.version;
            self.metadata = header.metadata;
        }
        self.tensors.extend(header.tensors.into_iter().map(|tensor| TensorInfo { file, ..tensor }));
        if self.tensors.len() as u64 > MAX_TENSORS {
            let problem = format!("with this part the model exceeds the limit of {MAX_TENSORS} tensors");
            return Err(split::error(&path, problem));
        }
        self.files.push(FileInfo { path, size, stamp });
        self.data.push(Data { mapping: Arc::new(mapping), start: header.data_start });
        Ok(())
    }

    /// Fills in `by_name`, and checks that names are unique across parts.
    fn index_names(&mut self) -> Result<(), Error> {
        let name = |&at: &usize| self.tensors[at].name.as_str();
        let mut by_name: Vec<usize> = (0..self.tensors.len()).collect();
        // Stable, so that the error blames the later of two parts.
        by_name.sort_by(|a, b| name(a).cmp(name(b)));
        if let Some(pair) = by_name.windows(2).find(|pair| name(&pair[0]) == name(&pair[1])) {
            let path = |at: usize| &self.files[self.tensors[at].file].path;
            let problem = format!("tensor {} is also in {}", Quoted(name(&pair[1])), path(pair[0]).display());
            return Err(split::error(path(pair[1]), problem));
        }
        self.by_name = by_name;
        Ok(())
    }

    /// The format version of the (first) file: 2 or 3. A reader of little-endian files sees no difference
    /// between them.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The files of the model, in order.
    pub fn files(&self) -> &[FileInfo] {
        &self.files
    }

    /// The number of files of the model itself, which come before those of adapters.
    pub fn own_files(&self) -> usize {
        self.files.len() - self.adapters.len() - usize::from(self.selection.is_some())
    }

    /// The bytes before the tensor data, for each of the files.
    pub fn headers(&self) -> impl Iterator<Item = &[u8]> {
        // A file without tensors may end before its data section would begin.
        self.data.iter().map(|data| data.mapping.get(..data.start as usize).unwrap_or(&data.mapping))
    }

    /// The metadata: for a split model, that of its first part.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// All tensors, in the order of the files' directories.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    /// Finds a tensor by name.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.find(name).map(|at| &self.tensors[at])
    }

    fn find(&self, name: &str) -> Option<usize> {
        let found = self.by_name.binary_search_by(|&at| self.tensors[at].name.as_str().cmp(name)).ok()?;
        Some(self.by_name[found])
    }

    /// The index of one of this model's tensors.
    fn index(&self, tensor: &TensorInfo) -> usize {
        self.find(&tensor.name).filter(|at| self.tensors[*at] == *tensor).expect("a tensor of this model")
    }

    /// The stored bytes of one of this model's tensors, with no guaranteed alignment in memory. Those that have to be restored are
    /// kept in memory as long as the model; [`tensor_bytes`](Gguf::tensor_bytes) gives their memory back.
    ///
    /// # Panics
    ///
    /// If `tensor` belongs to another model and lies outside of this one's files.
    pub fn data(&self, tensor: &TensorInfo) -> &[u8] {
        match self.stored_of(tensor) {
            Some(stored) => stored.data(self.index(tensor), tensor),
            None => &self.data[tensor.file].mapping[self.range(tensor)],
        }
    }

    /// The stored bytes of one of this model's tensors, which may outlive the model.
    ///
    /// # Panics
    ///
    /// If `tensor` belongs to another model and lies outside of this one's files.
    pub fn tensor_bytes(&self, tensor: &TensorInfo) -> TensorBytes {
        match self.stored_of(tensor) {
            Some(stored) => stored.tensor_bytes(self.index(tensor), tensor),
            None => TensorBytes::new(&self.data[tensor.file].mapping, self.range(tensor)),
        }
    }

    /// Where a tensor is, if not in its file.
    fn stored_of(&self, tensor: &TensorInfo) -> Option<&Stored> {
        self.stored.as_ref().filter(|_| tensor.file < self.own_files())
    }

    /// The range of a tensor in the mapping of its file, which was checked when the header was read.
    fn range(&self, tensor: &TensorInfo) -> Range<usize> {
        let start = self.data[tensor.file].start + tensor.offset;
        start as usize..(start + tensor.bytes) as usize
    }
}

impl fmt::Debug for Gguf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.metadata.len();
        write!(f, "Gguf({keys} keys and {} tensors in {:?})", self.tensors.len(), self.files)
    }
}

/// A mapped file with its header.
struct Part {
    path: PathBuf,
    size: u64,
    stamp: Option<Stamp>,
    mapping: Mapping,
    header: Header,
}

impl Part {
    fn open(path: &Path) -> Result<Part, Error> {
        Part::new(path.to_path_buf(), Mapping::open(path)?)
    }

    fn new(path: PathBuf, mapping: Mapping) -> Result<Part, Error> {
        let (size, stamp) = (mapping.len() as u64, mapping.stamp());
        let header = Header::parse(&mapping, &path.display().to_string(), size)?;
        Ok(Part { path, size, stamp, mapping, header })
    }

    /// A part without its tensors, which are in a file with this stamp.
    fn stored(part: StoredPart, stamp: Option<Stamp>) -> Result<Part, Error> {
        let StoredPart { path, size, other } = part;
        let header = Header::parse(&other, &path.display().to_string(), size)?;
        // Each lies within `size` and none overlap, so there is no overflow.
        let tensors: u64 = header.tensors.iter().map(|tensor| tensor.bytes).sum();
        if other.len() as u64 != size - tensors {
            let (found, expected) = (other.len(), size - tensors);
            let problem = format!("{found} bytes outside of tensors are stored, expected {expected}");
            return Err(split::error(&path, problem));
        }
        Ok(Part { path, size, stamp, mapping: Mapping::Memory(other.into()), header })
    }
}
