//! What `MODEL` can be, decided in one place: a path, a name, a model on the hub, or nothing.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::args::Args;
use crate::cache::Cache;
use crate::catalog::{DEFAULT, KNOWN, Known, known};
use crate::fetch::Fetcher;
use crate::names::HubName;

/// What the help says of it.
pub(crate) const HELP: &str =
    "A path, a name that `weft list` shows, or hf:ORG/REPO:QUANT; fetched if need be";

/// Finds the file of a model, or the first of its files, and fetches it if it has to. Without a name it is the default
/// model.
///
/// # Errors
/// If there is no such model, or it cannot be fetched. The message says where it was looked for.
pub(crate) fn find(args: Args<'_>, name: Option<&str>) -> anyhow::Result<PathBuf> {
    if let Some(known) = named(name) {
        return Fetcher::new(args)?.known(known);
    }
    let name = name.unwrap_or_default();
    let path = Path::new(name);
    if path.is_dir() {
        bail!("{name} is a folder; name one of the GGUF files in it");
    }
    if path.exists() {
        return Ok(path.to_path_buf());
    }
    let fetcher = Fetcher::new(args)?;
    if let Some(hub) = HubName::read(name) {
        let hub = hub?;
        return match fetcher.cache().find_hub(&hub)? {
            Some(model) => Ok(model.path),
            None => fetcher.hub(&hub),
        };
    }
    if let Some(model) = fetcher.cache().find(name)? {
        return Ok(model.path);
    }
    let here = std::env::current_dir().context("the current folder is not known")?;
    let cached: Vec<String> = fetcher.cache().list()?.into_iter().map(|model| model.name).collect();
    let cached = if cached.is_empty() { "is empty".into() } else { format!("has {}", cached.join(", ")) };
    bail!(
        "there is no model `{name}`: it is no file in {}, the cache in {} {cached}, and by name there is {}; \
         models on the hub are called hf:ORG/REPO:QUANT",
        here.display(),
        fetcher.cache().models().display(),
        KNOWN.iter().map(|known| known.name).collect::<Vec<_>>().join(", "),
    )
}

/// The model of the catalogue that is meant, if it is one: by no name, or by one that is not that of a file here, too.
pub(crate) fn named(name: Option<&str>) -> Option<&'static Known> {
    name.map_or(Some(DEFAULT), |name| known(name).filter(|_| !Path::new(name).is_file()))
}

/// Whether a lone argument is more likely a model than a prompt.
pub(crate) fn looks_like_model(text: &str) -> bool {
    text.ends_with(".gguf") || text.starts_with(HubName::PREFIX) || known(text).is_some()
}

/// Whether a model of this name is in the cache, or a file of this name is one.
pub(crate) fn is_there(args: Args<'_>, name: &str) -> bool {
    let cached = || Cache::new(args.path("cache"))?.find(name);
    starts_like_gguf(Path::new(name)).unwrap_or(false) || cached().is_ok_and(|model| model.is_some())
}

fn starts_like_gguf(path: &Path) -> io::Result<bool> {
    // Opening a pipe would wait for somebody to write to it.
    if !fs::metadata(path)?.is_file() {
        return Ok(false);
    }
    let mut magic = [0; 4];
    File::open(path)?.read_exact(&mut magic)?;
    Ok(magic == *b"GGUF")
}
