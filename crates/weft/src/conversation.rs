//! A conversation with a model: the messages so far, and the reply to the next as it comes.

use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use serde_json::Value;
use weft_engine::{Engine, Error, Event, Finish, GenerateOptions, Request, Timings, Usage};
use weft_hub::Settings;
use weft_text::{ChatTemplate, Message, RenderOptions, TemplateError};

use crate::args::Args;
use crate::interrupt::Listener;
use crate::out::{Out, note};
use crate::progress::{Progress, Unit};

const SYSTEM: &str = "system";
/// Tokens of a prompt that may take so long that progress is shown from the beginning.
const LONG: usize = 128;

/// A reply, and what it took.
pub(crate) struct Generated {
    /// The reply.
    pub(crate) text: String,
    /// Why it ended.
    pub(crate) finish: Finish,
    /// How many tokens it took.
    pub(crate) usage: Usage,
    /// How long it took.
    pub(crate) timings: Timings,
}

/// A conversation.
pub(crate) struct Conversation {
    engine: Engine,
    template: ChatTemplate,
    messages: Vec<Message>,
    think: Option<bool>,
    generate: GenerateOptions,
}

impl Conversation {
    /// Begins a conversation by the model's own chat template; `own` is what else the model comes with.
    ///
    /// # Errors
    /// If the model has none that works.
    pub(crate) fn new(
        engine: Engine,
        args: Args<'_>,
        own: Option<&Settings>,
        generate: GenerateOptions,
    ) -> anyhow::Result<Conversation> {
        let template = match engine.model().chat_template() {
            Err(TemplateError::Missing) => Err(TemplateError::Missing).context(
                "this model was not made for conversations; `weft run --raw` continues a text with it",
            ),
            template => template.map_err(anyhow::Error::from),
        }?;
        let think = args.switch("think", "no-think");
        let knows_think =
            engine.model().tokenizer().chat_template().is_some_and(|t| t.contains("enable_thinking"));
        if think.is_some() && !knows_think {
            note!("this model's chat template knows no `enable_thinking`: --think and --no-think do nothing");
        }
        let messages = Vec::new();
        let mut conversation = Conversation { engine, template, messages, think, generate };
        conversation.set_system(args.system(own));
        Ok(conversation)
    }

    /// The engine.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The system message.
    pub(crate) fn system(&self) -> Option<&str> {
        self.messages.first().filter(|message| message.role == SYSTEM)?.content.as_str()
    }

    /// Changes the system message, or takes it out.
    pub(crate) fn set_system(&mut self, text: Option<&str>) {
        if self.system().is_some() {
            self.messages.remove(0);
        }
        if let Some(text) = text {
            self.messages.insert(0, Message::new(SYSTEM, text));
        }
    }

    /// Whether nothing has been said yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.iter().all(|message| message.role == SYSTEM)
    }

    /// Forgets everything but the system message.
    pub(crate) fn clear(&mut self) {
        self.messages.retain(|message| message.role == SYSTEM);
    }

    /// Says `text` and writes the reply to `out` as it comes, until it ends or Ctrl-C is pressed.
    ///
    /// # Errors
    /// If the template refuses it, it does not fit into the context, or a step fails. The conversation is then as if it
    /// had not been said.
    pub(crate) fn say(&mut self, text: &str, out: Option<&mut Out>) -> anyhow::Result<Generated> {
        let before = self.messages.len();
        self.messages.push(Message::new("user", text));
        let reply = self.reply(out);
        match &reply {
            // Templates want turns to take turns, so a reply that was stopped at once takes its question with it.
            Ok(generated) if generated.text.is_empty() && generated.finish == Finish::Cancelled => {
                self.messages.truncate(before);
            }
            Ok(generated) => self.messages.push(Message::new("assistant", generated.text.as_str())),
            Err(_) => self.messages.truncate(before),
        }
        reply
    }

    fn reply(&mut self, out: Option<&mut Out>) -> anyhow::Result<Generated> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .ok()
            .and_then(|now| i64::try_from(now.as_secs()).ok());
        let mut options = RenderOptions { now, ..RenderOptions::default() };
        options.extra.extend(self.think.map(|think| ("enable_thinking".to_string(), Value::Bool(think))));
        let prompt = self.template.render(&self.messages, &options)?;
        let prompt = self.engine.model().tokenizer().encode_chat(&prompt);
        stream(&mut self.engine, prompt, &self.generate, out)
    }
}

/// Continues a text as it stands.
///
/// # Errors
/// If it does not fit into the context, or a step fails.
pub(crate) fn complete(
    engine: &mut Engine,
    text: &str,
    options: &GenerateOptions,
    out: Option<&mut Out>,
) -> anyhow::Result<Generated> {
    let prompt = engine.model().tokens(text);
    stream(engine, prompt, options, out)
}

/// Generates, and writes what comes to `out`.
fn stream(
    engine: &mut Engine,
    prompt: Vec<u32>,
    options: &GenerateOptions,
    mut out: Option<&mut Out>,
) -> anyhow::Result<Generated> {
    let listener = Listener::new();
    let stop = listener.pressed();
    let mut progress = None;
    let mut text = String::new();
    let mut written = Ok(());
    let mut generation = engine.push(Request::new(prompt).options(options.clone())).map_err(with_knob)?;
    let finish = loop {
        match generation.poll() {
            Some(Event::Prompt { done, total }) if done < total => {
                // Nothing is heard again before the first of what is left has been computed.
                let long = total - done > LONG;
                let new = || Progress::new("reading the prompt", total as u64, Unit::Tokens).at_once(long);
                progress.get_or_insert_with(new).set(done as u64);
            }
            Some(Event::Text(more)) => {
                progress = None;
                if let Some(out) = out.as_deref_mut().filter(|_| written.is_ok()) {
                    written = out.foreign(&more);
                }
                text += &more;
            }
            Some(Event::Finished(finish)) => break finish,
            Some(_) => {}
            None => {
                // If nobody reads on there is no reason to write on.
                if stop.load(Ordering::SeqCst) || written.is_err() {
                    generation.cancel();
                }
                engine.step()?;
            }
        }
    };
    drop(progress);
    if let Finish::Failed(why) = finish {
        bail!(why);
    }
    written.and_then(|()| end_line(&text, out))?;
    Ok(Generated { text, finish, usage: generation.usage(), timings: generation.timings() })
}

/// An error of the engine, with the knob that helps.
fn with_knob(error: Error) -> anyhow::Error {
    let full = matches!(error, Error::Context { .. });
    let error = anyhow::Error::from(error);
    if full { error.context("this needs a larger --context") } else { error }
}

/// Ends the last line of a reply, if it is not ended.
fn end_line(reply: &str, out: Option<&mut Out>) -> io::Result<()> {
    match out {
        Some(out) if !reply.ends_with('\n') => out.foreign("\n"),
        _ => Ok(()),
    }
}

/// How long a reply took, in a line.
pub(crate) fn timings(generated: &Generated, loaded: Duration, seed: u64) -> String {
    let Generated { usage, timings, .. } = generated;
    let Usage { prompt_tokens, cached_tokens, tokens, .. } = usage;
    let [prompt, decode] = [timings.prompt, timings.decode].map(|time| time.as_secs_f64());
    let rate = |tokens: usize, seconds: f64| if seconds > 0.0 { tokens as f64 / seconds } else { 0.0 };
    format!(
        "loaded in {:.2} s; prompt: {prompt_tokens} tokens ({cached_tokens} kept) in {prompt:.2} s, {:.1}/s; \
         reply: {tokens} tokens in {decode:.2} s, {:.1}/s; seed {seed}",
        loaded.as_secs_f64(),
        rate(prompt_tokens - cached_tokens, prompt),
        decode_rate(generated),
    )
}

/// Tokens a second after the first, which came with the prompt.
pub(crate) fn decode_rate(generated: &Generated) -> f64 {
    let tokens = generated.usage.tokens.saturating_sub(1) as f64;
    let seconds = generated.timings.decode.as_secs_f64();
    if seconds > 0.0 { tokens / seconds } else { 0.0 }
}
