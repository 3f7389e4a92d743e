//! The shapes of tiny models with odd sizes, for the fixtures.

use super::super::shape::{Attention, Experts, Gating, Preset, Yarn};
use super::{BASE, EXPERTS};
use crate::synth::vocabulary::{
    COHERE2MOE, COMMAND_R, ERNIE, EXAONE, GLM, GRANITE, HUNYUAN, MINIMAX, MUSE, OLMO, SEED, SMOLLM3,
};

pub(in super::super) const PLAIN_ODD: &[Preset] = &[
    // Three query heads share one of keys.
    Preset {
        name: "seed-oss-odd",
        architecture: "seed_oss",
        layers: 3,
        context: 1024,
        hidden: 96,
        heads: 3,
        attention: Attention::Grouped { kv_heads: 1, width: 64, bias: true, qk_norm: false, rotated: None },
        dense: 160,
        rms_eps: 1e-6,
        rope_base: 1e7,
        vocabulary: 307,
        family: &SEED,
        ..BASE
    },
    // Dense layers only.
    Preset {
        name: "ernie4_5-odd",
        architecture: "ernie4_5",
        layers: 3,
        context: 1024,
        hidden: 96,
        heads: 3,
        attention: Attention::Grouped { kv_heads: 1, width: 32, bias: false, qk_norm: false, rotated: None },
        dense: 160,
        rope_base: 5e5,
        vocabulary: 389,
        family: &ERNIE,
        ..BASE
    },
    // Three query heads share one of keys; three of five experts run.
    Preset {
        name: "minimax-m2-odd",
        architecture: "minimax-m2",
        layers: 2,
        context: 1024,
        hidden: 96,
        heads: 3,
        attention: Attention::Grouped {
            kv_heads: 1,
            width: 64,
            bias: false,
            qk_norm: true,
            rotated: Some(32),
        },
        dense: 32,
        experts: Some(Experts {
            leading_dense: 0,
            count: 5,
            used: 3,
            shared: 0,
            width: 32,
            gating: Gating::Sigmoid,
            ..EXPERTS
        }),
        rms_eps: 1e-6,
        rope_base: 5e6,
        vocabulary: 307,
        family: &MINIMAX,
        ..BASE
    },
    // Dense layers only.
    Preset {
        name: "hunyuan-dense-odd",
        architecture: "hunyuan-dense",
        layers: 3,
        context: 1024,
        hidden: 96,
        heads: 3,
        attention: Attention::Grouped { kv_heads: 1, width: 32, bias: false, qk_norm: true, rotated: None },
        dense: 160,
        rope_base: 1e6,
        vocabulary: 307,
        family: &HUNYUAN,
        ..BASE
    },
    // A layer follows the one without positions.
    Preset {
        name: "smollm3-odd",
        architecture: "smollm3",
        layers: 5,
        context: 1024,
        hidden: 96,
        heads: 3,
        attention: Attention::Grouped { kv_heads: 1, width: 32, bias: false, qk_norm: false, rotated: None },
        dense: 96,
        rms_eps: 1e-6,
        rope_base: 5e6,
        vocabulary: 307,
        family: &SMOLLM3,
        ..BASE
    },
    // Windows, and YaRN in the layers without.
    Preset {
        name: "olmo2-odd",
        architecture: "olmo2",
        layers: 4,
        context: 1024,
        hidden: 96,
        heads: 3,
        attention: Attention::Grouped { kv_heads: 1, width: 32, bias: false, qk_norm: true, rotated: None },
        dense: 160,
        rms_eps: 1e-6,
        rope_base: 5e5,
        yarn: Some(Yarn { factor: 8.0, original_context: 128, mscale: 0.0, sharpening: 1.46 }),
        window: Some(7),
        vocabulary: 307,
        family: &OLMO,
        ..BASE
    },
    // Three query heads share one of keys.
    Preset {
        name: "exaone4-odd",
        architecture: "exaone4",
        layers: 3,
        context: 1024,
        hidden: 96,
        heads: 3,
        attention: Attention::Grouped { kv_heads: 1, width: 32, bias: false, qk_norm: true, rotated: None },
        dense: 160,
        rope_base: 1e6,
        vocabulary: 307,
        family: &EXAONE,
        ..BASE
    },
    // Dense layers only.
    Preset {
        name: "granite-odd",
        architecture: "granite",
        layers: 3,
        context: 1024,
        hidden: 96,
        heads: 3,
        attention: Attention::Grouped { kv_heads: 1, width: 32, bias: false, qk_norm: false, rotated: None },
        dense: 160,
        rope_base: 1e5,
        vocabulary: 307,
        family: &GRANITE,
        ..BASE
    },
    // Three query heads share one of keys.
    Preset {
        name: "glm4-odd",
        architecture: "glm4",
        layers: 3,
        context: 1024,
        hidden: 96,
        heads: 3,
        attention: Attention::Grouped {
            kv_heads: 1,
            width: 64,
            bias: true,
            qk_norm: false,
            rotated: Some(20),
        },
        dense: 160,
        vocabulary: 307,
        family: &GLM,
        ..BASE
    },
    // Three layers with a window, one without, and one with.
    Preset {
        name: "muse-glimmer-odd",
        architecture: "muse-glimmer",
        layers: 5,
        context: 1024,
        hidden: 96,
        heads: 3,
        attention: Attention::Grouped { kv_heads: 1, width: 32, bias: false, qk_norm: true, rotated: None },
        dense: 96,
        rms_eps: 1e-6,
        rope_base: 5e5,
        window: Some(7),
        vocabulary: 307,
        family: &MUSE,
        ..BASE
    },
    // All layers have positions, and none a window.
    Preset {
        name: "command-r-odd",
        architecture: "command-r",
        layers: 3,
        context: 1024,
        hidden: 96,
        heads: 3,
        attention: Attention::Grouped { kv_heads: 3, width: 32, bias: false, qk_norm: false, rotated: None },
        dense: 160,
        rope_base: 8e6,
        vocabulary: 307,
        family: &COMMAND_R,
        tied: true,
        ..BASE
    },
    // Two dense layers, without shared experts.
    Preset {
        name: "cohere2moe-odd",
        architecture: "cohere2moe",
        layers: 5,
        context: 1024,
        hidden: 96,
        heads: 3,
        attention: Attention::Grouped { kv_heads: 1, width: 32, bias: false, qk_norm: false, rotated: None },
        dense: 96,
        experts: Some(Experts {
            leading_dense: 2,
            count: 5,
            used: 2,
            shared: 0,
            width: 32,
            gating: Gating::Sigmoid,
            ..EXPERTS
        }),
        rope_base: 5e4,
        window: Some(7),
        vocabulary: 307,
        family: &COHERE2MOE,
        ..BASE
    },
];
