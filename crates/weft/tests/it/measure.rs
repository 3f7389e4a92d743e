//! Measuring: `bench` and `roofline`. No test asks how fast anything is.

use crate::support::{Ran, model, weft};

/// Measures the smallest model there is, shortly.
fn bench(args: &[&str]) -> Ran {
    let model = model("glm-tiny-q4_0");
    let short = ["-p", "5", "-n", "3", "-r", "2", "-t", "2", "--no-cache"];
    weft([&["bench", model.to_str().unwrap()], &short[..], args].concat()).run()
}

#[test]
fn a_model_is_measured_at_every_depth() {
    let json = bench(&["-d", "7,0,7", "--json"]).json();
    let settings: Vec<String> = json["settings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|setting| {
            let samples = setting["tokens_per_second"]["samples"].as_array().unwrap();
            assert!(samples.len() == 2 && samples.iter().all(|rate| rate.as_f64() > Some(0.0)), "{setting}");
            assert!(setting["share_of_limit"].as_f64() > Some(0.0), "{setting}");
            format!("{} {} at {}", setting["phase"], setting["tokens"], setting["depth"])
        })
        .collect();
    let expected = [r#""prefill" 5 at 0"#, r#""prefill" 5 at 7"#, r#""decode" 3 at 0"#, r#""decode" 3 at 7"#];
    assert_eq!(settings, expected);
    assert_eq!((json["threads"].as_u64(), json["context"].as_u64()), (Some(2), Some(12)));
    assert_eq!(json["roofs"]["read_bytes_per_second"]["samples"].as_array().unwrap().len(), 4);
}

#[test]
fn what_cannot_be_measured_is_refused() {
    assert!(bench(&["-p0", "-n0"]).failed(2).contains("nothing to measure"));
    assert!(bench(&["-d", "1,x"]).failed(2).contains("an integer from 0 to 1073741824 is wanted"));
    assert!(bench(&["-d", "1000000"]).failed(1).contains("give smaller depths with --depth"));
    let refused = bench(&["-d", "8", "-c", "12"]).failed(1);
    assert!(
        refused.contains("5 tokens at a depth of 8 are 13: they do not fit into --context 12"),
        "{refused}"
    );
}

#[test]
fn the_machine_is_measured_for_every_number_of_threads() {
    let json = weft(["roofline", "--threads", "2", "--json"]).run().json();
    let threads: Vec<_> = json["roofs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|roofs| {
            for roof in
                ["read_bytes", "read_in_order_bytes", "dot_multiplications", "mul_add_multiplications"]
            {
                let samples = &roofs[format!("{roof}_per_second")]["samples"];
                assert_eq!(samples.as_array().unwrap().len(), 5, "{roofs}");
            }
            roofs["threads"].as_u64().unwrap()
        })
        .collect();
    assert_eq!(threads, [1, 2]);
    assert!(json["machine"]["isa"].is_string());
}
