//! Models as Hugging Face stores them, converted to GGUF.
//!
//! A folder has weights in safetensors files, a configuration, and a tokenizer. [`Conversion::open`] reads all but the weights, and says
//! which metadata and tensors the GGUF file has: the same as those of llama.cpp's converter. [`Conversion::values`] computes any
//! range of a tensor's values from the mapped files, so that a model never has to be in memory.
//!
//! A folder is hostile input. Headers, sizes and names are checked before anything is allocated or computed from them; each [`Error`]
//! names the file and the mistake.
//!
//! A family of models is a file in `families/`, which reads as a table of names and shapes.
#![forbid(unsafe_code)]

mod checkpoint;
mod common;
mod config;
mod error;
mod families;
mod family;
mod general;
mod model;
mod packed;
mod rope;
pub mod safetensors;
mod source;
mod tokenizer;

use std::ops::Range;
use std::path::Path;

use weft_gguf::Metadata;
use weft_quant::GgmlType;

use checkpoint::Checkpoint;
use config::{Config, MAX_SETTINGS};
pub use error::Error;
use error::{Result, refuse};
use families::family;
use model::Model;
pub use model::Tensor;

/// A model in Hugging Face's form, ready to be written as GGUF.
#[derive(Debug)]
pub struct Conversion {
    checkpoint: Checkpoint,
    metadata: Metadata,
    tensors: Vec<Tensor>,
    stored_type: GgmlType,
    note: Option<&'static str>,
}

impl Conversion {
    /// Reads configuration, tokenizer and the headers of the weights in `folder`.
    ///
    /// # Errors
    ///
    /// If the folder is not a model, is incomplete or damaged, or is of a family that cannot be converted.
    pub fn open(folder: &Path) -> Result<Conversion> {
        let config_path = folder.join("config.json");
        if !config_path.exists() {
            let what = if folder.is_dir() { "it has no config.json" } else { "it is not a folder" };
            return Err(refuse(
                folder,
                format!("expected the folder of a model from Hugging Face, but {what}"),
            ));
        }
        let (family, config) = family(Config::read(&config_path, MAX_SETTINGS)?)?;
        let checkpoint = Checkpoint::open(folder)?;
        let mut model =
            Model::new(&config, &checkpoint, family.architecture, family.scalings, family.has_local_rope)?;
        (family.write)(&mut model)?;
        model.check_all_used()?;
        let stored_type = model.stored_type();
        let Model { mut metadata, tensors, .. } = model;
        let generation = Config::read_if_any(&folder.join("generation_config.json"), MAX_SETTINGS)?;
        let name = weft_file::canonical(folder)
            .ok()
            .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        general::write(&mut metadata, &name.unwrap_or_default(), &generation, &tensors)?;
        let note = tokenizer::write(&mut metadata, folder, &config, family.tokenizer)?;
        Ok(Conversion { checkpoint, metadata, tensors, stored_type, note })
    }

    /// The metadata of the GGUF file, without the keys that name the type of the weights.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// A note for the user about which of the folder's contradictory files was used.
    pub fn note(&self) -> Option<&'static str> {
        self.note
    }

    /// The tensors of the GGUF file.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// The 16-bit type that the weights are stored as; `F16` if they are of neither.
    pub fn stored_type(&self) -> GgmlType {
        self.stored_type
    }

    /// The values of `tensor` in `range`, in GGML's order, in `f32`.
    ///
    /// # Panics
    ///
    /// If the tensor is of another conversion, or the range reaches beyond it.
    pub fn values(&self, tensor: &Tensor, range: Range<u64>) -> Vec<f32> {
        tensor.source.values(&self.checkpoint, range)
    }

    /// The bytes of `tensor` in `range` of its values, if they are stored as `ty` and only have to be put in order.
    ///
    /// # Panics
    ///
    /// As [`Conversion::values`] does.
    pub fn bytes(&self, tensor: &Tensor, ty: GgmlType, range: Range<u64>) -> Option<Vec<u8>> {
        tensor.source.bytes(&self.checkpoint, ty, range)
    }

    /// Drops the stored bytes of `range` from memory, as far as that is easily done. They are read again when they are needed.
    pub fn release(&self, tensor: &Tensor, range: Range<u64>) {
        tensor.source.release(&self.checkpoint, range);
    }
}
