//! Phi-3.5 and Phi-4: `phi3`, with one matrix for queries, keys and values, and one for gate and up.

use crate::common::{Sizes, add_ends, add_layer, second_norm};
use crate::error::Result;
use crate::family::{Family, PLAIN};
use crate::model::{Model, rule};
use crate::rope::Rope;
use crate::tokenizer::Kind;

pub(super) const PHI3: Family = Family {
    names: &["Phi3ForCausalLM"],
    architecture: "phi3",
    defaults: r#"{"max_position_embeddings": 4096, "original_max_position_embeddings": 4096, "rms_norm_eps": 1e-5, "rope_theta": 1e4}"#,
    scalings: &["longrope", "su", "yarn"],
    tokenizer: Kind::Phi,
    write,
    ..PLAIN
};

fn write(model: &mut Model<'_>) -> Result<()> {
    let config = model.config;
    let sizes = Sizes::read(config)?;
    let rope = Rope::read(model)?;
    let context = config.require_u32("max_position_embeddings")?;
    let original = rope.original_context.unwrap_or(context);
    let rotated = (rope.partial.unwrap_or(1.0) * sizes.hidden as f64) as u64 / sizes.heads;
    let keys = [
        ("block_count", sizes.layers),
        ("context_length", context),
        ("rope.scaling.original_context_length", original),
        ("embedding_length", sizes.hidden as u32),
        ("feed_forward_length", sizes.inner as u32),
        ("attention.head_count", sizes.heads as u32),
        ("attention.head_count_kv", sizes.kv_heads as u32),
        ("rope.dimension_count", rotated as u32),
        // llama.cpp recognises Phi-4 by a 0 here.
        ("attention.sliding_window", config.u32("sliding_window")?.unwrap_or(0)),
    ];
    for (key, value) in keys {
        model.arch(key, value);
    }
    model.arch("attention.layer_norm_rms_epsilon", config.require_f64("rms_norm_eps")? as f32);
    if let Some(theta) = rope.theta {
        model.arch("rope.freq_base", theta as f32);
    }
    write_factors(model, &rope, rotated, f64::from(context), f64::from(original))?;

    let (hidden, inner) = (sizes.hidden, sizes.inner);
    let (queries, all) = (sizes.heads * sizes.head, (sizes.heads + 2 * sizes.kv_heads) * sizes.head);
    for layer in 0..sizes.layers {
        let rules = [
            rule("input_layernorm.weight", "attn_norm.weight", &[hidden]),
            rule("self_attn.qkv_proj.weight", "attn_qkv.weight", &[all, hidden]),
            rule("self_attn.o_proj.weight", "attn_output.weight", &[hidden, queries]),
            second_norm(&sizes),
            rule("mlp.gate_up_proj.weight", "ffn_up.weight", &[2 * inner, hidden]),
            rule("mlp.down_proj.weight", "ffn_down.weight", &[hidden, inner]),
        ];
        add_layer(model, layer, &rules)?;
    }
    add_ends(model, &sizes)
}

/// Factors of rotary embedding for short and for long contexts, and the scale of attention in long ones.
fn write_factors(
    model: &mut Model<'_>,
    rope: &Rope,
    rotated: u64,
    context: f64,
    original: f64,
) -> Result<()> {
    if rope.kind == "default" {
        return Ok(());
    }
    // Whatever the scaling is called, it is these factors: without them, it would be lost.
    let [long, short] = ["long_factor", "short_factor"].map(|key| rope.factors(key, rotated / 2));
    let (long, short) = (long?, short?);
    let scale = context / original;
    let attention = match &*rope.kind {
        _ if scale <= 1.0 => 1.0,
        "yarn" => 0.1 * scale.ln() + 1.0,
        _ => (1.0 + scale.ln() / original.ln()).sqrt(),
    };
    model.arch("rope.scaling.attn_factor", attention as f32);
    model.made("rope_factors_long.weight", long);
    model.made("rope_factors_short.weight", short);
    Ok(())
}
