//! Tests of `bench`, `profile`, `bench-block` and `roofline`. None asserts a speed.

use crate::support::{Folder, Ran, model, weft};

/// Runs a short benchmark of the smallest model.
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
    assert_eq!((json["threads"].as_u64(), json["context"].as_u64()), (Some(2), Some(512)));
    assert_eq!(json["roofs"]["read_bytes_per_second"]["samples"].as_array().unwrap().len(), 4);
}

#[test]
fn impossible_benchmarks_are_refused() {
    assert!(bench(&["-p0", "-n0"]).failed(2).contains("nothing to measure"));
    assert!(bench(&["-d", "1,x"]).failed(2).contains("expected an integer from 0 to 1073741824"));
    assert!(bench(&["-d", "1000000"]).failed(1).contains("use a smaller --depth"));
    let refused = bench(&["-d", "8", "-c", "12"]).failed(1);
    assert!(
        refused.contains("5 tokens at depth 8 need a context of 13 tokens, but --context is 12"),
        "{refused}"
    );
    let refused = bench(&["--parallel", "4", "--batch", "2"]).failed(1);
    assert!(refused.contains("--parallel 4 needs steps of 4 tokens, but --batch is 2"), "{refused}");
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

/// The cost model uses its table until the device is measured, and the latest measurement from then on.
#[test]
fn the_cost_model_uses_measurements_of_the_machine() {
    let cache = Folder::new();
    let model = model("glm-tiny-q4_0");
    let run = |args: &[&str]| {
        let ran = weft([args, &["-t", "2", "--json"]].concat()).env("WEFT_CACHE", cache.path()).run();
        (serde_json::from_str::<serde_json::Value>(&ran.out).expect("JSON"), ran.err)
    };
    let explained = |more: &[&str]| {
        let (json, _) = run(&[&["explain", model.to_str().unwrap()], more].concat());
        json["machine"].clone()
    };
    assert_eq!(explained(&[])["measured"], false);

    let short = ["-p", "0", "-n", "1", "-r", "1"];
    let (bench, told) = run(&[&["bench", model.to_str().unwrap()], &short[..]].concat());
    assert_eq!(bench["cost_model"]["measured"], false);
    assert!(told.contains("machine-"), "{told}");
    let by_bench = explained(&[]);
    assert_eq!((&by_bench["measured"], &by_bench["workers"]), (&true.into(), &2.into()), "{by_bench}");
    let (bench, told) = run(&[&["bench", model.to_str().unwrap()], &short[..]].concat());
    assert_eq!(bench["cost_model"], by_bench);
    assert!(!told.contains("machine-"), "it must be measured only once: {told}");

    let (roofline, _) = run(&["roofline"]);
    let mut expected = roofline["cost_model"].clone();
    expected["measured"] = true.into();
    assert_eq!(explained(&[]), expected);
    assert_eq!(explained(&["--no-cache"])["measured"], false);
}

/// Profiles the smallest model.
fn profile(args: &[&str]) -> Ran {
    let model = model("glm-tiny-q4_0");
    let short = ["-n", "2", "-t", "2", "--no-cache"];
    weft([&["profile", model.to_str().unwrap()], &short[..], args].concat()).run()
}

#[test]
fn a_profile_agrees_with_inspect() {
    let json = profile(&["-d", "5", "--json"]).json();
    let sum = |list: &str, key: &str| -> f64 {
        json[list].as_array().unwrap().iter().map(|row| row[key].as_f64().unwrap()).sum()
    };
    let inspected =
        weft([std::ffi::OsStr::new("inspect"), model("glm-tiny-q4_0").as_os_str(), "--json".as_ref()]);
    let bytes = inspected.run().json()["cost"]["active_bytes"].as_f64().unwrap();
    for list in ["roles", "anchors", "types", "kernels", "layers"] {
        assert_eq!(sum(list, "weight_bytes"), bytes, "{list}");
    }
    let clock = &json["clock"];
    let parts: f64 =
        ["kernels_ms", "waits_ms", "host_ms", "residue_ms"].map(|p| clock[p].as_f64().unwrap()).iter().sum();
    assert!((parts - clock["wall_ms"].as_f64().unwrap()).abs() < 1e-9, "{clock}");
    assert_eq!(json["threads"].as_array().unwrap().len(), 2);
    assert_eq!(json["launches"].as_array().unwrap().len() as u64, json["step"]["kernels"].as_u64().unwrap());
    assert_eq!((json["step"]["depth"].as_u64(), json["context"].as_u64()), (Some(5), Some(6)));
}

/// With room for its tokens alone, a step would have a program of its own, which is for no other step.
#[test]
fn steps_of_prompts_have_room_for_a_batch() {
    let context = |args: &[&str]| {
        let json = profile(&[&["-p", "4", "--batch", "16", "--json"], args].concat()).json();
        assert_eq!(json["step"]["tokens"], 4);
        json["context"].as_u64()
    };
    assert_eq!((context(&[]), context(&["-c", "9"]), context(&["-d", "13"])), (Some(16), Some(9), Some(17)));
}

#[test]
fn a_trace_is_in_the_format_of_viewers() {
    let folder = Folder::new();
    let trace = folder.join("trace.json");
    let text = profile(&["--prefill", "4", "--trace", trace.to_str().unwrap(), "--with-source"]).ok();
    assert!(text.contains("2 steps of 4 tokens at depth 0") && text.contains("\nkernel "), "{text}");
    let read = std::fs::read_to_string(trace).unwrap();
    let json: serde_json::Value = serde_json::from_str(&read).unwrap();
    let phases = json["traceEvents"].as_array().unwrap().iter().map(|event| event["ph"].as_str().unwrap());
    assert!(phases.clone().all(|phase| ["M", "X"].contains(&phase)) && phases.count() > 50, "{read}");
    let alone = profile(&["--trace", "-"]).json();
    assert!(alone["traceEvents"].is_array());
}

#[test]
fn impossible_profiles_are_refused() {
    assert!(
        profile(&["--json", "--with-source"]).failed(2).contains("--with-source has no effect with --json")
    );
    assert!(profile(&["--trace", "-", "--json"]).failed(2).contains("--json has no effect with --trace -"));
    assert!(profile(&["--steps", "0"]).failed(2).contains("an integer from 1 to 1000"));
    assert!(profile(&["-p", "9", "--batch", "8"]).failed(1).contains("a step of 9 tokens exceeds --batch 8"));
    assert!(profile(&["-d", "1000000"]).failed(1).contains("use a smaller --depth"));
    assert!(profile(&["-d", "8", "-c", "8"]).failed(1).contains("but --context is 8"));
    let own = model("glm-tiny-q4_0");
    assert!(profile(&["--trace", own.to_str().unwrap()]).failed(1).contains("is a file of the model itself"));
}

#[test]
fn blocks_are_measured_in_isolation() {
    let model = model("glm-tiny-q4_0");
    let args = ["-r", "2", "-t", "1", "-d", "3", "--no-cache"];
    let block =
        |more: &[&str]| weft([&["bench-block", model.to_str().unwrap()], &args[..], more].concat()).run();
    let json = block(&["--json"]).json();
    let blocks = json["blocks"].as_array().unwrap();
    let names: Vec<_> =
        blocks.iter().map(|b| (b["segment"].as_str().unwrap(), b["block"].as_str().unwrap())).collect();
    let each = ["attention", "feed-forward", "layer"];
    let expected: Vec<_> = ["layer 0", "layer 1"].into_iter().flat_map(|l| each.map(|b| (l, b))).collect();
    assert_eq!(names, expected);
    assert!(blocks.iter().all(|b| b["seconds"]["samples"].as_array().unwrap().len() == 2));
    let text = block(&[]).ok();
    assert!(text.contains("layer 0, the only one of its kind\n  attention"), "{text}");
}
