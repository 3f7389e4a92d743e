//! Tests of `embed`.

use serde_json::Value;

use crate::support::{fixture, weft};

/// The values of each line.
fn vectors(text: &str) -> Vec<Vec<f32>> {
    text.lines().map(|line| line.split(' ').map(|value| value.parse().unwrap()).collect()).collect()
}

#[test]
fn every_text_is_a_line() {
    let path = fixture("pooled/qwen3-embedding.gguf");
    let path = path.to_str().unwrap();
    let lines = vectors(&weft(["embed", path, "te", "ne se"]).run().ok());
    assert_eq!(lines.iter().map(Vec::len).collect::<Vec<_>>(), [96, 96]);
    let length: f32 = lines[0].iter().map(|value| value * value).sum();
    assert!((length - 1.0).abs() < 1e-5, "{length}");
    // Lines of a pipe are the same texts.
    assert_eq!(vectors(&weft(["embed", path]).input(b"te\nne se\n").run().ok()), lines);
    let json = weft(["embed", path, "--json", "--dimensions", "8", "te"]).run().ok();
    let one: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((one["index"].as_u64(), one["tokens"].as_u64()), (Some(0), Some(2)));
    assert_eq!(one["embedding"].as_array().unwrap().len(), 8);
    let mean = vectors(&weft(["embed", path, "--pooling", "mean", "te"]).run().ok());
    assert_ne!(mean[0], lines[0]);
}

#[test]
fn other_models_are_refused_with_what_to_use() {
    let chat = fixture("qwen3-odd-q8_0.gguf");
    let error = weft(["embed", chat.to_str().unwrap(), "te"]).run().failed(1);
    assert!(error.contains("writes text and has no embeddings") && error.contains("--pooling"), "{error}");
    let reranker = fixture("pooled/qwen3-reranker.gguf");
    let error = weft(["embed", reranker.to_str().unwrap(), "te"]).run().failed(1);
    assert!(error.contains("ranks documents and has no embeddings"), "{error}");
    let embedding = fixture("pooled/qwen3-embedding.gguf");
    let path = embedding.to_str().unwrap();
    let error = weft(["embed", path, "--dimensions", "97", "te"]).run().failed(1);
    assert!(error.contains("--dimensions is 97: expected at most 96"), "{error}");
    let error = weft(["run", path, "Hello"]).run().failed(1);
    assert!(error.contains("computes embeddings and writes no text"), "{error}");
}
