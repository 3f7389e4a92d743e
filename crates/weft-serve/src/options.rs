//! The options of a server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use weft_engine::{EngineOptions, GenerateOptions};

/// A model that the server offers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelSource {
    /// Its name in requests, and in answers.
    pub name: String,
    /// Further names in requests.
    pub aliases: Vec<String>,
    /// Its (first) file.
    pub path: PathBuf,
    /// The sampling parameters of requests that leave them out.
    pub defaults: GenerateOptions,
    /// The system message of conversations that have none.
    pub system: Option<String>,
    /// Whether it reasons before it answers, where a request does not say. `None` leaves it to the chat template.
    pub think: Option<bool>,
    /// The most tokens of its reasoning, where a request does not say. Then the thought is closed, and the answer follows.
    pub reasoning_budget: Option<usize>,
    /// Whether prompts keep the reasoning of earlier turns that requests send, where the chat template has a variable for it and a request
    /// does not say. The tokens computed for one turn are then the beginning of the next.
    pub preserve: bool,
    /// How it is run, if not as the [others](ServeOptions::engine) are.
    pub engine: Option<EngineOptions>,
    /// Whether it is loaded when the server starts, which is not ready before. Others are loaded when they are first asked for.
    pub at_start: bool,
    /// Whether it stays loaded until a client unloads it: neither for another model's sake nor because nobody asks for it.
    pub pinned: bool,
    /// How long it stays loaded after its last request. `None` is until another model needs the memory.
    pub keep_alive: Option<Duration>,
}

impl ModelSource {
    /// A model with Weft's own defaults.
    pub fn new(name: impl Into<String>, path: impl Into<PathBuf>) -> ModelSource {
        ModelSource {
            name: name.into(),
            path: path.into(),
            defaults: GenerateOptions::default(),
            system: None,
            think: None,
            reasoning_budget: None,
            preserve: true,
            engine: None,
            aliases: Vec::new(),
            at_start: false,
            pinned: false,
            keep_alive: None,
        }
    }

    /// Sets the [defaults](Self::defaults).
    pub fn defaults(self, defaults: GenerateOptions) -> ModelSource {
        ModelSource { defaults, ..self }
    }
}

/// The port where Ollama's clients look for a server.
pub const OLLAMA_PORT: u16 = 11434;

/// Options of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServeOptions {
    /// The address to listen on. Addresses other than loopback need [`keys`](Self::keys).
    pub address: SocketAddr,
    /// Whether it has Ollama's API, in addition to those of OpenAI and Anthropic.
    pub ollama: bool,
    /// Another port of the same address to listen on, if it has Ollama's API: its clients look for it on [`OLLAMA_PORT`].
    pub also: Option<u16>,
    /// The models. Those that [say so](ModelSource::at_start) are loaded at once, others on first use.
    pub models: Vec<ModelSource>,
    /// How models are run.
    pub engine: EngineOptions,
    /// The API keys that clients may use. Without any, everyone who reaches the address may.
    pub keys: Vec<String>,
    /// Names besides loopback's that requests may use for this server, in `Host` and `Origin`.
    pub hosts: Vec<String>,
    /// The limits.
    pub limits: Limits,
    /// The address on which changes of prefix caches are published over ZeroMQ, for routers that send a prompt to the server
    /// that has its beginning. Everyone who reaches it reads the tokens of prompts: it belongs to a network of its own.
    pub kv_events: Option<SocketAddr>,
    /// Whether a request with a field that has no effect here is refused. Otherwise such fields are left out, and named in
    /// the header `x-weft-ignored` of the answer.
    pub strict: bool,
}

impl ServeOptions {
    /// A server of these models on 127.0.0.1:8090, for everyone on this machine. The first is loaded at the start.
    pub fn new(models: impl Into<Vec<ModelSource>>) -> ServeOptions {
        let mut models = models.into();
        if let Some(first) = models.first_mut() {
            first.at_start = true;
        }
        ServeOptions {
            address: SocketAddr::from(([127, 0, 0, 1], 8090)),
            ollama: true,
            also: None,
            models,
            engine: EngineOptions::default().sequences(4).commit(true),
            keys: Vec::new(),
            hosts: Vec::new(),
            limits: Limits::default(),
            kv_events: None,
            strict: false,
        }
    }
}

/// The server's limits. The answer to a request that meets a limit names it.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// The most replies computed together. More wait.
    pub parallel: usize,
    /// The most requests that wait.
    pub queue_requests: usize,
    /// The most prompt tokens of all requests that wait.
    pub queue_tokens: usize,
    /// The most requests that one key has in work and waiting. `None` is no limit of its own.
    pub per_key: Option<usize>,
    /// The most tokens of a reply. `None` is the context's.
    pub max_tokens: Option<usize>,
    /// The most bytes of memory of all models that are loaded at once, whichever devices they are on. `None` sets no limit but the
    /// machine's memory.
    pub memory: Option<u64>,
    /// The longest that a request may take, waiting included.
    pub request_time: Duration,
    /// The most texts of a request for embeddings, or documents of one to rank them. Together they have at most
    /// [`queue_tokens`](Self::queue_tokens).
    pub inputs: usize,
    /// The most bytes of a body.
    pub body: usize,
    /// The most connections.
    pub connections: usize,
    /// How long replies may go on after the signal to end.
    pub drain: Duration,
    /// How long the engine may take for a step before `/health` says that it is stuck.
    pub stall: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            parallel: 16,
            queue_requests: 256,
            queue_tokens: 1 << 20,
            per_key: None,
            max_tokens: None,
            memory: None,
            request_time: Duration::from_secs(3600),
            inputs: 2048,
            body: 8 << 20,
            connections: 1024,
            drain: Duration::from_secs(30),
            stall: Duration::from_secs(120),
        }
    }
}
