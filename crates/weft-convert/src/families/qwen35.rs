//! Qwen3-Next, Qwen 3.5, 3.6 and 3.8: `qwen3next`, `qwen35`, `qwen35moe`, the text's part alone. Most layers
//! are a gated delta rule, the others attention with a gate; there can be a layer for multi-token prediction.
//! The model adds 1 to the weights of all norms but that of the delta rule.

use serde_json::Value as Json;

use crate::common::{
    Sizes, add_ends_with, add_layer, copy_u32, count, experts, fused_experts, gated, head_norms, require,
    require_mixtures, shared_expert, write_keys,
};
use crate::config::Config;
use crate::error::{Result, refuse};
use crate::family::{Family, PLAIN};
use crate::model::{Model, Rule, rule};
use crate::source::{Change, Order};

pub(super) const QWEN35: Family = Family {
    names: &["Qwen3_5ForConditionalGeneration", "Qwen3_5ForCausalLM"],
    architecture: "qwen35",
    defaults: r#"{"max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "rope_theta": 1e4, "num_key_value_heads": 4, "head_dim": 256,
        "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16,
        "linear_num_value_heads": 32}"#,
    write: |model| {
        let sizes = Sizes::read(model.config)?;
        write(model, &sizes, Heads::Tiled, |sizes, _, _| Ok(gated(sizes.hidden, sizes.inner)))
    },
    ..PLAIN
};

pub(super) const QWEN35_MOE: Family = Family {
    names: &["Qwen3_5MoeForConditionalGeneration", "Qwen3_5MoeForCausalLM"],
    architecture: "qwen35moe",
    defaults: r#"{"max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "rope_theta": 1e4, "num_key_value_heads": 2, "head_dim": 256,
        "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16,
        "linear_num_value_heads": 32, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512, "num_experts_per_tok": 8,
        "num_experts": 256}"#,
    write: |model| mixture(model, Heads::Tiled),
    ..PLAIN
};

pub(super) const QWEN3_NEXT: Family = Family {
    names: &["Qwen3NextForCausalLM"],
    architecture: "qwen3next",
    defaults: r#"{"max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "rope_theta": 1e4, "num_key_value_heads": 2, "head_dim": 256,
        "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16,
        "linear_num_value_heads": 32, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512, "num_experts_per_tok": 10,
        "num_experts": 512, "norm_topk_prob": true, "intermediate_size": 5632}"#,
    write: |model| mixture(model, Heads::Grouped),
    ..PLAIN
};

/// How a file has the heads of values, which are stored with those that share a key head next to each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heads {
    /// As stored.
    Grouped,
    /// The first one of each key head, then the second of each, and so on.
    Tiled,
}

/// The share of a head that is rotated, where the configuration does not say.
const ROTATED: f64 = 0.25;

/// The sections of the rotary embedding of Qwen 3.5, where the configuration does not say.
const SECTIONS: [i32; 4] = [11, 11, 10, 0];

/// The sizes of the delta rule.
struct Delta {
    /// The number of query heads, and of key heads.
    keys: u64,
    /// The number of value heads for each key head.
    each: u64,
    /// The width of a head, of keys and of values.
    width: u64,
    /// The number of inputs of the short convolution.
    taps: u64,
}

impl Delta {
    fn read(config: &Config) -> Result<Delta> {
        let count = |key: &str| count(config, key).map(u64::from);
        let (keys, values) = (count("linear_num_key_heads")?, count("linear_num_value_heads")?);
        if !values.is_multiple_of(keys) {
            let problem =
                format!("{values} heads of values cannot share {keys} heads of keys in linear attention");
            return Err(refuse(config.path(), problem));
        }
        let (width, value_width) = (count("linear_key_head_dim")?, count("linear_value_head_dim")?);
        if value_width != width {
            let expected = format!("{width}, as `linear_key_head_dim`: readers compute heads of one width");
            return Err(config.mismatch("linear_value_head_dim", &expected, &value_width.into()));
        }
        Ok(Delta { keys, each: values / keys, width, taps: count("linear_conv_kernel_dim")? })
    }

    /// All heads of values.
    fn values(&self) -> u64 {
        self.keys * self.each
    }

    fn write_keys(&self, model: &mut Model<'_>) {
        let keys = [
            ("ssm.conv_kernel", self.taps),
            ("ssm.state_size", self.width),
            ("ssm.group_count", self.keys),
            ("ssm.time_step_rank", self.values()),
            ("ssm.inner_size", self.values() * self.width),
        ];
        keys.into_iter().for_each(|(key, value)| model.arch(key, value as u32));
    }

    fn rules(&self, hidden: u64, heads: Heads) -> Vec<Rule> {
        let Delta { keys, each, width, taps } = *self;
        let (values, before) = (self.values(), 2 * keys * width);
        let inner = values * width;
        // Heads of `len` rows after `before` others.
        let order = |before: u64, len: u64| match heads {
            Heads::Tiled => Order::Tiled { before, groups: keys, each, len },
            Heads::Grouped => Order::Rows,
        };
        let vector = |stored: &str, name: &str| rule(stored, name, &[values]).taking(order(0, 1), &[values]);
        let conv = [before + inner, taps];
        let mut rules = vec![
            rule("linear_attn.conv1d.weight", "ssm_conv1d.weight", &[before + inner, 1, taps])
                .or_shape(&conv)
                .taking(order(before, width), &conv),
            vector("linear_attn.A_log", "ssm_a").changed(Change::NegativeExp),
            vector("linear_attn.dt_bias", "ssm_dt.bias"),
            rule("linear_attn.norm.weight", "ssm_norm.weight", &[width]),
            rule("linear_attn.out_proj.weight", "ssm_out.weight", &[hidden, inner]).columns(
                width,
                order(0, 1),
                &[hidden, inner],
            ),
        ];
        match heads {
            Heads::Tiled => {
                let tiled = |stored: &str, name: &str, before: u64, len: u64| {
                    let shape = [before + values * len, hidden];
                    rule(stored, name, &shape).taking(order(before, len), &shape)
                };
                rules.extend([
                    tiled("linear_attn.in_proj_qkv.weight", "attn_qkv.weight", before, width),
                    tiled("linear_attn.in_proj_z.weight", "attn_gate.weight", 0, width),
                    tiled("linear_attn.in_proj_a.weight", "ssm_alpha.weight", 0, 1),
                    tiled("linear_attn.in_proj_b.weight", "ssm_beta.weight", 0, 1),
                ]);
            }
            Heads::Grouped => {
                // For each key head: query, key, its values, and their gates.
                let of = 2 * width + 2 * each * width;
                let all = |name: &str| rule("linear_attn.in_proj_qkvz.weight", name, &[keys * of, hidden]);
                let sections = Order::Sections { lens: [width, width, each * width], of };
                let gates = Order::Take { start: of - each * width, len: each * width, of };
                rules.extend([
                    all("attn_qkv.weight").taking(sections, &[before + inner, hidden]),
                    all("attn_gate.weight").taking(gates, &[inner, hidden]),
                    rule("linear_attn.in_proj_ba.weight", "ssm_ba.weight", &[2 * values, hidden]),
                ]);
            }
        }
        rules
    }
}

/// Attention whose queries have gates.
fn attention(sizes: &Sizes) -> Vec<Rule> {
    let hidden = sizes.hidden;
    let (queries, keys) = (sizes.heads * sizes.head, sizes.kv_heads * sizes.head);
    let mut rules = vec![
        rule("self_attn.q_proj.weight", "attn_q.weight", &[2 * queries, hidden]),
        rule("self_attn.k_proj.weight", "attn_k.weight", &[keys, hidden]),
        rule("self_attn.v_proj.weight", "attn_v.weight", &[keys, hidden]),
        rule("self_attn.o_proj.weight", "attn_output.weight", &[hidden, queries]),
    ];
    rules.extend(head_norms(sizes).into_iter().map(Rule::plus_one));
    rules
}

fn norms(sizes: &Sizes) -> [Rule; 2] {
    [
        rule("input_layernorm.weight", "attn_norm.weight", &[sizes.hidden]).plus_one(),
        rule("post_attention_layernorm.weight", "post_attention_norm.weight", &[sizes.hidden]).plus_one(),
    ]
}

/// Which layers are linear attention: those that `layer_types` names, or all but each
/// `full_attention_interval`-th.
fn linear_layers(config: &Config, layers: u32) -> Result<Vec<bool>> {
    let interval = interval(config)?;
    let Some(types) = config.list("layer_types")? else {
        return Ok((1..=layers).map(|layer| !layer.is_multiple_of(interval)).collect());
    };
    let kind = |kind: &Json| match kind.as_str() {
        Some("linear_attention") => Some(true),
        Some("full_attention") => Some(false),
        _ => None,
    };
    let linear: Option<Vec<bool>> = types.iter().map(kind).collect();
    linear.filter(|linear| linear.len() == layers as usize).ok_or_else(|| {
        let expected = format!("a list of {layers}, each linear_attention or full_attention");
        config.mismatch("layer_types", &expected, &types.to_vec().into())
    })
}

fn interval(config: &Config) -> Result<u32> {
    const KEY: &str = "full_attention_interval";
    if config.value(KEY).is_some() { count(config, KEY) } else { Ok(4) }
}

fn mixture(model: &mut Model<'_>, heads: Heads) -> Result<()> {
    let config = model.config;
    let sizes = Sizes::of_mixture(config)?;
    require_mixtures(config)?;
    require(config, "norm_topk_prob", true)?;
    let number = count(config, "num_experts")?.into();
    let inner = count(config, "moe_intermediate_size")?.into();
    let shared = count(config, "shared_expert_intermediate_size")?.into();
    copy_u32(model, "moe_intermediate_size", "expert_feed_forward_length")?;
    copy_u32(model, "shared_expert_intermediate_size", "expert_shared_feed_forward_length")?;
    write(model, &sizes, heads, |sizes, model, layer| {
        let hidden = sizes.hidden;
        let mut rules = if model.has(&format!("{layer}mlp.experts.gate_up_proj")) {
            fused_experts("mlp.gate.weight", "mlp.experts", number, hidden, inner)
        } else {
            let names = ["gate_proj", "up_proj", "down_proj"];
            experts("mlp.gate.weight", "mlp.experts.{}", names, number, hidden, inner)
        };
        rules.extend(shared_expert("mlp.shared_expert", hidden, shared));
        rules.push(rule("mlp.shared_expert_gate.weight", "ffn_gate_inp_shexp.weight", &[1, hidden]));
        Ok(rules)
    })
}

/// Writes a model whose feed-forward network in a layer, by the stored name of the layer, is `network`.
fn write(
    model: &mut Model<'_>,
    sizes: &Sizes,
    heads: Heads,
    network: impl Fn(&Sizes, &Model<'_>, &str) -> Result<Vec<Rule>>,
) -> Result<()> {
    let config = model.config;
    require(config, "attn_output_gate", true)?;
    // Images are not seen.
    model.set_part(&["model.visual.", "visual."]);
    let delta = Delta::read(config)?;
    let linear = linear_layers(config, sizes.layers)?;
    let more = u32::from(model.has("mtp.fc.weight"));
    if let Some(found) = config.u32("mtp_num_hidden_layers")?.filter(|layers| *layers > 1) {
        return Err(config.mismatch(
            "mtp_num_hidden_layers",
            "0 or 1: no more can be converted",
            &found.into(),
        ));
    }
    let layers = sizes.layers + more;
    let rope = write_keys(model, layers)?;
    delta.write_keys(model);
    let rotated = sizes.head as f64 * rope.partial.unwrap_or(ROTATED);
    model.arch("rope.dimension_count", rotated as u32);
    let default = (heads == Heads::Tiled).then(|| SECTIONS.to_vec());
    if let Some(sections) = rope.sections()?.or(default) {
        model.arch("rope.dimension_sections", sections);
    }
    let all: Vec<bool> = linear.iter().copied().chain((0..more).map(|_| false)).collect();
    model.arch("attention.recurrent_layers", all);
    model.arch("full_attention_interval", interval(config)?);
    if more > 0 {
        model.arch("nextn_predict_layers", more);
    }
    for (layer, linear) in (0..sizes.layers).zip(linear) {
        let mut rules = norms(sizes).to_vec();
        rules.extend(if linear { delta.rules(sizes.hidden, heads) } else { attention(sizes) });
        rules.extend(network(sizes, model, &format!("model.layers.{layer}."))?);
        add_layer(model, layer, &rules)?;
    }
    if more > 0 {
        let hidden = sizes.hidden;
        let mut rules = norms(sizes).to_vec();
        rules.extend(attention(sizes));
        rules.extend(network(sizes, model, "mtp.layers.0.")?);
        let name = format!("blk.{}.", sizes.layers);
        model.add("mtp.layers.0.", &name, &rules)?;
        let norm = |stored: &str, name: &str| rule(stored, name, &[hidden]).plus_one();
        let rules = [
            rule("fc.weight", "nextn.eh_proj.weight", &[hidden, 2 * hidden]),
            norm("pre_fc_norm_embedding.weight", "nextn.enorm.weight"),
            norm("pre_fc_norm_hidden.weight", "nextn.hnorm.weight"),
            norm("norm.weight", "nextn.shared_head_norm.weight"),
        ];
        model.add("mtp.", &name, &rules)?;
    }
    add_ends_with(model, sizes, Rule::plus_one)
}
