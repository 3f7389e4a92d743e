//! The files with a model's weights: one safetensors file, or several with an index. They are mapped, and no data are read here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use weft_gguf::MappedFile;

use crate::config::{Config, MAX_LIST, refuse_pointer};
use crate::error::{Error, Result, refuse};
use crate::safetensors::{self, Stored};

const ONE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// The most files a model can have.
const MAX_FILES: usize = 4096;

/// A model's weights as they are stored.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    folder: PathBuf,
    files: Vec<(PathBuf, MappedFile)>,
    tensors: Vec<(usize, Stored)>,
    /// Where a tensor is in `tensors`.
    names: BTreeMap<String, usize>,
}

impl Checkpoint {
    /// Maps the weights in `folder`.
    pub(crate) fn open(folder: &Path) -> Result<Checkpoint> {
        let index = folder.join(INDEX);
        let map = if index.exists() { Some(weight_map(&index)?) } else { None };
        let names: Vec<String> = match &map {
            Some(map) => map.values().cloned().collect::<BTreeSet<_>>().into_iter().collect(),
            None if folder.join(ONE).exists() => vec![ONE.into()],
            None => return Err(refuse(folder, without_weights(folder))),
        };
        if names.len() > MAX_FILES {
            return Err(refuse(
                &index,
                format!("it names {} files; at most {MAX_FILES} are allowed", names.len()),
            ));
        }
        let missing: Vec<&str> =
            names.iter().filter(|name| !folder.join(name).exists()).map(|name| &**name).collect();
        if !missing.is_empty() {
            let problem = format!(
                "it names {} files, of which {} are missing: {}",
                names.len(),
                missing.len(),
                missing.join(", ")
            );
            return Err(refuse(&index, problem + "; download them again"));
        }
        let mut found = Checkpoint {
            folder: folder.into(),
            files: Vec::new(),
            tensors: Vec::new(),
            names: BTreeMap::new(),
        };
        for name in &names {
            found.add(folder.join(name))?;
        }
        if let Some(map) = map {
            found.compare(&index, &map)?;
        }
        Ok(found)
    }

    fn add(&mut self, path: PathBuf) -> Result<()> {
        let failed = |action, source| Error::Io { action, path: path.clone(), source };
        // Asked before opening, because opening a named pipe would wait for a writer.
        let about = fs::metadata(&path).map_err(|source| failed("open", source))?;
        if !about.is_file() || about.len() == 0 {
            return Err(refuse(&path, "it is not a file, or is empty"));
        }
        let file = File::open(&path).map_err(|source| failed("open", source))?;
        let map = MappedFile::new(&file).map_err(|source| failed("map", source))?;
        refuse_pointer(&path, &map)?;
        for tensor in safetensors::tensors(&map).map_err(|problem| refuse(&path, problem))? {
            if self.names.insert(tensor.name.clone(), self.tensors.len()).is_some() {
                let name = tensor.name.escape_debug();
                return Err(refuse(&path, format!("tensor `{name}` is in another file, too")));
            }
            self.tensors.push((self.files.len(), tensor));
        }
        self.files.push((path, map));
        Ok(())
    }

    /// Checks that the tensors are where the index says.
    fn compare(&self, index: &Path, map: &BTreeMap<String, String>) -> Result<()> {
        for (tensor, file) in map {
            let at = self.names.get(tensor).map(|at| self.file(*at));
            if at.and_then(Path::file_name).is_none_or(|at| at != &**file) {
                let problem = format!("tensor `{}` should be in {file} and is not", tensor.escape_debug());
                return Err(refuse(index, problem + "; download that file again"));
            }
        }
        match self.tensors.iter().find(|(_, tensor)| !map.contains_key(&tensor.name)) {
            None => Ok(()),
            Some((_, tensor)) => Err(refuse(
                index,
                format!("tensor `{}` is stored, but not named", tensor.name.escape_debug()),
            )),
        }
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// All tensors, in the order of files and of their headers.
    pub(crate) fn tensors(&self) -> impl ExactSizeIterator<Item = &Stored> {
        self.tensors.iter().map(|(_, tensor)| tensor)
    }

    /// Where the tensor of this name is among all.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    /// A tensor.
    pub(crate) fn stored(&self, at: usize) -> &Stored {
        &self.tensors[at].1
    }

    /// The file that a tensor is in.
    pub(crate) fn file(&self, at: usize) -> &Path {
        &self.files[self.tensors[at].0].0
    }

    /// The data of a tensor.
    pub(crate) fn data(&self, at: usize) -> &[u8] {
        let (file, tensor) = &self.tensors[at];
        &self.files[*file].1[tensor.range.clone()]
    }

    /// Drops a part of a tensor's data from memory; they are read again when they are touched.
    pub(crate) fn release(&self, at: usize, bytes: std::ops::Range<usize>) {
        let (file, tensor) = &self.tensors[at];
        let start = tensor.range.start;
        self.files[*file].1.release(start + bytes.start..start + bytes.end);
    }
}

/// Which file each tensor is in.
fn weight_map(index: &Path) -> Result<BTreeMap<String, String>> {
    let Some(Json::Object(map)) = Config::read(index, MAX_LIST)?.take("weight_map") else {
        return Err(refuse(index, "expected an object `weight_map` with the file of each tensor"));
    };
    let file_of = |(tensor, file): (String, Json)| {
        // A name, so that no index reaches out of its folder.
        let plain = |file: &&str| !file.is_empty() && !file.contains(['/', '\\', ':']) && *file != "..";
        match file {
            Json::String(file) if plain(&&*file) => Ok((tensor, file)),
            file => Err(refuse(
                index,
                format!("the file of tensor `{}` is {file}, which is not a name", tensor.escape_debug()),
            )),
        }
    };
    map.into_iter().map(file_of).collect()
}

/// The message for a folder that has no weights.
fn without_weights(folder: &Path) -> String {
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let has = |end: &str| names(folder).iter().any(|name| name.ends_with(end));
    let hint = if has(".gguf") {
        "; it has a GGUF file, which needs no conversion"
    } else if has(".bin") || has(".pth") {
        "; weights in PyTorch's own format are not read, because they are programs: use a version of the model with safetensors"
    } else if has(".safetensors") {
        "; it has parts of a model, but not their index: download the folder again"
    } else {
        ""
    };
    format!("expected {ONE} or {INDEX}, found neither{hint}")
}
