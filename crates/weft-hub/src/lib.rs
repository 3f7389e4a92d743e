//! Finds, fetches and lists language models: names, a catalogue, the Hugging Face hub, and a cache on disk.
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
//!     // `Break` cancels; what came is kept, and the next call continues from there.
//!     ControlFlow::Continue(())
//! })?;
//! println!("{}", path.display());
//! # Ok::<(), weft_hub::Error>(())
//! ```
//!
//! A model is called by a path, by a name of the [catalogue](CATALOG), by `hf:ORG/REPO:QUANT` ([`HubName`]), or by the name
//! that [`Cache::list`] gives it:
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
//! Nothing here writes to a terminal or waits for one. All calls block; they tell how far they are, and can be cancelled,
//! through a callback ([`OnEvent`]), which runs on the calling thread. [`Hub`] and [`Cache`] may be shared between threads,
//! and several processes may use one cache: a file is fetched by one of them while the others wait for it. A file takes its
//! name only when its size and its SHA-256 are right, and it is on the disk.
#![forbid(unsafe_code)]

mod cache;
mod catalog;
mod error;
mod event;
mod fetch;
mod hub;
mod names;
mod suggest;

pub use cache::{Cache, CachedModel};
pub use catalog::{CATALOG, CatalogModel, DEFAULT_MODEL, Package, Settings, catalog_model};
pub use error::Error;
pub use event::{Event, OnEvent};
pub use hub::{Hub, HubOptions};
pub use names::HubName;
pub use suggest::suggest;
