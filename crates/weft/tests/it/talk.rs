//! Tests of `run` and `chat`, with models that produce reproducible gibberish.

use serde_json::json;

use crate::support::{Folder, Ran, has_built_in, model, weft};

/// Runs a prompt with greedy sampling, for a short reply.
pub(crate) fn run(args: &[&str]) -> Ran {
    let path = model("glm-tiny-q4_0");
    weft([&["run", path.to_str().unwrap(), "--max-tokens", "8", "--temperature", "0"], args].concat()).run()
}

#[test]
fn a_reply_as_text_and_as_json() {
    let text = run(&["Hello"]);
    let reply = run(&["Hello", "--json", "--seed", "7"]).json();
    assert_eq!(text.out.trim_end_matches('\n'), reply["text"].as_str().unwrap().trim_end_matches('\n'));
    assert_eq!(text.err, "", "a short prompt shows no progress");
    assert!(text.ok().ends_with('\n'));
    assert_eq!((&reply["finish"], &reply["tokens"]), (&json!("length"), &json!(8)));
    assert_eq!((&reply["seed"], &reply["stop"]), (&json!(7), &json!(null)));
    assert!(reply["prompt_tokens"].as_u64().unwrap() > 1);
    assert!(reply["timings"]["decode_seconds"].as_f64().unwrap() > 0.0);
    assert!(reply["model"].as_str().unwrap().ends_with("glm-tiny-q4_0.gguf"));
    assert!(reply["device"].as_str().unwrap().starts_with("cpu"));
}

#[test]
fn prompts_are_arguments_or_standard_input() {
    let path = model("glm-tiny-q4_0");
    let greedy = ["run", "--max-tokens", "8", "--temperature", "0", path.to_str().unwrap()];
    let expected = run(&["Hello"]).ok();
    assert_eq!(weft(greedy).input("Hello\n").run().ok(), expected);
    assert_eq!(weft([&greedy[..], &["-"]].concat()).input("Hello").run().ok(), expected);
    assert_ne!(run(&["Hello!"]).ok(), expected);
    let error = weft(greedy).input(b"ab\xFF").run().failed(1);
    assert!(error.contains("cannot read standard input: it is not UTF-8 text: byte 2 is invalid"), "{error}");
    let error = weft(greedy).input(" \n").run().failed(1);
    assert!(error.contains("the prompt is empty: standard input has no text"), "{error}");
    for args in [&["run", ""][..], &["run", path.to_str().unwrap(), ""]] {
        let error = weft(args).run().failed(1);
        assert!(error.contains("the prompt is empty: PROMPT has no text"), "{error}");
    }
    let folder = Folder::new();
    std::fs::write(folder.join("nothing"), " \n").unwrap();
    let error = weft(["run", "--prompt-file", folder.join("nothing").to_str().unwrap()]).run().failed(1);
    assert!(error.contains("nothing has no text"), "{error}");
}

#[test]
fn a_single_argument_is_a_model_if_it_names_one_and_the_prompt_is_piped() {
    let folder = Folder::new();
    let (bare, text) = (folder.join("bare"), folder.join("text"));
    std::fs::copy(model("glm-tiny-q4_0"), &bare).unwrap();
    std::fs::write(&text, "Hello").unwrap();
    let greedy = ["run", "--max-tokens", "8", "--temperature", "0"];
    let call = [&greedy[..], &[bare.to_str().unwrap()]].concat();
    assert_eq!(weft(call).input("Hello").run().ok(), run(&["Hello"]).ok());
    // By the name of a model in the cache.
    let cache = Folder::new();
    std::fs::create_dir(cache.join("models")).unwrap();
    std::fs::copy(model("glm-tiny-q4_0"), cache.join("models/mine.gguf")).unwrap();
    let call = || weft([&greedy[..], &["mine"]].concat()).env("WEFT_CACHE", cache.path());
    assert_eq!(call().input("Hello").run().ok(), run(&["Hello"]).ok());
    // Anything else is a prompt for the default model, which cannot be downloaded here.
    for prompt in ["What is this?", text.to_str().unwrap()] {
        let told = weft(["run", prompt, "-n", "1"]).input("Hello").env("PATH", "").run();
        assert_eq!(told.code, Some(if has_built_in() { 0 } else { 1 }), "{told:?}");
        assert!(told.err.contains("smollm2"), "{told:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_reply() {
    let lively = |seed| run(&["Hello", "--temperature", "2", "--top-k", "0", "--seed", seed]).ok();
    assert_eq!(lively("1"), lively("1"));
    assert_ne!(lively("1"), lively("2"));
}

#[test]
fn a_reply_ends_before_a_stop_text() {
    let whole = run(&["Hello", "--json"]).json()["text"].as_str().unwrap().to_string();
    let stop: String = whole.chars().skip(3).take(2).collect();
    let reply = run(&["Hello", "--json", "--stop", "never", "--stop", &stop]).json();
    assert_eq!((&reply["finish"], &reply["stop"]), (&json!("stop"), &json!(stop)));
    assert_eq!(reply["text"].as_str().unwrap(), whole.split(&stop).next().unwrap());
}

#[test]
fn templates_and_system_messages_change_the_prompt() {
    let tokens = |args: &[&str]| run(&[args, &["--json"]].concat()).json()["prompt_tokens"].as_u64().unwrap();
    let plain = tokens(&["Hello"]);
    assert!(tokens(&["Hello", "--system", "Be brief."]) > plain);
    assert!(tokens(&["Hello", "--raw"]) < plain);
}

#[test]
fn a_full_context_is_reported() {
    let short = run(&["Hello", "--context", "16", "--max-tokens", "100"]);
    assert_eq!(short.code, Some(0));
    assert!(short.err.contains("the context of 16 tokens is full"), "{short:?}");
    let error = run(&["Hello", "--context", "2"]).failed(1);
    assert!(
        error.contains("the prompt has") && error.contains("and the context only 2; use --context "),
        "{error}"
    );
    assert!(error.contains("this model allows up to"), "{error}");
    let error = run(&["Hello", "--context", "1000000000"]).failed(1);
    assert!(error.contains("the length the model was trained for"), "{error}");
}

#[test]
fn verbose_prints_token_counts_and_the_seed() {
    let told = run(&["Hello", "--verbose", "--seed", "9"]);
    assert!(told.err.contains("8 tokens") && told.err.contains("seed 9"), "{told:?}");
}

#[test]
fn unsupported_options_of_a_template_are_reported() {
    let told = run(&["Hello", "--no-think"]);
    assert!(told.err.contains("enable_thinking"), "{told:?}");
}

#[test]
fn arguments_override_the_environment_for_switches_too() {
    // The prompt's length depends on the switch.
    let folder = Folder::new();
    let path = thinking_model(&folder);
    let tokens = |args: &[&str], think: &str| {
        let call = [&["run", &path, "Hello", "--json", "-n", "1"], args].concat();
        weft(call).env("WEFT_THINK", think).run().json()["prompt_tokens"].clone()
    };
    let (on, off) = (tokens(&["--think"], ""), tokens(&["--no-think"], ""));
    assert_ne!(on, off);
    assert_eq!((tokens(&[], "1"), tokens(&[], "0")), (on.clone(), off.clone()));
    assert_eq!((tokens(&["--think"], "0"), tokens(&["--no-think"], "1")), (on, off));
}

/// A copy of a model with a chat template that supports `enable_thinking`, padded to the length of the original.
fn thinking_model(folder: &Folder) -> String {
    let bytes = std::fs::read(model("glm-tiny-q4_0")).unwrap();
    let gguf = weft_gguf::Gguf::open(&model("glm-tiny-q4_0")).unwrap();
    let own = gguf.metadata().require_str("tokenizer.chat_template").unwrap().as_bytes();
    let mut template =
        String::from("{% if enable_thinking %}Think long and hard. {% endif %}{{ messages[0].content }}");
    assert!(template.len() <= own.len(), "{} bytes", own.len());
    template += &format!("{{#{}#}}", " ".repeat(own.len() - template.len() - 4));
    let at = bytes.windows(own.len()).position(|window| window == own).unwrap();
    let path = folder.join("thinking.gguf");
    std::fs::write(&path, [&bytes[..at], template.as_bytes(), &bytes[at + own.len()..]].concat()).unwrap();
    path.display().to_string()
}

/// The output and the exit code of a long reply that is interrupted by a signal once it has begun.
#[cfg(unix)]
fn interrupted(signal: &str, args: &[&str]) -> (String, Option<i32>) {
    use std::io::{Read as _, Write as _};
    use std::process::{Command, Stdio};

    let path = model("glm-tiny-q4_0");
    let mut call = weft([args, &[path.to_str().unwrap(), "--temperature", "0"]].concat());
    let mut child =
        call.command().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"Hello\n").unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut text = vec![0];
    out.read_exact(&mut text).unwrap();
    let kill = format!("kill -{signal} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    out.read_to_end(&mut text).unwrap();
    (String::from_utf8(text).unwrap(), child.wait().unwrap().code())
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_reply_and_keeps_its_beginning() {
    if !crate::support::signals_work() {
        return;
    }
    let whole = run(&["Hello", "--max-tokens", "4000"]).ok();
    // Without a terminal, a conversation ends as well.
    for (signal, command, expected) in [
        ("INT", "run", 130),
        ("TERM", "run", 143),
        ("HUP", "run", 129),
        ("INT", "chat", 130),
        ("TERM", "chat", 143),
    ] {
        let (text, code) = interrupted(signal, &[command]);
        assert_eq!(code, Some(expected), "{signal} {command}");
        assert!(text.len() < whole.len() && text.ends_with('\n'), "{} of {} bytes", text.len(), whole.len());
        assert!(whole.starts_with(text.trim_end_matches('\n')));
    }
}

#[cfg(unix)]
#[test]
fn too_little_memory_says_what_helps() {
    let path = model("glm-tiny-q4_0");
    // The KV cache takes 700 MB.
    let args =
        ["run", path.to_str().unwrap(), "Hello", "--raw", "--context", "200000", "--kv", "f32", "--no-cache"];
    let mut call = weft(args);
    let command = call.command();
    let words: Vec<String> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", &format!("ulimit -v 500000; exec {}", words.join(" "))]).env_clear();
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = limited.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    for part in [
        "too little memory for this model and its context",
        "use a smaller --context, --kv q8_0 or fewer bits",
        "cannot allocate",
    ] {
        assert_eq!(error.matches(part).count(), 1, "{part}: {error}");
    }
}

/// Runs a conversation with these lines as messages.
pub(crate) fn chat(args: &[&str], lines: &str) -> Ran {
    let path = model("glm-tiny-q4_0");
    let greedy = ["chat", path.to_str().unwrap(), "--max-tokens", "4", "--temperature", "0"];
    weft([&greedy, args].concat()).input(lines).run()
}

#[test]
fn a_conversation_remembers_until_it_is_cleared() {
    let lines = |text: String| text.lines().map(str::to_string).collect::<Vec<_>>();
    let once = lines(chat(&[], "Hello\n").ok());
    let twice = chat(&[], "Hello\nHello\n").ok();
    let cleared = chat(&[], "Hello\n/clear\nHello\n").ok();
    assert_eq!(cleared, format!("{0}\n{0}\n", once.join("\n")));
    assert_ne!(twice, cleared);
}

#[test]
fn commands_in_a_conversation() {
    let help = chat(&[], "/help\n").ok();
    assert!(help.contains("/clear") && help.contains("/quit"), "{help}");
    assert_eq!(chat(&[], "/quit\nHello\n").ok(), "");
    assert_eq!(
        chat(&["--system", "Be brief."], "/system\n/system Be long.\n/system\n").ok(),
        "Be brief.\nBe long.\n"
    );
    assert_eq!(chat(&["--system", ""], "/system\n").ok(), "there is no system message\n");
    let told = chat(&["--system", "Be brief."], "/system \"\"\n/system\n");
    assert_eq!(told.ok(), "there is no system message\n", "quotes clear it");
    let told = chat(&[], "/clear\n");
    assert!(told.err.contains("started a new conversation"), "{told:?}");
    let told = chat(&[], "/nothing\n");
    assert!(told.err.contains("there is no command /nothing"), "{told:?}");
    let system = chat(&["--system", "Be brief."], "Hello\n").ok();
    assert_eq!(chat(&[], "/system Be brief.\nHello\n").ok(), system);
}

#[test]
fn prompts_come_from_files() {
    let folder = Folder::new();
    let (file, many) = (folder.join("prompt.txt"), folder.join("prompts.txt"));
    std::fs::write(&file, "Hello\n").unwrap();
    let path = model("glm-tiny-q4_0");
    let greedy = ["run", path.to_str().unwrap(), "--max-tokens", "8", "--temperature", "0"];
    let expected = run(&["Hello"]).ok();
    assert_eq!(weft([&greedy[..], &["-f", file.to_str().unwrap()]].concat()).run().ok(), expected);
    assert_eq!(weft([&greedy[..], &["-f", "-"]].concat()).input("Hello\n").run().ok(), expected);
    std::fs::write(&file, b"ab\xFF").unwrap();
    let error = weft([&greedy[..], &["-f", file.to_str().unwrap()]].concat()).run().failed(1);
    assert!(error.contains("prompt.txt: it is not UTF-8 text: byte 2 is invalid; convert it"), "{error}");
    let error = weft([&greedy[..], &["Hello", "--prompts", "-"]].concat()).run().failed(2);
    assert!(error.contains("PROMPT has no effect with --prompts"), "{error}");
    // Several, computed together and printed in their order.
    std::fs::write(&many, "Hello\n\n\"What?\"\n{\"prompt\": \"Hello\"}\n").unwrap();
    let text = weft([&greedy[..], &["--prompts", many.to_str().unwrap()]].concat()).run().ok();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let facts = |line: &serde_json::Value| (line["index"].clone(), line["prompt"].clone());
    assert_eq!(
        lines.iter().map(facts).collect::<Vec<_>>(),
        [(json!(0), json!("Hello")), (json!(1), json!("What?")), (json!(2), json!("Hello"))]
    );
    let texts: Vec<&str> = lines.iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!((texts[0], texts[2]), (expected.trim_end_matches('\n'), texts[0]));
    assert_ne!(texts[1], texts[0]);
}

#[test]
fn events_are_lines_of_json() {
    let text = run(&["Hello", "--events", "--seed", "7"]).ok();
    let events: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said: String = events
        .iter()
        .filter_map(|event| event["text"].as_str().filter(|_| event["event"] == "text"))
        .collect();
    assert_eq!(format!("{said}\n"), run(&["Hello"]).ok());
    let end = events.last().unwrap();
    assert_eq!((&end["event"], &end["tokens"], &end["seed"]), (&json!("end"), &json!(8), &json!(7)));
    assert_eq!(end["text"], json!(said));
}

#[test]
fn replies_follow_a_schema_or_a_grammar() {
    let schema = r#"{"type": "object", "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 3}},
                     "required": ["n"], "additionalProperties": false}"#;
    let folder = Folder::new();
    let (file, grammar) = (folder.join("schema.json"), folder.join("grammar.lark"));
    std::fs::write(&file, schema).unwrap();
    for given in [schema, file.to_str().unwrap()] {
        let reply = run(&["Hello", "--max-tokens", "60", "--schema", given]).ok();
        let json: serde_json::Value = serde_json::from_str(&reply).unwrap();
        assert!((1..=3).contains(&json["n"].as_u64().unwrap()), "{reply}");
    }
    std::fs::write(&grammar, "start: \"yes\" | \"no\"").unwrap();
    for raw in [&[][..], &["--raw"]] {
        let reply = run(&[&["Hello", "--grammar", grammar.to_str().unwrap()], raw].concat()).ok();
        assert!(["yes\n", "no\n"].contains(&reply.as_str()), "{reply:?}");
    }
    for (args, said) in [
        (["--schema", "{"], "--schema is not JSON"),
        (["--schema", "none.json"], "cannot read the schema none.json"),
        (["--schema", r#"{"not": {}}"#], "cannot use --schema: not"),
        (["--grammar", file.to_str().unwrap()], "cannot use --grammar"),
    ] {
        let error = run(&[&["Hello"][..], &args].concat()).failed(1);
        assert!(error.contains(said), "{args:?}: {error}");
    }
}

#[test]
fn the_context_grows_with_the_prompt() {
    let folder = Folder::new();
    let file = folder.join("long.txt");
    std::fs::write(&file, "one two three four five ".repeat(1000)).unwrap();
    let path = model("glm-tiny-q4_0");
    let call = ["run", path.to_str().unwrap(), "-f", file.to_str().unwrap(), "-n", "2", "--json"];
    let reply = weft(call).run().json();
    assert!(reply["prompt_tokens"].as_u64().unwrap() > 4096, "{reply}");
    assert_eq!(reply["tokens"], json!(2));
    let error = weft(call).env("WEFT_CONTEXT", "4096").run().failed(1);
    assert!(error.contains("and the context only 4096; use --context"), "{error}");
}

#[test]
fn replies_can_be_retried_and_undone() {
    let once = chat(&[], "Hello\n").ok();
    assert_eq!(chat(&[], "Hello\nWhat?\n/undo\n/retry\n").ok().lines().last(), once.lines().last());
    let edited = chat(&[], "What?\n/edit Hello\n").ok();
    assert!(edited.ends_with(&once), "{edited}");
    // Another seed, so another reply.
    let lively = chat(&["--temperature", "2", "--top-k", "0", "--seed", "1"], "Hello\n/retry\n").ok();
    let replies: Vec<&str> = lively.lines().collect();
    assert!(replies.len() >= 2 && replies[0] != replies[replies.len() - 1], "{lively}");
    for empty in ["/retry\n", "/undo\n", "/edit x\n"] {
        assert_eq!(chat(&[], empty).ok(), "", "{empty}");
    }
}

#[test]
fn an_edit_without_a_reply_changes_nothing() {
    let long = "word ".repeat(60);
    let told = chat(&["--context", "40"], &format!("Hello\nWhat?\n/edit {long}\n/undo\n"));
    assert!(told.err.contains("the context of 40 tokens is full"), "{told:?}");
    assert!(told.err.contains("removed \"What?\" and its reply"), "{told:?}");
    let told = chat(&[], "Hello\n/edit\n/undo\n");
    assert!(told.err.contains("/edit needs the new message"), "{told:?}");
    assert!(told.err.contains("removed \"Hello\" and its reply"), "{told:?}");
}

#[test]
fn a_summary_replaces_the_conversation() {
    let told = chat(&[], "Hello\nWhat?\n/summarise\n/undo\n/undo\n");
    assert!(told.err.contains("the conversation goes on from this summary"), "{told:?}");
    assert!(told.err.contains("removed \"What have we talked about so far?\" and its reply"), "{told:?}");
    assert!(told.err.contains("there is nothing to undo"), "{told:?}");
    assert!(chat(&[], "/summarise\n").err.contains("there is nothing to summarise"));
    // Without a summary, nothing is lost.
    let told = chat(&["--context", "24"], "Hello\nWhat?\n/summarise\n");
    assert_eq!(told.code, Some(1), "{told:?}");
    let folder = Folder::new();
    let file = folder.join("kept.json");
    let shown = file.display();
    chat(&[], &format!("Hello\n/save {shown}\n")).ok();
    chat(&["--context", "24"], &format!("/load {shown}\n/summarise\n")).failed(1);
    assert!(chat(&[], &format!("/load {shown}\n/undo\n")).err.contains("removed \"Hello\""));
}

#[test]
fn a_conversation_goes_on_with_another_model() {
    let other = model("ds2-tiny-q4_0");
    let other = other.to_str().unwrap();
    let own = chat(&[], "Hello\n").ok();
    let call = ["chat", other, "--max-tokens", "4", "--temperature", "0"];
    let others = weft(call).input("Hello\n").run().ok();
    assert_ne!(own, others);
    let told = chat(&[], &format!("Hello\n/undo\n/model {other}\nHello\n"));
    assert_eq!(told.ok(), format!("{own}{others}"));
    // The messages stay, and what was set.
    let settings = "/set temperature 0.25\n/set max-tokens 3\n";
    let shown = "/set temperature\n/set max-tokens\n/undo\n";
    let told = chat(&[], &format!("Hello\n{settings}/model {other}\n{shown}"));
    assert!(told.out.ends_with("0.25\n3\n"), "{told:?}");
    assert!(told.err.contains("removed \"Hello\""), "{told:?}");
}

#[cfg(unix)]
#[test]
fn a_model_that_cannot_be_used_leaves_the_one_there_is() {
    let folder = Folder::new();
    let (text, broken) = (folder.join("text.gguf"), folder.join("broken.gguf"));
    std::fs::write(&text, "not a model").unwrap();
    // Its template is only compiled when the model is loaded.
    let mut bytes = std::fs::read(thinking_model(&folder)).unwrap();
    let at = bytes.windows(5).rposition(|window| window == b"{% if").unwrap();
    bytes[at..at + 5].copy_from_slice(b"{% xy");
    std::fs::write(&broken, bytes).unwrap();
    let reply = chat(&[], "Hello\n").ok();
    for wrong in ["./none.gguf", text.to_str().unwrap(), broken.to_str().unwrap()] {
        let error = chat(&[], &format!("/model {wrong}\n")).failed(1);
        assert!(error.contains(&format!("cannot go on with {wrong}: ")), "{error}");
        if !crate::pty::can_run() {
            continue;
        }
        let path = model("glm-tiny-q4_0");
        let call = ["chat", path.to_str().unwrap(), "--temperature", "0", "--max-tokens", "4"];
        let mut pty = crate::pty::Pty::start(&mut weft(call), 200);
        pty.wait_for("> ");
        pty.send(&format!("/model {wrong}\r"));
        pty.wait_for("cannot go on with");
        pty.wait_for("> ");
        pty.send("Hello\r");
        pty.wait_for(reply.trim());
        pty.wait_for("> ");
        pty.send("\x04");
        assert_eq!(pty.end().0, Some(0));
    }
}

#[test]
fn settings_change_within_a_conversation() {
    let told = chat(&[], "/set temperature 0.25\n/set temperature\n/set top_k 7\n/set max-tokens 2\n/set\n");
    let text = told.ok();
    assert!(
        text.starts_with("0.25\n") && text.contains("top-k              7\nthe")
            || text.contains("top-k              7\n"),
        "{text}"
    );
    assert!(text.contains("max-tokens         2"), "{text}");
    for (line, said) in [
        ("/set temprature 1\n", "did you mean temperature?"),
        ("/set temperature hot\n", "temperature: expected a number from 0 to 100, found \"hot\""),
        ("/set think maybe\n", "expected on, off or default"),
    ] {
        let told = chat(&[], line);
        assert!(told.err.contains(said), "{told:?}");
    }
    assert_eq!(chat(&[], "/set max-tokens 1\nHello\n/stats\n").ok().matches("reply: 1 tokens").count(), 1);
}

#[test]
fn conversations_are_saved_and_loaded() {
    let folder = Folder::new();
    let file = folder.join("talk.json").display().to_string();
    let whole = chat(&[], "Hello\nWhat?\n").ok();
    let saved = chat(&[], &format!("Hello\n/save {file}\n"));
    assert!(saved.err.contains("saved to"), "{saved:?}");
    let loaded = chat(&[], &format!("/load {file}\nWhat?\n")).ok();
    assert!(whole.ends_with(&loaded), "{whole} {loaded}");
    // By name, in the user's data folder.
    let named = |lines: &str| {
        let path = model("glm-tiny-q4_0");
        let greedy = ["chat", path.to_str().unwrap(), "--max-tokens", "4", "--temperature", "0"];
        weft(greedy).env("XDG_DATA_HOME", folder.path()).input(lines).run()
    };
    named("Hello\n/save trip\n").ok();
    assert!(named("/load\n").ok().starts_with("trip                 Hello"));
    assert_eq!(named("/load trip\nWhat?\n").ok(), loaded);
    let error = named("/load none\n").failed(1);
    assert!(error.contains("cannot read the conversation"), "{error}");
}

#[test]
fn a_chat_template_can_be_chosen() {
    let tokens =
        |args: &[&str]| run(&[&["Hello", "--json"], args].concat()).json()["prompt_tokens"].as_u64().unwrap();
    let folder = Folder::new();
    let file = folder.join("plain.jinja");
    std::fs::write(&file, "{{ messages[0].content }}").unwrap();
    let plain = tokens(&["--chat-template", file.to_str().unwrap()]);
    assert_eq!(plain, tokens(&["--raw"]));
    assert!(tokens(&["--chat-template", "chatml"]) > plain);
    let error = run(&["Hello", "--chat-template", "chatlm"]).failed(1);
    assert!(
        error.contains("there is no chat template chatlm: expected a file, or one of chatml,"),
        "{error}"
    );
    std::fs::write(&file, "{% if %}").unwrap();
    let error = run(&["Hello", "--chat-template", file.to_str().unwrap()]).failed(1);
    assert!(error.contains("cannot use the chat template"), "{error}");
}

#[test]
fn a_full_conversation_says_how_to_continue() {
    let told = chat(&["--context", "16"], "Hello\nHello\nHello\nHello\nHello\n/clear\nHello\n");
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(
        told.err.contains("/clear starts a new conversation") && told.err.contains("--context N"),
        "{told:?}"
    );
    let first = chat(&[], "Hello\n").ok();
    assert!(told.out.ends_with(&first), "/clear must make room: {told:?}");
    // A message that does not fit by itself is an error: clearing would not help.
    let error = chat(&["--context", "3"], "Hello\n").failed(1);
    assert!(error.contains("context") && !error.contains("/clear"), "{error}");
}
