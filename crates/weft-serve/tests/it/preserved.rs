//! An agent's transcript of 20 turns, with its thoughts kept in the prompts and without: how many tokens each turn computes again.

use serde_json::{Value, json};
use weft_serve::ModelSource;

use super::support::{Running, options, with_template};

const MODEL: &str = "glm-tiny-q4_0.gguf";
/// GLM-4.7's template, which drops thoughts before the user's last message unless `clear_thinking` is false.
const TEMPLATE: &str = include_str!("../../../weft-text/tests/templates/glm.jinja");
/// The requests of an agent that mends a program: five wishes of its user, and for each three calls of tools before the answer.
const TRANSCRIPT: &str = include_str!("agent.json");

fn server(test: &str, preserve: bool) -> Running {
    let mut options = options(MODEL);
    options.engine = options.engine.context(16_384).sequences(2);
    let mut source = ModelSource::new("test", with_template(MODEL, &format!("preserved-{test}"), TEMPLATE));
    source.preserve = preserve;
    options.models = vec![source];
    Running::start(options)
}

/// The tokens of the prompt of each turn, and how many of them were computed.
fn turns(server: &Running, more: &Value) -> Vec<[u64; 2]> {
    let transcript: Value = serde_json::from_str(TRANSCRIPT).unwrap();
    let messages = transcript["messages"].as_array().unwrap();
    let ends =
        (1..=messages.len()).filter(|end| messages.get(*end).is_none_or(|next| next["role"] == "assistant"));
    let turn = |end: usize| {
        let mut body = json!({ "messages": messages[..end], "tools": transcript["tools"], "max_tokens": 1, "temperature": 0 });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = server.post("/v1/chat/completions", &body);
        assert_eq!(answer.status, 200, "{answer:?}");
        let usage = answer.json()["usage"].clone();
        let prompt = usage["prompt_tokens"].as_u64().unwrap();
        [prompt, prompt - usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap()]
    };
    ends.map(turn).collect()
}

fn computed(turns: &[[u64; 2]]) -> u64 {
    turns.iter().map(|[_, computed]| computed).sum()
}

#[test]
fn kept_thoughts_keep_the_prompts_of_an_agent_cached() {
    let kept = turns(&server("kept", true), &json!({}));
    let dropped = turns(&server("dropped", false), &json!({}));
    assert_eq!((kept.len(), dropped.len()), (20, 20));
    println!("kept: {} tokens computed in 20 turns; dropped: {}", computed(&kept), computed(&dropped));
    // With all thoughts, a turn computes what is new in it, and the few tokens with which the last prompt asked for a reply.
    let mut before = 0;
    for (at, [prompt, computed]) in kept.iter().enumerate() {
        assert!(*computed <= prompt - before + 8, "turn {at}: {computed} of {prompt}, after {before}");
        before = *prompt;
    }
    // Without, the user's next wish changes the prompt back to the last one: all that came after it is computed again.
    for at in [4, 8, 12, 16] {
        assert!(dropped[at][1] > 2 * kept[at][1], "turn {at}: {} and {}", dropped[at][1], kept[at][1]);
    }
    assert!(computed(&dropped) * 10 > computed(&kept) * 13, "{} {}", computed(&dropped), computed(&kept));
}

#[test]
fn a_request_says_whether_thoughts_are_kept() {
    let server = server("asked", true);
    let last = |more: Value| *turns(&server, &more).last().unwrap();
    let [kept, _] = last(json!({}));
    let [dropped, _] = last(json!({ "reasoning_preserve": false }));
    assert!(dropped < kept, "{dropped} {kept}");
    for (more, expected) in [
        (json!({ "reasoning_preserve": true }), kept),
        (json!({ "chat_template_kwargs": { "clear_thinking": true } }), dropped),
        (json!({ "chat_template_kwargs": { "clear_thinking": false } }), kept),
        // The name that another template has.
        (json!({ "chat_template_kwargs": { "preserve_thinking": false } }), dropped),
        (json!({ "thinking": { "type": "enabled", "clear_thinking": true } }), dropped),
    ] {
        assert_eq!(last(more.clone())[0], expected, "{more}");
    }
}
