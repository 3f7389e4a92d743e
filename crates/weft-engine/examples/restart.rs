//! Measures the time to the first token of a prompt: computed, from the prefix cache in memory, and from the prompt cache
//! on disk after a restart.
//!
//! `cargo run --release -p weft-engine --example restart -- MODEL [TOKENS]`

use std::path::Path;
use std::time::{Duration, Instant};

use weft_engine::{Engine, PackCache, PromptCache, Request, Sampling, Token};

/// How often everything is measured.
const ROUNDS: u64 = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let model = args.next().ok_or("usage: restart MODEL [TOKENS]")?;
    let tokens: Option<usize> = args.next().map(|tokens| tokens.parse()).transpose()?;
    let folder = std::env::temp_dir().join(format!("weft-restart-{}", std::process::id()));
    let prompts = PromptCache::new(&folder, 100_000_000_000);
    for round in 0..ROUNDS {
        let mut engine = open(&model, &prompts)?;
        // Another prompt in each round, so that the first time it is unknown.
        let text = format!("Round {round}. ")
            + &"It was a dark and stormy night; the rain fell in torrents. ".repeat(9999);
        let mut prompt = engine.model().tokens(&text);
        prompt.truncate(tokens.unwrap_or(engine.context() - 1));
        let (cold, first) = measure(&mut engine, &prompt)?;
        let begun = Instant::now();
        while engine.idle()? {}
        let written = begun.elapsed();
        let (warm, again) = measure(&mut engine, &prompt)?;
        drop(engine);
        let mut engine = open(&model, &prompts)?;
        let (restarted, later) = measure(&mut engine, &prompt)?;
        assert!(first == again && first == later, "the replies differ");
        let share = |time: Duration| 100.0 * time.as_secs_f64() / cold.as_secs_f64();
        println!(
            "{} tokens: {cold:.1?}, in memory {warm:.1?} ({:.1} %), after a restart {restarted:.1?} ({:.1} %), \
             {} pages restored; written in {written:.1?}",
            prompt.len(),
            share(warm),
            share(restarted),
            engine.stats().prompt_cache.restored,
        );
    }
    let usage = prompts.usage()?;
    println!("{} pages, {:.1} MB", usage.pages, usage.bytes as f64 / 1e6);
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

fn open(model: &str, prompts: &PromptCache) -> Result<Engine, weft_engine::Error> {
    let cache =
        std::env::var_os("WEFT_CACHE").map(|folder| PackCache::new(Path::new(&folder).join("packed")));
    Engine::builder().cache(cache.or(PackCache::of_user())).prompts(prompts.clone()).open(model)
}

/// The time to the first token, with its log probability.
fn measure(engine: &mut Engine, prompt: &[u32]) -> Result<(Duration, Vec<Token>), weft_engine::Error> {
    let begun = Instant::now();
    let request = Request::new(prompt).max_tokens(1).sampling(Sampling::greedy()).logprobs(5);
    let reply = engine.complete(request)?;
    Ok((begun.elapsed(), reply.tokens))
}
