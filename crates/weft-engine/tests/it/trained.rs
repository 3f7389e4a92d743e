//! A trained hybrid, whose MTP layer guesses well: what its guesses gain, and that they and its states change no reply.

use std::path::PathBuf;

use weft_engine::{Engine, EngineOptions, Event, Generation, Message, Request, Sampling, Speculate};

use crate::support::THREADS;

fn open(speculate: Speculate) -> Engine {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../models/qwen-small/qwen-small-q8_0.gguf");
    let options = EngineOptions::default().threads(THREADS).context(512).sequences(8).speculate(speculate);
    options.open(path).unwrap()
}

const PROMPTS: [&str; 6] = [
    "Tell me a story about a fox.",
    "Tell me a story about a girl who finds a key.",
    "What is the moon?",
    "Write a story about a bear and a boat.",
    "What is 7 + 6?",
    "Hello!",
];

/// The tokens of all replies, greedy and sampled, alone and together, and the tokens guessed and accepted.
fn replies(engine: &mut Engine) -> (Vec<Vec<Event>>, [u64; 2]) {
    let request = |engine: &Engine, i: usize| {
        let prompt = engine.model().chat(&[Message::new("user", PROMPTS[i])]).unwrap();
        let sampling = Sampling::default().temperature((i % 2) as f32).seed(i as u64);
        Request::new(prompt).max_tokens(100).sampling(sampling).logprobs(2)
    };
    let tokens = |event: &Event| matches!(event, Event::Token(_) | Event::Finished(_));
    let mut all = Vec::new();
    for together in [1, 6] {
        for some in (0..PROMPTS.len()).collect::<Vec<_>>().chunks(together) {
            let requests: Vec<Request> = some.iter().map(|i| request(engine, *i)).collect();
            let pushed = requests.into_iter().map(|one| engine.push(one).unwrap());
            let mut pushed: Vec<Generation> = pushed.collect();
            while engine.step().unwrap() {}
            let events = |one: &mut Generation| std::iter::from_fn(|| one.poll()).filter(tokens).collect();
            all.extend(pushed.iter_mut().map(events));
        }
    }
    let stats = engine.stats().speculation;
    (all, [stats.guessed, stats.accepted])
}

#[test]
fn guesses_of_a_trained_layer_are_mostly_right_and_change_no_reply() {
    let mut off = open(Speculate::Off);
    let (expected, none) = replies(&mut off);
    assert_eq!(none, [0, 0]);
    // Replies are the same alone and together.
    let (alone, together) = expected.split_at(PROMPTS.len());
    assert_eq!(alone, together);
    let steps = off.stats().steps;
    let mut before = steps;
    for depth in 1..=4 {
        let mut engine = open(Speculate::Mtp(depth));
        let (found, [guessed, accepted]) = replies(&mut engine);
        assert!(found == expected, "{depth} guesses");
        let stats = engine.stats();
        assert!(accepted * 10 > guessed * 7, "{depth} guesses: {accepted} of {guessed} are right");
        let last = stats.speculation.accepted_at[depth - 1];
        assert!(last > 0 && stats.speculation.accepted_at[depth] == 0, "{depth} guesses");
        assert!(stats.steps < before, "{depth} guesses: {} steps after {before}", stats.steps);
        before = stats.steps;
    }
    assert!(2 * before < steps, "{before} of {steps} steps");
}
