//! Ablating: changes by name, their table, and what is refused. What was recorded of a change that is none stays undecided.

use std::fs;

use serde_json::Value;

use crate::support::{Folder, Ran, fixture, model, weft};

/// Ablates the smallest model there is, shortly.
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
    for change in
        ["aa", "tidy.identity=off", "fold.query=on", "fuse.router=off", "fuse.router=on", "batch.half"]
    {
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
    assert!(text.contains("same bits") && text.contains("Nothing wins"), "{text}");
    let markdown = ablate(&[&knobs[..], &["--markdown"]].concat()).ok();
    assert!(markdown.contains("\n| `fuse.beside=off` | "), "{markdown}");
}

#[test]
fn golden_logits_are_read_and_held_to_their_size() {
    let golden = fixture("glm-tiny-q4_0.json");
    let json = ablate(&["--knobs", "fold.query", "--golden", golden.to_str().unwrap(), "--json"]).json();
    let logits = &json["rows"][0]["logits"];
    let kl = |which: &str| logits["from_golden"][which]["mean_kl"].as_f64().unwrap();
    assert!(kl("base") > 0.0 && kl("change") < 0.1, "{logits}");

    let folder = Folder::new();
    let wrong = |json: &str, said: &str| {
        let path = folder.join("golden.json");
        fs::write(&path, json).unwrap();
        let error = ablate(&["--knobs", "aa", "--golden", path.to_str().unwrap()]).failed(1);
        assert!(error.contains("the golden logits of ") && error.contains(said), "{error}");
    };
    fs::write(folder.join("short.f32"), [0; 12]).unwrap();
    wrong("{", "EOF");
    wrong("{}", "`tokens` is no list");
    wrong(r#"{"tokens": [-1]}"#, "`tokens` are no ids");
    wrong(r#"{"tokens": []}"#, "`tokens` is empty");
    wrong(r#"{"tokens": [2048], "vocab": 2048}"#, "token 2048 is not in the model's vocabulary of 2048");
    wrong(r#"{"tokens": [1], "vocab": 7}"#, "the model's is 2048");
    wrong(r#"{"tokens": [1], "vocab": 2048}"#, "`logits` is no name");
    wrong(r#"{"tokens": [1], "vocab": 2048, "logits": "none.f32"}"#, "none.f32");
    wrong(
        r#"{"tokens": [1], "vocab": 2048, "logits": "short.f32"}"#,
        "has 12 bytes, and 1 tokens of 2048 take 8192",
    );
}

#[test]
fn what_cannot_be_ablated_is_refused() {
    assert!(ablate(&["--knobs", "fuse.tale"]).failed(2).contains("near it are fuse.tail"));
    assert!(ablate(&["--knobs", "fuse.tail=on"]).failed(2).contains("is how it stands already"));
    assert!(ablate(&["-p0", "-n0"]).failed(2).contains("nothing to measure"));
    assert!(ablate(&["--json", "--markdown"]).failed(2).contains("two ways"));
    assert!(ablate(&["-d", "1000000"]).failed(1).contains("give a smaller --depth"));
    assert!(ablate(&["-c", "31"]).failed(1).contains("are 32: they do not fit into --context 31"));
}

/// A hundred ablations of a change that changes nothing, made of pairs that were recorded on a busy machine with two cores.
#[test]
fn what_changes_nothing_is_undecided() {
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
