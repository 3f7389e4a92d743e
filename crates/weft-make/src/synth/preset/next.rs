//! The shapes of models with residual streams and indexers of pools, published, tiny and odd.

use super::shape::{Attention, Experts, Gating, Indexer, Latent, Next, Preset};
use crate::synth::vocabulary::GLM;

pub(super) const NEXT_REAL: &[Preset] = &[
    // zai-org/GLM-5.3-Flash, config.json
    Preset {
        name: "glm-5.3-flash",
        architecture: "glm5-next",
        layers: 45,
        context: 1_048_576,
        hidden: 4096,
        heads: 64,
        attention: Attention::Next(Next {
            interval: 4,
            width: 128,
            latent: Latent { q_rank: Some(1536), kv_rank: 512, nope: 256, rope: 0, value: 256 },
            indexer: Indexer { heads: 32, width: 128, most: 2048, layers: 1 },
            pool: 4,
            iterations: 20,
            bound: 10.0,
        }),
        dense: 12_288,
        experts: Some(Experts {
            leading_dense: 3,
            count: 288,
            used: 8,
            shared: 1,
            shared_width: None,
            width: 2048,
            gating: Gating::Sigmoid,
            scale: 2.5,
            groups: (1, 1),
        }),
        rms_eps: 1e-5,
        rope_base: 1e4,
        yarn: None,
        long_rope: None,
        window: None,
        vocabulary: 154_880,
        family: &GLM,
        tied: false,
    },
];

pub(super) const NEXT_TINY: &[Preset] = &[
    // A small GLM-5.3-Flash, whose second layer with attention attends to the positions of the first.
    Preset {
        name: "glm5-next-tiny",
        architecture: "glm5-next",
        layers: 4,
        context: 4096,
        hidden: 64,
        heads: 2,
        attention: Attention::Next(Next {
            interval: 2,
            width: 128,
            latent: Latent { q_rank: Some(32), kv_rank: 64, nope: 32, rope: 0, value: 32 },
            indexer: Indexer { heads: 13, width: 32, most: 16, layers: 2 },
            pool: 4,
            iterations: 20,
            bound: 0.5,
        }),
        dense: 96,
        experts: Some(Experts {
            leading_dense: 1,
            count: 6,
            used: 2,
            shared: 1,
            shared_width: None,
            width: 32,
            gating: Gating::Sigmoid,
            scale: 2.5,
            groups: (1, 1),
        }),
        rms_eps: 1e-5,
        rope_base: 1e4,
        yarn: None,
        long_rope: None,
        window: None,
        vocabulary: 320,
        family: &GLM,
        tied: false,
    },
];

pub(super) const NEXT_ODD: &[Preset] = &[
    // In Unsloth's dialect: pools of two, heads whose widths are no multiples of 32, and an indexer in each layer with attention.
    Preset {
        name: "glm5-next-odd",
        architecture: "glm5next",
        layers: 5,
        context: 4096,
        hidden: 96,
        heads: 3,
        attention: Attention::Next(Next {
            interval: 2,
            width: 40,
            latent: Latent { q_rank: Some(32), kv_rank: 32, nope: 24, rope: 0, value: 20 },
            indexer: Indexer { heads: 11, width: 64, most: 10, layers: 1 },
            pool: 2,
            iterations: 3,
            bound: 0.7,
        }),
        dense: 96,
        experts: Some(Experts {
            leading_dense: 1,
            count: 5,
            used: 2,
            shared: 2,
            shared_width: None,
            width: 32,
            gating: Gating::Sigmoid,
            scale: 1.5,
            groups: (1, 1),
        }),
        rms_eps: 1e-6,
        rope_base: 1e4,
        yarn: None,
        long_rope: None,
        window: None,
        vocabulary: 307,
        family: &GLM,
        tied: false,
    },
];
