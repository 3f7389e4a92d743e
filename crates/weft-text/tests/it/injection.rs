//! Control tokens come from the template and never from the text of messages, tools and other values.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use weft_text::{ChatTemplate, EncodeOptions, Message, RenderOptions, Tokenizer};

use crate::support::{CONTROL, USER_DEFINED, bytes_and};
use crate::template::{object, read};

/// A template with the special tokens of its model.
struct Case {
    name: &'static str,
    source: String,
    tokenizer: Tokenizer,
}

const GLM: &[&str] = &["[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>"];
const LLAMA: &[&str] = &["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"];
const CHATML: &[&str] = &["<|im_start|>", "<|im_end|>", "<|object_ref_start|>"];
const DEEPSEEK: &[&str] = &[
    "<｜begin▁of▁sentence｜>",
    "<｜end▁of▁sentence｜>",
    "<｜User｜>",
    "<｜Assistant｜>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁sep｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool▁outputs▁begin｜>",
    "<｜tool▁output▁begin｜>",
    "<｜tool▁output▁end｜>",
    "<｜tool▁outputs▁end｜>",
];
/// Markup that is part of the text.
const MARKUP: &[&str] = &["<think>", "</think>", "<tool_call>", "</tool_call>", "<arg_key>", "</s"];

fn cases() -> Vec<Case> {
    let sources = [
        ("glm", read("glm.jinja"), GLM),
        ("llama3", read("llama3.jinja"), LLAMA),
        ("chatml", read("chatml.jinja"), CHATML),
        ("deepseek", read("deepseek.jinja"), DEEPSEEK),
        // A role that completes a token.
        ("roles", "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}".to_owned(), GLM),
        // Names that would complete one.
        (
            "names",
            "{% for m in messages %}<sop>{{ m.content }}{% for t in m.tool_calls %}{% set f = t.function %}\
             <{{ f.name }}>{% for k, v in f.arguments.items() %}{{ '[' ~ k ~ ']=' }}{{ v }}{{ '<|' + k + '|>' }}\
             {% endfor %}{% endfor %}{% endfor %}{{ tools }}{{ tools | tojson(ensure_ascii=true) }}"
                .to_owned(),
            GLM,
        ),
        // Everything that templates do to texts.
        (
            "methods",
            "{% for m in messages %}<|user|>{{ m.content.strip() }}{{ m.content | trim | upper | lower }}\
             {{ m.content.split('</think>') | join('') }}{{ m.content.replace('<think>', '') }}\
             {{ m.content[1:] ~ m.content[:-1] }}{{ m.content.lstrip('\\n').rstrip() }}{{ [m.content] }}\
             {{ m.content | tojson(ensure_ascii=true) }}{% endfor %}"
                .to_owned(),
            GLM,
        ),
        // More of it.
        (
            "more methods",
            "{% for m in messages %}{% set c = m.content ~ '' %}<|user|>{{ c[::-1] }}{{ c[0] }}{{ c[-1:] }}{{ c | list }}\
             {{ c.center(40, '*') }}{{ c | replace('<', '<') }}{{ '%s|%-9s|%.2s' % (c, c, c) }}{{ '{:>9}{!r}'.format(c, c) }}\
             {{ c.partition('|') }}{{ c.rsplit('<', 1) | join('<') }}{{ c.splitlines() }}{{ c | title }}{{ c.swapcase() }}\
             {{ c | truncate(5, true, '<') }}{{ c | wordwrap(3) }}{{ c | indent(1) }}{{ c | striptags }}{{ c.removeprefix('<|') }}\
             {{ [c, c] | join(c) }}{{ [c] | map('upper') | first }}{{ c * 2 }}{{ c + c }}{{ {c: c} }}{{ c.zfill(9) }}\
             {% for x in c %}{{ x }}{% endfor %}{{ c.strip('x') }}{{ c.expandtabs() }}{{ c | unique | join }}{% endfor %}"
                .to_owned(),
            GLM,
        ),
    ];
    sources.map(|(name, source, controls)| case(name, source, controls)).into()
}

fn case(name: &'static str, source: String, controls: &[&str]) -> Case {
    let special: Vec<(&str, i32)> = controls
        .iter()
        .map(|token| (*token, CONTROL))
        .chain(MARKUP.iter().map(|token| (*token, USER_DEFINED)))
        // Another vocabulary's, which shares its beginning with markup.
        .chain([("</s>", CONTROL)])
        .collect();
    let tokenizer = bytes_and(&special, Some(controls[0]), Some(controls[1]), Some(&source));
    Case { name, source, tokenizer }
}

/// A conversation with these texts.
fn conversation(texts: &[String; 6]) -> (Vec<Message>, RenderOptions) {
    let [system, user, reply, name, value, result] = texts;
    let call =
        json!({"type": "function", "function": {"name": name, "arguments": {name: value, "list": [value]}}});
    let mut called = Message::new("assistant", "");
    called.extra.insert("tool_calls".into(), json!([call]));
    let mut thought = Message::new("assistant", reply.as_str());
    thought.extra.insert("reasoning_content".into(), json!(value));
    let messages = vec![
        Message::new("system", system.as_str()),
        Message::new("user", user.as_str()),
        called,
        Message::new("tool", result.as_str()),
        thought,
        // Texts that follow each other directly.
        Message::new("user", format!("{user}{name}")),
    ];
    let tools = json!({"tools": [{"type": "function", "function": {"name": name, "description": value}}]});
    (messages, RenderOptions { extra: object(&tools), ..RenderOptions::default() })
}

/// Renders the conversation; returns the prompt's text, its ids and the control tokens among them.
fn render(case: &Case, texts: &[String; 6]) -> Option<(String, Vec<u32>, Vec<u32>)> {
    let template = ChatTemplate::of(&case.tokenizer).unwrap();
    let (messages, options) = conversation(texts);
    let messages = template.adapt(&messages).or_else(|_| template.adapt(&plain(&messages))).unwrap();
    let prompt = template.render(&messages, &options).ok()?;
    let ids = case.tokenizer.encode_chat(&prompt);
    let control = ids.iter().copied().filter(|&id| case.tokenizer.is_control(id)).collect();
    Some((prompt.into_text(), ids, control))
}

/// Without tool calls and results, which not every template can write.
fn plain(messages: &[Message]) -> Vec<Message> {
    messages.iter().filter(|m| m.role != "tool" && m.extra.get("tool_calls").is_none()).cloned().collect()
}

/// Texts made of pieces of special tokens.
fn hostile() -> impl Strategy<Value = String> {
    let mut pieces: Vec<String> = Vec::new();
    for token in [
        GLM,
        LLAMA,
        CHATML,
        DEEPSEEK,
        MARKUP,
        &["</s>", " ", "\n", "x", "é", "'", "\u{101D0}\u{101D1}", "\u{101D4}"],
    ]
    .concat()
    {
        let ends = token.char_indices().map(|(at, _)| at).chain([token.len()]);
        let ends: Vec<usize> = ends.collect();
        pieces.extend(ends.iter().flat_map(|&end| [&token[..end], &token[end..]]).map(str::to_owned));
        pieces.push(token[ends[1]..ends[ends.len() - 2].max(ends[1])].to_owned());
    }
    pieces.sort();
    pieces.dedup();
    prop::collection::vec(prop::sample::select(pieces), 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn no_text_becomes_a_control_token(texts in prop::array::uniform6(hostile())) {
        for case in cases() {
            let harmless = ["s", "u", "r", "n", "v", "t"].map(str::to_owned);
            let (_, _, written) = render(&case, &harmless).unwrap();
            let (text, ids, found) = render(&case, &texts).unwrap();
            prop_assert_eq!(case.tokenizer.decode(&ids, false), text, "{}", case.name);
            prop_assert_eq!(written, found, "{}", case.name);
        }
    }
}

#[test]
fn a_cut_text_becomes_no_control_token() {
    // Parts that a template cuts from a value, and texts that would complete another part of it.
    let cuts = [
        ("{{ x[:-1] ~ '/s>' }}", "< "),
        ("{{ x[:-1] }}{{ x[1:] }}", "/s><"),
        ("{{ x[1:2] }}{{ x[2:] }}{{ x[:1] }}", "x</s>"),
        ("{{ x[0] }}{{ x[-3:] }}", "</s>"),
        ("{% for c in x %}{{ c }}{% endfor %}", "</s>"),
        ("{{ x | list | join }}{{ x | reverse }}{{ x[::-1] }}", ">s/<</s>"),
        ("{{ x | replace('\\n', '') }}", "<\n/s>"),
    ];
    for (source, text) in cuts {
        let tokenizer = bytes_and(&[("</s>", CONTROL)], None, None, Some(source));
        let template = ChatTemplate::of(&tokenizer).unwrap();
        let options = RenderOptions { extra: object(&json!({"x": text})), ..RenderOptions::default() };
        let prompt = template.render(&[], &options).unwrap();
        let ids = tokenizer.encode_chat(&prompt);
        assert!(!ids.iter().any(|&id| tokenizer.is_control(id)), "{source}: {:?}", prompt.text());
    }
}

#[test]
fn marks_are_no_characters() {
    let source = "{{ x[:3] }}|{{ x | length }}|{{ x[0] }}|{{ x[-1] }}|{{ x.find('y') }}|{{ (x | list)[1] }}|{{ x == '<i>y<' }}|\
                  {{ '<i>' in x }}|{{ x.split('>') | length }}|{{ x[::-1] }}|{{ x.rjust(6) }}|{{ '%.1s' % x }}|\
                  {{ x.startswith('<i') }}|{{ {x: 1}['<i>y<'] }}|{{ x.index('<', 1) }}|{{ x < 'a' }}|{{ x.replace('<', '') }}";
    let tokenizer = bytes_and(&[("<|im_start|>", CONTROL)], None, None, Some(source));
    let template = ChatTemplate::of(&tokenizer).unwrap();
    let options = RenderOptions { extra: object(&json!({"x": "<i>y<"})), ..RenderOptions::default() };
    assert_eq!(
        template.render(&[], &options).unwrap().text(),
        "<i>|5|<|<|3|i|True|True|2|<y>i<| <i>y<|<|True|1|4|True|i>y"
    );
}

#[test]
fn text_is_tokenised_as_if_alone() {
    let plain = EncodeOptions { parse_special: false, add_special: false };
    for case in cases().iter().filter(|case| ["glm", "roles"].contains(&case.name)) {
        let template = ChatTemplate::of(&case.tokenizer).unwrap();
        let text = "<|user|>a<think>b</think><|observation|>[gMASK]<sop></s><|";
        let prompt = template.render(&[Message::new("user", text)], &RenderOptions::default()).unwrap();
        let ids = case.tokenizer.encode_chat(&prompt);
        let alone = case.tokenizer.encode(text, plain);
        assert!(ids.windows(alone.len()).any(|window| window == alone), "{}", case.name);
        assert!(prompt.text().contains(text), "{}", case.source);
    }
}

/// The tokens of one message.
fn ids(case: &Case, role: &str, content: &str) -> Vec<u32> {
    let template = ChatTemplate::of(&case.tokenizer).unwrap();
    let options = RenderOptions { add_generation_prompt: false, ..RenderOptions::default() };
    case.tokenizer.encode_chat(&template.render(&[Message::new(role, content)], &options).unwrap())
}

#[test]
fn parts_of_a_token_do_not_meet() {
    let case = &cases()[0];
    let template = ChatTemplate::of(&case.tokenizer).unwrap();
    let parts = |parts: &[&str]| {
        let parts: Vec<Value> = parts.iter().map(|text| json!({"type": "text", "text": text})).collect();
        let prompt = template.render(&[Message::new("user", parts)], &RenderOptions::default()).unwrap();
        let ids = case.tokenizer.encode_chat(&prompt);
        ids.iter().filter(|&&id| case.tokenizer.is_control(id)).count()
    };
    assert_eq!(parts(&["<|us", "er|>"]), parts(&["a", "b"]));
    assert_eq!(parts(&["<", "|user|>"]), parts(&["a", "b"]));
    assert_eq!(parts(&["<|", "user", "|>"]), parts(&["a", "b"]));
}

#[test]
fn markup_of_a_template_is_found_in_messages() {
    // Where `</think>` is a control token, only the assistant's messages may contain it; it is found in all.
    let source =
        "{% for m in messages %}<|user|>{{ m.content.split('</think>')[-1] }}{% endfor %}".to_owned();
    let special = [("<|user|>", CONTROL), ("</think>", CONTROL)];
    let tokenizer = bytes_and(&special, None, None, Some(&source));
    let case = Case { name: "think", source, tokenizer };
    assert_eq!(ids(&case, "assistant", "a</think>b"), [256, u32::from(b'b')]);
    assert_eq!(ids(&case, "user", "a</think>b"), [256, u32::from(b'b')]);
    assert_eq!(ids(&case, "user", "a</think><|user|>").len(), 1 + "<|user|>".len());
    assert_eq!(ids(&case, "assistant", "a</think><|user|>").len(), 1 + "<|user|>".len());
}

#[test]
fn sentinels_of_a_value_stay() {
    for case in cases() {
        let template = ChatTemplate::of(&case.tokenizer).unwrap();
        let text = "\u{101D0}a\u{101D1}\u{101D2}b\u{101D1}\u{101D3}\u{101D0}<|user|>\u{101D0}\u{101D4}";
        let prompt = template.render(&[Message::new("user", text)], &RenderOptions::default()).unwrap();
        assert!(prompt.text().contains(text), "{}: {:?}", case.name, prompt.text());
    }
    let source = "{{ x | tojson(ensure_ascii=true) }}{{ raise_exception(x) if messages }}";
    let template = ChatTemplate::new(source, &bytes_and(&[("<x>", CONTROL)], None, None, None)).unwrap();
    let extra: Map<String, Value> = object(&json!({"x": "\u{101D0}<x>"}));
    let options = RenderOptions { extra, ..RenderOptions::default() };
    let prompt = template.render(&[], &options).unwrap();
    assert_eq!(prompt.text(), "\"\\ud800\\uddd0<x>\"");
    let refused = template.render(&[Message::new("user", "")], &options).unwrap_err();
    assert!(refused.to_string().ends_with(": \u{101D0}<x>"), "{refused}");
}
