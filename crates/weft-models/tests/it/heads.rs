//! What models compute of their last hidden states: by the keys of a file, or as the options say.

use std::collections::BTreeSet;

use weft_gguf::{Strings, Value};
use weft_models::{BuildOptions, Config, Error, Head, Pooling, build};
use weft_quant::GgmlType;

use crate::support::{self, File, HIDDEN, VOCAB};

/// A file with this value of a key of its architecture.
fn with(key: &str, value: impl Into<Value>) -> File {
    let mut file = support::qwen3();
    file.set(&format!("qwen3.{key}"), value);
    file
}

fn reranker(labels: &[&str]) -> File {
    let mut file = with("pooling_type", 4u32);
    file.set("qwen3.classifier.output_labels", labels.iter().collect::<Strings>());
    file.matrix("cls.output.weight", &[labels.len(), HIDDEN]);
    file
}

fn config(file: &File) -> Config {
    build(&file.open(), &BuildOptions::default()).unwrap().config
}

fn message(file: &File) -> String {
    build(&file.open(), &BuildOptions::default()).unwrap_err().to_string()
}

#[test]
fn the_head_is_that_of_the_files_key() {
    assert_eq!((config(&support::qwen3()).head, config(&support::qwen3()).width()), (Head::Logits, VOCAB));
    for (value, head, width) in [
        (0u32, Head::Logits, VOCAB),
        (1, Head::Embedding(Pooling::Mean), HIDDEN),
        (2, Head::Embedding(Pooling::Cls), HIDDEN),
        (3, Head::Embedding(Pooling::Last), HIDDEN),
    ] {
        let config = config(&with("pooling_type", value));
        assert_eq!((config.head, config.width()), (head, width));
    }
    let two = config(&reranker(&["no", "yes"]));
    assert_eq!((two.head, two.width()), (Head::Scores { labels: 2, relevant: 1 }, 2));
    let unnamed = config(&reranker(&["a", "b", "c"]));
    assert_eq!(unnamed.head, Head::Scores { labels: 3, relevant: 0 });
    let mut one = reranker(&["x"]);
    one.keys.remove("qwen3.classifier.output_labels");
    assert_eq!(config(&one).head, Head::Scores { labels: 1, relevant: 0 });
}

/// An option makes any model one of embeddings, whose other heads are not read.
#[test]
fn an_option_comes_before_the_key() {
    for file in [support::qwen3(), support::gemma3(), with("pooling_type", 3u32), reranker(&["yes", "no"])] {
        let options = BuildOptions { pooling: Some(Pooling::Mean), ..BuildOptions::default() };
        let model = build(&file.open(), &options).unwrap();
        assert_eq!(model.config.head, Head::Embedding(Pooling::Mean));
        let used: BTreeSet<&str> =
            model.segments.iter().flat_map(|s| &s.weights).map(|(_, tensor)| tensor.as_str()).collect();
        assert!(!used.contains("output.weight") && !used.contains("cls.output.weight"), "{used:?}");
    }
}

#[test]
fn the_last_segment_computes_what_the_head_says() {
    for (file, name, width) in [
        (support::qwen3(), "logits", VOCAB),
        (with("pooling_type", 3u32), "embeddings", HIDDEN),
        (reranker(&["yes", "no"]), "scores", 2),
    ] {
        let model = build(&file.open(), &BuildOptions::default()).unwrap();
        let segment = model.segments.last().unwrap();
        let outputs: Vec<(&str, String)> = segment
            .graph
            .outputs()
            .iter()
            .map(|(name, id)| (name.as_str(), segment.graph.node(*id).ty.to_string()))
            .collect();
        assert_eq!(outputs, [(name, format!("f32[R, {width}]"))]);
        assert_eq!(model.config.head.result(), name);
    }
}

#[test]
fn the_message_says_what_is_wrong() {
    let other = message(&with("pooling_type", 5u32));
    let expected =
        "key `qwen3.pooling_type` is 5; it must be 0 (none), 1 (mean), 2 (cls), 3 (last) or 4 (rank)";
    assert!(other.ends_with(expected), "{other}");
    let mut mean = reranker(&["yes", "no"]);
    mean.set("qwen3.classifier.pooling_type", 1u32);
    assert!(message(&mean).contains("it can only be 3, that of the last token"), "{}", message(&mean));
    let mut none = reranker(&["yes"]);
    none.set("qwen3.classifier.output_labels", Strings::default());
    assert!(message(&none).contains("it must have from 1 to 4096 labels"), "{}", message(&none));
    let mut missing = reranker(&["yes", "no"]);
    missing.take("cls.output.weight");
    let error = build(&missing.open(), &BuildOptions::default()).unwrap_err();
    assert!(
        matches!(error, Error::MissingTensor { ref tensor, .. } if tensor == "cls.output.weight"),
        "{error}"
    );
    let mut other = reranker(&["yes", "no"]);
    other.tensor("cls.output.weight").shape[1] = 3;
    assert!(message(&other).contains("cls.output.weight"), "{}", message(&other));
    // A chat model has no classifier.
    let mut unused = support::qwen3();
    unused.add("cls.output.weight", GgmlType::F32, &[2, HIDDEN], vec![0.0; 2 * HIDDEN]);
    let error = build(&unused.open(), &BuildOptions::default()).unwrap_err();
    assert!(
        matches!(error, Error::UnknownTensor { ref tensor, .. } if tensor == "cls.output.weight"),
        "{error}"
    );
}
