//! Files of GLM-5.3-Flash, `glm5-next`: residual streams, indexers of pools, layers without rotation.

use expect_test::expect;
use weft_gguf::Value;
use weft_ir::Op;
use weft_quant::GgmlType;

use crate::support::{self, File, HIDDEN, VOCAB, logits, relative_l2};

const TOKENS: [i32; 13] = [3, 14, 15, 92, 65, 35, 8, 9, 79, 32, 38, 46, 26];

/// The heads of indexers, and their width.
const HEADS: usize = 5;
const WIDTH: usize = 32;

/// The positions of a pool.
const POOL: usize = 2;

/// Two layers with states, the first of them dense, and two with attention, of which the last attends to the positions of the other.
pub(crate) fn glm5_next() -> File {
    sized(8)
}

/// The same with so many chosen positions.
fn sized(most: u32) -> File {
    const BLOCKS: usize = 4;
    let mut file = File::new("glm5-next");
    let mut set = |key: &str, value: Value| file.set(&format!("glm5-next.{key}"), value);
    for (key, value) in [
        ("block_count", BLOCKS),
        ("context_length", 4096),
        ("embedding_length", HIDDEN),
        ("feed_forward_length", 96),
        ("attention.head_count", 2),
        ("attention.q_lora_rank", 32),
        ("attention.kv_lora_rank", 32),
        ("attention.key_length_mla", 32),
        ("attention.value_length_mla", 32),
        ("attention.indexer.head_count", HEADS),
        ("attention.indexer.key_length", WIDTH),
        ("attention.indexer.kpool", POOL),
        ("rope.dimension_count", 0),
        ("ssm.conv_kernel", 4),
        ("kda.head_dim", 32),
        ("hyper_connection.count", 4),
        ("hyper_connection.sinkhorn_iterations", 2),
        ("leading_dense_block_count", 1),
        ("expert_count", 4),
        ("expert_used_count", 2),
        ("expert_shared_count", 1),
        ("expert_feed_forward_length", 32),
        ("vocab_size", VOCAB),
    ] {
        set(key, (value as u32).into());
    }
    set("attention.head_count_kv", vec![0u32, 1, 0, 1].into());
    set("attention.indexer.top_k", most.into());
    set("attention.indexer.kpool_select_tail", true.into());
    set("attention.indexer.types", vec![true, true, true, false].into());
    set("attention.layer_norm_rms_epsilon", 1e-5f32.into());
    set("attention.layer_norm_epsilon", 1e-6f32.into());
    set("hyper_connection.epsilon", 1e-6f32.into());
    set("kda.gate_lower_bound", (-5f32).into());
    set("expert_weights_scale", 2.5f32.into());
    set("expert_weights_norm", true.into());
    set("swiglu_clamp_exp", vec![0.5f32; BLOCKS].into());
    support::ends(&mut file);
    file.matrix("output.weight", &[VOCAB, HIDDEN]);
    (0..BLOCKS).for_each(|block| layer(&mut file, block));
    file
}

fn layer(file: &mut File, block: usize) {
    let name = |tensor: &str| format!("blk.{block}.{tensor}.weight");
    for which in ["attn", "ffn"] {
        file.matrix(&name(&format!("hc_{which}_fn")), &[24, 4 * HIDDEN]);
        let base = support::random(which, 24).collect();
        file.add(&name(&format!("hc_{which}_base")), GgmlType::F32, &[24], base);
        file.add(&name(&format!("hc_{which}_scale")), GgmlType::F32, &[3], vec![0.5, 0.75, 1.0]);
    }
    file.vector(&name("attn_norm"), HIDDEN, 1.0);
    if block.is_multiple_of(2) {
        delta(file, block);
    } else {
        latent(file, block, block == 1);
    }
    file.matrix(&name("attn_output"), &[HIDDEN, 64]);
    file.vector(&name("ffn_norm"), HIDDEN, 1.0);
    if block == 0 {
        return support::gated(file, block, "", 96);
    }
    file.matrix(&name("ffn_gate_inp"), &[4, HIDDEN]);
    file.vector(&format!("blk.{block}.exp_probs_b.bias"), 4, 0.0);
    file.matrix(&name("ffn_gate_exps"), &[4, 32, HIDDEN]);
    file.matrix(&name("ffn_up_exps"), &[4, 32, HIDDEN]);
    file.matrix(&name("ffn_down_exps"), &[4, HIDDEN, 32]);
    support::gated(file, block, "_shexp", 32);
}

fn delta(file: &mut File, block: usize) {
    let name = |tensor: &str| format!("blk.{block}.{tensor}.weight");
    for which in ["q", "k", "v"] {
        file.matrix(&name(&format!("attn_{which}")), &[64, HIDDEN]);
        let values = support::random(which, 4 * 64).collect();
        file.add(&name(&format!("ssm_conv1d_{which}")), GgmlType::F32, &[64, 1, 4], values);
    }
    for which in ["f", "g"] {
        file.matrix(&name(&format!("ssm_{which}_a")), &[32, HIDDEN]);
        file.matrix(&name(&format!("ssm_{which}_b")), &[64, 32]);
    }
    file.matrix(&name("ssm_beta"), &[2, HIDDEN]);
    file.add(&format!("blk.{block}.ssm_a"), GgmlType::F32, &[2], vec![-1.0, -2.0]);
    file.vector(&format!("blk.{block}.ssm_dt.bias"), 64, -3.0);
    file.vector(&name("ssm_norm"), 32, 1.0);
}

fn latent(file: &mut File, block: usize, has_indexer: bool) {
    let name = |tensor: &str| format!("blk.{block}.{tensor}.weight");
    file.matrix(&name("attn_q_a"), &[32, HIDDEN]);
    file.vector(&name("attn_q_a_norm"), 32, 1.0);
    file.matrix(&name("attn_q_b"), &[2 * 32, 32]);
    file.matrix(&name("attn_kv_a_mqa"), &[32, HIDDEN]);
    file.vector(&name("attn_kv_a_norm"), 32, 1.0);
    file.matrix(&name("attn_k_b"), &[2, 32, 32]);
    file.matrix(&name("attn_v_b"), &[2, 32, 32]);
    if has_indexer {
        file.vector(&name("indexer.k_norm"), WIDTH, 1.0);
        file.vector(&format!("blk.{block}.indexer.k_norm.bias"), WIDTH, 0.0);
        file.matrix(&name("indexer.proj"), &[HEADS, HIDDEN]);
        file.matrix(&name("indexer.attn_k"), &[WIDTH, HIDDEN]);
        file.matrix(&name("indexer.attn_q_b"), &[HEADS * WIDTH, 32]);
        file.matrix(&name("indexer_compressor_gate"), &[WIDTH, HIDDEN]);
        let offsets = support::random("ape", POOL * WIDTH).collect();
        file.add(&name("indexer_compressor_ape"), GgmlType::F32, &[POOL, WIDTH], offsets);
    }
}

fn all_logits(file: &File, chunk: usize) -> Vec<f32> {
    logits(&file.open(), &TOKENS, chunk)
}

#[test]
fn steps_of_any_size_give_the_same_logits() {
    let whole = all_logits(&glm5_next(), 13);
    for chunk in [1, 2, 3, 5] {
        let error = relative_l2(&all_logits(&glm5_next(), chunk), &whole);
        assert!(error < 1e-6, "{chunk}: {error:e}");
    }
}

/// With two pools chosen, lists matter from the sixth token on: the fifth sees two pools and the position behind them.
#[test]
fn lists_matter_once_a_pool_is_left_out() {
    let (all, few) = (all_logits(&sized(16), 13), all_logits(&sized(4), 13));
    assert_eq!(all_logits(&sized(64), 13), all);
    let (same, differs) = (5 * VOCAB, 6 * VOCAB);
    assert_eq!(few[..same], all[..same]);
    for tokens in [differs, all.len()] {
        assert!(few[tokens - VOCAB..tokens] != all[tokens - VOCAB..tokens]);
    }
}

#[test]
fn unsloths_name_means_the_same() {
    let mut other = File::new("glm5next");
    for (key, value) in glm5_next().keys {
        if let Some(key) = key.strip_prefix("glm5-next.") {
            other.set(&format!("glm5next.{key}"), value);
        }
    }
    other.tensors = glm5_next().tensors;
    let logits = all_logits(&glm5_next(), 13);
    assert_eq!(all_logits(&other, 13), logits);
    // Some writers call a pool a block.
    other.keys.remove("glm5next.attention.indexer.kpool");
    other.set("glm5next.attention.indexer.block_size", POOL as u32);
    assert_eq!(all_logits(&other, 13), logits);
}

/// The chosen positions, and those of a pool, of each indexer and of each attention.
#[test]
fn layers_attend_to_pools() {
    let model = glm5_next().build().unwrap();
    let nodes = model.segments.iter().flat_map(|segment| segment.graph.nodes());
    let ops: Vec<String> = nodes
        .filter_map(|node| match node.op {
            Op::Indexer { k, pool, .. } => Some(format!("indexer of {k} in pools of {pool}")),
            Op::Attend { pool, .. } => Some(format!("attention to {} by {pool}", node.inputs.len())),
            _ => None,
        })
        .collect();
    assert_eq!(ops, ["indexer of 8 in pools of 2", "attention to 7 by 2", "attention to 7 by 2"]);
    let layer = &model.config.blocks[1].attention.summary;
    expect!["2 heads of 32, keys and values of rank 32, queries of rank 32, 8 positions chosen in pools of 2 by 5 heads of 32"].assert_eq(layer);
}

/// Routed experts have bounds, and the other networks the same unless the file says otherwise.
#[test]
fn each_key_and_tensor_of_streams_and_bounds_matters() {
    let plain = all_logits(&glm5_next(), 13);
    let changed = |key: &str, value: Value| {
        let mut file = glm5_next();
        file.set(&format!("glm5-next.{key}"), value);
        relative_l2(&all_logits(&file, 13), &plain)
    };
    for (key, value) in [
        ("hyper_connection.sinkhorn_iterations", 5u32.into()),
        ("hyper_connection.epsilon", 0.1f32.into()),
        ("swiglu_clamp_exp", Value::from(vec![0.2f32; 4])),
        ("swiglu_clamp_shexp", vec![0.2f32; 4].into()),
        ("kda.gate_lower_bound", (-2f32).into()),
        ("attention.layer_norm_epsilon", 0.5f32.into()),
    ] {
        let error = changed(key, value);
        // An ε moves only what is near a choice.
        let least = if key.contains("layer_norm") { 0.0 } else { 1e-4 };
        assert!(error > least, "{key}: {error:e}");
    }
    assert_eq!(changed("swiglu_clamp_shexp", vec![0.5f32; 4].into()), 0.0);
}

#[test]
fn the_message_says_what_is_wrong() {
    let cases: [(&str, Value, &str); 9] = [
        ("hyper_connection.count", 2u32.into(), "it can only be 4"),
        ("hyper_connection.sinkhorn_iterations", 0u32.into(), "from 1 to 64"),
        ("rope.dimension_count", 16u32.into(), "it can only be 0"),
        ("attention.indexer.kpool", 3u32.into(), "divide the rows of a page"),
        ("attention.indexer.kpool", 1u32.into(), "from 2 to 16"),
        ("attention.indexer.top_k", 9u32.into(), "a multiple of attention.indexer.kpool, 2"),
        ("attention.indexer.kpool_select_tail", false.into(), "it can only be true"),
        ("attention.indexer.types", vec![true, false, true, true].into(), "the first layer with attention"),
        ("kda.gate_lower_bound", 5f32.into(), "finite and below zero"),
    ];
    for (key, value, why) in cases {
        let mut file = glm5_next();
        file.set(&format!("glm5-next.{key}"), value);
        let refusal = file.refusal();
        assert!(refusal.contains(why) && refusal.contains(key), "{key}: {refusal}");
    }
    for key in ["rope.dimension_count", "hyper_connection.epsilon", "attention.indexer.kpool"] {
        let mut file = glm5_next();
        file.keys.remove(&format!("glm5-next.{key}"));
        assert!(file.refusal().contains(key), "{key}: {}", file.refusal());
    }
}

/// Blocks for multi-token prediction are left out.
#[test]
fn blocks_for_multi_token_prediction_are_left_out() {
    let mut file = glm5_next();
    let plain = all_logits(&file, 13);
    file.set("glm5-next.block_count", 5u32);
    file.set("glm5-next.attention.head_count_kv", vec![0u32, 1, 0, 1, 1]);
    file.set("glm5-next.swiglu_clamp_exp", vec![0.5f32; 5]);
    file.set("glm5-next.nextn_predict_layers", 1u32);
    for tensor in ["nextn.eh_proj.weight", "indexer.proj.weight", "attn_q_a.weight"] {
        file.matrix(&format!("blk.4.{tensor}"), &[HIDDEN, HIDDEN]);
    }
    assert_eq!(file.build().unwrap().config.mtp_blocks, 1);
    assert_eq!(all_logits(&file, 13), plain);
}
