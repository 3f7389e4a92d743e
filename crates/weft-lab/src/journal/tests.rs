//! Journals on disk: intact, interrupted, full, foreign.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

use super::*;

/// A temporary folder, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("weft-journal-{}-{number}", std::process::id()));
        // Of a process of the same number that was killed.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn journal(&self) -> PathBuf {
        self.0.join("below").join("journal.db")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(command: &str, rate: f64) -> Run {
    Run {
        command: command.into(),
        model: Some(Model { path: "models/<b>.gguf".into(), bytes: 7, fingerprint: 0xAB }),
        knobs: json!({ "threads": "2", "set": ["fuse.tail=off"] }),
        results: json!({
            "settings": [{
                "phase": "decode", "tokens": 8, "depth": 0,
                "tokens_per_second": { "median": rate, "samples": [rate] },
            }],
        }),
    }
}

#[test]
fn a_run_comes_back_as_it_went_in() {
    let folder = Folder::new();
    let path = folder.journal();
    assert!(Journal::open(&path).unwrap().is_none(), "reading creates no journal");
    let mut journal = Journal::create(&path).unwrap();
    let first = run("bench", 10.5);
    assert_eq!(journal.append(&first).unwrap(), 1);
    drop(journal);

    let mut journal = Journal::create(&path).unwrap();
    assert_eq!(journal.append(&Run { model: None, ..run("roofline", 1.0) }).unwrap(), 2);
    let journal = Journal::open(&path).unwrap().unwrap();
    let found = journal.run(1).unwrap().unwrap();
    assert_eq!(
        (&found.command, &found.knobs, &found.results),
        (&first.command, &first.knobs, &first.results)
    );
    assert_eq!(found.model["fingerprint"], "00000000000000ab");
    assert_eq!(found.model_name(), Some("<b>.gguf"));
    assert_eq!(found.machine, Host::this().json());
    assert_eq!(found.weft["version"], env!("CARGO_PKG_VERSION"));
    let shape: String = found.time.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    assert_eq!(shape, "9999-99-99T99:99:99Z");
    assert!(journal.run(2).unwrap().unwrap().model.is_null());
    assert_eq!(journal.run(3).unwrap(), None);
}

#[test]
fn runs_are_found_by_all_of_the_words() {
    let folder = Folder::new();
    let mut journal = Journal::create(&folder.journal()).unwrap();
    journal.append(&run("bench", 10.0)).unwrap();
    journal.append(&run("ablate", 10.0)).unwrap();
    for (words, ids) in [
        (&[][..], &[1, 2][..]),
        (&["FUSE.tail=off"], &[1, 2]),
        (&["ablate", "<b>"], &[2]),
        (&["bench", "ablate"], &[]),
        (&["%"], &[]),
        (&["'"], &[]),
    ] {
        assert_eq!(journal.find(words).unwrap(), ids, "{words:?}");
    }
}

/// A program was killed while it wrote: the file is half changed, and beside it is the rollback journal.
#[test]
fn an_interrupted_run_leaves_the_journal_readable() {
    let folder = Folder::new();
    let path = folder.journal();
    let mut journal = Journal::create(&path).unwrap();
    journal.append(&run("bench", 10.0)).unwrap();
    // With hardly any cache, pages go to the file before the end of the transaction.
    journal.connection.pragma_update(None, "cache_size", 1).unwrap();
    let transaction = journal.connection.transaction().unwrap();
    let long = "x".repeat(1 << 20);
    let insert = "INSERT INTO runs (command, weft, machine, knobs, results) VALUES ('half', '', '', '', ?)";
    transaction.execute(insert, [&long]).unwrap();
    let copy = folder.0.join("copy.db");
    let beside = |path: &Path| PathBuf::from(format!("{}-journal", path.display()));
    fs::copy(&path, &copy).unwrap();
    fs::copy(beside(&path), beside(&copy)).unwrap();
    assert!(fs::metadata(&copy).unwrap().len() > 1 << 20, "the file is half changed");

    let journal = Journal::open(&copy).unwrap().unwrap();
    assert_eq!(journal.find(&[]).unwrap(), [1]);
    assert_eq!(journal.run(1).unwrap().unwrap().results, run("bench", 10.0).results);
    let whole: String = journal.connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok");
    assert_eq!(Journal::create(&copy).unwrap().append(&run("bench", 11.0)).unwrap(), 2);
}

#[test]
fn a_full_disk_is_an_error_and_loses_nothing() {
    let folder = Folder::new();
    let path = folder.journal();
    let mut journal = Journal::create(&path).unwrap();
    journal.append(&run("bench", 10.0)).unwrap();
    let pages: i64 = journal.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    let set = format!("PRAGMA max_page_count = {pages}");
    journal.connection.query_row(&set, [], |_| Ok(())).unwrap();
    let large = Run { results: json!({ "samples": "x".repeat(1 << 16) }), ..run("bench", 11.0) };
    let error = journal.append(&large).unwrap_err();
    assert!(matches!(&error, JournalError::Full { path: named } if *named == path), "{error}");
    assert!(error.to_string().contains("--journal FILE"), "{error}");
    assert_eq!(journal.find(&[]).unwrap(), [1]);

    let mut journal = Journal::create(&path).unwrap();
    assert_eq!(journal.append(&large).unwrap(), 2, "there is room again");
    assert_eq!(journal.run(1).unwrap().unwrap().results, run("bench", 10.0).results);
}

#[test]
fn a_file_that_cannot_be_written_is_an_error() {
    let folder = Folder::new();
    let file = folder.0.join("file");
    fs::write(&file, "something else").unwrap();
    // A folder, what is below a file, and where there is one, a device that is always full.
    let full = Some(PathBuf::from("/dev/full")).filter(|path| path.exists());
    for path in
        [folder.0.clone(), file.join("journal.db"), file.join("below/journal.db")].into_iter().chain(full)
    {
        let opened = Journal::create(&path).and_then(|mut journal| journal.append(&run("bench", 1.0)));
        let error = opened.unwrap_err().to_string();
        assert!(error.contains(path.to_str().unwrap()), "{error}");
    }
}

#[test]
fn foreign_files_are_left_alone() {
    let folder = Folder::new();
    let text = folder.0.join("text.db");
    fs::write(&text, "something else that is long enough to be a header of a hundred bytes ".repeat(9))
        .unwrap();
    assert!(matches!(Journal::create(&text), Err(JournalError::Foreign { .. })));

    let other = folder.0.join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(matches!(Journal::open(&other), Err(JournalError::Foreign { .. })));

    let newer = folder.journal();
    Journal::create(&newer).unwrap().connection.pragma_update(None, "user_version", VERSION + 1).unwrap();
    assert!(matches!(Journal::open(&newer), Err(JournalError::Newer { found: 2, .. })));
}

/// The file's first page is intact, so it is a journal; the page of its rows is cut off or overwritten.
#[test]
fn a_damaged_page_is_an_error_that_says_what_to_do() {
    const PAGE: usize = 4096;
    let folder = Folder::new();
    let path = folder.journal();
    Journal::create(&path).unwrap().append(&run("bench", 10.0)).unwrap();
    let whole = fs::read(&path).unwrap();
    assert_eq!(&whole[..18], b"SQLite format 3\0\x10\x00", "pages of 4096 bytes");
    let mut overwritten = whole.clone();
    overwritten[PAGE..2 * PAGE].fill(0xab);
    for damaged in [&whole[..PAGE], &whole[..PAGE + PAGE / 2], &overwritten] {
        fs::write(&path, damaged).unwrap();
        let opened = || Journal::open(&path).map(Option::unwrap);
        let errors = [
            opened().and_then(|journal| journal.find(&[]).map(|_| ())),
            opened().and_then(|journal| journal.run(1).map(|_| ())),
            opened().and_then(|mut journal| journal.append(&run("bench", 11.0)).map(|_| ())),
        ];
        for error in errors {
            let error = error.unwrap_err();
            assert!(
                matches!(&error, JournalError::Database { path: named, .. } if *named == path),
                "{error:?}"
            );
            let said = error.to_string();
            assert!(said.contains("malformed. If this persists, move the file away"), "{said}");
            assert!(said.contains(&path.display().to_string()) && said.contains("--journal FILE"), "{said}");
        }
    }
}

#[test]
fn a_row_that_is_not_json_is_named() {
    let folder = Folder::new();
    let mut journal = Journal::create(&folder.journal()).unwrap();
    journal.append(&run("bench", 10.0)).unwrap();
    journal.connection.execute("UPDATE runs SET knobs = '{'", []).unwrap();
    let error = journal.run(1).unwrap_err().to_string();
    assert!(error.contains("run 1 of the journal") && error.contains("its knobs is not JSON"), "{error}");
}

#[test]
fn programs_that_write_at_once_wait_for_each_other() {
    let folder = Folder::new();
    let path = folder.journal();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut journal = Journal::create(&path).unwrap();
                for rate in [1.0, 2.0, 3.0, 4.0, 5.0] {
                    journal.append(&run("bench", rate)).unwrap();
                }
            });
        }
    });
    assert_eq!(Journal::open(&path).unwrap().unwrap().find(&[]).unwrap().len(), 20);
}

fn record(id: i64, run: Run) -> Record {
    let Run { command, knobs, results, .. } = run;
    let time = "2026-11-20T16:02:59Z".into();
    Record { id, time, command, weft: json!({}), machine: json!({}), model: Value::Null, knobs, results }
}

#[test]
fn what_differs_is_told_the_largest_change_first() {
    let kernels = |a: f64, b: f64| {
        json!({ "kernels": [
            { "kernel": "norm", "role": "norm", "ms": a }, { "kernel": "dot", "role": "head", "ms": b },
            { "kernel": "norm", "role": "norm", "ms": 1.0 },
        ], "residue": 0.5, "wall": { "median": 9.0 } })
    };
    let before = record(1, Run { results: kernels(1.0, 4.0), ..run("profile", 0.0) });
    let mut after = record(2, Run { results: kernels(2.0, 2.0), ..run("profile", 0.0) });
    after.knobs = json!({ "threads": "4", "set": ["fuse.tail=off"], "kv": "f32" });
    after.results["kernels"].as_array_mut().unwrap().push(json!({ "kernel": "copy", "ms": 1.0 }));
    let diff = diff(&before, &after);
    let set = |name: &str, a: &str, b: &str| (name.to_string(), a.to_string(), b.to_string());
    assert_eq!(diff.settings, [set("knob threads", "2", "4"), set("knob kv", "–", "f32")]);
    let changes: Vec<_> =
        diff.changes.iter().map(|c| (c.name.as_str(), c.before, c.after, c.relative())).collect();
    assert_eq!(
        changes,
        [
            ("dot head", 4.0, 2.0, Some(-0.5)),
            ("norm norm", 2.0, 3.0, Some(0.5)),
            ("residue", 0.5, 0.5, Some(0.0)),
            ("wall", 9.0, 9.0, Some(0.0))
        ]
    );
    assert_eq!((diff.gone, diff.new), (vec![], vec!["copy".to_string()]));
}

#[test]
fn what_else_was_read_is_compared() {
    let results = |text: &str, base: &str| {
        let (text, base) = (json!({ "path": "a.txt", "sha256": text }), json!({ "fingerprint": base }));
        json!({ "text": text, "base": base, "perplexity": 1.5 })
    };
    let [a, b, c] = [("1", "2"), ("3", "2"), ("1", "4")]
        .map(|(text, base)| record(1, Run { results: results(text, base), ..run("kl", 0.0) }));
    let set = |name: &str, a: &str, b: &str| (name.to_string(), a.to_string(), b.to_string());
    assert_eq!(diff(&a, &b).settings, [set("text sha256", "1", "3")]);
    assert_eq!(diff(&a, &c).settings, [set("base fingerprint", "2", "4")]);
    assert_eq!(diff(&a, &a).settings, []);
    // Runs that read nothing else have nothing of the kind.
    let old = record(2, Run { results: json!({ "perplexity": 1.5 }), ..run("kl", 0.0) });
    assert_eq!(diff(&old, &old).settings, []);
}

#[test]
fn a_run_is_summed_up_in_a_line() {
    assert_eq!(summary(&record(1, run("bench", 10.0))), "decode at 0: 10.00 tokens/s");
    let rows = [("a=off", "drop"), ("b=on", "keep"), ("c=off", "drop"), ("aa", "undecided")];
    let rows: Value = rows.map(|(change, verdict)| json!({ "change": change, "verdict": verdict })).into();
    let ablate = Run { results: json!({ "rows": rows }), ..run("ablate", 0.0) };
    assert_eq!(summary(&record(2, ablate)), "keep b=on; drop a=off, c=off; 1 undecided");
    let profile =
        Run { results: json!({ "tokens_per_second": { "median": 41.256 } }), ..run("profile", 0.0) };
    assert_eq!(summary(&record(3, profile)), "41.26 tokens/s");
    let kl = Run { results: json!({ "kl": { "mean": 0.0123456 }, "perplexity": [1, 2] }), ..run("kl", 0.0) };
    assert_eq!(summary(&record(3, kl)), "0.01235 mean KL");
    assert_eq!(summary(&record(3, Run { results: Value::Null, ..run("x", 0.0) })), "");
    let part = |results| summary(&record(4, Run { results, ..run("perplexity", 0.0) }));
    assert_eq!(
        part(json!({ "whole": false, "perplexity": 1.04341, "windows": { "of": 6, "nll": [0.04] } })),
        "interrupted after 1 of 6 windows; 1.0434 perplexity"
    );
    let row = json!({ "change": "a=off", "verdict": "undecided" });
    let optimized = |keep: Value| json!({ "optimized": "interrupted", "interrupted": true, "changes": 9, "rows": [row], "keep": keep });
    assert_eq!(part(optimized(json!([]))), "interrupted after 1 of 9 changes; nothing kept; 1 undecided");
    assert_eq!(
        part(optimized(json!([{ "change": "b=on" }]))),
        "interrupted after 1 of 9 changes; unconfirmed: b=on; 1 undecided"
    );
}

#[test]
fn what_is_exported_can_be_imported_once() {
    let (from, to) = (Folder::new(), Folder::new());
    let mut journal = Journal::create(&from.0.join("a.db")).unwrap();
    let run = |note: &str| Run {
        command: "note".into(),
        model: (note == "b").then(|| Model { path: "x.gguf".into(), bytes: 7, fingerprint: u64::MAX }),
        knobs: json!({}),
        results: json!({ "note": note, "rate": 0.1 }),
    };
    let ids = ["a", "b"].map(|note| journal.append(&run(note)).unwrap());
    let lines: Vec<String> =
        ids.iter().map(|id| journal.run(*id).unwrap().unwrap().json().to_string()).collect();
    let all = format!("{}\n\n{}\n", lines[0], lines[1]);
    let path = to.0.join("b.db");
    let mut other = Journal::create(&path).unwrap();
    assert_eq!(other.import(all.as_bytes()).unwrap(), Imported { added: 2, known: 0 });
    assert_eq!(other.import(all.as_bytes()).unwrap(), Imported { added: 0, known: 2 });
    let marked = format!("\u{FEFF}{all}");
    assert_eq!(other.import(marked.as_bytes()).unwrap(), Imported { added: 0, known: 2 });
    for id in ids {
        assert_eq!(other.run(id).unwrap(), journal.run(id).unwrap(), "with its own time and machine");
    }
    let value = |name: &str, new: Value| {
        let mut value: Value = serde_json::from_str(&lines[0]).unwrap();
        value[name] = new;
        value.to_string()
    };
    for (line, said) in [
        ("x".to_string(), "not JSON"),
        ("[]".into(), "expected an object"),
        (value("time", "yesterday".into()), "time: expected a time such as"),
        (value("time", "2026-11-20T16:02:5xZ".into()), "time: expected a time such as"),
        (value("command", "rm -rf".into()), "command: expected the name of a command"),
        (value("command", "x".repeat(33).into()), "command: expected the name of a command"),
        (value("model", 7.into()), "model: expected an object or null"),
        (value("results", Value::Null), "results: expected an object"),
        (value("knobs", json!([])), "knobs: expected an object"),
    ] {
        let text = format!("{}\n{line}\n", value("time", "2020-01-01T00:00:00Z".into()));
        let error = other.import(text.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("line 2: ") && error.contains(said), "{error}");
        assert_eq!(other.find(&[]).unwrap().len(), 2, "nothing was imported");
    }
}

#[test]
fn earlier_ablations_are_known() {
    let folder = Folder::new();
    let mut journal = Journal::create(&folder.0.join("a.db")).unwrap();
    let names = ["fold.query=on", "fuse.tail=off", "fuse.tale=off"].map(String::from);
    let here = Here { cpu: Host::this().cpu, device: "cpu (avx2), 2 threads".into() };
    let shipped = tried(None, &names, &here).unwrap();
    assert_eq!(shipped.len(), 2, "{shipped:?}");
    assert!(
        shipped[0]
            .words()
            .starts_with("fold.query=on was tried on 2026-11-20 by Weft's makers, on another machine (cpu, 2 threads): decode -5.8 %"),
        "{}",
        shipped[0].words()
    );
    assert_eq!(tried(Some(&journal), &names, &here).unwrap(), shipped);
    // The runs that come with the program include other devices.
    let gpu = tried(None, &names, &Here { device: "gpu (a card, Vulkan)".into(), ..here.clone() }).unwrap();
    assert!(gpu.iter().all(|one| one.on.starts_with("gpu (")) && gpu != shipped, "{gpu:?}");
    assert_eq!(tried(None, &names, &Here { device: "cuda (a card)".into(), ..here.clone() }).unwrap(), []);
    for (verdict, device) in [("drop", "cpu"), ("keep", "cpu"), ("drop", "gpu (a card, Vulkan)")] {
        let row = json!({ "change": "fuse.tail=off", "verdict": verdict, "why": "because" });
        let results = json!({ "rows": [row], "device": device });
        let run = Run { command: "ablate".into(), model: None, knobs: json!({}), results };
        journal.append(&run).unwrap();
    }
    let of = |device: &str, cpu: &str| {
        let here = Here { cpu: cpu.into(), device: device.into() };
        let found = tried(Some(&journal), &names[1..2], &here).unwrap();
        let [one] = &found[..] else { panic!("{found:?}") };
        one.words().split_once(&one.day).unwrap().1.to_string()
    };
    assert_eq!(of("cpu", &here.cpu), " on this device: keep: because (run 2)");
    assert_eq!(of("gpu (a card, Vulkan)", &here.cpu), " on this device: drop: because (run 3)");
    // The last on any device, if there is none on this one.
    assert_eq!(
        of("cuda (a card)", &here.cpu),
        ", not on this device but on gpu (a card, Vulkan): drop: because (run 3)"
    );
    let other = of("cpu", "another processor");
    assert!(other.starts_with(", not on this device but on gpu (a card, Vulkan), "), "{other}");
    assert!(other.contains(&here.cpu), "{other}");
}
