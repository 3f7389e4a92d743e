//! Dynamo's own tests of workers, and what they leave out.

use std::path::PathBuf;
use std::sync::Arc;

use dynamo_backend_common::testing::{mock_context, run_conformance};
use dynamo_backend_common::{FinishReason, GenerateContext, LLMEngine, LLMEngineOutput, PreprocessedRequest};
use futures::StreamExt as _;
use serde_json::{Value, json};
use weft_dynamo::Worker;
use weft_engine::{EngineOptions, tokenizer};
use weft_gguf::Gguf;

fn worker() -> Worker {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let options = EngineOptions::default().threads(1).context(256).sequences(8);
    Worker::new(folder.join("glm-tiny-q4_k_m.gguf"), "glm-tiny", options)
}

fn request(value: Value) -> PreprocessedRequest {
    serde_json::from_value(value).unwrap()
}

async fn reply(worker: &Worker, value: Value) -> Vec<Result<LLMEngineOutput, String>> {
    let context = GenerateContext::new(mock_context(), None);
    match worker.generate(request(value), context).await {
        Ok(stream) => stream.map(|item| item.map_err(|error| error.to_string())).collect().await,
        Err(error) => vec![Err(error.to_string())],
    }
}

fn tokens(items: &[Result<LLMEngineOutput, String>]) -> Vec<u32> {
    items.iter().flat_map(|item| item.as_ref().unwrap().token_ids.clone()).collect()
}

#[tokio::test]
async fn the_kit_finds_nothing() {
    run_conformance(worker).await.unwrap();
}

#[tokio::test]
async fn a_reply_has_the_same_tokens_alone_and_among_others_and_after_a_move() {
    let worker = worker();
    worker.start(1).await.unwrap();
    let asked = |prompt: &[u32], most: u32| {
        json!({
            "token_ids": prompt, "sampling_options": { "temperature": 0.9, "seed": 5 },
            "stop_conditions": { "max_tokens": most, "ignore_eos": true }, "output_options": { "logprobs": 2 },
        })
    };
    let prompt: Vec<u32> = (1..41).collect();
    let items = reply(&worker, asked(&prompt, 12)).await;
    let alone = tokens(&items);
    assert_eq!(alone.len(), 12);
    let first = items[0].as_ref().unwrap();
    let likeliest = &first.top_logprobs.as_ref().unwrap()[0];
    assert_eq!((first.log_probs.as_ref().unwrap().len(), likeliest.len()), (1, 2));
    let last = items.last().unwrap().as_ref().unwrap();
    let used = last.completion_usage.as_ref().unwrap();
    assert_eq!((used.prompt_tokens, used.completion_tokens), (40, 12));
    assert_eq!(last.finish_reason, Some(FinishReason::Length));

    let others = (0..6).map(|i| reply(&worker, asked(&[7 + i; 9], 12)));
    let (again, _) = tokio::join!(reply(&worker, asked(&prompt, 12)), futures::future::join_all(others));
    assert_eq!(tokens(&again), alone);
    let used = again.last().unwrap().as_ref().unwrap().completion_usage.as_ref().unwrap();
    assert_eq!(used.prompt_tokens_details.as_ref().unwrap().cached_tokens, Some(32));

    // As when the front end continues a reply on another worker: the prompt includes the reply so far.
    let moved = reply(&worker, asked(&[&prompt, &alone[..5]].concat(), 7)).await;
    assert_eq!(tokens(&moved), alone[5..]);
    worker.cleanup().await.unwrap();
}

#[tokio::test]
async fn a_guided_reply_has_the_form_that_was_asked_for() {
    let worker = worker();
    worker.start(1).await.unwrap();
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/glm-tiny-q4_k_m.gguf");
    let tokenizer = tokenizer(Gguf::open(&path).unwrap().metadata()).unwrap();
    let guided = |guided: Value, seed: u32| {
        json!({
            "token_ids": [5, 6, 7], "stop_conditions": { "max_tokens": 200 },
            "sampling_options": { "temperature": 1.0, "seed": seed, "guided_decoding": guided },
            "eos_token_ids": tokenizer.end_of_generation(),
        })
    };
    // As the front end asks for one call of either of two tools, but without other properties: random weights would add them without end.
    let call = |name: &str, parameters: Value| {
        json!({ "properties": { "name": { "type": "string", "enum": [name] }, "parameters": parameters },
            "required": ["name", "parameters"], "additionalProperties": false })
    };
    let city = json!({ "type": "object", "properties": { "city": { "enum": ["Rome", "Oslo"] } },
        "required": ["city"], "additionalProperties": false });
    let none = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let calls = json!({ "type": "array", "minItems": 1, "maxItems": 1,
        "items": { "type": "object", "anyOf": [call("weather", city), call("now", none)] } });
    for seed in 0..4 {
        for (asked, holds) in [
            (json!({ "choice": ["yes", "no"] }), (|text| ["yes", "no"].contains(&text)) as fn(&str) -> bool),
            (json!({ "regex": "[ab]{3}-\\d" }), |text| text.len() == 5 && &text[3..4] == "-"),
            (json!({ "grammar": "start: \"x\" \"y\" | \"z\"" }), |text| ["xy", "z"].contains(&text)),
            (
                json!({ "json": { "type": "array", "items": { "enum": [1, "a"] }, "minItems": 2, "maxItems": 3 } }),
                |text| matches!(serde_json::from_str(text), Ok(Value::Array(all)) if (2..=3).contains(&all.len())),
            ),
            (json!({ "json": calls }), |text| {
                let calls: Value = serde_json::from_str(text).unwrap();
                match (calls[0]["name"].as_str(), &calls[0]["parameters"]["city"]) {
                    (Some("weather"), Value::String(city)) => city == "Rome" || city == "Oslo",
                    (name, _) => name == Some("now"),
                }
            }),
        ] {
            let items = reply(&worker, guided(asked.clone(), seed)).await;
            let last = items.last().unwrap().as_ref().unwrap();
            assert_eq!(last.finish_reason, Some(FinishReason::Stop), "{asked}");
            let text = tokenizer.decode(&tokens(&items), true);
            assert!(holds(&text), "{asked}: {text:?}");
        }
    }
    for (asked, why) in [
        (json!({ "json": { "not": {} } }), "guided decoding: not: the keyword"),
        (json!({ "regex": "(?!a)b" }), "look-around"),
        (json!({ "structural_tag": {} }), "structural tags"),
    ] {
        let items = reply(&worker, guided(asked, 0)).await;
        let [Err(error)] = &items[..] else { panic!("{items:?}") };
        assert!(error.contains(why), "{error}");
    }
    worker.cleanup().await.unwrap();
}

#[tokio::test]
async fn refusals_say_why_and_a_dropped_stream_frees_its_place() {
    let worker = Arc::new(worker());
    assert!(
        reply(&worker, json!({ "token_ids": [1] })).await[0].as_ref().unwrap_err().contains("not started")
    );
    worker.start(1).await.unwrap();
    for (value, why) in [
        (json!({ "token_ids": [] }), "the prompt is empty"),
        (json!({ "token_ids": [9_999_999] }), "not in the vocabulary"),
        (json!({ "token_ids": vec![1; 300] }), "context"),
        (json!({ "token_ids": [1], "sampling_options": { "n": 3 } }), "n is 3"),
    ] {
        let items = reply(&worker, value).await;
        let [Err(error)] = &items[..] else { panic!("{items:?}") };
        assert!(error.contains(why), "{error}");
    }
    let long = json!({ "token_ids": [1, 2], "stop_conditions": { "max_tokens": 200, "ignore_eos": true } });
    let mut stream =
        worker.generate(request(long), GenerateContext::new(mock_context(), None)).await.unwrap();
    assert!(stream.next().await.unwrap().is_ok());
    assert_eq!(worker.is_quiescent().await.unwrap(), Some(false));
    drop(stream);
    assert_eq!(worker.is_quiescent().await.unwrap(), Some(true));
    worker.cleanup().await.unwrap();
}
