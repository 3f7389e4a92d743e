//! The folder of downloaded models.
//!
//! Models have the same paths as on the hub, `models/ORG/REPO/FILE`, and appear there only when complete and checked. Other GGUF
//! files below `models` are found too, and those below `built-in`, which come from within the program. A model that is kept
//! packed only is one file in the place of its own files, with the name of the first and [`.weft`](PACKED) after it; once its own
//! files are complete, they are used. `locks` keeps processes from downloading the same file at once, `staging` is for unpacking,
//! `packed` for packed weights (see `weft-pack`), and `prompts` for computed prompts (see `weft-engine`).

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::catalog::{CATALOG, CatalogModel, Source};
use crate::error::Error;
use crate::names::{FileName, HubName, choose};

/// The suffix of a packed model's name, after the name of its first GGUF file.
const PACKED: &str = ".weft";

/// The suffix of the name of a note about a packed model, after the name of that model.
const NOTE: &str = ".checked";

/// How deep below `models` files are searched: organisation, repository, one folder within it, and the file.
const DEPTH: usize = 4;

/// A cache of models.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cache {
    folder: PathBuf,
}

/// A model in the cache, with all its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CachedModel {
    /// The model's name, for [`Cache::find`].
    pub name: String,
    /// The quantisation, such as `Q4_K_M`, if the file name says it.
    pub quant: Option<String>,
    /// The total size of its files.
    pub bytes: u64,
    /// The path of its file, or of the first of several.
    pub path: PathBuf,
    /// Whether it is kept packed only.
    pub packed: bool,
}

impl CachedModel {
    fn file_name(&self) -> FileName<'_> {
        // `complete` lists only files whose name can be parsed.
        file_name(&self.path).unwrap_or(FileName { stem: "", part: (1, 1) })
    }

    /// The path of its own first file, which does not exist if it is kept packed only.
    pub fn original(&self) -> PathBuf {
        own_path(&self.path).map_or_else(|| self.path.clone(), |(path, _)| path)
    }

    /// The path of its packed form, which need not exist.
    pub fn packed_path(&self) -> PathBuf {
        packed_path(&self.original())
    }
}

/// The path of the packed form of a model, given that of its first file.
pub fn packed_path(first: &Path) -> PathBuf {
    let mut name = first.file_name().unwrap_or_default().to_os_string();
    name.push(PACKED);
    first.with_file_name(name)
}

/// The path of a model's own first file, given that or the path of its packed form, and whether it was the latter.
fn own_path(path: &Path) -> Option<(PathBuf, bool)> {
    let name = path.file_name()?.to_str()?;
    Some(match name.strip_suffix(PACKED) {
        Some(own) => (path.with_file_name(own), true),
        None => (path.to_path_buf(), false),
    })
}

impl Cache {
    /// Creates a cache in a folder, which need not exist.
    pub fn new(folder: PathBuf) -> Cache {
        Cache { folder }
    }

    /// Creates a cache in the user's cache folder.
    ///
    /// # Errors
    /// [`Error::NoHome`] if the environment does not name that folder.
    pub fn of_user() -> Result<Cache, Error> {
        weft_file::cache_folder().map(Cache::new).ok_or(Error::NoHome)
    }

    /// The folder of models.
    pub fn models(&self) -> PathBuf {
        self.folder.join("models")
    }

    /// The folder of packed weights.
    pub fn packed(&self) -> PathBuf {
        self.folder.join(weft_file::PACKED_FOLDER)
    }

    /// The folder of computed prompts.
    pub fn prompts(&self) -> PathBuf {
        self.folder.join(weft_file::PROMPTS_FOLDER)
    }

    /// The folder of lock files.
    pub(crate) fn locks(&self) -> PathBuf {
        self.folder.join("locks")
    }

    /// The folder for unpacking.
    pub(crate) fn staging(&self) -> PathBuf {
        self.folder.join("staging")
    }

    /// The path of a file of a repository on the hub.
    pub(crate) fn path(&self, repo: &str, file: &str) -> PathBuf {
        repo.split('/').chain(file.split('/')).fold(self.models(), |path, name| path.join(name))
    }

    /// The folder of models from within the program.
    pub(crate) fn built_in(&self) -> PathBuf {
        self.folder.join("built-in")
    }

    /// The path of a model of the catalogue.
    pub(crate) fn path_of(&self, model: &CatalogModel) -> PathBuf {
        match model.source {
            Source::Hub { repo, .. } => self.path(repo, model.file),
            Source::BuiltIn(_) => self.built_in().join(model.built_in_path()),
        }
    }

    /// Lists all complete models, sorted by name.
    ///
    /// # Errors
    /// If the folder exists but cannot be read.
    pub fn list(&self) -> Result<Vec<CachedModel>, Error> {
        let mut found = Vec::new();
        for folder in [self.models(), self.built_in()] {
            self.walk(&folder, DEPTH, &mut found).map_err(Error::io("read", &folder))?;
        }
        found.sort_by(|a, b| (&a.name, &a.path).cmp(&(&b.name, &b.path)));
        Ok(found)
    }

    /// Finds a model by its name, or by its file name without `.gguf`.
    ///
    /// # Errors
    /// Those of [`list`](Cache::list).
    pub fn find(&self, name: &str) -> Result<Option<CachedModel>, Error> {
        Ok(self.list()?.into_iter().find(|model| model.name == name || model.file_name().stem == name))
    }

    /// Finds a model of the hub, if it has been downloaded before.
    ///
    /// # Errors
    /// Those of [`list`](Cache::list).
    pub fn find_hub(&self, wanted: &HubName) -> Result<Option<CachedModel>, Error> {
        let folder = self.path(&wanted.repo, "");
        let models: Vec<CachedModel> =
            self.list()?.into_iter().filter(|model| model.path.starts_with(&folder)).collect();
        let size = |model: &CachedModel| Some(model.bytes);
        Ok(choose(&models, CachedModel::file_name, size, wanted.quant.as_deref()).ok().cloned())
    }

    /// Finds a model by any of the names it has: that of the catalogue, of the hub or of the cache, or the path of its first file.
    ///
    /// # Errors
    /// Those of [`list`](Cache::list).
    pub fn find_any(&self, name: impl AsRef<OsStr>) -> Result<Option<CachedModel>, Error> {
        let path = Path::new(name.as_ref());
        // A name that is not UTF-8 can only be a path.
        let name = path.to_str().unwrap_or_default();
        match HubName::recognise(name) {
            Some(Ok(name)) => self.find_hub(&name),
            _ => {
                let there = || weft_file::canonical(path).ok();
                let path = there().or_else(|| weft_file::canonical(&packed_path(path)).ok());
                let is_it = |model: &CachedModel| weft_file::canonical(&model.path).ok() == path;
                let by_path = path.is_some().then(|| self.list()).transpose()?;
                match by_path.and_then(|models| models.into_iter().find(is_it)) {
                    Some(model) => Ok(Some(model)),
                    None => self.find(name),
                }
            }
        }
    }

    /// Returns the packed form of a model, given the path of its first file, if that is all there is of it.
    pub(crate) fn kept_packed(&self, first: &Path) -> Option<PathBuf> {
        let packed = packed_path(first);
        (packed.is_file() && !first.is_file()).then_some(packed)
    }

    /// Removes a model's own files, which its packed form has in it.
    ///
    /// # Errors
    /// If there is no packed form, or a file cannot be removed.
    pub fn keep_packed(&self, model: &CachedModel) -> Result<(), Error> {
        let packed = model.packed_path();
        // The first file is removed first, because without it the packed form is the model.
        fs::metadata(&packed).map_err(Error::io("read", &packed))?;
        self.files(&model.original()).iter().try_for_each(|file| remove(file))
    }

    /// Removes a model's packed form, from which its own files were restored.
    ///
    /// # Errors
    /// If one of its own files is missing, or the packed form cannot be removed.
    pub fn keep_original(&self, model: &CachedModel) -> Result<(), Error> {
        for file in self.files(&model.original()) {
            fs::metadata(&file).map_err(Error::io("read", &file))?;
        }
        remove_packed(&model.packed_path())
    }

    /// Removes a model's files, and the folders below `models` that this leaves empty.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn remove(&self, model: &CachedModel) -> Result<(), Error> {
        self.files(&model.original()).iter().try_for_each(|file| remove(file))?;
        remove_packed(&model.packed_path())?;
        let root = self.models();
        let above =
            model.path.ancestors().skip(1).take_while(|folder| *folder != root && folder.starts_with(&root));
        for folder in above {
            // A folder that is not empty stays.
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// The paths of all files of a model, from that of its first.
    fn files(&self, first: &Path) -> Vec<PathBuf> {
        let Some(file) = file_name(first) else { return Vec::new() };
        let (_, parts) = file.part;
        let part = |number| match parts {
            1 => first.to_path_buf(),
            _ => first.with_file_name(format!("{}-{number:05}-of-{parts:05}.gguf", file.stem)),
        };
        (1..=parts).map(part).collect()
    }

    /// Appends the complete models below `folder`, which need not exist.
    fn walk(&self, folder: &Path, depth: usize, found: &mut Vec<CachedModel>) -> io::Result<()> {
        for entry in weft_file::entries(folder)? {
            let path = entry.path();
            if path.is_dir() {
                if depth > 1 {
                    self.walk(&path, depth - 1, found)?;
                }
            } else {
                found.extend(self.complete(path));
            }
        }
        Ok(())
    }

    /// Returns the model whose first file or packed form is `path`, if all its files exist.
    fn complete(&self, path: PathBuf) -> Option<CachedModel> {
        let (own, packed) = own_path(&path)?;
        let file = file_name(&own)?;
        if file.part.0 != 1 {
            return None;
        }
        let size = |path: &PathBuf| fs::metadata(path).ok().map(|data| data.len());
        let complete = self.files(&own).iter().map(size).sum::<Option<u64>>();
        let bytes = match complete {
            Some(_) if packed => return None,
            None if packed => size(&path)?,
            complete => complete?,
        };
        let quant = file.quant().map(str::to_ascii_uppercase);
        Some(CachedModel { name: self.name(&own, file, quant.as_deref()), quant, bytes, path, packed })
    }

    fn name(&self, path: &Path, file: FileName<'_>, quant: Option<&str>) -> String {
        if let Some(model) = CATALOG.iter().find(|model| self.path_of(model) == path) {
            return model.name.to_string();
        }
        let below = path.strip_prefix(self.models()).unwrap_or(path);
        let folders: Vec<&str> = below.iter().filter_map(|name| name.to_str()).collect();
        match folders[..] {
            [org, repo, .., _] if folders.len() > 2 => {
                let quant = Some(quant.unwrap_or(file.stem).to_string());
                HubName { repo: format!("{org}/{repo}"), quant }.to_string()
            }
            _ => file.stem.to_string(),
        }
    }
}

/// The name of a model's first file, or of its packed form.
fn file_name(path: &Path) -> Option<FileName<'_>> {
    let name = path.file_name()?.to_str()?;
    FileName::parse(name.strip_suffix(PACKED).unwrap_or(name))
}

/// Removes a file that may be gone.
fn remove(file: &Path) -> Result<(), Error> {
    match weft_file::remove(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", file)(error)),
        _ => Ok(()),
    }
}

/// Removes a packed form, which may be gone, and the note about it.
fn remove_packed(packed: &Path) -> Result<(), Error> {
    let mut note = packed.as_os_str().to_os_string();
    note.push(NOTE);
    remove(Path::new(&note))?;
    remove(packed)
}
