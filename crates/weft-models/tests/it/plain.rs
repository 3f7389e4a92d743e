//! Families whose layers differ little from those of `llama`. Their tiny models are the repository's fixtures, which `weft synth` makes.

use std::fmt::Write as _;
use std::path::Path;

use expect_test::expect_file;
use weft_gguf::{Gguf, Value};

use crate::support::{File, Stored};

/// A fixture's keys and tensors, without its tokenizer.
pub(crate) fn fixture(name: &str) -> File {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../fixtures/{name}.gguf"));
    let gguf = Gguf::open(&path).unwrap();
    let architecture = gguf.metadata().require_str("general.architecture").unwrap();
    let mut file = File::new(architecture);
    let prefix = format!("{architecture}.");
    for (key, value) in gguf.metadata().iter().filter(|(key, _)| key.starts_with(&prefix)) {
        file.set(key, value.clone());
    }
    for tensor in gguf.tensors() {
        let mut values = vec![0.0; tensor.values() as usize];
        weft_quant::decode(tensor.ty, gguf.data(tensor), &mut values).unwrap();
        let (name, shape) = (tensor.name.clone(), tensor.shape.clone());
        file.tensors.push(Stored { name, ty: tensor.ty, shape, values });
    }
    file
}

/// A model of each family, and of two of them another.
pub(crate) const MODELS: [fn() -> File; 18] = [
    || fixture("seed-oss-tiny-q4_0"),
    || fixture("ernie4_5-odd-q5_0"),
    || fixture("ernie4_5-moe-tiny-q4_0"),
    || fixture("minimax-m2-tiny-q4_0"),
    || fixture("hunyuan-dense-odd-q5_0"),
    || fixture("hunyuan-moe-tiny-q4_0"),
    || fixture("smollm3-tiny-q4_0"),
    || fixture("olmo2-tiny-q4_0"),
    || fixture("olmo2-odd-q8_0"),
    || fixture("exaone4-odd-q5_0"),
    || fixture("granite-odd-q8_0"),
    || fixture("granitemoe-tiny-q4_0"),
    || fixture("glm4-tiny-q4_0"),
    || fixture("muse-glimmer-tiny-q4_0"),
    || fixture("command-r-odd-q8_0"),
    || fixture("cohere2-tiny-q4_0"),
    || fixture("cohere2moe-tiny-q4_0"),
    || fixture("cohere2moe-odd-q5_0"),
];

/// The layers that differ from those of `llama`, as text.
#[test]
fn layers() {
    let mut text = String::new();
    for (name, layer) in [
        ("ernie4_5-moe-tiny-q4_0", 1),
        ("minimax-m2-tiny-q4_0", 0),
        ("hunyuan-moe-tiny-q4_0", 0),
        ("smollm3-tiny-q4_0", 3),
        ("olmo2-odd-q8_0", 0),
        ("granitemoe-tiny-q4_0", 0),
        ("glm4-tiny-q4_0", 0),
        ("muse-glimmer-tiny-q4_0", 0),
        ("cohere2moe-tiny-q4_0", 2),
    ] {
        let model = fixture(name).build().unwrap();
        writeln!(text, "# {name}, layer {layer}\n{}", model.segments[1 + layer].graph).unwrap();
    }
    // Normed embeddings, and scaled and bounded logits.
    let muse = fixture("muse-glimmer-tiny-q4_0").build().unwrap();
    for end in [muse.segments.first(), muse.segments.last()].into_iter().flatten() {
        writeln!(text, "# muse-glimmer-tiny-q4_0, {}\n{}", end.name, end.graph).unwrap();
    }
    expect_file!["goldens/plain.graph"].assert_eq(&text);
}

/// The window of each layer, and whether it has positions.
fn kinds(file: &File) -> Vec<(Option<usize>, bool)> {
    let model = file.build().unwrap();
    let kind =
        |segment: &weft_models::Segment| (segment.window(), segment.graph.to_string().contains(" = rope "));
    model.segments.iter().filter(|segment| segment.layer.is_some()).map(kind).collect()
}

#[test]
fn windows_and_positions() {
    let (near, far, still) = ((Some(7), true), (None, true), (None, false));
    assert_eq!(kinds(&fixture("smollm3-odd-q5_0")), [far, far, far, still, far]);
    assert_eq!(kinds(&fixture("olmo2-odd-q8_0")), [near, near, near, far]);
    assert_eq!(kinds(&fixture("muse-glimmer-odd-q5_0")), [near, near, near, still, near]);
    assert_eq!(kinds(&fixture("cohere2moe-odd-q5_0")), [far, near, near, near, still]);
    // The first of four, if the file does not say, and a period instead of a list.
    let mut file = fixture("cohere2moe-odd-q5_0");
    file.keys.remove("cohere2moe.attention.sliding_window_pattern");
    assert_eq!(kinds(&file), [far, near, near, near, still]);
    file.set("cohere2moe.attention.sliding_window_pattern", 2u32);
    assert_eq!(kinds(&file), [far, near, still, near, still]);
    let mut file = fixture("muse-glimmer-odd-q5_0");
    file.set("muse-glimmer.attention.sliding_window_pattern", 2u32);
    assert_eq!(kinds(&file), [near, still, near, still, near]);
    // Granite says with a key of another meaning elsewhere that there are no positions.
    let mut file = fixture("granite-odd-q8_0");
    file.set("granite.rope.scaling.finetuned", false);
    assert_eq!(kinds(&file), [still; 3]);
}

/// No key says which EXAONE has windows: the one of 64 layers.
#[test]
fn exaone4_of_64_layers_has_windows() {
    let mut file = fixture("exaone4-odd-q5_0");
    let (layer, mut all): (Vec<_>, Vec<_>) =
        file.tensors.into_iter().partition(|tensor| tensor.name.starts_with("blk.0."));
    all.retain(|tensor| !tensor.name.starts_with("blk."));
    for block in 0..64 {
        let name = |tensor: &Stored| tensor.name.replace("blk.0.", &format!("blk.{block}."));
        all.extend(layer.iter().map(|tensor| Stored { name: name(tensor), ..tensor.clone() }));
    }
    file.tensors = all;
    file.set("exaone4.block_count", 64u32);
    file.set("exaone4.attention.sliding_window", 7u32);
    let found = kinds(&file);
    for (layer, kind) in found.iter().enumerate() {
        assert_eq!(*kind, if layer % 4 == 3 { (None, false) } else { (Some(7), true) }, "{layer}");
    }
    file.tensors.retain(|tensor| !tensor.name.starts_with("blk.63."));
    file.set("exaone4.block_count", 63u32);
    assert!(file.refusal().contains("exaone4.attention.sliding_window"), "{}", file.refusal());
}

/// Values that these families refuse, with the messages.
#[test]
fn refusals() {
    let mut text = String::new();
    for (name, key, value) in [
        ("seed-oss-tiny-q4_0", "rope.dimension_count", Value::from(16u32)),
        ("seed-oss-tiny-q4_0", "attention.scale", 1f32.into()),
        ("seed-oss-tiny-q4_0", "logit_scale", 2f32.into()),
        ("ernie4_5-moe-tiny-q4_0", "expert_gating_func", 2u32.into()),
        ("ernie4_5-moe-tiny-q4_0", "expert_weights_norm", false.into()),
        ("ernie4_5-moe-tiny-q4_0", "interleave_moe_layer_step", 0u32.into()),
        ("minimax-m2-tiny-q4_0", "expert_gating_func", 4u32.into()),
        ("minimax-m2-tiny-q4_0", "expert_weights_scale", 2f32.into()),
        ("minimax-m2-tiny-q4_0", "expert_group_count", 2u32.into()),
        ("hunyuan-dense-odd-q5_0", "rope.dimension_sections", vec![4i32, 4, 8, 0].into()),
        ("hunyuan-dense-odd-q5_0", "rope.scaling.alpha", f32::MAX.into()),
        ("smollm3-tiny-q4_0", "attention.sliding_window", 7u32.into()),
        ("olmo2-odd-q8_0", "rope.freq_base_swa", 1e6f32.into()),
        ("olmo2-odd-q8_0", "attention.sliding_window_pattern", vec![true; 3].into()),
        ("granite-odd-q8_0", "logit_scale", 0f32.into()),
        ("granite-odd-q8_0", "residual_scale", (-1f32).into()),
        ("granite-odd-q8_0", "rope.scaling.type", "longrope".into()),
        ("granite-odd-q8_0", "attention.sliding_window", 7u32.into()),
        ("glm4-tiny-q4_0", "rope.dimension_sections", vec![4i32, 4, 8, 0].into()),
        ("muse-glimmer-tiny-q4_0", "rope.scaling.factor", 2f32.into()),
        ("muse-glimmer-tiny-q4_0", "embedding_scale", 2f32.into()),
        ("cohere2-tiny-q4_0", "rope.freq_base_swa", 1e6f32.into()),
        ("cohere2moe-tiny-q4_0", "expert_group_count", 2u32.into()),
        ("command-r-odd-q8_0", "attention.sliding_window", 7u32.into()),
    ] {
        let mut file = fixture(name);
        let key = format!("{}.{key}", file.architecture());
        file.set(&key, value);
        writeln!(text, "{}", file.refusal()).unwrap();
    }
    // Command R+ has norms of heads.
    let mut file = fixture("command-r-odd-q8_0");
    file.vector("blk.0.attn_q_norm.weight", 32, 1.0);
    writeln!(text, "{}", file.refusal()).unwrap();
    expect_file!["goldens/plain.txt"].assert_eq(&text);
}

/// The base of Hunyuan's rotary embedding, scaled by a key as converters otherwise do it.
#[test]
fn alpha_scales_the_base() {
    let mut file = fixture("hunyuan-dense-odd-q5_0");
    file.set("hunyuan-dense.rope.freq_base", 1e4f32);
    file.set("hunyuan-dense.rope.scaling.alpha", 50f32);
    let mut scaled = file.clone();
    scaled.keys.remove("hunyuan-dense.rope.scaling.alpha");
    assert_ne!(file.build().unwrap().segments[1].graph, scaled.build().unwrap().segments[1].graph);
    scaled.set("hunyuan-dense.rope.freq_base", 1e4f32 * 50f32.powf(32.0 / 30.0));
    assert_eq!(file.build().unwrap().segments[1].graph, scaled.build().unwrap().segments[1].graph);
}
