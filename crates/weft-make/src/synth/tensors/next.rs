//! The tensors of residual streams, and of an indexer of pools.

use super::{BIAS, Tensors};
use crate::synth::preset::Next;
use crate::synth::weights::Distribution;

/// The streams, and the values of a token around a branch.
const STREAMS: u32 = 4;
const VALUES: u32 = 24;

impl Tensors<'_> {
    /// What mixes the streams around the branch `which` of a layer. With these values a token's weights are between a quarter and three
    /// quarters of their range, and differ between streams.
    pub(super) fn streams(&mut self, layer: u32, which: &str) {
        let width = STREAMS * self.preset.hidden;
        let name = |tensor: &str| format!("blk.{layer}.hc_{which}_{tensor}.weight");
        self.matrix(&name("fn"), &[width, VALUES], width, 1.0);
        self.add(&name("base"), &[VALUES], Distribution::Normal { mean: 0.0, deviation: BIAS });
        self.add(&name("scale"), &[3], Distribution::Uniform { from: 0.5, to: 1.0 });
    }

    /// What makes one key of those of a pool.
    pub(super) fn pools(&mut self, layer: u32, next: &Next) {
        let &Next { indexer, pool, .. } = next;
        let hidden = self.preset.hidden;
        let name = |tensor: &str| format!("blk.{layer}.indexer_compressor_{tensor}.weight");
        self.matrix(&name("gate"), &[hidden, indexer.width], hidden, 1.0);
        let offsets = Distribution::Normal { mean: 0.0, deviation: BIAS };
        self.add(&name("ape"), &[indexer.width, pool], offsets);
    }
}
