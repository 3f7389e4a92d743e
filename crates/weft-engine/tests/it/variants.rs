//! A model compiled several times in one runner, with shared weights and states.

use weft_device::Mark;
use weft_engine::inspect::{Batch, PlansId};
use weft_engine::{EngineOptions, Mode, Switches, decision, decisions};

use crate::support::{Fixture, THREADS, all_logits, bits};

fn options() -> EngineOptions {
    EngineOptions::default().threads(THREADS).context(128)
}

fn off(name: &str) -> Switches {
    let mut switches = Switches::default();
    switches.set(decision(name).unwrap(), Mode::Off);
    switches
}

#[test]
fn added_plans_compute_the_same_as_loaded_ones() {
    let fixture = Fixture::load("glm-tiny-q4_k_m");
    let tokens = &fixture.tokens[..9];
    let mut runner = fixture.runner(options());
    let loaded = bits(&all_logits(&mut runner, tokens, 4));
    for decision in decisions() {
        let mut switches = Switches::default();
        let other = if decision.default == Mode::On { Mode::Off } else { Mode::On };
        switches.set(decision, other);
        let expected = fixture.runner(options().switches(switches.clone()));
        let expected = bits(&all_logits(&mut { expected }, tokens, 4));
        let plans = runner.add_plans(&switches).unwrap();
        assert!(
            bits(&all_logits(&mut runner, tokens, 4)) == loaded,
            "{}: the plans are not in use yet",
            decision.name
        );
        runner.use_plans(plans).unwrap();
        assert!(bits(&all_logits(&mut runner, tokens, 4)) == expected, "{}", decision.name);
        runner.drop_plans();
        assert!(bits(&all_logits(&mut runner, tokens, 4)) == loaded, "{} has been dropped", decision.name);
        assert!(runner.use_plans(plans).is_err());
    }
}

#[test]
fn a_sequence_continues_after_a_change_of_plans() {
    let fixture = Fixture::load("ds2-tiny-q4_0");
    let mut runner = fixture.runner(options());
    let expected = bits(&all_logits(&mut runner, &fixture.tokens, 512));
    let ways = [
        PlansId::LOADED,
        runner.add_plans(&off("fuse.beside")).unwrap(),
        runner.add_plans(&off("fuse.tail")).unwrap(),
    ];
    let (seq, mut found) = (runner.new_sequence(), Vec::new());
    for (i, tokens) in fixture.tokens.chunks(3).enumerate() {
        runner.use_plans(ways[i % 3]).unwrap();
        let mut batch = Batch::new();
        tokens.iter().for_each(|token| batch.push(seq, *token, true));
        found.extend(bits(runner.step(&batch).unwrap()));
    }
    assert!(found == expected);
}

#[test]
fn plans_are_compared_by_their_kernels() {
    let fixture = Fixture::load("glm-tiny-q4_0");
    let mut runner = fixture.runner(options());
    let same = runner.add_plans(&Switches::default()).unwrap();
    let beside = runner.add_plans(&off("fuse.beside")).unwrap();
    assert!(runner.same_plans(PlansId::LOADED, same).unwrap());
    assert!(!runner.same_plans(PlansId::LOADED, beside).unwrap());
    let kernels = [PlansId::LOADED, same, beside].map(|plans| runner.kernels(plans, 1).unwrap());
    assert!(kernels[0] == kernels[1] && kernels[1] < kernels[2], "{kernels:?}");
    runner.drop_plans();
    assert!(runner.kernels(beside, 1).is_err() && runner.kernels(same, 1).is_ok());
    runner.drop_plans();
    runner.drop_plans();
    assert!(runner.kernels(PlansId::LOADED, 1).is_ok(), "the loaded plans stay");
}

#[test]
fn ids_of_dropped_plans_and_parts_are_not_reused() {
    let fixture = Fixture::load("glm-tiny-q4_0");
    let mut runner = fixture.runner(options());
    let loaded = Mark::of(runner.device_mut());
    let before = runner.empty_part(1, 1).unwrap();
    let beside = runner.add_plans(&off("fuse.beside")).unwrap();
    let part = runner.empty_part(1, 1).unwrap();
    runner.drop_plans();
    // Both have the indices of the dropped ones.
    let tail = runner.add_plans(&off("fuse.tail")).unwrap();
    let other = runner.empty_part(1, 1).unwrap();
    assert!(tail != beside && other != part && runner.use_plans(tail).is_ok());
    assert!(runner.use_plans(beside).is_err() && runner.kernels(beside, 1).is_err());
    assert!(runner.same_plans(tail, beside).is_err());

    let seq = runner.new_sequence();
    let mut batch = Batch::new();
    batch.push(seq, 7, false);
    runner.step(&batch).unwrap();
    let said = runner.replay_part(part).unwrap_err().to_string();
    assert!(said.contains("has been dropped"), "{said}");
    assert!(runner.replay_part(other).is_ok() && runner.replay_part(before).is_ok());

    // Parts are dropped with the plans that were added before them, or alone.
    runner.drop_parts();
    assert!(runner.replay_part(other).is_err() && runner.replay_part(before).is_ok());
    runner.drop_plans();
    assert!(runner.replay_part(before).is_ok());
    runner.drop_parts();
    assert!(runner.replay_part(before).is_err());
    assert_eq!(Mark::of(runner.device_mut()), loaded, "nothing is left on the device");
    runner.use_plans(PlansId::LOADED).unwrap();
    runner.step(&batch).unwrap();
}
