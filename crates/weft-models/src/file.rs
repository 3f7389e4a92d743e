//! The file a family builds from, and the keys that all families share.

use weft_gguf::Gguf;
use weft_quant::GgmlType;

use crate::BuildOptions;
use crate::blocks::RmsNorm;
use crate::error::Error;
use crate::keys::{Keys, MAX_CONTEXT, MAX_HEADS, MAX_LAYERS, MAX_WIDTH};

/// A model file and the options to build with.
#[derive(Clone, Copy)]
pub(crate) struct ModelFile<'a> {
    /// Metadata and tensors.
    pub(crate) gguf: &'a Gguf,
    /// Its keys.
    pub(crate) keys: Keys<'a>,
    /// Choices the file leaves open.
    pub(crate) options: &'a BuildOptions,
}

impl ModelFile<'_> {
    /// Its path, for messages.
    pub(crate) fn path(&self) -> String {
        self.gguf.metadata().file().to_string()
    }

    /// The `len` values, all above zero, of a tensor that becomes constants of the graph; `None` if the file lacks it.
    pub(crate) fn constants(&self, tensor: &str, len: usize) -> Result<Option<Vec<f32>>, Error> {
        let Some(found) = self.gguf.tensor(tensor) else { return Ok(None) };
        let (file, tensor) = (self.path(), tensor.to_string());
        let expected = vec![len as u64];
        if found.shape != expected {
            return Err(Error::Shape { file, tensor, expected, found: found.shape.clone() });
        }
        if found.ty != GgmlType::F32 {
            return Err(Error::TensorType {
                file,
                tensor,
                found: found.ty,
                expected: "rotary factors must be f32",
            });
        }
        let (values, _) = self.gguf.data(found).as_chunks();
        let values: Vec<f32> = values.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        match values.iter().position(|value| !value.is_finite() || *value <= 0.0) {
            None => Ok(Some(values)),
            Some(index) => {
                let expected = "a rotary factor must be a finite number above zero";
                Err(Error::TensorValue { file, tensor, index, found: values[index], expected })
            }
        }
    }
}

/// The keys that all families share.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Common {
    /// `general.name`, if the file has one.
    pub(crate) name: Option<String>,
    /// Blocks in the file, including those of a prediction head.
    pub(crate) blocks: usize,
    /// Width of the hidden state.
    pub(crate) hidden: usize,
    /// Vocabulary size in tokens.
    pub(crate) vocab: usize,
    /// Context length the model was trained for, in tokens.
    pub(crate) context: usize,
    /// The norm of the hidden state.
    pub(crate) norm: RmsNorm,
    /// Query heads per layer.
    pub(crate) heads: usize,
}

impl Common {
    pub(crate) fn read(keys: &Keys<'_>) -> Result<Common, Error> {
        Ok(Common {
            name: keys.metadata.str("general.name")?.map(str::to_string),
            blocks: keys.number("block_count", 1..=MAX_LAYERS)?,
            hidden: keys.number("embedding_length", 1..=MAX_WIDTH)?,
            vocab: vocab(keys)?,
            context: keys.number("context_length", 1..=MAX_CONTEXT)?,
            norm: RmsNorm { eps: keys.positive("attention.layer_norm_rms_epsilon")? },
            heads: keys.number("attention.head_count", 1..=MAX_HEADS)?,
        })
    }
}

/// The vocabulary size: the length of the token list, or the `vocab_size` of a file without a tokenizer. (If a file has
/// both, llama.cpp sizes the embedding by the list.)
fn vocab(keys: &Keys<'_>) -> Result<usize, Error> {
    const TOKENS: &str = "tokenizer.ggml.tokens";
    let Some(tokens) = keys.metadata.strings(TOKENS)? else {
        return keys.number("vocab_size", 1..=MAX_WIDTH);
    };
    if (1..=MAX_WIDTH).contains(&tokens.len()) {
        return Ok(tokens.len());
    }
    Err(Error::Value {
        file: keys.metadata.file().into(),
        key: TOKENS.into(),
        found: format!("a list of {}", tokens.len()),
        expected: format!("it must have from 1 to {MAX_WIDTH} tokens"),
    })
}
