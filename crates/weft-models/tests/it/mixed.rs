//! Families with layers of several kinds: attention in some, and Mamba-2, a short convolution or a network alone in others.

use std::fmt::Write as _;

use expect_test::expect_file;
use weft_gguf::Value;
use weft_ir::{Op, Recurrence};

use crate::plain::fixture;
use crate::support::File;

/// A model of each family.
pub(crate) const MODELS: [fn() -> File; 6] = [
    || fixture("lfm2-odd-q5_0"),
    || fixture("lfm2moe-tiny-q4_0"),
    || fixture("granitehybrid-odd-q5_0"),
    || fixture("granitehybrid-tiny-q4_0"),
    || fixture("nemotron_h-odd-q5_0"),
    || fixture("nemotron_h_moe-tiny-q4_0"),
];

/// The layers as text: a convolution, Mamba-2, attention without positions, experts on a narrow input, and networks without a gate.
#[test]
fn layers() {
    let mut text = String::new();
    for (name, layer) in [
        ("lfm2moe-tiny-q4_0", 0),
        ("granitehybrid-tiny-q4_0", 0),
        ("granitehybrid-tiny-q4_0", 1),
        ("nemotron_h_moe-tiny-q4_0", 1),
        ("nemotron_h-odd-q5_0", 1),
        ("nemotron_h-odd-q5_0", 2),
    ] {
        let model = fixture(name).build().unwrap();
        writeln!(text, "# {name}, layer {layer}\n{}", model.segments[1 + layer].graph).unwrap();
    }
    expect_file!["goldens/mixed.graph"].assert_eq(&text);
}

/// A letter for each layer: `a` has attention, `m` Mamba-2, `c` a convolution alone, `n` none of them.
fn kinds(file: &File) -> String {
    let model = file.build().unwrap();
    let layers = model.segments.iter().filter(|segment| segment.layer.is_some());
    let kind = |segment: &weft_models::Segment| {
        let has = |op: &dyn Fn(&Op) -> bool| segment.graph.iter().any(|(_, node)| op(&node.op));
        match (
            has(&|op| matches!(op, Op::Attend { .. })),
            has(&|op| *op == Op::Scan { rule: Recurrence::Linear }),
            has(&|op| *op == Op::Scan { rule: Recurrence::Convolution }),
        ) {
            (true, false, false) => 'a',
            (false, true, true) => 'm',
            (false, false, true) => 'c',
            (false, false, false) => 'n',
            other => panic!("{other:?}"),
        }
    };
    layers.map(kind).collect()
}

#[test]
fn kinds_of_layers() {
    assert_eq!(kinds(&fixture("lfm2-odd-q5_0")), "cca");
    assert_eq!(kinds(&fixture("granitehybrid-odd-q5_0")), "mam");
    assert_eq!(kinds(&fixture("nemotron_h-odd-q5_0")), "mnanm");
    // Granite 4's smaller relatives, such as Bamba, have positions.
    let mut file = fixture("granitehybrid-odd-q5_0");
    let rotates = |file: &File| file.build().unwrap().segments[2].graph.to_string().contains(" = rope ");
    assert!(!rotates(&file));
    file.keys.remove("granitehybrid.rope.scaling.finetuned");
    assert!(rotates(&file));
    // Without the ε of RMSNorm, that of LayerNorm counts.
    let mut file = fixture("nemotron_h-odd-q5_0");
    let expected = file.build().unwrap();
    file.keys.remove("nemotron_h.attention.layer_norm_rms_epsilon");
    assert_eq!(file.build().unwrap().segments[1].graph, expected.segments[1].graph);
}

/// Values that these families refuse, with the messages.
#[test]
fn refusals() {
    let mut text = String::new();
    for (name, key, value) in [
        ("lfm2-odd-q5_0", "shortconv.l_cache", Value::from(1u32)),
        ("lfm2-odd-q5_0", "shortconv.l_cache", 65u32.into()),
        ("lfm2-odd-q5_0", "attention.head_count_kv", vec![0i32, 0].into()),
        ("lfm2-odd-q5_0", "attention.head_count_kv", vec![1i32, 0, 3].into()),
        ("lfm2-odd-q5_0", "attention.head_count_kv", vec![0i32, 0, 2].into()),
        ("lfm2-odd-q5_0", "attention.sliding_window", 7u32.into()),
        ("lfm2-odd-q5_0", "attention.causal", false.into()),
        ("lfm2moe-tiny-q4_0", "expert_gating_func", 3u32.into()),
        ("lfm2moe-tiny-q4_0", "expert_weights_scale", 2f32.into()),
        ("lfm2moe-tiny-q4_0", "expert_group_count", 2u32.into()),
        ("granitehybrid-odd-q5_0", "ssm.group_count", 4u32.into()),
        ("granitehybrid-odd-q5_0", "ssm.inner_size", 191u32.into()),
        ("granitehybrid-odd-q5_0", "ssm.conv_kernel", 1u32.into()),
        ("granitehybrid-odd-q5_0", "ssm.state_size", 0u32.into()),
        ("granitehybrid-odd-q5_0", "attention.sliding_window", 7u32.into()),
        ("nemotron_h_moe-tiny-q4_0", "expert_used_count", vec![1i32, 2, 3, 2].into()),
        ("nemotron_h_moe-tiny-q4_0", "expert_group_count", 2u32.into()),
        ("nemotron_h_moe-tiny-q4_0", "expert_shared_feed_forward_length", 0u32.into()),
        ("nemotron_h-odd-q5_0", "logit_scale", 2f32.into()),
    ] {
        let mut file = fixture(name);
        let key = format!("{}.{key}", file.architecture());
        file.set(&key, value);
        writeln!(text, "{}", file.refusal()).unwrap();
    }
    expect_file!["goldens/mixed.txt"].assert_eq(&text);
}
