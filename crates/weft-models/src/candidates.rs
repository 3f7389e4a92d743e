//! The candidates for the next token.

use std::sync::Arc;

use weft_ir::{Builder, Dim};
use weft_quant::GgmlType;

use crate::segment::Segment;

/// Most tokens of a vocabulary whose ids are exact as `f32`.
const EXACT: usize = 1 << 24;

/// The segment after the head that chooses the `most` likeliest tokens of each row of `logits`, or all if there are fewer:
/// `candidates`, `f32[R, 2 · most]`, first their logits, the likeliest first, and then their ids. Among equals, the lowest id
/// comes first. NaN comes before all numbers.
///
/// `None` if ids of this vocabulary are not exact as `f32`.
pub fn candidates(vocab: usize, most: usize) -> Option<Segment> {
    let mut g = Builder::new("candidates");
    let logits = g.input("logits", GgmlType::F32, [Dim::R, vocab.into()]);
    let ids = g.topk(logits, most.min(vocab));
    let best = g.take(logits, ids);
    let ids = g.cast(ids);
    let both = g.concat(&[best, ids], 1);
    g.output("candidates", both);
    let graph = Arc::new(g.finish().ok().filter(|_| vocab <= EXACT)?);
    Some(Segment {
        name: "candidates".into(),
        layer: None,
        graph,
        weights: Vec::new(),
        states: Vec::new(),
        columns: Vec::new(),
    })
}
