//! LoRA adapters that requests choose: what each adds to its own rows of a step, and that nothing else changes a bit.

use std::ops::ControlFlow;
use std::path::Path;

use weft_check::Emulator;
use weft_engine::inspect::{Batch, Runner, StepShape, oracle_logits, oracle_logits_with};
use weft_engine::{AdapterFile, EngineOptions, Model, PromptCache, Request, Sampling, open_adapted};
use weft_gguf::{Gguf, Value};
use weft_quant::GgmlType;

use crate::gpu;
use crate::lora::{Adapted, MODELS, SPECS, Spec, Tensor, adapter_metadata, write};
use crate::support::{Fixture, all_logits, bits, mean_kl, relative_l2, usual};

/// The names of the adapters.
const NAMES: [&str; 2] = ["style", "terms"];

/// The adapters: the second one does not add to all matrices of the first.
const BOTH: [Spec; 2] = [SPECS[0], Spec { without: "attn_output", ..SPECS[1] }];

/// Each adapter alone, with the model that it makes.
fn apart(test: &str, fixture: &str) -> [Adapted; 2] {
    [0, 1].map(|i| Adapted::of(&format!("of-requests-{test}-{i}"), fixture, &BOTH[i..=i]))
}

/// Both as adapters that requests choose.
fn files(apart: &[Adapted; 2]) -> Vec<AdapterFile> {
    let named = apart.iter().zip(NAMES);
    named.map(|(one, name)| AdapterFile { name: Some(name.into()), ..one.adapters[0].clone() }).collect()
}

fn options(apart: &[Adapted; 2]) -> EngineOptions {
    EngineOptions::default().context(128).adapters(files(apart))
}

/// The logits of a sequence for each of `chosen`, all in the same steps of `chunk` tokens of each.
fn together(runner: &mut Runner, tokens: &[u32], chosen: &[Option<&str>], chunk: usize) -> Vec<Vec<u32>> {
    let begin = |name: &Option<&str>| {
        let seq = runner.new_sequence();
        name.iter().for_each(|name| runner.adapt(seq, name, None).unwrap());
        seq
    };
    let sequences: Vec<_> = chosen.iter().map(begin).collect();
    let mut logits = vec![Vec::new(); chosen.len()];
    for chunk in tokens.chunks(chunk) {
        let mut batch = Batch::new();
        for seq in &sequences {
            chunk.iter().for_each(|token| batch.push(*seq, *token, true));
        }
        let rows = runner.step(&batch).unwrap();
        let each = rows.chunks(rows.len() / chosen.len());
        logits.iter_mut().zip(each).for_each(|(all, rows)| all.extend(bits(rows)));
    }
    sequences.into_iter().for_each(|seq| runner.free(seq));
    logits
}

fn floats(bits: &[u32]) -> Vec<f32> {
    bits.iter().map(|bits| f32::from_bits(*bits)).collect()
}

#[test]
fn each_row_has_what_a_model_merged_with_its_adapter_computes() {
    for name in MODELS {
        let apart = apart("merged", name);
        let fixture = &apart[0].fixture;
        let model = open_adapted(&fixture.path, &files(&apart)).unwrap();
        let mut runner = fixture.runner(options(&apart));
        let [found, other] =
            NAMES.map(|own| together(&mut runner, &fixture.tokens, &[Some(own)], 512).remove(0));
        assert_ne!(found, other);
        for (i, found) in [found, other].iter().enumerate() {
            let expected = apart[i].expected();
            let oracle = oracle_logits_with(&model, &fixture.tokens, Some((i, BOTH[i].scale))).unwrap();
            let error = relative_l2(&oracle, &expected);
            let loss = mean_kl(&floats(found), &expected, fixture.vocab);
            let changed = mean_kl(&fixture.golden, &expected, fixture.vocab);
            println!("{name}, {}: oracle {error:.1e}, KL {loss:.1e} of {changed:.1e}", NAMES[i]);
            assert!(error < 1e-4 && loss <= 1.2 * fixture.int8_mean_kl, "{name}: {error} {loss}");
            assert!(changed > 20.0 * loss, "{name}: the adapter changes nothing: {changed} {loss}");
        }
        let base = oracle_logits(&Gguf::open(&fixture.path).unwrap(), &fixture.tokens).unwrap();
        assert!(bits(&base) == bits(&oracle_logits(&model, &fixture.tokens).unwrap()), "{name}");
    }
}

/// Steps in which no token has an adapter run the model's own kernels, so that adapters which nobody uses cost nothing.
#[test]
fn a_step_without_adapters_has_the_launches_of_the_model() {
    let apart = apart("launches", MODELS[0]);
    let fixture = &apart[0].fixture;
    let launches = |runner: &mut Runner, chosen: &[Option<&str>], tokens: usize| {
        together(runner, &fixture.tokens[..tokens], chosen, tokens);
        runner.launches(&StepShape { tokens: tokens * chosen.len(), depth: 0, logits: 1 }).len()
    };
    let mut base = fixture.runner(EngineOptions::default().context(128).sequences(2).threads(1));
    let mut runner = fixture.runner(options(&apart).sequences(2).threads(1));
    for tokens in [1, 20] {
        let own = launches(&mut base, &[None, None], tokens);
        assert_eq!(launches(&mut runner, &[None, None], tokens), own);
        assert!(launches(&mut runner, &[None, Some(NAMES[0])], tokens) > own);
        assert_eq!(launches(&mut runner, &[None, None], tokens), own);
    }
}

/// Checks the bits of sequences with either adapter and with none, alone and together.
fn mixed(
    (name, fixture): (&str, &Fixture),
    base: &[f32],
    chunks: &[usize],
    mut load: impl FnMut() -> Runner,
) {
    let mut runner = load();
    let alone: Vec<Vec<u32>> = [Some(NAMES[0]), Some(NAMES[1]), None]
        .into_iter()
        .map(|one| together(&mut runner, &fixture.tokens, &[one], 64).remove(0))
        .collect();
    assert!(alone[2] == bits(base), "{name}: loaded adapters change a sequence without one");
    assert!(alone[0] != alone[1] && alone[0] != alone[2] && alone[1] != alone[2], "{name}");
    let company = [Some(NAMES[1]), None, Some(NAMES[0]), None, Some(NAMES[1])];
    for chunk in chunks {
        let found = together(&mut runner, &fixture.tokens, &company, *chunk);
        for (found, expected) in found.iter().zip([1, 2, 0, 2, 1]) {
            assert!(*found == alone[expected], "{name}: {chunk} tokens a step, sequence like {expected}");
        }
    }
    // A factor of 0 is none, and one of a request takes the place of the adapter's own.
    for (scale, like) in [(0.0, Some(2)), (BOTH[0].scale, Some(0)), (0.25, None)] {
        let seq = runner.new_sequence();
        runner.adapt(seq, NAMES[0], Some(scale)).unwrap();
        let mut batch = Batch::new();
        fixture.tokens.iter().take(64).for_each(|token| batch.push(seq, *token, true));
        let found = bits(runner.step(&batch).unwrap());
        runner.free(seq);
        let equal = |at: &usize| alone[*at].starts_with(&found);
        assert_eq!((0..3).find(equal), like, "{name}: scale {scale}");
    }
}

#[test]
fn bits_do_not_depend_on_the_adapters_of_other_sequences() {
    for name in MODELS.into_iter().chain(["qwen3moe-tiny-q4_k_m", "qwen35moe-tiny-q4_0", "gemma3-tiny-q4_0"])
    {
        let apart = apart("mixed", name);
        let fixture = &apart[0].fixture;
        mixed((name, fixture), &usual(fixture), &[1, 7, 16], || {
            fixture.runner(options(&apart).sequences(5).threads(1))
        });
    }
}

#[test]
fn bits_do_not_depend_on_the_adapters_of_other_sequences_on_a_gpu() {
    let apart = apart("gpu", MODELS[1]);
    let fixture = &apart[0].fixture;
    let usual =
        |options: EngineOptions| gpu::load(&fixture.path, options.context(128).batch(128).sequences(5));
    let Some(mut base) = usual(EngineOptions::default()) else { return };
    let base = all_logits(&mut base, &fixture.tokens, 64);
    mixed((MODELS[1], fixture), &base, &[1, 7, 16], || usual(options(&apart)).unwrap());
}

#[test]
fn bits_do_not_depend_on_the_adapters_of_other_sequences_in_cuda_texts() {
    in_cuda_texts("emulator", &[7]);
}

#[test]
#[ignore = "slow"]
fn bits_in_cuda_texts_do_not_depend_on_them_in_steps_of_other_lengths() {
    in_cuda_texts("emulator in other steps", &[1, 16]);
}

fn in_cuda_texts(test: &str, chunks: &[usize]) {
    let apart = apart(test, MODELS[1]);
    let fixture = &apart[0].fixture;
    let emulator = || Emulator::for_test("lora", &Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator"));
    let load = |options: EngineOptions| {
        let options = options.context(128).batch(128).sequences(5);
        let model = Model::open_with(&fixture.path, &options).unwrap();
        Some(Runner::new(model, Box::new(emulator()?), &options, &mut |_| ControlFlow::Continue(())).unwrap())
    };
    let Some(mut base) = load(EngineOptions::default()) else { return };
    let base = all_logits(&mut base, &fixture.tokens, 64);
    mixed((MODELS[1], fixture), &base, chunks, || load(options(&apart)).unwrap());
}

fn greedy(prompt: &[u32]) -> Request {
    Request::new(prompt).logprobs(4).max_tokens(12).ignore_end(true).sampling(Sampling::greedy())
}

#[test]
fn pages_of_a_prompt_are_shared_by_requests_of_the_same_adapter_and_scale_only() {
    let apart = apart("pages", MODELS[0]);
    let fixture = &apart[0].fixture;
    let prompt: Vec<u32> = fixture.tokens.iter().copied().cycle().take(100).collect();
    let requests = || {
        let [one, two] = NAMES;
        [
            greedy(&prompt),
            greedy(&prompt).adapter(one, None),
            greedy(&prompt).adapter(one, 0.25),
            greedy(&prompt).adapter(two, None),
        ]
    };
    let prompts = || PromptCache::new(apart[0].folder.join("prompts"), u64::MAX);
    let mut replies = Vec::new();
    for (run, from_disk) in [(0, false), (1, true)] {
        let mut engine = options(&apart).context(256).prompts(prompts()).open(&fixture.path).unwrap();
        for (at, request) in requests().into_iter().enumerate() {
            let reply = engine.complete(request).unwrap();
            assert_eq!(reply.usage.cached_tokens > 0, from_disk, "run {run}, request {at}");
            assert!(replies.iter().take(at).all(|other| *other != reply.tokens), "request {at}");
            if run == 0 {
                replies.push(reply.tokens);
            } else {
                assert_eq!(reply.tokens, replies[at], "request {at} from disk");
            }
        }
        for (at, request) in requests().into_iter().enumerate() {
            let reply = engine.complete(request).unwrap();
            assert!(reply.usage.cached_tokens >= 64, "run {run}, request {at} again");
            assert_eq!(reply.tokens, replies[at], "request {at} again");
        }
        while engine.idle().unwrap() {}
    }
    // The pages of requests without an adapter are those of the model.
    let mut engine = EngineOptions::default().context(256).prompts(prompts()).open(&fixture.path).unwrap();
    let reply = engine.complete(greedy(&prompt)).unwrap();
    assert!(reply.usage.cached_tokens > 0 && reply.tokens == replies[0]);
}

#[test]
fn generations_with_different_adapters_run_side_by_side_with_speculation() {
    let apart = apart("engine", MODELS[1]);
    let fixture = &apart[0].fixture;
    let prompt: Vec<u32> = fixture.tokens.iter().copied().take(20).cycle().take(60).collect();
    let chosen = [None, Some(NAMES[0]), Some(NAMES[1]), Some(NAMES[0])];
    let request = |name: &Option<&str>| {
        let request = greedy(&prompt).max_tokens(24);
        name.iter().fold(request, |request, name| request.adapter(*name, None))
    };
    let alone: Vec<_> = {
        let mut engine = options(&apart).open(&fixture.path).unwrap();
        chosen.iter().map(|name| engine.complete(request(name).cache(false)).unwrap().tokens).collect()
    };
    let mut engine =
        options(&apart).sequences(4).speculate(weft_engine::Speculate::Lookup).open(&fixture.path).unwrap();
    let mut all: Vec<_> = chosen.iter().map(|name| engine.push(request(name)).unwrap()).collect();
    while engine.step().unwrap() {}
    for (generation, alone) in all.iter_mut().zip(&alone) {
        let mut tokens = Vec::new();
        while let Some(event) = generation.poll() {
            if let weft_engine::Event::Token(token) = event {
                tokens.push(token);
            }
        }
        assert_eq!(tokens, *alone);
    }
}

#[test]
fn requests_and_files_that_do_not_fit_are_refused_with_the_reason() {
    let apart = apart("refused", MODELS[1]);
    let fixture = &apart[0].fixture;
    let mut engine = options(&apart).open(&fixture.path).unwrap();
    let refused = |engine: &mut weft_engine::Engine, name: &str, scale: f32| {
        engine.push(greedy(&fixture.tokens).adapter(name, scale)).err().unwrap().to_string()
    };
    let unknown = refused(&mut engine, "other", 1.0);
    assert!(
        unknown.contains("no LoRA adapter `other`")
            && unknown.contains("it has `style` (number 0), `terms` (number 1)"),
        "{unknown}"
    );
    assert!(refused(&mut engine, "style", f32::NAN).contains("NaN: expected a finite number"));
    let mut without = EngineOptions::default().context(128).open(&fixture.path).unwrap();
    assert!(refused(&mut without, "style", 1.0).contains("it has none"));

    let open = |adapters: Vec<AdapterFile>| {
        let opened = EngineOptions::default().context(128).adapters(adapters).open(&fixture.path);
        opened.err().unwrap().to_string()
    };
    let file =
        |name: &str, path: &Path| AdapterFile { name: Some(name.into()), path: path.into(), scale: 1.0 };
    let path = &apart[0].adapters[0].path;
    let twice = open(vec![file("a", path), file("a", path)]);
    assert!(twice.contains("another adapter is named `a`"), "{twice}");
    let unnamed = open(vec![file("a b", path)]);
    assert!(unnamed.contains("`a b` is no name"), "{unnamed}");
    let many = open((0..65).map(|i| file(&format!("a{i}"), path)).collect());
    assert!(many.contains("one of 65 adapters") && many.contains("at most 64"), "{many}");
    let scale = open(vec![AdapterFile { scale: f32::INFINITY, ..file("a", path) }]);
    assert!(scale.contains("its scale is inf"), "{scale}");

    let model = Gguf::open(&fixture.path).unwrap();
    let wrong = apart[0].folder.join("wrong.gguf");
    let mut other = adapter_metadata(&model, None);
    other.insert("general.architecture", Value::String("llama".into()));
    write(&wrong, other, &[]);
    assert!(open(vec![file("a", &wrong)]).contains("for models of architecture `llama`"));
    let experts = model.tensor("blk.1.ffn_gate_inp.weight").unwrap().shape.clone();
    let tensor = |which: &str, shape: [u64; 2]| -> Tensor {
        let bytes = vec![0; 4 * (shape[0] * shape[1]) as usize];
        (format!("blk.1.ffn_gate_inp.weight.{which}"), GgmlType::F32, shape.to_vec(), bytes)
    };
    let pair = [tensor("lora_a", [experts[0], 2]), tensor("lora_b", [2, experts[1]])];
    write(&wrong, adapter_metadata(&model, None), &pair);
    let router = open(vec![file("good", path), file("a", &wrong)]);
    assert!(router.contains("wrong.gguf") && router.contains("not embeddings, experts, routers"), "{router}");
}
