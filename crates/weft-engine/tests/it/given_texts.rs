//! Kernels with texts of a person's own: on a GPU, and as CUDA on the emulator.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use weft_check::Emulator;
use weft_device::Device;
use weft_engine::inspect::{ExplainOptions, Runner, StepShape, Target, cost_model, explain};
use weft_engine::{EngineOptions, Error, Model, Report, Switches, parse_replacement};
use weft_gpu::Scheduler;
use weft_render::{Gpu, Language};

use crate::gpu::choice;
use crate::support::{Fixture, THREADS, all_logits, bits, mean_kl};

/// The worked examples of `docs/kernels.md`.
const WGSL: &str = include_str!("../../../../docs/kernels/down_in_wgsl.kernel");
const CUDA: &str = include_str!("../../../../docs/kernels/down_in_cuda.kernel");

/// The kernel that they replace.
const REPLACED: &str = "select_sum_256x256_q4_0&dot_256x256_q4_0";

/// The most tokens of a step.
const BATCH: usize = 24;

/// Where texts run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum On {
    Gpu,
    Emulator,
}

fn emulator(test: &str) -> Option<Emulator> {
    Emulator::for_test(test, &Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator"))
}

impl On {
    /// Opens the model with kernels, and returns what was reported as well. `None` if there is no such device.
    fn open(self, kernels: &[&str]) -> Option<(Result<Runner, Error>, Vec<String>)> {
        let named = |text: &&str| Arc::new(parse_replacement(text).unwrap().of_file("own.kernel"));
        let kernels = kernels.iter().map(named).collect();
        let options = EngineOptions::default().threads(THREADS).context(64).batch(BATCH).kernels(kernels);
        let path = Fixture::load("glm-tiny-q4_0").path;
        let mut notes = Vec::new();
        let report = &mut |report: Report| {
            if let Report::Note(note) = report {
                notes.push(note);
            }
            ControlFlow::Continue(())
        };
        let runner = match self {
            On::Gpu => Runner::load(&path, &options.device(choice("")), report),
            On::Emulator => {
                let device = Box::new(emulator("texts of a person's own")?);
                Runner::new(Model::open(&path, options.kv).unwrap(), device, &options, report)
            }
        };
        match runner {
            Err(Error::Open(why)) if std::env::var_os("WEFT_TEST_ADAPTER").is_none() => {
                let _ = writeln!(std::io::stderr(), "SKIPPED, a test on a GPU: {why}");
                None
            }
            runner => Some((runner, notes)),
        }
    }

    /// Why a changed example is refused.
    fn refused(self, from: &str, to: &str) -> Option<String> {
        let example = if self == On::Gpu { WGSL } else { CUDA };
        assert!(example.contains(from), "{from}");
        match self.open(&[&example.replacen(from, to, 1)])?.0 {
            Err(error) => Some(error.to_string()),
            Ok(_) => panic!("accepted with `{to}`"),
        }
    }

    fn target(self) -> Option<Target> {
        match self {
            On::Gpu => choice("").target(Some(2), None).ok(),
            On::Emulator => {
                let hardware = emulator("printed texts")?.caps().hardware.clone();
                let gpu = Gpu::of_cuda((9, 0), 132);
                let target = weft_render::Target { language: Language::Cuda, gpu };
                Some(Target { hardware, text: Some(Box::new(Scheduler::open("emulator", target, None))) })
            }
        }
    }
}

/// The logits of some tokens, computed `chunk` at a time.
fn logits(runner: &mut Runner, chunk: usize) -> Vec<f32> {
    all_logits(runner, &Fixture::load("glm-tiny-q4_0").tokens[..BATCH], chunk)
}

fn an_example_is_right(on: On, text: &str, name: &str, language: &str) {
    let Some((runner, notes)) = on.open(&[text]) else { return };
    let mut runner = runner.unwrap();
    let said = format!("the kernel `{name}`, with its text in {language}, replaces `{REPLACED}`: the same");
    assert!(notes.len() == 1 && notes[0].starts_with(&said), "{notes:?}");
    // This text runs, and is shown.
    let shape = StepShape { tokens: 1, depth: 0, logits: 1 };
    let launches = runner.launches(&shape);
    let own = launches.iter().position(|launch| launch.kernel() == name).unwrap();
    let shown = runner.text(&shape, own).unwrap().unwrap();
    assert!(text.ends_with(&shown), "{shown}");
    let fixture = Fixture::load("glm-tiny-q4_0");
    let expected = logits(&mut runner, 1);
    let golden = &fixture.golden[..expected.len()];
    let kl = mean_kl(&expected, golden, fixture.vocab);
    assert!(kl <= 1.2 * fixture.int8_mean_kl, "{kl}");
    for chunk in [5, BATCH] {
        assert!(bits(&logits(&mut runner, chunk)) == bits(&expected), "{chunk} tokens at once");
    }
}

#[test]
fn the_example_in_wgsl_is_right() {
    an_example_is_right(On::Gpu, WGSL, "down_by_lane", "WGSL");
}

#[test]
fn the_example_in_cuda_is_right() {
    an_example_is_right(On::Emulator, CUDA, "down_by_thread", "CUDA C++");
}

/// A text that `explain --source` prints can be given.
fn printed_texts_give_the_same_bits(on: On) {
    let Some(target) = on.target() else { return };
    let fixture = Fixture::load("glm-tiny-q4_0");
    let model = Model::open(&fixture.path, weft_quant::GgmlType::F16).unwrap();
    let mut given = WGSL.split_once("wgsl tokens").unwrap().0.to_string();
    let mut of_many = String::new();
    for tokens in [1, BATCH] {
        let options = ExplainOptions {
            switches: Switches::default(),
            tokens,
            depth: 0,
            costs: cost_model(&target.hardware, None),
            kernels: Vec::new(),
        };
        let plans = explain(model.graph(), &options).unwrap();
        let printed = plans.iter().find_map(|plan| {
            let call = plan.calls.iter().position(|call| call.kernel == REPLACED)?;
            plan.sources(&target).unwrap()[call].clone().unwrap().into_iter().next()
        });
        of_many = printed.expect("a layer with experts");
        given += &of_many;
    }
    let (plain, _) = on.open(&[]).unwrap();
    let (runner, notes) = on.open(&[&given]).unwrap();
    let (mut plain, mut runner) = (plain.unwrap(), runner.unwrap_or_else(|error| panic!("{error}\n{given}")));
    assert!(
        notes[0].contains(", with its text in ") && notes[0].contains(": the same bits, checked on "),
        "{notes:?}"
    );
    for chunk in [1, 7, BATCH] {
        assert!(bits(&logits(&mut runner, chunk)) == bits(&logits(&mut plain, chunk)), "{chunk} at once");
    }
    // It was the text that ran.
    let mark = "// printed, given and printed again\n";
    let marked = given.replacen(&of_many, &of_many.replacen('\n', &format!("\n{mark}"), 1), 1);
    let (runner, _) = on.open(&[&marked]).unwrap();
    let runner = runner.unwrap();
    let shape = StepShape { tokens: BATCH, depth: 0, logits: 1 };
    let launches = runner.launches(&shape);
    let own = launches.iter().position(|launch| launch.kernel() == "down_by_lane").unwrap();
    assert!(runner.text(&shape, own).unwrap().unwrap().contains(mark));
}

#[test]
fn printed_wgsl_can_be_given() {
    printed_texts_give_the_same_bits(On::Gpu);
}

#[test]
#[ignore = "slow"]
fn printed_cuda_can_be_given() {
    printed_texts_give_the_same_bits(On::Emulator);
}

/// The line of the example that contains this.
fn line_of(example: &str, what: &str) -> usize {
    1 + example.lines().position(|line| line.contains(what)).unwrap()
}

#[test]
fn wrong_texts_in_wgsl_are_refused() {
    let check = |from: &str, to: &str, said: &[&str]| {
        let Some(found) = On::Gpu.refused(from, to) else { return };
        for said in said {
            assert!(found.contains(said), "`{to}`: expected `{said}` in: {found}");
        }
        assert!(!found.contains("bug in Weft"), "{found}");
    };
    // The experts' weights in the wrong order.
    check(
        "b0[p2 + token * 2u + slot]",
        "b0[p2 + token * 2u + 1u - slot]",
        &[
            "the kernel `down_by_lane` cannot replace `select_sum",
            " of 256 values are wrong in a step of 1 token; the worst is",
        ],
    );
    check("groups=T*4", "groups=T*3", &["byte 768 of p7 is not written in a step of 1 token"]);
    check(
        "  b3[p7 + to] =",
        "  b3[p7 + args[3].w + 2u] = 1u;\n  b3[p7 + to] =",
        &["it writes beside its results in a step of ", "8 bytes beyond the end of p7"],
    );
    // Mistakes that are found before the driver sees the text.
    let line = format!("its text in WGSL, line {} of own.kernel: ", line_of(WGSL, "let column ="));
    check("let column = (number % 4u)", "let column = (numbers % 4u)", &[&line, "numbers"]);
    check("let column = (number % 4u)", "let column = 1.5f + (number % 4u)", &[&line]);
    let head = format!("its text in WGSL, line {} of own.kernel: ", line_of(WGSL, "wgsl tokens"));
    check("@binding(5)", "@binding(6)", &[&head]);
    check("var<storage, read> b2", "var<storage, read_write> b2", &[&head]);
    check("fn main(", "fn other(", &[&head]);
    check("@workgroup_size(64)", "@workgroup_size(65536)", &[&head]);
    let weight = "fn weight(routed: bool, at: u32) -> u32 {\n";
    let pool = format!("var<workgroup> pool: array<u32, 1000000>;\n{weight}  pool[0] = at;\n");
    let said = format!(
        "its text in WGSL, line {} of own.kernel: it needs 4000000 bytes",
        line_of(WGSL, "fn weight(")
    );
    check(weight, &pool, &[&said]);
    check(
        "slots=0,0,0,1,0,2,0,3",
        "slots=0,0,0,1,0,1,0,2",
        &[&head, "slots=0,0,0,1,0,1,0,2 cannot be bound", "slots=0,0,0,1,0,2,0,3 can be"],
    );
    check("groups=T*4", "groups=T*4000000000", &["workgroups; the GPU allows "]);
}

/// A text that adds up blocks from the last to the first.
#[test]
fn texts_for_some_steps_alone_need_the_same_bits() {
    let (forwards, backwards) =
        ("(var block = 0u; block < 8u; block += 1u) {", "(var count = 8u; count > 0u; count -= 1u) {");
    let (head, text) = WGSL.split_once("wgsl tokens=65536").unwrap();
    assert!(text.contains(forwards));
    let other = text.replacen(forwards, &format!("{backwards}\n    let block = count - 1u;"), 1);
    let Some((runner, notes)) = On::Gpu.open(&[&format!("{head}wgsl tokens=65536{other}")]) else { return };
    let mut runner = runner.unwrap();
    assert!(notes[0].contains(": the same within rounding, checked on "), "{notes:?}");
    let expected = logits(&mut runner, 1);
    assert!(bits(&logits(&mut runner, BATCH)) == bits(&expected));

    // Together with the compiler's kernels for longer steps, and with the other text.
    for both in
        [format!("{head}wgsl tokens=1{other}"), format!("{head}wgsl tokens=1{other}wgsl tokens=65536{text}")]
    {
        let why = On::Gpu.open(&[&both]).unwrap().0.err().unwrap().to_string();
        let said = "the bits of a token depend on the size of its step: those of p7 differ in steps of 1 ";
        assert!(why.contains(said), "{why}");
    }
}

#[test]
fn wrong_texts_in_cuda_are_refused() {
    let check = |from: &str, to: &str, said: &str| {
        let Some(found) = On::Emulator.refused(from, to) else { return };
        assert!(found.contains(said), "`{to}`: expected `{said}` in: {found}");
    };
    check(
        "b0[p2 + token * 2u + slot]",
        "b0[p2 + token * 2u + 1u - slot]",
        " of 256 values are wrong in a step of 1 token",
    );
    check("groups=T*4", "groups=T*3", "byte 768 of p7 is not written in a step of 1 token");
    check("lanes=64", "lanes=2048", "lanes=2048, and the GPU has at most 1024 in a workgroup");
    check(
        "lanes=64",
        "lanes=64 shared=500000",
        "shared=500000, and the GPU has 232448 bytes of workgroup memory",
    );
    check("lanes=64", "lanes=64 shared=64", "the text declares up to 49152 bytes itself");
    check("slots=0,0,0,1,0,2,0,3", "slots=0,0,0,1,0,1,0,2", "slots=0,0,0,1,0,1,0,2 cannot be bound");
}
