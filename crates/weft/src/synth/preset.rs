//! The shapes of synthetic models: those of published models, and tiny ones.

use anyhow::{Result, anyhow};

use crate::synth::vocabulary::{DEEPSEEK, Family, GLM, LLAMA3, QWEN};

/// The shape of a model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preset {
    /// Its name.
    pub(crate) name: &'static str,
    /// `general.architecture`.
    pub(crate) architecture: &'static str,
    /// The default number of layers: the real model's.
    pub(crate) layers: u32,
    /// The maximum context in tokens, as stated in the metadata.
    pub(crate) context: u32,
    /// The width of the hidden state.
    pub(crate) hidden: u32,
    /// The number of query heads.
    pub(crate) heads: u32,
    /// Its attention.
    pub(crate) attention: Attention,
    /// The width of a dense layer's feed-forward network.
    pub(crate) dense: u32,
    /// The experts of the other layers; `None` if all layers are dense.
    pub(crate) experts: Option<Experts>,
    /// The ε of every RMSNorm.
    pub(crate) rms_eps: f32,
    /// The base θ of the rotary embedding.
    pub(crate) rope_base: f32,
    /// The scaling of the rotary embedding.
    pub(crate) yarn: Option<Yarn>,
    /// The size of the vocabulary in tokens.
    pub(crate) vocabulary: u32,
    /// The model family whose special tokens it has.
    pub(crate) family: &'static Family,
    /// Whether the token embedding is also the output matrix.
    pub(crate) tied: bool,
}

/// The kind of attention.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Attention {
    /// Heads of keys and values, each shared by several query heads.
    Grouped {
        /// The number of heads of keys and values.
        kv_heads: u32,
        /// The width of a head.
        width: u32,
        /// Whether queries, keys and values have biases.
        bias: bool,
        /// Whether each head of queries and keys is normalised.
        qk_norm: bool,
    },
    /// One latent vector per token.
    Latent {
        /// The width of the compressed query; `None` if queries are computed directly from the hidden state.
        q_rank: Option<u32>,
        /// The width of the latent vector.
        kv_rank: u32,
        /// The width of the part of a head's query and key without rotary embedding.
        nope: u32,
        /// The width of the rotated part.
        rope: u32,
        /// The width of a head's values.
        value: u32,
    },
}

/// The experts of a layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Experts {
    /// The number of dense layers before the first one with experts.
    pub(crate) leading_dense: u32,
    /// The number of experts to choose from.
    pub(crate) count: u32,
    /// The number of experts chosen for each token.
    pub(crate) used: u32,
    /// The number of shared experts, which serve every token.
    pub(crate) shared: u32,
    /// The width of one expert.
    pub(crate) width: u32,
    /// The gating function of the router.
    pub(crate) gating: Gating,
    /// The factor applied to the weights of the chosen experts.
    pub(crate) scale: f32,
}

/// How a router's logits become weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gating {
    /// A softmax over all experts.
    Softmax {
        /// Whether the weights of the chosen experts are divided by their sum.
        normalise: bool,
    },
    /// A sigmoid for each expert, with a bias for the selection, normalised.
    Sigmoid,
}

/// YaRN scaling of the rotary embedding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Yarn {
    /// The scaling factor of the context.
    pub(crate) factor: f32,
    /// The context before scaling, in tokens.
    pub(crate) original_context: u32,
    /// `mscale_all_dim`.
    pub(crate) mscale: f32,
    /// The factor that YaRN applies to attention scores: `(1 + 0.1 · mscale · ln factor)²`.
    pub(crate) sharpening: f32,
}

impl Preset {
    /// The preset called `name`.
    pub(crate) fn named(name: &str) -> Result<&'static Preset> {
        let found = PRESETS.iter().find(|preset| preset.name == name);
        found.ok_or_else(|| anyhow!("there is no preset `{name}`; the presets are {}", NAMES.join(", ")))
    }

    /// The experts of a layer; `None` for a dense layer.
    pub(crate) fn experts_of(&self, layer: u32) -> Option<&Experts> {
        self.experts.as_ref().filter(|experts| layer >= experts.leading_dense)
    }
}

/// The names of all presets.
pub(crate) const NAMES: &[&str] = &{
    let mut names = [""; PRESETS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = PRESETS[i].name;
        i += 1;
    }
    names
};

/// All presets.
pub(crate) const PRESETS: &[Preset] = &[
    // zai-org/GLM-4.7-Flash, config.json
    Preset {
        name: "glm-4.7-flash",
        architecture: "deepseek2",
        layers: 47,
        context: 202_752,
        hidden: 2048,
        heads: 20,
        attention: Attention::Latent { q_rank: Some(768), kv_rank: 512, nope: 192, rope: 64, value: 256 },
        dense: 10_240,
        experts: Some(Experts {
            leading_dense: 1,
            count: 64,
            used: 4,
            shared: 1,
            width: 1536,
            gating: Gating::Sigmoid,
            scale: 1.8,
        }),
        rms_eps: 1e-5,
        rope_base: 1e6,
        yarn: None,
        vocabulary: 154_880,
        family: &GLM,
        tied: false,
    },
    // deepseek-ai/DeepSeek-V2-Lite-Chat, config.json
    Preset {
        name: "deepseek-v2-lite",
        architecture: "deepseek2",
        layers: 27,
        context: 163_840,
        hidden: 2048,
        heads: 16,
        attention: Attention::Latent { q_rank: None, kv_rank: 512, nope: 128, rope: 64, value: 128 },
        dense: 10_944,
        experts: Some(Experts {
            leading_dense: 1,
            count: 64,
            used: 6,
            shared: 2,
            width: 1408,
            gating: Gating::Softmax { normalise: false },
            scale: 1.0,
        }),
        rms_eps: 1e-6,
        rope_base: 1e4,
        yarn: Some(Yarn { factor: 40.0, original_context: 4096, mscale: 0.707, sharpening: 1.59 }),
        vocabulary: 102_400,
        family: &DEEPSEEK,
        tied: false,
    },
    // meta-llama/Llama-3.2-1B-Instruct, config.json; without the scaling of its rotary embedding
    Preset {
        name: "llama-3.2-1b",
        architecture: "llama",
        layers: 16,
        context: 131_072,
        hidden: 2048,
        heads: 32,
        attention: Attention::Grouped { kv_heads: 8, width: 64, bias: false, qk_norm: false },
        dense: 8192,
        experts: None,
        rms_eps: 1e-5,
        rope_base: 5e5,
        yarn: None,
        vocabulary: 128_256,
        family: &LLAMA3,
        tied: true,
    },
    // Qwen/Qwen2.5-0.5B-Instruct, config.json
    Preset {
        name: "qwen2.5-0.5b",
        architecture: "qwen2",
        layers: 24,
        context: 32_768,
        hidden: 896,
        heads: 14,
        attention: Attention::Grouped { kv_heads: 2, width: 64, bias: true, qk_norm: false },
        dense: 4864,
        experts: None,
        rms_eps: 1e-6,
        rope_base: 1e6,
        yarn: None,
        vocabulary: 151_936,
        family: &QWEN,
        tied: true,
    },
    // Qwen/Qwen3-0.6B, config.json
    Preset {
        name: "qwen3-0.6b",
        architecture: "qwen3",
        layers: 28,
        context: 40_960,
        hidden: 1024,
        heads: 16,
        attention: Attention::Grouped { kv_heads: 8, width: 128, bias: false, qk_norm: true },
        dense: 3072,
        experts: None,
        rms_eps: 1e-6,
        rope_base: 1e6,
        yarn: None,
        vocabulary: 151_936,
        family: &QWEN,
        tied: true,
    },
    // Qwen/Qwen3-8B, config.json
    Preset {
        name: "qwen3-8b",
        architecture: "qwen3",
        layers: 36,
        context: 40_960,
        hidden: 4096,
        heads: 32,
        attention: Attention::Grouped { kv_heads: 8, width: 128, bias: false, qk_norm: true },
        dense: 12_288,
        experts: None,
        rms_eps: 1e-6,
        rope_base: 1e6,
        yarn: None,
        vocabulary: 151_936,
        family: &QWEN,
        tied: false,
    },
    // Qwen/Qwen3-30B-A3B, config.json
    Preset {
        name: "qwen3-30b-a3b",
        architecture: "qwen3moe",
        layers: 48,
        context: 40_960,
        hidden: 2048,
        heads: 32,
        attention: Attention::Grouped { kv_heads: 4, width: 128, bias: false, qk_norm: true },
        dense: 6144,
        experts: Some(Experts {
            leading_dense: 0,
            count: 128,
            used: 8,
            shared: 0,
            width: 768,
            gating: Gating::Softmax { normalise: true },
            scale: 1.0,
        }),
        rms_eps: 1e-6,
        rope_base: 1e6,
        yarn: None,
        vocabulary: 151_936,
        family: &QWEN,
        tied: false,
    },
    // A small GLM: sizes that are multiples of 256 there are so here, and the others are not.
    Preset {
        name: "tiny",
        architecture: "deepseek2",
        layers: 3,
        context: 4096,
        hidden: 256,
        heads: 4,
        attention: Attention::Latent { q_rank: Some(256), kv_rank: 256, nope: 64, rope: 32, value: 64 },
        dense: 1024,
        experts: Some(Experts {
            leading_dense: 1,
            count: 16,
            used: 4,
            shared: 1,
            width: 256,
            gating: Gating::Sigmoid,
            scale: 1.8,
        }),
        rms_eps: 1e-5,
        rope_base: 1e6,
        yarn: None,
        vocabulary: 2048,
        family: &GLM,
        tied: false,
    },
    // Four query heads share a head of keys and values. All rows are multiples of 256, so every format fits.
    Preset {
        name: "llama-tiny",
        architecture: "llama",
        layers: 2,
        context: 4096,
        hidden: 256,
        heads: 8,
        attention: Attention::Grouped { kv_heads: 2, width: 32, bias: false, qk_norm: false },
        dense: 512,
        experts: None,
        rms_eps: 1e-5,
        rope_base: 5e5,
        yarn: None,
        vocabulary: 768,
        family: &LLAMA3,
        tied: false,
    },
    // A small Mixtral: eight experts, whose width has no metadata key but that of dense layers.
    Preset {
        name: "mixtral-tiny",
        architecture: "llama",
        layers: 2,
        context: 4096,
        hidden: 256,
        heads: 8,
        attention: Attention::Grouped { kv_heads: 2, width: 32, bias: false, qk_norm: false },
        dense: 96,
        experts: Some(Experts {
            leading_dense: 0,
            count: 8,
            used: 2,
            shared: 0,
            width: 96,
            gating: Gating::Softmax { normalise: true },
            scale: 1.0,
        }),
        rms_eps: 1e-5,
        rope_base: 1e6,
        yarn: None,
        vocabulary: 768,
        family: &LLAMA3,
        tied: false,
    },
    // A small Qwen2.5-0.5B: no row is a multiple of 256, and an odd number of query heads share a head of keys.
    Preset {
        name: "qwen2-tiny",
        architecture: "qwen2",
        layers: 2,
        context: 4096,
        hidden: 320,
        heads: 10,
        attention: Attention::Grouped { kv_heads: 2, width: 32, bias: true, qk_norm: false },
        dense: 672,
        experts: None,
        rms_eps: 1e-6,
        rope_base: 1e6,
        yarn: None,
        vocabulary: 1024,
        family: &QWEN,
        tied: true,
    },
    // A small Qwen3-0.6B: its heads together are wider than the hidden state, as there.
    Preset {
        name: "qwen3-tiny",
        architecture: "qwen3",
        layers: 2,
        context: 4096,
        hidden: 256,
        heads: 6,
        attention: Attention::Grouped { kv_heads: 2, width: 64, bias: false, qk_norm: true },
        dense: 640,
        experts: None,
        rms_eps: 1e-6,
        rope_base: 1e6,
        yarn: None,
        vocabulary: 1024,
        family: &QWEN,
        tied: true,
    },
    // A small Qwen3-30B-A3B: narrow experts, of which a token uses a quarter.
    Preset {
        name: "qwen3moe-tiny",
        architecture: "qwen3moe",
        layers: 2,
        context: 4096,
        hidden: 256,
        heads: 8,
        attention: Attention::Grouped { kv_heads: 2, width: 32, bias: false, qk_norm: true },
        dense: 768,
        experts: Some(Experts {
            leading_dense: 0,
            count: 12,
            used: 3,
            shared: 0,
            width: 64,
            gating: Gating::Softmax { normalise: true },
            scale: 1.0,
        }),
        rms_eps: 1e-6,
        rope_base: 1e6,
        yarn: None,
        vocabulary: 1024,
        family: &QWEN,
        tied: false,
    },
];
