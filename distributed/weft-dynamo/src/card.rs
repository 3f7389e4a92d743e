//! The model's card: the files by which the front end knows its tokenizer, its chat template and its sizes.
//!
//! They have the names and forms of a Hugging Face repository, because the front end reads no GGUF.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use weft_engine::{tokenizer, tokenizer_json};
use weft_gguf::Metadata;

/// Writes the card of a model into a folder, which is created.
///
/// # Errors
/// If the model's tokenizer is not supported or cannot be expressed, or a file cannot be written.
pub fn write(metadata: &Metadata, folder: &Path) -> Result<()> {
    let tokenizer = tokenizer(metadata)?;
    let architecture = metadata.require_str("general.architecture")?;
    let number = |name: &str| metadata.u32(&format!("{architecture}.{name}"));
    let bos = tokenizer.bos_text().and_then(|text| tokenizer.find(text)).or_else(|| tokenizer.added_bos());
    let ends = tokenizer.end_of_generation();
    let config = json!({
        "architectures": [architecture],
        "model_type": architecture,
        "bos_token_id": bos,
        "eos_token_id": ends,
        "max_position_embeddings": number("context_length")?,
        "num_hidden_layers": number("block_count")?,
        "hidden_size": number("embedding_length")?,
        "num_attention_heads": number("attention.head_count").ok().flatten(),
        "vocab_size": tokenizer.vocab_len(),
    });
    let tokens = json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokenizer.bos_text(),
        "eos_token": tokenizer.eos_text(),
        "chat_template": tokenizer.chat_template(),
        "model_max_length": number("context_length")?,
        "clean_up_tokenization_spaces": false,
    });
    let generation = json!({ "bos_token_id": bos, "eos_token_id": ends });
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        weft_file::write(&path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
    };
    let pretty = |value: &Value| format!("{value:#}\n");
    write("tokenizer.json", tokenizer_json(metadata)?)?;
    write("tokenizer_config.json", pretty(&tokens))?;
    write("generation_config.json", pretty(&generation))?;
    // Last: a folder with it is complete.
    write("config.json", pretty(&config))
}
