//! The tokenizer against HF `tokenizers`, for every pre-tokenizer, on awkward texts.
//!
//! `tests/hf/make.py` writes the expected results; it documents the texts, the vocabulary and the file format.

use std::collections::BTreeMap;
use std::iter::zip;
use std::sync::LazyLock;

use serde_json::Value;
use weft_text::{EncodeOptions, Tokenizer, TokenizerSpec};

const PARSE: EncodeOptions = EncodeOptions { parse_special: true, add_special: false };
const PLAIN: EncodeOptions = EncodeOptions { parse_special: false, add_special: false };

/// A family's tokenizer, and the id of each spelling.
struct Family {
    name: String,
    tokenizer: Tokenizer,
    options: EncodeOptions,
    ids: BTreeMap<Vec<u8>, u32>,
}

/// All families, in the order of the first line of the files.
static FAMILIES: LazyLock<Vec<Family>> = LazyLock::new(|| {
    let vocabulary: Value = serde_json::from_str(include_str!("../hf/vocabulary.json")).unwrap();
    CASES.lines().next().unwrap().split(' ').map(|name| family(name, &vocabulary)).collect()
});
const CASES: &str = include_str!("../hf/cases.txt");
const CHARACTERS: &str = include_str!("../hf/characters.txt");

fn family(name: &str, vocabulary: &Value) -> Family {
    // Kimi's tokenizer is tiktoken, which has no list of merges. Here it has no added tokens either.
    let tiktoken = name == "kimi-k2";
    let list = |key: &str| -> Vec<&[u8]> {
        let items = vocabulary[key].as_array().unwrap().iter();
        items.map(|item| item.as_str().unwrap().as_bytes()).filter(|_| !tiktoken || key == "tokens").collect()
    };
    let (normal, control, user_defined) = (list("tokens"), list("control"), list("user_defined"));
    let mut merges = list("merges");
    if ["llama-bpe", "glm4"].contains(&name) {
        merges.extend(list("other_pairs"));
    }
    let spec = TokenizerSpec {
        model: "gpt2",
        pre: name,
        token_types: Some(
            [vec![1; normal.len()], vec![3; control.len()], vec![4; user_defined.len()]].concat(),
        ),
        tokens: [normal, control, user_defined].concat(),
        merges: Some(merges),
        ..TokenizerSpec::default()
    };
    let tokenizer = Tokenizer::new(&spec).unwrap();
    // Added tokens have the higher ids, so they win over normal tokens with the same bytes, as in encoding.
    let ids = (0..spec.tokens.len() as u32).map(|id| (tokenizer.token_bytes(id).to_vec(), id)).collect();
    Family { name: name.to_owned(), tokenizer, options: if tiktoken { PLAIN } else { PARSE }, ids }
}

impl Family {
    /// The ids of `text` cut into tokens whose lengths in bytes are `digits`.
    fn ids(&self, text: &str, digits: &str) -> Vec<u32> {
        let mut rest = text.as_bytes();
        let token = |digit: char| {
            let token;
            (token, rest) = rest.split_at(digit.to_digit(36).unwrap() as usize);
            self.ids[token]
        };
        let ids = digits.chars().map(token).collect();
        assert_eq!(rest, b"", "{text:?}: {digits}");
        ids
    }

    fn check(&self, text: &str, digits: &str) {
        let ids = self.tokenizer.encode(text, self.options);
        let expected = self.ids(text, digits);
        let spelled = |ids: &[u32]| -> Vec<String> {
            ids.iter().map(|&id| self.tokenizer.token_bytes(id).escape_ascii().to_string()).collect()
        };
        assert!(
            ids == expected,
            "{}: {text:?}\nis {ids:?}\n{:?}\nexpected {expected:?}\n{:?}",
            self.name,
            spelled(&ids),
            spelled(&expected)
        );
        // Every byte has a token, so nothing is lost.
        assert_eq!(self.tokenizer.decode(&ids, false), text, "{}", self.name);
    }
}

#[test]
fn texts() {
    let (mut text, mut texts, mut checked) = (String::new(), 0, 0);
    for line in CASES.lines().skip(1) {
        if line.starts_with('"') {
            text = serde_json::from_str(line).unwrap();
            texts += 1;
            for Family { name, tokenizer, .. } in FAMILIES.iter() {
                assert_eq!(tokenizer.decode(&tokenizer.encode(&text, PLAIN), false), text, "{name}, plain");
            }
            continue;
        }
        let (families, digits) = line.split_once(' ').unwrap();
        for number in families.chars() {
            FAMILIES[number.to_digit(36).unwrap() as usize].check(&text, digits);
            checked += 1;
        }
    }
    assert_eq!(checked, FAMILIES.len() * texts);
}

/// Every character of two planes, between others, since DeepSeek's patterns list ranges of characters.
#[test]
fn characters() {
    let mut seen: Vec<Vec<&str>> = Vec::new();
    let runs: Vec<(u32, Option<usize>)> = CHARACTERS
        .lines()
        .skip(1)
        .map(|line| {
            let (from, written) = line.split_once(' ').unwrap();
            if written.contains(' ') {
                seen.push(written.split(' ').collect());
            }
            let number = match written {
                "-" => None,
                new if new.contains(' ') => Some(seen.len() - 1),
                number => Some(number.parse().unwrap()),
            };
            (u32::from_str_radix(from, 16).unwrap(), number)
        })
        .collect();
    let ends = runs.iter().skip(1).map(|&(from, _)| from).chain([0x2_0000]);
    let mut checked = 0;
    for (&(from, number), end) in zip(&runs, ends) {
        let Some(number) = number else { continue };
        for char in (from..end).map(|char| char::from_u32(char).unwrap()) {
            let text = format!("é{char}9 {char}\n");
            for (family, digits) in zip(FAMILIES.iter(), &seen[number]) {
                family.check(&text, digits);
                checked += 1;
            }
        }
    }
    assert_eq!(checked, FAMILIES.len() * 85_018);
}
