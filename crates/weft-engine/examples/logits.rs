//! Prints the likeliest next tokens of a text:
//! `cargo run --release --example logits -- model.gguf "The capital of France is"`

use weft_engine::{Engine, Request};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(model), Some(text)) = (args.next(), args.next()) else {
        return Err("usage: logits MODEL.gguf TEXT".into());
    };
    let mut engine = Engine::open(model)?;
    let prompt = engine.model().tokens(&text);
    let reply = engine.complete(Request::new(prompt).max_tokens(1).logprobs(10))?;
    for (token, logprob) in &reply.tokens[0].likeliest {
        let text = engine.model().tokenizer().decode(&[*token], false);
        println!("{:5.1} %  {text:?}", 100.0 * logprob.exp());
    }
    Ok(())
}
