//! Writes GGUF files: first all tensors are declared, then their data is streamed.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use weft_quant::GgmlType;

use crate::data_writer::{DataWriter, Sink, refused};
use crate::encode;
use crate::error::{Quoted, WriteError};
use crate::header::{ALIGNMENT_KEY, MAGIC, check_key};
use crate::limits::{DEFAULT_ALIGNMENT, MAX_HEADER_BYTES, MAX_KEYS, MAX_TENSORS};
use crate::metadata::Metadata;
use crate::tensor::{TensorInfo, check_alignment, check_dims, check_name, check_shape};

/// The version that is written. It differs from 2 only in allowing big-endian files.
const VERSION: u32 = 3;

/// The declaration of a file: metadata and tensors.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use weft_gguf::{Gguf, Metadata, Writer};
/// use weft_quant::GgmlType;
///
/// let mut metadata = Metadata::new();
/// metadata.insert("general.architecture", "llama");
/// let mut writer = Writer::new(metadata)?;
/// writer.declare("output_norm.weight", GgmlType::F32, &[2])?;
///
/// let mut file = Vec::new();
/// let mut data = writer.to_stream(&mut file)?;
/// data.write("output_norm.weight", &1.0f32.to_le_bytes())?;
/// data.write("output_norm.weight", &2.0f32.to_le_bytes())?;
/// data.finish()?;
///
/// let model = Gguf::parse(file)?;
/// let norm = model.tensor("output_norm.weight").expect("it was declared");
/// assert_eq!(model.data(norm), [0, 0, 128, 63, 0, 0, 0, 64]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Writer {
    metadata: Metadata,
    alignment: u64,
    tensors: Vec<TensorInfo>,
    names: BTreeSet<String>,
    /// The size of the data section declared so far, including padding.
    data_bytes: u64,
}

impl Writer {
    /// Starts a file with this metadata and no tensors. `general.alignment` is respected.
    ///
    /// # Errors
    ///
    /// If the metadata breaks a rule or a limit that the reader enforces.
    pub fn new(metadata: Metadata) -> Result<Writer, WriteError> {
        if metadata.len() as u64 > MAX_KEYS {
            return Err(refused(format!("{} metadata keys exceed the limit of {MAX_KEYS}", metadata.len())));
        }
        metadata.iter().try_for_each(|(key, _)| check_key(key)).map_err(refused)?;
        let alignment =
            metadata.get(ALIGNMENT_KEY).map_or(Ok(DEFAULT_ALIGNMENT), check_alignment).map_err(refused)?;
        Ok(Writer { metadata, alignment, tensors: Vec::new(), names: BTreeSet::new(), data_bytes: 0 })
    }

    /// Declares the next tensor, with its shape in GGML's order (contiguous dimension first).
    ///
    /// # Errors
    ///
    /// If the name is taken, or name, type and shape break a rule or a limit that the reader enforces.
    pub fn declare(&mut self, name: &str, ty: GgmlType, shape: &[u64]) -> Result<(), WriteError> {
        check_name(name).map_err(refused)?;
        check_dims(name, shape.len() as u64).map_err(refused)?;
        let bytes = check_shape(name, ty, shape).map_err(refused)?;
        if self.tensors.len() as u64 == MAX_TENSORS {
            return Err(refused(format!(
                "tensor {} exceeds the limit of {MAX_TENSORS} tensors",
                Quoted(name)
            )));
        }
        let offset = self.data_bytes;
        let end = offset.checked_add(bytes).and_then(|end| end.checked_next_multiple_of(self.alignment));
        let end =
            end.ok_or_else(|| refused(format!("the end of tensor {} overflows 64 bits", Quoted(name))))?;
        if !self.names.insert(name.to_string()) {
            return Err(refused(format!("the tensor name {} is declared twice", Quoted(name))));
        }
        self.data_bytes = end;
        self.tensors.push(TensorInfo {
            name: name.to_string(),
            ty,
            shape: shape.to_vec(),
            offset,
            bytes,
            file: 0,
        });
        Ok(())
    }

    /// Writes the header to `path`; the data follows.
    ///
    /// The file gets its name when [`DataWriter::finish`] has everything on disk. Until then it is a
    /// temporary file beside `path`, which is removed if the writer is dropped.
    ///
    /// # Errors
    ///
    /// If the file cannot be written, or its header would be longer than the reader's limit.
    pub fn create(self, path: &Path) -> Result<DataWriter<'static>, WriteError> {
        self.start(Sink::create(path)?)
    }

    /// Writes the header to a stream; the data follows. Use a buffered stream for many small chunks.
    ///
    /// # Errors
    ///
    /// If the stream cannot be written, or the header would be longer than the reader's limit.
    pub fn to_stream<'a>(self, stream: impl Write + 'a) -> Result<DataWriter<'a>, WriteError> {
        self.start(Sink::stream(stream))
    }

    fn start(self, sink: Sink<'_>) -> Result<DataWriter<'_>, WriteError> {
        let mut header = self.header();
        if header.len() as u64 > MAX_HEADER_BYTES {
            return Err(refused(format!(
                "its header has {} bytes, which exceeds the limit of {MAX_HEADER_BYTES}",
                header.len()
            )));
        }
        header.resize(header.len().next_multiple_of(self.alignment as usize), 0);
        DataWriter::start(sink, &header, self.alignment, self.tensors)
    }

    /// The header, without the padding that follows it. GGML's `docs/gguf.md` specifies its layout.
    fn header(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(VERSION.to_le_bytes());
        out.extend((self.tensors.len() as u64).to_le_bytes());
        out.extend((self.metadata.len() as u64).to_le_bytes());
        for (key, value) in self.metadata.iter() {
            encode::string(&mut out, key.as_bytes());
            encode::value(&mut out, value);
        }
        for tensor in &self.tensors {
            encode::string(&mut out, tensor.name.as_bytes());
            out.extend((tensor.shape.len() as u32).to_le_bytes());
            out.extend(tensor.shape.iter().flat_map(|size| size.to_le_bytes()));
            out.extend(tensor.ty.id().to_le_bytes());
            out.extend(tensor.offset.to_le_bytes());
        }
        out
    }
}
