//! `weft cache`: lists and removes packed weights and computed prompts.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, ensure};
use clap::error::ErrorKind;
use indicatif::HumanDuration;
use serde_json::{Value, json};
use weft_engine::inspect::{Packed, clear_device_files, verify_model};
use weft_engine::{Error, PackCache, PromptCache, PromptCacheUsage, open_file};
use weft_hub::{Cache, CachedModel};

use crate::cli::args::Args;
use crate::commands::{Command, Outcome, Positional};
use crate::model::packing;
use crate::terminal::interrupt::Listener;
use crate::terminal::progress::{Progress, Unit};
use crate::terminal::streams::{Out, note, plain};
use crate::terminal::units;

const WHAT: Positional = Positional {
    name: "WHAT",
    help: "`list` the files, `clear` them, `prune` those of models that are gone, `verify` every byte of packed weights, `pack` or `unpack` a downloaded model, or print the `path` of the folder [default: list]",
    required: false,
};
const MODEL: Positional = Positional {
    name: "MODEL",
    help: "Only the files of this model: its path, or a name from `weft list`",
    required: false,
};

pub(in crate::commands) const COMMAND: Command = Command {
    name: "cache",
    about: "List or clear cached packed weights and prompts",
    notes: "\
When a model is first run, its weights are packed into the layout that the CPU or GPU computes with, and kept in a file \
about as large as the model. Clearing the cache deletes no models: weights are simply packed again when needed. \
`clear` without a model also removes the files of devices: compiled kernels, the schedules found by `weft tune`, and \
measured device speeds; and the prompts that were kept with --cache-prompts.

`pack` packs a downloaded model and keeps nothing else of it: one file takes the place of two, for every device. Each tensor is \
restored and compared with the download before that is removed. `unpack` restores the download byte for byte.

Examples:
  weft cache
  weft cache clear
  weft cache clear model.gguf
  weft cache prune
  weft cache verify
  weft cache pack smollm2
  weft cache unpack smollm2",
    positionals: &[WHAT, MODEL],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let models = args.cache()?;
    let cache = PackCache::new(models.packed());
    let prompts = PromptCache::new(models.prompts(), 0);
    let what = args.text(WHAT.name).unwrap_or("list");
    let model = args.path(MODEL.name);
    let json = args.flag("json");
    if !["list", "clear", "prune", "verify", "pack", "unpack", "path"].contains(&what) {
        let problem =
            format!("there is no action `{what}`; expected list, clear, prune, verify, pack, unpack or path");
        return Err(clap::Error::raw(ErrorKind::InvalidValue, problem).into());
    }
    if what == "pack" || what == "unpack" {
        let missing =
            || clap::Error::raw(ErrorKind::MissingRequiredArgument, format!("{what} needs a MODEL"));
        let name = model.ok_or_else(missing)?;
        if what == "pack" {
            packing::refuse_built_in(&name.to_string_lossy())?;
        }
        let model = packing::cached(&models, name)?;
        let act = if what == "pack" { packing::pack } else { packing::unpack };
        act(&models, &model)?;
        return Ok(Outcome::Done);
    }
    if what == "path" {
        let path = cache.folder.display();
        let mut out = Out::new();
        if json {
            out.json(&json!(path.to_string()))?
        } else {
            writeln!(out, "{path}")?
        };
        return Ok(Outcome::Done);
    }
    if what == "prune" {
        let freed = cache.sweep() + cache.prune();
        freed_bytes(freed, 0, json)?;
        return Ok(Outcome::Done);
    }
    let folder = cache.folder.display();
    let mut packed = cache.list().with_context(|| format!("cannot read {folder}"))?;
    let mut kept = if what == "verify" { models.list()? } else { Vec::new() };
    kept.retain(|model| model.packed);
    if let Some(model) = model {
        let path = path_of(&models, model)?;
        kept.retain(|kept| weft_file::canonical(&kept.path).is_ok_and(|kept| kept == path));
        packed.retain(|packed| packed.of.as_ref().is_some_and(|of| of.model == path));
        ensure!(
            !packed.is_empty() || !kept.is_empty(),
            "there are no packed weights of `{}`; `weft cache` lists all",
            model.display()
        );
    }
    if what == "verify" {
        return verify(&cache, &packed, &kept, json);
    }
    let cannot_read = || format!("cannot read {}", prompts.folder.display());
    let kept = if model.is_none() { prompts.usage().with_context(cannot_read)? } else { Default::default() };
    if what == "list" {
        list(&cache, &packed, (&prompts, kept), json)?;
    } else {
        clear(&cache, &packed, model.is_none().then_some(&prompts), json)?;
    }
    Ok(Outcome::Done)
}

/// The path of a model, which may have been removed.
fn path_of(models: &Cache, path: &Path) -> anyhow::Result<PathBuf> {
    let name = path.to_str().filter(|_| !path.exists());
    let known = name.map(|name| models.find(name)).transpose()?.flatten().map(|model| model.path);
    let path = known.as_deref().unwrap_or(path);
    // A removed model can still be named by the path that `list` shows.
    Ok(weft_file::canonical(path).unwrap_or(path.to_path_buf()))
}

fn list(
    cache: &PackCache,
    packed: &[Packed],
    prompts: (&PromptCache, PromptCacheUsage),
    json: bool,
) -> anyhow::Result<()> {
    let mut out = Out::new();
    let (PromptCache { folder, .. }, PromptCacheUsage { pages, bytes, used, .. }) = prompts;
    if json {
        let prompts = used.map(|used| {
            json!({ "prompts": pages, "bytes": bytes, "used": seconds(used), "path": folder.display().to_string() })
        });
        return Ok(out.json(&packed.iter().map(description).chain(prompts).collect())?);
    }
    if let Some(used) = used {
        let since = SystemTime::now().duration_since(used).unwrap_or_default();
        let (folder, since) = (folder.display(), HumanDuration(since));
        note!("{} of prompts in {folder}, last used {since} ago", units::bytes(bytes));
    }
    let unfinished = cache.unfinished();
    if unfinished > 0 {
        note!(
            "{} of unfinished files, which processes left that were killed; `weft cache prune` removes them",
            units::bytes(unfinished)
        );
    }
    if packed.is_empty() {
        note!("no packed weights in {}", cache.folder.display());
        return Ok(());
    }
    writeln!(out, "{:>9}  {:>15}  MODEL", "SIZE", "LAST USED")?;
    for file in packed {
        let Packed { path, bytes, used, of } = file;
        let gone =
            if file.is_of_none() { " (the model is gone; `weft cache prune` removes this)" } else { "" };
        let model = match of {
            Some(of) => of.model.display().to_string(),
            None => format!("? ({} is damaged or from another version)", path.display()),
        };
        let used = last_used(SystemTime::now().duration_since(*used).unwrap_or_default());
        writeln!(out, "{:>9}  {used:>15}  {}{gone}", units::bytes(*bytes), plain(&model))?;
    }
    let total = packed.iter().map(|packed| packed.bytes).sum();
    note!("{} in {}", units::bytes(total), cache.folder.display());
    Ok(())
}

/// When packed weights were last used, in words. The time of a file is exact to an hour, because a use within
/// an hour of another does not set it again.
fn last_used(since: Duration) -> String {
    const EXACT: Duration = Duration::from_secs(3600);
    if since < EXACT { "within the hour".into() } else { format!("{} ago", HumanDuration(since)) }
}

/// Checks every byte of these files. What is damaged is packed again at its next use, unless it is all there is of a model.
fn verify(cache: &PackCache, packed: &[Packed], kept: &[CachedModel], json: bool) -> anyhow::Result<Outcome> {
    let listener = Listener::new();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let (mut damaged, mut lost, mut reports) = (0, 0, Vec::new());
    let files = packed.iter().map(|file| (&file.path, file.bytes, Some(file)));
    for (path, bytes, file) in files.chain(kept.iter().map(|model| (&model.path, model.bytes, None))) {
        let at = path.display().to_string();
        // By its model, as `list` shows it; a model that is kept packed only is the file itself.
        let model = file.and_then(|file| file.of.as_ref()).map(|of| of.model.display().to_string());
        let shown = plain(model.as_deref().unwrap_or(&at));
        let mut progress = Progress::new(format!("checking {shown}"), bytes, Unit::Bytes);
        let mut on = |done, _| {
            progress.set(done);
            if listener.pressed().load(Ordering::SeqCst) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let found = match file {
            Some(file) => cache.verify(file, threads, &mut on),
            None => verify_kept(path, threads, &mut on),
        };
        drop(progress);
        let Some(found) = found else { return Ok(Outcome::Interrupted) };
        damaged += usize::from(found.is_err() && file.is_some());
        lost += usize::from(found.is_err() && file.is_none());
        if !json {
            match &found {
                Ok(()) => note!("{shown} is good"),
                Err(why) if model.is_some() => note!("{shown}: {at} {why}"),
                Err(why) if file.is_some() => note!("{at} {why}"),
                Err(why) => note!("{why}"),
            }
        }
        reports.push(json!({ "model": model, "path": at, "bytes": bytes, "problem": found.err() }));
    }
    let count = reports.len();
    if json {
        Out::new().json(&Value::Array(reports))?;
    }
    ensure!(lost == 0, "{lost} of {count} files are damaged, and are the only copies of their models");
    ensure!(
        damaged == 0,
        "{damaged} of {count} files cannot be used; their models are packed again when needed"
    );
    Ok(Outcome::Done)
}

/// Checks a packed model. `None` if `on` interrupts it.
fn verify_kept(
    path: &Path,
    threads: usize,
    on: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Option<Result<(), String>> {
    let checked = open_file(path).and_then(|model| Ok(verify_model(&model, threads, on)?));
    match checked {
        Err(Error::Interrupted) => None,
        checked => Some(checked.map_err(|error| error.to_string())),
    }
}

fn description(packed: &Packed) -> Value {
    let Packed { path, bytes, used, of } = packed;
    json!({
        "gone": packed.is_of_none(),
        "model": of.as_ref().map(|of| of.model.display().to_string()),
        "layout": of.as_ref().map(|of| &of.packing),
        "bytes": bytes,
        "used": seconds(*used),
        "path": path.display().to_string(),
    })
}

/// The time in seconds since 1970.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Removes these and, with `prompts`, also those and the files of devices, which belong to no model.
fn clear(
    cache: &PackCache,
    packed: &[Packed],
    prompts: Option<&PromptCache>,
    json: bool,
) -> anyhow::Result<()> {
    let (mut freed, mut in_use) = (cache.sweep(), 0);
    if let Some(prompts) = prompts {
        let cannot = |folder: &Path| format!("cannot clear {}", folder.display());
        freed += clear_device_files(&cache.folder).with_context(|| cannot(&cache.folder))?;
        freed += prompts.clear().with_context(|| cannot(&prompts.folder))?;
    }
    for packed in packed {
        let bytes =
            cache.remove(packed).with_context(|| format!("cannot remove {}", packed.path.display()))?;
        freed += bytes;
        if bytes == 0 {
            in_use += 1;
            note!("{} is in use and was not removed", packed.path.display());
        }
    }
    freed_bytes(freed, in_use, json)
}

fn freed_bytes(freed: u64, in_use: usize, json: bool) -> anyhow::Result<()> {
    if json {
        Out::new().json(&json!({ "freed": freed, "in_use": in_use }))?;
    } else {
        note!("freed {}", units::bytes(freed));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_told_that_is_not_known() {
        for (minutes, said) in [
            (0, "within the hour"),
            (59, "within the hour"),
            (60, "60 minutes ago"),
            (3 * 24 * 60, "3 days ago"),
        ] {
            assert_eq!(last_used(Duration::from_secs(60 * minutes)), said);
        }
    }
}
