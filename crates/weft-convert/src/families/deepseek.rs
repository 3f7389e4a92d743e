//! Latent attention with a mixture of experts: `deepseek2`. DeepSeek-V2, V3 and R1, and GLM-4.7-Flash, which also has a layer
//! for multi-token prediction. Mistral Small 4, of which this is the text's part, is the same by another
//! name: `mistral4`.

use crate::common::{
    SIGHT, Sizes, add_ends, add_layer, copy_u32, count, count_of, experts, gated, next_token,
    next_token_layers, require, second_norm, shared_expert, write_keys,
};
use crate::config::Config;
use crate::error::Result;
use crate::family::{Family, PLAIN};
use crate::model::{Model, Rule, rule};
use crate::rope::Rope;
use crate::source::Order;
use crate::tokenizer::Kind;

pub(super) const DEEPSEEK_V2: Family = Family {
    names: &["DeepseekV2ForCausalLM"],
    architecture: "deepseek2",
    defaults: r#"{"max_position_embeddings": 2048, "rms_norm_eps": 1e-6, "rope_theta": 1e4, "q_lora_rank": 1536, "kv_lora_rank": 512,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 64, "n_shared_experts": 2,
        "moe_intermediate_size": 1407, "first_k_dense_replace": 0, "routed_scaling_factor": 1.0, "norm_topk_prob": false}"#,
    // The layers for multi-token prediction are left out, as llama.cpp does.
    write: |model| latent(model, 0),
    ..PLAIN
};

pub(super) const DEEPSEEK_V3: Family = Family {
    names: &["DeepseekV3ForCausalLM"],
    // Its class in `transformers` always scores with a sigmoid; in the model's own class that is the default.
    defaults: r#"{"max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "rope_theta": 1e4, "q_lora_rank": 1536, "kv_lora_rank": 512,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256, "n_shared_experts": 1,
        "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "first_k_dense_replace": 3, "n_group": 8, "topk_group": 4,
        "routed_scaling_factor": 2.5, "norm_topk_prob": true, "scoring_func": "sigmoid", "num_nextn_predict_layers": 1}"#,
    ..DEEPSEEK_V2
};

pub(super) const GLM_LITE: Family = Family {
    names: &["Glm4MoeLiteForCausalLM"],
    defaults: r#"{"max_position_embeddings": 202752, "rms_norm_eps": 1e-5, "rope_theta": 1e4, "q_lora_rank": 768, "kv_lora_rank": 512,
        "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256, "n_routed_experts": 64, "n_shared_experts": 1,
        "num_experts_per_tok": 4, "moe_intermediate_size": 1536, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1,
        "routed_scaling_factor": 1.8, "norm_topk_prob": true}"#,
    tokenizer: Kind::Glm,
    write: |model| {
        // Not in its configuration. Without the key, llama.cpp goes by the number of layers and tokens.
        model.arch("expert_gating_func", 2u32);
        let more = next_token_layers(model.config)?;
        latent(model, more)
    },
    ..DEEPSEEK_V2
};

pub(super) const MISTRAL4: Family = Family {
    names: &["Mistral4ForCausalLM"],
    architecture: "mistral4",
    defaults: r#"{"max_position_embeddings": 1048576, "rms_norm_eps": 1e-6, "q_lora_rank": 1024, "kv_lora_rank": 256,
        "qk_nope_head_dim": 64, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 128, "n_shared_experts": 1,
        "num_experts_per_tok": 4, "moe_intermediate_size": 2048, "first_k_dense_replace": 0, "n_group": 1, "topk_group": 1,
        "routed_scaling_factor": 1.0, "norm_topk_prob": true}"#,
    write: |model| {
        let config = model.config;
        require(config, "rope_interleave", true)?;
        if config.value("rope_parameters").or(config.value("rope_scaling")).is_none() {
            return Err(config.missing("rope_parameters"));
        }
        Rope::read(model)?.refuse_scaled_queries()?;
        if config.value("vision_config").is_some() {
            model.set_part(&SIGHT);
        }
        latent(model, 0)
    },
    ..DEEPSEEK_V2
};

/// The sizes of latent attention and of the mixture.
pub(super) struct Latent {
    pub(super) sizes: Sizes,
    /// Layers before those with a mixture.
    pub(super) dense: u32,
    /// `q_lora_rank`: the rank of queries; without it, they are one product.
    pub(super) query_rank: Option<u64>,
    /// `kv_lora_rank`: the width of the latent row.
    pub(super) rank: u64,
    /// `qk_nope_head_dim`: the part of a head that is not rotated.
    pub(super) plain: u64,
    /// `qk_rope_head_dim`: the part that is.
    pub(super) rotated: u64,
    /// `v_head_dim`: the width of a head's values.
    pub(super) values: u64,
    /// `n_routed_experts`, or `num_experts`.
    pub(super) experts: u64,
    /// `moe_intermediate_size`: the width of an expert.
    pub(super) inner: u64,
    /// Experts that every token uses.
    pub(super) shared: u64,
}

impl Latent {
    pub(super) fn read(config: &Config) -> Result<Latent> {
        // Heads share one latent row; what configurations say of their width is something else.
        let sizes = Sizes::read_as(config, false)?;
        let count = |key: &str| count(config, key).map(u64::from);
        // Heads of a model without rotation are not rotated in part, either.
        let rotated =
            if config.bool("mla_use_nope")? == Some(true) && config.u32("qk_rope_head_dim")? == Some(0) {
                0
            } else {
                count("qk_rope_head_dim")?
            };
        let some = |key: &str| if config.value(key).is_some() { count(key).map(Some) } else { Ok(None) };
        Ok(Latent {
            dense: config.u32("first_k_dense_replace")?.unwrap_or(0).min(sizes.layers),
            sizes,
            query_rank: some("q_lora_rank")?,
            rank: count("kv_lora_rank")?,
            plain: count("qk_nope_head_dim")?,
            rotated,
            values: count("v_head_dim")?,
            experts: count_of(config, "n_routed_experts", "num_experts")?,
            inner: count("moe_intermediate_size")?,
            shared: config.u32("n_shared_experts")?.or(config.u32("num_shared_experts")?).unwrap_or(0).into(),
        })
    }

    /// Writes the keys that all families with latent attention have, in the order of llama.cpp's converter.
    pub(super) fn write_keys(&self, model: &mut Model<'_>) {
        let keys = [
            ("attention.key_length_mla", self.plain + self.rotated),
            ("attention.value_length_mla", self.values),
            ("attention.kv_lora_rank", self.rank),
            ("rope.dimension_count", self.rotated),
            ("leading_dense_block_count", self.dense.into()),
            ("expert_feed_forward_length", self.inner),
            ("expert_shared_count", self.shared),
        ];
        for (key, value) in keys {
            model.arch(key, value as u32);
        }
    }

    pub(super) fn attention(&self) -> Vec<Rule> {
        let (hidden, heads, rank) = (self.sizes.hidden, self.sizes.heads, self.rank);
        let (queries, both) = (heads * (self.plain + self.rotated), self.plain + self.values);
        let keys = Order::TakeTransposed { start: 0, len: self.plain, of: both };
        let values = Order::Take { start: self.plain, len: self.values, of: both };
        let mut rules = vec![
            rule("input_layernorm.weight", "attn_norm.weight", &[hidden]),
            rule(
                "self_attn.kv_a_proj_with_mqa.weight",
                "attn_kv_a_mqa.weight",
                &[rank + self.rotated, hidden],
            ),
            rule("self_attn.kv_a_layernorm.weight", "attn_kv_a_norm.weight", &[rank]),
            // Keys and values of each head, in two tensors; keys so that queries are multiplied into the latent space.
            rule("self_attn.kv_b_proj.weight", "attn_k_b.weight", &[heads * both, rank])
                .taking(keys, &[heads, rank, self.plain]),
            rule("self_attn.kv_b_proj.weight", "attn_v_b.weight", &[heads * both, rank])
                .taking(values, &[heads, self.values, rank]),
            rule("self_attn.o_proj.weight", "attn_output.weight", &[hidden, heads * self.values]),
            second_norm(&self.sizes),
        ];
        match self.query_rank {
            None => rules.push(rule("self_attn.q_proj.weight", "attn_q.weight", &[queries, hidden])),
            Some(rank) => rules.extend([
                rule("self_attn.q_a_proj.weight", "attn_q_a.weight", &[rank, hidden]),
                rule("self_attn.q_a_layernorm.weight", "attn_q_a_norm.weight", &[rank]),
                rule("self_attn.q_b_proj.weight", "attn_q_b.weight", &[queries, rank]),
            ]),
        }
        rules
    }

    /// `joined`: whether gate and up of all experts are one tensor.
    pub(super) fn mixture(&self, joined: bool) -> Vec<Rule> {
        let names = ["gate_proj", "up_proj", "down_proj"];
        let (hidden, number, inner) = (self.sizes.hidden, self.experts, self.inner);
        let mut rules = if joined {
            let both = [number, 2 * inner, hidden];
            vec![
                rule("mlp.gate.weight", "ffn_gate_inp.weight", &[number, hidden]),
                rule("mlp.experts.gate_up_proj", "ffn_gate_up_exps.weight", &both),
                rule("mlp.experts.down_proj", "ffn_down_exps.weight", &[number, hidden, inner]),
            ]
        } else {
            experts("mlp.gate.weight", "mlp.experts.{}", names, number, hidden, inner)
        };
        rules.push(rule("mlp.gate.e_score_correction_bias", "exp_probs_b.bias", &[self.experts]).optional());
        if self.shared > 0 {
            rules.extend(shared_expert("mlp.shared_experts", hidden, self.shared * self.inner));
        }
        rules
    }
}

/// Writes a model and `more` layers for multi-token prediction.
fn latent(model: &mut Model<'_>, more: u32) -> Result<()> {
    latent_with(model, more, |_, _| Vec::new())
}

/// The same with more rules for each layer.
pub(super) fn latent_with(
    model: &mut Model<'_>,
    more: u32,
    besides: impl Fn(&Latent, u32) -> Vec<Rule>,
) -> Result<()> {
    let config = model.config;
    // A mixture in every layer but the first ones.
    require(config, "moe_layer_freq", 1)?;
    let latent = Latent::read(config)?;
    let layers = latent.sizes.layers;
    write(model, &latent, layers + more)?;
    if more > 0 {
        model.arch("nextn_predict_layers", more);
    }
    for layer in 0..layers + more {
        let mut rules = latent.attention();
        rules.extend(besides(&latent, layer));
        if layer < latent.dense {
            rules.extend(gated(latent.sizes.hidden, latent.sizes.inner));
        } else {
            rules.extend(latent.mixture(model.architecture == "mistral4"));
        }
        if layer >= layers {
            rules.extend(next_token(&latent.sizes));
        }
        add_layer(model, layer, &rules)?;
    }
    let ignored = config.u32("num_nextn_predict_layers")?.unwrap_or(0).saturating_sub(more).min(8);
    for layer in layers + more..layers + more + ignored {
        model.leave_out(|name| name.starts_with(&format!("model.layers.{layer}.")));
    }
    if config.bool("tie_word_embeddings")?.unwrap_or(false) {
        model.leave_out(|name| name == "lm_head.weight");
    }
    add_ends(model, &latent.sizes)
}

fn write(model: &mut Model<'_>, latent: &Latent, layers: u32) -> Result<()> {
    let config = model.config;
    let rope = write_keys(model, layers)?;
    copy_u32(model, "vocab_size", "vocab_size")?;
    copy_u32(model, "q_lora_rank", "attention.q_lora_rank")?;
    let keys = [
        // To the program, heads share the latent row, which is all keys and values there are.
        ("attention.head_count_kv", 1),
        ("attention.key_length", latent.rank + latent.rotated),
        ("attention.value_length", latent.rank),
    ];
    for (key, value) in keys {
        model.arch(key, value as u32);
    }
    latent.write_keys(model);
    if let Some(scale) = config.f64("routed_scaling_factor")? {
        model.arch("expert_weights_scale", scale as f32);
    }
    if config.bool("norm_topk_prob")?.unwrap_or(false) {
        model.arch("expert_weights_norm", true);
    }
    if let Some(scale) = rope.mscale_all_dim()? {
        model.arch("rope.scaling.yarn_log_multiplier", (0.1 * scale) as f32);
    }
    Ok(())
}
