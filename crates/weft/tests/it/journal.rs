//! Tests of `journal`, and of what commands record in it.

use std::fs;

use crate::support::{Folder, Ran, model, weft};

fn with_journal(folder: &Folder, args: &[&str]) -> Ran {
    weft(args).env("WEFT_JOURNAL", folder.join("journal.db")).run()
}

fn bench(folder: &Folder, args: &[&str]) -> Ran {
    let model = model("glm-tiny-q4_0");
    let short = ["-p", "2", "-n", "1", "-d", "0", "-r", "1", "-t", "1", "--no-cache"];
    with_journal(folder, &[&["bench", model.to_str().unwrap()], &short[..], args].concat())
}

#[test]
fn measurements_are_found_again() {
    let folder = Folder::new();
    let none = with_journal(&folder, &["journal"]);
    assert!(none.err.contains("no measurements yet") && none.ok().is_empty());
    assert!(!folder.join("journal.db").exists(), "reading must not create a journal");

    let first = bench(&folder, &[]);
    assert!(first.err.contains("recorded as run 1 in"), "{}", first.err);
    first.ok();
    bench(&folder, &["--kv", "f32", "--set", "fuse.tail=off"]).ok();
    bench(&folder, &["--no-journal"]).ok();

    let list = with_journal(&folder, &["journal", "list"]).ok();
    assert_eq!(list.lines().count(), 3, "{list}");
    assert!(list.lines().nth(1).unwrap().contains("bench") && list.contains("glm-tiny-q4_0.gguf"), "{list}");
    let found = with_journal(&folder, &["journal", "search", "FUSE.TAIL=off", "glm-tiny", "--json"]).json();
    assert_eq!((found.as_array().unwrap().len(), &found[0]["id"]), (1, &2.into()));

    let record = with_journal(&folder, &["journal", "show", "2", "--json"]).json();
    assert_eq!((&record["knobs"]["kv"], &record["knobs"]["set"]), (&"f32".into(), &"fuse.tail=off".into()));
    assert_eq!(
        (&record["knobs"]["repeat"], &record["knobs"]["cache"]),
        (&"1".into(), &serde_json::Value::Null)
    );
    assert_eq!(record["results"]["settings"][0]["tokens_per_second"]["samples"].as_array().unwrap().len(), 1);
    assert_eq!(record["model"]["fingerprint"].as_str().unwrap().len(), 16);
    let shown = with_journal(&folder, &["journal", "show", "2"]).ok();
    assert!(shown.starts_with("run 2: bench, 20") && shown.ends_with('\n'), "{shown}");
    assert!(shown.contains("settings:\n") && !shown.contains(['{', '"']), "{shown}");

    let diff = with_journal(&folder, &["journal", "diff", "1", "2"]).ok();
    assert!(diff.contains("knob kv: f16 -> f32") && diff.contains("knob set: – -> fuse.tail=off"), "{diff}");
    assert!(diff.contains("prefill of 2 at 0, tokens/s") && diff.contains(" %"), "{diff}");
    let json = with_journal(&folder, &["journal", "diff", "1", "2", "--json"]).json();
    assert!(
        json["figures"].as_array().unwrap().iter().any(|figure| figure["name"] == "decode of 1 at 0"),
        "{json}"
    );

    let export = with_journal(&folder, &["journal", "export"]).ok();
    let lines: Vec<serde_json::Value> =
        export.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| line["id"].as_i64().unwrap()).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn results_are_printed_even_if_the_journal_cannot_be_written() {
    let folder = Folder::new();
    fs::write(folder.join("journal.db"), "these are notes on how fast it was, not a journal\n".repeat(20))
        .unwrap();
    let ran = bench(&folder, &[]);
    assert!(
        ran.err.contains("this run is not recorded") && ran.err.contains("is not a journal of weft"),
        "{}",
        ran.err
    );
    assert!(ran.ok().contains("decode"));
    let read = with_journal(&folder, &["journal"]).failed(1);
    assert!(read.contains("is not a journal of weft"), "{read}");
}

#[test]
fn an_error_of_the_journal_gives_its_cause_once() {
    let folder = Folder::new();
    fs::create_dir(folder.join("journal.db")).unwrap();
    let ran = bench(&folder, &[]);
    let told = ran.err.lines().find(|line| line.contains("this run is not recorded")).unwrap();
    assert_eq!(told.matches("unable to open").count(), 1, "{told}");
    let read = with_journal(&folder, &["journal"]).failed(1);
    assert_eq!(read.matches("unable to open").count(), 1, "{read}");
}

#[test]
fn a_damaged_run_is_reported_and_does_not_hide_others() {
    let folder = Folder::new();
    bench(&folder, &[]).ok();
    bench(&folder, &["--set", "fuse.tail=off"]).ok();
    bench(&folder, &[]).ok();
    let path = folder.join("journal.db");
    let mut bytes = fs::read(&path).unwrap();
    // Corrupts the knobs of the second run wherever they are in the file, which has no checksums.
    let knob = br#""set":"fuse.tail=off""#;
    let at: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(knob)).collect();
    assert!(!at.is_empty());
    at.iter().for_each(|at| bytes[*at] = b'!');
    fs::write(&path, bytes).unwrap();
    for action in ["list", "export"] {
        let ran = with_journal(&folder, &["journal", action]);
        assert!(
            ran.err.contains("run 2 of the journal ") && ran.err.contains("its knobs is not JSON"),
            "{}",
            ran.err
        );
        let lines = ran.ok().lines().count();
        assert_eq!(lines, if action == "list" { 1 + 2 } else { 2 }, "{action}");
    }
    assert_eq!(with_journal(&folder, &["journal", "--json"]).json().as_array().unwrap().len(), 2);
    let shown = with_journal(&folder, &["journal", "show", "2"]).failed(1);
    assert!(shown.contains("run 2 of the journal ") && shown.contains("its knobs is not JSON"), "{shown}");
}

#[test]
fn wrong_arguments_are_refused() {
    let folder = Folder::new();
    for (args, said) in [
        (
            &["remove"][..],
            "there is no action `remove`; expected list, search, show, diff, note, export or import",
        ),
        (&["search"], "words to search for are required"),
        (&["show"], "the number of one run is required"),
        (&["show", "1", "2"], "the number of one run is required"),
        (&["diff", "1"], "the numbers of two runs are required"),
        (&["list", "x"], "`list` takes no arguments"),
        (&["note"], "the words of the note are required"),
        (&["import"], "the path of one file is required"),
    ] {
        let error = with_journal(&folder, &[&["journal"], args].concat()).failed(2);
        assert!(error.contains(said), "{args:?}: {error}");
    }
    assert!(with_journal(&folder, &["journal", "show", "1"]).failed(1).contains("there is no journal at"));
    bench(&folder, &[]).ok();
    assert!(
        with_journal(&folder, &["journal", "show", "x"]).failed(1).contains("`x` is not the number of a run")
    );
    assert!(with_journal(&folder, &["journal", "show", "7"]).failed(1).contains("there is no run 7"));
}

/// Even SIGKILL leaves the journal intact.
#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_the_journal_readable() {
    let folder = Folder::new();
    bench(&folder, &[]).ok();
    let model = model("glm-tiny-q4_0");
    let args = ["ablate", model.to_str().unwrap(), "-r", "9000", "--knobs", "aa", "--no-cache", "-d", "0"];
    let mut call = weft(args).env("WEFT_JOURNAL", folder.join("journal.db"));
    let mut child = call
        .command()
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert!(child.try_wait().unwrap().is_none(), "it ended before it was killed");
    child.kill().unwrap();
    child.wait().unwrap();
    let list = with_journal(&folder, &["journal", "--json"]).json();
    assert_eq!(list.as_array().unwrap().len(), 1);
    assert!(bench(&folder, &[]).err.contains("recorded as run 2"));
    assert!(folder.join("journal.db").exists());
}

#[test]
fn the_journal_that_comes_with_the_program_says_why_the_folds_are_off() {
    let folder = Folder::new();
    let found = with_journal(&folder, &["journal", "search", "fold"]).ok();
    assert!(
        found.contains("Why the folds fold.query and fold.output are off: the product of two"),
        "{found}"
    );
    assert!(found.contains("lost 9.5 %"), "{found}");
    let line = found.lines().find(|line| line.contains("Why the folds")).unwrap();
    let number = line.split_whitespace().next().unwrap();
    let shown = with_journal(&folder, &["journal", "show", number]).ok();
    assert!(
        shown.starts_with(&format!("run {number}: note, 2026-")) && shown.contains("docs/ablation.md"),
        "{shown}"
    );
    assert!(!folder.join("journal.db").exists(), "reading must not create a journal");
}

#[test]
fn notes_are_found_again_and_journals_are_exchanged() {
    let (folder, other) = (Folder::new(), Folder::new());
    with_journal(&folder, &["journal", "note", "two threads", "are enough"]).ok();
    let found = with_journal(&folder, &["journal", "search", "THREADS are"]).ok();
    assert!(found.contains("two threads are enough"), "{found}");
    let lines = folder.join("runs.jsonl");
    fs::write(&lines, with_journal(&folder, &["journal", "export"]).ok()).unwrap();
    let path = lines.to_str().unwrap();
    for (added, known) in [(1, 0), (0, 1)] {
        let ran = with_journal(&other, &["journal", "import", path]);
        assert!(ran.err.contains(&format!("{added} runs imported")), "{}", ran.err);
        assert!(ran.err.contains(&format!("{known} known already")), "{}", ran.err);
        ran.ok();
    }
    fs::write(&lines, "{}\n").unwrap();
    let error = with_journal(&other, &["journal", "import", path]).failed(1);
    assert!(error.contains("line 1: time: expected a time such as"), "{error}");
    let none = folder.join("none.jsonl");
    let error = with_journal(&other, &["journal", "import", none.to_str().unwrap()]).failed(1);
    assert!(error.contains("cannot read"), "{error}");
}

#[test]
fn an_interrupted_measurement_says_so_wherever_it_is_shown() {
    let folder = Folder::new();
    let line = |minute: u32, nll: &[f64], perplexity: f64| {
        serde_json::json!({
            "time": format!("2026-11-28T10:{minute:02}:00Z"), "command": "perplexity", "weft": {}, "machine": {}, "knobs": {},
            "model": { "path": "a.gguf", "bytes": 7, "fingerprint": "ab" },
            "results": {
                "perplexity": perplexity, "whole": nll.len() == 2, "windows": { "of": 2, "nll": nll },
                "nll": { "mean": 0.5 },
            },
        })
        .to_string()
    };
    let lines = format!("{}\n{}\n", line(1, &[0.04], 1.0434), line(2, &[0.04, 1.2], 1.862));
    let imported =
        weft(["journal", "import", "-"]).env("WEFT_JOURNAL", folder.join("journal.db")).input(lines);
    imported.run().ok();
    let how = "interrupted after 1 of 2 windows";
    let list = with_journal(&folder, &["journal"]).ok();
    assert!(list.contains(&format!("  {how}; 1.0434 perplexity\n")), "{list}");
    assert_eq!(list.matches("interrupted").count(), 1, "{list}");
    let json = with_journal(&folder, &["journal", "--json"]).json();
    assert_eq!((&json[0]["whole"], &json[1]["whole"]), (&false.into(), &true.into()));
    let shown = with_journal(&folder, &["journal", "show", "1"]).ok();
    assert!(shown.contains(&format!("\nresult   {how}; 1.0434 perplexity\n")), "{shown}");
    let diff = with_journal(&folder, &["journal", "diff", "1", "2"]).ok();
    assert!(
        diff.starts_with(&format!("A  run 1: perplexity, 2026-11-28T10:01:00Z, a.gguf, {how}\nB  run 2: ")),
        "{diff}"
    );
    assert_eq!(diff.matches("interrupted").count(), 1, "{diff}");
    let page = folder.join("page.html");
    with_journal(&folder, &["report", "1", "2", "-o", page.to_str().unwrap()]).ok();
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains(">Run 1: perplexity, interrupted</a>") && html.contains(">Run 2: perplexity</a>"));
    // Above the comparison, and above its own figures.
    assert_eq!(html.matches(&format!("Run 1 was {how}: ")).count(), 2, "{html}");
}

#[test]
fn what_was_tried_is_said_before_it_is_measured() {
    let folder = Folder::new();
    let model = model("glm-tiny-q4_0");
    let short = ["-p", "2", "-n", "0", "-d", "0", "-r", "1", "-t", "1", "--no-cache"];
    let run = |knobs: &str| {
        let args = [&["ablate", model.to_str().unwrap(), "--knobs", knobs][..], &short].concat();
        let ran = with_journal(&folder, &args);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.err
    };
    let said = run("fuse.tail");
    assert!(
        said.contains("fuse.tail=off was tried on 2026-11-20 by Weft's makers, on another machine (cpu, 2 threads): decode +0.3 %"),
        "{said}"
    );
    assert!(said.contains("-r 1 can decide nothing") && said.contains("use -r 6 or more"), "{said}");
    let said = run("fuse.tail,aa");
    assert!(said.contains(" on this device: ") && said.contains(" (run 1)"), "{said}");
    assert!(!said.contains("Weft's makers"), "{said}");
}

#[test]
fn benchmarks_are_compared_with_earlier_ones() {
    let folder = Folder::new();
    bench(&folder, &[]).ok();
    let ran = bench(&folder, &["--against", "1"]);
    assert!(
        ran.err.contains("at least 7 samples of each in both runs: run 1 has 1, and -r is 1"),
        "{}",
        ran.err
    );
    // One sample gives no verdict, however slow the machine is.
    let text = ran.ok();
    assert!(text.contains("AGAINST") && text.contains("too few samples"), "{text}");
    let json = bench(&folder, &["--against", "1", "--json"]).json();
    assert_eq!(json["against"]["figures"].as_array().unwrap().len(), 2, "{json}");
    let ran = bench(&folder, &["--against", "1", "--kv", "f32"]);
    assert!(ran.err.contains("not the same as in run 1: knob kv: f16 -> f32"), "{}", ran.err);
    let error = bench(&folder, &["--against", "s1"]).failed(1);
    assert!(error.contains("expected one of `weft bench`"), "{error}");
    assert!(bench(&folder, &["--against", "77"]).failed(1).contains("there is no run 77"));
}

#[test]
fn two_measurements_are_kept_apart() {
    use std::io::{BufRead as _, BufReader};
    let folder = Folder::new();
    let path = folder.join("weft-measuring.lock");
    let weft_lab::Asked::Granted(lock) = weft_lab::MeasuringLock::ask(&path, "weft test").unwrap() else {
        panic!("nobody else measures")
    };
    let model = model("glm-tiny-q4_0");
    let args = [
        "bench",
        model.to_str().unwrap(),
        "-p",
        "2",
        "-n",
        "0",
        "-d",
        "0",
        "-r",
        "1",
        "-t",
        "1",
        "--no-cache",
    ];
    let refused = weft([&args[..], &["--no-wait"]].concat()).temporary(folder.path()).run().failed(1);
    assert!(refused.contains("weft test is measuring on this machine"), "{refused}");
    let mut call = weft(args).temporary(folder.path());
    let piped = std::process::Stdio::piped;
    let mut child = call.command().stdout(piped()).stderr(piped()).spawn().unwrap();
    let mut said = String::new();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    while !said.contains("waiting for weft test") {
        assert_ne!(lines.read_line(&mut said).unwrap(), 0, "it did not wait: {said}");
    }
    assert!(child.try_wait().unwrap().is_none());
    drop(lock);
    // Output that is not read must not block it.
    std::io::Read::read_to_string(&mut lines, &mut said).unwrap();
    assert!(child.wait_with_output().unwrap().status.success(), "{said}");
}
