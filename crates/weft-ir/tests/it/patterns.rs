//! Graphs of models at small sizes, as `mla.rs`, `moe.rs` and `rope.rs` of `weft-models` build them.

use weft_ir::{AttendInputs, Builder, Dim, Graph, NodeId, RopeStyle};
use weft_quant::GgmlType::{self, F16, F32, I32};

pub(crate) const HIDDEN: usize = 64;
const HEADS: usize = 2;
const NOPE: usize = 32;
const ROPE: usize = 8;
const RANK: usize = 32;
const VALUE: usize = 64;
const EXPERTS: usize = 4;
const USED: usize = 2;
const WIDTH: usize = 32;

/// How a file stores its tensors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct File {
    /// The type of all matrices.
    pub(crate) ty: GgmlType,
    /// Keys and values in one tensor.
    pub(crate) joined_kv: bool,
    /// Gates and ups in one tensor.
    pub(crate) joined_gate_up: bool,
}

fn matrix(g: &mut Builder, name: &str, ty: GgmlType, shape: &[usize]) -> NodeId {
    g.weight(name, ty, weft_ir::Shape::new(shape.iter().map(|n| Dim::Const(*n)).collect::<Vec<_>>()))
}

/// Absorbed latent attention with its own rotary tables, and a mixture of experts.
pub(crate) fn layer(file: File) -> Graph {
    let mut g = Builder::new("layer");
    let x = g.input("x", F32, [Dim::T, HIDDEN.into()]);
    let attended = attention(&mut g, x, file);
    let x = g.add(x, attended);
    let fed = experts(&mut g, x, file);
    let x = g.add(x, fed);
    g.output("x", x);
    g.finish().unwrap()
}

fn attention(g: &mut Builder, x: NodeId, file: File) -> NodeId {
    let (cos, sin) = tables(g);
    let w = matrix(g, "attn_q", file.ty, &[HEADS * (NOPE + ROPE), HIDDEN]);
    let q = g.dot(x, w);
    let q = g.reshape(q, [Dim::T, HEADS.into(), (NOPE + ROPE).into()]);
    let q_rope = g.slice(q, 2, NOPE, ROPE);
    let q_rope = g.rope(q_rope, cos, sin, RopeStyle::Pairs);
    let q_nope = g.slice(q, 2, 0, NOPE);
    let w = matrix(g, "attn_kv_a", file.ty, &[RANK + ROPE, HIDDEN]);
    let kv = g.dot(x, w);
    let c = g.slice(kv, 1, 0, RANK);
    let k_rope = g.slice(kv, 1, RANK, ROPE);
    let k_rope = g.rope(k_rope, cos, sin, RopeStyle::Pairs);
    let row = g.concat(&[c, k_rope], 1);
    let state = g.state("kv", F16, [Dim::S, (RANK + ROPE).into()]);
    let [pos, slots, first] = ["pos", "slots", "first"].map(|name| g.input(name, I32, [Dim::T]));
    let pages = g.input("pages", I32, [Dim::P]);
    let k = g.store(state, row, slots);
    g.output("kv", k);
    let (q_nope, v_b) = if file.joined_kv {
        let both = matrix(g, "attn_kv_b", file.ty, &[HEADS * (NOPE + VALUE), RANK]);
        let both = g.reshape(both, [HEADS, NOPE + VALUE, RANK].map(Dim::Const));
        let k_b = g.slice(both, 1, 0, NOPE);
        (g.head_dot_transposed(q_nope, k_b), g.slice(both, 1, NOPE, VALUE))
    } else {
        let k_b = matrix(g, "attn_k_b", file.ty, &[HEADS, RANK, NOPE]);
        (g.head_dot(q_nope, k_b), matrix(g, "attn_v_b", file.ty, &[HEADS, VALUE, RANK]))
    };
    let q = g.concat(&[q_nope, q_rope], 2);
    let v = g.slice(k, 1, 0, RANK);
    let summed = g.attend(
        AttendInputs { q, k, v, pos, first, pages, window: None, sinks: None, list: None },
        0.2,
        1,
        2,
    );
    let heads = g.head_dot(summed, v_b);
    let joined = g.reshape(heads, [Dim::T, (HEADS * VALUE).into()]);
    let w = matrix(g, "attn_output", file.ty, &[HIDDEN, HEADS * VALUE]);
    g.dot(joined, w)
}

/// Cosine and sine of every token's angles.
pub(crate) fn tables(g: &mut Builder) -> (NodeId, NodeId) {
    let pos = g.input("pos", I32, [Dim::T]);
    let pos = g.cast(pos);
    let pos = g.reshape(pos, [Dim::T, 1.into()]);
    let frequencies = g.vector(&[1.0, 0.1, 0.01, 0.001]);
    let angles = g.mul(pos, frequencies);
    let (cos, sin) = (g.cos(angles), g.sin(angles));
    let magnitude = g.scalar(1.25);
    (g.mul(cos, magnitude), g.mul(sin, magnitude))
}

fn experts(g: &mut Builder, x: NodeId, file: File) -> NodeId {
    let router = matrix(g, "router", F32, &[EXPERTS, HIDDEN]);
    let logits = g.dot(x, router);
    let probs = g.sigmoid(logits);
    let ids = g.topk(probs, USED);
    let weights = g.take(probs, ids);
    let (gate, up) = if file.joined_gate_up {
        let w = matrix(g, "gate_up", file.ty, &[EXPERTS, 2 * WIDTH, HIDDEN]);
        let both = g.select_dot(x, w, ids);
        (g.slice(both, 2, 0, WIDTH), g.slice(both, 2, WIDTH, WIDTH))
    } else {
        let gate = matrix(g, "gate", file.ty, &[EXPERTS, WIDTH, HIDDEN]);
        let up = matrix(g, "up", file.ty, &[EXPERTS, WIDTH, HIDDEN]);
        (g.select_dot(x, gate, ids), g.select_dot(x, up, ids))
    };
    let gate = g.silu(gate);
    let inner = g.mul(gate, up);
    let down = matrix(g, "down", file.ty, &[EXPERTS, HIDDEN, WIDTH]);
    let each = g.select_dot(inner, down, ids);
    let weights = g.reshape(weights, [Dim::T, USED.into(), 1.into()]);
    let weighted = g.mul(each, weights);
    let sum = g.reduce_sum(weighted, 1);
    g.reshape(sum, [Dim::T, HIDDEN.into()])
}

/// Every way a file may store a layer, with matrices of one type.
pub(crate) fn layers(ty: GgmlType) -> impl Iterator<Item = Graph> {
    let ways = [(false, false), (false, true), (true, false), (true, true)];
    ways.into_iter().map(move |(joined_kv, joined_gate_up)| layer(File { ty, joined_kv, joined_gate_up }))
}
