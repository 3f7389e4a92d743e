//! The fixtures: small models with golden logits, described in `fixtures/README.md`.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use weft_engine::EngineOptions;
use weft_engine::inspect::{Batch, Runner};
use weft_gguf::{Gguf, Metadata, Writer};

/// The threads of an engine in tests whose subject they are not; results do not depend on them. One, because as many tests
/// run at once as there are cores, and threads of one engine that wait for each other would wait for other tests.
pub(crate) const THREADS: usize = 1;

/// The names of all fixtures, each with the bound on the oracle's relative L2 error: 1e-4, or 1e-3 for the one with 27
/// layers, whose random routers amplify rounding.
pub(crate) fn fixtures() -> Vec<(String, f64)> {
    let files = std::fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
    let names = files.filter(|path| path.extension().is_some_and(|ext| ext == "json"));
    let names = names.map(|path| path.file_stem().unwrap().to_str().unwrap().to_string());
    let bound = |name: &str| if name.starts_with("ds2-") { 1e-3 } else { 1e-4 };
    let mut all: Vec<_> = names.map(|name| (bound(&name), name)).map(|(bound, name)| (name, bound)).collect();
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    all
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

pub(crate) struct Fixture {
    pub(crate) path: PathBuf,
    pub(crate) tokens: Vec<u32>,
    pub(crate) vocab: usize,
    /// `[tokens, vocab]`, from llama.cpp in `f32`.
    pub(crate) golden: Vec<f32>,
    /// The mean KL divergence of llama.cpp with 8-bit activations from the golden logits.
    pub(crate) int8_mean_kl: f64,
}

impl Fixture {
    pub(crate) fn load(name: &str) -> Fixture {
        let dir = folder();
        let text = std::fs::read_to_string(dir.join(format!("{name}.json"))).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let tokens = json["tokens"].as_array().unwrap().iter().map(|t| t.as_u64().unwrap() as u32).collect();
        let bytes = std::fs::read(dir.join(format!("{name}.logits.f32"))).unwrap();
        Fixture {
            path: dir.join(format!("{name}.gguf")),
            tokens,
            vocab: json["vocab"].as_u64().unwrap() as usize,
            golden: bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect(),
            int8_mean_kl: json["llama_cpp_int8"]["mean_kl"].as_f64().unwrap(),
        }
    }

    pub(crate) fn runner(&self, options: EngineOptions) -> Runner {
        Runner::load(&self.path, &options, &mut |_| ControlFlow::Continue(())).unwrap()
    }
}

/// Writes a copy of a model to `path`, with other metadata.
pub(crate) fn with_metadata(model: &Path, path: &Path, change: impl FnOnce(&mut Metadata)) {
    let model = Gguf::open(model).unwrap();
    let mut metadata = Metadata::new();
    model.metadata().iter().for_each(|(key, value)| drop(metadata.insert(key, value.clone())));
    change(&mut metadata);
    let mut writer = Writer::new(metadata).unwrap();
    model.tensors().iter().for_each(|t| writer.declare(&t.name, t.ty, &t.shape).unwrap());
    let mut data = writer.create(path).unwrap();
    model.tensors().iter().for_each(|t| data.write(&t.name, model.data(t)).unwrap());
    data.finish().unwrap();
}

/// Logits that are computed once, by whoever asks first.
type Logits = Arc<OnceLock<Arc<Vec<f32>>>>;

/// The logits of a fixture's tokens by the CPU, in one step and with the options that users have. They are computed once, since many tests
/// compare with them: no options that keep bits change them.
pub(crate) fn usual(fixture: &Fixture) -> Arc<Vec<f32>> {
    static KNOWN: Mutex<BTreeMap<PathBuf, Logits>> = Mutex::new(BTreeMap::new());
    let known = Arc::clone(KNOWN.lock().unwrap().entry(fixture.path.clone()).or_default());
    let compute =
        || Arc::new(all_logits(&mut fixture.runner(EngineOptions::default()), &fixture.tokens, 512));
    Arc::clone(known.get_or_init(compute))
}

/// All logits of one sequence, computed `chunk` tokens at a time.
pub(crate) fn all_logits(runner: &mut Runner, tokens: &[u32], chunk: usize) -> Vec<f32> {
    let seq = runner.new_sequence();
    let mut logits = Vec::new();
    for chunk in tokens.chunks(chunk) {
        let mut batch = Batch::new();
        chunk.iter().for_each(|t| batch.push(seq, *t, true));
        logits.extend_from_slice(runner.step(&batch).unwrap());
    }
    runner.free(seq);
    logits
}

pub(crate) fn bits(logits: &[f32]) -> Vec<u32> {
    logits.iter().map(|l| l.to_bits()).collect()
}

/// ‖a − b‖ / ‖b‖.
pub(crate) fn relative_l2(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let square = |x: f64| x * x;
    let error: f64 = a.iter().zip(b).map(|(a, b)| square(f64::from(*a) - f64::from(*b))).sum();
    let norm: f64 = b.iter().map(|b| square(f64::from(*b))).sum();
    (error / norm).sqrt()
}

/// Mean over rows of KL(softmax(golden) ‖ softmax(found)).
pub(crate) fn mean_kl(found: &[f32], golden: &[f32], vocab: usize) -> f64 {
    let log_softmax = |row: &[f32]| -> Vec<f64> {
        let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = row.iter().map(|l| f64::from(l - top).exp()).sum();
        row.iter().map(|l| f64::from(l - top) - sum.ln()).collect()
    };
    let rows = found.chunks_exact(vocab).zip(golden.chunks_exact(vocab));
    let kl = rows.map(|(f, g)| {
        let (f, g) = (log_softmax(f), log_softmax(g));
        f.iter().zip(&g).map(|(f, g)| g.exp() * (g - f)).sum::<f64>()
    });
    kl.sum::<f64>() / (golden.len() / vocab) as f64
}
