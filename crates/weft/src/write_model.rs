//! Writes a model while its tensors are computed: several threads make chunks of them, one writes the chunks in order.
//!
//! A model can be larger than memory, so no tensor is ever in memory as a whole: there are only a few chunks for each
//! thread. What is written does not depend on the number of threads.

use std::num::NonZeroUsize;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;

use anyhow::{Context, Result};
use weft_gguf::{Metadata, Writer};
use weft_quant::GgmlType;

/// Values of a chunk. A multiple of every block, so that chunks are whole blocks.
const CHUNK: u64 = 1 << 19;

/// Told how many bytes are done, and of how many; says whether to continue.
pub(crate) type OnProgress<'a> = &'a mut dyn FnMut(u64, u64) -> ControlFlow<()>;

/// A tensor to be written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlannedTensor {
    /// Its name.
    pub(crate) name: String,
    /// How it will be stored.
    pub(crate) ty: GgmlType,
    /// In GGML's order.
    pub(crate) shape: Vec<u64>,
}

impl PlannedTensor {
    /// How many values it has.
    pub(crate) fn values(&self) -> u64 {
        self.shape.iter().product()
    }

    /// Bytes it will take.
    pub(crate) fn bytes(&self) -> u64 {
        self.ty.row_bytes(self.values()).unwrap_or(0)
    }
}

/// A part of a tensor.
struct Chunk {
    tensor: usize,
    values: Range<u64>,
}

/// Writes a model to `path`. Until all is done, and if `progress` breaks off, what was at `path` stays.
///
/// `make` gives the stored bytes of a range of a tensor's values. It is called from `threads` threads, in any order; ranges
/// begin and end with a block.
///
/// # Errors
///
/// If metadata or tensors break a rule of the format, `make` fails, or the file cannot be written.
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
    // From here on sizes are known not to overflow: that is a rule of the format.
    let chunks = chunks(tensors);
    let total = tensors.iter().map(PlannedTensor::bytes).sum();
    let mut done = 0;
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

/// Makes `count` things in several threads and takes them in order on this one, until `take` breaks off. Each thread makes
/// every `threads`-th and is at most two ahead.
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
                    // There is no receiver any more once something has failed or broken off.
                    if sender.send(made).is_err() || failed {
                        break;
                    }
                }
            });
            receiver
        };
        let receivers: Vec<_> = (0..threads).map(start).collect();
        for at in 0..count {
            // A thread that ends without sending has panicked, and so will the scope.
            let Ok(made) = receivers[at % threads].recv() else { break };
            if take(at, made?)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    })
}
