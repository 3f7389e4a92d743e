//! Tests of models with two kinds of layers: attention, and the gated delta rule.

use std::fmt::Write as _;

use expect_test::expect;

use super::Model;
use crate::synth::testing::options;

/// Files are cut to a few layers, and are to have both kinds.
#[test]
fn shorter_models_have_attention_and_the_delta_rule() {
    let kinds = |layers: u32| -> (u32, String) {
        let Model { metadata, tensors, .. } =
            Model::new(&options("qwen3.6-35b-a3b", layers, "q4_0")).unwrap();
        let kind = |layer: u32| {
            let has = |tensor: &str| {
                tensors.iter().any(|found| found.name == format!("blk.{layer}.{tensor}.weight"))
            };
            match (has("ssm_out"), has("attn_output")) {
                (true, false) => 'd',
                (false, true) => 'a',
                both => panic!("{both:?} in layer {layer}"),
            }
        };
        let interval = metadata.require_u32("qwen35moe.full_attention_interval").unwrap();
        (interval, (0..layers).map(kind).collect())
    };
    let expected = [(8, 4, "dddaddda"), (5, 4, "dddad"), (3, 3, "dda"), (2, 2, "da"), (1, 1, "a")];
    for (layers, interval, text) in expected {
        assert_eq!(kinds(layers), (interval, text.to_string()));
    }
}

/// The keys of these families, as llama.cpp's converter writes them.
#[test]
fn hybrids_have_the_keys_of_their_families() {
    let mut text = String::new();
    for name in ["qwen35moe-odd", "qwen3.5-4b", "qwen3-next-80b-a3b"] {
        let Model { metadata, .. } = Model::new(&options(name, 3, "q4_0")).unwrap();
        for (key, value) in metadata.iter().filter(|(key, _)| key.starts_with("qwen3")) {
            writeln!(text, "{key} {value:?}").unwrap();
        }
    }
    expect![[r#"
        qwen35moe.block_count U32(3)
        qwen35moe.context_length U32(4096)
        qwen35moe.embedding_length U32(96)
        qwen35moe.attention.head_count U32(3)
        qwen35moe.attention.head_count_kv U32(1)
        qwen35moe.attention.key_length U32(64)
        qwen35moe.attention.value_length U32(64)
        qwen35moe.rope.dimension_count U32(16)
        qwen35moe.ssm.conv_kernel U32(4)
        qwen35moe.ssm.state_size U32(128)
        qwen35moe.ssm.group_count U32(2)
        qwen35moe.ssm.time_step_rank U32(6)
        qwen35moe.ssm.inner_size U32(768)
        qwen35moe.expert_count U32(5)
        qwen35moe.expert_used_count U32(2)
        qwen35moe.expert_feed_forward_length U32(32)
        qwen35moe.full_attention_interval U32(2)
        qwen35moe.vocab_size U32(557)
        qwen35moe.attention.layer_norm_rms_epsilon F32(1e-6)
        qwen35moe.rope.freq_base F32(10000000.0)
        qwen35moe.rope.dimension_sections Array(I32([3, 3, 2, 0]))
        qwen35moe.attention.recurrent_layers Array(Bool([true, false, true]))
        qwen35moe.expert_shared_feed_forward_length U32(32)
        qwen35.block_count U32(3)
        qwen35.context_length U32(262144)
        qwen35.embedding_length U32(2560)
        qwen35.feed_forward_length U32(9216)
        qwen35.attention.head_count U32(16)
        qwen35.attention.head_count_kv U32(4)
        qwen35.attention.key_length U32(256)
        qwen35.attention.value_length U32(256)
        qwen35.rope.dimension_count U32(64)
        qwen35.ssm.conv_kernel U32(4)
        qwen35.ssm.state_size U32(128)
        qwen35.ssm.group_count U32(16)
        qwen35.ssm.time_step_rank U32(32)
        qwen35.ssm.inner_size U32(4096)
        qwen35.full_attention_interval U32(3)
        qwen35.vocab_size U32(248320)
        qwen35.attention.layer_norm_rms_epsilon F32(1e-6)
        qwen35.rope.freq_base F32(10000000.0)
        qwen35.rope.dimension_sections Array(I32([11, 11, 10, 0]))
        qwen3next.block_count U32(3)
        qwen3next.context_length U32(262144)
        qwen3next.embedding_length U32(2048)
        qwen3next.feed_forward_length U32(5120)
        qwen3next.attention.head_count U32(16)
        qwen3next.attention.head_count_kv U32(2)
        qwen3next.attention.key_length U32(256)
        qwen3next.attention.value_length U32(256)
        qwen3next.rope.dimension_count U32(64)
        qwen3next.ssm.conv_kernel U32(4)
        qwen3next.ssm.state_size U32(128)
        qwen3next.ssm.group_count U32(16)
        qwen3next.ssm.time_step_rank U32(32)
        qwen3next.ssm.inner_size U32(4096)
        qwen3next.expert_count U32(512)
        qwen3next.expert_used_count U32(10)
        qwen3next.expert_feed_forward_length U32(512)
        qwen3next.full_attention_interval U32(3)
        qwen3next.vocab_size U32(151936)
        qwen3next.attention.layer_norm_rms_epsilon F32(1e-6)
        qwen3next.rope.freq_base F32(10000000.0)
        qwen3next.expert_shared_feed_forward_length U32(512)
    "#]]
    .assert_eq(&text);
}
