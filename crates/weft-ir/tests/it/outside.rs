//! A layer in three graphs, so that some of its experts are computed elsewhere.

use weft_ir::{Graph, Op, Values, eval, outside, parse};
use weft_quant::GgmlType::F32;

use crate::patterns::{File, layer};
use crate::support::{SIZES, Weights, given, outputs, same_bits};

fn experts(graph: &Graph) -> usize {
    let node = graph.nodes().iter().find(|node| node.op == Op::SelectDot).unwrap();
    graph.node(node.inputs[1]).ty.shape.dims()[0].known().unwrap()
}

#[test]
fn the_parts_of_a_layer_compute_its_bits() {
    for joined_gate_up in [false, true] {
        let graph = layer(File { ty: F32, joined_kv: false, joined_gate_up });
        let count = experts(&graph);
        assert_eq!(outside(&graph, count), None, "all are inside");
        for near in 0..count {
            let parts = outside(&graph, near).unwrap();
            let mut values: Values = given(&graph, false);
            for part in [&parts.before, &parts.far, &parts.after] {
                assert_eq!(parse(&part.to_string()), Ok(part.clone()));
                eval(part, &SIZES, &Weights, &mut values).unwrap();
            }
            for (name, whole) in outputs(&graph, false) {
                assert!(same_bits(&whole, values[&name].as_f32().unwrap()), "{name}, {near} of {count}");
            }
            // What is computed elsewhere is read by the last part alone, and reads no state.
            let states =
                |graph: &Graph| graph.nodes().iter().filter(|n| matches!(n.op, Op::State { .. })).count();
            assert_eq!((states(&parts.far), states(&parts.before)), (0, states(&graph)));
        }
    }
}

#[test]
fn a_layer_without_experts_stays_whole() {
    let dense = "graph g {\n  %0 = input x : f32[T, 8]\n  %1 = weight w : f32[8, 8]\n  %2 = dot %0 %1 : f32[T, 8]\n  output x = %2\n}\n";
    assert_eq!(outside(&parse(dense).unwrap(), 0), None);
}
