//! A conversation with a model in this process.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};
use weft_engine::{Finish, Model};

use super::partner::{Ended, Partner, Reply, answer};
use super::session::With;
use crate::chat::conversation::{Conversation, TooLong, cut_off, timings};
use crate::chat::messages::Messages;
use crate::chat::show::Show;
use crate::cli::args::Args;
use crate::cli::samplers;
use crate::model::load::load;
use crate::model::model_ref;
use crate::model::processes;
use crate::terminal::streams::{Out, in_one_line, note};

/// A model in this process.
pub(super) struct Local<'a> {
    args: Args<'a>,
    messages: Messages,
    /// The model; `None` if another one could not be loaded, and then this one could not either.
    model: Option<Loaded>,
    /// The settings that were changed, by name; `None` for the default.
    changed: Vec<(String, Option<f64>)>,
    /// Whether the model reasons first, if that was changed.
    think: Option<Option<bool>>,
}

/// A loaded model.
struct Loaded {
    conversation: Conversation,
    /// As the user names it.
    name: Option<PathBuf>,
    path: PathBuf,
    took: Duration,
}

impl<'a> Local<'a> {
    /// Loads the model of this name, or the default one.
    ///
    /// # Errors
    /// If there is no such model, or it cannot be loaded or hold conversations.
    pub(super) fn new(args: Args<'a>, name: Option<&Path>) -> anyhow::Result<Local<'a>> {
        let path = model_ref::find(args, name)?;
        let own = model_ref::settings(name, &path);
        let mut messages = Messages::default();
        messages.set_system(model_ref::configured(args, None, name, &path).system(own));
        let model = Some(Loaded::new(args, name, path)?);
        Ok(Local { args, messages, model, changed: Vec::new(), think: None })
    }

    /// The model.
    ///
    /// # Errors
    /// If there is none.
    fn model(&mut self) -> anyhow::Result<&mut Loaded> {
        self.model.as_mut().context("no model is loaded; /model MODEL loads one")
    }

    /// Continues with a model that has just been loaded.
    fn take(&mut self, model: Loaded) {
        self.model = Some(model);
        for (name, value) in self.changed.clone() {
            self.apply(&name, value);
        }
        if let (Some(think), Some(model)) = (self.think, &mut self.model) {
            *model.conversation.think() = think;
        }
    }

    fn apply(&mut self, name: &str, value: Option<f64>) {
        let Some(Loaded { conversation, name: model, path, .. }) = &mut self.model else { return };
        let args = model_ref::configured(self.args, None, model.as_deref(), path);
        let default = args.generate(model_ref::settings(model.as_deref(), path));
        let options = conversation.options();
        let (sampling, mut own) = (&mut options.sampling, default.sampling);
        if let (Some(parameter), Some(own)) = (samplers::real(sampling, name), samplers::real(&mut own, name))
        {
            *parameter = value.map_or(*own, |value| value as f32);
        }
        if let (Some(parameter), Some(own)) =
            (samplers::count(sampling, name), samplers::count(&mut own, name))
        {
            *parameter = value.map_or(*own, |value| value as usize);
        }
        match name {
            "seed" => sampling.seed = value.map_or(own.seed, |value| value as u64),
            "max-tokens" => {
                options.max_tokens = value.map_or(default.max_tokens, |value| Some(value as usize))
            }
            _ => {}
        }
    }
}

impl Loaded {
    fn new(args: Args<'_>, name: Option<&Path>, path: PathBuf) -> anyhow::Result<Loaded> {
        let args = model_ref::configured(args, None, name, &path);
        let own = model_ref::settings(name, &path);
        let (engine, took) = load(&path, &model_ref::answering(args)?.prompts(args.prompt_cache()?))?;
        let options = args.generate(own);
        let mut conversation = Conversation::new(engine, args, own, options)?;
        // Only people are protected from replies that repeat themselves: programs get the model's whole text.
        if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
            conversation.guard();
        }
        Ok(Loaded { conversation, name: name.map(Path::to_path_buf), path, took })
    }
}

impl Partner for Local<'_> {
    fn name(&self) -> String {
        let Some(model) = &self.model else { return "no model".to_string() };
        let name = model_ref::shown(model.name.as_deref(), &model.path);
        format!("{} on {}", name.escape_debug(), model.conversation.engine().device().name)
    }

    fn with(&self) -> With {
        let lasting = |model: &Loaded| model_ref::lasting(model.name.as_deref(), &model.path);
        With { model: self.model.as_ref().map(lasting), server: None }
    }

    fn messages(&mut self) -> &mut Messages {
        &mut self.messages
    }

    fn reply(&mut self, out: &mut Out) -> anyhow::Result<Reply> {
        let messages = self.messages.all().to_vec();
        let Loaded { conversation, took, .. } = self.model()?;
        let generated = conversation.reply(&messages, Show::Text(out))?;
        let ended = match generated.finish {
            Finish::Context => Ended::Full,
            Finish::Cancelled if !generated.repeats => Ended::Cancelled,
            _ if generated.repeats => Ended::Repeats,
            _ => Ended::Done,
        };
        // A full context has a message of its own.
        if let Some(option) = generated.lacks.filter(|_| ended != Ended::Full) {
            note!("{}", cut_off(&generated.finish, option));
        }
        let kept = !generated.text.is_empty() || ended != Ended::Cancelled;
        let seed = conversation.generate().sampling.seed;
        let used = generated.usage.prompt_tokens + generated.usage.tokens;
        Ok(Reply {
            ended,
            message: kept.then(|| answer(&generated.text, &generated.reasoning)),
            statistics: timings(&generated, *took, seed),
            room: Some((used, conversation.engine().context())),
        })
    }

    fn is_full(&self, error: &anyhow::Error) -> bool {
        error.downcast_ref::<TooLong>().is_some()
    }

    fn full(&self) -> String {
        let Some(model) = &self.model else { return "no model is loaded".to_string() };
        let engine = model.conversation.engine();
        format!(
            "the context of {} tokens is full; /drop forgets the oldest messages, /clear starts a new conversation, \
             and --context N (up to {} for this model) makes room for longer ones",
            engine.context(),
            engine.model().graph().config.context
        )
    }

    fn set(&mut self, name: &str, value: Option<f64>) {
        self.apply(name, value);
        self.changed.retain(|(known, _)| known != name);
        self.changed.push((name.to_string(), value));
    }

    fn set_think(&mut self, think: Option<bool>) {
        self.think = Some(think);
        if let Some(model) = &mut self.model {
            *model.conversation.think() = think;
        }
    }

    fn setting(&self, name: &str) -> Option<Value> {
        let options = self.model.as_ref()?.conversation.generate();
        let mut sampling = options.sampling;
        // As written by the user: 0.7 and not 0.699999988079071.
        if let Some(value) = samplers::real(&mut sampling, name) {
            return Some(json!(value.to_string().parse::<f64>().unwrap_or_default()));
        }
        if let Some(value) = samplers::count(&mut sampling, name) {
            return Some((*value).into());
        }
        Some(match name {
            "seed" => sampling.seed.into(),
            "max-tokens" => options.max_tokens?.into(),
            _ => return None,
        })
    }

    fn vary(&mut self) {
        if let Some(model) = &mut self.model {
            let seed = &mut model.conversation.options().sampling.seed;
            *seed = seed.wrapping_add(1);
        }
    }

    fn switch(&mut self, model: &str) -> anyhow::Result<()> {
        let cannot = || format!("cannot go on with {model}");
        let name = Path::new(model);
        // Checks that need no weights are made while the old model is still there.
        let path = model_ref::find(self.args, Some(name)).with_context(cannot)?;
        Model::open_with(&path, &self.args.engine()).with_context(cannot)?;
        // There may not be memory for both.
        let old = self.model.take().map(|Loaded { name, path, .. }| (name, path));
        processes::unloaded();
        let error = match Loaded::new(self.args, Some(name), path) {
            Ok(new) => {
                self.take(new);
                return Ok(());
            }
            Err(error) => error.context(cannot()),
        };
        if let Some((name, path)) = old {
            match Loaded::new(self.args, name.as_deref(), path) {
                Ok(old) => self.take(old),
                Err(again) => note!("the model before it cannot be loaded again: {}", in_one_line(&again)),
            }
        }
        Err(error)
    }
}
