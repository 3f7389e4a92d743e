//! Keeping only the packed form of a cached model, and restoring its own files.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use weft_engine::{PackCache, open_file, pack_model, unpack_model};
use weft_hub::{BUILT_IN, Cache, CachedModel};

use crate::model::load::with_report;
use crate::terminal::streams::note;
use crate::terminal::units;

/// Finds a model of the cache.
///
/// # Errors
/// If there is none of this name. The message tells a file of the user's from a name that is not known.
pub(crate) fn cached(cache: &Cache, name: &Path) -> anyhow::Result<CachedModel> {
    if let Some(model) = cache.find_any(name)? {
        return Ok(model);
    }
    let folder = cache.models();
    let folder = folder.display();
    let shown = name.display();
    if name.is_file() {
        bail!("{shown} is a file of yours: only models in {folder} are packed in place");
    }
    if let Some(text) = name.to_str() {
        refuse_built_in(text)?;
    }
    bail!("there is no model {shown} in {folder}; `weft list` shows what there is")
}

/// Whether this is the name of the model in the program.
pub(crate) fn is_built_in(name: &str) -> bool {
    BUILT_IN.is_some_and(|own| own.name == name)
}

/// Refuses to pack the model in the program.
///
/// # Errors
/// If this is its name.
pub(crate) fn refuse_built_in(name: &str) -> anyhow::Result<()> {
    ensure!(
        !is_built_in(name),
        "{name} is in the program: there is no download to replace, and its file is written again when it is next used"
    );
    Ok(())
}

/// Packs a model, and removes its own files. They are removed only after every tensor was restored and compared.
///
/// # Errors
/// If the model cannot be run or restored exactly, or a file cannot be written or removed.
pub(crate) fn pack(cache: &Cache, model: &CachedModel) -> anyhow::Result<()> {
    let name = &model.name;
    refuse_built_in(name)?;
    if model.packed {
        // Removing its own files may have been cut short.
        cache.keep_packed(model)?;
        note!("{name} is packed already");
        return Ok(());
    }
    let original = model.original();
    let is_link = fs::symlink_metadata(&original).is_ok_and(|about| about.is_symlink());
    ensure!(!is_link, "{} is a link to a file elsewhere, which stays as it is", original.display());
    sweep(&original);
    let path =
        weft_file::canonical(&original).with_context(|| format!("cannot read {}", original.display()))?;
    let threads = threads();
    with_report(|report| pack_model(&open_file(&original)?, name, &model.packed_path(), threads, report))?;
    cache.keep_packed(model)?;
    let packs = PackCache::new(cache.packed());
    for packed in packs.list().unwrap_or_default() {
        if packed.of.as_ref().is_some_and(|of| of.model == path) {
            // In use or not, it is of no use to later processes.
            let _ = packs.remove(&packed);
        }
    }
    let now = fs::metadata(model.packed_path()).map_or(0, |about| about.len());
    note!("packed {name}: {} in place of {}", units::bytes(now), units::bytes(model.bytes));
    Ok(())
}

/// Restores a model's own files, and removes its packed form once they are complete.
///
/// # Errors
/// If the packed form is damaged, or a file cannot be written or removed.
pub(crate) fn unpack(cache: &Cache, model: &CachedModel) -> anyhow::Result<()> {
    let (name, original) = (&model.name, model.original());
    sweep(&original);
    if !model.packed {
        // Removing the packed form may have been cut short.
        cache.keep_original(model)?;
        note!("{name} is not packed");
        return Ok(());
    }
    let folder = original.parent().unwrap_or(Path::new("."));
    with_report(|report| unpack_model(&open_file(&model.path)?, folder, threads(), report))?;
    cache.keep_original(model)?;
    note!("unpacked {name}");
    Ok(())
}

/// Removes part files that killed processes left next to a model.
fn sweep(path: &Path) {
    if let Some(folder) = path.parent() {
        let _ = weft_file::sweep(folder);
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
