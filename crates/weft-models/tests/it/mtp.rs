//! The layer that predicts one token more: its graphs, compared with the definition in plain loops.

use std::sync::Arc;

use weft_gguf::Gguf;
use weft_ir::{Sizes, Tensor, Values};
use weft_models::{Error, build, mtp};

use crate::support::{self, File, HIDDEN, ORACLE, VOCAB};

const TOKENS: [i32; 5] = [1, 60, 7, 22, 95];

/// A `deepseek2` like GLM-4.7-Flash with a fourth block, which predicts one token more.
fn file() -> File {
    with_layer(support::glm(), 3)
}

/// Adds a block like the last one after `blocks` blocks, which predicts one token more.
fn with_layer(mut file: File, blocks: usize) -> File {
    let architecture = file.architecture();
    file.set(&format!("{architecture}.block_count"), blocks as u32 + 1);
    file.set(&format!("{architecture}.nextn_predict_layers"), 1u32);
    for tensor in file.tensors.clone() {
        if let Some(name) = tensor.name.strip_prefix(&format!("blk.{}.", blocks - 1)) {
            let mut own = tensor.clone();
            own.name = format!("blk.{blocks}.{name}");
            own.values = support::random(&own.name, own.values.len()).collect();
            file.tensors.push(own);
        }
    }
    for norm in ["enorm", "hnorm", "shared_head_norm"] {
        file.vector(&format!("blk.{blocks}.nextn.{norm}.weight"), HIDDEN, 1.0);
    }
    file.matrix(&format!("blk.{blocks}.nextn.eh_proj.weight"), &[HIDDEN, 2 * HIDDEN]);
    file
}

fn tensor(gguf: &Gguf, name: &str) -> Vec<f64> {
    let tensor = gguf.tensor(name).unwrap();
    let mut values = vec![0.0; tensor.values() as usize];
    weft_quant::decode(tensor.ty, gguf.data(tensor), &mut values).unwrap();
    values.into_iter().map(f64::from).collect()
}

fn norm(gguf: &Gguf, name: &str, x: &[f64]) -> Vec<f64> {
    let mean = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
    let weights = tensor(gguf, name).into_iter();
    x.iter().zip(weights).map(|(x, w)| x * w / (mean + 1e-5f32 as f64).sqrt()).collect()
}

fn linear(w: &[f64], x: &[f64]) -> Vec<f64> {
    w.chunks_exact(x.len()).map(|w| w.iter().zip(x).map(|(w, x)| w * x).sum()).collect()
}

fn rows(values: &Values, name: &str, width: usize) -> Vec<Vec<f64>> {
    let values = values.get(name).unwrap().as_f32().unwrap();
    values.chunks(width).map(|row| row.iter().map(|x| f64::from(*x)).collect()).collect()
}

fn near(found: &[Vec<f64>], expected: &[Vec<f64>], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert!((found - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{what}: {found} {expected}");
    }
}

/// Evaluates the model, and then its layer for one token more. Checks the inputs and the results of the layer.
fn check(file: &File, at: usize, states: &[(&str, usize)]) {
    let nextn = |name: &str| format!("blk.{at}.nextn.{name}.weight");
    let gguf = file.open();
    let model = build(&gguf, &ORACLE).unwrap();
    let mtp = mtp(&model, &gguf, &ORACLE).unwrap().unwrap();
    let len = TOKENS.len() - 1;
    let pages = (len + 1).div_ceil(ORACLE.page);
    let slots = pages * ORACLE.page;
    let sizes = Sizes::of(len).rows(len).slots(slots).pages(pages);
    let mut values = model.oracle_states(slots);
    let all: Vec<i32> = (0..len as i32).collect();
    let next: Vec<i32> = (1..=len as i32).collect();
    for (name, data) in [
        ("tokens", TOKENS[..len].to_vec()),
        ("pos", all.clone()),
        ("slots", all.clone()),
        ("first", vec![0; len]),
        ("pages", (0..pages as i32).collect()),
        ("out_rows", all),
        ("next_slots", next),
    ] {
        values.insert(name.into(), Tensor::i32([data.len()], data));
    }
    model.eval(&gguf, &sizes, &mut values).unwrap();
    let hidden = rows(&values, "x", HIDDEN);
    for (name, width) in [("hidden", HIDDEN)].iter().chain(states) {
        let width = *width;
        values.insert((*name).into(), Tensor::f32([slots, width], vec![0.0; slots * width]));
    }
    values.insert("tokens".into(), Tensor::i32([len], TOKENS[1..].to_vec()));
    let mut step = |segment: &weft_models::Segment| {
        weft_ir::eval(&segment.graph, &sizes, &segment.rows(&gguf), &mut values).unwrap();
        values.clone()
    };
    step(&mtp.hidden);
    let [input, layer, head] = &mtp.segments[..] else { panic!("{:?}", mtp.segments) };

    let own = |name: &str, model: &str| {
        let model = if gguf.tensor(model).is_some() { model } else { "token_embd.weight" };
        tensor(&gguf, if gguf.tensor(name).is_some() { name } else { model })
    };
    let table = own(&nextn("embed_tokens"), "token_embd.weight");
    let project = tensor(&gguf, &nextn("eh_proj"));
    let expected: Vec<Vec<f64>> = TOKENS[1..]
        .iter()
        .zip(&hidden)
        .map(|(token, hidden)| {
            let embedded = &table[*token as usize * HIDDEN..][..HIDDEN];
            let hidden = norm(&gguf, "output_norm.weight", hidden);
            let both = [norm(&gguf, &nextn("enorm"), embedded), norm(&gguf, &nextn("hnorm"), &hidden)];
            linear(&project, &both.concat())
        })
        .collect();
    near(&rows(&step(input), "x", HIDDEN), &expected, "input");

    // The layer is one like any other, with tensors and states of its own.
    assert!(Arc::ptr_eq(&layer.graph, &model.segments[at].graph));
    assert!(
        layer.weights.iter().all(|(_, tensor)| tensor.starts_with(&format!("blk.{at}."))),
        "{:?}",
        layer.weights
    );
    let named: Vec<(String, String)> =
        states.iter().map(|(name, _)| (name.to_string(), format!("{name}.{at}"))).collect();
    assert_eq!(layer.states, named);
    let x = rows(&step(layer), "x", HIDDEN);

    let output = own(&nextn("shared_head_head"), "output.weight");
    let name = nextn("shared_head_norm");
    let name = if gguf.tensor(&name).is_some() { &name } else { "output_norm.weight" };
    let normed: Vec<Vec<f64>> = x.iter().map(|x| norm(&gguf, name, x)).collect();
    let expected: Vec<_> = normed.iter().map(|x| linear(&output, x)).collect();
    let found = step(head);
    near(&rows(&found, "logits", VOCAB), &expected, "head");
    // The layer reads its own hidden states in the place of the model's.
    let expected: Vec<_> = normed.iter().map(|x| norm(&gguf, &nextn("hnorm"), x)).collect();
    near(&rows(&found, "hidden", HIDDEN)[1..=len], &expected, "hidden states");
}

#[test]
fn the_input_and_the_head_are_those_of_the_definition() {
    let mut file = file();
    check(&file, 3, &[("kv", 48)]);
    file.matrix("blk.3.nextn.embed_tokens.weight", &[VOCAB, HIDDEN]);
    file.matrix("blk.3.nextn.shared_head_head.weight", &[VOCAB, HIDDEN]);
    check(&file, 3, &[("kv", 48)]);
    file.take("blk.3.nextn.shared_head_norm.weight");
    check(&file, 3, &[("kv", 48)]);
}

#[test]
fn glm4moe_has_the_layer_too() {
    check(&with_layer(support::glm4moe(), 2), 2, &[("k", 32), ("v", 32)]);
}

#[test]
fn files_without_the_layer_have_none() {
    for file in [support::glm(), support::v2_lite(), support::llama(), support::glm4moe()] {
        let gguf = file.open();
        let model = build(&gguf, &ORACLE).unwrap();
        assert!(mtp(&model, &gguf, &ORACLE).unwrap().is_none());
    }
}

#[test]
fn a_damaged_layer_is_refused_only_where_it_is_wanted() {
    for name in ["blk.3.attn_norm.weight", "blk.3.nextn.enorm.weight", "blk.3.ffn_up_exps.weight"] {
        let mut file = file();
        file.take(name);
        let gguf = file.open();
        let model = build(&gguf, &ORACLE).unwrap();
        let error = mtp(&model, &gguf, &ORACLE).unwrap_err();
        assert!(matches!(&error, Error::MissingTensor { tensor, .. } if tensor == name), "{error}");
    }
}
