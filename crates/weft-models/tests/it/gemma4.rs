//! The `gemma4` family.

use weft_models::{BuildOptions, build};
use weft_quant::GgmlType;

use crate::support::{File, HIDDEN, VOCAB, gated, logits};

/// A `gemma4` with everything: heads of two sizes, values from keys, layers that read the cache of others, experts and dense networks, and
/// embeddings for each layer.
pub(crate) fn gemma4() -> File {
    const NARROW: usize = 16;
    const FULL: usize = 32;
    const LAYERS: usize = 4;
    const OWN: usize = 32;
    let mut file = File::new("gemma4");
    for (key, value) in [
        ("block_count", LAYERS),
        ("context_length", 4096),
        ("embedding_length", HIDDEN),
        ("attention.head_count", 4),
        ("attention.sliding_window", 3),
        ("attention.key_length", FULL),
        ("attention.value_length", FULL),
        ("attention.key_length_swa", NARROW),
        ("attention.value_length_swa", NARROW),
        ("attention.shared_kv_layers", 2),
        ("rope.dimension_count", FULL),
        ("rope.dimension_count_swa", NARROW),
        ("embedding_length_per_layer_input", OWN),
        ("expert_count", 4),
        ("expert_used_count", 2),
        ("expert_feed_forward_length", 32),
        ("vocab_size", VOCAB),
    ] {
        file.set(&format!("gemma4.{key}"), value as u32);
    }
    file.set("gemma4.attention.head_count_kv", vec![2i32, 1, 2, 1]);
    file.set("gemma4.attention.sliding_window_pattern", vec![true, false, true, false]);
    file.set("gemma4.feed_forward_length", vec![96i32, 96, 160, 160]);
    for (key, value) in [
        ("attention.layer_norm_rms_epsilon", 1e-5f32),
        ("rope.freq_base", 1e6),
        ("rope.freq_base_swa", 1e4),
        ("final_logit_softcapping", 3.0),
    ] {
        file.set(&format!("gemma4.{key}"), value);
    }
    file.matrix("token_embd.weight", &[VOCAB, HIDDEN]);
    file.vector("output_norm.weight", HIDDEN, 1.0);
    let turns: Vec<f32> = (0..FULL / 2).map(|pair| if pair < 4 { 1.0 } else { 1e30 }).collect();
    file.add("rope_freqs.weight", GgmlType::F32, &[FULL / 2], turns);
    file.matrix("per_layer_token_embd.weight", &[VOCAB, LAYERS * OWN]);
    file.matrix("per_layer_model_proj.weight", &[LAYERS * OWN, HIDDEN]);
    file.vector("per_layer_proj_norm.weight", OWN, 1.0);
    for block in 0..LAYERS {
        let name = |tensor: &str| format!("blk.{block}.{tensor}");
        let (width, kv) = if block % 2 == 0 { (NARROW, 2 * NARROW) } else { (FULL, FULL) };
        file.matrix(&name("attn_q.weight"), &[4 * width, HIDDEN]);
        file.vector(&name("attn_q_norm.weight"), width, 1.0);
        if block < 2 {
            file.matrix(&name("attn_k.weight"), &[kv, HIDDEN]);
            file.vector(&name("attn_k_norm.weight"), width, 1.0);
        }
        if block == 0 {
            file.matrix(&name("attn_v.weight"), &[kv, HIDDEN]);
        }
        file.matrix(&name("attn_output.weight"), &[HIDDEN, 4 * width]);
        for norm in [
            "attn_norm",
            "post_attention_norm",
            "ffn_norm",
            "post_ffw_norm",
            "post_ffw_norm_1",
            "pre_ffw_norm_2",
            "post_ffw_norm_2",
            "post_norm",
        ] {
            file.vector(&name(&format!("{norm}.weight")), HIDDEN, 1.0);
        }
        gated(&mut file, block, "", if block < 2 { 96 } else { 160 });
        file.matrix(&name("ffn_gate_inp.weight"), &[4, HIDDEN]);
        file.vector(&name("ffn_gate_inp.scale"), HIDDEN, 8.0);
        file.matrix(&name("ffn_gate_exps.weight"), &[4, 32, HIDDEN]);
        file.matrix(&name("ffn_up_exps.weight"), &[4, 32, HIDDEN]);
        file.matrix(&name("ffn_down_exps.weight"), &[4, HIDDEN, 32]);
        file.vector(&name("ffn_down_exps.scale"), 4, 1.0);
        file.matrix(&name("inp_gate.weight"), &[OWN, HIDDEN]);
        file.matrix(&name("proj.weight"), &[HIDDEN, OWN]);
        file.vector(&name("layer_output_scale.weight"), 1, 1.0);
    }
    file
}

/// Steps of any size give the same logits: so the cache of another layer has what that layer stored.
#[test]
fn chunks_do_not_matter() {
    let gguf = gemma4().open();
    let tokens = [1, 60, 7, 22, 7, 95, 3, 4];
    let whole = logits(&gguf, &tokens, tokens.len());
    for chunk in [1, 3] {
        assert_eq!(logits(&gguf, &tokens, chunk), whole);
    }
    let most = whole.iter().fold(0f32, |most, logit| most.max(logit.abs()));
    assert!((1.0..3.0).contains(&most), "{most}: the bound acts");
}

#[test]
fn layers_of_one_kind_share_a_graph_and_a_cache() {
    let model = gemma4().build().unwrap();
    // Layers with a window and without, and layers that read the cache of either.
    let names: Vec<&str> = model.segments.iter().map(|segment| segment.graph.name()).collect();
    assert_eq!(
        names,
        [
            "embed",
            "swa_dense_moe_layer",
            "gqa_dense_moe_layer",
            "shared_swa_dense_moe_layer",
            "shared_gqa_dense_moe_layer",
            "head"
        ]
    );
    let states =
        |layer: usize| model.segments[1 + layer].states.iter().map(|(_, state)| state.as_str()).collect();
    let found: [Vec<&str>; 4] = std::array::from_fn(states);
    assert_eq!(found, [["k.0", "v.0"], ["k.1", "v.1"], ["k.0", "v.0"], ["k.1", "v.1"]]);
    let columns: Vec<usize> = model.segments[1..5].iter().map(|segment| segment.columns[0].1).collect();
    assert_eq!(columns, [0, 32, 64, 96]);
    // Two heads of 16 in layer 0 and one of 32 in layer 1, for keys and values, in f16.
    let cost = model.cost();
    assert_eq!((cost.kv_bytes, cost.windowed_kv_bytes, cost.window), (2 * 2 * (32 + 32), 2 * 2 * 32, 3));
}

/// In published files, layers that read the cache of others have keys and values all the same.
#[test]
fn keys_and_values_of_layers_that_use_others_are_ignored() {
    let plain = gemma4().build().unwrap();
    let mut file = gemma4();
    file.matrix("blk.2.attn_k.weight", &[32, HIDDEN]);
    file.matrix("blk.2.attn_v.weight", &[32, HIDDEN]);
    file.vector("blk.2.attn_k_norm.weight", 16, 1.0);
    let model = file.build().unwrap();
    assert!(model.segments.iter().zip(&plain.segments).all(|(a, b)| a.graph == b.graph));
    file.matrix("blk.1.attn_v.weight", &[32, HIDDEN]);
    let other = file.build().unwrap();
    assert_ne!(other.segments[2].graph, plain.segments[2].graph, "values of their own");
}

#[test]
fn a_layer_that_reads_the_cache_of_another_has_its_heads() {
    let mut file = gemma4();
    file.set("gemma4.attention.head_count_kv", vec![2i32, 1, 1, 1]);
    let refused = build(&file.open(), &BuildOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("layer 2 reads the cache of a layer with 2"), "{refused}");
}

#[test]
fn an_mtp_assistant_is_refused_by_name() {
    let mut file = gemma4();
    file.set("general.architecture", "gemma4-assistant");
    let refused = build(&file.open(), &BuildOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("MTP assistant"), "{refused}");
}
