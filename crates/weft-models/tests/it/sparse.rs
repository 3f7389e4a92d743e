//! Models with indexers: `deepseek32` and `glm-dsa`.

use weft_gguf::Value;
use weft_ir::{Op, RopeStyle};

use crate::support::{self, File, HIDDEN, logits, relative_l2};

const TOKENS: [i32; 9] = [3, 14, 15, 92, 65, 35, 8, 9, 79];

/// The heads of indexers, and their width.
const HEADS: usize = 5;
const WIDTH: usize = 32;

/// The tiny GLM with an indexer in the layers for which that is true, which chooses `most` positions.
fn sparse(architecture: &str, own: [bool; 3], most: u32) -> File {
    let mut file = renamed(&support::glm(), architecture);
    let mut set =
        |key: &str, value: Value| file.set(&format!("{architecture}.attention.indexer.{key}"), value);
    set("head_count", (HEADS as u32).into());
    set("key_length", (WIDTH as u32).into());
    set("top_k", most.into());
    if own.contains(&false) {
        set("types", own.to_vec().into());
    }
    for block in (0..3).filter(|block| own[*block]) {
        let name = |tensor: &str| format!("blk.{block}.indexer.{tensor}");
        file.vector(&name("k_norm.weight"), WIDTH, 1.0);
        file.vector(&name("k_norm.bias"), WIDTH, 0.0);
        file.matrix(&name("proj.weight"), &[HEADS, HIDDEN]);
        file.matrix(&name("attn_k.weight"), &[WIDTH, HIDDEN]);
        file.matrix(&name("attn_q_b.weight"), &[HEADS * WIDTH, 32]);
    }
    file
}

/// The same file of another family.
fn renamed(file: &File, architecture: &str) -> File {
    let mut other = File::new(architecture);
    let prefix = format!("{}.", file.architecture());
    for (key, value) in &file.keys {
        if let Some(key) = key.strip_prefix(&prefix) {
            other.set(&format!("{architecture}.{key}"), value.clone());
        }
    }
    other.tensors = file.tensors.clone();
    other
}

pub(crate) fn deepseek32() -> File {
    sparse("deepseek32", [true; 3], 4)
}

/// Its last layer attends to the positions of the second.
pub(crate) fn glm_dsa() -> File {
    sparse("glm-dsa", [true, true, false], 4)
}

fn all_logits(file: &File, chunk: usize) -> Vec<f32> {
    logits(&file.open(), &TOKENS, chunk)
}

/// With at most as many positions as are chosen, both families compute the same as `deepseek2`.
#[test]
fn up_to_as_many_positions_as_are_chosen_it_is_attention_to_all() {
    let plain = all_logits(&support::glm(), 9);
    for (family, own) in [("deepseek32", [true; 3]), ("glm-dsa", [true, false, false])] {
        assert_eq!(all_logits(&sparse(family, own, 9), 9), plain, "{family}");
        let error = relative_l2(&all_logits(&sparse(family, own, 4), 9), &plain);
        assert!(error > 1e-3, "{family}: {error:e}");
    }
}

#[test]
fn steps_of_any_size_give_the_same_logits() {
    for file in [deepseek32(), glm_dsa()] {
        let whole = all_logits(&file, 9);
        for chunk in [1, 2, 4] {
            let error = relative_l2(&all_logits(&file, chunk), &whole);
            assert!(error < 1e-6, "{}, {chunk}: {error:e}", file.architecture());
        }
    }
}

/// Indexers rotate halves in `deepseek32` and pairs in `glm-dsa`; attention rotates pairs in both.
#[test]
fn each_family_rotates_its_own_way() {
    for (file, of_indexers) in [(deepseek32(), RopeStyle::Halves), (glm_dsa(), RopeStyle::Pairs)] {
        let model = file.build().unwrap();
        let layer = model.segments.iter().find(|segment| segment.layer == Some(0)).unwrap();
        let styles = layer.graph.nodes().iter().filter_map(|node| match node.op {
            Op::Rope { style } => Some(style),
            _ => None,
        });
        let mut styles: Vec<RopeStyle> = styles.collect();
        styles.sort_by_key(|style| style.name());
        let mut expected = vec![RopeStyle::Pairs, RopeStyle::Pairs, of_indexers, of_indexers];
        expected.sort_by_key(|style| style.name());
        assert_eq!(styles, expected, "{}", file.architecture());
    }
}

/// Whether each layer has an indexer.
fn indexers(file: &File) -> Vec<bool> {
    let model = file.build().unwrap();
    let layers = model.segments.iter().filter(|segment| segment.layer.is_some());
    let has = |op: &Op| matches!(op, Op::Indexer { .. });
    layers.map(|layer| layer.graph.nodes().iter().any(|node| has(&node.op))).collect()
}

#[test]
fn layers_have_indexers_as_the_file_says() {
    assert_eq!(indexers(&glm_dsa()), [true, true, false]);
    // Published files have numbers, or the tensors of indexers that nothing uses.
    let mut file = sparse("glm-dsa", [true; 3], 4);
    assert_eq!(indexers(&file), [true; 3]);
    file.set("glm-dsa.attention.indexer.types", vec![1u32, 0, 1]);
    assert_eq!(indexers(&file), [true, false, true]);
    file.set("glm-dsa.attention.indexer.types", vec![1i32, 0, 0]);
    assert_eq!(indexers(&file), [true, false, false]);
    // `deepseek32` has them in all layers, whatever a file says.
    let mut file = deepseek32();
    file.set("deepseek32.attention.indexer.types", vec![true, false, false]);
    assert_eq!(indexers(&file), [true; 3]);
}

/// Files of GLM-5.2 from before there was a key: two layers, then one of four.
#[test]
fn a_long_context_without_the_key_means_the_pattern_of_glm_5_2() {
    let mut file = sparse("glm-dsa", [true; 3], 4);
    file.set("glm-dsa.context_length", 1_048_576u32);
    file.set("glm-dsa.block_count", 4u32);
    let fourth: Vec<_> =
        file.tensors.iter().filter(|tensor| tensor.name.starts_with("blk.2.")).cloned().collect();
    for mut tensor in fourth {
        tensor.name = tensor.name.replace("blk.2.", "blk.3.");
        file.tensors.push(tensor);
    }
    assert_eq!(indexers(&file), [true, true, true, false]);
    file.set("glm-dsa.context_length", 1_048_575u32);
    assert_eq!(indexers(&file), [true; 4]);
}

#[test]
fn the_message_says_what_is_wrong() {
    let types = "glm-dsa.attention.indexer.types";
    let cases: [(&str, Value, &str); 6] = [
        (types, vec![true, false].into(), "one for each of 3 layers"),
        (types, vec![false, true, true].into(), "the first layer must have an indexer"),
        (types, "all".into(), "an array of booleans"),
        ("glm-dsa.attention.indexer.key_length", 14u32.into(), "at least rope.dimension_count, 16"),
        ("glm-dsa.attention.indexer.top_k", 0u32.into(), "top_k"),
        ("glm-dsa.attention.temperature_scale", 0.5f32.into(), "temperature_scale"),
    ];
    for (key, value, why) in cases {
        let mut file = glm_dsa();
        file.set(key, value);
        let refusal = file.refusal();
        assert!(refusal.contains(why), "{key}: {refusal}");
    }
    for key in ["attention.key_length_mla", "attention.q_lora_rank", "attention.indexer.head_count"] {
        let mut file = glm_dsa();
        file.keys.remove(&format!("glm-dsa.{key}"));
        assert!(file.refusal().contains(key), "{key}: {}", file.refusal());
    }
}

/// Blocks for multi-token prediction are left out, with their indexers.
#[test]
fn blocks_for_multi_token_prediction_are_left_out() {
    let mut file = glm_dsa();
    let plain = all_logits(&file, 9);
    file.set("glm-dsa.block_count", 4u32);
    file.set("glm-dsa.nextn_predict_layers", 1u32);
    for tensor in ["nextn.eh_proj.weight", "indexer.proj.weight", "attn_q_a.weight"] {
        file.matrix(&format!("blk.3.{tensor}"), &[HIDDEN, HIDDEN]);
    }
    assert_eq!(file.build().unwrap().config.mtp_blocks, 1);
    assert_eq!(all_logits(&file, 9), plain);
}
