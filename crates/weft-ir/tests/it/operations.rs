//! Operations against others that mean the same, or against a few lines of arithmetic.

use weft_ir::{Builder, Dim, NodeId, SCAN_LISTS, Sizes, Tensor, Values, eval, parse};
use weft_quant::GgmlType::{F32, I32};

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

/// A scan as text: two heads of three values, in two sequences.
const SCAN: &str = "graph scan {
  %0 = input x : f32[T, 2, 3]
  %1 = input a : f32[T, 2]
  %2 = state s kind=per_sequence : f32[S, 38]
  %3 = input ends : i32[Q]
  %4 = input from : i32[Q]
  %5 = input to : i32[Q]
  %6 = input certain : i32[Q]
  %7 = input kept : i32[Q]
  %8 = scan %0 %1 %2 %3 %4 %5 %6 %7 rule=decay : f32[T, 2, 3]
  output y = %8
}
";

/// Walks four rows of x = 1, 2, … in two sequences, from states of 100 times their number. Returns the result and the states.
fn step(
    [ends, from, to, certain, kept]: [[i32; 2]; 5],
    states: Option<Tensor>,
) -> Result<[Vec<f32>; 2], String> {
    let graph = parse(SCAN).unwrap();
    let floats = |shape: &[usize], of: &dyn Fn(usize) -> f32| {
        Tensor::f32(shape.to_vec(), (0..shape.iter().product()).map(of).collect())
    };
    let list = |values: [i32; 2]| Tensor::i32(vec![2], values.to_vec());
    let mut values = Values::new();
    values.insert("x".into(), floats(&[4, 2, 3], &|i| i as f32));
    values.insert("a".into(), floats(&[4, 2], &|i| if i % 2 == 0 { 0.5 } else { 1.0 }));
    values.insert("s".into(), states.unwrap_or_else(|| floats(&[4, 38], &|i| 100.0 * (i / 38) as f32)));
    for (name, values_of) in SCAN_LISTS.into_iter().zip([ends, from, to, certain, kept]) {
        values.insert(name.into(), list(values_of));
    }
    let sizes = Sizes::of(4).slots(4).sequences(2);
    eval(&graph, &sizes, &Weights, &mut values).map_err(|e| e.to_string())?;
    Ok([&values["y"], &values["s"]].map(|tensor| tensor.as_f32().unwrap().to_vec()))
}

#[test]
fn a_scan_carries_the_state_of_each_sequence() {
    assert_eq!(parse(SCAN).unwrap().to_string(), SCAN);
    // The first sequence goes on from row 2, the second begins.
    let [y, s] = step([[2, 4], [2, -1], [1, 3], [2, 2], [0, 0]], None).unwrap();
    let first = [100.0, 101.0, 102.0, 203.0, 204.0, 205.0];
    let second = [56.0, 57.5, 59.0, 212.0, 214.0, 216.0];
    let other = [12.0, 13.0, 14.0, 15.0, 16.0, 17.0];
    let last = [24.0, 25.5, 27.0, 36.0, 38.0, 40.0];
    assert_eq!(y, [first, second, other, last].concat());
    let rows: Vec<&[f32]> = s.chunks(38).collect();
    assert_eq!([rows[0], rows[2]], [[0.0; 38], [200.0; 38]]);
    assert_eq!((&rows[1][..6], &rows[1][6..]), (&second[..], &[100.0; 32][..]));
    assert_eq!((&rows[3][..6], &rows[3][6..]), (&last[..], &[300.0; 32][..]));
    for wrong in [
        [[2, 4], [2, -1], [1, 1], [2, 2], [0, 0]],
        [[2, 4], [2, 1], [1, 3], [2, 2], [0, 0]],
        [[2, 4], [4, -1], [1, 3], [2, 2], [0, 0]],
        [[2, 4], [2, -1], [-1, 3], [2, 2], [0, 0]],
        [[2, 4], [2, -1], [1, 3], [0, 2], [0, 0]],
        [[2, 4], [2, -1], [1, 3], [3, 2], [0, 0]],
        [[2, 4], [2, -1], [1, 3], [2, 2], [5, 0]],
        [[2, 4], [2, -1], [1, 3], [2, 2], [0, 1]],
        [[2, 4], [2, -1], [2, 3], [2, 2], [1, 0]],
    ] {
        step(wrong, None).unwrap_err();
    }
}

#[test]
fn a_scan_keeps_rows_and_takes_as_many_as_were_right() {
    let all = [[3, 4], [2, -1], [1, 3], [3, 1], [0, 0]];
    let [whole, after_all] = step(all, None).unwrap();
    for certain in 1..=3 {
        let [y, s] = step([[3, 4], [2, -1], [1, 3], [certain, 1], [0, 0]], None).unwrap();
        assert_eq!(y, whole, "results do not depend on what is kept");
        // The last rows are right: only the fourth row is computed again, after the third.
        let kept = 3 - certain;
        let further = |states: &[f32], kept| {
            let states = Tensor::f32(vec![4, 38], states.to_vec());
            step([[1, 4], [1, 3], [0, 2], [1, 3], [kept, 0]], Some(states)).unwrap()
        };
        let [expected, found] = [further(&after_all, 0), further(&s, kept)];
        assert_eq!((&expected[0], &expected[1][..6]), (&found[0], &found[1][..6]), "{certain}");
    }
}

#[test]
fn a_state_of_sequences_has_one_scan_and_nothing_else() {
    for (from, to, why) in [
        (" kind=per_sequence", "", "not a state of whole sequences"),
        ("f32[S, 38]", "f32[S, 6]", "a scan by decay does not take"),
        ("kind=per_sequence", "kind=for_ever", "unknown kind of state"),
        ("rule=decay", "rule=growth", "unknown recurrence"),
        ("f32[S, 38]", "f32[S, 37]", "a scan by decay does not take"),
        (
            "  output y",
            "  %9 = slice %2 axis=1 start=0 len=2 : f32[S, 2]\n  output z = %9\n  output y",
            "needs one scan",
        ),
    ] {
        let error = parse(&SCAN.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let mut g = Builder::new("wrong");
    let x = g.input("x", F32, [Dim::T, 3.into(), 8.into()]);
    let w = g.weight("w", F32, [2, 8, 8].map(Dim::Const));
    let y = g.head_dot(x, w);
    g.output("y", y);
    let expected = "graph `wrong`, `head_dot`: head_dot does not take f32[T, 3, 8] and f32[2, 8, 8]";
    assert_eq!(g.finish().unwrap_err().to_string(), expected);
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

/// An indexer of one head that chooses two positions, and attention to them; pages of two rows, whose order is turned around.
const CHOSEN: &str = "graph chosen {
  %0 = input q : f32[T, 1, 2]
  %1 = input w : f32[T, 1]
  %2 = state index : f32[S, 2]
  %3 = input pos : i32[T]
  %4 = input first : i32[T]
  %5 = input pages : i32[P]
  %6 = indexer %0 %1 %2 %3 %4 %5 k=2 page=2 : i32[T, 2]
  %7 = state kv : f32[S, 2]
  %8 = attend %0 %7 %7 %3 %4 %5 %6 scale=0.5 kv_heads=1 page=2 : f32[T, 1, 2]
  output list = %6
  output y = %8
}
";

/// The list and the result for one token at this position, with these index keys (of which the second value is 0), and cached rows.
fn chosen(text: &str, index: [f32; 4], pos: i32) -> Result<(Vec<i32>, Vec<f32>), String> {
    let graph = parse(text).unwrap();
    let mut values = Values::new();
    let mut insert = |name: &str, tensor: Tensor| drop(values.insert(name.into(), tensor));
    insert("q", Tensor::f32(vec![1, 1, 2], vec![1.0, 0.5]));
    insert("w", Tensor::f32(vec![1, 1], vec![2.0]));
    let keys = [index[2], 0.0, index[3], 0.0, index[0], 0.0, index[1], 0.0];
    insert("index", Tensor::f32(vec![4, 2], keys.to_vec()));
    insert("kv", Tensor::f32(vec![4, 2], vec![5.0, 6.0, 7.0, 8.0, 1.0, 2.0, 3.0, 4.0]));
    insert("pos", Tensor::i32(vec![1], vec![pos]));
    insert("first", Tensor::i32(vec![1], vec![0]));
    insert("pages", Tensor::i32(vec![2], vec![1, 0]));
    eval(&graph, &Sizes::of(1).slots(4).pages(2), &Weights, &mut values).map_err(|e| e.to_string())?;
    let list = values.get("list").map_or(Vec::new(), |list| list.as_i32().unwrap().to_vec());
    Ok((list, values["y"].as_f32().unwrap().to_vec()))
}

#[test]
fn attention_sees_the_positions_of_the_highest_scores() {
    assert_eq!(parse(CHOSEN).unwrap().to_string(), CHOSEN);
    let (list, y) = chosen(CHOSEN, [3.0, -1.0, 1.0, 2.0], 3).unwrap();
    assert_eq!(list, [0, 3]);
    // Rows 1, 2 and 7, 8: scores 1 and 5.5.
    let weight = 1.0 / (1.0 + (-4.5f32).exp());
    assert!((y[0] - (1.0 + 6.0 * weight)).abs() < 1e-5 && (y[1] - (2.0 + 6.0 * weight)).abs() < 1e-5);
    // Up to as many positions as are chosen it is attention to all.
    let plain = CHOSEN
        .replace("  %6 = indexer %0 %1 %2 %3 %4 %5 k=2 page=2 : i32[T, 2]\n", "")
        .replace("%7 = ", "%6 = ")
        .replace("%8 = attend %0 %7 %7 %3 %4 %5 %6", "%7 = attend %0 %6 %6 %3 %4 %5")
        .replace("  output list = %6\n", "")
        .replace("y = %8", "y = %7");
    for pos in [0, 1] {
        let (list, y) = chosen(CHOSEN, [3.0, -1.0, 1.0, 2.0], pos).unwrap();
        assert_eq!(list, [0, if pos == 0 { -1 } else { 1 }]);
        assert_eq!(y, chosen(&plain, [3.0, -1.0, 1.0, 2.0], pos).unwrap().1);
    }
}

#[test]
fn among_equal_scores_the_lower_position_is_chosen() {
    let list = |index| chosen(CHOSEN, index, 3).unwrap().0;
    assert_eq!(list([1.0; 4]), [0, 1]);
    assert_eq!(list([-1.0, -2.0, 0.0, -3.0]), [0, 1], "scores below zero count as zero");
    assert_eq!(list([-1.0, -2.0, -0.5, 0.1]), [0, 3]);
    assert_eq!(list([0.0, 2.0, 1.0, 2.0]), [1, 3]);
}

#[test]
fn lists_that_do_not_fit_are_refused() {
    for (from, to, why) in [
        ("k=2 page=2 : i32[T, 2]", "k=0 page=2 : i32[T, 0]", "an indexer of 0 positions does not take"),
        ("k=2 page=2", "k=2", "`indexer` takes 2 words"),
        ("w : f32[T, 1]", "w : f32[T, 2]", "does not take"),
        ("index : f32[S, 2]", "index : f32[S, 3]", "does not take"),
        ("kv_heads=1 page=2", "kv_heads=1 page=2 window=2", "without a window takes a list"),
        ("%3 %4 %5 %6 scale", "%3 %4 %5 %3 scale", "takes a list i32[T, K]"),
        ("%3 %4 %5 %6 scale", "%3 %4 %5 %6 %6 scale", "expected f32"),
    ] {
        let text = CHOSEN.replace(from, to);
        assert_ne!(text, CHOSEN, "{from}");
        let error = parse(&text).unwrap_err().to_string();
        assert!(error.contains(why), "{to}: {error}");
    }
    let given = CHOSEN
        .replace("%6 = indexer %0 %1 %2 %3 %4 %5 k=2 page=2", "%6 = input given")
        .replace("  output list = %6\n", "");
    let graph = parse(&given).unwrap();
    let mut values = Values::new();
    for (name, shape, ints) in
        [("pos", vec![1], vec![1]), ("first", vec![1], vec![0]), ("pages", vec![2], vec![1, 0])]
    {
        values.insert(name.into(), Tensor::i32(shape, ints));
    }
    for (name, shape) in [("q", vec![1, 1, 2]), ("w", vec![1, 1]), ("index", vec![4, 2]), ("kv", vec![4, 2])]
    {
        let count = shape.iter().product();
        values.insert(name.into(), Tensor::f32(shape, vec![1.0; count]));
    }
    for hostile in [[2, 0], [0, -1], [i32::MAX, 0]] {
        let mut values = values.clone();
        values.insert("given".into(), Tensor::i32(vec![1, 2], hostile.to_vec()));
        let error = eval(&graph, &Sizes::of(1).slots(4).pages(2), &Weights, &mut values).unwrap_err();
        assert!(error.to_string().contains("of a list is out of range"), "{error}");
    }
}
