//! Embeddings and ranks over HTTP: the forms of OpenAI, Jina, Cohere and Ollama, and that no text's result depends on the others.

use serde_json::{Value, json};
use weft_serve::ModelSource;

use super::support::{Running, fixture, options};

const EMBEDDING: &str = "pooled/qwen3-embedding.gguf";
const RERANKER: &str = "pooled/qwen3-reranker.gguf";
/// The values of an embedding.
const WIDTH: usize = 96;

/// The vectors of an answer.
fn vectors(answer: &Value) -> Vec<Vec<f64>> {
    let data = answer["data"].as_array().unwrap_or_else(|| panic!("{answer}"));
    for (i, one) in data.iter().enumerate() {
        assert_eq!((&one["index"], &one["object"]), (&json!(i), &json!("embedding")));
    }
    data.iter().map(|one| numbers(&one["embedding"])).collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn length(vector: &[f64]) -> f64 {
    vector.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// The bytes that base64 stands for.
fn decoded(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        other => panic!("{other}"),
    };
    let mut bytes = Vec::new();
    for four in text.as_bytes().chunks(4) {
        let known = four.iter().filter(|c| **c != b'=').count();
        let bits =
            four[..known].iter().fold(0u32, |bits, c| bits << 6 | u32::from(digit(*c))) << (6 * (4 - known));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..known]);
    }
    bytes
}

#[test]
fn inputs_have_all_forms_of_openai() {
    let server = Running::of(EMBEDDING);
    let post = |body: Value| server.post("/v1/embeddings", &body).json();
    let one = post(json!({ "input": "tene", "model": "test", "user": "me" }));
    assert_eq!((&one["object"], &one["model"]), (&json!("list"), &json!("test")));
    // Two tokens, and the one that ends a text.
    assert_eq!(one["usage"], json!({ "prompt_tokens": 3, "total_tokens": 3 }));
    let first = vectors(&one).remove(0);
    assert_eq!(first.len(), WIDTH);
    assert!((length(&first) - 1.0).abs() < 1e-6);
    for same in [json!(["tene"]), json!([256, 257, 283]), json!([[256, 257, 283]])] {
        assert_eq!(vectors(&post(json!({ "input": same }))), std::slice::from_ref(&first), "{same}");
    }
    // Control tokens in a text are text.
    let marked = post(json!({ "input": ["te<|endoftext|>", "te"] }));
    assert_ne!(vectors(&marked)[0], vectors(&marked)[1]);
    assert!(marked["usage"]["prompt_tokens"].as_u64().unwrap() > 10);
    // The bytes of base64 are those of the numbers.
    let encoded = post(json!({ "input": "tene", "encoding_format": "base64" }));
    let bytes = decoded(encoded["data"][0]["embedding"].as_str().unwrap());
    let floats: Vec<f32> =
        bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
    assert_eq!(floats, first.iter().map(|value| *value as f32).collect::<Vec<_>>());
    // Fewer dimensions are the first ones, scaled.
    let fewer = vectors(&post(json!({ "input": "tene", "dimensions": 8 }))).remove(0);
    let scale = length(&first[..8]);
    assert_eq!(fewer.len(), 8);
    assert!(fewer.iter().zip(&first).all(|(a, b)| (a - b / scale).abs() < 1e-6), "{fewer:?}");
    assert!((length(&fewer) - 1.0).abs() < 1e-6);
}

#[test]
fn an_embedding_does_not_depend_on_the_others() {
    let server = Running::of(EMBEDDING);
    let text = |i: usize| format!("{} text {i} {}", "a ".repeat(i % 7), "te ne ".repeat(i % 23));
    let texts: Vec<String> = (0..64).map(text).collect();
    let together = vectors(&server.post("/v1/embeddings", &json!({ "input": texts })).json());
    assert_eq!(together.len(), 64);
    let fresh = Running::of(EMBEDDING);
    for i in [0, 5, 22, 45, 63] {
        let alone = vectors(&fresh.post("/v1/embeddings", &json!({ "input": texts[i] })).json());
        assert_eq!(alone, [together[i].clone()], "text {i}");
    }
    // Several requests at once.
    std::thread::scope(|scope| {
        for part in 0..4 {
            let (server, texts, together) = (&fresh, &texts, &together);
            scope.spawn(move || {
                let own: Vec<&String> = texts.iter().skip(part).step_by(4).collect();
                let found = vectors(&server.post("/v1/embeddings", &json!({ "input": own })).json());
                let expected: Vec<Vec<f64>> = together.iter().skip(part).step_by(4).cloned().collect();
                assert_eq!(found, expected);
            });
        }
    });
}

#[test]
fn documents_are_ranked() {
    let server = Running::of(RERANKER);
    let documents = ["te", "ne se", "a much longer document about nothing", ""];
    let body = json!({ "model": "test", "query": "he", "documents": documents });
    let ranked = server.post("/v1/rerank", &body).json();
    let results = ranked["results"].as_array().unwrap();
    let scores: Vec<f64> = results.iter().map(|result| result["relevance_score"].as_f64().unwrap()).collect();
    assert!(
        scores.is_sorted_by(|a, b| a >= b) && scores.iter().all(|score| (0.0..=1.0).contains(score)),
        "{ranked}"
    );
    let mut indices: Vec<u64> = results.iter().map(|result| result["index"].as_u64().unwrap()).collect();
    indices.sort_unstable();
    assert_eq!(indices, [0, 1, 2, 3]);
    assert!(results[0].get("document").is_none());
    assert!(ranked["usage"]["total_tokens"].as_u64().unwrap() > 100);
    // Objects, fewer results, texts; and where the clients of Cohere and llama.cpp ask.
    let objects: Vec<Value> = documents.iter().map(|text| json!({ "text": text })).collect();
    let body = json!({ "query": "he", "documents": objects, "top_n": 2, "return_documents": true });
    for path in ["/v1/rerank", "/v2/rerank", "/rerank"] {
        let top = server.post(path, &body).json();
        let top = top["results"].as_array().unwrap();
        assert_eq!(top.len(), 2);
        for (found, expected) in top.iter().zip(results) {
            let at = expected["index"].as_u64().unwrap() as usize;
            assert_eq!(
                (&found["index"], &found["relevance_score"]),
                (&expected["index"], &expected["relevance_score"])
            );
            assert_eq!(found["document"]["text"], documents[at]);
        }
    }
    // Alone, a document has the same score.
    for result in results {
        let at = result["index"].as_u64().unwrap() as usize;
        let alone = server.post("/v1/rerank", &json!({ "query": "he", "documents": [documents[at]] })).json();
        assert_eq!(alone["results"][0]["relevance_score"], result["relevance_score"], "document {at}");
    }
}

/// A reranker without a classifier answers with the probability of "yes" as its next token, and chats like any other model.
#[test]
fn a_reranker_may_be_a_chat_model() {
    let server = Running::of("pooled/qwen3-reranker-plain.gguf");
    let body = json!({ "query": "he", "documents": ["te", "ne"] });
    let ranked = server.post("/v1/rerank", &body).json();
    for result in ranked["results"].as_array().unwrap() {
        assert!((0.0..=1.0).contains(&result["relevance_score"].as_f64().unwrap()), "{ranked}");
    }
    let reply = server.post("/v1/completions", &json!({ "prompt": "a", "max_tokens": 2, "temperature": 0 }));
    assert_eq!(reply.status, 200, "{reply:?}");
}

#[test]
fn ollama_has_its_own_forms() {
    let server = Running::of(EMBEDDING);
    let expected = vectors(&server.post("/v1/embeddings", &json!({ "input": ["te", "ne"] })).json());
    let found = server
        .post("/api/embed", &json!({ "model": "test:latest", "input": ["te", "ne"], "options": {} }))
        .json();
    let embeddings: Vec<Vec<f64>> = found["embeddings"].as_array().unwrap().iter().map(numbers).collect();
    assert_eq!((&found["model"], embeddings), (&json!("test:latest"), expected.clone()));
    assert_eq!(found["prompt_eval_count"], 4);
    let one = server.post("/api/embed", &json!({ "model": "test", "input": "te", "dimensions": 4 })).json();
    assert_eq!(numbers(&one["embeddings"][0]).len(), 4);
    // The older route has the values as the model computed them.
    let raw = numbers(
        &server.post("/api/embeddings", &json!({ "model": "test", "prompt": "te" })).json()["embedding"],
    );
    let scale = length(&raw);
    assert!((scale - 1.0).abs() > 0.1);
    assert!(raw.iter().zip(&expected[0]).all(|(raw, own)| (raw / scale - own).abs() < 1e-6));
    // A text that is too long is cut, but for the token that ends it.
    let long = "te".repeat(600);
    let cut = server.post("/api/embed", &json!({ "model": "test", "input": long })).json();
    assert_eq!(cut["prompt_eval_count"], 256);
    let mut tokens = vec![256; 255];
    tokens.push(283);
    let same = vectors(&server.post("/v1/embeddings", &json!({ "input": tokens })).json());
    assert_eq!(numbers(&cut["embeddings"][0]), same[0]);
    // Nothing to embed loads the model.
    assert_eq!(server.post("/api/embed", &json!({ "model": "test" })).json()["embeddings"], json!([]));
    assert_eq!(server.post("/api/embeddings", &json!({ "model": "test" })).json()["embedding"], json!([]));
    let shown = server.post("/api/show", &json!({ "model": "test" })).json();
    assert_eq!(shown["capabilities"], json!(["embedding"]));
}

/// Each model of a server is asked for what it computes.
#[test]
fn a_server_has_models_of_all_kinds() {
    let mut options = options("glm-tiny-q4_0.gguf");
    options.models.push(ModelSource::new("embed", fixture(EMBEDDING)));
    options.models.push(ModelSource::new("rank", fixture(RERANKER)));
    let mean = options.engine.clone().pooling(weft_engine::Pooling::Mean);
    let mut pooled = ModelSource::new("mean", fixture("qwen3-odd-q8_0.gguf"));
    pooled.engine = Some(mean);
    options.models.push(pooled);
    let server = Running::start(options).ready();
    let post = |path: &str, body: Value| server.post(path, &body);
    assert_eq!(
        vectors(&post("/v1/embeddings", json!({ "model": "embed", "input": "a" })).json())[0].len(),
        WIDTH
    );
    // A chat model that was opened as an embedding model.
    assert_eq!(
        vectors(&post("/v1/embeddings", json!({ "model": "mean", "input": "a" })).json())[0].len(),
        96
    );
    assert_eq!(post("/v1/rerank", json!({ "model": "rank", "query": "a", "documents": ["b"] })).status, 200);
    for (path, body) in [
        ("/v1/embeddings", json!({ "input": "a" })),
        ("/v1/embeddings", json!({ "model": "rank", "input": "a" })),
        ("/v1/rerank", json!({ "model": "embed", "query": "a", "documents": ["b"] })),
        ("/v1/completions", json!({ "model": "embed", "prompt": "a" })),
        ("/v1/completions", json!({ "model": "mean", "prompt": "a" })),
    ] {
        let answer = post(path, body.clone());
        assert_eq!(
            (answer.status, &answer.json()["error"]["code"]),
            (400, &json!("model_not_supported")),
            "{body}"
        );
        assert_eq!(answer.json()["error"]["param"], "model");
    }
    // Tokens are counted for any model.
    assert_eq!(
        post("/tokenize", json!({ "model": "embed", "prompt": "te" })).json()["tokens"],
        json!([256, 283])
    );
}
