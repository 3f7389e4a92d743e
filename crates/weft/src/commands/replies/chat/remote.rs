//! A conversation with a server.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::ensure;
use serde_json::{Map, Value, json};

use super::partner::{Ended, Partner, Reply, answer};
use super::session::With;
use crate::chat::client::{ClientError, Server};
use crate::chat::messages::Messages;
use crate::cli::args::Args;
use crate::cli::samplers::{COUNTS, REALS};
use crate::terminal::interrupt::Listener;
use crate::terminal::mode::Quiet;
use crate::terminal::progress::Spinner;
use crate::terminal::streams::{Out, note};

/// The longest time that a server may say nothing: prompts can be long, and queues too.
const SILENCE: Duration = Duration::from_secs(600);
/// How often Ctrl-C is looked for.
const TICK: Duration = Duration::from_millis(20);

/// The field of a request that switches reasoning on and off.
const THINK: &str = "chat_template_kwargs";

/// A server.
pub(super) struct Remote {
    server: Server,
    model: Option<String>,
    messages: Messages,
    /// The fields of requests that the arguments set.
    options: Map<String, Value>,
}

/// The part of a reply that has arrived.
#[derive(Default)]
struct Arrived {
    text: String,
    reasoning: String,
    /// The server's reason for the end.
    finish: Option<String>,
    usage: Value,
    /// When the first and the last token arrived.
    first: Option<Instant>,
    last: Option<Instant>,
}

impl Remote {
    /// Connects to the server at `url`, to talk to `own` if no argument names another model and the server has it.
    ///
    /// # Errors
    /// If no server answers there, or it wants a key.
    pub(super) fn new(args: Args<'_>, url: &str, own: Option<&str>) -> anyhow::Result<Remote> {
        let server = Server::new(url, args.text("api-key"), SILENCE)?;
        let model = match args.text("model") {
            Some(model) => Some(model.to_string()),
            None => offered(&server, own)?,
        };
        let mut messages = Messages::default();
        messages.set_system(args.system(None));
        Ok(Remote { server, model, messages, options: options(args) })
    }

    /// The body of the next request.
    fn body(&self) -> Value {
        let mut body = self.options.clone();
        body.extend(self.model.clone().map(|model| ("model".to_string(), Value::String(model))));
        let messages = self.messages.all().iter().map(|message| {
            let mut fields = Map::new();
            fields.insert("role".to_string(), message.role.as_str().into());
            fields.insert("content".to_string(), message.content.clone());
            fields.extend(message.extra.clone());
            Value::Object(fields)
        });
        body.insert("messages".to_string(), messages.collect());
        body.insert("stream".to_string(), true.into());
        body.insert("stream_options".to_string(), json!({"include_usage": true}));
        Value::Object(body)
    }

    /// Requests a reply and shows it. Returns it and whether Ctrl-C ended it.
    fn request(&self, out: &mut Out) -> anyhow::Result<(Arrived, bool)> {
        let listener = Listener::new();
        let quiet = Quiet::new();
        let mut spinner = Some(Spinner::new("waiting for the server"));
        let stop = listener.pressed();
        // Its connections are its own, so that they can be closed while the other thread waits.
        let server = self.server.apart();
        let events = request(server.clone(), self.body());
        let mut arrived = Arrived::default();
        let mut shown = Ok(());
        let cancelled = loop {
            // Without a reader there is no reason to continue.
            if stop.load(Ordering::SeqCst) || shown.is_err() {
                server.hang_up();
                break true;
            }
            match events.recv_timeout(TICK) {
                Ok((at, Ok(Some(event)))) => {
                    spinner = None;
                    shown = arrived.take(&event, at, out);
                }
                Ok((_, Ok(None))) | Err(RecvTimeoutError::Disconnected) => break false,
                Ok((_, Err(error))) => {
                    drop(spinner);
                    let _ = out.end_reply();
                    return Err(error.into());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        drop(spinner);
        shown.and_then(|()| out.end_reply())?;
        drop(quiet);
        Ok((arrived, cancelled))
    }
}

/// An event, the end or an error, and when it arrived.
type Received = (Instant, Result<Option<Value>, ClientError>);

/// Sends the request and receives its events on another thread.
fn request(server: Server, body: Value) -> Receiver<Received> {
    let (send, events) = channel();
    thread::spawn(move || {
        let mut stream = match server.stream("/v1/chat/completions", &body) {
            Ok(stream) => stream,
            Err(error) => return drop(send.send((Instant::now(), Err(error)))),
        };
        loop {
            let event = stream.next();
            let last = !matches!(event, Ok(Some(_)));
            if send.send((Instant::now(), event)).is_err() || last {
                return;
            }
        }
    });
    events
}

impl Arrived {
    /// Takes an event and shows what it brings.
    fn take(&mut self, event: &Value, at: Instant, out: &mut Out) -> io::Result<()> {
        if event["usage"].is_object() {
            self.usage = event["usage"].clone();
        }
        let choice = &event["choices"][0];
        if let Some(finish) = choice["finish_reason"].as_str() {
            self.finish = Some(finish.to_string());
        }
        let delta = &choice["delta"];
        let [text, reasoning, other] = ["content", "reasoning_content", "reasoning"]
            .map(|name| delta[name].as_str().unwrap_or_default());
        // Some servers write both.
        let reasoning = if reasoning.is_empty() { other } else { reasoning };
        if !text.is_empty() || !reasoning.is_empty() {
            self.last = Some(at);
            self.first.get_or_insert(at);
        }
        if !reasoning.is_empty() {
            self.reasoning += reasoning;
            out.aside(reasoning)?;
        }
        if !text.is_empty() {
            self.text += text;
            out.reply(text)?;
        }
        Ok(())
    }

    fn statistics(&self, asked: Instant) -> String {
        let count = |name: &str| self.usage[name].as_u64();
        let cached = self.usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap_or(0);
        let prompt = count("prompt_tokens").map_or("?".to_string(), |tokens| tokens.to_string());
        let (Some(first), Some(last)) = (self.first, self.last) else {
            return format!("prompt: {prompt} tokens ({cached} cached); no reply");
        };
        let (wait, took) = ((first - asked).as_secs_f64(), (last - first).as_secs_f64());
        let reply = count("completion_tokens").map_or("? tokens".to_string(), |tokens| {
            let rate = if took > 0.0 { tokens.saturating_sub(1) as f64 / took } else { 0.0 };
            format!("{tokens} tokens in {took:.2} s, {rate:.1} tokens/s")
        });
        format!("prompt: {prompt} tokens ({cached} cached), first token after {wait:.2} s; reply: {reply}")
    }
}

impl Partner for Remote {
    fn name(&self) -> String {
        let model = self.model.as_deref().unwrap_or("a model").escape_debug();
        format!("{model} at {}", self.server.url())
    }

    fn with(&self) -> With {
        With { model: self.model.clone(), server: Some(self.server.url().to_string()) }
    }

    fn messages(&mut self) -> &mut Messages {
        &mut self.messages
    }

    fn reply(&mut self, out: &mut Out) -> anyhow::Result<Reply> {
        let asked = Instant::now();
        let (arrived, cancelled) = self.request(out)?;
        let cut = arrived.finish.as_deref() == Some("length") && !self.options.contains_key("max_tokens");
        let ended = match cancelled {
            true => Ended::Cancelled,
            false if cut => Ended::Full,
            false => Ended::Done,
        };
        let kept = !arrived.text.is_empty() || !cancelled;
        let message = kept.then(|| answer(&arrived.text, &arrived.reasoning));
        Ok(Reply { ended, message, statistics: arrived.statistics(asked), room: None })
    }

    fn is_full(&self, error: &anyhow::Error) -> bool {
        matches!(error.downcast_ref(), Some(ClientError::Context(_)))
    }

    fn full(&self) -> String {
        "the server's context, or its limit for a reply, is reached; /drop forgets the oldest messages, and /clear starts \
         a new conversation"
            .to_string()
    }

    fn set(&mut self, name: &str, value: Option<f64>) {
        let field = name.replace('-', "_");
        match value {
            // Whole numbers without a fraction: counts are refused with one.
            Some(value) if value.fract() == 0.0 && value >= 0.0 => {
                self.options.insert(field, (value as u64).into());
            }
            Some(value) => {
                self.options.insert(field, value.into());
            }
            None => {
                self.options.remove(&field);
            }
        }
    }

    fn set_think(&mut self, think: Option<bool>) {
        match think {
            Some(think) => {
                self.options.insert(THINK.to_string(), json!({"enable_thinking": think}));
            }
            None => {
                self.options.remove(THINK);
            }
        }
    }

    fn setting(&self, name: &str) -> Option<Value> {
        self.options.get(&name.replace('-', "_")).cloned()
    }

    fn vary(&mut self) {
        if let Some(seed) = self.options.get("seed").and_then(Value::as_u64) {
            self.options.insert("seed".to_string(), seed.wrapping_add(1).into());
        }
    }

    fn switch(&mut self, model: &str) -> anyhow::Result<()> {
        let models = self.server.models()?;
        ensure!(
            models.is_empty() || models.iter().any(|known| known == model),
            "the server has no model {model}: expected {}",
            models.join(" or ")
        );
        self.model = Some(model.to_string());
        Ok(())
    }
}

/// A server's model of this name, or else its first one; `None` if it does not list its models.
fn offered(server: &Server, own: Option<&str>) -> Result<Option<String>, ClientError> {
    let models = server.models()?;
    if let Some(own) = own.filter(|own| models.iter().any(|model| model == own)) {
        return Ok(Some(own.to_string()));
    }
    if models.len() > 1 {
        note!("the server offers {}; --model chooses one", models.join(", "));
    }
    Ok(models.into_iter().next())
}

/// The fields of requests for the options that the user has set.
fn options(args: Args<'_>) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut set = |name: &str, field: &str, value: &dyn Fn() -> Value| {
        if args.is_set(name) {
            fields.insert(field.to_string(), value());
        }
    };
    for (name, _) in REALS {
        set(name, &name.replace('-', "_"), &|| args.number(name).into());
    }
    for (name, ..) in COUNTS {
        set(name, &name.replace('-', "_"), &|| args.limit(name).map_or(json!(-1), Value::from));
    }
    if let Some(limit) = args.limit("max-tokens") {
        set("max-tokens", "max_tokens", &|| limit.into());
    }
    set("reasoning-budget", "reasoning_budget", &|| args.count("reasoning-budget").into());
    set("seed", "seed", &|| args.generate(None).sampling.seed.into());
    set("mirostat", "mirostat", &|| if args.text("mirostat") == Some("2") { 2.into() } else { 0.into() });
    set("dry-sequence-breaker", "dry_sequence_breakers", &|| args.texts("dry-sequence-breaker").into());
    set("stop", "stop", &|| args.texts("stop").into());
    if let Some(think) = args.switch("think", "no-think") {
        fields.insert(THINK.to_string(), json!({"enable_thinking": think}));
    }
    fields
}
