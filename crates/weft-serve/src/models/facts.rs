//! A model that is loaded, and what its file says.

use std::ops::Deref;
use std::sync::Arc;

use weft_engine::{
    Adapted, ChatTemplate, Engine, GenerateOptions, Head, Ranking, Selectable, TemplateError, Tokenizer,
};
use weft_grammar::Grammars;
use weft_text::reply::ReplyFormat;

use crate::worker::Worker;

/// A model that is loaded, as requests name it: by itself, or with one of its LoRA adapters.
pub(crate) struct Loaded {
    /// Its name in requests.
    pub(crate) name: String,
    /// The defaults of requests.
    pub(crate) defaults: GenerateOptions,
    /// The model, which is the same under all names.
    pub(crate) shared: Arc<Shared>,
}

impl Deref for Loaded {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl Loaded {
    /// The same model with one of its LoRA adapters, for requests that name this one as their model.
    pub(crate) fn adapted(&self, name: &str) -> Loaded {
        let mut defaults = self.defaults.clone();
        defaults.adapter = Some(Adapted { adapter: name.into(), scale: None });
        Loaded { name: name.into(), defaults, shared: Arc::clone(&self.shared) }
    }
}

/// A model that is loaded.
pub(crate) struct Shared {
    /// The system message of conversations that have none.
    pub(crate) system: Option<String>,
    /// Whether it reasons, where a request does not say.
    pub(crate) think: Option<bool>,
    /// The most tokens of its reasoning, where a request does not say.
    pub(crate) reasoning_budget: Option<usize>,
    /// Whether prompts keep the reasoning of earlier turns, where a request does not say.
    pub(crate) preserve: bool,
    /// The facts in its file.
    pub(crate) facts: Facts,
    /// Its grammars.
    pub(crate) grammars: Grammars,
    /// Its thread.
    pub(crate) worker: Worker,
}

/// The facts in a model's file, and how the model runs.
pub(crate) struct Facts {
    /// The tokenizer.
    pub(crate) tokenizer: Arc<Tokenizer>,
    /// The chat template, or why there is none.
    pub(crate) template: Result<Arc<ChatTemplate>, TemplateError>,
    /// How the model writes reasoning and tool calls.
    pub(crate) format: ReplyFormat,
    /// The chat template for conversations with tools and its form of replies, if that is another.
    pub(crate) tools: Result<Option<(Arc<ChatTemplate>, ReplyFormat)>, TemplateError>,
    /// The most tokens of a prompt and its reply together.
    pub(crate) context: usize,
    /// The context that the model was trained for.
    pub(crate) trained: usize,
    /// The size of the vocabulary.
    pub(crate) vocab: usize,
    /// The kind of the model's results: logits, embeddings or scores.
    pub(crate) head: Head,
    /// The number of values of that.
    pub(crate) width: usize,
    /// The LoRA adapters that requests choose.
    pub(crate) adapters: Vec<Selectable>,
    /// How the model ranks documents, if it does.
    pub(crate) ranking: Option<Ranking>,
    /// The architecture's name.
    pub(crate) architecture: String,
    /// The device's name.
    pub(crate) device: String,
    /// Whether that is a card with memory of its own.
    pub(crate) on_gpu: bool,
    /// The bytes of memory on that card, and on the CPU, if the model is divided between both.
    pub(crate) divided: Option<[u64; 2]>,
}

impl Facts {
    pub(super) fn of(engine: &Engine) -> Facts {
        let model = engine.model();
        let config = &model.graph().config;
        let tokenizer = Arc::clone(model.tokenizer());
        Facts {
            format: tokenizer.chat_template().map(ReplyFormat::of).unwrap_or_default(),
            template: model.chat_template(),
            tools: model.tool_template().map(|template| {
                template.map(|template| {
                    let format = ReplyFormat::of(template.source());
                    (template, format)
                })
            }),
            tokenizer,
            context: engine.context(),
            trained: config.context,
            vocab: config.vocab,
            head: config.head,
            width: config.width(),
            adapters: model.selectable().to_vec(),
            ranking: model.ranking().cloned(),
            architecture: config.architecture.to_string(),
            device: engine.device().name.clone(),
            on_gpu: engine.device().hardware.distant,
            divided: match engine.divided() {
                [first, second] => Some([first.total(), second.total()]),
                _ => None,
            },
        }
    }
}
