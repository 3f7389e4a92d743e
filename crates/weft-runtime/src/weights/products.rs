//! Parameters that no file has and that are computed when a model is loaded: Hadamard matrices.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use weft_device::{BufferId, Device, Weight};
use weft_fuse::Fusion;
use weft_pack::SourceWeight;

use crate::error::Error;
use crate::weights;

/// Computes the parameters that a plan reads and no file has, loads them into the device, and returns their buffers by name.
/// Those in `multiplied` are packed in memory; they depend on compiler decisions, so caching them would seldom pay.
pub(crate) fn pack(
    device: &mut dyn Device,
    fusion: &Fusion,
    multiplied: &BTreeSet<&str>,
) -> Result<Vec<(String, BufferId)>, Error> {
    let mut taken = Vec::with_capacity(fusion.parameters.len());
    let mut sources = Vec::new();
    for (name, id) in &fusion.parameters {
        let ty = &fusion.graph.node(*id).ty;
        let rows = ty.shape.last().unwrap_or(0);
        let bytes = weft_ir::hadamard(rows).into_iter().flat_map(f32::to_le_bytes).collect::<Vec<u8>>();
        let weight = Weight { ty: ty.dtype, rows, row_len: rows, bytes: Arc::new(bytes), tiles: None };
        if multiplied.contains(name.as_str()) && weights::has_tiles(device, &weight) {
            sources.push(SourceWeight { name: name.clone(), weight, mapped: None });
        } else {
            taken.push((name.clone(), device.pack(weight)?));
        }
    }
    weights::load_packed(
        device,
        &sources,
        None,
        &mut |_| ControlFlow::Continue(()),
        |device, name, weight| {
            taken.push((name.into(), device.pack(weight)?));
            Ok(())
        },
    )?;
    Ok(taken)
}
