//! Three models in a process that has memory for two of them: random requests change no text, and the memory of the process does not grow.

use std::io::Read as _;
use std::net::TcpStream;
use std::sync::{Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weft_host::resident_memory;

use super::Serving;
use crate::support::{Folder, model};

const MODELS: [(&str, &str); 3] =
    [("glm", "glm-tiny-q4_0"), ("qwen", "qwen3-tiny-q4_0"), ("moe", "qwen2moe-tiny-q4_0")];

/// How much more memory may be in use at the end of a long run than after its second tenth while no model is loaded, in bytes. By then the
/// allocator's lists of small blocks are nearly full: each thread keeps up to 230 kB of them. What a server kept of each request would be
/// more: 20 bytes of each in 1,800 s.
const GROWTH: f64 = 0.5e6;

/// A server of the three models, with a limit of memory in bytes.
fn three(folder: &Folder, memory: u64) -> Serving {
    let file = folder.join("models.toml");
    let sections = MODELS.map(|(name, file)| format!("[{name}]\nmodel = \"{}\"\n", model(file).display()));
    std::fs::write(&file, format!("context = 512\nload = false\n{}", sections.concat())).unwrap();
    let memory = memory.to_string();
    Serving::of(
        &folder.join("cache"),
        &["--models", file.to_str().unwrap(), "--memory", &memory, "--parallel", "4"],
    )
}

fn ask(model: &str, seed: usize, stream: bool) -> Value {
    json!({ "model": model, "prompt": format!("Number {seed} is"), "max_tokens": 12, "temperature": 1, "seed": seed,
            "ignore_eos": true, "stream": stream })
}

/// The text of an answer, and how long it waited for its model in milliseconds.
fn read(mut answer: TcpStream, stream: bool) -> (String, Option<u64>) {
    let mut bytes = String::new();
    answer.read_to_string(&mut bytes).unwrap();
    let (head, body) = bytes.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("200 OK"), "{bytes}");
    let wait = head.to_ascii_lowercase();
    let wait = wait.lines().find_map(|line| line.strip_prefix("x-weft-model-wait-ms: "));
    let text = |json: &str| {
        let value: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error} in {bytes}"));
        value["choices"][0]["text"].as_str().unwrap().to_string()
    };
    let whole = match stream {
        // An event is a chunk of its own.
        true => body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .filter(|data| *data != "[DONE]")
            .map(text)
            .collect(),
        false => text(body),
    };
    (whole, wait.map(|wait| wait.parse().unwrap()))
}

/// The models of a server, each as it is listed.
fn listed(server: &Serving) -> Vec<Value> {
    let answer = server.get("/v1/models");
    let json: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    json["data"].as_array().unwrap().clone()
}

/// What each model needs, in bytes.
fn needs(server: &Serving) -> Vec<u64> {
    listed(server).iter().map(|model| model["memory_bytes"].as_u64().unwrap()).collect()
}

/// What the clients of random requests found.
#[derive(Default)]
struct Findings {
    /// The number of replies of each model that ended.
    ended: [usize; 3],
    /// The number of requests that were left.
    left: usize,
    /// How long replies waited for their model, in milliseconds, by their answers.
    waits: Vec<u64>,
}

impl Findings {
    fn print(&mut self, memory: &[f64], unloaded: &[f64]) {
        let waited = self.waits.len();
        println!(
            "{:?} replies ended, {waited} of them waited for a model, {} were left",
            self.ended, self.left
        );
        self.waits.sort_unstable();
        let at = |percent: usize| self.waits.get((waited * percent / 100).min(waited.max(1) - 1));
        println!(
            "waits in ms: median {:?}, 95 % {:?}, 99 % {:?}, longest {:?}",
            at(50),
            at(95),
            at(99),
            at(100)
        );
        let tenths = tenths(memory).into_iter().map(|bytes| bytes / 1e6).collect::<Vec<_>>();
        println!("resident memory of the server in MB, in each tenth of the time: {tenths:.1?}");
        let unloaded = unloaded.iter().map(|bytes| bytes / 1e6).collect::<Vec<_>>();
        println!("after each tenth, with no model loaded: {unloaded:.2?}");
    }
}

/// The means of each tenth of measurements.
fn tenths(all: &[f64]) -> Vec<f64> {
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    all.chunks(all.len().div_ceil(10).max(1)).map(mean).collect()
}

/// What clients share.
struct Run<'a> {
    server: &'a Serving,
    /// The texts of all models alone, by seeds.
    alone: &'a [Vec<String>],
    end: Instant,
    /// Locked for reading while a client asks.
    open: RwLock<()>,
    findings: Mutex<Findings>,
}

/// A client that sends random requests until the end, and leaves a third of them.
fn client(run: &Run<'_>, number: u64) {
    let Run { server, alone, end, open, findings } = run;
    let mut random = weft_random::Random::named(number + 1, "client");
    let mut below = |end: usize| random.below(end);
    while Instant::now() < *end {
        let _open = open.read().unwrap();
        let (at, seed, stream) = (below(3), below(4), below(2) == 0);
        let body = ask(MODELS[at].0, seed, stream);
        let connection = server.send(&body);
        if below(3) == 0 {
            thread::sleep(Duration::from_millis(below(300) as u64));
            drop(connection);
            findings.lock().unwrap().left += 1;
            continue;
        }
        let (text, wait) = read(connection, stream);
        assert_eq!(text, alone[at][seed], "{body}");
        let mut findings = findings.lock().unwrap();
        findings.ended[at] += 1;
        findings.waits.extend(wait);
    }
}

/// The memory that a server takes while it has no model and no requests, in bytes.
fn unloaded(run: &Run<'_>) -> Option<f64> {
    let _closed = run.open.write().unwrap();
    let begun = Instant::now();
    // Requests that were left may still be in work.
    while listed(run.server).iter().any(|model| model["status"]["value"] != "unloaded") {
        assert!(begun.elapsed() < Duration::from_secs(60), "models stay loaded: {:?}", listed(run.server));
        for (name, _) in MODELS {
            run.server.post("/models/unload", &json!({ "model": name }));
        }
        thread::sleep(Duration::from_millis(20));
    }
    resident_memory(run.server.child.id()).map(|bytes| bytes as f64)
}

/// Asks for the list of models until the end: what is loaded stays within the limit. Returns the memory that the process had meanwhile, and
/// after each tenth of the time with no model loaded.
fn watch(run: &Run<'_>, limit: u64, seconds: u64) -> [Vec<f64>; 2] {
    let (mut resident, mut without) = (Vec::new(), Vec::new());
    let pause = Duration::from_millis(if seconds < 60 { 5 } else { 200 });
    let tenth = Duration::from_millis(seconds * 100);
    let mut next = Instant::now() + tenth;
    while Instant::now() < run.end {
        let taken = listed(run.server)
            .iter()
            .filter(|model| model["loaded"] == true)
            .map(|model| model["memory_bytes"].as_u64().unwrap())
            .sum::<u64>();
        assert!(taken <= limit, "models that take {taken} bytes are loaded, and the limit is {limit}");
        resident.extend(resident_memory(run.server.child.id()).map(|bytes| bytes as f64));
        if Instant::now() > next {
            without.extend(unloaded(run));
            next += tenth;
        }
        thread::sleep(pause);
    }
    without.extend(unloaded(run));
    [resident, without]
}

/// No reply differs from the one alone, whatever is loaded, unloaded, and left meanwhile. `WEFT_MODELS_SECONDS` is how long it runs; from
/// 300 on, memory must not grow.
#[test]
fn random_requests_to_three_models_in_memory_for_two() {
    let seconds = std::env::var("WEFT_MODELS_SECONDS").map_or(8, |seconds| seconds.parse().unwrap());
    let folder = Folder::new();
    let server = three(&folder, 1 << 40);
    let alone = MODELS.map(|(name, _)| {
        [0, 1, 2, 3].map(|seed| read(server.send(&ask(name, seed, false)), false).0).to_vec()
    });
    let mut needs = needs(&server);
    drop(server);
    needs.sort_unstable();
    let limit = needs[1] + needs[2];
    let server = three(&folder, limit);
    let end = Instant::now() + Duration::from_secs(seconds);
    let (open, findings) = (RwLock::new(()), Mutex::new(Findings::default()));
    let run = Run { server: &server, alone: &alone, end, open, findings };
    let [resident, without] = thread::scope(|scope| {
        for number in 0..6 {
            let run = &run;
            scope.spawn(move || client(run, number));
        }
        watch(&run, limit, seconds)
    });
    let mut findings = run.findings.into_inner().unwrap();
    findings.print(&resident, &without);
    let Findings { ended, left, waits } = findings;
    assert!(ended.iter().all(|count| *count > 0) && left > 0 && !waits.is_empty(), "{ended:?} {left}");
    // Each model still answers, and no request is in work.
    for (at, (name, _)) in MODELS.iter().enumerate() {
        assert_eq!(read(server.send(&ask(name, 1, false)), false).0, alone[at][1]);
    }
    // The thread of a model takes a request off its list after it has answered.
    let begun = Instant::now();
    let in_work = || server.get("/props").split_once("\"requests\":").unwrap().1.to_string();
    while !in_work().starts_with("[]") {
        assert!(begun.elapsed() < Duration::from_secs(10), "{}", in_work());
        thread::sleep(Duration::from_millis(10));
    }
    if seconds >= 300 {
        let (second, last) = (without[1], without[without.len() - 1]);
        assert!(last - second < GROWTH, "memory grows: {without:.0?}");
    }
    server.signal("-TERM");
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!log.contains("ERROR"), "{log}");
}
