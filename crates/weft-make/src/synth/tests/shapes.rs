//! The shapes of all presets, read from the models that are built from their files.

use std::fmt::Write as _;

use expect_test::expect_file;
use weft_gguf::Gguf;
use weft_ir::Op;
use weft_models::{BuildOptions, ModelGraph, build};

use crate::synth::preset::PRESETS;
use crate::synth::testing::{options, write, write_header};
use crate::test_folder::TestFolder;

/// The factor that the graphs apply to attention scores, if a layer has attention.
fn attention_scale(model: &ModelGraph) -> Option<f32> {
    let mut nodes = model.segments.iter().flat_map(|segment| segment.graph.nodes());
    let scale = nodes.find_map(|node| match node.op {
        Op::Attend { scale, .. } => Some(scale),
        _ => None,
    });
    scale.map(|scale| scale.0)
}

#[test]
fn presets_are_models_of_the_right_shape() {
    let folder = TestFolder::new("synth-shapes");
    let mut text = String::new();
    for preset in PRESETS {
        let path = folder.join(preset.name);
        let options = options(preset.name, 2, "q4_k_m");
        match preset.long_rope {
            None => write_header(&options, &path),
            // The graphs hold the rotary factors, which must not be zero.
            Some(_) => drop(write(&options, &path)),
        }
        let model = build(&Gguf::open(&path).unwrap(), &BuildOptions::default()).unwrap();
        let scale = attention_scale(&model).map_or("none".into(), |scale| scale.to_string());
        let config = &model.config;
        writeln!(text, "{}: {}, {} tokens, scale {scale}", preset.name, config.architecture, config.vocab)
            .unwrap();
        let mut attention = None;
        for (index, layer) in config.blocks.iter().enumerate() {
            // Most models have one kind in all layers.
            if attention.replace(&layer.attention) != Some(&layer.attention) {
                writeln!(text, "    {}: {}", layer.attention.kind, layer.attention.summary).unwrap();
            }
            let graph = model.segments[1 + index].graph.to_string();
            let router =
                [("sigmoid", "sigmoid"), ("exp", "softmax"), ("max", "normalised"), ("const 1.8", "x 1.8")];
            let summary = &layer.feed_forward.summary;
            let routes = summary.contains(" experts");
            // Streams have exponentials, too.
            let streams = graph.contains("hc_ffn_fn");
            let is = |op: &str| graph.contains(&format!(" = {op} ")) && !(streams && op == "exp");
            let router = router.iter().filter(|(op, _)| routes && is(op));
            let router: String = router.map(|(_, word)| format!(", {word}")).collect();
            writeln!(text, "    {summary}{router}").unwrap();
        }
    }
    expect_file!["shapes.txt"].assert_eq(&text);
}
