//! The shapes of families whose layers differ little from those of `llama`: by norms, factors, and layers with a window or without
//! positions. What their keys and tensors are follows from the architecture (`tensors/plain.rs`).

mod odd;
mod real;
mod tiny;

use super::shape::{Attention, Experts, Gating, Preset};
use crate::synth::vocabulary::GLM;

pub(super) use odd::PLAIN_ODD;
pub(super) use real::PLAIN_REAL;
pub(super) use tiny::PLAIN_TINY;

/// The common part of most of them.
const BASE: Preset = Preset {
    name: "",
    architecture: "",
    layers: 2,
    context: 1024,
    hidden: 64,
    heads: 2,
    attention: Attention::Grouped { kv_heads: 1, width: 32, bias: false, qk_norm: false, rotated: None },
    dense: 96,
    experts: None,
    rms_eps: 1e-5,
    rope_base: 1e4,
    yarn: None,
    long_rope: None,
    window: None,
    vocabulary: 320,
    family: &GLM,
    tied: false,
};

/// The common part of all of their experts.
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
