//! Tests of models with two kinds of layers: attention, and the gated delta rule.

use std::fmt::Write as _;

use expect_test::expect;

use super::Model;
use crate::synth::testing::options;

/// Files are cut to a few layers, and should have both kinds.
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

/// In Kimi-Linear the last layer has attention, in Ling all layers that are no whole interval.
#[test]
fn layers_with_kimi_delta_attention() {
    let kinds = |preset: &str, layers: u32| -> String {
        let Model { metadata, tensors, .. } = Model::new(&options(preset, layers, "q4_0")).unwrap();
        let architecture = metadata.require_str("general.architecture").unwrap();
        let heads = metadata.require_u32s(&format!("{architecture}.attention.head_count_kv")).unwrap();
        let has = |layer: usize, tensor: &str| {
            tensors.iter().any(|found| found.name == format!("blk.{layer}.{tensor}.weight"))
        };
        let kind = |(layer, heads): (usize, &u32)| match (
            heads,
            has(layer, "ssm_norm"),
            has(layer, "attn_kv_a_norm"),
        ) {
            (0, true, false) => 'd',
            (1, false, true) => 'a',
            other => panic!("{other:?} in layer {layer}"),
        };
        heads.iter().enumerate().map(kind).collect()
    };
    for (layers, kimi, ling) in
        [(8, "dddaddda", "dddaddda"), (6, "dddada", "dddaaa"), (3, "dda", "dda"), (1, "a", "a")]
    {
        assert_eq!(kinds("kimi-linear-48b-a3b", layers), kimi);
        assert_eq!(kinds("ling-3.0-tiny", layers), ling);
    }
    assert_eq!(kinds("kimi-linear-48b-a3b", 27), format!("{}dda", "ddda".repeat(6)));
}

/// The keys of these families, as llama.cpp's converter writes them.
#[test]
fn hybrids_have_the_keys_of_their_families() {
    let mut text = String::new();
    for name in ["qwen35moe-odd", "qwen3.5-4b", "qwen3-next-80b-a3b", "kimi-linear-48b-a3b", "ling-odd"] {
        let Model { metadata, .. } = Model::new(&options(name, 3, "q4_0")).unwrap();
        let architecture = format!("{}.", metadata.require_str("general.architecture").unwrap());
        for (key, value) in metadata.iter().filter(|(key, _)| key.starts_with(&architecture)) {
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
        kimi-linear.block_count U32(3)
        kimi-linear.context_length U32(1048576)
        kimi-linear.embedding_length U32(2304)
        kimi-linear.feed_forward_length U32(9216)
        kimi-linear.attention.head_count U32(32)
        kimi-linear.attention.key_length U32(576)
        kimi-linear.attention.key_length_mla U32(192)
        kimi-linear.attention.value_length_mla U32(128)
        kimi-linear.attention.kv_lora_rank U32(512)
        kimi-linear.rope.dimension_count U32(64)
        kimi-linear.ssm.conv_kernel U32(4)
        kimi-linear.kda.head_dim U32(128)
        kimi-linear.leading_dense_block_count U32(1)
        kimi-linear.expert_count U32(256)
        kimi-linear.expert_used_count U32(8)
        kimi-linear.expert_shared_count U32(1)
        kimi-linear.expert_feed_forward_length U32(1024)
        kimi-linear.expert_gating_func U32(2)
        kimi-linear.vocab_size U32(163840)
        kimi-linear.attention.head_count_kv Array(I32([0, 0, 1]))
        kimi-linear.attention.layer_norm_rms_epsilon F32(1e-5)
        kimi-linear.rope.freq_base F32(10000.0)
        kimi-linear.expert_weights_scale F32(2.446)
        bailingmoe3.block_count U32(3)
        bailingmoe3.context_length U32(4096)
        bailingmoe3.embedding_length U32(96)
        bailingmoe3.feed_forward_length U32(96)
        bailingmoe3.attention.head_count U32(5)
        bailingmoe3.attention.key_length U32(64)
        bailingmoe3.attention.key_length_mla U32(52)
        bailingmoe3.attention.value_length_mla U32(24)
        bailingmoe3.attention.kv_lora_rank U32(32)
        bailingmoe3.rope.dimension_count U32(32)
        bailingmoe3.ssm.conv_kernel U32(4)
        bailingmoe3.kda.head_dim U32(24)
        bailingmoe3.leading_dense_block_count U32(1)
        bailingmoe3.expert_count U32(6)
        bailingmoe3.expert_used_count U32(3)
        bailingmoe3.expert_shared_count U32(2)
        bailingmoe3.expert_group_count U32(3)
        bailingmoe3.expert_group_used_count U32(2)
        bailingmoe3.expert_feed_forward_length U32(32)
        bailingmoe3.expert_gating_func U32(2)
        bailingmoe3.vocab_size U32(305)
        bailingmoe3.attention.head_count_kv Array(I32([0, 0, 1]))
        bailingmoe3.kda.safe_gate Bool(true)
        bailingmoe3.kda.gate_lower_bound F32(-5.0)
        bailingmoe3.expert_shared_feed_forward_length U32(64)
        bailingmoe3.swiglu_clamp_exp Array(F32([0.0, 0.4, 0.0]))
        bailingmoe3.swiglu_clamp_shexp Array(F32([0.6, 0.0, 0.6]))
        bailingmoe3.rope.dimension_sections Array(I32([6, 5, 5, 0]))
        bailingmoe3.attention.layer_norm_rms_epsilon F32(1e-6)
        bailingmoe3.rope.freq_base F32(10000.0)
        bailingmoe3.expert_weights_scale F32(2.5)
        bailingmoe3.expert_weights_norm Bool(true)
    "#]]
    .assert_eq(&text);
}
