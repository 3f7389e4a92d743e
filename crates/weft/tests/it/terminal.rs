//! Tests of `chat` and `run` in a terminal.

use serde_json::json;

use crate::pty::{Pty, can_run};
use crate::server::{Answer, delta, end, events, models, serve};
use crate::support::{Folder, Weft, model, weft};

/// A conversation with short, reproducible replies.
fn chat(args: &[&str]) -> Weft {
    let path = model("glm-tiny-q4_0");
    weft([&["chat", path.to_str().unwrap(), "--temperature", "0", "--seed", "1"], args].concat())
}

const SHORT: &[&str] = &["--max-tokens", "4"];
const LONG: &[&str] = &["--max-tokens", "4000"];

/// Starts a conversation and waits for its prompt.
#[track_caller]
fn start(args: &[&str]) -> Pty {
    start_at(args, 80)
}

#[track_caller]
fn start_at(args: &[&str], columns: u16) -> Pty {
    let mut pty = Pty::start(&mut chat(args), columns);
    pty.wait_for("> ");
    pty
}

/// Says hello, and waits for the end of the reply. Returns the text that appeared after the message.
#[track_caller]
fn greet(pty: &mut Pty) -> String {
    pty.send("Hello\r");
    pty.wait_for("\n");
    pty.wait_for("> ")
}

#[test]
fn signals_at_the_prompt_restore_the_terminal() {
    if !can_run() {
        return;
    }
    for (signal, code) in [("TERM", 143), ("HUP", 129)] {
        let pty = start(SHORT);
        assert!(!pty.is_cooked(), "the line editor is at work");
        pty.signal(signal);
        assert_eq!(pty.end().0, Some(code), "{signal}");
    }
}

#[test]
fn signals_during_a_reply_end_the_conversation() {
    if !can_run() {
        return;
    }
    for (signal, code) in [("TERM", 143), ("HUP", 129)] {
        let mut pty = start(LONG);
        pty.send("Hello\r");
        pty.wait_for("\n");
        pty.wait_for(" ");
        pty.signal(signal);
        assert_eq!(pty.end().0, Some(code), "{signal}");
    }
}

#[test]
fn ctrl_c_ends_a_reply_without_a_trace_and_the_conversation_goes_on() {
    if !can_run() {
        return;
    }
    let mut pty = start(LONG);
    pty.send("Hello\r");
    pty.wait_for("Hello");
    pty.wait_for("\n");
    pty.wait_for(" ");
    pty.send("\x03");
    pty.wait_for("> ");
    pty.send("/stats\r");
    let seen = pty.wait_for("reply: ");
    assert!(!seen.contains("^C"), "{seen:?}");
    pty.send("/quit\r");
    assert_eq!(pty.end().0, Some(0));
}

#[test]
fn what_is_typed_during_a_reply_waits_for_the_prompt() {
    if !can_run() {
        return;
    }
    let mut pty = start(&["--max-tokens", "300"]);
    pty.send("Hello\r");
    pty.wait_for("Hello");
    pty.wait_for("\n");
    pty.wait_for(" ");
    pty.send("/stats\r/system Be brief.\r/system\r");
    let reply = pty.wait_for("> ");
    assert!(!reply.contains("stats"), "it echoes into the reply: {reply:?}");
    // Every line arrives, also those after the first.
    pty.wait_for("reply: ");
    pty.wait_for("\r\nBe brief.");
    pty.leave();
    assert_eq!(pty.end().0, Some(0));
}

#[test]
fn ctrl_d_within_quotes_does_not_send() {
    if !can_run() {
        return;
    }
    let mut pty = start(SHORT);
    pty.send("\"\"\"one\r");
    pty.wait_for("… ");
    pty.send("\x04");
    pty.wait_for("was not sent");
    pty.send("/stats\r");
    pty.wait_for("there is no reply yet");
    pty.leave();
    assert_eq!(pty.end().0, Some(0));
}

#[test]
fn a_pasted_text_of_several_lines_is_one_message() {
    if !can_run() {
        return;
    }
    let mut pty = start(SHORT);
    pty.send("\x1b[200~one\rtwo\x1b[201~\r");
    pty.wait_for("\n");
    pty.wait_for("> ");
    pty.send("/undo\r");
    pty.wait_for("removed \"one\\ntwo\"");
    pty.leave();
    assert_eq!(pty.end().0, Some(0));
}

#[test]
fn tab_completes_commands() {
    if !can_run() {
        return;
    }
    let mut pty = start(SHORT);
    pty.send("/set tem\t0.25\r/set temperature\r");
    pty.wait_for("\r\n0.25\r\n");
    pty.leave();
    assert_eq!(pty.end().0, Some(0));
}

#[test]
fn the_last_message_can_be_changed() {
    if !can_run() {
        return;
    }
    let mut pty = start(SHORT);
    greet(&mut pty);
    pty.send("/edit\r");
    pty.wait_for("> Hello");
    pty.send(" again\r");
    pty.wait_for("\n");
    pty.wait_for("> ");
    pty.send("/undo\r");
    pty.wait_for("removed \"Hello again\"");
    pty.send("/undo\r");
    pty.wait_for("nothing to undo");
    pty.leave();
    assert_eq!(pty.end().0, Some(0));
}

#[test]
fn an_abandoned_change_loses_nothing() {
    if !can_run() {
        return;
    }
    let mut pty = start(SHORT);
    greet(&mut pty);
    // Ctrl-C, and an emptied line.
    for keys in ["\x03", "\x15\r"] {
        pty.send("/edit\r");
        pty.wait_for("> Hello");
        pty.send(keys);
        pty.wait_for("your last message stays as it was");
        pty.wait_for("> ");
    }
    pty.send("/undo\r");
    pty.wait_for("removed \"Hello\"");
    pty.leave();
    assert_eq!(pty.end().0, Some(0));
}

#[test]
fn a_context_that_is_nearly_full_is_announced_once() {
    if !can_run() {
        return;
    }
    let warning = "/drop forgets the oldest messages, /summarise shortens all";
    let mut pty = start_at(&["--max-tokens", "4", "--context", "34"], 200);
    let mut seen = String::new();
    for _ in 0..3 {
        seen += &greet(&mut pty);
    }
    assert_eq!(seen.matches(warning).count(), 1, "{seen:?}");
    pty.send("\x04");
    assert_eq!(pty.end().0, Some(0));
}

#[test]
fn a_spinner_shows_that_a_reply_is_awaited() {
    if !can_run() {
        return;
    }
    let server = serve(|asked| {
        if asked.what == "GET /v1/models" {
            return models();
        }
        std::thread::sleep(std::time::Duration::from_millis(1200));
        Answer::Stream(events(&[delta(json!({"content": "done"})), end("stop")]))
    });
    let url = server.url();
    let mut pty = Pty::start(&mut weft(["chat", "--server", &url]), 80);
    pty.wait_for("> ");
    pty.send("Hello\r");
    pty.wait_for("waiting for the server");
    // The line is cleared before the reply.
    let seen = pty.wait_for("done");
    assert!(seen.ends_with("\r\x1b[2Kdone"), "{seen:?}");
    pty.wait_for("> ");
    pty.send("\x04");
    assert_eq!(pty.end().0, Some(0));
}

#[test]
fn progress_is_shown_until_the_first_token() {
    if !can_run() {
        return;
    }
    let (path, prompt) = (model("glm-tiny-q4_0"), "Hello there ".repeat(200));
    let args = ["run", path.to_str().unwrap(), &prompt, "--max-tokens", "4", "--temperature", "0"];
    let reply = weft(args).run().ok();
    let mut pty = Pty::start(&mut weft(args), 80);
    pty.wait_for("reading the prompt");
    let seen = pty.wait_for(" of 805 tokens");
    assert!(seen.ends_with("0 of 805 tokens"), "it begins at once: {seen:?}");
    let (code, screen) = pty.end();
    // Only the reply is left.
    let (_, last) = screen.rsplit_once("\x1b[2K").unwrap();
    assert_eq!((code, last.trim()), (Some(0), reply.trim()), "{screen:?}");
}

/// The most address space that a conversation takes, in kB. A KV cache takes 2.1 GB of it.
#[cfg(target_os = "linux")]
fn peak(commands: &[&str]) -> u64 {
    let path = model("ds2-tiny-q4_0");
    let large = ["chat", path.to_str().unwrap(), "--threads", "1", "--context", "200000", "--kv", "f32"];
    let mut pty = Pty::start(&mut weft(large), 200);
    pty.wait_for("> ");
    for command in commands {
        pty.send(&format!("{command}\r"));
        pty.wait_for("\n");
        pty.wait_for("> ");
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", pty.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmPeak:")).unwrap();
    pty.send("\x04");
    assert_eq!(pty.end().0, Some(0));
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn two_models_are_not_in_memory_at_once() {
    if !can_run() {
        return;
    }
    let again = format!("/model {}", model("ds2-tiny-q4_0").display());
    let (one, two) = (peak(&[]), peak(&[&again]));
    // A chat template's thread reserves 1 GiB while it is compiled.
    assert!(one > 2_000_000 && two < one + 1_500_000, "{one} kB, then {two} kB");
}

#[test]
fn lines_break_between_words() {
    if !can_run() {
        return;
    }
    let path = model("glm-tiny-q4_0");
    let path = path.to_str().unwrap();
    let args = ["run", path, "--temperature", "0", "--max-tokens", "200", "Hello"];
    let plain = weft(args).run().ok();
    let (code, screen) = Pty::start(&mut weft(args).env("NO_COLOR", "1"), 40).end();
    assert_eq!(code, Some(0));
    assert!(screen.lines().all(|line| line.chars().count() < 40), "{screen}");
    // Control characters are not shown in a terminal.
    let joined = |text: &str| text.replace(|c: char| c.is_whitespace() || c.is_control(), "");
    assert_eq!(joined(&screen), joined(&plain), "nothing is lost");
}

#[test]
fn conversations_are_resumed() {
    if !can_run() {
        return;
    }
    let data = Folder::new();
    let start = |args: &[&str]| {
        let mut pty = Pty::start(&mut chat(args).env("XDG_DATA_HOME", data.path()), 80);
        pty.wait_for("> ");
        pty
    };
    let mut pty = start(SHORT);
    greet(&mut pty);
    pty.send("/save trip\r");
    pty.wait_for("saved to");
    pty.leave();
    assert_eq!(pty.end().0, Some(0));
    let resumed = [SHORT, &["--resume"]].concat();
    let mut pty = Pty::start(&mut chat(&resumed).env("XDG_DATA_HOME", data.path()), 80);
    pty.wait_for("Hello");
    pty.wait_for("> ");
    pty.send("/load\r");
    pty.wait_for("trip ");
    pty.send("/undo\r");
    pty.wait_for("removed \"Hello\"");
    pty.leave();
    assert_eq!(pty.end().0, Some(0));
}

#[test]
fn a_saved_copy_stays_as_it_is_and_the_conversation_goes_on() {
    if !can_run() {
        return;
    }
    let (data, folder) = (Folder::new(), Folder::new());
    let copy = folder.join("copy.json");
    let start = |args: &[&str]| {
        let mut pty = Pty::start(&mut weft(args).env("XDG_DATA_HOME", data.path()), 300);
        pty.wait_for("> ");
        pty
    };
    let path = model("glm-tiny-q4_0");
    let own = ["chat", path.to_str().unwrap(), "--temperature", "0", "--max-tokens", "4"];
    let mut pty = start(&own);
    greet(&mut pty);
    pty.send(&format!("/save {}\r", copy.display()));
    pty.wait_for("saved to");
    pty.wait_for("> ");
    pty.send("Third\r");
    pty.wait_for("\n");
    pty.wait_for("> ");
    pty.send(&format!("/save {}\r", folder.join("other.json").display()));
    pty.wait_for("saved to");
    pty.wait_for("> ");
    // Another conversation than the one saved last is replaced only after a yes.
    pty.send(&format!("/save {}\r", copy.display()));
    pty.wait_for("replace it? [y/N] ");
    pty.send("\r");
    pty.wait_for("nothing was saved");
    pty.leave();
    assert_eq!(pty.end().0, Some(0));
    let saved = std::fs::read_to_string(&copy).unwrap();
    assert!(saved.contains("Hello") && !saved.contains("Third"), "{saved}");
    // It continues with the newest text and its own model, though none is named.
    let mut pty = Pty::start(
        &mut weft(["chat", "--resume", "--max-tokens", "4"]).env("XDG_DATA_HOME", data.path()),
        300,
    );
    let seen = pty.wait_for("Third");
    assert!(seen.contains("glm-tiny-q4_0.gguf on cpu"), "{seen:?}");
    assert!(!seen.contains("was held with"), "{seen:?}");
    pty.wait_for("> ");
    pty.send("\x04");
    assert_eq!(pty.end().0, Some(0));
    // Another model is told.
    let other = model("ds2-tiny-q4_0");
    let mut pty = Pty::start(
        &mut weft(["chat", other.to_str().unwrap(), "--resume"]).env("XDG_DATA_HOME", data.path()),
        300,
    );
    let seen = pty.wait_for("goes on with it");
    assert!(
        seen.contains("this conversation was held with /") && seen.contains("ds2-tiny-q4_0.gguf"),
        "{seen:?}"
    );
    pty.wait_for("> ");
    pty.send("\x04");
    assert_eq!(pty.end().0, Some(0));
}

#[test]
fn a_dumb_terminal_shows_what_is_typed() {
    if !can_run() {
        return;
    }
    let mut call = chat(SHORT);
    let mut pty = Pty::start_in(&mut call, 80, "dumb");
    pty.wait_for("> ");
    pty.send("/set temperature 0.25\r");
    pty.wait_for("/set temperature 0.25");
    pty.wait_for("> ");
    pty.send("/quit\r");
    pty.wait_for("/quit");
    assert_eq!(pty.end().0, Some(0));
}

#[test]
fn a_reply_that_was_stopped_and_goes_on_shows_no_keys() {
    if !can_run() {
        return;
    }
    let mut pty = start(LONG);
    pty.send("Hello\r");
    pty.wait_for("\n");
    pty.wait_for(" ");
    pty.signal("STOP");
    // As a shell does.
    pty.cook();
    pty.signal("CONT");
    pty.wait_until_raw();
    pty.send("\x03");
    let seen = pty.wait_for("> ");
    assert!(!seen.contains("^C"), "{seen:?}");
    pty.send("\x04");
    assert_eq!(pty.end().0, Some(0));
}

#[test]
fn a_full_context_can_forget_the_oldest_messages() {
    if !can_run() {
        return;
    }
    let mut pty = start(&["--max-tokens", "4", "--context", "24"]);
    for _ in 0..2 {
        greet(&mut pty);
    }
    pty.send("Hello\r");
    pty.wait_for("forget the oldest message and its reply? [Y/n] ");
    pty.send("y\r");
    pty.wait_for("> ");
    pty.send("Hello\r");
    pty.wait_for("[Y/n] ");
    pty.send("n\r");
    pty.wait_for("/drop forgets the oldest messages");
    pty.wait_for("> ");
    pty.send("/drop\r");
    pty.wait_for("forgot the oldest message");
    pty.leave();
    assert_eq!(pty.end().0, Some(0));
}
