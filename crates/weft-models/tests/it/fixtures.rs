//! Graphs and oracle against llama.cpp: logits of whole models, which llama.cpp computed in `f32` from the same decoded
//! weights.

use std::path::{Path, PathBuf};

use crate::support::{logits, relative_l2};
use weft_gguf::Gguf;
use weft_models::{BuildOptions, architectures, build};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

/// The names of all fixtures.
fn fixtures() -> Vec<String> {
    let files = std::fs::read_dir(fixture("")).unwrap().map(|file| file.unwrap().path());
    let names = files.filter(|path| path.extension().is_some_and(|ext| ext == "json"));
    let mut names: Vec<_> =
        names.map(|path| path.file_stem().unwrap().to_str().unwrap().to_string()).collect();
    names.sort();
    names
}

fn matches_golden_logits(model: &str, tolerance: f64) {
    let gguf = Gguf::open(&fixture(&format!("{model}.gguf"))).unwrap();
    let facts = std::fs::read_to_string(fixture(&format!("{model}.json"))).unwrap();
    let facts: serde_json::Value = serde_json::from_str(&facts).unwrap();
    let ids = |key: &str| -> Vec<i32> {
        facts[key].as_array().unwrap().iter().map(|id| id.as_i64().unwrap() as i32).collect()
    };
    let golden = std::fs::read(fixture(facts["logits"].as_str().unwrap())).unwrap();
    let golden: Vec<f32> = golden.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let tokens = ids("tokens");
    let own = logits(&gguf, &tokens, tokens.len());
    let error = relative_l2(&own, &golden);
    println!("{model}: relative L2 {error:.1e}");
    assert!(error <= tolerance, "{model}: relative L2 is {error:e}, expected at most {tolerance:e}");

    let vocab = facts["vocab"].as_u64().unwrap() as usize;
    let top = |row: &[f32]| (0..row.len()).max_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap() as i32;
    assert_eq!(own.chunks_exact(vocab).map(top).collect::<Vec<_>>(), ids("argmax"), "{model}");
}

/// Runs every fixture. In the one with 27 layers, random routers with near ties between experts amplify rounding.
#[test]
fn the_oracle_gives_the_golden_logits() {
    std::thread::scope(|scope| {
        for name in fixtures() {
            let bound = if name.starts_with("ds2-") { 1e-3 } else { 1e-4 };
            scope.spawn(move || matches_golden_logits(&name, bound));
        }
    });
}

/// Every family must be checked against another program, and documented.
#[test]
fn every_family_has_a_fixture_and_a_row_in_the_readme() {
    let architecture = |name: &String| {
        let gguf = Gguf::open(&fixture(&format!("{name}.gguf"))).unwrap();
        gguf.metadata().require_str("general.architecture").unwrap().to_string()
    };
    let found: Vec<String> = fixtures().iter().map(architecture).collect();
    let readme = std::fs::read_to_string(fixture("../README.md")).unwrap();
    for family in architectures() {
        assert!(found.iter().any(|other| other == family), "no fixture for `{family}`");
        assert!(readme.contains(&format!("| `{family}` |")), "README.md has no row for `{family}`");
    }
}

#[test]
fn the_config_matches_the_file() {
    let gguf = Gguf::open(&fixture("glm-tiny-q4_k_m.gguf")).unwrap();
    let config = build(&gguf, &BuildOptions::default()).unwrap().config;
    assert_eq!((config.architecture, config.name.as_deref()), ("deepseek2", Some("synthetic-tiny")));
    assert_eq!((config.layers(), config.hidden, config.heads, config.vocab), (3, 256, 4, 2048));
    assert_eq!((config.context, config.mtp_blocks), (202_752, 0));
    let attention = ("latent", "4 heads of 64 + 32, keys and values of rank 256, queries of rank 256");
    let experts = ("experts", "with 2 of 6 experts and 1 shared of 256");
    for (layer, feed_forward) in config.blocks.iter().zip([("dense", "dense of 768"), experts, experts]) {
        assert_eq!((layer.attention.kind, layer.attention.summary.as_str()), attention);
        assert_eq!((layer.feed_forward.kind, layer.feed_forward.summary.as_str()), feed_forward);
    }
    let sizes = [("kv_rank", 256), ("nope", 64), ("rope", 32), ("value", 64), ("q_rank", 256)];
    assert_eq!(config.blocks[0].attention.sizes, sizes);
    assert_eq!(
        config.blocks[1].feed_forward.sizes,
        [("experts", 6), ("used", 2), ("shared", 1), ("width", 256)]
    );
}

#[test]
fn equal_layers_share_a_graph() {
    use std::sync::Arc;
    // q4_k_m stores the down projections of some layers in more bits, so its layers are not all equal.
    for (model, distinct) in [("ds2-tiny-q4_0", 4), ("glm-tiny-q8_0", 4), ("glm-tiny-q4_k_m", 5)] {
        let gguf = Gguf::open(&fixture(&format!("{model}.gguf"))).unwrap();
        let mut graphs: Vec<_> =
            build(&gguf, &BuildOptions::default()).unwrap().segments.into_iter().map(|s| s.graph).collect();
        graphs.sort_by_key(Arc::as_ptr);
        graphs.dedup_by(|a, b| Arc::ptr_eq(a, b));
        assert_eq!(graphs.len(), distinct, "{model}: embed, dense layer, layers with experts, head");
    }
}

#[test]
fn the_cost_is_counted_from_the_tensors() {
    let gguf = Gguf::open(&fixture("glm-tiny-q4_k_m.gguf")).unwrap();
    let cost = build(&gguf, &BuildOptions::default()).unwrap().cost();
    let sum = |count: &dyn Fn(&weft_gguf::TensorInfo) -> u64| gguf.tensors().iter().map(count).sum::<u64>();
    assert_eq!(cost.parameters, sum(&|t| t.values()));
    assert_eq!(cost.bytes, sum(&|t| t.bytes));
    // Two of six experts, and one row of the embedding.
    let read = |name: &str, all: u64| match name {
        "token_embd.weight" => all / 2048,
        name if name.contains("_exps.") => all / 6 * 2,
        _ => all,
    };
    assert_eq!(cost.active_parameters, sum(&|t| read(&t.name, t.values())));
    assert_eq!(cost.active_bytes, sum(&|t| read(&t.name, t.bytes)));
    assert_eq!(cost.kv_bytes, 3 * (256 + 32) * 2);
}
