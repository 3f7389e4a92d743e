//! Values for graphs (random weights, inputs and states), and comparisons of outputs.

use weft_ir::rules::{RULES, decisions};
use weft_ir::{Graph, Mode, Op, Rule, Sizes, Switches, Tensor, Values, WeightRows, eval};
use weft_random::Random;

/// The sizes that every test evaluates under.
pub(crate) const SIZES: Sizes = Sizes::of(3).rows(1).slots(8).pages(4);

/// Weights that depend only on their names, scaled so that products keep their magnitude.
pub(crate) struct Weights;

impl WeightRows for Weights {
    fn read_row(&self, name: &str, row: usize, out: &mut [f32]) -> Result<(), String> {
        let mut random = Random::named(0, &format!("{name} {row}"));
        let scale = 1.0 / (out.len() as f32).sqrt();
        out.iter_mut().for_each(|w| *w = random.signed() * scale);
        Ok(())
    }
}

/// Inputs of a step: random floats, and indices that fit attention over one sequence. With `hostile`, some floats are NaN,
/// infinite, or negative zero.
pub(crate) fn given(graph: &Graph, hostile: bool) -> Values {
    let mut values = Values::new();
    for node in graph.nodes() {
        let (Op::Input { name } | Op::State { name, .. }) = &node.op else { continue };
        let shape = node.ty.shape.eval(&SIZES);
        let count = shape.iter().product();
        let mut random = Random::named(0, name);
        let tensor = if node.ty.dtype == weft_quant::GgmlType::I32 {
            let index = |i: usize| match name.as_str() {
                "pos" | "slots" | "pages" => i as i32,
                "first" => 0,
                _ => (i % 2) as i32,
            };
            Tensor::i32(shape, (0..count).map(index).collect())
        } else {
            let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0];
            let float = |random: &mut Random| match hostile && random.below(9) == 0 {
                true => odd[random.below(4)],
                false => random.signed(),
            };
            Tensor::f32(shape, (0..count).map(|_| float(&mut random)).collect())
        };
        values.insert(name.clone(), tensor);
    }
    values
}

/// A graph's outputs on these inputs.
pub(crate) fn outputs(graph: &Graph, hostile: bool) -> Vec<(String, Vec<f32>)> {
    let mut values = given(graph, hostile);
    eval(graph, &SIZES, &Weights, &mut values).unwrap_or_else(|e| panic!("{e}\n{graph}"));
    let floats = |name: &String| match values[name].as_f32() {
        Some(floats) => floats.to_vec(),
        None => values[name].as_i32().unwrap().iter().map(|i| *i as f32).collect(),
    };
    graph.outputs().iter().map(|(name, _)| (name.clone(), floats(name))).collect()
}

/// Returns whether the bits are equal; all NaNs count as equal.
pub(crate) fn same_bits(a: &[f32], b: &[f32]) -> bool {
    let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    a.len() == b.len() && a.iter().zip(b).all(same)
}

/// ‖a − b‖ / ‖b‖.
pub(crate) fn relative_l2(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
    let error = norm(&mut a.iter().zip(b).map(|(a, b)| f64::from(*a) - f64::from(*b)));
    error / norm(&mut b.iter().map(|b| f64::from(*b))).max(f64::MIN_POSITIVE)
}

/// Switches these rules on and all others off.
pub(crate) fn only(rules: &[&'static Rule]) -> Switches {
    let mut switches = Switches::default();
    decisions().for_each(|decision| switches.set(decision, Mode::Off));
    rules.iter().for_each(|rule| switches.set(&rule.decision, Mode::On));
    switches
}

/// The rule with this name.
pub(crate) fn rule(name: &str) -> &'static Rule {
    RULES.into_iter().find(|rule| rule.decision.name == name).unwrap_or_else(|| panic!("no rule {name}"))
}
