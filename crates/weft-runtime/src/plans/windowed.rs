//! Layers with a sliding window that keep only their window in the KV cache.
//!
//! Families build all layers alike: states with a row for every token, of which attention sees the last. Where it takes less
//! memory, the graphs of layers with a window are changed: their states have a fixed number of rows, fewer than the others, and
//! where a token's row and its sequence's pages are in them, inputs of their own say. Nothing else changes, and no bit does.
//! Whoever fills the inputs of a step does the rest.

use weft_ir::{Dim, Graph, Op, StateKind};
use weft_models::Segment;

use crate::error::Error;
use crate::layout::{PAGE, WINDOW_PAGES, WINDOW_SLOTS, Window};
use crate::plans::rebuilt::{changed, rebuilt};

/// The segments of a model whose layers with a sliding window have as many rows in the KV cache as `window` says.
///
/// # Errors
/// If a graph cannot be built again.
pub(crate) fn segments(segments: &[Segment], window: &Window) -> Result<Vec<Segment>, Error> {
    changed(segments, |segment| segment.window().is_some(), |graph| windowed(graph, window.pages * PAGE))
}

/// A graph with `rows` rows in its states, except those of whole sequences.
fn windowed(graph: &Graph, rows: usize) -> Result<Graph, Error> {
    rebuilt(graph, |node, op| {
        match op {
            Op::Input { name } if name == "slots" => *name = WINDOW_SLOTS.into(),
            Op::Input { name } if name == "pages" => *name = WINDOW_PAGES.into(),
            Op::State { kind: StateKind::PerSequence, .. } => return node.ty.shape.clone(),
            Op::State { kind, .. } => *kind = StateKind::Window,
            _ => {}
        }
        // The numbers of rows that are stored to and read from a state follow from the state.
        match node.ty.shape.dims().first() {
            Some(&Dim::S) => node.ty.shape.with(0, rows),
            _ => node.ty.shape.clone(),
        }
    })
}
