//! The argument `MODEL`: finding the model it names, and telling models from prompts.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use weft_engine::{EngineOptions, Speculate, is_packed_model, open_file, original_sums};
use weft_hub::{
    BUILT_IN, CATALOG, CatalogModel, DEFAULT_MODEL, Error, Hub, HubName, HubOptions, Settings, Source,
    catalog_model, packed_path, unpack,
};

use crate::cli::args::Args;
use crate::cli::config::{self, config};
use crate::model::download::{with_events, with_events_of_success};
use crate::terminal::streams::note;

/// The help of the argument.
pub(crate) const HELP: &str = "A GGUF file, a name from `weft list`, or hf:ORG/REPO:QUANT or its address, which is downloaded if needed";

/// Returns the path of a model's (first) file, and downloads the model if necessary. Without a name it is the default model
/// or, where that cannot be downloaded, the one in the program.
///
/// # Errors
/// If there is no such model, or it cannot be downloaded. The message says where it was looked for.
pub(crate) fn find(args: Args<'_>, name: Option<&Path>) -> anyhow::Result<PathBuf> {
    let own = preferred();
    let Some(path) = name.or(own.as_deref()) else { return find_default(args) };
    // A file needs no cache folder, so this works without one.
    if path.is_file() {
        return Ok(path.to_path_buf());
    }
    let packed = packed_path(path);
    if is_gguf_name(path) && packed.is_file() {
        return Ok(packed);
    }
    // Nor does the model in the program.
    if let Some(model) = known(path).filter(|model| matches!(model.source, Source::BuiltIn(_))) {
        return Ok(unpack(model, args.cache().ok().as_ref())?);
    }
    if known(path).is_none() && is_checkpoint(path) {
        let name = path.display();
        bail!(
            "{name} is a folder with safetensors: expected a GGUF file, as `weft convert {name} OUT.gguf` makes it"
        );
    }
    let hub = hub(args)?;
    Ok(with_events(|on| hub.find(path, on))?)
}

/// The catalogue's model of this name.
fn known(name: &Path) -> Option<&'static CatalogModel> {
    catalog_model(name.to_str()?)
}

/// Whether a name ends as those of GGUF files do.
fn is_gguf_name(name: &Path) -> bool {
    name.extension().is_some_and(|end| end.eq_ignore_ascii_case("gguf"))
}

/// Whether this is a folder that `weft convert` reads, without a GGUF file in it.
fn is_checkpoint(folder: &Path) -> bool {
    let has = |extension| {
        let mut files = fs::read_dir(folder).into_iter().flatten().flatten();
        files.any(|file| file.path().extension().is_some_and(|found| found == extension))
    };
    folder.join("config.json").is_file() && has("safetensors") && !has("gguf")
}

/// The default model or, where it can be neither found nor downloaded, the one in the program.
fn find_default(args: Args<'_>) -> anyhow::Result<PathBuf> {
    let name = DEFAULT_MODEL.name;
    let Some(own) = BUILT_IN else {
        let hub = hub(args)?;
        return Ok(with_events(|on| hub.find(name, on))?);
    };
    let found = hub(args).and_then(|hub| Ok(with_events_of_success(|on| hub.find(name, on))?));
    let why = match found {
        Ok(path) => return Ok(path),
        Err(error) => match error.downcast_ref::<Error>() {
            Some(Error::Cancelled) => return Err(error),
            Some(Error::NoSource { hub, .. }) => hub.to_string(),
            _ => error.to_string(),
        },
    };
    let path = unpack(own, args.cache().ok().as_ref())?;
    note!("{why}; using {}, a very small model; `weft pull {name}` downloads a larger one", own.name);
    Ok(path)
}

/// The options of an engine that answers, including speculation. A draft model is downloaded if necessary.
///
/// # Errors
/// If there is no such draft model, or it cannot be downloaded.
pub(crate) fn answering(args: Args<'_>) -> anyhow::Result<EngineOptions> {
    let mut speculate = args.speculate();
    if let Speculate::Model(name) = &mut speculate {
        let expected = "--speculate: expected off, auto, lookup, mtp, mtp:2 to mtp:4 or a draft model";
        *name = find(args, Some(name)).context(expected)?;
    }
    Ok(args.engine().speculate(speculate))
}

/// The environment variable with the model to use where a command names none.
const ENV: &str = "WEFT_MODEL";

/// The model to use where a command names none: of the environment, or else of the configuration file.
fn preferred() -> Option<PathBuf> {
    let own = std::env::var_os(ENV).filter(|name| !name.is_empty());
    own.map(PathBuf::from).or_else(|| config().get("", config::MODEL).map(PathBuf::from))
}

/// The hub and the cache that the arguments name.
///
/// # Errors
/// If there is no cache folder, or the hub's address is invalid.
pub(crate) fn hub(args: Args<'_>) -> anyhow::Result<Hub> {
    let mut options = HubOptions::default();
    if let Some(endpoint) = args.text("hub") {
        options.endpoint = endpoint.into();
    }
    options.token = args.text("hub-token").map(str::to_string);
    Ok(Hub::new(args.cache()?, &options)?.with_packed_sums(packed_sums))
}

/// The checksums of the files that a packed model was made from.
fn packed_sums(path: &Path) -> Option<Vec<String>> {
    let hex = |sum: [u8; 32]| sum.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    Some(original_sums(&open_file(path).ok()?)?.into_iter().map(hex).collect())
}

/// The catalogue's model of this name, unless it is also a file here. Without a name it is the default model, or the one that
/// took its place, as `path` shows.
pub(crate) fn named(name: Option<&Path>, path: &Path) -> Option<&'static CatalogModel> {
    let own = preferred();
    match name.or(own.as_deref()) {
        Some(name) => known(name).filter(|_| !name.is_file()),
        None => BUILT_IN.filter(|model| is_file_of(path, model)).or(Some(DEFAULT_MODEL)),
    }
}

/// The displayed name of a model: the one the user gave, or the catalogue's.
pub(crate) fn shown(name: Option<&Path>, path: &Path) -> String {
    match name.map(Path::to_path_buf).or_else(preferred) {
        Some(name) => name.display().to_string(),
        None => named(None, path).map_or_else(|| path.display().to_string(), |model| model.name.to_string()),
    }
}

/// The displayed name of a model, by which it is also found from another folder.
pub(crate) fn lasting(name: Option<&Path>, path: &Path) -> String {
    let file = name.map(Path::to_path_buf).or_else(preferred).filter(|name| name.exists());
    match file.and_then(|file| std::path::absolute(file).ok()) {
        Some(file) => file.display().to_string(),
        None => shown(name, path),
    }
}

/// Whether a path is the file of this model of the catalogue, or a copy under the same name.
fn is_file_of(path: &Path, model: &CatalogModel) -> bool {
    let size = || fs::metadata(path).is_ok_and(|file| file.len() == model.bytes);
    path.file_name().is_some_and(|file| file == model.file) && size()
        || packed_path(Path::new(model.file)).file_name() == path.file_name() && is_packed_model(path)
}

/// The settings of the catalogue's model that this name or the file's path leads to.
pub(crate) fn settings(name: Option<&Path>, path: &Path) -> Option<&'static Settings> {
    // The file itself: the same defaults as by the catalogue's name.
    let by_file = || CATALOG.iter().copied().find(|model| is_file_of(path, model));
    named(name, path).or_else(by_file).map(|model| &model.settings)
}

/// The arguments, with the settings that the configuration has for a model: under the name that a server gives it, the name
/// by which it is called, that of the catalogue, or that of its file.
pub(crate) fn configured<'a>(
    args: Args<'a>,
    served: Option<&str>,
    name: Option<&Path>,
    path: &Path,
) -> Args<'a> {
    let own = preferred();
    let called = name.or(own.as_deref()).and_then(Path::to_str);
    let (known, file) = (named(name, path).map(|model| model.name), stem(path));
    let names: Vec<&str> = [served, called, known, Some(file.as_str())].into_iter().flatten().collect();
    Args(args.0, args.1, config().section_of(&names))
}

/// A file's name without `.gguf`, without the number of a split, and without what packing added.
pub(crate) fn stem(path: &Path) -> String {
    let own = path.extension().is_some_and(|extension| extension == "weft").then(|| path.with_extension(""));
    let path = own.as_deref().unwrap_or(path);
    let name = path.file_stem().map_or("model".into(), |name| name.to_string_lossy().into_owned());
    match name.find("-00001-of-") {
        Some(at) => name[..at].to_string(),
        None => name,
    }
}

/// Whether a lone argument looks like a model rather than a prompt.
pub(crate) fn looks_like_model(name: &Path) -> bool {
    let Some(text) = name.to_str() else { return is_gguf_name(name) || is_checkpoint(name) };
    // A sentence may end in the name of a file, or begin with an address.
    let one_word = !text.contains(char::is_whitespace);
    let packed = name.extension().is_some_and(|end| end == "weft") && is_gguf_name(&name.with_extension(""));
    let file = (is_gguf_name(name) || packed) && (one_word || name.is_file());
    let address = one_word && HubName::of_address(text).is_some();
    let short = catalog_model(text).is_some() || HubName::of_short(text).is_some();
    file || text.starts_with(HubName::PREFIX) || address || short || is_checkpoint(name)
}

/// Whether this names a GGUF file or a model in the cache.
pub(crate) fn is_there(args: Args<'_>, name: &Path) -> bool {
    let cached = || args.cache().ok()?.find(name.to_str()?).ok()?;
    starts_like_gguf(name).unwrap_or(false) || is_packed_model(name) || cached().is_some()
}

fn starts_like_gguf(path: &Path) -> io::Result<bool> {
    // Opening a pipe would block.
    if !fs::metadata(path)?.is_file() {
        return Ok(false);
    }
    let mut magic = [0; 4];
    File::open(path)?.read_exact(&mut magic)?;
    Ok(magic == *b"GGUF")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::COMMANDS;
    use crate::test_folder::TestFolder;

    #[test]
    fn a_model_of_the_catalogue_has_the_same_defaults_by_its_path() {
        let folder = TestFolder::new("settings");
        let model = DEFAULT_MODEL;
        let by_name = settings(Some(Path::new(model.name)), Path::new("")).unwrap();
        // Its bytes do not matter here, and take no space.
        let file = |name: &str, bytes| {
            let path = folder.join(name);
            File::create(&path).unwrap().set_len(bytes).unwrap();
            path
        };
        let by_path = |path: &Path| settings(Some(path), path);
        assert_eq!(by_path(&file(model.file, model.bytes)), Some(by_name));
        // Another file of that name, and a file of another name.
        assert!(by_path(&file(model.file, model.bytes - 1)).is_none());
        assert!(by_path(&file("other.gguf", model.bytes)).is_none());
    }

    #[test]
    fn a_lone_name_of_a_file_is_a_model() {
        for name in ["a.gguf", "b/A.GGUF", "a.gguf.weft", "hf:org/repo"] {
            assert!(looks_like_model(Path::new(name)), "{name}");
        }
        for prompt in ["hello", "what is in a.gguf", "a.weft", "a.gguf.txt", "gguf"] {
            assert!(!looks_like_model(Path::new(prompt)), "{prompt}");
        }
    }

    #[test]
    fn a_model_is_named_by_its_file() {
        assert_eq!(stem(Path::new("/a/GLM-4.7-Flash-Q4_0.gguf")), "GLM-4.7-Flash-Q4_0");
        assert_eq!(stem(Path::new("big-00001-of-00003.gguf")), "big");
    }

    #[test]
    fn the_help_states_the_settings_of_the_default_model() {
        let run = COMMANDS.iter().find(|command| command.name == "run").unwrap();
        let Settings { system, temperature, top_p } = DEFAULT_MODEL.settings;
        let told = format!(
            "{}, which has its own defaults: temperature {temperature}, top-p {top_p} and no system message",
            DEFAULT_MODEL.name
        );
        assert!(run.notes.contains(&told) && system == Some(""), "{}", run.notes);
    }
}
