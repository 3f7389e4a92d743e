//! Makes model files: with random weights in the shape of real models, from Hugging Face's form, and with weights of other
//! types. Reads and writes importance matrices.
//!
//! Models can be larger than memory, so every maker writes its file in chunks, which several threads compute. The bytes do not depend
//! on the number of threads.
#![forbid(unsafe_code)]

mod convert;
mod error;
mod imatrix;
mod own_files;
mod quantize;
mod synth;
mod tensor_types;
mod test_folder;
mod write_model;

pub use convert::{ConvertOptions, Converted, convert};
pub use error::Error;
pub use imatrix::{Entry, Imatrix};
pub use own_files::refuse_own_file;
pub use quantize::{Conversion, QuantizeOptions, Size, Sizes, quantize};
pub use synth::preset::{PRESET_NAMES, Preset};
pub use synth::{SynthOptions, Synthesised, synth, synth_header};
pub use tensor_types::{QUANT_MIXES, QuantMix};
pub use write_model::OnProgress;
