//! Checks that speculation changes no reply, and measures what it gains:
//! `cargo run --release --example speculate -- check model.gguf 500` and `… -- bench model.gguf [edits summaries stories random]`
//!
//! `check` answers prompts greedily and sampled, alone and eight together, with each kind of speculation and without, and
//! compares the tokens. `bench` prints the tokens per second of replies to edits, summaries, stories and random text; the kinds
//! of speculation take turns, so that whatever disturbs the machine disturbs all of them. What `auto` learns it keeps from turn
//! to turn, as a server does; with `--fresh` an engine is opened for each of its turns, which has learnt nothing.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use weft_engine::{DeviceChoice, Engine, Event, Generation, Message, Request, Sampling, Speculate};

type Failure = Box<dyn std::error::Error>;

/// A kind of speculation, by its name.
type Kind = (&'static str, Speculate);

/// The kinds of speculation that there are for a model: with an MTP layer if it has one, and with a draft model if there is
/// one.
fn kinds(engine: &Engine, draft: Option<PathBuf>) -> Vec<Kind> {
    let mut kinds = vec![("off", Speculate::Off), ("lookup", Speculate::Lookup)];
    if engine.inspect().predicts() {
        kinds.extend(
            [("mtp", 1), ("mtp:2", 2), ("mtp:3", 3), ("mtp:4", 4)]
                .map(|(name, most)| (name, Speculate::Mtp(most))),
        );
    }
    kinds.extend(draft.map(|draft| ("draft", Speculate::Model(draft))));
    kinds.push(("auto", Speculate::Auto));
    kinds
}

/// The rounds of a measurement.
const ROUNDS: usize = 5;

const CODE: [&str; 4] = [
    "def total(items):\n    result = 0\n    for item in items:\n        if item.price > 0:\n            result += item.price * item.count\n    return result\n\ndef average(items):\n    if not items:\n        return 0\n    return total(items) / len(items)\n",
    "function greet(name) {\n  if (!name) {\n    throw new Error('name is missing');\n  }\n  const text = `Hello, ${name}!`;\n  console.log(text);\n  return text;\n}\n\nfunction greetAll(names) {\n  for (const name of names) {\n    greet(name);\n  }\n}\n",
    "struct Point {\n    x: f64,\n    y: f64,\n}\n\nimpl Point {\n    fn new(x: f64, y: f64) -> Point {\n        Point { x, y }\n    }\n\n    fn distance(&self, other: &Point) -> f64 {\n        let dx = self.x - other.x;\n        let dy = self.y - other.y;\n        (dx * dx + dy * dy).sqrt()\n    }\n}\n",
    "SELECT customers.name, customers.city, SUM(orders.amount) AS total\nFROM customers\nJOIN orders ON orders.customer = customers.id\nWHERE orders.date >= '2024-01-01'\nGROUP BY customers.name, customers.city\nORDER BY total DESC;\n",
];

const TEXTS: [&str; 4] = [
    "The honey bee lives in colonies of up to sixty thousand workers and a single queen. Workers collect nectar and pollen from flowers. The nectar is carried back to the hive, where it is turned into honey and stored in cells of wax. In winter the bees do not sleep: they gather around the queen in a tight cluster and keep each other warm by moving their flight muscles. A colony needs about twenty kilograms of honey to survive a cold winter.",
    "The town council met on Tuesday to discuss the new bridge over the river. The old bridge, built in 1931, is too narrow for modern buses. The engineers proposed a steel bridge with two lanes and a path for bicycles. The steel bridge would cost four million and take two years to build. Some members of the town council asked for a cheaper wooden bridge, but the engineers said that a wooden bridge would not carry the buses.",
    "Tides are the rise and fall of the sea, caused by the gravity of the moon and the sun. Most coasts have two high tides and two low tides each day. When the moon and the sun pull in the same direction, the tides are higher than usual and are called spring tides. When they pull at right angles, the tides are lower and are called neap tides. The difference between high tide and low tide can be more than ten metres.",
    "Maria opened a small bakery in the old part of the city. Every morning she gets up at three to bake bread, rolls and cakes. Her bread is made with flour from a mill nearby, and she uses no machines but the oven. In the first year the small bakery lost money, and Maria thought of closing it. Then a newspaper wrote about her bread, and people came from the whole city to buy it.",
];

/// The prompts of a kind.
fn prompts(kind: &str) -> Vec<String> {
    match kind {
        "edits" => [
            ("total", "sum_of_prices"),
            ("greet", "welcome"),
            ("Point", "Vector"),
            ("customers", "clients"),
        ]
        .iter()
        .zip(CODE)
        .map(|((from, to), code)| {
            format!("Rename `{from}` to `{to}` in this code. Answer with the whole code.\n\n```\n{code}```")
        })
        .collect(),
        "summaries" => TEXTS
            .iter()
            .map(|text| format!("Summarise this text in its own words, sentence by sentence.\n\n{text}"))
            .collect(),
        "stories" => ["a fox", "two brothers at sea", "a lost key", "the last train"]
            .map(|about| format!("Tell me a story about {about}."))
            .into(),
        _ => (0..4u32)
            .map(|seed| {
                let words =
                    (0..60u32).map(|i| (i * i * 7919 + seed * 104_729 + i * 31).wrapping_mul(2_654_435_761));
                words.map(|word| format!("{:x} ", word >> 12)).collect()
            })
            .collect(),
    }
}

fn request(engine: &Engine, text: &str, most: usize, sampling: Sampling) -> Result<Request, Failure> {
    let tokens = engine.model().chat(&[Message::new("user", text)])?;
    Ok(Request::new(tokens).max_tokens(most).sampling(sampling).cache(false))
}

fn tokens(mut generation: Generation) -> Vec<u32> {
    let events = std::iter::from_fn(|| generation.poll());
    events.filter_map(|event| if let Event::Token(token) = event { Some(token.id) } else { None }).collect()
}

/// Answers all prompts, some at once. Returns the tokens of the replies.
fn answer(engine: &mut Engine, requests: Vec<Request>, together: usize) -> Result<Vec<Vec<u32>>, Failure> {
    let mut replies = Vec::new();
    let mut requests = requests.into_iter();
    loop {
        let some = requests.by_ref().take(together).map(|request| engine.push(request));
        let some: Vec<Generation> = some.collect::<Result<_, _>>()?;
        if some.is_empty() {
            return Ok(replies);
        }
        while engine.step()? {}
        replies.extend(some.into_iter().map(tokens));
    }
}

fn check(engine: &mut Engine, kinds: &[Kind], count: usize) -> Result<(), Failure> {
    let prompts_of = ["edits", "summaries", "stories", "random"].map(prompts);
    let all: Vec<String> = (0..count)
        .map(|i| {
            let some = &prompts_of[i % prompts_of.len()];
            format!("{} ({i})", some[i / prompts_of.len() % some.len()])
        })
        .collect();
    for (name, temperature) in [("sampled", 0.8), ("greedy", 0.0)] {
        let mut expected = None;
        for together in [1, 8] {
            for (kind, speculate) in kinds {
                let begun = Instant::now();
                engine.speculate(speculate)?;
                let requests = all.iter().zip(0u64..).map(|(text, seed)| {
                    // The prefix cache is used, so that replies are also guessed from earlier ones.
                    let sampling = Sampling::default().temperature(temperature).seed(seed);
                    Ok(request(engine, text, 32, sampling)?.cache(true))
                });
                let requests = requests.collect::<Result<_, Failure>>()?;
                let replies = answer(engine, requests, together)?;
                let same = expected.get_or_insert_with(|| replies.clone()) == &replies;
                let stats = engine.stats().speculation;
                println!(
                    "{name}, {together} together, {kind}: {count} prompts, the same tokens: {same}; {} of {} guesses right; {:.0?}",
                    stats.accepted,
                    stats.guessed,
                    begun.elapsed()
                );
                assert!(same && engine.stats().pages_held == 0);
            }
        }
    }
    Ok(())
}

/// The tokens of replies, and the time from their first tokens on.
#[derive(Default, Clone, Copy)]
struct Measured {
    tokens: u64,
    time: Duration,
    guessed: u64,
    accepted: u64,
}

fn measure(engine: &mut Engine, prompts: &[String], together: usize) -> Result<Measured, Failure> {
    let mut all = Measured::default();
    let before = engine.stats().speculation;
    for i in 0..prompts.len().max(together) / together {
        let texts = (0..together).map(|j| &prompts[(i * together + j) % prompts.len()]);
        let replies = texts.zip(0u64..).map(|(text, seed)| {
            let sampling = Sampling::default().temperature(0.2).seed(seed);
            let request = request(engine, text, 160, sampling)?.ignore_end(true);
            Ok(engine.push(request)?)
        });
        let replies: Vec<Generation> = replies.collect::<Result<_, Failure>>()?;
        while replies.iter().any(|reply| reply.usage().tokens == 0) {
            engine.step()?;
        }
        let generated = engine.stats().generated;
        let begun = Instant::now();
        while engine.step()? {}
        all.time += begun.elapsed();
        all.tokens += engine.stats().generated - generated;
        if std::env::var_os("SHOW").is_some() {
            let first = replies.into_iter().map(tokens).next().unwrap_or_default();
            eprintln!("{}\n====", engine.model().tokenizer().decode(&first, true));
        }
    }
    let after = engine.stats().speculation;
    (all.guessed, all.accepted) = (after.guessed - before.guessed, after.accepted - before.accepted);
    Ok(all)
}

/// Measures the kinds of speculation. With `fresh`, `auto` runs in engines that it opens.
fn bench(
    engine: &mut Engine,
    kinds: &[Kind],
    only: &[String],
    fresh: Option<&dyn Fn() -> Result<Engine, Failure>>,
) -> Result<(), Failure> {
    println!("tokens per second, the median of {ROUNDS} rounds (least to most); accepted of guessed tokens");
    let texts = ["edits", "summaries", "stories", "random"];
    for text in texts.into_iter().filter(|text| only.is_empty() || only.iter().any(|one| one == text)) {
        let prompts = prompts(text);
        for together in [1, 8] {
            let mut rates = vec![Vec::new(); kinds.len()];
            let mut guessed = vec![(0, 0); kinds.len()];
            for round in 0..=ROUNDS {
                for (at, (_, speculate)) in kinds.iter().enumerate() {
                    let opened =
                        fresh.filter(|_| *speculate == Speculate::Auto).map(|open| open()).transpose()?;
                    let measured = match opened {
                        Some(mut opened) => {
                            // So that all programs are compiled.
                            for (_, other) in kinds.iter().filter(|(_, kind)| *kind != Speculate::Auto) {
                                opened.speculate(other)?;
                                measure(&mut opened, &prompts, together)?;
                            }
                            opened.speculate(speculate)?;
                            measure(&mut opened, &prompts, together)?
                        }
                        None => {
                            engine.speculate(speculate)?;
                            measure(engine, &prompts, together)?
                        }
                    };
                    // The first is a warm-up.
                    if round > 0 {
                        rates[at].push(measured.tokens as f64 / measured.time.as_secs_f64());
                        guessed[at] = (measured.accepted, measured.guessed);
                    }
                }
            }
            // Ratios within each round, so that a slow moment counts for all kinds.
            let ratio = |at: usize| median(rates[at].iter().zip(&rates[0]).map(|(a, b)| a / b).collect());
            for (at, (name, _)) in kinds.iter().enumerate() {
                let (accepted, guesses) = guessed[at];
                let (least, most) = (
                    rates[at].iter().copied().fold(f64::MAX, f64::min),
                    rates[at].iter().copied().fold(0.0, f64::max),
                );
                println!(
                    "{text:>9} x{together} {name:>6}: {:7.1} ({least:.1} to {most:.1}), {:.3} times off; {accepted} of {guesses}",
                    median(rates[at].clone()),
                    ratio(at),
                );
            }
        }
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Result<(), Failure> {
    let usage = "usage: speculate check MODEL.gguf [PROMPTS] [--draft SMALLER.gguf] [--device DEVICE], or \
                 speculate bench MODEL.gguf [KIND]... [--fresh] with the same options";
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let mut option = |name: &str| {
        let at = args.iter().position(|arg| arg == name)?;
        let value = args.drain(at..(at + 2).min(args.len())).nth(1);
        Some(value.ok_or(usage))
    };
    let draft = option("--draft").transpose()?.map(PathBuf::from);
    let device = option("--device").transpose()?.map(|device| device.parse::<DeviceChoice>()).transpose()?;
    let only = option("--only").transpose()?;
    let fresh = args.iter().position(|arg| arg == "--fresh").map(|at| args.remove(at)).is_some();
    let (what, model) = (args.first().ok_or(usage)?, args.get(1).ok_or(usage)?);
    let options = Engine::builder().context(1024).sequences(8).speculate(Speculate::Auto);
    let options = options.device(device.unwrap_or_default());
    let open = || Ok(options.open(model)?);
    let mut engine = open()?;
    let mut kinds = kinds(&engine, draft);
    kinds.retain(|(kind, _)| {
        *kind == "off" || only.iter().all(|only| only.split(',').any(|one| one == *kind))
    });
    match what.as_str() {
        "check" => check(&mut engine, &kinds, args.get(2).map_or(Ok(500), |count| count.parse())?),
        "bench" => bench(&mut engine, &kinds, &args[2..], fresh.then_some(&open)),
        _ => Err(usage.into()),
    }
}
