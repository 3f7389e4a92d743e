//! Budgets of reasoning as people set them, in every API, streamed and not: the thought ends, and the answer follows.

use serde_json::{Value, json};
use weft_serve::ModelSource;

use super::support::{Answer, Running, options, with_template};

const MODEL: &str = "glm-tiny-q4_0.gguf";
/// A template whose replies begin with reasoning.
const THINKS: &str = "[gMASK]<sop>{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}{% if add_generation_prompt %}\
                      <|assistant|><think>{% endif %}";
/// The tokens of the answer after the thought, about.
const ANSWER: u64 = 20;

/// An API: where it is asked, and how.
struct Api {
    path: &'static str,
    ask: fn(budget: u64, most: u64, stream: bool) -> Value,
    /// The reasoning and the answer of a whole reply.
    whole: fn(&Value) -> [String; 2],
    /// The same of one event of a stream.
    event: fn(&Value) -> [String; 2],
}

fn message() -> Value {
    json!([{ "role": "user", "content": "Hello" }])
}

/// The texts at two paths.
fn at(value: &Value, paths: [&str; 2]) -> [String; 2] {
    paths.map(|path| value.pointer(path).and_then(Value::as_str).unwrap_or_default().to_string())
}

/// The texts of two kinds of items in a list.
fn items(list: &Value, kinds: [&str; 2], paths: [&str; 2]) -> [String; 2] {
    let text = |kind: &str, path: &str| {
        let item = list.as_array().unwrap().iter().find(|item| item["type"] == kind);
        item.and_then(|item| item.pointer(path)?.as_str()).unwrap_or_default().to_string()
    };
    [text(kinds[0], paths[0]), text(kinds[1], paths[1])]
}

const APIS: [Api; 5] = [
    Api {
        path: "/v1/chat/completions",
        ask: |budget, most, stream| {
            json!({ "messages": message(), "max_tokens": most, "temperature": 1, "seed": 5, "ignore_eos": true, "stream": stream,
                    "reasoning_budget": budget })
        },
        whole: |reply| at(reply, ["/choices/0/message/reasoning_content", "/choices/0/message/content"]),
        event: |event| at(event, ["/choices/0/delta/reasoning_content", "/choices/0/delta/content"]),
    },
    Api {
        path: "/v1/messages",
        ask: |budget, most, stream| {
            json!({ "messages": message(), "max_tokens": most, "temperature": 1, "seed": 5, "ignore_eos": true, "stream": stream,
                    "thinking": { "type": "enabled", "budget_tokens": budget } })
        },
        whole: |reply| items(&reply["content"], ["thinking", "text"], ["/thinking", "/text"]),
        event: |event| at(event, ["/delta/thinking", "/delta/text"]),
    },
    Api {
        path: "/v1/responses",
        ask: |budget, most, stream| {
            json!({ "input": "Hello", "max_output_tokens": most, "temperature": 1, "seed": 5, "ignore_eos": true, "stream": stream,
                    "reasoning_budget": budget })
        },
        whole: |reply| {
            items(&reply["output"], ["reasoning", "message"], ["/content/0/text", "/content/0/text"])
        },
        event: |event| {
            let of = |kind: &str| if event["type"] == kind { "/delta" } else { "/none" };
            at(event, [of("response.reasoning_text.delta"), of("response.output_text.delta")])
        },
    },
    Api {
        path: "/api/chat",
        ask: |budget, most, stream| {
            let options = json!({ "num_predict": most, "temperature": 1, "seed": 5, "ignore_eos": true });
            json!({ "messages": message(), "options": options, "stream": stream, "reasoning_budget": budget })
        },
        whole: |reply| at(reply, ["/message/thinking", "/message/content"]),
        event: |event| at(event, ["/message/thinking", "/message/content"]),
    },
    Api {
        path: "/api/generate",
        ask: |budget, most, stream| {
            let options = json!({ "num_predict": most, "temperature": 1, "seed": 5, "ignore_eos": true });
            json!({ "prompt": "Hello", "options": options, "stream": stream, "reasoning_budget": budget })
        },
        whole: |reply| at(reply, ["/thinking", "/response"]),
        event: |event| at(event, ["/thinking", "/response"]),
    },
];

/// The events of a stream: server-sent ones, or lines.
fn events(answer: &Answer) -> Vec<Value> {
    if answer.header("content-type") == Some("application/x-ndjson") {
        answer.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    } else {
        answer.events()
    }
}

/// The reasoning and the answer of a reply.
fn texts(server: &Running, api: &Api, budget: u64, stream: bool) -> [String; 2] {
    let answer = server.post(api.path, &(api.ask)(budget, budget + ANSWER, stream));
    assert_eq!(answer.status, 200, "{}: {answer:?}", api.path);
    if !stream {
        return (api.whole)(&answer.json());
    }
    let mut all = [String::new(), String::new()];
    for event in events(&answer) {
        all.iter_mut().zip((api.event)(&event)).for_each(|(all, more)| all.push_str(&more));
    }
    all
}

#[test]
fn after_50_200_or_1000_tokens_of_reasoning_the_answer_follows_in_every_api() {
    let path = with_template(MODEL, "thinking-budgets", THINKS);
    let mut options = options(MODEL);
    options.engine = options.engine.context(2048);
    options.models = vec![ModelSource::new("test", path)];
    let server = Running::start(options).ready();
    let mut before = 0;
    for budget in [50, 200, 1000] {
        let found: Vec<[String; 2]> = std::thread::scope(|scope| {
            let ways = APIS.iter().flat_map(|api| [(api, false), (api, true)]);
            let all: Vec<_> = ways
                .map(|(api, stream)| {
                    let server = &server;
                    scope.spawn(move || texts(server, api, budget, stream))
                })
                .collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let [thought, answer] = &found[0];
        assert!(!answer.is_empty(), "no answer follows a budget of {budget}");
        // Tokens are texts of a few bytes.
        assert!(
            thought.len() > before && thought.len() as u64 >= budget,
            "{budget}: {} bytes",
            thought.len()
        );
        before = thought.len();
        for (at, texts) in found.iter().enumerate() {
            let Api { path, .. } = APIS[at / 2];
            assert_eq!(texts, &found[0], "{path} with {budget}, streamed: {}", at % 2 == 1);
        }
        let whole = (APIS[0].ask)(budget, budget + ANSWER, false);
        let usage = server.post(APIS[0].path, &whole).json()["usage"].clone();
        let used = usage["completion_tokens_details"]["reasoning_tokens"].as_u64().unwrap();
        // The mark and the token after it may count, too.
        assert!((budget..=budget + 2).contains(&used), "{budget}: {usage}");
    }
}
