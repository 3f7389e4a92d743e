//! The tensors of a preset and the distributions of their values, chosen so that activations neither grow nor vanish.
//!
//! A matrix whose values have variance `gain²/fan_in` turns a vector of variance 1 into one of variance `gain²`. All gains
//! are 1 except:
//!
//! * The branches that a layer adds to the residual stream are damped by `1/√(2 · layers)`. The embedding has variance 1
//!   and each layer adds two branches, so the stream stays within a factor of about 1.6 of that.
//! * Attention scores have a deviation of 2: over random keys, a token attends to about one in `e⁴ ≈ 55` tokens of its
//!   context. With 1 it would attend to a third of them, and outputs would hardly depend on the context. Where heads are
//!   normalised, the norms of the queries set this deviation.
//! * Routers have gain 1 with a sigmoid (2 would saturate it) and 2 with a softmax (with 1, the chosen experts would get a
//!   third of the weight).
//! * Logits have a deviation of 2.
//!
//! The bias for the selection of experts is about as large as the distance between scores of neighbouring rank. Biases of queries, keys and
//! values have half the deviation of a key: enough to matter, while scores still depend on the tokens. Other biases have half the deviation
//! of what they are added to. Norms are 1 ± 0.05. Where branches end in a norm, this damps them. Where embeddings or logits are scaled,
//! tied embeddings are small compared with the results of layers, since their matrix would have each token foretell itself, and the last
//! norm gives logits their deviation.
//!
//! Where heads have a state, it decays as in models before training: time steps are from 0.001 to 0.1 and rates from 1 to 16, so
//! that heads forget within 1 to 1000 tokens. What a token adds to the time step has a small gain, to keep it in that range.

mod gemma4;
mod indexer;
mod kimi;
mod mixed;
mod next;

use weft_quant::GgmlType;

use crate::synth::preset::{Attention, Delta, Experts, Gating, Latent, Mixed, Preset};
use crate::synth::weights::Distribution;
use crate::tensor_types::TensorTypes;
use crate::write_model::PlannedTensor;

/// √(E[silu(x)²]) for normal x: the deviation of a gate's output times an independent value of variance 1.
const SILU: f32 = 0.5967;

/// Such deviations for the clamped SwiGLU of gpt-oss, and for GELU.
const CLAMPED: f32 = 0.919;
const GELU: f32 = 0.652;
/// √(E[max(x, 0)⁴]).
const SQUARED_RELU: f32 = 1.2247;
/// √(E[sigmoid(x)²]).
const SIGMOID: f32 = 0.5415;

const ATTENTION: f32 = 2.0;
const LOGITS: f32 = 2.0;
const BIAS: f32 = 0.5;
/// The deviation of scaled embeddings.
const EMBEDDED: f32 = 0.2;

/// Collects the tensors of one model, in file order.
pub(crate) struct Tensors<'a> {
    preset: &'a Preset,
    types: &'a TensorTypes,
    /// The tensors so far.
    list: Vec<(PlannedTensor, Distribution)>,
}

impl Tensors<'_> {
    /// The tensors of `preset` with the given types; `types.layers` is the number of layers. With `mtp`, the last of them is for
    /// multi-token prediction.
    pub(crate) fn list(
        preset: &Preset,
        types: &TensorTypes,
        mtp: bool,
    ) -> Vec<(PlannedTensor, Distribution)> {
        let mut tensors = Tensors { preset, types, list: Vec::new() };
        let (hidden, tokens) = (preset.hidden, preset.vocabulary);
        // Rows of the embedding are hidden states. A tied one is scaled like an output matrix, and norms rescale its rows.
        let root = (hidden as f32).sqrt();
        let factors = match (preset.factors(), preset.is_gemma()) {
            (Some(of), _) => Some((of.embeddings, of.logits)),
            (None, gemma) => gemma.then_some((root, 1.0)),
        };
        let (embeddings, logits) = factors.unwrap_or((1.0, 1.0));
        let (fan_in, gain) = match (preset.tied, factors) {
            (true, None) => (hidden, LOGITS),
            (true, Some(_)) => (hidden, EMBEDDED * root / embeddings),
            (false, _) => (1, 1.0 / embeddings),
        };
        let last = if preset.tied { LOGITS / gain / logits } else { 1.0 };
        tensors.matrix("token_embd.weight", &[hidden, tokens], fan_in, gain);
        if let Attention::Gemma4(gemma) = preset.attention {
            tensors.gemma4_factors(&gemma);
            if gemma.per_layer > 0 {
                tensors.per_layer_embeddings(&gemma);
            }
        }
        for layer in 0..types.layers {
            // The layer for multi-token prediction has attention, and a network of the kind of the one before it.
            let is_mtp = mtp && layer + 1 == types.layers;
            let has_streams = matches!(preset.attention, Attention::Next(_));
            if has_streams {
                tensors.streams(layer, "attn");
            }
            tensors.attention(layer, !is_mtp && preset.is_recurrent(layer, types.layers - u32::from(mtp)));
            if has_streams {
                tensors.streams(layer, "ffn");
            }
            tensors.feed_forward(layer, layer - u32::from(is_mtp));
            if is_mtp {
                tensors.next_token(layer);
            }
        }
        if let (Some(_), Attention::Grouped { width, rotated, .. }) = (preset.long_rope, preset.attention) {
            for (tensor, mean) in [("rope_factors_long.weight", 8.0), ("rope_factors_short.weight", 1.2)] {
                let factors = Distribution::Normal { mean, deviation: 0.05 * mean };
                tensors.add(tensor, &[rotated.unwrap_or(width) / 2], factors);
            }
        }
        let norm = if preset.architecture.starts_with("lfm2") { "token_embd_norm" } else { "output_norm" };
        tensors.norm(&format!("{norm}.weight"), hidden, last);
        if !preset.tied {
            tensors.matrix("output.weight", &[hidden, tokens], hidden, LOGITS / logits);
        }
        tensors.list
    }

    fn attention(&mut self, layer: u32, is_recurrent: bool) {
        let hidden = self.preset.hidden;
        if self.preset.begins_with_norms() {
            self.norm(&format!("blk.{layer}.attn_norm.weight"), hidden, 1.0);
        }
        match self.preset.attention {
            Attention::Grouped { kv_heads, width, bias, qk_norm, .. } => {
                self.grouped(layer, kv_heads, width, bias, qk_norm);
            }
            Attention::Gemma4(gemma) => self.gemma4_attention(layer, &gemma),
            Attention::Mixed(mixed) => self.mixed(layer, &mixed),
            Attention::Hybrid { kv_heads, width, delta, .. } => {
                if is_recurrent {
                    self.delta(layer, &delta);
                } else {
                    self.gated_attention(layer, kv_heads, width);
                }
            }
            Attention::Kimi { width, ling: Some(_), .. } if is_recurrent => self.ling_delta(layer, width),
            Attention::Kimi { width, .. } if is_recurrent => self.kimi_delta(layer, width),
            Attention::Next(next) if is_recurrent => self.next_delta(layer, next.width),
            Attention::Next(next) => {
                self.latent(layer, next.latent, false);
                if next.has_indexer(layer) {
                    self.indexer(layer, next.latent, next.indexer);
                    self.pools(layer, &next);
                }
            }
            Attention::Kimi { latent, ling, .. } => self.latent(layer, latent, ling.is_some()),
            Attention::Latent { q_rank, kv_rank, nope, rope, value } => {
                self.latent(layer, Latent { q_rank, kv_rank, nope, rope, value }, false);
            }
            Attention::Sparse { latent, indexer } => {
                self.latent(layer, latent, false);
                if indexer.is_in(layer) {
                    self.indexer(layer, latent, indexer);
                }
            }
        }
    }

    fn grouped(&mut self, layer: u32, kv_heads: u32, width: u32, bias: bool, qk_norm: bool) {
        let &Preset { hidden, heads, .. } = self.preset;
        let name = |tensor: &str| format!("blk.{layer}.{tensor}.weight");
        let gain = if qk_norm { 1.0 } else { ATTENTION * self.score_gain(width) };
        if self.joins() {
            // One gain for all: the square root makes scores as large.
            self.matrix(&name("attn_qkv"), &[hidden, (heads + 2 * kv_heads) * width], hidden, gain.sqrt());
        } else {
            self.matrix(&name("attn_q"), &[hidden, heads * width], hidden, gain);
            self.matrix(&name("attn_k"), &[hidden, kv_heads * width], hidden, 1.0);
            self.matrix(&name("attn_v"), &[hidden, kv_heads * width], hidden, 1.0);
        }
        if bias {
            for (tensor, heads) in [("attn_q", heads), ("attn_k", kv_heads), ("attn_v", kv_heads)] {
                let bias = Distribution::Normal { mean: 0.0, deviation: BIAS };
                self.add(&format!("blk.{layer}.{tensor}.bias"), &[heads * width], bias);
            }
        }
        if qk_norm {
            let all = self.preset.norms_whole();
            let width = |heads: u32| if all { heads * width } else { width };
            self.norm(&name("attn_q_norm"), width(heads), ATTENTION);
            self.norm(&name("attn_k_norm"), width(kv_heads), 1.0);
        }
        if self.preset.architecture == "muse-glimmer" {
            self.matrix(&name("attn_gate"), &[hidden, heads * width], hidden, 1.0);
        }
        self.matrix(&name("attn_output"), &[heads * width, hidden], heads * width, self.damping());
        if self.preset.ends_in_norms() {
            self.norm(&name("post_attention_norm"), hidden, self.damping());
        }
        if self.preset.is_gpt_oss() {
            // About as large as the largest scores.
            let sinks = Distribution::Normal { mean: ATTENTION, deviation: 1.0 };
            self.add(&name("attn_sinks"), &[heads], sinks);
            self.bias(&format!("blk.{layer}.attn_output.bias"), &[hidden], self.damping());
        }
    }

    /// Attention whose result a gate of each query head scales. Heads of queries and keys are normalised.
    fn gated_attention(&mut self, layer: u32, kv_heads: u32, width: u32) {
        let &Preset { hidden, heads, .. } = self.preset;
        let name = |tensor: &str| format!("blk.{layer}.{tensor}.weight");
        // Of each head first the query, then the gate.
        self.matrix(&name("attn_q"), &[hidden, 2 * heads * width], hidden, 1.0);
        self.matrix(&name("attn_k"), &[hidden, kv_heads * width], hidden, 1.0);
        self.matrix(&name("attn_v"), &[hidden, kv_heads * width], hidden, 1.0);
        self.norm(&name("attn_q_norm"), width, ATTENTION);
        self.norm(&name("attn_k_norm"), width, 1.0);
        let gain = self.damping() / SIGMOID;
        self.matrix(&name("attn_output"), &[heads * width, hidden], heads * width, gain);
    }

    /// The gated delta rule.
    fn delta(&mut self, layer: u32, delta: &Delta) {
        let hidden = self.preset.hidden;
        let &Delta { key_heads, value_heads, width, .. } = delta;
        let name = |tensor: &str| format!("blk.{layer}.{tensor}.weight");
        let (channels, inner) = ((2 * key_heads + value_heads) * width, value_heads * width);
        self.matrix(&name("attn_qkv"), &[hidden, channels], hidden, 1.0);
        self.matrix(&name("attn_gate"), &[hidden, inner], hidden, 1.0);
        self.matrix(&name("ssm_conv1d"), &[Delta::CONVOLUTION, channels], Delta::CONVOLUTION, 1.0);
        // The softplus of these is from 0.001 to 0.1.
        let steps = Distribution::Uniform { from: -6.9, to: -2.25 };
        self.add(&format!("blk.{layer}.ssm_dt.bias"), &[value_heads], steps);
        self.add(&format!("blk.{layer}.ssm_a"), &[value_heads], Distribution::Octaves);
        if self.preset.architecture == "qwen3next" {
            self.matrix(&name("ssm_ba"), &[hidden, 2 * value_heads], hidden, 0.7);
        } else {
            self.matrix(&name("ssm_beta"), &[hidden, value_heads], hidden, 1.0);
            self.matrix(&name("ssm_alpha"), &[hidden, value_heads], hidden, 0.5);
        }
        self.norm(&name("ssm_norm"), width, 1.0);
        self.matrix(&name("ssm_out"), &[inner, hidden], inner, self.damping() / SILU);
    }

    /// The queries of latent attention.
    fn queries(&mut self, layer: u32, rank: Option<u32>, width: u32) {
        let &Preset { hidden, heads, .. } = self.preset;
        let name = |tensor: &str| format!("blk.{layer}.{tensor}.weight");
        let gain = ATTENTION / self.preset.yarn.as_ref().map_or(1.0, |yarn| yarn.sharpening);
        match rank {
            None => self.matrix(&name("attn_q"), &[hidden, heads * width], hidden, gain),
            Some(rank) => {
                self.matrix(&name("attn_q_a"), &[hidden, rank], hidden, 1.0);
                self.norm(&name("attn_q_a_norm"), rank, 1.0);
                self.matrix(&name("attn_q_b"), &[rank, heads * width], rank, gain);
            }
        }
    }

    /// Latent attention, whose heads' results can have a gate.
    fn latent(&mut self, layer: u32, latent: Latent, gated: bool) {
        let &Preset { hidden, heads, .. } = self.preset;
        let Latent { q_rank, kv_rank, nope, rope, value } = latent;
        self.queries(layer, q_rank, nope + rope);
        let name = |tensor: &str| format!("blk.{layer}.{tensor}.weight");
        self.matrix(&name("attn_kv_a_mqa"), &[hidden, kv_rank + rope], hidden, 1.0);
        self.norm(&name("attn_kv_a_norm"), kv_rank, 1.0);
        // Stored transposed: as a matrix that makes keys, its input is the latent vector.
        self.matrix(&name("attn_k_b"), &[nope, kv_rank, heads], kv_rank, 1.0);
        self.matrix(&name("attn_v_b"), &[kv_rank, value, heads], kv_rank, 1.0);
        if gated {
            self.matrix(&name("attn_gate"), &[hidden, heads], hidden, 1.0);
        }
        let gain = if gated { self.damping() / SIGMOID } else { self.damping() };
        self.matrix(&name("attn_output"), &[heads * value, hidden], heads * value, gain);
    }

    /// Adds the tensors that join an embedding and a hidden state, and the norm before the head.
    fn next_token(&mut self, layer: u32) {
        let hidden = self.preset.hidden;
        let name = |tensor: &str| format!("blk.{layer}.nextn.{tensor}.weight");
        self.matrix(&name("eh_proj"), &[2 * hidden, hidden], 2 * hidden, 1.0);
        for norm in ["enorm", "hnorm", "shared_head_norm"] {
            self.norm(&name(norm), hidden, 1.0);
        }
    }

    /// The feed-forward network of a layer, of the kind that layer `like` has.
    fn feed_forward(&mut self, layer: u32, like: u32) {
        if let Attention::Gemma4(gemma) = self.preset.attention {
            return self.gemma4_network(layer, &gemma);
        }
        if !self.preset.has_network(like) {
            return;
        }
        let &Preset { hidden, dense, .. } = self.preset;
        let name = |tensor: &str| format!("blk.{layer}.{tensor}.weight");
        let named_otherwise = ["glm4moe", "gpt-oss", "seed_oss"].contains(&self.preset.architecture)
            || matches!(self.preset.attention, Attention::Hybrid { .. });
        let has_own_norm = !self.preset.is_cohere() && !self.preset.is_nemotron();
        if self.preset.begins_with_norms() && has_own_norm {
            self.norm(&name(if named_otherwise { "post_attention_norm" } else { "ffn_norm" }), hidden, 1.0);
        }
        let Some(&Experts { count, shared, shared_width, width, gating, .. }) = self.preset.experts_of(like)
        else {
            self.gated(layer, "", dense, &[]);
            if self.preset.ends_in_norms() {
                self.norm(&name("post_ffw_norm"), hidden, self.damping());
            }
            return;
        };
        let router_gain = if gating == Gating::Sigmoid { 1.0 } else { 2.0 };
        self.matrix(&name("ffn_gate_inp"), &[hidden, count], hidden, router_gain);
        let has_bias = match self.preset.architecture {
            "ernie4_5-moe" => true,
            "cohere2moe" => false,
            _ => gating == Gating::Sigmoid,
        };
        if has_bias {
            let bias = Distribution::Normal { mean: 0.0, deviation: 0.02 };
            self.add(&format!("blk.{layer}.exp_probs_b.bias"), &[count], bias);
        }
        match self.preset.attention {
            Attention::Mixed(Mixed { latent, .. }) if latent > 0 => {
                self.matrix(&name("ffn_latent_down"), &[hidden, latent], hidden, 1.0);
                self.network((layer, "_exps"), (latent, width), &[count]);
                self.matrix(&name("ffn_latent_up"), &[latent, hidden], latent, 1.0);
            }
            _ => self.gated(layer, "_exps", width, &[count]),
        }
        if self.preset.is_gpt_oss() {
            let bias = |tensor: &str| format!("blk.{layer}.{tensor}.bias");
            self.bias(&bias("ffn_gate_inp"), &[count], 1.0);
            self.bias(&bias("ffn_gate_exps"), &[width, count], 1.0);
            self.bias(&bias("ffn_up_exps"), &[width, count], 1.0);
            self.bias(&bias("ffn_down_exps"), &[hidden, count], self.damping());
        }
        if shared > 0 {
            self.gated(layer, "_shexp", shared * shared_width.unwrap_or(width), &[]);
        }
        if shared_width.is_some() {
            let deviation = 1.0 / (hidden as f32).sqrt();
            self.add(&name("ffn_gate_inp_shexp"), &[hidden], Distribution::Normal { mean: 0.0, deviation });
        }
    }

    /// A gated feed-forward network, or a stack of them.
    fn gated(&mut self, layer: u32, suffix: &str, width: u32, stacked: &[u32]) {
        self.network((layer, suffix), (self.preset.hidden, width), stacked);
    }

    /// The same with inputs and results of another width than the hidden state's.
    fn network(&mut self, (layer, suffix): (u32, &str), (hidden, width): (u32, u32), stacked: &[u32]) {
        let name = |tensor: &str| format!("blk.{layer}.{tensor}{suffix}.weight");
        let damping = self.damping();
        if self.joins() || self.preset.architecture == "glm4" {
            self.matrix(&name("ffn_up"), &[&[hidden, 2 * width], stacked].concat(), hidden, 1.0);
        } else if ["mistral4", "gemma4"].contains(&self.preset.architecture) && !stacked.is_empty() {
            self.matrix(&name("ffn_gate_up"), &[&[hidden, 2 * width], stacked].concat(), hidden, 1.0);
        } else if self.preset.is_nemotron() {
            self.matrix(&name("ffn_up"), &[&[hidden, width], stacked].concat(), hidden, 1.0);
        } else {
            self.matrix(&name("ffn_gate"), &[&[hidden, width], stacked].concat(), hidden, 1.0);
            self.matrix(&name("ffn_up"), &[&[hidden, width], stacked].concat(), hidden, 1.0);
        }
        let activation = match self.preset.architecture {
            "gpt-oss" => CLAMPED,
            "gemma3" | "gemma4" => GELU,
            _ if self.preset.is_nemotron() => SQUARED_RELU,
            _ => SILU,
        };
        self.matrix(&name("ffn_down"), &[&[width, hidden], stacked].concat(), width, damping / activation);
    }

    /// Whether queries, keys and values are one tensor, and gate and up are.
    fn joins(&self) -> bool {
        self.preset.architecture == "phi3"
    }

    fn damping(&self) -> f32 {
        let factor = self.preset.factors().map_or(1.0, |factors| factors.branches);
        1.0 / (2.0 * self.types.layers as f32).sqrt() / factor
    }

    /// The gain with which scores are as large as with the usual factor of heads of this width.
    fn score_gain(&self, width: u32) -> f32 {
        let own = self.preset.factors().and_then(|factors| factors.scores);
        own.map_or(1.0, |own| 1.0 / (width as f32).sqrt() / own)
    }

    /// A matrix whose products with vectors of `fan_in` values of variance 1 have deviation `gain`.
    fn matrix(&mut self, name: &str, shape: &[u32], fan_in: u32, gain: f32) {
        let deviation = gain / (fan_in as f32).sqrt();
        self.add(name, shape, Distribution::Normal { mean: 0.0, deviation });
    }

    fn norm(&mut self, name: &str, width: u32, mean: f32) {
        self.add(name, &[width], Distribution::Normal { mean, deviation: 0.05 * mean });
    }

    /// A bias of products whose deviation is `gain`.
    fn bias(&mut self, name: &str, shape: &[u32], gain: f32) {
        self.add(name, shape, Distribution::Normal { mean: 0.0, deviation: BIAS * gain });
    }

    fn add(&mut self, name: &str, shape: &[u32], distribution: Distribution) {
        let shape: Vec<u64> = shape.iter().map(|n| u64::from(*n)).collect();
        let ty = self.types.type_of(name, &shape).unwrap_or(GgmlType::F32);
        self.list.push((PlannedTensor { name: name.to_string(), ty, shape }, distribution));
    }
}
