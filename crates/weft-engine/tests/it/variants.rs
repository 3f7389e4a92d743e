//! One model compiled in several ways in one engine: all on the same weights and states, none in the way of another.

use weft_device::Mark;
use weft_engine::{Batch, EngineOptions, Mode, PlansId, Switches, decision, decisions};

use crate::support::{Fixture, all_logits, bits};

fn options() -> EngineOptions {
    EngineOptions::default().threads(2).context(128)
}

fn off(name: &str) -> Switches {
    let mut switches = Switches::default();
    switches.set(decision(name).unwrap(), Mode::Off);
    switches
}

#[test]
fn each_way_computes_what_an_engine_loaded_so_does() {
    let fixture = Fixture::load("glm-tiny-q4_k_m");
    let tokens = &fixture.tokens[..9];
    let mut engine = fixture.engine(options());
    let loaded = bits(&all_logits(&mut engine, tokens, 4));
    for decision in decisions() {
        let mut switches = Switches::default();
        let other = if decision.default == Mode::On { Mode::Off } else { Mode::On };
        switches.set(decision, other);
        let expected = fixture.engine(options().switches(switches.clone()));
        let expected = bits(&all_logits(&mut { expected }, tokens, 4));
        let plans = engine.add_plans(&switches).unwrap();
        assert!(
            bits(&all_logits(&mut engine, tokens, 4)) == loaded,
            "{}: nobody asked for them yet",
            decision.name
        );
        engine.use_plans(plans).unwrap();
        assert!(bits(&all_logits(&mut engine, tokens, 4)) == expected, "{}", decision.name);
        engine.drop_plans();
        assert!(bits(&all_logits(&mut engine, tokens, 4)) == loaded, "{} has been dropped", decision.name);
        assert!(engine.use_plans(plans).is_err());
    }
}

#[test]
fn a_sequence_goes_on_through_a_change_of_plans() {
    let fixture = Fixture::load("ds2-tiny-q4_0");
    let mut engine = fixture.engine(options());
    let expected = bits(&all_logits(&mut engine, &fixture.tokens, 512));
    let ways = [
        PlansId::LOADED,
        engine.add_plans(&off("fuse.beside")).unwrap(),
        engine.add_plans(&off("fuse.tail")).unwrap(),
    ];
    let (seq, mut found) = (engine.new_sequence(), Vec::new());
    for (i, tokens) in fixture.tokens.chunks(3).enumerate() {
        engine.use_plans(ways[i % 3]).unwrap();
        let mut batch = Batch::new();
        tokens.iter().for_each(|token| batch.push(seq, *token, true));
        found.extend(bits(engine.step(&batch).unwrap()));
    }
    assert!(found == expected);
}

#[test]
fn ways_are_told_apart_by_their_kernels() {
    let fixture = Fixture::load("glm-tiny-q4_0");
    let mut engine = fixture.engine(options());
    let same = engine.add_plans(&Switches::default()).unwrap();
    let beside = engine.add_plans(&off("fuse.beside")).unwrap();
    assert!(engine.same_plans(PlansId::LOADED, same).unwrap());
    assert!(!engine.same_plans(PlansId::LOADED, beside).unwrap());
    let kernels = [PlansId::LOADED, same, beside].map(|plans| engine.kernels(plans, 1).unwrap());
    assert!(kernels[0] == kernels[1] && kernels[1] < kernels[2], "{kernels:?}");
    engine.drop_plans();
    assert!(engine.kernels(beside, 1).is_err() && engine.kernels(same, 1).is_ok());
    engine.drop_plans();
    engine.drop_plans();
    assert!(engine.kernels(PlansId::LOADED, 1).is_ok(), "the loaded ones stay");
}

#[test]
fn what_was_dropped_names_nothing_that_comes_after() {
    let fixture = Fixture::load("glm-tiny-q4_0");
    let mut engine = fixture.engine(options());
    let loaded = Mark::of(engine.device_mut());
    let before = engine.empty_part(1, 1).unwrap();
    let beside = engine.add_plans(&off("fuse.beside")).unwrap();
    let part = engine.empty_part(1, 1).unwrap();
    engine.drop_plans();
    // Both have the places of those that are gone.
    let tail = engine.add_plans(&off("fuse.tail")).unwrap();
    let other = engine.empty_part(1, 1).unwrap();
    assert!(tail != beside && other != part && engine.use_plans(tail).is_ok());
    assert!(engine.use_plans(beside).is_err() && engine.kernels(beside, 1).is_err());
    assert!(engine.same_plans(tail, beside).is_err());

    let seq = engine.new_sequence();
    let mut batch = Batch::new();
    batch.push(seq, 7, false);
    engine.step(&batch).unwrap();
    let said = engine.replay_part(part).unwrap_err().to_string();
    assert!(said.contains("has been dropped"), "{said}");
    assert!(engine.replay_part(other).is_ok() && engine.replay_part(before).is_ok());

    // Parts go with the plans that were there when they were made, and without them too.
    engine.drop_parts();
    assert!(engine.replay_part(other).is_err() && engine.replay_part(before).is_ok());
    engine.drop_plans();
    assert!(engine.replay_part(before).is_ok());
    engine.drop_parts();
    assert!(engine.replay_part(before).is_err());
    assert_eq!(Mark::of(engine.device_mut()), loaded, "nothing is left of them");
    engine.use_plans(PlansId::LOADED).unwrap();
    engine.step(&batch).unwrap();
}
