//! The type of each tensor under a name like `q4_k_m`, for `synth` and `quantize`.
//!
//! Such a name stands for one main type with a few exceptions: sensitive tensors get more bits, small ones are not
//! converted, and rows that are not whole blocks get a type with smaller blocks. The rules are those of llama.cpp
//! (`src/llama-quant.cpp`), so that names mean what people expect. llama.cpp's exceptions for Falcon and for Llama 70B are
//! left out.

use anyhow::{Result, anyhow};
use weft_quant::GgmlType;

/// A named mix of types.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct QuantMix {
    /// Its name.
    pub(crate) name: &'static str,
    /// The type of most tensors.
    pub(crate) main: GgmlType,
    /// Its number in `general.file_type` (`llama_ftype` in `llama.h`).
    pub(crate) file_type: u32,
    /// Whether value and down projections get more bits in some layers: the `_m` in a name.
    more_bits: bool,
}

/// All mixes, the most precise first.
pub(crate) const QUANT_MIXES: &[QuantMix] = &[
    QuantMix { name: "f32", main: GgmlType::F32, file_type: 0, more_bits: false },
    QuantMix { name: "f16", main: GgmlType::F16, file_type: 1, more_bits: false },
    QuantMix { name: "bf16", main: GgmlType::BF16, file_type: 32, more_bits: false },
    QuantMix { name: "q8_0", main: GgmlType::Q8_0, file_type: 7, more_bits: false },
    QuantMix { name: "q6_k", main: GgmlType::Q6_K, file_type: 18, more_bits: false },
    QuantMix { name: "q5_k_m", main: GgmlType::Q5_K, file_type: 17, more_bits: true },
    QuantMix { name: "q5_1", main: GgmlType::Q5_1, file_type: 9, more_bits: false },
    QuantMix { name: "q5_0", main: GgmlType::Q5_0, file_type: 8, more_bits: false },
    QuantMix { name: "q4_k_m", main: GgmlType::Q4_K, file_type: 15, more_bits: true },
    QuantMix { name: "q4_1", main: GgmlType::Q4_1, file_type: 3, more_bits: false },
    QuantMix { name: "iq4_nl", main: GgmlType::IQ4_NL, file_type: 25, more_bits: false },
    QuantMix { name: "q4_0", main: GgmlType::Q4_0, file_type: 2, more_bits: false },
    QuantMix { name: "iq4_xs", main: GgmlType::IQ4_XS, file_type: 30, more_bits: false },
];

impl QuantMix {
    /// The mix called `name`, ignoring case.
    pub(crate) fn named(name: &str) -> Result<&'static QuantMix> {
        let found = QUANT_MIXES.iter().find(|mix| mix.name.eq_ignore_ascii_case(name));
        let names = || QUANT_MIXES.iter().map(|mix| mix.name).collect::<Vec<_>>().join(", ");
        found.ok_or_else(|| anyhow!("there is no quantisation `{name}`; expected one of {}", names()))
    }
}

/// The version of the block formats, for `general.quantization_version` (`GGML_QNT_VERSION` in `ggml.h`).
pub(crate) const QUANTIZATION_VERSION: u32 = 2;

/// The types of a model's tensors: a mix, and the properties of the model that its exceptions depend on.
#[derive(Debug)]
pub(crate) struct TensorTypes {
    /// The mix.
    pub(crate) mix: &'static QuantMix,
    /// `block_count`: the number of layers, including those of a multi-token prediction head.
    pub(crate) layers: u32,
    /// `expert_count`, the number of experts; 0 for a dense model.
    pub(crate) experts: u32,
    /// How many query heads share a head of keys and values.
    pub(crate) sharing: u32,
    /// Whether the token embedding is also the output matrix.
    pub(crate) tied: bool,
    /// Whether the importance of weights is known.
    pub(crate) weighted: bool,
    /// Overrides the type of the output matrix.
    pub(crate) output: Option<GgmlType>,
    /// Overrides the type of the token embedding.
    pub(crate) embedding: Option<GgmlType>,
}

/// The role of a tensor, as far as its type depends on it.
#[derive(Clone, Copy)]
enum Role {
    Embedding,
    Output,
    /// Makes the values of attention, alone or together with the keys.
    Values,
    Keys,
    AttentionOutput,
    Down,
    Other,
}

impl TensorTypes {
    /// The type of a tensor; `None` for tensors that are not converted: norms, biases, routers and all other vectors.
    /// `shape` is in GGML's order.
    pub(crate) fn type_of(&self, name: &str, shape: &[u64]) -> Option<GgmlType> {
        let dims = shape.iter().rposition(|n| *n != 1).map_or(1, |last| last + 1);
        let kept = ["_norm.weight", "ffn_gate_inp.weight"].iter().any(|end| name.ends_with(end));
        if dims < 2 || kept || !name.ends_with("weight") {
            return None;
        }
        let row = *shape.first()?;
        Some(fitting(self.wanted(name, row), row))
    }

    fn wanted(&self, name: &str, row: u64) -> GgmlType {
        let main = self.mix.main;
        let (layer, role) = role(name);
        match (role, self.output, self.embedding) {
            (Role::Output, Some(ty), _) | (Role::Embedding, _, Some(ty)) => return ty,
            _ if !main.is_quantised() => return main,
            _ => {}
        }
        let uneven = matches!(main, GgmlType::IQ4_NL | GgmlType::IQ4_XS);
        match role {
            Role::Output => self.output_type(row),
            Role::Embedding if self.tied => self.output_type(row),
            // For Mixtral 8x7B: attention is a small part of a model with eight experts.
            Role::Values | Role::Keys if self.experts == 8 => GgmlType::Q8_0,
            Role::AttentionOutput if self.experts == 8 && (main == GgmlType::Q4_K || uneven) => {
                GgmlType::Q5_K
            }
            // Small beside the other matrices, and all its heads share what is lost.
            Role::Values if uneven && self.sharing >= 4 => GgmlType::Q5_K,
            Role::Down if uneven && !self.weighted && self.is_early(layer) => GgmlType::Q5_K,
            // The first down projections have outliers that a minimum for each block helps with.
            Role::Down if self.weighted && self.is_early(layer) => match main {
                GgmlType::Q4_0 => GgmlType::Q4_1,
                GgmlType::Q5_0 => GgmlType::Q5_1,
                _ if self.mix.more_bits && self.uses_more_bits(layer) => GgmlType::Q6_K,
                main => main,
            },
            Role::Values | Role::Down if self.mix.more_bits && self.uses_more_bits(layer) => GgmlType::Q6_K,
            _ => main,
        }
    }

    /// Whether a layer is in the first eighth.
    fn is_early(&self, layer: Option<u32>) -> bool {
        layer.is_some_and(|layer| layer < self.layers / 8)
    }

    fn output_type(&self, row: u64) -> GgmlType {
        let main = self.mix.main;
        let fits = main.row_bytes(row).is_some();
        if fits && main != GgmlType::Q8_0 { GgmlType::Q6_K } else { GgmlType::Q8_0 }
    }

    /// Whether a layer is among the first or last eighth, or every third layer between.
    fn uses_more_bits(&self, layer: Option<u32>) -> bool {
        let Some(layer) = layer.map(u64::from) else { return false };
        let layers = u64::from(self.layers);
        let first = layers / 8;
        layer < first || layer >= 7 * layers / 8 || (layer - first) % 3 == 2
    }
}

/// The layer of a tensor, if it is in one, and its role.
fn role(name: &str) -> (Option<u32>, Role) {
    let in_layer = name.strip_prefix("blk.").and_then(|rest| rest.split_once('.'));
    let in_layer = in_layer.and_then(|(layer, rest)| Some((layer.parse().ok()?, rest)));
    let Some((layer, rest)) = in_layer else {
        let role = match name {
            "token_embd.weight" => Role::Embedding,
            "output.weight" => Role::Output,
            _ => Role::Other,
        };
        return (None, role);
    };
    let role = match rest {
        "attn_v.weight" | "attn_kv_b.weight" | "attn_qkv.weight" => Role::Values,
        "attn_k.weight" => Role::Keys,
        "attn_output.weight" => Role::AttentionOutput,
        _ if rest.starts_with("ffn_down") => Role::Down,
        _ => Role::Other,
    };
    (Some(layer), role)
}

/// `ty`, or a type with smaller blocks where rows are not whole blocks of `ty`.
fn fitting(ty: GgmlType, row: u64) -> GgmlType {
    let smaller = match ty {
        GgmlType::Q4_K => GgmlType::Q5_0,
        GgmlType::Q5_K => GgmlType::Q5_1,
        GgmlType::Q6_K => GgmlType::Q8_0,
        GgmlType::IQ4_XS => GgmlType::IQ4_NL,
        GgmlType::TQ1_0 | GgmlType::TQ2_0 => GgmlType::Q4_0,
        _ => GgmlType::F16,
    };
    let fits = |ty: &GgmlType| ty.row_bytes(row).is_some();
    [ty, smaller].into_iter().find(fits).unwrap_or(GgmlType::F16)
}

#[cfg(test)]
mod tests;
