//! Calls whose arguments are JSON: Hermes and Qwen, Llama 3, DeepSeek, Kimi K2, Mistral.

use serde_json::{Value, json};

use super::parts::{Calls, Opening, Tool, plain_name, repeated};
use crate::error::GrammarError;
use crate::lark::{Lark, mark, quoted};
use crate::schema::Schemas;
use crate::vocabulary::Mark;

/// `<tool_call>{"name": …, "arguments": …}</tool_call>`
pub(super) fn hermes(
    lark: &mut Lark,
    schemas: &Schemas<'_>,
    tools: &[Tool<'_>],
    parallel: bool,
    of: impl Fn(&str) -> Mark,
) -> Result<Calls, GrammarError> {
    let (begin, end) = (of("<tool_call>"), of("</tool_call>"));
    let call = lark.json(|| schemas.document(&any_call(tools, "arguments")));
    let after = lark.rule(&format!("WS? {call} WS? {}", mark(&end)));
    let next = lark.rule(&format!("{} {after}", mark(&begin)));
    let calls = repeated(lark, &after, &next, parallel);
    Ok(Calls { opening: Opening::Mark { begin, never: Vec::new() }, calls })
}

/// `{"name": …, "parameters": …}`, perhaps after `<|python_tag|>`; further calls after `;`.
pub(super) fn llama3(
    lark: &mut Lark,
    schemas: &Schemas<'_>,
    tools: &[Tool<'_>],
    parallel: bool,
    of: impl Fn(&str) -> Mark,
) -> Result<Calls, GrammarError> {
    let tag = of("<|python_tag|>");
    let call = lark.json(|| schemas.document(&any_call(tools, "parameters")));
    let first = lark.rule(&format!("({} WS?)? {call}", mark(&tag)));
    let next = lark.rule(&format!("\";\" WS? {call}"));
    let calls = repeated(lark, &first, &next, parallel);
    let text = lark.text_by(r"/[ \t\r\n]*[^{ \t\r\n](?s:.*)/", &[&tag]);
    Ok(Calls { opening: Opening::Brace { text }, calls })
}

/// Between DeepSeek's markers: `function`, the name and a fenced block (V3), or the name and JSON (V3.1).
pub(super) fn deepseek(
    lark: &mut Lark,
    schemas: &Schemas<'_>,
    tools: &[Tool<'_>],
    parallel: bool,
    fenced: bool,
    of: impl Fn(&str) -> Mark,
) -> Result<Calls, GrammarError> {
    let begin_all = of("<｜tool▁calls▁begin｜>");
    let one = of("<｜tool▁call▁begin｜>");
    let [end_all, between, end] =
        ["<｜tool▁calls▁end｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"].map(|text| mark(&of(text)));
    let mut options = Vec::with_capacity(tools.len());
    for tool in tools {
        plain_name(tool)?;
        let arguments = lark.json(|| schemas.document(&tool.arguments));
        options.push(if fenced {
            let name = quoted(&format!("{}\n```json\n", tool.name));
            lark.rule(&format!("\"function\" {between} {name} {arguments} {}", quoted("\n```")))
        } else {
            lark.rule(&format!("{} {between} {arguments}", quoted(tool.name)))
        });
    }
    let call = lark.rule(&format!("{} ({}) {end}", mark(&one), options.join(" | ")));
    let calls = repeated(lark, &call, &call, parallel);
    let calls = lark.rule(&format!("WS? {calls} WS? {end_all}"));
    Ok(Calls { opening: Opening::Mark { begin: begin_all, never: vec![one] }, calls })
}

/// Between Kimi's marks: an id with the name, and JSON.
pub(super) fn kimi(
    lark: &mut Lark,
    schemas: &Schemas<'_>,
    tools: &[Tool<'_>],
    parallel: bool,
    of: impl Fn(&str) -> Mark,
) -> Result<Calls, GrammarError> {
    let begin_all = of("<|tool_calls_section_begin|>");
    let one = of("<|tool_call_begin|>");
    let [end_all, between, end] =
        ["<|tool_calls_section_end|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"]
            .map(|text| mark(&of(text)));
    let mut options = Vec::with_capacity(tools.len());
    for tool in tools {
        plain_name(tool)?;
        let arguments = lark.json(|| schemas.document(&tool.arguments));
        let name = quoted(&format!("functions.{}:", tool.name));
        options.push(lark.rule(&format!("{name} /[0-9]{{1,4}}/ {between} {arguments}")));
    }
    let call = lark.rule(&format!("{} ({}) {end}", mark(&one), options.join(" | ")));
    let calls = repeated(lark, &call, &call, parallel);
    let calls = lark.rule(&format!("WS? {calls} WS? {end_all}"));
    Ok(Calls { opening: Opening::Mark { begin: begin_all, never: vec![one] }, calls })
}

/// `[TOOL_CALLS]name[ARGS]{…}`, perhaps with an id.
pub(super) fn mistral(
    lark: &mut Lark,
    schemas: &Schemas<'_>,
    tools: &[Tool<'_>],
    parallel: bool,
    of: impl Fn(&str) -> Mark,
) -> Result<Calls, GrammarError> {
    let begin = of("[TOOL_CALLS]");
    let [id, between] = ["[CALL_ID]", "[ARGS]"].map(|text| mark(&of(text)));
    let id = lark.rule(&format!("{id} /[a-zA-Z0-9]{{9}}/"));
    let mut options = Vec::with_capacity(tools.len());
    for tool in tools {
        plain_name(tool)?;
        let arguments = lark.json(|| schemas.document(&tool.arguments));
        options.push(lark.rule(&format!("{} {id}? {between} {arguments}", quoted(tool.name))));
    }
    let call = lark.rule(&options.join(" | "));
    let next = lark.rule(&format!("{} {call}", mark(&begin)));
    let calls = repeated(lark, &call, &next, parallel);
    Ok(Calls { opening: Opening::Mark { begin, never: Vec::new() }, calls })
}

/// `[TOOL_CALLS][{"name": …, "arguments": …}]`
pub(super) fn mistral_list(
    lark: &mut Lark,
    schemas: &Schemas<'_>,
    tools: &[Tool<'_>],
    parallel: bool,
    of: impl Fn(&str) -> Mark,
) -> Result<Calls, GrammarError> {
    let begin = of("[TOOL_CALLS]");
    let call = lark.json(|| schemas.document(&any_call(tools, "arguments")));
    let calls = if parallel { format!("{call} (WS? \",\" WS? {call})*") } else { call };
    let calls = lark.rule(&format!("WS? \"[\" WS? {calls} WS? \"]\""));
    Ok(Calls { opening: Opening::Mark { begin, never: Vec::new() }, calls })
}

/// The schema of a call of any of the tools, as an object with its name and arguments.
fn any_call(tools: &[Tool<'_>], arguments: &str) -> Value {
    let mut calls: Vec<Value> = tools
        .iter()
        .map(|tool| {
            json!({
                "type": "object",
                "properties": { "name": { "const": tool.name }, arguments: tool.arguments },
                "required": ["name", arguments],
                "additionalProperties": false,
            })
        })
        .collect();
    if calls.len() == 1 { calls.remove(0) } else { json!({ "anyOf": calls }) }
}
