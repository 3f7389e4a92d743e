//! Hoisting: values computed once per step, not in every layer.

use weft_ir::{Builder, Dim, Graph, Op, Values, eval, hoist, parse};
use weft_quant::GgmlType::F32;

use crate::patterns::{File, layer, tables};
use crate::support::{SIZES, Weights, given, outputs, same_bits};

/// A graph that rotates `x` by its own tables. `before` may add nodes first.
fn rotated(before: impl Fn(&mut Builder)) -> Graph {
    let mut g = Builder::new("rotated");
    before(&mut g);
    let x = g.input("x", F32, [Dim::T, 8.into()]);
    let (cos, sin) = tables(&mut g);
    let y = g.rope(x, cos, sin, weft_ir::RopeStyle::Pairs);
    g.output("y", y);
    g.finish().unwrap()
}

#[test]
fn prelude_and_rest_compute_the_same_bits() {
    let file = File { ty: F32, joined_kv: false, joined_gate_up: true };
    for graph in [layer(file), rotated(|_| ())] {
        let hoisted = hoist(&graph, &["pos", "slots"]).unwrap();
        for part in [&hoisted.prelude, &hoisted.rest] {
            assert_eq!(parse(&part.to_string()), Ok(part.clone()));
        }
        let mut values: Values = given(&graph, false);
        eval(&hoisted.prelude, &SIZES, &Weights, &mut values).unwrap();
        eval(&hoisted.rest, &SIZES, &Weights, &mut values).unwrap();
        for (name, whole) in outputs(&graph, false) {
            assert!(same_bits(&whole, values[&name].as_f32().unwrap()), "{name}");
        }
        let costly = |n: &weft_ir::Node| matches!(n.op, Op::Unary(weft_ir::Unary::Cos | weft_ir::Unary::Sin));
        assert!(!hoisted.rest.nodes().iter().any(costly));
        assert_eq!(values["tables.0"].shape(), [SIZES.tokens, 4]);
    }
}

#[test]
fn different_layers_have_the_same_prelude() {
    let file = File { ty: F32, joined_kv: false, joined_gate_up: true };
    let latent = hoist(&layer(file), &["pos"]).unwrap();
    let plain = hoist(&rotated(|_| ()), &["pos"]).unwrap();
    assert_eq!(latent.prelude, plain.prelude);
    let names: Vec<_> = plain.prelude.outputs().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["tables.0", "tables.1"]);
    assert_eq!(hoist(&plain.rest, &["pos"]), None);
}

#[test]
fn cheap_values_outputs_and_taken_names_stay() {
    // Depends on `pos`, which is not named, and not on `slots`.
    assert_eq!(hoist(&rotated(|_| ()), &["slots"]), None);
    // Depends on the step, but is cheap, or on constants only.
    let cheap = "graph g {\n\
        %0 = input pos : i32[T]\n\
        %1 = cast %0 : f32[T]\n\
        %2 = neg %1 : f32[T]\n\
        %3 = input x : f32[T]\n\
        %4 = mul %3 %2 : f32[T]\n\
        %5 = const 2.0 : f32[]\n\
        %6 = exp %5 : f32[]\n\
        %7 = mul %4 %6 : f32[T]\n\
        output y = %7\n}";
    assert_eq!(hoist(&parse(cheap).unwrap(), &["pos"]), None);
    // An output is not hoisted.
    let output = rotated(|g| {
        let (cos, _) = tables(g);
        g.output("cos", cos);
    });
    let hoisted = hoist(&output, &["pos"]).unwrap();
    assert_eq!(hoisted.prelude.outputs().len(), 1);
    assert!(hoisted.rest.nodes().iter().any(|n| n.op == Op::Unary(weft_ir::Unary::Cos)));
    // An input already has the name.
    let taken = rotated(|g| {
        let table = g.input("tables.0", F32, [Dim::T, 4.into()]);
        let more = g.neg(table);
        g.output("z", more);
    });
    assert_eq!(hoist(&taken, &["pos"]), None);
}
