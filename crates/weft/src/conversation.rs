//! A conversation with a model: keeps the messages, and streams the reply to the next one.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use serde_json::Value;
use weft_engine::{Engine, Error, Event, Finish, GenerateOptions, Request, Timings, Usage};
use weft_hub::Settings;
use weft_text::{ChatTemplate, Message, RenderOptions, TemplateError};

use crate::args::Args;
use crate::interrupt::Listener;
use crate::messages::Messages;
use crate::out::{Out, note};
use crate::progress::{Progress, Unit};

/// Prompts of more tokens than this may take long, so they show progress from the start.
const LONG: usize = 128;

/// A reply with its statistics.
pub(crate) struct Generated {
    /// The reply.
    pub(crate) text: String,
    /// Why it ended.
    pub(crate) finish: Finish,
    /// The number of tokens.
    pub(crate) usage: Usage,
    /// The time it took.
    pub(crate) timings: Timings,
}

/// A conversation.
pub(crate) struct Conversation {
    engine: Engine,
    template: Arc<ChatTemplate>,
    messages: Messages,
    think: Option<bool>,
    generate: GenerateOptions,
}

impl Conversation {
    /// Starts a conversation with the model's own chat template; `own` are the model's own settings.
    ///
    /// # Errors
    /// If the model has no chat template, or an invalid one.
    pub(crate) fn new(
        engine: Engine,
        args: Args<'_>,
        own: Option<&Settings>,
        generate: GenerateOptions,
    ) -> anyhow::Result<Conversation> {
        let template = match engine.model().chat_template() {
            Err(TemplateError::Missing) => Err(TemplateError::Missing)
                .context("this model does not support conversations; `weft run --raw` continues plain text"),
            template => template.map_err(anyhow::Error::from),
        }?;
        let think = args.switch("think", "no-think");
        if think.is_some() && template.features().thinking.is_none() {
            note!(
                "--think and --no-think have no effect: the model's chat template has no `enable_thinking`"
            );
        }
        let mut messages = Messages::default();
        messages.set_system(args.system(own));
        Ok(Conversation { engine, template, messages, think, generate })
    }

    /// The engine.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The messages so far.
    pub(crate) fn messages(&mut self) -> &mut Messages {
        &mut self.messages
    }

    /// Sends a message and streams the reply to `out`, until the reply ends or Ctrl-C is pressed.
    ///
    /// # Errors
    /// If the template rejects the message, the context is too small, or a step fails. The conversation is then
    /// unchanged.
    pub(crate) fn say(&mut self, text: &str, out: Option<&mut Out>) -> anyhow::Result<Generated> {
        self.messages.ask(text);
        let reply = self.reply(out);
        let kept = reply.as_ref().ok().filter(|r| !r.text.is_empty() || r.finish != Finish::Cancelled);
        self.messages.answer(kept.map(|generated| Message::new("assistant", generated.text.as_str())));
        reply
    }

    fn reply(&mut self, out: Option<&mut Out>) -> anyhow::Result<Generated> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .ok()
            .and_then(|now| i64::try_from(now.as_secs()).ok());
        let mut options = RenderOptions { now, ..RenderOptions::default() };
        let think = self.template.features().thinking.zip(self.think);
        options.extra.extend(think.map(|(name, think)| (name.to_string(), Value::Bool(think))));
        let prompt = self.template.render(&self.template.adapt(self.messages.all())?, &options)?;
        let prompt = self.engine.model().tokenizer().encode_chat(&prompt);
        stream(&mut self.engine, prompt, &self.generate, out)
    }
}

/// Continues plain text.
///
/// # Errors
/// If the context is too small, or a step fails.
pub(crate) fn complete(
    engine: &mut Engine,
    text: &str,
    options: &GenerateOptions,
    out: Option<&mut Out>,
) -> anyhow::Result<Generated> {
    let prompt = engine.model().tokens(text);
    stream(engine, prompt, options, out)
}

/// Generates a reply and streams it to `out`.
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
                // The next event only comes after another step.
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
                // Without a reader there is no reason to continue.
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

/// Adds to an error of the engine the option that helps.
fn with_knob(error: Error) -> anyhow::Error {
    let full = matches!(error, Error::Context { .. });
    let error = anyhow::Error::from(error);
    if full { error.context("a larger --context is needed") } else { error }
}

/// Ends the last line of a reply, unless it ends already.
fn end_line(reply: &str, out: Option<&mut Out>) -> io::Result<()> {
    match out {
        Some(out) if !reply.ends_with('\n') => out.foreign("\n"),
        _ => Ok(()),
    }
}

/// The statistics of a reply, on one line.
pub(crate) fn timings(generated: &Generated, loaded: Duration, seed: u64) -> String {
    let Generated { usage, timings, .. } = generated;
    let Usage { prompt_tokens, cached_tokens, tokens, .. } = usage;
    let [prompt, decode] = [timings.prompt, timings.decode].map(|time| time.as_secs_f64());
    let rate = |tokens: usize, seconds: f64| if seconds > 0.0 { tokens as f64 / seconds } else { 0.0 };
    format!(
        "loaded in {:.2} s; prompt: {prompt_tokens} tokens ({cached_tokens} cached) in {prompt:.2} s, {:.1} tokens/s; \
         reply: {tokens} tokens in {decode:.2} s, {:.1} tokens/s; seed {seed}",
        loaded.as_secs_f64(),
        rate(prompt_tokens - cached_tokens, prompt),
        decode_rate(generated),
    )
}

/// Tokens per second, without the first token: it comes with the prompt.
pub(crate) fn decode_rate(generated: &Generated) -> f64 {
    let tokens = generated.usage.tokens.saturating_sub(1) as f64;
    let seconds = generated.timings.decode.as_secs_f64();
    if seconds > 0.0 { tokens / seconds } else { 0.0 }
}
