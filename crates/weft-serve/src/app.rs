//! The state that all requests share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::metrics::Metrics;
use crate::models::Models;
use crate::options::Limits;
use crate::tenant::Keys;

/// The state of a server.
pub(crate) struct App {
    /// The models.
    pub(crate) models: Arc<Models>,
    /// The API keys.
    pub(crate) keys: Keys,
    /// The names that requests may use for this server.
    pub(crate) hosts: Hosts,
    /// The limits.
    pub(crate) limits: Limits,
    /// The metrics.
    pub(crate) metrics: Metrics,
    /// Whether fields that have no effect are refused.
    pub(crate) strict: bool,
    /// Whether it has Ollama's API.
    pub(crate) ollama: bool,
    started: AtomicBool,
    draining: AtomicBool,
}

/// The server's switches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Switches {
    /// Whether it refuses fields that have no effect.
    pub(crate) strict: bool,
    /// Whether it has Ollama's API.
    pub(crate) ollama: bool,
}

/// The names of this server in `Host` and `Origin`.
pub(crate) enum Hosts {
    /// Any: clients must have a key.
    Any,
    /// Loopback's names and addresses, and these. A web page that resolves its own name to this machine is refused.
    Only(Vec<String>),
}

impl App {
    /// Creates the state.
    pub(crate) fn new(
        models: Arc<Models>,
        keys: Keys,
        hosts: Hosts,
        limits: Limits,
        metrics: Metrics,
        switches: Switches,
    ) -> App {
        let Switches { strict, ollama } = switches;
        let [started, draining] = [AtomicBool::new(false), AtomicBool::new(false)];
        App { models, keys, hosts, limits, metrics, strict, ollama, started, draining }
    }

    /// Returns whether the models were loaded that are to be loaded at the start.
    pub(crate) fn has_started(&self) -> bool {
        self.started.load(Ordering::SeqCst)
    }

    /// Records that they were.
    pub(crate) fn start(&self) {
        self.started.store(true, Ordering::SeqCst);
    }

    /// Returns whether the server is shutting down.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// Takes no more work.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }
}

impl Hosts {
    /// Returns whether requests may use this name, which may have a port.
    pub(crate) fn allows(&self, authority: &str) -> bool {
        let Hosts::Only(more) = self else { return true };
        let name = match authority.strip_prefix('[') {
            Some(v6) => v6.split(']').next().unwrap_or_default(),
            None => authority.split(':').next().unwrap_or_default(),
        };
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let loopback = name == "localhost"
            || name.ends_with(".localhost")
            || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
        loopback || more.iter().any(|known| known.eq_ignore_ascii_case(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_allowed() {
        let hosts = Hosts::Only(vec!["weft.example".into()]);
        for name in [
            "localhost",
            "LOCALHOST:8090",
            "127.0.0.1:1",
            "[::1]:8090",
            "127.9.9.9",
            "weft.example",
            "a.localhost",
        ] {
            assert!(hosts.allows(name), "{name}");
        }
        for name in [
            "",
            "evil.example",
            "127.0.0.1.evil.example",
            "192.168.0.1",
            "localhost.evil.example",
            "weft.example.org",
        ] {
            assert!(!hosts.allows(name), "{name}");
        }
        assert!(Hosts::Any.allows("anything"));
    }
}
