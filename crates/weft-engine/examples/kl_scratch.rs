//! Scratch.
#![allow(missing_docs, dead_code, unreachable_pub)]
#[path = "../tests/it/support.rs"]
mod support;
use support::*;
use weft_engine::EngineOptions;
fn main() {
    for kv in ["f16", "bf16", "f32", "q8_0"] {
        for (name, _) in FIXTURES {
            let fixture = Fixture::load(name);
            let options = EngineOptions { kv: kv.parse().unwrap(), ..EngineOptions::default() };
            match weft_engine::Engine::load(&fixture.path, &options, &mut |_| {
                std::ops::ControlFlow::Continue(())
            }) {
                Ok(mut e) => {
                    let l = all_logits(&mut e, &fixture.tokens, 512);
                    println!("{kv} {name} {:.4}", mean_kl(&l, &fixture.golden, fixture.vocab));
                }
                Err(e) => println!("{kv} {name} {e}"),
            }
        }
    }
}
