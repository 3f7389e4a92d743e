//! Latent attention to positions that an indexer chooses: DeepSeek-V3.2 is `deepseek32`, GLM-5 and its successors are `glm-dsa`. All else
//! is as in DeepSeek-V3 and GLM-4.7-Flash. Some layers of GLM-5.2 take the positions of the layer before them, and have no indexer.

use serde_json::Value as Json;
use weft_gguf::{Array, Value};

use super::deepseek::{DEEPSEEK_V3, GLM_LITE, Latent, latent_with};
use crate::common::{count, next_token_layers, require};
use crate::config::Config;
use crate::error::Result;
use crate::family::Family;
use crate::model::{Model, Rule, rule};

/// The kind of each layer, if layers differ.
const TYPES: &str = "indexer_types";

pub(super) const GLM_DSA: Family = Family {
    names: &["GlmMoeDsaForCausalLM"],
    architecture: "glm-dsa",
    defaults: r#"{"max_position_embeddings": 202752, "rms_norm_eps": 1e-5, "rope_theta": 1e4, "q_lora_rank": 2048, "kv_lora_rank": 512,
        "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256, "n_routed_experts": 256, "n_shared_experts": 1,
        "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "first_k_dense_replace": 3, "n_group": 1, "topk_group": 1,
        "routed_scaling_factor": 2.5, "norm_topk_prob": true, "scoring_func": "sigmoid", "index_n_heads": 32, "index_head_dim": 128,
        "index_topk": 2048}"#,
    write: |model| {
        // What a file of the family cannot express.
        require(model.config, "indexer_rope_interleave", true)?;
        let own = own_indexers(model.config)?;
        if own.as_ref().is_some_and(|own| own.first() != Some(&true)) {
            let expected = "\"full\" first: the first layer has no other layer's positions";
            let found = model.config.value(TYPES).cloned().unwrap_or_default();
            return Err(model.config.mismatch(TYPES, expected, &found));
        }
        write(model, own)
    },
    ..GLM_LITE
};

pub(super) const DEEPSEEK_V32: Family = Family {
    names: &["DeepseekV32ForCausalLM"],
    architecture: "deepseek32",
    defaults: r#"{"max_position_embeddings": 163840, "rms_norm_eps": 1e-6, "rope_theta": 1e4, "q_lora_rank": 1536, "kv_lora_rank": 512,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256, "n_shared_experts": 1,
        "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "first_k_dense_replace": 3, "n_group": 8, "topk_group": 4,
        "routed_scaling_factor": 2.5, "norm_topk_prob": true, "scoring_func": "sigmoid", "index_n_heads": 64, "index_head_dim": 128,
        "index_topk": 2048}"#,
    write: |model| write(model, None),
    ..DEEPSEEK_V3
};

/// `own`: whether each layer has an indexer; all have without.
fn write(model: &mut Model<'_>, own: Option<Vec<bool>>) -> Result<()> {
    let more = next_token_layers(model.config)?;
    let indexer = Indexer::read(model.config)?;
    latent_with(model, more, |latent, layer| {
        // A layer for multi-token prediction has one.
        match own.as_ref().and_then(|own| own.get(layer as usize)) {
            Some(false) => Vec::new(),
            Some(true) | None => indexer.rules(latent),
        }
    })?;
    indexer.write_keys(model, own);
    Ok(())
}

/// Whether each layer has an indexer, if the configuration says so.
pub(super) fn own_indexers(config: &Config) -> Result<Option<Vec<bool>>> {
    let Some(types) = config.list(TYPES)? else { return Ok(None) };
    let layers = config.require_u32("num_hidden_layers")?;
    let wrong = |expected: &str| config.mismatch(TYPES, expected, &Json::from(types));
    let own = |kind: &Json| match kind.as_str() {
        Some("full") => Ok(true),
        Some("shared") => Ok(false),
        _ => Err(wrong("\"full\" or \"shared\" for each layer")),
    };
    let own: Vec<bool> = types.iter().map(own).collect::<Result<_>>()?;
    if own.len() != layers as usize {
        return Err(wrong(&format!("one for each of {layers} layers")));
    }
    Ok(Some(own))
}

/// The sizes of indexers.
pub(super) struct Indexer {
    heads: u32,
    /// The width of a head, and of a key.
    pub(super) width: u32,
    /// The most positions that a token attends to.
    most: u32,
}

impl Indexer {
    pub(super) fn read(config: &Config) -> Result<Indexer> {
        Ok(Indexer {
            heads: count(config, "index_n_heads")?,
            width: count(config, "index_head_dim")?,
            most: count(config, "index_topk")?,
        })
    }

    pub(super) fn write_keys(&self, model: &mut Model<'_>, own: Option<Vec<bool>>) {
        model.arch("attention.indexer.head_count", self.heads);
        model.arch("attention.indexer.key_length", self.width);
        model.arch("attention.indexer.top_k", self.most);
        if let Some(own) = own {
            model.arch("attention.indexer.types", Value::Array(Array::Bool(own)));
        }
    }

    pub(super) fn rules(&self, latent: &Latent) -> Vec<Rule> {
        let (heads, width) = (u64::from(self.heads), u64::from(self.width));
        let hidden = latent.sizes.hidden;
        let queries = latent.query_rank.unwrap_or(hidden);
        vec![
            rule("self_attn.indexer.wq_b.weight", "indexer.attn_q_b.weight", &[heads * width, queries]),
            rule("self_attn.indexer.wk.weight", "indexer.attn_k.weight", &[width, hidden]),
            rule("self_attn.indexer.k_norm.weight", "indexer.k_norm.weight", &[width]),
            rule("self_attn.indexer.k_norm.bias", "indexer.k_norm.bias", &[width]),
            rule("self_attn.indexer.weights_proj.weight", "indexer.proj.weight", &[heads, hidden]),
        ]
    }
}
