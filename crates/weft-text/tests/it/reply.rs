//! The parser of replies: cases as data, at every cut; random replies made of parts of tags; the work it does.
//!
//! `tests/replies/*.txt` hold cases. Each begins with `=== name`; then come lines `key: value`, the reply after `--- reply`,
//! and the expected pieces after `--- pieces`, one a line, texts as JSON strings. Lines that begin with `#` before the first
//! case are comments. `UPDATE_EXPECT=1` rewrites the pieces.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use weft_text::reply::{ReplyFormat, ReplyPiece, Tool, law};

#[path = "../../../../fuzz/for_a_while.rs"]
mod for_a_while;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replies")
}

fn format(name: &str) -> ReplyFormat {
    let formats = law::formats();
    let found = formats.iter().find(|(other, _)| *other == name);
    found.unwrap_or_else(|| panic!("format: expected one of {formats:?}, found {name:?}")).1.clone()
}

/// Tools by their names; all without a list.
fn tools(names: Option<&str>) -> Vec<Tool> {
    let mut tools = law::tools();
    if let Some(names) = names {
        let names: Vec<&str> = names.split_whitespace().collect();
        tools.retain(|tool| names.contains(&tool.name.as_str()));
        assert_eq!(tools.len(), names.len(), "tools: {names:?}");
    }
    tools
}

struct Case {
    name: String,
    keys: Vec<(String, String)>,
    reply: String,
    pieces: String,
}

impl Case {
    fn get(&self, key: &str) -> Option<&str> {
        self.keys.iter().find(|(other, _)| other == key).map(|(_, value)| value.as_str())
    }

    /// The end of the prompt, as a JSON string.
    fn prompt(&self) -> String {
        self.get("prompt")
            .map_or(String::new(), |text| serde_json::from_str(text).expect("prompt: a JSON string"))
    }
}

/// The comments before the first case, and the cases.
fn read(text: &str) -> (String, Vec<Case>) {
    let mut parts = text.split("\n=== ");
    let comments = parts.next().unwrap_or("").to_owned();
    let cases = parts.map(|part| {
        let (head, rest) =
            part.split_once("\n--- reply\n").unwrap_or_else(|| panic!("no `--- reply`: {part}"));
        let (reply, pieces) =
            rest.split_once("\n--- pieces\n").unwrap_or_else(|| panic!("no `--- pieces`: {part}"));
        let (name, keys) = head.split_once('\n').unwrap_or((head, ""));
        let keys = keys.lines().map(|line| {
            let (key, value) =
                line.split_once(": ").unwrap_or_else(|| panic!("expected `key: value`: {line}"));
            assert!(["format", "prompt", "tools"].contains(&key), "{name}: unknown key {key}");
            (key.to_owned(), value.to_owned())
        });
        let pieces = pieces.trim_end().to_owned();
        Case { name: name.to_owned(), keys: keys.collect(), reply: reply.to_owned(), pieces }
    });
    (comments, cases.collect())
}

fn show(pieces: &[ReplyPiece]) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let lines = pieces.iter().map(|piece| match piece {
        ReplyPiece::Reasoning(text) => format!("reasoning {}", quoted(text)),
        ReplyPiece::Text(text) => format!("text {}", quoted(text)),
        ReplyPiece::ToolCall { index, name } => format!("call {index} {name}"),
        // Fragments of JSON have no line breaks but between tokens.
        ReplyPiece::Arguments { json, .. } => format!("  {}", json.replace('\n', "\n  ")),
        ReplyPiece::ToolCallEnd { index } => format!("end {index}"),
        other => panic!("{other:?}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn cases_at_every_cut() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut wrong = String::new();
    let mut count = 0;
    for file in files {
        let (comments, cases) = read(&fs::read_to_string(&file).unwrap());
        let mut written = comments;
        for case in &cases {
            let format = format(case.get("format").expect("a format"));
            let (tools, prompt) = (tools(case.get("tools")), case.prompt());
            let found = show(&law::pieces(&format, &tools, &prompt, &case.reply, []));
            if found != case.pieces {
                writeln!(wrong, "{}: expected\n{}\nfound\n{found}\n", case.name, case.pieces).unwrap();
            }
            let _ = write!(written, "\n=== {}\n", case.name);
            case.keys.iter().for_each(|(key, value)| writeln!(written, "{key}: {value}").unwrap());
            let _ = write!(written, "--- reply\n{}\n--- pieces\n{found}\n", case.reply);
            law::check(&format, &tools, &prompt, &case.reply, &every_cut(&case.reply));
            count += 1;
        }
        if update {
            fs::write(&file, written).unwrap();
        }
    }
    assert!(update || wrong.is_empty(), "UPDATE_EXPECT=1 accepts this:\n{wrong}");
    assert!(count > 100, "{count} cases");
}

/// A header is held back until it is whole: one that does not end is text, and soon.
#[test]
fn headers_that_do_not_end() {
    let format = format("harmony");
    let marks = "<|end|><|start|>assistant<|channel|>";
    for (begin, part) in [("", "a"), ("commentary to=functions.time <|constrain|>json<|message|>", " ")] {
        let shown = |length: usize| {
            let reply = format!("{marks}{begin}{}", part.repeat(length));
            let mut parser = weft_text::reply::ReplyParser::new(&format, &tools(None), "");
            let mut pieces = Vec::new();
            parser.push(&reply, &mut pieces);
            pieces
                .iter()
                .map(|piece| if let ReplyPiece::Text(text) = piece { text.len() } else { 0 })
                .sum::<usize>()
        };
        assert_eq!(shown(1000), 0, "{begin:?}");
        assert!(shown(1_000_000) > 900_000, "{begin:?}");
    }
}

/// Every way to cut a reply in two, and in three if it is short.
fn every_cut(reply: &str) -> Vec<Vec<usize>> {
    let places: Vec<usize> = reply.char_indices().map(|(at, _)| at).collect();
    let mut cuts: Vec<Vec<usize>> = places.iter().map(|&at| vec![at]).collect();
    if places.len() <= 160 {
        for (at, &first) in places.iter().enumerate() {
            cuts.extend(places[at..].iter().map(|&second| vec![first, second]));
        }
    }
    cuts
}

/// Parts that replies in a format are made of, and parts of these.
fn parts(name: &str) -> Vec<String> {
    let common = [
        "<think>",
        "</think>",
        "\n",
        " ",
        "a",
        "é",
        "<",
        ">",
        "\"",
        "\\",
        "{",
        "}",
        "weather",
        "weather_map",
        "time",
        "null",
        "12",
        "-1.5e3",
        "true",
        "[1, 2]",
        "Smith\"",
        ":",
        ",",
        "\u{1}",
        "\\u00e9",
        "\"\\ud83d",
    ];
    let own: &[&str] = match name {
        "glm" => &[
            "<tool_call>",
            "<tool_call>weather",
            "<tool_call>time</tool_call>",
            "<arg_key>",
            "<arg_key>city</arg_key>",
            "<arg_key>note</arg_key>",
            "<arg_key>where</arg_key>",
            "<arg_value>",
            "<arg_value>Paris</arg_value>",
            "<arg_value>null</arg_value>",
            "</arg_value>",
            "</tool_call>",
            "</arg_key>",
            "<arg_value>None</arg_value>",
        ],
        "hermes" => &[
            "<tool_call>",
            "</tool_call>",
            "<tool_call>\n{\"name\": \"weather\", \"arguments\": ",
            "\"name\": \"time\"",
            "\"arguments\": {}",
            "{\"city\": \"Paris\"}",
            "\"arguments\": \"{}\"",
            "\"id\": 1",
            "{\"name\": \"weather\"",
        ],
        "llama3" => &[
            "<|python_tag|>",
            ";",
            "{\"name\": \"weather\", \"parameters\": ",
            "\"parameters\": {}",
            "{\"city\": \"Paris\"}",
            "\"type\": \"function\"",
            "{\"name\": \"time\", \"parameters\": {}}",
        ],
        "qwen3-coder" => &[
            "<tool_call>",
            "<function=weather>",
            "<function=time></function>",
            "<parameter=city>",
            "<parameter=note>\n",
            "<parameter=where>\n{\"a\": \"",
            "\n</parameter>",
            "</parameter>",
            "</function>",
            "</tool_call>",
            "<function=",
            "<tool_call>\n<function=weather>\n<parameter=days>\n",
        ],
        "kimi-k2" => &[
            "<|tool_calls_section_begin|>",
            "<|tool_call_begin|>",
            "functions.",
            "functions.weather:0",
            "<|tool_call_argument_begin|>",
            "{\"city\": \"Paris\"}",
            "{\"city\": 1",
            "<|tool_call_end|>",
            "<|tool_calls_section_end|>",
            "<|tool_call_begin|>functions.time:1<|tool_call_argument_begin|>",
        ],
        "mistral" => &[
            "[TOOL_CALLS]",
            "[CALL_ID]",
            "a1B2c3D4e",
            "[ARGS]",
            "{\"city\": \"Paris\"}",
            "[",
            "]",
            "[TOOL_CALLS]weather[ARGS]",
            "[TOOL_CALLS][{\"name\": \"time\", \"arguments\": {}",
            "{\"name\": \"weather\", \"arguments\": ",
        ],
        "harmony" => &[
            "<|start|>",
            "<|channel|>",
            "<|constrain|>",
            "<|message|>",
            "<|end|>",
            "<|call|>",
            "assistant",
            "final",
            "json",
            " to=functions.weather",
            " to=python",
            "{\"city\": \"Paris\"}",
            "<|start|>assistant",
            "<|start|>user<|message|>",
            "<|channel|>analysis<|message|>",
            "<|end|><|start|>assistant<|channel|>final<|message|>",
            "<|end|>\n<|start|>assistant<|channel|>commentary<|message|>",
            "<|start|>assistant to=functions.weather_map<|channel|>analysis json<|message|>",
            "<|channel|>commentary to=functions.time <|constrain|>json<|message|>",
        ],
        _ => &[
            "<｜tool▁calls▁begin｜>",
            "<｜tool▁calls▁end｜>",
            "<｜tool▁call▁begin｜>",
            "<｜tool▁call▁end｜>",
            "<｜tool▁sep｜>",
            "function",
            "\n```json\n",
            "```",
            "{\"city\": \"Paris\"}",
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>weather",
            "<｜tool▁call▁begin｜>weather<｜tool▁sep｜>",
        ],
    };
    common.iter().chain(own).map(ToString::to_string).collect()
}

/// A format's number and a reply made of its parts, some of them cut off.
fn garbage() -> impl Strategy<Value = (usize, usize, String, Vec<usize>)> {
    let formats = law::formats().len();
    (0..formats, 0..3_usize, prop::collection::vec((0..1000_usize, 0..40_usize, 0..40_usize), 0..24))
        .prop_map(|(format, prompt, picks)| {
            let parts = parts(law::formats()[format].0);
            let mut reply = String::new();
            let mut cuts = Vec::new();
            for (pick, from, to) in picks {
                let part: Vec<char> = parts[pick % parts.len()].chars().collect();
                // Most parts are whole.
                let from = if from < part.len() && from % 4 == 1 { from } else { 0 };
                let to = if to < part.len() && to % 4 == 1 { to.max(from) } else { part.len() };
                reply.extend(&part[from..to]);
                cuts.push(reply.len());
            }
            (format, prompt, reply, cuts)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn garbage_is_cut_anywhere_and_nothing_is_lost((format, prompt, reply, cuts) in garbage()) {
        let (_, format) = &law::formats()[format];
        let prompt = law::prompts(format)[prompt];
        let mut all: Vec<Vec<usize>> = reply.char_indices().map(|(at, _)| vec![at]).collect();
        all.push(cuts);
        law::check(format, &law::tools(), prompt, &reply, &all);
        law::check(format, &[], prompt, &reply, &all);
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        law::check_fuzzed(&bytes);
    }
}

#[test]
fn the_corpus_of_the_fuzzer() {
    let corpus = for_a_while::corpus("reply_parser");
    assert!(!corpus.is_empty());
    corpus.iter().for_each(|bytes| drop(law::check_fuzzed(bytes)));
}

/// `fuzz/for_a_while.rs` says for how long.
#[test]
#[ignore = "runs as long as WEFT_FUZZ_SECONDS says"]
fn fuzz_for_a_while() {
    let formats = law::formats();
    let number = |name: &str| formats.iter().position(|(other, _)| *other == name).unwrap() as u8;
    let mut seeds = Vec::new();
    for file in fs::read_dir(folder()).unwrap() {
        for case in read(&fs::read_to_string(file.unwrap().path()).unwrap()).1 {
            let prompts = law::prompts(&format(case.get("format").unwrap()));
            let prompt = prompts.iter().position(|prompt| *prompt == case.prompt()).unwrap_or(1);
            let mut seed = vec![number(case.get("format").unwrap()), prompt as u8, 20];
            seed.extend(case.reply.bytes());
            seeds.push(seed);
        }
    }
    let words = formats.iter().flat_map(|(name, _)| parts(name)).map(String::into_bytes).collect();
    let target =
        for_a_while::Target { name: "reply_parser", seeds, words, vary: None, check: &law::check_fuzzed };
    for_a_while::fuzz(&target);
}

#[test]
fn without_tools_and_reasoning_the_text_is_the_reply() {
    for (name, mut format) in law::formats() {
        (format.reasoning, format.harmony) = (None, false);
        let reply = format!(" \n{}\n ", parts(name).join(""));
        assert_eq!(
            law::pieces(&format, &[], "<think>", &reply, []),
            [ReplyPiece::Text(reply.clone())],
            "{name}"
        );
    }
}

/// The format and text of a reply with this many parts.
type Reply = Box<dyn Fn(usize) -> (&'static str, String)>;

/// Replies that could take quadratic time: long arguments, and long texts that look like tags and calls.
#[test]
fn work_is_linear() {
    let argument = |n: usize| {
        format!(
            "<tool_call>weather<arg_key>any</arg_key><arg_value>{}</arg_value></tool_call>",
            "[1,".repeat(n)
        )
    };
    let glm = |body: String| ("glm", body);
    let hermes = |body: String| ("hermes", body);
    let replies: Vec<(&str, Reply)> = vec![
        ("a long argument", Box::new(move |n| glm(argument(n)))),
        (
            "a long string",
            Box::new(move |n| {
                glm(format!("<tool_call>weather<arg_key>city</arg_key><arg_value>{}", "ab</arg_".repeat(n)))
            }),
        ),
        (
            "white space in a value",
            Box::new(move |n| {
                glm(format!("<tool_call>weather<arg_key>exact</arg_key><arg_value>True{}", "  ".repeat(n)))
            }),
        ),
        (
            "many keys",
            Box::new(move |n| {
                let pair = |n| format!("<arg_key>k{n}</arg_key><arg_value>{n}</arg_value>");
                glm(format!("<tool_call>weather{}", (0..n / 8).map(pair).collect::<String>()))
            }),
        ),
        ("a long key", Box::new(move |n| glm(format!("<tool_call>weather<arg_key>{}", "key ".repeat(n))))),
        ("open tags", Box::new(move |n| glm("<tool_call>".repeat(n)))),
        ("open calls", Box::new(move |n| glm("<tool_call>weather<".repeat(n)))),
        ("white space", Box::new(move |n| glm(" \n".repeat(n)))),
        ("white space and text", Box::new(move |n| glm("\n   \n x".repeat(n)))),
        (
            "arguments before the name",
            Box::new(move |n| {
                hermes(format!("<tool_call>{{\"arguments\": {{\"a\": \"{}", "<tool_call>{\\\"".repeat(n)))
            }),
        ),
        (
            "members that are skipped",
            Box::new(move |n| {
                hermes(format!("<tool_call>{{\"name\": \"time\", \"x\": [{}", "1, ".repeat(n)))
            }),
        ),
        ("broken calls", Box::new(move |n| hermes("<tool_call>{\"name\": \"time\", ".repeat(n)))),
        (
            "JSON that is no call",
            Box::new(move |n| ("llama3", format!("{{\"name\": \"{}", "time".repeat(n)))),
        ),
        ("calls", Box::new(move |n| ("llama3", "{\"name\": \"time\"};".repeat(n)))),
        (
            "fenced",
            Box::new(move |n| {
                let call = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{\"city\": \"";
                ("deepseek-v3", format!("{call}{}", "x`".repeat(n)))
            }),
        ),
        ("ends of reasoning", Box::new(move |n| hermes("</think>x".repeat(n)))),
        (
            "lines",
            Box::new(move |n| {
                ("qwen3-coder", format!("<function=weather><parameter=city>{}", "\n</param".repeat(n)))
            }),
        ),
        ("ids", Box::new(move |n| ("kimi-k2", "<|tool_call_begin|>functions.time:00".repeat(n)))),
        ("a list", Box::new(move |n| ("mistral", "[TOOL_CALLS][{\"name\": \"time\"},".repeat(n)))),
        ("marks", Box::new(move |n| ("harmony", "<|channel|>".repeat(n)))),
        ("ends of messages", Box::new(move |n| ("harmony", "<|end|> \n".repeat(n)))),
        (
            "headers that are none",
            Box::new(move |n| {
                ("harmony", "<|end|><|start|>assistant<|channel|>a<|channel|>b c d e".repeat(n))
            }),
        ),
        (
            "a long header",
            Box::new(move |n| {
                ("harmony", format!("<|end|><|start|>assistant<|channel|>{} a b c", "a".repeat(n)))
            }),
        ),
    ];
    for (what, reply) in replies {
        let work = |n| {
            let (name, reply) = reply(n);
            law::work(&format(name), &law::tools(), "", &reply)
        };
        let (short, long) = (work(1000), work(16_000));
        assert!(long <= short * 18, "{what}: {short} steps, and for sixteen times the text {long}");
    }
}

/// Text is shown piece by piece, as early as possible.
#[test]
fn no_more_is_held_back_than_necessary() {
    let shown = |name: &str, prompt: &str, texts: &[&str]| -> Vec<String> {
        let mut parser = weft_text::reply::ReplyParser::new(&format(name), &law::tools(), prompt);
        let push = |text: &&str| {
            let mut pieces = Vec::new();
            parser.push(text, &mut pieces);
            show(&pieces)
        };
        texts.iter().map(push).collect()
    };
    assert_eq!(
        shown("glm", "<think>", &["Hm", "m.\n", "</th", "ere", "</think>\n", "Hi", " the", "re <", "b"]),
        [
            "reasoning \"Hm\"",
            "reasoning \"m.\"",
            "",
            "reasoning \"\\n</there\"",
            "",
            "text \"Hi\"",
            "text \" the\"",
            "text \"re\"",
            "text \" <b\"",
        ]
    );
    // A name that no tool has is text at once; a string argument is sent as it comes, null is not.
    assert_eq!(
        shown("glm", "", &["<tool_call>we", "st", "<tool_call>time", "<arg_key>x"]),
        ["", "text \"<tool_call>west\"", "", ""]
    );
    let call = "<tool_call>weather<arg_key>note</arg_key><arg_value>";
    assert_eq!(
        shown("glm", "", &[call, "nu", "tmeg", "</arg"]),
        ["call 0 weather\n  {\"note\":", "", "  \"nutmeg", ""]
    );
    assert_eq!(shown("glm", "", &[call, "Nu", "ll"]), ["call 0 weather\n  {\"note\":", "  \"Nu", "  ll"]);
    assert_eq!(
        shown(
            "hermes",
            "",
            &["<tool_call>\n{\"name\": \"weather\",", " \"arguments\": {", "\"ci", "ty\": 1", "}"]
        ),
        // A number is sent when it ends: `1` may go on to `1e999`, which is replaced.
        ["", "call 0 weather\n  {", "  \"ci", "  ty\": ", "  1}\nend 0"]
    );
    // A mark is held until it is clear that a header follows; a call begins with its arguments.
    assert_eq!(
        shown(
            "harmony",
            "<|start|>assistant<|channel|>final<|message|>",
            &["a <", " b<|end|>", " c", "<|end|>"]
        ),
        ["text \"a \"", "text \"< b\"", "text \"<|end|> c\"", ""]
    );
    assert_eq!(shown("harmony", "<|start|>assistant", &[" t", "o", " be"]), ["", "", "text \" to be\""]);
    let call = "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>";
    assert_eq!(
        shown("harmony", "<|start|>assistant", &[call, "{\"ci", "ty\": \"Par", "is\"}"]),
        ["", "call 0 weather\n  {\"ci", "  ty\": \"Par", "  is\"}\nend 0"]
    );
    // JSON that is no call streams from the first member that no call has.
    assert_eq!(
        shown("llama3", "", &["{\"ans", "wer\"", ": 42"]),
        ["", "text \"{\\\"answer\\\"\"", "text \": 42\""]
    );
}
