//! The lightning indexer of sparse attention (DeepSeek-V3.2, 2025, <https://arxiv.org/abs/2512.02556>, section 2.1): a few small heads
//! choose the positions that a token attends to.
//!
//! ```text
//! q = W_q c, k = LayerNorm(W_k x), w = W_w x / √(d · H)     c is the compressed query of latent attention; H heads of d values
//! score(p) = Σ_h w_h · max(q_h · k_p, 0)                    over the cached keys
//! ```
//!
//! The first values of q and k are rotated. Keys have a cache of their own, a row of d values a token.

use weft_ir::{Dim, NodeId};

use super::hadamard::Hadamard;
use super::{Norm, Rope, linear};
use crate::error::Error;
use crate::keys::{Keys, MAX_CONTEXT, MAX_HEAD_WIDTH, MAX_HEADS};
use crate::segment::SegmentBuilder;

/// ε of the keys' LayerNorm. No key says it. (llama.cpp has 1e-6 for `deepseek32` and by oversight 0 for `glm-dsa`, whose reference has
/// 1e-6 as well.)
const EPS: f32 = 1e-6;

/// The name of the list, as a value that later layers read.
const LIST: &str = "list";

/// The indexer, which chooses the positions that a token attends to.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Indexer {
    /// Width of the hidden state.
    pub(crate) hidden: usize,
    /// Width of the compressed query.
    pub(crate) rank: usize,
    /// Heads.
    pub(crate) heads: usize,
    /// Width of a head's query and of a key.
    pub(crate) width: usize,
    /// The most positions that are chosen.
    pub(crate) most: usize,
    /// The rotary embedding of the first values.
    pub(crate) rope: Rope,
}

/// The positions that a layer attends to.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Positions {
    /// All.
    All,
    /// Those that the layer's indexer chooses. `lends` says whether later layers read its list.
    Chosen { indexer: Indexer, lends: bool },
    /// Those of the last indexer before the layer, at most so many.
    Borrowed(usize),
}

impl Indexer {
    /// Reads the keys of an indexer that rotates as `rope` says, beside queries of rank `rank`.
    pub(crate) fn read(
        keys: &Keys<'_>,
        hidden: usize,
        rank: usize,
        context: usize,
        rope: Rope,
    ) -> Result<Indexer, Error> {
        const WIDTH: &str = "attention.indexer.key_length";
        let width = keys.number(WIDTH, 2..=MAX_HEAD_WIDTH)?;
        if width < rope.dims {
            let rule = format!("it must be at least rope.dimension_count, {}", rope.dims);
            return Err(keys.wrong(WIDTH, width, rule));
        }
        let most = keys.number("attention.indexer.top_k", 1..=MAX_CONTEXT)?;
        let heads = keys.number("attention.indexer.head_count", 1..=MAX_HEADS)?;
        Ok(Indexer { hidden, rank, heads, width, most: most.min(context), rope })
    }

    /// The positions for the normed hidden state `x` and the compressed query: `i32[T, most]`. Keys are stored in the state `index`.
    fn build(&self, s: &mut SegmentBuilder<'_>, x: NodeId, compressed: NodeId) -> Result<NodeId, Error> {
        let Indexer { hidden, rank, heads, width, most, .. } = *self;
        let q = linear(s, compressed, "indexer.attn_q_b", rank, heads * width)?;
        let q = s.g.reshape(q, [Dim::T, heads.into(), width.into()]);
        let q = self.rope.apply(s, q, 3, width);
        let k = linear(s, x, "indexer.attn_k", hidden, width)?;
        let k = self.norm(s, k)?;
        let k = self.rope.apply(s, k, 2, width);
        let w = linear(s, x, "indexer.proj", hidden, heads)?;
        let scale = s.g.scalar((1.0 / ((width * heads) as f64).sqrt()) as f32);
        let w = s.g.mul(w, scale);
        s.check_blocks(width)?;
        let hadamard = Hadamard::new(s, &[width]);
        let (q, k) = (hadamard.apply(s, q, &[heads, width]), hadamard.apply(s, k, &[width]));
        let keys = s.store("index", k, width);
        let lists = [s.per_token("pos"), s.per_token("first"), s.pages()];
        Ok(s.g.indexer((q, w), keys, lists, most, s.options.page))
    }

    /// LayerNorm of a key: `(k − mean) / √(variance + ε) · weight + bias`.
    fn norm(&self, s: &mut SegmentBuilder<'_>, k: NodeId) -> Result<NodeId, Error> {
        let norm = Norm { eps: EPS, centred: true };
        let scaled = norm.build(s, k, "indexer.k_norm.weight", 1, self.width)?;
        let bias = s.vector("indexer.k_norm.bias", self.width)?;
        Ok(s.g.add(scaled, bias))
    }
}

impl Positions {
    /// The list of positions, if not all are attended to.
    pub(crate) fn list(
        &self,
        s: &mut SegmentBuilder<'_>,
        x: NodeId,
        compressed: Option<NodeId>,
    ) -> Result<Option<NodeId>, Error> {
        match (self, compressed) {
            (Positions::Chosen { indexer, lends }, Some(compressed)) => {
                let list = indexer.build(s, x, compressed)?;
                if *lends {
                    s.g.output(LIST, list);
                }
                Ok(Some(list))
            }
            (Positions::Borrowed(most), _) => Ok(Some(s.lists(LIST, *most))),
            (Positions::All | Positions::Chosen { .. }, _) => Ok(None),
        }
    }

    /// Words for display, after those of attention.
    pub(crate) fn summary(&self) -> Option<String> {
        match self {
            Positions::All => None,
            Positions::Chosen { indexer: Indexer { heads, width, most, .. }, .. } => {
                Some(format!("{most} positions chosen by {heads} heads of {width}"))
            }
            Positions::Borrowed(most) => Some(format!("the {most} positions of the last layer that chose")),
        }
    }
}
