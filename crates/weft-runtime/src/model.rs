//! A model file: its graphs, tokenizer and chat template.

pub(crate) mod adapters;
pub(crate) mod files;

use std::path::Path;
use std::sync::Arc;

use weft_gguf::{Gguf, Metadata, Selectable};
use weft_models::{BuildOptions, ModelGraph};
use weft_quant::GgmlType;
use weft_text::{
    ChatTemplate, EncodeOptions, Message, RenderOptions, TemplateError, Tokenizer, TokenizerError,
    TokenizerSpec,
};

use crate::error::Error;
use crate::layout::PAGE;
use crate::model::adapters::{AdapterFile, open_adapted};
use crate::model::files::open_file;
use crate::options::RuntimeOptions;
use crate::ranking::Ranking;

/// An opened model file.
pub struct Model {
    gguf: Gguf,
    graph: ModelGraph,
    plain: Option<ModelGraph>,
    tokenizer: Arc<Tokenizer>,
    template: Result<Arc<ChatTemplate>, TemplateError>,
    tool_template: Result<Option<Arc<ChatTemplate>>, TemplateError>,
    kv: GgmlType,
    ranking: Option<Ranking>,
}

impl Model {
    /// Opens a file. `kv` is the type of the KV cache.
    ///
    /// # Errors
    /// If the file is damaged, or the model or its tokenizer is not supported.
    pub fn open(path: &Path, kv: GgmlType) -> Result<Model, Error> {
        Model::new(open_file(path)?, kv)
    }

    /// Opens a file as `options` say: with a KV cache of their type, and their adapters.
    ///
    /// # Errors
    /// Those of [`open`](Model::open), and if an adapter is not one for this model.
    pub fn open_with(path: &Path, options: &RuntimeOptions) -> Result<Model, Error> {
        let build = BuildOptions { kv: options.kv, page: PAGE, pooling: options.pooling };
        let always: Vec<AdapterFile> =
            options.adapters.iter().filter(|adapter| adapter.name.is_none()).cloned().collect();
        let plain = (always.len() < options.adapters.len())
            .then(|| Ok::<_, Error>(weft_models::build(&open_adapted(path, &always)?, &build)?))
            .transpose()?;
        Model::build(open_adapted(path, &options.adapters)?, plain, &build)
    }

    /// Builds a model from a file that is already open.
    ///
    /// # Errors
    /// If the model or its tokenizer is not supported.
    pub fn new(gguf: Gguf, kv: GgmlType) -> Result<Model, Error> {
        Model::build(gguf, None, &BuildOptions { kv, page: PAGE, pooling: None })
    }

    fn build(gguf: Gguf, plain: Option<ModelGraph>, options: &BuildOptions) -> Result<Model, Error> {
        let graph = weft_models::build(&gguf, options)?;
        let tokenizer = Arc::new(tokenizer(gguf.metadata())?);
        let template = ChatTemplate::of(&tokenizer).map(Arc::new);
        let tool_template = ChatTemplate::for_tools(&tokenizer).map(|template| template.map(Arc::new));
        let ranking = Ranking::of(&gguf, &graph, &tokenizer)?;
        Ok(Model { gguf, graph, plain, tokenizer, template, tool_template, kv: options.kv, ranking })
    }

    /// Changes the graphs, so that checks can have models that no family builds.
    pub fn change(mut self, change: impl FnOnce(&mut ModelGraph)) -> Model {
        change(&mut self.graph);
        self
    }

    /// The type of the KV cache.
    pub fn kv(&self) -> GgmlType {
        self.kv
    }

    /// The file.
    pub fn gguf(&self) -> &Gguf {
        &self.gguf
    }

    /// The LoRA adapters that requests choose.
    pub fn selectable(&self) -> &[Selectable] {
        self.gguf.selectable()
    }

    /// The graphs and the model's sizes.
    pub fn graph(&self) -> &ModelGraph {
        &self.graph
    }

    /// The graphs for steps in which no token has an adapter that its request chose, if requests choose adapters. Their bits are those of
    /// [`graph`](Model::graph).
    pub(crate) fn plain(&self) -> Option<&ModelGraph> {
        self.plain.as_ref()
    }

    /// How the model ranks documents, if it does.
    pub fn ranking(&self) -> Option<&Ranking> {
        self.ranking.as_ref()
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Arc<Tokenizer> {
        &self.tokenizer
    }

    /// The file's chat template, compiled when the model was opened.
    ///
    /// # Errors
    /// [`TemplateError`] if there is none, or it is not valid.
    pub fn chat_template(&self) -> Result<Arc<ChatTemplate>, TemplateError> {
        self.template.clone()
    }

    /// The file's chat template for conversations with tools; `None` if [`chat_template`](Model::chat_template) is for them too.
    ///
    /// # Errors
    /// [`TemplateError`] if it is not valid.
    pub fn tool_template(&self) -> Result<Option<Arc<ChatTemplate>>, TemplateError> {
        self.tool_template.clone()
    }

    /// Encodes a conversation as a prompt, with the model's chat template. Control tokens in the messages stay text.
    ///
    /// # Errors
    /// [`Error::Template`] if there is none, or it fails on the messages.
    pub fn chat(&self, messages: &[Message]) -> Result<Vec<u32>, Error> {
        let template = self.chat_template()?;
        let prompt = template.prompt(messages, &RenderOptions::default())?;
        Ok(self.tokenizer.encode_chat(&prompt))
    }

    /// Encodes a text to be continued, with the BOS and EOS tokens that the model wants. Control tokens are parsed.
    pub fn tokens(&self, text: &str) -> Vec<u32> {
        self.tokenizer.encode(text, EncodeOptions { parse_special: true, add_special: true })
    }
}

/// Whether the model's name is that of a Phi-3. As in llama.cpp, only the name shows that its tokenizer drops white space after special
/// tokens.
fn is_phi3(metadata: &Metadata) -> Result<bool, Error> {
    let name = metadata.str("general.name")?.unwrap_or_default().to_lowercase();
    Ok(["phi-3", "phi3"].iter().any(|phi3| name.contains(phi3)))
}

/// Builds a tokenizer from a file's `tokenizer.*` keys.
///
/// # Errors
/// If a key is missing or has the wrong type, or the tokenizer is not supported.
pub fn tokenizer(metadata: &Metadata) -> Result<Tokenizer, Error> {
    Tokenizer::new(&spec(metadata)?).map_err(|source| not_supported(metadata, source))
}

/// Returns a file's tokenizer as the contents of a Hugging Face `tokenizer.json`, for programs that read no GGUF.
///
/// # Errors
/// As of [`tokenizer`], and if that format cannot express the tokenizer.
pub fn tokenizer_json(metadata: &Metadata) -> Result<String, Error> {
    spec(metadata)?.hugging_face().map_err(|source| not_supported(metadata, source))
}

fn not_supported(metadata: &Metadata, source: TokenizerError) -> Error {
    Error::Tokenizer { file: metadata.file().to_string(), source }
}

/// The description of the tokenizer in a file.
fn spec(metadata: &Metadata) -> Result<TokenizerSpec<'_>, Error> {
    let tokens: Vec<&[u8]> = metadata.require_strings("tokenizer.ggml.tokens")?.iter().collect();
    Ok(TokenizerSpec {
        model: metadata.require_str("tokenizer.ggml.model")?,
        pre: metadata.str("tokenizer.ggml.pre")?.unwrap_or("default"),
        tokens,
        token_types: metadata.i32s("tokenizer.ggml.token_type")?,
        merges: metadata.strings("tokenizer.ggml.merges")?.map(|m| m.iter().collect()),
        scores: metadata.f32s("tokenizer.ggml.scores")?,
        add_space_prefix: metadata.bool("tokenizer.ggml.add_space_prefix")?,
        strip_after_special: is_phi3(metadata)?,
        bos: metadata.u32("tokenizer.ggml.bos_token_id")?,
        eos: metadata.u32("tokenizer.ggml.eos_token_id")?,
        eot: metadata.u32("tokenizer.ggml.eot_token_id")?,
        eom: metadata.u32("tokenizer.ggml.eom_token_id")?,
        unk: metadata.u32("tokenizer.ggml.unknown_token_id")?,
        pad: metadata.u32("tokenizer.ggml.padding_token_id")?,
        add_bos: metadata.bool("tokenizer.ggml.add_bos_token")?,
        add_eos: metadata.bool("tokenizer.ggml.add_eos_token")?,
        suppressed: metadata.i32s("tokenizer.ggml.suppress_tokens")?.unwrap_or_default(),
        ignore_merges: None,
        chat_template: metadata.str("tokenizer.chat_template")?,
        tool_template: metadata.str("tokenizer.chat_template.tool_use")?,
    })
}
