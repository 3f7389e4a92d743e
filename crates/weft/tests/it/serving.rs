//! `weft serve` as a process: signals, and what a killed one leaves on disk.
#![cfg(unix)]

mod adapters;
mod three;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Folder, model, weft};

/// A running server.
struct Serving {
    child: Child,
    address: SocketAddr,
    log: Option<JoinHandle<String>>,
}

impl Serving {
    /// Starts a server of a fixture. It begins with SIGINT ignored, as background jobs of scripts do.
    fn start(cache: &Path, more: &[&str]) -> Serving {
        let model = model("glm-tiny-q4_0");
        Serving::of(cache, &[&[model.to_str().unwrap()], more].concat())
    }

    /// Starts a server with these arguments.
    fn of(cache: &Path, more: &[&str]) -> Serving {
        let mut child = Command::new("sh")
            .args(["-c", "trap '' INT; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_weft"), "serve"])
            .args(["--port", "0", "--threads", "1"])
            .args(more)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("WEFT_CACHE", cache)
            .env("XDG_CONFIG_HOME", cache.join("config"))
            .env("XDG_DATA_HOME", cache.join("data"))
            .env("XDG_RUNTIME_DIR", cache.join("runtime"))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut log = String::new();
        let address = loop {
            let begin = log.len();
            assert!(lines.read_line(&mut log).unwrap() > 0, "the server did not start: {log}");
            if let Some((_, rest)) = log[begin..].split_once("at http://") {
                break rest.split(' ').next().unwrap().parse().unwrap();
            }
        };
        let reader = thread::spawn(move || {
            let _ = lines.read_to_string(&mut log);
            log
        });
        let serving = Serving { child, address, log: Some(reader) };
        while !serving.get("/ready").contains("200 OK") {
            thread::sleep(Duration::from_millis(10));
        }
        serving
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        stream
    }

    /// The whole answer, or what came of it.
    fn get(&self, path: &str) -> String {
        let mut stream = self.connect();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn send(&self, body: &Value) -> TcpStream {
        self.send_to("/v1/completions", body)
    }

    /// The whole answer to a request with a body.
    fn post(&self, path: &str, body: &Value) -> String {
        let mut answer = String::new();
        self.send_to(path, body).read_to_string(&mut answer).unwrap();
        answer
    }

    fn send_to(&self, path: &str, body: &Value) -> TcpStream {
        let mut stream = self.connect();
        let body = body.to_string();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        stream
    }

    /// The answer to a request: its text, and how many tokens of its prompt were cached.
    fn complete(&self, body: &Value) -> (String, u64) {
        let mut answer = String::new();
        self.send(body).read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("200 OK"), "{answer}");
        let value: Value = serde_json::from_str(body).unwrap();
        let cached = value["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
        (value["choices"][0]["text"].as_str().unwrap().to_string(), cached)
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// Waits for its end: the status, and what it logged.
    fn wait(mut self) -> (ExitStatus, String) {
        let begun = Instant::now();
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None => assert!(begun.elapsed() < Duration::from_secs(60), "the server does not end"),
            }
            thread::sleep(Duration::from_millis(10));
        };
        (status, self.log.take().unwrap().join().unwrap())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn sigterm_lets_eight_streams_end() {
    let cache = Folder::new();
    let serving = Serving::start(cache.path(), &[]);
    let body = json!({ "prompt": [1, 2, 3], "max_tokens": 400, "ignore_eos": true, "temperature": 0, "stream": true });
    let streams: Vec<BufReader<TcpStream>> = (0..8)
        .map(|_| {
            let mut lines = BufReader::new(serving.send(&body));
            let mut line = String::new();
            while !line.starts_with("data: ") {
                line.clear();
                assert!(lines.read_line(&mut line).unwrap() > 0);
            }
            lines
        })
        .collect();
    serving.signal("-TERM");
    for mut lines in streams {
        let mut rest = String::new();
        lines.read_to_string(&mut rest).unwrap();
        assert!(
            rest.contains(r#""finish_reason":"length""#) && rest.contains("data: [DONE]"),
            "cut off: {rest}"
        );
    }
    let (status, log) = serving.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!log.contains("WARN") && !log.contains("ERROR"), "{log}");
}

#[test]
fn a_server_killed_as_it_writes_prompts_leaves_nothing_wrong() {
    let (cache, none) = (Folder::new(), Folder::new());
    let prompt = |i: usize| -> Vec<usize> { (0..1200).map(|j| (j * (i + 3) + i) % 2000).collect() };
    let body = |i| json!({ "prompt": prompt(i), "max_tokens": 12, "temperature": 0 });
    let plain = Serving::start(none.path(), &[]);
    let expected: Vec<String> = (0..4).map(|i| plain.complete(&body(i)).0).collect();
    drop(plain);
    let kept = ["--cache-prompts", "1G"];
    let written = || cache.files().iter().filter(|name| name.starts_with("prompts")).count();
    for round in 0..4 {
        let serving = Serving::start(cache.path(), &kept);
        let before = written();
        let streams: Vec<TcpStream> = (0..=round).map(|i| serving.send(&body(i))).collect();
        let begun = Instant::now();
        // Everything of the earlier rounds is there already, so that the new prompt is the one that is being written.
        while written() < before + 3 + 5 * round && begun.elapsed() < Duration::from_secs(20) {
            thread::yield_now();
        }
        assert!(written() > before, "nothing was written");
        serving.signal("-KILL");
        drop(streams);
        drop(serving);
    }
    let serving = Serving::start(cache.path(), &kept);
    let mut found = 0;
    for (i, expected) in expected.iter().enumerate() {
        let (text, cached) = serving.complete(&body(i));
        assert_eq!(&text, expected, "prompt {i}, of which {cached} tokens were found");
        found += cached;
    }
    assert!(found > 0, "nothing was found");
    serving.signal("-TERM");
    let (status, log) = serving.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!log.contains("WARN") && !log.contains("ERROR"), "{log}");
}

#[test]
fn chat_says_the_same_by_a_server() {
    let cache = Folder::new();
    let serving = Serving::start(cache.path(), &[]);
    let url = format!("http://{}", serving.address);
    let path = model("glm-tiny-q4_0");
    let options = ["--temperature", "0", "--max-tokens", "6"];
    let lines = "Hello\nAnd <|user|> again\n/clear\n/system Be brief.\nNew\n";
    let local = weft([&["chat", path.to_str().unwrap()], &options[..]].concat()).input(lines).run().ok();
    let remote = weft([&["chat", "--server", &url], &options[..]].concat()).input(lines).run().ok();
    assert_eq!(local, remote);
    assert!(local.lines().count() >= 3, "{local}");
}

#[test]
fn bench_serve_measures_a_server() {
    let cache = Folder::new();
    let serving = Serving::start(cache.path(), &[]);
    let url = format!("http://{}", serving.address);
    let size =
        ["--clients", "1,4", "--requests", "8", "--prefill", "48", "--decode", "8", "--shared-prefix", "24"];
    let json = weft([&["bench-serve", &url, "--json"], &size[..]].concat()).run().json();
    for level in json["levels"].as_array().unwrap() {
        assert_eq!((&level["completed"], &level["errors"]), (&json!(8), &json!({})), "{level}");
        assert_eq!((&level["reply_tokens"], &level["short_replies"]), (&json!(64), &json!(0)), "{level}");
        let prompt = level["prompt_tokens"].as_f64().unwrap() / 8.0;
        assert!((36.0..60.0).contains(&prompt), "prompts of {prompt} tokens");
        assert!(level["most_waiting"].is_number(), "{level}");
    }
}

/// A file of models, and names that clients know, as programs that swap models have them.
#[test]
fn a_file_of_models_is_served() {
    let folder = Folder::new();
    let file = folder.join("models.toml");
    std::fs::copy(model("qwen3-tiny-q4_0"), folder.join("own.gguf")).unwrap();
    let text = format!(
        "context = 512\ntop-k = 7\n\n[big]\nmodel = \"{}\"\naliases = \"gpt-4o, \\\"quoted\\\"\"\ncontext = 1024\nkv = f32\ntemperature = 0.25\n\
         pinned = true\n\n[\"own:q4\"]\nmodel = own.gguf\nkeep-alive = 400ms\nthink = false\n",
        model("glm-tiny-q4_0").display()
    );
    std::fs::write(&file, text).unwrap();
    let cache = folder.join("cache");
    let more = ["--models", file.to_str().unwrap(), "--memory", "1G", "--top-k", "9"];
    let serving = Serving::of(&cache, &more);
    let listed = || {
        let answer = serving.get("/v1/models");
        serde_json::from_str::<Value>(answer.split_once("\r\n\r\n").unwrap().1).unwrap()["data"].clone()
    };
    let models = listed();
    assert_eq!([&models[0]["id"], &models[1]["id"]], [&json!("big"), &json!("own:q4")]);
    assert_eq!(models[0]["aliases"], json!(["gpt-4o", "\"quoted\""]));
    assert_eq!(
        (&models[0]["status"]["value"], &models[0]["max_model_len"]),
        (&json!("loaded"), &json!(1024))
    );
    assert_eq!((&models[1]["status"]["value"], &models[0]["pinned"]), (&json!("unloaded"), &json!(true)));
    let parameters = &models[0]["default_parameters"];
    // An argument of the call comes before the file.
    assert_eq!((&parameters["temperature"], &parameters["top_k"]), (&json!(0.25), &json!(9)));
    assert_eq!(models[1]["default_parameters"]["temperature"], json!(0.6));
    let ask = |name: &str| json!({ "model": name, "prompt": "Once", "max_tokens": 4, "temperature": 0 });
    assert_eq!(serving.complete(&ask("gpt-4o")).0, serving.complete(&ask("big")).0);
    let begun = Instant::now();
    assert!(!serving.complete(&ask("own:q4")).0.is_empty());
    assert_eq!(listed()[1]["max_model_len"], json!(512));
    while listed()[1]["status"]["value"] != "sleeping" {
        assert!(begun.elapsed() < Duration::from_secs(30), "{}", listed());
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(listed()[0]["status"]["value"], "loaded");
    drop(serving);
    // Mistakes end the call before anything is served.
    for (text, says) in [
        ("[a]\nmodel = none-such.gguf\n", "the model `a` of"),
        ("[a]\nmodell = b\n", ":2: modell is no setting of a model; did you mean model?"),
        ("", "has no model: expected a section [NAME] for each"),
        ("[a]\nmodel = own.gguf\naliases = b\n[b]\nmodel = own.gguf\n", "two models are named `b`"),
    ] {
        std::fs::write(&file, text).unwrap();
        let error = weft(["serve", "--models", file.to_str().unwrap(), "--port", "0"]).run().failed(1);
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn a_model_that_cannot_be_loaded_ends_the_server() {
    let cache = Folder::new();
    let path = cache.join("broken.gguf");
    std::fs::write(&path, b"GGUF and no more").unwrap();
    let arguments = ["serve".as_ref(), path.as_os_str(), "--port".as_ref(), "0".as_ref()];
    let error = weft(arguments).run().failed(1);
    assert!(error.contains("broken.gguf: not a supported GGUF file"), "{error}");
}
