//! A model file: its graphs, its tokenizer, its chat template.

use std::path::Path;

use weft_gguf::{Gguf, Metadata};
use weft_models::{BuildOptions, ModelGraph};
use weft_quant::GgmlType;
use weft_text::{
    ChatTemplate, EncodeOptions, Message, RenderOptions, TemplateError, Tokenizer, TokenizerSpec,
};

use crate::error::Error;

/// Rows in a page of the KV cache, the unit in which sequences get room.
pub(crate) const PAGE: usize = BuildOptions::PAGE;

/// An opened model file.
pub struct Model {
    gguf: Gguf,
    graph: ModelGraph,
    tokenizer: Tokenizer,
    kv: GgmlType,
}

impl Model {
    /// Opens a file. `kv` is how states store their values.
    ///
    /// # Errors
    /// If the file is damaged, not a model that is supported, or its tokenizer unknown.
    pub fn open(path: &Path, kv: GgmlType) -> Result<Model, Error> {
        Model::new(Gguf::open(path)?, kv)
    }

    /// Takes a file that is already open.
    ///
    /// # Errors
    /// If it is not a model that is supported, or its tokenizer unknown.
    pub fn new(gguf: Gguf, kv: GgmlType) -> Result<Model, Error> {
        let graph = weft_models::build(&gguf, &BuildOptions { kv, page: PAGE })?;
        let tokenizer = tokenizer(gguf.metadata())?;
        Ok(Model { gguf, graph, tokenizer, kv })
    }

    /// How states store their values.
    pub fn kv(&self) -> GgmlType {
        self.kv
    }

    /// The file.
    pub fn gguf(&self) -> &Gguf {
        &self.gguf
    }

    /// The graphs and the configuration.
    pub fn graph(&self) -> &ModelGraph {
        &self.graph
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The file's chat template.
    ///
    /// # Errors
    /// [`TemplateError`] if there is none, or it does not compile.
    pub fn chat_template(&self) -> Result<ChatTemplate, TemplateError> {
        ChatTemplate::of(&self.tokenizer)
    }

    /// The tokens of a conversation that is to be answered, by the model's own template.
    ///
    /// # Errors
    /// [`Error::Template`] if it has none, or it refuses the messages.
    pub fn chat(&self, messages: &[Message]) -> Result<Vec<u32>, Error> {
        let prompt = self.chat_template()?.render(messages, &RenderOptions::default())?;
        Ok(self.tokenizer.encode_chat(&prompt))
    }

    /// The tokens of a text that is to be continued, with what the model expects before it.
    pub fn tokens(&self, text: &str) -> Vec<u32> {
        self.tokenizer.encode(text, EncodeOptions { parse_special: true, add_special: true })
    }
}

/// Reads the `tokenizer.*` keys.
///
/// # Errors
/// If a key has the wrong type or the tokenizer cannot be used.
pub fn tokenizer(metadata: &Metadata) -> Result<Tokenizer, Error> {
    let tokens: Vec<&[u8]> = metadata.require_strings("tokenizer.ggml.tokens")?.iter().collect();
    let spec = TokenizerSpec {
        model: metadata.require_str("tokenizer.ggml.model")?,
        pre: metadata.str("tokenizer.ggml.pre")?.unwrap_or("default"),
        tokens,
        token_types: metadata.i32s("tokenizer.ggml.token_type")?,
        merges: metadata.strings("tokenizer.ggml.merges")?.map(|m| m.iter().collect()),
        bos: metadata.u32("tokenizer.ggml.bos_token_id")?,
        eos: metadata.u32("tokenizer.ggml.eos_token_id")?,
        eot: metadata.u32("tokenizer.ggml.eot_token_id")?,
        eom: metadata.u32("tokenizer.ggml.eom_token_id")?,
        unk: metadata.u32("tokenizer.ggml.unknown_token_id")?,
        pad: metadata.u32("tokenizer.ggml.padding_token_id")?,
        add_bos: metadata.bool("tokenizer.ggml.add_bos_token")?,
        add_eos: metadata.bool("tokenizer.ggml.add_eos_token")?,
        ignore_merges: None,
        chat_template: metadata.str("tokenizer.chat_template")?,
    };
    Tokenizer::new(&spec).map_err(|source| Error::Tokenizer { file: metadata.file().to_string(), source })
}
