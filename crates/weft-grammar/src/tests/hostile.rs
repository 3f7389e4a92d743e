//! Schemas that are meant to exhaust the server. Each is refused, or compiled to a grammar whose masks are quick.

use std::time::Instant;

use serde_json::{Map, Value, json};

use super::support::{Fed, GLM, QWEN, calls, model, schema};
use crate::{CallForm, GrammarSpec, Reasoning, TextSpec, ToolChoice};

/// Hostile schemas, each with its intent.
fn hostile() -> Vec<(&'static str, Value)> {
    let nested = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({"items": inner}));
    let pattern = |pattern: &str| json!({"type": "string", "pattern": pattern});
    let many = |count: usize, of: fn(usize) -> Value| (0..count).map(of).collect::<Vec<_>>();
    let chain = |length: usize| {
        let definitions: Map<String, Value> = (0..length)
            .map(|i| {
                (
                    format!("a{i}"),
                    json!({"type": "array", "items": {"$ref": format!("#/$defs/a{}", (i + 1) % length)}}),
                )
            })
            .collect();
        json!({"$ref": "#/$defs/a0", "$defs": definitions})
    };
    let doubling = |levels: usize| {
        let mut definitions = Map::from_iter([("a0".to_owned(), json!({"type": "string"}))]);
        for i in 1..levels {
            let before = json!({"$ref": format!("#/$defs/a{}", i - 1)});
            definitions.insert(format!("a{i}"), json!({"allOf": [before, before]}));
        }
        json!({"allOf": [{"$ref": format!("#/$defs/a{}", levels - 1)}], "$defs": definitions})
    };
    let options = |count: usize| json!({"anyOf": many(count, |i| json!({"type": "object", "properties": {format!("p{i}"): {"type": "integer"}}}))});
    vec![
        ("deep", nested(500)),
        ("as deep as allowed", nested(30)),
        ("repetition", pattern("(a{1000}){1000}")),
        ("repetition of repetition", pattern("((a{1000}){1000}){1000}b")),
        ("repetition, anywhere", pattern("(.*a){20}(.*b.{20}){3}")),
        ("exponential automaton", pattern("^(a|b)*a(a|b){20}$")),
        ("larger exponential automaton", pattern("^(.*[ab]){5}.*a(a|b|c){500}$")),
        ("ambiguous", pattern("^(x+x+)+y$")),
        ("unicode", pattern(r"^\p{L}{500}\p{N}{500}$")),
        ("many classes", pattern(&r"[\p{L}\p{N}]".repeat(80))),
        ("groups", pattern(&format!("{}a{}", "(".repeat(240), ")".repeat(240)))),
        ("too many groups", pattern(&format!("{}a{}", "(".repeat(450), ")".repeat(450)))),
        (
            "intersection of 2 patterns",
            json!({"allOf": many(2, |i| json!({"type": "string", "pattern": format!("(.*a.{{{i}}}){{3}}")}))}),
        ),
        (
            "intersection of 4 patterns",
            json!({"allOf": many(4, |i| json!({"type": "string", "pattern": format!("(.*a.{{{i}}}){{3}}")}))}),
        ),
        (
            "intersection of 8 patterns",
            json!({"allOf": many(8, |i| json!({"type": "string", "pattern": format!("(.*a.{{{i}}}){{3}}")}))}),
        ),
        (
            "intersection of 16 patterns",
            json!({"allOf": many(16, |i| json!({"type": "string", "pattern": format!("(.*a.{{{i}}}){{3}}")}))}),
        ),
        (
            "intersection of patterns",
            json!({"allOf": many(40, |i| json!({"type": "string", "pattern": format!("(.*a.{{{i}}}){{3}}")}))}),
        ),
        (
            "overlapping patterns of names",
            json!({"type": "object", "patternProperties": {"(.*a.{20}){3}$": {}, "^(.*b.{20}){3}": {}}}),
        ),
        ("values", json!({"enum": many(3_000, |i| json!(format!("value {i}")))})),
        ("as many values as allowed", json!({"enum": many(2_000, |i| json!(format!("value {i}")))})),
        ("long values", json!({"enum": many(100, |i| json!(format!("{i}{}", "x".repeat(1_900))))})),
        ("longer value", json!({"const": "x".repeat(10_000)})),
        ("numbers", json!({"enum": many(2_000, |i| json!(i as f64 * 1.0001))})),
        (
            "properties",
            json!({"type": "object", "properties": (0..1_000).map(|i| (format!("p{i}"), json!({"type": "integer"}))).collect::<Map<_, _>>()}),
        ),
        (
            "too many properties",
            json!({"type": "object", "properties": (0..6_000).map(|i| (format!("p{i}"), json!({}))).collect::<Map<_, _>>()}),
        ),
        ("products of options", json!({"allOf": [options(60), options(60), options(60)]})),
        ("many options", options(1_000)),
        (
            "exclusive options",
            json!({"oneOf": many(300, |i| json!({"type": "object", "properties": {"k": {"const": i}}, "required": ["k"]}))}),
        ),
        (
            "several objects of many properties",
            json!({"prefixItems": many(4, |n| json!({"type": "object", "properties": (0..1_000).map(|i| (format!("p{n}{i}"), json!({"type": "integer"}))).collect::<Map<_, _>>()}))}),
        ),
        ("chain of references", chain(100)),
        ("too many references", chain(1_000)),
        ("doubling references", doubling(60)),
        ("references to itself", json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]})),
        (
            "references in options",
            json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}, {"type": "array", "items": {"$ref": "#"}}]}),
        ),
        (
            "intersection with itself",
            json!({"$defs": {"a": {"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}}, "b": {"type": "object", "properties": {"x": {"$ref": "#/$defs/b"}}}}, "allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]}),
        ),
        (
            "lengths",
            json!({"type": "array", "items": {"type": "string", "minLength": 8_192}, "minItems": 10_000}),
        ),
        (
            "nested lengths",
            json!({"type": "array", "minItems": 9_999, "maxItems": 10_000, "items": {"type": "array", "minItems": 9_999, "maxItems": 10_000, "items": {"type": "array", "minItems": 10_000}}}),
        ),
        ("multiples", json!({"type": "integer", "multipleOf": 9_973, "minimum": -9_000_000_000_000_i64})),
        ("bounds", json!({"type": "number", "minimum": -1e300, "maximum": 1e-300})),
        (
            "small bounds",
            json!({"type": "number", "minimum": 1.234567890123e-5, "maximum": 9.87654321e12, "multipleOf": 0.01}),
        ),
        ("size", json!({"description": "x".repeat(300_000)})),
    ]
}

#[test]
fn hostile_schemas_are_refused_or_quick() {
    let model = model(QWEN);
    // The first compilation also measures the model, which is not the schemas' fault.
    model.compile(&schema(json!({"type": "object"}))).unwrap();
    for (name, document) in hostile() {
        tried(&model, name, &schema(document.clone()));
        tried(&model, name, &calls(CallForm::Hermes, &[("f", argument(document))], ToolChoice::Required));
    }
}

#[test]
fn hostile_arguments_of_glm_are_refused_or_quick() {
    let model = model(GLM);
    model.compile(&schema(json!({"type": "object"}))).unwrap();
    for (name, document) in hostile() {
        let mut spec = calls(CallForm::Glm, &[("f", argument(document))], ToolChoice::Required);
        tried(&model, name, &spec);
        spec.calls.as_mut().unwrap().tools[0].strict = false;
        tried(&model, name, &spec);
    }
    // Each argument has all definitions.
    let definitions: Map<String, Value> = (0..100)
        .map(|i| {
            (
                format!("d{i}"),
                json!({"type": "array", "items": {"$ref": format!("#/$defs/d{}", (i + 1) % 100)}}),
            )
        })
        .collect();
    let properties: Map<String, Value> =
        (0..500).map(|i| (format!("p{i}"), json!({"$ref": "#/$defs/d0"}))).collect();
    let parameters = json!({"type": "object", "properties": properties, "$defs": definitions});
    tried(&model, "definitions", &calls(CallForm::Glm, &[("f", parameters)], ToolChoice::Required));
}

/// Hostile grammars of both forms, each with its intent.
#[test]
fn hostile_grammars_are_refused_or_quick() {
    let model = model(QWEN);
    model.compile(&schema(json!({"type": "object"}))).unwrap();
    let nested =
        |open: &str, close: &str, depth: usize| format!("{}\"a\"{}", open.repeat(depth), close.repeat(depth));
    for (name, text) in [
        ("repetition", "start: /(a{1000}){1000}/".to_string()),
        ("repetition of repetition", "start: /((a{1000}){1000}){1000}b/".to_string()),
        ("repetition of a terminal", "start: T\nT: (/a{1000}/){1000}".to_string()),
        ("large repetition", "start: /a{100000}/".to_string()),
        ("large repetition of a terminal", "start: T\nT: \"a\"{100000}".to_string()),
        ("large repetition of a rule", "start: a{100000}\na: \"a\" | \"b\"".to_string()),
        ("exponential automaton", "start: /(a|b)*a(a|b){20}/".to_string()),
        ("larger exponential automaton", "start: /(.*[ab]){5}.*a(a|b|c){500}/".to_string()),
        (
            "intersection",
            "start: T\nT: /(.*a.{1}){3}/ & /(.*a.{2}){3}/ & /(.*a.{3}){3}/ & /(.*a.{4}){3}/".to_string(),
        ),
        ("difference", "start: T\nT: /(.*a.{20}){3}/ & ~/(.*b.{20}){3}/".to_string()),
        ("unicode", r"start: /\p{L}{500}\p{N}{500}/".to_string()),
        ("groups", format!("start: {}", nested("(", ")", 28))),
        ("too many groups", format!("start: {}", nested("(", ")", 10_000))),
        ("many patterns", format!("start: {}", "/a.*b/ ".repeat(200))),
        ("too many patterns", format!("start: {}", "/a.*b/ ".repeat(201))),
        ("left recursion", "start: start \"a\" | start start |".to_string()),
        ("GBNF groups", format!("root ::= {}", nested("(", ")*", 32))),
        ("too many GBNF groups", format!("root ::= {}", nested("(", ")", 10_000))),
        ("GBNF repetition", "root ::= ((([a-z]{10000}){10000}){10000})".to_string()),
        ("ambiguous GBNF", "root ::= (\"a\"* \"a\"*)* root root |".to_string()),
    ] {
        let text = TextSpec::Grammar(text);
        tried(&model, name, &GrammarSpec { reasoning: Reasoning::None, text, calls: None });
    }
}

/// Groups of GBNF may nest deeper than those of Lark.
#[test]
fn deep_groups_of_gbnf_are_followed() {
    let text = format!("root ::= {}\"a\"{}", "(".repeat(32), ")".repeat(32));
    let spec = GrammarSpec { reasoning: Reasoning::None, text: TextSpec::Grammar(text), calls: None };
    let model = model(QWEN);
    assert_eq!(model.feed(&spec, "a"), Fed::Complete);
    assert_ne!(model.feed(&spec, "b"), Fed::Complete);
}

/// The parameters of a tool whose argument has this schema.
fn argument(mut document: Value) -> Value {
    let definitions =
        document.as_object_mut().and_then(|members| members.remove("$defs")).unwrap_or(json!({}));
    json!({"type": "object", "properties": {"v": document}, "required": ["v"], "$defs": definitions})
}

/// Compiles, and takes the first steps of a reply. The times are for a reader of `--nocapture`.
fn tried(model: &super::support::Model, name: &str, spec: &GrammarSpec) {
    let begun = Instant::now();
    let compiled = model.grammars.compile(spec);
    let compile = begun.elapsed();
    let mut processor = match compiled {
        Err(why) => {
            println!("{name}: {compile:.0?}: {why}");
            assert!(!why.server && !why.to_string().contains('\n'), "{name}: {why}");
            return;
        }
        Ok(processor) => processor.unwrap(),
    };
    let (mut slowest, mut tokens) = (std::time::Duration::ZERO, vec![]);
    let mut failed = None;
    for _ in 0..40 {
        let mut logits = vec![0.0; model.tokenizer.vocab_len()];
        let begun = Instant::now();
        if let Err(why) = processor.process(&tokens, 0, &mut logits) {
            failed = Some(why);
            break;
        }
        slowest = slowest.max(begun.elapsed());
        // Letters where possible, to stay inside strings.
        let prefer = ["a", "x", "1", "0"].iter().filter_map(|text| model.tokenizer.find(text));
        let mut allowed = prefer.chain(0..logits.len() as u32).filter(|&id| logits[id as usize] == 0.0);
        let Some(token) = allowed.find(|&id| !model.tokenizer.is_end_of_generation(id)) else { break };
        tokens.push(token);
    }
    println!("{name}: compiled in {compile:.0?}, slowest of {} masks {slowest:.0?} {failed:?}", tokens.len());
}
