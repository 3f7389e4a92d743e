//! The tensors of models with layers of several kinds.

use super::Tensors;
use crate::synth::preset::{Mamba, Mixed};
use crate::synth::weights::Distribution;

impl Tensors<'_> {
    /// The attention of a layer, or what is in its place.
    pub(super) fn mixed(&mut self, layer: u32, mixed: &Mixed) {
        match mixed.kind(layer) {
            b'*' => {
                let is_normed = self.preset.architecture.starts_with("lfm2");
                self.grouped(layer, mixed.kv_heads, mixed.width, false, is_normed);
            }
            b'M' => self.mamba(layer, &mixed.mamba),
            b'C' => self.short_convolution(layer),
            _ => {}
        }
    }

    /// Mamba-2, whose time steps are those of the delta rule.
    fn mamba(&mut self, layer: u32, mamba: &Mamba) {
        let hidden = self.preset.hidden;
        let (inner, channels, heads) = (mamba.inner(), mamba.channels(), mamba.heads);
        let name = |tensor: &str| format!("blk.{layer}.{tensor}.weight");
        self.matrix(&name("ssm_in"), &[hidden, inner + channels + heads], hidden, 1.0);
        let taps = Mamba::CONVOLUTION;
        self.matrix(&name("ssm_conv1d"), &[taps, channels], taps, 1.0);
        self.bias(&format!("blk.{layer}.ssm_conv1d.bias"), &[channels], 1.0);
        let steps = Distribution::Uniform { from: -6.9, to: -2.25 };
        self.add(&format!("blk.{layer}.ssm_dt.bias"), &[heads], steps);
        self.add(&format!("blk.{layer}.ssm_a"), &[1, heads], Distribution::Octaves);
        let near_one = Distribution::Normal { mean: 1.0, deviation: 0.05 };
        self.add(&format!("blk.{layer}.ssm_d"), &[1, heads], near_one);
        self.add(&name("ssm_norm"), &[inner / mamba.groups, mamba.groups], near_one);
        self.matrix(&name("ssm_out"), &[inner, hidden], inner, self.damping());
    }

    /// A gated short convolution. The product of its three factors has variance 1.
    fn short_convolution(&mut self, layer: u32) {
        let hidden = self.preset.hidden;
        let name = |tensor: &str| format!("blk.{layer}.shortconv.{tensor}.weight");
        let taps = Mixed::CONVOLUTION;
        self.matrix(&name("in_proj"), &[hidden, 3 * hidden], hidden, 1.0);
        self.matrix(&name("conv"), &[taps, hidden], taps, 1.0);
        self.matrix(&name("out_proj"), &[hidden, hidden], hidden, self.damping());
    }
}
