//! A conversation with a model in this process.

use std::io::IsTerminal as _;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};
use weft_engine::Finish;
use weft_text::Message;

use super::partner::{Ended, Partner, Reply};
use crate::args::Args;
use crate::conversation::{Conversation, TooLong, timings};
use crate::load::load;
use crate::messages::Messages;
use crate::model_ref;
use crate::out::Out;
use crate::show::Show;

/// A model in this process.
pub(super) struct Local<'a> {
    args: Args<'a>,
    conversation: Conversation,
    loaded: Duration,
}

impl<'a> Local<'a> {
    /// Loads the model that the arguments name.
    ///
    /// # Errors
    /// If there is no such model, or it cannot be loaded or hold conversations.
    pub(super) fn new(args: Args<'a>) -> anyhow::Result<Local<'a>> {
        Local::of(args, args.text("MODEL"))
    }

    fn of(args: Args<'a>, model: Option<&str>) -> anyhow::Result<Local<'a>> {
        let path = model_ref::find(args, model)?;
        let own = model_ref::settings(model, &path);
        let (engine, loaded) = load(&path, &args.answering().prompts(args.prompt_cache()?))?;
        let options = args.generate(own);
        let mut conversation = Conversation::new(engine, args, own, options)?;
        // Programs get what the model says.
        if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
            conversation.guard();
        }
        Ok(Local { args, conversation, loaded })
    }

    /// The tokens of a context that has no room for the prompt.
    fn context(&self) -> (usize, usize) {
        let engine = self.conversation.engine();
        (engine.context(), engine.model().graph().config.context)
    }
}

impl Partner for Local<'_> {
    fn name(&self) -> String {
        let engine = self.conversation.engine();
        let config = &engine.model().graph().config;
        let name = config.name.as_deref().unwrap_or(config.architecture).escape_debug();
        format!("{name} on {}", engine.device().name)
    }

    fn messages(&mut self) -> &mut Messages {
        self.conversation.messages()
    }

    fn reply(&mut self, out: &mut Out) -> anyhow::Result<Reply> {
        let generated = self.conversation.reply(Show::Text(out))?;
        let ended = match generated.finish {
            Finish::Context => Ended::Full,
            Finish::Cancelled if !generated.repeats => Ended::Cancelled,
            _ if generated.repeats => Ended::Repeats,
            _ => Ended::Done,
        };
        let kept = !generated.text.is_empty() || ended != Ended::Cancelled;
        let seed = self.conversation.options().sampling.seed;
        let used = generated.usage.prompt_tokens + generated.usage.tokens;
        Ok(Reply {
            ended,
            message: kept.then(|| Message::new("assistant", generated.text.as_str())),
            statistics: timings(&generated, self.loaded, seed),
            room: Some((used, self.conversation.engine().context())),
        })
    }

    fn is_full(&self, error: &anyhow::Error) -> bool {
        error.downcast_ref::<TooLong>().is_some()
    }

    fn full(&self) -> String {
        let (context, most) = self.context();
        format!(
            "the context of {context} tokens is full; /drop forgets the oldest messages, /clear starts a new conversation, \
             and --context N (up to {most} for this model) makes room for longer ones"
        )
    }

    fn set(&mut self, name: &str, value: Option<f64>) {
        let default = self.args.generate(None);
        let options = self.conversation.options();
        let (sampling, own) = (&mut options.sampling, default.sampling);
        let real = |own: f32| value.map_or(own, |value| value as f32);
        let count = |own: usize| value.map_or(own, |value| value as usize);
        match name {
            "temperature" => sampling.temperature = real(own.temperature),
            "top-k" => sampling.top_k = count(own.top_k),
            "top-p" => sampling.top_p = real(own.top_p),
            "min-p" => sampling.min_p = real(own.min_p),
            "repeat-penalty" => sampling.repeat_penalty = real(own.repeat_penalty),
            "repeat-last-n" => sampling.repeat_last_n = count(own.repeat_last_n),
            "presence-penalty" => sampling.presence_penalty = real(own.presence_penalty),
            "frequency-penalty" => sampling.frequency_penalty = real(own.frequency_penalty),
            "seed" => sampling.seed = value.map_or(own.seed, |value| value as u64),
            "max-tokens" => options.max_tokens = value.map(|value| value as usize),
            _ => {}
        }
    }

    fn set_think(&mut self, think: Option<bool>) {
        *self.conversation.think() = think;
    }

    fn setting(&self, name: &str) -> Option<Value> {
        let options = self.conversation.generate();
        let sampling = &options.sampling;
        // As written by the user: 0.7 and not 0.699999988079071.
        let real = |value: f32| json!(value.to_string().parse::<f64>().unwrap_or_default());
        Some(match name {
            "temperature" => real(sampling.temperature),
            "top-k" => sampling.top_k.into(),
            "top-p" => real(sampling.top_p),
            "min-p" => real(sampling.min_p),
            "repeat-penalty" => real(sampling.repeat_penalty),
            "repeat-last-n" => sampling.repeat_last_n.into(),
            "presence-penalty" => real(sampling.presence_penalty),
            "frequency-penalty" => real(sampling.frequency_penalty),
            "seed" => sampling.seed.into(),
            "max-tokens" => options.max_tokens?.into(),
            _ => return None,
        })
    }

    fn vary(&mut self) {
        let seed = &mut self.conversation.options().sampling.seed;
        *seed = seed.wrapping_add(1);
    }

    fn switch(&mut self, model: &str) -> anyhow::Result<()> {
        let mut next =
            Local::of(self.args, Some(model)).with_context(|| format!("cannot go on with {model}"))?;
        let messages = self.conversation.messages().all().to_vec();
        next.conversation.messages().replace(messages);
        *self = next;
        Ok(())
    }
}
