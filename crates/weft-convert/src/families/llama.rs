//! Llama, Mistral and Mixtral: `llama`. llama.cpp rotates neighbouring values of this family, so rows of queries and keys change places.

use crate::common::{
    Sizes, add_ends, add_layer, copy_u32, count, experts, gated, grouped_attention, refuse_window,
    second_norm, write_keys,
};
use crate::error::{Result, refuse};
use crate::family::{Family, PLAIN};
use crate::model::{Model, Rule};
use crate::tokenizer::Kind;

pub(super) const LLAMA: Family = Family {
    names: &["LlamaForCausalLM", "LLaMAForCausalLM"],
    architecture: "llama",
    defaults: r#"{"max_position_embeddings": 2048, "rms_norm_eps": 1e-6, "rope_theta": 1e4}"#,
    scalings: &["linear", "yarn", "llama3"],
    tokenizer: Kind::Llama,
    write: |model| dense(model, true),
    ..PLAIN
};

pub(super) const MISTRAL: Family = Family {
    names: &["MistralForCausalLM"],
    defaults: r#"{"max_position_embeddings": 131072, "rms_norm_eps": 1e-6, "rope_theta": 1e4, "num_key_value_heads": 8, "sliding_window": 4096}"#,
    write: |model| {
        refuse_window(model.config)?;
        dense(model, true)
    },
    ..LLAMA
};

pub(super) const MIXTRAL: Family = Family {
    names: &["MixtralForCausalLM"],
    defaults: r#"{"max_position_embeddings": 131072, "rms_norm_eps": 1e-5, "rope_theta": 1e6, "num_key_value_heads": 8, "num_local_experts": 8,
        "num_experts_per_tok": 2}"#,
    write: mixtral,
    ..LLAMA
};

/// Writes keys and tensors of a model without experts.
pub(super) fn dense(model: &mut Model<'_>, names_head: bool) -> Result<()> {
    let sizes = start(model, names_head)?;
    for layer in 0..sizes.layers {
        let mut rules = attention(&sizes);
        rules.extend(gated(sizes.hidden, sizes.inner));
        add_layer(model, layer, &rules)?;
    }
    add_ends(model, &sizes)
}

fn mixtral(model: &mut Model<'_>) -> Result<()> {
    refuse_window(model.config)?;
    let sizes = start(model, false)?;
    let number = count(model.config, "num_local_experts")?.into();
    for layer in 0..sizes.layers {
        let (router, expert) = ("block_sparse_moe.gate.weight", "block_sparse_moe.experts.{}");
        let mut rules = attention(&sizes);
        rules.extend(experts(router, expert, ["w1", "w3", "w2"], number, sizes.hidden, sizes.inner));
        add_layer(model, layer, &rules)?;
    }
    add_ends(model, &sizes)
}

/// Writes the keys, and the factors of rotary embedding if there are any. `transformers` adds the width of a head to configurations that
/// lack it, and llama.cpp then writes it, if `names_head`.
fn start(model: &mut Model<'_>, names_head: bool) -> Result<Sizes> {
    let sizes = Sizes::read(model.config)?;
    if !sizes.head.is_multiple_of(2) {
        let problem = format!("a head has {} values; an even number can be rotated in pairs", sizes.head);
        return Err(refuse(model.config.path(), problem));
    }
    let rope = write_keys(model, sizes.layers)?;
    copy_u32(model, "vocab_size", "vocab_size")?;
    let head = sizes.head as u32;
    model.arch("rope.dimension_count", head);
    if names_head {
        model.arch("attention.key_length", head);
        model.arch("attention.value_length", head);
    }
    if let Some(factors) = rope.llama3_factors(head)? {
        model.made("rope_freqs.weight", factors);
    }
    Ok(sizes)
}

fn attention(sizes: &Sizes) -> Vec<Rule> {
    let mut rules = grouped_attention(sizes);
    for rule in &mut rules {
        if rule.name.starts_with("attn_q.") {
            *rule = rule.clone().pairs(sizes.heads);
        }
        if rule.name.starts_with("attn_k.") {
            *rule = rule.clone().pairs(sizes.kv_heads);
        }
    }
    rules.push(second_norm(sizes));
    rules
}
