//! The shapes of models with layers of several kinds, published, tiny and odd: attention in some, and Mamba-2 or a short convolution in
//! others.

use super::shape::{Attention, Experts, Gating, Mamba, Mixed, Preset};
use crate::synth::vocabulary::{GRANITE4, LFM2, NEMOTRON};

/// The common part of most of them.
const BASE: Preset = Preset {
    name: "",
    architecture: "",
    layers: 2,
    context: 1024,
    hidden: 64,
    heads: 2,
    attention: Attention::Mixed(MIXED),
    dense: 96,
    experts: None,
    rms_eps: 1e-5,
    rope_base: 1e4,
    yarn: None,
    long_rope: None,
    window: None,
    vocabulary: 320,
    family: &LFM2,
    tied: true,
};

/// The common part of their layers.
const MIXED: Mixed = Mixed { kinds: "*", kv_heads: 1, width: 32, mamba: Mamba::NONE, latent: 0 };

/// The common part of their experts.
const EXPERTS: Experts = Experts {
    leading_dense: 0,
    count: 6,
    used: 2,
    shared: 0,
    shared_width: None,
    width: 32,
    gating: Gating::Softmax { normalise: true },
    scale: 1.0,
    groups: (1, 1),
};

pub(super) const MIXED_REAL: &[Preset] = &[
    // LiquidAI/LFM2-1.2B, config.json
    Preset {
        name: "lfm2-1.2b",
        architecture: "lfm2",
        layers: 16,
        context: 128_000,
        hidden: 2048,
        heads: 32,
        attention: Attention::Mixed(Mixed { kinds: "CC*CC*CC*C*C*C*C", kv_heads: 8, width: 64, ..MIXED }),
        dense: 8192,
        rope_base: 1e6,
        vocabulary: 65_536,
        ..BASE
    },
    // LiquidAI/LFM2-8B-A1B, config.json
    Preset {
        name: "lfm2-8b-a1b",
        architecture: "lfm2moe",
        layers: 24,
        context: 128_000,
        hidden: 2048,
        heads: 32,
        attention: Attention::Mixed(Mixed {
            kinds: "CC*CCC*CCC*CCC*CCC*CC*CC",
            kv_heads: 8,
            width: 64,
            ..MIXED
        }),
        dense: 7168,
        experts: Some(Experts {
            leading_dense: 2,
            count: 32,
            used: 4,
            width: 1792,
            gating: Gating::Sigmoid,
            ..EXPERTS
        }),
        rope_base: 1e6,
        vocabulary: 65_536,
        ..BASE
    },
    // ibm-granite/granite-4.0-h-tiny, config.json
    Preset {
        name: "granite-4.0-h-tiny",
        architecture: "granitehybrid",
        layers: 40,
        context: 131_072,
        hidden: 1536,
        heads: 12,
        attention: Attention::Mixed(Mixed {
            kinds: "MMMMM*MMMM",
            kv_heads: 4,
            width: 128,
            mamba: Mamba { heads: 48, width: 64, groups: 1, state: 128 },
            ..MIXED
        }),
        dense: 512,
        experts: Some(Experts { count: 64, used: 6, shared: 2, width: 512, ..EXPERTS }),
        vocabulary: 100_352,
        family: &GRANITE4,
        ..BASE
    },
    // ibm-granite/granite-4.0-h-small, config.json
    Preset {
        name: "granite-4.0-h-small",
        architecture: "granitehybrid",
        layers: 40,
        context: 131_072,
        hidden: 4096,
        heads: 32,
        attention: Attention::Mixed(Mixed {
            kinds: "MMMMM*MMMM",
            kv_heads: 8,
            width: 128,
            mamba: Mamba { heads: 128, width: 64, groups: 1, state: 128 },
            ..MIXED
        }),
        dense: 768,
        experts: Some(Experts { count: 72, used: 10, shared: 2, width: 768, ..EXPERTS }),
        vocabulary: 100_352,
        family: &GRANITE4,
        ..BASE
    },
    // nvidia/NVIDIA-Nemotron-Nano-9B-v2, config.json
    Preset {
        name: "nemotron-nano-9b-v2",
        architecture: "nemotron_h",
        layers: 56,
        context: 131_072,
        hidden: 4480,
        heads: 40,
        attention: Attention::Mixed(Mixed {
            kinds: "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-",
            kv_heads: 8,
            width: 128,
            mamba: Mamba { heads: 128, width: 80, groups: 8, state: 128 },
            ..MIXED
        }),
        dense: 15_680,
        vocabulary: 131_072,
        family: &NEMOTRON,
        tied: false,
        ..BASE
    },
    // nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16, config.json
    Preset {
        name: "nemotron-3-nano-30b-a3b",
        architecture: "nemotron_h_moe",
        layers: 52,
        context: 262_144,
        hidden: 2688,
        heads: 32,
        attention: Attention::Mixed(Mixed {
            kinds: "M-M-M*-M-M-M*-M-M-M*-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M-",
            kv_heads: 2,
            width: 128,
            mamba: Mamba { heads: 64, width: 64, groups: 8, state: 128 },
            ..MIXED
        }),
        dense: 0,
        experts: Some(Experts {
            count: 128,
            used: 6,
            shared: 2,
            width: 1856,
            gating: Gating::Sigmoid,
            scale: 2.5,
            ..EXPERTS
        }),
        vocabulary: 131_072,
        family: &NEMOTRON,
        tied: false,
        ..BASE
    },
];

pub(super) const MIXED_TINY: &[Preset] = &[
    // Experts after a dense layer.
    Preset {
        name: "lfm2moe-tiny",
        architecture: "lfm2moe",
        layers: 2,
        attention: Attention::Mixed(Mixed { kinds: "C*", ..MIXED }),
        experts: Some(Experts { leading_dense: 1, gating: Gating::Sigmoid, ..EXPERTS }),
        ..BASE
    },
    // Experts and a shared one.
    Preset {
        name: "granitehybrid-tiny",
        architecture: "granitehybrid",
        attention: Attention::Mixed(Mixed {
            kinds: "M*",
            mamba: Mamba { heads: 4, width: 32, groups: 1, state: 16 },
            ..MIXED
        }),
        dense: 32,
        experts: Some(Experts { shared: 1, ..EXPERTS }),
        family: &GRANITE4,
        ..BASE
    },
    // A small Nemotron 3 Super, whose experts have a narrow input.
    Preset {
        name: "nemotron_h_moe-tiny",
        architecture: "nemotron_h_moe",
        layers: 4,
        attention: Attention::Mixed(Mixed {
            kinds: "M-*-",
            mamba: Mamba { heads: 4, width: 32, groups: 2, state: 16 },
            latent: 32,
            ..MIXED
        }),
        dense: 0,
        experts: Some(Experts { shared: 1, gating: Gating::Sigmoid, scale: 2.5, ..EXPERTS }),
        family: &NEMOTRON,
        tied: false,
        ..BASE
    },
];

pub(super) const MIXED_ODD: &[Preset] = &[
    // Three query heads share one of keys.
    Preset {
        name: "lfm2-odd",
        architecture: "lfm2",
        layers: 3,
        hidden: 96,
        heads: 3,
        attention: Attention::Mixed(Mixed { kinds: "CC*", ..MIXED }),
        dense: 160,
        rope_base: 1e6,
        vocabulary: 307,
        ..BASE
    },
    // Two heads of keys, whose values are not as many as those of a head.
    Preset {
        name: "granitehybrid-odd",
        architecture: "granitehybrid",
        layers: 3,
        hidden: 96,
        heads: 3,
        attention: Attention::Mixed(Mixed {
            kinds: "M*M",
            mamba: Mamba { heads: 6, width: 32, groups: 2, state: 24 },
            ..MIXED
        }),
        dense: 160,
        vocabulary: 307,
        family: &GRANITE4,
        ..BASE
    },
    // Heads that together are wider than the hidden state, and sizes that are no multiples of 32.
    Preset {
        name: "nemotron_h-odd",
        architecture: "nemotron_h",
        layers: 5,
        hidden: 96,
        heads: 3,
        attention: Attention::Mixed(Mixed {
            kinds: "M-*-M",
            width: 64,
            mamba: Mamba { heads: 6, width: 24, groups: 3, state: 20 },
            ..MIXED
        }),
        dense: 160,
        vocabulary: 307,
        family: &NEMOTRON,
        tied: false,
        ..BASE
    },
];
