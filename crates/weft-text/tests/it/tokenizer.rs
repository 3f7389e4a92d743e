//! The tokenizer on small vocabularies, right and wrong.

use proptest::prelude::*;
use weft_text::{
    ChatTemplate, EncodeOptions, Message, RenderedPrompt, TemplateError, Tokenizer, TokenizerError,
    TokenizerSpec,
};

use crate::support::bytes_and;

const PLAIN: EncodeOptions = EncodeOptions { parse_special: false, add_special: false };
const PARSE: EncodeOptions = EncodeOptions { parse_special: true, add_special: false };
const FULL: EncodeOptions = EncodeOptions { parse_special: true, add_special: true };

const NORMAL: i32 = 1;
const UNKNOWN: i32 = 2;
const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;
const UNUSED: i32 = 5;
const BYTE: i32 = 6;

/// A spec of tokens, each with its type, and merges.
fn spec<'a>(tokens: &[(&'a str, i32)], merges: &[&'a str]) -> TokenizerSpec<'a> {
    TokenizerSpec {
        model: "gpt2",
        pre: "gpt-2",
        tokens: tokens.iter().map(|(token, _)| token.as_bytes()).collect(),
        token_types: Some(tokens.iter().map(|&(_, kind)| kind).collect()),
        merges: Some(merges.iter().map(|merge| merge.as_bytes()).collect()),
        ..TokenizerSpec::default()
    }
}

fn abc() -> TokenizerSpec<'static> {
    let tokens = [
        ("a", NORMAL),
        ("b", NORMAL),
        ("c", NORMAL),
        ("Ġ", NORMAL),
        ("ab", NORMAL),
        ("Ġab", NORMAL),
        ("bc", NORMAL),
        ("<s>", CONTROL),
        ("</s>", CONTROL),
        ("<u>", USER_DEFINED),
    ];
    TokenizerSpec { bos: Some(7), eos: Some(8), ..spec(&tokens, &["a b", "Ġ ab", "b c"]) }
}

#[test]
fn may_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Tokenizer>();
    shared::<ChatTemplate>();
}

#[test]
fn merges_by_rank_and_from_the_left() {
    let tokenizer = Tokenizer::new(&abc()).unwrap();
    assert_eq!(tokenizer.encode("abc ab", PLAIN), [4, 2, 5]);
    assert_eq!(tokenizer.encode("bcab", PLAIN), [6, 4]);
    assert_eq!(tokenizer.decode(&[4, 2, 5], false), "abc ab");
}

#[test]
fn special_tokens() {
    let tokenizer = Tokenizer::new(&abc()).unwrap();
    assert_eq!(tokenizer.encode("<s>ab<u>c</s>", PARSE), [7, 4, 9, 2, 8]);
    // Plain text contains only the user-defined token, and the vocabulary cannot spell the others.
    assert_eq!(tokenizer.encode("<s>ab<u>c</s>", PLAIN), [4, 9, 2]);
    assert_eq!(tokenizer.decode(&[7, 4, 9, 8], true), "ab<u>");
    assert_eq!(tokenizer.decode(&[7, 4, 9, 8], false), "<s>ab<u></s>");
    assert_eq!([7, 8, 9, 4].map(|id| tokenizer.is_control(id)), [true, true, false, false]);
    assert_eq!(
        ["<s>", " ab", "Ġab", "<u>"].map(|text| tokenizer.find(text)),
        [Some(7), Some(5), None, Some(9)]
    );
}

#[test]
fn the_file_or_else_the_family_decides_on_bos_and_eos() {
    let ids = |pre, add_bos, add_eos| {
        let spec = TokenizerSpec { pre, add_bos, add_eos, ..abc() };
        Tokenizer::new(&spec).unwrap().encode("ab", FULL)
    };
    assert_eq!(ids("gpt-2", None, None), [4]);
    assert_eq!(ids("gpt-2", Some(true), Some(true)), [7, 4, 8]);
    assert_eq!(ids("llama-bpe", None, None), [7, 4]);
    assert_eq!(ids("llama-bpe", Some(false), None), [4]);
    let without = TokenizerSpec { bos: None, add_bos: Some(true), ..abc() };
    assert_eq!(Tokenizer::new(&without).unwrap().encode("ab", FULL), [4]);
}

#[test]
fn a_chat_has_one_bos() {
    let spec = TokenizerSpec { add_bos: Some(true), add_eos: Some(true), ..abc() };
    let tokenizer = Tokenizer::new(&spec).unwrap();
    assert_eq!(tokenizer.encode_chat(&RenderedPrompt::trusted("<s>ab")), [7, 4]);
    assert_eq!(tokenizer.encode_chat(&RenderedPrompt::trusted("ab</s>ab")), [7, 4, 8, 4]);
    let tokenizer = Tokenizer::new(&TokenizerSpec { add_bos: Some(false), ..abc() }).unwrap();
    assert_eq!(tokenizer.encode_chat(&RenderedPrompt::trusted("ab")), [4]);
}

#[test]
fn a_message_cannot_write_the_bos_token() {
    let spec =
        TokenizerSpec { add_bos: Some(true), chat_template: Some("{{ messages[0].content }}"), ..abc() };
    let tokenizer = Tokenizer::new(&spec).unwrap();
    let template = ChatTemplate::of(&tokenizer).unwrap();
    let prompt = template.render(&[Message::new("user", "<s>ab</s>")], &Default::default()).unwrap();
    assert_eq!(prompt.text(), "<s>ab</s>");
    // The vocabulary cannot spell the rest of the text.
    assert_eq!(tokenizer.encode_chat(&prompt), [7, 4]);
}

#[test]
fn ignore_merges_takes_whole_words() {
    let tokens = [("a", NORMAL), ("b", NORMAL), ("aba", NORMAL)];
    let ids = |ignore_merges| {
        let spec = TokenizerSpec { ignore_merges, ..spec(&tokens, &[]) };
        Tokenizer::new(&spec).unwrap().encode("aba abab", PLAIN)
    };
    assert_eq!(ids(None), [0, 1, 0, 0, 1, 0, 1]);
    assert_eq!(ids(Some(true)), [2, 0, 1, 0, 1]);
}

#[test]
fn bytes_without_a_token() {
    let tokens = [("a", NORMAL), ("<0xC3>", BYTE), ("<0xa9>", BYTE), ("<unk>", UNKNOWN), ("<e>", CONTROL)];
    let with = |unk, eos| Tokenizer::new(&TokenizerSpec { unk, eos, ..spec(&tokens, &[]) }).unwrap();
    let tokenizer = with(Some(3), None);
    assert_eq!(tokenizer.encode("aéz", PLAIN), [0, 1, 2, 3]);
    assert_eq!(tokenizer.token_bytes(1), b"\xC3");
    assert_eq!(tokenizer.decode(&[0, 1, 2], true), "aé");
    assert_eq!(with(None, None).encode("aéz", PLAIN), [0, 1, 2]);
    assert_eq!(
        with(Some(4), Some(4)).encode("aéz", PLAIN),
        [0, 1, 2],
        "the end of text must not replace bytes"
    );
}

#[test]
fn tokens_that_end_a_reply() {
    let tokens = [
        ("<|user|>", CONTROL),
        ("<|observation|>", CONTROL),
        ("<|endoftext|>", CONTROL),
        ("<|im_end|>", USER_DEFINED),
        ("</s>", NORMAL),
        ("x", NORMAL),
        ("y", CONTROL),
    ];
    let ends = |pre, eot| {
        let spec = TokenizerSpec { pre, eot, ..spec(&tokens, &[]) };
        Tokenizer::new(&spec).unwrap().end_of_generation().to_vec()
    };
    assert_eq!(ends("glm4", None), [0, 1, 2, 3]);
    assert_eq!(ends("gpt-2", None), [2, 3], "turn markers are plain text in other families");
    assert_eq!(ends("gpt-2", Some(6)), [2, 3, 6]);
    let messages = [("<|end|>", CONTROL), ("<|return|>", CONTROL), ("<|call|>", CONTROL)];
    let ends = |tokens| Tokenizer::new(&spec(tokens, &[])).unwrap().end_of_generation().to_vec();
    assert_eq!(ends(&messages), [1, 2], "the reasoning of gpt-oss is a message of its own");
    assert_eq!(ends(&messages[..1]), [0]);
    let tokenizer = Tokenizer::new(&spec(&tokens, &[])).unwrap();
    assert!(tokenizer.is_end_of_generation(3) && tokenizer.is_control(3));
    assert!(!tokenizer.is_end_of_generation(4) && !tokenizer.is_end_of_generation(u32::MAX));
}

#[test]
fn tokens_that_begin_another_turn_in_the_template_end_a_reply() {
    let tokens = [
        ("<|user|>", CONTROL),
        ("<|observation|>", USER_DEFINED),
        ("<|assistant|>", CONTROL),
        ("<|im_start|>", CONTROL),
        ("<|system|>", NORMAL),
        ("a", NORMAL),
    ];
    let source = "[gMASK]<|user|>{{ x }}<|observation|><|assistant|><|system|>";
    let with = |pre, chat_template| {
        Tokenizer::new(&TokenizerSpec { pre, chat_template, ..spec(&tokens, &[]) }).unwrap()
    };
    let tokenizer = with("gpt-2", Some(source));
    assert_eq!(tokenizer.end_of_generation(), [0, 1], "normal tokens and the model's own marker do not");
    assert!(tokenizer.is_control(1), "text must not become a token that ends replies");
    assert_eq!(tokenizer.encode("<|observation|>", PLAIN), [5]);
    assert_eq!(with("gpt-2", Some("{{ '<|im_start|>' }}")).end_of_generation(), [3]);
    assert_eq!(with("gpt-2", None).end_of_generation(), [0; 0]);
    assert_eq!(with("glm4", None).end_of_generation(), [0, 1]);
}

#[test]
fn without_types_the_named_tokens_are_control() {
    let tokens = [("a", 0), ("<s>", 0), ("<|im_end|>", 0), ("<x>", 0)];
    let spec = TokenizerSpec { token_types: None, bos: Some(1), ..spec(&tokens, &[]) };
    let tokenizer = Tokenizer::new(&spec).unwrap();
    assert_eq!([0, 1, 2, 3].map(|id| tokenizer.is_control(id)), [false, true, true, false]);
    assert_eq!(tokenizer.encode("<s>a<|im_end|>", PARSE), [1, 0, 2]);
    assert_eq!(tokenizer.end_of_generation(), [2]);
}

#[test]
fn ids_outside_the_vocabulary_have_no_text() {
    let tokenizer = Tokenizer::new(&abc()).unwrap();
    assert_eq!(tokenizer.decode(&[4, 10, u32::MAX], false), "ab");
    assert!(tokenizer.token_bytes(10).is_empty() && !tokenizer.is_control(10));
}

#[test]
fn odd_entries_are_harmless() {
    // Tokens with the same bytes, empty and unused tokens, and merges with no result or a control token as the result.
    let tokens = [("a", NORMAL), ("a", NORMAL), ("", NORMAL), ("", CONTROL), ("b", UNUSED), ("aa", CONTROL)];
    let tokenizer = Tokenizer::new(&spec(&tokens, &["a a", "a zzz", "b b"])).unwrap();
    assert_eq!(tokenizer.encode("aab", PLAIN), [0, 0]);
    assert_eq!(tokenizer.encode("aab", PARSE), [5]);
    assert_eq!(tokenizer.find(""), None);
    assert_eq!(tokenizer.decode(&[4], false), "b");
}

#[test]
fn merges_make_tokens_in_the_alphabet_of_bytes() {
    // Both spell the bytes of the euro sign; command-r has such pairs.
    let tokens = ["€", "â", "Ĥ", "¬", "âĤ", "âĤ¬"].map(|token| (token, NORMAL));
    let tokenizer = Tokenizer::new(&spec(&tokens, &["â Ĥ", "âĤ ¬"])).unwrap();
    assert_eq!(tokenizer.token_bytes(0), tokenizer.token_bytes(5));
    assert_eq!(tokenizer.encode("€", PLAIN), [5]);
}

#[test]
fn a_long_word_is_not_slow() {
    // Quadratic time would take minutes.
    let tokenizer = Tokenizer::new(&abc()).unwrap();
    assert_eq!(tokenizer.encode(&"ab".repeat(500_000), PLAIN).len(), 500_000);
    assert_eq!(tokenizer.encode(&" ".repeat(500_000), PLAIN).len(), 500_000);
}

#[test]
fn a_missing_template_is_an_error() {
    let tokenizer = Tokenizer::new(&abc()).unwrap();
    assert!(matches!(ChatTemplate::of(&tokenizer), Err(TemplateError::Missing)));
    let spec = TokenizerSpec { chat_template: Some("{{ bos_token }}-{{ eos_token }}"), ..abc() };
    let template = ChatTemplate::of(&Tokenizer::new(&spec).unwrap()).unwrap();
    assert_eq!(template.render(&[], &Default::default()).unwrap().text(), "<s>-</s>");
}

#[test]
fn errors_say_what_is_wrong() {
    let error = |spec: &TokenizerSpec<'_>| Tokenizer::new(spec).unwrap_err();
    let cases = [
        (
            TokenizerSpec { model: "bert", ..abc() },
            "tokenizer model \"bert\" is not supported: expected \"gpt2\"",
        ),
        (TokenizerSpec { pre: "nope", ..abc() }, "unknown pre-tokenizer \"nope\": expected one of llama-bpe"),
        (TokenizerSpec { tokens: vec![], ..abc() }, "the vocabulary has 0 tokens"),
        (TokenizerSpec { token_types: Some(vec![1; 9]), ..abc() }, "9 token types for 10 tokens"),
        (TokenizerSpec { token_types: Some(vec![7; 10]), ..abc() }, "token 0 has type 7"),
        (TokenizerSpec { merges: None, ..abc() }, "the vocabulary has no merges"),
        (TokenizerSpec { merges: Some(vec![b"a b", b"ab"]), ..abc() }, "merges[1] is \"ab\""),
        (TokenizerSpec { merges: Some(vec![b"a "]), ..abc() }, "merges[0] is \"a \""),
        (TokenizerSpec { merges: Some(vec![b""]), ..abc() }, "merges[0] is \"\""),
        (TokenizerSpec { merges: Some(vec![b"\xFF a"]), ..abc() }, "merges[0] is not UTF-8"),
        (TokenizerSpec { eot: Some(10), ..abc() }, "the eot token is 10: expected less than 10"),
    ];
    for (spec, expected) in cases {
        let message = error(&spec).to_string();
        assert!(message.starts_with(expected), "{message}");
    }
    for bad in ["<0x-1>", "<0x+A>", "<0xA>", "<0x100>", "<0xGG>", "0x0A", "<0x0A", "", "<0xé>"] {
        let error = error(&spec(&[("a", NORMAL), (bad, BYTE)], &[]));
        assert!(matches!(&error, TokenizerError::ByteToken { id: 1, found } if found == bad), "{error}");
    }
    let mut invalid = abc();
    invalid.tokens[3] = b"\xE4\xBD";
    assert!(error(&invalid).to_string().starts_with("tokens[3] is not UTF-8"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hostile_files_do_not_panic(
        pre in prop::sample::select(vec!["gpt-2", "kimi-k2", "llama-bpe", "glm4", "deepseek-llm", "pieces"]),
        scores in prop::collection::vec(prop_oneof![Just(f32::NAN), Just(0.0), any::<f32>()], 20),
        tokens in prop::collection::vec((r"[ab<>Ġé|▁]{0,3}|<0x[0-9A-F]{2}>|<\|im_end\|>|\PC{0,3}", 1..7i32), 1..20),
        merges in prop::option::of(prop::collection::vec("[ab<>Ġé|]{1,2} [ab<>Ġé|]{1,2}|\\PC{0,4}", 0..20)),
        with_types: bool,
        special in prop::collection::vec(prop::option::of(0..22u32), 6),
        text in "[ab<>é| ▁]{0,40}|\\PC{0,20}",
        options: (bool, bool),
        ids in prop::collection::vec(0..30u32, 0..10),
    ) {
        let spec = TokenizerSpec {
            model: if pre == "pieces" { "llama" } else { "gpt2" },
            pre,
            scores: Some(scores[..tokens.len()].to_vec()),
            strip_after_special: options.0,
            tokens: tokens.iter().map(|(token, _)| token.as_bytes()).collect(),
            token_types: with_types.then(|| tokens.iter().map(|&(_, kind)| kind).collect()),
            merges: merges.as_ref().map(|merges| merges.iter().map(|merge| merge.as_bytes()).collect()),
            bos: special[0], eos: special[1], eot: special[2], eom: special[3], unk: special[4], pad: special[5],
            ..TokenizerSpec::default()
        };
        if let Ok(tokenizer) = Tokenizer::new(&spec) {
            let options = EncodeOptions { parse_special: options.0, add_special: options.1 };
            let encoded = tokenizer.encode(&text, options);
            prop_assert!(encoded.iter().all(|&id| (id as usize) < tokenizer.vocab_len()));
            if options == PLAIN && spec.unk.is_none() && pre != "pieces" {
                prop_assert!(!encoded.iter().any(|&id| tokenizer.is_control(id)), "text became control tokens");
            }
            let _ = tokenizer.decode(&ids, options.parse_special);
        }
    }
}

#[test]
fn the_fewest_tokens_are_found_without_tokenising() {
    // Its longest token is `a<long>`.
    let tokenizer = bytes_and(&[("a<long>", USER_DEFINED), ("<s>", CONTROL)], None, None, None);
    for (text, fewest, tokens) in
        [("", 0, 0), ("a<long>a<long>", 2, 2), ("<s>", 1, 1), ("abcdefgh", 2, 8), (&"€".repeat(7), 3, 21)]
    {
        assert_eq!((tokenizer.fewest_tokens(text), tokenizer.encode(text, FULL).len()), (fewest, tokens));
    }
    // A vocabulary without tokens for some bytes drops them.
    let drops = Tokenizer::new(&abc()).unwrap();
    assert_eq!((drops.fewest_tokens("xyz"), drops.encode("xyz", PLAIN).len()), (0, 0));
    let mixed = "xyza".repeat(9);
    let (fewest, tokens) = (drops.fewest_tokens(&mixed), drops.encode(&mixed, PLAIN).len());
    assert!((1..=tokens).contains(&fewest), "{fewest} of {tokens}");
}

proptest! {
    #[test]
    fn no_text_has_fewer_than_the_fewest_tokens(text in "(a|<s>|<long>|[ \n\t]{0,9}|▁|\\PC){0,60}", of_pieces: bool) {
        let special = [("<long>", USER_DEFINED), ("<s>", CONTROL)];
        let tokenizer = if of_pieces { words() } else { bytes_and(&special, None, None, None) };
        let fewest = tokenizer.fewest_tokens(&text);
        for options in [PLAIN, PARSE, FULL] {
            prop_assert!(fewest <= tokenizer.encode(&text, options).len());
        }
    }
}

/// A vocabulary of SentencePiece, in which white space after a control token is dropped.
fn words() -> Tokenizer {
    let tokens = [
        ("<unk>", UNKNOWN),
        ("<s>", CONTROL),
        ("</s>", CONTROL),
        ("<long>", USER_DEFINED),
        ("▁", NORMAL),
        ("a", NORMAL),
        ("▁a", NORMAL),
        ("▁a▁", NORMAL),
        ("▁▁", NORMAL),
        ("▁▁▁▁", NORMAL),
    ];
    let spec = TokenizerSpec {
        model: "llama",
        tokens: tokens.iter().map(|(token, _)| token.as_bytes()).collect(),
        token_types: Some(tokens.iter().map(|&(_, kind)| kind).collect()),
        scores: Some((0..tokens.len()).map(|at| at as f32).collect()),
        strip_after_special: true,
        ..TokenizerSpec::default()
    };
    Tokenizer::new(&spec).unwrap()
}
