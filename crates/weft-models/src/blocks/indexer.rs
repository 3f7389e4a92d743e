//! The lightning indexer of sparse attention (DeepSeek-V3.2, 2025, <https://arxiv.org/abs/2512.02556>, section 2.1): a few small heads
//! choose the positions that a token attends to.
//!
//! ```text
//! q = W_q c, k = LayerNorm(W_k x), w = W_w x / √(d · H)     c is the compressed query of latent attention; H heads of d values
//! score(p) = Σ_h w_h · max(q_h · k_p, 0)                    over the cached keys
//! ```
//!
//! The first values of q and k are rotated. Keys have a cache of their own, a row of d values a token.
//!
//! In GLM-5.3-Flash some neighbouring positions, a pool, share a key, and nothing is rotated:
//!
//! ```text
//! key of a pool = Σ_j softmax_j(g_j + ape_j) · k_j              g = W_g x; a softmax over the positions j of the pool for each channel
//! ```
//!
//! Only complete pools have scores. A short convolution with the weights 0 and 1 gives a token the k and g of those before it, so the
//! sequence's state is that of an unfinished pool, and it is kept, cut back and restored like those of other convolutions. Every token
//! stores the key of the last positions up to its own; the indexer reads that of the last position of each pool.

use weft_ir::{Dim, NodeId, Recurrence};

use super::hadamard::Hadamard;
use super::{Norm, Rope, linear};
use crate::error::Error;
use crate::keys::{Keys, MAX_CONTEXT, MAX_HEAD_WIDTH, MAX_HEADS};
use crate::segment::SegmentBuilder;

/// ε of the keys' LayerNorm. No key says it. (llama.cpp has 1e-6 for `deepseek32` and by oversight 0 for `glm-dsa`, whose reference has
/// 1e-6 as well.)
const EPS: f32 = 1e-6;

/// The most positions of a pool. (Published models have 4.)
const MAX_POOL: usize = 16;

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
    /// The positions that share a key; 1 if each has its own.
    pub(crate) pool: usize,
    /// ε of the keys' LayerNorm.
    pub(crate) eps: f32,
    /// The rotary embedding of the first values, if they are rotated.
    pub(crate) rope: Option<Rope>,
}

/// The positions that a layer attends to.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Positions {
    /// All.
    All,
    /// Those that the layer's indexer chooses. `lends` says whether later layers read its list.
    Chosen { indexer: Indexer, lends: bool },
    /// Those of the last indexer before the layer, at most so many, in pools of so many.
    Borrowed { most: usize, pool: usize },
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
        let most = most.min(context);
        Ok(Indexer { hidden, rank, heads, width, most, pool: 1, eps: EPS, rope: Some(rope) })
    }

    /// Reads the keys of an indexer of pools, beside queries of rank `rank`; `page` is the rows of a page of the cache.
    pub(crate) fn read_pooled(
        keys: &Keys<'_>,
        hidden: usize,
        rank: usize,
        (context, page): (usize, usize),
    ) -> Result<Indexer, Error> {
        const POOL: &str = "attention.indexer.kpool";
        const MOST: &str = "attention.indexer.top_k";
        const TAIL: &str = "attention.indexer.kpool_select_tail";
        // Some writers call it the size of a block.
        let pool = match keys.number_opt("attention.indexer.block_size", 2..=MAX_POOL)? {
            Some(size) if keys.u32(POOL)?.is_none() => size,
            _ => keys.number(POOL, 2..=MAX_POOL)?,
        };
        if !page.is_multiple_of(pool) {
            return Err(keys.unsupported(POOL, pool, format!("it must divide the rows of a page, {page}")));
        }
        // Without them, the first tokens would see nothing.
        if !keys.metadata.require_bool(&keys.name(TAIL))? {
            return Err(keys.unsupported(TAIL, false, "it can only be true"));
        }
        let most = keys.number(MOST, pool..=MAX_CONTEXT)?;
        if !most.is_multiple_of(pool) {
            return Err(keys.wrong(MOST, most, format!("it must be a multiple of {POOL}, {pool}")));
        }
        Ok(Indexer {
            hidden,
            rank,
            heads: keys.number("attention.indexer.head_count", 1..=MAX_HEADS)?,
            width: keys.number("attention.indexer.key_length", 1..=MAX_HEAD_WIDTH)?,
            most: most.min(context.next_multiple_of(pool)),
            pool,
            eps: keys.positive_opt("attention.layer_norm_epsilon")?.unwrap_or(EPS),
            rope: None,
        })
    }

    /// The positions for the normed hidden state `x` and the compressed query: `i32[T, most]`. Keys are stored in the state `index`.
    fn build(&self, s: &mut SegmentBuilder<'_>, x: NodeId, compressed: NodeId) -> Result<NodeId, Error> {
        let Indexer { hidden, rank, heads, width, most, pool, .. } = *self;
        let q = linear(s, compressed, "indexer.attn_q_b", rank, heads * width)?;
        let q = s.g.reshape(q, [Dim::T, heads.into(), width.into()]);
        let q = self.rope.iter().fold(q, |q, rope| rope.apply(s, q, 3, width));
        let k = linear(s, x, "indexer.attn_k", hidden, width)?;
        let k = self.norm(s, k)?;
        let k = self.rope.iter().fold(k, |k, rope| rope.apply(s, k, 2, width));
        let k = if pool > 1 { self.pooled(s, x, k)? } else { k };
        let w = linear(s, x, "indexer.proj", hidden, heads)?;
        let scale = s.g.scalar((1.0 / ((width * heads) as f64).sqrt()) as f32);
        let w = s.g.mul(w, scale);
        s.check_blocks(width)?;
        let hadamard = Hadamard::new(s, &[width]);
        let (q, k) = (hadamard.apply(s, q, &[heads, width]), hadamard.apply(s, k, &[width]));
        let keys = s.store_choice("index", k, width);
        let lists = [s.per_token("pos"), s.per_token("first"), s.pages()];
        Ok(s.g.indexer_of_pools((q, w), keys, lists, (most, pool), s.options.page))
    }

    /// The key of the pool that ends with each token, `[T, width]`. The pool's other keys and their gates are in the state `pool`.
    fn pooled(&self, s: &mut SegmentBuilder<'_>, x: NodeId, k: NodeId) -> Result<NodeId, Error> {
        let Indexer { hidden, width, pool, .. } = *self;
        let gate = linear(s, x, "indexer_compressor_gate", hidden, width)?;
        let offsets = s.plain_matrix("indexer_compressor_ape.weight", &[pool, width])?;
        let (both, before) = (2 * width, pool - 1);
        // Head j of the convolution has the row of the pool's position j.
        let heads = s.g.concat(&[k, gate].repeat(before), 1);
        let heads = s.g.reshape(heads, [Dim::T, before.into(), both.into()]);
        let weight = |i: usize| f32::from(u8::from(i % pool == i / pool / both));
        let weights = s.g.vector(&(0..before * both * pool).map(weight).collect::<Vec<f32>>());
        let weights = s.g.reshape(weights, [before * both, pool].map(Dim::Const));
        let rows = s.scan("pool", Recurrence::Convolution, &[heads, weights]);
        let (mut keys, mut logits) = (Vec::new(), Vec::new());
        for j in 0..pool {
            let [key, gate] = if j == before {
                [k, gate]
            } else {
                let row = s.g.slice(rows, 1, j, 1);
                let row = s.g.reshape(row, [Dim::T, both.into()]);
                [0, width].map(|start| s.g.slice(row, 1, start, width))
            };
            let offset = s.g.slice(offsets, 0, j, 1);
            logits.push((gate, offset));
            keys.push(key);
        }
        // Relative to the first, which makes them one row program.
        let (gate, offset) = logits[0];
        let first = s.g.add(gate, offset);
        let mut relative = vec![s.g.sub(first, first)];
        for (gate, offset) in &logits[1..] {
            let gate = s.g.sub(*gate, first);
            relative.push(s.g.add(gate, *offset));
        }
        let top = relative[1..].iter().fold(relative[0], |top, logit| s.g.max(top, *logit));
        let powers: Vec<NodeId> = relative
            .into_iter()
            .map(|logit| {
                let below = s.g.sub(logit, top);
                s.g.exp(below)
            })
            .collect();
        let total = powers[1..].iter().fold(powers[0], |sum, power| s.g.add(sum, *power));
        let parts: Vec<NodeId> = powers
            .into_iter()
            .zip(keys)
            .map(|(power, key)| {
                let share = s.g.div(power, total);
                s.g.mul(share, key)
            })
            .collect();
        Ok(parts[1..].iter().fold(parts[0], |sum, part| s.g.add(sum, *part)))
    }

    /// LayerNorm of a key: `(k − mean) / √(variance + ε) · weight + bias`.
    fn norm(&self, s: &mut SegmentBuilder<'_>, k: NodeId) -> Result<NodeId, Error> {
        let norm = Norm { eps: self.eps, centred: true };
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
            (Positions::Borrowed { most, pool }, _) => Ok(Some(s.lists(LIST, most + pool - 1))),
            (Positions::All | Positions::Chosen { .. }, _) => Ok(None),
        }
    }

    /// The positions of a pool of the list.
    pub(crate) fn pool(&self) -> usize {
        match self {
            Positions::All => 1,
            Positions::Chosen { indexer, .. } => indexer.pool,
            Positions::Borrowed { pool, .. } => *pool,
        }
    }

    /// Words for display, after those of attention.
    pub(crate) fn summary(&self) -> Option<String> {
        match self {
            Positions::All => None,
            Positions::Chosen { indexer: Indexer { heads, width, most, pool, .. }, .. } => {
                let pools = if *pool > 1 { format!(" in pools of {pool}") } else { String::new() };
                Some(format!("{most} positions chosen{pools} by {heads} heads of {width}"))
            }
            Positions::Borrowed { most, .. } => {
                Some(format!("the {most} positions of the last layer that chose"))
            }
        }
    }
}
