//! Operations against others that mean the same, or against a few lines of arithmetic.

use weft_ir::{Builder, Dim, Graph, NodeId, Op, Product, Sizes, Tensor, Values, WeightRows, eval, parse};
use weft_quant::GgmlType::{self, F16, F32, I32, Q4_0, Q5_K, Q8_0};

use crate::support::{Weights, given, outputs, relative_l2, same_bits};

/// Asserts that two forms of a value have the same bits.
fn assert_same(make: impl Fn(&mut Builder) -> (NodeId, NodeId)) {
    let mut g = Builder::new("same");
    let (a, b) = make(&mut g);
    g.output("a", a);
    g.output("b", b);
    let graph = g.finish().unwrap();
    assert_eq!(parse(&graph.to_string()), Ok(graph.clone()));
    for hostile in [false, true] {
        let values = outputs(&graph, hostile);
        assert!(same_bits(&values[0].1, &values[1].1), "{values:?}");
    }
}

#[test]
fn head_dot_broadcasts_a_single_row() {
    assert_same(|g| {
        let x = g.input("x", F32, [Dim::T, 1.into(), 8.into()]);
        let w = g.weight("w", F32, [3, 4, 8].map(Dim::Const));
        let repeated = g.concat(&[x, x, x], 1);
        (g.head_dot(x, w), g.head_dot(repeated, w))
    });
}

#[test]
fn select_sum_is_a_weighted_sum_of_select_dot() {
    assert_same(|g| {
        let x = g.input("x", F32, [Dim::T, 3.into(), 8.into()]);
        let ids = g.input("ids", I32, [Dim::T, 3.into()]);
        let weights = g.input("weights", F32, [Dim::T, 3.into()]);
        let w = g.weight("w", F32, [2, 5, 8].map(Dim::Const));
        let each = g.select_dot(x, w, ids);
        let column = g.reshape(weights, [Dim::T, 3.into(), 1.into()]);
        let weighted = g.mul(each, column);
        let sum = g.reduce_sum(weighted, 1);
        (g.select_sum(x, w, ids, weights), g.reshape(sum, [Dim::T, 5.into()]))
    });
}

/// What a scan does, as text: two heads of three values, in two sequences.
const SCAN: &str = "graph scan {
  %0 = input x : f32[T, 2, 3]
  %1 = input a : f32[T, 2]
  %2 = state s kind=per_sequence : f32[S, 6]
  %3 = input ends : i32[Q]
  %4 = input from : i32[Q]
  %5 = input to : i32[Q]
  %6 = scan %0 %1 %2 %3 %4 %5 rule=decay : f32[T, 2, 3]
  output y = %6
}
";

#[test]
fn a_scan_carries_the_state_of_each_sequence() {
    let graph = parse(SCAN).unwrap();
    assert_eq!(graph.to_string(), SCAN);
    let floats = |shape: &[usize], of: &dyn Fn(usize) -> f32| {
        Tensor::f32(shape.to_vec(), (0..shape.iter().product()).map(of).collect())
    };
    let list = |values: [i32; 2]| Tensor::i32(vec![2], values.to_vec());
    let step = |from: [i32; 2], to: [i32; 2]| {
        let mut values = Values::new();
        values.insert("x".into(), floats(&[3, 2, 3], &|i| i as f32));
        values.insert("a".into(), floats(&[3, 2], &|i| if i % 2 == 0 { 0.5 } else { 1.0 }));
        values.insert("s".into(), floats(&[4, 6], &|i| 100.0 * (i / 6) as f32));
        values.insert("ends".into(), list([2, 3]));
        values.insert("from".into(), list(from));
        values.insert("to".into(), list(to));
        let sizes = Sizes::of(3).slots(4).sequences(2);
        eval(&graph, &sizes, &Weights, &mut values).map_err(|e| e.to_string())?;
        Ok::<_, String>([&values["y"], &values["s"]].map(|tensor| tensor.as_f32().unwrap().to_vec()))
    };
    // The first sequence goes on from row 2, the second begins.
    let [y, s] = step([2, -1], [1, 3]).unwrap();
    let first = [100.0, 101.0, 102.0, 203.0, 204.0, 205.0];
    let second = [56.0, 57.5, 59.0, 212.0, 214.0, 216.0];
    let other = [12.0, 13.0, 14.0, 15.0, 16.0, 17.0];
    assert_eq!(y, [first, second, other].concat());
    assert_eq!(s, [[0.0; 6], second, [200.0; 6], other].concat());
    for (from, to) in [([2, -1], [1, 1]), ([2, 1], [1, 3]), ([4, -1], [1, 3]), ([2, -1], [-1, 3])] {
        step(from, to).unwrap_err();
    }
}

#[test]
fn a_state_of_sequences_has_one_scan_and_nothing_else() {
    for (from, to, why) in [
        (" kind=per_sequence", "", "not a state of whole sequences"),
        ("kind=per_sequence", "kind=for_ever", "unknown kind of state"),
        ("rule=decay", "rule=growth", "unknown recurrence"),
        ("f32[S, 6]", "f32[S, 5]", "a scan by decay does not take"),
        (
            "  output y",
            "  %7 = slice %2 axis=1 start=0 len=2 : f32[S, 2]\n  output z = %7\n  output y",
            "needs one scan",
        ),
    ] {
        let error = parse(&SCAN.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

const H: usize = 3;
const M: usize = 32;

/// `x` times a product of parts of weights, with `k` values in a row.
fn product_graph(joined: bool, dtype: GgmlType, k: usize) -> Graph {
    let mut g = Builder::new("product");
    let b = g.weight("b", Q8_0, [H, M + 8, k].map(Dim::Const));
    let b = g.slice(b, 1, 8, M);
    let y = if joined {
        let a = g.weight("a", F32, [5, H * M].map(Dim::Const));
        let w = g.product_joined(a, b, dtype);
        let x = g.input("x", F32, [Dim::T, (H * k).into()]);
        g.dot(x, w)
    } else {
        let a = g.weight("a", F32, [H * 5, M].map(Dim::Const));
        let a = g.reshape(a, [H, 5, M].map(Dim::Const));
        let w = g.product(a, b, dtype);
        let x = g.input("x", F32, [Dim::T, H.into(), k.into()]);
        g.head_dot(x, w)
    };
    g.output("y", y);
    g.finish().unwrap()
}

/// The output of [`product_graph`], by the definition of a product.
fn product_by_hand(joined: bool, dtype: GgmlType, k: usize, x: &[f32]) -> Vec<f32> {
    let row = |name: &str, row: usize, len: usize| {
        let mut out = vec![0.0; len];
        Weights.read_row(name, row, &mut out).unwrap();
        out
    };
    // Row `n` of head `h`.
    let product = |h: usize, n: usize| -> Vec<f32> {
        let a = if joined { row("a", n, H * M)[h * M..][..M].to_vec() } else { row("a", h * 5 + n, M) };
        let right: Vec<Vec<f32>> = (0..M).map(|m| row("b", h * (M + 8) + 8 + m, k)).collect();
        let at = |j: usize| (0..M).map(|m| f64::from(a[m]) * f64::from(right[m][j])).sum::<f64>() as f32;
        let values: Vec<f32> = (0..k).map(at).collect();
        let mut bytes = vec![0; dtype.row_bytes(k as u64).unwrap() as usize];
        let mut stored = vec![0.0; k];
        weft_quant::encode(dtype, &values, &mut bytes).unwrap();
        weft_quant::decode(dtype, &bytes, &mut stored).unwrap();
        stored
    };
    let mut y = Vec::new();
    for x in x.chunks_exact(H * k) {
        let part = |h: usize, n: usize| -> f64 {
            product(h, n).iter().zip(&x[h * k..]).map(|(w, x)| f64::from(*w) * f64::from(*x)).sum()
        };
        if joined {
            y.extend((0..5).map(|n| (0..H).map(|h| part(h, n)).sum::<f64>() as f32));
        } else {
            y.extend((0..H).flat_map(|h| (0..5).map(move |n| (h, n))).map(|(h, n)| part(h, n) as f32));
        }
    }
    y
}

#[test]
fn products_of_weights_match_their_definition() {
    for joined in [false, true] {
        for (dtype, k) in [(F32, 32), (F16, 32), (Q8_0, 64), (Q4_0, 32), (Q5_K, 256)] {
            let graph = product_graph(joined, dtype, k);
            assert_eq!(parse(&graph.to_string()), Ok(graph.clone()));
            let x = given(&graph, false)["x"].as_f32().unwrap().to_vec();
            let error = relative_l2(&outputs(&graph, false)[0].1, &product_by_hand(joined, dtype, k, &x));
            assert!(error < 1e-6, "{dtype}, joined {joined}: {error:e}");
        }
    }
}

#[test]
fn products_are_computed_row_by_row() {
    for joined in [false, true] {
        let graph = product_graph(joined, Q8_0, 32);
        let (id, _) = graph.iter().find(|(_, n)| matches!(n.op, Op::Product { .. })).unwrap();
        let product = Product::new(&graph, id, &Weights).unwrap();
        assert_eq!(product.rows(), if joined { 5 } else { 15 });
        assert_eq!(product.row_bytes(), if joined { 3 * 34 } else { 34 });
        let mut row = vec![0; product.row_bytes()];
        product.row(product.rows() - 1, &Weights, &mut row).unwrap();
        assert!(row.iter().any(|b| *b != 0));
        assert!(product.row(product.rows(), &Weights, &mut row).is_err());
        assert!(product.row(0, &Weights, &mut row[1..]).is_err());
        assert!(Product::new(&graph, NodeId::FIRST, &Weights).is_err());
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let wrong = |make: &dyn Fn(&mut Builder) -> NodeId| {
        let mut g = Builder::new("wrong");
        let y = make(&mut g);
        let x = g.input("x", F32, [Dim::T, 2.into(), 8.into()]);
        let z = g.head_dot(x, y);
        g.output("z", z);
        g.finish().unwrap_err().to_string()
    };
    let weight = |g: &mut Builder, name: &str, dims: [usize; 3]| g.weight(name, F32, dims.map(Dim::Const));
    let messages = [
        wrong(&|g| {
            let (a, b) = (weight(g, "a", [2, 4, 5]), weight(g, "b", [2, 6, 8]));
            g.product(a, b, F32)
        }),
        wrong(&|g| {
            let (a, b) = (weight(g, "a", [2, 4, 6]), weight(g, "b", [2, 6, 8]));
            g.product(a, b, Q8_0)
        }),
        wrong(&|g| {
            let (a, b) = (g.input("a", F32, [2, 4, 6].map(Dim::Const)), weight(g, "b", [2, 6, 8]));
            g.product(a, b, F32)
        }),
        wrong(&|g| {
            let (a, b) = (weight(g, "a", [2, 4, 7]), weight(g, "b", [2, 6, 8]));
            let a = g.slice(a, 2, 0, 6);
            g.product(a, b, F32)
        }),
        wrong(&|g| {
            let (x, w) = (g.input("y", F32, [Dim::T, 3.into(), 8.into()]), weight(g, "w", [2, 8, 8]));
            g.head_dot(x, w)
        }),
    ];
    let expected = [
        "graph `wrong`, `product`: product does not take f32[2, 4, 5] and f32[2, 6, 8]",
        "graph `wrong`, `product`: rows of [2, 4, 8] cannot be stored as q8_0",
        "graph `wrong`, %2 (product): factor %0 is not rows of a weight",
        "graph `wrong`, %3 (product): factor %2 is not rows of a weight",
        "graph `wrong`, `head_dot`: head_dot does not take f32[T, 3, 8] and f32[2, 8, 8]",
    ];
    assert_eq!(messages, expected);
}

#[test]
fn a_hadamard_matrix_is_its_own_inverse() {
    let mut g = Builder::new("hadamard");
    let x = g.input("x", F32, [Dim::T, 3.into(), 64.into()]);
    let matrix = g.hadamard(64);
    let once = g.dot(x, matrix);
    let twice = g.dot(once, matrix);
    g.output("once", once);
    g.output("twice", twice);
    let graph = g.finish().unwrap();
    assert_eq!(parse(&graph.to_string()), Ok(graph.clone()));
    let (given, values) = (given(&graph, false), outputs(&graph, false));
    let x = given["x"].as_f32().unwrap();
    let [once, twice] = [0, 1].map(|i| &values[i].1);
    assert!(relative_l2(twice, x) < 1e-6);
    // By definition: a sum with the signs of the parity of common ones.
    for (row, spread) in x.chunks(64).zip(once.chunks(64)) {
        for (i, value) in spread.iter().enumerate() {
            let sign = |j: usize| if (i & j).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
            let sum: f64 = row.iter().enumerate().map(|(j, x)| sign(j) * f64::from(*x)).sum();
            assert!((f64::from(*value) - sum / 8.0).abs() < 1e-5, "{i}");
        }
    }
    for text in ["f32[64, 32]", "f32[12, 12]", "f16[8, 8]", "f32[8]"] {
        let wrong = format!("graph g {{\n  %0 = hadamard : {text}\n  output y = %0\n}}\n");
        assert!(parse(&wrong).is_err(), "{text}");
    }
}
