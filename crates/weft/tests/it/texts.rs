//! Tests of the texts that `run` and `chat` read and write: prompts, files, forms of replies, saved conversations.

use serde_json::json;

use crate::support::{Folder, model, weft};
use crate::talk::{chat, run};

#[test]
fn an_argument_a_file_and_standard_input_make_one_prompt() {
    let folder = Folder::new();
    let file = folder.join("prompt.txt");
    std::fs::write(&file, "Second.\n").unwrap();
    let (path, file) = (model("glm-tiny-q4_0"), file.to_str().unwrap());
    let path = path.to_str().unwrap();
    let greedy = ["run", path, "--max-tokens", "8", "--temperature", "0"];
    let call = |args: &[&str]| weft([&greedy[..], args].concat());
    let expected = |prompt: &str| call(&[prompt]).run().ok();
    let all = expected("First.\n\nSecond.\n\nThird.");
    assert_eq!(call(&["First.", "-f", file]).input("Third.\n").run().ok(), all);
    assert_eq!(call(&["First."]).input("Third.").run().ok(), expected("First.\n\nThird."));
    assert_eq!(call(&["First.", "-f", "-"]).input("Third.").run().ok(), expected("First.\n\nThird."));
    assert_eq!(call(&["-f", file]).input("Third.").run().ok(), expected("Second.\n\nThird."));
    assert_eq!(call(&["-f", file, "First."]).run().ok(), expected("First.\n\nSecond."));
    // Without text there it is as if nothing were there.
    for nothing in ["", "\n \n"] {
        assert_eq!(call(&["First."]).input(nothing).run().ok(), expected("First."));
    }
    assert_ne!(all, expected("First."));
    // The default model gets several words that name no file.
    let mut alone = weft(["run", "-f", file, "First of all.", "--max-tokens", "8", "--temperature", "0"]);
    alone = alone.env("WEFT_MODEL", path);
    assert_eq!(alone.run().ok(), expected("First of all.\n\nSecond."));
    // Prompts of a file are each by themselves.
    let many = folder.join("prompts.txt");
    std::fs::write(&many, "First.\n").unwrap();
    let line = call(&["--prompts", many.to_str().unwrap()]).input("Third.").run().json();
    assert_eq!(line["prompt"], "First.");
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_text() {
    let folder = Folder::new();
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, format!("\u{FEFF}{text}")).unwrap();
        path.display().to_string()
    };
    let path = model("glm-tiny-q4_0");
    let greedy = ["run", path.to_str().unwrap(), "--max-tokens", "8", "--temperature", "0"];
    let call = |args: &[&str]| weft([&greedy[..], args].concat());
    let expected = run(&["Hello"]).ok();
    assert_eq!(call(&["-f", &file("prompt", "Hello\n")]).run().ok(), expected);
    assert_eq!(call(&[]).input("\u{FEFF}Hello\n").run().ok(), expected);
    let lines = call(&["--prompts", &file("prompts", "{\"prompt\": \"Hello\"}\r\n")]).run().json();
    assert_eq!(lines["prompt"], "Hello");
    call(&["Hello", "-n", "40", "--schema", &file("schema", "{\"type\": \"boolean\"}")]).run().ok();
    assert_eq!(call(&["Hello", "--grammar", &file("grammar", "start: \"yes\"")]).run().ok(), "yes\n");
    let template = "{{ messages[0].content }}";
    assert_eq!(
        call(&["Hello", "--chat-template", &file("t.jinja", template)]).run().ok(),
        run(&["Hello", "--raw"]).ok()
    );
    let limited = weft([&greedy[..2], &["Hello", "--json"]].concat())
        .env("WEFT_CONFIG", file("config", "max-tokens = 1\n"));
    assert_eq!(limited.run().json()["tokens"], 1);
    let conversation = file("c.json", "[{\"role\": \"user\", \"content\": \"Hi\"}]");
    assert!(chat(&[], &format!("/load {conversation}\n/undo\n")).err.contains("removed \"Hi\""));
    // The text of a score.
    let scored = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).unwrap();
        let text = folder.join(name).display().to_string();
        weft(["perplexity", path.to_str().unwrap(), &text, "-c", "16", "--json", "--no-journal"]).run().json()
            ["perplexity"]
            .clone()
    };
    let text = "one two three four ".repeat(20);
    assert_eq!(scored("marked", &format!("\u{FEFF}{text}")), scored("plain", &text));
}

#[test]
fn a_reply_that_is_cut_off_before_it_has_its_form_is_told() {
    let schema = r#"{"type": "object", "properties": {"name": {"type": "string", "minLength": 20}}, "required": ["name"]}"#;
    let cut = |more: &[&str]| run(&[&["Hello", "--schema", schema][..], more].concat());
    let told = cut(&[]);
    assert_eq!(told.code, Some(3), "{told:?}");
    assert!(
        told.err.contains("cut off by --max-tokens, so it does not have the form of --schema"),
        "{told:?}"
    );
    assert!(told.out.starts_with('{'), "the reply begins without spaces: {told:?}");
    let told = cut(&["--json"]);
    let json: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!((told.code, &json["finish"]), (Some(3), &json!("length")), "{told:?}");
    let told = cut(&["--raw"]);
    assert_eq!(told.code, Some(3), "{told:?}");
    let told = cut(&["--stop", "name", "-n", "60"]);
    assert!(told.code == Some(3) && told.err.contains("cut off by --stop"), "{told:?}");
    // Whole at the very limit, where the token that ends it has not come.
    let folder = Folder::new();
    let grammar = folder.join("grammar.lark");
    std::fs::write(&grammar, "start: \"e\" | \"ee\"").unwrap();
    let told = run(&["Hello", "--grammar", grammar.to_str().unwrap(), "-n", "1"]);
    assert_eq!((told.code, told.err.as_str()), (Some(0), ""), "{told:?}");
    // Of several, each.
    let prompts = folder.join("prompts");
    std::fs::write(&prompts, "Hello\nHello\n").unwrap();
    let told = run(&["--schema", schema, "--prompts", prompts.to_str().unwrap()]);
    assert_eq!((told.code, told.out.lines().count()), (Some(3), 2), "{told:?}");
    // The same in llama.cpp's form.
    std::fs::write(&grammar, "root ::= \"e\" | \"ee\"").unwrap();
    let same = run(&["Hello", "--grammar", grammar.to_str().unwrap(), "-n", "1"]);
    assert_eq!((same.code, same.err.as_str(), same.out.trim()), (Some(0), "", "ee"), "{same:?}");
}

#[test]
fn only_conversations_are_replaced() {
    let folder = Folder::new();
    let shown = |name: &str| folder.join(name).display().to_string();
    for (name, text) in
        [("decoy.txt", "precious\n"), ("package.json", "{\"name\": 1}\n"), ("list.json", "[]\n")]
    {
        std::fs::write(folder.join(name), text).unwrap();
        let error = chat(&[], &format!("Hello\n/save {}\n", shown(name)));
        assert_eq!(error.code, Some(1), "{error:?}");
        assert!(
            error.err.contains(&format!("{name} exists and is no conversation; choose another name")),
            "{error:?}"
        );
        assert_eq!(std::fs::read_to_string(folder.join(name)).unwrap(), text);
    }
    for name in ["..", "."] {
        let told = chat(&[], &format!("/save {name}\n"));
        assert!(told.code == Some(1) && told.err.contains("cannot begin with a dot"), "{told:?}");
    }
    let told = chat(&[], &format!("/save {}\n", shown("..")));
    assert!(told.code == Some(1) && told.err.contains("is no conversation"), "{told:?}");
    // Another conversation is not replaced unasked, but the one that was saved or loaded is.
    let file = shown("talk.json");
    chat(&[], &format!("Hello\n/save {file}\nWhat?\n/save {file}\n")).ok();
    let told = chat(&[], &format!("Hello\n/save {file}\n"));
    assert!(told.code == Some(1) && told.err.contains("has another conversation"), "{told:?}");
    chat(&[], &format!("/load {file}\n/undo\n/save {file}\n")).ok();
    assert!(chat(&[], &format!("/load {file}\n/undo\n/undo\n")).err.contains("nothing to undo"));
}
