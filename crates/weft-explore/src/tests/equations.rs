//! Each law on a tiny example, in both directions: the forms of one side hold the other, and both compute the
//! same.

use weft_ir::{Graph, parse};

use super::{forms, some_choice};
use crate::check::difference;
use crate::law::Law;
use crate::laws::LAWS;

fn law(name: &str) -> Law {
    LAWS.into_iter().find(|law| law.name == name).unwrap()
}

fn graph(lines: &str) -> Graph {
    parse(&format!("graph g {{\n{lines}\n}}")).unwrap_or_else(|e| panic!("{e}\n{lines}"))
}

/// Laws that others need to terminate: without them, reshapes of reshapes and slices of slices are always
/// new.
const TIDY: [&str; 2] = ["tidy.identity", "tidy.movement"];

/// Returns whether laws lead from one graph to another.
fn leads(laws: &[Law], from: &Graph, to: &Graph) -> bool {
    let forms = forms(from, laws);
    forms.choice_of(to, &some_choice(&forms)).is_some()
}

/// Checks that a law leads from `a` to `b`, and back if `back`, and that nothing does without it.
fn check(name: &str, a: &str, b: &str, back: bool) {
    let [a, b] = [a, b].map(graph);
    let others: Vec<Law> = TIDY.into_iter().filter(|tidy| *tidy != name).map(law).collect();
    let with: Vec<Law> = others.iter().copied().chain([law(name)]).collect();
    assert!(leads(&with, &a, &b), "{name} does not lead from\n{a}to\n{b}");
    assert_eq!(leads(&with, &b, &a), back, "{name} from\n{b}to\n{a}");
    assert!(!leads(&others, &a, &b) && !leads(&others, &b, &a), "{name} is not needed\n{a}");
    let found = difference(&a, &b).unwrap();
    assert!(found.relative_l2 < 1e-6, "{name}: {found:?}");
    assert!(found.same_bits || name.starts_with("fold."), "{name}: {found:?}");
}

#[test]
fn identity() {
    for same in ["mul %0 %1", "mul %1 %0", "div %0 %1"] {
        let a = format!(
            "%0 = input x : f32[T, 4]\n%1 = const 1.0 : f32[]\n%2 = {same} : f32[T, 4]\n%3 = neg %2 : f32[T, 4]\noutput y = %3"
        );
        check("tidy.identity", &a, "%0 = input x : f32[T, 4]\n%1 = neg %0 : f32[T, 4]\noutput y = %1", false);
    }
}

#[test]
fn constants() {
    check(
        "tidy.constants",
        "%0 = input x : f32[T, 4]\n%1 = const 2.0 : f32[]\n%2 = const 3.0 : f32[]\n%3 = mul %1 %2 : f32[]\n\
         %4 = add %0 %3 : f32[T, 4]\noutput y = %4",
        "%0 = input x : f32[T, 4]\n%1 = const 6.0 : f32[]\n%2 = add %0 %1 : f32[T, 4]\noutput y = %2",
        false,
    );
}

#[test]
fn movement() {
    check(
        "tidy.movement",
        "%0 = input x : f32[T, 8]\n%1 = reshape %0 : f32[T, 2, 4]\n%2 = reshape %1 : f32[T, 4, 2]\n\
         %3 = neg %1 : f32[T, 2, 4]\noutput y = %2\noutput z = %3",
        "%0 = input x : f32[T, 8]\n%1 = reshape %0 : f32[T, 4, 2]\n%2 = reshape %0 : f32[T, 2, 4]\n\
         %3 = neg %2 : f32[T, 2, 4]\noutput y = %1\noutput z = %3",
        true,
    );
    check(
        "tidy.movement",
        "%0 = input x : f32[T, 8]\n%1 = slice %0 axis=1 start=1 len=6 : f32[T, 6]\n\
         %2 = slice %1 axis=1 start=2 len=3 : f32[T, 3]\noutput y = %2\noutput z = %1",
        "%0 = input x : f32[T, 8]\n%1 = slice %0 axis=1 start=3 len=3 : f32[T, 3]\n\
         %2 = slice %0 axis=1 start=1 len=6 : f32[T, 6]\noutput y = %1\noutput z = %2",
        true,
    );
    check(
        "tidy.movement",
        "%0 = input x : f32[T, 4]\n%1 = input w : f32[T, 4]\n%2 = concat %0 %1 axis=1 : f32[T, 8]\n\
         %3 = slice %2 axis=1 start=5 len=2 : f32[T, 2]\noutput y = %3\noutput z = %2",
        "%0 = input x : f32[T, 4]\n%1 = input w : f32[T, 4]\n%2 = slice %1 axis=1 start=1 len=2 : f32[T, 2]\n\
         %3 = concat %0 %1 axis=1 : f32[T, 8]\noutput y = %2\noutput z = %3",
        true,
    );
}

#[test]
fn heads() {
    check(
        "split.heads",
        "%0 = input x : f32[T, 8]\n%1 = weight w : f32[6, 8]\n%2 = dot %0 %1 : f32[T, 6]\n\
         %3 = reshape %2 : f32[T, 2, 3]\noutput y = %3",
        "%0 = input x : f32[T, 8]\n%1 = weight w : f32[6, 8]\n%2 = reshape %0 : f32[T, 1, 8]\n\
         %3 = reshape %1 : f32[2, 3, 8]\n%4 = head_dot %2 %3 transposed=false : f32[T, 2, 3]\noutput y = %4",
        true,
    );
}

#[test]
fn columns() {
    check(
        "split.columns",
        "%0 = input x : f32[T, 8]\n%1 = weight w : f32[6, 8]\n%2 = dot %0 %1 : f32[T, 6]\n\
         %3 = slice %2 axis=1 start=1 len=3 : f32[T, 3]\noutput y = %3",
        "%0 = input x : f32[T, 8]\n%1 = weight w : f32[6, 8]\n%2 = slice %1 axis=0 start=1 len=3 : f32[3, 8]\n\
         %3 = dot %0 %2 : f32[T, 3]\noutput y = %3",
        true,
    );
    check(
        "split.columns",
        "%0 = input x : f32[T, 2, 8]\n%1 = weight w : f32[2, 6, 8]\n\
         %2 = head_dot %0 %1 transposed=false : f32[T, 2, 6]\n%3 = slice %2 axis=2 start=1 len=3 : f32[T, 2, 3]\noutput y = %3",
        "%0 = input x : f32[T, 2, 8]\n%1 = weight w : f32[2, 6, 8]\n%2 = slice %1 axis=1 start=1 len=3 : f32[2, 3, 8]\n\
         %3 = head_dot %0 %2 transposed=false : f32[T, 2, 3]\noutput y = %3",
        true,
    );
}

#[test]
fn products_with_adjacent_rows_are_one() {
    let apart = "%0 = input x : f32[T, 8]\n%1 = weight w : f32[9, 8]\n%2 = slice %1 axis=0 start=1 len=3 : f32[3, 8]\n\
         %3 = dot %0 %2 : f32[T, 3]\n%4 = slice %1 axis=0 start=4 len=2 : f32[2, 8]\n%5 = dot %0 %4 : f32[T, 2]\n\
         output y = %3\noutput z = %5";
    let joined = "%0 = input x : f32[T, 8]\n%1 = weight w : f32[9, 8]\n%2 = slice %1 axis=0 start=1 len=5 : f32[5, 8]\n\
         %3 = dot %0 %2 : f32[T, 5]\n%4 = slice %3 axis=1 start=0 len=3 : f32[T, 3]\n\
         %5 = slice %3 axis=1 start=3 len=2 : f32[T, 2]\noutput y = %4\noutput z = %5";
    check("split.columns", apart, joined, true);
}

#[test]
fn experts() {
    let ids = "%0 = input x : f32[T, 2, 4]\n%1 = weight w : f32[4, 3, 4]\n%2 = input s : f32[T, 4]\n\
         %3 = topk %2 k=2 : i32[T, 2]\n%4 = take %2 %3 : f32[T, 2]";
    let after = format!(
        "{ids}\n%5 = select_dot %0 %1 %3 : f32[T, 2, 3]\n%6 = reshape %4 : f32[T, 2, 1]\n\
         %7 = mul %5 %6 : f32[T, 2, 3]\n%8 = reduce_sum %7 axis=1 : f32[T, 1, 3]\n%9 = reshape %8 : f32[T, 3]\noutput y = %9"
    );
    let inside = format!("{ids}\n%5 = select_sum %0 %1 %3 %4 : f32[T, 3]\noutput y = %5");
    check("moe.sum_in_down", &after, &inside, true);
}

#[test]
fn folds() {
    check(
        "fold.query",
        "%0 = input x : f32[T, 2, 4]\n%1 = weight a : f32[2, 3, 4]\n%2 = weight b : f32[2, 6, 3]\n\
         %3 = head_dot %0 %1 transposed=false : f32[T, 2, 3]\n%4 = head_dot %3 %2 transposed=false : f32[T, 2, 6]\noutput y = %4",
        "%0 = input x : f32[T, 2, 4]\n%1 = weight a : f32[2, 3, 4]\n%2 = weight b : f32[2, 6, 3]\n\
         %3 = product %2 %1 joined=false : f16[2, 6, 4]\n%4 = head_dot %0 %3 transposed=false : f32[T, 2, 6]\noutput y = %4",
        true,
    );
    let apart = "%0 = input x : f32[T, 2, 4]\n%1 = weight a : f32[2, 3, 4]\n%2 = weight b : f32[5, 6]\n\
         %3 = head_dot %0 %1 transposed=false : f32[T, 2, 3]\n%4 = reshape %3 : f32[T, 6]\n%5 = dot %4 %2 : f32[T, 5]\noutput y = %5";
    let folded = "%0 = input x : f32[T, 2, 4]\n%1 = weight a : f32[2, 3, 4]\n%2 = weight b : f32[5, 6]\n\
         %3 = product %2 %1 joined=true : f16[5, 8]\n%4 = reshape %0 : f32[T, 8]\n%5 = dot %4 %3 : f32[T, 5]\noutput y = %5";
    check("fold.output", apart, folded, true);
}

/// Products are not multiplied again, and weights that are cut within their rows are not multiplied at all.
#[test]
fn products_need_whole_rows_of_weights() {
    let a = "%0 = input x : f32[T, 2, 4]\n%1 = weight a : f32[2, 3, 8]\n%2 = slice %1 axis=2 start=0 len=4 : f32[2, 3, 4]\n\
         %3 = weight b : f32[2, 6, 3]\n%4 = head_dot %0 %2 transposed=false : f32[T, 2, 3]\n\
         %5 = head_dot %4 %3 transposed=false : f32[T, 2, 6]\noutput y = %5";
    let graph = graph(a);
    let forms = forms(&graph, &LAWS);
    let product = |form: &crate::forms::Form| matches!(form.head.op, weft_ir::Op::Product { .. });
    assert!(!forms.classes.iter().flatten().any(product));
}
