//! The metadata of a synthetic model: the keys that llama.cpp's converter writes.

use weft_gguf::{Metadata, Value};

use crate::synth::preset::{
    Attention, Delta, Experts, Gating, Gemma4, Latent, Ling, Mamba, Mixed, Next, Preset,
};
use crate::tensor_types::{QUANTIZATION_VERSION, TensorTypes};

pub(crate) fn metadata(preset: &Preset, types: &TensorTypes, mtp: bool, seed: u64) -> Metadata {
    let mut metadata = Metadata::new();
    general(preset, types, mtp, seed, &mut metadata);
    let mut set = |key: &str, value: Value| {
        metadata.insert(&format!("{}.{key}", preset.architecture), value);
    };
    let mut numbers = vec![
        ("block_count", types.layers),
        ("context_length", preset.context),
        ("embedding_length", preset.hidden),
    ];
    let varies =
        matches!(preset.attention, Attention::Gemma4(Gemma4 { double: true, .. })) || preset.is_nemotron();
    numbers.extend((preset.dense > 0 && !varies).then_some(("feed_forward_length", preset.dense)));
    numbers.push(("attention.head_count", preset.heads));
    numbers.extend(attention(&preset.attention));
    let hybrid = matches!(preset.attention, Attention::Hybrid { .. });
    // The other keys say what is so in all models of these families.
    let kept = |(key, _): &(&str, u32)| match preset.architecture {
        "kimi-linear" => !key.starts_with("expert_group"),
        "gemma4" => ALWAYS_SAID.contains(key),
        _ => !hybrid || ALWAYS_SAID.contains(key),
    };
    numbers.extend(preset.experts.iter().flat_map(experts).filter(kept));
    numbers
        .extend(hybrid.then(|| ("full_attention_interval", preset.interval(types.layers - u32::from(mtp)))));
    numbers.extend(mtp.then_some(("nextn_predict_layers", 1)));
    numbers.push(("vocab_size", preset.vocabulary));
    for (key, value) in numbers {
        set(key, value.into());
    }
    if let Attention::Kimi { latent, ling, .. } = preset.attention {
        kimi(preset, types.layers, (&latent, ling), &mut set);
    }
    if let Attention::Mixed(of) = preset.attention {
        mixed(preset, types.layers, &of, &mut set);
    }
    if let Attention::Next(of) = preset.attention {
        next(preset, types.layers, &of, &mut set);
    }
    if let Attention::Gemma4(gemma) = preset.attention {
        gemma4(preset, types.layers, &gemma, &mut set);
    }
    let norm =
        if preset.is_cohere() { "attention.layer_norm_epsilon" } else { "attention.layer_norm_rms_epsilon" };
    set(norm, preset.rms_eps.into());
    plain(preset, types.layers, &mut set);
    if !preset.is_nemotron() {
        set("rope.freq_base", preset.rope_base.into());
    }
    if let Attention::Hybrid { rotated, delta, .. } = preset.attention {
        if preset.architecture != "qwen3next" {
            set("rope.dimension_sections", sections(rotated));
        }
        if delta.listed {
            let layers = types.layers - u32::from(mtp);
            let mut recurrent: Vec<bool> =
                (0..layers).map(|layer| preset.is_recurrent(layer, layers)).collect();
            recurrent.extend(mtp.then_some(false));
            set("attention.recurrent_layers", recurrent.into());
        }
    }
    if let Some(Experts { scale, gating, .. }) =
        preset.experts.filter(|_| !hybrid && preset.architecture != "gemma4")
    {
        let normalise = !matches!(gating, Gating::Softmax { normalise: false });
        set("expert_weights_scale", scale.into());
        // In Kimi-Linear that is so without a key.
        if preset.architecture != "kimi-linear" {
            set("expert_weights_norm", normalise.into());
        }
    }
    if let Attention::Latent { q_rank: Some(rank), .. }
    | Attention::Sparse { latent: Latent { q_rank: Some(rank), .. }, .. } = preset.attention
    {
        set("attention.q_lora_rank", rank.into());
    }
    if let Attention::Sparse { indexer, .. } = preset.attention {
        set("attention.indexer.head_count", indexer.heads.into());
        set("attention.indexer.key_length", indexer.width.into());
        set("attention.indexer.top_k", indexer.most.into());
        if indexer.layers > 1 {
            let types: Vec<bool> = (0..types.layers).map(|layer| indexer.is_in(layer)).collect();
            set("attention.indexer.types", types.into());
        }
    }
    if let Some(width) = preset.experts.and_then(|experts| experts.shared_width) {
        set("expert_shared_feed_forward_length", width.into());
    }
    if let Some(original) = preset.long_rope {
        set("rope.scaling.original_context_length", original.into());
        let [context, original] = [preset.context, original].map(|tokens| f64::from(tokens).ln());
        set("rope.scaling.attn_factor", ((context / original).sqrt() as f32).into());
    }
    if let Some(yarn) = &preset.yarn {
        set("rope.scaling.type", "yarn".into());
        set("rope.scaling.factor", yarn.factor.into());
        set("rope.scaling.original_context_length", yarn.original_context.into());
        // DeepSeek's files have a tenth of it.
        let multiplier = if preset.is_ministral() { yarn.mscale } else { 0.1 * yarn.mscale };
        if multiplier > 0.0 {
            set("rope.scaling.yarn_log_multiplier", multiplier.into());
        }
        if preset.is_ministral() {
            set("attention.temperature_scale", 0.1f32.into());
        }
    }
    if let Some(window) = preset.window {
        set("attention.sliding_window", window.into());
    }
    preset.family.describe(preset.vocabulary, &mut metadata);
    metadata
}

/// Adds the keys of the families in `preset/plain.rs`.
fn plain(preset: &Preset, layers: u32, set: &mut impl FnMut(&str, Value)) {
    let windows: Option<Vec<bool>> = (0..layers).map(|layer| preset.has_window(layer, layers)).collect();
    if let Some(windows) = windows {
        set("attention.sliding_window_pattern", windows.into());
    }
    let is = |names: &[&str]| names.contains(&preset.architecture);
    if let Some(Experts { shared, width, .. }) = preset.experts {
        let named =
            ["ernie4_5-moe", "hunyuan-moe", "granitemoe", "granitehybrid", "cohere2moe", "nemotron_h_moe"];
        if is(&named) && shared > 0 {
            set("expert_shared_feed_forward_length", (shared * width).into());
        }
        if is(&["ernie4_5-moe"]) {
            set("interleave_moe_layer_step", 1u32.into());
        }
    }
    let Some(factors) = preset.factors() else { return };
    // Granite's files have the divisor.
    let granite = is(&["granite", "granitemoe", "granitehybrid"]);
    set("logit_scale", if granite { 1.0 / factors.logits } else { factors.logits }.into());
    if granite {
        set("embedding_scale", factors.embeddings.into());
        set("residual_scale", factors.branches.into());
    }
    if let Some(scale) = factors.scores {
        set("attention.scale", scale.into());
    }
    if let Some(cap) = factors.cap {
        set("final_logit_softcapping", cap.into());
    }
}

/// Adds the keys of Gemma 4.
fn gemma4(preset: &Preset, layers: u32, gemma: &Gemma4, set: &mut impl FnMut(&str, Value)) {
    let &Gemma4 { kv_heads: [narrow, full], widths: [narrow_width, width], double, per_layer, cap, .. } =
        gemma;
    let own = gemma.own(layers, preset.layers);
    let sees_all = |layer: &u32| gemma.sees_all(*layer, layers);
    set("attention.sliding_window_pattern", (0..layers).map(|l| !sees_all(&l)).collect::<Vec<bool>>().into());
    if narrow == full {
        set("attention.head_count_kv", full.into());
    } else {
        let heads = (0..layers).map(|layer| if sees_all(&layer) { full } else { narrow } as i32);
        set("attention.head_count_kv", heads.collect::<Vec<i32>>().into());
    }
    if double {
        let widths = (0..layers).map(|l| (if l < own { preset.dense } else { 2 * preset.dense }) as i32);
        set("feed_forward_length", widths.collect::<Vec<i32>>().into());
    }
    for (key, value) in [
        ("attention.key_length", width),
        ("attention.value_length", width),
        ("attention.key_length_swa", narrow_width),
        ("attention.value_length_swa", narrow_width),
        ("rope.dimension_count", width),
        ("rope.dimension_count_swa", narrow_width),
        ("attention.shared_kv_layers", layers - own),
        ("embedding_length_per_layer_input", per_layer),
    ] {
        set(key, value.into());
    }
    set("rope.freq_base_swa", 1e4f32.into());
    set("final_logit_softcapping", cap.into());
}

/// Adds the keys of models with layers of several kinds.
fn mixed(preset: &Preset, layers: u32, mixed: &Mixed, set: &mut impl FnMut(&str, Value)) {
    let heads = (0..layers).map(|layer| if mixed.kind(layer) == b'*' { mixed.kv_heads as i32 } else { 0 });
    set("attention.head_count_kv", heads.collect::<Vec<i32>>().into());
    if preset.architecture.starts_with("lfm2") {
        return set("shortconv.l_cache", Mixed::CONVOLUTION.into());
    }
    let mamba = mixed.mamba;
    for (key, value) in [
        ("ssm.conv_kernel", Mamba::CONVOLUTION),
        ("ssm.state_size", mamba.state),
        ("ssm.group_count", mamba.groups),
        ("ssm.time_step_rank", mamba.heads),
        ("ssm.inner_size", mamba.inner()),
    ] {
        set(key, value.into());
    }
    if !preset.is_nemotron() {
        return set("rope.scaling.finetuned", false.into());
    }
    set("attention.key_length", mixed.width.into());
    set("attention.value_length", mixed.width.into());
    set("attention.layer_norm_epsilon", preset.rms_eps.into());
    let width = preset.experts.map_or(preset.dense, |experts| experts.width);
    let widths = (0..layers).map(|layer| if preset.has_network(layer) { width as i32 } else { 0 });
    set("feed_forward_length", widths.collect::<Vec<i32>>().into());
    if mixed.latent > 0 {
        set("moe_latent_size", mixed.latent.into());
    }
}

/// Adds the keys of models with Kimi delta attention.
fn kimi(
    preset: &Preset,
    layers: u32,
    (latent, ling): (&Latent, Option<Ling>),
    set: &mut impl FnMut(&str, Value),
) {
    // One row of the cache serves all heads. Layers with a state have none.
    let heads: Vec<i32> = (0..layers).map(|layer| i32::from(!preset.is_recurrent(layer, layers))).collect();
    set("attention.head_count_kv", heads.into());
    if let Some(rank) = latent.q_rank {
        set("attention.q_lora_rank", rank.into());
    }
    let Some(Ling { sections: has_sections, .. }) = ling else { return };
    set("kda.safe_gate", true.into());
    set("kda.gate_lower_bound", Ling::LEAST.into());
    if let Some(Experts { shared, width, .. }) = preset.experts {
        set("expert_shared_feed_forward_length", (shared * width).into());
    }
    if let Some([routed, other]) = preset.bounds(layers) {
        set("swiglu_clamp_exp", routed.into());
        set("swiglu_clamp_shexp", other.into());
    }
    if has_sections {
        set("rope.dimension_sections", sections(latent.rope));
    }
}

/// Adds the keys of GLM-5.3-Flash.
fn next(preset: &Preset, layers: u32, next: &Next, set: &mut impl FnMut(&str, Value)) {
    let &Next { latent, indexer, pool, iterations, .. } = next;
    let heads: Vec<i32> = (0..layers).map(|layer| i32::from(!preset.is_recurrent(layer, layers))).collect();
    set("attention.head_count_kv", heads.into());
    for (key, value) in [
        ("attention.q_lora_rank", latent.q_rank.unwrap_or(preset.hidden)),
        ("attention.indexer.head_count", indexer.heads),
        ("attention.indexer.key_length", indexer.width),
        ("attention.indexer.top_k", indexer.most),
        ("attention.indexer.kpool", pool),
        ("hyper_connection.count", 4),
        ("hyper_connection.sinkhorn_iterations", iterations),
    ] {
        set(key, value.into());
    }
    set("attention.indexer.kpool_select_tail", true.into());
    if indexer.layers > 1 {
        let own: Vec<bool> = (0..layers).map(|layer| next.has_indexer(layer)).collect();
        set("attention.indexer.types", own.into());
    }
    set("hyper_connection.epsilon", 1e-6f32.into());
    set("attention.layer_norm_epsilon", 1e-6f32.into());
    set("kda.gate_lower_bound", Ling::LEAST.into());
    if let Some([routed, other]) = preset.bounds(layers) {
        set("swiglu_clamp_exp", routed.into());
        set("swiglu_clamp_shexp", other.into());
    }
}

/// The sections of a rotary embedding, in pairs: of height, width and time. Text has the same position in all.
fn sections(rotated: u32) -> Value {
    let [height, width, time] = [2, 1, 0].map(|rest| ((rotated / 2 + rest) / 3) as i32);
    vec![height, width, time, 0].into()
}

/// The keys of experts in files of all families.
const ALWAYS_SAID: [&str; 3] = ["expert_count", "expert_used_count", "expert_feed_forward_length"];

fn attention(attention: &Attention) -> Vec<(&'static str, u32)> {
    match *attention {
        Attention::Grouped { kv_heads, width, rotated, .. } => vec![
            ("attention.head_count_kv", kv_heads),
            ("attention.key_length", width),
            ("attention.value_length", width),
            ("rope.dimension_count", rotated.unwrap_or(width)),
        ],
        Attention::Gemma4(_) | Attention::Mixed(_) => Vec::new(),
        Attention::Hybrid { kv_heads, width, rotated, delta, .. } => vec![
            ("attention.head_count_kv", kv_heads),
            ("attention.key_length", width),
            ("attention.value_length", width),
            ("rope.dimension_count", rotated),
            ("ssm.conv_kernel", Delta::CONVOLUTION),
            ("ssm.state_size", delta.width),
            ("ssm.group_count", delta.key_heads),
            ("ssm.time_step_rank", delta.value_heads),
            ("ssm.inner_size", delta.value_heads * delta.width),
        ],
        Attention::Kimi { width, latent: Latent { kv_rank, nope, rope, value, .. }, .. }
        | Attention::Next(Next { width, latent: Latent { kv_rank, nope, rope, value, .. }, .. }) => vec![
            ("attention.key_length", kv_rank + rope),
            ("attention.key_length_mla", nope + rope),
            ("attention.value_length_mla", value),
            ("attention.kv_lora_rank", kv_rank),
            ("rope.dimension_count", rope),
            ("ssm.conv_kernel", Delta::CONVOLUTION),
            ("kda.head_dim", width),
        ],
        Attention::Latent { kv_rank, nope, rope, value, .. }
        | Attention::Sparse { latent: Latent { kv_rank, nope, rope, value, .. }, .. } => vec![
            // One row of the cache serves all heads; the `_mla` keys have a head's own sizes.
            ("attention.head_count_kv", 1),
            ("attention.key_length", kv_rank + rope),
            ("attention.value_length", kv_rank),
            ("attention.key_length_mla", nope + rope),
            ("attention.value_length_mla", value),
            ("attention.kv_lora_rank", kv_rank),
            ("rope.dimension_count", rope),
        ],
    }
}

fn experts(experts: &Experts) -> [(&'static str, u32); 8] {
    [
        ("leading_dense_block_count", experts.leading_dense),
        ("expert_count", experts.count),
        ("expert_used_count", experts.used),
        ("expert_shared_count", experts.shared),
        ("expert_group_count", experts.groups.0),
        ("expert_group_used_count", experts.groups.1),
        ("expert_feed_forward_length", experts.width),
        ("expert_gating_func", if experts.gating == Gating::Sigmoid { 2 } else { 1 }),
    ]
}

fn general(preset: &Preset, types: &TensorTypes, mtp: bool, seed: u64, metadata: &mut Metadata) {
    let (name, layers, mix) = (preset.name, types.layers - u32::from(mtp), types.mix);
    let mtp = if mtp { " --mtp" } else { "" };
    let usual = Preset::named(name).is_ok_and(|usual| usual.vocabulary == preset.vocabulary);
    let vocab = if usual { String::new() } else { format!(" --vocab {}", preset.vocabulary) };
    let command = format!(
        "weft synth --preset {name} --layers {layers}{vocab} --quant {} --seed {seed}{mtp}",
        mix.name
    );
    metadata.insert("general.architecture", preset.architecture);
    metadata.insert("general.type", "model");
    metadata.insert("general.name", format!("{name}, synthetic"));
    metadata.insert("general.description", format!("Random weights, for tests and benchmarks: {command}"));
    metadata.insert("general.tags", ["synthetic"].iter().collect::<weft_gguf::Strings>());
    metadata.insert("general.file_type", mix.file_type);
    metadata.insert("general.quantization_version", QUANTIZATION_VERSION);
}
