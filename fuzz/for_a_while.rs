//! Fuzzing on stable Rust: mutates inputs for a while, and keeps those that show something new.
//!
//! Tests of the crates include this file with `#[path]` and are ignored by default. They stop at the first failure and
//! save its input in `fuzz/artifacts/NAME/`.
//! - `WEFT_FUZZ_SECONDS` says for how long; 20 by default.
//! - With `WEFT_FUZZ_KEEP` set, `fuzz/corpus/NAME/`, which the targets for `cargo fuzz` share, is replaced by the shortest
//!   inputs that show everything seen so far.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The longest input, in bytes.
const LONGEST: usize = 2048;

/// Makes an input of two others. The last argument returns a random number below its own argument.
pub(crate) type Vary<'a> = &'a dyn Fn(&[u8], &[u8], &mut dyn FnMut(usize) -> usize) -> Vec<u8>;

/// The code that is fuzzed.
pub(crate) struct Target<'a> {
    /// The folder of its corpus.
    pub(crate) name: &'a str,
    /// Inputs to begin with, in addition to the corpus.
    pub(crate) seeds: Vec<Vec<u8>>,
    /// The texts that mutations insert.
    pub(crate) words: Vec<Vec<u8>>,
    /// Makes half of the inputs out of others, where mutations of bytes would break the form of nearly all.
    pub(crate) vary: Option<Vary<'a>>,
    /// Checks an input, and returns numbers that say what happened; an input with a new one is kept.
    pub(crate) check: &'a dyn Fn(&[u8]) -> Vec<u64>,
}

/// The inputs that were kept for a target.
pub(crate) fn corpus(name: &str) -> Vec<Vec<u8>> {
    files(&folder("corpus", name)).iter().map(|path| fs::read(path).expect("a file of the corpus")).collect()
}

fn folder(kind: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(kind).join(name)
}

/// Fuzzes a target. Prints how many inputs it tried.
///
/// # Panics
/// With the panic of the check, if one fails.
pub(crate) fn fuzz(target: &Target<'_>) {
    let seconds =
        std::env::var("WEFT_FUZZ_SECONDS").map_or(20, |text| text.parse().expect("seconds: a number"));
    let keep = std::env::var_os("WEFT_FUZZ_KEEP").is_some();
    let artifacts = folder("artifacts", target.name);

    let mut inputs = target.seeds.clone();
    inputs.extend(corpus(target.name));
    let mut seen = BTreeSet::new();
    for input in &inputs {
        seen.extend(checked(target, input, &artifacts));
    }
    assert!(!inputs.is_empty(), "{}: no inputs to begin with", target.name);

    let started = Instant::now();
    let mut random = Random(started.elapsed().subsec_nanos().into());
    random.0 ^= std::time::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_nanos() as u64);
    let (known, mut tried) = (inputs.len(), 0_u64);
    while started.elapsed() < Duration::from_secs(seconds) {
        for _ in 0..64 {
            let input = match target.vary {
                Some(vary) if random.below(2) == 0 => {
                    let [one, other] = [(); 2].map(|()| &inputs[random.below(inputs.len())]);
                    let mut input = vary(one, other, &mut |limit| random.below(limit));
                    input.truncate(LONGEST);
                    input
                }
                _ => mutate(&inputs, &target.words, &mut random),
            };
            tried += 1;
            let found = checked(target, &input, &artifacts);
            if found.iter().any(|feature| !seen.contains(feature)) {
                seen.extend(found);
                inputs.push(input);
            }
        }
    }
    let new = inputs.len() - known;
    println!("{}: {tried} inputs in {seconds} s, {} things seen, {new} new inputs", target.name, seen.len());
    if keep {
        let folder = folder("corpus", target.name);
        let old = files(&folder);
        let kept: Vec<PathBuf> = shortest(target, inputs).iter().map(|input| save(&folder, input)).collect();
        old.iter()
            .filter(|path| !kept.contains(path))
            .for_each(|path| fs::remove_file(path).expect("a file"));
    }
}

/// The inputs without those that show nothing that shorter ones do not.
fn shortest(target: &Target<'_>, mut inputs: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    inputs.sort_by_key(Vec::len);
    let mut seen = BTreeSet::new();
    inputs.retain(|input| {
        (target.check)(input).into_iter().fold(false, |new, feature| seen.insert(feature) | new)
    });
    inputs
}

fn checked(target: &Target<'_>, input: &[u8], artifacts: &Path) -> Vec<u64> {
    catch_unwind(AssertUnwindSafe(|| (target.check)(input))).unwrap_or_else(|panic| {
        println!("{}: the input is in {}", target.name, save(artifacts, input).display());
        resume_unwind(panic)
    })
}

/// Writes an input to a file named after its hash.
fn save(folder: &Path, input: &[u8]) -> PathBuf {
    let hash = input.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let path = folder.join(format!("{hash:016x}"));
    fs::create_dir_all(folder).expect("a folder for inputs");
    fs::write(&path, input).expect("a file for an input");
    path
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry of a folder").path()).collect();
    files.sort();
    files
}

fn mutate(inputs: &[Vec<u8>], words: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = inputs[random.below(inputs.len())].clone();
    for _ in 0..=random.below(5) {
        let from = random.below(input.len() + 1);
        let to = (from + random.below(24)).min(input.len());
        let inserted = match random.below(8) {
            0 => Vec::new(),
            1 => vec![random.below(256) as u8],
            2 => input[from..to].repeat(2),
            3 => {
                let other = &inputs[random.below(inputs.len())];
                let begin = random.below(other.len() + 1);
                other[begin..(begin + random.below(64)).min(other.len())].to_vec()
            }
            4 => {
                input.truncate(from);
                continue;
            }
            _ => match words.len() {
                0 => Vec::new(),
                count => words[random.below(count)].clone(),
            },
        };
        // A word replaces something as often as it is added.
        let to = if random.below(2) == 0 { from } else { to };
        input.splice(from..to, inserted);
    }
    input.truncate(LONGEST);
    input
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % limit.max(1) as u64) as usize
    }
}
