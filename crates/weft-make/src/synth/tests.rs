//! Tests of whole files: their bytes are reproducible, and they are models that run.

use std::fs;
use std::ops::ControlFlow;

use expect_test::expect;
use sha2::{Digest, Sha256};
use weft_engine::inspect::{CostModel, ExplainOptions, explain};
use weft_gguf::Gguf;
use weft_ir::{Sizes, Switches, Tensor, Values};
use weft_models::{BuildOptions, ModelGraph, build};

use super::preset::{Attention, Experts, Gating, PRESETS};
use super::*;
use crate::synth::testing::{options, write, write_header, write_tiny};
use crate::tensor_types::QUANT_MIXES;
use crate::test_folder::TestFolder;

mod hybrid;
mod shapes;

fn sha256(path: &Path) -> String {
    Sha256::digest(fs::read(path).unwrap()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes must not change: benchmarks identify a model by its options.
#[test]
fn files_are_the_same_everywhere() {
    let folder = TestFolder::new("synth-golden");
    let hash = |mix: &str, threads: usize| {
        let path = folder.join("m.gguf");
        let threads = NonZeroUsize::new(threads).unwrap();
        write(&SynthOptions { threads, ..options("tiny", 2, mix) }, &path);
        sha256(&path)
    };
    let mut hashes = String::new();
    for mix in ["q4_0", "q4_k_m", "q8_0", "f16", "f32"] {
        let one = hash(mix, 1);
        assert_eq!([&hash(mix, 2), &hash(mix, 5)], [&one, &one], "{mix}");
        hashes.push_str(&format!("{mix} {one}\n"));
    }
    expect![[r#"
        q4_0 7f026e25099b5aef3b69f16d33a827489c597487713a6ec276eb39f921c5c65a
        q4_k_m 6d540536db339adf3a568a2466e0a33e0cdcb6cf8e88ecc20d692b4f4e053e8d
        q8_0 9e8d50389aeac25f088825dc3668b3f5248c694ca1b6443f0613657b1fd53461
        f16 d069de68588182c0bbcdfaa527a69409e357b5b8d6883925c9a7938aa6441a48
        f32 f0f41706195bb14a3f1f67498261d06e338a9d5ff73e4099a21c789fdf225dfe
    "#]]
    .assert_eq(&hashes);
}

#[test]
fn a_layer_for_multi_token_prediction_can_be_added() {
    let folder = TestFolder::new("synth-mtp");
    // One layer is dense, two have experts in the second: the added one is like the last.
    for layers in [1, 2] {
        let path = folder.join("m.gguf");
        write(&SynthOptions { mtp: true, ..options("tiny", layers, "q8_0") }, &path);
        let gguf = Gguf::open(&path).unwrap();
        let model = build(&gguf, &BuildOptions::default()).unwrap();
        assert_eq!((model.config.layers(), model.config.mtp_blocks), (layers as usize, 1));
        let mtp = weft_models::mtp(&model, &gguf, &BuildOptions::default()).unwrap().unwrap();
        let last = &model.segments[layers as usize];
        assert!(mtp.segments.iter().any(|segment| segment.graph == last.graph), "{layers} layers");
    }
    // Of a hybrid it has attention.
    for name in ["qwen35-tiny", "qwen35moe-tiny", "qwen35-odd"] {
        let path = folder.join("m.gguf");
        write(&SynthOptions { mtp: true, ..options(name, 4, "q8_0") }, &path);
        let gguf = Gguf::open(&path).unwrap();
        let model = build(&gguf, &BuildOptions::default()).unwrap();
        assert_eq!((model.config.layers(), model.config.mtp_blocks), (4, 1), "{name}");
        let mtp = weft_models::mtp(&model, &gguf, &BuildOptions::default()).unwrap().unwrap();
        let last = &model.segments[4];
        assert!(mtp.segments.iter().any(|segment| segment.graph == last.graph), "{name}");
    }
    let dense = SynthOptions { mtp: true, ..options("qwen3-tiny", 1, "q8_0") };
    let refused = Model::new(&dense).err().unwrap().to_string();
    assert!(
        refused.starts_with("cannot create a layer for multi-token prediction in the shape of"),
        "{refused}"
    );
}

#[test]
fn seeds_differ() {
    let folder = TestFolder::new("synth-seeds");
    let make = |seed| {
        let path = folder.join(format!("{seed}.gguf"));
        write(&SynthOptions { seed, ..options("tiny", 1, "q4_0") }, &path);
        let gguf = Gguf::open(&path).unwrap();
        let tensors = gguf.tensors().iter().map(|tensor| gguf.data(tensor).to_vec());
        tensors.collect::<Vec<_>>()
    };
    for (a, b) in make(1).iter().zip(make(2)) {
        assert_ne!(*a, b);
    }
}

#[test]
fn progress_ends_at_the_total() {
    let folder = TestFolder::new("synth-progress");
    let mut seen = Vec::new();
    let mut see = |done, total| {
        seen.push((done, total));
        ControlFlow::Continue(())
    };
    let made = synth(&options("tiny", 1, "q4_0"), &folder.join("m.gguf"), &mut see).unwrap().unwrap();
    assert_eq!(seen.last(), Some(&(made.bytes, made.bytes)));
    assert!(seen.len() > 10 && seen.is_sorted_by_key(|(done, _)| *done));
}

#[test]
fn a_stopped_run_leaves_no_file() {
    let folder = TestFolder::new("synth-break");
    let mut chunks = 0;
    let mut stop = |_, _| {
        chunks += 1;
        if chunks < 5 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let made = synth(&options("tiny", 1, "q4_0"), &folder.join("m.gguf"), &mut stop).unwrap();
    assert_eq!((made, chunks), (None, 5));
    assert_eq!(fs::read_dir(&*folder).unwrap().count(), 0);
}

#[test]
fn presets_have_the_size_of_the_real_models() {
    // Number of parameters, and size in GB at Q4_0.
    for (name, parameters, size) in [
        ("glm-4.7-flash", 29.94e9, 17.0),
        ("deepseek-v2-lite", 15.71e9, 8.9),
        ("llama-3.2-1b", 1.236e9, 0.79),
        ("qwen2.5-0.5b", 0.494e9, 0.35),
        ("qwen3-0.6b", 0.596e9, 0.38),
        ("qwen3-8b", 8.19e9, 4.77),
        ("qwen3-30b-a3b", 30.53e9, 17.3),
        ("qwen1.5-moe-a2.7b", 14.32e9, 8.1),
        ("glm-4.5-air", 106.85e9, 60.3),
        ("phi-4", 14.66e9, 8.4),
        ("mixtral-8x7b", 46.70e9, 26.4),
        ("deepseek-v3", 671.03e9, 378.1),
        ("kimi-k2", 1026.4e9, 578.2),
        ("deepseek-v3.2", 671.88e9, 378.5),
        ("glm-5", 743.91e9, 419.1),
        ("glm-5.2", 743.38e9, 418.8),
        ("gpt-oss-20b", 20.91e9, 12.0),
        ("gpt-oss-120b", 116.83e9, 66.2),
        ("gemma-3-1b", 0.9999e9, 0.72),
        ("gemma-4-e2b", 4.65e9, 2.72),
        ("gemma-4-e4b", 7.52e9, 4.40),
        ("gemma-4-12b", 11.91e9, 6.96),
        ("gemma-4-26b-a4b", 25.23e9, 14.42),
        ("gemma-4-31b", 30.70e9, 17.63),
        ("ministral-3-8b", 8.49e9, 4.95),
        ("qwen3.6-35b-a3b", 34.66e9, 19.7),
        ("qwen3.6-27b", 26.90e9, 15.47),
        ("qwen3.5-9b", 8.954e9, 5.30),
        ("qwen3.5-4b", 4.206e9, 2.53),
        ("qwen3.5-0.8b", 0.7524e9, 0.49),
        ("qwen3-next-80b-a3b", 79.67e9, 45.08),
        ("kimi-linear-48b-a3b", 49.12e9, 27.8),
        ("mistral-small-4", 118.98e9, 67.1),
        ("ling-3.0-tiny", 7.893e9, 4.5),
        ("seed-oss-36b", 36.15e9, 20.5),
        ("ernie-4.5-0.3b", 0.361e9, 0.23),
        ("ernie-4.5-21b-a3b", 21.83e9, 12.4),
        ("minimax-m2", 228.7e9, 129.0),
        ("hunyuan-7b", 7.50e9, 4.36),
        ("hunyuan-a13b", 80.4e9, 45.4),
        ("smollm3-3b", 3.075e9, 1.8),
        ("olmo-3-7b", 7.30e9, 4.2),
        ("exaone-4.0-1.2b", 1.28e9, 0.77),
        ("granite-3.3-8b", 8.17e9, 4.65),
        ("granite-3.1-3b-a800m", 3.30e9, 1.88),
        ("glm-4-9b-0414", 9.40e9, 5.45),
        ("command-r-35b", 34.98e9, 20.2),
        ("command-r7b", 8.028e9, 4.8),
        ("north-mini-code", 30.48e9, 17.3),
        ("muse-glimmer-30b", 27.85e9, 16.0),
        ("lfm2-1.2b", 1.170e9, 0.69),
        ("lfm2-8b-a1b", 8.34e9, 4.73),
        ("granite-4.0-h-tiny", 6.94e9, 3.96),
        ("granite-4.0-h-small", 32.21e9, 18.27),
        ("nemotron-nano-9b-v2", 8.89e9, 5.3),
        ("nemotron-3-nano-30b-a3b", 31.58e9, 17.97),
    ] {
        let whole = SynthOptions { layers: None, ..options(name, 1, "q4_0") };
        let tensors = Model::new(&whole).unwrap().tensors;
        let found = tensors.iter().map(|tensor| tensor.values() as f64).sum::<f64>();
        assert!((found / parameters - 1.0).abs() < 0.001, "{name}: {found}");
        let bytes = tensors.iter().map(|tensor| tensor.bytes() as f64).sum::<f64>();
        assert!((bytes / 1e9 - size).abs() < 0.1, "{name}: {bytes}");
    }
}

/// All of GLM-4.7-Flash at its real size: counting the kernels of a token reads no weights.
#[test]
fn a_token_of_47_layers_takes_425_kernels() {
    let folder = TestFolder::new("synth-kernels");
    let path = folder.join("glm.gguf");
    write_header(&SynthOptions { layers: None, ..options("glm-4.7-flash", 1, "q4_0") }, &path);
    let model = build(&Gguf::open(&path).unwrap(), &BuildOptions::default()).unwrap();
    assert_eq!(model.config.layers(), 47);
    let wanted = ExplainOptions {
        switches: Switches::default(),
        tokens: 1,
        depth: 0,
        costs: CostModel::default(),
        kernels: Vec::new(),
    };
    let plans = explain(&model, &wanted).unwrap();
    let kernels: usize = plans.iter().map(|plan| plan.segments.len() * plan.calls.len()).sum();
    assert_eq!(kernels, 425, "1,080 without fusion");
    assert_eq!(plans.len(), 5, "embedding, tables, dense layer, layers with experts, head");
}

/// The oracle's logits for some tokens, and the root mean square of `x` after each segment but the last.
fn evaluate(gguf: &Gguf, tokens: &[i32]) -> (Vec<f32>, Vec<f32>) {
    const OPTIONS: BuildOptions = BuildOptions { kv: weft_quant::GgmlType::F32, page: 16, pooling: None };
    let ModelGraph { config, segments } = build(gguf, &OPTIONS).unwrap();
    let n = tokens.len();
    let all = || (0..n as i32).collect::<Vec<_>>();
    let sizes = Sizes::of(n).rows(n).slots(n.next_multiple_of(16)).pages(n.div_ceil(16)).sequences(1);
    let mut values = Values::new();
    for (name, data) in [
        ("tokens", tokens.to_vec()),
        ("pos", all()),
        ("slots", all()),
        ("first", vec![0; n]),
        ("pages", (0..sizes.pages as i32).collect()),
        ("out_rows", all()),
        ("ends", vec![n as i32]),
        ("from", vec![-1]),
        ("to", vec![0]),
        ("certain", vec![n as i32]),
        ("kept", vec![0]),
    ] {
        values.insert(name.to_string(), Tensor::i32([data.len()], data));
    }
    let mut deviations = Vec::new();
    for segment in segments {
        let part = ModelGraph { config: config.clone(), segments: vec![segment] };
        values.extend(part.oracle_states(sizes.slots));
        part.eval(gguf, &sizes, &mut values).unwrap();
        deviations.push(deviation(values["x"].as_f32().unwrap()));
    }
    deviations.pop();
    (values["logits"].as_f32().unwrap().to_vec(), deviations)
}

fn deviation(values: &[f32]) -> f32 {
    (values.iter().map(|x| x * x).sum::<f32>() / values.len() as f32).sqrt()
}

const TOKENS: [i32; 6] = [300, 7, 1500, 42, 999, 42];

#[test]
fn every_mix_makes_a_model_that_runs() {
    let folder = TestFolder::new("synth-run");
    for mix in QUANT_MIXES {
        let path = folder.join(mix.name);
        write_tiny(&path, 3, mix.name);
        let (logits, _) = evaluate(&Gguf::open(&path).unwrap(), &TOKENS);
        assert_eq!(logits.len(), TOKENS.len() * 2048);
        let found = deviation(&logits);
        assert!((1.6..2.4).contains(&found), "{}: {found}", mix.name);
        // The same token at two positions gives logits that differ by a tenth or more: the context matters.
        let (first, second) = (&logits[3 * 2048..4 * 2048], &logits[5 * 2048..]);
        let difference: Vec<f32> = first.iter().zip(second).map(|(a, b)| a - b).collect();
        assert!(deviation(&difference) > 0.2, "{}: {}", mix.name, deviation(&difference));
    }
}

#[test]
fn activations_neither_grow_nor_vanish() {
    let folder = TestFolder::new("synth-deep");
    let path = folder.join("m.gguf");
    write_tiny(&path, 47, "q4_0");
    let (logits, deviations) = evaluate(&Gguf::open(&path).unwrap(), &TOKENS);
    assert!((1.6..2.4).contains(&deviation(&logits)));
    assert_eq!(deviations.len(), 1 + 47);
    assert!(deviations.iter().all(|x| (0.9..2.0).contains(x)), "{deviations:?}");
    // Every layer contributes.
    assert!(deviations[47] > deviations[24] && deviations[24] > deviations[1], "{deviations:?}");
}

/// DeepSeek-V2-Lite with the widths of the tiny preset: softmax, shared experts, YaRN and uncompressed queries.
const SMALL_V2: Preset = Preset {
    hidden: 256,
    heads: 4,
    attention: Attention::Latent { q_rank: None, kv_rank: 256, nope: 64, rope: 32, value: 64 },
    dense: 1024,
    experts: Some(Experts {
        leading_dense: 1,
        count: 16,
        used: 6,
        shared: 2,
        shared_width: None,
        width: 256,
        gating: Gating::Softmax { normalise: false },
        scale: 1.0,
        groups: (1, 1),
    }),
    vocabulary: 4096,
    ..PRESETS[1]
};

#[test]
fn a_small_deepseek_runs() {
    let folder = TestFolder::new("synth-v2");
    let path = folder.join("m.gguf");
    write(&SynthOptions { preset: SMALL_V2, ..options("tiny", 8, "q4_k_m") }, &path);
    let (logits, deviations) = evaluate(&Gguf::open(&path).unwrap(), &TOKENS);
    assert!((1.6..2.4).contains(&deviation(&logits)), "{}", deviation(&logits));
    assert!(deviations.iter().all(|x| (0.9..2.0).contains(x)), "{deviations:?}");
}

#[test]
fn every_tiny_preset_makes_a_model_that_runs() {
    let folder = TestFolder::new("synth-tiny");
    for preset in
        PRESETS.iter().filter(|preset| preset.name.contains("tiny") || preset.name.ends_with("-odd"))
    {
        let path = folder.join(preset.name);
        write(&options(preset.name, 8, "q8_0"), &path);
        let (logits, deviations) = evaluate(&Gguf::open(&path).unwrap(), &TOKENS.map(|id| id % 300));
        assert!((1.6..2.4).contains(&deviation(&logits)), "{}: {}", preset.name, deviation(&logits));
        let start = if preset.tied { 0.1 } else { 0.9 };
        assert!(deviations.iter().all(|x| (start..2.0).contains(x)), "{}: {deviations:?}", preset.name);
        let vocab = preset.vocabulary as usize;
        let row = |i: usize| &logits[i * vocab..][..vocab];
        let difference: Vec<f32> = row(3).iter().zip(row(5)).map(|(a, b)| a - b).collect();
        assert!(deviation(&difference) > 0.2, "{}: {}", preset.name, deviation(&difference));
    }
}

#[test]
fn layers_have_a_limit() {
    for layers in [0, MAX_LAYERS + 1] {
        let message = Model::new(&options("tiny", layers, "q4_0")).err().unwrap().to_string();
        assert_eq!(message, format!("cannot create a model with {layers} layers; expected 1 to 1000"));
    }
}

#[test]
fn vocabularies_have_all_bytes_and_special_tokens() {
    let of = |name: &str, vocabulary| {
        let preset = Preset { vocabulary, ..*Preset::named(name).unwrap() };
        Model::new(&SynthOptions { preset, ..options("tiny", 1, "q4_0") })
    };
    let message = of("qwen3moe-odd", 281).err().unwrap().to_string();
    assert_eq!(
        message,
        "cannot create a vocabulary of 281 tokens in the shape of qwen3moe-odd; expected 282 to 1048576: all bytes and \
         the special tokens are in it"
    );
    let metadata = of("qwen3moe-odd", 1003).unwrap().metadata;
    assert_eq!(metadata.require_strings("tokenizer.ggml.tokens").unwrap().iter().count(), 1003);
    let described = metadata.require_str("general.description").unwrap();
    assert!(described.contains("--preset qwen3moe-odd --layers 1 --vocab 1003 --quant q4_0"), "{described}");
    for preset in PRESETS {
        let fewest = of(preset.name, preset.family.fewest_tokens()).unwrap().metadata;
        let tokens = fewest.require_strings("tokenizer.ggml.tokens").unwrap().iter().count();
        assert_eq!(tokens, preset.family.fewest_tokens() as usize, "{}", preset.name);
    }
}

#[test]
fn an_unknown_preset_lists_the_known_ones() {
    let message = Preset::named("glm").unwrap_err().to_string();
    assert!(
        message.starts_with("there is no preset `glm`; the presets are glm-4.7-flash, deepseek-v2-lite, "),
        "{message}"
    );
    assert!(PRESETS.iter().all(|preset| message.contains(preset.name)), "{message}");
}
