//! Answers one question: `cargo run --release --example generate -- model.gguf "What is the capital of France?"`

use std::io::Write as _;

use weft_engine::{Engine, Event, Message, Request};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(model), Some(question)) = (args.next(), args.next()) else {
        return Err("usage: generate MODEL.gguf QUESTION".into());
    };
    let mut engine = Engine::open(model)?;
    let prompt = engine.model().chat(&[Message::new("user", question)])?;
    let mut reply = engine.push(Request::new(prompt).max_tokens(200))?;
    while engine.step()? {
        while let Some(event) = reply.poll() {
            if let Event::Text(text) = event {
                print!("{text}");
                std::io::stdout().flush()?;
            }
        }
    }
    let (usage, timings) = (reply.usage(), reply.timings());
    println!("\n[{} tokens in {:.2} s]", usage.tokens, (timings.prompt + timings.decode).as_secs_f64());
    Ok(())
}
