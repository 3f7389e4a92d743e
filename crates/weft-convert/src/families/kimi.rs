//! Kimi-Linear and Ling 3: `kimi-linear`, `bailingmoe3`. Most layers are Kimi delta attention, the others
//! latent attention; a mixture follows dense layers. Kimi-Linear rotates nothing. Ling 3 has gates for the
//! heads of latent attention, a bound for decays, and a layer for multi-token prediction.

use serde_json::Value as Json;

use super::deepseek::Latent;
use crate::common::{
    Sizes, add_ends, add_layer, copy_u32, count, experts, gated, require, shared_expert, write_keys,
};
use crate::config::Config;
use crate::error::Result;
use crate::family::{Family, PLAIN};
use crate::model::{Model, Rule, rule};
use crate::source::Change;
use crate::tokenizer::Kind;

pub(super) const KIMI_LINEAR: Family = Family {
    names: &["KimiLinearForCausalLM"],
    architecture: "kimi-linear",
    defaults: r#"{"rms_norm_eps": 1e-5, "rope_theta": 1e4, "num_experts": 256, "num_experts_per_token": 8, "num_shared_experts": 1,
        "moe_intermediate_size": 1024, "first_k_dense_replace": 1, "moe_renormalize": true, "routed_scaling_factor": 2.446,
        "moe_router_activation_func": "sigmoid", "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "mla_use_nope": true}"#,
    // Nothing is rotated.
    scalings: &[],
    tokenizer: Kind::Kimi,
    write: kimi,
    ..PLAIN
};

pub(super) const LING3: Family = Family {
    names: &["BailingMoeV3ForCausalLM", "BailingMoeV3VLForConditionalGeneration"],
    architecture: "bailingmoe3",
    defaults: r#"{"rms_norm_eps": 1e-6, "rope_theta": 6e6, "head_dim": 128, "num_experts_per_tok": 8, "num_shared_experts": 1,
        "norm_topk_prob": true, "routed_scaling_factor": 2.5, "score_function": "sigmoid", "short_conv_kernel_size": 4,
        "layer_group_size": 6, "no_kda_lora": false, "kda_safe_gate": true, "kda_lower_bound": -5.0}"#,
    tokenizer: Kind::Ling,
    write: ling,
    ..PLAIN
};

/// The sizes of Kimi delta attention.
pub(super) struct Kda {
    pub(super) hidden: u64,
    pub(super) heads: u64,
    /// The width of a head.
    pub(super) width: u64,
    /// The inputs of the short convolutions.
    pub(super) taps: u64,
}

impl Kda {
    /// Reads the sizes, and returns the configuration that has them.
    pub(super) fn read(config: &Config, sizes: &Sizes) -> Result<(Kda, Config)> {
        if config.value("linear_attn_config").is_none() {
            return Err(config.missing("linear_attn_config"));
        }
        let linear = config.object("linear_attn_config")?;
        let kda = Kda {
            hidden: sizes.hidden,
            heads: count(&linear, "num_heads")?.into(),
            width: count(&linear, "head_dim")?.into(),
            taps: count(&linear, "short_conv_kernel_size")?.into(),
        };
        if kda.heads != sizes.heads {
            let expected =
                format!("{}, as `num_attention_heads`: readers know one number of heads", sizes.heads);
            return Err(linear.mismatch("num_heads", &expected, &kda.heads.into()));
        }
        Ok((kda, linear))
    }

    /// The rules of a layer whose decays and gates are products of two matrices, without those of decays themselves.
    pub(super) fn factored(&self) -> Vec<Rule> {
        let Kda { hidden, heads, width, .. } = *self;
        let all = heads * width;
        let mut rules = self.rules();
        rules.extend([
            rule("input_layernorm.weight", "attn_norm.weight", &[hidden]),
            rule("post_attention_layernorm.weight", "ffn_norm.weight", &[hidden]),
            rule("self_attn.f_a_proj.weight", "ssm_f_a.weight", &[width, hidden]),
            rule("self_attn.f_b_proj.weight", "ssm_f_b.weight", &[all, width]),
            rule("self_attn.g_a_proj.weight", "ssm_g_a.weight", &[width, hidden]),
            rule("self_attn.g_b_proj.weight", "ssm_g_b.weight", &[all, width]),
        ]);
        rules
    }

    /// The rules that both families have, by the names of Kimi-Linear.
    fn rules(&self) -> Vec<Rule> {
        let Kda { hidden, heads, width, taps } = *self;
        let all = heads * width;
        let mut rules = vec![
            rule("self_attn.b_proj.weight", "ssm_beta.weight", &[heads, hidden]),
            rule("self_attn.dt_bias", "ssm_dt.bias", &[all]),
            rule("self_attn.o_norm.weight", "ssm_norm.weight", &[width]),
            rule("self_attn.o_proj.weight", "attn_output.weight", &[hidden, all]),
        ];
        for which in ["q", "k", "v"] {
            let (matrix, conv) =
                (format!("self_attn.{which}_proj.weight"), format!("self_attn.{which}_conv1d.weight"));
            rules.extend([
                rule(&matrix, &format!("attn_{which}.weight"), &[all, hidden]),
                rule(&conv, &format!("ssm_conv1d_{which}.weight"), &[all, 1, taps])
                    .or_shape(&[all, taps])
                    .becoming(&[1, all, 1, taps]),
            ]);
        }
        rules
    }

    fn write_keys(&self, model: &mut Model<'_>) {
        model.arch("ssm.conv_kernel", self.taps as u32);
        model.arch("kda.head_dim", self.width as u32);
    }
}

/// Writes the keys of all families with such layers. `full` says which layers have latent attention; programs that read the file see one
/// head of keys there.
pub(super) fn write(model: &mut Model<'_>, kda: &Kda, latent: &Latent, full: &[bool]) -> Result<()> {
    let config = model.config;
    write_keys(model, full.len() as u32)?;
    kda.write_keys(model);
    copy_u32(model, "vocab_size", "vocab_size")?;
    copy_u32(model, "q_lora_rank", "attention.q_lora_rank")?;
    model.arch("attention.head_count_kv", full.iter().map(|full| i32::from(*full)).collect::<Vec<_>>());
    model.arch("attention.key_length", (latent.rank + latent.rotated) as u32);
    latent.write_keys(model);
    model.arch("expert_weights_scale", config.require_f64("routed_scaling_factor")? as f32);
    Ok(())
}

fn kimi(model: &mut Model<'_>) -> Result<()> {
    let config = model.config;
    require(config, "mla_use_nope", true)?;
    require(config, "moe_layer_freq", 1)?;
    require(config, "moe_renormalize", true)?;
    require(config, "num_expert_group", 1)?;
    require(config, "num_nextn_predict_layers", 0)?;
    if let Some(rank) = config.value("q_lora_rank") {
        return Err(config.mismatch("q_lora_rank", "null: readers compute queries in one product", rank));
    }
    let latent = Latent::read(config)?;
    let sizes = &latent.sizes;
    let (hidden, heads) = (sizes.hidden, sizes.heads);
    let (kda, linear) = Kda::read(config, sizes)?;
    let full = full_layers(&linear, sizes.layers)?;
    write(model, &kda, &latent, &full)?;
    for (layer, full) in (0..sizes.layers).zip(full) {
        let mut rules = if full { latent.attention() } else { kda.factored() };
        if !full {
            rules.push(
                rule("self_attn.A_log", "ssm_a", &[1, 1, heads, 1])
                    .or_shape(&[heads])
                    .becoming(&[1, 1, heads, 1])
                    .changed(Change::NegativeExp),
            );
        }
        if layer < latent.dense {
            rules.extend(gated(hidden, sizes.inner));
        } else {
            let (router, names) = ("block_sparse_moe.gate.weight", ["w1", "w3", "w2"]);
            let expert = "block_sparse_moe.experts.{}";
            rules.extend(experts(router, expert, names, latent.experts, hidden, latent.inner));
            let bias = "block_sparse_moe.gate.e_score_correction_bias";
            rules.push(rule(bias, "exp_probs_b.bias", &[latent.experts]));
            if latent.shared > 0 {
                let inner = latent.shared * latent.inner;
                rules.extend(shared_expert("block_sparse_moe.shared_experts", hidden, inner));
            }
        }
        add_layer(model, layer, &rules)?;
    }
    add_ends(model, sizes)
}

/// Which layers `full_attn_layers` names, which counts from 1. `kda_layers` must name the others.
fn full_layers(config: &Config, layers: u32) -> Result<Vec<bool>> {
    let named = |key: &str| -> Result<Vec<bool>> {
        let list = config.list(key)?.ok_or_else(|| config.missing(key))?;
        let mut found = vec![false; layers as usize];
        for layer in list {
            let at = layer.as_u64().and_then(|layer| usize::try_from(layer.checked_sub(1)?).ok());
            let Some(found) = at.and_then(|at| found.get_mut(at)) else {
                let expected = format!("a list of layers, from 1 to {layers}");
                return Err(config.mismatch(key, &expected, &list.to_vec().into()));
            };
            *found = true;
        }
        Ok(found)
    };
    let full = named("full_attn_layers")?;
    if config.value("kda_layers").is_some()
        && full.iter().zip(named("kda_layers")?).any(|(full, kda)| *full == kda)
    {
        let found = config.value("kda_layers").cloned().unwrap_or_default();
        return Err(config.mismatch(
            "kda_layers",
            "all layers that `full_attn_layers` does not name",
            &found,
        ));
    }
    Ok(full)
}

fn ling(model: &mut Model<'_>) -> Result<()> {
    let config = model.config;
    require(config, "no_kda_lora", true)?;
    require(config, "kda_safe_gate", true)?;
    require(config, "rope_interleave", true)?;
    require(config, "gated_attention_proj_granularity_type", "head_wise")?;
    if config.value("gated_attention_proj_granularity_type").is_none() {
        return Err(config.missing("gated_attention_proj_granularity_type"));
    }
    // The vision tower is left out.
    model.set_part(&["model.visual.", "visual.", "linear_proj."]);
    let latent = Latent::read(config)?;
    let sizes = &latent.sizes;
    let (hidden, heads) = (sizes.hidden, sizes.heads);
    let kda = Kda {
        hidden,
        heads,
        width: count(config, "head_dim")?.into(),
        taps: count(config, "short_conv_kernel_size")?.into(),
    };
    let group = count(config, "layer_group_size")?;
    if let Some(found) = config.u32("num_nextn_predict_layers")?.filter(|layers| *layers > 1) {
        let expected = "0 or 1: no more can be converted";
        return Err(config.mismatch("num_nextn_predict_layers", expected, &found.into()));
    }
    let more = u32::from(model.has(&format!("model.layers.{}.eh_proj.weight", sizes.layers)));
    // The last of each group, those after the last whole group, and that for multi-token prediction.
    let is_full = |layer: u32| (layer + 1).is_multiple_of(group) || layer >= sizes.layers / group * group;
    let full: Vec<bool> = (0..sizes.layers + more).map(is_full).collect();
    write(model, &kda, &latent, &full)?;
    let shared = count(config, "moe_shared_expert_intermediate_size")?.into();
    write_more(model, &latent, shared, full.len())?;
    if more > 0 {
        model.arch("nextn_predict_layers", more);
    }
    for (layer, full) in (0..).zip(full) {
        let mut rules = if full { latent.attention() } else { kda.rules() };
        let all = heads * kda.width;
        if full {
            rules.push(rule("self_attn.g_proj.weight", "attn_gate.weight", &[heads, hidden]));
        } else {
            rules.extend([
                rule("input_layernorm.weight", "attn_norm.weight", &[hidden]),
                rule("post_attention_layernorm.weight", "ffn_norm.weight", &[hidden]),
                rule("self_attn.A_log", "ssm_a", &[heads])
                    .or_shape(&[1, 1, heads, 1])
                    .becoming(&[heads, 1])
                    .changed(Change::Exp),
                rule("self_attn.f_proj.weight", "ssm_f_a.weight", &[all, hidden]),
                rule("self_attn.g_proj.weight", "ssm_g_a.weight", &[all, hidden]),
            ]);
        }
        let stored = format!("model.layers.{layer}.");
        let is_dense = model.has(&format!("{stored}attention.dense.weight"));
        for rule in &mut rules {
            rule.stored = rule.stored.replace("self_attn.", "attention.");
            if is_dense && rule.stored == "attention.o_proj.weight" {
                rule.stored = "attention.dense.weight".into();
            }
        }
        if layer < latent.dense {
            rules.extend(gated(hidden, sizes.inner));
        } else {
            let (router, names) = ("mlp.gate.weight", ["gate_proj", "up_proj", "down_proj"]);
            rules.extend(experts(router, "mlp.experts.{}", names, latent.experts, hidden, latent.inner));
            rules.push(rule("mlp.gate.expert_bias", "exp_probs_b.bias", &[latent.experts]));
            if latent.shared > 0 {
                rules.extend(shared_expert("mlp.shared_experts", hidden, shared));
            }
        }
        if layer >= sizes.layers {
            rules.extend([
                rule("eh_proj.weight", "nextn.eh_proj.weight", &[hidden, 2 * hidden]),
                rule("enorm.weight", "nextn.enorm.weight", &[hidden]),
                rule("hnorm.weight", "nextn.hnorm.weight", &[hidden]),
                rule("final_layernorm.weight", "layer_output_norm.weight", &[hidden]),
            ]);
        }
        add_layer(model, layer, &rules)?;
    }
    add_ends(model, sizes)
}

/// Writes what only Ling has.
fn write_more(model: &mut Model<'_>, latent: &Latent, shared: u64, blocks: usize) -> Result<()> {
    let config = model.config;
    const BOUND: &str = "kda_lower_bound";
    let bound = config.require_f64(BOUND)?;
    if bound >= 0.0 {
        return Err(config.mismatch(BOUND, "a number below zero", &bound.into()));
    }
    model.arch("kda.gate_lower_bound", bound as f32);
    model.arch("kda.safe_gate", true);
    model.arch("expert_shared_feed_forward_length", shared as u32);
    model.arch("expert_weights_norm", config.bool("norm_topk_prob")?.unwrap_or(true));
    for (key, to) in [
        ("expert_swiglu_limit_list", "swiglu_clamp_exp"),
        ("share_expert_swiglu_limit_list", "swiglu_clamp_shexp"),
    ] {
        if let Some(limits) = limits(config, key, blocks)? {
            model.arch(to, limits);
        }
    }
    const SECTIONS: &str = "mrope_section";
    let Some(list) = config.list(SECTIONS)? else {
        // Models that also see rotate other pairs, also for text.
        let is_part = config.value("vision_config").is_some();
        return if is_part { Err(config.missing(SECTIONS)) } else { Ok(()) };
    };
    let pairs = |pairs: &Json| pairs.as_u64().and_then(|pairs| i32::try_from(pairs).ok());
    let found: Vec<i32> = list.iter().take(3).filter_map(pairs).collect();
    let sum: i64 = found.iter().copied().map(i64::from).sum();
    if found.len() != list.len().min(3) || sum * 2 != latent.rotated as i64 {
        let expected =
            format!("three counts whose sum is {}, half of `qk_rope_head_dim`", latent.rotated / 2);
        return Err(config.mismatch(SECTIONS, &expected, &list.to_vec().into()));
    }
    let mut sections = found;
    sections.resize(4, 0);
    model.arch("rope.dimension_sections", sections);
    Ok(())
}

/// The bounds of activations by layer, 0 where there is none.
fn limits(config: &Config, key: &str, blocks: usize) -> Result<Option<Vec<f32>>> {
    let Some(list) = config.list(key)? else { return Ok(None) };
    let limit = |limit: &Json| if limit.is_null() { Some(0.0) } else { Some(limit.as_f64()? as f32) };
    let found: Option<Vec<f32>> = list.iter().take(blocks).map(limit).collect();
    let Some(mut found) = found else {
        return Err(config.mismatch(
            key,
            "a list with a number or null for each layer",
            &list.to_vec().into(),
        ));
    };
    found.resize(blocks, 0.0);
    Ok(Some(found))
}
