//! The models that can be made: the shapes of published ones, and a tiny one.

use anyhow::{Result, anyhow};

use crate::synth::vocabulary::{DEEPSEEK, Family, GLM};

/// The shape of a model of the `deepseek2` family: latent attention, and mixtures of experts after one dense layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preset {
    /// What it is called.
    pub(crate) name: &'static str,
    /// Layers, where the caller does not say.
    pub(crate) layers: u32,
    /// Tokens of context it claims to be made for.
    pub(crate) context: u32,
    /// Width of the hidden state.
    pub(crate) hidden: u32,
    /// Attention heads.
    pub(crate) heads: u32,
    /// Width of the compressed query; `None` where queries come straight from the hidden state.
    pub(crate) q_rank: Option<u32>,
    /// Width of the latent vector.
    pub(crate) kv_rank: u32,
    /// Width of the part of a head's query and key that has no position.
    pub(crate) nope: u32,
    /// Width of the rotated part.
    pub(crate) rope: u32,
    /// Width of a head's values.
    pub(crate) value: u32,
    /// Width of the dense layer's feed-forward network.
    pub(crate) dense: u32,
    /// Experts.
    pub(crate) experts: u32,
    /// Experts a token takes.
    pub(crate) used: u32,
    /// Experts every token takes.
    pub(crate) shared: u32,
    /// Width of one expert.
    pub(crate) expert: u32,
    /// How the router gates.
    pub(crate) gating: Gating,
    /// What the chosen experts' weights are multiplied with.
    pub(crate) expert_scale: f32,
    /// ε of every RMSNorm.
    pub(crate) rms_eps: f32,
    /// θ of the rotary embedding.
    pub(crate) rope_base: f32,
    /// How the rotary embedding is stretched.
    pub(crate) yarn: Option<Yarn>,
    /// Tokens.
    pub(crate) vocabulary: u32,
    /// Whose tokens.
    pub(crate) family: &'static Family,
}

/// How a router's logits become weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gating {
    /// The softmax over all experts, as it is.
    Softmax,
    /// A sigmoid for each, with a bias for the selection, and normalised.
    Sigmoid,
}

/// The stretching of rotary frequencies, YaRN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Yarn {
    /// By how much.
    pub(crate) factor: f32,
    /// From how many tokens of context.
    pub(crate) original_context: u32,
    /// `mscale_all_dim`.
    pub(crate) mscale: f32,
    /// What attention scores are multiplied with for that: `(1 + 0.1 · mscale · ln factor)²`.
    pub(crate) sharpening: f32,
}

impl Preset {
    /// The preset called `name`.
    pub(crate) fn named(name: &str) -> Result<&'static Preset> {
        let names = || PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ");
        let found = PRESETS.iter().find(|preset| preset.name == name);
        found.ok_or_else(|| anyhow!("there is no preset `{name}`; there are {}", names()))
    }
}

/// All presets.
pub(crate) const PRESETS: &[Preset] = &[
    // zai-org/GLM-4.7-Flash, config.json
    Preset {
        name: "glm-4.7-flash",
        layers: 47,
        context: 202_752,
        hidden: 2048,
        heads: 20,
        q_rank: Some(768),
        kv_rank: 512,
        nope: 192,
        rope: 64,
        value: 256,
        dense: 10_240,
        experts: 64,
        used: 4,
        shared: 1,
        expert: 1536,
        gating: Gating::Sigmoid,
        expert_scale: 1.8,
        rms_eps: 1e-5,
        rope_base: 1e6,
        yarn: None,
        vocabulary: 154_880,
        family: &GLM,
    },
    // deepseek-ai/DeepSeek-V2-Lite-Chat, config.json
    Preset {
        name: "deepseek-v2-lite",
        layers: 27,
        context: 163_840,
        hidden: 2048,
        heads: 16,
        q_rank: None,
        kv_rank: 512,
        nope: 128,
        rope: 64,
        value: 128,
        dense: 10_944,
        experts: 64,
        used: 6,
        shared: 2,
        expert: 1408,
        gating: Gating::Softmax,
        expert_scale: 1.0,
        rms_eps: 1e-6,
        rope_base: 1e4,
        yarn: Some(Yarn { factor: 40.0, original_context: 4096, mscale: 0.707, sharpening: 1.59 }),
        vocabulary: 102_400,
        family: &DEEPSEEK,
    },
    // GLM in small: whatever is a multiple of 256 there is one here, and what is not is none.
    Preset {
        name: "tiny",
        layers: 3,
        context: 4096,
        hidden: 256,
        heads: 4,
        q_rank: Some(256),
        kv_rank: 256,
        nope: 64,
        rope: 32,
        value: 64,
        dense: 1024,
        experts: 16,
        used: 4,
        shared: 1,
        expert: 256,
        gating: Gating::Sigmoid,
        expert_scale: 1.8,
        rms_eps: 1e-5,
        rope_base: 1e6,
        yarn: None,
        vocabulary: 2048,
        family: &GLM,
    },
];
