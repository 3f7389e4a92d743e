//! Benchmarks of a tiny model.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use weft_cpu::{CpuProbe, Isa};
use weft_device::Probe;
use weft_engine::EngineOptions;
use weft_engine::inspect::Runner;

use super::*;

mod named;

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/glm-tiny-q4_0.gguf")
}

fn small(context: usize, sequences: usize) -> EngineOptions {
    // Prompts are longer than a batch, so that they take several steps.
    EngineOptions::default().threads(2).context(context).sequences(sequences).batch(4)
}

/// A tiny model with room for `sequences` sequences of `context` tokens.
pub(crate) fn runner(context: usize, sequences: usize) -> Runner {
    let report = &mut |_| ControlFlow::Continue(());
    Runner::load(&fixture(), &small(context, sequences), report).unwrap()
}

/// A meter that reads little, since tests need no accurate figures.
fn meter() -> Meter {
    Meter::from(Box::new(CpuProbe::new(Isa::best(), 1 << 20).unwrap()) as Box<dyn Probe>)
}

fn options() -> BenchOptions {
    let depths = [9, 0].into();
    BenchOptions {
        prefill: 6,
        decode: 3,
        depths,
        parallel: [1].into(),
        guesses: [0].into(),
        speculate: Speculate::Off,
        repeat: 2,
        vocabulary: usize::MAX,
    }
}

#[test]
fn every_phase_is_sampled_at_every_depth() {
    let options = options();
    let mut engine = small(options.context(), 1).open(fixture()).unwrap();
    let mut told = Vec::new();
    let bench = bench(&mut engine, &mut meter(), &options, &AtomicBool::new(false), &mut |done, total| {
        told.push((done, total));
    });
    let bench = bench.unwrap();
    let found: Vec<_> = bench.settings.iter().map(|s| (s.phase, s.depth, s.tokens)).collect();
    use Phase::{Decode, Prefill};
    assert_eq!(found, [(Prefill, 0, 6), (Prefill, 9, 6), (Decode, 0, 3), (Decode, 9, 3)]);
    for setting in &bench.settings {
        assert_eq!(setting.rates.all().len(), 2);
        let share = bench.share(setting);
        assert!(share.is_finite() && share > 0.0, "{setting:?}");
    }
    let [shallow, deep] = [2, 3].map(|i| bench.settings[i].need.amount);
    assert_eq!(deep - shallow, 3.0 * 9.0 * bench.per_token.kv_bytes as f64);
    // One for each depth in each round after the warm-up.
    for roof in [Roof::Read, Roof::ReadInOrder, Roof::Dot] {
        assert_eq!(bench.roofs.of(roof).all().len(), 4, "{roof:?}");
    }
    assert_eq!(told.first(), Some(&(0, 63)));
    assert_eq!(told.last(), Some(&(9 + 2 * 3 * (6 + 3), 63)));
    assert!(told.is_sorted());
}

#[test]
fn samples_count_only_the_tokens_they_time() {
    // Depths that end within pages, and too many for the cache to keep all.
    let depths: BTreeSet<usize> = [0, 9, 40, 70, 100].into();
    let options = BenchOptions {
        prefill: 33,
        decode: 40,
        depths,
        parallel: [1, 3].into(),
        guesses: [0].into(),
        speculate: Speculate::Off,
        repeat: 1,
        vocabulary: usize::MAX,
    };
    let mut engine = small(options.context(), 3).batch(64).open(fixture()).unwrap();
    let cancel = AtomicBool::new(false);
    let begun = Instant::now();
    let (now, mut unseen) = (|| begun.elapsed(), |_, _| {});
    let mut run = Run::new(&mut engine, &options, &now, &cancel, &mut unseen);
    run.before = (0..100).map(|_| run.token()).collect();
    for round in 0..2 {
        for &depth in &options.depths {
            assert_eq!(run.sample_prefill(depth, 33).unwrap().0, 33);
            for sequences in [1, 3] {
                let (tokens, _) = run.sample_decode(depth, 40, sequences).unwrap();
                // Three prompts may take two steps, in which the first replies get ahead.
                let expected = 40 * sequences - 2 * (sequences - 1)..=40 * sequences;
                assert!(expected.contains(&tokens), "{tokens} at {depth} in round {round}");
            }
        }
    }
}

#[test]
fn a_share_is_the_rate_divided_by_the_limit() {
    let mut roofs = Roofs::new(NonZeroUsize::new(2).unwrap());
    roofs.read = [29e9, 30e9, 31e9].into_iter().collect();
    roofs.dot.push(256e9);
    let rates = |samples: [f64; 3]| samples.into_iter().collect();
    let decode = Setting {
        rates: rates([4.0, 3.0, 40.0]),
        ..Setting::new(Phase::Decode, 100, 10, Need { roof: Roof::Read, amount: 37.5e9 })
    };
    let prefill = Setting {
        rates: rates([10.0, 20.0, 30.0]),
        ..Setting::new(Phase::Prefill, 0, 512, Need { roof: Roof::Dot, amount: 2.0 * 512e9 })
    };
    let per_token = PerToken { weight_bytes: 3_000_000_000, kv_bytes: 7, multiplications: 2_000_000_000 };
    let bench = Bench { host: Host::this(), roofs, per_token, settings: vec![decode, prefill] };
    let shares: Vec<f64> = bench.settings.iter().map(|s| bench.share(s)).collect();
    assert_eq!(shares, [0.5, 0.15625]);
    let json = bench.json();
    assert_eq!(
        json["settings"][0],
        json!({
            "phase": "decode",
            "depth": 100,
            "tokens": 10,
            "tokens_per_second": { "median": 4.0, "min": 3.0, "max": 40.0, "samples": [4.0, 3.0, 40.0] },
            "needs": { "bytes": 37.5e9 },
            "limit_tokens_per_second": 8.0,
            "share_of_limit": 0.5,
        })
    );
    assert_eq!(json["settings"][1]["needs"], json!({ "multiplications": 1024e9 }));
    assert_eq!(json["roofs"]["read_bytes_per_second"]["median"], 30e9);
    assert_eq!(json["roofs"].get("mul_add_multiplications_per_second"), None, "it is not measured");
    assert_eq!(json["per_token"]["kv_bytes_per_token_before"], 7);
}

#[test]
fn prefill_has_no_limit_if_only_the_bandwidth_is_known() {
    let mut roofs = Roofs::new(NonZeroUsize::MIN);
    roofs.read.push(30e9);
    let setting = |phase, roof| Setting {
        rates: [4.0].into_iter().collect(),
        ..Setting::new(phase, 0, 10, Need { roof, amount: 37.5e9 })
    };
    let settings = vec![setting(Phase::Decode, Roof::Read), setting(Phase::Prefill, Roof::Dot)];
    let per_token = PerToken { weight_bytes: 1, kv_bytes: 1, multiplications: 1 };
    let json = Bench { host: Host::this(), roofs, per_token, settings }.json();
    let of =
        |i: usize| (&json["settings"][i]["limit_tokens_per_second"], &json["settings"][i]["share_of_limit"]);
    assert_eq!(of(0), (&json!(8.0), &json!(0.5)));
    assert_eq!(of(1), (&Value::Null, &Value::Null));
    let roofs = json["roofs"].as_object().unwrap();
    assert_eq!(roofs.keys().collect::<Vec<_>>(), ["threads", "read_bytes_per_second"]);
}

#[test]
fn each_number_of_parallel_replies_is_a_setting() {
    let options = BenchOptions { prefill: 0, depths: [9].into(), parallel: [1, 3].into(), ..options() };
    assert_eq!(options.tokens(), 9 + 3 * (3 + 3 * 3));
    let mut engine = small(options.context(), 3).open(fixture()).unwrap();
    let cancel = AtomicBool::new(false);
    let mut last = 0;
    let bench = bench(&mut engine, &mut meter(), &options, &cancel, &mut |done, _| last = done).unwrap();
    let found: Vec<_> = bench.settings.iter().map(|s| (s.sequences, s.tokens, s.rates.all().len())).collect();
    assert_eq!((found.as_slice(), last), (&[(1, 3, 2), (3, 3, 2)][..], options.tokens()));
    let json = bench.json();
    assert_eq!(
        [&json["settings"][0]["sequences"], &json["settings"][1]["sequences"]],
        [&Value::Null, &json!(3)]
    );
    assert_eq!(engine.stats().pages_held, 0);
}

#[test]
fn wrong_guesses_are_computed_beside_replies() {
    let options = BenchOptions {
        prefill: 0,
        decode: 9,
        depths: [9].into(),
        parallel: [1, 2].into(),
        guesses: [0, 3].into(),
        ..options()
    };
    let mut engine = small(options.context(), 2).batch(16).open(fixture()).unwrap();
    let cancel = AtomicBool::new(false);
    let bench = bench(&mut engine, &mut meter(), &options, &cancel, &mut |_, _| {}).unwrap();
    let found: Vec<_> = bench.settings.iter().map(|s| (s.sequences, s.guesses)).collect();
    assert_eq!(found, [(1, 0), (1, 3), (2, 0), (2, 3)]);
    for setting in &bench.settings {
        let [steps, guessed, accepted] = setting.speculation;
        let most = 2 * 9 * (setting.sequences * setting.guesses) as u64;
        // Prompts also take steps.
        assert!(steps >= 2 * 9 && (most..=most + most / 3).contains(&guessed), "{setting:?}");
        assert!(accepted * 20 <= guessed, "{setting:?}");
    }
    let json = bench.json();
    assert_eq!(
        [&json["settings"][0]["guessed_tokens"], &json["settings"][1]["wrong_guesses"]],
        [&Value::Null, &json!(3)]
    );
    assert!(engine.stats().pages_held == 0);
}

#[test]
fn a_phase_without_tokens_is_not_measured() {
    let options = BenchOptions { decode: 0, depths: [5].into(), ..options() };
    assert_eq!((options.context(), options.tokens()), (11, 5 + 3 * 6));
    let mut engine = small(options.context(), 1).open(fixture()).unwrap();
    let bench = bench(&mut engine, &mut meter(), &options, &AtomicBool::new(false), &mut |_, _| {}).unwrap();
    assert_eq!(bench.settings.iter().map(|s| s.phase).collect::<Vec<_>>(), [Phase::Prefill]);
}

#[test]
fn the_engine_is_usable_after_a_cancellation() {
    let options = BenchOptions { repeat: 1_000_000, ..options() };
    let mut engine = small(options.context(), 1).open(fixture()).unwrap();
    // If a generation were left behind, the next one would wait for its pages.
    for _ in 0..3 {
        let cancel = AtomicBool::new(false);
        let ended = bench(&mut engine, &mut meter(), &options, &cancel, &mut |done, _| {
            cancel.store(done > 20, Ordering::Relaxed);
        });
        assert!(matches!(ended, Err(Error::Interrupted)));
    }
}

#[test]
fn a_context_that_is_too_short_is_an_error() {
    let options = options();
    let mut engine = small(options.context() - 1, 1).open(fixture()).unwrap();
    let ended = bench(&mut engine, &mut meter(), &options, &AtomicBool::new(false), &mut |_, _| {});
    assert!(matches!(ended, Err(Error::Engine(weft_engine::Error::Context { .. }))), "{ended:?}");
}
