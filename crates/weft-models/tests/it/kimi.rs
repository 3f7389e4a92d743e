//! Files of Kimi-Linear and Ling: what differs between them, what is refused, and what changes nothing.

use expect_test::expect;
use weft_gguf::Value;
use weft_ir::{Op, RopeStyle};
use weft_quant::GgmlType;

use crate::support::{self, File, HIDDEN, VOCAB};

/// Two layers with states, the first of them dense, and one with attention without rotation.
pub(crate) fn kimi_linear() -> File {
    let mut file = hybrid("kimi-linear");
    for block in 0..2 {
        let name = |tensor: &str| format!("blk.{block}.{tensor}.weight");
        for which in ["f", "g"] {
            file.matrix(&name(&format!("ssm_{which}_a")), &[32, HIDDEN]);
            file.matrix(&name(&format!("ssm_{which}_b")), &[64, 32]);
        }
    }
    file.matrix("blk.2.attn_q.weight", &[2 * 48, HIDDEN]);
    file
}

/// The same with rotation, compressed queries, gates, bounds, and a shared expert of another width.
pub(crate) fn ling() -> File {
    let mut file = hybrid("bailingmoe3");
    for block in 0..2 {
        for which in ["f", "g"] {
            file.matrix(&format!("blk.{block}.ssm_{which}_a.weight"), &[64, HIDDEN]);
        }
    }
    file.matrix("blk.2.attn_q_a.weight", &[32, HIDDEN]);
    file.vector("blk.2.attn_q_a_norm.weight", 32, 1.0);
    file.matrix("blk.2.attn_q_b.weight", &[2 * 48, 32]);
    file.matrix("blk.2.attn_gate.weight", &[2, HIDDEN]);
    for block in 1..3 {
        for tensor in ["ffn_gate_shexp", "ffn_up_shexp", "ffn_down_shexp"] {
            file.take(&format!("blk.{block}.{tensor}.weight"));
        }
        support::gated(&mut file, block, "_shexp", 96);
    }
    let mut set = |key: &str, value: Value| file.set(&format!("bailingmoe3.{key}"), value);
    set("attention.q_lora_rank", 32u32.into());
    set("kda.safe_gate", true.into());
    set("kda.gate_lower_bound", (-5f32).into());
    set("expert_shared_feed_forward_length", 96u32.into());
    set("expert_weights_norm", true.into());
    set("swiglu_clamp_exp", vec![0f32, 0.25, 0.0].into());
    set("swiglu_clamp_shexp", vec![0.5f32, 0.0, 0.75].into());
    file
}

/// The common part of both: 2 heads of 32, latent attention as in DeepSeek-V2, 2 of 4 experts.
fn hybrid(architecture: &str) -> File {
    let mut file = File::new(architecture);
    for (key, value) in [
        ("block_count", 3),
        ("context_length", 4096),
        ("embedding_length", HIDDEN),
        ("feed_forward_length", 96),
        ("attention.head_count", 2),
        ("attention.key_length", 48),
        ("attention.key_length_mla", 48),
        ("attention.value_length_mla", 32),
        ("attention.kv_lora_rank", 32),
        ("rope.dimension_count", 16),
        ("ssm.conv_kernel", 4),
        ("kda.head_dim", 32),
        ("leading_dense_block_count", 1),
        ("expert_count", 4),
        ("expert_used_count", 2),
        ("expert_shared_count", 1),
        ("expert_feed_forward_length", 32),
        ("expert_gating_func", 2),
        ("vocab_size", VOCAB),
    ] {
        file.set(&format!("{architecture}.{key}"), value as u32);
    }
    file.set(&format!("{architecture}.attention.head_count_kv"), vec![0u32, 0, 1]);
    file.set(&format!("{architecture}.attention.layer_norm_rms_epsilon"), 1e-5f32);
    file.set(&format!("{architecture}.rope.freq_base"), 1e4f32);
    file.set(&format!("{architecture}.expert_weights_scale"), 2.5f32);
    support::ends(&mut file);
    file.matrix("output.weight", &[VOCAB, HIDDEN]);
    for block in 0..3 {
        let name = |tensor: &str| format!("blk.{block}.{tensor}.weight");
        file.vector(&name("attn_norm"), HIDDEN, 1.0);
        if block < 2 {
            for which in ["q", "k", "v"] {
                file.matrix(&name(&format!("attn_{which}")), &[64, HIDDEN]);
                let values = support::random(which, 4 * 64).collect();
                file.add(&name(&format!("ssm_conv1d_{which}")), GgmlType::F32, &[64, 1, 4], values);
            }
            file.matrix(&name("ssm_beta"), &[2, HIDDEN]);
            file.add(&format!("blk.{block}.ssm_a"), GgmlType::F32, &[2, 1], vec![-1.0, -4.0]);
            file.vector(&format!("blk.{block}.ssm_dt.bias"), 64, -3.0);
            file.vector(&name("ssm_norm"), 32, 1.0);
        } else {
            file.matrix(&name("attn_kv_a_mqa"), &[48, HIDDEN]);
            file.vector(&name("attn_kv_a_norm"), 32, 1.0);
            file.matrix(&name("attn_k_b"), &[2, 32, 32]);
            file.matrix(&name("attn_v_b"), &[2, 32, 32]);
        }
        file.matrix(&name("attn_output"), &[HIDDEN, 64]);
        file.vector(&name("ffn_norm"), HIDDEN, 1.0);
        if block == 0 {
            support::gated(&mut file, block, "", 96);
            continue;
        }
        file.matrix(&name("ffn_gate_inp"), &[4, HIDDEN]);
        file.vector(&format!("blk.{block}.exp_probs_b.bias"), 4, 0.0);
        file.matrix(&name("ffn_gate_exps"), &[4, 32, HIDDEN]);
        file.matrix(&name("ffn_up_exps"), &[4, 32, HIDDEN]);
        file.matrix(&name("ffn_down_exps"), &[4, HIDDEN, 32]);
        support::gated(&mut file, block, "_shexp", 32);
    }
    file
}

fn layer(file: &File, at: usize) -> String {
    file.build().unwrap().segments[1 + at].graph.to_string()
}

#[test]
fn the_config_matches_the_file() {
    let config = ling().build().unwrap().config;
    let (states, experts) = (
        "a delta rule with a decay for each channel of 2 heads of 32",
        "with 2 of 4 experts of 32 and a shared one of 96",
    );
    let attention = "2 heads of 32 + 16, keys and values of rank 32, queries of rank 32";
    let expected = [(states, "dense of 96"), (states, experts), (attention, experts)];
    let found = config.blocks.iter().map(|b| (b.attention.summary.as_str(), b.feed_forward.summary.as_str()));
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

/// In vision models the halves of a head are pairs, in others neighbours; Kimi-Linear rotates nothing.
#[test]
fn sections_say_which_values_are_pairs() {
    let styles = |file: &File| -> Vec<RopeStyle> {
        let model = file.build().unwrap();
        let nodes = model.segments.iter().flat_map(|segment| segment.graph.nodes());
        let mut styles: Vec<_> = nodes
            .filter_map(|node| match node.op {
                Op::Rope { style, .. } => Some(style),
                _ => None,
            })
            .collect();
        styles.dedup();
        styles
    };
    assert_eq!(styles(&kimi_linear()), []);
    let mut file = ling();
    assert_eq!(styles(&file), [RopeStyle::Pairs]);
    file.set("bailingmoe3.rope.dimension_sections", vec![3i32, 3, 2, 0]);
    assert_eq!(styles(&file), [RopeStyle::Halves]);
    file.set("bailingmoe3.rope.dimension_sections", vec![8u32, 0, 0, 0]);
    assert_eq!(styles(&file), [RopeStyle::Pairs]);
}

/// Shapes and keys that other writers use.
#[test]
fn forms_of_files() {
    let plain = layer(&kimi_linear(), 0);
    let mut squeezed = kimi_linear();
    squeezed.tensor("blk.0.ssm_a").shape = vec![2];
    squeezed.tensor("blk.0.ssm_conv1d_k.weight").shape = vec![4, 64];
    squeezed.tensor("blk.0.ssm_conv1d_q.weight").shape = vec![4, 1, 64, 1];
    assert_eq!(layer(&squeezed, 0), plain);
    // The routers of Kimi-Linear divide by the sum of weights, those of Ling where the file says so.
    let plain = layer(&kimi_linear(), 2);
    let mut file = kimi_linear();
    file.set("kimi-linear.expert_weights_norm", false);
    file.set("kimi-linear.attention.q_lora_rank", 32u32);
    assert_eq!(layer(&file, 2), plain);
    let plain = layer(&ling(), 2);
    let mut file = ling();
    file.keys.remove("bailingmoe3.expert_weights_norm");
    assert!(layer(&file, 2) != plain && plain.contains(" = div "));
    let mut file = ling();
    file.keys.remove("bailingmoe3.kda.safe_gate");
    assert_eq!(layer(&file, 2), plain);
    // One bound for all layers.
    let bounded = |file: &File, at: usize| layer(file, at).matches(" = min ").count();
    let mut file = ling();
    assert_eq!([0, 1, 2].map(|at| bounded(&file, at)), [2, 2, 2]);
    file.set("bailingmoe3.swiglu_clamp_exp", 0.25f32);
    assert_eq!([0, 1, 2].map(|at| bounded(&file, at)), [2, 2, 4]);
    file.keys.remove("bailingmoe3.swiglu_clamp_shexp");
    assert_eq!([0, 1, 2].map(|at| bounded(&file, at)), [0, 2, 2]);
}

/// The last block predicts one token more, and has a norm with a name of its own.
#[test]
fn a_prediction_head_is_ignored() {
    let trunk = ling().build().unwrap();
    let mut file = ling();
    file.set("bailingmoe3.block_count", 4u32);
    file.set("bailingmoe3.nextn_predict_layers", 1u32);
    file.set("bailingmoe3.attention.head_count_kv", vec![0u32, 0, 1, 1]);
    for key in ["swiglu_clamp_exp", "swiglu_clamp_shexp"] {
        let key = format!("bailingmoe3.{key}");
        let Some(Value::Array(weft_gguf::Array::F32(mut bounds))) = file.keys.remove(&key) else { panic!() };
        bounds.push(0.0);
        file.set(&key, bounds);
    }
    file.matrix("blk.3.nextn.eh_proj.weight", &[HIDDEN, 2 * HIDDEN]);
    file.vector("blk.3.layer_output_norm.weight", HIDDEN, 1.0);
    let model = file.build().unwrap();
    assert_eq!((model.config.layers(), model.config.mtp_blocks), (3, 1));
    assert_eq!(model.cost(), trunk.cost());
}

#[test]
fn error_messages() {
    let mut text = String::new();
    let mut refused = |model: fn() -> File, key: &str, value: Value| {
        let mut file = model();
        let name = file.architecture();
        file.set(&format!("{name}.{key}"), value);
        text += &file.refusal();
        text += "\n";
    };
    refused(kimi_linear, "attention.head_count_kv", vec![0u32, 1].into());
    refused(kimi_linear, "rope.dimension_count", 48u32.into());
    refused(kimi_linear, "ssm.conv_kernel", 1u32.into());
    refused(kimi_linear, "expert_gating_func", 3u32.into());
    refused(ling, "kda.safe_gate", false.into());
    refused(ling, "kda.gate_lower_bound", 0f32.into());
    refused(ling, "kda.gate_lower_bound", f32::NEG_INFINITY.into());
    refused(ling, "swiglu_clamp_exp", vec![1f32, 2.0].into());
    refused(ling, "swiglu_clamp_shexp", vec![1f32, 2.0, f32::NAN].into());
    refused(ling, "rope.dimension_sections", 8u32.into());
    let mut file = ling();
    file.keys.remove("bailingmoe3.kda.gate_lower_bound");
    text += &file.refusal();
    text += "\n";
    let mut file = kimi_linear();
    file.matrix("blk.0.attn_qkv.weight", &[3 * 64, HIDDEN]);
    text += &file.refusal();
    expect![[r#"
        GGUF in memory: key `kimi-linear.attention.head_count_kv` should hold one u32 or an array with one for each of the 3 layers, but holds an array of 2
        GGUF in memory: key `kimi-linear.rope.dimension_count` is 48; it must be even and below attention.key_length_mla, 48
        GGUF in memory: key `kimi-linear.ssm.conv_kernel` is 1; it must be from 2 to 64
        GGUF in memory: key `kimi-linear.expert_gating_func` is 3, which is not supported; it can be 1 (softmax) or 2 (sigmoid)
        GGUF in memory: key `bailingmoe3.kda.safe_gate` is false, which is not supported; it can only be true
        GGUF in memory: key `bailingmoe3.kda.gate_lower_bound` is 0; it must be finite and below zero
        GGUF in memory: key `bailingmoe3.kda.gate_lower_bound` is -inf; it must be finite and below zero
        GGUF in memory: key `bailingmoe3.swiglu_clamp_exp` is an array of 2; it must have one number for each of 3 blocks
        GGUF in memory: key `bailingmoe3.swiglu_clamp_shexp` is NaN; it must be finite
        GGUF in memory: key `bailingmoe3.rope.dimension_sections` is something else; it must be an array of integers
        GGUF in memory: the metadata has no key `bailingmoe3.kda.gate_lower_bound`, which should hold a floating-point number
        GGUF in memory: tensor `blk.0.attn_qkv.weight` is not supported for architecture `kimi-linear`; ignoring it would give wrong results"#]].assert_eq(&text);
}
