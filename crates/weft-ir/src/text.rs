//! The text form of a graph, which parses back to the same graph.
//!
//! ```text
//! graph rms_norm {
//!   %0 = input x : f32[T, 8]
//!   %1 = mul %0 %0 : f32[T, 8]
//!   %2 = reduce_sum %1 axis=1 : f32[T, 1]
//!   output y = %2
//! }
//! ```

use std::fmt::{self, Write as _};

use weft_quant::GgmlType;

use crate::graph::{Graph, Node, NodeId, Type};
use crate::op::{Binary, F32, Op, Recurrence, Reduce, RopeStyle, StateKind, Unary};
use crate::shape::{Dim, Shape, Sym};
use crate::verify::verify;

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "graph {} {{", self.name)?;
        for (id, node) in self.iter() {
            write!(f, "  {id} = {}", node.op.name())?;
            for input in &node.inputs {
                write!(f, " {input}")?;
            }
            writeln!(f, "{} : {}", attributes(&node.op), node.ty)?;
        }
        for (name, id) in &self.outputs {
            writeln!(f, "  output {name} = {id}")?;
        }
        f.write_str("}\n")
    }
}

fn attributes(op: &Op) -> String {
    match op {
        Op::Input { name } | Op::Weight { name } => format!(" {name}"),
        Op::State { name, kind: StateKind::PerToken } => format!(" {name}"),
        Op::State { name, kind } => format!(" {name} kind={}", kind.name()),
        Op::Const { values } => values.iter().fold(String::new(), |mut s, v| {
            // `{:?}` prints the shortest decimal that reads back as the same bits.
            let _ = write!(s, " {:?}", v.0);
            s
        }),
        Op::Reduce { axis, .. } | Op::Concat { axis } => format!(" axis={axis}"),
        Op::Slice { axis, start, len } => format!(" axis={axis} start={start} len={len}"),
        Op::Rope { style } => format!(" style={}", style.name()),
        Op::TopK { k } => format!(" k={k}"),
        Op::HeadDot { transposed } => format!(" transposed={transposed}"),
        Op::Attend { scale, kv_heads, page, window, pool } => {
            let window = window.map_or(String::new(), |window| format!(" window={window}"));
            format!(" scale={:?} kv_heads={kv_heads} page={page}{window}{}", scale.0, pooled(*pool))
        }
        Op::SelectRange { from } => format!(" from={from}"),
        Op::Indexer { k, page, pool } => format!(" k={k} page={page}{}", pooled(*pool)),
        Op::Scan { rule } => format!(" rule={}", rule.name()),
        Op::Hadamard | Op::Cast | Op::Unary(_) | Op::Binary(_) | Op::Reshape => String::new(),
        Op::Rows | Op::Take | Op::Store | Op::Dot | Op::SelectDot | Op::SelectSum => String::new(),
    }
}

/// The attribute of pools of more than one position.
fn pooled(pool: usize) -> String {
    if pool == 1 { String::new() } else { format!(" pool={pool}") }
}

/// Why a text is not a graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct ParseError {
    /// Line number, from 1; 0 for the graph as a whole.
    pub line: usize,
    /// A sentence: what was expected and found.
    pub why: String,
}

/// Reads one graph. Lines that begin with `#` are comments.
///
/// The first line that is malformed, or the first rule of [`verify`] that the graph breaks.
/// The first line that is not understood, or the first rule of [`verify`] that the graph breaks.
pub fn parse(text: &str) -> Result<Graph, ParseError> {
    let mut graph = Graph { name: String::new(), nodes: Vec::new(), outputs: Vec::new() };
    let mut open = false;
    let mut closed = false;
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        let fail = |why: String| ParseError { line: i + 1, why };
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if closed {
            return Err(fail(format!("expected nothing after `}}`, found `{line}`")));
        }
        if !open {
            let name = line.strip_prefix("graph ").and_then(|l| l.strip_suffix('{')).map(str::trim);
            graph.name = name
                .filter(|n| !n.is_empty())
                .ok_or_else(|| fail(format!("expected `graph NAME {{`, found `{line}`")))?
                .to_string();
            open = true;
        } else if line == "}" {
            closed = true;
        } else if let Some(rest) = line.strip_prefix("output ") {
            let (name, id) =
                rest.split_once(" = ").ok_or_else(|| fail("expected `output NAME = %N`".into()))?;
            graph.outputs.push((name.trim().to_string(), node_id(id).map_err(fail)?));
        } else {
            let node = node(line, graph.nodes.len()).map_err(fail)?;
            graph.nodes.push(node);
        }
    }
    if !closed {
        return Err(ParseError { line: text.lines().count(), why: "expected `}`".into() });
    }
    verify(&graph).map_err(|e| ParseError { line: 0, why: e.to_string() })?;
    Ok(graph)
}

fn node(line: &str, expected_id: usize) -> Result<Node, String> {
    let (left, ty) = line.rsplit_once(" : ").ok_or("expected `%N = op … : type`")?;
    let (id, right) = left.split_once(" = ").ok_or("expected `%N = op … : type`")?;
    if node_id(id)?.index() != expected_id {
        return Err(format!("expected node %{expected_id}, found {id}"));
    }
    let mut words = right.split_whitespace();
    let op = words.next().ok_or("expected an operation")?;
    let mut inputs = Vec::new();
    let mut rest = Vec::new();
    for word in words {
        if word.starts_with('%') { inputs.push(node_id(word)?) } else { rest.push(word) }
    }
    Ok(Node { op: operation(op, &rest)?, inputs, ty: type_of(ty)? })
}

fn operation(name: &str, rest: &[&str]) -> Result<Op, String> {
    let word = || match rest {
        [word] => Ok((*word).to_string()),
        _ => Err(format!("`{name}` takes one name, found {rest:?}")),
    };
    let attr = |key: &str| {
        rest.iter()
            .find_map(|w| w.strip_prefix(key)?.strip_prefix('='))
            .ok_or_else(|| format!("`{name}` needs `{key}=…`"))
    };
    let num = |key: &str| attr(key)?.parse::<usize>().map_err(|_| format!("`{key}` must be a number"));
    let flag = |key: &str| attr(key)?.parse::<bool>().map_err(|_| format!("`{key}` must be true or false"));
    let attributes = match name {
        "input" | "weight" | "rope" | "topk" | "head_dot" | "select_range" | "concat" => 1,
        "state" => 1 + usize::from(attr("kind").is_ok()),
        "slice" => 3,
        "indexer" => 2 + usize::from(attr("pool").is_ok()),
        "scan" => 1,
        "attend" => 3 + usize::from(attr("window").is_ok()) + usize::from(attr("pool").is_ok()),
        "const" => rest.len(),
        _ => usize::from(Reduce::from_name(name).is_some()),
    };
    if rest.len() != attributes {
        return Err(format!("`{name}` takes {attributes} words after its operands, found {rest:?}"));
    }
    let pool = || if attr("pool").is_ok() { num("pool") } else { Ok(1) };
    let op = match name {
        "input" => Op::Input { name: word()? },
        "weight" => Op::Weight { name: word()? },
        "state" => {
            let kind = attr("kind").unwrap_or(StateKind::PerToken.name());
            Op::State {
                name: rest[0].to_string(),
                kind: StateKind::from_name(kind).ok_or_else(|| format!("unknown kind of state `{kind}`"))?,
            }
        }
        "const" => Op::Const { values: rest.iter().map(|w| float(w)).collect::<Result<_, _>>()? },
        "hadamard" => Op::Hadamard,
        "cast" => Op::Cast,
        "reshape" => Op::Reshape,
        "slice" => Op::Slice { axis: num("axis")?, start: num("start")?, len: num("len")? },
        "concat" => Op::Concat { axis: num("axis")? },
        "rows" => Op::Rows,
        "take" => Op::Take,
        "rope" => {
            let style = attr("style")?;
            Op::Rope {
                style: RopeStyle::from_name(style).ok_or_else(|| format!("unknown rope style `{style}`"))?,
            }
        }
        "topk" => Op::TopK { k: num("k")? },
        "dot" => Op::Dot,
        "head_dot" => Op::HeadDot { transposed: flag("transposed")? },
        "select_dot" => Op::SelectDot,
        "select_range" => Op::SelectRange { from: num("from")? },
        "select_sum" => Op::SelectSum,
        "store" => Op::Store,
        "scan" => {
            let rule = attr("rule")?;
            let known = Recurrence::from_name(rule);
            Op::Scan { rule: known.ok_or_else(|| format!("unknown recurrence `{rule}`"))? }
        }
        "indexer" => Op::Indexer { k: num("k")?, page: num("page")?, pool: pool()? },
        "attend" => Op::Attend {
            scale: float(attr("scale")?)?,
            kv_heads: num("kv_heads")?,
            page: num("page")?,
            window: attr("window").ok().map(|_| num("window")).transpose()?,
            pool: pool()?,
        },
        _ => {
            if let Some(u) = Unary::from_name(name) {
                Op::Unary(u)
            } else if let Some(b) = Binary::from_name(name) {
                Op::Binary(b)
            } else if let Some(op) = Reduce::from_name(name) {
                Op::Reduce { op, axis: num("axis")? }
            } else {
                return Err(format!("unknown operation `{name}`"));
            }
        }
    };
    Ok(op)
}

fn float(word: &str) -> Result<F32, String> {
    word.parse().map(F32).map_err(|_| format!("expected a number, found `{word}`"))
}

fn node_id(word: &str) -> Result<NodeId, String> {
    let number = word.trim().strip_prefix('%').and_then(|n| n.parse().ok());
    number.map(NodeId).ok_or_else(|| format!("expected `%N`, found `{word}`"))
}

fn type_of(text: &str) -> Result<Type, String> {
    let wrong = || format!("expected a type like `f32[T, 64]`, found `{text}`");
    let (dtype, dims) = text.trim().strip_suffix(']').and_then(|t| t.split_once('[')).ok_or_else(wrong)?;
    let dtype: GgmlType = dtype.parse().map_err(|_| wrong())?;
    let dims = dims.split(',').map(str::trim).filter(|d| !d.is_empty());
    let shape: Option<Vec<Dim>> = dims
        .map(|d| match Sym::ALL.iter().find(|s| s.letter() == d) {
            Some(sym) => Some(Dim::Sym(*sym)),
            None => d.parse().ok().map(Dim::Const),
        })
        .collect();
    Ok(Type { dtype, shape: Shape::new(shape.ok_or_else(wrong)?) })
}
