//! Many clients at once, of which a third leaves at random moments: every reply that ends is the one of the same request
//! alone, and nothing is left behind.
//!
//! By default it lasts some seconds, on a fixture, in this process. `WEFT_SOAK_SECONDS=600 WEFT=target/release/weft
//! WEFT_SOAK_MODEL=smollm2.gguf cargo test -p weft-serve --test it soak -- --nocapture` runs another program on another
//! model, and watches its memory.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::support::{Answer, Running, fixture, metric, options, request_bytes};

const CLIENTS: u64 = 64;
const KEYS: [&str; 3] = ["key-one", "key-two", "key-three"];

/// A server to soak: in this process, or a program.
enum Soaked {
    Here(Running),
    There(Child, SocketAddr),
}

/// What a reply says: of each choice its reasoning, text, calls and reason.
type Said = BTreeMap<u64, [String; 4]>;

/// The clients' findings.
#[derive(Default)]
struct Findings {
    ended: usize,
    left: usize,
    longest_queue: f64,
    longest: Duration,
    each: BTreeMap<u64, usize>,
}

#[test]
fn soak() {
    let seconds = std::env::var("WEFT_SOAK_SECONDS").map_or(6, |seconds| seconds.parse().unwrap());
    let requests = requests();
    // Each alone, on a server that has seen no other.
    let alone: Vec<Said> =
        requests.iter().map(|(path, body)| say(&Soaked::start(), path, body, KEYS[0])).collect();
    let server = Soaked::start();
    let findings = Mutex::new(Findings::default());
    let begun = Instant::now();
    let end = begun + Duration::from_secs(seconds);
    let mut memory = Vec::new();
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (server, requests, alone, findings) = (&server, &requests, &alone, &findings);
            scope.spawn(move || run(server, client, requests, alone, end, findings));
        }
        while Instant::now() < end {
            std::thread::sleep(Duration::from_millis(500));
            memory.push(server.memory());
        }
    });
    let Findings { ended, left, longest_queue, longest, each } = findings.into_inner().unwrap();
    println!("{ended} replies ended and {left} were left in {:?}", begun.elapsed());
    println!("longest time in the queue {longest_queue:.0} ms, longest reply {longest:?}");
    let fewest = (0..CLIENTS).map(|client| each.get(&client).copied().unwrap_or(0)).min().unwrap();
    println!("every client got at least {fewest} replies");
    assert!(fewest > 0 || seconds < 60, "a client got no reply");
    assert!(ended > 0 && left > 0);
    server.comes_to_rest();
    // The same replies as at the beginning, now from a full cache.
    for ((path, body), alone) in requests.iter().zip(&alone) {
        assert_eq!(&say(&server, path, body, KEYS[1]), alone, "{path} {body}");
    }
    server.comes_to_rest();
    let memory: Vec<f64> = memory.into_iter().flatten().collect();
    if memory.len() >= 100 {
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let tenths: Vec<f64> = memory.chunks(memory.len().div_ceil(10)).map(mean).collect();
        let growth = tenths[tenths.len() - 1] / tenths[0] - 1.0;
        println!("memory in MB, in each tenth of the time: {tenths:.1?}");
        println!("from the first tenth to the last {:+.2} %", 100.0 * growth);
        assert!(growth < 0.02, "memory grows: {memory:?}");
    }
}

/// One client, until the end.
fn run(
    server: &Soaked,
    client: u64,
    requests: &[(&str, Value)],
    alone: &[Said],
    end: Instant,
    findings: &Mutex<Findings>,
) {
    let mut random = Random(client * 7919 + 1);
    while Instant::now() < end {
        let at = random.below(requests.len());
        let (path, body) = &requests[at];
        let key = KEYS[random.below(KEYS.len())];
        let mut body = body.clone();
        let stream = random.below(2) == 0;
        body["stream"] = stream.into();
        let begun = Instant::now();
        let mut connection = server.send(path, &body, key);
        if random.below(3) == 0 {
            let most = [3, 100, 1500, 6000][random.below(4)];
            leave(&mut connection, Duration::from_millis(random.below(most) as u64));
            findings.lock().unwrap().left += 1;
            continue;
        }
        let answer = Answer::read(connection);
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(said(&answer, stream), alone[at], "in company, stream {stream}: {path} {body}");
        let mut findings = findings.lock().unwrap();
        findings.ended += 1;
        findings.longest = findings.longest.max(begun.elapsed());
        findings.longest_queue = findings.longest_queue.max(queued(&answer, stream));
        *findings.each.entry(client).or_default() += 1;
    }
}

/// Reads for a while, then goes away.
fn leave(connection: &mut TcpStream, after: Duration) {
    let end = Instant::now() + after;
    let mut some = [0; 4096];
    while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        connection.set_read_timeout(Some(left)).unwrap();
        if !matches!(connection.read(&mut some), Ok(n) if n > 0) {
            return;
        }
    }
}

/// The requests of the mix: path and body.
fn requests() -> Vec<(&'static str, Value)> {
    const CHAT: &str = "/v1/chat/completions";
    let mut all = Vec::new();
    let user = |text: String| json!([{ "role": "user", "content": text }]);
    let tool = |name: &str| {
        let parameters = json!({
            "type": "object",
            "properties": { "city": { "enum": ["Paris", "Oslo"] }, "days": { "type": "integer", "minimum": 1, "maximum": 9 } },
            "required": ["city", "days"],
            "additionalProperties": false
        });
        json!({ "type": "function", "function": { "name": name, "parameters": parameters } })
    };
    let facts: String = (0..60).map(|i| format!("Fact {i}: {} is {}. ", i * 17, i * i)).collect();
    for i in 0..4 {
        all.push((
            CHAT,
            json!({ "messages": user(format!("Say {i}.")), "max_tokens": 12 + 8 * i, "temperature": 0 }),
        ));
        let shared = json!([{ "role": "system", "content": facts }, { "role": "user", "content": format!("What is fact {i}?") }]);
        all.push((CHAT, json!({ "messages": shared, "max_tokens": 24, "temperature": 0.8, "seed": i })));
        let text: String = (0..40 * (i + 1)).map(|j| format!("{} ", j * (i + 3) % 101)).collect();
        all.push((
            "/v1/completions",
            json!({ "prompt": text, "max_tokens": 32, "temperature": 1, "seed": 5, "top_p": 0.9 }),
        ));
    }
    all.push((
        CHAT,
        json!({ "messages": user("Count.".into()), "n": 3, "seed": 1, "temperature": 1, "max_tokens": 20 }),
    ));
    all.push((CHAT, json!({ "messages": user("The weather?".into()), "tools": [tool("weather"), tool("news")], "max_tokens": 30, "temperature": 0 })));
    all.push((
        "/v1/completions",
        json!({ "prompt": [[9, 8, 7, 6], [5, 4]], "max_tokens": 40, "ignore_eos": true, "temperature": 0 }),
    ));
    all.push(("/v1/completions", json!({ "prompt": "Once", "max_tokens": 200, "frequency_penalty": 1.5, "temperature": 0, "stop": ["qq", "\n\n"] })));
    all
}

/// Sends a request alone.
fn say(server: &Soaked, path: &str, body: &Value, key: &str) -> Said {
    let answer = Answer::read(server.send(path, body, key));
    assert_eq!(answer.status, 200, "{}", answer.body);
    said(&answer, false)
}

/// What an answer says. A stream is added up.
fn said(answer: &Answer, stream: bool) -> Said {
    let mut said = Said::new();
    let events = if stream { answer.events() } else { vec![answer.json()] };
    assert!(!stream || answer.body.ends_with("data: [DONE]\n\n"), "cut off: {}", answer.body);
    for choice in events.iter().flat_map(|event| event["choices"].as_array().unwrap()) {
        let [reasoning, text, calls, reason] = said.entry(choice["index"].as_u64().unwrap()).or_default();
        let message = if stream { &choice["delta"] } else { &choice["message"] };
        *reasoning += message["reasoning_content"].as_str().unwrap_or_default();
        *text += message["content"].as_str().or(choice["text"].as_str()).unwrap_or_default();
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let function = &call["function"];
            *calls += function["name"].as_str().unwrap_or_default();
            *calls += function["arguments"].as_str().unwrap_or_default();
        }
        *reason += choice["finish_reason"].as_str().unwrap_or_default();
    }
    said
}

/// How long a request waited, in milliseconds, if its answer says so.
fn queued(answer: &Answer, stream: bool) -> f64 {
    let last = if stream { answer.events().pop().unwrap_or_default() } else { answer.json() };
    last["timings"]["queued_ms"].as_f64().unwrap_or(0.0)
}

impl Soaked {
    fn start() -> Soaked {
        let Some(program) = std::env::var_os("WEFT") else {
            let mut options = options("glm-tiny-q4_0.gguf");
            options.engine = options.engine.context(4096);
            options.keys = KEYS.map(str::to_string).to_vec();
            return Soaked::Here(Running::start(options).ready());
        };
        let model =
            std::env::var_os("WEFT_SOAK_MODEL").map_or_else(|| fixture("glm-tiny-q4_0.gguf"), PathBuf::from);
        let file = std::env::temp_dir().join(format!("weft-soak-keys-{}", std::process::id()));
        std::fs::write(&file, KEYS.join("\n")).unwrap();
        let mut child = Command::new(program)
            .arg("serve")
            .arg(model)
            .args(["--context", "4096", "--port", "0", "--api-key-file"])
            .arg(&file)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        let address = loop {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "the server did not start");
            if let Some((_, rest)) = line.split_once("at http://") {
                break rest.split(' ').next().unwrap().parse().unwrap();
            }
        };
        // Its log is read and forgotten, so that it never waits for a reader.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        let server = Soaked::There(child, address);
        while server.get("/ready").status != 200 {
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    fn address(&self) -> SocketAddr {
        match self {
            Soaked::Here(server) => server.address,
            Soaked::There(_, address) => *address,
        }
    }

    fn connect(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
        stream.write_all(bytes).unwrap();
        stream
    }

    fn send(&self, path: &str, body: &Value, key: &str) -> TcpStream {
        let headers = [("x-api-key", key), ("Content-Type", "application/json")];
        self.connect(&request_bytes("POST", path, &headers, &body.to_string()))
    }

    fn get(&self, path: &str) -> Answer {
        Answer::read(self.connect(&request_bytes("GET", path, &[("x-api-key", KEYS[0])], "")))
    }

    /// Waits until nothing runs, waits or holds pages.
    fn comes_to_rest(&self) {
        let begun = Instant::now();
        loop {
            let text = self.get("/metrics").body;
            let left = ["vllm:num_requests_running", "vllm:num_requests_waiting", "weft_pages_held"];
            let left = left.map(|name| metric(&text, name));
            if left == [0.0; 3] {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "running, waiting, pages held: {left:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The resident memory of the program, in MB, without the files that it maps.
    fn memory(&self) -> Option<f64> {
        let Soaked::There(child, _) = self else { return None };
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
        line.trim().trim_end_matches("kB").trim().parse::<f64>().ok().map(|kb| kb / 1000.0)
    }
}

impl Drop for Soaked {
    fn drop(&mut self) {
        if let Soaked::There(child, _) = self {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Numbers that look random (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}
