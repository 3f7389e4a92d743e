//! Calls of tools in each model's form.

use serde_json::{Value, json};

use super::support::{DEEPSEEK, Fed, GLM, Model, QWEN, calls, model};
use crate::{CallForm, GrammarSpec, Place, Reasoning, TextSpec, ToolChoice};

fn weather() -> Value {
    json!({
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 1, "maximum": 7},
            "unit": {"type": ["string", "null"], "enum": ["c", "f", null]},
        },
        "required": ["city"],
        "additionalProperties": false,
    })
}

fn tools() -> [(&'static str, Value); 3] {
    [
        ("weather", weather()),
        ("weather_now", json!({"type": "object"})),
        ("stop", json!({"type": "object", "additionalProperties": false})),
    ]
}

/// Feeds replies; `!` in front: must not be complete.
fn all(model: &Model, spec: &GrammarSpec, replies: &[&str]) {
    for reply in replies {
        match reply.strip_prefix('!') {
            Some(wrong) => assert_ne!(model.feed(spec, wrong), Fed::Complete, "{wrong}"),
            None => assert_eq!(model.feed(spec, reply), Fed::Complete, "{reply}"),
        }
    }
}

#[test]
fn hermes() {
    let model = model(QWEN);
    let spec = calls(CallForm::Hermes, &tools(), ToolChoice::Required);
    all(
        &model,
        &spec,
        &[
            "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>",
            "<tool_call>{\"name\":\"weather_now\",\"arguments\":{\"x\":[1]}}</tool_call>",
            "<tool_call>{\"name\":\"stop\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":\"stop\",\"arguments\":{}}</tool_call>",
            "\n<tool_call>{\"name\":\"stop\",\"arguments\":{}}</tool_call>",
            "!Hello",
            "!",
            "!<tool_call>{\"name\":\"other\",\"arguments\":{}}</tool_call>",
            "!<tool_call>{\"name\":\"weather\",\"arguments\":{}}</tool_call>",
            "!<tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":3}}</tool_call>",
            "!<tool_call>{\"name\":\"stop\",\"arguments\":{\"a\":1}}</tool_call>",
            "!<tool_call>{\"name\":\"stop\",\"arguments\":{}}</tool_call>bye",
            "!<tool_call>{\"name\":\"stop\",\"arguments\":{}}",
        ],
    );
    let mut single = spec.clone();
    single.calls.as_mut().unwrap().parallel = false;
    all(
        &model,
        &single,
        &[
            "<tool_call>{\"name\":\"stop\",\"arguments\":{}}</tool_call>",
            "!<tool_call>{\"name\":\"stop\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":\"stop\",\"arguments\":{}}</tool_call>",
        ],
    );
    let named = calls(CallForm::Hermes, &tools(), ToolChoice::Named("stop".into()));
    all(
        &model,
        &named,
        &[
            "<tool_call>{\"name\":\"stop\",\"arguments\":{}}</tool_call>",
            "!<tool_call>{\"name\":\"weather_now\",\"arguments\":{}}</tool_call>",
        ],
    );
    let auto = calls(CallForm::Hermes, &tools(), ToolChoice::Auto);
    all(
        &model,
        &auto,
        &[
            "",
            "Hello <b>you</b> <tool",
            "Let me see.\n<tool_call>\n{\"name\": \"stop\", \"arguments\": {}}\n</tool_call>",
            "!Let me see.\n<tool_call>\n{\"name\": \"stopp\", \"arguments\": {}}\n</tool_call>",
            "!<tool_call>",
            "!a<tool_call>b",
        ],
    );
}

#[test]
fn reasoning_comes_before_calls() {
    let model = model(QWEN);
    let mut spec = calls(CallForm::Hermes, &tools(), ToolChoice::Required);
    spec.reasoning = Reasoning::Open { end: "</think>".into() };
    all(
        &model,
        &spec,
        &[
            "Hm, {x}.</think>\n\n<tool_call>{\"name\":\"stop\",\"arguments\":{}}</tool_call>",
            "!<tool_call>{\"name\":\"stop\",\"arguments\":{}}</tool_call>",
            "!Hm</think>",
            "!Hm",
        ],
    );
    spec.calls.as_mut().unwrap().choice = ToolChoice::Auto;
    all(
        &model,
        &spec,
        &["Hm", "Hm</think>Hello", "Hm</think><tool_call>{\"name\":\"stop\",\"arguments\":{}}</tool_call>"],
    );
    spec.reasoning = Reasoning::Optional { begin: "<think>".into(), end: "</think>".into() };
    spec.calls.as_mut().unwrap().choice = ToolChoice::Required;
    all(
        &model,
        &spec,
        &[
            "<think>Hm</think><tool_call>{\"name\":\"stop\",\"arguments\":{}}</tool_call>",
            "<tool_call>{\"name\":\"stop\",\"arguments\":{}}</tool_call>",
            "!Hm<tool_call>{\"name\":\"stop\",\"arguments\":{}}</tool_call>",
        ],
    );
}

#[test]
fn text_by_schema_or_calls() {
    let model = model(QWEN);
    let mut spec = calls(CallForm::Hermes, &tools(), ToolChoice::Auto);
    spec.text = TextSpec::JsonSchema(json!({"type": "object", "properties": {"answer": {"type": "integer"}},
        "required": ["answer"], "additionalProperties": false}));
    all(
        &model,
        &spec,
        &[
            "{\"answer\": 3}",
            "<tool_call>{\"name\":\"stop\",\"arguments\":{}}</tool_call>",
            "!Hello",
            "!{\"answer\": \"x\"}",
        ],
    );
}

#[test]
fn glm() {
    let model = model(GLM);
    let spec = calls(CallForm::Glm, &tools(), ToolChoice::Required);
    let arg = |key: &str, value: &str| format!("<arg_key>{key}</arg_key><arg_value>{value}</arg_value>");
    let call = |inner: String| format!("<tool_call>{inner}</tool_call>");
    let city = arg("city", "Oslo, \"N\" \\ </arg <b> 😀");
    let ok = [
        call(format!("weather{city}")),
        call(format!("weather\n{city}\n{}\n", arg("days", "3"))),
        call(format!("weather{city}{}{}", arg("days", "7"), arg("unit", "c"))),
        call(format!("weather{city}{}", arg("unit", "null"))),
        call(format!("weather{}", arg("city", ""))),
        call("weather_now".into()),
        call(format!("weather_now{}{}", arg("any key", "text"), arg("other", "[1, 2]"))),
        call("stop".into()) + "\n" + &call("stop".into()),
    ];
    all(&model, &spec, &ok.iter().map(String::as_str).collect::<Vec<_>>());
    let wrong = [
        call("weather".into()),
        call(format!("weather{}", arg("days", "3"))),
        call(format!("weather{city}{}", arg("days", "8"))),
        call(format!("weather{city}{}", arg("days", "three"))),
        call(format!("weather{city}{}", arg("unit", "k"))),
        call(format!("weather{city}{city}")),
        call(format!("weather{city}{}", arg("other", "1"))),
        call(format!("stop{}", arg("a", "1"))),
        call("unknown".into()),
        "weather".into(),
        String::new(),
        call("stop".into()) + "bye",
    ];
    all(&model, &spec, &wrong.map(|text| format!("!{text}")).iter().map(String::as_str).collect::<Vec<_>>());
    let auto = calls(CallForm::Glm, &tools(), ToolChoice::Auto);
    all(&model, &auto, &["Hello", "I look.<tool_call>stop</tool_call>", "!I look.<tool_call>go</tool_call>"]);
}

#[test]
fn glm_strings_have_the_schemas_bounds() {
    let model = model(GLM);
    let one = |schema: Value| {
        let parameters = json!({"type": "object", "properties": {"v": schema}, "required": ["v"]});
        calls(CallForm::Glm, &[("f", parameters)], ToolChoice::Required)
    };
    let call =
        |value: &str| format!("<tool_call>f<arg_key>v</arg_key><arg_value>{value}</arg_value></tool_call>");
    let cases: &[(Value, &[&str], &[&str])] = &[
        (json!({"type": "string", "minLength": 2, "maxLength": 3}), &["ab", "äöü"], &["a", "abcd"]),
        (json!({"type": "string", "pattern": "^a/\\d+$"}), &["a/1"], &["", "a/", "xa/1", "a/1x"]),
        (json!({"type": "string", "pattern": "b"}), &["abc"], &["ac"]),
        (json!({"type": "string", "format": "date"}), &["2026-01-31"], &["2026-02-31", "x"]),
        (json!({"type": "string", "format": "date-time"}), &["2026-01-31T12:00:00Z"], &["2026-01-31"]),
        (json!({"enum": ["a|b", "c.d", 1, true]}), &["a|b", "c.d", "1", "true"], &["a", "cxd", "2"]),
        (json!({"const": "x\ny\"/"}), &["x\ny\"/"], &["x"]),
        (
            json!({"anyOf": [{"type": "string", "maxLength": 6}, {"type": "integer", "minimum": 5}, {"type": "boolean"}]}),
            &["5", "abc", "4a", "true", "truth", "[", "0x3"],
            &["4", " 4", "1234567a", "letters"],
        ),
        (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), &["null", "Smith\""], &[]),
        (
            json!({"anyOf": [{"enum": ["a"]}, {"type": "array", "items": {"type": "integer"}}]}),
            &["a", "[1]"],
            &["b", "[\"a\"]"],
        ),
        (json!({"$ref": "#/properties/v/x-it", "x-it": {"type": "boolean"}}), &["true"], &["yes"]),
        (json!({}), &["free text", "[1"], &[]),
        (
            json!({"type": "object", "properties": {"k": {"type": "string"}}, "required": ["k"]}),
            &["{\"k\": \"<a>\"}"],
            &["{}", "x"],
        ),
        (json!({"type": "number"}), &["1.5"], &["1,5", "x"]),
    ];
    for (schema, right, wrong) in cases {
        let spec = one(schema.clone());
        for value in *right {
            assert_eq!(model.feed(&spec, &call(value)), Fed::Complete, "{schema}: {value}");
        }
        for value in *wrong {
            assert_ne!(model.feed(&spec, &call(value)), Fed::Complete, "{schema}: {value}");
        }
    }
}

#[test]
fn deepseek() {
    let model = model(DEEPSEEK);
    let v3 = calls(CallForm::DeepSeekV3, &tools(), ToolChoice::Required);
    let call = |name: &str, arguments: &str| {
        format!(
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{arguments}\n```<｜tool▁call▁end｜>"
        )
    };
    let outer = |calls: &str| format!("<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>");
    let two = call("stop", "{}") + "\n" + &call("weather", "{\"city\": \"Oslo\"}");
    all(
        &model,
        &v3,
        &[
            &outer(&call("stop", "{}")),
            &outer(&two),
            &format!("!{}", outer(&call("weather", "{}"))),
            &format!("!{}", outer(&call("sto", "{}"))),
            "!<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>",
            "!Hello",
        ],
    );
    let v31 = calls(CallForm::DeepSeekV31, &tools(), ToolChoice::Auto);
    let call = |name: &str, arguments: &str| {
        format!("<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜>")
    };
    all(
        &model,
        &v31,
        &[
            "Hello",
            &format!("I look.{}", outer(&call("stop", "{}"))),
            &format!("!I look.{}", outer(&call("stop", "[]"))),
        ],
    );
}

#[test]
fn llama() {
    let model = model("llama-tiny-q6_k");
    let required = calls(CallForm::Llama3, &tools(), ToolChoice::Required);
    all(
        &model,
        &required,
        &[
            "{\"name\": \"weather\", \"parameters\": {\"city\": \"Oslo\"}}",
            "!{\"name\": \"weather\", \"parameters\": {}}",
            "<|python_tag|>{\"name\": \"stop\", \"parameters\": {}}",
            "{\"name\": \"stop\", \"parameters\": {}}; {\"name\": \"stop\", \"parameters\": {}}",
            "!{\"name\": \"weather\"}",
            "!Hello",
        ],
    );
    let auto = calls(CallForm::Llama3, &tools(), ToolChoice::Auto);
    all(
        &model,
        &auto,
        &[
            "",
            "Hello {you}",
            "{\"name\": \"stop\", \"parameters\": {}}",
            "!{\"name\": \"go\", \"parameters\": {}}",
            "! {x}",
            "!{x}",
        ],
    );
}

#[test]
fn names_come_through() {
    let hostile = ["a\"b", "\\", "a\nb", "é😀", "$^.*|(", "%json {}", "x\u{1}", &"n".repeat(1_500)];
    let qwen = model(QWEN);
    for name in hostile {
        let parameters = json!({"type": "object", "properties": {name: {"const": name}}, "required": [name], "additionalProperties": false});
        let spec = calls(CallForm::Hermes, &[(name, parameters)], ToolChoice::Required);
        let call = json!({"name": name, "arguments": {name: name}}).to_string();
        assert_eq!(qwen.feed(&spec, &format!("<tool_call>{call}</tool_call>")), Fed::Complete, "{name:?}");
    }
    let glm = model(GLM);
    for key in ["a\"b", "\\", "a b", "é😀", "$^.*|(", "%json {}", ">", &"n".repeat(1_500)] {
        let parameters =
            json!({"type": "object", "properties": {key: {"type": "string"}}, "required": [key]});
        let spec = calls(CallForm::Glm, &[("a.b:c/d-e", parameters)], ToolChoice::Required);
        let call =
            format!("<tool_call>a.b:c/d-e<arg_key>{key}</arg_key><arg_value>{key}</arg_value></tool_call>");
        assert_eq!(glm.feed(&spec, &call), Fed::Complete, "{key:?}");
    }
}

#[test]
fn refused_tools_say_why() {
    let model = model(GLM);
    let object = |property: Value| json!({"type": "object", "properties": {"v": property}});
    let cases = [
        ("a b", Value::Null, "tools[1]: name: expected a name without whitespace"),
        ("", Value::Null, "expected a name of 1 to"),
        ("first", Value::Null, "found `first` again"),
        (
            "f",
            json!({"type": "object", "properties": {"a<b": {}}}),
            "properties.a<b: expected a name that this model",
        ),
        ("f", json!({"anyOf": [{"type": "object"}]}), "tools[1]: anyOf: this keyword is not supported"),
        ("f", object(json!({"not": {}})), "tools[1]: properties.v.not: the keyword `not`"),
        (
            "f",
            object(json!({"type": "string", "pattern": "^a|b$"})),
            "properties.v.pattern: expected anchors",
        ),
        ("f", object(json!({"type": "string", "format": "uri"})), "properties.v.format: this format"),
        ("f", object(json!({"allOf": [{"type": "string"}]})), "properties.v.allOf"),
        (
            "f",
            json!({"type": "object", "required": ["a"], "additionalProperties": false}),
            "\"a\" is required",
        ),
        ("f", json!(false), "accepts no"),
    ];
    for (name, parameters, says) in cases {
        let spec = calls(CallForm::Glm, &[("first", Value::Null), (name, parameters)], ToolChoice::Required);
        let Err(why) = model.grammars.compile(&spec) else { panic!("{says}: accepted") };
        assert!(why.to_string().contains(says), "{why}");
        assert_eq!(why.place, Place::Tool(1));
        let param = why.param("", |index| format!("tools[{index}].function.parameters")).unwrap();
        assert!(param.starts_with("tools[1].function.parameters"), "{param}");
    }
    let none = calls(CallForm::Glm, &tools(), ToolChoice::Named("other".into()));
    let Err(why) = model.grammars.compile(&none) else { panic!() };
    assert!(
        why.to_string().contains("tool_choice: expected the name of one of the tools, found \"other\""),
        "{why}"
    );
}

#[test]
fn tools_that_are_not_strict_lose_what_cannot_be_enforced() {
    let parameters = json!({
        "type": "object",
        "properties": {
            "a": {"type": "string", "pattern": "^(?!x)", "format": "color", "maxLength": 100_000},
            "b": {"type": "array", "uniqueItems": true, "items": {"type": "integer"}},
            "c": {"oneOf": [{"type": "integer"}, {"minimum": 2}], "madeUp": 1},
        },
        "required": ["a"], "minProperties": 2, "if": {}, "then": {}, "additionalProperties": false,
    });
    for (name, form, call) in [
        (
            QWEN,
            CallForm::Hermes,
            "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"x\",\"b\":[1,1],\"c\":3}}</tool_call>",
        ),
        (
            GLM,
            CallForm::Glm,
            "<tool_call>f<arg_key>a</arg_key><arg_value>x</arg_value><arg_key>b</arg_key><arg_value>[1,1]</arg_value></tool_call>",
        ),
    ] {
        let model = model(name);
        let mut spec = calls(form, &[("f", parameters.clone())], ToolChoice::Required);
        assert!(model.grammars.compile(&spec).is_err());
        spec.calls.as_mut().unwrap().tools[0].strict = false;
        assert_eq!(model.feed(&spec, call), Fed::Complete);
        assert_ne!(model.feed(&spec, &call.replace("[1,1]", "[true]")), Fed::Complete);
        // An invalid schema is still an error.
        spec.calls.as_mut().unwrap().tools[0].parameters = json!({"type": "thing"});
        assert!(model.grammars.compile(&spec).is_err());
        spec.calls.as_mut().unwrap().choice = ToolChoice::Auto;
        assert!(model.grammars.compile(&spec).unwrap().is_none(), "nothing is strict");
    }
}

/// Of a tool that is not strict, required arguments come also if `properties` does not list them, in every form that writes arguments
/// one by one.
#[test]
fn required_arguments_need_not_be_listed() {
    let model = model(QWEN);
    let spec = |form, parameters: Value| {
        let mut spec = calls(form, &[("f", parameters)], ToolChoice::Required);
        spec.calls.as_mut().unwrap().tools[0].strict = false;
        spec
    };
    let parameters = json!({
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["b", "a", "b"],
        "additionalProperties": {"type": "integer"}
    });
    let gemma = [
        "<|tool_call>call:f{a:1,b:2}<tool_call|>",
        "!<|tool_call>call:f{a:1}<tool_call|>",
        "!<|tool_call>call:f{a:1,b:<|\"|>x<|\"|>}<tool_call|>",
        "!<|tool_call>call:f{a:1,b:2,b:2}<tool_call|>",
    ];
    all(&model, &spec(CallForm::Gemma4, parameters.clone()), &gemma);
    let argument = |key: &str, value: &str| format!("<arg_key>{key}</arg_key><arg_value>{value}</arg_value>");
    let call = |arguments: &[String]| format!("<tool_call>f{}</tool_call>", arguments.concat());
    let (a, b) = (argument("a", "1"), argument("b", "2"));
    let both = call(&[a.clone(), b]);
    all(&model, &spec(CallForm::Glm, parameters), &[&both, &format!("!{}", call(&[a]))]);
    for form in [CallForm::Gemma4, CallForm::Glm] {
        for (parameters, path) in [
            (
                json!({"type": "object", "properties": {"a": {}}, "required": ["b"], "additionalProperties": false}),
                "required",
            ),
            (json!({"type": "object", "properties": {"a{<": {}}, "required": ["a{<"]}), "properties.a{<"),
        ] {
            let Err(why) = model.compile(&spec(form, parameters)) else { panic!("{form:?}: it compiles") };
            assert_eq!((why.place, why.path.as_str()), (Place::Tool(0), path), "{form:?}: {why}");
        }
    }
}
