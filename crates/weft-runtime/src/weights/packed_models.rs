//! Models that are kept packed only: which of their tensors are packed, and how, follows from the plans of the CPU.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use weft_device::Hardware;
use weft_fuse::Options;
use weft_gguf::{Gguf, TensorInfo};
use weft_models::BuildOptions;
use weft_pack::{Form, OnReport};

use crate::error::Error;
use crate::model::files::PACKING;
use crate::options::RuntimeOptions;
use crate::planned::Planned;
use crate::sizes::Room;
use crate::weights::multiplied;

/// Packs a model into one file at `path`, from which it can be run, and from which [`unpack_model`] restores its own files. The file
/// appears only after every tensor was restored from it and compared. `name` is the model's name, for messages.
///
/// # Errors
/// If the model is not supported or is packed already, or the file cannot be written; [`Error::Interrupted`] if `report` interrupts
/// it. The model's own files are never touched.
pub fn pack_model(
    model: &Gguf,
    name: &str,
    path: &Path,
    threads: usize,
    report: OnReport<'_>,
) -> Result<(), Error> {
    let (tiles, rows) = needed(model)?;
    let form = |tensor: &TensorInfo| match (tiles.contains(&tensor.name), rows.contains(&tensor.name)) {
        (true, false) => Form::Tiles,
        (true, true) => Form::Both,
        (false, _) => Form::Rows,
    };
    Ok(weft_pack::pack_model(model, name, PACKING, &form, path, threads, report)?)
}

/// Restores the files that a packed model was made from, in `folder`, and returns their paths. Their SHA-256 is checked before they
/// get their names.
///
/// # Errors
/// If the model is not packed or is damaged, or a file cannot be written; [`Error::Interrupted`] if `report` interrupts it.
pub fn unpack_model(
    model: &Gguf,
    folder: &Path,
    threads: usize,
    report: OnReport<'_>,
) -> Result<Vec<PathBuf>, Error> {
    Ok(weft_pack::unpack_model(model, folder, threads, report)?)
}

/// The tensors that plans multiply by, and those that they also read by rows.
fn needed(gguf: &Gguf) -> Result<(BTreeSet<String>, BTreeSet<String>), Error> {
    let defaults = RuntimeOptions::default();
    let model = weft_models::build(gguf, &BuildOptions { kv: defaults.kv, ..BuildOptions::default() })?;
    let room = Room::of(&defaults, &model, &Hardware::common("any"))?;
    let options = Options { max: room.max, ..Options::default() };
    let planned = Planned::of_all_steps(&model, None, &options, &room)?;
    let (mut tiles, mut rows) = (BTreeSet::new(), BTreeSet::new());
    for (i, segment) in planned.segments.iter().enumerate() {
        let tensor = |own: &str| {
            let bound = segment.weights.iter().find(|(name, _)| name == own);
            bound.map(|(_, tensor)| tensor.clone())
        };
        tiles.extend(multiplied(&planned.fusions, i).into_iter().filter_map(tensor));
        let plans = planned.fusions.iter().map(|fusions| &fusions[i].plan);
        rows.extend(plans.flat_map(|plan| plan.weights_read_by_rows()).filter_map(tensor));
    }
    Ok((tiles, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_that_are_also_looked_up_are_kept_in_both_forms() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
        let needed = |name: &str| needed(&Gguf::open(&folder.join(name)).unwrap()).unwrap();
        let (tiles, rows) = needed("glm-tiny-q4_0.gguf");
        assert!(tiles.contains("output.weight") && tiles.contains("blk.0.ffn_down.weight"), "{tiles:?}");
        assert!(rows.contains("token_embd.weight") && rows.contains("output_norm.weight"), "{rows:?}");
        // Floats have no tiles, so that these are kept as rows alone.
        let both: Vec<_> = tiles.intersection(&rows).collect();
        assert_eq!(both, ["blk.1.ffn_gate_inp.weight", "blk.2.ffn_gate_inp.weight"]);
        // Its head is its embedding.
        let (tiles, rows) = needed("qwen3-tiny-q4_0.gguf");
        let both: Vec<_> = tiles.intersection(&rows).collect();
        assert_eq!(both, ["token_embd.weight"]);
    }
}
