//! Expressions and small templates compared with Python's Jinja.

use serde_json::{Map, Value};
use weft_text::{ChatTemplate, Message, RenderOptions, TemplateError};

use crate::support::bytes_and;
use crate::template::{object, read};

/// Templates whose results differ, and why.
const DIFFERENT: &[(&str, &str)] = &[
    ("{{ 'x'.encode is defined }}", "there are no bytes"),
    ("{{ -7 ** 0.3 }}", "there are no complex numbers"),
    ("{{ -7.5 ** 0.3 }}", "there are no complex numbers"),
    ("{{ none[1:] }}", "only a literal that is no text can be sliced in Jinja; a variable cannot"),
    ("{{ 'abc'[:'x'] }}", "as before: a literal"),
    ("{{ {1: 'a', 2.5: 'b', None: 'c', True: 'd'} }}", "in minijinja 1 and true are different keys"),
    ("{{ items | batch(0) | list }}", "batches of nothing are refused"),
    ("{{ lipsum is defined }}", "no template needs filler text"),
    ("{{ self is defined }}", "self is known only for its blocks"),
    ("{{ none is none is true }}", "a chain of tests is allowed"),
    (
        "{% macro f() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, a=3) }}",
        "minijinja's macros take no others",
    ),
    (
        "{% macro f(a) %}{{ varargs | length }}{% endmacro %}{{ f(1, 2, 3) }}",
        "minijinja's macros take no others",
    ),
    ("{% autoescape true %}{{ '<' }}{% endautoescape %}", "prompts are not escaped"),
    ("{% set loop = 1 %}{{ loop }}", "minijinja reserves the name"),
    ("{% set é = 1 %}{{ é }}", "minijinja's names are ASCII"),
];

fn render(source: &str, extra: &Map<String, Value>) -> Result<String, TemplateError> {
    let template = ChatTemplate::new(source, &bytes_and(&[], None, None, None))?;
    let options =
        RenderOptions { now: Some(1_709_210_096), extra: extra.clone(), ..RenderOptions::default() };
    Ok(template.render(&[Message::new("user", "hi")], &options)?.into_text())
}

#[test]
fn expressions_have_the_values_of_python() {
    let text = read("expressions.txt");
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let context = object(&lines.next().unwrap());
    let mut wrong = Vec::new();
    let mut listed = 0;
    for line in lines {
        let (source, expected) = (line[0].as_str().unwrap(), line[1].as_str());
        let found = render(source, &context);
        let same = found.as_ref().ok().map(String::as_str) == expected;
        let is_listed = DIFFERENT.iter().any(|(known, _)| *known == source);
        listed += usize::from(is_listed);
        if same == is_listed {
            let found = found.map_or_else(|error| error.to_string(), |text| format!("{text:?}"));
            let expected = expected.map_or_else(|| "an error".to_owned(), |text| format!("{text:?}"));
            wrong.push(format!("{source}\n    expected {expected}\n    found    {found}"));
        }
    }
    assert_eq!(listed, DIFFERENT.len(), "a listed template is not in expressions.txt");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
