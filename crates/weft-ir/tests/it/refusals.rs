//! Premises: for each rule a graph that it matches, and near misses, each of which changes one thing.

use weft_ir::{parse, rewrite};

use crate::support::{only, rule};

/// Lines of a text to replace, and why the rule must not match then.
type Change = (&'static str, &'static [(&'static str, &'static str)]);

/// Checks that a rule matches a graph, but not after any of the changes.
fn check(name: &str, text: &str, changes: &[Change]) {
    let rule = rule(name);
    let fires = |text: &str| {
        let graph = parse(text).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
        let rewritten = rewrite(&graph, &only(&[rule]));
        assert_eq!(rewritten.fired.is_empty(), rewritten.graph == rewrite(&graph, &only(&[])).graph);
        !rewritten.fired.is_empty()
    };
    assert!(fires(text), "{name} does not match\n{text}");
    for (why, replacements) in changes {
        let changed = replacements.iter().fold(text.to_string(), |text, (from, to)| {
            assert_eq!(text.matches(from).count(), 1, "`{from}` in\n{text}");
            text.replace(from, to)
        });
        assert!(!fires(&changed), "{name} matches although {why}\n{changed}");
    }
}

#[test]
fn identity() {
    check(
        "tidy.identity",
        "graph g {
          %0 = input x : f32[T, 4]
          %1 = const 1.0 1.0 1.0 1.0 : f32[4]
          %2 = mul %0 %1 : f32[T, 4]
          %3 = neg %2 : f32[T, 4]
          output y = %3
        }",
        &[
            ("a factor is not one", &[("const 1.0", "const 1.5")]),
            ("−0 + 0 is 0", &[("mul", "add")]),
            ("ones stretch an axis", &[("x : f32[T, 4]", "x : f32[T, 1]")]),
            ("1/x is not x", &[("mul %0 %1", "div %1 %0")]),
            ("an output is computed", &[("y = %3", "y = %2")]),
        ],
    );
    check(
        "tidy.identity",
        "graph g {
          %0 = input x : f32[T, 4]
          %1 = slice %0 axis=1 start=0 len=4 : f32[T, 4]
          %2 = neg %1 : f32[T, 4]
          output y = %2
        }",
        &[(
            "only a part is kept",
            &[
                ("start=0 len=4 : f32[T, 4]", "start=0 len=3 : f32[T, 3]"),
                ("neg %1 : f32[T, 4]", "neg %1 : f32[T, 3]"),
            ],
        )],
    );
}

/// An output must be computed, and weights and states are in memory before the step.
#[test]
fn identity_of_outputs() {
    let text = "graph g {
      %0 = weight a : f32[4, 4]
      %1 = const 1.0 : f32[]
      %2 = mul %0 %1 : f32[4, 4]
      %3 = neg %2 : f32[4, 4]
      output y = %3
    }";
    let computed = text.replace("weight a", "hadamard");
    for text in [text, &computed] {
        check("tidy.identity", text, &[("it is a parameter", &[("y = %3", "y = %2")])]);
    }
    let text = "graph g {
      %0 = state kv : f16[S, 4]
      %1 = input rows : f32[T, 4]
      %2 = input slots : i32[T]
      %3 = store %0 %1 %2 : f16[S, 4]
      %4 = reshape %3 : f16[S, 4]
      %5 = slice %4 axis=1 start=1 len=2 : f16[S, 2]
      output y = %5
      output kv = %3
    }";
    check("tidy.identity", text, &[("it is a state", &[("y = %5", "y = %4")])]);
}

#[test]
fn movement() {
    check(
        "tidy.movement",
        "graph g {
          %0 = input x : f32[T, 4, 4]
          %1 = slice %0 axis=2 start=0 len=2 : f32[T, 4, 2]
          %2 = slice %1 axis=2 start=1 len=1 : f32[T, 4, 1]
          %3 = neg %2 : f32[T, 4, 1]
          output y = %3
        }",
        &[(
            "the axes differ",
            &[
                (
                    "%2 = slice %1 axis=2 start=1 len=1 : f32[T, 4, 1]",
                    "%2 = slice %1 axis=1 start=1 len=1 : f32[T, 1, 2]",
                ),
                ("neg %2 : f32[T, 4, 1]", "neg %2 : f32[T, 1, 2]"),
            ],
        )],
    );
    check(
        "tidy.movement",
        "graph g {
          %0 = input x : f32[T, 4]
          %1 = neg %0 : f32[T, 4]
          %2 = concat %0 %1 axis=1 : f32[T, 8]
          %3 = slice %2 axis=1 start=5 len=3 : f32[T, 3]
          output y = %3
        }",
        &[
            ("it is of two parts", &[("start=5", "start=3")]),
            ("an output is computed", &[("start=5", "start=1")]),
        ],
    );
}

#[test]
fn constants() {
    check(
        "tidy.constants",
        "graph g {
          %0 = input x : f32[T]
          %1 = const 2.0 : f32[]
          %2 = const 3.0 : f32[]
          %3 = div %1 %2 : f32[]
          %4 = mul %0 %3 : f32[T]
          output y = %4
        }",
        &[
            ("the result is infinite", &[("const 3.0", "const 0.0")]),
            ("an operand is not a constant", &[("const 2.0", "weight w")]),
            ("an output is computed", &[("y = %4", "y = %3")]),
        ],
    );
}

const HEADS: &str = "graph g {
  %0 = input x : f32[T, 32]
  %1 = weight w : q8_0[8, 32]
  %2 = dot %0 %1 : f32[T, 8]
  %3 = reshape %2 : f32[T, 2, 4]
  %4 = slice %3 axis=2 start=0 len=2 : f32[T, 2, 2]
  %5 = input cos : f32[T, 2]
  %6 = input sin : f32[T, 2]
  %7 = rope %3 %5 %6 style=pairs : f32[T, 2, 4]
  output y = %4
  output z = %7
}";

#[test]
fn heads() {
    check(
        "split.heads",
        HEADS,
        &[
            ("the dot is an output", &[("y = %4", "y = %2")]),
            ("all heads together are an output", &[("y = %4", "y = %3")]),
            (
                "a head is picked",
                &[(
                    "%4 = slice %3 axis=2 start=0 len=2 : f32[T, 2, 2]",
                    "%4 = slice %3 axis=1 start=0 len=1 : f32[T, 1, 4]",
                )],
            ),
            (
                "something else reads it",
                &[("%4 = slice %3 axis=2 start=0 len=2 : f32[T, 2, 2]", "%4 = neg %3 : f32[T, 2, 4]")],
            ),
            (
                "something else reads the dot",
                &[("%4 = slice %3 axis=2 start=0 len=2 : f32[T, 2, 2]", "%4 = neg %2 : f32[T, 8]")],
            ),
            ("the matrix is not a weight", &[("weight w : q8_0", "input w : f32")]),
        ],
    );
}

#[test]
fn columns() {
    check(
        "split.columns",
        "graph g {
          %0 = input x : f32[T, 32]
          %1 = weight w : q8_0[8, 32]
          %2 = dot %0 %1 : f32[T, 8]
          %3 = slice %2 axis=1 start=0 len=4 : f32[T, 4]
          %4 = slice %2 axis=1 start=4 len=4 : f32[T, 4]
          output y = %3
          output z = %4
        }",
        &[
            ("parts overlap", &[("start=4", "start=3")]),
            ("the whole is an output", &[("y = %3", "y = %2")]),
            (
                "something else reads it",
                &[("%4 = slice %2 axis=1 start=4 len=4 : f32[T, 4]", "%4 = neg %2 : f32[T, 8]")],
            ),
            ("the matrix is not a weight", &[("weight w : q8_0", "input w : f32")]),
        ],
    );
    check(
        "split.columns",
        "graph g {
          %0 = input x : f32[T, 2, 32]
          %1 = weight w : q8_0[2, 32, 32]
          %2 = head_dot %0 %1 transposed=false : f32[T, 2, 32]
          %3 = slice %2 axis=2 start=0 len=4 : f32[T, 2, 4]
          output y = %3
        }",
        &[
            ("blocks would be cut", &[("transposed=false", "transposed=true")]),
            (
                "heads are picked",
                &[("axis=2 start=0 len=4 : f32[T, 2, 4]", "axis=1 start=0 len=1 : f32[T, 1, 32]")],
            ),
        ],
    );
}

#[test]
fn sums_of_experts() {
    check(
        "moe.sum_in_down",
        "graph g {
          %0 = input x : f32[T, 2, 32]
          %1 = weight w : q8_0[4, 8, 32]
          %2 = input ids : i32[T, 2]
          %3 = select_dot %0 %1 %2 : f32[T, 2, 8]
          %4 = input weights : f32[T, 2, 1]
          %5 = mul %4 %3 : f32[T, 2, 8]
          %6 = reduce_sum %5 axis=1 : f32[T, 1, 8]
          %7 = neg %6 : f32[T, 1, 8]
          output y = %7
        }",
        &[
            ("it is another reduction", &[("reduce_sum", "reduce_max")]),
            (
                "it is along another axis",
                &[
                    ("axis=1 : f32[T, 1, 8]", "axis=2 : f32[T, 2, 1]"),
                    ("neg %6 : f32[T, 1, 8]", "neg %6 : f32[T, 2, 1]"),
                ],
            ),
            ("weights are added", &[("mul", "add")]),
            ("weights are per value", &[("weights : f32[T, 2, 1]", "weights : f32[T, 2, 8]")]),
            ("weights are the same for all choices", &[("weights : f32[T, 2, 1]", "weights : f32[T, 1, 1]")]),
            ("the weighted products are an output", &[("y = %7", "y = %7\n output z = %5")]),
            ("the products are an output", &[("y = %7", "y = %7\n output z = %3")]),
            (
                "weights are per value, and there are as many values as choices",
                &[
                    ("x : f32[T, 2, 32]", "x : f32[4, 2, 32]"),
                    ("ids : i32[T, 2]", "ids : i32[4, 2]"),
                    ("%2 : f32[T, 2, 8]", "%2 : f32[4, 2, 8]"),
                    ("weights : f32[T, 2, 1]", "weights : f32[1, 1, 8]"),
                    ("%4 %3 : f32[T, 2, 8]", "%4 %3 : f32[4, 2, 8]"),
                    ("axis=1 : f32[T, 1, 8]", "axis=1 : f32[4, 1, 8]"),
                    ("neg %6 : f32[T, 1, 8]", "neg %6 : f32[4, 1, 8]"),
                ],
            ),
            ("choices share a row of x", &[("x : f32[T, 2, 32]", "x : f32[T, 32]")]),
        ],
    );
}

/// Nodes are reported by their numbers in the original graph, also when they were replaced twice.
#[test]
fn fired_rules_name_nodes_of_the_original_graph() {
    let graph = parse(
        "graph g {
          %0 = input unused : f32[T, 4]
          %1 = input x : f32[T, 4]
          %2 = reshape %1 : f32[T, 2, 2]
          %3 = reshape %2 : f32[T, 4]
          %4 = neg %3 : f32[T, 4]
          output y = %4
        }",
    );
    let switches = only(&[rule("tidy.movement"), rule("tidy.identity")]);
    let rewritten = rewrite(&graph.unwrap(), &switches);
    let fired: Vec<String> = rewritten.fired.iter().map(ToString::to_string).collect();
    assert_eq!(fired, ["tidy.movement at %3 reshape", "tidy.identity at %3 reshape"]);
    assert_eq!(rewritten.graph.nodes().len(), 2);
    let missed: Vec<_> = rewritten.missed.iter().map(|m| (m.rule.decision.name, m.why.to_string())).collect();
    assert_eq!(missed[0], ("tidy.constants", "it is off".to_string()));
    let none = rewrite(&rewritten.graph, &switches).missed;
    assert_eq!(none[0].why.to_string(), "nothing in the graph matches it");
}
