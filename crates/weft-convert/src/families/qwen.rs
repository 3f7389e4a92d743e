//! Qwen 2 and 3, dense and with a mixture of experts: `qwen2`, `qwen2moe`, `qwen3`, `qwen3moe`.

use crate::common::{
    Sizes, add_ends, add_layer, copy_u32, count, count_of, experts, gated, grouped_attention, head_norms,
    refuse_window, require, require_mixtures, second_norm, shared_expert, write_keys,
};
use crate::config::Config;
use crate::error::Result;
use crate::family::{Family, PLAIN};
use crate::model::{Model, Rule, rule};

pub(super) const QWEN2: Family = Family {
    names: &["Qwen2ForCausalLM"],
    architecture: "qwen2",
    defaults: r#"{"max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "rope_theta": 1e4, "num_key_value_heads": 32,
        "sliding_window": 4096, "max_window_layers": 28}"#,
    write: |model| dense(model, |_| Vec::new()),
    ..PLAIN
};

pub(super) const QWEN3: Family = Family {
    names: &["Qwen3ForCausalLM"],
    architecture: "qwen3",
    defaults: r#"{"max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "rope_theta": 1e4, "num_key_value_heads": 32,
        "head_dim": 128, "sliding_window": 4096, "max_window_layers": 28}"#,
    write: |model| dense(model, head_norms),
    ..PLAIN
};

pub(super) const QWEN2_MOE: Family = Family {
    names: &["Qwen2MoeForCausalLM"],
    architecture: "qwen2moe",
    defaults: r#"{"max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "rope_theta": 1e4, "num_key_value_heads": 16,
        "num_experts_per_tok": 4, "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632,
        "norm_topk_prob": false, "sliding_window": 4096, "max_window_layers": 28}"#,
    write: qwen2_moe,
    ..QWEN2
};

pub(super) const QWEN3_MOE: Family = Family {
    names: &["Qwen3MoeForCausalLM"],
    architecture: "qwen3moe",
    // Not normalised, unlike every published model, which says so.
    defaults: r#"{"max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "rope_theta": 1e4, "num_key_value_heads": 4,
        "num_experts_per_tok": 8, "moe_intermediate_size": 768, "norm_topk_prob": false, "sliding_window": 4096}"#,
    write: qwen3_moe,
    ..QWEN2
};

fn dense(model: &mut Model<'_>, more: impl Fn(&Sizes) -> Vec<Rule>) -> Result<()> {
    let sizes = Sizes::read(model.config)?;
    refuse_windows(model.config, sizes.layers)?;
    write_keys(model, sizes.layers)?;
    for layer in 0..sizes.layers {
        let mut rules = grouped_attention(&sizes);
        rules.extend(more(&sizes));
        rules.push(second_norm(&sizes));
        rules.extend(gated(sizes.hidden, sizes.inner));
        add_layer(model, layer, &rules)?;
    }
    add_ends(model, &sizes)
}

/// Refuses a sliding window if `use_sliding_window` asks for it in one of the layers: those from `max_window_layers` on, or those that
/// `layer_types` names. Mixtures number these layers differently, so for them every layer counts as asked for.
fn refuse_windows(config: &Config, layers: u32) -> Result<()> {
    let is_windowed = match config.list("layer_types")? {
        Some(types) => types.iter().any(|kind| kind == "sliding_attention"),
        None => config.u32("max_window_layers")?.unwrap_or(0) < layers,
    };
    if config.bool("use_sliding_window")?.unwrap_or(false) && is_windowed {
        return refuse_window(config);
    }
    Ok(())
}

fn qwen2_moe(model: &mut Model<'_>) -> Result<()> {
    require(model.config, "norm_topk_prob", false)?;
    let shared = count(model.config, "shared_expert_intermediate_size")?.into();
    copy_u32(model, "shared_expert_intermediate_size", "expert_shared_feed_forward_length")?;
    mixture(model, |sizes| {
        let mut rules = shared_expert("mlp.shared_expert", sizes.hidden, shared);
        rules.push(rule("mlp.shared_expert_gate.weight", "ffn_gate_inp_shexp.weight", &[1, sizes.hidden]));
        rules
    })
}

fn qwen3_moe(model: &mut Model<'_>) -> Result<()> {
    require(model.config, "norm_topk_prob", true)?;
    mixture(model, head_norms)
}

/// A mixture in every layer but those that the configuration names, which are dense.
fn mixture(model: &mut Model<'_>, more: impl Fn(&Sizes) -> Vec<Rule>) -> Result<()> {
    let config = model.config;
    let sizes = Sizes::read(config)?;
    refuse_windows(config, u32::MAX)?;
    require_mixtures(config)?;
    let number = count_of(config, "num_experts", "num_local_experts")?;
    let inner = count(config, "moe_intermediate_size")?.into();
    write_keys(model, sizes.layers)?;
    copy_u32(model, "moe_intermediate_size", "expert_feed_forward_length")?;
    for layer in 0..sizes.layers {
        let names = ["gate_proj", "up_proj", "down_proj"];
        let mut rules = grouped_attention(&sizes);
        rules.push(second_norm(&sizes));
        rules.extend(experts("mlp.gate.weight", "mlp.experts.{}", names, number, sizes.hidden, inner));
        rules.extend(more(&sizes));
        add_layer(model, layer, &rules)?;
    }
    add_ends(model, &sizes)
}
