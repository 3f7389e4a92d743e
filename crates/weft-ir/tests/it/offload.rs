//! A layer in three graphs, so that another device computes some of its experts.

use weft_ir::{
    Builder, Graph, OFFLOADED_IDS, Op, RESIDENT_IDS, Resident, Tensor, Values, eval, offload, parse,
};
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
        assert_eq!(offload(&graph, Resident::First(count)), None, "all are resident");
        let first = (0..count).map(Resident::First);
        for resident in first.chain((1..count).map(Resident::InSlots)) {
            let parts = offload(&graph, resident).unwrap();
            let mut values: Values = given(&graph, false);
            // Of the experts that have slots, the odd ones are not resident.
            let (slots, none) = (resident.count(), count as i32);
            let is_resident = |expert: usize| expert < slots && expert.is_multiple_of(2);
            let of = |here: bool| -> Vec<i32> {
                (0..count).map(|e| if is_resident(e) == here { e as i32 } else { none }).collect()
            };
            values.insert(RESIDENT_IDS.into(), Tensor::i32([count], of(true)));
            values.insert(OFFLOADED_IDS.into(), Tensor::i32([count], of(false)));
            for part in [&parts.before, &parts.offloaded, &parts.after] {
                assert_eq!(parse(&part.to_string()), Ok(part.clone()));
                eval(part, &SIZES, &Weights, &mut values).unwrap();
            }
            for (name, whole) in outputs(&graph, false) {
                assert!(
                    same_bits(&whole, values[&name].as_f32().unwrap()),
                    "{name}, {resident:?} of {count}"
                );
            }
            // Only the last part waits for offloaded experts, which read no state.
            let states =
                |graph: &Graph| graph.nodes().iter().filter(|n| matches!(n.op, Op::State { .. })).count();
            assert_eq!((states(&parts.offloaded), states(&parts.before)), (0, states(&graph)));
        }
    }
}

#[test]
fn a_layer_without_experts_stays_whole() {
    let dense = "graph g {\n  %0 = input x : f32[T, 8]\n  %1 = weight w : f32[8, 8]\n  %2 = dot %0 %1 : f32[T, 8]\n  output x = %2\n}\n";
    assert_eq!(offload(&parse(dense).unwrap(), Resident::First(0)), None);
}

/// If something else reads a product of the experts, it needs that of all of them.
#[test]
fn experts_whose_inner_values_are_read_stay_whole() {
    let graph = layer(File { ty: F32, joined_kv: false, joined_gate_up: false });
    assert!(offload(&graph, Resident::First(1)).is_some());
    let first = graph.iter().find(|(_, node)| node.op == Op::SelectDot).map(|(id, _)| id).unwrap();
    let mut again = Builder::new("read");
    let mut map = Vec::new();
    for node in graph.nodes() {
        let inputs = node.inputs.iter().map(|id| map[id.index()]).collect();
        map.push(again.push(node.op.clone(), inputs, Some(node.ty.clone())));
    }
    graph.outputs().iter().for_each(|(name, id)| again.output(name, map[id.index()]));
    again.output("gates", map[first.index()]);
    assert_eq!(offload(&again.finish().unwrap(), Resident::First(1)), None);
}
