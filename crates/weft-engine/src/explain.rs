//! What a model is compiled to, and why.

use std::sync::Arc;

use weft_fuse::{Decision, Options};
use weft_ir::{Graph, NodeId, Sizes};
use weft_kern::Work;
use weft_models::ModelGraph;

use crate::compile::fuse_segments;
use crate::error::Error;
use crate::model::PAGE;

/// The kernels of one plan.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The parts of the model that are compiled to it, by name: `layer 1`, `layer 2`, …
    pub segments: Vec<String>,
    /// What it computes.
    pub graph: Arc<Graph>,
    /// Its kernels, in order.
    pub calls: Vec<KernelCall>,
    /// The plan's text form.
    pub text: String,
}

/// One kernel of a plan.
#[derive(Clone, Debug)]
pub struct KernelCall {
    /// Its name.
    pub kernel: String,
    /// What its rows and columns are: `[T, 20] x 256`.
    pub space: String,
    /// The nodes of the graph it computes, `mul %12`; none if it only moves or rounds values.
    pub nodes: Vec<String>,
    /// What it reads of weights and multiplies.
    pub work: Work,
    /// Nodes that read its values from memory, and why they are not computed in it.
    pub cuts: Vec<(String, String)>,
}

/// Compiles a model without running it, for steps of so many tokens, the decisions `off` switched off.
///
/// # Errors
/// If a graph cannot be compiled.
pub fn explain(
    model: &ModelGraph,
    off: &[&'static Decision],
    tokens: usize,
) -> Result<Vec<Explained>, Error> {
    let sizes = Sizes { tokens, rows: 1, slots: tokens.next_multiple_of(PAGE), pages: tokens.div_ceil(PAGE) };
    let options = Options { max: sizes, off: off.to_vec() };
    let mut plans: Vec<Explained> = Vec::new();
    for (segment, fusion) in model.segments.iter().zip(fuse_segments(model, &options)?) {
        if let Some(known) = plans.iter_mut().find(|p| Arc::ptr_eq(&p.graph, &segment.graph)) {
            known.segments.push(segment.name.clone());
            continue;
        }
        let plan = &fusion.plan;
        let named = |id: &NodeId| format!("{} {id}", segment.graph.node(*id).op.name());
        let calls = plan.calls.iter().zip(&fusion.calls).map(|(call, computed)| {
            let kernel = &plan.kernels[call.kernel];
            let rows: Vec<String> = kernel.rows.iter().map(ToString::to_string).collect();
            KernelCall {
                kernel: kernel.name.clone(),
                space: format!("[{}] x {}", rows.join(", "), kernel.cols),
                nodes: computed.nodes.iter().map(named).collect(),
                work: kernel.work(&sizes),
                cuts: computed.cuts.iter().map(|cut| (named(&cut.node), cut.why.to_string())).collect(),
            }
        });
        plans.push(Explained {
            segments: vec![segment.name.clone()],
            graph: Arc::clone(&segment.graph),
            calls: calls.collect(),
            text: plan.to_string(),
        });
    }
    Ok(plans)
}
