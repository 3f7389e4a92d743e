//! GLM-5.3-Flash: `glm5-next`. Most layers are Kimi delta attention, the others latent attention without rotation, to pools of positions
//! that an indexer chooses. A layer has several residual streams, but that for multi-token prediction one.

use serde_json::Value as Json;

use super::deepseek::{GLM_LITE, Latent};
use super::indexed::{Indexer, own_indexers};
use super::kimi::{self, Kda};
use crate::common::{add_ends, add_layer, count, gated, next_token, next_token_layers, require};
use crate::config::Config;
use crate::error::Result;
use crate::family::Family;
use crate::model::{Model, Rule, rule};
use crate::source::Change;

/// The only number of streams that readers of the family compute with.
const STREAMS: u32 = 4;

pub(super) const GLM5_NEXT: Family = Family {
    names: &["Glm5NextForConditionalGeneration"],
    architecture: "glm5-next",
    defaults: r#"{"max_position_embeddings": 1048576, "rms_norm_eps": 1e-5, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 256,
        "qk_rope_head_dim": 0, "v_head_dim": 256, "n_routed_experts": 288, "n_shared_experts": 1, "num_experts_per_tok": 8,
        "moe_intermediate_size": 2048, "first_k_dense_replace": 3, "n_group": 1, "topk_group": 1, "routed_scaling_factor": 2.5,
        "norm_topk_prob": true, "scoring_func": "sigmoid", "mla_use_nope": true, "index_n_heads": 32, "index_head_dim": 128,
        "index_topk": 2048, "index_kpool": 16, "index_kpool_always_select_tail": true, "hc_mult": 4, "hc_eps": 1e-6,
        "hc_sinkhorn_iters": 20, "swiglu_limit": 10.0}"#,
    // Nothing is rotated.
    scalings: &[],
    write,
    ..GLM_LITE
};

fn write(model: &mut Model<'_>) -> Result<()> {
    let config = model.config;
    // What a file of the family cannot express.
    require(config, "mla_use_nope", true)?;
    require(config, "qk_rope_head_dim", 0)?;
    require(config, "moe_layer_freq", 1)?;
    require(config, "mhc", true)?;
    require(config, "hc_mult", STREAMS)?;
    require(config, "index_kpool_always_select_tail", true)?;
    // The vision tower is left out.
    model.set_part(&["model.visual.", "visual."]);
    let more = next_token_layers(config)?;
    let latent = Latent::read(config)?;
    let (kda, linear) = Kda::read(config, &latent.sizes)?;
    let layers = latent.sizes.layers;
    let mut full = layer_types(config, layers)?;
    networks(config, &latent)?;
    let (indexer, own) = (Indexer::read(config)?, own_indexers(config)?);
    refuse_borrowed(config, &full, own.as_deref())?;
    let is_own = |layer: u32| own.as_ref().and_then(|own| own.get(layer as usize)).is_none_or(|own| *own);
    // The layer for multi-token prediction has attention.
    full.resize((layers + more) as usize, true);
    kimi::write(model, &kda, &latent, &full)?;
    write_more(model, &latent, full.len())?;
    if let Some(bound) = linear.f64("gate_lower_bound")? {
        if bound >= 0.0 {
            return Err(linear.mismatch("gate_lower_bound", "a number below zero", &bound.into()));
        }
        model.arch("kda.gate_lower_bound", bound as f32);
    }
    if more > 0 {
        model.arch("nextn_predict_layers", more);
    }
    let pool = count(config, "index_kpool")?;
    for (layer, full) in (0..).zip(full) {
        let mut rules = if full { latent.attention() } else { delta(&kda) };
        if full && is_own(layer) {
            rules.extend(indexer.rules(&latent));
            rules.extend(pools(&latent, indexer.width.into(), pool.into()));
        }
        rules.extend(match layer < latent.dense {
            true => gated(latent.sizes.hidden, latent.sizes.inner),
            false => latent.mixture(false),
        });
        rules.extend(if layer < layers { streams(latent.sizes.hidden) } else { next_token(&latent.sizes) });
        add_layer(model, layer, &rules)?;
    }
    indexer.write_keys(model, own);
    model.arch("attention.indexer.kpool", pool);
    model.arch("attention.indexer.kpool_select_tail", true);
    if config.bool("tie_word_embeddings")?.unwrap_or(false) {
        model.leave_out(|name| name == "lm_head.weight");
    }
    add_ends(model, &latent.sizes)
}

/// Which layers `layer_types` says have attention.
fn layer_types(config: &Config, layers: u32) -> Result<Vec<bool>> {
    const TYPES: &str = "layer_types";
    let list = config.list(TYPES)?.ok_or_else(|| config.missing(TYPES))?;
    let is_full = |kind: &Json| match kind.as_str() {
        Some("linear_attention") => Some(false),
        Some("indexed_attention" | "full_attention") => Some(true),
        _ => None,
    };
    let full: Option<Vec<bool>> = list.iter().map(is_full).collect();
    full.filter(|full| full.len() == layers as usize).ok_or_else(|| {
        let expected = format!("\"linear_attention\" or \"indexed_attention\" for each of {layers} layers");
        config.mismatch(TYPES, &expected, &Json::from(list))
    })
}

/// Checks that `mlp_layer_types`, if it is there, says what `first_k_dense_replace` does.
fn networks(config: &Config, latent: &Latent) -> Result<()> {
    const TYPES: &str = "mlp_layer_types";
    let Some(list) = config.list(TYPES)? else { return Ok(()) };
    let kind = |layer: u32| if layer < latent.dense { "dense" } else { "sparse" };
    if list.iter().map(Json::as_str).eq((0..latent.sizes.layers).map(|layer| Some(kind(layer)))) {
        return Ok(());
    }
    let expected =
        format!("\"dense\" for the first {}, as `first_k_dense_replace`, then \"sparse\"", latent.dense);
    Err(config.mismatch(TYPES, &expected, &Json::from(list)))
}

/// Checks that the first layer with attention has an indexer.
fn refuse_borrowed(config: &Config, full: &[bool], own: Option<&[bool]>) -> Result<()> {
    let first = full.iter().position(|full| *full);
    match first.zip(own).and_then(|(layer, own)| own.get(layer)) {
        Some(false) => {
            let expected = "\"full\" for the first layer with attention: no layer before it has positions";
            let found = config.value("indexer_types").cloned().unwrap_or_default();
            Err(config.mismatch("indexer_types", expected, &found))
        }
        _ => Ok(()),
    }
}

/// Writes what Kimi-Linear does not have.
fn write_more(model: &mut Model<'_>, latent: &Latent, blocks: usize) -> Result<()> {
    let config = model.config;
    model.arch("attention.value_length", latent.rank as u32);
    // The indexer's norm, which has no key.
    model.arch("attention.layer_norm_epsilon", 1e-6f32);
    model.arch("expert_weights_norm", config.bool("norm_topk_prob")?.unwrap_or(true));
    model.arch("hyper_connection.count", STREAMS);
    model.arch("hyper_connection.sinkhorn_iterations", count(config, "hc_sinkhorn_iters")?);
    model.arch("hyper_connection.epsilon", config.require_f64("hc_eps")? as f32);
    if let Some(limit) = config.f64("swiglu_limit")? {
        model.arch("swiglu_clamp_exp", vec![limit as f32; blocks]);
        model.arch("swiglu_clamp_shexp", vec![limit as f32; blocks]);
    }
    Ok(())
}

/// Kimi delta attention with a decay for each head.
fn delta(kda: &Kda) -> Vec<Rule> {
    let mut rules = kda.factored();
    rules.push(rule("self_attn.A_log", "ssm_a", &[kda.heads]).changed(Change::NegativeExp));
    rules
}

/// What makes one key of the keys of a pool.
fn pools(latent: &Latent, width: u64, pool: u64) -> Vec<Rule> {
    let (gate, places) = ("index_kpool_compress_gate", "index_kpool_compress_ape");
    vec![
        rule(
            &format!("self_attn.indexer.{gate}"),
            "indexer_compressor_gate.weight",
            &[width, latent.sizes.hidden],
        ),
        rule(&format!("self_attn.indexer.{places}"), "indexer_compressor_ape.weight", &[pool, width]),
    ]
}

/// How a layer's streams are read, written and mixed, before attention and before the feed-forward network.
fn streams(hidden: u64) -> Vec<Rule> {
    let streams = u64::from(STREAMS);
    let values = streams * (2 + streams);
    let of = |part: &str| {
        [("fn", vec![values, streams * hidden]), ("base", vec![values]), ("scale", vec![3])].map(
            |(name, shape)| {
                let name = format!("hc_{part}_{name}");
                rule(&name, &format!("{name}.weight"), &shape)
            },
        )
    };
    [of("attn"), of("ffn")].concat()
}
