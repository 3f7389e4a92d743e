//! Collecting the inputs of products: the sums are those of the float oracle, however a text is cut into steps.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::{env, fs, process};

use weft_engine::EngineOptions;
use weft_engine::inspect::{Collector, InputSums};
use weft_gguf::{Gguf, Metadata, Writer};
use weft_ir::{Builder, Graph, NodeId, Op, Sizes, Tensor, Values};
use weft_models::BuildOptions;
use weft_quant::GgmlType;

use crate::support::{Fixture, THREADS};

const PAGE: usize = 32;

/// A copy of a fixture whose weights are all `f32`, so that nothing is rounded to 8 bits; removed when dropped.
struct Float(PathBuf);

impl Float {
    fn of(fixture: &Fixture, test: &str) -> Float {
        let path = env::temp_dir().join(format!("weft-collect-{test}-{}.gguf", process::id()));
        let model = Gguf::open(&fixture.path).unwrap();
        let mut metadata = Metadata::new();
        model.metadata().iter().for_each(|(key, value)| drop(metadata.insert(key, value.clone())));
        let mut writer = Writer::new(metadata).unwrap();
        for tensor in model.tensors() {
            writer.declare(&tensor.name, GgmlType::F32, &tensor.shape).unwrap();
        }
        let mut data = writer.create(&path).unwrap();
        for tensor in model.tensors() {
            let mut values = vec![0.0; tensor.values() as usize];
            weft_quant::decode(tensor.ty, model.data(tensor), &mut values).unwrap();
            let bytes: Vec<u8> = values.into_iter().flat_map(f32::to_le_bytes).collect();
            data.write(&tensor.name, &bytes).unwrap();
        }
        data.finish().unwrap();
        Float(path)
    }
}

impl Drop for Float {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn collected(path: &Path, batch: usize, texts: &[&[u32]]) -> BTreeMap<String, InputSums> {
    let options = EngineOptions::default().threads(THREADS).context(64).batch(batch).kv(GgmlType::F32);
    let mut collector = Collector::load(path, &options, &mut |_| ControlFlow::Continue(())).unwrap();
    texts.iter().for_each(|text| collector.add(text).unwrap());
    collector.sums().clone()
}

/// A product of a graph: its weight, the rows, and the indices that select a matrix for each.
struct Product {
    weight: String,
    x: NodeId,
    ids: Option<NodeId>,
    matrices: usize,
    heads: bool,
}

fn products(graph: &Graph) -> Vec<Product> {
    let of = |node: &weft_ir::Node| {
        let (heads, picked) = match node.op {
            Op::Dot => (false, false),
            Op::HeadDot { transposed: false } => (true, false),
            Op::SelectDot | Op::SelectSum => (false, true),
            _ => return None,
        };
        let w = graph.node(node.inputs[1]);
        let Op::Weight { name } = &w.op else { return None };
        let matrices = if heads || picked { w.ty.shape.dims()[0].known().unwrap() } else { 1 };
        let ids = picked.then(|| node.inputs[2]);
        Some(Product { weight: name.clone(), x: node.inputs[0], ids, matrices, heads })
    };
    graph.nodes().iter().filter_map(of).collect()
}

/// The same graph with these nodes among its outputs.
fn with_outputs(graph: &Graph, nodes: &[NodeId]) -> Graph {
    let mut all = Builder::new(graph.name());
    let mut map = Vec::new();
    for node in graph.nodes() {
        let inputs = node.inputs.iter().map(|input: &NodeId| map[input.index()]).collect();
        map.push(all.push(node.op.clone(), inputs, Some(node.ty.clone())));
    }
    graph.outputs().iter().for_each(|(name, id)| all.output(name, map[id.index()]));
    nodes.iter().for_each(|id| all.output(format!("in.{}", id.index()), map[id.index()]));
    all.finish().unwrap()
}

fn oracle(path: &Path, tokens: &[u32]) -> BTreeMap<String, InputSums> {
    let gguf = Gguf::open(path).unwrap();
    let model =
        weft_models::build(&gguf, &BuildOptions { kv: GgmlType::F32, page: PAGE, pooling: None }).unwrap();
    let (len, pages) = (tokens.len(), tokens.len().div_ceil(PAGE));
    let sizes = Sizes::of(len).slots(pages * PAGE).pages(pages);
    let mut values = Values::new();
    let all = || (0..len as i32).collect::<Vec<_>>();
    for (name, data) in [
        ("tokens", tokens.iter().map(|token| *token as i32).collect()),
        ("pos", all()),
        ("slots", all()),
        ("first", vec![0; len]),
        ("pages", (0..pages as i32).collect()),
    ] {
        values.insert(name.into(), Tensor::i32([data.len()], data));
    }
    let mut sums: BTreeMap<String, InputSums> = BTreeMap::new();
    for segment in model.segments.iter().filter(|segment| segment.name != "head") {
        let products = products(&segment.graph);
        let mut nodes: Vec<NodeId> = products.iter().flat_map(|p| [Some(p.x), p.ids]).flatten().collect();
        nodes.sort_unstable();
        nodes.dedup();
        let graph = with_outputs(&segment.graph, &nodes);
        for node in graph.nodes() {
            if let Op::State { name, .. } = &node.op {
                let shape = node.ty.shape.eval(&sizes);
                let zeros = vec![0.0; shape.iter().product()];
                values.insert(name.clone(), Tensor::f32(shape, zeros));
            }
        }
        weft_ir::eval(&graph, &sizes, &segment.rows(&gguf), &mut values).unwrap();
        for Product { weight, x, ids, matrices, heads } in products {
            let tensor = &segment.weights.iter().find(|(own, _)| *own == weight).unwrap().1;
            let x = &values[&format!("in.{}", x.index())];
            let (columns, rows) = (*x.shape().last().unwrap(), x.as_f32().unwrap());
            let ids = ids.map(|ids| values[&format!("in.{}", ids.index())].as_i32().unwrap().to_vec());
            let counts = if ids.is_some() { matrices } else { 1 };
            let own = sums.entry(tensor.clone()).or_default();
            *own = InputSums { columns, squares: vec![0.0; matrices * columns], counts: vec![0; counts] };
            let uses = ids.as_ref().map_or(rows.len() / columns, Vec::len);
            for i in 0..uses {
                // A row may serve several uses.
                let row = &rows[i * rows.len() / columns / uses * columns..][..columns];
                let matrix = match &ids {
                    Some(ids) => ids[i] as usize,
                    None => i % matrices,
                };
                for (sum, x) in own.squares[matrix * columns..].iter_mut().zip(row) {
                    *sum += f64::from(*x) * f64::from(*x);
                }
                if ids.is_some() || !heads || matrix == 0 {
                    own.counts[if ids.is_some() { matrix } else { 0 }] += 1;
                }
            }
        }
    }
    sums
}

#[test]
fn sums_are_those_of_the_oracle() {
    for name in ["glm-tiny-q8_0", "llama-tiny-q6_k", "mixtral-tiny-q4_0"] {
        let fixture = Fixture::load(name);
        let float = Float::of(&fixture, name);
        let tokens = &fixture.tokens[..fixture.tokens.len().min(45)];
        let (found, expected) = (collected(&float.0, 64, &[tokens]), oracle(&float.0, tokens));
        assert!(found.keys().eq(expected.keys()), "{name}: {:?}", found.keys());
        for (tensor, expected) in &expected {
            let found = &found[tensor];
            assert_eq!(
                (found.columns, &found.counts),
                (expected.columns, &expected.counts),
                "{name}: {tensor}"
            );
            let square = |x: f64| x * x;
            let pairs = found.squares.iter().zip(&expected.squares);
            let error: f64 = pairs.map(|(a, b)| square(a - b)).sum();
            let norm: f64 = expected.squares.iter().map(|b| square(*b)).sum();
            assert!(
                norm > 0.0 && (error / norm).sqrt() < 5e-3,
                "{name}: {tensor}: {}",
                (error / norm).sqrt()
            );
        }
    }
}

/// Texts are independent of each other, and so are steps.
#[test]
fn sums_do_not_depend_on_steps() {
    let fixture = Fixture::load("glm-tiny-q8_0");
    let tokens = &fixture.tokens[..fixture.tokens.len().min(45)];
    let texts = [tokens, &tokens[..20], &tokens[7..]];
    let whole = collected(&fixture.path, 64, &texts);
    assert!(whole == collected(&fixture.path, 7, &texts));
    let experts = whole.values().filter(|sums| sums.counts.len() > 1).collect::<Vec<_>>();
    assert!(!experts.is_empty());
    let rows: usize = texts.iter().map(|text| text.len()).sum();
    let used = experts[0].counts.iter().sum::<u64>();
    assert!(used > 0 && used.is_multiple_of(rows as u64), "{used} rows of experts for {rows} tokens");
}

#[test]
fn texts_that_do_not_fit_are_refused() {
    let fixture = Fixture::load("llama-tiny-q6_k");
    let options = EngineOptions::default().threads(1).context(8);
    let mut collector = Collector::load(&fixture.path, &options, &mut |_| ControlFlow::Continue(())).unwrap();
    let error = collector.add(&[1; 9]).unwrap_err().to_string();
    assert!(error.starts_with("the context is full"), "{error}");
    let error = collector.add(&[u32::MAX]).unwrap_err().to_string();
    assert!(error.contains("is not in the vocabulary"), "{error}");
    assert!(collector.sums().is_empty());
}
