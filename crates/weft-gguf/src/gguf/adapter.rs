//! LoRA adapters: low-rank additions to matrices of a model, in a file of their own.
//!
//! For a matrix `W` of the model, the file has `W.lora_a` and `W.lora_b`, and the adapted model multiplies by `W + f · B·A`
//! (Hu and others, 2021, <https://arxiv.org/abs/2106.09685>). The keys are those that llama.cpp's `convert_lora_to_gguf.py` writes.

use super::Gguf;
use crate::error::{Error, Quoted};
use crate::limits::MAX_TENSORS;
use crate::tensor::TensorInfo;

/// A LoRA adapter that was added to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Adapter {
    /// Its file, one of the model's [files](Gguf::files).
    pub file: usize,
    /// The factor of its additions, as asked for.
    pub scale: f32,
    /// The factor of its additions before division by their rank, as trained; `None` if they are not scaled so.
    pub alpha: Option<f32>,
}

impl Adapter {
    /// The factor `f` of additions of this rank.
    pub fn factor(&self, rank: usize) -> f32 {
        self.scale * self.alpha.map_or(1.0, |alpha| alpha / rank as f32)
    }

    /// The name, in an adapted model, of one of the two matrices (`a` or `b`) that adapter number `index` adds to `matrix`.
    pub fn tensor_name(matrix: &str, which: char, index: usize) -> String {
        format!("{matrix}.lora_{which}.{index}")
    }
}

impl Gguf {
    /// Adds a LoRA adapter, whose additions are multiplied by `scale`. Its tensors become the model's, under
    /// [other names](Adapter::tensor_name).
    ///
    /// # Errors
    /// [`Error::Adapter`] if the file is not an adapter for this model.
    pub fn adapt(&mut self, adapter: Gguf, scale: f32) -> Result<(), Error> {
        let path = adapter.metadata().file().to_string();
        let problem = |problem: String| Error::Adapter { file: path.clone(), problem };
        let alpha = adapter.check_is_adapter(self).map_err(problem)?;
        if !scale.is_finite() {
            return Err(problem(format!("its scale is {scale}; expected a number")));
        }
        if self.selection.is_some() {
            return Err(problem(
                "it always applies, so it has to be added before those that requests choose".into(),
            ));
        }
        let index = self.adapters.len();
        let mut tensors = Vec::with_capacity(adapter.tensors.len());
        for tensor in &adapter.tensors {
            let (matrix, which) = adapter.pair(tensor, self).map_err(problem)?;
            let file = self.files.len();
            tensors.push(TensorInfo {
                name: Adapter::tensor_name(matrix, which, index),
                file,
                ..tensor.clone()
            });
        }
        if (self.tensors.len() + tensors.len()) as u64 > MAX_TENSORS {
            return Err(problem(format!("with it the model exceeds the limit of {MAX_TENSORS} tensors")));
        }
        self.adapters.push(Adapter { file: self.files.len(), scale, alpha });
        self.tensors.extend(tensors);
        self.files.extend(adapter.files);
        self.data.extend(adapter.data);
        self.index_names()
    }

    /// The adapters that were added, in order.
    pub fn adapters(&self) -> &[Adapter] {
        &self.adapters
    }

    /// The adapter that a tensor of this model belongs to.
    pub fn adapter_of(&self, tensor: &TensorInfo) -> Option<&Adapter> {
        self.adapters.iter().find(|adapter| adapter.file == tensor.file)
    }

    /// Returns the adapter's alpha, or a sentence if this is not an adapter for the model.
    pub(super) fn check_is_adapter(&self, model: &Gguf) -> Result<Option<f32>, String> {
        let text = |gguf: &Gguf, key| match gguf.metadata().str(key) {
            Ok(found) => Ok(found.unwrap_or("nothing").to_string()),
            Err(error) => Err(error.to_string()),
        };
        for (key, expected) in [("general.type", "adapter"), ("adapter.type", "lora")] {
            let found = text(self, key)?;
            if found != expected {
                return Err(format!(
                    "this is not a LoRA adapter: its `{key}` is {}, expected `{expected}`",
                    Quoted(&found)
                ));
            }
        }
        let [own, of_model] = [self, model].map(|gguf| text(gguf, "general.architecture"));
        let (own, of_model) = (own?, of_model?);
        if own != of_model {
            return Err(format!(
                "this adapter is for models of architecture {}; {} is {}",
                Quoted(&own),
                model.metadata().file(),
                Quoted(&of_model)
            ));
        }
        if self.stored.is_some() || self.files.len() != 1 {
            return Err("an adapter is a single GGUF file".into());
        }
        let alpha = self.metadata().f32("adapter.lora.alpha").map_err(|error| error.to_string())?;
        match alpha {
            Some(alpha) if !alpha.is_finite() => {
                Err(format!("`adapter.lora.alpha` is {alpha}; expected a number"))
            }
            // As in llama.cpp, 0 stands for none.
            alpha => Ok(alpha.filter(|alpha| *alpha != 0.0)),
        }
    }

    /// The matrix of the model that one of this adapter's tensors adds to, and which of the two it is. Otherwise a sentence.
    pub(super) fn pair<'t>(&self, tensor: &'t TensorInfo, model: &Gguf) -> Result<(&'t str, char), String> {
        let name = tensor.name.as_str();
        let parts = [('a', ".lora_a", ".lora_b"), ('b', ".lora_b", ".lora_a")];
        let found =
            parts.iter().find_map(|(which, own, other)| Some((name.strip_suffix(own)?, *which, other)));
        let Some((matrix, which, other)) = found else {
            return Err(format!("tensor {} is neither a `.lora_a` nor a `.lora_b`", Quoted(name)));
        };
        let Some(adapted) = model.tensor(matrix) else {
            return Err(format!(
                "it adds to {}, which the model does not have: it is for another model",
                Quoted(matrix)
            ));
        };
        let Some(other) = self.tensor(&format!("{matrix}{other}")) else {
            return Err(format!("tensor {} has no counterpart `{other}`", Quoted(name)));
        };
        let (a, b) = if which == 'a' { (tensor, other) } else { (other, tensor) };
        let sizes = |tensor: &TensorInfo| match tensor.shape[..] {
            [row, rows] => Some([row, rows]),
            _ => None,
        };
        let fits = match (sizes(adapted), sizes(a), sizes(b)) {
            (Some([from, to]), Some([a_from, rank]), Some([b_rank, b_to])) => {
                (a_from, rank, b_to) == (from, b_rank, to)
            }
            _ => false,
        };
        if !fits {
            return Err(format!(
                "{} of shape {:?} and {:?} cannot be added to a matrix of shape {:?}: expected [{}, rank] and [rank, {}]",
                Quoted(matrix),
                a.shape,
                b.shape,
                adapted.shape,
                adapted.shape[0],
                adapted.shape.get(1).unwrap_or(&1),
            ));
        }
        Ok((matrix, which))
    }
}
