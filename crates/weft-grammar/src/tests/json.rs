//! JSON by schema: what is accepted, what is refused, and what random replies look like.

use serde_json::{Value, json};
use weft_random::Random;

use super::support::{DEEPSEEK, Fed, GLM, QWEN, model, schema};
use super::validate::valid;
use crate::{GrammarSpec, Place, Reasoning, TextSpec};

fn cases(file: &str) -> Vec<Value> {
    serde_json::from_str(file).unwrap()
}

fn texts(case: &Value, key: &str) -> Vec<String> {
    case[key].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

#[test]
fn texts_are_accepted_if_they_are_valid() {
    let model = model(QWEN);
    for case in cases(include_str!("schemas.json")) {
        let (name, document) = (&case["name"], &case["schema"]);
        let spec = schema(document.clone());
        model.compile(&spec).map(drop).unwrap_or_else(|why| panic!("{name}: {why}"));
        for text in texts(&case, "valid") {
            assert_eq!(model.feed(&spec, &text), Fed::Complete, "{name}: {text}");
        }
        for text in texts(&case, "invalid") {
            assert_ne!(model.feed(&spec, &text), Fed::Complete, "{name}: {text}");
        }
    }
}

#[test]
fn refused_schemas_say_why() {
    let model = model(QWEN);
    for case in cases(include_str!("refused.json")) {
        let document = &case["schema"];
        let Err(why) = model.grammars.compile(&schema(document.clone())) else {
            panic!("{document}: accepted")
        };
        let says = case["says"].as_str().unwrap();
        assert!(why.to_string().contains(says), "{document}: {why}");
        assert!(!why.to_string().contains('\n') && !why.server, "{why}");
    }
}

#[test]
fn errors_name_the_parameter() {
    let model = model(QWEN);
    let Err(why) = model.grammars.compile(&schema(json!({"properties": {"a": {"not": {}}}}))) else {
        panic!()
    };
    assert_eq!(why.place, Place::Schema);
    let param = why.param("response_format.json_schema.schema", |_| unreachable!());
    assert_eq!(param.as_deref(), Some("response_format.json_schema.schema.properties.a.not"));
}

#[test]
fn random_replies_are_valid() {
    // `format` and the older forms aside, which the validator does not know.
    let documents: Vec<Value> = cases(include_str!("schemas.json"))
        .into_iter()
        .filter(|case| {
            let name = case["name"].as_str().unwrap();
            !["format", "older", "escapes", "notes", "records"].iter().any(|part| name.contains(part))
        })
        .map(|case| case["schema"].clone())
        .collect();
    for (seed, name) in [GLM, QWEN, DEEPSEEK].into_iter().enumerate() {
        let model = model(name);
        let mut random = Random::new(seed as u64);
        let (mut ended, mut all) = (0, 0);
        for document in &documents {
            let spec = schema(document.clone());
            for _ in 0..4 {
                all += 1;
                let Some(reply) = model.sample(&spec, &mut random, 300) else { continue };
                ended += 1;
                let value: Value =
                    serde_json::from_str(&reply).unwrap_or_else(|why| panic!("{why}: {reply}"));
                assert!(valid(document, document, &value), "{document}: {reply}");
            }
        }
        assert!(ended * 4 > all * 3, "{ended} of {all} replies ended");
    }
}

#[test]
fn json_begins_after_reasoning() {
    let model = model(GLM);
    let spec = |reasoning| GrammarSpec { reasoning, text: TextSpec::JsonObject, calls: None };
    let tags = || ("<think>".to_owned(), "</think>".to_owned());
    let open = spec(Reasoning::Open { end: tags().1 });
    assert_eq!(model.feed(&open, "I think {of x}.\n</think>\n\n{\"a\": 1}"), Fed::Complete);
    assert_eq!(model.feed(&open, "</think>{}"), Fed::Complete);
    assert_eq!(model.feed(&open, "I think"), Fed::Incomplete);
    assert_eq!(model.feed(&open, "I think</think>Yes"), Fed::Refused(15));
    assert_eq!(model.feed(&open, "{}"), Fed::Incomplete);
    let optional = spec(Reasoning::Optional { begin: tags().0, end: tags().1 });
    assert_eq!(model.feed(&optional, "<think>Hm</think>{}"), Fed::Complete);
    assert_eq!(model.feed(&optional, "{}"), Fed::Complete);
    assert_eq!(model.feed(&optional, "Hm"), Fed::Refused(0));
    let none = spec(Reasoning::None);
    assert_eq!(model.feed(&none, "<think>Hm</think>{}"), Fed::Refused(0));
    assert_eq!(model.feed(&none, "\n{}"), Fed::Complete);
}

#[test]
fn free_replies_need_no_grammar() {
    let spec = GrammarSpec { reasoning: Reasoning::None, text: TextSpec::Free, calls: None };
    assert!(model(QWEN).grammars.compile(&spec).unwrap().is_none());
}
