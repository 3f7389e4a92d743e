//! An e-graph that stops early is still correct, and so is its report.

use std::time::Duration;

use weft_ir::parse;

use crate::explore::explore;
use crate::machines::MACHINES;
use crate::presets::PRESETS;
use crate::saturate::{Limits, Stopped};

/// Explores latent attention within limits.
fn explored(limits: Limits, machine: &str) -> crate::explore::Report {
    let machine = MACHINES.iter().find(|named| named.name == machine).unwrap();
    explore(&parse(PRESETS[0].text).unwrap(), &machine.machine, &limits).unwrap()
}

#[test]
fn the_node_limit_ends_saturation() {
    let report = explored(Limits { nodes: 100, ..Limits::default() }, "cpu");
    assert_eq!(report.growth.stopped, Stopped::Nodes);
    // The limit is checked after a law was applied everywhere.
    assert!((100..200).contains(&report.growth.nodes), "{:?}", report.growth);
    assert!(report.results.iter().all(|result| result.difference.relative_l2 < 1e-5));
}

#[test]
fn the_time_limit_ends_saturation() {
    let report = explored(Limits { time: Duration::ZERO, ..Limits::default() }, "gpu");
    assert_eq!(report.growth.stopped, Stopped::Time);
    assert!(report.results.iter().all(|result| result.difference.same_bits && !result.holds_rules));
    let text = report.to_string();
    assert!(text.contains("time limit") && text.contains("not in the e-graph"), "{text}");
}

#[test]
fn a_saturated_search_is_never_worse_than_the_rules() {
    for machine in ["cpu", "gpu"] {
        let report = explored(Limits::default(), machine);
        assert_eq!(report.growth.stopped, Stopped::Saturated);
        for result in &report.results {
            assert!(result.holds_rules && result.best.ns <= result.rules.ns, "{result}");
            assert!(result.difference.relative_l2 < 1e-5, "{result}");
        }
        assert_eq!(report.json()["results"][1]["products"], true);
    }
}
