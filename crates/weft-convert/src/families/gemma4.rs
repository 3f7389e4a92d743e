//! Gemma 4: `gemma4`, the text's part alone. Layers with a sliding window have heads of one size and a rotary embedding of their own, the
//! others wider heads, whose values may be their keys. The last layers may read the keys and values of others, and each token may have an
//! embedding for each layer.

use serde_json::Value as Json;

use crate::common::{Sizes, add_layer, copy_u32, count, gated, require, write_keys};
use crate::config::Config;
use crate::error::Result;
use crate::family::Family;
use crate::model::{Model, Rule, rule};
use crate::tokenizer::Kind;

pub(super) const GEMMA4: Family = Family {
    names: &["Gemma4ForCausalLM", "Gemma4ForConditionalGeneration", "Gemma4UnifiedForConditionalGeneration"],
    architecture: "gemma4",
    defaults: r#"{"max_position_embeddings": 131072, "rms_norm_eps": 1e-6, "vocab_size": 262144, "num_attention_heads": 8,
        "num_key_value_heads": 4, "head_dim": 256, "sliding_window": 512, "hidden_activation": "gelu_pytorch_tanh",
        "hidden_size_per_layer_input": 256, "num_kv_shared_layers": 0, "tie_word_embeddings": true,
        "rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6}}}"#,
    scalings: &["proportional"],
    has_local_rope: true,
    tokenizer: Kind::Gemma4,
    write,
};

/// The parts that see and hear, in the versions of `transformers`.
const SENSES: [&str; 10] = [
    "model.vision_tower.",
    "model.embed_vision.",
    "model.vision_embedder.",
    "model.audio_tower.",
    "model.embed_audio.",
    "vision_tower.",
    "embed_vision.",
    "vision_embedder.",
    "audio_tower.",
    "embed_audio.",
];

/// The factor of frequencies of pairs that do not rotate.
const STILL: f32 = 1e30;

/// The sizes of layers that see all positions.
struct Full {
    /// Heads of keys and values.
    kv_heads: u64,
    /// Width of a head.
    width: u64,
    /// Whether values are the keys, so that there is no matrix for them.
    keyed: bool,
}

/// The sizes of what each layer does.
struct Layers {
    /// Whether each has a window.
    windowed: Vec<bool>,
    full: Full,
    /// The number of first layers with keys and values of their own.
    own: u32,
    /// Whether the others have networks twice as wide.
    double: bool,
    /// The values of a token's embedding for each layer; 0 if there is none.
    per_layer: u64,
    /// The number and width of experts, if there are some.
    experts: Option<[u64; 2]>,
}

fn write(model: &mut Model<'_>) -> Result<()> {
    let config = model.config;
    let sizes = Sizes::read(config)?;
    check(config)?;
    let layers = Layers::read(config, &sizes)?;
    keys(model, &sizes, &layers)?;
    model.set_part(&SENSES);
    let hidden = sizes.hidden;
    for layer in 0..sizes.layers {
        let mut rules = layers.attention(&sizes, layer);
        rules.extend(layers.network(&sizes, layer));
        add_layer(model, layer, &rules)?;
    }
    let mut ends = vec![
        rule("model.embed_tokens.weight", "token_embd.weight", &[sizes.vocab, hidden]),
        rule("model.norm.weight", "output_norm.weight", &[hidden]),
        rule("lm_head.weight", "output.weight", &[sizes.vocab, hidden]).optional(),
    ];
    if layers.per_layer > 0 {
        let all = layers.per_layer * u64::from(sizes.layers);
        ends.extend([
            rule("model.embed_tokens_per_layer.weight", "per_layer_token_embd.weight", &[sizes.vocab, all]),
            rule("model.per_layer_model_projection.weight", "per_layer_model_proj.weight", &[all, hidden]),
            rule("model.per_layer_projection_norm.weight", "per_layer_proj_norm.weight", &[layers.per_layer]),
        ]);
    }
    model.add("", "", &ends)
}

/// Checks settings that a file cannot express, because readers compute them in one way.
fn check(config: &Config) -> Result<()> {
    require(config, "hidden_activation", "gelu_pytorch_tanh")?;
    require(config, "attention_bias", false)?;
    require(config, "tie_word_embeddings", true)?;
    if let Some(found) = config.value("use_bidirectional_attention").filter(|found| *found == "all") {
        let expected = "null or \"vision\": text sees no later text";
        return Err(config.mismatch("use_bidirectional_attention", expected, found));
    }
    Ok(())
}

impl Layers {
    fn read(config: &Config, sizes: &Sizes) -> Result<Layers> {
        let windowed = windowed(config, sizes.layers)?;
        let keyed = config.bool("attention_k_eq_v")?.unwrap_or(false);
        let of_full = |global: &str, own: &str| {
            let found = config.u32(global)?;
            Ok::<_, crate::Error>(if found.is_some() { found } else { per_layer(config, &windowed, own)? })
        };
        let kv_heads = of_full("num_global_key_value_heads", "num_key_value_heads")?.map(u64::from);
        // As in `transformers`, where values have a matrix of their own the number of heads is one for all.
        let kv_heads = kv_heads.filter(|_| keyed).unwrap_or(sizes.kv_heads);
        let width = of_full("global_head_dim", "head_dim")?.unwrap_or(512);
        let shared = config.u32("num_kv_shared_layers")?.unwrap_or(0);
        if shared >= sizes.layers || kv_heads == 0 || !sizes.heads.is_multiple_of(kv_heads) {
            let (key, found) = match shared >= sizes.layers {
                true => ("num_kv_shared_layers", Json::from(shared)),
                false => ("num_global_key_value_heads", kv_heads.into()),
            };
            let expected =
                format!("less than {} layers, and a divisor of {} heads", sizes.layers, sizes.heads);
            return Err(config.mismatch(key, &expected, &found));
        }
        let experts = match config.bool("enable_moe_block")?.unwrap_or(false) {
            true => Some([count(config, "num_experts")?.into(), count(config, expert_width(config))?.into()]),
            false => None,
        };
        Ok(Layers {
            windowed,
            full: Full { kv_heads, width: width.into(), keyed },
            own: sizes.layers - shared,
            double: config.bool("use_double_wide_mlp")?.unwrap_or(false),
            per_layer: config.u32("hidden_size_per_layer_input")?.unwrap_or(0).into(),
            experts,
        })
    }

    /// The heads of keys and values of a layer, and their width.
    fn heads(&self, sizes: &Sizes, layer: u32) -> [u64; 2] {
        match self.windowed[layer as usize] {
            true => [sizes.kv_heads, sizes.head],
            false => [self.full.kv_heads, self.full.width],
        }
    }

    /// The width of a layer's network.
    fn inner(&self, sizes: &Sizes, layer: u32) -> u64 {
        if self.double && layer >= self.own { 2 * sizes.inner } else { sizes.inner }
    }

    fn attention(&self, sizes: &Sizes, layer: u32) -> Vec<Rule> {
        let hidden = sizes.hidden;
        let [kv_heads, width] = self.heads(sizes, layer);
        let (queries, keys) = (sizes.heads * width, kv_heads * width);
        // Of layers that read the keys and values of others, some checkpoints have them all the same.
        let own = |rule: Rule| if layer < self.own { rule } else { rule.optional() };
        let keyed = self.full.keyed && !self.windowed[layer as usize];
        let mut rules = vec![
            rule("input_layernorm.weight", "attn_norm.weight", &[hidden]),
            rule("self_attn.q_proj.weight", "attn_q.weight", &[queries, hidden]),
            own(rule("self_attn.k_proj.weight", "attn_k.weight", &[keys, hidden])),
            rule("self_attn.o_proj.weight", "attn_output.weight", &[hidden, queries]),
            rule("self_attn.q_norm.weight", "attn_q_norm.weight", &[width]),
            own(rule("self_attn.k_norm.weight", "attn_k_norm.weight", &[width])),
            rule("post_attention_layernorm.weight", "post_attention_norm.weight", &[hidden]),
        ];
        if !keyed {
            rules.push(own(rule("self_attn.v_proj.weight", "attn_v.weight", &[keys, hidden])));
        }
        rules
    }

    fn network(&self, sizes: &Sizes, layer: u32) -> Vec<Rule> {
        let hidden = sizes.hidden;
        let mut rules = vec![
            rule("pre_feedforward_layernorm.weight", "ffn_norm.weight", &[hidden]),
            rule("post_feedforward_layernorm.weight", "post_ffw_norm.weight", &[hidden]),
            rule("layer_scalar", "layer_output_scale.weight", &[1]),
        ];
        rules.extend(gated(hidden, self.inner(sizes, layer)));
        if let Some([experts, width]) = self.experts {
            rules.extend([
                rule("post_feedforward_layernorm_1.weight", "post_ffw_norm_1.weight", &[hidden]),
                rule("post_feedforward_layernorm_2.weight", "post_ffw_norm_2.weight", &[hidden]),
                rule("pre_feedforward_layernorm_2.weight", "pre_ffw_norm_2.weight", &[hidden]),
                rule("router.proj.weight", "ffn_gate_inp.weight", &[experts, hidden]),
                rule("router.scale", "ffn_gate_inp.scale", &[hidden]),
                rule("router.per_expert_scale", "ffn_down_exps.scale", &[experts]),
                rule("experts.gate_up_proj", "ffn_gate_up_exps.weight", &[experts, 2 * width, hidden]),
                rule("experts.down_proj", "ffn_down_exps.weight", &[experts, hidden, width]),
            ]);
        }
        if self.per_layer > 0 {
            rules.extend([
                rule("per_layer_input_gate.weight", "inp_gate.weight", &[self.per_layer, hidden]),
                rule("per_layer_projection.weight", "proj.weight", &[hidden, self.per_layer]),
                rule("post_per_layer_input_norm.weight", "post_norm.weight", &[hidden]),
            ]);
        }
        rules
    }
}

/// The keys, and the factors of the rotary embedding where all positions are seen.
fn keys(model: &mut Model<'_>, sizes: &Sizes, layers: &Layers) -> Result<()> {
    let config = model.config;
    let rope = write_keys(model, sizes.layers)?;
    copy_u32(model, "sliding_window", "attention.sliding_window")?;
    let width = layers.full.width as u32;
    let narrow = sizes.head as u32;
    for (key, value) in [
        ("attention.key_length", width),
        ("attention.value_length", width),
        ("attention.key_length_swa", narrow),
        ("attention.value_length_swa", narrow),
        ("rope.dimension_count", width),
        ("rope.dimension_count_swa", narrow),
        ("attention.shared_kv_layers", sizes.layers - layers.own),
        ("embedding_length_per_layer_input", layers.per_layer as u32),
    ] {
        model.arch(key, value);
    }
    model.arch("attention.sliding_window_pattern", layers.windowed.clone());
    let each =
        |of: &dyn Fn(u32) -> u64| (0..sizes.layers).map(|layer| of(layer) as i32).collect::<Vec<i32>>();
    if layers.full.kv_heads != sizes.kv_heads {
        model.arch("attention.head_count_kv", each(&|layer| layers.heads(sizes, layer)[0]));
    }
    if layers.double {
        model.arch("feed_forward_length", each(&|layer| layers.inner(sizes, layer)));
    }
    if layers.experts.is_some() {
        copy_u32(model, "top_k_experts", "expert_used_count")?;
        copy_u32(model, expert_width(config), "expert_feed_forward_length")?;
    }
    if let Some(cap) = config.f64("final_logit_softcapping")?.filter(|cap| *cap != 0.0) {
        model.arch("final_logit_softcapping", cap as f32);
    }
    if rope.kind != "proportional" {
        let expected = "proportional, in layers that see all positions";
        return Err(config.mismatch("rope_parameters.full_attention.rope_type", expected, &rope.kind.into()));
    }
    let rotated = (layers.full.width as f64 * rope.partial.unwrap_or(1.0) / 2.0) as u64;
    let factors = (0..layers.full.width / 2).map(|pair| if pair < rotated { 1.0 } else { STILL });
    model.made("rope_freqs.weight", factors.collect());
    Ok(())
}

fn expert_width(config: &Config) -> &'static str {
    const OLD: &str = "expert_intermediate_size";
    if config.value(OLD).is_some() { OLD } else { "moe_intermediate_size" }
}

/// Whether each of so many layers has a window, by default all but every sixth, and but the last.
fn windowed(config: &Config, layers: u32) -> Result<Vec<bool>> {
    let Some(found) = config.list("layer_types")? else {
        return Ok((1..=layers).map(|layer| layer != layers && !layer.is_multiple_of(6)).collect());
    };
    let kind = |kind: &Json| match kind.as_str() {
        Some("sliding_attention") => Some(true),
        Some("full_attention") => Some(false),
        _ => None,
    };
    match found.iter().map(kind).collect::<Option<Vec<bool>>>() {
        Some(kinds) if kinds.len() == layers as usize => Ok(kinds),
        _ => {
            let expected = format!("{layers} times sliding_attention or full_attention");
            Err(config.mismatch("layer_types", &expected, &found.to_vec().into()))
        }
    }
}

/// What newer configurations say of a key for the first layer that sees all positions.
fn per_layer(config: &Config, windowed: &[bool], key: &str) -> Result<Option<u32>> {
    let Some(layer) = windowed.iter().position(|windowed| !windowed) else { return Ok(None) };
    config.object("per_layer_config")?.object(&layer.to_string())?.u32(key)
}
