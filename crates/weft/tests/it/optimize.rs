//! Tests of `optimize`. One pair of samples gives no verdict, so nothing in them depends on how fast the machine is.

use std::fs;

use crate::support::{Folder, model, weft};

#[test]
fn a_run_that_finds_nothing_says_so_and_leaves_a_page_and_a_record() {
    let (folder, model) = (Folder::new(), model("glm-tiny-q4_0"));
    let page = folder.join("page.html");
    let args = ["optimize", model.to_str().unwrap(), "-p", "4", "-n", "2", "-d", "3", "-r", "1", "-t", "2"];
    let run = |more: &[&str]| {
        let out = ["-o", page.to_str().unwrap()];
        let args = [&args[..], &out, more].concat();
        weft(args).env("WEFT_CACHE", folder.path()).env("WEFT_JOURNAL", folder.join("journal.db")).run()
    };
    let ran = run(&[]);
    assert!(
        ran.err.contains("-r 1 can decide nothing, because 97.5 % confidence takes at least 7 pairs of samples: use -r 7 or more")
            && ran.err.contains("saved the measured speed")
            && ran.err.contains("recorded as run 1"),
        "{}",
        ran.err
    );
    let text = ran.ok();
    assert!(
        text.contains("\nNothing new: no decision is faster than what is used already (the defaults)."),
        "{text}"
    );
    assert!(text.contains("fuse.router=off") && !text.contains("batch.half"), "{text}");
    let html = fs::read_to_string(&page).unwrap();
    assert!(
        html.contains("No change wins: nothing new is kept.") && html.contains("One change at a time"),
        "{html}"
    );

    let json = run(&["--json"]).json();
    assert_eq!((&json["optimized"], &json["kept"]), (&"nothing".into(), &serde_json::json!([])));
    assert!(json["limits"]["cost_model"]["workers"].is_u64(), "{}", json["limits"]);
    let listed = weft(["journal"]).env("WEFT_JOURNAL", folder.join("journal.db")).run().ok();
    assert_eq!(listed.matches("  nothing new; ").count(), 2, "{listed}");
    let files: Vec<String> = folder.files();
    assert!(files.iter().all(|name| !name.contains("decisions-")), "{files:?}");
}

#[test]
fn what_cannot_be_kept_is_not_searched() {
    let model = model("glm-tiny-q4_0");
    let failed =
        |more: &[&str]| weft([&["optimize", model.to_str().unwrap()], more].concat()).run().failed(2);
    assert!(failed(&["--no-cache"]).contains("cannot keep decisions without a cache"));
    assert!(failed(&["--set", "fuse.tail=off"]).contains("measured with others set by --set"));
    assert!(failed(&["-p", "0", "-n", "0"]).contains("nothing to measure"));
}
