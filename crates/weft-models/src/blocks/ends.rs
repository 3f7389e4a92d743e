//! The embedding before the first layer and the head after the last.

use weft_ir::{Dim, NodeId};
use weft_quant::GgmlType;

use super::Streams;
use crate::common::{Common, LAST_NORM};
use crate::error::Error;
use crate::file::ModelFile;
use crate::head::Head;
use crate::segment::SegmentBuilder;

/// The tensors at both ends of a model.
pub(crate) const EMBEDDING: &str = "token_embd.weight";
pub(crate) const NORM: &str = LAST_NORM;
pub(crate) const OUTPUT: &str = "output.weight";
const CLASSIFIER: &str = "cls.output.weight";

/// The segment that looks up the embeddings `x` of `tokens`.
pub(crate) fn embed<'a>(file: &ModelFile<'a>, common: &Common) -> Result<SegmentBuilder<'a>, Error> {
    let (mut s, x) = embedded(file, common)?;
    let x = if common.streams.is_some() { Streams::of_embedding(&mut s, x) } else { x };
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

/// The tensors of other heads, which a file may have and this head does not use.
pub(crate) fn unused(head: Head) -> &'static [&'static str] {
    match head {
        Head::Logits => &[],
        Head::Embedding(_) => &[OUTPUT, CLASSIFIER],
        Head::Scores { .. } => &[OUTPUT],
    }
}

/// The segment that computes the result of `head`, such as `logits`, `f32[R, vocab]`, from the rows `out_rows` of `x`.
pub(crate) fn head<'a>(
    file: &ModelFile<'a>,
    common: &Common,
    head: Head,
) -> Result<SegmentBuilder<'a>, Error> {
    let Common { hidden, norm, last_norm, .. } = *common;
    let mut s = SegmentBuilder::new(file, "head", None);
    let x = s.hidden(common.width());
    let wanted = s.g.input("out_rows", GgmlType::I32, [Dim::R]);
    let x = s.g.rows(x, wanted);
    let x = if common.streams.is_some() { Streams::mean(&mut s, x, hidden) } else { x };
    let x = norm.build(&mut s, x, last_norm, 1, hidden)?;
    let result = match head {
        Head::Logits => logits(&mut s, common, x)?,
        Head::Embedding(_) => x,
        Head::Scores { labels, .. } => {
            let classifier = s.matrix(CLASSIFIER, &[labels, hidden])?;
            s.g.dot(x, classifier)
        }
    };
    s.g.output(head.result(), result);
    Ok(s)
}

/// The logits of normed hidden states.
fn logits(s: &mut SegmentBuilder<'_>, common: &Common, x: NodeId) -> Result<NodeId, Error> {
    // With tied embeddings, the embedding is the output matrix too.
    let output = if s.has(OUTPUT) { OUTPUT } else { EMBEDDING };
    let output = s.matrix(output, &[common.vocab, common.hidden])?;
    let logits = s.g.dot(x, output);
    let logits = s.scaled(logits, common.logit_scale);
    Ok(match common.logit_cap {
        Some(cap) => capped(s, logits, cap),
        None => logits,
    })
}

/// `cap · tanh(x / cap)`, which is `cap · (2 · sigmoid(2x / cap) − 1)`.
fn capped(s: &mut SegmentBuilder<'_>, x: NodeId, cap: f32) -> NodeId {
    let [steep, double, cap] = [2.0 / cap, 2.0 * cap, cap].map(|n| s.g.scalar(n));
    let steep = s.g.mul(x, steep);
    let share = s.g.sigmoid(steep);
    let both = s.g.mul(share, double);
    s.g.sub(both, cap)
}
