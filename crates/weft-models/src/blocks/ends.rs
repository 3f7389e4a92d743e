//! What comes before the first layer and after the last.

use weft_ir::Dim;
use weft_quant::GgmlType;

use crate::error::Error;
use crate::file::{Common, ModelFile};
use crate::segment::SegmentBuilder;

const EMBEDDING: &str = "token_embd.weight";

/// The segment that turns `tokens` into `x`.
pub(crate) fn embed<'a>(file: &ModelFile<'a>, common: &Common) -> Result<SegmentBuilder<'a>, Error> {
    let mut s = SegmentBuilder::new(file, "embed", None);
    let table = s.matrix(EMBEDDING, &[common.vocab, common.hidden])?;
    let tokens = s.per_token("tokens");
    let x = s.g.rows(table, tokens);
    s.g.output("x", x);
    Ok(s)
}

/// The segment that turns the rows of `x` named by `out_rows` into `logits`, `f32[R, vocab]`.
pub(crate) fn head<'a>(file: &ModelFile<'a>, common: &Common) -> Result<SegmentBuilder<'a>, Error> {
    let Common { hidden, vocab, norm, .. } = *common;
    let mut s = SegmentBuilder::new(file, "head", None);
    let x = s.hidden(hidden);
    let wanted = s.g.input("out_rows", GgmlType::I32, [Dim::R]);
    let x = s.g.rows(x, wanted);
    let x = norm.build(&mut s, x, "output_norm.weight", 1, hidden)?;
    // Models with tied embeddings have one matrix for both ends.
    let output = if s.has("output.weight") { "output.weight" } else { EMBEDDING };
    let output = s.matrix(output, &[vocab, hidden])?;
    let logits = s.g.dot(x, output);
    s.g.output("logits", logits);
    Ok(s)
}
