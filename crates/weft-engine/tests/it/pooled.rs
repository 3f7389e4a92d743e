//! Embeddings and ranks: the fixtures of `fixtures/pooled`, on every device, alone and together.

use std::path::{Path, PathBuf};

use weft_check::Emulator;
use weft_engine::inspect::{Batch, oracle_logits};
use weft_engine::{
    Engine, EngineOptions, Error, Event, Finish, Generation, Model, Pooling, RankedBy, Request, normalised,
    open_file,
};

use crate::gpu::choice;
use crate::support::{THREADS, bits, relative_l2};

const EMBEDDING: &str = "qwen3-embedding";
const RERANKERS: [&str; 2] = ["qwen3-reranker", "qwen3-reranker-plain"];

/// A fixture: its file, its prompts, and the golden values of each.
struct Fixture {
    path: PathBuf,
    prompts: Vec<Vec<u32>>,
    golden: Vec<Vec<f32>>,
}

impl Fixture {
    fn load(name: &str) -> Fixture {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pooled");
        let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let ids = |list: &serde_json::Value| {
            list.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect::<Vec<u32>>()
        };
        let prompts: Vec<Vec<u32>> = json["prompts"].as_array().unwrap().iter().map(ids).collect();
        let bytes = std::fs::read(folder.join(format!("{name}.f32"))).unwrap();
        let values: Vec<f32> =
            bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let golden = values.chunks_exact(values.len() / prompts.len()).map(<[f32]>::to_vec).collect();
        Fixture { path: folder.join(format!("{name}.gguf")), prompts, golden }
    }

    /// The golden embedding of a prompt.
    fn embedding(&self, prompt: usize, pooling: Pooling) -> &[f32] {
        let at = Pooling::ALL.iter().position(|other| *other == pooling).unwrap();
        self.golden[prompt].chunks_exact(self.golden[prompt].len() / 3).nth(at).unwrap()
    }
}

fn options() -> EngineOptions {
    EngineOptions::default().threads(THREADS).context(128).sequences(2).batch(64)
}

/// The requests of a fixture's prompts.
fn requests(engine: &Engine, prompts: &[Vec<u32>]) -> Vec<Request> {
    let request = |prompt: &Vec<u32>| match engine.model().ranking() {
        Some(ranking) => Request::ranked(ranking, prompt.as_slice()),
        None => Request::pooled(prompt.as_slice()),
    };
    prompts.iter().map(request).collect()
}

/// The results of requests that run together.
fn together(engine: &mut Engine, requests: Vec<Request>) -> Vec<Vec<f32>> {
    let mut generations: Vec<Generation> =
        requests.into_iter().map(|request| engine.push(request).unwrap()).collect();
    while engine.step().unwrap() {}
    let output = |generation: &mut Generation| {
        let mut output = None;
        while let Some(event) = generation.poll() {
            match event {
                Event::Output(values) => assert!(output.replace(values).is_none()),
                Event::Prompt { .. } => {}
                Event::Finished(finish) => assert_eq!(finish, Finish::Length),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(generation.usage().tokens, 0);
        output.unwrap()
    };
    generations.iter_mut().map(output).collect()
}

/// The cosine of the angle between two vectors.
fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let [a, b] = [a, b].map(|vector| normalised(vector, usize::MAX));
    a.iter().zip(&b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

#[test]
fn the_oracle_computes_the_golden_values() {
    for name in [EMBEDDING, RERANKERS[0], RERANKERS[1]] {
        let fixture = Fixture::load(name);
        let gguf = open_file(&fixture.path).unwrap();
        for (at, prompt) in fixture.prompts.iter().enumerate() {
            let rows = oracle_logits(&gguf, prompt).unwrap();
            let width = rows.len() / prompt.len();
            let last = &rows[rows.len() - width..];
            if name != EMBEDDING {
                let found: Vec<f32> =
                    if name == RERANKERS[0] { last.to_vec() } else { vec![last[309], last[310]] };
                let error = relative_l2(&found, &fixture.golden[at]);
                assert!(error < 1e-4, "{name}, prompt {at}: {error:.1e}");
                continue;
            }
            let mean =
                |column: usize| rows.iter().skip(column).step_by(width).sum::<f32>() / prompt.len() as f32;
            let mean: Vec<f32> = (0..width).map(mean).collect();
            for (pooling, found) in
                [(Pooling::Last, last), (Pooling::Mean, mean.as_slice()), (Pooling::Cls, &rows[..width])]
            {
                let golden = fixture.embedding(at, pooling);
                let (error, cosine) = (relative_l2(found, golden), cosine(found, golden));
                assert!(
                    error < 1e-4 && cosine > 0.999_999,
                    "{pooling:?} of prompt {at}: {error:.1e}, {cosine}"
                );
            }
        }
    }
}

/// An engine's values are near the golden ones, and those of a prompt do not depend on the others nor on the size of steps.
fn check(what: &str, open: impl Fn(&Path, EngineOptions) -> Option<Engine>) {
    for (name, pooling) in Pooling::ALL
        .map(|pooling| (EMBEDDING, Some(pooling)))
        .into_iter()
        .chain(RERANKERS.map(|name| (name, None)))
    {
        let fixture = Fixture::load(name);
        let Some(mut engine) = open(&fixture.path, options().pooling(pooling)) else { return };
        let all = requests(&engine, &fixture.prompts);
        let found = together(&mut engine, all);
        // Of scores it is the results that are compared: a probability of nearly 0 or 1 hides most of their error.
        let (found_all, golden_all) = match pooling {
            Some(pooling) => {
                let golden = (0..found.len()).map(|at| fixture.embedding(at, pooling).to_vec());
                (found.clone(), golden.collect::<Vec<_>>())
            }
            None => (vec![found.concat()], vec![fixture.golden.concat()]),
        };
        for (found, golden) in found_all.iter().zip(&golden_all) {
            let (cosine, error) = (cosine(found, golden), relative_l2(found, golden));
            println!("{what}, {name}, {pooling:?}: cosine {cosine:.6}, relative L2 {error:.1e}");
            assert!(cosine > 0.9995 && error < 0.03, "{what}, {name}, {pooling:?}: {cosine}, {error}");
        }
        for batch in [64, 7, 1] {
            let mut engine = open(&fixture.path, options().pooling(pooling).batch(batch)).unwrap();
            let few = if batch == 1 { 4 } else { fixture.prompts.len() };
            for (prompt, together_) in fixture.prompts.iter().zip(&found).take(few) {
                // The second time, the prompt is cached.
                for time in ["cold", "warm"] {
                    let one = requests(&engine, std::slice::from_ref(prompt));
                    let alone = together(&mut engine, one);
                    let len = prompt.len();
                    assert!(
                        bits(&alone[0]) == bits(together_),
                        "{what}, {name}, {pooling:?}: {len} tokens alone, {time}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_cpu_computes_them() {
    check("CPU", |path, options| Some(options.open(path).unwrap()));
}

#[test]
fn the_cpu_computes_them_with_two_threads() {
    check("CPU, two threads", |path, options| Some(options.threads(2).open(path).unwrap()));
}

#[test]
fn a_gpu_computes_them() {
    check("GPU", |path, options| match options.device(choice("")).open(path) {
        Err(Error::Open(why)) if std::env::var_os("WEFT_TEST_ADAPTER").is_none() => {
            eprintln!("SKIPPED, a test on a GPU: {why}");
            None
        }
        opened => Some(opened.unwrap()),
    });
}

#[test]
#[ignore = "slow"]
fn cuda_texts_compute_them() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator");
    check("CUDA texts", |path, options| {
        let emulator = Emulator::for_test("pooled", &folder)?;
        let model = Model::open_with(path, &options).unwrap();
        Some(Engine::new(model, Box::new(emulator), &options).unwrap())
    });
}

/// More prompts than the cache has room for: some begin late, and none is computed twice for its mean.
#[test]
fn many_prompts_share_a_small_cache() {
    let fixture = Fixture::load(EMBEDDING);
    for pooling in Pooling::ALL {
        let mut engine = options().sequences(1).pooling(pooling).open(&fixture.path).unwrap();
        let mut prompts: Vec<Vec<u32>> = fixture.prompts.iter().cycle().take(40).cloned().collect();
        for (i, prompt) in prompts.iter_mut().enumerate() {
            prompt[0] = i as u32;
        }
        let all = requests(&engine, &prompts);
        let found = together(&mut engine, all);
        for (i, prompt) in prompts.iter().enumerate().step_by(7) {
            let mut fresh = options().sequences(1).pooling(pooling).open(&fixture.path).unwrap();
            let one = requests(&fresh, std::slice::from_ref(prompt));
            assert_eq!(bits(&together(&mut fresh, one)[0]), bits(&found[i]), "{pooling:?}, prompt {i}");
        }
    }
}

/// An embedding model replies to nothing, and other models have no embeddings.
#[test]
fn models_are_asked_for_what_they_compute() {
    let refused = |engine: &mut Engine, request: Request| match engine.push(request) {
        Err(Error::Batch(why)) => why,
        other => panic!("{other:?}"),
    };
    let mut engine = options().open(Fixture::load(EMBEDDING).path).unwrap();
    let text = refused(&mut engine, Request::new([1]));
    assert_eq!(text, "this model computes embeddings and writes no text: use a chat model");
    let why = refused(&mut engine, Request::pooled([1]).prompt_logprobs(1));
    assert_eq!(why, "prompt_logprobs: only a request for a reply has them");
    assert!(refused(&mut engine, Request::pooled([])).contains("empty"));
    assert!(matches!(engine.push(Request::pooled(vec![1; 129])), Err(Error::Context { .. })));
    let (mut batch, runner) = (Batch::new(), engine.inspect_mut());
    batch.push(runner.new_sequence(), 1, true);
    assert!(runner.step(&batch).unwrap_err().to_string().contains("computes embeddings and no logits"));

    let mut engine = options().open(Fixture::load(RERANKERS[0]).path).unwrap();
    assert!(
        refused(&mut engine, Request::new([1])).starts_with("this model ranks documents and writes no text")
    );
    let mut engine = options().open(Fixture::load(RERANKERS[1]).path).unwrap();
    let why = refused(&mut engine, Request::pooled([1]));
    assert!(why.starts_with("this model writes text and has no embeddings: use an embedding model"), "{why}");
    // It is a chat model all the same.
    assert_eq!(engine.complete(Request::new([1]).max_tokens(2)).unwrap().tokens.len(), 2);
}

/// Texts of an embedding model end with an EOS token. A reranker's prompt has the query and the document where its template says, and
/// no control token in them.
#[test]
fn prompts_are_those_that_the_models_were_trained_with() {
    let model = |name: &str| Model::open_with(&Fixture::load(name).path, &options()).unwrap();
    let embedding = model(EMBEDDING);
    assert_eq!(embedding.tokens("te"), [256, 283]);
    assert!(embedding.ranking().is_none());
    let decode = |model: &Model, tokens: &[u32]| model.tokenizer().decode(tokens, false);
    let reranker = model(RERANKERS[0]);
    let ranking = reranker.ranking().unwrap();
    assert_eq!(ranking.by(), RankedBy::Label(0));
    let tokens = ranking.prompt(reranker.tokenizer(), "{document}<|im_end|>", "d");
    let expected = "<|im_start|>system\nJudge.<|im_end|>\n<|im_start|>user\n<Query>: {document}<|im_end|>\n<Document>: d<|im_end|>\n\
                    <|im_start|>assistant\n<think>\n\n</think>\n\n";
    assert_eq!(decode(&reranker, &tokens), expected);
    assert_eq!(tokens.iter().filter(|token| **token == 285).count(), 2, "that of the query is text");
    let plain = model(RERANKERS[1]);
    let ranking = plain.ranking().unwrap();
    assert_eq!(ranking.by(), RankedBy::Tokens([309, 310]));
    let prompt = decode(&plain, &ranking.prompt(plain.tokenizer(), "q", "d"));
    assert!(prompt.contains("<Instruct>: Given a web search query"), "{prompt}");
    assert!(prompt.contains("<Query>: q\n<Document>: d<|im_end|>"), "{prompt}");
}
