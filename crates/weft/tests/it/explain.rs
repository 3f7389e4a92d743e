//! `explain`: the kernels a model is compiled to.

use expect_test::expect_file;
use serde_json::{Value, json};

use crate::support::{Ran, model, weft};

fn explain(args: &[&str]) -> Ran {
    let path = model("glm-tiny-q4_k_m");
    weft([&["explain", path.to_str().unwrap()], args].concat()).run()
}

/// The kernels of a step, counted by its plans.
fn kernels(report: &Value) -> usize {
    let plans = report["plans"].as_array().unwrap().iter();
    let length = |plan: &Value, key: &str| plan[key].as_array().unwrap().len();
    plans.map(|plan| length(plan, "kernels") * length(plan, "segments")).sum()
}

#[test]
fn a_layer_as_text_with_reasons() {
    let text = explain(&["--layer", "0", "--why"]).ok();
    expect_file!["explain/glm-tiny-q4_k_m.txt"].assert_eq(&text);
}

#[test]
fn a_step_as_json_adds_up() {
    let report = explain(&["--json"]).json();
    assert!(kernels(&report) > 0);
    assert_eq!(report["kernels_a_step"], kernels(&report));
    // One layer is shown, but a step is a step.
    let layer = explain(&["--json", "--layer", "1"]).json();
    assert_eq!(layer["kernels_a_step"], report["kernels_a_step"]);
    assert!(kernels(&layer) < kernels(&report));
}

#[test]
fn a_decision_that_is_off_costs_kernels() {
    let (on, off) = (explain(&["--json"]).json(), explain(&["--json", "--set", "fuse.tail=off"]).json());
    assert!(kernels(&off) > kernels(&on), "{} and {}", kernels(&off), kernels(&on));
    assert_eq!(off["kernels_a_step"], kernels(&off));
    let state = |report: &Value| {
        let decisions = report["decisions"].as_array().unwrap().iter();
        decisions.clone().find(|decision| decision["name"] == "fuse.tail").map(|d| d["on"].clone())
    };
    assert_eq!((state(&on), state(&off)), (Some(json!(true)), Some(json!(false))));
    // The last word on a decision counts, and an argument more than the environment.
    let path = model("glm-tiny-q4_k_m");
    let call = ["explain", path.to_str().unwrap(), "--json", "--set", "fuse.tail=off,fuse.tail=on"];
    assert_eq!(weft(call).env("WEFT_SET", "fuse.tail=off").run().json(), on);
    assert_eq!(weft(&call[..3]).env("WEFT_SET", "fuse.tail=off").run().json(), off);
}

#[test]
fn what_there_is_not_is_refused() {
    let error = explain(&["--set", "fuse.tale=off"]).failed(2);
    assert!(error.contains("there is no decision `fuse.tale`; there are fuse."), "{error}");
    let error = explain(&["--layer", "99"]).failed(1);
    assert!(error.contains("the model has layers 0 to 2"), "{error}");
}
