//! The parameters of a model that a preset sets.

use crate::synth::vocabulary::Family;

/// The shape of a model.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// `general.architecture`.
    pub architecture: &'static str,
    /// The default number of layers: the real model's.
    pub layers: u32,
    /// The maximum context in tokens, as stated in the metadata.
    pub(crate) context: u32,
    /// The width of the hidden state.
    pub(crate) hidden: u32,
    /// The number of query heads.
    pub(crate) heads: u32,
    /// Its attention.
    pub(crate) attention: Attention,
    /// The width of a dense layer's feed-forward network; 0 if there is none, and no key for it.
    pub(crate) dense: u32,
    /// The experts of the other layers; `None` if all layers are dense.
    pub(crate) experts: Option<Experts>,
    /// The ε of every RMSNorm.
    pub(crate) rms_eps: f32,
    /// The base θ of the rotary embedding.
    pub(crate) rope_base: f32,
    /// The scaling of the rotary embedding.
    pub(crate) yarn: Option<Yarn>,
    /// The original context, in tokens, if the model has factors for the rotary embedding in longer ones (LongRoPE).
    pub(crate) long_rope: Option<u32>,
    /// The most positions that a token sees in layers with a window: all layers but every second (gpt-oss), fourth or sixth (Gemma 3).
    /// `None` if no layer has a window.
    pub(crate) window: Option<u32>,
    /// The size of the vocabulary in tokens.
    pub vocabulary: u32,
    /// The model family whose special tokens it has.
    pub(crate) family: &'static Family,
    /// Whether the token embedding is also the output matrix.
    pub(crate) tied: bool,
}

/// The kind of attention.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Attention {
    /// Heads of keys and values, each shared by several query heads.
    Grouped {
        /// The number of heads of keys and values.
        kv_heads: u32,
        /// The width of a head.
        width: u32,
        /// Whether queries, keys and values have biases.
        bias: bool,
        /// Whether each head of queries and keys is normalised.
        qk_norm: bool,
        /// The width of the part of a head that is rotated; `None` if all of it is.
        rotated: Option<u32>,
    },
    /// Heads of two sizes, by whether a layer has a window.
    Gemma4(Gemma4),
    /// Layers of several kinds, which a pattern names.
    Mixed(Mixed),
    /// Gated attention with normalised heads in one layer of several, and the gated delta rule in the others.
    Hybrid {
        /// The number of heads of keys and values.
        kv_heads: u32,
        /// The width of a head.
        width: u32,
        /// The width of the part of a head that is rotated.
        rotated: u32,
        /// Every how many layers there is one with attention.
        interval: u32,
        /// The layers without attention.
        delta: Delta,
    },
    /// Kimi delta attention, and in one layer of several, and in the last, latent attention.
    Kimi {
        /// Every how many layers there is one with latent attention.
        interval: u32,
        /// The width of a head of the other layers.
        width: u32,
        /// The sizes of latent attention, in the layers that have it.
        latent: Latent,
        /// The parts of Ling that Kimi-Linear does not have.
        ling: Option<Ling>,
    },
    /// One latent vector per token.
    Latent {
        /// The width of the compressed query; `None` if queries are computed directly from the hidden state.
        q_rank: Option<u32>,
        /// The width of the latent vector.
        kv_rank: u32,
        /// The width of the part of a head's query and key without rotary embedding.
        nope: u32,
        /// The width of the rotated part.
        rope: u32,
        /// The width of a head's values.
        value: u32,
    },
    /// Latent attention to positions that indexers choose.
    Sparse {
        /// The sizes of attention.
        latent: Latent,
        /// The sizes of the indexer.
        indexer: Indexer,
    },
    /// Kimi delta attention, and in one layer of several latent attention to pools of positions that indexers choose; residual streams.
    Next(Next),
}

/// Attention in some layers, and a recurrence in others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mixed {
    /// The kind of each layer: `*` has attention, `M` Mamba-2, `C` a short convolution, and `-` nothing but a network. Layers beyond the
    /// last begin again.
    pub(crate) kinds: &'static str,
    /// The number of heads of keys and values.
    pub(crate) kv_heads: u32,
    /// The width of a head.
    pub(crate) width: u32,
    /// The sizes of Mamba-2, in the layers that have it.
    pub(crate) mamba: Mamba,
    /// The width of the input and the result of routed experts; 0 if it is the hidden state's.
    pub(crate) latent: u32,
}

impl Mixed {
    /// How many positions a short convolution sees, in layers that have nothing else.
    pub(crate) const CONVOLUTION: u32 = 3;

    /// The kind of a layer.
    pub(crate) fn kind(&self, layer: u32) -> u8 {
        self.kinds.as_bytes()[layer as usize % self.kinds.len()]
    }
}

/// Layers of Mamba-2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mamba {
    /// The number of heads of values, each with a state.
    pub(crate) heads: u32,
    /// The width of a head.
    pub(crate) width: u32,
    /// The number of heads of keys and queries.
    pub(crate) groups: u32,
    /// The width of such a head.
    pub(crate) state: u32,
}

impl Mamba {
    /// How many positions the convolution of queries, keys and values sees.
    pub(crate) const CONVOLUTION: u32 = 4;

    /// In models without such layers.
    pub(crate) const NONE: Mamba = Mamba { heads: 1, width: 0, groups: 1, state: 0 };

    /// The values of all heads.
    pub(crate) fn inner(&self) -> u32 {
        self.heads * self.width
    }

    /// The channels of the convolution.
    pub(crate) fn channels(&self) -> u32 {
        self.inner() + 2 * self.groups * self.state
    }
}

/// GLM-5.3-Flash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    /// Every how many layers there is one with latent attention.
    pub(crate) interval: u32,
    /// The width of a head of the other layers.
    pub(crate) width: u32,
    /// What a token has in layers with latent attention.
    pub(crate) latent: Latent,
    /// What chooses positions. Its `layers` are those with attention, from the first on.
    pub(crate) indexer: Indexer,
    /// The positions of a pool.
    pub(crate) pool: u32,
    /// Iterations of the matrix between streams.
    pub(crate) iterations: u32,
    /// The bound of networks.
    pub(crate) bound: f32,
}

impl Next {
    /// Whether a layer with attention has an indexer of its own.
    pub(crate) fn has_indexer(&self, layer: u32) -> bool {
        (layer / self.interval).is_multiple_of(self.indexer.layers)
    }
}

/// Latent attention without YaRN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Latent {
    /// The width of the compressed query; `None` if queries are computed directly from the hidden state.
    pub(crate) q_rank: Option<u32>,
    /// The width of the latent vector.
    pub(crate) kv_rank: u32,
    /// The width of the part of a head's query and key that is never rotated.
    pub(crate) nope: u32,
    /// The width of the other part.
    pub(crate) rope: u32,
    /// The width of a head's values.
    pub(crate) value: u32,
}

/// The indexer, which chooses the positions that tokens attend to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Indexer {
    /// The number of heads.
    pub(crate) heads: u32,
    /// The width of a head.
    pub(crate) width: u32,
    /// The most positions chosen.
    pub(crate) most: u32,
    /// How many layers attend to the positions of one indexer, beginning with the third layer: those before have their own. 1 if all have.
    pub(crate) layers: u32,
}

impl Indexer {
    /// Whether a layer has an indexer of its own.
    pub(crate) fn is_in(&self, layer: u32) -> bool {
        layer < 2 || (layer - 2).is_multiple_of(self.layers)
    }
}

/// The parts of Ling that Kimi-Linear does not have, besides gates and rotated heads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ling {
    /// Whether the file has sections of the rotary embedding, as those of vision models do.
    pub(crate) sections: bool,
    /// The bound of routed experts in odd layers, and that of other networks in even ones.
    pub(crate) bounds: Option<[f32; 2]>,
}

impl Ling {
    /// The least logarithm of a decay.
    pub(crate) const LEAST: f32 = -5.0;
}

/// The parts of Gemma 4 that other models do not have. Of two sizes, the first is that of layers with a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gemma4 {
    /// The numbers of heads of keys and values.
    pub(crate) kv_heads: [u32; 2],
    /// The widths of a head.
    pub(crate) widths: [u32; 2],
    /// Every how many layers there is one without a window.
    pub(crate) interval: u32,
    /// Whether layers without a window have no matrix of values, so that these are the keys.
    pub(crate) keyed: bool,
    /// The number of last layers that read the keys and values of others.
    pub(crate) shared: u32,
    /// Whether those layers have networks twice as wide.
    pub(crate) double: bool,
    /// How many values the embedding of a token has for each layer; 0 for none.
    pub(crate) per_layer: u32,
    /// The bound of logits.
    pub(crate) cap: f32,
}

impl Gemma4 {
    /// Every how many of so many layers there is one without a window.
    pub(crate) fn interval(&self, layers: u32) -> u32 {
        self.interval.min(layers)
    }

    /// Whether a layer of so many has no window. The last one never has.
    pub(crate) fn sees_all(&self, layer: u32, layers: u32) -> bool {
        (layer + 1).is_multiple_of(self.interval(layers)) || layer + 1 == layers
    }

    /// How many of so many layers have keys and values of their own: whole intervals if others read them, since the last two must be one
    /// of each kind. `usual` is the number of layers of the whole model.
    pub(crate) fn own(&self, layers: u32, usual: u32) -> u32 {
        let interval = self.interval(layers);
        let own = layers - (self.shared * layers / usual).min(layers - 1);
        if own == layers || interval < 2 { layers } else { own.div_ceil(interval) * interval }.min(layers)
    }
}

/// Layers of the gated delta rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delta {
    /// The number of heads of queries and keys.
    pub(crate) key_heads: u32,
    /// The number of heads of values, each with a state.
    pub(crate) value_heads: u32,
    /// The width of a head.
    pub(crate) width: u32,
    /// Whether the file lists which layers these are, as those of newer converters do.
    pub(crate) listed: bool,
}

impl Delta {
    /// How many positions the convolution of queries, keys and values sees.
    pub(crate) const CONVOLUTION: u32 = 4;
}

/// The experts of a layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Experts {
    /// The number of dense layers before the first one with experts.
    pub(crate) leading_dense: u32,
    /// The number of experts to choose from.
    pub(crate) count: u32,
    /// The number of experts chosen for each token.
    pub(crate) used: u32,
    /// The number of shared experts, which serve every token.
    pub(crate) shared: u32,
    /// The width of a shared expert that each token scores; `None` for shared experts as wide as the others, without scores.
    pub(crate) shared_width: Option<u32>,
    /// The width of one expert.
    pub(crate) width: u32,
    /// The gating function of the router.
    pub(crate) gating: Gating,
    /// The factor applied to the weights of the chosen experts.
    pub(crate) scale: f32,
    /// The number of groups of experts, and how many are chosen first.
    pub(crate) groups: (u32, u32),
}

/// How a router's logits become weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gating {
    /// A softmax over all experts.
    Softmax {
        /// Whether the weights of the chosen experts are divided by their sum.
        normalise: bool,
    },
    /// A sigmoid for each expert, with a bias for the selection, normalised.
    Sigmoid,
}

/// Factors of a model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factors {
    /// Of embeddings.
    pub(crate) embeddings: f32,
    /// Of the results of branches.
    pub(crate) branches: f32,
    /// Of logits.
    pub(crate) logits: f32,
    /// Of attention scores, if it is not the usual one.
    pub(crate) scores: Option<f32>,
    /// The bound of logits.
    pub(crate) cap: Option<f32>,
}

/// YaRN scaling of the rotary embedding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Yarn {
    /// The scaling factor of the context.
    pub(crate) factor: f32,
    /// The context before scaling, in tokens.
    pub(crate) original_context: u32,
    /// `mscale_all_dim`.
    pub(crate) mscale: f32,
    /// The factor that YaRN applies to attention scores: `(1 + 0.1 · mscale · ln factor)²`.
    pub(crate) sharpening: f32,
}

impl Preset {
    /// Whether attention has sinks and a bias on its result, and routers and experts have biases.
    pub(crate) fn is_gpt_oss(&self) -> bool {
        self.architecture == "gpt-oss"
    }

    /// Whether queries are scaled by their position, and YaRN's multiplier is that of the tables.
    pub(crate) fn is_ministral(&self) -> bool {
        self.architecture == "mistral3"
    }

    /// Whether networks use GELU, branches end in a norm, and embeddings are scaled.
    pub(crate) fn is_gemma(&self) -> bool {
        ["gemma3", "gemma4"].contains(&self.architecture)
    }

    /// Whether branches end in a norm.
    pub(crate) fn ends_in_norms(&self) -> bool {
        self.is_gemma() || ["glm4", "muse-glimmer"].contains(&self.architecture) || !self.begins_with_norms()
    }

    /// Whether branches begin with a norm.
    pub(crate) fn begins_with_norms(&self) -> bool {
        !["olmo2", "exaone4"].contains(&self.architecture)
    }

    /// Whether queries and keys have one norm for all their heads.
    pub(crate) fn norms_whole(&self) -> bool {
        ["olmo2", "minimax-m2"].contains(&self.architecture)
    }

    /// Whether attention and the feed-forward network read the same, and norms are LayerNorms.
    pub(crate) fn is_cohere(&self) -> bool {
        ["command-r", "cohere2", "cohere2moe"].contains(&self.architecture)
    }

    /// The factors of models that have some.
    pub(crate) fn factors(&self) -> Option<Factors> {
        let plain = Factors { embeddings: 1.0, branches: 1.0, logits: 1.0, scores: None, cap: None };
        let (Attention::Grouped { width, .. } | Attention::Mixed(Mixed { width, .. })) = self.attention
        else {
            return None;
        };
        Some(match self.architecture {
            "granite" | "granitemoe" | "granitehybrid" => Factors {
                embeddings: 12.0,
                branches: 0.22,
                logits: 1.0 / if self.hidden >= 4096 { 16.0 } else { 6.0 },
                scores: Some(1.0 / width as f32),
                ..plain
            },
            "command-r" => Factors { logits: 0.0625, ..plain },
            "cohere2" | "cohere2moe" => Factors { logits: 0.25, ..plain },
            "muse-glimmer" if self.hidden >= 4096 => {
                Factors { logits: 1.0 / (self.hidden as f32 / 256.0).sqrt(), cap: Some(20.0), ..plain }
            }
            "muse-glimmer" => Factors { logits: 0.25, cap: Some(8.0), ..plain },
            _ => return None,
        })
    }

    /// Whether a layer of so many has a window, in models whose files list them. In short ones every second layer sees all positions, so
    /// that they have both kinds.
    pub(crate) fn has_window(&self, layer: u32, layers: u32) -> Option<bool> {
        let period = if layers < 4 { 2 } else { 4 };
        match self.architecture {
            "olmo2" | "muse-glimmer" => self.window.map(|_| !(layer + 1).is_multiple_of(period)),
            "cohere2moe" => self.window.map(|_| !layer.is_multiple_of(period)),
            _ => None,
        }
    }

    /// The number of layers for each one with attention, in a model with `layers` layers: shorter models have one too.
    pub(crate) fn interval(&self, layers: u32) -> u32 {
        match self.attention {
            Attention::Hybrid { interval, .. }
            | Attention::Kimi { interval, .. }
            | Attention::Next(Next { interval, .. }) => interval.min(layers),
            Attention::Grouped { .. }
            | Attention::Gemma4(_)
            | Attention::Mixed(_)
            | Attention::Latent { .. }
            | Attention::Sparse { .. } => 1,
        }
    }

    /// Whether a layer of a model with `layers` layers has a state instead of keys and values.
    pub(crate) fn is_recurrent(&self, layer: u32, layers: u32) -> bool {
        let interval = self.interval(layers);
        let end = match self.attention {
            Attention::Kimi { ling: None, .. } => layers - 1,
            // Attention is in all layers that are no whole interval.
            Attention::Kimi { ling: Some(_), .. } => layers / interval * interval,
            _ => layers,
        };
        !(layer + 1).is_multiple_of(interval) && layer < end
    }

    /// The bounds of the routed experts of `layers` layers, and those of their other networks; 0 for none.
    pub(crate) fn bounds(&self, layers: u32) -> Option<[Vec<f32>; 2]> {
        if let Attention::Next(next) = self.attention {
            return Some([(); 2].map(|()| vec![next.bound; layers as usize]));
        }
        let Attention::Kimi { ling: Some(Ling { bounds: Some([routed, other]), .. }), .. } = self.attention
        else {
            return None;
        };
        let of = |rest: u32, bound: f32| {
            (0..layers).map(|layer| if layer % 2 == rest { bound } else { 0.0 }).collect()
        };
        Some([of(1, routed), of(0, other)])
    }

    /// Whether a layer is one block: attention, a recurrence, or a network.
    pub(crate) fn is_nemotron(&self) -> bool {
        self.architecture.starts_with("nemotron_h")
    }

    /// Whether a layer has a network.
    pub(crate) fn has_network(&self, layer: u32) -> bool {
        match self.attention {
            Attention::Mixed(mixed) if self.is_nemotron() => mixed.kind(layer) == b'-',
            _ => true,
        }
    }

    /// The experts of a layer; `None` for a dense layer.
    pub(crate) fn experts_of(&self, layer: u32) -> Option<&Experts> {
        self.experts.as_ref().filter(|experts| layer >= experts.leading_dense)
    }
}
