//! The tensors of Gemma 4.
//!
//! Norms of queries give scores their deviation, as there is no other factor: of heads of `d` values, that of the products is `√d` times
//! those of both norms. A router sees values over the root of their number, which its scale undoes.

use super::{ATTENTION, Tensors};
use crate::synth::preset::{Gemma4, Preset};
use crate::synth::weights::Distribution;

/// The deviation of values near 1 that must not be taken for 1.
const SCALES: f32 = 0.2;

/// One of this many pairs of a head without a window is rotated. The frequencies of the others are divided by [`NOT_ROTATED`], so that
/// their rotation is 0 in floats.
const ROTATED: u32 = 4;
const NOT_ROTATED: f32 = 1e30;

impl Tensors<'_> {
    /// The tensors of the embedding of a token for each layer.
    pub(super) fn per_layer_embeddings(&mut self, gemma: &Gemma4) {
        let &Preset { hidden, vocabulary, .. } = self.preset;
        let all = gemma.per_layer * self.types.layers;
        self.matrix("per_layer_token_embd.weight", &[all, vocabulary], gemma.per_layer, 1.0);
        self.matrix("per_layer_model_proj.weight", &[hidden, all], hidden, 1.0);
        self.norm("per_layer_proj_norm.weight", gemma.per_layer, 1.0);
    }

    /// The factors of rotary frequencies, for layers without a window.
    pub(super) fn gemma4_factors(&mut self, gemma: &Gemma4) {
        let pairs = gemma.widths[1] / 2;
        let distribution = Distribution::Steps { ones: pairs / ROTATED, rest: NOT_ROTATED };
        self.add("rope_freqs.weight", &[pairs], distribution);
    }

    /// Attention.
    pub(super) fn gemma4_attention(&mut self, layer: u32, gemma: &Gemma4) {
        let &Preset { hidden, heads, .. } = self.preset;
        let layers = self.types.layers;
        let name = |tensor: &str| format!("blk.{layer}.{tensor}.weight");
        let sees_all = gemma.sees_all(layer, layers);
        let [width, kv_heads] = [gemma.widths, gemma.kv_heads].map(|of| of[usize::from(sees_all)]);
        self.matrix(&name("attn_q"), &[hidden, heads * width], hidden, 1.0);
        self.norm(&name("attn_q_norm"), width, ATTENTION / (width as f32).sqrt());
        // Layers that read the cache of another have these too, and do not use them.
        self.matrix(&name("attn_k"), &[hidden, kv_heads * width], hidden, 1.0);
        self.norm(&name("attn_k_norm"), width, 1.0);
        if !(sees_all && gemma.keyed) {
            self.matrix(&name("attn_v"), &[hidden, kv_heads * width], hidden, 1.0);
        }
        self.matrix(&name("attn_output"), &[heads * width, hidden], heads * width, 1.0);
        self.norm(&name("post_attention_norm"), hidden, self.damping());
    }

    /// The tensors of the feed-forward network, of the branch that adds this layer's embedding, and the scale of the layer.
    pub(super) fn gemma4_network(&mut self, layer: u32, gemma: &Gemma4) {
        let &Preset { hidden, dense, layers: usual, .. } = self.preset;
        let layers = self.types.layers;
        let name = |tensor: &str| format!("blk.{layer}.{tensor}.weight");
        let scale = |mean: f32| Distribution::Normal { mean, deviation: SCALES * mean };
        let is_double = gemma.double && layer >= gemma.own(layers, usual);
        self.norm(&name("ffn_norm"), hidden, 1.0);
        self.gated(layer, "", if is_double { 2 * dense } else { dense }, &[]);
        if let Some(experts) = self.preset.experts {
            for norm in ["post_ffw_norm_1", "pre_ffw_norm_2", "post_ffw_norm_2"] {
                self.norm(&name(norm), hidden, 1.0);
            }
            self.matrix(&name("ffn_gate_inp"), &[hidden, experts.count], hidden, 2.0);
            self.add(&format!("blk.{layer}.ffn_gate_inp.scale"), &[hidden], scale((hidden as f32).sqrt()));
            self.gated(layer, "_exps", experts.width, &[experts.count]);
            self.add(&format!("blk.{layer}.ffn_down_exps.scale"), &[experts.count], scale(1.0));
        }
        self.norm(&name("post_ffw_norm"), hidden, self.damping());
        if gemma.per_layer > 0 {
            self.matrix(&name("inp_gate"), &[hidden, gemma.per_layer], hidden, 1.0);
            self.matrix(&name("proj"), &[gemma.per_layer, hidden], gemma.per_layer, 1.0);
            // The third branch of a layer.
            self.norm(&name("post_norm"), hidden, 0.5 * self.damping());
        }
        self.add(&name("layer_output_scale"), &[1], scale(1.0));
    }
}
