//! The embedding before the first layer and the head after the last.

use weft_ir::{Dim, NodeId};
use weft_quant::GgmlType;

use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::segment::SegmentBuilder;

/// The tensors at both ends of a model.
pub(crate) const EMBEDDING: &str = "token_embd.weight";
pub(crate) const NORM: &str = "output_norm.weight";
pub(crate) const OUTPUT: &str = "output.weight";

/// The segment that looks up the embeddings `x` of `tokens`.
pub(crate) fn embed<'a>(file: &ModelFile<'a>, common: &Common) -> Result<SegmentBuilder<'a>, Error> {
    let (mut s, x) = embedded(file, common)?;
    s.g.output("x", x);
    Ok(s)
}

/// The segment before it has outputs, and the embeddings.
pub(crate) fn embedded<'a>(
    file: &ModelFile<'a>,
    common: &Common,
) -> Result<(SegmentBuilder<'a>, NodeId), Error> {
    let mut s = SegmentBuilder::new(file, "embed", None);
    let table = s.matrix(EMBEDDING, &[common.vocab, common.hidden])?;
    let tokens = s.per_token("tokens");
    let x = s.g.rows(table, tokens);
    let x = s.scaled(x, common.embedding_scale);
    Ok((s, x))
}

/// The segment that computes `logits`, `f32[R, vocab]`, from the rows `out_rows` of `x`.
pub(crate) fn head<'a>(file: &ModelFile<'a>, common: &Common) -> Result<SegmentBuilder<'a>, Error> {
    let Common { hidden, vocab, norm, .. } = *common;
    let mut s = SegmentBuilder::new(file, "head", None);
    let x = s.hidden(hidden);
    let wanted = s.g.input("out_rows", GgmlType::I32, [Dim::R]);
    let x = s.g.rows(x, wanted);
    let x = norm.build(&mut s, x, NORM, 1, hidden)?;
    // With tied embeddings, the embedding is the output matrix too.
    let output = if s.has(OUTPUT) { OUTPUT } else { EMBEDDING };
    let output = s.matrix(output, &[vocab, hidden])?;
    let logits = s.g.dot(x, output);
    let mut logits = s.scaled(logits, common.logit_scale);
    if let Some(cap) = common.logit_cap {
        logits = capped(&mut s, logits, cap);
    }
    s.g.output("logits", logits);
    Ok(s)
}

/// `cap · tanh(x / cap)`, which is `cap · (2 · sigmoid(2x / cap) − 1)`.
fn capped(s: &mut SegmentBuilder<'_>, x: NodeId, cap: f32) -> NodeId {
    let [steep, double, cap] = [2.0 / cap, 2.0 * cap, cap].map(|n| s.g.scalar(n));
    let steep = s.g.mul(x, steep);
    let share = s.g.sigmoid(steep);
    let both = s.g.mul(share, double);
    s.g.sub(both, cap)
}
