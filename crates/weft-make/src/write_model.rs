//! Writes a model file while its tensors are computed: worker threads compute chunks, and one thread writes them in order.
//!
//! Models can be larger than memory, so only a few chunks per thread exist at any time. The file does not depend on the
//! number of threads.

use std::num::NonZeroUsize;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;

use weft_gguf::{Metadata, Writer};
use weft_quant::GgmlType;

use crate::error::{Context as _, Result};

/// The number of values in a chunk: a multiple of every block length.
const CHUNK: u64 = 1 << 19;

/// Takes the number of bytes done and in total; decides whether to continue.
pub type OnProgress<'a> = &'a mut dyn FnMut(u64, u64) -> ControlFlow<()>;

/// A tensor to be written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlannedTensor {
    /// Its name.
    pub(crate) name: String,
    /// Its type in the file.
    pub(crate) ty: GgmlType,
    /// Its shape in GGML's order, the innermost dimension first.
    pub(crate) shape: Vec<u64>,
}

impl PlannedTensor {
    /// The number of values.
    pub(crate) fn values(&self) -> u64 {
        self.shape.iter().product()
    }

    /// The size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.ty.row_bytes(self.values()).unwrap_or(0)
    }
}

/// A part of a tensor.
struct Chunk {
    tensor: usize,
    values: Range<u64>,
}

/// Writes a model to `path`. An existing file there stays until the new one is complete, and if `progress` stops it.
///
/// `make` returns the stored bytes of a range of a tensor's values. It is called from `threads` threads in any order;
/// ranges begin and end at block boundaries.
///
/// # Errors
///
/// If metadata or tensors are not valid GGUF, `make` fails, or the file cannot be written.
pub(crate) fn write_model(
    path: &Path,
    metadata: Metadata,
    tensors: &[PlannedTensor],
    threads: NonZeroUsize,
    make: impl Fn(usize, Range<u64>) -> Result<Vec<u8>> + Sync,
    progress: OnProgress<'_>,
) -> Result<ControlFlow<()>> {
    let mut writer = Writer::new(metadata)?;
    for tensor in tensors {
        writer.declare(&tensor.name, tensor.ty, &tensor.shape)?;
    }
    // The writer has checked that sizes do not overflow.
    let chunks = chunks(tensors);
    let total = tensors.iter().map(PlannedTensor::bytes).sum();
    let mut done = 0;
    // Part files that killed processes left beside it are as large as models.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _ = weft_file::sweep(folder);
    let mut data = writer.create(path)?;
    let make = |at: usize| {
        let chunk = &chunks[at];
        let tensor = &tensors[chunk.tensor];
        make(chunk.tensor, chunk.values.clone())
            .with_context(|| format!("cannot make tensor `{}`", tensor.name.escape_debug()))
    };
    let flow = in_order(threads, chunks.len(), make, |at, bytes| {
        data.write(&tensors[chunks[at].tensor].name, &bytes)?;
        done += bytes.len() as u64;
        Ok(progress(done, total))
    })?;
    if flow.is_continue() {
        data.finish()?;
    }
    Ok(flow)
}

fn chunks(tensors: &[PlannedTensor]) -> Vec<Chunk> {
    let of_tensor = |(tensor, planned): (usize, &PlannedTensor)| {
        let values = planned.values();
        let starts = (0..values.div_ceil(CHUNK)).map(|n| n * CHUNK);
        starts.map(move |start| Chunk { tensor, values: start..values.min(start + CHUNK) })
    };
    tensors.iter().enumerate().flat_map(of_tensor).collect()
}

/// Makes `count` items on several threads and takes them in order on this one, until `take` stops it. Each thread makes
/// every `threads`-th item and is at most two ahead.
fn in_order<T: Send>(
    threads: NonZeroUsize,
    count: usize,
    make: impl Fn(usize) -> Result<T> + Sync,
    mut take: impl FnMut(usize, T) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    let threads = threads.get().min(count);
    thread::scope(|scope| {
        let start = |first: usize| {
            let (sender, receiver) = sync_channel(1);
            let make = &make;
            scope.spawn(move || {
                for at in (first..count).step_by(threads) {
                    let made = make(at);
                    let failed = made.is_err();
                    // The receiver is gone once an item has failed or `take` has stopped.
                    if sender.send(made).is_err() || failed {
                        break;
                    }
                }
            });
            receiver
        };
        let receivers: Vec<_> = (0..threads).map(start).collect();
        for at in 0..count {
            // A thread that ends without sending has panicked; the scope will propagate that.
            let Ok(made) = receivers[at % threads].recv() else { break };
            if take(at, made?)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    })
}
