//! The tokenizer against HF `tokenizers`, for every pre-tokenizer and on text chosen to be awkward.
//!
//! The vocabulary is trained here, on whole lines: its tokens cross the borders of words, so that a word cut in another
//! place shows in the ids. The pipelines below are those of the models' `tokenizer.json`, word for word, and share
//! nothing with the table under test.

mod corpus;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use proptest::prelude::*;
use serde_json::{Value, json};
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::{
    AddedToken, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer as _, Trainer as _,
};
use weft_text::{EncodeOptions, Tokenizer, TokenizerSpec};

/// The vocabulary shared by all tests.
struct Vocabulary {
    tokens: Vec<String>,
    ids: BTreeMap<String, u32>,
    merges: Vec<String>,
    /// All pairs of tokens that make up a third, as vocabularies list them that were converted from tiktoken's format.
    all_pairs: Vec<String>,
}

const CONTROL: &[&str] = &["<|im_start|>", "<|im_end|>", "<|im", "<s>", "[gMASK]", "<｜end▁of▁sentence｜>"];
const USER_DEFINED: &[&str] = &["<think>", "    ", "é!"];

fn vocabulary() -> &'static Vocabulary {
    static VOCABULARY: OnceLock<Vocabulary> = OnceLock::new();
    VOCABULARY.get_or_init(|| {
        let mut trainer = BpeTrainer::builder()
            .show_progress(false)
            .vocab_size(1500)
            .min_frequency(2)
            .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
            .build();
        let spaces = ["    \n\n\n  12345678 ", "\t\t\t .\n\n", "\r\n\r\n  "];
        let lines = corpus::TRAINING.split_inclusive('\n').chain(spaces).flat_map(|line| [line, line]);
        let alphabet = ByteLevel::new(false, true, false);
        trainer
            .feed(lines, |line| {
                let mut text = PreTokenizedString::from(line);
                alphabet.pre_tokenize(&mut text)?;
                Ok(pieces(&text))
            })
            .unwrap();
        let mut bpe = BPE::default();
        trainer.train(&mut bpe).unwrap();
        let saved = serde_json::to_value(&bpe).unwrap();
        let trained: BTreeMap<String, u32> = serde_json::from_value(saved["vocab"].clone()).unwrap();
        let mut tokens = vec![String::new(); trained.len()];
        for (token, id) in trained {
            tokens[id as usize] = token;
        }
        // The last byte of é and the space merge with any byte after them, before all else: so every cut shows.
        let mut merges = Vec::new();
        for first in ["©", "Ġ"] {
            for second in ByteLevel::alphabet().into_iter().collect::<BTreeSet<_>>() {
                merges.push(format!("{first} {second}"));
                let token = format!("{first}{second}");
                if !tokens.contains(&token) {
                    tokens.push(token);
                }
            }
        }
        for pair in saved["merges"].as_array().unwrap() {
            let merge = format!("{} {}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap());
            if !merges.contains(&merge) {
                merges.push(merge);
            }
        }
        let ids: BTreeMap<String, u32> = tokens.iter().cloned().zip(0..).collect();
        let split_in_two = tokens.iter().flat_map(|token| pairs_of(token, &ids));
        let all_pairs =
            merges.iter().cloned().chain(split_in_two.filter(|pair| !merges.contains(pair))).collect();
        Vocabulary { tokens, ids, merges, all_pairs }
    })
}

fn pairs_of(token: &str, ids: &BTreeMap<String, u32>) -> Vec<String> {
    let cuts = token.char_indices().skip(1).map(|(place, _)| token.split_at(place));
    cuts.filter(|(left, right)| ids.contains_key(*left) && ids.contains_key(*right))
        .map(|(left, right)| format!("{left} {right}"))
        .collect()
}

fn pieces(text: &PreTokenizedString) -> Vec<String> {
    let splits = text.get_splits(OffsetReferential::Original, OffsetType::Byte);
    splits.into_iter().map(|(piece, _, _)| piece.to_owned()).collect()
}

fn ours(pre: &str, merges: &[String], control: &[&str], user_defined: &[&str]) -> Tokenizer {
    let tokens = &vocabulary().tokens;
    let added = control.iter().chain(user_defined).map(|token| token.as_bytes());
    let spec = TokenizerSpec {
        model: "gpt2",
        pre,
        tokens: tokens.iter().map(|token| token.as_bytes()).chain(added).collect(),
        token_types: Some(
            [vec![1; tokens.len()], vec![3; control.len()], vec![4; user_defined.len()]].concat(),
        ),
        merges: Some(merges.iter().map(|merge| merge.as_bytes()).collect()),
        ..TokenizerSpec::default()
    };
    Tokenizer::new(&spec).unwrap()
}

fn theirs(pipeline: &Value, merges: &[String], ignore_merges: bool) -> tokenizers::Tokenizer {
    let ids = &vocabulary().ids;
    let model = json!({"type": "BPE", "vocab": ids, "merges": merges, "ignore_merges": ignore_merges});
    let mut tokenizer = tokenizers::Tokenizer::new(serde_json::from_str::<BPE>(&model.to_string()).unwrap());
    tokenizer
        .with_pre_tokenizer(Some(serde_json::from_value::<PreTokenizerWrapper>(pipeline.clone()).unwrap()));
    let control = CONTROL.iter().map(|token| AddedToken::from(*token, true));
    let user_defined = USER_DEFINED.iter().map(|token| AddedToken::from(*token, false));
    tokenizer.add_special_tokens(control.collect::<Vec<_>>()).unwrap();
    tokenizer.add_tokens(user_defined.collect::<Vec<_>>()).unwrap();
    tokenizer
}

fn split(pattern: &str) -> Value {
    json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false})
}

/// Splits by pattern, then bytes.
fn splits(patterns: &[&str]) -> Value {
    let bytes =
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    let stages: Vec<Value> = patterns.iter().map(|pattern| split(pattern)).chain([bytes]).collect();
    json!({"type": "Sequence", "pretokenizers": stages})
}

/// The same with digits one by one before the bytes.
fn splits_and_digits(patterns: &[&str]) -> Value {
    let mut pipeline = splits(patterns);
    let stages = pipeline["pretokenizers"].as_array_mut().unwrap();
    stages.insert(patterns.len(), json!({"type": "Digits", "individual_digits": true}));
    pipeline
}

/// HF's own implementation of GPT-2's pattern.
fn gpt2() -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true})
}

const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const DEEPSEEK_LETTERS: &str = r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\x{1F7D}ᾀ-ᾴᾶ-ᾼ\x{1FBE}ῂ-ῄῆ-ῌῐ-\x{1FD3}ῖ-\x{1FDB}ῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\x{2126}ℨ\x{212A}-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+";
const KIMI: &str = r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// A pre-tokenizer by its name in GGUF files and by its pipeline.
struct Family {
    name: &'static str,
    pipeline: Value,
    merges: &'static [String],
    ignore_merges: bool,
}

fn families() -> Vec<Family> {
    let Vocabulary { merges, all_pairs, .. } = vocabulary();
    let family = |name, pipeline| Family { name, pipeline, merges, ignore_merges: false };
    vec![
        Family { name: "llama-bpe", pipeline: splits(&[LLAMA3]), merges: all_pairs, ignore_merges: true },
        Family { name: "glm4", pipeline: splits(&[LLAMA3]), merges: all_pairs, ignore_merges: false },
        family("gpt-2", gpt2()),
        family(
            "smollm",
            json!({"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true}, gpt2()]}),
        ),
        family("qwen2", splits(&[QWEN2])),
        family(
            "deepseek-llm",
            splits_and_digits(&[
                "[\r\n]",
                DEEPSEEK_LETTERS,
                "\\s?[!-/:-~！-／：-～‘-‟　-。]+",
                "\\s+$",
                "[一-龥ࠀ-一가-퟿]+",
            ]),
        ),
        family(
            "deepseek-coder",
            splits_and_digits(&["[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", "[一-龥ࠀ-一가-퟿]+"]),
        ),
        family(
            "deepseek-v3",
            splits(&[
                "\\p{N}{1,3}",
                "[一-龥぀-ゟ゠-ヿ]+",
                "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
            ]),
        ),
        family(
            "default",
            json!({"type": "Sequence", "pretokenizers": [
                split(r"[\p{P}\$\+<=>\^~\|]+"), gpt2_split(), split(r"\p{N}+"), split("[0-9][0-9][0-9]"),
                {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
            ]}),
        ),
    ]
}

fn gpt2_split() -> Value {
    split(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
}

/// All pairs of tokenizers that must agree.
fn pairs() -> &'static [(&'static str, Tokenizer, tokenizers::Tokenizer)] {
    static PAIRS: OnceLock<Vec<(&str, Tokenizer, tokenizers::Tokenizer)>> = OnceLock::new();
    PAIRS.get_or_init(|| {
        let pair = |family: Family| {
            let Family { name, pipeline, merges, ignore_merges } = family;
            (name, ours(name, merges, CONTROL, USER_DEFINED), theirs(&pipeline, merges, ignore_merges))
        };
        families().into_iter().map(pair).collect()
    })
}

const PARSE: EncodeOptions = EncodeOptions { parse_special: true, add_special: false };
const PLAIN: EncodeOptions = EncodeOptions { parse_special: false, add_special: false };

fn assert_same(text: &str) {
    for (name, ours, theirs) in pairs() {
        let ids = ours.encode(text, PARSE);
        assert_eq!(ids, theirs.encode(text, false).unwrap().get_ids(), "{name}: {text:?}");
        // Every byte has a token, so nothing is lost.
        assert_eq!(ours.decode(&ids, false), text, "{name}");
        assert_eq!(ours.decode(&ours.encode(text, PLAIN), false), text, "{name}, plain");
    }
}

#[test]
fn the_corpus() {
    assert_same(corpus::TRAINING);
    corpus::AWKWARD.iter().for_each(|text| assert_same(text));
    assert_same(&corpus::AWKWARD.concat());
}

/// DeepSeek's patterns list ranges of characters: here is each character of those parts of Unicode, between others.
#[test]
fn listed_characters() {
    let scripts = [0..0x3100, 0xA600..0xAC02, 0xFA00..0x1_0000, 0x1_0400..0x1_0D00, 0x1_1880..0x1_1900];
    let edges = [0x4DFF..0x4E02, 0x9FA4..0x9FA8, 0xABFF..0xAC02, 0xD7A2..0xD800, 0x1_E900..0x1_E960];
    let chars = scripts.into_iter().chain(edges).flatten().filter_map(char::from_u32);
    let text: String = chars.map(|c| format!("é{c}9 {c}\n")).collect();
    for (name, ours, theirs) in pairs().iter().filter(|(name, ..)| name.starts_with("deepseek")) {
        let expected = theirs.encode(text.as_str(), false).unwrap();
        assert_eq!(ours.encode(&text, PARSE), expected.get_ids(), "{name}");
    }
}

/// Text made of fragments that patterns treat differently, and of any characters.
fn text() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        4 => prop::sample::select(corpus::FRAGMENTS).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => (prop::sample::select(corpus::FRAGMENTS), 1..20usize).prop_map(|(fragment, n)| fragment.repeat(n)),
    ];
    prop::collection::vec(fragment, 0..30).prop_map(|fragments| fragments.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_text(text in text()) {
        assert_same(&text);
    }

    #[test]
    fn kimi_like_tiktoken(text in text()) {
        assert_like_tiktoken(&text);
    }
}

#[test]
fn kimi_on_the_corpus() {
    corpus::AWKWARD.iter().for_each(|text| assert_like_tiktoken(text));
    assert_like_tiktoken(corpus::TRAINING);
}

/// Kimi's tokenizer is tiktoken: a word that is a token is taken whole, and of two neighbours whose bytes are a token
/// those with the lowest id merge first. HF `tokenizers` has only the cutting into words.
fn assert_like_tiktoken(text: &str) {
    static KIMI_PAIR: OnceLock<(Tokenizer, PreTokenizerWrapper)> = OnceLock::new();
    let (ours, words) = KIMI_PAIR.get_or_init(|| {
        let words = serde_json::from_value(splits(&[KIMI])).unwrap();
        (ours("kimi-k2", &[], &[], &[]), words)
    });
    let find = |spelling: &str| vocabulary().ids.get(spelling).copied();
    let mut expected = Vec::new();
    let mut pre_tokenized = PreTokenizedString::from(text);
    words.pre_tokenize(&mut pre_tokenized).unwrap();
    for (word, _, _) in pre_tokenized.get_splits(OffsetReferential::Normalized, OffsetType::Byte) {
        let mut parts: Vec<String> = match find(word) {
            Some(_) => vec![word.to_owned()],
            None => word.chars().map(String::from).collect(),
        };
        let best = |parts: &[String]| {
            let pair = |(place, pair): (usize, &[String])| Some((find(&pair.concat())?, place));
            parts.windows(2).enumerate().filter_map(pair).min()
        };
        while let Some((_, place)) = best(&parts) {
            let right = parts.remove(place + 1);
            parts[place].push_str(&right);
        }
        expected.extend(parts.iter().map(|part| find(part).unwrap()));
    }
    assert_eq!(ours.encode(text, PLAIN), expected, "{text:?}");
}
