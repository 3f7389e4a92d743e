//! Whether two graphs compute the same, tested on random numbers.

use weft_ir::{Builder, EvalError, Graph, NodeId, Op, Sizes, Tensor, Type, Values, WeightRows, eval};
use weft_quant::GgmlType;
use weft_random::Random;

/// How much the outputs of two graphs differ.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Difference {
    /// Whether every bit is the same.
    pub same_bits: bool,
    /// ‖a − b‖ / ‖b‖ of the output that differs most.
    pub relative_l2: f64,
}

/// Evaluates both graphs in a step of two tokens, with the same random weights and inputs. Products of weights are not rounded to
/// their stored type, since that known rounding would hide a mistake.
///
/// # Errors
/// If a graph cannot be evaluated, for instance because an input that is an index has a name that is not known here.
pub fn difference(before: &Graph, after: &Graph) -> Result<Difference, EvalError> {
    let [before, after] = [outputs(before)?, outputs(&unrounded(after))?];
    let mut worst = Difference { same_bits: true, relative_l2: 0.0 };
    for (name, before) in &before {
        let Some(after) = after.get(name) else { continue };
        let (before, after) = (floats(before), floats(after));
        let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
        let error = norm(&mut after.iter().zip(&before).map(|(a, b)| f64::from(*a) - f64::from(*b)));
        let of = norm(&mut before.iter().map(|b| f64::from(*b)));
        // NaN is worse than any number.
        worst.relative_l2 = match error / of.max(f64::MIN_POSITIVE) {
            relative if relative.is_nan() => f64::INFINITY,
            relative => worst.relative_l2.max(relative),
        };
        worst.same_bits &= before.iter().zip(&after).all(|(a, b)| a.to_bits() == b.to_bits());
    }
    Ok(worst)
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    match (tensor.as_f32(), tensor.as_i32()) {
        (Some(floats), _) => floats.to_vec(),
        (None, integers) => integers.unwrap_or_default().iter().map(|i| *i as f32).collect(),
    }
}

/// The outputs of a graph, states included.
fn outputs(graph: &Graph) -> Result<Values, EvalError> {
    let page = |op: &Op| if let Op::Attend { page, .. } = op { Some(*page) } else { None };
    let slots = graph.nodes().iter().filter_map(|node| page(&node.op)).max().unwrap_or(2).max(2);
    let sizes = Sizes { tokens: 2, rows: 1, slots, pages: 2 };
    let mut values = Values::new();
    for node in graph.nodes() {
        let (Op::Input { name } | Op::State { name }) = &node.op else { continue };
        let shape = node.ty.shape.eval(&sizes);
        let count = shape.iter().product();
        let tensor = if node.ty.dtype == GgmlType::I32 {
            // Tokens of one sequence, in the names that graphs of models use. Any other index picks the first entry.
            let index = |i: usize| if ["pos", "slots"].contains(&name.as_str()) { i as i32 } else { 0 };
            Tensor::i32(shape, (0..count).map(index).collect())
        } else {
            let mut random = seeded(name, 0);
            Tensor::f32(shape, (0..count).map(|_| random.signed()).collect())
        };
        values.insert(name.clone(), tensor);
    }
    eval(graph, &sizes, &RandomWeights, &mut values)?;
    values.retain(|name, _| graph.outputs().iter().any(|(output, _)| output == name));
    Ok(values)
}

/// Weights that depend only on their names and rows, scaled so that products keep their magnitude.
struct RandomWeights;

impl WeightRows for RandomWeights {
    fn read_row(&self, name: &str, row: usize, out: &mut [f32]) -> Result<(), String> {
        let mut random = seeded(name, row);
        let scale = 1.0 / (out.len() as f32).sqrt();
        out.iter_mut().for_each(|w| *w = random.signed() * scale);
        Ok(())
    }
}

fn seeded(name: &str, row: usize) -> Random {
    let bytes = name.bytes().chain(row.to_le_bytes());
    let seed = bytes.fold(7u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    Random::new(seed)
}

/// The same graph with products of weights kept in `f32`.
fn unrounded(graph: &Graph) -> Graph {
    let mut g = Builder::new(graph.name());
    let mut map: Vec<NodeId> = Vec::with_capacity(graph.nodes().len());
    for node in graph.nodes() {
        let inputs: Vec<NodeId> = node.inputs.iter().map(|input| map[input.index()]).collect();
        let dtype = match node.op {
            Op::Product { .. } => GgmlType::F32,
            // Its operand may be a product that has become `f32`.
            Op::Reshape => g.ty(inputs[0]).map_or(node.ty.dtype, |ty| ty.dtype),
            _ => node.ty.dtype,
        };
        map.push(g.push(node.op.clone(), inputs, Some(Type { dtype, ..node.ty.clone() })));
    }
    graph.outputs().iter().for_each(|(name, id)| g.output(name, map[id.index()]));
    // Only these types have changed, and `f32` fits wherever the others did.
    g.finish().unwrap_or_else(|_| graph.clone())
}
