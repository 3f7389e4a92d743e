//! What a request decides about its reply: samplers, a budget of reasoning, a form by other servers' names, a beginning, a gap.

use serde_json::{Value, json};
use weft_serve::ModelSource;

use super::support::{Answer, Running, options, with_template};

const MODEL: &str = "glm-tiny-q4_0.gguf";
/// A template whose replies begin with reasoning, unless that is switched off.
const THINKS: &str = "[gMASK]<sop>{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}{% if add_generation_prompt %}\
                      <|assistant|><think>{% if enable_thinking is defined and not enable_thinking %}\n\n</think>\n\n{% endif %}{% endif %}";

/// A server of the model with this template.
fn thinking(test: &str, budget: Option<usize>) -> Running {
    let path = with_template(MODEL, &format!("thinking-{test}"), THINKS);
    let mut options = options(MODEL);
    let mut source = ModelSource::new("test", path);
    source.reasoning_budget = budget;
    options.models = vec![source];
    Running::start(options).ready()
}

fn with(mut body: Value, more: &Value) -> Value {
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

fn question() -> Value {
    json!({ "messages": [{ "role": "user", "content": "Hello" }], "max_tokens": 60, "temperature": 1, "seed": 5, "ignore_eos": true })
}

fn chat(server: &Running, more: &Value) -> Value {
    let answer = server.post("/v1/chat/completions", &with(question(), more));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[test]
fn samplers_act_and_are_the_same_in_any_company() {
    let server = Running::of(MODEL);
    let ways = [
        json!({}),
        json!({ "logit_bias": { "100": 90, "101": 90 }, "dry_multiplier": 50, "dry_allowed_length": 1, "dry_penalty_last_n": -1, "dry_sequence_breakers": ["x"] }),
        json!({ "typical_p": 0.2 }),
        json!({ "top_n_sigma": 0.5, "top_k": 0 }),
        json!({ "xtc_probability": 1, "xtc_threshold": 0.01 }),
        json!({ "dynatemp_range": 0.9, "dynatemp_exponent": 2, "top_k": 200, "min_p": 0, "top_p": 1 }),
        json!({ "mirostat": 2, "mirostat_tau": 2, "mirostat_eta": 0.3 }),
        json!({ "mirostat_mode": 2, "mirostat_tau": 2, "mirostat_eta": 0.3 }),
    ];
    // Long enough that a token comes twice.
    let long = |more: &Value| with(json!({ "max_tokens": 150 }), more);
    let text = |more: &Value| chat(&server, &long(more))["choices"][0]["message"].clone();
    let alone: Vec<Value> = ways.iter().map(text).collect();
    // Of two candidates, one that DRY makes less likely is soon chosen.
    let without = [&text(&json!({ "logit_bias": { "100": 90, "101": 90 } })), &alone[0]];
    for (i, (way, message)) in ways.iter().zip(&alone).enumerate().skip(1) {
        assert_ne!(message, without[usize::from(i > 1)], "{way} has no effect");
    }
    assert_eq!(alone[6], alone[7]);
    let together: Vec<Value> = std::thread::scope(|scope| {
        let all: Vec<_> = ways.iter().map(|way| scope.spawn(|| text(way))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(together, alone);
}

/// The lengths of reasoning and answer in bytes.
fn lengths(reasoning: Option<&str>, text: Option<&str>) -> [usize; 2] {
    [reasoning, text].map(|text| text.map_or(0, str::len))
}

fn text_of<'a>(value: &'a Value, path: &str) -> Option<&'a str> {
    value.pointer(path).and_then(Value::as_str)
}

/// The text at a path in all events.
fn sum(events: &[Value], path: &str) -> String {
    events.iter().filter_map(|event| text_of(event, path)).collect()
}

#[test]
fn a_budget_closes_the_thought_in_every_api() {
    let server = thinking("budget", None);
    // Without a budget, a random model never ends its thought.
    let message = chat(&server, &json!({}))["choices"][0]["message"].clone();
    assert!(message["reasoning_content"].is_string() && message["content"] == "", "{message}");
    for most in [0, 1, 7, 20] {
        let budget = json!({ "reasoning_budget": most });
        let whole = chat(&server, &budget);
        let message = &whole["choices"][0]["message"];
        let used = whole["usage"]["completion_tokens_details"]["reasoning_tokens"].as_u64().unwrap();
        // The mark and the token after it may count, too.
        assert!(used <= most + 2 && (most == 0 || used > 0), "{most}: {whole}");
        let expected = lengths(text_of(message, "/reasoning_content"), text_of(message, "/content"));
        assert!(expected[1] > 0 && (expected[0] > 0) == (most > 0), "{most}: {whole}");
        let streamed = with(question(), &with(budget.clone(), &json!({ "stream": true })));
        let events = server.post("/v1/chat/completions", &streamed).events();
        let delta = |name: &str| sum(&events, &format!("/choices/0/delta/{name}"));
        assert_eq!([delta("reasoning_content").len(), delta("content").len()], expected, "{most}");

        let names =
            ["reasoning_budget_tokens", "thinking_budget_tokens", "thinking_token_budget", "thinking_budget"];
        for name in names {
            assert_eq!(&chat(&server, &json!({ name: most }))["choices"][0]["message"], message, "{name}");
        }
        let object = json!({ "thinking": { "type": "enabled", "budget_tokens": most } });
        if most > 0 {
            assert_eq!(&chat(&server, &object)["choices"][0]["message"], message);
        }

        // Anthropic's.
        let body = with(question(), &json!({ "thinking": { "type": "enabled", "budget_tokens": most } }));
        let answer = server.post("/v1/messages", &body).json();
        let blocks = answer["content"].as_array().unwrap();
        let block = |kind: &str| blocks.iter().find(|block| block["type"] == kind);
        let found = lengths(
            block("thinking").and_then(|block| text_of(block, "/thinking")),
            block("text").and_then(|block| text_of(block, "/text")),
        );
        assert_eq!(found, expected, "{most}: {answer}");

        // The responses'.
        let body = json!({ "input": "Hello", "max_output_tokens": 60, "temperature": 1, "seed": 5, "ignore_eos": true });
        let answer = server.post("/v1/responses", &with(body, &budget)).json();
        let output = answer["output"].as_array().unwrap();
        let item = |kind: &str| output.iter().find(|item| item["type"] == kind);
        let found = lengths(
            item("reasoning").and_then(|item| text_of(item, "/content/0/text")),
            item("message").and_then(|item| text_of(item, "/content/0/text")),
        );
        assert_eq!(found, expected, "{most}: {answer}");

        // Ollama's.
        let sampling = json!({ "num_predict": 60, "temperature": 1, "seed": 5, "ignore_eos": true });
        let body = json!({ "messages": question()["messages"], "options": sampling, "stream": false });
        let answer = server.post("/api/chat", &with(body, &budget)).json();
        let found = lengths(text_of(&answer, "/message/thinking"), text_of(&answer, "/message/content"));
        assert_eq!(found, expected, "{most}: {answer}");
    }
}

#[test]
fn a_budget_of_the_model_holds_where_a_request_has_none() {
    let server = thinking("budget-of-the-model", Some(7));
    let message = |more: &Value| chat(&server, more)["choices"][0]["message"].clone();
    let own = message(&json!({ "reasoning_budget": 7 }));
    assert!(own["content"] != "", "{own}");
    assert_eq!(message(&json!({})), own);
    assert_ne!(message(&json!({ "reasoning_budget": 3 })), own);
    assert_eq!(
        message(&json!({ "reasoning_budget": -1 }))["content"],
        own["content"],
        "-1 leaves it to the model"
    );
}

#[test]
fn a_budget_and_a_form_agree() {
    let server = thinking("budget-and-form", None);
    for seed in 0..4 {
        let more = json!({ "reasoning_budget": 9, "seed": seed, "guided_choice": ["yes", "no"], "ignore_eos": false });
        let answer = chat(&server, &more);
        let message = &answer["choices"][0]["message"];
        assert!(["yes", "no"].contains(&message["content"].as_str().unwrap().trim()), "{answer}");
        assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    }
}

#[test]
fn forms_by_other_servers_names_are_enforced() {
    let server = Running::of(MODEL);
    let schema = json!({ "enum": ["yes", "no"] });
    let quoted = ["\"yes\"", "\"no\""];
    let plain = ["yes", "no"];
    for (form, allowed) in [
        (json!({ "grammar": "root ::= \"yes\" | \"no\"" }), plain),
        (json!({ "grammar": "start: \"yes\" | \"no\"" }), plain),
        (json!({ "guided_grammar": "root ::= (\"y\" \"es\") | \"no\"" }), plain),
        (json!({ "ebnf": "root ::= answer\nanswer ::= \"yes\" | \"no\"" }), plain),
        (json!({ "regex": "yes|no" }), plain),
        (json!({ "guided_regex": "(yes|no)" }), plain),
        (json!({ "guided_choice": ["yes", "no"] }), plain),
        (json!({ "structured_outputs": { "choice": ["yes", "no"] } }), plain),
        (json!({ "structured_outputs": { "regex": "yes|no" } }), plain),
        (json!({ "structured_outputs": { "grammar": "root ::= \"yes\" | \"no\"" } }), plain),
        (json!({ "structured_outputs": { "json": schema } }), quoted),
        (json!({ "json_schema": schema }), quoted),
        (json!({ "guided_json": schema.to_string() }), quoted),
    ] {
        let says = |answer: &Answer, path: &str| {
            assert_eq!(answer.status, 200, "{form}: {answer:?}");
            let body = answer.json();
            let text = text_of(&body, path).unwrap_or_else(|| panic!("{form}: {answer:?}")).to_string();
            assert!(allowed.contains(&text.trim()), "{form}: {text:?}");
        };
        let ask =
            json!({ "messages": question()["messages"], "max_tokens": 50, "temperature": 1, "seed": 3 });
        says(&server.post("/v1/chat/completions", &with(ask.clone(), &form)), "/choices/0/message/content");
        says(&server.post("/v1/messages", &with(ask, &form)), "/content/0/text");
        let ask = json!({ "prompt": "Hello", "max_tokens": 50, "temperature": 1, "seed": 3 });
        says(&server.post("/v1/completions", &with(ask, &form)), "/choices/0/text");
        let ask = json!({ "input": "Hello", "max_output_tokens": 50, "temperature": 1, "seed": 3 });
        says(&server.post("/v1/responses", &with(ask, &form)), "/output/0/content/0/text");
        let ask = json!({ "prompt": "Hello", "stream": false, "options": { "num_predict": 50, "seed": 3 } });
        says(&server.post("/api/generate", &with(ask, &form)), "/response");
    }
}

/// A schema within a grammar would pass by the limits of schemas.
#[test]
fn grammars_have_no_schemas_or_patterns_within() {
    let server = Running::of(MODEL);
    for (form, says) in [
        (
            json!({ "grammar": "start: %json {}" }),
            "grammar: `%json` is not taken in a grammar; send a schema as `response_format`",
        ),
        (
            json!({ "structured_outputs": { "grammar": "start: A\nA: %regex { \"substring_chars\": \"a\" }" } }),
            "structured_outputs.grammar: `%regex` is not taken in a grammar; send a pattern as `regex`",
        ),
    ] {
        let answer = server.post("/v1/chat/completions", &with(question(), &form));
        assert_eq!(answer.status, 400, "{form}: {answer:?}");
        assert_eq!(answer.json()["error"]["message"], says);
    }
}

/// A reply that continues a beginning is the rest of the reply that began so.
#[test]
fn the_last_message_is_continued() {
    let server = Running::of(MODEL);
    // Greedy, and in whole characters.
    let ask = json!({ "temperature": 0, "max_tokens": 24, "logprobs": true });
    let whole = chat(&server, &ask);
    let tokens = whole["choices"][0]["logprobs"]["content"].as_array().unwrap();
    let text = whole["choices"][0]["message"]["content"].as_str().unwrap();
    let mut begun = String::new();
    for token in &tokens[..8] {
        begun += token["token"].as_str().unwrap();
    }
    assert!(text.starts_with(&begun), "{begun:?} {text:?}");
    let messages = json!([{ "role": "user", "content": "Hello" }, { "role": "assistant", "content": begun }]);
    let prompt = |more: Value| {
        let body = with(json!({ "messages": messages }), &more);
        let answer = server.post("/apply-template", &body);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["prompt"].as_str().unwrap().to_string()
    };
    let expected = format!("[gMASK]<sop><|user|>Hello<|assistant|>{begun}");
    assert_eq!(prompt(json!({ "continue_final_message": true })), expected);
    assert_eq!(prompt(json!({ "continue_final_message": true, "add_generation_prompt": false })), expected);
    assert_eq!(prompt(json!({})), format!("{expected}<|assistant|>"));
    // A control token in what is continued is text.
    let more = json!({ "messages": [{ "role": "user", "content": "Hello" }, { "role": "assistant", "content": "<|user|>", "prefix": true }],
                       "max_tokens": 1 });
    assert!(chat(&server, &more)["usage"]["prompt_tokens"].as_u64().unwrap() > 6);
    let limits =
        json!({ "temperature": 0, "max_tokens": 10, "continue_final_message": true, "messages": messages });
    let rest = chat(&server, &limits)["choices"][0]["message"]["content"].as_str().unwrap().to_string();
    assert!(!rest.is_empty());
    // In Anthropic's and Ollama's APIs, the last message says so by itself.
    let body = json!({ "messages": messages, "max_tokens": 10, "temperature": 0, "ignore_eos": true });
    assert_eq!(server.post("/v1/messages", &body).json()["content"][0]["text"], rest.as_str());
    let body = json!({ "messages": messages, "stream": false,
                       "options": { "num_predict": 10, "temperature": 0, "ignore_eos": true } });
    assert_eq!(server.post("/api/chat", &body).json()["message"]["content"], rest.as_str());
}

#[test]
fn a_form_begins_with_what_was_said() {
    let server = Running::of(MODEL);
    let schema = json!({ "type": "object", "properties": { "city": { "enum": ["Rome", "Oslo"] } },
                         "required": ["city"], "additionalProperties": false });
    let messages =
        json!([{ "role": "user", "content": "Hello" }, { "role": "assistant", "content": "{\"city\":\"R" }]);
    let more = json!({ "messages": messages, "continue_final_message": true, "json_schema": schema, "ignore_eos": false });
    let answer = chat(&server, &more);
    let text = format!("{{\"city\":\"R{}", answer["choices"][0]["message"]["content"].as_str().unwrap());
    let value: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
    assert_eq!(value["city"], "Rome");
}

#[test]
fn reasoning_is_continued_and_closed() {
    let server = thinking("continued", None);
    let prompt = |message: Value| {
        let messages = json!([{ "role": "user", "content": "Hello" }, message]);
        let body = json!({ "messages": messages, "continue_final_message": true });
        server.post("/apply-template", &body).json()["prompt"].as_str().unwrap().to_string()
    };
    let begin = "[gMASK]<sop><|user|>Hello<|assistant|><think>";
    assert_eq!(prompt(json!({ "role": "assistant", "content": "Hi" })), format!("{begin}\n</think>\n\nHi"));
    let reasoned = json!({ "role": "assistant", "content": "", "reasoning_content": "Hm" });
    assert_eq!(prompt(reasoned.clone()), format!("{begin}Hm"));
    let messages = json!([{ "role": "user", "content": "Hello" }, reasoned]);
    let more = json!({ "messages": messages, "continue_final_message": true, "reasoning_budget": 5 });
    let message = chat(&server, &more)["choices"][0]["message"].clone();
    assert!(message["reasoning_content"].is_string() && message["content"] != "", "{message}");
}

#[test]
fn a_gap_is_filled() {
    let server = Running::of("qwen3-tiny-q4_0.gguf");
    let sampling = json!({ "temperature": 0, "ignore_eos": true });
    let marked = json!({ "prompt": "<|fim_prefix|>def f(<|fim_suffix|>)\n<|fim_middle|>", "max_tokens": 8 });
    let marked = server.post("/v1/completions", &with(marked, &sampling)).json();
    let unmarked = json!({ "prompt": "def f(", "suffix": ")\n", "max_tokens": 8 });
    let unmarked = server.post("/v1/completions", &with(unmarked, &sampling)).json();
    let text = unmarked["choices"][0]["text"].as_str().unwrap();
    assert!(!text.is_empty());
    // Models differ in the tokens that every prompt begins with.
    let [a, b] = [&marked, &unmarked].map(|answer| answer["usage"]["prompt_tokens"].as_u64().unwrap());
    assert!(a.abs_diff(b) <= 1, "{a} {b}");
    let infill = json!({ "input_prefix": "def ", "prompt": "f(", "input_suffix": ")\n", "n_predict": 8 });
    let whole = server.post("/infill", &with(infill.clone(), &sampling)).json();
    assert_eq!(
        (&whole["content"], &whole["stop"], &whole["stop_type"]),
        (&json!(text), &json!(true), &json!("limit"))
    );
    let streamed = server.post("/infill", &with(with(infill.clone(), &sampling), &json!({ "stream": true })));
    assert_eq!(sum(&streamed.events(), "/content"), text);
    let body = json!({ "prompt": "def f(", "suffix": ")\n", "stream": false,
                       "options": { "num_predict": 8, "temperature": 0, "ignore_eos": true } });
    assert_eq!(server.post("/api/generate", &body).json()["response"], text);
    // Other files come first.
    let more = json!({ "input_extra": [{ "filename": "a.py", "text": "import b" }] });
    let longer = server.post("/infill", &with(with(infill, &sampling), &more)).json();
    assert!(longer["tokens_evaluated"].as_u64() > whole["tokens_evaluated"].as_u64());
    let shown = server.post("/api/show", &json!({ "model": "test" })).json();
    assert!(shown["capabilities"].as_array().unwrap().contains(&json!("insert")));
    // What cannot fit the context is refused, wherever it is around the gap, before it is made tokens.
    let long = "def f(x): return x\n".repeat(20_000);
    let extra = json!([{ "filename": "a.py", "text": long }]);
    for body in [
        json!({ "input_prefix": long }),
        json!({ "input_prefix": "a", "input_suffix": long }),
        json!({ "input_prefix": "a", "prompt": long }),
        json!({ "input_prefix": "a", "input_extra": extra }),
    ] {
        let refused = server.post("/infill", &body);
        assert_eq!(
            (refused.status, &refused.json()["error"]["code"]),
            (400, &json!("context_length_exceeded"))
        );
    }
    // Not every model was trained for it.
    let other = Running::of(MODEL);
    let refused = other.post("/infill", &json!({ "input_prefix": "a" }));
    assert_eq!(refused.status, 400, "{refused:?}");
    assert!(refused.body.contains("no tokens to fill in the middle"), "{refused:?}");
}

#[test]
fn editors_limit_what_fills_a_gap() {
    let server = Running::of("qwen3-tiny-q4_0.gguf");
    let body = json!({ "input_prefix": "def ", "prompt": "f(", "input_suffix": ")\n", "n_predict": 32,
                       "temperature": 0, "ignore_eos": true });
    let fill = |more: Value| server.post("/infill", &with(body.clone(), &more));
    let whole = fill(json!({})).json();
    // Fields by their paths; those that are not there are left out.
    let names = json!(["content", "timings/prompt_n", "truncated", "a", "timings/b", "content/c", ""]);
    let some = fill(json!({ "response_fields": names })).json();
    let expected = json!({ "content": whole["content"], "truncated": false,
                           "timings/prompt_n": some["timings/prompt_n"] });
    assert_eq!(some, expected);
    assert!(some["timings/prompt_n"].is_u64(), "{some}");
    assert_eq!(fill(json!({ "response_fields": [""] })).json(), json!({}));
    let streamed = fill(json!({ "response_fields": ["content"], "stream": true }));
    assert_eq!(sum(&streamed.events(), "/content"), whole["content"].as_str().unwrap());
    // Several replies.
    let several = fill(json!({ "n_cmpl": 3, "temperature": 1, "seed": 5, "n_predict": 8 })).json();
    let several = several.as_array().unwrap();
    let replies: Vec<&Value> = several.iter().map(|reply| &reply["content"]).collect();
    assert_eq!(replies.len(), 3);
    assert!(replies[0] != replies[1] || replies[0] != replies[2], "{replies:?}");
    assert!((0..).zip(several).all(|(i, reply)| reply["index"] == i), "{several:?}");
    assert_eq!(fill(json!({ "n_cmpl": 2, "n_predict": 8, "stream": true })).events().len(), 2 * 8 + 2);
    // The prompt alone: so that it is in the cache when it is asked for.
    let begin = json!({ "input_prefix": "", "input_suffix": "", "prompt": "", "n_predict": 0, "samplers": [],
                        "id_slot": 0, "t_max_prompt_ms": 1, "t_max_predict_ms": 1, "model": "", "response_fields": [""],
                        "input_extra": [{ "filename": "a.py", "text": "import b, and much more\n".repeat(7) }] });
    let answer = server.post("/infill", &begin);
    assert_eq!((answer.status, answer.json()), (200, json!({})));
    // The name of another service's model, which llama.vscode sends.
    let other = server.post("/infill", &with(begin.clone(), &json!({ "model": "vendor/model" })));
    assert_eq!(other.status, 200, "{other:?}");
    let ignored = other.header("x-weft-ignored").unwrap();
    assert!(ignored.split(", ").any(|part| part == "model"), "{ignored}");
    let extra = fill(json!({ "input_extra": begin["input_extra"], "n_predict": 1 })).json();
    assert!(extra["tokens_cached"].as_u64() >= Some(64), "{extra}");
    // A line is forced, then one without indentation.
    let lines = |more: Value| {
        let forced = json!({ "guided_choice": ["a:\n    b\n\nc\nd"], "n_predict": 99 });
        let answer = fill(with(forced, &more)).json();
        (answer["content"].as_str().unwrap().to_string(), answer["stop_type"].as_str().unwrap().to_string())
    };
    assert_eq!(lines(json!({ "n_indent": 4 })), ("a:\n    b".into(), "limit".into()));
    assert_eq!(lines(json!({ "n_indent": 0 })).0, "a:\n    b\n\nc\nd");
    assert_eq!(
        lines(json!({ "t_max_predict_ms": 3_600_000, "t_max_prompt_ms": 500 })).0,
        "a:\n    b\n\nc\nd"
    );
    // However fast a machine is, a first line is complete.
    let (timed, _) = lines(json!({ "t_max_predict_ms": 1 }));
    assert!(timed.starts_with("a:\n"), "{timed:?}");
    for wrong in [
        json!({ "n_cmpl": 0 }),
        json!({ "n_cmpl": 9 }),
        json!({ "n_indent": -1 }),
        json!({ "t_max_predict_ms": "soon" }),
        json!({ "response_fields": "content" }),
        json!({ "response_fields": [1] }),
    ] {
        assert_eq!(fill(wrong.clone()).status, 400, "{wrong}");
    }
}
