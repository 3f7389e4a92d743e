//! `weft serve`: answers HTTP requests.

mod models;

use std::io::IsTerminal as _;
use std::net::{IpAddr, SocketAddr};
use std::panic;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};
use weft_engine::open_adapted;
use weft_models::BuildOptions;
use weft_serve::{Limits, LogFormat, ServeOptions, Server};

use crate::cli::args::Args;
use crate::cli::text_file::{self, NotUtf8};
use crate::commands::replies::embed::pooling;
use crate::commands::{Command, Outcome};
use crate::model::model_ref;
use crate::model::processes;
use crate::terminal::interrupt::Listener;
use crate::terminal::streams::note;

pub(in crate::commands) const COMMAND: Command = Command {
    name: "serve",
    about: "Serve models over HTTP",
    notes: "\
The server has the APIs of OpenAI (/v1/chat/completions, /v1/completions, /v1/responses, /v1/embeddings, /v1/models), Anthropic \
(/v1/messages) and Ollama (/api/chat, /api/generate, /api/embed), ranks documents (/v1/rerank), and has a page to chat at /. /openapi.json describes every route. \
Fields that have no effect here are left out of a request and named in the header x-weft-ignored of its answer. \
MODEL defaults to WEFT_MODEL, or the `model` of `weft config`, or else to smollm2, or to glm-small, which is in the program, where smollm2 cannot be downloaded. Ctrl-C or SIGTERM waits for replies to end; a second Ctrl-C does not.

Only this machine can reach the server, unless --host says otherwise, which needs an API key in WEFT_API_KEY or --api-key-file.

Examples:
  weft serve
  weft serve glm-4.7-flash --context 32768
  weft serve --model small=smollm2 --model big=model.gguf
  weft serve --models models.toml --memory 24G --keep-alive 10m
  weft serve chat.gguf --model embed=embedding.gguf --model rank=reranker.gguf
  weft serve --ollama-port 11434
  export WEFT_API_KEY=$(openssl rand -hex 16); echo \"$WEFT_API_KEY\"; weft serve --host 0.0.0.0",
    positionals: &[models::MODEL],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    weft_host::free_large_blocks_at_once();
    let options = options(args)?;
    check(&options)?;
    weft_serve::log_to_stderr(match args.text("log-format") {
        Some("json") => LogFormat::Json,
        _ => LogFormat::Text,
    });
    // A bug ends the request that met it, and not all others: the server catches panics, and says so in its log.
    panic::set_hook(Box::new(weft_serve::log_panic));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let names: Vec<String> = options.models.iter().map(|model| model.name.clone()).collect();
        let name = names.first().cloned().unwrap_or_default();
        let server = Server::bind(options).await?;
        let address = server.address()?;
        note!(
            "{name} at http://{address} (a page to chat) and http://{address}/v1 (for programs); Ctrl-C stops"
        );
        processes::serving(names, args.device().to_string(), address.to_string());
        let listener = Listener::new();
        let pressed = listener.pressed();
        server
            .run(async {
                told_to_end(pressed).await;
                if std::io::stderr().is_terminal() {
                    note!("waiting for replies to end; Ctrl-C again stops at once");
                }
            })
            .await?;
        // The signal that ended the server may come to its other handler only now, which would end the program with the signal's code if
        // nobody listened.
        std::mem::forget(listener);
        Ok(Outcome::Done)
    })
}

/// Waits for Ctrl-C or SIGTERM.
async fn told_to_end(pressed: &AtomicBool) {
    let told = async {
        while !pressed.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    // `nohup` and the background jobs of scripts begin with a signal ignored, and then `pressed` is never set. Those who
    // manage servers send SIGTERM all the same.
    #[cfg(unix)]
    if let Ok(mut terminated) = signal(SignalKind::terminate()) {
        tokio::select! {
            () = told => {}
            _ = terminated.recv() => {}
        }
        return;
    }
    told.await;
}

/// Checks that the models can be run, as far as their headers tell, before an address is told.
///
/// # Errors
/// Says which cannot.
fn check(options: &ServeOptions) -> anyhow::Result<()> {
    options.models.iter().try_for_each(|model| {
        let engine = model.engine.as_ref().unwrap_or(&options.engine);
        let gguf = open_adapted(&model.path, &engine.adapters)?;
        weft_models::build(&gguf, &BuildOptions { kv: engine.kv, ..BuildOptions::default() })?;
        Ok(())
    })
}

/// The address to listen on.
///
/// # Errors
/// If it is no IP address, nor `localhost`.
pub(in crate::commands) fn address(host: &str) -> anyhow::Result<IpAddr> {
    let ip = if host == "localhost" { "127.0.0.1" } else { host };
    ip.parse().with_context(|| format!("--host is {host:?}: expected an IP address, as 127.0.0.1 or ::"))
}

fn options(args: Args<'_>) -> anyhow::Result<ServeOptions> {
    if args.flag("no-ollama") {
        args.refuse_with("--no-ollama, which leaves Ollama's API out", &["ollama-port"])?;
    }
    let engine = model_ref::answering(args)?;
    let mut options = ServeOptions::new(Vec::new());
    options.models = models::all(args, &engine)?;
    let ip = address(args.text("host").unwrap_or("127.0.0.1"))?;
    let port = u16::try_from(args.count("port").unwrap_or(0)).context("the port is too large")?;
    options.address = SocketAddr::new(ip, port);
    options.ollama = !args.flag("no-ollama");
    options.also =
        args.count("ollama-port").map(u16::try_from).transpose().context("the port is too large")?;
    options.keys = keys(args.path("api-key-file"), key_of_environment()?)?;
    options.hosts = args.texts("allow-host");
    options.engine = models::serving(args, engine)?.pooling(pooling(args)?);
    options.strict = args.flag("strict");
    let mut limits = Limits::default();
    limits.parallel = args.count("parallel").unwrap_or(limits.parallel);
    limits.queue_requests = args.count("queue").unwrap_or(limits.queue_requests);
    limits.queue_tokens = args.count("queue-tokens").unwrap_or(limits.queue_tokens);
    limits.inputs = args.count("max-inputs").unwrap_or(limits.inputs);
    limits.per_key = args.count("per-key");
    limits.max_tokens = args.limit("max-tokens");
    limits.memory = args.size("memory");
    let seconds = |name| args.count(name).map(|seconds| Duration::from_secs(seconds as u64));
    limits.request_time = seconds("timeout").unwrap_or(limits.request_time);
    limits.drain = seconds("drain").unwrap_or(limits.drain);
    options.limits = limits;
    options.kv_events = args.text("kv-events").map(events_address).transpose()?;
    Ok(options)
}

/// The address of `--kv-events`.
fn events_address(text: &str) -> anyhow::Result<SocketAddr> {
    text.parse().with_context(|| format!("--kv-events is {text:?}: expected IP:PORT, as 127.0.0.1:5557"))
}

/// The key of the environment.
///
/// # Errors
/// If it is not UTF-8: a server without a key is not what the user wants.
fn key_of_environment() -> anyhow::Result<Option<String>> {
    let Some(key) = std::env::var_os("WEFT_API_KEY") else { return Ok(None) };
    if let Some(bad) = NotUtf8::find(&key) {
        bail!("cannot use the key in WEFT_API_KEY: it is {bad}");
    }
    Ok(key.into_string().ok())
}

/// The keys of a file, one on each line, and that of the environment.
fn keys(file: Option<&Path>, environment: Option<String>) -> anyhow::Result<Vec<String>> {
    let mut keys: Vec<String> = environment.into_iter().collect();
    if let Some(path) = file {
        let text = text_file::text(path, "the API keys in")?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let before = keys.len();
        keys.extend(lines.map(str::to_string));
        ensure!(keys.len() > before, "there is no API key in {}: expected one on each line", path.display());
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn keys_come_from_the_environment_and_a_file() {
        let folder = crate::test_folder::TestFolder::new("serve-keys");
        let path = folder.join("keys");
        fs::write(&path, "# ours\none\n\n two \n").unwrap();
        assert_eq!(keys(Some(&path), Some("zero".into())).unwrap(), ["zero", "one", "two"]);
        assert_eq!(keys(None, None).unwrap(), [""; 0]);
        fs::write(&path, "# none\n").unwrap();
        assert!(keys(Some(&path), None).unwrap_err().to_string().contains("no API key"));
    }
}
