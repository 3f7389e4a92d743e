//! Finding and downloading language models: names, a catalogue, the Hugging Face hub, and a cache on disk.
//!
//! ```no_run
//! use std::ops::ControlFlow;
//!
//! use weft_hub::{Cache, Event, Hub, HubOptions};
//!
//! let hub = Hub::new(Cache::of_user()?, &HubOptions::default())?;
//! let path = hub.find("hf:bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M", &mut |event| {
//!     if let Event::Downloading { done, total, .. } = event {
//!         println!("{done} of {total} bytes");
//!     }
//!     // `Break` would cancel. The next call then resumes the download.
//!     ControlFlow::Continue(())
//! })?;
//! println!("{}", path.display());
//! # Ok::<(), weft_hub::Error>(())
//! ```
//!
//! A model is named by a path, by its name in the catalogue ([`CATALOG`], whose files are pinned, and
//! [`LISTED`], whose repositories are named), by `hf:ORG/REPO:QUANT` ([`HubName`]), or by its name in the
//! cache ([`Cache::list`]):
//!
//! ```
//! use weft_hub::{Cache, HubName};
//!
//! let name: HubName = "hf:bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M".parse()?;
//! assert_eq!((name.repo.as_str(), name.quant.as_deref()), ("bartowski/Llama-3.2-1B-Instruct-GGUF", Some("Q4_K_M")));
//! assert!("hf:no-repository".parse::<HubName>().is_err());
//!
//! let cache = Cache::new(std::env::temp_dir().join("a-new-cache"));
//! assert!(cache.list()?.is_empty());
//! # Ok::<(), weft_hub::Error>(())
//! ```
//!
//! This crate does not use the terminal. All calls block; they report progress, and can be cancelled, through a
//! callback ([`OnEvent`]) on the calling thread. Threads can share a [`Hub`] and a [`Cache`], and processes can share a
//! cache: one of them downloads a file while the others wait for it. A file appears under its name only after its size
//! and SHA-256 have been checked and it has been synced to disk.
#![forbid(unsafe_code)]

mod built_in;
mod cache;
mod catalog;
mod error;
mod event;
mod fetch;
mod glm_small;
mod hub;
mod listed;
mod names;
mod room;
mod suggest;

pub use built_in::unpack;
pub use cache::{Cache, CachedModel, packed_path};
pub use catalog::{BUILT_IN, CATALOG, CatalogModel, DEFAULT_MODEL, Package, Settings, Source, catalog_model};
pub use error::Error;
pub use event::{Event, OnEvent};
pub use hub::{Hub, HubOptions, PackedSums};
pub use listed::{LISTED, ListedModel};
pub use names::HubName;
pub use suggest::suggest;
