//! The right numbers: the oracle and the CPU path against llama.cpp's logits.

use crate::support::{FIXTURES, Fixture, all_logits, mean_kl, relative_l2};
use weft_engine::{DECISIONS, Engine, EngineOptions, Model, oracle_logits};
use weft_gguf::Gguf;
use weft_quant::GgmlType;

#[test]
fn the_oracle_gives_the_golden_logits() {
    for (name, bound) in FIXTURES {
        let fixture = Fixture::load(name);
        let logits = oracle_logits(&Gguf::open(&fixture.path).unwrap(), &fixture.tokens).unwrap();
        let error = relative_l2(&logits, &fixture.golden);
        println!("{name}: relative L2 of the oracle {error:.2e}");
        assert!(error <= bound, "{name}: {error:e}");
    }
}

#[test]
fn the_cpu_path_loses_no_more_than_llama_cpp_with_8_bit_activations() {
    for (name, _) in FIXTURES {
        let fixture = Fixture::load(name);
        let logits = all_logits(&mut fixture.engine(EngineOptions::default()), &fixture.tokens, 512);
        let kl = mean_kl(&logits, &fixture.golden, fixture.vocab);
        println!("{name}: mean KL {kl:.4}, llama.cpp's int8 path {:.4}", fixture.int8_mean_kl);
        assert!(kl <= 1.2 * fixture.int8_mean_kl, "{name}: {kl}");
    }
}

#[test]
fn any_decision_switched_off_keeps_the_numbers() {
    for (name, _) in FIXTURES {
        let fixture = Fixture::load(name);
        for off in DECISIONS.iter().map(|d| vec![*d]).chain([DECISIONS.to_vec()]) {
            let what = off.iter().map(|d| d.name).collect::<Vec<_>>();
            let options = EngineOptions { off, ..EngineOptions::default() };
            let logits = all_logits(&mut fixture.engine(options), &fixture.tokens, 512);
            let kl = mean_kl(&logits, &fixture.golden, fixture.vocab);
            assert!(kl <= 1.2 * fixture.int8_mean_kl, "{name} without {what:?}: {kl}");
        }
    }
}

#[test]
fn the_reference_device_agrees_with_the_cpu() {
    let fixture = Fixture::load("glm-tiny-q4_k_m");
    let tokens = &fixture.tokens[..3];
    let options = EngineOptions { context: Some(64), batch: 4, ..EngineOptions::default() };
    let cpu = all_logits(&mut fixture.engine(options.clone()), tokens, 4);
    let model = Model::open(&fixture.path, GgmlType::F16).unwrap();
    let device = Box::new(weft_device::ReferenceDevice::default());
    let mut reference = Engine::new(model, device, &options, &mut |_| {}).unwrap();
    let expected = all_logits(&mut reference, tokens, 4);
    // Both round activations to the same 8 bits, but sums that differ in their last bit can round to neighbours.
    let error = relative_l2(&cpu, &expected);
    assert!(error < 2e-2, "{error:e}");
}
