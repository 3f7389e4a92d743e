//! SentencePiece against llama.cpp, with the vocabularies of Llama 2 and Phi 3 cut down to what some texts need
//! (`pieces/make.py`), and on small vocabularies.

use serde_json::Value;
use weft_text::{EncodeOptions, RenderedPrompt, Tokenizer, TokenizerError, TokenizerSpec};

const PLAIN: EncodeOptions = EncodeOptions { parse_special: false, add_special: false };
const PARSE: EncodeOptions = EncodeOptions { parse_special: true, add_special: false };
const FULL: EncodeOptions = EncodeOptions { parse_special: true, add_special: true };

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
}

#[test]
fn encodes_as_llama_cpp() {
    let golden: Value = serde_json::from_str(include_str!("../pieces/golden.json")).unwrap();
    for vocabulary in golden.as_array().unwrap() {
        let length = vocabulary["vocabulary_length"].as_u64().unwrap() as usize;
        // Tokens that were cut are there, but unused.
        let (mut tokens, mut types) = (vec![&b""[..]; length], vec![5; length]);
        let mut scores = vec![0.0; length];
        for token in vocabulary["tokens"].as_array().unwrap() {
            let id = token[0].as_u64().unwrap() as usize;
            tokens[id] = token[1].as_str().unwrap().as_bytes();
            types[id] = token[2].as_i64().unwrap() as i32;
            scores[id] = token[3].as_f64().unwrap() as f32;
        }
        let spec = TokenizerSpec {
            model: "llama",
            tokens,
            token_types: Some(types),
            scores: Some(scores),
            add_space_prefix: vocabulary["add_space_prefix"].as_bool(),
            strip_after_special: vocabulary["strip_after_special"].as_bool().unwrap(),
            ..TokenizerSpec::default()
        };
        let tokenizer = Tokenizer::new(&spec).unwrap();
        let cases = vocabulary["cases"].as_array().unwrap();
        assert!(cases.len() > 50);
        for case in cases {
            let text = case["text"].as_str().unwrap();
            let plain = ids(&case["plain"]);
            assert_eq!(tokenizer.encode(text, PLAIN), plain, "{length}: {text:?}");
            assert_eq!(tokenizer.encode(text, PARSE), ids(&case["special"]), "{length}, special: {text:?}");
            let fewest = tokenizer.fewest_tokens(text);
            assert!(fewest <= plain.len() && fewest <= ids(&case["special"]).len(), "{length}: {text:?}");
            // Only SentencePiece's own space does not survive.
            if !spec.strip_after_special {
                assert_eq!(tokenizer.decode(&plain, false), text.replace('▁', " "), "{length}");
            }
        }
    }
}

/// Tokens with their types and scores.
fn spec<'a>(tokens: &[(&'a str, i32, f32)]) -> TokenizerSpec<'a> {
    TokenizerSpec {
        model: "llama",
        tokens: tokens.iter().map(|(token, _, _)| token.as_bytes()).collect(),
        token_types: Some(tokens.iter().map(|(_, kind, _)| *kind).collect()),
        scores: Some(tokens.iter().map(|(_, _, score)| *score).collect()),
        ..TokenizerSpec::default()
    }
}

const TOKENS: [(&str, i32, f32); 12] = [
    ("<unk>", 2, 0.0),
    ("<s>", 3, 0.0),
    ("</s>", 3, 0.0),
    ("<0xC3>", 6, 0.0),
    ("▁", 1, -9.0),
    ("a", 1, -8.0),
    ("b", 1, -7.0),
    ("ab", 1, -3.0),
    ("ba", 1, -2.0),
    ("▁a", 1, -2.0),
    ("aba", 1, -1.0),
    ("[X]", 4, 0.0),
];

#[test]
fn merges_by_score_and_from_the_left() {
    let tokenizer =
        Tokenizer::new(&TokenizerSpec { add_space_prefix: Some(false), ..spec(&TOKENS) }).unwrap();
    // `ba` before `ab`; then `a` and `ba` are `aba`.
    assert_eq!(tokenizer.encode("aba", PLAIN), [10]);
    assert_eq!(tokenizer.encode("bab", PLAIN), [8, 6]);
    // Of two equal pairs, the left one.
    assert_eq!(tokenizer.encode("baba", PLAIN), [8, 8]);
    assert_eq!(tokenizer.encode(" a▁a", PLAIN), [9, 9]);
    assert_eq!(tokenizer.encode("", PLAIN), [0; 0]);
    assert_eq!(tokenizer.decode(&[9, 9], false), " a a", "no prefix to drop");
}

#[test]
fn characters_without_a_token_are_bytes_or_unknown() {
    let tokenizer = Tokenizer::new(&spec(&TOKENS)).unwrap();
    // One of two bytes has no token.
    assert_eq!(tokenizer.encode("aéz", PLAIN), [9, 0, 0]);
    let mut tokens = TOKENS.to_vec();
    tokens.push(("<0xA9>", 6, 0.0));
    let tokenizer = Tokenizer::new(&spec(&tokens)).unwrap();
    assert_eq!(tokenizer.encode("aé", PLAIN), [9, 3, 12]);
    assert_eq!(tokenizer.decode(&[9, 3, 12], false), "aé");
}

#[test]
fn text_that_follows_a_special_token_begins_with_a_space() {
    let tokenizer = Tokenizer::new(&spec(&TOKENS)).unwrap();
    assert_eq!(tokenizer.encode("a</s>a[X]a", FULL), [1, 9, 2, 9, 11, 9]);
    assert_eq!(tokenizer.encode("<s>", FULL), [1, 1]);
    assert_eq!(tokenizer.decode(&[1, 9, 2], true), "a");
    assert_eq!(tokenizer.decode(&[1, 9, 2], false), "<s> a</s>");
    assert_eq!(tokenizer.encode_chat(&RenderedPrompt::trusted("<s>a")), [1, 9], "one BOS");
    assert_eq!(tokenizer.encode_chat(&RenderedPrompt::trusted("a")), [1, 9]);
    assert_eq!((tokenizer.bos_text(), tokenizer.end_of_generation()), (Some("<s>"), &[2][..]));

    let strip = Tokenizer::new(&TokenizerSpec { strip_after_special: true, ..spec(&TOKENS) }).unwrap();
    assert_eq!(strip.encode("</s>\n \ta", PARSE), [2, 9]);
    assert_eq!(strip.encode("</s>\n", PARSE), [2]);
    assert_eq!(strip.encode("<s> a", PARSE), [1, 4, 9]);
}

#[test]
fn a_long_text_is_not_slow() {
    // Quadratic time would take minutes.
    let tokenizer = Tokenizer::new(&spec(&TOKENS)).unwrap();
    assert_eq!(tokenizer.encode(&"ba".repeat(200_000), PLAIN).len(), 200_001);
}

#[test]
fn errors_say_what_is_wrong() {
    let error = |spec: &TokenizerSpec<'_>| Tokenizer::new(spec).unwrap_err();
    assert!(matches!(error(&TokenizerSpec { scores: None, ..spec(&TOKENS) }), TokenizerError::NoScores));
    let short = error(&TokenizerSpec { scores: Some(vec![0.0]), ..spec(&TOKENS) });
    assert_eq!(short.to_string(), "1 scores for 12 tokens: expected one for each token");
    let unigram = error(&TokenizerSpec { model: "t5", ..spec(&TOKENS) });
    assert!(unigram.to_string().starts_with("tokenizer model \"t5\" is not supported: expected \"gpt2\""));
    // Not even the defaults of special tokens are in a vocabulary of one.
    let one = Tokenizer::new(&spec(&TOKENS[5..6])).unwrap();
    assert_eq!((one.encode("aa", FULL), one.bos_text()), (vec![0, 0, 0], None));
}
