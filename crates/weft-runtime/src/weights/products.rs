//! Parameters that no file has and that are computed when a model is loaded: products of weights, which rules ask for, and
//! Hadamard matrices.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weft_device::{BufferId, Device, Weight, WeightBytes};
use weft_fuse::Fusion;
use weft_gguf::Gguf;
use weft_ir::{Op, Product};
use weft_models::Segment;
use weft_pack::SourceWeight;

use crate::error::Error;
use crate::weights;

/// The number of rows that a thread takes at once.
const ROWS: usize = 16;

/// Computes the parameters that a segment's plan reads and no file has, loads them into the device, and returns their buffers by name.
/// Those in `multiplied` are packed in memory; they depend on compiler decisions, so caching them would seldom pay.
pub(crate) fn pack(
    device: &mut dyn Device,
    gguf: &Gguf,
    segment: &Segment,
    fusion: &Fusion,
    multiplied: &BTreeSet<&str>,
) -> Result<Vec<(String, BufferId)>, Error> {
    let mut taken = Vec::with_capacity(fusion.parameters.len());
    let mut sources = Vec::new();
    for (name, id) in &fusion.parameters {
        let node = fusion.graph.node(*id);
        let row_len = node.ty.shape.last().unwrap_or(0);
        let (rows, bytes): (usize, WeightBytes) = if let Op::Hadamard = node.op {
            let values = weft_ir::hadamard(row_len).into_iter().flat_map(f32::to_le_bytes);
            (row_len, Arc::new(values.collect::<Vec<u8>>()))
        } else {
            let wrong = |why: String| Error::Option(format!("{} of {}: {why}", name, segment.name));
            let product = Product::new(&fusion.graph, *id, &segment.rows(gguf)).map_err(wrong)?;
            (product.rows(), Arc::new(compute(&product, gguf, segment).map_err(wrong)?))
        };
        let weight = Weight { ty: node.ty.dtype, rows, row_len, bytes, tiles: None };
        if multiplied.contains(name.as_str()) && weights::has_tiles(device, &weight) {
            sources.push(SourceWeight { name: name.clone(), weight, mapped: None });
        } else {
            taken.push((name.clone(), device.pack(weight)?));
        }
    }
    let packed = weights::load_packed(device, &sources, None, &mut |_| ControlFlow::Continue(()))?;
    taken.extend(sources.into_iter().map(|source| source.name).zip(packed));
    Ok(taken)
}

/// Computes all rows of a product, on all cores.
fn compute(product: &Product<'_>, gguf: &Gguf, segment: &Segment) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; product.rows() * product.row_bytes()];
    let chunks: Vec<_> = bytes.chunks_mut(ROWS * product.row_bytes()).map(std::sync::Mutex::new).collect();
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), String> {
        let rows = segment.rows(gguf);
        loop {
            let chunk = next.fetch_add(1, Ordering::Relaxed);
            let Some(room) = chunks.get(chunk) else { return Ok(()) };
            let mut room = room.lock().map_err(|_| "another thread failed".to_string())?;
            for (i, row) in room.chunks_exact_mut(product.row_bytes()).enumerate() {
                product.row(chunk * ROWS + i, &rows, row)?;
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        let joined = others.into_iter().map(|t| t.join().unwrap_or_else(|_| Err("a thread failed".into())));
        joined.fold(own, |all, one| all.and(one))
    })?;
    drop(chunks);
    Ok(bytes)
}
