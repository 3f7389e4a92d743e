//! The folder that fetched models are kept in.
//!
//! Models lie where they are on the hub, `models/ORG/REPO/FILE`, and appear there only when they are whole and checked;
//! any other GGUF file put below `models` is found too. `locks` keeps two programs from fetching one file at once, and
//! `staging` is for what is in between. `packed` is for the weights of models, as a device wants them (see `weft-pack`).

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::catalog::{KNOWN, Known};
use crate::names::{FileName, HubName, choose};

/// How deep models may lie below the folder: organisation, repository, and one folder within.
const DEPTH: usize = 4;

/// The cache.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
}

/// A model in the cache, with all its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cached {
    /// What it can be called on the command line.
    pub(crate) name: String,
    /// How its weights are stored, as far as the name of the file says.
    pub(crate) quant: Option<String>,
    /// The size of all its files.
    pub(crate) bytes: u64,
    /// The file, or the first of several.
    pub(crate) path: PathBuf,
}

impl Cached {
    fn file_name(&self) -> FileName<'_> {
        // Only files with such names are listed.
        file_name(&self.path).unwrap_or(FileName { stem: "", part: (1, 1) })
    }
}

impl Cache {
    /// The cache in `folder`, or in the user's own. It need not exist.
    pub(crate) fn new(folder: Option<&Path>) -> anyhow::Result<Cache> {
        let folder = folder.map(Path::to_path_buf).or_else(weft_file::cache_folder);
        let folder = folder.context("no home folder is known; say where models are kept with --cache DIR")?;
        Ok(Cache { folder })
    }

    /// Where models lie.
    pub(crate) fn models(&self) -> PathBuf {
        self.folder.join("models")
    }

    /// Where locks lie.
    pub(crate) fn locks(&self) -> PathBuf {
        self.folder.join("locks")
    }

    /// Where files lie that are in between.
    pub(crate) fn staging(&self) -> PathBuf {
        self.folder.join("staging")
    }

    /// Where packed weights lie.
    pub(crate) fn packed(&self) -> PathBuf {
        self.folder.join("packed")
    }

    /// Where a file of a repository on the hub belongs.
    pub(crate) fn place(&self, repo: &str, file: &str) -> PathBuf {
        repo.split('/').chain(file.split('/')).fold(self.models(), |path, name| path.join(name))
    }

    /// Where a model with a name of its own belongs.
    pub(crate) fn place_of(&self, known: &Known) -> PathBuf {
        self.place(known.repo, known.file)
    }

    /// Every whole model, by name.
    pub(crate) fn list(&self) -> anyhow::Result<Vec<Cached>> {
        let mut found = Vec::new();
        let models = self.models();
        self.walk(&models, DEPTH, &mut found).with_context(|| format!("cannot read {}", models.display()))?;
        found.sort_by(|a, b| (&a.name, &a.path).cmp(&(&b.name, &b.path)));
        Ok(found)
    }

    /// The model of this name, or of this file name.
    pub(crate) fn find(&self, name: &str) -> anyhow::Result<Option<Cached>> {
        Ok(self.list()?.into_iter().find(|model| model.name == name || model.file_name().stem == name))
    }

    /// The model of this name on the hub, if it has been fetched before.
    pub(crate) fn find_hub(&self, wanted: &HubName) -> anyhow::Result<Option<Cached>> {
        let folder = self.place(&wanted.repo, "");
        let models: Vec<Cached> =
            self.list()?.into_iter().filter(|model| model.path.starts_with(&folder)).collect();
        Ok(choose(&models, Cached::file_name, wanted.quant.as_deref()).ok().cloned())
    }

    /// Adds the whole models below `folder`; there may be no such folder.
    fn walk(&self, folder: &Path, depth: usize, found: &mut Vec<Cached>) -> std::io::Result<()> {
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                if depth > 1 {
                    self.walk(&path, depth - 1, found)?;
                }
            } else {
                found.extend(self.whole(path));
            }
        }
        Ok(())
    }

    /// The model whose first file this is, if all of it is there.
    fn whole(&self, path: PathBuf) -> Option<Cached> {
        let file = file_name(&path)?;
        let (1, parts) = file.part else { return None };
        let part = |number| match parts {
            1 => path.clone(),
            _ => path.with_file_name(format!("{}-{number:05}-of-{parts:05}.gguf", file.stem)),
        };
        let sizes = (1..=parts).map(|number| fs::metadata(part(number)).ok().map(|data| data.len()));
        let bytes = sizes.sum::<Option<u64>>()?;
        let quant = file.quant().map(str::to_ascii_uppercase);
        Some(Cached { name: self.name(&path, file, quant.as_deref()), quant, bytes, path })
    }

    fn name(&self, path: &Path, file: FileName<'_>, quant: Option<&str>) -> String {
        if let Some(known) = KNOWN.iter().find(|known| self.place_of(known) == path) {
            return known.name.to_string();
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
