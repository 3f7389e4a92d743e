//! gpt-oss: `gpt-oss`. Every other layer has a sliding window; attention has sinks and everything biases; the experts of a layer are two
//! tensors, in MXFP4, with the rows of gate and up in turn.

use serde_json::Value as Json;

use crate::common::{Sizes, add_ends, add_layer, copy_u32, count, grouped_attention, require, write_keys};
use crate::config::Config;
use crate::error::{Result, refuse};
use crate::family::{Family, PLAIN};
use crate::model::{Model, rule};
use crate::source::Order;

pub(super) const GPT_OSS: Family = Family {
    names: &["GptOssForCausalLM"],
    architecture: "gpt-oss",
    defaults: r#"{"max_position_embeddings": 131072, "rms_norm_eps": 1e-5, "num_key_value_heads": 8, "head_dim": 64,
        "num_local_experts": 128, "num_experts_per_tok": 4, "sliding_window": 128, "intermediate_size": 2880, "rope_theta": 150000.0}"#,
    write,
    ..PLAIN
};

fn write(model: &mut Model<'_>) -> Result<()> {
    let config = model.config;
    let sizes = Sizes::read(config)?;
    require(config, "swiglu_limit", 7.0)?;
    check_windows(config, sizes.layers)?;
    if config.value("rope_scaling").or(config.value("rope_parameters")).is_none() {
        return Err(config.missing("rope_scaling"));
    }
    write_keys(model, sizes.layers)?;
    copy_u32(model, "sliding_window", "attention.sliding_window")?;
    copy_u32(model, "intermediate_size", "expert_feed_forward_length")?;
    if !model.is_mxfp4() {
        let problem = "the weights of experts are not in MXFP4: expected a `quantization_config` with the `quant_method` mxfp4";
        return Err(refuse(config.path(), problem));
    }

    let experts = count(config, "num_local_experts")?.into();
    let (hidden, inner) = (sizes.hidden, sizes.inner);
    // Of each two, gate has the first and up the second.
    let of_two = |start: u64| Order::Take { start, len: 1, of: 2 };
    for layer in 0..sizes.layers {
        let mut rules = grouped_attention(&sizes);
        let gate_up = |name: &str, order: Order| {
            rule("mlp.experts.gate_up_proj_bias", name, &[experts, 2 * inner]).columns(
                1,
                order,
                &[experts, inner],
            )
        };
        rules.extend([
            rule("self_attn.sinks", "attn_sinks.weight", &[sizes.heads]),
            rule("post_attention_layernorm.weight", "post_attention_norm.weight", &[hidden]),
            rule("mlp.router.weight", "ffn_gate_inp.weight", &[experts, hidden]),
            rule("mlp.router.bias", "ffn_gate_inp.bias", &[experts]),
            gate_up("ffn_gate_exps.bias", of_two(0)),
            gate_up("ffn_up_exps.bias", of_two(1)),
            rule("mlp.experts.down_proj_bias", "ffn_down_exps.bias", &[experts, hidden]),
        ]);
        add_layer(model, layer, &rules)?;
        let (stored, name) = (format!("model.layers.{layer}.mlp.experts"), format!("blk.{layer}"));
        let gate_up = format!("{stored}.gate_up_proj");
        model.add_packed(
            &gate_up,
            &format!("{name}.ffn_gate_exps.weight"),
            [experts, inner, hidden],
            [0, 2],
        )?;
        model.add_packed(
            &gate_up,
            &format!("{name}.ffn_up_exps.weight"),
            [experts, inner, hidden],
            [1, 2],
        )?;
        let down = format!("{stored}.down_proj");
        model.add_packed(&down, &format!("{name}.ffn_down_exps.weight"), [experts, hidden, inner], [0, 1])?;
    }
    add_ends(model, &sizes)
}

/// Checks that the windows are where readers have them: in every other layer, from the first.
fn check_windows(config: &Config, layers: u32) -> Result<()> {
    let Some(found) = config.list("layer_types")? else { return Ok(()) };
    let expected =
        (0..layers).map(|layer| if layer % 2 == 0 { "sliding_attention" } else { "full_attention" });
    if found.iter().eq(expected) {
        return Ok(());
    }
    let expected = format!("{layers} layers, sliding_attention and full_attention in turn");
    Err(config.mismatch("layer_types", &expected, &Json::from(found.to_vec())))
}
