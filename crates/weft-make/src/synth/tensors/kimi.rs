//! The tensors of Kimi delta attention.

use super::{SIGMOID, Tensors};
use crate::synth::preset::{Delta, Preset};
use crate::synth::weights::Distribution;

/// The kinds of such layers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Narrow matrices between hidden state and gates, and rates as in models before training.
    Kimi,
    /// One matrix for each gate, and smaller rates, so that heads forget as slowly under a bound.
    Ling,
    /// Narrow matrices, and the rates of Ling below zero.
    Next,
}

impl Tensors<'_> {
    /// Kimi delta attention, as Kimi has it.
    pub(super) fn kimi_delta(&mut self, layer: u32, width: u32) {
        self.delta_of(Kind::Kimi, layer, width);
    }

    /// The same as Ling has it.
    pub(super) fn ling_delta(&mut self, layer: u32, width: u32) {
        self.delta_of(Kind::Ling, layer, width);
    }

    /// The same as GLM-5.3-Flash has it.
    pub(super) fn next_delta(&mut self, layer: u32, width: u32) {
        self.delta_of(Kind::Next, layer, width);
    }

    fn delta_of(&mut self, kind: Kind, layer: u32, width: u32) {
        let &Preset { hidden, heads, .. } = self.preset;
        let name = |tensor: &str| format!("blk.{layer}.{tensor}.weight");
        let inner = heads * width;
        for which in ["q", "k", "v"] {
            self.matrix(&name(&format!("attn_{which}")), &[hidden, inner], hidden, 1.0);
            let taps = Delta::CONVOLUTION;
            self.matrix(&name(&format!("ssm_conv1d_{which}")), &[taps, 1, inner], taps, 1.0);
        }
        // The part of the time step that depends on the token has a small gain.
        for (which, gain) in [("f", 0.5), ("g", 1.0)] {
            let (first, second) = (name(&format!("ssm_{which}_a")), name(&format!("ssm_{which}_b")));
            if kind == Kind::Ling {
                self.matrix(&first, &[hidden, inner], hidden, gain);
            } else {
                self.matrix(&first, &[hidden, width], hidden, 1.0);
                self.matrix(&second, &[width, inner], width, gain);
            }
        }
        let (steps, rates, shape) = match kind {
            Kind::Kimi => ([-6.9, -2.25], Distribution::Octaves, vec![1, heads]),
            Kind::Ling => ([-5.0, -1.5], Distribution::Uniform { from: 0.6, to: 2.0 }, vec![1, heads]),
            Kind::Next => ([-5.0, -1.5], Distribution::Uniform { from: -2.0, to: -0.6 }, vec![heads]),
        };
        let steps = Distribution::Uniform { from: steps[0], to: steps[1] };
        self.add(&format!("blk.{layer}.ssm_dt.bias"), &[inner], steps);
        self.add(&format!("blk.{layer}.ssm_a"), &shape, rates);
        self.matrix(&name("ssm_beta"), &[hidden, heads], hidden, 1.0);
        self.norm(&name("ssm_norm"), width, 1.0);
        self.matrix(&name("attn_output"), &[inner, hidden], inner, self.damping() / SIGMOID);
    }
}
