//! A model with a second chat template, for requests with tools.

use std::path::PathBuf;

use serde_json::{Value, json};
use weft_engine::EngineOptions;
use weft_gguf::{Gguf, Strings, Writer};
use weft_serve::{ModelSource, ServeOptions};

use crate::support::{Running, fixture};

const MODEL: &str = "gpt-oss-tiny-mxfp4.gguf";
const TOOLS: &str = "{% for t in tools %}USE {{ t.function | tojson }} {% endfor %}{% for m in messages %}{{ m.content }}\
                     {% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}{% endfor %}";

#[test]
fn requests_with_tools_use_the_template_for_tools() {
    let model = Gguf::open(&fixture(MODEL)).unwrap();
    let mut metadata = model.metadata().clone();
    let mut names = Strings::default();
    for (name, template) in [("rag", "rag"), ("tool_use", TOOLS)] {
        names.push(name);
        metadata.insert(&format!("tokenizer.chat_template.{name}"), template);
    }
    metadata.insert("tokenizer.chat_templates", names);
    let plain = "{% for m in messages %}plain {{ m.content }}{% endfor %}";
    metadata.insert("tokenizer.chat_template", plain);
    let mut writer = Writer::new(metadata).unwrap();
    for tensor in model.tensors() {
        writer.declare(&tensor.name, tensor.ty, &tensor.shape).unwrap();
    }
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("tool-template.gguf");
    let mut data = writer.create(&path).unwrap();
    for tensor in model.tensors() {
        data.write(&tensor.name, model.data(tensor)).unwrap();
    }
    data.finish().unwrap();
    let mut options = ServeOptions::new([ModelSource::new("test", path)]);
    options.address = crate::support::options(MODEL).address;
    options.engine = EngineOptions::default().sequences(1).threads(2).context(256);
    let server = Running::start(options);

    let tools =
        json!([{ "type": "function", "function": { "name": "look", "parameters": { "type": "object" } } }]);
    let prompt = |extra: Value| {
        let mut body = json!({ "messages": [{ "role": "user", "content": "hi" }] });
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        server.post("/apply-template", &body).json()["prompt"].as_str().unwrap().to_owned()
    };
    assert_eq!(prompt(json!({})), "plain hi");
    let used = prompt(json!({ "tools": tools }));
    assert!(used.starts_with("USE {\"name\": \"look\"") && used.ends_with(" hi"), "{used}");
    assert_eq!(prompt(json!({ "tools": tools, "tool_choice": "none" })), "plain hi");
    assert_eq!(prompt(json!({ "tools": [] })), "plain hi");
    let props = server.get("/props").json();
    assert_eq!((&props["chat_template"], &props["chat_template_tool_use"]), (&json!(plain), &json!(TOOLS)));
}
