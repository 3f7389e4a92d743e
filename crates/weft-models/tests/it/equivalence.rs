//! Forms of a file that say the same, and ways to feed a prompt that must not matter.

use weft_quant::GgmlType;

use crate::support::{self, File, HIDDEN, logits, relative_l2};

const TOKENS: [i32; 7] = [3, 14, 15, 92, 65, 35, 8];

fn whole(file: &File) -> Vec<f32> {
    logits(&file.open(), &TOKENS, TOKENS.len())
}

#[test]
fn keys_and_values_joined_or_apart() {
    for mut file in [support::glm(), support::v2_lite()] {
        // Keys are transposed between the two: only plain numbers come through that unrounded.
        for block in 0..3 {
            for tensor in ["attn_k_b", "attn_v_b"] {
                file.tensor(&format!("blk.{block}.{tensor}.weight")).ty = GgmlType::F32;
            }
        }
        let apart = whole(&file);
        support::join_keys_and_values(&mut file);
        let error = relative_l2(&whole(&file), &apart);
        assert!(error < 1e-6, "{error:e}");
    }
}

#[test]
fn gates_and_ups_fused_or_separate() {
    for mut file in [support::glm(), support::v2_lite()] {
        let separate = whole(&file);
        support::fuse_gate_and_up(&mut file);
        assert_eq!(whole(&file), separate);
    }
}

#[test]
fn output_tied_or_copied() {
    let mut file = support::llama();
    let tied = whole(&file);
    // One matrix at both ends is stored once, and read as a row here and as a whole there.
    let all: u64 = file.open().tensors().iter().map(|t| t.values()).sum();
    let cost = file.build().unwrap().cost();
    assert_eq!((cost.parameters, cost.active_parameters), (all, all + HIDDEN as u64));
    let table = file.tensor("token_embd.weight").values.clone();
    file.add("output.weight", GgmlType::Q8_0, &[support::VOCAB, HIDDEN], table);
    assert_eq!(whole(&file), tied);
}

#[test]
fn a_prompt_whole_or_in_pieces() {
    for file in
        [support::glm(), support::v2_lite(), support::llama(), support::mixtral(), support::qwen3moe()]
    {
        let gguf = file.open();
        let whole = logits(&gguf, &TOKENS, TOKENS.len());
        assert!(whole.iter().all(|x| x.is_finite()));
        for chunk in [1, 3] {
            assert_eq!(logits(&gguf, &TOKENS, chunk), whole);
        }
    }
}

#[test]
fn the_selection_bias_selects_and_does_not_weigh() {
    let mut file = support::glm();
    let without = {
        let mut file = file.clone();
        (1..3).for_each(|block| drop(file.take(&format!("blk.{block}.exp_probs_b.bias"))));
        whole(&file)
    };
    // The same for all experts: nothing changes.
    (1..3).for_each(|block| file.tensor(&format!("blk.{block}.exp_probs_b.bias")).values.fill(0.25));
    assert_eq!(whole(&file), without);
    // Some are forced out: something does.
    (1..3).for_each(|block| {
        file.tensor(&format!("blk.{block}.exp_probs_b.bias")).values.copy_from_slice(&[9.0, 9.0, 0.0, 0.0]);
    });
    assert_ne!(whole(&file), without);
}

#[test]
fn the_parts_of_a_model_that_an_absent_or_zero_key_leaves_alone() {
    let mut file = support::v2_lite();
    let plain = whole(&file);
    for (key, value) in [("expert_weights_scale", 0.0f32), ("attention.temperature_scale", 0.0)] {
        file.set(&format!("deepseek2.{key}"), value);
    }
    file.set("deepseek2.expert_group_count", 1u32);
    file.keys.remove("deepseek2.expert_gating_func");
    assert_eq!(whole(&file), plain);
    file.keys.remove("deepseek2.expert_weights_scale");
    assert_eq!(whole(&file), plain);
}
