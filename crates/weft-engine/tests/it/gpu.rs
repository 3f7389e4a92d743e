//! The engine on a GPU, in software if there is no other.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::packed_models::{Folder, packed};
use crate::support::{Fixture, all_logits, bits, fixtures, mean_kl};
use crate::ties::{MOST_TURNED, either_side, mean_kl_of_nearest};
use weft_device::Scheduled;
use weft_engine::inspect::{ExplainOptions, Runner, StepShape, cost_model, explain};
use weft_engine::{BACKENDS, Decision, DeviceChoice, EngineOptions, Error, Mode, PackCache, Switches};
use weft_quant::GgmlType;

/// The best GPU, or with `:NAME` the one of that name. `WEFT_TEST_GPU` says which backend's: `gpu`, unless it is set.
pub(crate) fn choice(name: &str) -> DeviceChoice {
    let backend = std::env::var("WEFT_TEST_GPU").unwrap_or_else(|_| "gpu".into());
    format!("{backend}{name}").parse().unwrap()
}

/// A runner on the best GPU. Without a GPU, the test is skipped with a message, or fails if `WEFT_TEST_ADAPTER` is set.
pub(crate) fn load(path: &Path, options: EngineOptions) -> Option<Runner> {
    let options = options.device(choice(""));
    match Runner::load(path, &options, &mut |_| ControlFlow::Continue(())) {
        Err(Error::Open(why)) if std::env::var_os("WEFT_TEST_ADAPTER").is_none() => {
            // Not `eprintln`, which the harness captures.
            let _ = writeln!(std::io::stderr(), "SKIPPED, a test on a GPU: {why}");
            None
        }
        loaded => Some(loaded.unwrap()),
    }
}

/// Like [`load`], with a fixture.
fn runner(fixture: &Fixture, options: EngineOptions) -> Option<Runner> {
    load(&fixture.path, options)
}

/// Fixtures that between them have each kind of attention and of experts, and quantised weights of most forms.
const SOME: [&str; 10] = [
    "deepseek32-tiny-q4_0",
    "ds2-tiny-q4_0",
    "gemma3-tiny-q4_0",
    "glm-dsa-odd-q5_0",
    "glm-tiny-q4_k_m",
    "glm5-next-odd-q5_0",
    "gpt-oss-tiny-mxfp4",
    "llama-tiny-few-bits",
    "qwen35moe-tiny-q4_0",
    "qwen3moe-tiny-q4_k_m",
];

#[test]
fn a_gpu_is_as_accurate_as_the_cpu() {
    accurate(SOME.into_iter());
}

#[test]
#[ignore = "slow"]
fn a_gpu_is_as_accurate_as_the_cpu_with_all_fixtures() {
    let all = fixtures();
    let others = |name: &&str| !SOME.contains(name);
    accurate(all.iter().map(|(name, _)| name.as_str()).filter(others));
}

/// Compares a GPU's logits with the golden ones.
fn accurate<'a>(names: impl Iterator<Item = &'a str>) {
    for name in names {
        let fixture = Fixture::load(name);
        let Some(mut runner) = runner(&fixture, EngineOptions::default().context(128).batch(128)) else {
            return;
        };
        let logits = all_logits(&mut runner, &fixture.tokens, 128);
        check_loss(&fixture, &logits, &format!("{name} on {}", runner.device().name));
    }
}

/// Checks that logits of all tokens of a fixture are as near to the golden ones as llama.cpp's; where they are not, to those of ties
/// decided either way.
fn check_loss(fixture: &Fixture, logits: &[f32], what: &str) {
    let (bound, vocab) = (1.2 * fixture.int8_mean_kl, fixture.vocab);
    let kl = mean_kl(logits, &fixture.golden, vocab);
    println!("{what}: mean KL {kl:.2e}, at most {bound:.2e}");
    if kl > bound {
        let (kl, turned) = mean_kl_of_nearest(logits, &either_side(fixture), vocab);
        println!("{what}: mean KL {kl:.2e} with ties decided either way, for {turned} tokens");
        assert!(kl <= bound && turned <= MOST_TURNED, "{what}: {kl}, {turned} tokens");
    }
}

#[test]
fn packed_models_compute_the_same_bits() {
    let folder = Folder::new("packed-gpu");
    for name in ["glm-tiny-q4_k_m", "mixtral-tiny-q4_0"] {
        let logits = |fixture: &Fixture| {
            let mut runner = runner(fixture, EngineOptions::default().context(128).batch(32))?;
            Some(bits(&all_logits(&mut runner, &fixture.tokens, 7)))
        };
        let Some(expected) = logits(&Fixture::load(name)) else { return };
        assert!(logits(&packed(&folder, name)).unwrap() == expected, "{name}");
    }
}

/// Rows of these caches are odd numbers of blocks, so every other row begins in the middle of a word.
#[test]
fn an_8_bit_cache_at_most_doubles_the_loss() {
    for name in ["ds2-tiny-q4_0", "glm-tiny-q4_0"] {
        let fixture = Fixture::load(name);
        let options = EngineOptions::default().context(128).batch(128).kv(GgmlType::Q8_0);
        let Some(mut runner) = runner(&fixture, options) else { return };
        let logits = all_logits(&mut runner, &fixture.tokens, 48);
        let kl = mean_kl(&logits, &fixture.golden, fixture.vocab);
        println!("{name}, 8-bit cache: mean KL {kl:.2e}, llama.cpp's int8 path {:.2e}", fixture.int8_mean_kl);
        assert!(kl <= 2.0 * fixture.int8_mean_kl, "{name}: {kl}");
    }
}

/// Plans for steps of different sizes, or from before and after a measurement of the device, may differ in decisions by
/// cost, which must not change bits. Decisions that change bits do not depend on measurements.
#[test]
#[ignore = "slow"]
fn decisions_by_cost_change_no_bit() {
    let fixture = Fixture::load("glm-tiny-q4_k_m");
    let options = EngineOptions::default().context(128).batch(32);
    let Some(any) = runner(&fixture, options) else { return };
    let costs = cost_model(&any.device().hardware, None);
    let is_by_cost = |decision: &&Decision| decision.default == Mode::ByCost && costs.keeps_bits(decision);
    let by_cost: Vec<_> = weft_fuse::decisions().filter(is_by_cost).collect();
    assert!(by_cost.len() >= 2, "{by_cost:?}");
    for decision in by_cost {
        let logits = [Mode::On, Mode::Off].map(|mode| {
            let mut switches = Switches::default();
            switches.set(decision, mode);
            let options = EngineOptions::default().context(128).batch(32).switches(switches);
            let mut runner = runner(&fixture, options)?;
            Some([1, 24].map(|chunk| bits(&all_logits(&mut runner, &fixture.tokens[..24], chunk))))
        });
        let [Some(on), Some(off)] = logits else { return };
        assert!(on == off, "{} changes bits", decision.name);
    }
}

#[test]
fn steps_of_any_size_give_the_same_bits() {
    for name in ["glm-tiny-q4_k_m", "glm-dsa-tiny-q4_0", "glm5-next-tiny-q4_0", "qwen35-odd-q8_0"] {
        let fixture = Fixture::load(name);
        let options = EngineOptions::default().context(128).batch(32);
        let Some(mut runner) = runner(&fixture, options) else { return };
        let mut first = None;
        for chunk in [1, 5, 32] {
            let tokens = &fixture.tokens[..24];
            let logits = all_logits(&mut runner, tokens, chunk);
            let kl = mean_kl(&logits, &fixture.golden[..logits.len()], fixture.vocab);
            println!("{name}, {chunk} tokens at once: mean KL {kl:.2e}");
            let first = first.get_or_insert_with(|| bits(&logits));
            assert!(*first == bits(&logits), "{name}: {chunk} tokens at once give other bits than 1");
            assert!(kl <= 1.2 * fixture.int8_mean_kl, "{name}, {chunk} at once: {kl}");
        }
    }
}

/// Whatever a file of schedules says, results stay accurate and batch-invariant.
#[test]
#[ignore = "slow"]
fn kept_schedules_keep_results_batch_invariant() {
    let fixture = Fixture::load("glm-tiny-q4_k_m");
    let folder =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kept-{}", std::process::id()));
    let cache = Some(PackCache::new(folder.clone()));
    let options = EngineOptions::default().context(128).batch(32).cache(cache);
    let Some(mut first) = runner(&fixture, options.clone()) else { return };
    let tokens = &fixture.tokens[..24];
    let before = all_logits(&mut first, tokens, 32);
    // For every kernel of every size of step, a schedule some steps away, with varying orders of sums.
    let mut kept = Vec::new();
    for tokens in [1, 5, 32] {
        let launches = first.launches(&StepShape { tokens, depth: 0, logits: 1 });
        for (i, launch) in launches.iter().enumerate() {
            let (kernel, max) = launch.work();
            let schedules = first.device_mut().tuning().unwrap();
            let mut schedule = schedules.schedule(kernel, max).unwrap();
            for step in 0..3 {
                let near = schedules.near(kernel, max, &schedule);
                let at = (7 * i + 5 * step + tokens) % near.len().max(1);
                schedule = near.get(at).cloned().unwrap_or(schedule);
            }
            kept.push(Scheduled { kernel: Arc::new(kernel.clone()), max: *max, schedule });
        }
    }
    let schedules = first.device_mut().tuning().unwrap();
    schedules.keep(&kept);
    let file = schedules.save().unwrap().unwrap();
    // Edit the file by hand.
    let mut text = std::fs::read_to_string(&file).unwrap();
    let odd = ["1", "2", "3", "0", "32", "256", "x", "4"];
    let lines = text.lines().enumerate().map(|(i, line)| match line.split_once(": reduce ") {
        Some((sums, _)) => format!("{sums}: reduce {}\n", odd[i % odd.len()]),
        None => format!("{line}\n"),
    });
    text = lines.collect::<String>()
        + "kernel 0123456789abcdef in steps of 1: lanes 7\nsums \u{1b}[2J: reduce 4\n";
    std::fs::write(&file, text).unwrap();

    let mut second = runner(&fixture, options).unwrap();
    let schedules = second.device_mut().tuning().unwrap();
    let used =
        kept.iter().filter(|one| schedules.schedule(&one.kernel, &one.max).as_ref() == Some(&one.schedule));
    let used = used.count();
    println!("{used} of {} schedules are used", kept.len());
    assert!(used > 0 && used < kept.len(), "{used} of {} are used", kept.len());
    let mut bits_of_one = None;
    for chunk in [1, 5, 32] {
        let logits = all_logits(&mut second, tokens, chunk);
        let kl = mean_kl(&logits, &fixture.golden[..logits.len()], fixture.vocab);
        assert!(kl <= 1.2 * fixture.int8_mean_kl, "{chunk} at once: {kl}");
        let one = bits_of_one.get_or_insert_with(|| bits(&logits));
        assert!(*one == bits(&logits), "{chunk} tokens at once give other bits than 1");
        assert!(bits(&before) != bits(&logits), "the kept schedules have no effect");
    }

    // `explain` shows what runs.
    let model = weft_models::build(second.model().gguf(), &Default::default()).unwrap();
    let target = choice("").target(None, Some(&folder)).unwrap();
    let explained = ExplainOptions {
        switches: Switches::default(),
        tokens: 1,
        depth: 0,
        costs: cost_model(&target.hardware, None),
        kernels: Vec::new(),
    };
    let schedules = second.device_mut().tuning().unwrap();
    for plan in explain(&model, &explained).unwrap() {
        let sources = plan.sources(&target).unwrap();
        for (call, source) in plan.plan.calls.iter().zip(sources) {
            let schedule = schedules.schedule(&plan.plan.kernels[call.kernel], &plan.plan.max).unwrap();
            assert!(source.unwrap().iter().all(|text| text.contains(&schedule)), "{schedule}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_texts_of_a_step_are_those_that_run() {
    let fixture = Fixture::load("glm-tiny-q4_0");
    let Some(runner) = runner(&fixture, EngineOptions::default().context(64).batch(16)) else { return };
    let shape = StepShape { tokens: 16, depth: 0, logits: 1 };
    let launches = runner.launches(&shape);
    for (i, launch) in launches.iter().enumerate() {
        let text = runner.text(&shape, i).unwrap().unwrap();
        let name = launch.kernel();
        // In the form in which it can be given, if it can: attention cannot.
        let head = text.lines().next().unwrap();
        let source = if head.starts_with("wgsl ") || head.starts_with("cuda ") {
            &text[head.len() + 1..]
        } else {
            &text
        };
        assert!(source.starts_with(&format!("// {name}: lanes ")), "{name}:\n{text}");
        assert!(text.contains("@compute") || text.contains("__global__"), "{name}:\n{text}");
    }
    assert!(launches.len() > 10 && runner.text(&shape, launches.len()).is_none());
    // The CPU runs no text.
    let cpu = fixture.runner(EngineOptions::default().context(64));
    assert!(cpu.text(&shape, 0).is_none());
}

/// Some layers on the GPU and the others on the CPU; the second model's embedding and head are one tensor, on both.
#[test]
fn layers_may_be_on_the_gpu_and_on_the_cpu() {
    for name in ["glm-tiny-q4_k_m", "qwen3-tiny-q4_0"] {
        for layers in [0, 1] {
            let options = EngineOptions::default().context(128).batch(32).gpu_layers(layers);
            divided(name, options, &format!(" with {layers} of "));
        }
    }
}

/// Some experts of each layer on the GPU and the others on the CPU: of models with a shared expert, with biases, with linear attention.
/// Through CUDA the bits are those of a GPU that has all of them. Vulkan leaves it to drivers whether they round a product and a sum once.
#[test]
fn experts_may_be_on_the_gpu_and_on_the_cpu() {
    check_experts(&[("glm4moe-tiny-q4_0", [0, 2]), ("gpt-oss-odd-q4_0", [0, 1])]);
}

#[test]
#[ignore = "slow"]
fn experts_of_other_models_may_be_on_the_gpu_and_on_the_cpu() {
    check_experts(&[
        ("glm-tiny-q4_k_m", [0, 2]),
        ("gpt-oss-tiny-mxfp4", [0, 1]),
        ("qwen35moe-tiny-q4_0", [1, 3]),
        ("qwen3moe-tiny-q4_k_m", [0, 3]),
    ]);
}

fn check_experts(models: &[(&str, [usize; 2])]) {
    for (name, all_experts) in models {
        let options = EngineOptions::default().context(128).batch(32);
        let fixture = Fixture::load(name);
        let Some(mut whole) = runner(&fixture, options.clone()) else { return };
        let exact = whole.device().name.starts_with("cuda");
        let expected = bits(&all_logits(&mut whole, &fixture.tokens, 32));
        for experts in all_experts {
            let found = divided(name, options.clone().gpu_experts(*experts), &format!(" with {experts} of "));
            assert!(!exact || found == Some(expected.clone()), "{name} with {experts}: other bits");
        }
    }
}

/// Checks the logits of a model on two devices, the name of which contains `said`: they are within the bound, and steps of any size give
/// the same bits, which it returns.
fn divided(name: &str, options: EngineOptions, said: &str) -> Option<Vec<u32>> {
    let fixture = Fixture::load(name);
    let mut runner = runner(&fixture, options)?;
    assert!(runner.device().name.contains(said), "{}", runner.device().name);
    let mut first = None;
    for chunk in [1, 5, 32] {
        let logits = all_logits(&mut runner, &fixture.tokens, chunk);
        let what = format!("{name} on {}, {chunk} at once", runner.device().name);
        check_loss(&fixture, &logits, &what);
        let first = first.get_or_insert_with(|| bits(&logits));
        assert!(*first == bits(&logits), "{what}: other bits");
    }
    first
}

/// Other schedules and wider loads for steps of each size, which software has only here.
#[test]
fn texts_of_a_large_gpu_are_accurate_and_batch_invariant() {
    on_a_large_gpu(&["glm-tiny-q4_0"]);
}

#[test]
#[ignore = "slow"]
fn texts_of_a_large_gpu_for_other_models() {
    on_a_large_gpu(&["glm-tiny-q4_k_m", "mixtral-tiny-q4_0", "gpt-oss-tiny-mxfp4"]);
}

fn on_a_large_gpu(names: &[&str]) {
    use weft_device::OpenOptions;
    use weft_engine::Model;

    let Some(adapter) = weft_wgpu::adapters().into_iter().next() else {
        assert!(std::env::var_os("WEFT_TEST_ADAPTER").is_none(), "no GPU");
        let _ = writeln!(std::io::stderr(), "SKIPPED, a test on a GPU: there is none");
        return;
    };
    let large = adapter.as_large();
    for name in names {
        let fixture = Fixture::load(name);
        let options = EngineOptions::default().context(128).batch(32);
        let mut first = None;
        for chunk in [1, 5, 12, 32] {
            let device = weft_wgpu::GpuDevice::open(&large, &OpenOptions::default()).unwrap();
            let model = Model::open(&fixture.path, options.kv).unwrap();
            let go_on = &mut |_| ControlFlow::Continue(());
            let mut runner = Runner::new(model, Box::new(device), &options, go_on).unwrap();
            let logits = all_logits(&mut runner, &fixture.tokens[..32], chunk);
            let kl = mean_kl(&logits, &fixture.golden[..logits.len()], fixture.vocab);
            println!("{name}, {chunk} tokens at once: mean KL {kl:.2e}");
            assert!(kl <= 1.2 * fixture.int8_mean_kl, "{name}, {chunk} at once: {kl}");
            let first = first.get_or_insert_with(|| bits(&logits));
            assert!(*first == bits(&logits), "{name}: {chunk} tokens at once give other bits than 1");
        }
    }
}

/// Steps of more than 64 tokens multiply from panels, and sort rows by their expert.
#[test]
#[ignore = "slow"]
fn long_steps_of_a_large_gpu_give_the_bits_of_short_ones() {
    use weft_device::OpenOptions;
    use weft_engine::Model;

    let Some(adapter) = weft_wgpu::adapters().into_iter().next() else {
        assert!(std::env::var_os("WEFT_TEST_ADAPTER").is_none(), "no GPU");
        let _ = writeln!(std::io::stderr(), "SKIPPED, a test on a GPU: there is none");
        return;
    };
    let large = adapter.as_large();
    for name in ["glm-tiny-q4_0", "glm-tiny-q4_k_m"] {
        let fixture = Fixture::load(name);
        let tokens = [&fixture.tokens[..32]; 3].concat();
        let options = EngineOptions::default().context(128).batch(96);
        let all = [5, 96].map(|chunk| {
            let device = weft_wgpu::GpuDevice::open(&large, &OpenOptions::default()).unwrap();
            let model = Model::open(&fixture.path, options.kv).unwrap();
            let go_on = &mut |_| ControlFlow::Continue(());
            let mut runner = Runner::new(model, Box::new(device), &options, go_on).unwrap();
            bits(&all_logits(&mut runner, &tokens, chunk))
        });
        assert!(all[0] == all[1], "{name}: 96 tokens at once give other bits than 5");
    }
}

/// Weights that are larger than a GPU can bind are in pieces, and kernels read the same words.
#[test]
fn weights_in_pieces_give_the_same_bits() {
    use weft_device::OpenOptions;
    use weft_engine::Model;

    let Some(adapter) = weft_wgpu::adapters().into_iter().next() else {
        assert!(std::env::var_os("WEFT_TEST_ADAPTER").is_none(), "no GPU");
        let _ = writeln!(std::io::stderr(), "SKIPPED, a test on a GPU: there is none");
        return;
    };
    let mut adapter = Some(adapter);
    for name in ["glm-tiny-q4_k_m", "mixtral-tiny-q4_0", "qwen2-tiny-q4_0"] {
        let fixture = Fixture::load(name);
        let options = EngineOptions::default().context(128).batch(32);
        let model = Model::open(&fixture.path, options.kv).unwrap();
        let gguf = model.gguf();
        let largest = gguf.tensors().iter().map(|tensor| gguf.tensor_bytes(tensor).len()).max().unwrap();
        // The largest weights have three pieces.
        let all = [u64::MAX, largest as u64 * 2 / 5].map(|bytes| {
            let cut = adapter.take().unwrap().with_pieces_of(bytes);
            let pieces = cut.gpu().pieces(largest as u64);
            assert_eq!(pieces, if bytes == u64::MAX { 1 } else { 3 }, "{name}: {largest} bytes");
            let device = weft_wgpu::GpuDevice::open(&cut, &OpenOptions::default()).unwrap();
            adapter = Some(cut);
            let model = Model::open(&fixture.path, options.kv).unwrap();
            let go_on = &mut |_| ControlFlow::Continue(());
            let mut runner = Runner::new(model, Box::new(device), &options, go_on).unwrap();
            [1, 5, 32].map(|chunk| bits(&all_logits(&mut runner, &fixture.tokens[..24], chunk)))
        });
        assert!(all[0] == all[1], "{name}: pieces change bits");
    }
}

#[test]
fn the_error_for_an_unknown_name_lists_the_gpus() {
    let fixture = Fixture::load("glm-tiny-q4_0");
    let options = EngineOptions::default().device(choice(":zzz"));
    let loaded = Runner::load(&fixture.path, &options, &mut |_| ControlFlow::Continue(()));
    let why = loaded.err().unwrap().to_string();
    let found = BACKENDS.iter().find(|backend| backend.name() == "gpu").unwrap().probe();
    let listed = found.iter().all(|device| why.contains(&device.name));
    assert!(
        listed && why.contains(if found.is_empty() { "there is no `gpu` device" } else { "`zzz`" }),
        "{why}"
    );
}
