//! The shapes of models with heads of two sizes (Gemma 4), published, tiny and odd.

use super::shape::{Attention, Experts, Gating, Gemma4, Preset};
use crate::synth::vocabulary::GEMMA4;

/// The common part of all published models.
const REAL: Preset = Preset {
    name: "",
    architecture: "gemma4",
    layers: 0,
    context: 262_144,
    hidden: 0,
    heads: 0,
    attention: Attention::Gemma4(WHOLE),
    dense: 0,
    experts: None,
    rms_eps: 1e-6,
    rope_base: 1e6,
    yarn: None,
    long_rope: None,
    window: Some(1024),
    vocabulary: 262_144,
    family: &GEMMA4,
    tied: true,
};

/// The heads of the larger models, most of them.
const WHOLE: Gemma4 = Gemma4 {
    kv_heads: [8, 1],
    widths: [256, 512],
    interval: 6,
    keyed: true,
    shared: 0,
    double: false,
    per_layer: 0,
    cap: 30.0,
};

pub(super) const GEMMA4_REAL: &[Preset] = &[
    // google/gemma-4-E2B-it, config.json: the text's part
    Preset {
        name: "gemma-4-e2b",
        layers: 35,
        context: 131_072,
        hidden: 1536,
        heads: 8,
        attention: Attention::Gemma4(Gemma4 {
            kv_heads: [1, 1],
            interval: 5,
            keyed: false,
            shared: 20,
            double: true,
            per_layer: 256,
            ..WHOLE
        }),
        dense: 6144,
        window: Some(512),
        ..REAL
    },
    // google/gemma-4-E4B-it, config.json: the text's part
    Preset {
        name: "gemma-4-e4b",
        layers: 42,
        context: 131_072,
        hidden: 2560,
        heads: 8,
        attention: Attention::Gemma4(Gemma4 {
            kv_heads: [2, 2],
            keyed: false,
            shared: 18,
            per_layer: 256,
            ..WHOLE
        }),
        dense: 10_240,
        window: Some(512),
        ..REAL
    },
    // google/gemma-4-12B-it, config.json: the text's part
    Preset { name: "gemma-4-12b", layers: 48, hidden: 3840, heads: 16, dense: 15_360, ..REAL },
    // google/gemma-4-26B-A4B-it, config.json: the text's part
    Preset {
        name: "gemma-4-26b-a4b",
        layers: 30,
        hidden: 2816,
        heads: 16,
        attention: Attention::Gemma4(Gemma4 { kv_heads: [8, 2], ..WHOLE }),
        dense: 2112,
        experts: Some(Experts { count: 128, used: 8, width: 704, ..EXPERTS }),
        ..REAL
    },
    // google/gemma-4-31B-it, config.json: the text's part
    Preset {
        name: "gemma-4-31b",
        layers: 60,
        hidden: 5376,
        heads: 32,
        attention: Attention::Gemma4(Gemma4 { kv_heads: [16, 4], ..WHOLE }),
        dense: 21_504,
        ..REAL
    },
];

/// Experts and a dense network in every layer.
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

pub(super) const GEMMA4_TINY: &[Preset] = &[
    // A small 26B-A4B: heads as wide as those of all published models, values from keys where there is no window, experts, and a bound
    // of logits that acts.
    Preset {
        name: "gemma4-tiny",
        layers: 2,
        context: 4096,
        hidden: 64,
        heads: 2,
        attention: Attention::Gemma4(Gemma4 { kv_heads: [2, 1], interval: 2, cap: 4.0, ..WHOLE }),
        dense: 64,
        experts: Some(EXPERTS),
        window: Some(12),
        vocabulary: 373,
        ..REAL
    },
];

pub(super) const GEMMA4_ODD: &[Preset] = &[
    // A small E2B: embeddings for each layer, and last layers that read the cache of others, with wider networks.
    Preset {
        name: "gemma4-odd",
        layers: 4,
        context: 4096,
        hidden: 64,
        heads: 3,
        attention: Attention::Gemma4(Gemma4 {
            kv_heads: [1, 3],
            widths: [32, 64],
            interval: 2,
            keyed: false,
            shared: 2,
            double: true,
            per_layer: 16,
            cap: 5.0,
        }),
        dense: 64,
        window: Some(7),
        vocabulary: 379,
        ..REAL
    },
];
