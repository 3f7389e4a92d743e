//! Chat templates compared with Python's Jinja, and hostile ones.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};
use weft_text::{CHATML, ChatTemplate, Message, RenderOptions, TemplateError};

use crate::support::bytes_and;

pub(crate) fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/templates").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

pub(crate) fn message(value: &Value) -> Message {
    let mut message = Message::new(value["role"].as_str().unwrap(), value["content"].clone());
    message.extra = object(value);
    message
}

#[test]
fn templates_render_as_in_python() {
    let cases: Vec<Value> = serde_json::from_str(&read("cases.json")).unwrap();
    let expected: Map<String, Value> = serde_json::from_str(&read("expected.json")).unwrap();
    assert_eq!(cases.len(), expected.len(), "run expect.py");
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let source = read(&format!("{}.jinja", case["template"].as_str().unwrap()));
        let tokenizer = bytes_and(&[], case["bos"].as_str(), case["eos"].as_str(), None);
        let template = ChatTemplate::new(&source, &tokenizer).unwrap();
        let messages: Vec<Message> = case["messages"].as_array().unwrap().iter().map(message).collect();
        let options = RenderOptions {
            add_generation_prompt: case["add_generation_prompt"].as_bool().unwrap_or(true),
            now: case["now"].as_i64(),
            extra: object(&case["extra"]),
        };
        match template.render(&messages, &options) {
            Ok(prompt) => assert_eq!(Some(prompt.text()), expected[name]["prompt"].as_str(), "{name}"),
            Err(TemplateError::Refused(message)) => {
                assert_eq!(Some(message.as_str()), expected[name]["refused"].as_str(), "{name}");
            }
            Err(error) => panic!("{name}: {error}"),
        }
    }
}

#[test]
fn the_builtin_chatml() {
    let template = ChatTemplate::new(CHATML, &bytes_and(&[], None, None, None)).unwrap();
    let messages = [Message::new("system", "S\n"), Message::new("user", "  U")];
    let prompt = template.render(&messages, &RenderOptions::default()).unwrap();
    assert_eq!(
        prompt.text(),
        "<|im_start|>system\nS\n<|im_end|>\n<|im_start|>user\n  U<|im_end|>\n<|im_start|>assistant\n"
    );
    let options = RenderOptions { add_generation_prompt: false, ..RenderOptions::default() };
    assert!(template.render(&messages, &options).unwrap().text().ends_with("  U<|im_end|>\n"));
}

#[test]
fn extra_fields_and_variables_override_nothing() {
    let source = "{{ messages[0].role }}{{ messages | length }}{{ bos_token }}";
    let template = ChatTemplate::new(source, &bytes_and(&[], Some("B"), None, None));
    let mut message = Message::new("user", "u");
    message.extra = object(&json!({"role": "system"}));
    let extra = object(&json!({"messages": [], "bos_token": "X"}));
    let options = RenderOptions { extra, ..RenderOptions::default() };
    assert_eq!(template.unwrap().render(&[message], &options).unwrap().text(), "user1B");
}

#[test]
fn none_is_not_iterable() {
    assert_eq!(
        render("{{ tools is iterable }}{{ [] is iterable }}{{ 'a' is iterable }}{{ 1 is iterable }}")
            .unwrap(),
        "FalseTrueTrueFalse"
    );
}

fn render(source: &str) -> Result<String, TemplateError> {
    let template = ChatTemplate::new(source, &bytes_and(&[], None, None, None))?;
    Ok(template.render(&[Message::new("user", "hi")], &RenderOptions::default())?.into_text())
}

#[test]
fn lists_can_be_changed() {
    let queue = "{%- set q = namespace(ids=[], n=[]) -%}{%- set plain = [] -%}
        {%- for id in ['a', 'b', 'c'] -%}{%- set _ = q.ids.append('f:' + id) -%}{%- set _ = plain.append(loop.index) -%}{%- endfor -%}
        {{ q.ids.pop(0) }} {{ q.ids.pop() }} {{ q.ids }} {{ q.ids | length }} {{ q.ids[0] }} {{ 'f:b' in q.ids }}
        {{- ' ' ~ (plain | join('+')) }} {{ plain == [1, 2, 3] }} {{ 'some' if q.ids else 'none' }} {{ 'some' if q.n else 'none' }}";
    // As Jinja's `SandboxedEnvironment`; the immutable one, which `transformers` uses, refuses `append`.
    assert_eq!(render(queue).unwrap(), "f:a f:c ['f:b'] 1 f:b True 1+2+3 True some none");
    for (source, error) in [
        ("{% set a = [] %}{{ a.append(a) }}", "found a sequence"),
        ("{% set a = [] %}{{ a.append({'a': a}) }}", "found a map"),
        ("{% set a = [] %}{{ a.append(1) }}{{ a.pop(1) }}", "expected nothing or 0"),
        ("{% set a = [] %}{{ a.append() }}", "expected one value, found 0"),
        ("{% set a = [] %}{{ a.append(1) }}{{ a.pop() }}{{ a.pop() }}", "the list is empty"),
        ("{% set a = [] %}{{ a.append(1) }}{{ a.remove(1) }}", "remove"),
    ] {
        let found = render(source).unwrap_err().to_string();
        assert!(found.contains(error), "{source}: {found}");
    }
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    let invalid = render("line\n{% if %}").unwrap_err();
    assert!(matches!(invalid, TemplateError::Invalid(_)), "{invalid:?}");
    assert!(invalid.to_string().contains("chat_template:2"), "{invalid}");
    for failing in [
        "{{ nothing.attribute }}",
        "{{ 'a'.no_such_method() }}",
        "{{ missing | tojson }}",
        "{{ 1 | tojson(indent=[]) }}",
        "{{ 1 | tojson(separators=['a']) }}",
        "{{ 1 | tojson(colour='red') }}",
        "{% include 'other' %}",
        "{{ strftime_now('%d') }}",
    ] {
        let error = render(failing).unwrap_err();
        assert!(matches!(error, TemplateError::Failed(_)), "{failing}: {error:?}");
    }
    let nested =
        render("{% macro f() %}{{ raise_exception('no ' ~ 'way') }}{% endmacro %}{{ f() }}").unwrap_err();
    assert_eq!(nested.to_string(), "the chat template refuses these messages: no way");
}

#[test]
fn hostile_programs_are_stopped() {
    for endless in [
        "{% for i in range(90000) %}{% for j in range(90000) %}{% endfor %}{% endfor %}",
        "{% for i in range(1000) %}{{ 'x' * 1000000 }}{% endfor %}",
    ] {
        let error = render(endless).unwrap_err();
        assert!(matches!(error, TemplateError::Limit(_)), "{endless}: {error:?}");
    }
    for memory in [
        "{{ 'a'.ljust(10 ** 12) }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '%.1000000000f' % 1 }}",
        "{{ '%*d' % (2 ** 62, 1) }}",
        "{{ '{:1000000000}'.format(1) }}",
        "{{ 'a' * 10 ** 15 }}",
        "{{ [1] * 10 ** 15 }}",
        "{{ ('a' * 10 ** 6).replace('a', 'b' * 1000) }}",
        "{{ ('a' * 10 ** 6) | replace('', 'b' * 1000) }}",
        "{{ ('a\\n' * 10 ** 5) | indent(10 ** 5) }}",
        "{{ 'a' | center(10 ** 12) }}",
        "{{ [1] | batch(10 ** 9, 0) | list }}",
        "{{ [1] | slice(10 ** 12) | list }}",
        "{{ ('\\t' * 10 ** 5).expandtabs(10 ** 6) }}",
        "{{ ('a' * 10 ** 6).join('b' * 1000) }}",
        "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(60) %}{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}{% endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
    ] {
        let error = render(memory).unwrap_err();
        assert!(matches!(error, TemplateError::Limit(_)), "{memory}: {error:?}");
    }
    let error = render("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}").unwrap_err();
    assert!(error.to_string().contains("recursion limit"), "{error}");
    let error = render(&" ".repeat(1 << 20)).unwrap_err();
    assert!(matches!(error, TemplateError::Invalid(_)), "{error:?}");
}

#[test]
fn hostile_depth_does_not_overflow_the_stack() {
    // Chains in the source. Those that minijinja compiles in quadratic time are shorter.
    let chains =
        ["-", "|string", ".a", "[0]", "()", " if a", " if a else a", " is none"].map(|link| (link, 65_000));
    for (link, length) in chains.into_iter().chain([("~a", 12_000), ("+a", 12_000), (" and a", 24_000)]) {
        let chain = link.repeat(length / link.len());
        let source = if link == "-" { format!("{{{{ {chain}1 }}}}") } else { format!("{{{{ a{chain} }}}}") };
        // It may fail, but must not crash.
        let _ = render(&source);
    }
    // Values nested as deep as fuel allows, then dropped, compared, printed and dumped.
    for value in ["[ns.x]", "{'a': ns.x}", "[[[[[[[[ns.x]]]]]]]]"] {
        let set = format!("{{% set ns.x = {value} %}}").repeat(10);
        let build =
            format!("{{% set ns = namespace(x=[]) %}}{{% for i in range(3000) %}}{set}{{% endfor %}}");
        for (end, works) in
            [("", true), ("{{ ns.x == ns.x }}", true), ("{{ ns.x }}", true), ("{{ ns.x | tojson }}", false)]
        {
            assert_eq!(render(&format!("{build}{end}")).is_ok(), works, "{value} {end}");
        }
    }
}
