//! The prompt cache on disk: a server that starts later finds what an earlier one computed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use weft_engine::PromptCache;

use crate::support::{Running, options};

const MODEL: &str = "llama-tiny-q6_k.gguf";

/// A folder of a test, removed when dropped.
struct TestFolder(PathBuf);

impl TestFolder {
    fn new(name: &str) -> TestFolder {
        TestFolder(std::env::temp_dir().join(format!("weft-serve-prompts-{name}-{}", std::process::id())))
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn start(folder: &Path, keys: &[&str]) -> Running {
    let mut options = options(MODEL);
    options.engine = options.engine.prompts(PromptCache::new(folder, 1 << 30));
    options.keys = keys.iter().map(|key| key.to_string()).collect();
    Running::start(options).ready()
}

/// The first choice and the number of cached tokens of a reply.
fn complete(server: &Running, key: &str) -> (Value, u64) {
    let prompt: Vec<u32> = (0..150).map(|i| 3 + i * 7 % 240).collect();
    let body = json!({ "model": "test", "prompt": prompt, "max_tokens": 8, "temperature": 0, "logprobs": 3 });
    let bearer = format!("Bearer {key}");
    let headers = [("Content-Type", "application/json"), ("Authorization", bearer.as_str())];
    let answer = server.request("POST", "/v1/completions", &headers, &body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.body);
    let reply: Value = serde_json::from_str(&answer.body).unwrap();
    let cached = reply["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
    (reply["choices"][0].clone(), cached)
}

/// The value of a counter of the pages of the prompt cache.
fn pages(server: &Running, what: &str) -> u64 {
    let text = server.get("/metrics").body;
    let label = format!("what=\"{what}\"");
    let line = text.lines().find(|line| line.starts_with("weft_prompt_cache_pages") && line.contains(&label));
    line.and_then(|line| line.rsplit(' ').next()).map_or(0, |value| value.parse().unwrap())
}

#[test]
fn a_restart_finds_prompts_and_gives_the_same_reply() {
    let folder = TestFolder::new("restart");
    let server = start(&folder.0, &[]);
    let (first, cached) = complete(&server, "");
    assert_eq!(cached, 0);
    drop(server);
    for restored in [4, 0] {
        let server = start(&folder.0, &[]);
        assert_eq!(complete(&server, ""), (first.clone(), 32 * restored));
        // Once its idle thread has written them: 150 tokens of the prompt, and 7 of the reply.
        if restored > 0 {
            assert_eq!(complete(&server, "").0, first);
            assert_eq!((pages(&server, "restored"), pages(&server, "damaged")), (4, 0));
            drop(server);
            assert!(PromptCache::new(&folder.0, 0).clear().unwrap() > 0);
        } else {
            while pages(&server, "written") < 4 {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

#[test]
fn keys_do_not_share_prompts_on_disk() {
    let folder = TestFolder::new("keys");
    let keys = ["one", "two"];
    let (first, _) = complete(&start(&folder.0, &keys), "one");
    let server = start(&folder.0, &keys);
    assert_eq!(complete(&server, "two"), (first.clone(), 0));
    assert_eq!(complete(&server, "one"), (first, 128));
}
