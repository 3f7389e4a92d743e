//! Replies in the harmony format.

use serde_json::json;

use super::support::{Fed, GPT_OSS, calls, model, schema};
use crate::{Begun, CallForm, GrammarSpec, Reasoning, TextSpec, ToolChoice};

const THOUGHT: &str = "<|channel|>analysis<|message|>Hm, {} <b>.<|end|><|start|>assistant";
const CALL: &str = "<|channel|>commentary to=functions.stop <|constrain|>json<|message|>{}";

fn begun(mut spec: GrammarSpec, begun: Begun) -> GrammarSpec {
    spec.reasoning = Reasoning::Messages { begun };
    spec
}

/// Feeds replies; `!` in front: must not be complete.
fn all(spec: &GrammarSpec, replies: &[&str]) {
    let model = model(GPT_OSS);
    for reply in replies {
        // The text that messages have in common is written once.
        let (reply, right) = reply.strip_prefix('!').map_or((*reply, true), |wrong| (wrong, false));
        let reply = reply.replace("THOUGHT", THOUGHT).replace("CALL", CALL);
        assert_eq!(model.feed(spec, &reply) == Fed::Complete, right, "{reply}");
    }
}

#[test]
fn json_is_the_final_message() {
    let spec = begun(
        schema(json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})),
        Begun::Header,
    );
    all(
        &spec,
        &[
            "<|channel|>final<|message|>{\"a\": 1}",
            "<|channel|>final <|constrain|>json<|message|>{\"a\": 1}",
            "THOUGHT<|channel|>final<|message|>{\"a\": 1}",
            "THOUGHTTHOUGHT<|channel|>final<|message|>{\"a\": 1}",
            "!THOUGHT",
            "!{\"a\": 1}",
            "!<|message|>{\"a\": 1}",
            "!<|channel|>commentary<|message|>{\"a\": 1}",
            "!<|channel|>final<|message|>{\"a\": \"b\"}",
            "!<|channel|>final<|message|>{\"a\": 1}<|end|>",
            "!THOUGHT<|channel|>final<|message|>yes",
        ],
    );
    let spec = begun(spec, Begun::Reasoning);
    all(
        &spec,
        &[
            "Hm.<|end|><|start|>assistant<|channel|>final<|message|>{\"a\": 1}",
            "!<|channel|>final<|message|>{\"a\": 1}",
            "!{\"a\": 1}",
        ],
    );
    all(&begun(spec, Begun::Text), &["{\"a\": 1}", "!<|channel|>final<|message|>{\"a\": 1}"]);
}

#[test]
fn other_forms_are_the_final_message() {
    let spec =
        |text| GrammarSpec { reasoning: Reasoning::Messages { begun: Begun::Header }, text, calls: None };
    let choice = spec(TextSpec::Choice(vec!["yes".into(), "no".into()]));
    all(&choice, &["THOUGHT<|channel|>final<|message|>no", "!<|channel|>final<|message|> no", "!no"]);
    let pattern = spec(TextSpec::Pattern("[a-c]+".into()));
    all(&pattern, &["<|channel|>final<|message|>cab", "!<|channel|>final<|message|>d"]);
}

#[test]
fn calls_are_messages() {
    let tools = [
        (
            "weather",
            json!({"type": "object", "properties": {"city": {"enum": ["Oslo"]}}, "required": ["city"]}),
        ),
        ("stop", json!({"type": "object", "additionalProperties": false})),
    ];
    let required = calls(CallForm::Harmony, &tools, ToolChoice::Required);
    let same: &[&str] = &[
        "CALL",
        "THOUGHTCALL",
        " to=functions.stop<|channel|>commentary json<|message|>{}",
        "THOUGHT to=functions.stop<|channel|>commentary<|message|>{}",
        "<|channel|>commentary to=functions.weather<|message|>{\"city\": \"Oslo\"}",
        "CALL<|end|><|start|>assistantCALL",
        "!<|channel|>commentary to=functions.weather<|message|>{}",
        "!<|channel|>commentary to=functions.other<|message|>{}",
        "!<|channel|>commentary to=functions.stop<|message|>{\"a\": 1}",
        "!CALL<|end|>",
        "!THOUGHT",
    ];
    all(&required, same);
    all(&required, &["!<|channel|>final<|message|>Hi", "!"]);
    let auto = calls(CallForm::Harmony, &tools, ToolChoice::Auto);
    all(&auto, same);
    all(
        &auto,
        &[
            "<|channel|>final<|message|>Hi <b>.",
            "<|channel|>final<|message|>",
            "THOUGHT<|channel|>commentary<|message|>A plan.<|end|><|start|>assistantCALL",
            "!<|channel|>final<|message|>Hi<|end|>",
            "!Hi",
        ],
    );
    let named = calls(CallForm::Harmony, &tools, ToolChoice::Named("stop".into()));
    all(
        &named,
        &["THOUGHTCALL", "!<|channel|>commentary to=functions.weather<|message|>{\"city\": \"Oslo\"}"],
    );
    let mut one = required.clone();
    one.calls.as_mut().unwrap().parallel = false;
    all(&one, &["CALL", "!CALL<|end|><|start|>assistantCALL"]);
    let mut either = auto.clone();
    either.text = TextSpec::JsonSchema(json!({"type": "integer"}));
    all(&either, &["THOUGHTCALL", "<|channel|>final<|message|>3", "!<|channel|>final<|message|>Hi"]);
    for spec in [&required, &auto] {
        all(&begun(spec.clone(), Begun::Reasoning), &["Hm.<|end|><|start|>assistantCALL", "!CALL"]);
        all(&begun(spec.clone(), Begun::Text), &["Hm.<|end|><|start|>assistantCALL", "!CALL"]);
    }
    all(&begun(auto, Begun::Text), &["Hi."]);
    all(&begun(required, Begun::Text), &["!Hi."]);
}

#[test]
fn prompts_begin_replies() {
    let format = weft_text::reply::ReplyFormat::of("<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>");
    for (prompt, begun) in [
        ("<|end|><|start|>assistant", Begun::Header),
        ("<|start|>assistant<|channel|>analysis<|message|>", Begun::Reasoning),
        ("<|start|>assistant<|channel|>analysis<|message|>Hm", Begun::Reasoning),
        ("<|start|>assistant<|channel|>final<|message|>", Begun::Text),
    ] {
        assert_eq!(Reasoning::after(&format, prompt), Reasoning::Messages { begun }, "{prompt}");
    }
}
