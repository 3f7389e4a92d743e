//! The requests of a model that wait or are in work, for those who watch the server.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::{Value, json};

/// The facts about a request that other threads can read.
#[derive(Debug)]
pub(crate) struct Listed {
    /// Its id, as in the log.
    id: String,
    since: Instant,
    /// The tokens of the prompts of all its replies.
    prompt_tokens: usize,
    /// Whether the engine has it.
    begun: AtomicBool,
    /// The tokens of its replies so far.
    tokens: AtomicUsize,
}

impl Listed {
    /// A request that has come.
    pub(crate) fn new(id: String, since: Instant, prompt_tokens: usize) -> Listed {
        Listed { id, since, prompt_tokens, begun: AtomicBool::new(false), tokens: AtomicUsize::new(0) }
    }

    /// Records that the engine has taken it.
    pub(super) fn begin(&self) {
        self.begun.store(true, Ordering::Relaxed);
    }

    /// Records a token of a reply.
    pub(super) fn add_token(&self) {
        self.tokens.fetch_add(1, Ordering::Relaxed);
    }

    /// The request as `/props` shows it. Nothing says what was asked, or by whom.
    pub(super) fn json(&self, model: &str) -> Value {
        let tokens = self.tokens.load(Ordering::Relaxed);
        let state = match (self.begun.load(Ordering::Relaxed), tokens) {
            (false, _) => "waiting",
            (true, 0) => "prompt",
            (true, _) => "reply",
        };
        json!({
            "id": self.id,
            "model": model,
            "age_seconds": self.since.elapsed().as_secs(),
            "prompt_tokens": self.prompt_tokens,
            "generated_tokens": tokens,
            "state": state,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_waits_is_read_and_is_answered() {
        let listed = Listed::new("req_1".into(), Instant::now(), 7);
        let shown = || {
            let json = listed.json("m");
            (json["state"].as_str().unwrap().to_string(), json["generated_tokens"].as_u64().unwrap())
        };
        assert_eq!(shown(), ("waiting".to_string(), 0));
        listed.begin();
        assert_eq!(shown(), ("prompt".to_string(), 0));
        listed.add_token();
        assert_eq!(shown(), ("reply".to_string(), 1));
        let json = listed.json("m");
        assert_eq!(
            (&json["id"], &json["model"], &json["prompt_tokens"]),
            (&json!("req_1"), &json!("m"), &json!(7))
        );
    }
}
