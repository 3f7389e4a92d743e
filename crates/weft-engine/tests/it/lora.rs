//! LoRA adapters: what they add, and that it is what a model would compute whose matrices they were added to.

use std::fs;
use std::path::{Path, PathBuf};

use weft_engine::inspect::oracle_logits;
use weft_engine::{AdapterFile, EngineOptions, PackCache, PromptCache, Request, Sampling, open_adapted};
use weft_gguf::{Gguf, Metadata, Value, Writer};
use weft_quant::GgmlType;
use weft_random::Random;

use crate::gpu;
use crate::packed_models::{Folder, packed};
use crate::support::{Fixture, all_logits, bits, mean_kl, relative_l2};

/// A tensor to write.
pub(crate) type Tensor = (String, GgmlType, Vec<u64>, Vec<u8>);

/// A fixture, adapters for it, and the model that they make, in a folder that is removed when dropped.
pub(crate) struct Adapted {
    pub(crate) folder: PathBuf,
    pub(crate) fixture: Fixture,
    pub(crate) adapters: Vec<AdapterFile>,
    merged: PathBuf,
}

/// An adapter to make: its rank, type, alpha and scale, and a matrix that it does not add to.
#[derive(Clone, Copy)]
pub(crate) struct Spec {
    pub(crate) rank: usize,
    pub(crate) ty: GgmlType,
    pub(crate) alpha: Option<f32>,
    pub(crate) scale: f32,
    pub(crate) without: &'static str,
}

/// The two adapters of most tests.
pub(crate) const SPECS: [Spec; 2] = [
    Spec { rank: 3, ty: GgmlType::F32, alpha: Some(6.0), scale: 0.5, without: "none" },
    Spec { rank: 8, ty: GgmlType::F16, alpha: None, scale: 1.5, without: "none" },
];

impl Drop for Adapted {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

const MATRICES: [&str; 9] = [
    "attn_q",
    "attn_k",
    "attn_v",
    "attn_qkv",
    "attn_q_b",
    "attn_kv_a_mqa",
    "attn_output",
    "ffn_gate",
    "ffn_down",
];

/// Whether the adapters of these tests add to a matrix. Not all layers are adapted, and not all matrices of one.
fn is_adapted(name: &str) -> bool {
    let of_layer =
        |name: &str| Some(name.strip_prefix("blk.")?.split_once('.')?.1.strip_suffix(".weight")?.to_string());
    !name.starts_with("blk.1.") && of_layer(name).is_some_and(|own| MATRICES.contains(&own.as_str()))
}

impl Adapted {
    /// Two adapters of ranks 3 and 8.
    fn new(test: &str, fixture: &str) -> Adapted {
        Adapted::of(test, fixture, &SPECS)
    }

    /// These adapters; the merged model has its matrices in `f32`.
    pub(crate) fn of(test: &str, fixture: &str, specs: &[Spec]) -> Adapted {
        let fixture = Fixture::load(fixture);
        let folder = std::env::temp_dir().join(format!("weft-engine-lora-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let model = Gguf::open(&fixture.path).unwrap();
        let mut merged: Vec<Tensor> = model
            .tensors()
            .iter()
            .map(|tensor| {
                let mut values = vec![0.0; tensor.values() as usize];
                weft_quant::decode(tensor.ty, model.data(tensor), &mut values).unwrap();
                (tensor.name.clone(), GgmlType::F32, tensor.shape.clone(), bytes(&values))
            })
            .collect();
        let mut random = Random::new(7);
        let mut adapters = Vec::new();
        for &Spec { rank, ty, alpha, scale, without } in specs {
            let mut tensors = Vec::new();
            let is_adapted = |name: &str| is_adapted(name) && !name.contains(without);
            for (name, _, shape, data) in merged.iter_mut().filter(|(name, ..)| is_adapted(name)) {
                let (from, to) = (shape[0] as usize, shape[1] as usize);
                let mut values = |count: usize, scale: f32| -> Vec<f32> {
                    let values = (0..count).map(|_| scale * (random.below(2001) as f32 / 1000.0 - 1.0));
                    values.map(|value| if ty == GgmlType::F16 { rounded(value) } else { value }).collect()
                };
                let (a, b) = (values(rank * from, 0.05), values(to * rank, 0.3));
                let factor = scale * alpha.map_or(1.0, |alpha: f32| alpha / rank as f32);
                let mut sum = floats(data);
                for (i, row) in sum.chunks_exact_mut(from).enumerate() {
                    for (j, value) in row.iter_mut().enumerate() {
                        *value += factor * (0..rank).map(|r| b[i * rank + r] * a[r * from + j]).sum::<f32>();
                    }
                }
                *data = bytes(&sum);
                let mut add = |which: &str, shape: [usize; 2], values: &[f32]| {
                    let mut bytes = vec![0; ty.row_bytes(values.len() as u64).unwrap() as usize];
                    weft_quant::encode(ty, values, &mut bytes).unwrap();
                    tensors.push((format!("{name}.{which}"), ty, shape.map(|n| n as u64).to_vec(), bytes));
                };
                add("lora_a", [from, rank], &a);
                add("lora_b", [rank, to], &b);
            }
            let path = folder.join(format!("rank{rank}.gguf"));
            write(&path, adapter_metadata(&model, alpha), &tensors);
            adapters.push(AdapterFile { name: None, path, scale });
        }
        let path = folder.join("merged.gguf");
        let mut metadata = Metadata::new();
        model.metadata().iter().for_each(|(key, value)| drop(metadata.insert(key, value.clone())));
        write(&path, metadata, &merged);
        Adapted { folder, fixture, adapters, merged: path }
    }

    /// The merged model's logits, computed in floats.
    pub(crate) fn expected(&self) -> Vec<f32> {
        oracle_logits(&Gguf::open(&self.merged).unwrap(), &self.fixture.tokens).unwrap()
    }

    fn options(&self) -> EngineOptions {
        EngineOptions::default().adapters(self.adapters.clone())
    }
}

pub(crate) fn adapter_metadata(model: &Gguf, alpha: Option<f32>) -> Metadata {
    let mut metadata = Metadata::new();
    metadata.insert("general.type", Value::String("adapter".into()));
    metadata.insert("adapter.type", Value::String("lora".into()));
    let architecture = model.metadata().require_str("general.architecture").unwrap();
    metadata.insert("general.architecture", Value::String(architecture.into()));
    alpha.into_iter().for_each(|alpha| drop(metadata.insert("adapter.lora.alpha", Value::F32(alpha))));
    metadata
}

pub(crate) fn write(path: &Path, metadata: Metadata, tensors: &[Tensor]) {
    let mut writer = Writer::new(metadata).unwrap();
    for (name, ty, shape, _) in tensors {
        writer.declare(name, *ty, shape).unwrap();
    }
    let mut data = writer.create(path).unwrap();
    tensors.iter().for_each(|(name, .., bytes)| data.write(name, bytes).unwrap());
    data.finish().unwrap();
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
}

/// The nearest half-precision number.
fn rounded(value: f32) -> f32 {
    let (mut bytes, mut values) = ([0; 2], [0.0]);
    weft_quant::encode(GgmlType::F16, &[value], &mut bytes).unwrap();
    weft_quant::decode(GgmlType::F16, &bytes, &mut values).unwrap();
    values[0]
}

pub(crate) const MODELS: [&str; 3] = ["mistral-odd-q4_0", "glm-tiny-q8_0", "phi4-odd-q5_k_m"];

#[test]
fn an_adapted_model_computes_what_a_merged_one_does() {
    for name in MODELS {
        let adapted = Adapted::new("merged", name);
        let fixture = &adapted.fixture;
        let expected = adapted.expected();
        let model = open_adapted(&fixture.path, &adapted.adapters).unwrap();
        let error = relative_l2(&oracle_logits(&model, &fixture.tokens).unwrap(), &expected);
        let changed = mean_kl(&fixture.golden, &expected, fixture.vocab);
        let kl = |options: EngineOptions| {
            mean_kl(&all_logits(&mut fixture.runner(options), &fixture.tokens, 512), &expected, fixture.vocab)
        };
        let loss = kl(adapted.options());
        println!(
            "{name}: oracle {error:.1e}, KL {loss:.1e} (int8 {:.1e}), of the base {changed:.1e}",
            fixture.int8_mean_kl
        );
        assert!(error < 1e-4 && loss <= 1.2 * fixture.int8_mean_kl, "{name}: {error} {loss}");
        assert!(changed > 20.0 * loss, "{name}: the adapters change nothing: {changed} {loss}");
        if let Some(mut runner) = gpu::load(&fixture.path, adapted.options().context(128).batch(128)) {
            let loss = mean_kl(&all_logits(&mut runner, &fixture.tokens, 128), &expected, fixture.vocab);
            assert!(loss <= 1.2 * fixture.int8_mean_kl, "{name} on a GPU: {loss}");
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads_or_chunks_and_a_scale_of_nothing_changes_none() {
    for name in MODELS {
        let adapted = Adapted::new("bits", name);
        let fixture = &adapted.fixture;
        let logits = |options: EngineOptions, chunk| {
            bits(&all_logits(&mut fixture.runner(options), &fixture.tokens, chunk))
        };
        let expected = logits(adapted.options(), 512);
        assert!(expected == logits(adapted.options().threads(1), 7), "{name}");
        let base = logits(EngineOptions::default(), 512);
        assert!(expected != base, "{name}");
        let folder = Folder::new(&format!("lora-{name}"));
        let packed = packed(&folder, name);
        let mut runner = packed.runner(adapted.options());
        assert!(expected == bits(&all_logits(&mut runner, &packed.tokens, 512)), "{name}, packed");
        let nothing = adapted.adapters.iter().map(|one| AdapterFile { scale: 0.0, ..one.clone() });
        assert!(base == logits(EngineOptions::default().adapters(nothing.collect()), 512), "{name}");
    }
}

#[test]
fn prompts_and_packed_weights_are_kept_apart_from_those_of_the_model() {
    let adapted = Adapted::new("caches", MODELS[0]);
    let fixture = &adapted.fixture;
    let options = |adapters: &[AdapterFile]| {
        let prompts = PromptCache::new(adapted.folder.join("prompts"), u64::MAX);
        let cache = PackCache::new(adapted.folder.join("packed"));
        EngineOptions::default().context(256).cache(cache).prompts(prompts).adapters(adapters.to_vec())
    };
    let prompt: Vec<u32> = fixture.tokens.iter().copied().cycle().take(100).collect();
    let reply = |adapters: &[AdapterFile]| {
        let mut engine = options(adapters).open(&fixture.path).unwrap();
        let request = Request::new(prompt.as_slice())
            .logprobs(4)
            .max_tokens(12)
            .ignore_end(true)
            .sampling(Sampling::greedy());
        let reply = engine.complete(request.cache(true)).unwrap();
        (reply.tokens, reply.usage.cached_tokens)
    };
    let packed = || fs::read_dir(adapted.folder.join("packed")).unwrap().count();
    let (base, cached) = reply(&[]);
    let files = packed();
    let one = &adapted.adapters[..1];
    let (with, of_base) = reply(one);
    assert_eq!((cached, of_base), (0, 0));
    assert_ne!(base, with);
    let half = [AdapterFile { scale: 0.25, ..one[0].clone() }];
    assert_eq!(reply(&half).1, 0, "another scale");
    assert_eq!(reply(&[]).0, base);
    let (again, cached) = reply(one);
    assert!(again == with && cached > 0, "{cached}");
    assert!(files > 0 && packed() == files, "the model is packed once: {files} files, then {}", packed());
}

#[test]
fn what_is_no_adapter_for_a_model_is_refused_with_the_reason() {
    let adapted = Adapted::new("refused", "glm-tiny-q8_0");
    let model = Gguf::open(&adapted.fixture.path).unwrap();
    let path = adapted.folder.join("wrong.gguf");
    let refused = |metadata: Metadata, tensors: &[(&str, [u64; 2])]| {
        let zeros = |shape: &[u64; 2]| vec![0; 4 * shape.iter().product::<u64>() as usize];
        let tensors: Vec<Tensor> = tensors
            .iter()
            .map(|(name, shape)| (name.to_string(), GgmlType::F32, shape.to_vec(), zeros(shape)))
            .collect();
        write(&path, metadata, &tensors);
        let adapter = AdapterFile { name: None, path: path.clone(), scale: 1.0 };
        EngineOptions::default()
            .adapters(vec![adapter])
            .open(&adapted.fixture.path)
            .err()
            .unwrap()
            .to_string()
    };
    let lora = || adapter_metadata(&model, None);
    let [hidden, width] = model.tensor("blk.0.ffn_gate.weight").unwrap().shape[..] else { panic!() };
    let gate = ["blk.0.ffn_gate.weight.lora_a", "blk.0.ffn_gate.weight.lora_b"];
    let with = |key: &str, value: &str| {
        let mut metadata = lora();
        metadata.insert(key, Value::String(value.into()));
        metadata
    };
    let experts = model.tensor("blk.1.ffn_gate_inp.weight").unwrap().shape.clone();
    let cases: [(String, &str); 7] = [
        (refused(Metadata::new(), &[]), "not a LoRA adapter"),
        (refused(with("adapter.type", "other"), &[]), "`other`"),
        (refused(with("general.architecture", "llama"), &[]), "`llama`"),
        (refused(lora(), &[(gate[0], [hidden, 2])]), "no counterpart"),
        (refused(lora(), &[(gate[0], [hidden, 2]), (gate[1], [3, width])]), "cannot be added"),
        (refused(lora(), &[("blk.9.x.weight.lora_a", [2, 2])]), "does not have"),
        (
            refused(
                lora(),
                &[
                    ("blk.1.ffn_gate_inp.weight.lora_a", [experts[0], 2]),
                    ("blk.1.ffn_gate_inp.weight.lora_b", [2, experts[1]]),
                ],
            ),
            "not embeddings, experts, routers",
        ),
    ];
    for (message, expected) in cases {
        println!("{message}");
        assert!(message.contains(expected) && message.contains("wrong.gguf"), "{message}");
    }
}
