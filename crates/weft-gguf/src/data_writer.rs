//! The second half of writing a file: tensor data in the declared order and sizes.

use std::fmt;
use std::io::{BufWriter, Write};
use std::path::Path;

use weft_file::AtomicFile;

use crate::error::{Quoted, WriteError};
use crate::tensor::TensorInfo;

/// Bytes buffered before a write to the operating system.
const BUFFER_BYTES: usize = 1 << 20;

/// Writes the data of the tensors that a [`Writer`](crate::Writer) has declared, in chunks of any size.
#[derive(Debug)]
#[must_use = "the file is complete only after `finish`"]
pub struct DataWriter<'a> {
    sink: Sink<'a>,
    alignment: u64,
    tensors: Vec<TensorInfo>,
    /// The tensor whose data comes next: the first that is incomplete.
    current: usize,
    /// The number of its bytes written so far.
    written: u64,
}

impl<'a> DataWriter<'a> {
    /// Writes the header, with the padding that follows it.
    pub(crate) fn start(
        mut sink: Sink<'a>,
        header: &[u8],
        alignment: u64,
        tensors: Vec<TensorInfo>,
    ) -> Result<DataWriter<'a>, WriteError> {
        sink.write(header)?;
        Ok(DataWriter { sink, alignment, tensors, current: 0, written: 0 })
    }

    /// Writes the next bytes of tensor `name`.
    ///
    /// # Errors
    ///
    /// If another tensor is due, if the chunk is longer than what is missing of this one, or if the output
    /// cannot be written. After the latter, the writer can only be dropped.
    pub fn write(&mut self, name: &str, chunk: &[u8]) -> Result<(), WriteError> {
        let Some(tensor) = self.tensors.get(self.current) else {
            return Err(refused(format!(
                "got data for tensor {} after the last tensor was complete",
                Quoted(name)
            )));
        };
        let missing = tensor.bytes - self.written;
        if tensor.name != name {
            let due = Quoted(&tensor.name);
            let rule = format!("got data for tensor {}, but {missing} bytes of {due} are due", Quoted(name));
            return Err(refused(rule));
        }
        if chunk.len() as u64 > missing {
            let rule = format!(
                "got {} bytes of data for tensor {}, but only {missing} are due",
                chunk.len(),
                Quoted(name)
            );
            return Err(refused(rule));
        }
        self.sink.write(chunk)?;
        self.written += chunk.len() as u64;
        if self.written == tensor.bytes {
            let padding = tensor.bytes.next_multiple_of(self.alignment) - tensor.bytes;
            self.sink.write(&vec![0; padding as usize])?;
            self.current += 1;
            self.written = 0;
        }
        Ok(())
    }

    /// Ends the file. A file made by [`Writer::create`](crate::Writer::create) is on disk and under its name
    /// when this returns.
    ///
    /// # Errors
    ///
    /// If data is missing, or the output cannot be written.
    pub fn finish(self) -> Result<(), WriteError> {
        if let Some(tensor) = self.tensors.get(self.current) {
            let rule = format!(
                "tensor {} has only {} of its {} bytes",
                Quoted(&tensor.name),
                self.written,
                tensor.bytes
            );
            return Err(refused(rule));
        }
        self.sink.finish()
    }
}

/// The output.
pub(crate) struct Sink<'a> {
    output: Output<'a>,
    /// Its name in errors.
    target: String,
    /// Whether a write has failed, so that the output's contents are unknown.
    broken: bool,
}

enum Output<'a> {
    Stream(Box<dyn Write + 'a>),
    File(BufWriter<AtomicFile>),
}

impl<'a> Sink<'a> {
    pub(crate) fn stream(stream: impl Write + 'a) -> Sink<'a> {
        Sink {
            output: Output::Stream(Box::new(stream)),
            target: "the GGUF output".to_string(),
            broken: false,
        }
    }

    pub(crate) fn create(path: &Path) -> Result<Sink<'a>, WriteError> {
        let target = path.display().to_string();
        match AtomicFile::create(path) {
            Ok(file) => {
                let file = BufWriter::with_capacity(BUFFER_BYTES, file);
                Ok(Sink { output: Output::File(file), target, broken: false })
            }
            Err(source) => Err(WriteError::Io { action: "create", target, source }),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.check()?;
        let written = match &mut self.output {
            Output::Stream(stream) => stream.write_all(bytes),
            Output::File(file) => file.write_all(bytes),
        };
        self.broken = written.is_err();
        written.map_err(|source| WriteError::Io { action: "write", target: self.target.clone(), source })
    }

    fn finish(self) -> Result<(), WriteError> {
        self.check()?;
        let finished = match self.output {
            Output::Stream(mut stream) => stream.flush(),
            Output::File(file) => {
                file.into_inner().map_err(|error| error.into_error()).and_then(AtomicFile::commit)
            }
        };
        finished.map_err(|source| WriteError::Io { action: "finish writing", target: self.target, source })
    }

    fn check(&self) -> Result<(), WriteError> {
        if self.broken { Err(refused("an earlier write failed".to_string())) } else { Ok(()) }
    }
}

impl fmt::Debug for Sink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.target)
    }
}

/// The error for a request that breaks `rule`.
pub(crate) fn refused(rule: String) -> WriteError {
    WriteError::Refused(rule)
}
