//! The file that a family builds a model from.

use weft_gguf::Gguf;
use weft_quant::GgmlType;

use crate::error::Error;
use crate::keys::Keys;
use crate::options::BuildOptions;

/// A model file, and the options to build it with.
#[derive(Clone, Copy)]
pub(crate) struct ModelFile<'a> {
    /// Metadata and tensors.
    pub(crate) gguf: &'a Gguf,
    /// The keys of its architecture.
    pub(crate) keys: Keys<'a>,
    /// The options.
    pub(crate) options: &'a BuildOptions,
}

impl ModelFile<'_> {
    /// The file's path, for error messages.
    pub(crate) fn path(&self) -> String {
        self.gguf.metadata().file().to_string()
    }

    /// Reads the `len` values, all above zero, of a tensor whose values become constants of the graph. Returns `None` if
    /// the file does not have it.
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
                let expected = "rotary factors must be finite and above zero";
                Err(Error::TensorValue { file, tensor, index, found: values[index], expected })
            }
        }
    }
}
