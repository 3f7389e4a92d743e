//! A conversation in the terminal: `cargo run --release --example chat -- model.gguf`
//!
//! Each turn gives the engine the whole conversation. What was computed before comes from the prefix cache.

use std::io::{BufRead as _, Write as _};

use weft_engine::{Engine, Message, Request};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = std::env::args().nth(1).ok_or("usage: chat MODEL.gguf")?;
    let mut engine = Engine::open(model)?;
    let mut messages = Vec::new();
    let mut lines = std::io::stdin().lock().lines();
    loop {
        print!("> ");
        std::io::stdout().flush()?;
        let Some(line) = lines.next() else { return Ok(()) };
        messages.push(Message::new("user", line?));
        let prompt = engine.model().chat(&messages)?;
        let reply = engine.complete(Request::new(prompt).max_tokens(200))?;
        println!(
            "{}\n[{} of {} tokens cached]",
            reply.text, reply.usage.cached_tokens, reply.usage.prompt_tokens
        );
        messages.push(Message::new("assistant", reply.text));
    }
}
