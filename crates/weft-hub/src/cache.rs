//! The folder that fetched models are kept in.
//!
//! Models lie where they are on the hub, `models/ORG/REPO/FILE`, and appear there only when they are complete and checked;
//! any other GGUF file put below `models` is found too. `locks` keeps two processes from fetching one file at once, `staging`
//! is for what is being unpacked, and `packed` for packed weights (see `weft-pack`).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::catalog::{CATALOG, CatalogModel};
use crate::error::Error;
use crate::names::{FileName, HubName, choose};

/// How deep models may lie below the folder: organisation, repository, and one folder within.
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
    /// A name that it can be found by.
    pub name: String,
    /// How its weights are stored, as far as the name of the file says: `Q4_K_M`.
    pub quant: Option<String>,
    /// The size of all its files.
    pub bytes: u64,
    /// The file, or the first of several.
    pub path: PathBuf,
}

impl CachedModel {
    fn file_name(&self) -> FileName<'_> {
        // Only files with such names are listed.
        file_name(&self.path).unwrap_or(FileName { stem: "", part: (1, 1) })
    }
}

impl Cache {
    /// The cache in a folder, which need not exist.
    pub fn new(folder: PathBuf) -> Cache {
        Cache { folder }
    }

    /// The cache in the user's own cache folder.
    ///
    /// # Errors
    /// [`Error::NoHome`] if the environment does not say who the user is.
    pub fn of_user() -> Result<Cache, Error> {
        weft_file::cache_folder().map(Cache::new).ok_or(Error::NoHome)
    }

    /// Where models are.
    pub fn models(&self) -> PathBuf {
        self.folder.join("models")
    }

    /// Where packed weights are.
    pub fn packed(&self) -> PathBuf {
        self.folder.join(weft_file::PACKED_FOLDER)
    }

    /// Where locks are.
    pub(crate) fn locks(&self) -> PathBuf {
        self.folder.join("locks")
    }

    /// Where files are while they are unpacked.
    pub(crate) fn staging(&self) -> PathBuf {
        self.folder.join("staging")
    }

    /// The path of a file of a repository on the hub.
    pub(crate) fn path(&self, repo: &str, file: &str) -> PathBuf {
        repo.split('/').chain(file.split('/')).fold(self.models(), |path, name| path.join(name))
    }

    /// The path of a model of the catalogue.
    pub(crate) fn path_of(&self, model: &CatalogModel) -> PathBuf {
        self.path(model.repo, model.file)
    }

    /// Every complete model, by name.
    ///
    /// # Errors
    /// If the folder exists and cannot be read.
    pub fn list(&self) -> Result<Vec<CachedModel>, Error> {
        let mut found = Vec::new();
        let models = self.models();
        self.walk(&models, DEPTH, &mut found).map_err(Error::io("read", &models))?;
        found.sort_by(|a, b| (&a.name, &a.path).cmp(&(&b.name, &b.path)));
        Ok(found)
    }

    /// The model of this name, or whose file has this name without `.gguf`.
    ///
    /// # Errors
    /// Those of [`list`](Cache::list).
    pub fn find(&self, name: &str) -> Result<Option<CachedModel>, Error> {
        Ok(self.list()?.into_iter().find(|model| model.name == name || model.file_name().stem == name))
    }

    /// The model of this name on the hub, if it has been fetched before.
    ///
    /// # Errors
    /// Those of [`list`](Cache::list).
    pub fn find_hub(&self, wanted: &HubName) -> Result<Option<CachedModel>, Error> {
        let folder = self.path(&wanted.repo, "");
        let models: Vec<CachedModel> =
            self.list()?.into_iter().filter(|model| model.path.starts_with(&folder)).collect();
        Ok(choose(&models, CachedModel::file_name, wanted.quant.as_deref()).ok().cloned())
    }

    /// Adds the complete models below `folder`, which need not exist.
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

    /// The model whose first file this is, if all of its files are there.
    fn complete(&self, path: PathBuf) -> Option<CachedModel> {
        let file = file_name(&path)?;
        let (1, parts) = file.part else { return None };
        let part = |number| match parts {
            1 => path.clone(),
            _ => path.with_file_name(format!("{}-{number:05}-of-{parts:05}.gguf", file.stem)),
        };
        let sizes = (1..=parts).map(|number| fs::metadata(part(number)).ok().map(|data| data.len()));
        let bytes = sizes.sum::<Option<u64>>()?;
        let quant = file.quant().map(str::to_ascii_uppercase);
        Some(CachedModel { name: self.name(&path, file, quant.as_deref()), quant, bytes, path })
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

fn file_name(path: &Path) -> Option<FileName<'_>> {
    FileName::read(path.file_name()?.to_str()?)
}
