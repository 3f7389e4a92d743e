//! The parts that families share: the model's sizes, the keys that most of them write, and the tensors that most layers have.

use serde_json::Value as Json;

use crate::config::Config;
use crate::error::{Result, refuse};
use crate::model::{Model, Rule, rule};
use crate::rope::Rope;
use crate::source::Order;

/// The most of anything that a configuration counts: layers, heads, experts, tokens, the width of a row.
const MAX_COUNT: u32 = 1 << 24;

/// The most layers.
const MAX_LAYERS: u32 = 4096;

/// Prefixes of the names of vision tensors: those of the tower and the projector.
pub(crate) const SIGHT: [&str; 4] =
    ["vision_tower.", "multi_modal_projector.", "model.vision_tower.", "model.multi_modal_projector."];

/// The sizes of a model, as counts of values unless stated.
#[derive(Debug)]
pub(crate) struct Sizes {
    /// `num_hidden_layers`: layers, without those for multi-token prediction.
    pub(crate) layers: u32,
    /// `vocab_size`: rows of the embedding.
    pub(crate) vocab: u64,
    /// `hidden_size`: the width of the residual stream.
    pub(crate) hidden: u64,
    /// `intermediate_size`: the width of a dense feed-forward network.
    pub(crate) inner: u64,
    /// `num_attention_heads`: query heads.
    pub(crate) heads: u64,
    /// `num_key_value_heads`: heads of keys and values.
    pub(crate) kv_heads: u64,
    /// `head_dim`, or the hidden size divided among the heads.
    pub(crate) head: u64,
}

/// A required count of at least one.
pub(crate) fn count(config: &Config, key: &str) -> Result<u32> {
    let found = config.require_u32(key)?;
    if (1..=MAX_COUNT).contains(&found) {
        return Ok(found);
    }
    Err(config.mismatch(key, &format!("an integer from 1 to {MAX_COUNT}"), &found.into()))
}

/// Checks that a key has the value that the family computes with, for which GGUF has no key.
pub(crate) fn require(config: &Config, key: &str, value: impl Into<Json>) -> Result<()> {
    let value = value.into();
    match config.value(key) {
        Some(found) if *found != value => {
            Err(config.mismatch(key, &format!("{value}, as the family always computes"), found))
        }
        _ => Ok(()),
    }
}

/// Checks that a sliding window of `sliding_window` tokens, in some layers, is as long as the context: then it changes nothing.
///
/// # Errors
///
/// If it is shorter. Files of most families cannot express that.
pub(crate) fn refuse_window(config: &Config) -> Result<()> {
    let context = config.require_u32("max_position_embeddings")?;
    match config.u32("sliding_window")? {
        Some(window) if window < context => {
            let expected = format!(
                "null, or at least the context of {context} tokens: windows are not converted in this family. With \
                 `max_position_embeddings` set to {window}, the model can be converted for contexts that fit its window"
            );
            Err(config.mismatch("sliding_window", &expected, &window.into()))
        }
        _ => Ok(()),
    }
}

impl Sizes {
    /// Reads the sizes.
    pub(crate) fn read(config: &Config) -> Result<Sizes> {
        Sizes::read_as(config, config.value("head_dim").is_some())
    }

    /// Reads the sizes of a model that has a mixture in every layer, for which `inner` is of no use.
    pub(crate) fn of_mixture(config: &Config) -> Result<Sizes> {
        Sizes::read_with(config, config.value("head_dim").is_some(), 0)
    }

    /// Reads the sizes, that of a head from `head_dim` or from the others.
    pub(crate) fn read_as(config: &Config, names_head: bool) -> Result<Sizes> {
        Sizes::read_with(config, names_head, count(config, "intermediate_size")?.into())
    }

    fn read_with(config: &Config, names_head: bool, inner: u64) -> Result<Sizes> {
        let count = |key: &str| count(config, key).map(u64::from);
        let layers = config.require_u32("num_hidden_layers")?;
        if !(1..=MAX_LAYERS).contains(&layers) {
            let expected = format!("an integer from 1 to {MAX_LAYERS}");
            return Err(config.mismatch("num_hidden_layers", &expected, &layers.into()));
        }
        let (hidden, heads) = (count("hidden_size")?, count("num_attention_heads")?);
        let kv_heads =
            if config.value("num_key_value_heads").is_some() { count("num_key_value_heads")? } else { heads };
        let head = if names_head { count("head_dim")? } else { hidden / heads };
        if head == 0 || !heads.is_multiple_of(kv_heads) {
            let problem = format!(
                "{heads} query heads cannot share {kv_heads} heads of keys and values with a hidden size of {hidden}"
            );
            return Err(refuse(config.path(), problem));
        }
        require(config, "hidden_act", "silu")?;
        let vocab = count("vocab_size")?;
        Ok(Sizes { layers, vocab, hidden, inner, heads, kv_heads, head })
    }
}

/// Writes the keys that all families have, if the configuration has them.
pub(crate) fn write_keys(model: &mut Model<'_>, layers: u32) -> Result<Rope> {
    let config = model.config;
    model.arch("block_count", layers);
    let integers = [
        (["max_position_embeddings", "model_max_length"], "context_length"),
        (["hidden_size", ""], "embedding_length"),
        (["intermediate_size", ""], "feed_forward_length"),
        (["num_attention_heads", ""], "attention.head_count"),
        (["num_key_value_heads", "num_attention_heads"], "attention.head_count_kv"),
        (["num_local_experts", "num_experts"], "expert_count"),
        (["n_routed_experts", ""], "expert_count"),
        (["num_experts_per_tok", "num_experts_per_token"], "expert_used_count"),
        (["n_group", ""], "expert_group_count"),
        (["topk_group", ""], "expert_group_used_count"),
    ];
    for ([name, other], key) in integers {
        let found = config.u32(name)?;
        if let Some(value) = if found.is_some() { found } else { config.u32(other)? } {
            model.arch(key, value);
        }
    }
    let rope = Rope::read(model)?;
    rope.write(model)?;
    if let Some(epsilon) = config.f64("rms_norm_eps")? {
        model.arch("attention.layer_norm_rms_epsilon", epsilon as f32);
    }
    let scores = ["score_function", "scoring_func", "moe_router_activation_func"];
    if let Some(key) = scores.into_iter().find(|key| config.value(key).is_some()) {
        match config.str(key)? {
            Some("softmax") => model.arch("expert_gating_func", 1u32),
            Some("sigmoid") => model.arch("expert_gating_func", 2u32),
            other => return Err(config.mismatch(key, "softmax or sigmoid", &other.into())),
        }
    }
    if let Some(width) = config.u32("head_dim")? {
        model.arch("attention.key_length", width);
        model.arch("attention.value_length", width);
    }
    Ok(rope)
}

/// Writes a key of the architecture if the configuration has one for it.
pub(crate) fn copy_u32(model: &mut Model<'_>, key: &str, to: &str) -> Result<()> {
    if let Some(value) = model.config.u32(key)? {
        model.arch(to, value);
    }
    Ok(())
}

/// The value of `name`, or of `other`, by which some versions call it.
pub(crate) fn count_of(config: &Config, name: &str, other: &str) -> Result<u64> {
    let key = if config.value(name).is_none() && config.value(other).is_some() { other } else { name };
    Ok(count(config, key)?.into())
}

/// Adds the embedding, the last norm and the output matrix, which is the embedding again in models that have none.
pub(crate) fn add_ends(model: &mut Model<'_>, sizes: &Sizes) -> Result<()> {
    add_ends_with(model, sizes, |norm| norm)
}

/// The same, with a change of the rule of the norm.
pub(crate) fn add_ends_with(model: &mut Model<'_>, sizes: &Sizes, norm: impl Fn(Rule) -> Rule) -> Result<()> {
    let (vocab, hidden) = (sizes.vocab, sizes.hidden);
    let head = rule("lm_head.weight", "output.weight", &[vocab, hidden]);
    let is_tied = model.config.bool("tie_word_embeddings")?.unwrap_or(false);
    // Ling's name, and that of the others.
    let names = ["model.word_embeddings.weight", "model.embed_tokens.weight"];
    let embedding = if model.has(names[0]) { names[0] } else { names[1] };
    let rules = [
        rule(embedding, "token_embd.weight", &[vocab, hidden]),
        norm(rule("model.norm.weight", "output_norm.weight", &[hidden])),
        if is_tied { head.optional() } else { head },
    ];
    model.add("", "", &rules)
}

/// Adds the rules of one layer.
pub(crate) fn add_layer(model: &mut Model<'_>, layer: u32, rules: &[Rule]) -> Result<()> {
    model.add(&format!("model.layers.{layer}."), &format!("blk.{layer}."), rules)
}

/// Heads of queries that share heads of keys and values. Biases are there in some models only.
pub(crate) fn grouped_attention(sizes: &Sizes) -> Vec<Rule> {
    let hidden = sizes.hidden;
    let (queries, keys) = (sizes.heads * sizes.head, sizes.kv_heads * sizes.head);
    vec![
        rule("input_layernorm.weight", "attn_norm.weight", &[hidden]),
        rule("self_attn.q_proj.weight", "attn_q.weight", &[queries, hidden]),
        rule("self_attn.q_proj.bias", "attn_q.bias", &[queries]).optional(),
        rule("self_attn.k_proj.weight", "attn_k.weight", &[keys, hidden]),
        rule("self_attn.k_proj.bias", "attn_k.bias", &[keys]).optional(),
        rule("self_attn.v_proj.weight", "attn_v.weight", &[keys, hidden]),
        rule("self_attn.v_proj.bias", "attn_v.bias", &[keys]).optional(),
        rule("self_attn.o_proj.weight", "attn_output.weight", &[hidden, queries]),
        rule("self_attn.o_proj.bias", "attn_output.bias", &[hidden]).optional(),
    ]
}

/// A norm of each head of queries and keys.
pub(crate) fn head_norms(sizes: &Sizes) -> Vec<Rule> {
    vec![
        rule("self_attn.q_norm.weight", "attn_q_norm.weight", &[sizes.head]),
        rule("self_attn.k_norm.weight", "attn_k_norm.weight", &[sizes.head]),
    ]
}

/// The norm before the feed-forward network.
pub(crate) fn second_norm(sizes: &Sizes) -> Rule {
    rule("post_attention_layernorm.weight", "ffn_norm.weight", &[sizes.hidden])
}

/// A gated feed-forward network.
pub(crate) fn gated(hidden: u64, inner: u64) -> Vec<Rule> {
    vec![
        rule("mlp.gate_proj.weight", "ffn_gate.weight", &[inner, hidden]),
        rule("mlp.up_proj.weight", "ffn_up.weight", &[inner, hidden]),
        rule("mlp.down_proj.weight", "ffn_down.weight", &[hidden, inner]),
    ]
}

/// A router and its experts: `expert` is the stored name with `{}` for the number, and `names` are those of gate, up and down.
pub(crate) fn experts(
    router: &str,
    expert: &str,
    names: [&str; 3],
    count: u64,
    hidden: u64,
    inner: u64,
) -> Vec<Rule> {
    let [gate, up, down] = names.map(|name| format!("{expert}.{name}.weight"));
    vec![
        rule(router, "ffn_gate_inp.weight", &[count, hidden]),
        rule(&gate, "ffn_gate_exps.weight", &[inner, hidden]).stacked(count),
        rule(&up, "ffn_up_exps.weight", &[inner, hidden]).stacked(count),
        rule(&down, "ffn_down_exps.weight", &[hidden, inner]).stacked(count),
    ]
}

/// The same with the matrices of all experts in two tensors, the rows of gate before those of up.
pub(crate) fn fused_experts(router: &str, stored: &str, count: u64, hidden: u64, inner: u64) -> Vec<Rule> {
    let both = |name: &str, start: u64| {
        let order = Order::Take { start, len: inner, of: 2 * inner };
        rule(&format!("{stored}.gate_up_proj"), name, &[count, 2 * inner, hidden])
            .taking(order, &[count, inner, hidden])
    };
    vec![
        rule(router, "ffn_gate_inp.weight", &[count, hidden]),
        both("ffn_gate_exps.weight", 0),
        both("ffn_up_exps.weight", inner),
        rule(&format!("{stored}.down_proj"), "ffn_down_exps.weight", &[count, hidden, inner]),
    ]
}

/// Checks that all layers have a mixture.
pub(crate) fn require_mixtures(config: &Config) -> Result<()> {
    if let Some(step) = config.u32("decoder_sparse_step")?.filter(|step| *step != 1) {
        return Err(config.mismatch(
            "decoder_sparse_step",
            "1: llama.cpp's family has a mixture in every layer",
            &step.into(),
        ));
    }
    if let Some(dense) = config.list("mlp_only_layers")?.filter(|dense| !dense.is_empty()) {
        let dense = dense.to_vec().into();
        return Err(config.mismatch(
            "mlp_only_layers",
            "none: llama.cpp's family has a mixture in every layer",
            &dense,
        ));
    }
    Ok(())
}

/// Experts that every token uses, as one network.
pub(crate) fn shared_expert(stored: &str, hidden: u64, inner: u64) -> Vec<Rule> {
    vec![
        rule(&format!("{stored}.gate_proj.weight"), "ffn_gate_shexp.weight", &[inner, hidden]),
        rule(&format!("{stored}.up_proj.weight"), "ffn_up_shexp.weight", &[inner, hidden]),
        rule(&format!("{stored}.down_proj.weight"), "ffn_down_shexp.weight", &[hidden, inner]),
    ]
}

/// `num_nextn_predict_layers`: the layers for multi-token prediction after the others.
///
/// # Errors
///
/// If there is more than one.
pub(crate) fn next_token_layers(config: &Config) -> Result<u32> {
    match config.u32("num_nextn_predict_layers")?.unwrap_or(0) {
        layers @ 0..=1 => Ok(layers),
        more => {
            Err(config.mismatch("num_nextn_predict_layers", "0 or 1: no more can be converted", &more.into()))
        }
    }
}

/// The further tensors of a layer for multi-token prediction. Some models leave out the copies of the embedding and the head.
pub(crate) fn next_token(sizes: &Sizes) -> Vec<Rule> {
    let (vocab, hidden) = (sizes.vocab, sizes.hidden);
    vec![
        rule("eh_proj.weight", "nextn.eh_proj.weight", &[hidden, 2 * hidden]),
        rule("enorm.weight", "nextn.enorm.weight", &[hidden]),
        rule("hnorm.weight", "nextn.hnorm.weight", &[hidden]),
        rule("embed_tokens.weight", "nextn.embed_tokens.weight", &[vocab, hidden]).optional(),
        rule("shared_head.head.weight", "nextn.shared_head_head.weight", &[vocab, hidden]).optional(),
        rule("shared_head.norm.weight", "nextn.shared_head_norm.weight", &[hidden]).optional(),
    ]
}
