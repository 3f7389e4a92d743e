//! Tests of truncated, corrupted and wrong files: they end in an error with exit code 1, and never in a panic.

use std::fs;

use weft_random::Random;

use crate::support::{FIXTURES, Folder, model, weft};

#[test]
fn truncated_files_are_refused() {
    let folder = Folder::new();
    for name in FIXTURES {
        let bytes = fs::read(model(name)).unwrap();
        let path = folder.join("cut.gguf");
        // The library's own tests cut at every 997th byte; here some of these cuts go through the program.
        let steps = bytes.len() / 997;
        for part in 0..12 {
            let len = 997 * (steps * part / 12);
            fs::write(&path, &bytes[..len]).unwrap();
            let commands: [&[&str]; 3] = [&["inspect"], &["run", "--max-tokens", "1"], &["tokenize"]];
            let command = commands[part % 3];
            let error = weft(
                [command, &[path.to_str().unwrap(), "hi"][..if part % 3 == 0 { 1 } else { 2 }]].concat(),
            );
            let error = error.run().failed(1);
            assert!(
                error.starts_with("weft: ") && error.contains("cut.gguf"),
                "{name} cut at {len}: {error}"
            );
        }
    }
}

#[test]
fn a_corrupted_header_runs_or_ends_in_an_error() {
    let folder = Folder::new();
    let mut random = Random::new(1);
    for name in FIXTURES {
        let bytes = fs::read(model(name)).unwrap();
        let path = folder.join("changed.gguf");
        for round in 0..10 {
            let mut changed = bytes.clone();
            for _ in 0..=random.below(8) {
                let (at, byte) = (random.below(4096), random.below(256));
                changed[at] = byte as u8;
            }
            fs::write(&path, &changed).unwrap();
            let ran =
                weft(["run", path.to_str().unwrap(), "hi", "--max-tokens", "1", "--context", "64"]).run();
            assert!(matches!(ran.code, Some(0 | 1)), "{name}, round {round}: {ran:?}");
            assert_eq!(ran.code == Some(1), ran.err.starts_with("weft: "), "{name}, round {round}: {ran:?}");
        }
    }
}

#[test]
fn other_kinds_of_files_are_recognised() {
    let folder = Folder::new();
    for (bytes, said) in [
        (&b""[..], "empty"),
        (b"<!DOCTYPE html>", "web page"),
        (b"version https://git-lfs.github.com/spec/v1", "Git LFS"),
        (b"PK\x03\x04", "zip"),
    ] {
        let path = folder.join("other.gguf");
        fs::write(&path, bytes).unwrap();
        let error = weft(["inspect", path.to_str().unwrap()]).run().failed(1);
        assert!(error.contains(said), "{error}");
    }
}
