//! A server's life: listening, serving, draining.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tracing::{info, warn};

use crate::api::router;
use crate::app::{App, Hosts, Switches};
use crate::error::{ApiError, Kind};
use crate::http::Connections;
use crate::kv_events::KvEvents;
use crate::metrics::Metrics;
use crate::models::Models;
use crate::options::ServeOptions;
use crate::tenant::Keys;

/// A server that listens.
pub struct Server {
    listeners: Vec<TcpListener>,
    app: Arc<App>,
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// No model is given.
    #[error("there is no model to serve")]
    NoModel,
    /// Two models have the same name.
    #[error(
        "two models are named `{0}`; give one of them another name with --model NAME=PATH, or another alias"
    )]
    SameName(String),
    /// An adapter has the name of a model or of another adapter.
    #[error(
        "the LoRA adapter `{0}` has the name of a model, or of an adapter of another model; give it another name with --lora \
         NAME=FILE, and with several models name it in the section of its own in a file of models"
    )]
    SameAdapter(String),
    /// Others could use the server without a key.
    #[error(
        "{0} can be reached from other machines: set an API key in WEFT_API_KEY or with --api-key-file, or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    /// A key is empty.
    #[error("an API key is empty")]
    EmptyKey,
    /// A model cannot be loaded that is to be at the start.
    #[error("{0}")]
    Load(String),
    /// The address cannot be used.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// The address for events of prefix caches cannot be used.
    #[error("cannot publish events of the prefix cache on {address}: {why}")]
    Events {
        /// The address.
        address: SocketAddr,
        /// The cause.
        why: String,
    },
}

impl Server {
    /// Listens. No model is loaded yet.
    ///
    /// # Errors
    /// If the options are not safe, or the address cannot be used.
    pub async fn bind(options: ServeOptions) -> Result<Server, ServeError> {
        let ServeOptions { address, ollama, also, models, engine, keys, hosts, limits, kv_events, strict } =
            options;
        if models.is_empty() {
            return Err(ServeError::NoModel);
        }
        let mut names = BTreeSet::new();
        for name in models.iter().flat_map(|model| std::iter::once(&model.name).chain(&model.aliases)) {
            if !names.insert(name.as_str()) {
                return Err(ServeError::SameName(name.clone()));
            }
        }
        for model in &models {
            let adapters = &model.engine.as_ref().unwrap_or(&engine).adapters;
            for name in adapters.iter().filter_map(|adapter| adapter.name.as_deref()) {
                if !names.insert(name) {
                    return Err(ServeError::SameAdapter(name.into()));
                }
            }
        }
        if keys.iter().any(|key| key.trim().is_empty()) {
            return Err(ServeError::EmptyKey);
        }
        if !address.ip().is_loopback() && keys.is_empty() {
            return Err(ServeError::Open(address));
        }
        let mut listeners = Vec::new();
        for address in [address]
            .into_iter()
            .chain(also.filter(|_| ollama).map(|port| SocketAddr::new(address.ip(), port)))
        {
            let listener = TcpListener::bind(address).await;
            listeners.push(listener.map_err(|source| ServeError::Listen { address, source })?);
        }
        let hosts =
            if address.ip().is_loopback() || !hosts.is_empty() { Hosts::Only(hosts) } else { Hosts::Any };
        let metrics = Metrics::new();
        let events = match kv_events {
            Some(address) => {
                let own = listeners[0].local_addr().unwrap_or(address).to_string();
                let failed = |why| ServeError::Events { address, why };
                Some(KvEvents::bind(address, own).await.map_err(failed)?)
            }
            None => None,
        };
        let models = Arc::new(Models::new(models, engine, limits.clone(), metrics.clone(), events));
        let switches = Switches { strict, ollama };
        let app = Arc::new(App::new(models, Keys::new(&keys), hosts, limits, metrics, switches));
        Ok(Server { listeners, app })
    }

    /// The address it listens on, with the port that the system chose if none was given.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listeners[0].local_addr()
    }

    /// Serves until `end` is ready; then answers what has begun, for as long as the limits allow.
    ///
    /// # Errors
    /// [`ServeError::Load`] if a model cannot be loaded that is to be at the start.
    pub async fn run(self, end: impl Future<Output = ()>) -> Result<(), ServeError> {
        let Server { listeners, app } = self;
        let most = app.limits.connections;
        let connections = Connections::new(listeners, router(&app), most);
        let (send, failed) = oneshot::channel();
        let first = tokio::spawn(started(Arc::clone(&app), send));
        let idle = tokio::spawn(Arc::clone(&app.models).unload_idle());
        let mut outcome = Ok(());
        connections
            .accept_until(async {
                tokio::select! {
                    () = end => {}
                    // If the models load, this branch never comes.
                    Ok(why) = failed => outcome = Err(ServeError::Load(why)),
                }
            })
            .await;
        app.drain();
        first.abort();
        idle.abort();
        info!("shutting down: no new requests are taken");
        let drained = drained(&app);
        // Requests that come meanwhile get an answer.
        connections
            .accept_until(async {
                if tokio::time::timeout(app.limits.drain, drained).await.is_err() {
                    warn!("some replies did not end in time");
                    let error = ApiError::new(Kind::Unavailable, "the server is shutting down");
                    app.models.loaded().for_each(|model| model.worker.abort(error.clone()));
                }
            })
            .await;
        // The last events are on their way.
        let _ = tokio::time::timeout(Duration::from_secs(5), connections.close()).await;
        info!("stopped");
        outcome
    }
}

/// Loads the models that are to be loaded at the start, one after another. Says why one cannot be.
async fn started(app: Arc<App>, failed: oneshot::Sender<String>) {
    for slot in app.models.all().iter().filter(|slot| slot.source.at_start) {
        if let Err(error) = app.models.get(Some(&slot.source.name)).await {
            let _ = failed.send(error.message);
            return;
        }
    }
    app.start();
}

/// Waits until no model has work.
async fn drained(app: &App) {
    while app.models.loaded().any(|model| model.worker.jobs() > 0) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
