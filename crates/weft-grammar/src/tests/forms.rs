//! Forms other than JSON: patterns and lists of texts.

use weft_random::Random;

use super::support::{Fed, GLM, QWEN, model};
use crate::{GrammarSpec, Reasoning, TextSpec};

fn spec(text: TextSpec) -> GrammarSpec {
    GrammarSpec { reasoning: Reasoning::None, text, calls: None }
}

fn pattern(pattern: &str) -> GrammarSpec {
    spec(TextSpec::Pattern(pattern.into()))
}

fn choice(texts: &[&str]) -> GrammarSpec {
    spec(TextSpec::Choice(texts.iter().map(|&text| text.into()).collect()))
}

#[test]
fn a_pattern_is_matched_as_a_whole() {
    let model = model(QWEN);
    for (expression, valid, invalid) in [
        (r"[a-c]+", &["a", "cab"][..], &["", " a", "a ", "d", "ad"][..]),
        (r"^\d{3}-\d{4}$", &["555-1234"], &["555-123", "x555-1234"]),
        (r"ab|cd", &["ab", "cd"], &["abd", "abcd", "b"]),
        (r"^ab|cd$", &["ab", "cd"], &["abd"]),
        (r"\{\}", &["{}"], &["{ }", "{}}"]),
        (r"a*", &["", "aaa"], &["b"]),
        (r"/a/\d", &["/a/7"], &["/a/"]),
    ] {
        for text in valid {
            assert_eq!(model.feed(&pattern(expression), text), Fed::Complete, "{expression}: {text:?}");
        }
        for text in invalid {
            assert_ne!(model.feed(&pattern(expression), text), Fed::Complete, "{expression}: {text:?}");
        }
    }
}

#[test]
fn a_choice_is_one_of_its_texts_to_the_letter() {
    let model = model(QWEN);
    let texts = ["yes", "no", "not \"now\"\n", "é/\\", ""];
    for text in texts {
        assert_eq!(model.feed(&choice(&texts), text), Fed::Complete, "{text:?}");
    }
    for text in ["y", " yes", "yes ", "noo", "not"] {
        assert_ne!(model.feed(&choice(&texts), text), Fed::Complete, "{text:?}");
    }
    let mut random = Random::new(1);
    for _ in 0..20 {
        let reply = model.sample(&choice(&texts), &mut random, 50).unwrap();
        assert!(texts.contains(&reply.as_str()), "{reply:?}");
    }
}

#[test]
fn both_begin_after_reasoning() {
    let model = model(GLM);
    for mut spec in [pattern("yes|no"), choice(&["yes", "no"])] {
        spec.reasoning = Reasoning::Open { end: "</think>".into() };
        assert_eq!(model.feed(&spec, "Hm</think>yes"), Fed::Complete);
        assert_eq!(model.feed(&spec, "Hm</think>\n\nno"), Fed::Complete);
        assert_eq!(model.feed(&spec, "yes"), Fed::Incomplete);
        spec.reasoning = Reasoning::Optional { begin: "<think>".into(), end: "</think>".into() };
        assert_eq!(model.feed(&spec, "<think>Hm</think>\nyes"), Fed::Complete);
        assert_eq!(model.feed(&spec, "no"), Fed::Complete);
        assert_eq!(model.feed(&spec, "Hm"), Fed::Refused(0));
    }
}

#[test]
fn refusals_say_why() {
    let model = model(QWEN);
    let long = "a".repeat(3_000);
    for (spec, part) in [
        (pattern("(?!x)y"), "look-around"),
        (pattern("[a"), "unclosed"),
        (pattern("a)(b"), "not supported"),
        (pattern("a$b"), "anchors only at its ends"),
        (pattern("a{5000}"), "1000 repetitions"),
        (pattern(&long), "1000 bytes"),
        (choice(&[]), "found 0"),
        (choice(&[&long]), "found one of 3000"),
    ] {
        let Err(why) = model.grammars.compile(&spec) else { panic!("{spec:?}: accepted") };
        assert!(why.to_string().contains(part), "{spec:?}: {why}");
        assert!(!why.to_string().contains('\n') && !why.server, "{why}");
    }
}

fn grammar(text: &str) -> GrammarSpec {
    spec(TextSpec::Grammar(text.into()))
}

#[test]
fn grammars_of_llama_cpp_and_of_lark_allow_what_they_say() {
    let model = model(QWEN);
    let list = "root ::= \"[\" (item (\", \" item){0,2})? \"]\"\nitem ::= \"abc\" | [a-c]+ | \"é\" | \"\\\"\" [^\\\"]* \"\\\"\"";
    let lark = "start: \"[\" (item (\", \" item)~0..2)? \"]\"\nitem: /[a-c]+/ | \"é\" | /\"[^\"]*\"/";
    for text in [list, lark] {
        for valid in ["[]", "[abc]", "[abca, b, é]", "[\"x, ]\"]", "[ab, abc]"] {
            assert_eq!(model.feed(&grammar(text), valid), Fed::Complete, "{text}: {valid:?}");
        }
        for invalid in ["", "[", "[d]", "[a,b]", "[a, a, a, a]", "[]x", " []"] {
            assert_ne!(model.feed(&grammar(text), invalid), Fed::Complete, "{text}: {invalid:?}");
        }
    }
    // A rule may call itself.
    let nested = grammar("root ::= \"(\" root? \")\"");
    assert_eq!(model.feed(&nested, "((()))"), Fed::Complete);
    assert_eq!(model.feed(&nested, "((())"), Fed::Incomplete);
    for (text, says) in [
        ("root ::= x", "line 1 of the grammar: the rule `x` is not defined"),
        ("start: x", "x"),
        ("nothing", ""),
    ] {
        let error = model.grammars.compile(&grammar(text)).err().unwrap().to_string();
        assert!(error.contains(says), "{text:?}: {error}");
    }
}

#[test]
fn a_grammar_begins_after_reasoning() {
    let model = model(GLM);
    for text in ["root ::= \"yes\" | \"no\"", "start: YES | \"no\"\nYES: /y{1,2}es/"] {
        let reasoning = Reasoning::Open { end: "</think>".into() };
        let spec = GrammarSpec { reasoning, text: TextSpec::Grammar(text.into()), calls: None };
        assert_eq!(model.feed(&spec, "Hm, no?</think>yes"), Fed::Complete, "{text}");
        assert_eq!(model.feed(&spec, "Hm</think>\nno"), Fed::Complete, "{text}");
        assert_eq!(model.feed(&spec, "Hm</think>"), Fed::Incomplete, "{text}");
        assert_ne!(model.feed(&spec, "Hm</think>maybe"), Fed::Complete, "{text}");
    }
}
