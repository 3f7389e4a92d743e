//! Importance matrices: how much errors in each column of a weight matter, in llama.cpp's files.
//!
//! For each weight such a file has the sum of squares of each column of its inputs, and the number of inputs. It is a GGUF
//! file today (`general.type` is `imatrix`), and was a plain list of entries before, which can still be read.

mod legacy;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use weft_engine::inspect::InputSums;
use weft_gguf::{Array, Gguf, Metadata, Strings, TensorInfo, Writer};
use weft_quant::GgmlType;

use crate::error::{Context as _, Result, bail, ensure};
use legacy::{Legacy, LegacyEntry};

const TYPE_KEY: &str = "general.type";
const TYPE: &str = "imatrix";
const DATASETS_KEY: &str = "imatrix.datasets";
const CHUNKS_KEY: &str = "imatrix.chunk_count";
const CHUNK_SIZE_KEY: &str = "imatrix.chunk_size";

/// The end of the name of a tensor of sums, after the weight's own name.
const SQUARES: &str = ".in_sum2";
/// The end of the name of a tensor of counts.
const COUNTS: &str = ".counts";

/// The importance of the weights of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imatrix {
    /// The names of the texts that it was computed from.
    pub datasets: Vec<String>,
    /// The number of windows of these texts.
    pub chunks: u32,
    /// The tokens of a window; `None` if the file does not say.
    pub chunk_size: Option<u32>,
    /// Statistics of each weight's activations, by the weight's name.
    pub entries: BTreeMap<String, Entry>,
}

/// Statistics of the activations that a weight was multiplied by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// Σ x² of each column, for each matrix of a stack.
    squares: Vec<f32>,
    /// The number of rows, for all matrices or for each.
    counts: Vec<f32>,
}

impl Entry {
    /// Checks what a file holds.
    fn new(squares: Vec<f32>, counts: Vec<f32>) -> Result<Entry> {
        let (sums, matrices) = (squares.len(), counts.len());
        ensure!(
            sums > 0 && matrices > 0 && sums.is_multiple_of(matrices),
            "expected sums for each of {matrices} matrices, found {sums} sums"
        );
        let is_sum = |x: &&f32| x.is_finite() && **x >= 0.0;
        if let Some(bad) = squares.iter().chain(&counts).find(|x| !is_sum(x)) {
            bail!("expected finite numbers of at least 0, found {bad}");
        }
        Ok(Entry { squares, counts })
    }

    /// The mean of x² of each column, matrix by matrix; 1 for a matrix without rows, of which nothing is known.
    pub(crate) fn means(&self) -> Vec<f32> {
        let columns = self.squares.len() / self.counts.len();
        let mean = |(squares, count): (&[f32], &f32)| -> Vec<f32> {
            squares.iter().map(|sum| if *count > 0.0 { sum / count } else { 1.0 }).collect()
        };
        self.squares.chunks_exact(columns).zip(&self.counts).flat_map(mean).collect()
    }
}

impl Imatrix {
    /// The matrix of sums that were collected from windows of a text, `chunks` of them with `chunk_size` tokens each.
    ///
    /// # Errors
    /// If sums are not finite numbers, or not of as many columns for each matrix.
    pub fn new(
        dataset: String,
        (chunks, chunk_size): (usize, usize),
        sums: &BTreeMap<String, InputSums>,
    ) -> Result<Imatrix> {
        let entry = |(name, sums): (&String, &InputSums)| {
            let squares = sums.squares.iter().map(|sum| *sum as f32).collect();
            let counts = sums.counts.iter().map(|count| *count as f32).collect();
            let entry = Entry::new(squares, counts).with_context(|| format!("the inputs of `{name}`"))?;
            Ok((name.clone(), entry))
        };
        Ok(Imatrix {
            datasets: vec![dataset],
            chunks: chunks as u32,
            chunk_size: Some(chunk_size as u32),
            entries: sums.iter().map(entry).collect::<Result<_>>()?,
        })
    }

    /// Reads a file of either format.
    ///
    /// # Errors
    /// If it cannot be read, or is damaged.
    pub fn read(path: &Path) -> Result<Imatrix> {
        let read = || {
            let mut magic = [0; 4];
            let mut file = File::open(path)?;
            let is_gguf = file.read_exact(&mut magic).is_ok() && &magic == b"GGUF";
            if is_gguf {
                Imatrix::of_gguf(&Gguf::open(path)?)
            } else {
                Imatrix::of_legacy(&legacy::read(path)?)
            }
        };
        read().with_context(|| format!("cannot read the importance matrix {}", path.display()))
    }

    fn of_legacy(bytes: &[u8]) -> Result<Imatrix> {
        let Legacy { entries, chunks, dataset } = legacy::parse(bytes)?;
        let datasets = if dataset.is_empty() { Vec::new() } else { vec![dataset] };
        let mut imatrix = Imatrix { datasets, chunks, ..Imatrix::default() };
        let count = entries.len();
        for (index, LegacyEntry { name, calls, values }) in entries.into_iter().enumerate() {
            let at = || format!("entry {index} of {count}: `{}`", name.escape_debug());
            let entry = Entry::new(values, vec![calls as f32]).with_context(at)?;
            ensure!(!imatrix.entries.contains_key(&name), "{} is there twice", at());
            imatrix.entries.insert(name, entry);
        }
        Ok(imatrix)
    }

    fn of_gguf(gguf: &Gguf) -> Result<Imatrix> {
        let metadata = gguf.metadata();
        let ty = metadata.str(TYPE_KEY)?;
        ensure!(
            ty == Some(TYPE),
            "expected a file whose `{TYPE_KEY}` is `{TYPE}`, found {}",
            ty.unwrap_or("none")
        );
        let mut imatrix = Imatrix {
            datasets: match metadata.strings(DATASETS_KEY)? {
                Some(names) => names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect(),
                None => Vec::new(),
            },
            chunks: metadata.u32(CHUNKS_KEY)?.unwrap_or(0),
            chunk_size: metadata.u32(CHUNK_SIZE_KEY)?,
            entries: BTreeMap::new(),
        };
        for tensor in gguf.tensors() {
            let Some(weight) = tensor.name.strip_suffix(SQUARES) else { continue };
            let entry = || {
                let counts = gguf.tensor(&format!("{weight}{COUNTS}"));
                Entry::new(floats(gguf, tensor)?, floats(gguf, counts.context("its counts are missing")?)?)
            };
            let entry = entry().with_context(|| format!("entry `{}`", weight.escape_debug()))?;
            imatrix.entries.insert(weight.into(), entry);
        }
        ensure!(!imatrix.entries.is_empty(), "it has no entries");
        Ok(imatrix)
    }

    /// Writes a GGUF file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut metadata = Metadata::new();
        metadata.insert(TYPE_KEY, TYPE);
        metadata.insert(
            DATASETS_KEY,
            weft_gguf::Value::Array(Array::String(self.datasets.iter().collect::<Strings>())),
        );
        metadata.insert(CHUNKS_KEY, self.chunks);
        if let Some(size) = self.chunk_size {
            metadata.insert(CHUNK_SIZE_KEY, size);
        }
        let mut writer = Writer::new(metadata)?;
        for (name, Entry { squares, counts }) in &self.entries {
            let matrices = counts.len() as u64;
            writer.declare(
                &format!("{name}{SQUARES}"),
                GgmlType::F32,
                &[squares.len() as u64 / matrices, matrices],
            )?;
            writer.declare(&format!("{name}{COUNTS}"), GgmlType::F32, &[1, matrices])?;
        }
        let mut data = writer.create(path)?;
        let bytes = |values: &[f32]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        for (name, Entry { squares, counts }) in &self.entries {
            data.write(&format!("{name}{SQUARES}"), &bytes(squares))?;
            data.write(&format!("{name}{COUNTS}"), &bytes(counts))?;
        }
        Ok(data.finish()?)
    }

    /// The importance of each column of each matrix of a model's tensor; `None` if there is no entry for it.
    ///
    /// # Errors
    /// If the entry does not fit the tensor.
    pub(crate) fn importance(&self, tensor: &TensorInfo) -> Result<Option<Importance>> {
        let Some(entry) = self.entries.get(&tensor.name) else { return Ok(None) };
        let (columns, rows) = (tensor.shape[0], tensor.shape.get(1).copied().unwrap_or(1));
        let matrices: u64 = tensor.shape.iter().skip(2).product();
        let means = entry.means();
        ensure!(
            means.len() as u64 == columns * matrices,
            "the importance matrix has {} values for the tensor `{}`: expected {columns} for each of {matrices}; it was \
             computed for another model",
            means.len(),
            tensor.name.escape_debug()
        );
        Ok(Some(Importance { columns, rows, means }))
    }
}

/// The importance of the values of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Importance {
    columns: u64,
    /// The rows of each matrix.
    rows: u64,
    /// `[matrices, columns]`
    means: Vec<f32>,
}

impl Importance {
    /// The importance of a range of the tensor's values.
    pub(crate) fn of(&self, values: std::ops::Range<u64>) -> Vec<f32> {
        let mut all = Vec::with_capacity((values.end - values.start) as usize);
        let mut at = values.start;
        while at < values.end {
            let (row, column) = (at / self.columns, at % self.columns);
            let end = values.end.min((row + 1) * self.columns);
            let first = (row / self.rows * self.columns + column) as usize;
            all.extend_from_slice(&self.means[first..][..(end - at) as usize]);
            at = end;
        }
        all
    }
}

/// The values of a tensor of floats.
fn floats(gguf: &Gguf, tensor: &TensorInfo) -> Result<Vec<f32>> {
    ensure!(tensor.ty == GgmlType::F32, "expected f32, found {}", tensor.ty);
    Ok(gguf.data(tensor).as_chunks().0.iter().map(|x| f32::from_le_bytes(*x)).collect())
}

#[cfg(test)]
mod tests;
