//! The shapes of tiny models for the fixtures.

use super::super::shape::{Attention, Experts, Gating, Preset};
use super::{BASE, EXPERTS};
use crate::synth::vocabulary::{
    COHERE2MOE, COMMAND_R, ERNIE, EXAONE, GLM, GRANITE, HUNYUAN, MINIMAX, MUSE, OLMO, SEED, SMOLLM3,
};

pub(in super::super) const PLAIN_TINY: &[Preset] = &[
    // Heads that are wider together than the hidden state.
    Preset {
        name: "seed-oss-tiny",
        architecture: "seed_oss",
        layers: 2,
        context: 1024,
        hidden: 64,
        heads: 4,
        attention: Attention::Grouped { kv_heads: 2, width: 32, bias: true, qk_norm: false, rotated: None },
        dense: 96,
        rms_eps: 1e-6,
        rope_base: 1e7,
        vocabulary: 320,
        family: &SEED,
        ..BASE
    },
    // One dense layer, and one with experts and two shared ones.
    Preset {
        name: "ernie4_5-moe-tiny",
        architecture: "ernie4_5-moe",
        layers: 2,
        context: 1024,
        hidden: 64,
        heads: 4,
        attention: Attention::Grouped { kv_heads: 2, width: 32, bias: false, qk_norm: false, rotated: None },
        dense: 96,
        experts: Some(Experts {
            leading_dense: 1,
            count: 6,
            used: 2,
            shared: 2,
            width: 32,
            gating: Gating::Softmax { normalise: true },
            ..EXPERTS
        }),
        rope_base: 5e5,
        vocabulary: 384,
        family: &ERNIE,
        tied: true,
        ..BASE
    },
    // Half of each head is rotated.
    Preset {
        name: "minimax-m2-tiny",
        architecture: "minimax-m2",
        layers: 2,
        context: 1024,
        hidden: 64,
        heads: 4,
        attention: Attention::Grouped {
            kv_heads: 2,
            width: 32,
            bias: false,
            qk_norm: true,
            rotated: Some(16),
        },
        dense: 64,
        experts: Some(Experts {
            leading_dense: 0,
            count: 6,
            used: 2,
            shared: 0,
            width: 64,
            gating: Gating::Sigmoid,
            ..EXPERTS
        }),
        rms_eps: 1e-6,
        rope_base: 5e6,
        vocabulary: 320,
        family: &MINIMAX,
        ..BASE
    },
    // Experts, and a shared one.
    Preset {
        name: "hunyuan-moe-tiny",
        architecture: "hunyuan-moe",
        layers: 2,
        context: 1024,
        hidden: 64,
        heads: 4,
        attention: Attention::Grouped { kv_heads: 2, width: 32, bias: false, qk_norm: true, rotated: None },
        dense: 64,
        experts: Some(Experts {
            leading_dense: 0,
            count: 6,
            used: 2,
            shared: 1,
            width: 64,
            gating: Gating::Softmax { normalise: true },
            ..EXPERTS
        }),
        rope_base: 1e6,
        vocabulary: 320,
        family: &HUNYUAN,
        tied: true,
        ..BASE
    },
    // The last layer has no positions.
    Preset {
        name: "smollm3-tiny",
        architecture: "smollm3",
        layers: 4,
        context: 1024,
        hidden: 64,
        heads: 4,
        attention: Attention::Grouped { kv_heads: 2, width: 32, bias: false, qk_norm: false, rotated: None },
        dense: 96,
        rms_eps: 1e-6,
        rope_base: 5e6,
        vocabulary: 320,
        family: &SMOLLM3,
        tied: true,
        ..BASE
    },
    // No window, as in OLMo 2.
    Preset {
        name: "olmo2-tiny",
        architecture: "olmo2",
        layers: 2,
        context: 1024,
        hidden: 64,
        heads: 2,
        attention: Attention::Grouped { kv_heads: 2, width: 32, bias: false, qk_norm: true, rotated: None },
        dense: 96,
        rms_eps: 1e-6,
        rope_base: 5e5,
        vocabulary: 320,
        family: &OLMO,
        ..BASE
    },
    // Four query heads of the width of a hidden state share two of keys.
    Preset {
        name: "exaone4-tiny",
        architecture: "exaone4",
        layers: 2,
        context: 1024,
        hidden: 128,
        heads: 4,
        attention: Attention::Grouped { kv_heads: 2, width: 32, bias: false, qk_norm: true, rotated: None },
        dense: 160,
        rope_base: 1e6,
        vocabulary: 320,
        family: &EXAONE,
        tied: true,
        ..BASE
    },
    // Experts, and a shared one.
    Preset {
        name: "granitemoe-tiny",
        architecture: "granitemoe",
        layers: 2,
        context: 1024,
        hidden: 64,
        heads: 4,
        attention: Attention::Grouped { kv_heads: 2, width: 32, bias: false, qk_norm: false, rotated: None },
        dense: 64,
        experts: Some(Experts {
            leading_dense: 0,
            count: 6,
            used: 2,
            shared: 1,
            width: 64,
            gating: Gating::Softmax { normalise: true },
            ..EXPERTS
        }),
        rms_eps: 1e-6,
        rope_base: 1e5,
        vocabulary: 320,
        family: &GRANITE,
        tied: true,
        ..BASE
    },
    // Half of each head is rotated.
    Preset {
        name: "glm4-tiny",
        architecture: "glm4",
        layers: 2,
        context: 1024,
        hidden: 64,
        heads: 4,
        attention: Attention::Grouped {
            kv_heads: 2,
            width: 32,
            bias: true,
            qk_norm: false,
            rotated: Some(16),
        },
        dense: 96,
        vocabulary: 320,
        family: &GLM,
        ..BASE
    },
    // A layer with a window, and one without.
    Preset {
        name: "muse-glimmer-tiny",
        architecture: "muse-glimmer",
        layers: 2,
        context: 1024,
        hidden: 64,
        heads: 4,
        attention: Attention::Grouped { kv_heads: 2, width: 32, bias: false, qk_norm: true, rotated: None },
        dense: 96,
        rms_eps: 1e-6,
        rope_base: 5e5,
        window: Some(12),
        vocabulary: 320,
        family: &MUSE,
        ..BASE
    },
    // Three layers with a window, and one without.
    Preset {
        name: "cohere2-tiny",
        architecture: "cohere2",
        layers: 4,
        context: 1024,
        hidden: 64,
        heads: 2,
        attention: Attention::Grouped { kv_heads: 1, width: 32, bias: false, qk_norm: false, rotated: None },
        dense: 96,
        rope_base: 5e4,
        window: Some(12),
        vocabulary: 320,
        family: &COMMAND_R,
        tied: true,
        ..BASE
    },
    // A dense layer that sees all positions, one with a window, and one without positions.
    Preset {
        name: "cohere2moe-tiny",
        architecture: "cohere2moe",
        layers: 3,
        context: 1024,
        hidden: 64,
        heads: 4,
        attention: Attention::Grouped { kv_heads: 2, width: 32, bias: false, qk_norm: false, rotated: None },
        dense: 96,
        experts: Some(Experts {
            leading_dense: 1,
            count: 6,
            used: 2,
            shared: 1,
            width: 32,
            gating: Gating::Sigmoid,
            ..EXPERTS
        }),
        rope_base: 5e4,
        window: Some(12),
        vocabulary: 320,
        family: &COHERE2MOE,
        tied: true,
        ..BASE
    },
];
