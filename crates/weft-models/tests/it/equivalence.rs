//! Equivalent forms of a file, and ways of feeding a prompt, that must give the same results.

use std::path::Path;

use weft_gguf::Gguf;
use weft_ir::Op;
use weft_models::BuildOptions;
use weft_quant::GgmlType;

use crate::support::{self, File, HIDDEN, ORACLE, logits, relative_l2};

const TOKENS: [i32; 7] = [3, 14, 15, 92, 65, 35, 8];

fn all_logits(file: &File) -> Vec<f32> {
    logits(&file.open(), &TOKENS, TOKENS.len())
}

#[test]
fn keys_and_values_joined_or_separate() {
    for mut file in [support::glm(), support::v2_lite()] {
        // Keys are transposed in between, and quantised values would be rounded again.
        for block in 0..3 {
            for tensor in ["attn_k_b", "attn_v_b"] {
                file.tensor(&format!("blk.{block}.{tensor}.weight")).ty = GgmlType::F32;
            }
        }
        let separate = all_logits(&file);
        support::join_keys_and_values(&mut file);
        let error = relative_l2(&all_logits(&file), &separate);
        assert!(error < 1e-6, "{error:e}");
    }
}

#[test]
fn gates_and_ups_fused_or_separate() {
    for mut file in [support::glm(), support::v2_lite()] {
        let separate = all_logits(&file);
        support::fuse_gate_and_up(&mut file);
        assert_eq!(all_logits(&file), separate);
    }
}

/// The rotation of the rows of a cache of few bits, which reduces rounding errors, changes nothing where the cache rounds nothing: the
/// oracle's is `f32`.
#[test]
fn rows_of_a_cache_of_few_bits() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    // Heads of 32 and of 64, and latent rows of an odd number of blocks of 32.
    for (name, kv, rows) in [
        ("llama-tiny-q6_k", GgmlType::Q8_0, 32),
        ("qwen3-tiny-q4_0", GgmlType::Q4_0, 64),
        ("ds2-tiny-q4_0", GgmlType::Q5_1, 32),
    ] {
        let gguf = Gguf::open(&fixtures.join(format!("{name}.gguf"))).unwrap();
        let plain = support::logits(&gguf, &TOKENS, 3);
        let model = weft_models::build(&gguf, &BuildOptions { kv, ..ORACLE }).unwrap();
        let layers = model.segments.iter().filter(|segment| segment.layer.is_some());
        for layer in layers {
            let matrices = layer.graph.nodes().iter().filter(|node| node.op == Op::Hadamard);
            let matrices: Vec<_> = matrices.map(|node| node.ty.shape.last()).collect();
            assert_eq!(matrices, [Some(rows)], "{name}, {}", layer.name);
        }
        let error = relative_l2(&support::logits_of(&model, &gguf, &TOKENS, 3), &plain);
        assert!(error < 1e-5 && error > 0.0, "{name}: {error:e}");
    }
}

/// Joined tensors compute what separate ones do.
#[test]
fn joined_or_separate() {
    let mut joined = support::phi3();
    let mut separate = support::qwen2();
    // The same rotary embedding, and no biases.
    for tensor in ["rope_factors_short.weight", "rope_factors_long.weight"] {
        joined.take(tensor);
    }
    for block in 0..2 {
        for tensor in ["attn_q", "attn_k", "attn_v"] {
            separate.take(&format!("blk.{block}.{tensor}.bias"));
        }
    }
    assert_eq!(all_logits(&joined), all_logits(&separate));
}

/// The long rotary factors are those of a context beyond the original one.
#[test]
fn the_context_chooses_the_rotary_factors() {
    let long = all_logits(&support::phi3());
    let with = |context: u32, unused: &str| {
        let mut file = support::phi3();
        file.set("phi3.context_length", context);
        file.tensor(unused).values.fill(2.0);
        all_logits(&file)
    };
    assert_eq!(with(4096, "rope_factors_short.weight"), long);
    assert_eq!(with(1025, "rope_factors_short.weight"), long);
    assert_eq!(with(1024, "rope_factors_long.weight"), with(512, "rope_factors_long.weight"));
    assert_ne!(with(1024, "rope_factors_long.weight"), long);
}

/// The experts of the groups whose two best score highest, and no others.
#[test]
fn groups_limit_the_choice() {
    let with = |groups: u32, used: u32, bias: [f32; 8]| {
        let mut file = support::v3();
        file.set("deepseek2.expert_group_count", groups);
        file.set("deepseek2.expert_group_used_count", used);
        (1..3).for_each(|block| {
            // All experts score the same but for the bias.
            file.tensor(&format!("blk.{block}.ffn_gate_inp.weight")).values.fill(0.0);
            file.tensor(&format!("blk.{block}.exp_probs_b.bias")).values.copy_from_slice(&bias);
        });
        all_logits(&file)
    };
    let last = with(1, 1, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 9.0, 9.0]);
    // The best expert is in the first group, and the best pair in the last.
    let best_apart = [10.0, -11.0, 0.0, 0.0, 0.0, 0.0, 9.0, 9.0];
    assert_eq!(with(4, 1, best_apart), last);
    assert_eq!(with(4, 2, best_apart), last);
    assert_ne!(with(4, 4, best_apart), last);
    assert_eq!(with(4, 4, best_apart), with(1, 1, best_apart));
    // Two groups whose scores differ by little more than rounding.
    let near = 9.0f32.next_up();
    assert_eq!(with(4, 1, [9.0, 9.0, 0.0, 0.0, 0.0, 0.0, near, near]), last);
}

#[test]
fn output_tied_or_copied() {
    let mut file = support::llama();
    let tied = all_logits(&file);
    // A tied matrix is stored once; the embedding reads a row of it, and the head all of it.
    let all: u64 = file.open().tensors().iter().map(|t| t.values()).sum();
    let cost = file.build().unwrap().cost();
    assert_eq!((cost.parameters, cost.active_parameters), (all, all + HIDDEN as u64));
    let table = file.tensor("token_embd.weight").values.clone();
    file.add("output.weight", GgmlType::Q8_0, &[support::VOCAB, HIDDEN], table);
    assert_eq!(all_logits(&file), tied);
}

#[test]
fn a_prompt_in_one_step_or_several() {
    for file in [
        support::glm(),
        support::v2_lite(),
        support::llama(),
        support::mixtral(),
        support::qwen3moe(),
        support::v3(),
        support::glm4moe(),
        support::phi3(),
        support::qwen2moe(),
    ] {
        let gguf = file.open();
        let whole = logits(&gguf, &TOKENS, TOKENS.len());
        assert!(whole.iter().all(|x| x.is_finite()));
        for chunk in [1, 3] {
            assert_eq!(logits(&gguf, &TOKENS, chunk), whole);
        }
    }
}

#[test]
fn the_selection_bias_affects_the_choice_but_not_the_weights() {
    let mut file = support::glm();
    let without = {
        let mut file = file.clone();
        (1..3).for_each(|block| drop(file.take(&format!("blk.{block}.exp_probs_b.bias"))));
        all_logits(&file)
    };
    // The same bias for all experts changes nothing.
    (1..3).for_each(|block| file.tensor(&format!("blk.{block}.exp_probs_b.bias")).values.fill(0.25));
    assert_eq!(all_logits(&file), without);
    // A bias that forces some experts out does.
    (1..3).for_each(|block| {
        file.tensor(&format!("blk.{block}.exp_probs_b.bias")).values.copy_from_slice(&[9.0, 9.0, 0.0, 0.0]);
    });
    assert_ne!(all_logits(&file), without);
}

#[test]
fn defaults_may_be_written_out_or_missing() {
    let mut file = support::v2_lite();
    let plain = all_logits(&file);
    for (key, value) in [("expert_weights_scale", 0.0f32), ("attention.temperature_scale", 0.0)] {
        file.set(&format!("deepseek2.{key}"), value);
    }
    file.set("deepseek2.expert_group_count", 1u32);
    file.keys.remove("deepseek2.expert_gating_func");
    assert_eq!(all_logits(&file), plain);
    file.keys.remove("deepseek2.expert_weights_scale");
    assert_eq!(all_logits(&file), plain);
}
