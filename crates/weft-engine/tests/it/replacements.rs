//! Users' kernels: one that is right, and others that are refused.

use std::ops::ControlFlow;
use std::sync::Arc;

use weft_engine::inspect::Runner;
use weft_engine::{EngineOptions, Error, Mode, Report, Switches, decision, parse_replacement};

use crate::support::{Fixture, THREADS, all_logits, bits};

/// The worked example of `docs/kernels.md`.
const DOWN: &str = include_str!("../../../../docs/kernels/down_by_slot.kernel");

fn options(text: &str) -> EngineOptions {
    let kernel = Arc::new(parse_replacement(text).unwrap());
    EngineOptions::default().threads(THREADS).context(64).batch(24).kernels(vec![kernel])
}

/// Opens the model that the example is for. Returns what was reported as well.
fn opened(options: &EngineOptions) -> (Result<Runner, Error>, Vec<String>) {
    let mut notes = Vec::new();
    let runner = Runner::load(&Fixture::load("glm-tiny-q4_0").path, options, &mut |report| {
        if let Report::Note(note) = report {
            notes.push(note);
        }
        ControlFlow::Continue(())
    });
    (runner, notes)
}

/// Why a kernel is refused.
fn refused(from: &str, to: &str) -> String {
    let (replace, with) = DOWN.split_once("\nwith\n").unwrap();
    assert!(with.contains(from), "{from}");
    match opened(&options(&format!("{replace}\nwith\n{}", with.replace(from, to)))).0 {
        Err(Error::Replacement(why)) => why,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("a wrong kernel was accepted"),
    }
}

#[test]
fn a_right_kernel_is_used_and_gives_the_same_bits() {
    let fixture = Fixture::load("glm-tiny-q4_0");
    let given = options(DOWN);
    let (runner, notes) = opened(&given);
    let mut runner = runner.unwrap();
    let said = "the kernel `down_by_slot` replaces `select_sum_256x256_q4_0&dot_256x256_q4_0`: the same bits, checked on cpu";
    assert!(notes.len() == 1 && notes[0].starts_with(said), "{notes:?}");
    let ran = |runner: &mut Runner| {
        let launches = runner.launches(&weft_engine::inspect::StepShape { tokens: 1, depth: 0, logits: 1 });
        launches.iter().filter(|launch| launch.kernel() == "down_by_slot").count()
    };
    assert_eq!(ran(&mut runner), 2, "in both layers with experts");
    let mut plain = opened(&given.clone().kernels(Vec::new())).0.unwrap();
    assert_eq!(ran(&mut plain), 0);
    for chunk in [1, 5, 24] {
        let [own, expected] =
            [&mut runner, &mut plain].map(|runner| all_logits(runner, &fixture.tokens, chunk));
        assert!(bits(&own) == bits(&expected), "{chunk} tokens at once");
    }

    // The decision can be switched off, also later.
    let mut off = Switches::default();
    off.set(decision("kernel.replace").unwrap(), Mode::Off);
    let without = runner.add_plans(&off).unwrap();
    runner.use_plans(without).unwrap();
    assert_eq!(ran(&mut runner), 0);
    let (without, notes) = opened(&given.switches(off));
    assert_eq!((ran(&mut without.unwrap()), notes), (0, Vec::new()));
}

#[test]
fn wrong_kernels_are_refused() {
    // The experts' weights in the wrong order.
    let why = refused("load 1 p2[1; 2; 0]", "load 1 p2[0; 2; 0]");
    let start = "the kernel `down_by_slot` cannot replace `select_sum_256x256_q4_0&dot_256x256_q4_0`: ";
    assert!(why.starts_with(start), "{why}");
    let said = why.strip_prefix(start).unwrap();
    // Some values may be right by chance, but not many.
    let wrong: usize =
        said.split_once(" of 256 values are wrong in a step of 1 token").unwrap().0.parse().unwrap();
    assert!(wrong > 200, "{why}");
    assert!(said.contains("the worst is value ") && said.contains("row [0] in p7: expected "), "{why}");

    // Fewer columns than the other kernel writes.
    let (_, with) = DOWN.split_once("\nwith\n").unwrap();
    assert!(with.contains("cols 256"));
    let narrow =
        with.replace("cols 256", "cols 224").replace("n=256", "n=224").replace("load 256", "load 224");
    let why = refused(with, &narrow);
    assert!(why.ends_with("byte 896 of p7 is not written in a step of 1 token"), "{why}");

    // A sum that depends on the size of the step cannot be said in text form; one in another order can, and is accepted if it
    // is in all steps.
    let (other, notes) =
        opened(&options(&DOWN.replace("add v2 v5", "add v5 v2").replace("add v9 v8", "add v8 v9")));
    other.unwrap();
    assert!(notes[0].contains(": the same bits"), "sums of two do not depend on their order: {notes:?}");
}

#[test]
fn a_kernel_that_replaces_nothing_is_an_error() {
    let mut other = DOWN.replace("count=6", "count=5");
    match opened(&options(&other)).0 {
        Err(Error::Replacement(why)) => assert!(
            why.starts_with(
                "the kernel `down_by_slot` replaces nothing: no plan of this model has the kernel"
            ),
            "{why}"
        ),
        other => panic!("{:?}", other.map(drop)),
    }
    // The same kernel in steps of all sizes, but with a view beyond its buffer.
    let (before, after) = DOWN.split_once("with\n").unwrap();
    other = format!("{before}with\n{}", after.replace("store v10 p7[0; 256; 1]", "store v10 p7[1; 256; 1]"));
    match opened(&options(&other)).0 {
        Err(Error::Fuse(why)) => {
            assert!(
                why.to_string().starts_with("a kernel that was given does not fit: plan `mla_moe_layer`"),
                "{why}"
            );
        }
        other => panic!("{:?}", other.map(drop)),
    }
}
