//! Which chat templates a file gets, of the places that a folder has for them.

use std::fs;

use serde_json::{Value as Json, json};
use weft_convert::Conversion;

use crate::support::Copy;

/// The templates of a file by their names, the default first, and the note about the choice, if there is one.
fn templates(copy: &Copy) -> (Vec<(String, String)>, Option<&'static str>) {
    let found = Conversion::open(&copy.0).unwrap();
    let metadata = found.metadata();
    let mut templates: Vec<(String, String)> = Vec::new();
    templates.extend(metadata.str("tokenizer.chat_template").unwrap().map(|own| ("".into(), own.into())));
    for name in
        metadata.strings("tokenizer.chat_templates").unwrap().into_iter().flat_map(|names| names.iter())
    {
        let name = String::from_utf8_lossy(name).into_owned();
        let template = metadata.require_str(&format!("tokenizer.chat_template.{name}")).unwrap();
        templates.push((name, template.into()));
    }
    (templates, found.note())
}

fn set(copy: &Copy, template: Json) {
    copy.edit("tokenizer_config.json", |settings| settings["chat_template"] = template);
}

#[track_caller]
fn check(copy: &Copy, expected: &[(&str, &str)], noted: bool) {
    let (found, note) = templates(copy);
    let found: Vec<(&str, &str)> = found.iter().map(|(name, template)| (&**name, &**template)).collect();
    assert_eq!(found, expected);
    assert_eq!(note.is_some(), noted, "{note:?}");
}

#[test]
fn the_file_comes_before_the_settings_and_more_templates_have_names() {
    let copy = Copy::of("llama");
    let write = |name: &str, text: &str| fs::write(copy.path(name), text).unwrap();
    set(&copy, json!("OLD"));
    check(&copy, &[("", "OLD")], false);
    write("chat_template.jinja", "\u{feff}NEW");
    check(&copy, &[("", "NEW")], true);
    // Nothing is said where nothing differs, or the settings have none.
    set(&copy, json!("NEW"));
    check(&copy, &[("", "NEW")], false);
    set(&copy, Json::Null);
    check(&copy, &[("", "NEW")], false);
    fs::create_dir(copy.path("additional_chat_templates")).unwrap();
    write("additional_chat_templates/tool use.jinja", "TOOLS");
    write("additional_chat_templates/rag.jinja", "RAG");
    write("additional_chat_templates/README.md", "text");
    check(&copy, &[("", "NEW"), ("rag", "RAG"), ("tool_use", "TOOLS")], false);
    // Without the file, the settings have the default.
    fs::remove_file(copy.path("chat_template.jinja")).unwrap();
    set(&copy, json!([{ "name": "default", "template": "A" }, { "name": "rag", "template": "B" }]));
    check(&copy, &[("", "A"), ("rag", "RAG"), ("tool_use", "TOOLS")], false);
    fs::remove_dir_all(copy.path("additional_chat_templates")).unwrap();
    set(
        &copy,
        json!([{ "name": "default", "template": "A" }, { "name": "tool_use", "template": "B" }, { "name": "", "template": "C" }]),
    );
    check(&copy, &[("", "A"), ("tool_use", "B")], false);
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_file() {
    let copy = Copy::of("llama");
    for file in ["config.json", "tokenizer_config.json", "tokenizer.json"] {
        let text = fs::read_to_string(copy.path(file)).unwrap();
        fs::write(copy.path(file), format!("\u{feff}{text}")).unwrap();
    }
    Conversion::open(&copy.0).unwrap();
}
