//! The embedding before the first layer and the head after the last.

use weft_ir::Dim;
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
    let mut s = SegmentBuilder::new(file, "embed", None);
    let table = s.matrix(EMBEDDING, &[common.vocab, common.hidden])?;
    let tokens = s.per_token("tokens");
    let mut x = s.g.rows(table, tokens);
    if common.embedding_scale != 1.0 {
        let scale = s.g.scalar(common.embedding_scale);
        x = s.g.mul(x, scale);
    }
    s.g.output("x", x);
    Ok(s)
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
    s.g.output("logits", logits);
    Ok(s)
}
