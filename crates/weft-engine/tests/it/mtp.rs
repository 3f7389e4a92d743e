//! The layer that predicts one token more: what it computes, and that its guesses change no reply.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use weft_check::Emulator;
use weft_cpu::{CpuDevice, CpuOptions};
use weft_engine::inspect::{Batch, Pending, Prediction, Runner, SeqId};
use weft_engine::{
    Engine, EngineOptions, Error, Event, Generation, PromptCache, Request, Sampling, Speculate,
};
use weft_gguf::{Gguf, Metadata, Value, Writer};
use weft_ir::{Sizes, Tensor};
use weft_models::BuildOptions;
use weft_quant::GgmlType;
use weft_random::Random;

use crate::gpu;
use crate::support::{Fixture, THREADS};

const PAGE: usize = 32;

/// A fixture with a layer for one token more, in a folder that is removed when dropped. The layer is made of parts of
/// others, so its guesses are seldom right.
struct Predicting {
    folder: PathBuf,
    path: PathBuf,
    fixture: Fixture,
    /// A text.
    tokens: Vec<u32>,
}

impl Predicting {
    fn new(test: &str) -> Predicting {
        let fixture = Fixture::load("glm-tiny-q8_0");
        let folder = std::env::temp_dir().join(format!("weft-engine-mtp-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("model.gguf");
        write(&fixture.path, &path, false);
        let mut random = Random::new(1);
        let tokens = (0..80).map(|_| random.below(fixture.vocab) as u32).collect();
        Predicting { folder, path, fixture, tokens }
    }

    fn runner(&self, options: EngineOptions) -> Runner {
        Runner::load(&self.path, &options, &mut |_| ControlFlow::Continue(())).unwrap()
    }
}

impl Drop for Predicting {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Writes a copy of a model with three layers that has a fourth block, which predicts one token more. With `float`, all of its
/// weights are `f32`.
fn write(from: &Path, to: &Path, float: bool) {
    let model = Gguf::open(from).unwrap();
    let mut metadata = Metadata::new();
    for (key, value) in model.metadata().iter() {
        metadata.insert(key, value.clone());
    }
    metadata.insert("deepseek2.block_count", Value::U32(4));
    metadata.insert("deepseek2.nextn_predict_layers", Value::U32(1));
    let hidden = model.metadata().u32("deepseek2.embedding_length").unwrap().unwrap() as usize;
    let copy = |name: &str, from: &str| {
        let tensor = model.tensor(from).unwrap();
        let (ty, bytes) = (tensor.ty, model.data(tensor).to_vec());
        let (ty, bytes) =
            if float { (GgmlType::F32, decoded(ty, &bytes, tensor.values() as usize)) } else { (ty, bytes) };
        (name.to_string(), ty, tensor.shape.clone(), bytes)
    };
    let mut all: Vec<_> = model.tensors().iter().map(|tensor| copy(&tensor.name, &tensor.name)).collect();
    for tensor in model.tensors() {
        // Attention of one layer, experts of another.
        if let Some(name) = tensor.name.strip_prefix("blk.2.") {
            let from = if name.starts_with("attn") { 1 } else { 2 };
            all.push(copy(&format!("blk.3.{name}"), &format!("blk.{from}.{name}")));
        }
    }
    let mut random = Random::new(5);
    let mut values = |count: usize, centre: f32, scale: f32| -> Vec<f32> {
        (0..count).map(|_| centre + scale * (random.below(2001) as f32 / 1000.0 - 1.0)).collect()
    };
    let mut add = |name: &str, ty: GgmlType, shape: &[u64], values: Vec<f32>| {
        let mut bytes = vec![0; ty.row_bytes(values.len() as u64).unwrap() as usize];
        weft_quant::encode(ty, &values, &mut bytes).unwrap();
        all.push((format!("blk.3.nextn.{name}.weight"), ty, shape.to_vec(), bytes));
    };
    for norm in ["enorm", "hnorm", "shared_head_norm"] {
        add(norm, GgmlType::F32, &[hidden as u64], values(hidden, 1.0, 0.3));
    }
    let project = values(2 * hidden * hidden, 0.0, (1.5 / hidden as f32).sqrt());
    add(
        "eh_proj",
        if float { GgmlType::F32 } else { GgmlType::Q8_0 },
        &[2 * hidden as u64, hidden as u64],
        project,
    );
    let mut writer = Writer::new(metadata).unwrap();
    for (name, ty, shape, _) in &all {
        writer.declare(name, *ty, shape).unwrap();
    }
    let mut data = writer.create(to).unwrap();
    all.iter().for_each(|(name, _, _, bytes)| data.write(name, bytes).unwrap());
    data.finish().unwrap();
}

fn decoded(ty: GgmlType, bytes: &[u8], count: usize) -> Vec<u8> {
    let mut values = vec![0.0; count];
    weft_quant::decode(ty, bytes, &mut values).unwrap();
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

fn options() -> EngineOptions {
    EngineOptions::default().threads(THREADS).context(256).batch(24).speculate(Speculate::Mtp(1))
}

/// Computes tokens, in steps of at most `most`.
fn compute(runner: &mut Runner, seq: SeqId, tokens: &[u32], most: usize) {
    for tokens in tokens.chunks(most) {
        let mut batch = Batch::new();
        tokens.iter().for_each(|token| batch.push(seq, *token, false));
        runner.step(&batch).unwrap();
    }
}

fn predict(runner: &mut Runner, seq: SeqId, tokens: &[u32]) -> Prediction {
    runner.predict(&[Pending::new(seq, tokens)]).unwrap()[0][0]
}

/// The oracle's logits: those of the token after the next, for each row that knows its next token; and those of `further` tokens after
/// these, each from the likeliest one before.
fn oracle(path: &Path, tokens: &[u32], further: usize) -> Vec<Vec<f32>> {
    let gguf = Gguf::open(path).unwrap();
    let options = BuildOptions { kv: GgmlType::F32, page: PAGE, pooling: None };
    let model = weft_models::build(&gguf, &options).unwrap();
    let mtp = weft_models::mtp(&model, &gguf, &options).unwrap().unwrap();
    let (len, vocab) = (tokens.len() - 1, model.config.vocab);
    let pages = (len + further + 1).div_ceil(PAGE);
    let mut values = model.oracle_states(pages * PAGE);
    let sizes = Sizes::of(len).rows(len).slots(pages * PAGE).pages(pages);
    let ids = |from: &[u32]| from.iter().map(|token| *token as i32).collect::<Vec<_>>();
    let all = || (0..len as i32).collect::<Vec<_>>();
    let list: Vec<i32> = (0..pages as i32).collect();
    for (name, data) in [
        ("tokens", ids(&tokens[..len])),
        ("pos", all()),
        ("slots", all()),
        ("first", vec![0; len]),
        ("pages", list),
        ("out_rows", all()),
        ("next_slots", (1..=len as i32).collect()),
    ] {
        values.insert(name.into(), Tensor::i32([data.len()], data));
    }
    model.eval(&gguf, &sizes, &mut values).unwrap();
    for name in ["hidden", "kv"] {
        let width = mtp
            .segments
            .iter()
            .flat_map(|segment| segment.graph.nodes())
            .find_map(|node| match &node.op {
                weft_ir::Op::State { name: own, .. } if own == name => node.ty.shape.last(),
                _ => None,
            })
            .unwrap();
        values.insert(name.into(), Tensor::f32([pages * PAGE, width], vec![0.0; pages * PAGE * width]));
    }
    weft_ir::eval(&mtp.hidden.graph, &sizes, &mtp.hidden.rows(&gguf), &mut values).unwrap();
    values.insert("tokens".into(), Tensor::i32([len], ids(&tokens[1..])));
    let mut logits: Vec<Vec<f32>> = Vec::new();
    for step in 0..=further {
        let mut sizes = sizes;
        if step > 0 {
            let at = (len + step - 1) as i32;
            sizes = Sizes::of(1).rows(1).slots(pages * PAGE).pages(pages);
            let token = best_two(logits.last().unwrap())[0] as i32;
            let row = [
                ("tokens", token),
                ("pos", at),
                ("slots", at),
                ("first", 0),
                ("out_rows", 0),
                ("next_slots", at + 1),
            ];
            row.into_iter().for_each(|(name, value)| {
                values.insert(name.into(), Tensor::i32([1], vec![value]));
            });
        }
        for segment in &mtp.segments {
            weft_ir::eval(&segment.graph, &sizes, &segment.rows(&gguf), &mut values).unwrap();
        }
        let found = values.remove("logits").unwrap();
        logits.extend(found.as_f32().unwrap().chunks(vocab).map(<[f32]>::to_vec));
    }
    logits
}

/// The likeliest token and the next best.
fn best_two(logits: &[f32]) -> [usize; 2] {
    let mut order: Vec<usize> = (0..logits.len()).collect();
    order.sort_by(|a, b| logits[*b].total_cmp(&logits[*a]));
    [order[0], order[1]]
}

#[test]
fn predictions_are_those_of_the_oracle() {
    let mut model = Predicting::new("oracle");
    model.path = model.folder.join("float.gguf");
    write(&model.fixture.path, &model.path, true);
    let tokens = &model.tokens[..45];
    let expected = oracle(&model.path, tokens, 0);
    let mut runner = model.runner(options().kv(GgmlType::F32));
    assert!(runner.predicts());
    let seq = runner.new_sequence();
    for (i, logits) in expected.iter().enumerate() {
        compute(&mut runner, seq, &tokens[i..=i], 1);
        let Prediction { token, margin } = predict(&mut runner, seq, &tokens[..i + 2]);
        let [best, next] = best_two(logits);
        let exact = logits[best] - logits[next];
        assert_eq!(token as usize, best, "{i}");
        assert!((margin - exact).abs() < 0.02, "{i}: {margin}, {exact}");
    }
}

/// Each further prediction comes from the layer's own hidden state and the prediction before, and leaves no trace.
#[test]
fn further_predictions_are_those_of_the_oracle() {
    let mut model = Predicting::new("further");
    model.path = model.folder.join("float.gguf");
    write(&model.fixture.path, &model.path, true);
    let mut runner = model.runner(options().kv(GgmlType::F32));
    let seq = runner.new_sequence();
    let mut computed = 0;
    // Lengths within a page, and beyond its end.
    for len in [1, 2, 20, 29, 30, 31, 32, 33, 45] {
        let tokens = &model.tokens[..=len];
        compute(&mut runner, seq, &tokens[computed..len], 7);
        computed = len;
        let expected = oracle(&model.path, tokens, 3);
        for most in [4, 1, 3] {
            let found = runner.predict(&[Pending { most, ..Pending::new(seq, tokens) }]).unwrap().remove(0);
            assert_eq!(found.len(), most);
            for (place, (found, logits)) in found.iter().zip(&expected[len - 1..]).enumerate() {
                let [best, next] = best_two(logits);
                assert_eq!(found.token as usize, best, "{len}, {place}");
                assert!((found.margin - (logits[best] - logits[next])).abs() < 0.02, "{len}, {place}");
            }
        }
    }
}

/// A prediction depends on nothing but the tokens before it: not on how they were cut into steps, when it was asked for, what was guessed
/// and removed, or what else was computed.
fn check_ways(runner: &mut Runner, tokens: &[u32], case: &str) {
    let most = tokens.len() - 1;
    let seq = runner.new_sequence();
    // Step by step, asked for each time.
    let expected: Vec<Prediction> = (0..most)
        .map(|i| {
            compute(runner, seq, &tokens[i..=i], 1);
            predict(runner, seq, &tokens[..i + 2])
        })
        .collect();
    // All tokens in one step, and then the same again.
    for len in [1, 2, 31, 32, 33, most] {
        if len > most {
            continue;
        }
        let seq = runner.new_sequence();
        compute(runner, seq, &tokens[..len], 17);
        for _ in 0..2 {
            assert_eq!(predict(runner, seq, &tokens[..len + 1]), expected[len - 1], "{case} {len}");
        }
        runner.free(seq);
    }
    // With right and wrong guesses between, and another sequence in the same steps.
    let (seq, other) = (runner.new_sequence(), runner.new_sequence());
    compute(runner, other, &tokens[5..20], 15);
    compute(runner, seq, &tokens[..10], 10);
    let mut len = 10;
    let mut random = Random::new(3);
    while len + 9 < most {
        let (right, wrong) = (random.below(3), random.below(4));
        let mut batch = Batch::new();
        batch.push(other, tokens[random.below(most)], true);
        tokens[len..=len + right].iter().for_each(|token| batch.push(seq, *token, true));
        (0..wrong).for_each(|_| batch.push(seq, 7, true));
        runner.step(&batch).unwrap();
        len += 1 + right;
        runner.truncate(seq, len);
        if random.below(3) > 0 {
            let asks = [Pending::new(other, tokens), Pending::new(seq, &tokens[..len + 1])];
            let from = random.below(2);
            let found = runner.predict(&asks[from..]).unwrap();
            assert_eq!(found.last(), Some(&vec![expected[len - 1]]), "{case} {len}");
        }
    }
}

#[test]
fn predictions_do_not_depend_on_the_way() {
    let model = Predicting::new("way");
    for kv in [GgmlType::F16, GgmlType::Q8_0, GgmlType::Q4_0] {
        let mut runner = model.runner(options().sequences(4).kv(kv));
        check_ways(&mut runner, &model.tokens[..60], &kv.to_string());
    }
}

/// Requests with common beginnings, greedy and sampled.
fn request(tokens: &[u32], i: usize) -> Request {
    let sampling = Sampling::default().temperature((i % 2) as f32).seed(i as u64);
    let prompt = if i.is_multiple_of(4) { &tokens[i..] } else { &tokens[..33 + i % 7] };
    Request::new(prompt).ignore_end(true).max_tokens(30 + 5 * i).sampling(sampling).logprobs(2)
}

const REQUESTS: usize = 10;

fn events(one: &mut Generation) -> Vec<Event> {
    let tokens = |event: &Event| matches!(event, Event::Token(_) | Event::Finished(_));
    std::iter::from_fn(|| one.poll()).filter(tokens).collect()
}

/// The events of all requests, computed together, twice: then with the prefix cache that the first time has left.
fn replies(engine: &mut Engine, tokens: &[u32]) -> Vec<Vec<Event>> {
    let mut all = Vec::new();
    for _ in 0..2 {
        let push = |i| engine.push(request(tokens, i)).unwrap();
        let mut pushed: Vec<Generation> = (0..REQUESTS).map(push).collect();
        while engine.step().unwrap() {}
        all.extend(pushed.iter_mut().map(events));
    }
    all
}

#[test]
fn predictions_change_no_reply() {
    let model = Predicting::new("replies");
    let tokens = &model.tokens;
    // Without the layer, and without speculation.
    let off = options().speculate(Speculate::Off).sequences(8);
    let expected = replies(&mut off.open(&model.fixture.path).unwrap(), tokens);
    assert_eq!(replies(&mut off.open(&model.path).unwrap(), tokens), expected);
    for (sequences, batch) in [(8, 24), (1, 24), (1, 7), (2, 64)] {
        let mut preempted = 0;
        for speculate in [1, 2, 3, 4].map(Speculate::Mtp).into_iter().chain([Speculate::Auto]) {
            let options = options().sequences(sequences).batch(batch).speculate(speculate.clone());
            let mut engine = options.open(&model.path).unwrap();
            let case = format!("{speculate:?}, {sequences} sequences, batches of {batch}");
            assert_eq!(replies(&mut engine, tokens), expected, "{case}");
            let stats = engine.stats();
            assert_eq!((stats.running, stats.waiting, stats.pages_held), (0, 0, 0), "{case}");
            preempted += stats.preempted;
            if speculate != Speculate::Auto {
                assert!(stats.speculation.guessed > 200, "{case}: {:?}", stats.speculation);
            }
        }
        assert!(preempted > 0 || sequences > 1, "{sequences} sequences, batches of {batch}");
    }
}

/// Also with a cache of prompts on disk. Pages that an engine without the layer has written are not read from it.
#[test]
fn predictions_go_on_after_a_restart() {
    let model = Predicting::new("restart");
    let tokens = &model.tokens;
    let cache = PromptCache::new(model.folder.join("prompts"), u64::MAX);
    let complete = |options: EngineOptions| {
        let mut engine = options.prompts(cache.clone()).open(&model.path).unwrap();
        let reply = engine.complete(request(tokens, 4)).unwrap();
        while engine.idle().unwrap() {}
        (reply.tokens, reply.usage, engine.stats().prompt_cache.restored)
    };
    let off = complete(options().speculate(Speculate::Off));
    let cold = complete(options());
    assert_eq!((&off.0, off.2, cold.2), (&cold.0, 0, 0));
    let warm = complete(options());
    assert_eq!(warm.0, cold.0);
    assert!(warm.2 > 0 && warm.1.cached_tokens > 0);
    // The guesses are also the same.
    assert_eq!((warm.1.guessed, warm.1.accepted), (cold.1.guessed, cold.1.accepted));
    assert!(warm.1.guessed > 20, "{:?}", warm.1);
    assert!(complete(options().speculate(Speculate::Off)).2 > 0);
}

#[test]
fn without_speculation_the_layer_costs_nothing() {
    let model = Predicting::new("off");
    let bytes = |path: &PathBuf, speculate| {
        let cpu = CpuDevice::new(CpuOptions { threads: Some(1), ..CpuOptions::default() }).unwrap();
        let opened = weft_engine::Model::open(path, GgmlType::F16).unwrap();
        let folder = model.folder.join("bytes");
        let options = options().speculate(speculate).prompts(PromptCache::new(&folder, u64::MAX));
        let mut engine = Engine::new(opened, Box::new(cpu), &options).unwrap();
        engine.complete(request(&model.tokens, 0)).unwrap();
        while engine.idle().unwrap() {}
        let page = PromptCache::new(&folder, u64::MAX).usage().unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let runner = engine.inspect();
        let launches = runner.kernels(weft_engine::inspect::PlansId::LOADED, 1).unwrap();
        (page.bytes / page.pages, launches, runner.predicts())
    };
    let plain = bytes(&model.fixture.path, Speculate::Off);
    assert_eq!(bytes(&model.path, Speculate::Off), plain);
    assert_eq!(bytes(&model.path, Speculate::Lookup), plain);
    assert_eq!(bytes(&model.fixture.path, Speculate::Auto), plain, "there is no layer to load");
    let with = bytes(&model.path, Speculate::Mtp(1));
    assert!(with.0 > plain.0 && with.1 > plain.1 && with.2, "{with:?} {plain:?}");

    let Err(Error::Option(why)) = options().open(&model.fixture.path) else { panic!("there is no layer") };
    assert!(why.contains("nextn"), "{why}");
}

#[test]
fn predictions_on_a_gpu() {
    let model = Predicting::new("gpu");
    let Some(mut runner) = gpu::load(&model.path, options().sequences(4)) else { return };
    check_ways(&mut runner, &model.tokens[..40], "GPU");
    drop(runner);
    check_few_replies(&model.tokens, |options| options.device(gpu::choice("")).open(&model.path).unwrap());
}

/// CUDA texts, on the CPU.
#[test]
#[ignore = "slow"]
fn predictions_of_emulated_cuda() {
    let model = Predicting::new("emulator");
    let emulator = || Emulator::for_test("mtp", &Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator"));
    let open = || weft_engine::Model::open(&model.path, GgmlType::F16).unwrap();
    let Some(device) = emulator() else { return };
    let go_on = &mut |_| ControlFlow::Continue(());
    let mut runner = Runner::new(open(), Box::new(device), &options().sequences(4), go_on).unwrap();
    assert!(runner.predicts());
    check_ways(&mut runner, &model.tokens[..34], "CUDA");
    drop(runner);
    check_few_replies(&model.tokens, |options| {
        Engine::new(open(), Box::new(emulator().unwrap()), &options).unwrap()
    });
}

/// Four short requests, computed together, have the same events with the layer's guesses and without; for devices that are slow.
fn check_few_replies(tokens: &[u32], open: impl Fn(EngineOptions) -> Engine) {
    let replies = |speculate: Speculate| {
        let mut engine = open(options().sequences(4).speculate(speculate));
        let push = |i| engine.push(request(&tokens[..40], i).max_tokens(12)).unwrap();
        let mut pushed: Vec<Generation> = (0..4).map(push).collect();
        while engine.step().unwrap() {}
        let replies: Vec<Vec<Event>> = pushed.iter_mut().map(events).collect();
        (replies, engine.stats().speculation.guessed)
    };
    let (expected, none) = replies(Speculate::Off);
    let (found, guessed) = replies(Speculate::Mtp(3));
    assert_eq!(found, expected);
    assert!(none == 0 && guessed > 20, "{none}, {guessed}");
}
