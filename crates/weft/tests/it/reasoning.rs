//! Tests of replies in which the model reasons first: of `run` and of `chat` with a model in the same process.

use serde_json::json;

use crate::support::{Folder, model, weft};

/// A grammar by which a random model of gpt-oss's family writes these messages, with the marks as tokens.
fn harmony(folder: &Folder, reasoning: &str, answer: &str) -> String {
    let path = folder.join("harmony.lark");
    let grammar = format!(
        "start: <|channel|> \"analysis\" <|message|> \"{reasoning}\" <|end|> <|start|> \"assistant\" \
         <|channel|> \"final\" <|message|> \"{answer}\"\n"
    );
    std::fs::write(&path, grammar).unwrap();
    path.display().to_string()
}

#[test]
fn reasoning_is_no_part_of_the_text() {
    let (folder, path) = (Folder::new(), model("gpt-oss-tiny-mxfp4"));
    let grammar = harmony(&folder, "Two and two.", "Four.");
    let call = |command: &str, args: &[&str]| {
        let model = [command, path.to_str().unwrap(), "--grammar", &grammar];
        weft([&model[..], args].concat())
    };
    assert_eq!(call("run", &["Add."]).run().ok(), "Four.\n");
    let reply = call("run", &["Add.", "--json"]).run().json();
    assert_eq!((&reply["reasoning"], &reply["text"]), (&json!("Two and two."), &json!("Four.")));
    let events: Vec<serde_json::Value> = call("run", &["Add.", "--events"])
        .run()
        .ok()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let joined = |name: &str| -> String {
        events
            .iter()
            .filter(|event| event["event"] == name)
            .filter_map(|event| event["text"].as_str())
            .collect()
    };
    assert_eq!((joined("reasoning").as_str(), joined("text").as_str()), ("Two and two.", "Four."));
    let end = events.last().unwrap();
    assert_eq!((&end["reasoning"], &end["text"]), (&json!("Two and two."), &json!("Four.")));

    let prompts = folder.join("prompts.txt");
    std::fs::write(&prompts, "Add.\nAdd!\n").unwrap();
    for line in call("run", &["--prompts", prompts.to_str().unwrap()]).run().ok().lines() {
        let reply: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!((&reply["reasoning"], &reply["text"]), (&json!("Two and two."), &json!("Four.")));
    }

    let saved = folder.join("saved.json");
    let lines = format!("Add.\n/save {}\n", saved.display());
    assert_eq!(call("chat", &[]).input(lines).run().ok().lines().next(), Some("Four."));
    let saved: serde_json::Value = serde_json::from_slice(&std::fs::read(&saved).unwrap()).unwrap();
    let reply = &saved["messages"][1];
    assert_eq!((&reply["content"], &reply["reasoning_content"]), (&json!("Four."), &json!("Two and two.")));
}

#[test]
fn a_reply_that_ends_while_the_model_reasons_says_so() {
    let (folder, path) = (Folder::new(), model("gpt-oss-tiny-mxfp4"));
    let grammar = harmony(&folder, "Two and two is not five.", "Four.");
    let call = ["run", path.to_str().unwrap(), "--grammar", &grammar, "Add.", "--max-tokens", "16"];
    // The header takes up to ten tokens.
    let told = weft(call).run();
    assert_eq!((told.out.as_str(), told.code), ("", Some(3)), "{told:?}");
    assert!(
        told.err.contains("cut off by --max-tokens, so it does not have the form of --grammar"),
        "{told:?}"
    );
}

#[cfg(unix)]
#[test]
fn a_terminal_shows_reasoning_dimmed_before_the_answer() {
    if !crate::pty::can_run() {
        return;
    }
    let (folder, path) = (Folder::new(), model("gpt-oss-tiny-mxfp4"));
    let grammar = harmony(&folder, "Two and two.", "Four.");
    let mut call = weft(["run", path.to_str().unwrap(), "--grammar", &grammar, "Add."]);
    let (code, shown) = crate::pty::Pty::start(&mut call, 80).end();
    assert_eq!(code, Some(0), "{shown}");
    // A busy machine shows that the model is loading first.
    let shown = shown.rsplit("\r\x1b[2K").next().unwrap_or_default();
    assert!(shown.starts_with("\x1b[2mTwo") && shown.ends_with(" two.\x1b[0m\r\n\r\nFour.\r\n"), "{shown:?}");
}
