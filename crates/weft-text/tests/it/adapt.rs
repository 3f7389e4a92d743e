//! Messages of OpenAI's API, in the form that each template expects.

use serde_json::{Value, json};
use weft_text::{ArgumentsForm, ChatTemplate, Message, RenderOptions, TemplateError, TemplateFeatures};

use crate::support::bytes_and;
use crate::template::{message, read};

const GEMMA: &str = "\
{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}\
{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}\
{{ raise_exception('Conversation roles must alternate') }}{% endif %}\
<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n{{ m.content }}<end_of_turn>\n{% endfor %}";

/// DeepSeek V3's later form: arguments are text, and content decides nothing.
const TEXT_ARGUMENTS: &str = "\
{% for m in messages %}{% if m.role == 'assistant' and m.tool_calls %}{{ m.content or '' }}{% for t in m.tool_calls %}\
<call>{{ t.function.name + '\n' + t.function.arguments }}</call>{% endfor %}\
{% elif m.role == 'tool' %}<out>{{ m.name ~ ':' ~ m.content }}</out>{% else %}<{{ m.role }}>{{ m.content }}{% endif %}\
{% endfor %}{% if not thinking is defined %}{% set thinking = false %}{% endif %}{{ '<think>' if thinking }}";

/// Kimi K2's calls, which only their ids name.
const NAMED_IDS: &str = "\
{% for m in messages %}<{{ m.role }}>{% if m.role == 'tool' %}{{ m.tool_call_id }}:{% endif %}{{ m.content }}\
{% for t in m.tool_calls or [] %}<call>{{ t.id }}<args>{{ t.function.arguments | tojson }}</call>{% endfor %}{% endfor %}";

/// Only lists of parts.
const PARTS: &str = "\
{% for m in messages %}<{{ m.role }}>{% if m.content is string and m.role != 'user' %}{{ m.content }}{% else %}\
{% for part in m.content %}[{{ part['text'] }}]{% endfor %}{% endif %}{% endfor %}";

fn template(source: &str) -> ChatTemplate {
    ChatTemplate::new(source, &bytes_and(&[], None, None, None)).unwrap()
}

fn file(name: &str) -> ChatTemplate {
    template(&read(name))
}

fn adapt(template: &ChatTemplate, messages: Value) -> Result<Vec<Message>, TemplateError> {
    let messages: Vec<Message> = messages.as_array().unwrap().iter().map(message).collect();
    template.adapt(&messages)
}

fn prompt(template: &ChatTemplate, messages: Value) -> String {
    let messages = adapt(template, messages).unwrap();
    let options = RenderOptions { add_generation_prompt: false, now: Some(0), ..RenderOptions::default() };
    template.render(&messages, &options).unwrap().into_text()
}

fn features(template: &ChatTemplate) -> Value {
    let TemplateFeatures {
        tools,
        tool_calls,
        arguments,
        named_ids,
        short_ids,
        tool_results,
        text_with_calls,
        null_content,
        content_parts,
        content_parts_only,
        system,
        second_system,
        late_system,
        reasoning_content,
        thinking_content,
        reasoning_or_text,
        one_call,
        thinking,
        preserve,
        ..
    } = template.features().clone();
    let flags = [
        ("tools", tools),
        ("calls", tool_calls),
        ("text arguments", arguments == ArgumentsForm::Text),
        ("named ids", named_ids),
        ("short ids", short_ids),
        ("results", tool_results),
        ("text and calls", text_with_calls),
        ("null", null_content),
        ("parts", content_parts),
        ("parts only", content_parts_only),
        ("system", system),
        ("second system", second_system),
        ("late system", late_system),
        ("reasoning", reasoning_content),
        ("thinking", thinking_content),
        ("reasoning or text", reasoning_or_text),
        ("one call", one_call),
        ("preserve", preserve.is_some()),
    ];
    let set: Vec<&str> = flags.iter().filter(|(_, set)| *set).map(|(name, _)| *name).collect();
    json!([set.join(", "), thinking])
}

#[test]
fn what_templates_can_do() {
    let cases = [
        (
            "glm",
            file("glm.jinja"),
            json!([
                "tools, calls, results, text and calls, parts, system, second system, late system, reasoning, preserve",
                "enable_thinking"
            ]),
        ),
        (
            "llama3",
            file("llama3.jinja"),
            json!(["tools, calls, results, system, second system, late system, one call", null]),
        ),
        (
            "deepseek",
            file("deepseek.jinja"),
            // The last system message replaces the others.
            json!(["calls, results, null, system, second system, late system", null]),
        ),
        (
            "harmony",
            file("harmony.jinja"),
            json!([
                "tools, calls, results, text and calls, system, thinking, reasoning or text, one call",
                null
            ]),
        ),
        ("chatml", file("chatml.jinja"), json!(["results, system, second system, late system", null])),
        ("gemma", template(GEMMA), json!(["", null])),
        (
            "text arguments",
            template(TEXT_ARGUMENTS),
            json!([
                "calls, text arguments, results, text and calls, system, second system, late system",
                "thinking"
            ]),
        ),
        (
            "named ids",
            template(NAMED_IDS),
            json!(["calls, named ids, results, text and calls, system, second system, late system", null]),
        ),
        (
            "parts",
            template(PARTS),
            json!(["results, parts, parts only, system, second system, late system", null]),
        ),
    ];
    for (name, template, expected) in cases {
        assert_eq!(features(&template), expected, "{name}");
    }
}

/// The templates that have a variable for it, and whether they write the reasoning of an earlier turn if it says so, and if not.
#[test]
fn earlier_reasoning_is_kept_where_the_template_allows() {
    let mut found = Vec::new();
    for (name, source) in jinja_files() {
        let template = template(&source);
        let Some((variable, keeps)) = template.features().preserve else { continue };
        let mut reply = Message::new("assistant", "A reply");
        reply.extra.insert("reasoning_content".into(), json!("an early thought"));
        let messages = [Message::new("user", "One"), reply, Message::new("user", "Two")];
        let kept = |value: bool| {
            let mut options = RenderOptions { now: Some(0), ..RenderOptions::default() };
            options.extra.insert(variable.into(), value.into());
            // Some templates write reasoning only if it is switched on.
            options.extra.extend(template.features().thinking.map(|name| (name.to_string(), json!(true))));
            template.prompt(&messages, &options).unwrap().into_text().contains("an early thought")
        };
        found.push((name, variable, kept(keeps), kept(!keeps)));
    }
    let found: Vec<_> =
        found.iter().map(|(name, variable, on, off)| (name.as_str(), *variable, *on, *off)).collect();
    let expected = [
        ("GLM-4.7-Flash", "clear_thinking", true, false),
        ("LFM2.5-8B-A1B", "preserve_thinking", true, false),
        // It writes no `reasoning_content`.
        ("LFM2.5-Instruct", "keep_past_thinking", false, false),
        ("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "truncate_history_thinking", true, false),
        ("deepseek-ai-DeepSeek-V4-Flash-0731", "drop_thinking", true, false),
        ("deepseek-ai-DeepSeek-V4", "drop_thinking", true, false),
        ("glm", "clear_thinking", true, false),
        // It keeps reasoning that is switched on.
        ("poolside-Laguna-S-2.1", "preserve_thinking", true, true),
    ];
    assert_eq!(found, expected);
}

/// All templates of the folder, by their names.
fn jinja_files() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/templates");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|found| found == "jinja")).collect();
    files.sort();
    let read = |path: std::path::PathBuf| {
        (path.file_stem().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(&path).unwrap())
    };
    files.into_iter().map(read).collect()
}

/// A question, a call, its result and the answer, as a client sends them.
fn conversation() -> Value {
    json!([
        {"role": "developer", "content": [{"type": "text", "text": "S"}]},
        {"role": "user", "content": [{"type": "input_text", "text": "Q1"}, {"type": "text", "text": "Q2"}]},
        {"role": "assistant", "content": null, "reasoning": "hm", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":\"x\",\"b\":2}"}}
        ]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "out"}]},
        {"role": "assistant", "content": "A", "tool_calls": []},
    ])
}

#[test]
fn a_conversation_with_a_tool() {
    assert_eq!(
        prompt(&file("glm.jinja"), conversation()),
        "[gMASK]<sop><|system|>S<|user|>Q1Q2<|assistant|><think>hm</think><tool_call>f<arg_key>a</arg_key>\
         <arg_value>x</arg_value><arg_key>b</arg_key><arg_value>2</arg_value></tool_call><|observation|>\
         <tool_response>out</tool_response><|assistant|></think>A"
    );
    let llama = prompt(&file("llama3.jinja"), conversation());
    assert!(llama.contains("\n\nS<|eot_id|>") && llama.contains("\n\nQ1\nQ2<|eot_id|>"), "{llama}");
    assert!(llama.contains(r#"{"name": "f", "parameters": {"a": "x", "b": 2}}<|eot_id|>"#), "{llama}");
    assert!(llama.ends_with("\n\nA<|eot_id|>"), "{llama}");
    let deepseek = prompt(&file("deepseek.jinja"), conversation());
    assert!(deepseek.contains("f\n```json\n{\"a\": \"x\", \"b\": 2}\n```<｜tool▁call▁end｜>"), "{deepseek}");
    assert_eq!(
        prompt(&template(TEXT_ARGUMENTS), conversation()),
        "<system>S<user>Q1\nQ2<call>f\n{\"a\":\"x\",\"b\":2}</call><out>f:out</out><assistant>A"
    );
}

/// The prompt after the system message.
fn harmony(messages: Value) -> String {
    let prompt = prompt(&file("harmony.jinja"), messages);
    prompt.split_once("<|end|>").expect("a system message").1.to_owned()
}

#[test]
fn harmony_drops_the_analysis_of_earlier_turns() {
    assert_eq!(
        harmony(conversation()),
        "<|start|>developer<|message|># Instructions\n\nS\n\n<|end|><|start|>user<|message|>Q1\nQ2<|end|>\
         <|start|>assistant to=functions.f<|channel|>commentary json<|message|>{\"a\": \"x\", \"b\": 2}<|call|>\
         <|start|>functions.f to=assistant<|channel|>commentary<|message|>\"out\"<|end|>\
         <|start|>assistant<|channel|>final<|message|>A<|end|>"
    );
    // The model continues with its reasoning after a result.
    let mut talk = conversation();
    talk.as_array_mut().unwrap().pop();
    assert!(harmony(talk).contains(
        "<|start|>assistant<|channel|>analysis<|message|>hm<|end|><|start|>assistant to=functions.f<|channel|>"
    ));
}

#[test]
fn harmony_has_one_call_in_a_message() {
    let call = |id: &str, name: &str| json!({"id": id, "function": {"name": name, "arguments": "{}"}});
    let calls = [call("x", "f"), call("y", "g"), call("z", "h")];
    let talk = json!([
        {"role": "user", "content": "Q"},
        {"role": "assistant", "content": "Let me ask.", "reasoning_content": "hm", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "y", "content": "G"},
        {"role": "tool", "tool_call_id": "x", "content": "F"},
    ]);
    let called = |name| {
        format!("<|start|>assistant to=functions.{name}<|channel|>commentary json<|message|>{{}}<|call|>")
    };
    let result = |name, text| {
        format!("<|start|>functions.{name} to=assistant<|channel|>commentary<|message|>\"{text}\"<|end|>")
    };
    let expected = [
        "<|start|>user<|message|>Q<|end|><|start|>assistant<|channel|>analysis<|message|>hm\n\nLet me ask.<|end|>",
        &called("f"),
        &result("f", "F"),
        &called("g"),
        &result("g", "G"),
        &called("h"),
    ];
    assert_eq!(harmony(talk), expected.concat());
}

#[test]
fn ids_name_functions_where_nothing_else_does() {
    let call = |id: &str, name: &str| json!({"id": id, "function": {"name": name, "arguments": "{}"}});
    let talk = json!([
        {"role": "user", "content": "Q"},
        {"role": "assistant", "tool_calls": [call("x", "f"), call("y", "g")]},
        {"role": "tool", "tool_call_id": "y", "content": "G"},
        {"role": "tool", "tool_call_id": "x", "content": "F"},
        {"role": "assistant", "tool_calls": [call("x", "g")]},
        {"role": "tool", "tool_call_id": "x", "content": "G"},
    ]);
    assert_eq!(
        prompt(&template(NAMED_IDS), talk),
        "<user>Q<assistant><call>functions.f:0<args>{}</call><call>functions.g:1<args>{}</call>\
         <tool>functions.g:1:G<tool>functions.f:0:F<assistant><call>functions.g:2<args>{}</call><tool>functions.g:2:G"
    );
}

#[test]
fn text_beside_calls_is_kept() {
    let call = json!([{"id": "c", "function": {"name": "f", "arguments": {}}}]);
    let talk =
        json!([{"role": "user", "content": "Q"}, {"role": "assistant", "content": "T", "tool_calls": call}]);
    assert!(prompt(&file("glm.jinja"), talk.clone()).ends_with("</think>T<tool_call>f</tool_call>"));
    let deepseek = prompt(&file("deepseek.jinja"), talk.clone());
    assert!(
        deepseek.contains("T<｜end▁of▁sentence｜>") && deepseek.contains("f\n```json\n{}\n```"),
        "{deepseek}"
    );
    let llama = prompt(&file("llama3.jinja"), talk);
    assert!(llama.contains("T<|eot_id|>") && llama.contains("\"parameters\": {}"), "{llama}");
}

#[test]
fn system_messages_are_not_lost() {
    let talk = json!([
        {"role": "system", "content": "S1"},
        {"role": "developer", "content": "S2"},
        {"role": "user", "content": "Q"},
        {"role": "assistant", "content": "A"},
        {"role": "system", "content": "S3"},
        {"role": "user", "content": "R"},
    ]);
    assert_eq!(
        prompt(&template(GEMMA), talk.clone()),
        "<start_of_turn>user\nS1\n\nS2\n\nQ<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n\
         <start_of_turn>user\nS3\n\nR<end_of_turn>\n"
    );
    let first = "{% if messages[0].role == 'system' %}{{ messages[0].content }}{% endif %}{% for m in messages %}\
                 {% if m.role != 'system' %}<{{ m.role }}>{{ m.content }}{% endif %}{% endfor %}";
    assert_eq!(prompt(&template(first), talk.clone()), "S1\n\nS2<user>Q<assistant>A<user>S3\n\nR");
    assert!(prompt(&file("glm.jinja"), talk).ends_with("<|system|>S3<|user|>R"));
    let last = json!([{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}, {"role": "system", "content": "S"}]);
    assert!(prompt(&template(GEMMA), last).ends_with("<start_of_turn>user\nS<end_of_turn>\n"));
}

#[test]
fn what_has_the_right_form_stays() {
    let messages = [
        Message::new("system", "S"),
        Message::new("user", "U"),
        Message::new("assistant", "A"),
        Message::new("observer", "O"),
    ];
    for template in [file("glm.jinja"), file("chatml.jinja"), file("llama3.jinja")] {
        assert_eq!(template.adapt(&messages).unwrap(), messages);
    }
    let parts = adapt(&template(PARTS), json!([{"role": "user", "content": "U"}])).unwrap();
    assert_eq!(parts[0].content, json!([{"type": "text", "text": "U"}]));
}

#[test]
fn null_is_not_printed() {
    for name in ["glm.jinja", "chatml.jinja", "llama3.jinja", "deepseek.jinja"] {
        let talk = json!([{"role": "user", "content": "Q"}, {"role": "assistant", "content": null}, {"role": "user", "content": null}]);
        let prompt = prompt(&file(name), talk);
        assert!(!prompt.contains("None") && !prompt.contains("null"), "{prompt}");
    }
}

#[test]
fn errors_name_the_place() {
    let with_call =
        |call: Value| json!([{"role": "user", "content": "Q"}, {"role": "assistant", "tool_calls": [call]}]);
    let call = |arguments: Value| with_call(json!({"function": {"name": "f", "arguments": arguments}}));
    let cases = [
        (
            json!([{"role": "user", "content": 1}]),
            "messages[0].content: expected a string or an array of parts, found a number",
        ),
        (
            json!([{"role": "user", "content": ["a", {"type": "image_url", "image_url": {"url": "x"}}]}]),
            "messages[0].content[1].type: expected \"text\", found \"image_url\"",
        ),
        (
            json!([{"role": "user", "content": [{"text": "a"}]}]),
            "messages[0].content[0].type: expected \"text\", found nothing",
        ),
        (
            json!([{"role": "user", "content": [{"type": "text"}]}]),
            "messages[0].content[0].text: expected a string, found nothing",
        ),
        (with_call(json!(1)), "messages[1].tool_calls[0]: expected an object, found a number"),
        (with_call(json!({})), "messages[1].tool_calls[0].function: expected an object, found nothing"),
        (
            with_call(json!({"function": {"arguments": "{}"}})),
            "messages[1].tool_calls[0].function.name: expected a string, found nothing",
        ),
    ];
    for (messages, expected) in cases {
        assert_eq!(adapt(&file("glm.jinja"), messages).unwrap_err().to_string(), expected);
    }
    for harmless in [json!(""), json!("null"), json!(null), json!("{}"), json!({})] {
        assert!(prompt(&file("glm.jinja"), call(harmless)).ends_with("<tool_call>f</tool_call>"));
    }
    let error = |template: &ChatTemplate, messages| adapt(template, messages).unwrap_err().to_string();
    assert_eq!(
        error(&file("chatml.jinja"), call(json!("{}"))),
        "messages[1].tool_calls: expected none, because the model's chat template cannot write tool calls, found 1"
    );
    assert_eq!(
        error(&template(GEMMA), json!([{"role": "user", "content": "Q"}, {"role": "tool", "content": "R"}])),
        "messages[1].role: expected a role that the model's chat template can write, found \"tool\""
    );
}
