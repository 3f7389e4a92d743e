//! Tests of `verify`, `perplexity` and `kl`.

use std::fs;

use serde_json::Value;

use crate::support::{Folder, Ran, model, weft};

const SENTENCE: &str = "It was a bright cold day in April, and the clocks were striking thirteen.\n";

/// Runs a command on models and a text, in windows of 16 tokens.
fn scored(command: &str, models: &[&str], text: impl AsRef<[u8]>, args: &[&str]) -> Ran {
    let folder = Folder::new();
    let file = folder.join("text");
    fs::write(&file, text).unwrap();
    let models: Vec<String> = models.iter().map(|name| model(name).display().to_string()).collect();
    let mut call = vec![command, "--no-cache", "-t", "2", "-c", "16"];
    call.extend(models.iter().map(String::as_str));
    call.push(file.to_str().unwrap());
    call.extend(args);
    weft(call).run()
}

#[test]
fn a_text_has_a_perplexity() {
    let text = SENTENCE.repeat(3);
    let json = scored("perplexity", &["glm-tiny-q4_0"], &text, &["--json"]).json();
    let windows = json["windows"]["of"].as_u64().unwrap();
    assert!(windows > 1 && json["whole"] == true, "{json}");
    assert_eq!(json["scored_tokens"].as_u64(), Some(windows * 7));
    assert_eq!(json["windows"]["nll"].as_array().unwrap().len() as u64, windows);
    let perplexity = json["perplexity"].as_f64().unwrap();
    assert!((perplexity.ln() - json["nll"]["mean"].as_f64().unwrap()).abs() < 1e-9);
    // Batches and threads change no bit.
    let other =
        scored("perplexity", &["glm-tiny-q4_0"], &text, &["--json", "--batch", "3", "-t", "1"]).json();
    assert_eq!(other["nll"], json["nll"]);
    let shown = scored("perplexity", &["glm-tiny-q4_0"], &text, &["--windows", "1"]).ok();
    assert!(
        shown.starts_with("perplexity  ")
            && shown.contains("\n7 tokens scored, in the second halves of 1 windows of 16;"),
        "{shown}"
    );
}

#[test]
fn a_text_can_come_from_standard_input() {
    let path = model("glm-tiny-q4_0");
    let call = ["perplexity", path.to_str().unwrap(), "-", "-c", "16", "--json"];
    let text = "The quick brown fox jumps over the lazy dog. ".repeat(20);
    let json = weft(call).input(text.clone()).run().json();
    assert_eq!(json["text"]["bytes"].as_u64(), Some(text.len() as u64));
}

#[test]
fn unsuitable_texts_are_refused() {
    let refused =
        |text: &[u8], args: &[&str], code| scored("perplexity", &["glm-tiny-q4_0"], text, args).failed(code);
    assert!(refused(b"Hi", &[], 1).contains("give a longer text or another window length"));
    assert!(
        refused(b"", &[], 1).contains("the text has 0 tokens")
            || refused(b"", &[], 1).contains("the text has 1 tokens")
    );
    assert!(refused(b"\xFF\xFE", &[], 1).contains("it is not UTF-8 text: byte 0 is invalid"));
    assert!(refused(b"Hi", &["-c", "2"], 2).contains("expected an integer from 3 to 1048576"));
    let more = refused(b"Hi", &["-c", "1000000"], 1);
    assert!(more.contains("the context is 1000000 tokens: expected 1 to"), "{more}");
    let call = ["perplexity", model("glm-tiny-q4_0").to_str().unwrap(), "no/such/text"].map(str::to_string);
    assert!(weft(call).run().failed(1).contains("cannot read the text file no/such/text: no such file"));
}

#[test]
fn two_models_are_compared() {
    let text = SENTENCE.repeat(2);
    let json = scored("kl", &["glm-tiny-q8_0", "glm-tiny-q4_0"], &text, &["--json"]).json();
    let kl = &json["kl"];
    let of = |value: &Value| value.as_f64().unwrap();
    assert_eq!(kl["each"].as_array().unwrap().len() as u64, json["scored_tokens"].as_u64().unwrap());
    assert!(
        of(&kl["mean"]) > 1e-6 && of(&kl["median"]) <= of(&kl["p99"]) && of(&kl["p99"]) <= of(&kl["max"])
    );
    assert!(json["base"]["model"].as_str().unwrap().ends_with("q8_0.gguf"), "{}", json["base"]);
    // The perplexity is the same as without another model.
    let alone = scored("perplexity", &["glm-tiny-q4_0"], &text, &["--json"]).json();
    assert_eq!(json["perplexity"][1], alone["perplexity"]);
    let same = scored("kl", &["glm-tiny-q4_0", "glm-tiny-q4_0"], &text, &["--windows", "1"]).ok();
    assert!(same.starts_with("KL, mean     0.000000 ± 0.000000\n"), "{same}");
    assert!(same.contains("same top token         100.000 %\n"), "{same}");
}

/// Figures are only comparable for the same text and base.
#[test]
fn the_journal_distinguishes_texts_and_bases() {
    let folder = Folder::new();
    let journal = folder.join("journal.db");
    let (models, text) = (["glm-tiny-q8_0", "glm-tiny-q4_k_m", "glm-tiny-q4_0"].map(model), |n: usize| {
        let path = folder.join(&format!("text{n}"));
        fs::write(&path, SENTENCE.repeat(n)).unwrap();
        path
    });
    let run = |args: &[&std::path::Path], command: &[&str]| {
        let args = args.iter().map(|path| path.to_str().unwrap());
        let options = ["--no-cache", "-t", "2", "-c", "16", "--windows", "1"];
        let call: Vec<&str> = command.iter().copied().chain(options).chain(args).collect();
        weft(call).env("WEFT_JOURNAL", &journal).run()
    };
    run(&[&models[0], &models[2], &text(1)], &["kl"]).ok();
    run(&[&models[1], &models[2], &text(2)], &["kl"]).ok();
    run(&[&models[2], &text(1)], &["perplexity"]).ok();
    run(&[&models[2], &text(2)], &["perplexity"]).ok();
    let settings = |a: &str, b: &str| -> Vec<String> {
        let call = ["journal", "diff", a, b, "--json"];
        let json = weft(call).env("WEFT_JOURNAL", &journal).run().json();
        let settings = json["settings"].as_array().unwrap();
        settings.iter().map(|setting| setting["name"].as_str().unwrap().to_string()).collect()
    };
    let text = ["text path", "text bytes", "text sha256"];
    assert_eq!(settings("1", "2"), [&text[..], &["base model", "base fingerprint"]].concat());
    assert_eq!(settings("3", "4"), text);
}

#[test]
fn models_with_different_vocabularies_are_refused() {
    let error = scored("kl", &["glm-tiny-q4_0", "ds2-tiny-q4_0"], SENTENCE.repeat(2), &[]).failed(1);
    assert!(
        error.contains(
            "cannot compare models with different vocabularies: the first has 2048 tokens, the second 1024"
        ),
        "{error}"
    );
}

#[test]
fn a_model_is_verified() {
    let path = model("glm-tiny-q4_k_m");
    let verify = |args: &[&str]| {
        weft([&["verify", path.to_str().unwrap(), "--no-cache", "-t", "2"], args].concat()).run()
    };
    let shown = verify(&["--columns", "64"]).ok();
    assert!(shown.contains("steps of 24, 8, 1 tokens: checked "), "{shown}");
    assert!(shown.contains("up to 64 columns of each product, sampled with a fixed seed"), "{shown}");
    let last = shown.lines().last().unwrap();
    assert!(last.starts_with("all compared values are within the error bounds ("), "{shown}");
    assert!(last.ends_with(" unknown)"), "{shown}");
    let json = verify(&["--tokens", "5,6,7", "--all", "--columns", "0", "--json"]).json();
    assert_eq!(json["steps"], serde_json::json!([2, 1]));
    assert_eq!(json["faults"], serde_json::json!([]));
    let launches = json["launches"].as_array().unwrap();
    assert_eq!(launches.len() as u64, json["launches_of"].as_u64().unwrap());
    let worst = |launch: &Value| launch["worst"]["share_of_bound"].as_f64().unwrap_or(0.0);
    assert!(launches.iter().all(|launch| worst(launch) <= 1.0));
    assert!(launches.iter().any(|launch| worst(launch) > 0.0));
    let both = verify(&["--tokens", "5", "--text", "x"]).failed(2);
    assert!(both.contains("--tokens and --text cannot be used together"), "{both}");
    assert!(verify(&["--text", ""]).failed(1).contains("no tokens"));
    assert!(verify(&["--tokens", "999999"]).failed(1).contains("token 999999 is not in the vocabulary"));
}
