//! Gemma 3: `gemma3`, the text's part alone. Five of six layers have a sliding window and a rotary embedding of their own; there are
//! norms before and after each branch, to whose weights the model adds 1.

use serde_json::Value as Json;

use crate::common::{
    SIGHT, Sizes, add_layer, copy_u32, gated, grouped_attention, head_norms, require, write_keys,
};
use crate::config::Config;
use crate::error::Result;
use crate::family::{Family, PLAIN};
use crate::model::{Model, Rule, rule};
use crate::tokenizer::Kind;

pub(super) const GEMMA3: Family = Family {
    names: &["Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"],
    architecture: "gemma3",
    defaults: r#"{"max_position_embeddings": 131072, "rms_norm_eps": 1e-6, "rope_theta": 1e6, "rope_local_base_freq": 1e4,
        "vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "sliding_window": 4096,
        "hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 256, "tie_word_embeddings": true}"#,
    has_local_rope: true,
    tokenizer: Kind::Gemma,
    write,
    ..PLAIN
};

/// The layers of the 27B model, by which readers know that its attention is scaled in another way.
const LARGE: u32 = 62;

/// The last of each group of this many layers has no window.
const PERIOD: u32 = 6;

fn write(model: &mut Model<'_>) -> Result<()> {
    let config = model.config;
    let sizes = Sizes::read(config)?;
    check(config, &sizes)?;
    write_keys(model, sizes.layers)?;
    copy_u32(model, "sliding_window", "attention.sliding_window")?;
    if config.value("vision_config").is_some() {
        model.set_part(&SIGHT);
    }
    let hidden = sizes.hidden;
    for layer in 0..sizes.layers {
        let mut rules: Vec<Rule> = grouped_attention(&sizes);
        rules.extend(head_norms(&sizes));
        rules.extend([
            rule("post_attention_layernorm.weight", "post_attention_norm.weight", &[hidden]),
            rule("pre_feedforward_layernorm.weight", "ffn_norm.weight", &[hidden]),
            rule("post_feedforward_layernorm.weight", "post_ffw_norm.weight", &[hidden]),
        ]);
        rules.extend(gated(hidden, sizes.inner));
        let with_one = |rule: Rule| if rule.name.ends_with("norm.weight") { rule.plus_one() } else { rule };
        let rules: Vec<Rule> = rules.into_iter().map(with_one).collect();
        add_layer(model, layer, &rules)?;
    }
    let ends = [
        rule("model.embed_tokens.weight", "token_embd.weight", &[sizes.vocab, hidden]),
        rule("model.norm.weight", "output_norm.weight", &[hidden]).plus_one(),
        rule("lm_head.weight", "output.weight", &[sizes.vocab, hidden]).optional(),
    ];
    model.add("", "", &ends)
}

/// Checks settings that a file cannot express, because readers compute them in one way.
fn check(config: &Config, sizes: &Sizes) -> Result<()> {
    require(config, "hidden_activation", "gelu_pytorch_tanh")?;
    require(config, "use_bidirectional_attention", false)?;
    require(config, "tie_word_embeddings", true)?;
    for key in ["attn_logit_softcapping", "final_logit_softcapping"] {
        if let Some(found) = config.value(key) {
            return Err(config.mismatch(key, "null: no logits are capped in this family", found));
        }
    }
    let width = if sizes.layers == LARGE { sizes.hidden / sizes.heads } else { sizes.head };
    let scalar = config.require_f64("query_pre_attn_scalar")?;
    if scalar != width as f64 {
        let expected = format!("{width}, as readers compute it for {} layers", sizes.layers);
        return Err(config.mismatch("query_pre_attn_scalar", &expected, &scalar.into()));
    }
    if let Some(found) = config.u32("sliding_window_pattern")?.filter(|period| *period != PERIOD) {
        return Err(config.mismatch("sliding_window_pattern", &PERIOD.to_string(), &found.into()));
    }
    let is_full = |layer: u32| layer % PERIOD == PERIOD - 1;
    let types =
        (0..sizes.layers).map(|layer| if is_full(layer) { "full_attention" } else { "sliding_attention" });
    match config.list("layer_types")? {
        Some(found) if !found.iter().eq(types) => {
            let expected = "sliding_attention in all layers but every sixth, which has full_attention";
            Err(config.mismatch("layer_types", expected, &Json::from(found.to_vec())))
        }
        _ => Ok(()),
    }
}
