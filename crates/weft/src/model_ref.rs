//! The argument `MODEL`: which model is meant by it, and whether a text is likely to be one.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use weft_hub::{Cache, CatalogModel, DEFAULT_MODEL, Hub, HubName, HubOptions, catalog_model};

use crate::args::Args;
use crate::fetching::with_events;

/// What the help says of it.
pub(crate) const HELP: &str =
    "A path, a name that `weft list` shows, or hf:ORG/REPO:QUANT; fetched if need be";

/// Finds the file of a model, or the first of its files, and fetches it if it has to. Without a name it is the default
/// model.
///
/// # Errors
/// If there is no such model, or it cannot be fetched. The message says where it was looked for.
pub(crate) fn find(args: Args<'_>, name: Option<&str>) -> anyhow::Result<PathBuf> {
    let name = name.unwrap_or(DEFAULT_MODEL.name);
    let path = Path::new(name);
    // A file needs no cache, so it does not matter if there can be none.
    if path.is_file() {
        return Ok(path.to_path_buf());
    }
    let hub = hub(args)?;
    Ok(with_events(|on| hub.find(name, on))?)
}

/// The hub and the cache that the arguments name.
///
/// # Errors
/// If there is no cache, or the hub's address is none.
pub(crate) fn hub(args: Args<'_>) -> anyhow::Result<Hub> {
    let mut options = HubOptions::default();
    if let Some(endpoint) = args.text("hub") {
        options.endpoint = endpoint.into();
    }
    options.token = args.text("hub-token").map(str::to_string);
    Ok(Hub::new(cache(args)?, &options)?)
}

/// The cache that the arguments name, or the user's own.
///
/// # Errors
/// If none is named and the user is not known.
pub(crate) fn cache(args: Args<'_>) -> anyhow::Result<Cache> {
    match args.path("cache") {
        Some(folder) => Ok(Cache::new(folder.to_path_buf())),
        None => Cache::of_user().context("there is no cache; name a folder with --cache DIR"),
    }
}

/// The model of the catalogue that is meant: by no name, or by one that is not the name of a file here.
pub(crate) fn named(name: Option<&str>) -> Option<&'static CatalogModel> {
    name.map_or(Some(DEFAULT_MODEL), |name| catalog_model(name).filter(|_| !Path::new(name).is_file()))
}

/// Whether a lone argument is more likely a model than a prompt.
pub(crate) fn looks_like_model(text: &str) -> bool {
    text.ends_with(".gguf") || text.starts_with(HubName::PREFIX) || catalog_model(text).is_some()
}

/// Whether a model of this name is in the cache, or a file of this name is one.
pub(crate) fn is_there(args: Args<'_>, name: &str) -> bool {
    let cached = || cache(args).ok()?.find(name).ok()?;
    starts_like_gguf(Path::new(name)).unwrap_or(false) || cached().is_some()
}

fn starts_like_gguf(path: &Path) -> io::Result<bool> {
    // Opening a pipe would wait for its other end.
    if !fs::metadata(path)?.is_file() {
        return Ok(false);
    }
    let mut magic = [0; 4];
    File::open(path)?.read_exact(&mut magic)?;
    Ok(magic == *b"GGUF")
}

#[cfg(test)]
mod tests {
    use weft_hub::Settings;

    use super::*;
    use crate::commands::COMMANDS;

    #[test]
    fn the_help_tells_the_settings_of_the_default_model() {
        let run = COMMANDS.iter().find(|command| command.name == "run").unwrap();
        let Settings { system, temperature, top_p } = DEFAULT_MODEL.settings;
        let told = format!(
            "it is {}, which comes with a temperature ({temperature}), a top-p ({top_p}) and a system message (empty)",
            DEFAULT_MODEL.name
        );
        assert!(run.notes.contains(&told) && system.is_empty(), "{}", run.notes);
    }
}
