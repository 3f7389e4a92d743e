//! An e-graph that is stopped early is as right as any, and what comes of it is still a report.

use std::time::Duration;

use weft_ir::parse;

use crate::explore::explore;
use crate::machines::MACHINES;
use crate::presets::PRESETS;
use crate::saturate::{Limits, Stopped};

/// The graph of latent attention, explored within limits.
fn explored(limits: Limits, machine: &str) -> crate::explore::Report {
    let machine = MACHINES.iter().find(|named| named.name == machine).unwrap();
    explore(&parse(PRESETS[0].text).unwrap(), &machine.machine, &limits).unwrap()
}

#[test]
fn a_hundred_nodes_end_it() {
    let report = explored(Limits { nodes: 100, ..Limits::default() }, "cpu");
    assert_eq!(report.growth.stopped, Stopped::Nodes);
    // A law is applied everywhere before nodes are counted again.
    assert!((100..200).contains(&report.growth.nodes), "{:?}", report.growth);
    assert!(report.results.iter().all(|result| result.difference.relative_l2 < 1e-5));
}

#[test]
fn no_time_ends_it() {
    let report = explored(Limits { time: Duration::ZERO, ..Limits::default() }, "gpu");
    assert_eq!(report.growth.stopped, Stopped::Time);
    assert!(report.results.iter().all(|result| result.difference.same_bits && !result.holds_rules));
    let text = report.to_string();
    assert!(text.contains("time limit") && text.contains("not in the e-graph"), "{text}");
}

#[test]
fn enough_of_both_is_never_worse_than_the_rules() {
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
