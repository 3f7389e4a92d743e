//! The type of each tensor under a name like `q4_k_m`, for `synth` and `quantize`.
//!
//! Such a name stands for one main type with a few exceptions: sensitive tensors get more bits, small ones are not
//! converted, and rows that are not whole blocks get a type with smaller blocks. The rules are those of llama.cpp
//! (`src/llama-quant.cpp`), so that names mean what people expect. llama.cpp's exceptions for Falcon and for Llama 70B are
//! left out.

use std::collections::BTreeSet;

use weft_quant::GgmlType;

use crate::error::{Error, Result};

/// A named mix of types.
#[derive(Debug, PartialEq, Eq)]
pub struct QuantMix {
    /// Its name.
    pub name: &'static str,
    /// The type of most tensors.
    pub(crate) main: GgmlType,
    /// Its number in `general.file_type` (`llama_ftype` in `llama.h`).
    pub(crate) file_type: u32,
    /// How many tensors get more bits.
    grade: Grade,
}

/// How many tensors of a mix get more bits than most: the end of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grade {
    /// No such end: the only mix of its type, or the usual one.
    Only,
    S,
    M,
    L,
}

const fn mix(name: &'static str, main: GgmlType, file_type: u32, grade: Grade) -> QuantMix {
    QuantMix { name, main, file_type, grade }
}

/// All mixes, the most precise first.
pub const QUANT_MIXES: &[QuantMix] = &[
    mix("f32", GgmlType::F32, 0, Grade::Only),
    mix("f16", GgmlType::F16, 1, Grade::Only),
    mix("bf16", GgmlType::BF16, 32, Grade::Only),
    mix("q8_0", GgmlType::Q8_0, 7, Grade::Only),
    mix("q6_k", GgmlType::Q6_K, 18, Grade::Only),
    mix("q5_k_m", GgmlType::Q5_K, 17, Grade::M),
    mix("q5_k_s", GgmlType::Q5_K, 16, Grade::S),
    mix("q5_1", GgmlType::Q5_1, 9, Grade::Only),
    mix("q5_0", GgmlType::Q5_0, 8, Grade::Only),
    mix("q4_k_m", GgmlType::Q4_K, 15, Grade::M),
    mix("q4_k_s", GgmlType::Q4_K, 14, Grade::S),
    mix("q4_1", GgmlType::Q4_1, 3, Grade::Only),
    mix("iq4_nl", GgmlType::IQ4_NL, 25, Grade::Only),
    mix("q4_0", GgmlType::Q4_0, 2, Grade::Only),
    mix("iq4_xs", GgmlType::IQ4_XS, 30, Grade::Only),
    mix("mxfp4_moe", GgmlType::MXFP4, 38, Grade::Only),
    mix("q3_k_l", GgmlType::Q3_K, 13, Grade::L),
    mix("q3_k_m", GgmlType::Q3_K, 12, Grade::M),
    mix("q3_k_s", GgmlType::Q3_K, 11, Grade::S),
    mix("q2_k", GgmlType::Q2_K, 10, Grade::Only),
    mix("tq2_0", GgmlType::TQ2_0, 37, Grade::Only),
    mix("tq1_0", GgmlType::TQ1_0, 36, Grade::Only),
];

impl QuantMix {
    /// The mix called `name`, ignoring case.
    ///
    /// # Errors
    /// If there is none of this name; the error lists all.
    pub fn named(name: &str) -> Result<&'static QuantMix> {
        let found = QUANT_MIXES.iter().find(|mix| mix.name.eq_ignore_ascii_case(name));
        let names = || QUANT_MIXES.iter().map(|mix| mix.name).collect::<Vec<_>>().join(", ");
        found.ok_or_else(|| {
            Error::new(format!("there is no quantisation `{name}`; expected one of {}", names()))
        })
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
    /// The layers that have a tensor of values or of queries, keys and values, in order; empty if all have.
    pub(crate) with_values: Vec<u32>,
    /// `expert_count`, the number of experts; 0 for a dense model.
    pub(crate) experts: u32,
    /// How many query heads share a head of keys and values.
    pub(crate) sharing: u32,
    /// Whether the token embedding is also the output matrix.
    pub(crate) tied: bool,
    /// Whether the importance of weights is known.
    pub(crate) weighted: bool,
    /// What is more precise in such a model.
    pub(crate) precise: Precise,
    /// Overrides the type of the output matrix.
    pub(crate) output: Option<GgmlType>,
    /// Overrides the type of the token embedding.
    pub(crate) embedding: Option<GgmlType>,
}

/// Parts of the names of small matrices that are more precise in models of an architecture, whatever the mix; as in llama.cpp.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Precise {
    /// Those that are not converted.
    whole: &'static [&'static str],
    /// Those that are never coarser than Q8_0.
    fine: &'static [&'static str],
}

impl Precise {
    /// Those of an architecture.
    pub(crate) fn of(architecture: &str) -> Precise {
        match architecture {
            "glm5-next" | "glm5next" => Precise {
                whole: &[
                    "hc_",
                    "indexer.attn_q_b",
                    "indexer.attn_k",
                    "indexer.proj",
                    "indexer_compressor_gate",
                    "indexer_compressor_ape",
                    "ssm_f_a.weight",
                    "ssm_f_b.weight",
                    "ssm_g_a.weight",
                    "ssm_g_b.weight",
                    "ssm_beta.weight",
                    "attn_kv_a_mqa.weight",
                    "attn_k_b.weight",
                    "attn_v_b.weight",
                ],
                fine: &["attn_q_a", "attn_q_b", "nextn.eh_proj"],
            },
            _ => Precise::default(),
        }
    }

    fn is_whole(self, name: &str) -> bool {
        self.whole.iter().any(|part| name.contains(part))
    }

    fn is_fine(self, name: &str) -> bool {
        self.fine.iter().any(|part| name.contains(part))
    }
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
    /// The type of a tensor; `None` for tensors that are not converted: norms, biases, routers, convolutions and all other vectors.
    /// `shape` is in GGML's order.
    pub(crate) fn type_of(&self, name: &str, shape: &[u64]) -> Option<GgmlType> {
        let dims = shape.iter().rposition(|n| *n != 1).map_or(1, |last| last + 1);
        let kept = ["_norm.weight", "ffn_gate_inp.weight"].iter().any(|end| name.ends_with(end));
        let kept = kept || ["ssm_conv1d", "shortconv.conv"].iter().any(|part| name.contains(part));
        let kept = kept || self.precise.is_whole(name);
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
            _ if self.precise.is_fine(name) => return GgmlType::Q8_0,
            _ => {}
        }
        if main == GgmlType::MXFP4 {
            let is_stack = name.contains("_exps.");
            return if is_stack { main } else { GgmlType::Q8_0 };
        }
        match role {
            Role::Output => self.output_type(row),
            Role::Embedding if self.tied => self.output_type(row),
            // Three values are too few for the rows of an embedding.
            Role::Embedding if matches!(main, GgmlType::TQ1_0 | GgmlType::TQ2_0) => GgmlType::Q4_K,
            // For Mixtral 8x7B: attention is a small part of a model with eight experts.
            Role::Values | Role::Keys if self.experts == 8 => GgmlType::Q8_0,
            Role::Values => self.values_type(layer),
            Role::AttentionOutput => self.attention_output_type(),
            Role::Down => self.down_type(layer),
            Role::Embedding | Role::Keys | Role::Other => main,
        }
    }

    /// The type of the projection of values. It is small compared with the other matrices, and all heads that share a value share its
    /// error.
    fn values_type(&self, layer: Option<u32>) -> GgmlType {
        use GgmlType::{IQ4_NL, IQ4_XS, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K};
        // Layers without such a tensor do not count.
        let (layer, layers) = match (layer, self.with_values.len() as u32) {
            (layer, 0) => (layer, self.layers),
            (layer, with) => {
                let at = layer.map(|layer| self.with_values.partition_point(|other| *other < layer) as u32);
                (at, with)
            }
        };
        let is_before = |end: u32| layer.is_some_and(|layer| layer < end);
        match (self.mix.main, self.mix.grade) {
            (Q2_K, _) if self.sharing >= 4 => Q4_K,
            (Q2_K, _) => Q3_K,
            (Q3_K, Grade::M) => {
                if is_before(2) {
                    Q5_K
                } else {
                    Q4_K
                }
            }
            (Q3_K, Grade::L) => Q5_K,
            (IQ4_NL | IQ4_XS, _) if self.sharing >= 4 => Q5_K,
            (Q4_K | Q5_K, Grade::M) if uses_more_bits(layer, layers) => Q6_K,
            (Q4_K, Grade::S) if is_before(4) => Q5_K,
            (main, _) => main,
        }
    }

    fn attention_output_type(&self) -> GgmlType {
        use GgmlType::{IQ4_NL, IQ4_XS, Q2_K, Q3_K, Q4_K, Q5_K};
        match (self.mix.main, self.mix.grade) {
            (Q2_K, _) | (Q3_K, Grade::S | Grade::M) | (Q4_K | IQ4_NL | IQ4_XS, _) if self.experts == 8 => {
                Q5_K
            }
            (main, _) if self.experts == 8 => main,
            (Q2_K, _) => Q3_K,
            (Q3_K, Grade::M) => Q4_K,
            (Q3_K, Grade::L) => Q5_K,
            (main, _) => main,
        }
    }

    /// The type of a down projection. The first ones have outliers, for which a minimum in each block helps.
    fn down_type(&self, layer: Option<u32>) -> GgmlType {
        use GgmlType::{IQ4_NL, IQ4_XS, Q2_K, Q3_K, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K};
        let (early, weighted) = (self.is_early(layer), self.weighted);
        match (self.mix.main, self.mix.grade) {
            (Q2_K, _) => Q3_K,
            (Q3_K, Grade::M) if layer.is_some_and(|layer| layer < self.layers / 16) => Q5_K,
            (Q3_K, Grade::M) => Q4_K,
            (Q3_K, Grade::L) => Q5_K,
            (Q4_K | Q5_K, Grade::M) if uses_more_bits(layer, self.layers) => Q6_K,
            (Q4_K, Grade::S) if early => Q5_K,
            (IQ4_NL | IQ4_XS, _) if early && !weighted => Q5_K,
            (Q4_0, _) if early && weighted => Q4_1,
            (Q5_0, _) if early && weighted => Q5_1,
            (main, _) => main,
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
}

/// Whether a layer is among the first or last eighth of `layers`, or every third layer between.
fn uses_more_bits(layer: Option<u32>, layers: u32) -> bool {
    let Some([layer, layers]) = layer.map(|layer| [layer, layers].map(u64::from)) else { return false };
    let first = layers / 8;
    layer < first || layer >= 7 * layers / 8 || (layer - first) % 3 == 2
}

/// The layers of a model that have a tensor of values, by the names of its tensors.
pub(crate) fn layers_with_values<'a>(names: impl Iterator<Item = &'a str>) -> Vec<u32> {
    let layer = |name| match role(name) {
        (layer, Role::Values) => layer,
        _ => None,
    };
    let layers: BTreeSet<u32> = names.filter_map(layer).collect();
    layers.into_iter().collect()
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
        GgmlType::Q2_K | GgmlType::Q3_K | GgmlType::TQ1_0 | GgmlType::TQ2_0 => GgmlType::Q4_0,
        _ => GgmlType::F16,
    };
    let fits = |ty: &GgmlType| ty.row_bytes(row).is_some();
    [ty, smaller].into_iter().find(fits).unwrap_or(GgmlType::F16)
}

#[cfg(test)]
mod tests;
