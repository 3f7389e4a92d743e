//! A model that sleeps gives its memory back, and wakes with the same reply. A process of its own, because its memory is measured.
#![cfg(target_os = "linux")]

#[path = "it/support.rs"]
#[allow(dead_code)]
mod support;

use std::time::{Duration, Instant};

use serde_json::json;
use support::{Running, fixture, options};
use weft_host::resident_memory;

const MODEL: &str = "glm-tiny-q4_0.gguf";

/// The least memory that the model needs: far more than the server itself.
const NEED: u64 = 256 << 20;

#[test]
fn sleep_gives_95_percent_of_the_memory_back() {
    let mut options = options(MODEL);
    options.models[0].at_start = false;
    options.models[0].keep_alive = Some(Duration::from_millis(300));
    let engine = options.engine.clone().context(4096).commit(true);
    let one = engine.clone().sequences(1).memory(fixture(MODEL)).unwrap();
    let sequences = usize::try_from(NEED.div_ceil(one)).unwrap() * 3;
    options.engine = engine.sequences(sequences);
    let need = options.engine.memory(fixture(MODEL)).unwrap();
    assert!(need >= NEED, "{need}");
    let server = Running::start(options).ready();
    let resident = || resident_memory(std::process::id()).unwrap();
    let ask = || {
        let begun = Instant::now();
        let body = json!({ "prompt": "Once", "max_tokens": 8, "temperature": 0 });
        let answer = server.post("/v1/completions", &body);
        assert_eq!(answer.status, 200, "{answer:?}");
        (answer.json()["choices"][0]["text"].clone(), begun.elapsed())
    };
    // The first request allocates some memory once.
    let _ = server.get("/v1/models");
    let mut first = None;
    let mut times = Vec::new();
    for round in 0..6 {
        let before = resident();
        let (text, took) = ask();
        times.push(took);
        let loaded = resident();
        assert!(loaded - before > need * 9 / 10, "{before} {loaded} {need}");
        let begun = Instant::now();
        while server.get("/v1/models").json()["data"][0]["status"]["value"] != "sleeping" {
            assert!(begun.elapsed() < Duration::from_secs(30), "it does not sleep");
            std::thread::sleep(Duration::from_millis(20));
        }
        let asleep = resident();
        let back = loaded.saturating_sub(asleep) as f64 / (loaded - before) as f64;
        println!(
            "round {round}: loaded and answered in {took:?}; {} MB before, {} MB loaded, {} MB asleep: {:.1} % given back",
            before >> 20,
            loaded >> 20,
            asleep >> 20,
            100.0 * back
        );
        assert!(back >= 0.95, "{back}");
        assert_eq!(text, first.get_or_insert_with(|| text.clone()).clone(), "it wakes with another reply");
    }
    let start = times.remove(0);
    times.sort_unstable();
    let wake = times[times.len() / 2];
    println!(
        "first start {start:?}, wakes {times:.1?}, median {:.2} of the start",
        wake.as_secs_f64() / start.as_secs_f64()
    );
}
