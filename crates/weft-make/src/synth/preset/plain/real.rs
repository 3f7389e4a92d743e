//! The shapes of published models.

use super::super::shape::{Attention, Experts, Gating, Preset, Yarn};
use super::{BASE, EXPERTS};
use crate::synth::vocabulary::{
    COHERE2MOE, COMMAND_R, ERNIE, EXAONE, GLM, GRANITE, HUNYUAN, MINIMAX, MUSE, OLMO, SEED, SMOLLM3,
};

pub(in super::super) const PLAIN_REAL: &[Preset] = &[
    // ByteDance-Seed/Seed-OSS-36B-Instruct, config.json
    Preset {
        name: "seed-oss-36b",
        architecture: "seed_oss",
        layers: 64,
        context: 524_288,
        hidden: 5120,
        heads: 80,
        attention: Attention::Grouped { kv_heads: 8, width: 128, bias: true, qk_norm: false, rotated: None },
        dense: 27_648,
        rms_eps: 1e-6,
        rope_base: 1e7,
        vocabulary: 155_136,
        family: &SEED,
        ..BASE
    },
    // baidu/ERNIE-4.5-0.3B-PT, config.json
    Preset {
        name: "ernie-4.5-0.3b",
        architecture: "ernie4_5",
        layers: 18,
        context: 131_072,
        hidden: 1024,
        heads: 16,
        attention: Attention::Grouped { kv_heads: 2, width: 128, bias: false, qk_norm: false, rotated: None },
        dense: 3072,
        rope_base: 5e5,
        vocabulary: 103_424,
        family: &ERNIE,
        tied: true,
        ..BASE
    },
    // baidu/ERNIE-4.5-21B-A3B-PT, config.json
    Preset {
        name: "ernie-4.5-21b-a3b",
        architecture: "ernie4_5-moe",
        layers: 28,
        context: 131_072,
        hidden: 2560,
        heads: 20,
        attention: Attention::Grouped { kv_heads: 4, width: 128, bias: false, qk_norm: false, rotated: None },
        dense: 12_288,
        experts: Some(Experts {
            leading_dense: 1,
            count: 64,
            used: 6,
            shared: 2,
            width: 1536,
            gating: Gating::Softmax { normalise: true },
            ..EXPERTS
        }),
        rope_base: 5e5,
        vocabulary: 103_424,
        family: &ERNIE,
        tied: true,
        ..BASE
    },
    // MiniMaxAI/MiniMax-M2, config.json
    Preset {
        name: "minimax-m2",
        architecture: "minimax-m2",
        layers: 62,
        context: 196_608,
        hidden: 3072,
        heads: 48,
        attention: Attention::Grouped {
            kv_heads: 8,
            width: 128,
            bias: false,
            qk_norm: true,
            rotated: Some(64),
        },
        dense: 1536,
        experts: Some(Experts {
            leading_dense: 0,
            count: 256,
            used: 8,
            shared: 0,
            width: 1536,
            gating: Gating::Sigmoid,
            ..EXPERTS
        }),
        rms_eps: 1e-6,
        rope_base: 5e6,
        vocabulary: 200_064,
        family: &MINIMAX,
        ..BASE
    },
    // tencent/Hunyuan-7B-Instruct, config.json
    Preset {
        name: "hunyuan-7b",
        architecture: "hunyuan-dense",
        layers: 32,
        context: 262_144,
        hidden: 4096,
        heads: 32,
        attention: Attention::Grouped { kv_heads: 8, width: 128, bias: false, qk_norm: true, rotated: None },
        dense: 14_336,
        rope_base: 11_158_840.0,
        vocabulary: 128_167,
        family: &HUNYUAN,
        tied: true,
        ..BASE
    },
    // tencent/Hunyuan-A13B-Instruct, config.json
    Preset {
        name: "hunyuan-a13b",
        architecture: "hunyuan-moe",
        layers: 32,
        context: 262_144,
        hidden: 4096,
        heads: 32,
        attention: Attention::Grouped { kv_heads: 8, width: 128, bias: false, qk_norm: true, rotated: None },
        dense: 3072,
        experts: Some(Experts {
            leading_dense: 0,
            count: 64,
            used: 8,
            shared: 1,
            width: 3072,
            gating: Gating::Softmax { normalise: true },
            ..EXPERTS
        }),
        rope_base: 11_158_840.0,
        vocabulary: 128_167,
        family: &HUNYUAN,
        tied: true,
        ..BASE
    },
    // HuggingFaceTB/SmolLM3-3B, config.json
    Preset {
        name: "smollm3-3b",
        architecture: "smollm3",
        layers: 36,
        context: 65_536,
        hidden: 2048,
        heads: 16,
        attention: Attention::Grouped { kv_heads: 4, width: 128, bias: false, qk_norm: false, rotated: None },
        dense: 11_008,
        rms_eps: 1e-6,
        rope_base: 5e6,
        vocabulary: 128_256,
        family: &SMOLLM3,
        tied: true,
        ..BASE
    },
    // allenai/Olmo-3-7B-Instruct, config.json
    Preset {
        name: "olmo-3-7b",
        architecture: "olmo2",
        layers: 32,
        context: 65_536,
        hidden: 4096,
        heads: 32,
        attention: Attention::Grouped { kv_heads: 32, width: 128, bias: false, qk_norm: true, rotated: None },
        dense: 11_008,
        rms_eps: 1e-6,
        rope_base: 5e5,
        yarn: Some(Yarn { factor: 8.0, original_context: 8192, mscale: 0.0, sharpening: 1.46 }),
        window: Some(4096),
        vocabulary: 100_278,
        family: &OLMO,
        ..BASE
    },
    // LGAI-EXAONE/EXAONE-4.0-1.2B, config.json
    Preset {
        name: "exaone-4.0-1.2b",
        architecture: "exaone4",
        layers: 30,
        context: 65_536,
        hidden: 2048,
        heads: 32,
        attention: Attention::Grouped { kv_heads: 8, width: 64, bias: false, qk_norm: true, rotated: None },
        dense: 4096,
        rope_base: 1e6,
        vocabulary: 102_400,
        family: &EXAONE,
        tied: true,
        ..BASE
    },
    // ibm-granite/granite-3.3-8b-instruct, config.json
    Preset {
        name: "granite-3.3-8b",
        architecture: "granite",
        layers: 40,
        context: 131_072,
        hidden: 4096,
        heads: 32,
        attention: Attention::Grouped { kv_heads: 8, width: 128, bias: false, qk_norm: false, rotated: None },
        dense: 12_800,
        rope_base: 1e7,
        vocabulary: 49_159,
        family: &GRANITE,
        tied: true,
        ..BASE
    },
    // ibm-granite/granite-3.1-3b-a800m-instruct, config.json
    Preset {
        name: "granite-3.1-3b-a800m",
        architecture: "granitemoe",
        layers: 32,
        context: 131_072,
        hidden: 1536,
        heads: 24,
        attention: Attention::Grouped { kv_heads: 8, width: 64, bias: false, qk_norm: false, rotated: None },
        dense: 512,
        experts: Some(Experts {
            leading_dense: 0,
            count: 40,
            used: 8,
            shared: 0,
            width: 512,
            gating: Gating::Softmax { normalise: true },
            ..EXPERTS
        }),
        rms_eps: 1e-6,
        rope_base: 1e7,
        vocabulary: 49_155,
        family: &GRANITE,
        tied: true,
        ..BASE
    },
    // zai-org/GLM-4-9B-0414, config.json
    Preset {
        name: "glm-4-9b-0414",
        architecture: "glm4",
        layers: 40,
        context: 32_768,
        hidden: 4096,
        heads: 32,
        attention: Attention::Grouped {
            kv_heads: 2,
            width: 128,
            bias: true,
            qk_norm: false,
            rotated: Some(64),
        },
        dense: 13_696,
        vocabulary: 151_552,
        family: &GLM,
        ..BASE
    },
    // CohereLabs/North-Mini-Code-1.0, by what others say of its config.json
    Preset {
        name: "north-mini-code",
        architecture: "cohere2moe",
        layers: 49,
        context: 500_000,
        hidden: 2048,
        heads: 32,
        attention: Attention::Grouped { kv_heads: 4, width: 128, bias: false, qk_norm: false, rotated: None },
        dense: 3072,
        experts: Some(Experts {
            leading_dense: 1,
            count: 128,
            used: 8,
            width: 768,
            gating: Gating::Sigmoid,
            ..EXPERTS
        }),
        rope_base: 5e4,
        window: Some(4096),
        vocabulary: 262_144,
        family: &COHERE2MOE,
        tied: true,
        ..BASE
    },
    // meta-models/Muse-Glimmer-30B, by the defaults of its class in `transformers`. The base of its rotary embedding is not known here.
    Preset {
        name: "muse-glimmer-30b",
        architecture: "muse-glimmer",
        layers: 52,
        context: 131_072,
        hidden: 6656,
        heads: 32,
        attention: Attention::Grouped { kv_heads: 2, width: 128, bias: false, qk_norm: true, rotated: None },
        dense: 19_968,
        rope_base: 5e5,
        window: Some(2048),
        vocabulary: 202_048,
        family: &MUSE,
        ..BASE
    },
    // CohereLabs/c4ai-command-r7b-12-2024, config.json
    Preset {
        name: "command-r7b",
        architecture: "cohere2",
        layers: 32,
        context: 132_096,
        hidden: 4096,
        heads: 32,
        attention: Attention::Grouped { kv_heads: 8, width: 128, bias: false, qk_norm: false, rotated: None },
        dense: 14_336,
        rope_base: 5e4,
        window: Some(4096),
        vocabulary: 256_000,
        family: &COMMAND_R,
        tied: true,
        ..BASE
    },
    // CohereLabs/c4ai-command-r-v01, config.json
    Preset {
        name: "command-r-35b",
        architecture: "command-r",
        layers: 40,
        context: 131_072,
        hidden: 8192,
        heads: 64,
        attention: Attention::Grouped {
            kv_heads: 64,
            width: 128,
            bias: false,
            qk_norm: false,
            rotated: None,
        },
        dense: 22_528,
        rope_base: 8e6,
        vocabulary: 256_000,
        family: &COMMAND_R,
        tied: true,
        ..BASE
    },
];
