//! A conversation with a model in this process.

use std::time::Duration;

use weft_engine::{Error, Finish};

use super::partner::{Ended, Partner, Reply};
use crate::args::Args;
use crate::conversation::{Conversation, timings};
use crate::load::load;
use crate::messages::Messages;
use crate::model_ref;
use crate::out::Out;

/// A model in this process.
pub(super) struct Local {
    conversation: Conversation,
    loaded: Duration,
    seed: u64,
}

impl Local {
    /// Loads the model that the arguments name.
    ///
    /// # Errors
    /// If there is no such model, or it cannot be loaded or hold conversations.
    pub(super) fn new(args: Args<'_>) -> anyhow::Result<Local> {
        let model = args.text("MODEL");
        let path = model_ref::find(args, model)?;
        let own = model_ref::named(model).map(|known| &known.settings);
        let (engine, loaded) = load(&path, &args.engine().prompts(args.prompt_cache()?))?;
        let options = args.generate(own);
        let seed = options.sampling.seed;
        Ok(Local { conversation: Conversation::new(engine, args, own, options)?, loaded, seed })
    }
}

impl Partner for Local {
    fn name(&self) -> String {
        let engine = self.conversation.engine();
        let config = &engine.model().graph().config;
        let name = config.name.as_deref().unwrap_or(config.architecture).escape_debug();
        format!("{name} on {}", engine.device().name)
    }

    fn messages(&mut self) -> &mut Messages {
        self.conversation.messages()
    }

    fn say(&mut self, message: &str, out: &mut Out) -> anyhow::Result<Reply> {
        let generated = self.conversation.say(message, Some(out))?;
        let ended = match generated.finish {
            Finish::Context => Ended::Full,
            Finish::Cancelled => Ended::Cancelled,
            _ => Ended::Done,
        };
        Ok(Reply { ended, statistics: timings(&generated, self.loaded, self.seed) })
    }

    fn is_full(&self, error: &anyhow::Error) -> bool {
        matches!(error.downcast_ref(), Some(Error::Context { .. }))
    }

    fn full(&self) -> String {
        let engine = self.conversation.engine();
        let (context, most) = (engine.context(), engine.model().graph().config.context);
        format!(
            "the context of {context} tokens is full; /clear starts a new conversation, and --context N (up to {most} \
             for this model) makes room for longer ones"
        )
    }
}
