//! Answers 32 prompts at once, twice, and checks that every reply is the same as alone:
//! `cargo run --release --example batch -- model.gguf`
//!
//! The KV cache has room for only a few of them, so they preempt each other.

use weft_engine::{Engine, Error, Event, Generation, Request};

fn request(engine: &Engine, number: usize) -> Request {
    let prompt = engine.model().tokens(&format!("Once upon a time there were {number} little mice. One day"));
    Request::new(prompt).max_tokens(24 + number)
}

fn text(mut generation: Generation) -> String {
    std::iter::from_fn(|| generation.poll())
        .filter_map(|event| if let Event::Text(text) = event { Some(text) } else { None })
        .collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = std::env::args().nth(1).ok_or("usage: batch MODEL.gguf")?;
    let mut engine = Engine::builder().context(128).sequences(4).open(&model)?;
    let mut alone = Engine::builder().context(128).open(&model)?;
    let expected: Vec<String> =
        (0..32).map(|i| Ok(alone.complete(request(&alone, i))?.text)).collect::<Result<_, Error>>()?;
    for cache in ["cold", "warm"] {
        let replies: Vec<Generation> =
            (0..32).map(|i| engine.push(request(&engine, i))).collect::<Result<_, _>>()?;
        while engine.step()? {}
        let same = replies.into_iter().map(text).eq(expected.iter().cloned());
        println!("{cache}: the same texts: {same}; {:?}", engine.stats());
        assert!(same);
    }
    Ok(())
}
