//! Clients that leave, clients that read slowly or say nothing, and the end of the server.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use weft_serve::ServeOptions;

use super::support::{Answer, Running, one_token, options, request_bytes};

const RUNNING: &str = "vllm:num_requests_running";
const WAITING: &str = "vllm:num_requests_waiting";
const HELD: &str = "weft_pages_held";
const TOKENS: &str = "vllm:generation_tokens_total";

/// A server with other options.
fn server_with(change: impl FnOnce(&mut ServeOptions)) -> Running {
    let mut options = options("glm-tiny-q4_0.gguf");
    options.engine = options.engine.context(4096);
    change(&mut options);
    Running::start(options).ready()
}

/// A server that computes this many replies together.
fn server(parallel: usize) -> Running {
    server_with(|options| options.limits.parallel = parallel)
}

/// A reply that would take minutes.
fn long(stream: bool) -> Value {
    json!({ "prompt": [1, 2, 3], "max_tokens": 4000, "ignore_eos": true, "temperature": 1, "stream": stream })
}

fn send(server: &Running, body: &Value) -> TcpStream {
    let mut stream = server.connect();
    let json = [("Content-Type", "application/json")];
    let bytes = request_bytes("POST", "/v1/completions", &json, &body.to_string());
    stream.write_all(&bytes).unwrap();
    stream
}

/// Reads the lines of a stream up to the first event.
fn first_event(stream: TcpStream) -> BufReader<TcpStream> {
    let mut lines = BufReader::new(stream);
    let mut line = String::new();
    while !line.starts_with("data: ") {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "the stream ended before its first event");
    }
    lines
}

fn is_idle(server: &Running) {
    server.wait_for(RUNNING, |running| running == 0.0);
    server.wait_for(WAITING, |waiting| waiting == 0.0);
    server.wait_for(HELD, |held| held == 0.0);
    assert_eq!(server.post("/v1/completions", &one_token()).status, 200);
}

#[test]
fn a_client_that_leaves_during_its_reply_frees_its_pages() {
    let server = server(4);
    for streams in [true, false] {
        let before = server.metric(TOKENS);
        let stream = send(&server, &long(streams));
        server.wait_for(RUNNING, |running| running == 1.0);
        assert!(server.metric(HELD) > 0.0);
        drop(if streams { first_event(stream).into_inner() } else { stream });
        is_idle(&server);
        let made = server.metric(TOKENS) - before;
        assert!(made < 3000.0, "the reply went on for {made} tokens");
    }
}

#[test]
fn a_client_that_leaves_during_its_prompt_frees_its_pages() {
    let server = server_with(|options| {
        options.engine = options.engine.clone().batch(8);
    });
    for streams in [true, false] {
        let before = server.metric(TOKENS);
        let prompt: Vec<u32> = (0..4000).map(|i| i * 7 % 2000 + u32::from(streams)).collect();
        let body = json!({ "prompt": prompt, "max_tokens": 50, "ignore_eos": true, "stream": streams });
        let stream = send(&server, &body);
        server.wait_for(HELD, |held| held > 0.0);
        drop(stream);
        is_idle(&server);
        // The one of the good request.
        assert_eq!(server.metric(TOKENS) - before, 1.0, "the prompt was computed to its end");
    }
}

#[test]
fn a_client_that_leaves_the_queue_is_forgotten() {
    let server = server(1);
    let first = first_event(send(&server, &long(true)));
    for streams in [true, false] {
        let queued = send(&server, &long(streams));
        server.wait_for(WAITING, |waiting| waiting == 1.0);
        drop(queued);
        server.wait_for(WAITING, |waiting| waiting == 0.0);
        assert_eq!(server.metric(RUNNING), 1.0, "the first reply goes on");
    }
    drop(first);
    is_idle(&server);
}

#[test]
fn leaving_one_of_several_replies_does_not_end_the_others() {
    let server = server(4);
    let body = json!({ "prompt": [5, 6, 7], "max_tokens": 40, "ignore_eos": true, "temperature": 0 });
    let alone = server.post("/v1/completions", &body).json()["choices"][0]["text"].clone();
    let mut streamed = body.clone();
    streamed["stream"] = true.into();
    let leaving = first_event(send(&server, &long(true)));
    let staying = send(&server, &streamed);
    drop(leaving);
    let events = Answer::read(staying).events();
    let text: String = events.iter().filter_map(|event| event["choices"][0]["text"].as_str()).collect();
    assert_eq!(text, alone.as_str().unwrap());
    is_idle(&server);
}

#[test]
fn a_slow_reader_delays_nobody_and_misses_nothing() {
    let server = server(4);
    // Far more than the buffers of a socket hold.
    let body = json!({
        "prompt": [1], "max_tokens": 600, "ignore_eos": true, "temperature": 1, "seed": 3, "n": 4, "logprobs": 20, "stream": true
    });
    let slow = send(&server, &body);
    for _ in 0..5 {
        assert_eq!(server.post("/v1/completions", &one_token()).status, 200);
    }
    server.wait_for(RUNNING, |running| running == 0.0);
    let slow = Answer::read(slow);
    let quick = server.post("/v1/completions", &body);
    let said = |answer: &Answer| -> Vec<Value> {
        answer.events().into_iter().map(|event| event["choices"].clone()).collect()
    };
    let mut both = [said(&slow), said(&quick)];
    // Replies of one request come in any order among themselves.
    both.iter_mut().for_each(|events| events.sort_by_key(|choices| choices[0]["index"].as_u64()));
    assert_eq!(both[0], both[1]);
    assert!(slow.body.ends_with("data: [DONE]\n\n"));
}

#[test]
fn silent_connections_do_not_block_others() {
    let server = server(4);
    let silent: Vec<TcpStream> = (0..100).map(|_| server.connect()).collect();
    assert_eq!(server.post("/v1/completions", &one_token()).status, 200);
    drop(silent);
    is_idle(&server);
}

#[test]
fn one_connection_carries_many_requests() {
    let server = server(4);
    let mut stream = server.connect();
    for i in 0..5 {
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut reader = BufReader::new(&stream);
        let (mut line, mut length) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            assert!(reader.read_line(&mut line).unwrap() > 0, "the connection ended with request {i}");
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        assert_eq!(body, br#"{"status":"ok"}"#);
    }
}

#[test]
fn at_the_end_replies_finish_and_new_requests_are_refused() {
    let mut server = server(8);
    let body = json!({ "prompt": [1, 2, 3], "max_tokens": 300, "ignore_eos": true, "temperature": 0, "stream": true });
    let streams: Vec<_> = (0..8).map(|_| first_event(send(&server, &body))).collect();
    server.end();
    // The signal reaches the server a moment later.
    let begun = std::time::Instant::now();
    loop {
        let ready = server.get("/ready");
        if ready.status == 503 {
            assert_eq!(ready.json()["status"], "draining");
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "the server stays ready");
    }
    let refused = server.post("/v1/completions", &one_token());
    assert_eq!(refused.status, 503, "{}", refused.body);
    assert!(refused.header("retry-after").is_some());
    assert_eq!(refused.json()["error"]["type"], "server_error");
    let mut texts = streams.into_iter().map(|mut lines| {
        let mut rest = String::new();
        lines.read_to_string(&mut rest).unwrap();
        assert!(rest.contains("data: [DONE]\n\n"), "a stream was cut off: {rest:?}");
        assert!(rest.contains(r#""finish_reason":"length""#), "{rest:?}");
        rest.matches("data: ").count()
    });
    let first = texts.next().unwrap();
    assert!(texts.all(|count| count == first));
    server.join();
}

#[test]
fn replies_that_do_not_end_in_time_get_an_error() {
    let mut server = server_with(|options| {
        options.limits.drain = Duration::from_millis(300);
    });
    let mut stream = first_event(send(&server, &long(true)));
    let whole = send(&server, &long(false));
    server.wait_for(RUNNING, |running| running == 2.0);
    server.end();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.contains(r#"data: {"error":"#), "{rest:?}");
    assert_eq!(Answer::read(whole).status, 503);
    server.join();
}
