//! Writes a model whose tensors are computed on the way: several threads make pieces of them, one writes these in order.
//!
//! A model can be larger than memory, so no tensor is ever there as a whole: a few pieces a thread are all there is. What
//! is written does not depend on the number of threads.

use std::num::NonZeroUsize;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;

use anyhow::{Context, Result};
use weft_gguf::{Metadata, Writer};
use weft_quant::GgmlType;

/// Values made at once. A multiple of every block, so that pieces are whole blocks.
const PIECE: u64 = 1 << 19;

/// Told how many bytes of how many are done, now and then; says whether to go on.
pub(crate) type OnProgress<'a> = &'a mut dyn FnMut(u64, u64) -> ControlFlow<()>;

/// A tensor to be written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Planned {
    /// Its name.
    pub(crate) name: String,
    /// How it will be stored.
    pub(crate) ty: GgmlType,
    /// In GGML's order.
    pub(crate) shape: Vec<u64>,
}

impl Planned {
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
struct Piece {
    tensor: usize,
    values: Range<u64>,
}

/// Writes a model to `path`, which has it when all is done and nothing before, nor if `progress` breaks off.
///
/// `make` gives the stored bytes of a range of a tensor's values; it is called from `threads` threads, in any order, and
/// ranges begin and end with a block.
///
/// # Errors
///
/// If metadata or tensors break a rule of the format, `make` fails, or the file cannot be written.
pub(crate) fn write_model(
    path: &Path,
    metadata: Metadata,
    tensors: &[Planned],
    threads: NonZeroUsize,
    make: impl Fn(usize, Range<u64>) -> Result<Vec<u8>> + Sync,
    progress: OnProgress<'_>,
) -> Result<ControlFlow<()>> {
    let mut writer = Writer::new(metadata)?;
    for tensor in tensors {
        writer.declare(&tensor.name, tensor.ty, &tensor.shape)?;
    }
    // From here on sizes are known not to overflow: that is a rule of the format.
    let pieces = pieces(tensors);
    let total = tensors.iter().map(Planned::bytes).sum();
    let mut done = 0;
    let mut data = writer.create(path)?;
    let make = |at: usize| {
        let piece = &pieces[at];
        let tensor = &tensors[piece.tensor];
        make(piece.tensor, piece.values.clone())
            .with_context(|| format!("cannot make tensor `{}`", tensor.name.escape_debug()))
    };
    let flow = in_order(threads, pieces.len(), make, |at, bytes| {
        data.write(&tensors[pieces[at].tensor].name, &bytes)?;
        done += bytes.len() as u64;
        Ok(progress(done, total))
    })?;
    if flow.is_continue() {
        data.finish()?;
    }
    Ok(flow)
}

fn pieces(tensors: &[Planned]) -> Vec<Piece> {
    let of_tensor = |(tensor, planned): (usize, &Planned)| {
        let values = planned.values();
        let starts = (0..values.div_ceil(PIECE)).map(|n| n * PIECE);
        starts.map(move |start| Piece { tensor, values: start..values.min(start + PIECE) })
    };
    tensors.iter().enumerate().flat_map(of_tensor).collect()
}

/// Makes `count` things in several threads and takes them here in their order, until one is too many. Each thread makes every
/// `threads`-th and is at most two ahead.
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
                    // Nobody receives any more once something has failed or broken off.
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
