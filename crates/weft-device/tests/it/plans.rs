//! The parts of models, one by one: graphs compute the same as their plans.

use crate::support::{MAX, check};
use weft_fuse::fuse;
use weft_ir::{AttendInputs, Builder, Dim, NodeId, RopeStyle, Shape, Switches};
use weft_quant::GgmlType;

/// The interpreter differs from the oracle by the rounding of single steps.
const EXACT: f64 = 2e-6;
/// Rounded activations: 8 bits in blocks of 32.
const ROUNDED: f64 = 1.5e-2;

fn f32_input(g: &mut Builder, name: &str, dims: &[usize]) -> NodeId {
    let dims: Vec<Dim> = std::iter::once(Dim::T).chain(dims.iter().map(|d| Dim::Const(*d))).collect();
    g.input(name, GgmlType::F32, Shape::new(dims))
}

fn rms_norm(g: &mut Builder, x: NodeId, w: NodeId, n: usize) -> NodeId {
    let square = g.mul(x, x);
    let sum = g.reduce_sum(square, 1);
    let inverse = g.scalar(1.0 / n as f32);
    let mean = g.mul(sum, inverse);
    let eps = g.scalar(1e-5);
    let mean = g.add(mean, eps);
    let scale = g.rsqrt(mean);
    let y = g.mul(x, scale);
    g.mul(y, w)
}

#[test]
fn a_norm_is_one_kernel_and_feeds_rounded_and_plain_matrices() {
    let mut g = Builder::new("norm_dot");
    let x = f32_input(&mut g, "x", &[96]);
    let w = g.weight("norm", GgmlType::F32, [Dim::Const(96)]);
    let n = rms_norm(&mut g, x, w, 96);
    let router = g.weight("router", GgmlType::F32, [Dim::Const(7), Dim::Const(96)]);
    let q = g.weight("q", GgmlType::Q8_0, [Dim::Const(33), Dim::Const(96)]);
    let (a, b) = (g.dot(n, router), g.dot(n, q));
    let b = g.silu(b);
    g.output("a", a);
    g.output("b", b);
    let graph = g.finish().unwrap();
    let plan = fuse(&graph, &MAX).unwrap();
    assert_eq!(plan.calls.len(), 1, "{plan}");
    check(&graph, 1, ROUNDED, &Switches::default());
}

#[test]
fn softmax_is_one_kernel() {
    let mut g = Builder::new("softmax");
    let x = f32_input(&mut g, "x", &[50]);
    let top = g.reduce_max(x, 1);
    let shifted = g.sub(x, top);
    let e = g.exp(shifted);
    let sum = g.reduce_sum(e, 1);
    let y = g.div(e, sum);
    g.output("y", y);
    let graph = g.finish().unwrap();
    assert_eq!(fuse(&graph, &MAX).unwrap().calls.len(), 1);
    check(&graph, 2, EXACT, &Switches::default());
}

#[test]
fn latent_attention_writes_its_cache_in_place() {
    for (seed, transposed) in [(3, false), (4, true)] {
        let mut g = Builder::new("mla");
        let (heads, nope, rope, latent, value) = (4, 32, 16, 64, 32);
        let q = f32_input(&mut g, "q", &[heads * (nope + rope)]);
        let kv = f32_input(&mut g, "kv_a", &[latent + rope]);
        let cos = f32_input(&mut g, "cos", &[rope / 2]);
        let sin = f32_input(&mut g, "sin", &[rope / 2]);
        let slots = g.input("slots", GgmlType::I32, [Dim::T]);
        let pos = g.input("pos", GgmlType::I32, [Dim::T]);
        let first = g.input("first", GgmlType::I32, [Dim::T]);
        let pages = g.input("pages", GgmlType::I32, [Dim::P]);
        let norm = g.weight("norm", GgmlType::F32, [Dim::Const(latent)]);
        let c = g.slice(kv, 1, 0, latent);
        let c = rms_norm(&mut g, c, norm, latent);
        let k_pe = g.slice(kv, 1, latent, rope);
        let k_pe = g.rope(k_pe, cos, sin, RopeStyle::Pairs);
        let row = g.concat(&[c, k_pe], 1);
        let state = g.state("kv", GgmlType::F32, [Dim::S, Dim::Const(latent + rope)]);
        let state = g.store(state, row, slots);
        let q = g.reshape(q, [Dim::T, heads.into(), (nope + rope).into()]);
        let q_nope = g.slice(q, 2, 0, nope);
        let q_pe = g.slice(q, 2, nope, rope);
        let q_pe = g.rope(q_pe, cos, sin, RopeStyle::Halves);
        let q_c = if transposed {
            let b = g.weight("kv_b", GgmlType::Q8_0, [Dim::Const(heads * (nope + value)), latent.into()]);
            let b = g.reshape(b, [heads.into(), (nope + value).into(), Dim::Const(latent)]);
            let b = g.slice(b, 1, 0, nope);
            g.head_dot_transposed(q_nope, b)
        } else {
            let b = g.weight("k_b", GgmlType::Q4_1, [Dim::Const(heads), latent.into(), nope.into()]);
            g.head_dot(q_nope, b)
        };
        let q = g.concat(&[q_c, q_pe], 2);
        let v = g.slice(state, 1, 0, latent);
        let y = g.attend(
            AttendInputs { q, k: state, v, pos, first, pages, window: None, sinks: None, list: None },
            0.3,
            1,
            8,
        );
        let v_b = g.weight("v_b", GgmlType::F16, [Dim::Const(heads), value.into(), latent.into()]);
        let y = g.head_dot(y, v_b);
        let y = g.reshape(y, [Dim::T, Dim::Const(heads * value)]);
        let o = g.weight("o", GgmlType::Q5_0, [Dim::Const(40), Dim::Const(heads * value)]);
        let y = g.dot(y, o);
        g.output("y", y);
        g.output("kv", state);
        check(&g.finish().unwrap(), seed, ROUNDED, &Switches::default());
    }
}

#[test]
fn experts_are_picked_weighted_and_summed() {
    let mut g = Builder::new("moe");
    let (hidden, inner, experts, used) = (64, 32, 3, 2);
    let x = f32_input(&mut g, "x", &[hidden]);
    let weights = f32_input(&mut g, "probs", &[experts]);
    let ids = g.topk(weights, used);
    let picked = g.take(weights, ids);
    let sum = g.reduce_sum(picked, 1);
    let picked = g.div(picked, sum);
    let gate_w = g.weight("gate", GgmlType::Q4_0, [Dim::Const(experts), inner.into(), hidden.into()]);
    let up_w = g.weight("up", GgmlType::Q4_0, [Dim::Const(experts), inner.into(), hidden.into()]);
    let down_w = g.weight("down", GgmlType::Q8_0, [Dim::Const(experts), hidden.into(), inner.into()]);
    let gate = g.select_dot(x, gate_w, ids);
    let gate = g.silu(gate);
    let up = g.select_dot(x, up_w, ids);
    let h = g.mul(gate, up);
    let y = g.select_dot(h, down_w, ids);
    let picked = g.reshape(picked, [Dim::T, used.into(), Dim::Const(1)]);
    let y = g.mul(y, picked);
    let y = g.reduce_sum(y, 1);
    let y = g.reshape(y, [Dim::T, Dim::Const(hidden)]);
    let y = g.add(y, x);
    g.output("x", y);
    check(&g.finish().unwrap(), 5, ROUNDED, &Switches::default());
}

#[test]
fn embedding_rows_angles_and_picked_outputs() {
    let mut g = Builder::new("ends");
    let tokens = g.input("tokens", GgmlType::I32, [Dim::T]);
    let table = g.weight("table", GgmlType::Q4_0, [Dim::Const(6), Dim::Const(64)]);
    let x = g.rows(table, tokens);
    let pos = g.input("pos", GgmlType::I32, [Dim::T]);
    let pos = g.reshape(pos, [Dim::T, Dim::Const(1)]);
    let pos = g.cast(pos);
    let freqs = g.vector(&[1.0, 0.1, 0.01]);
    let angle = g.mul(pos, freqs);
    let (cos, sin) = (g.cos(angle), g.sin(angle));
    let out_rows = g.input("out_rows", GgmlType::I32, [Dim::R]);
    let y = g.rows(x, out_rows);
    for (name, id) in [("x", x), ("cos", cos), ("sin", sin), ("y", y)] {
        g.output(name, id);
    }
    check(&g.finish().unwrap(), 6, EXACT, &Switches::default());
}

/// Attention of one head over a state that this graph does not write, with positions in another order.
#[test]
fn one_head_reads_a_state_and_leaves_it() {
    let mut g = Builder::new("reader");
    let q = f32_input(&mut g, "q", &[1, 16]);
    let state = g.state("kv", GgmlType::F32, [Dim::S, Dim::Const(16)]);
    let v = g.slice(state, 1, 4, 8);
    let [pos, first] = ["pos", "first"].map(|n| g.input(n, GgmlType::I32, [Dim::T]));
    let pages = g.input("pages", GgmlType::I32, [Dim::P]);
    let y = g.attend(
        AttendInputs { q, k: state, v, pos, first, pages, window: None, sinks: None, list: None },
        0.5,
        1,
        8,
    );
    let y = g.silu(y);
    g.output("y", y);
    check(&g.finish().unwrap(), 7, EXACT, &Switches::default());
}

#[test]
fn rows_of_a_part_of_a_table() {
    let mut g = Builder::new("part");
    let x = f32_input(&mut g, "x", &[8]);
    let ids = g.input("out_rows", GgmlType::I32, [Dim::R]);
    let part = g.slice(x, 1, 4, 4);
    let y = g.rows(part, ids);
    g.output("y", y);
    check(&g.finish().unwrap(), 8, EXACT, &Switches::default());
}

#[test]
fn the_only_choice_scales_its_row_once() {
    let mut g = Builder::new("top_1");
    let p = f32_input(&mut g, "p", &[6]);
    let x = f32_input(&mut g, "x", &[8]);
    let ids = g.topk(p, 1);
    let w = g.take(p, ids);
    let s = g.reduce_sum(w, 1);
    let y = g.mul(x, s);
    g.output("y", y);
    check(&g.finish().unwrap(), 9, EXACT, &Switches::default());
}

#[test]
fn rows_from_two_places_are_stored_by_their_own_numbers() {
    let mut g = Builder::new("two_sources");
    let [a, b] =
        [("a", 2), ("b", 3)].map(|(n, rows)| g.input(n, GgmlType::F32, [Dim::Const(rows), Dim::Const(8)]));
    let rows = g.concat(&[a, b], 0);
    let state = g.state("kv", GgmlType::F32, [Dim::S, Dim::Const(8)]);
    let slots = g.input("slots", GgmlType::I32, [Dim::Const(5)]);
    let state = g.store(state, rows, slots);
    g.output("kv", state);
    check(&g.finish().unwrap(), 10, EXACT, &Switches::default());
}

#[test]
fn products_by_parts_of_a_stack_are_zero_elsewhere() {
    for ty in [GgmlType::F32, GgmlType::Q8_0] {
        let mut g = Builder::new("parts");
        let x = f32_input(&mut g, "x", &[64]);
        let ids = g.input("ids", GgmlType::I32, [Dim::T, 2.into()]);
        let near = g.weight("near", ty, [Dim::Const(2), Dim::Const(32), Dim::Const(64)]);
        let far = g.weight("far", ty, [Dim::Const(3), Dim::Const(32), Dim::Const(64)]);
        let (near, far) = (g.select_range(x, near, ids, 0), g.select_range(x, far, ids, 2));
        let near = g.silu(near);
        let sum = g.add(near, far);
        g.output("y", sum);
        let graph = g.finish().unwrap();
        assert!(fuse(&graph, &MAX).unwrap().to_string().contains("select_dot x="));
        check(&graph, 12, if ty == GgmlType::F32 { EXACT } else { ROUNDED }, &Switches::default());
    }
}

#[test]
fn indices_are_not_copied_through_floats() {
    let mut g = Builder::new("ids");
    let ids = g.input("ids", GgmlType::I32, [Dim::T]);
    g.output("y", ids);
    let refused = fuse(&g.finish().unwrap(), &MAX).unwrap_err();
    assert!(refused.to_string().contains("cannot copy i32 values"), "{refused}");
}
