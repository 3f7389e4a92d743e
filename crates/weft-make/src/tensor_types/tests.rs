//! Tests of types: against files made by llama.cpp, and rule by rule.

use std::path::Path;

use expect_test::{Expect, expect, expect_file};
use weft_gguf::Gguf;

use super::*;
use crate::synth::testing::tensor_types;

fn types_of(mix: &str, layers: u32, experts: u32) -> TensorTypes {
    let mix = QuantMix::named(mix).unwrap();
    TensorTypes {
        mix,
        layers,
        with_values: Vec::new(),
        experts,
        sharing: 1,
        tied: false,
        weighted: false,
        precise: Precise::default(),
        output: None,
        embedding: None,
    }
}

/// These files were quantised by llama.cpp.
#[test]
fn fixtures_have_the_types_of_their_mixes() {
    for (model, mix) in [
        ("glm-tiny-q4_0", "q4_0"),
        ("glm-tiny-q4_k_m", "q4_k_m"),
        ("glm-tiny-q8_0", "q8_0"),
        ("ds2-tiny-q4_0", "q4_0"),
        ("llama-tiny-q5_k_m", "q5_k_m"),
        ("llama-tiny-q6_k", "q6_k"),
        ("llama-tiny-iq4_nl", "iq4_nl"),
        ("mixtral-tiny-q4_0", "q4_0"),
        ("qwen35moe-tiny-q4_0", "q4_0"),
        ("qwen35moe-odd-q4_k_m", "q4_k_m"),
        ("qwen3next-tiny-q4_0", "q4_0"),
        ("kimi-linear-tiny-q4_0", "q4_0"),
        ("kimi-linear-odd-q5_0", "q5_0"),
        ("ling-tiny-q4_0", "q4_0"),
        ("ling-odd-q4_k_m", "q4_k_m"),
        ("glm5-next-tiny-q4_0", "q4_0"),
        ("glm5-next-odd-q5_0", "q5_0"),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../fixtures/{model}.gguf"));
        let gguf = Gguf::open(&path).unwrap();
        let metadata = gguf.metadata();
        let architecture = metadata.require_str("general.architecture").unwrap();
        let layers = metadata.require_u32(&format!("{architecture}.block_count")).unwrap();
        let experts = metadata.u32(&format!("{architecture}.expert_count")).unwrap().unwrap_or(0);
        let sharing = crate::quantize::sharing(metadata).unwrap();
        let with_values = layers_with_values(gguf.tensors().iter().map(|tensor| tensor.name.as_str()));
        let precise = Precise::of(architecture);
        let types = TensorTypes { sharing, with_values, precise, ..types_of(mix, layers, experts) };
        assert_eq!(metadata.require_u32("general.file_type"), Ok(types.mix.file_type));
        for tensor in gguf.tensors() {
            let expected = types.type_of(&tensor.name, &tensor.shape).unwrap_or(GgmlType::F32);
            assert_eq!(tensor.ty, expected, "{model}: {}", tensor.name);
        }
    }
}

fn listed(types: &TensorTypes, tensors: &[(&str, u64)]) -> String {
    let line = |(name, row): &(&str, u64)| match types.type_of(name, &[*row, 512]) {
        Some(ty) => format!("{name} {row} {ty}\n"),
        None => format!("{name} {row} as it is\n"),
    };
    tensors.iter().map(line).collect()
}

fn check(types: &TensorTypes, tensors: &[(&str, u64)], expected: Expect) {
    expected.assert_eq(&listed(types, tensors));
}

#[test]
fn some_layers_get_more_bits() {
    let more = |types: &TensorTypes, tensor: &str| -> Vec<u32> {
        let is_more = |layer: &u32| {
            types.type_of(&format!("blk.{layer}.{tensor}"), &[512, 512]) == Some(GgmlType::Q6_K)
        };
        (0..types.layers).filter(is_more).collect()
    };
    let dense = types_of("q4_k_m", 32, 0);
    let expected = [0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31];
    assert_eq!(more(&dense, "attn_v.weight"), expected);
    assert_eq!(more(&dense, "ffn_down.weight"), expected);
    assert_eq!(more(&dense, "ffn_down_exps.weight"), expected);
    assert!(more(&dense, "ffn_up.weight").is_empty());
    assert_eq!(more(&types_of("q5_k_m", 3, 0), "ffn_down_shexp.weight"), [2]);
    assert!(more(&types_of("q4_0", 32, 0), "ffn_down.weight").is_empty());
    assert_eq!(more(&types_of("q4_k_m", 1, 0), "ffn_down.weight"), [0]);
}

/// Where some layers have no tensor of values, the others count.
#[test]
fn layers_without_values_do_not_count() {
    let names = ["output.weight", "blk.4.attn_v.weight", "blk.0.attn_v.weight", "blk.1.attn_v_b.weight"];
    assert_eq!(layers_with_values(names.into_iter()), [0, 4]);
    // As in Kimi-Linear: of 27 layers, those whose number three divides and the last have no such tensor.
    let with_values: Vec<u32> = (0..27).filter(|layer| layer % 4 != 3 && *layer != 26).collect();
    let more = |mix: &str| -> Vec<u32> {
        let types = TensorTypes { with_values: with_values.clone(), ..types_of(mix, 27, 256) };
        let is_more = |layer: &u32| {
            types.type_of(&format!("blk.{layer}.attn_v.weight"), &[512, 512]) != Some(GgmlType::Q4_K)
        };
        with_values.iter().copied().filter(is_more).collect()
    };
    assert_eq!(more("q4_k_m"), [0, 1, 5, 9, 13, 17, 21, 22, 24, 25]);
    assert_eq!(more("q4_k_s"), [0, 1, 2, 4]);
}

/// The types that llama.cpp's names stand for, for a model of 32 layers: of layers 0, 2, 4 and 16, and of the ends.
#[test]
fn the_ends_of_names_say_what_gets_more_bits() {
    let types = |mix: &str, sharing: u32, experts: u32| -> String {
        let types = TensorTypes { sharing, ..types_of(mix, 32, experts) };
        let row = |part: &str| -> String {
            let of = |layer: u32| types.type_of(&format!("blk.{layer}.{part}.weight"), &[512, 512]).unwrap();
            format!("{part}: {} {} {} {}\n", of(0), of(2), of(4), of(16))
        };
        let parts: String = ["attn_v", "attn_k", "attn_output", "ffn_down", "ffn_up"].map(row).concat();
        let end = |name: &str| types.type_of(name, &[512, 512]).unwrap();
        format!("{mix}\n{parts}ends: {} {}\n", end("token_embd.weight"), end("output.weight"))
    };
    expect![[r#"
        q5_k_s
        attn_v: q5_k q5_k q5_k q5_k
        attn_k: q5_k q5_k q5_k q5_k
        attn_output: q5_k q5_k q5_k q5_k
        ffn_down: q5_k q5_k q5_k q5_k
        ffn_up: q5_k q5_k q5_k q5_k
        ends: q5_k q6_k
        q4_k_s
        attn_v: q5_k q5_k q4_k q4_k
        attn_k: q4_k q4_k q4_k q4_k
        attn_output: q4_k q4_k q4_k q4_k
        ffn_down: q5_k q5_k q4_k q4_k
        ffn_up: q4_k q4_k q4_k q4_k
        ends: q4_k q6_k
        q3_k_l
        attn_v: q5_k q5_k q5_k q5_k
        attn_k: q3_k q3_k q3_k q3_k
        attn_output: q5_k q5_k q5_k q5_k
        ffn_down: q5_k q5_k q5_k q5_k
        ffn_up: q3_k q3_k q3_k q3_k
        ends: q3_k q6_k
        q3_k_m
        attn_v: q5_k q4_k q4_k q4_k
        attn_k: q3_k q3_k q3_k q3_k
        attn_output: q4_k q4_k q4_k q4_k
        ffn_down: q5_k q4_k q4_k q4_k
        ffn_up: q3_k q3_k q3_k q3_k
        ends: q3_k q6_k
        q3_k_s
        attn_v: q3_k q3_k q3_k q3_k
        attn_k: q3_k q3_k q3_k q3_k
        attn_output: q3_k q3_k q3_k q3_k
        ffn_down: q3_k q3_k q3_k q3_k
        ffn_up: q3_k q3_k q3_k q3_k
        ends: q3_k q6_k
        q2_k
        attn_v: q3_k q3_k q3_k q3_k
        attn_k: q2_k q2_k q2_k q2_k
        attn_output: q3_k q3_k q3_k q3_k
        ffn_down: q3_k q3_k q3_k q3_k
        ffn_up: q2_k q2_k q2_k q2_k
        ends: q2_k q6_k
        tq2_0
        attn_v: tq2_0 tq2_0 tq2_0 tq2_0
        attn_k: tq2_0 tq2_0 tq2_0 tq2_0
        attn_output: tq2_0 tq2_0 tq2_0 tq2_0
        ffn_down: tq2_0 tq2_0 tq2_0 tq2_0
        ffn_up: tq2_0 tq2_0 tq2_0 tq2_0
        ends: q4_k q6_k
    "#]]
    .assert_eq(
        &["q5_k_s", "q4_k_s", "q3_k_l", "q3_k_m", "q3_k_s", "q2_k", "tq2_0"]
            .map(|mix| types(mix, 1, 0))
            .concat(),
    );
    // With heads that share values, and beside eight experts.
    expect![[r#"
        q2_k
        attn_v: q4_k q4_k q4_k q4_k
        attn_k: q2_k q2_k q2_k q2_k
        attn_output: q3_k q3_k q3_k q3_k
        ffn_down: q3_k q3_k q3_k q3_k
        ffn_up: q2_k q2_k q2_k q2_k
        ends: q2_k q6_k
        q3_k_s
        attn_v: q8_0 q8_0 q8_0 q8_0
        attn_k: q8_0 q8_0 q8_0 q8_0
        attn_output: q5_k q5_k q5_k q5_k
        ffn_down: q3_k q3_k q3_k q3_k
        ffn_up: q3_k q3_k q3_k q3_k
        ends: q3_k q6_k
    "#]]
    .assert_eq(&(types("q2_k", 4, 0) + &types("q3_k_s", 1, 8)));
}

#[test]
fn only_experts_are_in_mxfp4() {
    let types = types_of("mxfp4_moe", 4, 64);
    check(
        &types,
        &[("blk.1.ffn_up_exps.weight", 512), ("blk.1.attn_k_b.weight", 512), ("token_embd.weight", 512)],
        expect![[r#"
        blk.1.ffn_up_exps.weight 512 mxfp4
        blk.1.attn_k_b.weight 512 q8_0
        token_embd.weight 512 q8_0
    "#]],
    );
}

#[test]
fn with_importance_the_first_down_projections_have_minima() {
    let downs = |mix: &str| -> Vec<GgmlType> {
        let types = TensorTypes { weighted: true, ..types_of(mix, 24, 0) };
        (0..5)
            .map(|layer| types.type_of(&format!("blk.{layer}.ffn_down.weight"), &[512, 512]).unwrap())
            .collect()
    };
    use GgmlType::{Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q6_K};
    assert_eq!(downs("q4_0"), [Q4_1, Q4_1, Q4_1, Q4_0, Q4_0]);
    assert_eq!(downs("q5_0"), [Q5_1, Q5_1, Q5_1, Q5_0, Q5_0]);
    assert_eq!(downs("q4_k_m"), [Q6_K, Q6_K, Q6_K, Q4_K, Q4_K]);
}

/// The rules for sensitive tensors apply to IQ4_XS too, and rows that are not whole super-blocks get IQ4_NL.
#[test]
fn uneven_steps_get_more_bits_where_few_values_serve_many() {
    let tensors = [
        ("blk.0.attn_v.weight", 512),
        ("blk.0.ffn_down.weight", 512),
        ("blk.2.ffn_down.weight", 512),
        ("blk.2.ffn_up.weight", 96),
        ("output.weight", 512),
    ];
    let types = TensorTypes { sharing: 4, ..types_of("iq4_xs", 16, 0) };
    check(
        &types,
        &tensors,
        expect![[r#"
        blk.0.attn_v.weight 512 q5_k
        blk.0.ffn_down.weight 512 q5_k
        blk.2.ffn_down.weight 512 iq4_xs
        blk.2.ffn_up.weight 96 iq4_nl
        output.weight 512 q6_k
    "#]],
    );
    let types = TensorTypes { weighted: true, ..types_of("iq4_xs", 16, 0) };
    check(
        &types,
        &tensors[..2],
        expect![[r#"
        blk.0.attn_v.weight 512 iq4_xs
        blk.0.ffn_down.weight 512 iq4_xs
    "#]],
    );
}

#[test]
fn rows_that_do_not_fit_get_smaller_blocks() {
    let tensors = [("blk.0.attn_k_b.weight", 192), ("blk.3.ffn_down.weight", 10_944), ("output.weight", 960)];
    let odd = [("blk.0.attn_k_b.weight", 48), ("output.weight", 48)];
    check(
        &types_of("q4_k_m", 4, 64),
        &tensors,
        expect![[r#"
        blk.0.attn_k_b.weight 192 q5_0
        blk.3.ffn_down.weight 10944 q8_0
        output.weight 960 q8_0
    "#]],
    );
    check(
        &types_of("q5_k_m", 4, 64),
        &tensors,
        expect![[r#"
        blk.0.attn_k_b.weight 192 q5_1
        blk.3.ffn_down.weight 10944 q8_0
        output.weight 960 q8_0
    "#]],
    );
    check(
        &types_of("q6_k", 4, 64),
        &tensors,
        expect![[r#"
        blk.0.attn_k_b.weight 192 q8_0
        blk.3.ffn_down.weight 10944 q8_0
        output.weight 960 q8_0
    "#]],
    );
    check(
        &types_of("q4_0", 4, 64),
        &odd,
        expect![[r#"
        blk.0.attn_k_b.weight 48 f16
        output.weight 48 f16
    "#]],
    );
}

#[test]
fn vectors_norms_and_routers_are_not_converted() {
    let types = types_of("f16", 2, 4);
    for name in [
        "blk.0.attn_norm.weight",
        "blk.1.ffn_gate_inp.weight",
        "blk.1.exp_probs_b.bias",
        "output_norm.weight",
    ] {
        assert_eq!(types.type_of(name, &[512, 64]), None, "{name}");
    }
    assert_eq!(types.type_of("rope_freqs.weight", &[32]), None);
    assert_eq!(types.type_of("rope_freqs.weight", &[32, 1, 1]), None);
    assert_eq!(types.type_of("blk.0.attn_q.weight", &[32, 1, 2]), Some(GgmlType::F16));
    assert_eq!(types.type_of("blk.0.attn_q.weight", &[]), None);
}

#[test]
fn tied_embeddings_have_the_type_of_the_output() {
    let tied = TensorTypes { tied: true, ..types_of("q4_k_m", 30, 0) };
    assert_eq!(tied.type_of("token_embd.weight", &[512, 9]), Some(GgmlType::Q6_K));
    assert_eq!(tied.type_of("token_embd.weight", &[576, 9]), Some(GgmlType::Q8_0));
}

#[test]
fn the_types_of_embedding_and_output_can_be_set() {
    let ends = TensorTypes {
        output: Some(GgmlType::F16),
        embedding: Some(GgmlType::Q5_K),
        ..types_of("q4_0", 2, 0)
    };
    check(
        &ends,
        &[("output.weight", 512), ("token_embd.weight", 512), ("token_embd.weight", 96)],
        expect![[r#"
        output.weight 512 f16
        token_embd.weight 512 q5_k
        token_embd.weight 96 q5_1
    "#]],
    );
}

#[test]
fn attention_beside_eight_experts_gets_more_bits() {
    let tensors = ["k", "v", "q", "output"].map(|part| format!("blk.1.attn_{part}.weight"));
    let tensors: Vec<_> = tensors.iter().map(|name| (name.as_str(), 4096)).collect();
    check(
        &types_of("q4_k_m", 32, 8),
        &tensors,
        expect![[r#"
        blk.1.attn_k.weight 4096 q8_0
        blk.1.attn_v.weight 4096 q8_0
        blk.1.attn_q.weight 4096 q4_k
        blk.1.attn_output.weight 4096 q5_k
    "#]],
    );
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    assert_eq!(QuantMix::named("Q4_K_M").unwrap().main, GgmlType::Q4_K);
    let message = QuantMix::named("q4_k_x").unwrap_err().to_string();
    assert!(message.contains("`q4_k_x`") && message.contains("q5_k_m, q5_k_s, q5_1"), "{message}");
}

#[test]
fn glm_at_q4_k_m() {
    expect_file!["goldens/glm-4.7-flash-q4_k_m.txt"].assert_eq(&tensor_types("glm-4.7-flash", 2, "q4_k_m"));
}

#[test]
fn deepseek_v2_lite_at_q4_k_m() {
    expect_file!["goldens/deepseek-v2-lite-q4_k_m.txt"].assert_eq(&tensor_types(
        "deepseek-v2-lite",
        3,
        "q4_k_m",
    ));
}
