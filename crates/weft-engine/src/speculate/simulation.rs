//! Whether deciding on guesses pays, by a clock of its own: replies whose tokens are known, on devices whose steps take a known time.
//!
//! `auto` is compared with what would have been best: never to guess, to take all that is looked up, or all that the MTP layer
//! predicts. What decides and what looks up is real; the model, its layer and the device are made up. So constants can be chosen
//! here, with many seeds, in seconds.

use std::time::Duration;

use super::drafter::{Ask, BY_MARGIN, MOST_PREDICTED};
use super::{Acceptance, Learnt, Speculation, Verdict};

/// The tokens of a reply, and the most guessed at once.
const REPLY: usize = 160;
const ROOM: usize = 15;

/// A device and a model: the microseconds of a step of one row, of each row more and of each reply, and of predictions and each of
/// their rows.
#[derive(Clone, Copy, Debug)]
struct Device {
    name: &'static str,
    step: f64,
    row: f64,
    reply: f64,
    /// Whether steps take as long as the longest with the same program.
    programs: bool,
    predictions: Option<(f64, f64)>,
}

impl Device {
    /// The time of a step without what replies take.
    fn step(&self, rows: usize) -> f64 {
        let program = [1, 2, 4, 8, 16].into_iter().find(|most| self.programs && *most >= rows);
        let rows = program.unwrap_or(rows);
        self.step + self.row * (rows - 1) as f64
    }
}

/// Kinds of replies: their texts, and how many of the MTP layer's predictions are right.
#[derive(Clone, Copy, Debug)]
enum Text {
    /// The prompt, with a few other words.
    Edits,
    /// Pairs of words occur again, but mostly continue differently.
    Story,
    /// Numbers.
    Random,
    /// Some of each.
    Mixed,
}

/// Numbers that are random enough, the same in every run.
struct Random(u64);

impl Random {
    /// SplitMix64 (Steele, Lea and Flood, 2014).
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % u64::from(n)) as u32
    }
}

impl Text {
    /// The kind of one reply.
    fn of(self, id: u64) -> Text {
        match self {
            Text::Mixed => [Text::Edits, Text::Story, Text::Random][id as usize % 3],
            text => text,
        }
    }

    /// A prompt with its reply.
    fn tokens(self, random: &mut Random) -> Vec<u32> {
        let mut tokens: Vec<u32> = Vec::new();
        for at in 0..2 * REPLY {
            let last = tokens.last().copied().unwrap_or(0);
            tokens.push(match self {
                Text::Edits if at >= REPLY && random.below(12) > 0 => tokens[at - REPLY],
                Text::Edits => random.below(900),
                // Each word has five that may come next.
                Text::Story => (last * 31 + random.below(5) * 7) % 200,
                Text::Random | Text::Mixed => random.below(40),
            });
        }
        tokens
    }

    /// How many of a hundred predictions are right.
    fn predicted(self) -> u32 {
        match self {
            Text::Edits => 80,
            Text::Story => 92,
            Text::Random | Text::Mixed => 60,
        }
    }
}

/// A reply of a simulation.
struct Reply {
    seed: u64,
    id: u64,
    /// The prompt and the reply.
    tokens: Vec<u32>,
    /// The number of tokens that are known so far.
    len: usize,
    /// The number of tokens that the MTP layer has not seen.
    behind: usize,
    acceptance: Acceptance,
}

impl Reply {
    fn new((seed, id): (u64, u64), text: Text) -> Reply {
        let tokens = text.of(id).tokens(&mut Random(seed << 48 | id << 32));
        Reply { seed, id, tokens, len: REPLY + 1, behind: 1, acceptance: Acceptance::default() }
    }

    fn ask(&self) -> Ask<'_> {
        let most = (self.tokens.len() - self.len - 1).min(ROOM);
        Ask::new(self.id, &self.tokens[..self.len], Vec::new(), most)
    }

    fn is_done(&self) -> bool {
        self.len >= self.tokens.len()
    }

    /// The MTP layer's predictions of the next tokens, and the kind of the first: the same whoever asks for them. Each is right a little
    /// less often than the one before.
    fn predictions(&self, text: Text, depth: usize) -> (Vec<u32>, usize) {
        let mut random = Random(self.seed << 48 | self.id << 32 | 1 << 24 | self.len as u64);
        let mut kind = 0;
        let mut predict = |place: usize| {
            let right = random.below(100) < text.of(self.id).predicted() - 4 * place as u32;
            // Those that are right are clear more often.
            let margin = random.below(3).max(u32::from(right)) as usize;
            if place == 0 {
                kind = BY_MARGIN[margin].1;
            }
            self.tokens.get(self.len + place).copied().filter(|_| right).unwrap_or(999)
        };
        let depth = depth.min(self.tokens.len() - self.len);
        ((0..depth).map(&mut predict).collect(), kind)
    }
}

/// A simulated case.
#[derive(Clone, Copy, Debug)]
struct Case {
    device: Device,
    text: Text,
    /// The replies at once, and in all.
    together: usize,
    count: u64,
    seed: u64,
}

/// The time of all replies.
fn run(case: Case, mut speculation: Speculation) -> f64 {
    let Case { device, text, together, count, seed } = case;
    let mut random = Random(1);
    // Nothing takes the same time twice.
    let mut noise = |time: f64| time * (0.97 + 0.0006 * f64::from(random.below(100)));
    let mut time = 0.0;
    let mut next = together as u64;
    let mut going: Vec<Reply> = (0..next).map(|id| Reply::new((seed, id), text)).collect();
    while !going.is_empty() {
        let mut guesses = speculation.draft(going.iter().map(Reply::ask).collect(), 1000);
        let acceptance: Vec<&Acceptance> = going.iter().map(|reply| &reply.acceptance).collect();
        let room = ROOM + 1 - going.len();
        let rows: usize = going.iter().map(|reply| reply.behind).sum();
        if let Some((all, each)) = device.predictions
            && let depth = speculation.predictions_wanted(&guesses, &acceptance, room, rows)
            && depth > 0
        {
            let further = (all + each * going.len() as f64) * (depth - 1) as f64;
            let took = noise(all + each * rows as f64 + further);
            time += took;
            speculation.predicted(rows, (depth - 1, going.len()), Duration::from_secs_f64(took / 1e6));
            for (reply, guess) in going.iter().zip(&mut guesses) {
                guess.predicted = Some(reply.predictions(text, depth));
            }
        }
        speculation.decide(&mut guesses, &acceptance, room);
        let rows = going.len() + guesses.iter().map(|guess| guess.tokens.len()).sum::<usize>();
        let took = noise(device.step(rows) + device.reply * going.len() as f64);
        time += took;
        for (reply, guess) in going.iter_mut().zip(&guesses) {
            let guessed = guess.tokens.len();
            let chosen = &reply.tokens[reply.len..];
            let accepted = guess.tokens.iter().zip(chosen).take_while(|(a, b)| a == b).count();
            if guessed > 0 {
                let verdict = Verdict { accepted, wrong: accepted < guessed };
                speculation.judged(&mut reply.acceptance, guess, guessed, verdict);
            }
            speculation.compare(&mut reply.acceptance, guess, guessed > 0, chosen[0]);
            reply.behind = accepted + 1 + if guess.predicted.is_some() { 0 } else { reply.behind };
            reply.len += accepted + 1;
        }
        speculation.took(rows, Duration::from_secs_f64(took / 1e6));
        for reply in going.iter_mut().filter(|reply| reply.is_done()) {
            speculation.ended(reply.id);
            if next < count {
                *reply = Reply::new((seed, next), text);
                next += 1;
            }
        }
        going.retain(|reply| !reply.is_done());
    }
    time
}

/// The ratio of the best possible time to that of `auto`, which learns everything anew.
fn compared(case: Case) -> f64 {
    let device = case.device;
    let predictions = device.predictions;
    // The estimates are wrong, as they are.
    let steps = (1..=16).map(|rows| 0.7 * (device.step + 1.3 * (device.step(rows) - device.step))).collect();
    let some = |(all, each)| (1..=16).map(|rows| 0.7 * (all + each * f64::from(rows))).collect();
    let learnt = Learnt::new(steps, predictions.map(some).unwrap_or_default());
    let auto = run(case, Speculation::auto(learnt));
    let off = run(case, Speculation::new(None));
    let lookup = run(case, Speculation::lookup());
    let mtp = (1..=MOST_PREDICTED)
        .map(|depth| predictions.map_or(f64::MAX, |_| run(case, Speculation::mtp(depth))));
    let mtp = mtp.fold(f64::MAX, f64::min);
    let share = off.min(lookup).min(mtp) / auto;
    let [lookup, mtp, auto] = [lookup, mtp, auto].map(|time| off / time);
    println!("{case:?}: lookup {lookup:.3}, mtp {mtp:.3}, auto {auto:.3} times off; {share:.4} of the best");
    share
}

#[test]
fn auto_is_at_most_2_percent_behind_the_best() {
    let cpu = Device {
        name: "135 M on a CPU",
        step: 4500.0,
        row: 600.0,
        reply: 0.0,
        programs: false,
        predictions: None,
    };
    let card = Device { reply: 7.0, programs: true, ..cpu };
    let devices = [
        cpu,
        Device {
            name: "glm-small on a CPU",
            step: 410.0,
            row: 75.0,
            predictions: Some((20.0, 180.0)),
            ..cpu
        },
        Device {
            name: "glm-small on a card",
            step: 123.0,
            row: 11.0,
            predictions: Some((45.0, 2.0)),
            ..card
        },
        Device {
            name: "47 layers on a card",
            step: 1600.0,
            row: 450.0,
            predictions: Some((80.0, 10.0)),
            ..card
        },
    ];
    for device in devices {
        for text in [Text::Edits, Text::Story, Text::Random, Text::Mixed] {
            for (together, count) in [(1, 9), (8, 8), (8, 33)] {
                let cases = (0..10).map(|seed| Case { device, text, together, count, seed });
                let shares: Vec<f64> = cases.map(compared).collect();
                let worst = shares.iter().copied().fold(1.0, f64::min);
                let mean = shares.iter().sum::<f64>() / shares.len() as f64;
                let what = format!("{}, {text:?}, {together} together, {count} in all", device.name);
                println!("{what}: {mean:.4} of the best, {worst:.4} at worst");
                // Where eight replies are all that there is, learning is a larger part.
                if count == 8 {
                    assert!(mean > 0.95, "{what}: {mean}");
                } else {
                    assert!(worst > 0.98, "{what}: {worst}");
                }
            }
        }
    }
}
