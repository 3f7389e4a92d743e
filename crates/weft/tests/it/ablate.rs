//! Tests of `ablate`: changes by name, the table, errors, and that recorded samples of no change stay undecided.

use std::fs;

use serde_json::Value;
use weft_engine::inspect::{TunedDecision, keep_decisions};
use weft_engine::{DeviceChoice, Mode, decision};

use crate::support::{Folder, Ran, fixture, model, weft};

/// Runs a short ablation of the smallest model.
fn ablate(args: &[&str]) -> Ran {
    let model = model("glm-tiny-q4_0");
    let short = ["-p", "4", "-n", "2", "-d", "5", "-r", "2", "-t", "2", "--no-cache"];
    weft([&["ablate", model.to_str().unwrap()], &short[..], args].concat()).run()
}

#[test]
fn every_knob_has_a_row() {
    let json = ablate(&["--json"]).json();
    let rows = json["rows"].as_array().unwrap();
    let changes: Vec<&str> = rows.iter().map(|row| row["change"].as_str().unwrap()).collect();
    for change in ["aa", "tidy.identity=off", "fuse.router=off", "fuse.router=on", "batch.half"] {
        assert!(changes.contains(&change), "{change}: {changes:?}");
    }
    assert_eq!((&json["decode"], &json["depth"], &json["pairs"]), (&2.into(), &5.into(), &2.into()));
    let nothing = &rows[0];
    assert_eq!(nothing["decode"]["tokens_per_second"]["base"].as_array().unwrap().len(), 2);
    assert_eq!((&nothing["verdict"], &nothing["logits"]["same_bits"]), (&"undecided".into(), &true.into()));
}

#[test]
fn the_table_is_text_or_markdown() {
    let knobs = ["--knobs", "aa,fuse.beside", "--combine"];
    let text = ablate(&knobs).ok();
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("undecided")).collect();
    assert!(
        rows.len() == 2 && rows[0].starts_with("aa ") && rows[1].starts_with("fuse.beside=off "),
        "{text}"
    );
    assert!(text.contains("same bits") && text.contains("No change wins"), "{text}");
    let markdown = ablate(&[&knobs[..], &["--markdown"]].concat()).ok();
    assert!(markdown.contains("\n| `fuse.beside=off` | "), "{markdown}");
}

#[test]
fn golden_logits_are_read_and_checked() {
    let golden = fixture("glm-tiny-q4_0.json");
    let json = ablate(&["--knobs", "fuse.tail", "--golden", golden.to_str().unwrap(), "--json"]).json();
    let logits = &json["rows"][0]["logits"];
    let kl = |which: &str| logits["from_golden"][which]["mean_kl"].as_f64().unwrap();
    assert!(kl("base") > 0.0 && kl("change") < 0.1, "{logits}");

    let folder = Folder::new();
    let wrong = |json: &str, said: &str| {
        let path = folder.join("golden.json");
        fs::write(&path, json).unwrap();
        let error = ablate(&["--knobs", "aa", "--golden", path.to_str().unwrap()]).failed(1);
        assert!(error.contains("cannot use the golden logits ") && error.contains(said), "{error}");
    };
    fs::write(folder.join("short.f32"), [0; 12]).unwrap();
    wrong("{", "EOF");
    wrong("{}", "`tokens` is not a list");
    wrong(r#"{"tokens": [-1]}"#, "`tokens` contains something other than token ids");
    wrong(r#"{"tokens": []}"#, "`tokens` is empty");
    wrong(r#"{"tokens": [2048], "vocab": 2048}"#, "token 2048 is not in the model's vocabulary of 2048");
    wrong(r#"{"tokens": [1], "vocab": 7}"#, "`vocab` is 7, but the model has 2048 tokens");
    wrong(r#"{"tokens": [1], "vocab": 2048}"#, "`logits` is not a file name");
    wrong(r#"{"tokens": [1], "vocab": 2048, "logits": "none.f32"}"#, "none.f32");
    wrong(
        r#"{"tokens": [1], "vocab": 2048, "logits": "short.f32"}"#,
        "has 12 bytes; expected 8192, for 1 x 2048 values",
    );
}

/// The decisions that an ablation keeps depend on the machine's speed, so this test keeps a decision by itself.
#[test]
fn kept_decisions_are_used_unless_told_otherwise() {
    let (folder, model) = (Folder::new(), model("glm-tiny-q4_0"));
    let path = model.to_str().unwrap();
    let packed = weft_hub::Cache::new(folder.path().to_path_buf()).packed();
    let hardware = DeviceChoice::default().target(Some(2), None).unwrap().hardware;
    let beside = decision("fuse.beside").unwrap();
    let kept = TunedDecision { decision: beside, mode: Mode::Off, why: "decode +9.0 %".into() };
    keep_decisions(&hardware, &packed, &weft_engine::open_file(&model).unwrap(), &[kept]).unwrap();
    let run = |args: &[&str]| weft(args).env("WEFT_CACHE", folder.path()).env("WEFT_THREADS", "2").run();
    let explained = |more: &[&str]| {
        let json = run(&[&["explain", path, "--json"], more].concat()).json();
        let decisions = json["decisions"].as_array().unwrap().clone();
        let own = decisions.into_iter().find(|one| one["name"] == "fuse.beside").unwrap();
        (own["mode"].clone(), own["kept"].clone(), json["total"]["kernels"].as_u64().unwrap())
    };
    let (mode, why, kernels) = explained(&[]);
    assert_eq!((mode, why), ("off".into(), "decode +9.0 %".into()));
    for more in [&["--no-tuned"][..], &["--set", "fuse.beside=on"], &["--no-cache"]] {
        let (mode, why, fewer) = explained(more);
        assert_eq!((mode, why), ("on".into(), Value::Null), "{more:?}");
        assert!(fewer < kernels, "{more:?}: {fewer} and {kernels} kernels");
    }
    let (mode, why, _) = explained(&["-t", "1"]);
    assert_eq!((mode, why), ("on".into(), Value::Null), "measured with another number of threads");
    assert!(run(&["explain", path]).ok().contains("off, kept: decode +9.0 %"));

    // It is the base of further ablations, and of what they keep.
    let short =
        ["ablate", path, "-p", "4", "-n", "0", "-d", "0", "-r", "1", "--knobs", "fuse.beside", "--json"];
    let tried = |more: &[&str]| run(&[&short, more].concat()).json()["rows"][0]["change"].clone();
    assert_eq!((tried(&[]), tried(&["--no-tuned"])), ("fuse.beside=on".into(), "fuse.beside=off".into()));
    let ran = run(&[&short[..], &["--keep"]].concat());
    assert!(ran.err.contains("no new decision to keep"), "{}", ran.err);
    run(&["cache", "clear"]).ok();
    assert_eq!(explained(&[]).0, "on");
}

#[test]
fn impossible_ablations_are_refused() {
    assert!(ablate(&["--keep"]).failed(2).contains("cannot keep decisions without a cache"));
    assert!(ablate(&["--knobs", "fuse.tale"]).failed(2).contains("did you mean fuse.tail?"));
    assert!(ablate(&["--knobs", "fuse.tail=on"]).failed(2).contains("is already set"));
    assert!(ablate(&["-p0", "-n0"]).failed(2).contains("nothing to measure"));
    assert!(ablate(&["--json", "--markdown"]).failed(2).contains("cannot be used together"));
    assert!(ablate(&["-d", "1000000"]).failed(1).contains("use a smaller --depth"));
    assert!(ablate(&["-c", "31"]).failed(1).contains("needs a context of 32 tokens, but --context is 31"));
}

/// A hundred ablations of a change that changes nothing, from pairs recorded on a busy machine with two cores.
#[test]
fn no_change_is_undecided() {
    let recorded: Value = serde_json::from_str(include_str!("ablate/aa.json")).unwrap();
    let rates = |which: &str| -> Vec<f64> {
        recorded[which].as_array().unwrap().iter().map(|rate| rate.as_f64().unwrap()).collect()
    };
    let pairs: Vec<(f64, f64)> = rates("base").into_iter().zip(rates("change")).collect();
    assert_eq!(pairs.len(), 3000);
    let rule = weft_lab::Rule::new(1, 30);
    let undecided = pairs.chunks_exact(30).filter(|pairs| {
        let mut looks = rule.looks().iter().map(|&look| rule.gain(&pairs[..look]));
        looks.all(|gain| gain.verdict() == weft_lab::Verdict::Undecided)
    });
    assert!(undecided.count() >= 95);
}
