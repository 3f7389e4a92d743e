//! GLM-4.5, GLM-4.5-Air and GLM-4.6: `glm4moe`, with its layer for multi-token prediction.

use crate::common::{
    Sizes, add_ends, add_layer, copy_u32, count, experts, gated, grouped_attention, head_norms, next_token,
    next_token_layers, shared_expert, write_keys,
};
use crate::error::Result;
use crate::family::{Family, PLAIN};
use crate::model::{Model, Rule, rule};
use crate::tokenizer::Kind;

pub(super) const GLM4_MOE: Family = Family {
    names: &["Glm4MoeForCausalLM"],
    architecture: "glm4moe",
    defaults: r#"{"max_position_embeddings": 131072, "rms_norm_eps": 1e-5, "rope_theta": 1e4, "num_key_value_heads": 8,
        "num_experts_per_tok": 8, "moe_intermediate_size": 1408, "n_routed_experts": 128, "n_shared_experts": 1,
        "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1, "routed_scaling_factor": 1.0, "norm_topk_prob": true}"#,
    tokenizer: Kind::Glm,
    write,
    ..PLAIN
};

fn write(model: &mut Model<'_>) -> Result<()> {
    let config = model.config;
    let sizes = Sizes::read(config)?;
    let layers = sizes.layers + next_token_layers(config)?;
    let rope = write_keys(model, layers)?;
    let rotated = sizes.head as f64 * rope.partial.unwrap_or(0.5);
    model.arch("rope.dimension_count", rotated as u32);
    model.arch("expert_gating_func", 2u32);
    for (key, to) in [
        ("moe_intermediate_size", "expert_feed_forward_length"),
        ("n_shared_experts", "expert_shared_count"),
        ("first_k_dense_replace", "leading_dense_block_count"),
        ("num_nextn_predict_layers", "nextn_predict_layers"),
    ] {
        copy_u32(model, key, to)?;
    }
    if let Some(scale) = config.f64("routed_scaling_factor")? {
        model.arch("expert_weights_scale", scale as f32);
    }
    if let Some(normalised) = config.bool("norm_topk_prob")? {
        model.arch("expert_weights_norm", normalised);
    }

    let dense = config.u32("first_k_dense_replace")?.unwrap_or(0);
    let (number, inner) =
        (count(config, "n_routed_experts")?.into(), count(config, "moe_intermediate_size")?.into());
    let shared = u64::from(config.u32("n_shared_experts")?.unwrap_or(0)) * inner;
    let has_norms = config.bool("use_qk_norm")?.unwrap_or(false);
    for layer in 0..layers {
        let mut rules: Vec<Rule> = grouped_attention(&sizes);
        if has_norms {
            rules.extend(head_norms(&sizes));
        }
        // The norm before the feed-forward network, by the name it has where it follows attention.
        rules.push(rule("post_attention_layernorm.weight", "post_attention_norm.weight", &[sizes.hidden]));
        if layer < dense {
            rules.extend(gated(sizes.hidden, sizes.inner));
        } else {
            let names = ["gate_proj", "up_proj", "down_proj"];
            rules.extend(experts("mlp.gate.weight", "mlp.experts.{}", names, number, sizes.hidden, inner));
            rules.push(rule("mlp.gate.e_score_correction_bias", "exp_probs_b.bias", &[number]).optional());
            if shared > 0 {
                rules.extend(shared_expert("mlp.shared_experts", sizes.hidden, shared));
            }
        }
        if layer >= sizes.layers {
            rules.extend(next_token(&sizes));
        }
        add_layer(model, layer, &rules)?;
    }
    add_ends(model, &sizes)
}
