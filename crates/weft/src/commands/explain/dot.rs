//! Draws a graph before rewriting, and its kernels, as Graphviz text.
//!
//! Weights are named in the nodes that use them. Constants, and reshapes and slices of computed values, are left out.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Write as _};

use weft_ir::{Graph, NodeId, Op};

use super::facts::Plan;
use super::label;

/// Draws a plan.
pub(super) fn draw(plan: &Plan<'_>) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = Drawing { plan, out: &mut out }.draw();
    out
}

struct Drawing<'a> {
    plan: &'a Plan<'a>,
    out: &'a mut String,
}

impl Drawing<'_> {
    fn draw(&mut self) -> fmt::Result {
        let title = format!("{} ({})", self.plan.name(), self.plan.range());
        writeln!(self.out, "digraph {} {{", Quoted(&title))?;
        writeln!(self.out, "  graph [fontname=\"sans-serif\", label={}, labelloc=t];", Quoted(&title))?;
        writeln!(self.out, "  node [fontname=\"sans-serif\", shape=box, style=rounded];")?;
        self.before()?;
        self.kernels()?;
        writeln!(self.out, "}}")
    }

    fn before(&mut self) -> fmt::Result {
        let graph = &*self.plan.explained.before;
        writeln!(self.out, "  subgraph cluster_before {{\n    label=\"before rewriting\";")?;
        for (id, node) in graph.iter().filter(|(id, _)| is_shown(graph, *id)) {
            writeln!(self.out, "    b{} [label={}];", id.index(), Quoted(&label::node(graph, id)))?;
            for input in node.inputs.iter().filter(|input| is_shown(graph, **input)) {
                writeln!(self.out, "    b{} -> b{};", input.index(), id.index())?;
            }
        }
        writeln!(self.out, "  }}")
    }

    fn kernels(&mut self) -> fmt::Result {
        let graph = &*self.plan.explained.graph;
        // The first place where each node is computed. Prologues are computed again in each part, and read only there.
        let mut homes: BTreeMap<NodeId, String> = BTreeMap::new();
        let mut edges = Vec::new();
        writeln!(self.out, "  subgraph cluster_kernels {{\n    label=\"kernels\";")?;
        for (k, kernel) in self.plan.kernels.iter().enumerate() {
            let name = format!("{}  {}", k + 1, kernel.call.kernel);
            writeln!(self.out, "    subgraph cluster_k{k} {{\n      label={};", Quoted(&name))?;
            for (p, part) in kernel.call.parts.iter().enumerate() {
                writeln!(
                    self.out,
                    "      subgraph cluster_k{k}_{p} {{\n        label={};",
                    Quoted(&part.space)
                )?;
                if part.nodes.is_empty() {
                    let label = kernel.parts[p].to_string();
                    writeln!(self.out, "        k{k}_{p} [label={}];", Quoted(&label))?;
                }
                for node in &part.nodes {
                    let own = format!("k{k}_{p}_{}", node.index());
                    writeln!(self.out, "        {own} [label={}];", Quoted(&label::node(graph, *node)))?;
                    for input in operands(graph, *node) {
                        let inside = part.nodes.contains(&input);
                        edges.push((
                            inside.then(|| format!("k{k}_{p}_{}", input.index())),
                            input,
                            own.clone(),
                        ));
                    }
                    homes.entry(*node).or_insert(own);
                }
                writeln!(self.out, "      }}")?;
            }
            writeln!(self.out, "    }}")?;
        }
        let is_moved = |id: NodeId| is_shown(graph, id) && graph.base(id) == id && !homes.contains_key(&id);
        let moved: Vec<NodeId> = graph.iter().map(|(id, _)| id).filter(|id| is_moved(*id)).collect();
        for id in moved {
            let own = format!("n{}", id.index());
            let label = label::node(graph, id);
            writeln!(self.out, "    {own} [label={}, shape=plaintext];", Quoted(&label))?;
            edges.extend(operands(graph, id).map(|input| (None, input, own.clone())));
            homes.insert(id, own);
        }
        for (inside, input, to) in edges {
            if let Some(from) = inside.as_ref().or(homes.get(&input)) {
                writeln!(self.out, "    {from} -> {to};")?;
            }
        }
        writeln!(self.out, "  }}")
    }
}

/// The inputs of a node, looking through reshapes and slices.
fn operands(graph: &Graph, id: NodeId) -> impl Iterator<Item = NodeId> {
    let inputs = graph.node(id).inputs.iter().map(|input| graph.base(*input));
    inputs.filter(|input| is_shown(graph, *input))
}

fn is_shown(graph: &Graph, id: NodeId) -> bool {
    !graph.is_parameter(id) && !matches!(graph.node(graph.base(id)).op, Op::Const { .. })
}

/// A string in Graphviz syntax.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
    }
}
