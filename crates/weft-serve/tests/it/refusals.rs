//! Every kind of request that must be refused, each with its status and sentence: `refusals.txt`. After each, a good
//! request must succeed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::Shutdown;
use std::time::Duration;

use serde_json::{Value, json};

use super::support::{Answer, Running, one_token, options};

/// A case of the table: what is sent, and the text of the answer.
struct Case<'a> {
    server: &'a str,
    /// The lines up to `---`, as they are in the file.
    source: String,
    expected: String,
}

/// What stands between the cases, and the cases.
enum Block<'a> {
    Text(String),
    Case(Case<'a>),
}

/// Runs the table. With `UPDATE_EXPECT` set, writes the answers into it.
#[test]
fn refused_requests_get_their_sentence_and_the_next_one_works() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/refusals.txt");
    let table = std::fs::read_to_string(path).unwrap();
    let blocks = parse(&table);
    let mut servers = BTreeMap::new();
    let (mut cases, mut actual) = (0, String::new());
    for block in &blocks {
        let case = match block {
            Block::Text(text) => {
                actual += text;
                continue;
            }
            Block::Case(case) => case,
        };
        cases += 1;
        let (server, good) = servers.entry(case.server).or_insert_with(|| {
            let server = start(case.server);
            let good = good_answer(&server, case.server);
            (server, good)
        });
        let answer = server.raw(&bytes(case));
        write!(actual, "{}---\n{}", case.source, describe(&answer)).unwrap();
        assert_eq!(&good_answer(server, case.server), good, "after this request:\n{}", case.source);
    }
    assert!(cases >= 80, "only {cases} requests");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, actual).unwrap();
        return;
    }
    let found = parse(&actual);
    for (block, found) in blocks.iter().zip(&found) {
        if let (Block::Case(case), Block::Case(found)) = (block, found) {
            assert_ne!(found.expected, "accepted\n", "this is no refusal:\n{}", case.source);
            assert_eq!(found.expected, case.expected, "the answer to this request:\n{}", case.source);
        }
    }
}

/// The servers that the table names.
fn start(name: &str) -> Running {
    let pooled = ["embedding", "reranker"].contains(&name);
    let file = if pooled { format!("pooled/qwen3-{name}.gguf") } else { "glm-tiny-q4_0.gguf".into() };
    let mut options = options(&file);
    options.engine = options.engine.context(if pooled { 256 } else { 4096 });
    match name {
        "embedding" | "reranker" => {
            options.limits.inputs = 9;
            options.limits.queue_tokens = 1000;
        }
        "open" => {}
        "keys" => options.keys = vec!["correct horse".into(), "battery staple".into()],
        "strict" => options.strict = true,
        "hosts" => options.hosts = vec!["weft.example".into()],
        "small" => {
            options.limits.body = 1000;
            options.limits.max_tokens = Some(8);
        }
        other => panic!("no server is named {other}"),
    }
    Running::start(options).ready()
}

/// The answer to a good request, without what differs from time to time.
fn good_answer(server: &Running, name: &str) -> Value {
    let mut headers = vec![("Content-Type", "application/json")];
    if name == "keys" {
        headers.push(("Authorization", "Bearer correct horse"));
    }
    let (path, body, field) = match name {
        "embedding" => ("/v1/embeddings", json!({ "input": "Hi" }), "data"),
        "reranker" => ("/v1/rerank", json!({ "query": "Hi", "documents": ["a", "b"] }), "results"),
        _ => ("/v1/completions", one_token(), "choices"),
    };
    let answer = server.request("POST", path, &headers, &body.to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()[field].clone()
}

/// Splits the table. `* title` begins a case, `@server NAME` says which server the next ones are sent to.
fn parse(table: &str) -> Vec<Block<'_>> {
    let (mut blocks, mut server) = (Vec::new(), "open");
    let mut lines = table.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("@server ") {
            server = name.trim();
        }
        if !line.starts_with("* ") {
            blocks.push(Block::Text(line.to_string()));
            continue;
        }
        let mut source = line.to_string();
        for line in lines.by_ref() {
            if line == "---\n" {
                break;
            }
            source += line;
        }
        let mut expected = String::new();
        while let Some(line) = lines.next_if(|line| *line != "\n") {
            expected += line;
        }
        blocks.push(Block::Case(Case { server, source, expected }));
    }
    blocks
}

/// The bytes of a case: a request line, `> ` headers and a body, or one line `RAW` with escapes.
fn bytes(case: &Case<'_>) -> Vec<u8> {
    let mut lines = case.source.lines().skip(1);
    let first = lines.next().expect("a request");
    if let Some(raw) = first.strip_prefix("RAW ") {
        return unescape(&expand(raw));
    }
    let mut headers = vec![("Host", b"127.0.0.1".to_vec()), ("Connection", b"close".to_vec())];
    let mut body = Vec::new();
    for line in lines {
        match line.strip_prefix("> ") {
            Some(line) if line.starts_with('-') => headers.retain(|(name, _)| *name != &line[1..]),
            Some(line) => {
                let (name, value) = line.split_once(':').expect("a header");
                if name == "Host" {
                    headers.retain(|(known, _)| *known != "Host");
                }
                headers.push((name, expand(value.trim_start())));
            }
            None => body.extend(expand(line)),
        }
    }
    let has = |wanted: &str| headers.iter().any(|(name, _)| *name == wanted);
    let (typed, sized) = (has("Content-Type"), has("Content-Length") || has("Transfer-Encoding"));
    if !body.is_empty() && !typed {
        headers.push(("Content-Type", b"application/json".to_vec()));
    }
    if !body.is_empty() && !sized {
        headers.push(("Content-Length", body.len().to_string().into_bytes()));
    }
    headers.retain(|(name, value)| !(*name == "Content-Type" && value.is_empty()));
    let mut bytes = [&expand(first)[..], b" HTTP/1.1\r\n"].concat();
    for (name, value) in headers {
        bytes.extend([name.as_bytes(), b": ", &value, b"\r\n"].concat());
    }
    bytes.extend(b"\r\n");
    bytes.extend(body);
    bytes
}

/// Replaces `<<chat>>`, `<<hex 00 ff>>` and `<<COUNT * TEXT>>` by what they stand for.
fn expand(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<<") {
        bytes.extend(before.as_bytes());
        let (inside, after) = after.split_once(">>").expect(">>");
        match inside.split_once(' ') {
            None if inside == "chat" => {
                bytes.extend(br#""messages": [{"role": "user", "content": "Hi"}]"#);
            }
            Some(("hex", digits)) => {
                bytes.extend(digits.split(' ').map(|digits| u8::from_str_radix(digits, 16).unwrap()));
            }
            Some((count, text)) => {
                let text = text.strip_prefix("* ").expect("a text");
                bytes.extend(text.repeat(count.parse().unwrap()).bytes());
            }
            None => panic!("<<{inside}>>"),
        }
        rest = after;
    }
    bytes.extend(rest.as_bytes());
    bytes
}

/// Replaces `\r` and `\n` as two characters.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next() {
                Some(b'r') => b'\r',
                Some(b'n') => b'\n',
                other => panic!("\\{other:?}"),
            },
            byte => *byte,
        });
    }
    bytes
}

/// An answer as the table has it: status, type, code and field, then the sentence.
fn describe(answer: &Answer) -> String {
    if answer.body.is_empty() {
        return match answer.status {
            0 => "closed\n".into(),
            status => format!("{status} without a body\n"),
        };
    }
    if answer.status == 200 {
        return "accepted\n".into();
    }
    assert!(
        answer.header("content-type").is_some_and(|media| media.starts_with("application/json")),
        "{answer:?}"
    );
    assert!(answer.header("x-request-id").is_some_and(|id| !id.is_empty()), "{answer:?}");
    assert!((400..500).contains(&answer.status), "{answer:?}");
    let body = answer.json();
    let error = &body["error"];
    if let Some(sentence) = error.as_str() {
        return format!("{} of Ollama\n{sentence}\n", answer.status);
    }
    let mut line = format!("{} {}", answer.status, error["type"].as_str().expect("a type"));
    for name in ["code", "param"] {
        if let Some(value) = error[name].as_str() {
            write!(line, " {name}={value}").unwrap();
        }
    }
    format!("{line}\n{}\n", error["message"].as_str().expect("a message"))
}

#[test]
fn a_body_that_ends_early_is_refused() {
    let server = start("open");
    for head in ["Content-Length: 100", "Transfer-Encoding: chunked"] {
        let mut stream = server.connect();
        let head = format!(
            "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{head}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(b"10\r\n{\"prompt\": ").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let answer = Answer::read(stream);
        assert!(answer.status == 400 || answer.status == 0, "{answer:?}");
        good_answer(&server, "open");
    }
}

#[test]
fn a_chunked_body_beyond_the_limit_is_refused_while_it_comes() {
    let server = start("small");
    let mut stream = server.connect();
    let head = "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("200\r\n{}\r\n", "x".repeat(0x200));
    // The body never ends.
    for _ in 0..4 {
        let _ = stream.write_all(chunk.as_bytes());
    }
    let mut some = [0; 12];
    std::io::Read::read_exact(&mut stream, &mut some).unwrap();
    assert_eq!(&some, b"HTTP/1.1 413");
    drop(stream);
    good_answer(&server, "small");
}

#[test]
fn slow_headers_do_not_hold_a_connection() {
    let server = start("open");
    let mut stream = server.connect();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow").unwrap();
    let answer = Answer::read(stream);
    assert!(answer.status == 408 || answer.status == 0, "{answer:?}");
    good_answer(&server, "open");
}
