//! The tensors of an indexer.

use super::{BIAS, Tensors};
use crate::synth::preset::{Indexer, Latent};
use crate::synth::weights::Distribution;

impl Tensors<'_> {
    /// The tensors of a layer's indexer. With gains of 1 the scores of positions are as far apart as those of a head.
    pub(super) fn indexer(&mut self, layer: u32, latent: Latent, indexer: Indexer) {
        let hidden = self.preset.hidden;
        let Indexer { heads, width, .. } = indexer;
        let rank = latent.q_rank.unwrap_or(hidden);
        let name = |tensor: &str| format!("blk.{layer}.indexer.{tensor}");
        self.norm(&name("k_norm.weight"), width, 1.0);
        // Large enough to matter, since the norm removes the mean of a key.
        self.add(&name("k_norm.bias"), &[width], Distribution::Normal { mean: 0.0, deviation: BIAS });
        self.matrix(&name("proj.weight"), &[hidden, heads], hidden, 1.0);
        self.matrix(&name("attn_k.weight"), &[hidden, width], hidden, 1.0);
        self.matrix(&name("attn_q_b.weight"), &[rank, heads * width], rank, 1.0);
    }
}
