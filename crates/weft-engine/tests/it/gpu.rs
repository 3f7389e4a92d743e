//! The same numbers on a graphics adapter, in software if there is no other.

use std::io::Write as _;
use std::ops::ControlFlow;

use crate::support::{FIXTURES, Fixture, all_logits, bits, mean_kl};
use weft_engine::{DeviceChoice, Engine, EngineOptions, Error};

/// An engine on the most promising adapter. Without one a test has nothing to do, and says so; where `WEFT_TEST_ADAPTER` is set that is a failure.
fn engine(fixture: &Fixture, options: EngineOptions) -> Option<Engine> {
    let options = EngineOptions { device: DeviceChoice::Gpu(None), ..options };
    match Engine::load(&fixture.path, &options, &mut |_| ControlFlow::Continue(())) {
        Err(Error::Open(why)) if std::env::var_os("WEFT_TEST_ADAPTER").is_none() => {
            // Past the harness, which keeps what passing tests print to itself.
            let _ = writeln!(std::io::stderr(), "SKIPPED, a test of graphics devices: {why}");
            None
        }
        loaded => Some(loaded.unwrap()),
    }
}

#[test]
fn a_graphics_device_loses_no_more_than_the_processor_may() {
    for (name, _) in FIXTURES {
        let fixture = Fixture::load(name);
        let options = EngineOptions { context: Some(128), batch: 128, ..EngineOptions::default() };
        let Some(mut engine) = engine(&fixture, options) else { return };
        let logits = all_logits(&mut engine, &fixture.tokens, 128);
        let kl = mean_kl(&logits, &fixture.golden, fixture.vocab);
        println!(
            "{name} on {}: mean KL {kl:.4}, llama.cpp's int8 path {:.4}",
            engine.device().name,
            fixture.int8_mean_kl
        );
        assert!(kl <= 1.2 * fixture.int8_mean_kl, "{name}: {kl}");
    }
}

#[test]
fn steps_of_any_size_give_the_same_bits() {
    let fixture = Fixture::load("glm-tiny-q4_k_m");
    let options = EngineOptions { context: Some(128), batch: 32, ..EngineOptions::default() };
    let Some(mut engine) = engine(&fixture, options) else { return };
    let mut first = None;
    for chunk in [1, 5, 32] {
        let tokens = &fixture.tokens[..24];
        let logits = all_logits(&mut engine, tokens, chunk);
        let kl = mean_kl(&logits, &fixture.golden[..logits.len()], fixture.vocab);
        println!("{chunk} tokens at once: mean KL {kl:.4}");
        let first = first.get_or_insert_with(|| bits(&logits));
        assert!(*first == bits(&logits), "{chunk} tokens at once give other bits than 1");
        assert!(kl <= 1.2 * fixture.int8_mean_kl, "{chunk} at once: {kl}");
    }
}

#[test]
fn no_adapter_of_that_name_is_an_error_that_names_those_there_are() {
    let fixture = Fixture::load("glm-tiny-q4_0");
    let options = EngineOptions {
        device: DeviceChoice::Gpu(Some("no such adapter".into())),
        ..EngineOptions::default()
    };
    let loaded = Engine::load(&fixture.path, &options, &mut |_| ControlFlow::Continue(()));
    let why = loaded.err().unwrap().to_string();
    assert!(why.contains("no graphics adapter") || why.contains("no such adapter"), "{why}");
}
