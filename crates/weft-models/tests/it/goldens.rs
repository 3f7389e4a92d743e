//! Graphs as golden texts, so that changes show up in a diff.

use std::fmt::Write as _;

use expect_test::{ExpectFile, expect_file};
use weft_models::Segment;

use crate::gemma4;
use crate::kimi;
use crate::sparse;
use crate::streams;
use crate::support::{self, File, HIDDEN, Stored};

/// Compares the bindings and graphs of the segments that `filter` selects with a golden text.
fn segments_are(file: &File, filter: impl Fn(&Segment) -> bool, golden: ExpectFile) {
    let mut text = String::new();
    for segment in file.build().unwrap().segments.iter().filter(|s| filter(s)) {
        writeln!(text, "# {}", segment.name).unwrap();
        for (own, other) in segment.weights.iter().chain(&segment.states) {
            writeln!(text, "#   {own} = {other}").unwrap();
        }
        writeln!(text, "{}", segment.graph).unwrap();
        assert_eq!(weft_ir::parse(&segment.graph.to_string()).unwrap(), *segment.graph);
    }
    golden.assert_eq(&text);
}

fn layer(index: usize) -> impl Fn(&Segment) -> bool {
    move |segment| segment.layer == Some(index)
}

#[test]
fn ends() {
    segments_are(&support::glm(), |s| s.layer.is_none(), expect_file!["goldens/ends.graph"]);
}

#[test]
fn ends_with_yarn_and_tied_embeddings() {
    let mut file = support::v2_lite();
    file.take("output.weight");
    // Without DeepSeek's multiplier, YaRN scales the tables.
    file.keys.remove("deepseek2.rope.scaling.yarn_log_multiplier");
    segments_are(&file, |s| s.layer.is_none(), expect_file!["goldens/ends_yarn_tied.graph"]);
}

#[test]
fn glm_dense_layer() {
    segments_are(&support::glm(), layer(0), expect_file!["goldens/glm_dense.graph"]);
}

#[test]
fn glm_moe_layer() {
    segments_are(&support::glm(), layer(2), expect_file!["goldens/glm_moe.graph"]);
}

#[test]
fn kimi_linear_delta_layer() {
    segments_are(&kimi::kimi_linear(), layer(0), expect_file!["goldens/kimi_linear.graph"]);
}

/// With an indexer, and with the list of the layer before.
#[test]
fn layers_with_lists() {
    let filter = |s: &Segment| matches!(s.layer, Some(1 | 2));
    segments_are(&sparse::glm_dsa(), filter, expect_file!["goldens/glm_dsa.graph"]);
}

/// With streams and an indexer of pools, the ends of the streams, and with the list of that indexer.
#[test]
fn glm5_next_layers() {
    let filter = |s: &Segment| matches!(s.layer, Some(1) | None);
    segments_are(&streams::glm5_next(), filter, expect_file!["goldens/glm5_next.graph"]);
}

/// With a bound of decays, and with attention.
#[test]
fn ling_layers() {
    segments_are(&kimi::ling(), |s| matches!(s.layer, Some(0 | 2)), expect_file!["goldens/ling.graph"]);
}

#[test]
fn v2_lite_moe_layer() {
    segments_are(&support::v2_lite(), layer(1), expect_file!["goldens/v2_lite_moe.graph"]);
}

#[test]
fn layer_with_joined_keys_and_values() {
    let mut file = support::v2_lite();
    support::join_keys_and_values(&mut file);
    segments_are(&file, layer(0), expect_file!["goldens/joined_kv.graph"]);
}

#[test]
fn layer_with_fused_gate_and_up() {
    let mut file = support::v2_lite();
    support::fuse_gate_and_up(&mut file);
    segments_are(&file, layer(1), expect_file!["goldens/fused_gate_up.graph"]);
}

#[test]
fn llama_layer() {
    segments_are(&support::llama(), layer(1), expect_file!["goldens/llama.graph"]);
}

#[test]
fn llama_layer_with_biases_and_partial_rotation() {
    let mut file = support::llama();
    file.set("llama.rope.dimension_count", 8u32);
    for (tensor, len) in
        [("attn_q", 64), ("attn_k", 32), ("attn_v", 32), ("attn_output", 64), ("ffn_down", 64)]
    {
        file.vector(&format!("blk.0.{tensor}.bias"), len, 0.0);
    }
    segments_are(&file, layer(0), expect_file!["goldens/llama_biases.graph"]);
}

#[test]
fn mixtral_layer() {
    segments_are(&support::mixtral(), layer(0), expect_file!["goldens/mixtral.graph"]);
}

#[test]
fn mistral3_layer() {
    segments_are(&support::mistral3(), layer(1), expect_file!["goldens/mistral3.graph"]);
}

#[test]
fn qwen2_layer() {
    segments_are(&support::qwen2(), layer(1), expect_file!["goldens/qwen2.graph"]);
}

#[test]
fn qwen2moe_layer() {
    segments_are(&support::qwen2moe(), layer(1), expect_file!["goldens/qwen2moe.graph"]);
}

#[test]
fn glm4moe_layer() {
    segments_are(&support::glm4moe(), layer(1), expect_file!["goldens/glm4moe.graph"]);
}

#[test]
fn phi3_layer() {
    segments_are(&support::phi3(), layer(1), expect_file!["goldens/phi3.graph"]);
}

#[test]
fn gpt_oss_layer_with_a_window() {
    segments_are(&support::gpt_oss(), layer(0), expect_file!["goldens/gpt_oss.graph"]);
}

#[test]
fn gemma3_embedding_and_layer_with_a_window() {
    segments_are(
        &support::gemma3(),
        |s| matches!(s.layer, None | Some(0)),
        expect_file!["goldens/gemma3.graph"],
    );
}

/// Embeddings for each layer, values from keys, and a cache of another layer.
#[test]
fn gemma4_ends_and_layers() {
    segments_are(
        &gemma4::gemma4(),
        |s| matches!(s.layer, None | Some(1 | 2)),
        expect_file!["goldens/gemma4.graph"],
    );
}

/// The scale of scores with 62 layers is that of Gemma 3 27B, which no key gives.
#[test]
fn gemma3_of_62_layers_scales_by_the_hidden_state() {
    let mut file = support::gemma3();
    file.set("gemma3.attention.head_count", 2u32);
    for (tensor, shape) in [("attn_q", [32, HIDDEN]), ("attn_output", [HIDDEN, 32])] {
        file.take(&format!("blk.1.{tensor}.weight"));
        file.matrix(&format!("blk.1.{tensor}.weight"), &shape);
    }
    let (layer, mut all): (Vec<_>, Vec<_>) =
        file.tensors.into_iter().partition(|tensor| tensor.name.starts_with("blk.1."));
    all.retain(|tensor| !tensor.name.starts_with("blk."));
    for block in 0..62 {
        let name = |tensor: &Stored| tensor.name.replace("blk.1.", &format!("blk.{block}."));
        all.extend(layer.iter().map(|tensor| Stored { name: name(tensor), ..tensor.clone() }));
    }
    file.tensors = all;
    let scale = |file: &File| {
        let model = file.build().unwrap();
        let text = model.segments[1].graph.to_string();
        text.split("scale=").nth(1).unwrap().split(' ').next().unwrap().parse::<f32>().unwrap()
    };
    file.set("gemma3.block_count", 62u32);
    assert_eq!(scale(&file), (2.0f32 / HIDDEN as f32).sqrt());
    file.tensors.retain(|tensor| !tensor.name.starts_with("blk.61."));
    file.set("gemma3.block_count", 61u32);
    assert_eq!(scale(&file), 0.25);
}

#[test]
fn layer_with_groups_of_experts() {
    segments_are(&support::v3(), layer(1), expect_file!["goldens/v3_moe.graph"]);
}

#[test]
fn qwen3_layer() {
    segments_are(&support::qwen3(), layer(1), expect_file!["goldens/qwen3.graph"]);
}

#[test]
fn qwen3moe_layer() {
    segments_are(&support::qwen3moe(), layer(0), expect_file!["goldens/qwen3moe.graph"]);
}
