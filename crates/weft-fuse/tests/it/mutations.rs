//! Texts with random damage: parsers, verifiers and the fuser return a value or an error and never panic.

use std::path::Path;

use crate::include::included;
use weft_ir::Sizes;
use weft_random::Random;

/// Replacements of words: extreme numbers, other names, nothing.
const WORDS: [&str; 18] = [
    "0",
    "1",
    "2",
    "3",
    "31",
    "32",
    "4294967296",
    "18446744073709551615",
    "-1",
    "%0",
    "%3",
    "p0",
    "v1",
    "b2",
    "T",
    "q8_0",
    "f16",
    "",
];

/// A text with some of its words, as the text form splits them, replaced.
fn damaged(text: &str, random: &mut Random) -> String {
    let mut words: Vec<&str> = text.split_inclusive([' ', '\n', '[', ']', '=', ',', ';', '%']).collect();
    for _ in 0..1 + random.below(3) {
        let at = random.below(words.len());
        let end = words[at].len().saturating_sub(1);
        let separator = words[at].get(end..).unwrap_or("");
        words[at] = WORDS[random.below(WORDS.len())];
        words.insert(at + 1, separator);
    }
    words.concat()
}

fn texts() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests");
    let mut texts = Vec::new();
    for stage in ["ir", "fuse", "kernels"] {
        for entry in std::fs::read_dir(root.join(stage)).unwrap() {
            let content = included(&std::fs::read_to_string(entry.unwrap().path()).unwrap());
            let without_headers: Vec<&str> = content.lines().filter(|l| !l.starts_with("test ")).collect();
            texts.extend(without_headers.join("\n").split("\n---\n").map(str::to_string));
        }
    }
    texts.sort();
    texts
}

#[test]
fn damaged_texts_are_refused_or_read() {
    read_damaged(2000);
}

#[test]
#[ignore = "slow"]
fn many_damaged_texts_are_refused_or_read() {
    read_damaged(100_000);
}

/// Reads each text with so many damages.
fn read_damaged(times: usize) {
    let (mut graphs, mut plans, mut refused) = (0, 0, 0);
    for text in texts() {
        // The damage to one text does not depend on the others.
        let mut random = Random::new(
            text.bytes().fold(42, |seed, byte| 31u64.wrapping_mul(seed).wrapping_add(byte.into())),
        );
        for _ in 0..times {
            let text = damaged(&text, &mut random);
            match (weft_ir::parse(&text), weft_kern::parse_plan(&text)) {
                (Ok(graph), _) => {
                    graphs += 1;
                    assert_eq!(weft_ir::parse(&graph.to_string()).as_ref(), Ok(&graph), "{text}");
                    let max = Sizes::of(4).rows(2).slots(64).pages(2).sequences(2);
                    if let Err(weft_fuse::FuseError::Plan(wrong)) = weft_fuse::fuse(&graph, &max) {
                        panic!("{wrong}\n{text}");
                    }
                }
                (_, Ok(plan)) => {
                    plans += 1;
                    assert_eq!(weft_kern::parse_plan(&plan.to_string()).as_ref(), Ok(&plan), "{text}");
                }
                _ => refused += 1,
            }
        }
    }
    // Each case must be frequent, or this tests nothing.
    assert!(
        graphs > 100 && plans > 100 && refused > 1000,
        "{graphs} graphs, {plans} plans, {refused} refused"
    );
}
